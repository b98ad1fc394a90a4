"""The real Pi 1.6.0 opens the files that compactor reads and writes, and sees in them what compactor sees.

Skipped where Pi is not installed; the answers that it gave on our own sessions are in test_recorded_pi.py.
"""

import json
import shutil
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from differential.made_sessions import made_session
from differential.real_pi import RealPi
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from compactor.branch import active_branch, find_leaf
from compactor.cli import group
from compactor.entries import Entry
from compactor.errors import SessionError
from compactor.js_text import json_text
from compactor.messages import Message
from compactor.projection import project, session_model
from compactor.session_file import read_session

SHARED = Path(__file__).parents[2] / "shared"
CORPUS = [
    path
    for folder in ("pi", "pi-1.6-lab", "pi-generated")
    for path in sorted((SHARED / "corpus" / folder).glob("*.jsonl"))
    if not path.name.startswith("events")
]
REPLY = "## Goal\nMove the crane schedule to the new berth.\n\n## Next Steps\n1. Run the tide tests"
COST = {"input": 0.5, "output": 0.25, "cacheRead": 0.125, "cacheWrite": 0, "total": 0.875}
USAGE = {"input": 70, "output": 9, "cacheRead": 5, "cacheWrite": 0, "reasoning": 4, "totalTokens": 84, "cost": COST}
CHANGED_BY_MIGRATION = ("id", "parentId", "firstKeptEntryId")
"""Pi makes ids for version 1 by chance."""

FAST_PHASES = (Phase.explicit, Phase.generate, Phase.target, Phase.shrink)
"""Without `explain`, which runs a failing case many times over."""

on_many_sessions = settings(max_examples=40, phases=FAST_PHASES, deadline=None, suppress_health_check=list(HealthCheck))
chances = st.randoms(use_true_random=False)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A session that can be compacted with `--keep-recent-tokens 200`."""
    path = tmp_path / "session.jsonl"
    path.write_bytes(made_session(Random(11), min_steps=60, max_steps=60))
    return path


def as_json(value: Any) -> Any:
    """The value as it is after a way through JavaScript, where 2**53 + 1 can't be told from 2**53."""
    return json.loads(json_text(value))


def typed(message: Any) -> Any:
    """The fields of a message that compactor knows, missing content as empty."""
    found = message if isinstance(message, Message) else msgspec.convert(message, Message)
    found = msgspec.structs.replace(found, content=found.blocks)
    return as_json(msgspec.to_builtins(found))


def without_made_ids(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in CHANGED_BY_MIGRATION}


def assert_pi_sees_the_same(pi: RealPi, path: Path) -> None:
    """Compares what is read, the branch, and every message of the context, one by one."""
    ours = read_session(str(path), exact=True)
    branch = active_branch(ours, find_leaf(ours, None))
    projection = project(branch, exact=True)
    theirs = pi.ask("open", path, keep=20000)
    assert "error" not in theirs, theirs
    same = without_made_ids if ours.header.version == 1 else dict
    assert [same(as_json(entry.wire())) for entry in ours.entries] == [same(row) for row in theirs["entries"]]
    position = {row["id"]: n for n, row in enumerate(theirs["entries"])}
    assert [entry.index for entry in branch.entries] == [position[made] for made in theirs["branch"]]
    found = [(p.entry.index, [typed(m) for m in p.messages()]) for p in projection.entries]
    wanted = [(position[row["id"]], [typed(m) for m in row["messages"]]) for row in theirs["context"]]
    assert found == wanted
    assert msgspec.to_builtins(session_model(branch)) == theirs["model"]


@pytest.mark.parametrize("version", [3, 2, 1])
@on_many_sessions
@given(chance=chances)
def test_pi_rebuilds_the_context_that_we_project(pi: RealPi, tmp_path: Path, chance: Random, version: int) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(made_session(chance, version=version))
    assert_pi_sees_the_same(pi, path)


@pytest.mark.skipif(not CORPUS, reason="skipped: no corpus")
@pytest.mark.parametrize("original", CORPUS, ids=lambda p: p.stem)
def test_pi_rebuilds_the_context_of_real_sessions_as_we_do(pi: RealPi, tmp_path: Path, original: Path) -> None:
    path = tmp_path / original.name
    shutil.copyfile(original, path)
    assert_pi_sees_the_same(pi, path)


def run(*arguments: str | Path) -> str:
    """What a command prints; it must succeed."""
    result = CliRunner().invoke(group, [str(a) for a in arguments])
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    return result.stdout


def compact(path: Path, *options: str | Path, keep: int = 200, reply: str = REPLY) -> None:
    script = path.with_suffix(".replies.json")
    message = {"content": [{"type": "text", "text": reply}], "stopReason": "stop", "usage": USAGE}
    script.write_text(json.dumps([message]), encoding="utf-8")
    run("compact", path, "--client", "scripted", "--script", script, "--keep-recent-tokens", str(keep), *options)


def last_entry(path: Path) -> Entry:
    return read_session(str(path)).entries[-1]


