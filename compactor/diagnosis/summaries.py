"""The text of a summary by itself: doubled parts, missing sections, file lists that outgrow it, credentials.

Takes the summaries of compactions and branches; gives findings. A credential is never shown but for its first
characters.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from compactor.credentials import Credential, find_credentials, masked
from compactor.diagnosis.examined import Examined
from compactor.diagnosis.finding import Finding, Severity, finding
from compactor.entries import Entry, EntryBody
from compactor.js_text import utf16_len
from compactor.summary import HISTORY_SECTIONS, SPLIT_TURN_LEAD, SectionSet, parse_summary, without_file_blocks
from compactor.wording import amount, listed, share

Scanner = Callable[[str], Iterable[Credential]]
"""Finds credentials in a text."""

MIN_BLOATED_PATHS = 40
"""Shorter lists are no burden."""

BLOATED_SHARE = 0.5
"""Of a summary, that its file lists take."""

MIN_KNOWN_SECTIONS = 2
"""A summary with fewer of Pi's sections was made by another prompt."""

_LIST = re.compile(r"^[ \t]*<(read-files|modified-files)>", re.MULTILINE)
_SPLIT_TURN = SPLIT_TURN_LEAD.strip("-\n ")


def summary_findings(examined: Examined, scan: Scanner = find_credentials) -> Iterator[Finding]:
    """What is wrong with the texts of all summaries.

    Args:
        examined: the session.
        scan: finds credentials.
    """
    for entry, body in examined.of_type("compaction"):
        yield from _of_one(entry, body, "history", scan)
    for entry, body in examined.of_type("branch_summary"):
        yield from _of_one(entry, body, "branch", scan)


def _of_one(entry: Entry, body: EntryBody, sections: SectionSet, scan: Scanner) -> Iterator[Finding]:
    text = body.summary or ""
    if sections == "branch" and not text.strip():
        told = "the branch summary is empty: the model sees nothing of the branch that was left"
        yield finding("empty_summary", told, line=entry.line, entry_id=entry.id, severity="note")
    for code, told in _layout(text, sections, is_own=not body.from_hook):
        yield finding(code, told, line=entry.line, entry_id=entry.id)
    for credential in scan(text):
        secret = text[credential.start : credential.end]
        certain = "holds" if credential.is_certain else "seems to hold"
        severity: Severity = "error" if credential.is_certain else "warning"
        told = f"the summary {certain} a credential: {credential.kind} {masked(secret)}"
        yield finding("secret_in_summary", told, line=entry.line, entry_id=entry.id, severity=severity)


def _layout(text: str, sections: SectionSet, *, is_own: bool) -> Iterator[tuple[str, str]]:
    """Code and sentence of what is wrong with the parts of a summary; `is_own` unless an extension wrote it."""
    document = parse_summary(text, sections)
    doubled = [f"“{name}”" for name in document.doubled]
    if text.count(_SPLIT_TURN) > 1:
        doubled.append("the part about a split turn")
    if doubled:
        yield "doubled_headings", f"{listed(doubled)} {'stand' if len(doubled) > 1 else 'stands'} in the summary twice"
    names = Counter(match.group(1) for match in _LIST.finditer(text))
    twice = sorted(f"<{name}>" for name, count in names.items() if count > 1)
    if twice:
        yield "doubled_file_lists", f"{listed(twice)} {'stand' if len(twice) > 1 else 'stands'} in the summary twice"
    if names:
        yield from _bloat(text)
    known = {section.name for section in document.sections} & set(HISTORY_SECTIONS)
    if is_own and document.missing and len(known) >= MIN_KNOWN_SECTIONS:
        yield "missing_sections", f"the summary lacks {listed([f'“{name}”' for name in document.missing])}"


def _bloat(text: str) -> Iterator[tuple[str, str]]:
    """File lists that take most of a summary."""
    whole = utf16_len(text)
    taken = whole - utf16_len(without_file_blocks(text))
    paths = _paths(text)
    if paths >= MIN_BLOATED_PATHS and taken > BLOATED_SHARE * whole:
        part = f"{share(taken, whole)} of the summary"
        yield "file_list_bloat", f"the file lists, {amount(paths, 'path')}, take {part}"


def _paths(text: str) -> int:
    """Lines inside of file lists."""
    return sum(
        block.count("\n") for name in ("read-files", "modified-files") for block in _blocks(text, f"<{name}>", name)
    )


def _blocks(text: str, start: str, name: str) -> Iterator[str]:
    """What stands between the tags of each block, from the line end after the first tag on."""
    for part in text.split(start)[1:]:
        yield part.partition(f"</{name}>")[0].rstrip("\n")
