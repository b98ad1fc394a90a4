"""How fast tokens are counted and a session is learnt from; `make bench` prints the table.

Rates are in `extra_info`, in megabytes (10**6 bytes) a second on one core; loading a vocabulary (0.3 s, once a process)
is not in them.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from bench.grown import MEGABYTE, grow, source_names, source_rows
from bench.test_bench_session import note_rate
from pytest_benchmark.fixture import BenchmarkFixture

from compactor.branch import active_branch, find_leaf
from compactor.calibration import calibrate
from compactor.entries import Session
from compactor.priors_file import priors_of
from compactor.session_file import read_session
from compactor.vocabulary_file import VOCABULARIES, VocabularyName, text_counter

MEGABYTES = 10


@pytest.fixture(scope="module", params=source_names())
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Session:
    path: Path = tmp_path_factory.mktemp("bench") / f"{request.param}.jsonl"
    grow(source_rows(request.param), path, MEGABYTES * MEGABYTE)
    return read_session(str(path))


@pytest.fixture(scope="module")
def texts(session: Session) -> list[str]:
    return [message.text() for entry in session.entries if (message := entry.body.message) is not None]


def counted(count: Callable[[str], int], texts: list[str]) -> int:
    return sum(map(count, texts))


@pytest.mark.parametrize("fast", [False, True], ids=["tiktoken", "toktok-rs"])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_counting(benchmark: BenchmarkFixture, texts: list[str], name: VocabularyName, fast: bool) -> None:
    if fast:
        pytest.importorskip("toktok", reason="the extra `fast` is not installed")
    count = text_counter(name, fast=fast)
    count("warm")
    tokens = benchmark.pedantic(counted, (count, texts), rounds=3, warmup_rounds=0)
    note_rate(benchmark, sum(len(text.encode("utf-8", "replace")) for text in texts))
    assert tokens > 0


@pytest.mark.parametrize("fast", [False, True], ids=["tiktoken", "toktok-rs"])
def test_calibration(benchmark: BenchmarkFixture, session: Session, fast: bool) -> None:
    if fast:
        pytest.importorskip("toktok", reason="the extra `fast` is not installed")
    count = text_counter("o200k_base", fast=fast)
    count("warm")
    branch = active_branch(session, find_leaf(session, None)).entries
    made = benchmark.pedantic(calibrate, (branch, count, priors_of), rounds=3, warmup_rounds=0)
    note_rate(benchmark, session.size)
    assert made.predicted
