"""`compactor convert`: another agent's session, or an older or damaged one of Pi, as a file that Pi opens."""

import click

from compactor.cli.inputs import looked_up, looked_up_branch, view_options

TARGETS = ("pi",)
"""What can be written."""


@click.command()
@view_options
@click.option("--to", "target", type=click.Choice(TARGETS), default="pi", show_default=True, help="What to write.")
@click.option("--branch", is_flag=True, help="Only the branch that ends in the leaf.")
@click.option("--output", metavar="FILE", help="Write here instead of standard output; replaces FILE.")
def convert(
    session: str,
    leaf: str | None,
    session_dir: str | None,
    as_json: bool,
    branch: bool,
    output: str | None,
    target: str,
) -> None:
    """Write SESSION as a Pi session of version 3, which real Pi opens, continues and compacts.

    What another agent's file holds and Pi's has no place for is left out, each kind with its count on standard error.
    With --output, --json prints what was written and the warnings as one object.
    """
    from compactor.cli.terminal import say, write_bytes, write_json
    from compactor.diagnosis.repair import mended
    from compactor.document_file import write_document
    from compactor.formats.pi_writer import pi_lines
    from compactor.js_text import json_text, utf8
    from compactor.views.plan import session_json, warning_json

    if as_json and output is None:
        raise click.UsageError("--json needs --output FILE, for standard output is where the session goes.")
    if leaf is not None and not branch:
        raise click.UsageError("--leaf needs --branch; without it all branches are written.")
    found = mended(looked_up(session, session_dir))
    chosen = looked_up_branch(found, leaf).entries if branch else None
    lines = [line + b"\n" for line in pi_lines(found, chosen)]
    if output is None:
        write_bytes(b"".join(lines))
    else:
        write_document(output, *lines, session_path=found.path)
    if as_json:
        told = [warning_json(warning) for warning in found.warnings]
        made = {"session": session_json(found), "output": output, "entries": len(lines) - 1, "warnings": told}
        write_json(utf8(json_text(made)))
        return
    for warning in found.warnings:
        say(f"warning: {warning.message} [{warning.code}]")
    if output is not None:
        say(f"{len(lines) - 1:,} entries written to {output}")
