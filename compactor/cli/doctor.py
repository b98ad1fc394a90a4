"""`compactor doctor`: what is wrong with a session, or with all sessions of a folder, and a repaired copy."""

import os
from typing import TYPE_CHECKING

import click

from compactor.cli.inputs import current_folder, named_folder

if TYPE_CHECKING:
    from compactor.diagnosis import Diagnosis


@click.command()
@click.argument("session", metavar="SESSION|DIR")
@click.option("--session-dir", metavar="DIR", help="Where `latest` and id prefixes are looked up.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
@click.option("--strict", is_flag=True, help="Exit with 1 for warnings too.")
@click.option("--fix", is_flag=True, help="Write a repaired copy of a Pi session; needs --output.")
@click.option("--output", metavar="FILE", help="Where the repaired copy goes; FILE is replaced, never the session.")
def doctor(session: str, session_dir: str | None, as_json: bool, strict: bool, fix: bool, output: str | None) -> None:
    """Find damage and losses in SESSION, or in every .jsonl file below DIR.

    Looks at the file's bytes and lines, the tree of entries, tool calls and results, compactions and what they lost,
    and credentials in summaries. Each finding names its line, says what is wrong, and what to do. Nothing is changed;
    --fix writes a copy of which every line can be read, with ids and parents as compactor reads them. A copy of a
    session without damage has the same bytes.

    Exit codes: 0 no errors, and with --strict no warnings, 1 some were found, or SESSION can't be opened, 2 wrong
    usage. With --fix they are about the copy.
    """
    if fix != (output is not None):
        raise click.UsageError("--fix and --output FILE go together.")
    folder = named_folder(session)
    if fix and folder is not None:
        raise click.UsageError("--fix needs one SESSION, found a directory.")
    worst = _show_one(session, session_dir, as_json, output) if folder is None else _show_folder(folder, as_json)
    graver = ("error", "warning") if strict else ("error",)
    if any(diagnosis.count(severity) for diagnosis in worst for severity in graver):
        raise SystemExit(1)


def _show_folder(folder: str, as_json: bool) -> "list[Diagnosis]":
    """Prints the report on a folder; gives the diagnoses that count for the exit code."""
    from compactor.cli.doctor_report import folder_text
    from compactor.cli.leak_scan import scan
    from compactor.cli.terminal import write_json, write_text
    from compactor.diagnosis import diagnose, unreadable
    from compactor.errors import SessionError
    from compactor.js_text import json_text, utf8
    from compactor.session_file import read_bytes
    from compactor.sessions_file import session_files
    from compactor.views.doctor import folder_json

    found = []
    for path in session_files(folder, cwd=folder, env=os.environ):
        try:
            found.append(diagnose(read_bytes(path), path=path, scan=scan).light())
        except SessionError as error:
            found.append(unreadable(path, error))
    if as_json:
        write_json(utf8(json_text(folder_json(folder, found))))
    else:
        write_text(folder_text(folder, found))
    return found


def _show_one(session: str, session_dir: str | None, as_json: bool, output: str | None) -> "list[Diagnosis]":
    """Prints the report on a session, writes its copy if there is an output; gives what counts for the exit code."""
    from compactor.cli.doctor_report import repair_text, report_text
    from compactor.cli.leak_scan import scan
    from compactor.cli.terminal import write_json, write_text
    from compactor.diagnosis import diagnose, repair
    from compactor.document_file import write_document
    from compactor.js_text import json_text, utf8
    from compactor.session_file import read_bytes
    from compactor.sessions_file import find_session
    from compactor.views.doctor import diagnosis_json, repair_json

    path = find_session(session, cwd=current_folder(), env=os.environ, session_dir=session_dir)
    data = read_bytes(path)
    found = diagnose(data, path=path, scan=scan)
    # It lives as long as the process does: freeing a large session would take time and serve nobody.
    click.get_current_context().find_root().obj = found
    told, text, counted = diagnosis_json(found), report_text(found), found
    if output is not None:
        made = repair(data, found)
        write_document(output, made.content, session_path=path)
        counted = diagnose(made.content, path=output, scan=scan)
        told, text = {**told, "fix": repair_json(made, counted)}, f"{text}\n\n{repair_text(made, counted)}"
    if as_json:
        write_json(utf8(json_text(told)))
    else:
        write_text(text)
    return [counted]
