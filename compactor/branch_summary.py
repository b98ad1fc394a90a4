"""The summary of a branch that was left, and the entry that tells the branch that goes on about it.

Takes what was read of the branch (`branch_reading.py`) and a client; gives a `MadeBranchSummary`. Nothing is written
here. Source: Pi 1.6.0 branch-summarization.js generateBranchSummary, session-manager.js branchWithSummary. Pi puts a
sentence of its own before the text, which says what the frame around it in the context says too; it is left out here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from compactor.branch_reading import BranchReading
from compactor.engine import Observe, play
from compactor.errors import ReplyRejected
from compactor.events import BranchEnds, EntryStamp, branch_summary_entry, json_line
from compactor.model import ModelClient
from compactor.requests import SummaryOptions
from compactor.summarizer import SummarySource, SummaryText, summarize


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeBranchSummary:
    """A finished branch summary."""

    summary: SummaryText
    entry: Mapping[str, Any] = field(repr=False)
    line: bytes = field(repr=False)
    """The entry as the line to append."""


def summarize_branch(
    reading: BranchReading, options: SummaryOptions, client: ModelClient, stamp: EntryStamp, observe: Observe
) -> MadeBranchSummary:
    """The summary of what was read, and its entry. `reading.unread` must be None.

    Raises:
        CompactorError: as `summarizer.summarize` and the client.
        ReplyRejected: the reply is blank, which makes no summary for Pi either.
    """
    made = play(summarize(branch_source(reading), options), client, observe)
    if not made.text.strip():
        raise ReplyRejected("Branch summarization failed: the reply holds no text")
    ends = BranchEnds(from_id=reading.left.id, to_id=reading.target.id)
    entry = branch_summary_entry(made.text, reading.files, made.usage, stamp, ends)
    return MadeBranchSummary(summary=made, entry=entry, line=json_line(entry))


def branch_source(reading: BranchReading) -> SummarySource:
    """What was read, as the summarizer takes it."""
    return SummarySource(
        history=reading.history,
        history_ids=reading.history_ids,
        tail=reading.rules,
        files=reading.files,
        whole="branch",
    )
