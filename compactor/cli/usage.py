"""`compactor usage`: what was spent, by model and by kind, and what compactions cost and saved."""

import os
import re
import time
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from compactor.messages import Cost, Usage

UNIT_MS = {"m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
"""Units of a duration."""


@click.command()
@click.argument("session", metavar="SESSION|DIR")
@click.option(
    "--since",
    metavar="DATE|DURATION",
    help="Leave out what is older: a date or time (2026-03-01, UTC unless it names a zone), or 30m, 12h, 7d, 2w ago.",
)
@click.option("--session-dir", metavar="DIR", help="Where `latest` and id prefixes are looked up.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def usage(session: str, since: str | None, session_dir: str | None, as_json: bool) -> None:
    """Say what SESSION, or all sessions below DIR, used and cost.

    Every request counts whose usage the file reports, also on branches that were left and before compactions. In DIR
    a request that several files hold, as forks do, counts once. Reads only.
    """
    since_ms = None if since is None else since_instant(since, now_ms=round(time.time() * 1000))
    from compactor.cli.inputs import looked_up, named_folder
    from compactor.cli.terminal import write_json, write_text
    from compactor.cli.usage_report import folder_text, session_text
    from compactor.js_text import json_text, utf8
    from compactor.views.usage import usage_json

    folder = named_folder(session)
    if folder is None:
        found = usage_json(looked_up(session, session_dir), list_price, since_ms=since_ms)
    else:
        found = _folder_usage(folder, since_ms)
    if as_json:
        write_json(utf8(json_text(found)))
    else:
        write_text(session_text(found) if folder is None else folder_text(found))


def since_instant(text: str, *, now_ms: int) -> int:
    """The instant that --since means, in milliseconds since 1970.

    Raises:
        click.BadParameter: it is neither a date, a time, nor a duration.
    """
    from compactor.ledger import instant

    duration = re.fullmatch(r"([0-9]{1,5})([mhdw])", text.strip())
    if duration is not None:
        return now_ms - int(duration[1]) * UNIT_MS[duration[2]]
    found = instant(text.strip())
    if found is None:
        raise click.BadParameter(
            f"expected a date or time such as 2026-03-01 or 2026-03-01T10:00Z, or a duration such as 7d or 12h, "
            f"found {text!r}",
            param_hint="--since",
        )
    return found


def list_price(used: "Usage", provider: str | None, model: str) -> "Cost | None":
    """What the request costs by the catalogue's rates, None if they are not known.

    The catalogue's 0 is taken for not known: it is also its answer for a model that it lacks.
    """
    from compactor.clients.pricing import with_cost

    cost = with_cost(used, provider, model).cost
    return cost if cost.total > 0 else None


def _folder_usage(folder: str, since_ms: int | None) -> dict[str, Any]:
    """The usage of all sessions in a folder; a file that is none is told on standard error.

    Raises:
        SessionError: none of the files is a session.
    """
    from compactor.cli.terminal import say
    from compactor.errors import SessionError
    from compactor.session_file import read_session
    from compactor.sessions_file import session_files
    from compactor.views.usage import FolderUsage

    found = FolderUsage(folder=folder, price=list_price, since_ms=since_ms)
    for path in session_files(folder, cwd=folder, env=os.environ):
        try:
            session = read_session(path)
        except SessionError as error:
            found.skip(path, str(error))
            say(f"skipped: {found.skipped[-1].message}")
        else:
            found.add(session)
    if not found.sessions:
        count = len(found.skipped)
        raise SessionError(f"{folder}: expected session files, found none among {count:,} .jsonl file(s)")
    return found.json()
