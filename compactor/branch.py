"""The tree of a session: which entry follows which, and the chain from the leaf to a root.

Takes entries in file order; gives parent indexes (repaired where links are broken) and the active branch.
Source: Pi 1.6.0 session-manager.js buildSessionPath. Where Pi follows a link to nothing (the rest of the branch
vanishes) or in a circle (it never ends), the default joins the entry to the line before it and says so.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from msgspec import UNSET

from compactor.entries import Entry, Session, SessionWarning
from compactor.errors import SessionError

MAX_NAMED_IDS = 8
"""A message names no more of the ids in a circle."""

MAX_NUMBER_DIGITS = 20
"""No file has as many entries as a number of so many digits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Where each entry leads."""

    parents: list[int | None]
    """Index of the parent entry, None for a root."""
    warnings: list[SessionWarning]


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """The active branch, root first."""

    entries: list[Entry]

    @property
    def leaf(self) -> Entry | None:
        """The newest entry, None if the session has none."""
        return self.entries[-1] if self.entries else None


def link_parents_as_pi(entries: Sequence[Entry]) -> Links:
    """The parents that Pi sees: the last entry with an id owns it, a missing parent ends the chain."""
    by_id = {entry.id: entry.index for entry in entries}
    return Links(parents=[by_id.get(str(e.parent_id)) if e.parent_id else None for e in entries], warnings=[])


def link_parents(entries: Sequence[Entry], ghosts: Mapping[str, str | None]) -> Links:
    """The parent of each entry, broken links repaired with a warning each.

    Args:
        entries: in file order; a duplicate id means, for the entries after it, the newest one before them.
        ghosts: id -> parent id of records that are lost but whose links are known.
    """
    warnings: list[SessionWarning] = []
    parents: list[int | None] = [None] * len(entries)
    seen: dict[str, int] = {}
    unresolved: list[int] = []
    previous: str | None = None
    for index, entry in enumerate(entries):
        parent_id, entry_id = entry.parent_id, entry.id
        if parent_id and parent_id == previous:
            parents[index] = index - 1
        elif parent_id is UNSET or parent_id == "":
            if index:
                parents[index] = index - 1
                text = f"line {entry.line}: the entry has no parentId; joined to the line before it"
                warnings.append(SessionWarning(code="missing_parent", message=text, line=entry.line, entry_id=entry_id))
        elif parent_id:
            found = parents[index] = seen.get(parent_id)
            if found is None:
                unresolved.append(index)
        if entry_id in seen:
            warnings.append(_duplicate(entry, entries[seen[entry_id]]))
        seen[entry_id] = index
        previous = entry_id
    for index in unresolved:
        parents[index] = _resolve(entries[index], entries, seen, ghosts, warnings)
    _break_cycles(entries, parents, warnings)
    return Links(parents=parents, warnings=warnings)


def _duplicate(entry: Entry, first: Entry) -> SessionWarning:
    text = f"id {entry.id!r} is already used on line {first.line}; entries after line {entry.line} mean the later one"
    return SessionWarning(code="duplicate_id", message=text, line=entry.line, entry_id=entry.id)


def _resolve(
    entry: Entry,
    entries: Sequence[Entry],
    by_id: Mapping[str, int],
    ghosts: Mapping[str, str | None],
    warnings: list[SessionWarning],
) -> int | None:
    """The parent of an entry whose parent does not stand before it."""
    wanted = entry.parent_id if isinstance(entry.parent_id, str) else None
    walked: set[str] = set()
    while wanted in ghosts and wanted not in by_id and wanted not in walked:
        assert wanted is not None
        walked.add(wanted)
        wanted = ghosts[wanted]
    if wanted is None:
        text = f"parent {entry.parent_id!r} is on a damaged line; the entry starts the branch"
        warnings.append(SessionWarning(code="lost_parent", message=text, line=entry.line, entry_id=entry.id))
        return None
    if wanted in by_id:
        if walked:
            text = f"parent {entry.parent_id!r} is on a damaged line; joined to its parent {wanted!r}"
            warnings.append(SessionWarning(code="lost_parent", message=text, line=entry.line, entry_id=entry.id))
        return by_id[wanted]
    before = entries[entry.index - 1] if entry.index else None
    where = f"joined to {before.id!r} on the line before it" if before else "it starts the branch"
    text = f"parent {entry.parent_id} not found, line {entry.line}; {where}"
    warnings.append(SessionWarning(code="missing_parent", message=text, line=entry.line, entry_id=entry.id))
    return before.index if before else None


def _break_cycles(entries: Sequence[Entry], parents: list[int | None], warnings: list[SessionWarning]) -> None:
    """Cuts every circle of parents at its first entry in file order, which is joined to the line before it.

    Links to earlier entries alone make no circle. The others are added one by one, the last in the file first, so the
    one that closes a circle is that of the circle's first entry. Joining it can only close a circle that starts even
    earlier, which is met later. Near-linear time: roots are found as in union-find.
    """
    roots = [parent if parent is not None and parent < n else n for n, parent in enumerate(parents)]
    for first in range(len(parents) - 1, -1, -1):
        parent = parents[first]
        if parent is None or parent < first:
            continue
        if _root(roots, parent) == first:
            warnings.append(_cycle(entries, parents, first))
            parents[first] = first - 1 if first else None
        roots[first] = first if (joined := parents[first]) is None else joined


def _root(roots: list[int], at: int) -> int:
    """The entry that the known links from `at` end at; the way there is shortened for the next time."""
    while (above := roots[at]) != at:
        roots[at] = roots[above]
        at = above
    return at


def _cycle(entries: Sequence[Entry], parents: list[int | None], first: int) -> SessionWarning:
    ring = [first]
    while (at := parents[ring[-1]]) is not None and at != first and len(ring) < MAX_NAMED_IDS:
        ring.append(at)
    ids = " -> ".join([*(repr(entries[n].id) for n in ring), *(["…"] if at != first else []), repr(entries[first].id)])
    entry = entries[first]
    where = f"joined to {entries[first - 1].id!r} on the line before it" if first else "it starts the branch"
    text = f"the parents go round in a circle ({ids}); the link of {entry.id!r} was cut, {where}"
    return SessionWarning(code="parent_cycle", message=text, line=entry.line, entry_id=entry.id)


def find_leaf(session: Session, leaf: str | None) -> Entry | None:
    """The entry that `leaf` names: an id, an id prefix that only one entry has, `#N`, or None for the last entry.

    Raises:
        SessionError: no entry, or more than one, is meant.
    """
    entries = session.entries
    if leaf is None:
        return entries[-1] if entries else None
    if leaf.startswith("#"):
        number = leaf[1:]
        if number.isascii() and number.isdigit() and len(number) < MAX_NUMBER_DIGITS and int(number) < len(entries):
            return entries[int(number)]
        raise SessionError(
            f"{session.path}: no entry {leaf}; expected #0 to #{len(entries) - 1}"
            if entries
            else f"{session.path}: no entry {leaf}; the session has no entries"
        )
    named = session.aliases.get(leaf, leaf)
    exact = [entry for entry in entries if entry.id == named]
    if exact:
        return exact[-1]
    near = [entry for entry in entries if leaf and entry.id.startswith(leaf)]
    if len(near) == 1:
        return near[0]
    found = f"{len(near)} entries start with it: {', '.join(e.id for e in near[:5])}" if near else "no entry has it"
    raise SessionError(f"{session.path}: expected the id of one entry or #N, found {leaf!r}: {found}")


def active_branch(session: Session, leaf: Entry | None) -> Branch:
    """The chain of parents from `leaf` to its root, root first; a circle (only as Pi sees it) ends the chain."""
    path: list[Entry] = []
    seen = bytearray(len(session.entries))
    at = leaf.index if leaf is not None else None
    while at is not None and not seen[at]:
        seen[at] = 1
        path.append(session.entries[at])
        at = session.parents[at]
    path.reverse()
    return Branch(entries=path)
