"""`compactor tree`: branches, labels, compactions, and what became of every entry."""

import click

from compactor.cli.inputs import looked_up, looked_up_branch, view_options


@click.command()
@view_options
@click.option("--all", "show_all", is_flag=True, help="Every entry on a line of its own; runs are folded otherwise.")
@click.option("--full", is_flag=True, help="Every entry, with all that it says instead of the first words.")
def tree(session: str, leaf: str | None, session_dir: str | None, as_json: bool, show_all: bool, full: bool) -> None:
    """Draw SESSION as a tree, and say for every entry whether the next request holds it.

    States are those seen from the leaf: the newest entry, or the one that --leaf names. Tokens are Pi's estimate.
    """
    from compactor.cli.terminal import write_json, write_text
    from compactor.js_text import json_text, utf8
    from compactor.measure import measure
    from compactor.projection import project
    from compactor.tokens import PiCounter
    from compactor.views.tree import session_tree, tree_json

    found = looked_up(session, session_dir)
    measured = measure(project(looked_up_branch(found, leaf)), PiCounter())
    made = session_tree(found, measured, whole_texts=full)
    # It lives as long as the process does: freeing a large session would take time and serve nobody.
    click.get_current_context().find_root().obj = made
    if as_json:
        write_json(utf8(json_text(tree_json(made))))
        return
    from compactor.cli.tree_report import tree_text

    write_text(tree_text(made, show_all=show_all or full, whole_texts=full))
