"""Context windows of models by the snapshot of the price catalogue."""

import json
import subprocess
import sys
from importlib.metadata import version
from importlib.resources import files

import pytest
from data.record_windows import windows

from compactor.windows_file import window_of_model

SNAPSHOT = json.loads(files("compactor").joinpath("model_windows.json").read_text(encoding="utf-8"))


def test_the_snapshot_is_what_the_installed_catalogue_says() -> None:
    if SNAPSHOT["version"] != version("genai-prices"):
        pytest.skip(f"skipped: genai-prices {version('genai-prices')} installed, snapshot of {SNAPSHOT['version']}")
    assert SNAPSHOT["windows"] == windows()


def test_every_model_of_the_snapshot_is_found_under_its_own_name() -> None:
    missed = [
        (provider, model, found)
        for provider, models in SNAPSHOT["windows"].items()
        for model, tokens in models.items()
        if (found := window_of_model(provider, model)) != tokens
    ]
    assert missed == []


@pytest.mark.parametrize(
    ("provider", "model", "like"),
    [
        ("anthropic", "claude-opus-4-5-20251101", ("anthropic", "claude-opus-4-5")),
        ("anthropic", "claude-sonnet-4-5@20250929", ("anthropic", "claude-sonnet-4-5")),
        ("anthropic", "claude-sonnet-4-5-latest", ("anthropic", "claude-sonnet-4-5")),
        ("openai", "gpt-4o-2024-11-20", ("openai", "gpt-4o")),
        ("openai-codex", "gpt-5.5", ("openai", "gpt-5.5")),
        ("claude", "claude-opus-4-5", ("anthropic", "claude-opus-4-5")),
        ("google-vertex", "gemini-2.5-flash", ("google", "gemini-2.5-flash")),
        ("gemini", "gemini-3-flash-preview", ("google", "gemini-3-flash-preview")),
        ("fireworks", "accounts/fireworks/models/kimi-k2p5", ("fireworks", "kimi-k2p5")),
        ("a-proxy", "anthropic/claude-opus-4-5", ("anthropic", "claude-opus-4-5")),
        (None, "openai/gpt-4o", ("openai", "gpt-4o")),
        (None, "openai-codex/gpt-4o-2024-11-20", ("openai", "gpt-4o")),
        ("openrouter", "anthropic/claude-opus-4.5", ("openrouter", "anthropic/claude-opus-4.5")),
        ("github-copilot", "claude-opus-4.7", ("github-copilot", "claude-opus-4.7")),
    ],
)
def test_dates_aliases_and_prefixes_are_understood(provider: str | None, model: str, like: tuple[str, str]) -> None:
    named, known = like
    assert window_of_model(provider, model) == SNAPSHOT["windows"][named][known]


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("dock", "gantry-1"),
        ("dock", "gpt-4o"),
        ("anthropic", "gantry-1"),
        (None, "gantry-1"),
        (None, None),
        ("anthropic", None),
        ("anthropic", ""),
        ("", ""),
        ("dock", "/"),
        ("dock", "\ud83d/\x00"),
        ("windows", "version"),
    ],
)
def test_an_unknown_model_has_no_window_rather_than_a_guess(provider: str | None, model: str | None) -> None:
    assert window_of_model(provider, model) is None


def test_a_known_model_is_found_without_importing_the_catalogue() -> None:
    program = (
        "import sys; from compactor.windows_file import window_of_model as w\n"
        "print(w('anthropic', 'claude-opus-4-5-20251101'), w('dock', 'gantry-1'), 'genai_prices' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == f"{SNAPSHOT['windows']['anthropic']['claude-opus-4-5']} None False\n"
