"""`compactor compact`: make the summary of a session, and write it where that was asked for."""

import math
from typing import TYPE_CHECKING, Any

import click

from compactor.cli.inputs import SessionOptions, session_options

if TYPE_CHECKING:
    from compactor.events import Reason

CLIENTS = ("extractive", "scripted", "replay", "command", "openai", "anthropic", "local")
REASONS = ("manual", "threshold", "overflow")

USED_BY = {
    "model": ("command", "replay", "openai", "anthropic"),
    "base_url": ("openai", "anthropic"),
    "command_line": ("command",),
    "script": ("scripted",),
    "model_path": ("local",),
    "token_budget": ("extractive",),
}
"""The clients that read an option; the others do without it."""


def _finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """The value of an option, unless it is infinite or no number.

    Raises:
        click.BadParameter: it is.
    """
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"expected a number of seconds, found {value}.")
    return value


@click.command()
@session_options
@click.option(
    "--client", type=click.Choice(CLIENTS), default="extractive", show_default=True, help="Who writes the summary."
)
@click.option("--model", metavar="NAME", help="The model to ask.")
@click.option("--base-url", metavar="URL", help="Where the model is served (openai, anthropic).")
@click.option("--command", "command_line", metavar="CMD", help="Program that gets the prompt and prints the summary.")
@click.option("--script", metavar="FILE", help="Replies of the scripted client: text, a JSON list or JSON lines.")
@click.option("--model-path", metavar="GGUF", help="Model file of the local client.")
@click.option("--replay-dir", metavar="DIR", help="Folder of recorded answers: answer from it before asking.")
@click.option("--record", is_flag=True, help="Add new answers to --replay-dir.")
@click.option(
    "--max-retries",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="N",
    help="How often a request that failed for a passing reason is sent again.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    callback=_finite,
    metavar="SECONDS",
    help="How long a request may take.",
)
@click.option("--prompt", default="default", show_default=True, metavar="NAME|FILE.j2", help="Which prompt to use.")
@click.option("--instructions", metavar="TEXT", help="Extra focus for the summary.")
@click.option(
    "--max-output-tokens",
    type=click.IntRange(min=1),
    metavar="N",
    help="Limit of a model's reply; one that is cut off there is refused.  [default: 8192, or a quarter of the window]",
)
@click.option("--summarizer-window", type=click.IntRange(min=1), metavar="N", help="Window of the model that is asked.")
@click.option(
    "--token-budget",
    type=click.IntRange(min=100),
    metavar="N",
    help="Size of an extractive summary in tokens; file lists and rules of the user that are added come on top.",
)
@click.option("--no-pins", is_flag=True, help="Do not add the user's constraints that a reply lost.")
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
    from compactor.cli.compaction_run import CompactOptions, run

    common = {name: options.pop(name) for name in SessionOptions.__dataclass_fields__}
    if options["write"] and options["output"] is not None:
        raise click.UsageError("--write and --output exclude each other: append to the session, or write a copy.")
    if options["output"] in ("", "-"):
        raise click.UsageError("--output needs the name of a file; without it the summary goes to standard output.")
    if options["record"] and not options["replay_dir"]:
        raise click.UsageError("--record needs --replay-dir DIR, the folder to add answers to.")
    if options["auto"] and options["reason"] not in (None, "threshold"):
        raise click.UsageError(f"--auto has the reason threshold; --reason {options['reason']} does not go with it.")
    if options["summarizer_window"] and options["client"] == "extractive":
        raise click.UsageError("--summarizer-window is for clients with a model; extractive reads the session itself.")
    _tell_unused(options)
    reason: Reason = options.pop("reason") or ("threshold" if options["auto"] else "manual")
    raise SystemExit(run(SessionOptions(**common), CompactOptions(reason=reason, **options)))


def _tell_unused(options: dict[str, Any]) -> None:
    """A note for each option that the chosen client does not read, for it was hardly meant so."""
    from compactor.cli.terminal import say

    for name, clients in USED_BY.items():
        if options[name] is not None and options["client"] not in clients:
            flag = "--" + name.removesuffix("_line").replace("_", "-")
            known = " or ".join(f"--client {client}" for client in clients)
            say(f"note: {flag} has no effect with the client {options['client']}; it goes with {known}")