@pytest.mark.parametrize("mode", [(), ("--exact-pi",)], ids=["default", "exact"])
@pytest.mark.parametrize("target", ["--write", "--output"])
def test_pi_opens_and_continues_a_session_that_we_compacted(
    pi: RealPi, session: Path, target: str, mode: tuple[str, ...]
) -> None:
    made = session if target == "--write" else session.with_name("compacted.jsonl")
    compact(session, *mode, *((target,) if target == "--write" else (target, made)))
    written = made.read_bytes()
    assert_pi_sees_the_same(pi, made)
    assert made.read_bytes() == written, "Pi rewrote the file"
    summary = pi.ask("open", made, keep=200)["messages"]
    assert [m["summary"] for m in summary if m["role"] == "compactionSummary"] == [last_entry(made).body.summary]
    after = pi.ask("continue", made, keep=1, text="And now the tide tables. " * 40)
    assert after["plan"] is not None
    assert made.read_bytes().startswith(written)
    assert_pi_sees_the_same(pi, made)
    assert read_session(str(made)).warnings == read_session(str(session)).warnings


def test_pi_and_compactor_take_turns_on_one_session(pi: RealPi, session: Path) -> None:
    """A chain of four compactions, every second one by Pi; each sees the other's summary as the previous one."""
    for turn in range(4):
        reply = f"## Goal\nTurn {turn} of the harbor work"
        if turn % 2:
            theirs = pi.ask("compact", session, keep=100, reply=reply, usage=USAGE)
            assert "error" not in theirs, theirs
        else:
            compact(session, "--write", keep=100, reply=reply)
        assert last_entry(session).type == "compaction"
        assert f"Turn {turn} of" in (last_entry(session).body.summary or "")
        assert_pi_sees_the_same(pi, session)
        pi.ask("continue", session, keep=100, text=f"Question {turn}: " + "what of the night shift? " * 60)
        plan = json.loads(run("plan", session, "--json", "--keep-recent-tokens", "100"))
        previous = pi.ask("open", session, keep=100)["plan"]["previousSummaryChars"]
        assert plan["plan"]["previousSummaryChars"] == previous


@on_many_sessions
@given(chance=chances, keep=st.sampled_from([1, 150, 1000]))
def test_our_exact_entry_is_the_one_that_pi_writes(pi: RealPi, tmp_path: Path, chance: Random, keep: int) -> None:
    data = made_session(chance)
    ours, theirs = tmp_path / "ours.jsonl", tmp_path / "theirs.jsonl"
    ours.write_bytes(data)
    theirs.write_bytes(data)
    answer = pi.ask("compact", theirs, keep=keep, reply=REPLY, usage=USAGE)
    assert "error" not in answer, answer
    if theirs.read_bytes() == data:
        return
    compact(ours, "--write", "--exact-pi", keep=keep)
    chance_or_time = {"id": None, "timestamp": None}
    found, wanted = (read_session(str(path)).entries[-1].wire() for path in (ours, theirs))
    for entry in (found, wanted):
        entry.get("systemMessage", {}).pop("timestamp", None)
    assert list(found | chance_or_time) == list(wanted | chance_or_time)
    assert found | chance_or_time == wanted | chance_or_time


CONVERTED = [
    path
    for folder in ("claude-code", "codex", "robustness", "pi")
    for path in sorted((SHARED / "corpus" / folder).glob("*.jsonl"))
] + sorted((SHARED / "bugs").glob("*/*.jsonl"))


def assert_pi_opens_what_we_convert(pi: RealPi, original: Path, made: Path) -> None:
    """Converts, has Pi open the copy, and compares its context with the one of the original as we read it."""
    ours = read_session(str(original))
    run("convert", original, "--output", made)
    written = made.read_bytes()
    assert_pi_sees_the_same(pi, made)
    assert made.read_bytes() == written, "Pi rewrote the file"
    wanted = [typed(m) for m in project(active_branch(ours, find_leaf(ours, None)), exact=True).messages()]
    theirs = pi.ask("open", made, keep=20000)
    assert [typed(m) for row in theirs["context"] for m in row["messages"]] == wanted


@pytest.mark.skipif(not CONVERTED, reason="skipped: no corpus")
@pytest.mark.parametrize("original", CONVERTED, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_pi_opens_a_converted_session_with_the_context_that_we_read(pi: RealPi, tmp_path: Path, original: Path) -> None:
    try:
        read_session(str(original))
    except SessionError:
        pytest.skip("no session")
    assert_pi_opens_what_we_convert(pi, original, tmp_path / "converted.jsonl")


@pytest.mark.parametrize("version", [1, 2])
@on_many_sessions
@given(chance=chances)
def test_pi_opens_a_converted_session_of_an_older_version(
    pi: RealPi, tmp_path: Path, chance: Random, version: int
) -> None:
    path = tmp_path / "made.jsonl"
    path.write_bytes(made_session(chance, version=version))
    assert_pi_opens_what_we_convert(pi, path, tmp_path / "converted.jsonl")


@on_many_sessions
@given(chance=chances, place=st.floats(0, 1))
def test_pi_opens_a_branch_by_itself_with_the_context_that_its_leaf_had(
    pi: RealPi, tmp_path: Path, chance: Random, place: float
) -> None:
    path, made = tmp_path / "made.jsonl", tmp_path / "branch.jsonl"
    path.write_bytes(made_session(chance))
    ours = read_session(str(path))
    if not ours.entries:
        return
    leaf = f"#{round(place * (len(ours.entries) - 1))}"
    run("convert", path, "--branch", "--leaf", leaf, "--output", made)
    branch = active_branch(ours, find_leaf(ours, leaf))
    assert len(made.read_bytes().splitlines()) == len(branch.entries) + 1
    assert_pi_sees_the_same(pi, made)
    theirs = pi.ask("open", made, keep=20000)
    wanted = [typed(m) for m in project(branch, exact=True).messages()]
    assert [typed(m) for row in theirs["context"] for m in row["messages"]] == wanted
