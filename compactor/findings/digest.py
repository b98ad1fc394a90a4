"""The findings of a history -> the lines of its summary, section by section.

Takes messages with their entry ids; gives `Sections`. A line is a quotation, or a fixed frame around one, and names the
entry it comes from. Only what a tool result confirms, or an answer that was given, is a line of Done.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.constraints import find_constraints
from compactor.findings.call_lines import add_calls
from compactor.findings.calls import find_calls
from compactor.findings.commands import commits, succeeded
from compactor.findings.frames import Frames
from compactor.findings.items import Sections, no_sections
from compactor.findings.page import Page
from compactor.findings.requests import find_requests
from compactor.findings.statement_lines import add_constraints, add_statements
from compactor.findings.statements import find_statements
from compactor.findings.turn_lines import add_requests
from compactor.messages import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a history says, as lines."""

    sections: Sections
    resolved: frozenset[str]
    """Commands and files with a success: an older failure of one of them is over."""
    asks: bool
    """True when the user said something in it."""
    opening_answered: bool
    """True when it begins inside of a turn, whose request an earlier summary tells, and that turn ended."""


def digest(
    messages: Sequence[Message], entry_ids: Sequence[str], frames: Frames, *, focus: str | None = None, room: int
) -> Digest:
    """The lines of a history.

    Args:
        messages: the history in order.
        entry_ids: for each message the id of its entry, or nothing.
        frames: the fixed words.
        focus: words of a wish; statements that hold one of them come first.
        room: characters that the summary may have; quotations are shorter where it is small.
    """
    calls = find_calls(messages, entry_ids)
    made = commits(calls)
    requests = find_requests(messages, entry_ids, calls, made)
    page = Page(
        frames=frames,
        entry_ids=entry_ids,
        length=len(messages),
        room=room,
        last_turn=requests[-1].message if requests else 0,
    )
    sections = no_sections()
    constraints = find_constraints(messages)
    add_constraints(sections, constraints, messages, page)
    add_requests(sections, requests, page)
    add_calls(sections, calls, page)
    ruled = {constraint.text for constraint in constraints}
    stated = (s for s in find_statements(messages, entry_ids) if not (s.by_user and s.text in ruled))
    add_statements(sections, stated, page, focus)
    opening = requests[0] if requests and not requests[0].text else None
    return Digest(
        sections=sections,
        resolved=frozenset(succeeded(calls)),
        asks=any(request.text for request in requests),
        opening_answered=opening is not None and (opening.answered or len(requests) > 1),
    )
