"""Whether an entry at the end of a session file would mean to Pi what the plan says.

Takes a plan and the session that it was made for; gives the reason against writing, in one line. Pi repairs nothing:
what only we recovered is not there for it, and an entry that refers to it would lose the kept tail.
"""

from compactor.branch import link_parents_as_pi
from compactor.entries import Entry
from compactor.plan import CompactionPlan, Skip
from compactor.planned import Planned


def write_problem(planned: Planned, *, in_place: bool = True) -> str | None:
    """Why an entry at the end of the file would not mean what the plan says; None if it would.

    Another agent's file takes no entry of Pi's; a copy of it is written in Pi's format.

    In version 1 the last row is always the leaf, and a position must not depend on who reads a damaged file. An id that
    stands for a missing one is not in the file, so nothing can refer to it.
    """
    session, leaf = planned.session, planned.branch.leaf
    if in_place and session.format != "pi":
        return f"expected a Pi session to add an entry to, found one of {session.format}; write a Pi copy with --output"
    if isinstance(planned.plan, Skip) or leaf is None or session.format != "pi":
        return None
    todo = "open the session in Pi once, which writes it anew, and run again"
    if session.header.version < 2:
        if leaf.index + 1 < len(session.entries):
            return f"expected the newest entry as the leaf, for version 1 has no branches; found #{leaf.index}; {todo}"
        if session.warnings:
            return f"expected a file of version 1 without damage, found: {session.warnings[0].message}; {todo}"
    made = {w.entry_id for w in session.warnings if w.code == "missing_id"}
    for entry in (leaf, planned.plan.first_kept):
        if entry.id in made:
            return f"expected an id to refer to, found none on line {entry.line}; {todo}"
    doubled = _doubled_id(planned, leaf, planned.plan.first_kept)
    if doubled is not None:
        return doubled
    if any(w.code in BROKEN_LINKS or w.code in SKIPPED_BY_PI for w in session.warnings):
        return _unreachable_in_pi(planned, leaf, planned.plan)
    return None


def _doubled_id(planned: Planned, leaf: Entry, first_kept: Entry) -> str | None:
    """Why an id in the new entry would mean another entry than the plan's; None if both mean the plan's.

    The id of a parent means the last entry that has it, the first kept id means the first one on the branch.
    """
    parent = next(entry for entry in reversed(planned.session.entries) if entry.id == leaf.id)
    if parent is not leaf:
        return (
            f"expected a leaf with an id of its own, found {leaf.id!r} on line {leaf.line} and again on line "
            f"{parent.line}; name another leaf"
        )
    kept = next(entry for entry in planned.branch.entries if entry.id == first_kept.id)
    if kept is not first_kept:
        return (
            f"expected a first kept entry with an id of its own, found {kept.id!r} on line {kept.line} and again on "
            f"line {first_kept.line}; cut elsewhere with another --keep-recent-tokens"
        )
    return None


BROKEN_LINKS = frozenset({"missing_parent", "lost_parent", "parent_cycle", "duplicate_id"})
"""Warnings about links that are followed here and not by Pi."""

SKIPPED_BY_PI = frozenset({"damaged_line", "fused_lines", "nul_bytes", "byte_order_mark", "invalid_json_repaired"})
"""Warnings about lines of which something is read here and nothing by Pi."""


def _unreachable_in_pi(planned: Planned, leaf: Entry, plan: CompactionPlan) -> str | None:
    """Why Pi, which repairs neither links nor lines, would not find the kept tail."""
    session = planned.session
    parents = link_parents_as_pi(session.entries).parents
    skipped = {w.line for w in session.warnings if w.code in SKIPPED_BY_PI}
    at: int | None = leaf.index
    last = leaf
    seen: set[int] = set()
    while at is not None and at not in seen:
        seen.add(at)
        last = session.entries[at]
        if last.line in skipped:
            return (
                f"expected a kept tail that Pi can read, found damage on line {last.line}, which Pi skips with all "
                "before it; keep fewer tokens (--keep-recent-tokens), so that the cut is after that line, or name an "
                "earlier --leaf"
            )
        if last is plan.first_kept:
            return None
        at = parents[at]
    return (
        "expected a branch that Pi can follow to the first kept entry, found a broken parent link on line "
        f"{last.line}: the kept tail before it would be lost; keep fewer tokens (--keep-recent-tokens), so that the "
        "cut is after that line"
    )
