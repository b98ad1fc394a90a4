"""Writes compactor/model_windows.json, the context windows that genai-prices knows: python tests/data/record_windows.py

The snapshot spares `compactor plan` the import of the whole price list; a test compares the two.
"""

import json
import pathlib
from importlib.metadata import version

from genai_prices import data_snapshot

TARGET = pathlib.Path(__file__).parents[2] / "compactor" / "model_windows.json"


def windows() -> dict[str, dict[str, int]]:
    """Provider -> model id -> tokens, for every model whose window is known."""
    found: dict[str, dict[str, int]] = {}
    for provider in data_snapshot.get_snapshot().providers:
        known = {m.id: m.context_window for m in provider.models if m.context_window}
        if known:
            found[provider.id] = dict(sorted(known.items()))
    return dict(sorted(found.items()))


if __name__ == "__main__":
    made = {"source": "genai-prices (MIT)", "version": version("genai-prices"), "windows": windows()}
    TARGET.write_text(json.dumps(made, indent=0, separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {sum(map(len, made['windows'].values()))} models")
