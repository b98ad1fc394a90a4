"""`compactor compact`: make the summary of a session, and write it where that was asked for."""

from typing import TYPE_CHECKING, Any

import click

from compactor.cli.client_options import check_target, client_options, taken_flags
from compactor.cli.inputs import SessionOptions, session_options

if TYPE_CHECKING:
    from compactor.events import Reason

REASONS = ("manual", "threshold", "overflow")


@click.command()
@session_options
@client_options
@click.option("--reason", type=click.Choice(REASONS), help="What the events say; manual unless given.")
@click.option("--auto", is_flag=True, help="Only if the trigger fires (reason threshold), else exit 3.")
@click.option("--write", is_flag=True, help="Append the compaction entry to the session file.")
@click.option("--output", metavar="FILE", help="Write a copy of the session with the entry; replaces FILE.")
@click.option("--json", "as_json", is_flag=True, help="The session header line, then Pi's events.")
def compact(**options: Any) -> None:
    """Summarize the older part of SESSION and keep the recent part word for word.

    Without --write or --output nothing is written: the summary goes to standard output. The default client
    `extractive` needs no model, no key and no network. `--json` prints the session header line, compaction_start and
    compaction_end as Pi does.
    """
    common = SessionOptions(**{name: options.pop(name) for name in SessionOptions.__dataclass_fields__})
    check_target(options)
    if options["auto"] and options["reason"] not in (None, "threshold"):
        raise click.UsageError(f"--auto has the reason threshold; --reason {options['reason']} does not go with it.")
    flags = taken_flags(options)
    from compactor.cli.compaction_run import CompactOptions, run

    reason: Reason = options.pop("reason") or ("threshold" if options["auto"] else "manual")
    raise SystemExit(run(common, CompactOptions(flags=flags, reason=reason, **options)))
