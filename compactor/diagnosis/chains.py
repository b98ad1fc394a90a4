"""What got lost from one compaction of a branch to the next.

Takes the compactions and the texts of what they summarized; gives findings. Two losses are known from real agents: an
update that drops what the previous summary said, and a compaction that starts after the previous one instead of at the
messages which that one kept, so that these are neither summarized nor kept. Neither leaves a mark in the file; what is
measured is how many of the words that stand nowhere else are found in the new summary. It is a matter of degree, hence
a warning with the share. A new summary in other words throughout looks like a loss; one that names things looks kept.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from compactor.diagnosis.compacted import Compaction
from compactor.diagnosis.examined import Examined
from compactor.diagnosis.finding import Finding, finding
from compactor.entries import Entry
from compactor.file_ops import file_calls, lists_of_details
from compactor.js_text import json_text
from compactor.messages import Message
from compactor.projection import entry_messages
from compactor.summary import without_file_blocks
from compactor.wording import amount, share

MIN_ITEMS = 3
"""A previous summary with fewer statements says too little to judge by."""

LOST_SHARE = 0.25
"""Of a previous summary's statements; where fewer are found again it counts as overwritten."""

FOUND_SHARE = 0.5
"""A statement is found again when at least this part of its words is."""

MIN_WORDS = 6
"""Words that stand in the kept messages alone; with fewer their absence proves nothing."""

MIN_EXPECTED = 3
"""Of these words, how many would be found if they had been summarized like the rest."""

MISSED_SHARE = 0.1
"""Of what would be expected; where fewer are found, the messages were not summarized."""

MAX_READ_ENTRIES = 200_000
"""Entries read for all comparisons of a session together, which keeps a session of compactions alone bearable."""

_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]{2,}"  # scripts without blanks: by pairs of characters
    r"|[^\W_][\w./@:-]{2,}[^\W_]|\d{2,}"
)
_WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\u0e00-\u0e7f]")
_MARK = re.compile(r"^[ \t]*(?:[-*+]|\d+[.)])[ \t]+(?:\[[ xX]\][ \t]*)?")


def chain_findings(
    examined: Examined, found: Sequence[Compaction], max_entries: int = MAX_READ_ENTRIES
) -> Iterator[Finding]:
    """What each compaction lost of what the one before it had.

    Args:
        examined: the session.
        found: its compactions.
        max_entries: read for all comparisons together; later ones are not made.
    """
    reader = _Reader(examined, max_entries)
    for compaction in found:
        before = compaction.previous
        if before is not None and compaction.summary.strip() and before.summary.strip():
            yield from _overwritten(compaction, before)
            yield from _skipped(compaction, before, reader)


def _overwritten(compaction: Compaction, before: Compaction) -> Iterator[Finding]:
    """A summary that has next to nothing of the previous one."""
    items = _items(before.summary)
    if len(items) < MIN_ITEMS:
        return
    words = words_of(compaction.summary)
    kept = sum(len(item & words) >= FOUND_SHARE * len(item) for item in items)
    if kept < LOST_SHARE * len(items):
        told = f"{kept} of {amount(len(items), 'statement')} ({share(kept, len(items))})"
        text = f"only {told} of the previous summary, on line {before.entry.line}, are found in this one"
        yield _of(compaction, "previous_summary_lost", text)


def _of(compaction: Compaction, code: str, text: str) -> Finding:
    return finding(code, text, line=compaction.entry.line, entry_id=compaction.entry.id)


def _items(summary: str) -> list[frozenset[str]]:
    """The words of each statement of a summary: of every line that is no heading and has words."""
    lines = (line for line in without_file_blocks(summary).splitlines() if not line.lstrip().startswith("#"))
    found = (frozenset(words_of(_MARK.sub("", line))) for line in lines)
    return [words for words in found if words]


def words_of(text: str) -> set[str]:
    """The words, names, paths and numbers of a text, without case; of scripts without blanks pairs of characters."""
    words: set[str] = set()
    for word in _WORD.findall(text.casefold()):
        if _WIDE.match(word):
            words.update(word[n : n + 2] for n in range(len(word) - 1))
        else:
            words.add(word)
    return words


@dataclass(slots=True)
class _Read:
    """What stands in a part of a branch."""

    words: set[str]
    files: set[str]


class _Reader:
    """Reads parts of branches, up to a number of entries in all."""

    def __init__(self, examined: Examined, max_entries: int) -> None:
        self.examined = examined
        self.left = max_entries

    def parts(self, compaction: Compaction, marks: Sequence[int]) -> list[_Read] | None:
        """The branch before it in parts that start at these depths; None if that is more than may be read."""
        depth, parents = self.examined.tree.depth, self.examined.session.parents
        parts = [_Read(set(), set()) for _ in marks]
        at = parents[compaction.entry.index]
        part = len(marks) - 1
        while at is not None and depth[at] >= marks[0]:
            while depth[at] < marks[part]:
                part -= 1
            self.left -= 1
            if self.left < 0:
                return None
            self._read(self.examined.entries[at], parts[part])
            at = parents[at]
        return parts

    def _read(self, entry: Entry, into: _Read) -> None:
        if self.examined.facts[entry.index].role in ("", "compactionSummary", "system"):
            return
        for message in entry_messages(entry, entry.body, exact=False):
            into.files.update(path for _, path in file_calls(message))
            into.words.update(words_of("\n".join(_said(message))))


def _said(message: Message) -> Iterable[str]:
    """The texts that a summary speaks of; what tools gave back is mostly not among them."""
    if message.role == "toolResult":
        return ()
    calls = [json_text(call.arguments) for call in message.tool_calls]
    return [message.text(), message.summary or "", message.command or "", *calls]


def _skipped(compaction: Compaction, before: Compaction, reader: _Reader) -> Iterator[Finding]:
    """Messages that the previous compaction kept and this one neither summarized nor kept."""
    end = min(compaction.first_depth, reader.examined.tree.depth[before.entry.index])
    if end <= before.first_depth:
        return
    parts = reader.parts(compaction, (before.first_depth, end, compaction.first_depth))
    if parts is None:
        return
    kept, between, tail = parts
    known = words_of(before.summary)
    own = kept.words - between.words - tail.words - known
    others = between.words - kept.words - tail.words - known
    missing = _missing_files(compaction, kept.files - between.files - tail.files)
    shown = words_of(compaction.summary)
    found = len(own & shown)
    rate = len(others & shown) / len(others) if others else 0.0
    if missing:
        told = f"{amount(missing, 'file')} that they touch {'is' if missing == 1 else 'are'} not in its lists"
    elif len(own) >= MIN_WORDS and rate * len(own) >= MIN_EXPECTED and found <= MISSED_SHARE * rate * len(own):
        told = f"{found} of {len(own)} words that only they have are in its summary, of other messages {rate:.0%}"
    else:
        return
    entries = amount(end - before.first_depth, "entry", "entries")
    text = f"{entries} that the compaction on line {before.entry.line} kept seem neither summarized nor kept: {told}"
    yield _of(compaction, "kept_messages_lost", text)


def _missing_files(compaction: Compaction, files: set[str]) -> int:
    """How many of the files are not in the compaction's lists; 0 unless none is, or if it has no lists of its own."""
    details = compaction.body.details
    if compaction.body.from_hook or not isinstance(details, dict) or not files:
        return 0
    if not {"readFiles", "modifiedFiles"} & details.keys():
        return 0
    lists = lists_of_details(details, from_hook=False)
    return 0 if files.intersection((*lists.read_files, *lists.modified_files)) else len(files)
