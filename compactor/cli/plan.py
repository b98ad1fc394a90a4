"""`compactor plan`: would the session be compacted, where is the cut, and why."""

import sys
from typing import Any

import click

from compactor.cli.inputs import SessionOptions, open_session, planned, session_options


@click.command()
@session_options
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def plan(as_json: bool, **options: Any) -> None:
    """Say whether SESSION would be compacted, where the cut is, and why.

    Reads only; no model is asked.
    """
    opened = open_session(SessionOptions(**options))
    # The file is read in the meantime.
    from compactor.cli.plan_report import plan_text
    from compactor.cli.terminal import write_json, write_text
    from compactor.explain import explain
    from compactor.js_text import json_text, utf8
    from compactor.views.plan import plan_json

    decided, warnings = planned(opened)
    # It lives as long as the process does: freeing a large session would take time and serve nobody.
    click.get_current_context().find_root().obj = decided
    explanation = explain(decided)
    if as_json:
        write_json(utf8(json_text(plan_json(decided, explanation, warnings))))
    elif sys.stdout.isatty():
        from compactor.cli.plan_screen import show_plan

        show_plan(decided, explanation, warnings)
    else:
        write_text(plan_text(decided, explanation, warnings))
