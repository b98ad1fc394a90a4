"""Whether an entry at the end of a session file would mean to Pi what was planned here.

Takes a plan, or the ends of a branch summary, and their session; gives the reason against writing, in one line. Pi
repairs nothing: what only we recovered is not there for it, and an entry that refers to it would lose what is before.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.branch import link_parents_as_pi
from compactor.entries import Entry, Session
from compactor.plan import Skip
from compactor.planned import Planned

ADVICE = "open the session in Pi once, which writes it anew, and run again"


def write_problem(planned: Planned, *, in_place: bool = True) -> str | None:
    """Why a compaction at the end of the file would not mean what the plan says; None if it would.

    Another agent's file takes no entry of Pi's; a copy of it is written in Pi's format.

    In version 1 the last row is always the leaf, and a position must not depend on who reads a damaged file. An id that
    stands for a missing one is not in the file, so nothing can refer to it.
    """
    session, leaf = planned.session, planned.branch.leaf
    if in_place and session.format != "pi":
        return _other_format(session)
    if isinstance(planned.plan, Skip) or leaf is None or session.format != "pi":
        return None
    first_kept = planned.plan.first_kept
    if session.header.version < 2:
        if leaf.index + 1 < len(session.entries):
            return (
                f"expected the newest entry as the leaf, for version 1 has no branches; found #{leaf.index}; {ADVICE}"
            )
        if session.warnings:
            return f"expected a file of version 1 without damage, found: {session.warnings[0].message}; {ADVICE}"
    problem = _unknown_version(session) or _missing_id(session, (leaf, first_kept))
    problem = problem or _doubled_id(planned, leaf, first_kept)
    if problem is not None:
        return problem
    gap = _gap(session, leaf, first_kept)
    if gap is None:
        return None
    if gap.is_damage:
        return (
            f"expected a kept tail that Pi can read, found damage on line {gap.line}, which Pi skips with all "
            "before it; keep fewer tokens (--keep-recent-tokens), so that the cut is after that line, or name an "
            "earlier --leaf"
        )
    return (
        "expected a branch that Pi can follow to the first kept entry, found a broken parent link on line "
        f"{gap.line}: the kept tail before it would be lost; keep fewer tokens (--keep-recent-tokens), so that the "
        "cut is after that line"
    )


def branch_write_problem(
    session: Session, left: Entry, target: Entry, ancestor: Entry | None, *, in_place: bool = True
) -> str | None:
    """Why a branch summary at the end of the file would not mean what was planned; None if it would.

    Args:
        session: as read.
        left: the old leaf.
        target: the entry continued from, which becomes the parent.
        ancestor: the newest entry that both have before them; None if they have none.
        in_place: True for the file itself, False for a copy, which is in Pi's format whoever wrote the session.
    """
    if session.format != "pi":
        return _other_format(session) if in_place else None
    if session.header.version < 2:
        convert = "write it as version 3 (compactor convert --output FILE) and name the copy"
        return f"expected a file with branches, found version {session.header.version}, which has none; {convert}"
    problem = _unknown_version(session) or _missing_id(session, (target, left))
    problem = problem or _later_owner(session, target, "--to") or _later_owner(session, left, "--from")
    if problem is not None:
        return problem
    gap = _gap(session, target, ancestor or target)
    if gap is None:
        return None
    found = "damage" if gap.is_damage else "a broken parent link"
    return (
        f"expected an entry to continue from whose branch Pi can follow, found {found} on line {gap.line}: Pi would "
        "not see what is before it; name another --to, or write a repaired copy (compactor convert --output FILE) first"
    )


def _other_format(session: Session) -> str:
    return (
        f"expected a Pi session to add an entry to, found one of {session.format}; write a Pi copy with --output, or "
        "convert it first (compactor convert)"
    )


def _unknown_version(session: Session) -> str | None:
    """Pi takes a file without a version for one of version 1, and gives all entries new ids and parents."""
    told = next((warning for warning in session.warnings if warning.code == "unknown_version"), None)
    convert = "write it as version 3 (compactor convert --output FILE) and name the copy"
    return None if told is None else f"{told.message.partition('; ')[0]}; {convert}"


def _missing_id(session: Session, named: Sequence[Entry]) -> str | None:
    made = {w.entry_id for w in session.warnings if w.code == "missing_id"}
    entry = next((entry for entry in named if entry.id in made), None)
    return None if entry is None else f"expected an id to refer to, found none on line {entry.line}; {ADVICE}"


def _doubled_id(planned: Planned, leaf: Entry, first_kept: Entry) -> str | None:
    """Why an id in the new entry would mean another entry than the plan's; None if both mean the plan's.

    The id of a parent means the last entry that has it, the first kept id means the first one on the branch.
    """
    problem = _later_owner(planned.session, leaf, "leaf")
    if problem is not None:
        return problem
    kept = next(entry for entry in planned.branch.entries if entry.id == first_kept.id)
    if kept is not first_kept:
        return (
            f"expected a first kept entry with an id of its own, found {kept.id!r} on line {kept.line} and again on "
            f"line {first_kept.line}; cut elsewhere with another --keep-recent-tokens"
        )
    return None


def _later_owner(session: Session, entry: Entry, name: str) -> str | None:
    """Why the id of an entry would mean a later one, which has it too; None if it has none."""
    owner = next(other for other in reversed(session.entries) if other.id == entry.id)
    if owner is entry:
        return None
    return (
        f"expected a {name} with an id of its own, found {entry.id!r} on line {entry.line} and again on line "
        f"{owner.line}; name another {name}"
    )


BROKEN_LINKS = frozenset({"missing_parent", "lost_parent", "parent_cycle", "duplicate_id"})
"""Warnings about links that are followed here and not by Pi."""

SKIPPED_BY_PI = frozenset({"damaged_line", "fused_lines", "nul_bytes", "byte_order_mark", "invalid_json_repaired"})
"""Warnings about lines of which something is read here and nothing by Pi."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gap:
    """Where Pi loses a branch that is whole here."""

    line: int
    is_damage: bool
    """True where Pi skips the line, False where it does not find the parent."""


def _gap(session: Session, leaf: Entry, goal: Entry) -> _Gap | None:
    """What keeps Pi, which repairs neither links nor lines, from finding an entry on the way back from a leaf."""
    if not any(w.code in BROKEN_LINKS or w.code in SKIPPED_BY_PI for w in session.warnings):
        return None
    parents = link_parents_as_pi(session.entries).parents
    skipped = {w.line for w in session.warnings if w.code in SKIPPED_BY_PI}
    at: int | None = leaf.index
    last = leaf
    seen: set[int] = set()
    while at is not None and at not in seen:
        seen.add(at)
        last = session.entries[at]
        if last.line in skipped:
            return _Gap(line=last.line, is_damage=True)
        if last is goal:
            return None
        at = parents[at]
    return _Gap(line=last.line, is_damage=False)
