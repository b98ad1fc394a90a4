"""Sections -> the text of a summary, within a budget.

Takes sections and a number of characters; gives Markdown with every heading of its kind once, in order. Constraints
claim room first, the request next; then each section has its share, and what is left over goes round by importance.
What does not fit is counted in a line of its section, never dropped silently.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from compactor.findings.frames import Frames
from compactor.findings.items import BLOCKED, CONTEXT, DECISIONS, DONE, GOAL, IN_PROGRESS, NEXT, Item, Sections
from compactor.findings.quotes import clipped
from compactor.js_text import utf16_len
from compactor.model import RequestKind
from compactor.summary import CONSTRAINTS

EMPTY = "- (none)"

_NUMBER = "1. "


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """Where the items of one section stand."""

    headings: tuple[str, ...]
    """Lines before the items; empty if they stand under the heading of the slot before."""
    name: str
    mark: str = "- "
    """Before each item; `1. ` counts."""
    labelled: bool = False
    """True where the heading does not say that these are constraints, so each line must."""


def _slot(heading: str, name: str, mark: str = "- ") -> Slot:
    return Slot(headings=tuple(heading.split("\n")) if heading else (), name=name, mark=mark)


_HISTORY = (
    _slot("## Goal", GOAL),
    _slot(f"## {CONSTRAINTS}", CONSTRAINTS),
    _slot("## Progress\n### Done", DONE, "- [x] "),
    _slot("### In Progress", IN_PROGRESS, "- [ ] "),
    _slot("### Blocked", BLOCKED),
    _slot("## Key Decisions", DECISIONS),
    _slot("## Next Steps", NEXT, _NUMBER),
    _slot("## Critical Context", CONTEXT),
)
# A branch has no section for context: what else is there to know stands with what was decided.
_BRANCH = (*_HISTORY[:-2], _slot("", CONTEXT), _HISTORY[-2])
_TURN_PREFIX = (
    _slot("## Original Request", GOAL),
    _slot("## Progress So Far", DONE, "- [x] "),
    _slot("", IN_PROGRESS, "- [ ] "),
    _slot("", BLOCKED),
    Slot(headings=("## Context Needed to Continue",), name=CONSTRAINTS, labelled=True),
    _slot("", DECISIONS),
    _slot("", NEXT),
    _slot("", CONTEXT),
)
LAYOUTS: Mapping[RequestKind, tuple[Slot, ...]] = {
    "history": _HISTORY,
    "part": _HISTORY,
    "merge": _HISTORY,
    "branch": _BRANCH,
    "turn_prefix": _TURN_PREFIX,
}

GOAL_SHARE = 0.4
LEAST_GOAL_CHARS = 100

_SHARES = (
    (GOAL, GOAL_SHARE),
    (IN_PROGRESS, 0.12),
    (BLOCKED, 0.06),
    (DONE, 0.24),
    (DECISIONS, 0.16),
    (NEXT, 0.12),
    (CONTEXT, 0.2),
)
"""Of the room that the constraints leave; in the order in which sections take what is left over."""

CERTAIN_RANK = 60
"""Constraints from this rank on are certain or likely ones."""

CONSTRAINT_SHARE = 0.85
UNCERTAIN_SHARE = 0.35
"""What all constraints, and what uncertain ones, may take of the budget at most."""

LONE_SHARE = 1 / 3
WHOLE_CHARS = 320
"""Only a constraint that takes more than this share of the budget by itself and is longer than this is cut, or one that
would have no room at all."""

LOW_RANK = 20
"""What has less is shown only where all else had room."""

NOTE_CHARS, BRIEF_NOTE_CHARS = 48, 18
"""Room for the line that counts what was left out, and for its short form."""

SMALL_CHARS = 1600
"""A summary with less room says briefly what was left out."""

FIRST_RANK = 95
"""Lines of Goal from this rank on are the current request, which stands before all else but the constraints."""


def written(sections: Sections, kind: RequestKind, budget_chars: int, frames: Frames) -> str:
    """The summary.

    Args:
        sections: all items, without repeats.
        kind: which headings it has.
        budget_chars: UTF-16 units that it may have; the headings stand even if that is too little for them.
        frames: the fixed words.
    """
    slots = LAYOUTS[kind]
    names = [slot.name for slot in slots]
    room = budget_chars - len(_text(slots, {}, {}))
    chosen: dict[str, list[Item]] = {name: [] for name in names}
    rules = sections[CONSTRAINTS]
    if any(slot.labelled for slot in slots):
        rules = [replace(item, text=f"{frames.constraint}: {item.text}") for item in rules]
    chosen[CONSTRAINTS] = _constraints(rules, max(room, 0))
    room -= sum(map(_cost, chosen[CONSTRAINTS]))
    waiting = {name: sorted(sections[name], key=lambda item: -item.rank) for name in names if name != CONSTRAINTS}
    note = frames.more if budget_chars >= SMALL_CHARS else frames.more_briefly
    if len(rules) > len(chosen[CONSTRAINTS]) or sum(map(_cost, chain.from_iterable(waiting.values()))) > room:
        note_chars = NOTE_CHARS if budget_chars >= SMALL_CHARS else BRIEF_NOTE_CHARS
        room -= note_chars * (1 + sum(bool(items) for items in waiting.values()))
    _fill(waiting, chosen, room)
    notes = {name: note.format(n=len(sections[name]) - len(items)) for name, items in chosen.items()}
    left_out = {name: text for name, text in notes.items() if len(sections[name]) > len(chosen[name])}
    text = _text(slots, chosen, left_out)
    return text if utf16_len(text) <= budget_chars else _text(slots, chosen, {})


def _fill(waiting: Mapping[str, list[Item]], chosen: Mapping[str, list[Item]], room: int) -> None:
    """Gives each section its share of the room, and then what is left to the sections in order; a layout has all."""
    left = room - _take(waiting[GOAL], chosen[GOAL], room, least=FIRST_RANK)
    left -= _take_cut(waiting[GOAL], chosen[GOAL], min(left, max(LEAST_GOAL_CHARS, int(GOAL_SHARE * room))))
    for name, share in _SHARES:
        left -= _take(waiting[name], chosen[name], min(left, int(share * room)), least=LOW_RANK)
    for least in (LOW_RANK, 0):
        for name, _ in _SHARES:
            left -= _take(waiting[name], chosen[name], left, least=least)


def _cost(item: Item) -> int:
    return utf16_len(item.text) + len("- [x] \n")


def _take(waiting: list[Item], chosen: list[Item], room: int, *, least: int) -> int:
    """Moves the items of at least a rank that fit, best first, and gives the room they take."""
    used = 0
    rest = []
    for item in waiting:
        cost = _cost(item)
        if item.rank >= least and used + cost <= room:
            chosen.append(item)
            used += cost
        else:
            rest.append(item)
    waiting[:] = rest
    return used


def _take_cut(waiting: list[Item], chosen: list[Item], room: int) -> int:
    """Moves the best item, cut if need be, and gives the room it takes: what a session is for is never left out."""
    mark_chars = len(" [… 00000 more characters]")
    if not waiting or room < LEAST_GOAL_CHARS // 2 + mark_chars:
        return 0
    best = waiting.pop(0)
    cut = best if _cost(best) <= room else replace(best, text=clipped(best.text, room - mark_chars - len("- [x] \n")))
    if _cost(cut) > room:
        waiting.insert(0, best)
        return 0
    chosen.append(cut)
    return _cost(cut)


def _constraints(items: Sequence[Item], room: int) -> list[Item]:
    """The constraints that have room, the surest first; one that is too long by itself is cut with a mark."""
    longest = max(int(LONE_SHARE * room), min(WHOLE_CHARS, int(CONSTRAINT_SHARE * room) - len("- [x] \n")))
    chosen: list[Item] = []
    used = 0
    for item in sorted(items, key=lambda item: -item.rank):
        cut = item if utf16_len(item.text) <= longest else replace(item, text=clipped(item.text, longest))
        limit = CONSTRAINT_SHARE if item.rank >= CERTAIN_RANK else UNCERTAIN_SHARE
        if used + _cost(cut) <= limit * room:
            chosen.append(cut)
            used += _cost(cut)
    return chosen


def _text(slots: Sequence[Slot], chosen: Mapping[str, Sequence[Item]], left_out: Mapping[str, str]) -> str:
    """The lines: headings, items, and what was left out of each section."""
    lines: list[str] = []
    empty = False
    for slot in slots:
        if slot.headings:
            lines += [EMPTY] if empty else []
            lines += [""] if lines else []
            lines += slot.headings
            empty = True
        items = sorted(chosen.get(slot.name, ()), key=lambda item: item.order)
        marks = (f"{n}. " if slot.mark == _NUMBER else slot.mark for n in range(1, len(items) + 1))
        lines += [mark + item.text for mark, item in zip(marks, items, strict=True)]
        if slot.name in left_out:
            lines.append(f"- {left_out[slot.name]}")
        empty = empty and not items and slot.name not in left_out
    lines += [EMPTY] if empty else []
    return "\n".join(lines)
