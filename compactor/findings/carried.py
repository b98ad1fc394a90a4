"""A previous summary -> lines that still hold, beside what has happened since.

Takes the text of summaries (ours or a model's) and the digest of the newer history; gives one set of sections. What was
in progress and has succeeded since is dropped, an answered request moves to Done. Sections that another agent names
otherwise are read as ours; those that we have not go to the critical context under their own name. Constraints are
never dropped.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from compactor.constraint_orders import CERTAIN
from compactor.constraints import constraints_in_summary, find_constraints, lifted_by
from compactor.findings.commands import task_names
from compactor.findings.digest import Digest
from compactor.findings.frames import ALL_FRAMES, Frames
from compactor.findings.headings import USER_MESSAGES, in_markdown, section_of
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
from compactor.findings.page import MAX_NOTE_CHARS, MAX_QUOTE_CHARS
from compactor.findings.quotes import clipped, one_line, quoted, reference
from compactor.findings.typed import typed
from compactor.messages import Message
from compactor.summary import (
    CONSTRAINTS,
    NO_PRIOR_HISTORY,
    PLACEHOLDERS,
    SPLIT_TURN_LEAD,
    Section,
    SummaryDocument,
    parse_summary,
    without_file_blocks,
)

MAX_ITEM_CHARS = 600
"""A longer item of a previous summary is a text of its own; it is cut with a mark."""

_OPEN_SECTIONS = (IN_PROGRESS, BLOCKED, NEXT)

CARRIED_ORDER = -1_000_000
"""Carried lines stand before all lines of the newer history."""

_PART_RULE = re.compile(r"\n-{3,}[ \t]*\n(?!\s*\*\*Turn Context)")
_MARK = re.compile(r"\s{0,3}(?:[-*+•]|\d{1,3}[.)])\s+")
_BOX = re.compile(r"\[([ xX~-])\]\s+")
_NOTHING = re.compile(
    r"(?:[-*+]\s+|\d+[.)]\s+)?(?:\[[ xX]\]\s+)?[(\[]?(?:none|nothing|n/a|无)[)\]]?\.?$", re.IGNORECASE
)
_OMITTED = re.compile(r"(?:[-*]\s+)?(?:\(\+\d+ more(?:, left out for length)?\)|\(另有 \d+ 条[^)]*\))$")
_NOTHING_OPEN = re.compile(
    r"(?:none|nothing)\b(?! of\b)[^.;:]{0,40}\b(?:pending|remain\w*|outstanding|open|left|explicit\w*)\b"
    r"|(?:there (?:are|is) )?no (?:(?:explicit|further|pending|remaining|outstanding|open|other|more)(?:ly)? )+"
    r"(?:tasks?|steps?|work|items?|requests?|points?|issues?|blockers?|problems?)\b",
    re.IGNORECASE,
)
"""How a summary says in words that a list of open points is empty."""

_FINISHED = re.compile(r"(?:(?:I|we)(?:'ve| have)? )?(?:just |all )?(?:completed|finished|done)\b", re.IGNORECASE)
_QUOTED = re.compile('["“](.*)["”]', re.DOTALL)
_LETTER = re.compile(r"\w")
_CODE = re.compile(r"`([^`]+)`")
_OWN_STATES = tuple(
    word for f in ALL_FRAMES for word in (f.none_open, f.not_answered, f.asked_back, f.goes_on, f.so_far, f.no_request)
)
_LIFTED = tuple(f.lifted for f in ALL_FRAMES)
_LABELS = tuple(f"{f.constraint}: " for f in ALL_FRAMES)
_OWN_REQUESTS = tuple(name for f in ALL_FRAMES for name in (f.current, f.latest, f.opened))


def part_summaries(text: str) -> list[str]:
    """The summaries of parts in a text that holds several, separated by rules."""
    return [part for part in _PART_RULE.split(f"\n{text}\n") if part.strip()]


def with_previous(summaries: Sequence[str], newer: Digest, frames: Frames) -> Sections:
    """The sections of a digest with what earlier summaries hold, the oldest summary first."""
    sections = {name: list(items) for name, items in newer.sections.items()}
    for age, summary in enumerate(reversed(summaries)):
        over = age > 0 or _is_over(newer)
        earlier = _read(without_file_blocks(summary), frames, over=over, keep_states=newer.is_empty and not over)
        shift = CARRIED_ORDER * (age + 1)
        earlier[CONSTRAINTS] = [_lifted(item, newer, frames) for item in earlier[CONSTRAINTS]]
        for name, items in earlier.items():
            kept = [item for item in items if name not in _OPEN_SECTIONS or not _settled(item, newer)]
            sections[name] += [
                replace(item, rank=max(1, item.rank - 3 * age), order=shift + n) for n, item in enumerate(kept)
            ]
    return sections


def add_branch(sections: Sections, summary: str, entry_id: str, frames: Frames) -> None:
    """Adds what the summary of an abandoned branch says: its constraints, and the rest as context."""
    text = without_file_blocks(summary)
    branch = frames.other_branch + reference(entry_id)
    for constraint in _constraints(text):
        sections[CONSTRAINTS].append(Item(text=one_line(constraint), rank=90, order=CARRIED_ORDER))
    for name, line in _lines(parse_summary(text, "branch")):
        if not line.startswith(_OWN_STATES):
            lead = f"{branch}, {name}" if name else branch
            told = clipped(f"{lead}: {line[_box_end(line) :]}", MAX_ITEM_CHARS)
            sections[CONTEXT].append(
                Item(text=told, rank=36 + 8 * (section_of(name) == DECISIONS), order=CARRIED_ORDER)
            )


def _is_over(newer: Digest) -> bool:
    """True when the request that the previous summary calls current is answered or replaced by now."""
    return newer.asks or newer.opening_answered


def _settled(item: Item, newer: Digest) -> bool:
    """True for an open point about a command, a file or a numbered task that has succeeded since."""
    named = _CODE.search(item.text)
    if named is not None and named.group(1) in newer.resolved:
        return True
    return not newer.finished.isdisjoint(task_names(item.text)[:1])


def _lifted(item: Item, newer: Digest, frames: Frames) -> Item:
    """A constraint of an earlier summary, marked if the user has lifted it since."""
    entry_ids = dict(newer.lifts)
    lift = lifted_by(item.text, list(entry_ids))
    if lift is None or any(word in item.text for word in _LIFTED):
        return item
    note = f"({frames.lifted}{reference(entry_ids[lift])}: {quoted(lift.text, MAX_NOTE_CHARS)})"
    return replace(item, text=f"{item.text} {note}", rank=LIFTED_RANK)


def _read(text: str, frames: Frames, *, over: bool, keep_states: bool) -> Sections:
    """The lines of one summary, by section."""
    sections = no_sections()
    main, _, turn = text.partition(SPLIT_TURN_LEAD)
    if main.strip() in PLACEHOLDERS:
        sections[CONTEXT].append(Item(text=frames.not_readable, rank=_RANKS[CONTEXT]))
        main = ""
    main = "" if main.strip() == NO_PRIOR_HISTORY else in_markdown(main)
    for constraint in _constraints(main):
        sections[CONSTRAINTS].append(Item(text=one_line(constraint), rank=CERTAIN_RANK))
    lines = [*_lines(parse_summary(main)), *(_lines(parse_summary(turn, "turn_prefix")) if turn else ())]
    said = [line for name, line in lines if name == USER_MESSAGES]
    _place_messages(sections, [words for line in said if (words := typed(_unquoted(line)))], frames, over=over)
    for name, line in lines:
        if name == USER_MESSAGES:
            continue
        label = next((word for word in _LABELS if line.startswith(word)), None)
        if label is not None:
            sections[CONSTRAINTS].append(Item(text=one_line(line[len(label) :].strip()), rank=CERTAIN_RANK))
        elif keep_states or not line[_box_end(line) :].startswith(_OWN_STATES):
            _place(sections, name, line, frames, over=over)
    return sections


def _constraints(text: str) -> Iterator[str]:
    return (line for line in constraints_in_summary(text) if not _OMITTED.match(line))


def _box_end(line: str) -> int:
    box = _BOX.match(line)
    return box.end() if box else 0


CERTAIN_RANK, LIFTED_RANK = 95, 75
"""Of a rule that is certain, and of one that the user has changed."""

FIRST_DONE_RANK = 66
"""What a session began with stays for long."""

OPEN_RANK = 18
"""What an open request has more than other lines of its section."""

PAST_RANK = 24
"""Of what was current when another agent wrote its summary, and the request has gone on since."""

_RANKS = {GOAL: 80, DONE: 40, IN_PROGRESS: 55, BLOCKED: 45, DECISIONS: 50, NEXT: 50, CONTEXT: 42}


def _place(sections: Sections, name: str, line: str, frames: Frames, *, over: bool) -> None:
    """Puts one line of a previous summary where it belongs now."""
    target = section_of(name)
    box = _BOX.match(line)
    text = line[box.end() :] if box else line
    if target is None:
        target, text = CONTEXT, f"{one_line(name)}: {text}" if name else text
    elif box and target in (DONE, IN_PROGRESS, NEXT):
        target = DONE if box.group(1) in "xX" else NEXT if target == NEXT else IN_PROGRESS
    if target in _OPEN_SECTIONS and _NOTHING_OPEN.match(text):
        return
    is_past = target == IN_PROGRESS and name != IN_PROGRESS and over and not box
    if is_past:
        target, text = CONTEXT, f"{one_line(name)} ({frames.told_before}): {text}"
    target = DONE if target == IN_PROGRESS and _FINISHED.match(text) else target
    is_request = name == "Original Request" or text.startswith(_OWN_REQUESTS)
    if is_request and over:
        target = DONE
        text = f"{frames.earlier} ({frames.told_before}) {_without_frame(text)}"
    elif is_request and not text.startswith(_OWN_REQUESTS):
        text = f"{frames.current} ({frames.told_before}): {text}"
    rank = PAST_RANK if is_past else _rank(target, text, frames) + (OPEN_RANK if is_request and not over else 0)
    if target == DONE and not sections[DONE]:
        rank = FIRST_DONE_RANK
    sections[target].append(Item(text=clipped(text, MAX_ITEM_CHARS), rank=rank))


def _place_messages(sections: Sections, said: Sequence[str], frames: Frames, *, over: bool) -> None:
    """Puts what the user said where a summary of ours has it: the open request, those before it, and rules."""
    for rule in find_constraints([Message(role="user", content=words) for words in said]):
        note = f" ({frames.lifted}: {quoted(rule.changed_by, MAX_NOTE_CHARS)})" if rule.changed_by else ""
        rank = CERTAIN_RANK * rule.strength // CERTAIN if not note else LIFTED_RANK
        sections[CONSTRAINTS].append(Item(text=one_line(rule.text) + note, rank=rank))
    for n, words in enumerate(said):
        quote = quoted(words, MAX_QUOTE_CHARS)
        if n == len(said) - 1 and not over:
            text = f"{frames.current} ({frames.told_before}): {quote}"
            sections[GOAL].append(Item(text=text, rank=_RANKS[GOAL] + OPEN_RANK))
        else:
            rank = _RANKS[DONE] if sections[DONE] else FIRST_DONE_RANK
            sections[DONE].append(Item(text=f"{frames.earlier} ({frames.told_before}) {quote}", rank=rank))


def _unquoted(line: str) -> str:
    """The line without quotation marks around the whole of it."""
    found = _QUOTED.fullmatch(line.strip())
    return found.group(1) if found else line


def _rank(target: str, text: str, frames: Frames) -> int:
    """Lower for what was of little weight when it was new."""
    if target == IN_PROGRESS and text.endswith(frames.no_answer):
        return 10
    if target == IN_PROGRESS and frames.no_result in text:
        return 15
    if text.startswith(frames.partly_read) or text.endswith(frames.stale):
        return 22
    return _RANKS[target]


def _without_frame(text: str) -> str:
    for word in _OWN_REQUESTS:
        if text.startswith(word):
            return text[len(word) :].lstrip(" :")
    return text


def _lines(document: SummaryDocument) -> Iterator[tuple[str, str]]:
    """Section name and text of each item; one under an unknown sub-heading names it and counts to what is above."""
    headings = sorted(document.sections, key=lambda section: section.start)
    for item in _items(document.text[: headings[0].start] if headings else document.text):
        yield "", item
    known: list[Section] = []
    for n, section in enumerate(headings):
        while known and known[-1].level >= section.level:
            known.pop()
        end = headings[n + 1].start if n + 1 < len(headings) else len(document.text)
        above = known[-1].name if known else ""
        is_known = section.name == CONSTRAINTS or section_of(section.name) is not None
        if is_known:
            known.append(section)
        if CONSTRAINTS in (section.name, above):
            continue
        for item in _items(document.text[section.body_start : end]):
            yield (section.name, item) if is_known or not above else (above, f"{section.name}: {item}")


def _items(body: str) -> Iterator[str]:
    """The items of a section's body: bullets with what is indented under them, else lines."""
    item = ""
    for line in body.splitlines():
        stripped = line.strip()
        if (
            not _LETTER.search(stripped)
            or stripped.startswith("```")
            or _NOTHING.match(stripped)
            or _OMITTED.match(stripped)
        ):
            continue
        if item and line[:1] in " \t":
            item += " " + stripped
            continue
        if item:
            yield item
        mark = _MARK.match(line)
        item = line[mark.end() if mark else 0 :].strip()
    if item:
        yield item
