"""Every figure of a plan is the one that Pi's own code gives: live on fresh sessions, recorded on kept ones.

`COMPACTOR_WRITE_GOLDEN=1` records the answers anew; that needs the real Pi.
"""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from differential.answers import Case, our_answer, pi_answer
from differential.made_sessions import made_session
from differential.real_pi import RealPi
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

FAST_PHASES = (Phase.explicit, Phase.generate, Phase.target, Phase.shrink)
"""Without `explain`, which runs a failing case many times over."""
RECORDED = Path(__file__).parent / "differential" / "recorded"
SETTINGS = ((1, 16384, 200_000), (300, 1000, 6000), (1500, 16384, 32_000), (20_000, 16384, 8000))
"""keepRecentTokens, reserveTokens, contextWindow."""
KEPT = [(seed, version) for seed in range(4) for version in (3, 2, 1)]


def cases_of(session: bytes) -> list[Case]:
    """Leaves spread over the session, each with every setting."""
    entries = session.count(b"\n") - 1
    leaves = [None, *sorted({entries * part // 4 for part in range(1, 4)})]
    return [Case(leaf=leaf, keep=k, reserve=r, window=w) for leaf in leaves for k, r, w in SETTINGS]


@pytest.mark.parametrize("version", [3, 2, 1])
@settings(max_examples=25, phases=FAST_PHASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(chance=st.randoms(use_true_random=False), pick=st.integers(min_value=0, max_value=15))
def test_a_fresh_session_is_planned_as_pi_plans_it(
    pi: RealPi, tmp_path: Path, chance: Random, pick: int, version: int
) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(made_session(chance, version=version))
    cases = cases_of(path.read_bytes())
    case = cases[pick % len(cases)]  # a very short session has fewer leaves
    theirs = pi.ask("answer", path, **case.job())
    assert "error" not in theirs, theirs
    assert our_answer(path, case) == pi_answer(theirs)


@pytest.mark.parametrize(("seed", "version"), KEPT)
def test_a_kept_session_is_planned_as_pi_planned_it(tmp_path: Path, seed: int, version: int) -> None:
    kept = json.loads((RECORDED / f"v{version}-{seed}.json").read_text(encoding="utf-8"))
    path = tmp_path / "kept.jsonl"
    path.write_bytes("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in kept["session"]).encode())
    for recorded in kept["cases"]:
        assert our_answer(path, Case(**recorded["case"])) == recorded["answer"], recorded["case"]


@pytest.mark.skipif("COMPACTOR_WRITE_GOLDEN" not in os.environ, reason="records on COMPACTOR_WRITE_GOLDEN=1")
@pytest.mark.parametrize(("seed", "version"), KEPT)
def test_record_what_pi_answers(pi: RealPi, tmp_path: Path, seed: int, version: int) -> None:
    session = made_session(Random(f"recorded {seed} {version}"), min_steps=18, max_steps=24, version=version)
    path = tmp_path / "kept.jsonl"
    rows: list[Any] = [json.loads(line) for line in session.splitlines()]
    path.write_bytes("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode())
    cases = []
    for case in cases_of(session)[::2]:
        job = case.job()
        recorded = pi_answer(pi.ask("answer", path, **job))
        cases.append({"case": {k: v for k, v in job.items() if k != "reply"}, "answer": recorded})
    RECORDED.mkdir(exist_ok=True)
    made = json.dumps({"pi": pi.install.version, "session": rows, "cases": cases}, indent=1, sort_keys=False)
    (RECORDED / f"v{version}-{seed}.json").write_text(made + "\n", encoding="utf-8")
    for kept in cases:
        assert our_answer(path, Case(**kept["case"])) == kept["answer"]
