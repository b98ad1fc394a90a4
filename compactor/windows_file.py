"""Context windows of models, from a snapshot of the genai-prices catalogue that ships with the package.

Reading the snapshot takes a millisecond; the catalogue itself is imported only for a model of a known provider that the
snapshot lacks. `tests/data/record_windows.py` makes the snapshot.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping

PROVIDER_ALIASES = {"openai-codex": "openai", "claude": "anthropic", "google-vertex": "google", "gemini": "google"}
"""Provider names of agents that the catalogue spells otherwise."""

FIREWORKS_PREFIX = "accounts/fireworks/models/"
"""Fireworks' own spelling of a model's id; the catalogue leaves it out."""

_DATE = re.compile(r"[-@:]?(20\d{6}|20\d\d-\d\d-\d\d)(-v\d+(:\d+)?)?$|-latest$|:free$|-preview$")


def window_of_model(provider: str | None, model: str | None) -> int | None:
    """The context window in tokens, None if the catalogue does not know the model.

    Args:
        provider: as the session names it, or None if only the model is known.
        model: the model's id; dates, `-latest` and a leading `provider/` may be there or not.
    """
    if not model:
        return None
    known: Mapping[str, Mapping[str, int]] = _snapshot()
    at = PROVIDER_ALIASES.get(provider or "", provider or "")
    for name in _spellings(model):
        if name in known.get(at, {}):
            return known[at][name]
        prefix, _, rest = name.partition("/")
        if rest and rest in known.get(PROVIDER_ALIASES.get(prefix, prefix), {}):
            return known[PROVIDER_ALIASES.get(prefix, prefix)][rest]
    if at in known or not at:
        from compactor.clients.pricing import context_window

        return context_window(at, model)
    return None


def _spellings(model: str) -> Iterator[str]:
    """The model's id as written, but for the prefix that says nothing, then without its date or tag."""
    model = model.removeprefix(FIREWORKS_PREFIX)
    yield model
    short = _DATE.sub("", model)
    if short != model:
        yield short


def _snapshot() -> dict[str, dict[str, int]]:
    # Not importlib.resources: its import alone takes longer than all that is done here.
    with open(os.path.join(os.path.dirname(__file__), "model_windows.json"), encoding="utf-8") as file:
        found: dict[str, dict[str, int]] = json.load(file)["windows"]
    return found
