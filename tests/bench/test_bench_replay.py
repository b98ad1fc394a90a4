"""How fast a large session is played through, once and for a whole grid; `make bench` prints the table.

Rates are in `extra_info`: megabytes (10**6 bytes) of session a second for one run, runs a second for the grid.
"""

from pathlib import Path

import pytest
from bench.grown import MEGABYTE, grow, source_names, source_rows
from pytest_benchmark.fixture import BenchmarkFixture

from compactor.branch import Branch, active_branch, find_leaf
from compactor.entries import Session
from compactor.session_file import read_session
from compactor.settings import CompactionSettings
from compactor.tokens import PiCounter
from compactor.views.replay import Grid, Replay, replay, replay_json

MEGABYTES = 10
SETTINGS = CompactionSettings(context_window=128_000)


@pytest.fixture(scope="module")
def session_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    name = source_names()[0]
    path = tmp_path_factory.mktemp("bench") / f"{name}.jsonl"
    grow(source_rows(name), path, MEGABYTES * MEGABYTE)
    return path


def branch_of(session: Session) -> Branch:
    return active_branch(session, find_leaf(session, None))


def play_file(path: Path) -> Replay:
    session = read_session(str(path))
    return replay(session, branch_of(session), PiCounter(), SETTINGS)


def test_replay(benchmark: BenchmarkFixture, session_file: Path) -> None:
    made = benchmark.pedantic(play_file, (session_file,), rounds=5, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["rate"] = f"{MEGABYTES / benchmark.stats.stats.median:.0f} MB/s"
    assert made.runs[0].count > 0


def test_sweep(benchmark: BenchmarkFixture, session_file: Path) -> None:
    session = read_session(str(session_file))
    branch = branch_of(session)

    def sweep() -> Replay:
        return replay(session, branch, PiCounter(), SETTINGS, grid=Grid())

    made = benchmark.pedantic(sweep, rounds=3, warmup_rounds=1)
    if benchmark.stats is not None:
        benchmark.extra_info["rate"] = f"{len(made.runs) / benchmark.stats.stats.median:.0f} runs/s"
    assert len(replay_json(made, [])["runs"]) == len(made.runs) > 10
