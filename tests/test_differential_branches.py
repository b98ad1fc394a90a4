"""What a branch summary reads, and the entry it becomes, are those of Pi's own code: live, and recorded.

`COMPACTOR_WRITE_GOLDEN=1` records the answers anew, for the sessions of test_differential.py; that needs the real Pi.
"""

import json
import os
import shutil
from pathlib import Path
from random import Random
from typing import Any

import pytest
from command_line import run
from differential.made_sessions import made_session
from differential.real_pi import RealPi
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from compactor.session_file import read_session

FAST_PHASES = (Phase.explicit, Phase.generate, Phase.target, Phase.shrink)
"""Without `explain`, which runs a failing case many times over."""
RECORDED = Path(__file__).parent / "differential" / "recorded"
KEPT = [f"v{version}-{seed}" for version in (3, 2) for seed in range(4)]
SAME = ("entries", "messages", "tokens", "readFiles", "modifiedFiles", "transcriptChars", "transcriptSha256")
REPLY = "## Goal\nFind a berth.\n\n## Next Steps\n1. Ask the pilot"
COST = {"input": 0.5, "output": 0.25, "cacheRead": 0.125, "cacheWrite": 0, "total": 0.875}
USAGE = {"input": 70, "output": 9, "cacheRead": 5, "cacheWrite": 0, "reasoning": 4, "totalTokens": 84, "cost": COST}
WINDOW = 50_000
on_many_sessions = settings(max_examples=40, phases=FAST_PHASES, deadline=None, suppress_health_check=list(HealthCheck))
chances = st.randoms(use_true_random=False)


def our_reading(path: Path, left: int, target: int, budget: int) -> dict[str, Any]:
    """What `compactor branch-summary --dry-run` says, in the shape of Pi's answer."""
    ends = ("--from", f"#{left}", "--to", f"#{target}")
    limits = ("--context-window", budget, "--reserve-tokens", 0)
    done = run("branch-summary", path, *ends, *limits, "--exact-pi", "--dry-run", "--json")
    assert done.code in (0, 3), done.err
    found = json.loads(done.out)
    ancestor = found["commonAncestor"]
    return {"commonAncestor": None if ancestor is None else ancestor["index"], **{name: found[name] for name in SAME}}


def pi_reading(pi: RealPi, path: Path, left: int, target: int, budget: int) -> dict[str, Any]:
    answer = pi.ask("branch", path, **{"from": left}, to=target, budget=budget)
    assert "error" not in answer, answer
    return answer


@on_many_sessions
@given(chance=chances, places=st.tuples(st.floats(0, 1), st.floats(0, 1)), budget=st.sampled_from((0, 1, 60, 700)))
def test_pi_reads_the_same_of_a_fresh_session(
    pi: RealPi, tmp_path: Path, chance: Random, places: tuple[float, float], budget: int
) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(made_session(chance))
    last = path.read_bytes().count(b"\n") - 2
    if last < 0:
        return
    left, target = (round(place * last) for place in places)
    assert our_reading(path, left, target, budget) == pi_reading(pi, path, left, target, budget)


def kept_session(name: str, folder: Path) -> Path:
    """A session that test_differential.py keeps, as a file."""
    rows = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))["session"]
    path = folder / f"{name}.jsonl"
    path.write_bytes("".join(json.dumps(row, separators=(",", ":")) + "\n" for row in rows).encode())
    return path


