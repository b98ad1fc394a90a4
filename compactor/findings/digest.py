"""The findings of a history -> the lines of its summary, section by section.

Takes messages with their entry ids; gives `Sections`. A line is a quotation, or a fixed frame around one, and names the
entry it comes from. Only what a tool result confirms, or an answer that was given, is a line of Done.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from compactor.constraints import Lift, find_constraints, find_lifts
from compactor.findings.call_lines import add_calls
from compactor.findings.calls import find_calls
from compactor.findings.commands import commits, succeeded, task_names
from compactor.findings.frames import Frames
from compactor.findings.items import Sections, no_sections
from compactor.findings.page import Page
from compactor.findings.requests import find_requests
from compactor.findings.statement_lines import add_constraints, add_statements
from compactor.findings.statements import Statement, find_statements
from compactor.findings.turn_lines import add_requests
from compactor.messages import Message
from compactor.model import RequestKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a history says, as lines."""

    sections: Sections
    resolved: frozenset[str]
    """Commands and files with a success: an older failure of one of them is over."""
    finished: frozenset[str]
    """Names of tasks (`WP15`, `ABC-12`) that commits tell."""
    lifts: tuple[tuple[Lift, str], ...]
    """Sentences that lift a rule, which can be one that an earlier summary tells, each with its entry id."""
    is_empty: bool
    """True when there are no messages."""
    asks: bool
    """True when the user said something in it."""
    opening_answered: bool
    """True when it begins inside of a turn, whose request an earlier summary tells, and that turn ended."""


def digest(
    messages: Sequence[Message],
    entry_ids: Sequence[str],
    frames: Frames,
    *,
    room: int,
    kind: RequestKind = "history",
    focus: str | None = None,
) -> Digest:
    """The lines of a history.

    Args:
        messages: the history in order.
        entry_ids: for each message the id of its entry, or nothing.
        frames: the fixed words.
        room: characters that the summary may have; quotations are shorter where it is small.
        kind: a history ends where a new turn begins, so its last request is not the current one of the session; the
            start of a turn and an abandoned branch end with theirs.
        focus: words of a wish; statements that hold one of them come first.
    """
    calls = find_calls(messages, entry_ids)
    made = commits(calls)
    requests = find_requests(messages, entry_ids, calls, made)
    page = Page(
        frames=frames,
        entry_ids=entry_ids,
        length=len(messages),
        room=room,
        ends_inside=kind in ("turn_prefix", "branch"),
        last_turn=requests[-1].message if requests else 0,
    )
    sections = no_sections()
    constraints = find_constraints(messages)
    add_constraints(sections, constraints, messages, page)
    add_requests(sections, requests, page)
    add_calls(sections, calls, page)
    ruled = {constraint.text for constraint in constraints}
    finished = {name: commit.message for commit in made for name in task_names(commit.line)}
    stated = find_statements(messages, entry_ids)
    add_statements(sections, [one for one in stated if not _is_told(one, ruled, finished)], page, focus)
    opening = requests[0] if requests and not requests[0].text else None
    return Digest(
        sections=sections,
        resolved=frozenset(succeeded(calls)),
        finished=frozenset(finished),
        lifts=tuple((lift, page.entry_id(lift.message)) for lift in find_lifts(messages)),
        is_empty=not messages,
        asks=any(request.text for request in requests),
        opening_answered=opening is not None and (opening.answered or len(requests) > 1),
    )


def _is_told(statement: Statement, ruled: Set[str], finished: Mapping[str, int]) -> bool:
    """True for a constraint, which has its own section, and for an open point whose task a later commit names."""
    if statement.by_user and statement.text in ruled:
        return True
    names = task_names(statement.text)[:1] if statement.kind == "open" else []
    return any(finished.get(name, -1) > statement.message for name in names)
