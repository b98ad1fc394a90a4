"""`compactor tokens`: what the context costs, and how far each way to count is off on this session."""

import sys
from typing import TYPE_CHECKING, Any

import click

from compactor.cli.inputs import COUNTERS, counter_named, looked_up, looked_up_branch, view_options

if TYPE_CHECKING:
    from compactor.branch import Branch
    from compactor.entries import Session
    from compactor.views.tokens import TokensView


@click.command()
@view_options
@click.option(
    "--counter",
    type=click.Choice(COUNTERS),
    default="calibrated",
    show_default=True,
    help="What makes the figures by role and kind.",
)
@click.option("--exact", is_flag=True, help="Ask the provider to count the context, with --client and --model.")
@click.option("--client", type=click.Choice(["anthropic"]), help="Whose count endpoint is asked with --exact.")
@click.option("--model", metavar="NAME", help="For which model; the session's own if it is one of the provider's.")
@click.option("--base-url", metavar="URL", help="Where the provider is served.")
def tokens(
    session: str,
    leaf: str | None,
    session_dir: str | None,
    as_json: bool,
    counter: str,
    exact: bool,
    client: str | None,
    model: str | None,
    base_url: str | None,
) -> None:
    """Count the context of SESSION by role and kind, and judge every counter by the usage that the session reports.

    A step is the growth of the reported context from one reply to the next. `calibrated` learns from each step after it
    has predicted it; the first 20 steps are not counted, for any counter. Nothing is sent anywhere without --exact.
    """
    from compactor.cli.terminal import write_json, write_text
    from compactor.cli.tokens_report import tokens_text
    from compactor.js_text import json_text, utf8
    from compactor.views.tokens import tokens_json

    if exact and client is None:
        raise click.UsageError("--exact needs --client anthropic, whose count endpoint is then asked.")
    if not exact and (client or model or base_url):
        raise click.UsageError("--client, --model and --base-url are used only with --exact.")
    found = looked_up(session, session_dir)
    branch = looked_up_branch(found, leaf)
    view = _view(found, branch, counter)
    counted = _asked(view, branch, model, base_url) if exact else None
    if as_json:
        told = {"exact": counted} if counted is not None else {}
        write_json(utf8(json_text(tokens_json(view) | told)))
    else:
        write_text(tokens_text(view, counted, width=_width()))


def _view(session: "Session", branch: "Branch", counter: str) -> "TokensView":
    from functools import cache

    from compactor.calibration import calibrate
    from compactor.priors_file import priors_of
    from compactor.tokens import TokenizerCounter
    from compactor.views.tokens import tokens_view
    from compactor.vocabulary_file import text_counter

    count = cache(text_counter("o200k_base"))  # two counters ask for the same texts
    calibration = calibrate(branch.entries, count, priors_of)
    o200k = TokenizerCounter(name="o200k", count=count)
    others = [o200k if name == "o200k" else counter_named(name) for name in COUNTERS if name != "calibrated"]
    chosen = next((made for made in others if made.name == counter), calibration.counter)
    return tokens_view(session, branch, chosen, calibration, others)


def _asked(view: "TokensView", branch: "Branch", model: str | None, base_url: str | None) -> dict[str, Any]:
    """What the provider counts for the context, and what that count lacks.

    Raises:
        SettingsError: no model is named and the session's is not the provider's.
        ModelError: the provider could not be asked.
    """
    from compactor.clients.anthropic_context import context_body
    from compactor.clients.anthropic_messages import AnthropicMessagesClient
    from compactor.clients.options import ClientOptions
    from compactor.projection import session_model

    own = session_model(branch)
    named = model or (own.model_id if own is not None and own.provider == "anthropic" else None)
    body = context_body(view.measured.projection.entries)
    client = AnthropicMessagesClient.from_options(ClientOptions(model=named, base_url=base_url))
    counted = client.count_context(body.arguments()) if body.messages else 0
    return {"client": "anthropic", "model": named, "tokens": counted, "notAsInSession": body.left_out}


def _width() -> int:
    """Columns of the terminal, 100 where there is none."""
    import shutil

    return shutil.get_terminal_size((100, 24)).columns if sys.stdout.isatty() else 100
