"""A branch summary as JSON: the object of `compactor branch-summary --json`."""

from collections.abc import Sequence
from typing import Any

from compactor.branch_reading import BranchReading
from compactor.branch_summary import MadeBranchSummary
from compactor.entries import SessionWarning
from compactor.events import usage_json
from compactor.transcript import transcript_size
from compactor.views.plan import leaf_json, session_json, warning_json


def branch_json(
    reading: BranchReading,
    warnings: Sequence[SessionWarning],
    made: MadeBranchSummary | None = None,
    written_to: str | None = None,
) -> dict[str, Any]:
    """The whole object.

    The transcript's length and hash are of the plain transcript, before embedded tags are made harmless, so that they
    compare with Pi's.

    Args:
        reading: what is read.
        warnings: about the settings; those of the file, the branch and the reply are added.
        made: the summary; None if none was made.
        written_to: the file that the entry was written to, None if it was written nowhere.
    """
    unread = reading.unread
    size = transcript_size(reading.messages)
    told = [*warnings, *reading.warnings, *(made.summary.warnings if made is not None else ())]
    found = {
        "session": session_json(reading.session),
        "from": leaf_json(reading.left),
        "to": leaf_json(reading.target),
        "commonAncestor": leaf_json(reading.ancestor),
        "entries": len(reading.entries),
        "messages": len(reading.messages),
        "tokens": reading.tokens,
        "budgetTokens": reading.budget_tokens if reading.budget_tokens > 0 else None,
        "unreadMessages": reading.unread_messages,
        "readFiles": list(reading.files.read_files),
        "modifiedFiles": list(reading.files.modified_files),
        "transcriptChars": size.chars,
        "transcriptSha256": size.sha256,
        "skip": None if unread is None else {"reason": unread.reason, "detail": unread.detail},
        "summary": None if made is None else made.summary.text,
    }
    if made is not None:
        found["entry"] = dict(made.entry)
        found["writtenTo"] = written_to
    found["usage"] = None if made is None or made.summary.usage is None else usage_json(made.summary.usage)
    return found | {"warnings": [*map(warning_json, told)]}
