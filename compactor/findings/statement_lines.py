"""Statements and constraints -> lines of a summary, each with who said it and where."""

from collections.abc import Iterable, Iterator, Sequence

from compactor.constraints import Constraint
from compactor.findings.items import BLOCKED, CONTEXT, DECISIONS, GOAL, NEXT, Item, Sections
from compactor.findings.page import Page
from compactor.findings.quotes import clipped, one_line, quoted, reference
from compactor.findings.statements import Statement, StatementKind
from compactor.messages import Message
from compactor.summary import CONSTRAINTS

MAX_KEPT = 60
"""Of a section so many statements are considered, the most telling and latest first."""

MAX_JOINED_CHARS = 300
"""Constraints that follow each other on one line of a message share a bullet up to this length."""

LEAD_CHARS = 60

RECENT = 17
"""Of 20: the last fifth of a history."""

_SECTION_OF: dict[StatementKind, str] = {
    "decision": DECISIONS,
    "open": NEXT,
    "blocked": BLOCKED,
    "scope": CONTEXT,
    "result": CONTEXT,
    "value": CONTEXT,
    "goal": GOAL,
}


def add_constraints(sections: Sections, found: Sequence[Constraint], messages: Sequence[Message], page: Page) -> None:
    """Adds the constraints, word for word, each with its entry and what changed it later."""
    for group in _on_one_line(found, messages):
        first, last = group[0], group[-1]
        text = first.text
        if last is not first:
            text = messages[first.message].text()[first.start : last.start + len(last.text)]
        line = one_line(text) + reference(page.entry_id(first.message))
        if first.changed_by is not None:
            where = reference(page.entry_id(first.changed_in)) if first.changed_in is not None else ""
            line += f" ({page.frames.lifted}{where}: {quoted(first.changed_by, page.note_chars)})"
        strength = max(constraint.strength for constraint in group)
        rank = 30 * strength - 20 * (first.changed_by is not None) + page.recency(first.message) // 3
        sections[CONSTRAINTS].append(Item(text=line, rank=rank, order=first.message))


def _on_one_line(found: Sequence[Constraint], messages: Sequence[Message]) -> Iterator[list[Constraint]]:
    """The constraints, those that stand side by side together, so that their words stay as they were written."""
    group: list[Constraint] = []
    for constraint in found:
        if group and not _joins(group, constraint, messages):
            yield group
            group = []
        group.append(constraint)
    if group:
        yield group


def _joins(group: list[Constraint], constraint: Constraint, messages: Sequence[Message]) -> bool:
    before = group[-1]
    if before.message != constraint.message or before.changed_by is not None or constraint.changed_by is not None:
        return False
    end = before.start + len(before.text)
    size = constraint.start + len(constraint.text) - group[0].start
    return (
        end <= constraint.start <= end + 2
        and size <= MAX_JOINED_CHARS
        and not messages[before.message].text()[end : constraint.start].strip(" ")
    )


def add_statements(sections: Sections, found: Iterable[Statement], page: Page, focus: str | None) -> None:
    """Adds decisions, open points, limits, results and values, ranked by how telling and how late they are."""
    wanted = frozenset(word for word in (focus or "").lower().split() if len(word) > 3)
    ranked: dict[str, list[tuple[int, Statement]]] = {}
    for statement in found:
        rank = _rank(statement, page, wanted)
        if rank > 0:
            ranked.setdefault(_SECTION_OF[statement.kind], []).append((rank, statement))
    for section, statements in ranked.items():
        statements.sort(key=lambda pair: -pair[0])
        for rank, statement in statements[:MAX_KEPT]:
            sections[section].append(Item(text=_line(statement, page), rank=rank, order=statement.message))


def _rank(statement: Statement, page: Page, wanted: frozenset[str]) -> int:
    """1 to 89; 0 for what is out of date."""
    recency = page.recency(statement.message)
    rank = 8 * statement.weight + recency + 10 * statement.by_user
    if statement.kind in ("open", "blocked"):
        if statement.message >= page.last_turn:
            rank += 30
        elif recency < RECENT and statement.weight < 4:
            # An open point of an earlier turn was most often settled since.
            return 0
    if any(word in statement.text.lower() for word in wanted):
        rank += 25
    return max(1, min(89, rank))


def _line(statement: Statement, page: Page) -> str:
    frames = page.frames
    quote = quoted(statement.text, page.quote_chars)
    where = reference(statement.entry_id)
    who = frames.user if statement.by_user else frames.assistant
    if statement.kind == "decision":
        return f"**{quote}**: {who}{where}"
    if statement.kind == "goal":
        return f"{frames.goal}{where}: {quote}"
    lead = ""
    if statement.kind in ("scope", "open") and 0 < len(statement.lead) <= LEAD_CHARS:
        lead = clipped(statement.lead, LEAD_CHARS).rstrip(":：") + ": "
    limits = f"{frames.limits}: " if statement.kind == "scope" else ""
    return f"{limits}{lead}{quote} ({who}{where})"
