"""`compactor branch-summary`: tell the branch that goes on what was done on the one that was left."""

from typing import Any

import click

from compactor.cli.client_options import check_target, client_options, taken_flags
from compactor.cli.inputs import SessionOptions, branch_options


@click.command("branch-summary")
@branch_options
@click.option("--from", "from_id", metavar="ID|#N", help="Where the branch that was left ends.  [default: newest]")
@click.option("--to", "to_id", required=True, metavar="ID|#N", help="The entry that the session continues from.")
@client_options
@click.option("--dry-run", is_flag=True, help="Only say what would be read; nobody is asked, nothing is written.")
@click.option("--write", is_flag=True, help="Append the branch_summary entry to the session file.")
@click.option("--output", metavar="FILE", help="Write a copy of the session with the entry; replaces FILE.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def branch_summary(**options: Any) -> None:
    """Summarize the branch of SESSION that ends in --from, for going on from --to.

    What is summarized comes after the last entry that both have in common: messages and calls without results, newest
    first as far as the window less the reserve allows. With --write the summary becomes the newest entry, a child of
    --to, and Pi goes on from there. To ask a question anew, give the entry before it as --to.
    """
    names = SessionOptions.__dataclass_fields__
    from_id, to_id = options.pop("from_id"), options.pop("to_id")
    common = {name: options.pop(name) for name in names if name in options}
    check_target(options)
    if options["dry_run"] and (options["write"] or options["output"] is not None):
        raise click.UsageError("--dry-run writes nothing; leave it out, or --write and --output.")
    flags = taken_flags(options)
    from compactor.cli.branch_summary_run import BranchOptions, run

    chosen = BranchOptions(
        session=SessionOptions(leaf=from_id, keep_recent_tokens=None, **common), to=to_id, flags=flags, **options
    )
    raise SystemExit(run(chosen))
