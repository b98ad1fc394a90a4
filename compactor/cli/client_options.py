"""The options that say who writes a summary and how it is asked for, for every command that makes one."""

import math
from dataclasses import dataclass
from typing import Any

import click

from compactor.cli.inputs import F

CLIENTS = ("extractive", "scripted", "replay", "command", "openai", "anthropic", "local")

USED_BY = {
    "model": ("command", "replay", "openai", "anthropic"),
    "base_url": ("openai", "anthropic"),
    "command_line": ("command",),
    "script": ("scripted",),
    "model_path": ("local",),
    "token_budget": ("extractive",),
}
"""The clients that read an option; the others do without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientFlags:
    """The options of `client_options` as given."""

    client: str
    model: str | None
    base_url: str | None
    command_line: str | None
    script: str | None
    model_path: str | None
    replay_dir: str | None
    record: bool
    max_retries: int
    timeout: float | None
    prompt: str
    instructions: str | None
    max_output_tokens: int | None
    summarizer_window: int | None
    token_budget: int | None
    no_pins: bool


def _finite(context: click.Context, parameter: click.Parameter, value: float | None) -> float | None:
    """The value of an option, unless it is infinite or no number.

    Raises:
        click.BadParameter: it is.
    """
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"expected a number of seconds, found {value}.")
    return value


_DECORATORS = (
    click.option(
        "--client", type=click.Choice(CLIENTS), default="extractive", show_default=True, help="Who writes the summary."
    ),
    click.option("--model", metavar="NAME", help="The model to ask."),
    click.option("--base-url", metavar="URL", help="Where the model is served (openai, anthropic)."),
    click.option(
        "--command", "command_line", metavar="CMD", help="Program that gets the prompt and prints the summary."
    ),
    click.option("--script", metavar="FILE", help="Replies of the scripted client: text, a JSON list or JSON lines."),
    click.option("--model-path", metavar="GGUF", help="Model file of the local client."),
    click.option("--replay-dir", metavar="DIR", help="Folder of recorded answers: answer from it before asking."),
    click.option("--record", is_flag=True, help="Add new answers to --replay-dir."),
    click.option(
        "--max-retries",
        type=click.IntRange(min=0),
        default=3,
        show_default=True,
        metavar="N",
        help="How often a request that failed for a passing reason is sent again.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(min=0, min_open=True),
        callback=_finite,
        metavar="SECONDS",
        help="How long a request may take.",
    ),
    click.option("--prompt", default="default", show_default=True, metavar="NAME|FILE.j2", help="Which prompt to use."),
    click.option("--instructions", metavar="TEXT", help="Extra focus for the summary."),
    click.option(
        "--max-output-tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help="Limit of a model's reply; one that is cut off there is refused.  "
        "[default: 8192, or a quarter of the window]",
    ),
    click.option(
        "--summarizer-window", type=click.IntRange(min=1), metavar="N", help="Window of the model that is asked."
    ),
    click.option(
        "--token-budget",
        type=click.IntRange(min=100),
        metavar="N",
        help="Size of an extractive summary in tokens; file lists and rules of the user that are added come on top.",
    ),
    click.option("--no-pins", is_flag=True, help="Do not add the user's constraints that a reply lost."),
)


def client_options(command: F) -> F:
    """Adds the options of `ClientFlags` to a command; `taken_flags` takes them out of what it gets."""
    for decorate in reversed(_DECORATORS):
        command = decorate(command)
    return command


def taken_flags(options: dict[str, Any]) -> ClientFlags:
    """The options about the client, taken out of all that a command got; unused ones are told.

    Raises:
        click.UsageError: some of them do not go together.
    """
    flags = ClientFlags(**{name: options.pop(name) for name in ClientFlags.__dataclass_fields__})
    if flags.record and not flags.replay_dir:
        raise click.UsageError("--record needs --replay-dir DIR, the folder to add answers to.")
    if flags.summarizer_window and flags.client == "extractive":
        raise click.UsageError("--summarizer-window is for clients with a model; extractive reads the session itself.")
    _tell_unused(flags)
    return flags


def check_target(options: dict[str, Any]) -> None:
    """Refuses --write beside --output, and an --output that is no file.

    Raises:
        click.UsageError: it is so.
    """
    if options["write"] and options["output"] is not None:
        raise click.UsageError("--write and --output exclude each other: append to the session, or write a copy.")
    if options["output"] in ("", "-"):
        raise click.UsageError("--output needs the name of a file; without it the summary goes to standard output.")


def _tell_unused(flags: ClientFlags) -> None:
    """A note for each option that the chosen client does not read, for it was hardly meant so."""
    from compactor.cli.terminal import say

    for name, clients in USED_BY.items():
        if getattr(flags, name) is not None and flags.client not in clients:
            flag = "--" + name.removesuffix("_line").replace("_", "-")
            known = " or ".join(f"--client {client}" for client in clients)
            say(f"note: {flag} has no effect with the client {flags.client}; it goes with {known}")
