"""`compactor context`: what the next request would hold, and how two contexts of a session differ."""

from typing import TYPE_CHECKING

import click

from compactor.cli.inputs import COUNTERS, counter_for, looked_up, looked_up_branch, view_options

if TYPE_CHECKING:
    from compactor.branch import Branch
    from compactor.entries import Session


@click.command()
@view_options
@click.option("--counter", type=click.Choice(COUNTERS), default="pi", show_default=True, help="How tokens are counted.")
@click.option("--full", is_flag=True, help="All of every message; with --json also the data of pictures.")
@click.option("--diff", nargs=2, metavar="A B", help="Compare the contexts of two leaves, each an id or #N.")
@click.option("--compaction", metavar="ID|#N|last", help="Compare the contexts right before and after a compaction.")
def context(
    session: str,
    leaf: str | None,
    session_dir: str | None,
    as_json: bool,
    counter: str,
    full: bool,
    diff: tuple[str, str] | None,
    compaction: str | None,
) -> None:
    """Show what the next request of SESSION would hold: every message in order, with its tokens and its source entry.

    With --diff or --compaction, show instead which messages were removed, added and changed on the way from one
    context to the other.
    """
    from compactor.cli.terminal import write_json, write_text
    from compactor.js_text import json_text, utf8
    from compactor.views.context import context_json, context_of

    if diff is not None and (leaf is not None or compaction is not None):
        raise click.UsageError("--diff names both leaves; leave out --leaf and --compaction.")
    found = looked_up(session, session_dir)
    sides = _sides(found, leaf, diff, compaction)
    made = [context_of(found, branch, counter_for(counter, branch)) for branch in sides]
    # They live as long as the process does: freeing a large session would take time and serve nobody.
    click.get_current_context().find_root().obj = made
    if len(made) == 1:
        if as_json:
            write_json(utf8(json_text(context_json(made[0], full=full))))
            return
        from compactor.cli.context_report import context_text

        write_text(context_text(made[0], full=full))
        return
    from compactor.views.context_diff import context_diff, diff_json

    compared = context_diff(made[0], made[1])
    if as_json:
        write_json(utf8(json_text(diff_json(compared))))
        return
    from compactor.cli.context_report import diff_text

    write_text(diff_text(compared, full=full))


def _sides(
    session: "Session", leaf: str | None, diff: tuple[str, str] | None, compaction: str | None
) -> list["Branch"]:
    """The branch to show, or the two to compare."""
    if diff is not None:
        return [looked_up_branch(session, name) for name in diff]
    if compaction is not None:
        from compactor.views.context_diff import around_compaction

        return [*around_compaction(session, leaf, compaction)]
    return [looked_up_branch(session, leaf)]
