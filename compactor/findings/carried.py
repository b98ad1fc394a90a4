"""A previous summary -> lines that still hold, beside what has happened since.

Takes the text of summaries (ours or a model's) and the digest of the newer history; gives one set of sections. What was
in progress and has succeeded since is dropped, an answered request moves to Done, sections that are not ours go to the
critical context under their own name. Constraints are never dropped.
"""

import re
from collections.abc import Iterator, Sequence

from compactor.constraints import constraints_in_summary
from compactor.findings.digest import Digest
from compactor.findings.frames import ALL_FRAMES, Frames
from compactor.findings.items import (
    BLOCKED,
    CONTEXT,
    DECISIONS,
    DONE,
    GOAL,
    IN_PROGRESS,
    NEXT,
    Item,
    Sections,
    no_sections,
)
from compactor.findings.quotes import clipped, one_line
from compactor.summary import (
    CONSTRAINTS,
    NO_PRIOR_HISTORY,
    SPLIT_TURN_LEAD,
    SummaryDocument,
    parse_summary,
    without_file_blocks,
)

MAX_ITEM_CHARS = 600
"""A longer item of a previous summary is a text of its own; it is cut with a mark."""

CARRIED_ORDER = -1_000_000
"""Carried lines stand before all lines of the newer history."""

_PART_RULE = re.compile(r"\n-{3,}[ \t]*\n(?!\s*\*\*Turn Context)")
_MARK = re.compile(r"\s{0,3}(?:[-*+•]|\d{1,3}[.)])\s+")
_BOX = re.compile(r"\[([ xX~-])\]\s+")
_NOTHING = re.compile(
    r"(?:[-*+]\s+|\d+[.)]\s+)?(?:\[[ xX]\]\s+)?[(\[]?(?:none|nothing|n/a|无)[)\]]?\.?$", re.IGNORECASE
)
_OMITTED = re.compile(r"\(\+\d+ more, left out for length\)$|^\(另有 \d+ 条")
_TABLE_RULE = re.compile(r"[\s|:=-]+$")
_CODE = re.compile(r"`([^`]+)`")
_OWN_STATES = tuple(
    word for f in ALL_FRAMES for word in (f.none_open, f.not_answered, f.asked_back, f.goes_on, f.so_far)
)
_OWN_REQUESTS = tuple(f.current for f in ALL_FRAMES)


def part_summaries(text: str) -> list[str]:
    """The summaries of parts in a text that holds several, separated by rules."""
    return [part for part in _PART_RULE.split(f"\n{text}\n") if part.strip()]


def with_previous(summaries: Sequence[str], newer: Digest, frames: Frames) -> Sections:
    """The sections of a digest with what earlier summaries hold, the oldest summary first."""
    sections = {name: list(items) for name, items in newer.sections.items()}
    for age, summary in enumerate(reversed(summaries)):
        earlier = _read(without_file_blocks(summary), frames, over=age > 0 or _is_over(newer))
        for name, items in earlier.items():
            kept = [item for item in items if name not in (IN_PROGRESS, BLOCKED, NEXT) or not _settled(item, newer)]
            shift = CARRIED_ORDER * (age + 1)
            sections[name] += [
                Item(text=item.text, rank=max(1, item.rank - 3 * age), order=shift + n) for n, item in enumerate(kept)
            ]
    if any(item.rank > 0 and item.text not in _OWN_STATES for item in sections[GOAL]) and not newer.asks:
        sections[GOAL] = [item for item in sections[GOAL] if item.text != frames.none_open] or sections[GOAL]
    return sections


def _is_over(newer: Digest) -> bool:
    """True when the request that the previous summary calls current is answered or replaced by now."""
    return newer.asks or newer.opening_answered


def _settled(item: Item, newer: Digest) -> bool:
    """True for an open point about a command or a file that has succeeded since."""
    named = _CODE.search(item.text)
    return named is not None and named.group(1) in newer.resolved


def _read(text: str, frames: Frames, *, over: bool) -> Sections:
    """The lines of one summary, by section."""
    sections = no_sections()
    main, _, turn = text.partition(SPLIT_TURN_LEAD)
    if main.strip() == NO_PRIOR_HISTORY:
        main = ""
    for constraint in constraints_in_summary(main):
        if not _OMITTED.search(constraint):
            sections[CONSTRAINTS].append(Item(text=one_line(constraint), rank=95))
    document = parse_summary(main)
    for name, line in _lines(document):
        _place(sections, name, line, frames, over=over)
    if turn:
        for name, line in _lines(parse_summary(turn, "turn_prefix")):
            _place(sections, name, line, frames, over=over)
    return sections


_TARGET = {
    "Goal": GOAL,
    "Original Request": GOAL,
    "Done": DONE,
    "Progress": CONTEXT,
    "Progress So Far": DONE,
    "In Progress": IN_PROGRESS,
    "Blocked": BLOCKED,
    "Key Decisions": DECISIONS,
    "Next Steps": NEXT,
    "Critical Context": CONTEXT,
    "Context Needed to Continue": CONTEXT,
}
_RANKS = {GOAL: 80, DONE: 40, IN_PROGRESS: 55, BLOCKED: 45, DECISIONS: 50, NEXT: 50, CONTEXT: 42}


def _place(sections: Sections, name: str, line: str, frames: Frames, *, over: bool) -> None:
    """Puts one line of a previous summary where it belongs now."""
    target = _TARGET.get(name)
    box = _BOX.match(line)
    text = line[box.end() :] if box else line
    if target is None:
        target, text = CONTEXT, f"{one_line(name)}: {text}" if name else text
    elif box and target in (DONE, IN_PROGRESS):
        target = DONE if box.group(1) in "xX" else IN_PROGRESS
    if text.startswith(_OWN_STATES):
        return
    is_request = name == "Original Request" or text.startswith(_OWN_REQUESTS)
    if is_request and over:
        target = DONE
        text = f"{frames.earlier} ({frames.told_before}) {_without_frame(text)}"
    elif name == "Original Request":
        text = f"{frames.current} ({frames.told_before}): {text}"
    rank = _RANKS[target] + (18 if is_request and not over else 0)
    sections[target].append(Item(text=clipped(text, MAX_ITEM_CHARS), rank=rank))


def _without_frame(text: str) -> str:
    for word in _OWN_REQUESTS:
        if text.startswith(word):
            return text[len(word) :].lstrip(" :")
    return text


def _lines(document: SummaryDocument) -> Iterator[tuple[str, str]]:
    """Section name and text of each item; lines that go on under a bullet are joined to it."""
    headings = sorted(document.sections, key=lambda section: section.start)
    before = document.text[: headings[0].start] if headings else document.text
    spans = [("", before)]
    for n, section in enumerate(headings):
        end = headings[n + 1].start if n + 1 < len(headings) else len(document.text)
        spans.append((section.name, document.text[section.body_start : end]))
    for name, body in spans:
        if name != CONSTRAINTS:
            for item in _items(body):
                yield name, item


def _items(body: str) -> Iterator[str]:
    """The items of a section's body: bullets with what is indented under them, else lines."""
    item = ""
    for line in body.splitlines():
        stripped = line.strip()
        if not stripped or _NOTHING.match(stripped) or _TABLE_RULE.match(stripped) or _OMITTED.search(stripped):
            continue
        if item and line[:1] in " \t":
            item += " " + stripped
            continue
        if item:
            yield item
        item = _MARK.sub("", line, count=1).strip()
    if item:
        yield item
