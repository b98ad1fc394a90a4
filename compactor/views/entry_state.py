"""What became of every entry of a session, seen from one leaf: is it in the next request, and if not, why?

Takes a session and the measured projection of a branch, the same that planning uses; gives one `EntryState` an entry.
An entry that a compaction took away is judged by the context right before that compaction: what was edited out or was
never sent then stays so, the rest was compacted away. Where compactions follow each other, the one counts that took
the entry away for the last time.
"""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal, get_args

import msgspec

from compactor.branch import Branch
from compactor.entries import Entry, Session
from compactor.entry_measure import EntryMeasure
from compactor.measure import Measured, measure
from compactor.projection import EDITABLE_ROLES, ProjectedEntry, project
from compactor.tokens import PiCounter

State = Literal["in_context", "edited", "edited_out", "compacted_away", "abandoned_branch", "never_sent"]
STATES: tuple[State, ...] = get_args(State)

Why = Literal["", "no_message", "private", "orphan_result"]
"""Why an entry is never sent: it is no message, the user excluded it, or it answers a call that is not there."""


class EntryState(msgspec.Struct, frozen=True, gc=False):
    """The state of one entry."""

    state: State
    by: int | None = None
    """Index of the compaction or context_edit that did it."""
    why: Why = ""


IN_CONTEXT = EntryState("in_context")
ABANDONED = EntryState("abandoned_branch")
_NEVER = EntryState("never_sent", None, "no_message")
_PRIVATE = EntryState("never_sent", None, "private")
_ORPHAN = EntryState("never_sent", None, "orphan_result")


def entry_states(session: Session, measured: Measured) -> list[EntryState]:
    """The state of each entry, by index; one that is not on the branch counts as left behind with its branch.

    Args:
        session: all entries.
        measured: of the branch's projection, not exact.
    """
    states = [ABANDONED] * len(session.entries)
    path = measured.projection.branch.entries
    compactions = [n for n, entry in enumerate(path) if entry.type == "compaction"]
    for older, newer in pairwise(compactions):
        states[path[older].index] = EntryState("compacted_away", path[newer].index)
    for at, group, before in _removals(path, compactions):
        gone = EntryState("compacted_away", path[at].index)
        chosen = [path[n] for n in sorted({*group, *before})]
        wanted = {path[n].index for n in group}
        for entry, found in _states_in(measure(project(Branch(entries=chosen)), PiCounter())):
            if entry.index in wanted:
                states[entry.index] = gone if found.state in ("in_context", "edited") else found
    for entry, found in _states_in(measured):
        states[entry.index] = found
    return states


def first_kept_position(path: Sequence[Entry], at: int, first_at: dict[str, int]) -> int:
    """Where the kept tail of the compaction at position `at` starts; `at` itself if it keeps nothing.

    Args:
        path: the branch, root first.
        at: position of the compaction.
        first_at: id -> first position on the branch.
    """
    found = first_at.get(path[at].body.first_kept_entry_id or "", at)
    return min(found, at)


def positions(path: Sequence[Entry]) -> dict[str, int]:
    """Id -> first position on the branch."""
    found: dict[str, int] = {}
    for n, entry in enumerate(path):
        found.setdefault(entry.id, n)
    return found


def _removals(path: Sequence[Entry], compactions: Sequence[int]) -> Iterator[tuple[int, list[int], Sequence[int]]]:
    """For each compaction its position, the entries that it took away for good, and the edits in force before it."""
    if not compactions:
        return
    first_at = positions(path)
    starts = [0, *(first_kept_position(path, at, first_at) for at in compactions)]
    edits = [n for n, entry in enumerate(path) if entry.type == "context_edit"]
    limit = starts[-1]
    for number in range(len(compactions) - 1, -1, -1):
        at, start = compactions[number], starts[number]
        group = [n for n in range(start, limit) if path[n].type != "compaction" and not _is_system(path[n])]
        limit = min(limit, start)
        # System messages leave with the first compaction after them, wherever the kept tail starts.
        previous = compactions[number - 1] if number else -1
        group += [n for n in range(previous + 1, at) if _is_system(path[n])]
        if group:
            yield at, group, edits[bisect_left(edits, start) : bisect_left(edits, at)]


def _is_system(entry: Entry) -> bool:
    return entry.type == "message" and entry.role == "system"


def _states_in(measured: Measured) -> Iterator[tuple[Entry, EntryState]]:
    """The entries of a context with their states; an older compaction in the kept tail is not among them."""
    for projected, found in zip(measured.projection.entries, measured.measures, strict=True):
        if not (projected.is_silent and projected.entry.type == "compaction"):
            yield projected.entry, _state_in(projected, found)


def _state_in(projected: ProjectedEntry, found: EntryMeasure) -> EntryState:
    """The state of an entry that the context has a place for."""
    edit = projected.edit
    if found.roles:
        return IN_CONTEXT if edit is None or not is_edited(projected, found.roles) else EntryState("edited", edit.index)
    if projected.is_silent:
        return _ORPHAN
    if edit is not None and projected.intrinsic_messages():
        return EntryState("edited_out", edit.index)
    return _PRIVATE if projected.entry.role == "bashExecution" else _NEVER


def is_edited(projected: ProjectedEntry, roles: Sequence[str]) -> bool:
    """True when a context_edit replaces content of the entry, whose messages have these roles."""
    if projected.edit is None or EDITABLE_ROLES.isdisjoint(roles):
        return False
    return isinstance(projected.edit.body.replacement, msgspec.Struct)
