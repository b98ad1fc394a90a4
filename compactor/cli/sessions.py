"""`compactor sessions`: the saved sessions of Pi, Claude Code and Codex."""

import os

import click

AGENTS = ("pi", "claude-code", "codex")


@click.command()
@click.option("--cwd", metavar="DIR", help="The sessions made in DIR.  [default: the current directory]")
@click.option("--all", "is_all", is_flag=True, help="The sessions of all directories, grouped.")
@click.option("--session-dir", metavar="DIR", help="Pi's folder of sessions.")
@click.option(
    "--agent", type=click.Choice((*AGENTS, "all")), default="all", show_default=True, help="Whose sessions to list."
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many, the newest.")
@click.option("--paths", "with_paths", is_flag=True, help="Show the path of each session's file as well.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def sessions(
    cwd: str | None,
    is_all: bool,
    session_dir: str | None,
    agent: str,
    limit: int | None,
    with_paths: bool,
    as_json: bool,
) -> None:
    """List the saved sessions of Pi, Claude Code and Codex, the newest first.

    Each has the id that other commands take as SESSION, its name or first message, its age, and what its file tells of
    messages, tokens and cost. Nothing is written. Without any session the list is empty and the exit code is 0.
    """
    from datetime import datetime

    from compactor.cli.inputs import current_folder
    from compactor.cli.sessions_report import list_text, notes
    from compactor.cli.terminal import say, write_json, write_text
    from compactor.js_text import json_text, utf8
    from compactor.session_list_file import list_sessions
    from compactor.session_places_file import Wanted
    from compactor.settings_file import expand_home
    from compactor.views.sessions import sessions_json

    if cwd is not None and is_all:
        raise click.UsageError("--cwd and --all exclude each other: one directory, or all.")
    wanted = Wanted(
        cwd=os.path.abspath(os.path.join(current_folder(), expand_home(cwd or "", os.environ))),
        env=os.environ,
        session_dir=session_dir,
        agents=AGENTS if agent == "all" else (agent,),
        is_all=is_all,
    )
    now = datetime.now().astimezone()
    found = list_sessions(wanted, limit=limit)
    if as_json:
        write_json(utf8(json_text(sessions_json(found, now))))
        return
    if found.sessions:
        write_text(list_text(found, now, with_paths=with_paths))
    for note in notes(found, wanted):
        say(note)