def recorded_branches() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((RECORDED / "branches.json").read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("name", KEPT)
def test_pi_read_the_same_of_a_kept_session(tmp_path: Path, name: str) -> None:
    path = kept_session(name, tmp_path)
    cases = recorded_branches()[name]
    assert len(cases) >= 12
    for case in cases:
        assert our_reading(path, case["from"], case["to"], case["budget"]) == case["answer"], case


@pytest.mark.skipif("COMPACTOR_WRITE_GOLDEN" not in os.environ, reason="records on COMPACTOR_WRITE_GOLDEN=1")
def test_record_what_pi_reads(pi: RealPi, tmp_path: Path) -> None:
    made: dict[str, list[dict[str, Any]]] = {}
    for name in KEPT:
        path = kept_session(name, tmp_path)
        last = path.read_bytes().count(b"\n") - 2
        ends = [(last, last // 4), (last // 2, last), (last - 1, last), (last * 3 // 4, last // 3)]
        made[name] = [
            {"from": left, "to": to, "budget": budget, "answer": pi_reading(pi, path, left, to, budget)}
            for left, to in ends
            for budget in (0, 60, 700)
        ]
    (RECORDED / "branches.json").write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


def scripted(folder: Path) -> tuple[str, ...]:
    script = folder / "replies.json"
    message = {"content": [{"type": "text", "text": REPLY}], "stopReason": "stop", "usage": USAGE}
    script.write_text(json.dumps([message]), encoding="utf-8")
    return ("--client", "scripted", "--script", str(script))


@on_many_sessions
@given(chance=chances, places=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_our_exact_entry_is_the_one_that_pi_writes(
    pi: RealPi, tmp_path: Path, chance: Random, places: tuple[float, float]
) -> None:
    """But for the sentence that Pi puts before the reply."""
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    ours.write_bytes(made_session(chance))
    shutil.copyfile(ours, theirs)
    entries = read_session(str(ours), exact=True).entries
    if not entries:
        return
    left, target = (entries[round(place * (len(entries) - 1))].id for place in places)
    words = ("--from", left, "--to", target, "--context-window", WINDOW, "--reserve-tokens", 1000)
    done = run("branch-summary", ours, *words, "--write", "--exact-pi", *scripted(tmp_path))
    assert done.code in (0, 3), done.err
    if done.code == 3:
        return
    limits = {"window": WINDOW, "reserve": 1000, "keep": 20_000}
    answer = pi.ask("branchSummary", theirs, **{"from": left}, to=target, reply=REPLY, usage=USAGE, **limits)
    assert "error" not in answer, answer
    found, wanted = (read_session(str(path), exact=True).entries[-1].wire() for path in (ours, theirs))
    lead, reply, rest = wanted["summary"].partition(REPLY)
    assert lead and reply
    by_chance_or_time = {"id": None, "timestamp": None, "summary": reply + rest}
    assert list(found) == list(wanted)
    assert found | {"id": None, "timestamp": None} == wanted | by_chance_or_time


@pytest.mark.parametrize("mode", [(), ("--exact-pi",)], ids=["default", "exact"])
@pytest.mark.parametrize("target", ["--write", "--output"])
@on_many_sessions
@given(chance=chances, places=st.tuples(st.floats(0, 1), st.floats(0, 1)))
def test_pi_shows_the_branch_summary_that_we_wrote_and_goes_on_from_it(
    pi: RealPi, tmp_path: Path, chance: Random, places: tuple[float, float], target: str, mode: tuple[str, ...]
) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(made_session(chance))
    entries = read_session(str(path)).entries
    if not entries:
        return
    left, to = (entries[round(place * (len(entries) - 1))] for place in places)
    before = pi.ask("open", path, keep=20_000)
    made = path if target == "--write" else tmp_path / "copy.jsonl"
    where = (target,) if target == "--write" else (target, str(made))
    ends = ("--from", left.id, "--to", to.id, "--context-window", WINDOW)
    done = run("branch-summary", path, *ends, *where, *mode, "--json", *scripted(tmp_path))
    assert done.code in (0, 3), done.err
    if done.code == 3:
        return
    entry = json.loads(done.out)["entry"]
    written = made.read_bytes()
    after = pi.ask("open", made, keep=20_000)
    assert "error" not in after, after
    assert made.read_bytes() == written, "Pi rewrote the file"
    assert after["leafId"] == entry["id"]
    assert entry["id"] in after["children"][to.id]
    assert after["children"] == {
        **before["children"], to.id: [*before["children"][to.id], entry["id"]], entry["id"]: [],
    }  # fmt: skip
    shown = [(m["role"], m.get("summary"), m.get("fromId")) for m in after["messages"]]
    assert shown[-1] == ("branchSummary", entry["summary"], left.id)
    gone_on = pi.ask("continue", made, keep=20_000, text="Take the east berth.")
    assert [m["role"] for m in gone_on["messages"][-2:]] == ["branchSummary", "user"]
    assert made.read_bytes().startswith(written)
