"""The tree: links that readers follow and yet are odd.

Takes an `Examined` session; gives findings. Broken links are told by the reader (`lines.reader_findings`).
"""

from collections.abc import Iterator

from compactor.branch import active_branch, find_leaf
from compactor.diagnosis.examined import Examined
from compactor.diagnosis.finding import Finding, finding
from compactor.entries import Session
from compactor.wording import amount, shown_id


def link_findings(examined: Examined) -> Iterator[Finding]:
    """Parents that come later in the file, and several roots."""
    session = examined.session
    for entry, parent in zip(session.entries, session.parents, strict=True):
        if parent is not None and parent > entry.index:
            above = session.entries[parent]
            text = f"the parent {shown_id(above.id)} stands after the entry, on line {above.line}"
            yield finding("forward_parent", text, line=entry.line, entry_id=entry.id)
    broken = {w.entry_id for w in session.warnings if w.code in ("missing_parent", "lost_parent", "parent_cycle")}
    roots = [e for e, p in zip(session.entries, session.parents, strict=True) if p is None and e.id not in broken]
    if len(roots) > 1 and session.format == "pi":
        text = f"{amount(len(roots), 'entry', 'entries')} start a branch of their own, each without a parent"
        yield finding("several_roots", text, line=roots[1].line, entry_id=roots[1].id)


def pi_finding(ours: Session, theirs: Session | None) -> Finding | None:
    """What Pi would read less of than compactor, None if it reads as much of the newest branch.

    Args:
        ours: as read by default.
        theirs: read as Pi does; None if it refuses the file.
    """
    if theirs is None:
        return finding("pi_sees_less", "Pi 1.6.0 refuses the file: it finds no session header on the first line")
    branch = active_branch(theirs, find_leaf(theirs, None)).entries
    if branch and theirs.parents[branch[0].index] is not None:
        text = "Pi 1.6.0 never ends on the file: it follows the parents of the newest entry round in a circle"
        return finding("pi_sees_less", text)
    wanted = active_branch(ours, find_leaf(ours, None)).entries
    if len(branch) >= len(wanted):
        return None
    whole = amount(len(wanted), "entry", "entries")
    return finding("pi_sees_less", f"Pi 1.6.0 reads only {len(branch):,} of the {whole} on the newest branch")
