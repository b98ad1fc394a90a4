"""Clients by name: a table of where they live, and the function that makes one."""

from importlib import import_module

from compactor.clients.options import ClientOptions
from compactor.errors import SettingsError
from compactor.model import ModelClient

CLIENTS: dict[str, str] = {
    "extractive": "compactor.clients.extractive:ExtractiveClient",
    "scripted": "compactor.clients.scripted:ScriptedClient",
    "replay": "compactor.clients.replay:ReplayClient",
    "command": "compactor.clients.command:CommandClient",
    "openai": "compactor.clients.openai_chat:OpenAIChatClient",
    "anthropic": "compactor.clients.anthropic_messages:AnthropicMessagesClient",
    "local": "compactor.clients.local:LocalClient",
}
"""Name on the command line -> module:class. All but `extractive` have a `from_options`."""


def make_client(name: str, options: ClientOptions) -> ModelClient:
    """The client of that name; with `replay_dir` it answers from recorded answers first.

    No key is read and nothing is started before the first request, so a recorded run needs neither.

    Raises:
        SettingsError: the name is unknown, or an option that the client needs is missing.
    """
    if name not in CLIENTS:
        raise SettingsError(f"expected a client, one of {', '.join(CLIENTS)}; found {name!r}")
    if options.record and options.replay_dir is None:
        raise SettingsError("expected a folder to record answers into, found none; name one with --replay-dir")
    client = _made(name, options)
    if options.replay_dir is None or name == "replay":
        return client
    from compactor.clients.replay import ReplayClient

    return ReplayClient(folder=options.replay_dir, inner=client, record=options.record)


def _made(name: str, options: ClientOptions) -> ModelClient:
    module, _, kind = CLIENTS[name].partition(":")
    found = getattr(import_module(module), kind)
    if name == "extractive":
        limits = {} if options.token_budget is None else {"token_budget": options.token_budget}
        extractive: ModelClient = found(**limits)
        return extractive
    client: ModelClient = found.from_options(options)
    return client
