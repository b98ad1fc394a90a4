"""How fast a large session is read, planned, told and summarized without a model; `make bench` prints the table.

COMPACTOR_BENCH_LARGE=1 takes 100 MB in place of 10. Rates are in `extra_info`, in megabytes (10**6 bytes) a second.
"""

import os
from pathlib import Path

import pytest
from bench.grown import MEGABYTE, grow, source_names, source_rows
from pytest_benchmark.fixture import BenchmarkFixture

from compactor.branch import active_branch, find_leaf
from compactor.engine import summary_source
from compactor.formats.pi import parse_session
from compactor.model import ModelRequest
from compactor.plan import Skip
from compactor.planned import Planned, plan_branch
from compactor.session_file import read_session
from compactor.settings import CompactionSettings
from compactor.tokens import PiCounter
from compactor.transcript import transcript, transcript_size

MEGABYTES = 100 if os.environ.get("COMPACTOR_BENCH_LARGE") == "1" else 10
ROUNDS = 3 if MEGABYTES > 10 else 5


@pytest.fixture(scope="module")
def session_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    name = source_names()[0]
    path = tmp_path_factory.mktemp("bench") / f"{name}.jsonl"
    grow(source_rows(name), path, MEGABYTES * MEGABYTE)
    return path


def plan_file(path: Path) -> Planned:
    session = read_session(str(path))
    return plan_branch(session, active_branch(session, find_leaf(session, None)), PiCounter(), CompactionSettings())


@pytest.fixture(scope="module")
def planned(session_file: Path) -> Planned:
    return plan_file(session_file)


def note_rate(benchmark: BenchmarkFixture, size: int, unit: str = "MB/s") -> None:
    """Adds the rate at the median time."""
    if benchmark.stats is not None:
        benchmark.extra_info["rate"] = f"{size / MEGABYTE / benchmark.stats.stats.median:.0f} {unit}"
        benchmark.extra_info["megabytes"] = round(size / MEGABYTE, 1)


def test_index_pass(benchmark: BenchmarkFixture, session_file: Path) -> None:
    data = session_file.read_bytes()
    session = benchmark.pedantic(parse_session, (data,), rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, len(data))
    assert len(session.entries) == data.count(b"\n") - 1


def test_load_and_plan(benchmark: BenchmarkFixture, session_file: Path) -> None:
    planned = benchmark.pedantic(plan_file, (session_file,), rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, session_file.stat().st_size)
    assert not isinstance(planned.plan, Skip)


def test_transcript(benchmark: BenchmarkFixture, planned: Planned) -> None:
    assert not isinstance(planned.plan, Skip)
    messages = summary_source(planned.plan).history
    text = benchmark.pedantic(transcript, (messages,), rounds=ROUNDS, warmup_rounds=1)
    note_rate(benchmark, len(text.encode("utf-8", "surrogatepass")), "MB/s of transcript")
    assert transcript_size(messages).chars > 0


def test_extractive_summary(benchmark: BenchmarkFixture, planned: Planned) -> None:
    from compactor.clients.extractive import ExtractiveClient

    assert not isinstance(planned.plan, Skip)
    source = summary_source(planned.plan)
    request = ModelRequest(
        kind="history",
        system="",
        context="",
        instructions="",
        max_output_tokens=8192,
        messages=tuple(source.history),
        entry_ids=tuple(source.history_ids),
    )
    client = ExtractiveClient()
    reply = benchmark.pedantic(client.complete, (request, lambda notice: None), rounds=ROUNDS, warmup_rounds=0)
    note_rate(benchmark, planned.session.size)
    assert "## Goal" in reply.text
