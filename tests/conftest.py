"""What every test shares: no keys, no settings of the person who runs them, repeatable Hypothesis, and the corpus."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from differential.real_pi import SKIP_REASON, RealPi, find_pi, running_pi
from hypothesis import settings

# Nothing may cost money, and nobody's own folders of sessions may change a result.
for _name in (
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "PI_CODING_AGENT_DIR",
    "PI_CODING_AGENT_SESSION_DIR",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
):
    os.environ.pop(_name, None)

# No time limit an example: the machine may be busy. No database: tests leave no files behind.
settings.register_profile("compactor", deadline=None, database=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("compactor")

CHECKOUT = Path(__file__).parents[1]
SHARED = Path(__file__).parents[2] / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of recorded sessions beside the checkout; the test is skipped where it is missing."""
    if not (SHARED / "corpus").is_dir():
        pytest.skip("skipped: no corpus")
    return SHARED


@pytest.fixture(scope="module")
def pi(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealPi]:
    """A running Pi 1.6.0; the test is skipped where it is not installed."""
    install = find_pi()
    if install is None:
        pytest.skip(SKIP_REASON)
    with running_pi(install, tmp_path_factory.mktemp("home")) as process:
        yield process
