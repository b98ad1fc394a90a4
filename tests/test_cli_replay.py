"""`compactor replay`: text, JSON, sweeps, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, tool_call, usage
from command_line import Ran, long_session, run, run_process, saved

SHARED = Path(__file__).parents[2] / "shared"
SESSIONS = [
    path
    for path in sorted([*(SHARED / "corpus").glob("*/*.jsonl"), *(SHARED / "bugs").glob("*/*.jsonl")])
    if not path.name.startswith("events-")
]
SMALL = ("--context-window", 1000, "--reserve-tokens", 200, "--keep-recent-tokens", 250)


def replayed(path: Path, *options: object, **env: Any) -> dict[str, Any]:
    """The one object of `replay --json`."""
    done = run("replay", path, "--json", *options, **env)
    assert (done.code, done.err) == (0, "")
    (found,) = done.objects
    return found


def row(done: Ran, label: str) -> str:
    """The value of a row of the text report."""
    return next(line[len(label) :].strip() for line in done.out.splitlines() if line.startswith(f"{label} "))


def compacted_session() -> SessionBuilder:
    builder = long_session(5)
    builder.compaction(builder.rows[-2]["id"], "## Goal\nMove the cranes. " * 4)
    return long_session(5, builder)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return saved(compacted_session(), tmp_path)


def test_text_says_what_the_json_says(session: Path) -> None:
    found, done = replayed(session, *SMALL), run("replay", session, *SMALL)
    assert (done.code, done.err) == (0, "")
    assert row(done, "session") == f"{session} (Pi version 3, 51 entries)"
    assert row(done, "leaf") == "#50 00000033, 51 entries on its branch"
    largest = max(point["tokens"] for point in found["series"])
    assert row(done, "context") == f"looked at after 20 replies, 0 with reported usage; at most {largest:,} tokens"
    assert row(done, "threshold") == "800 tokens (1,000 window - 200 reserve); keeps 250"
    (made,) = found["runs"]
    head = f"would compact {made['count']} times; the context would have had at most {made['maxContext']:,} tokens"
    lines = done.out.splitlines()
    at = lines.index(head)
    assert lines[at + 1].split() == [
        "after", "turn", "context", "shrinks", "to", "freed", "kept", "from", "split", "turn",
    ]  # fmt: skip
    for line, firing in zip(lines[at + 2 :], made["firings"], strict=False):
        split = "yes" if firing["isSplitTurn"] else "no"
        figures = [firing["contextTokens"], firing["tokensAfter"], firing["freedTokens"], firing["keptTokens"]]
        shown = [f"#{firing['index']}", str(firing["turn"]), *(f"{n:,}" for n in figures), firing["firstKept"], split]
        assert line.split() == shown
    assert made["count"] == len(made["firings"]) > 0


def test_text_compares_the_real_compactions_with_the_threshold(session: Path) -> None:
    (real,) = replayed(session, *SMALL)["real"]
    assert (real["index"], real["tokensBefore"], real["timing"], real["due"]["index"]) == (25, 4321, "late", 23)
    done = run("replay", session, *SMALL)
    at = done.out.splitlines().index("really compacted 1 time")
    told, verdict = done.out.splitlines()[at + 1 : at + 3]
    assert told.startswith(f"  #25 at 4,321 tokens, 432% of the window (counted here: {real['contextTokens']:,});")
    implied = f"from {real['impliedThreshold']['from']:,} to below {real['impliedThreshold']['below']:,}"
    late = f"{real['checksLate']} repl{'y' if real['checksLate'] == 1 else 'ies'} before"
    assert verdict == f"    late: due at #23, {late}; if automatic, its threshold lay {implied}"


@pytest.mark.parametrize(
    ("window", "verdict"),
    [(6000, "early: 1,479 tokens before the threshold"), (1075, "early by what is counted here"), (1074, "on time")],
)
def test_a_real_compaction_may_be_early_or_on_time(session: Path, window: int, verdict: str) -> None:
    done = run("replay", session, "--context-window", window, "--reserve-tokens", 200)
    assert f"    {verdict}; if automatic" in done.out


def test_what_another_agent_noted_is_told(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.assistant(usage=usage(700))
    builder.assistant(usage=usage(900))
    details = {"source": "claude-code", "trigger": "auto"}
    builder.compaction(builder.leaf or "", "s", tokensBefore=900, fromHook=True, details=details)
    done = run("replay", saved(builder, tmp_path), *SMALL)
    assert "  #3 at 900 tokens, 90% of the window; summary 1, kept 3; noted as auto" in done.out
    assert "    on time; its threshold lay from 700 to below 900" in done.out


def test_a_compaction_that_was_no_matter_of_the_threshold_implies_none(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.assistant(usage=usage(700))
    builder.compaction(builder.leaf or "", "s", tokensBefore=700, details={"trigger": "manual"})
    done = run("replay", saved(builder, tmp_path), *SMALL)
    assert "kept 3; noted as manual\n    early: 100 tokens before the threshold\n" in done.out


def test_a_compaction_without_a_size_is_told_by_ours_and_a_window_of_0_has_no_share(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.assistant(usage=usage(700))
    builder.compaction(builder.leaf or "", "s", tokensBefore=None)
    path = saved(builder, tmp_path)
    done = run("replay", path, "--context-window", 0, "--reserve-tokens", 0)
    assert "  #2 at 700 tokens; summary 1, kept 3" in done.out
    assert "    on time; if automatic, its threshold lay below 700" in done.out


def test_a_session_that_never_fills_the_window_would_never_compact(session: Path) -> None:
    done = run("replay", session, "--context-window", 100_000)
    assert "would never compact: the context would have had at most " in done.out
    assert replayed(session, "--context-window", 100_000)["runs"][0]["firings"] == []


def test_a_context_larger_than_the_window_is_pointed_out(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("U" * 8000)
    builder.assistant()
    done = run("replay", saved(builder, tmp_path), *SMALL)
    assert ", more than the window of 1,000: the provider might have refused" in done.out
    assert "in vain at 1 reply: all there is would be kept" in done.out


def test_only_so_many_firings_are_told_and_json_has_all(tmp_path: Path) -> None:
    path = saved(long_session(110), tmp_path)
    options = ("--context-window", 500, "--reserve-tokens", 200, "--keep-recent-tokens", 10, "--summary-tokens", 10)
    count = len(replayed(path, *options)["runs"][0]["firings"])
    assert count > 60
    done = run("replay", path, *options)
    assert f"  … and {count - 60} more; --json has all" in done.out


def test_a_leaf_ends_the_walk(session: Path) -> None:
    found = replayed(session, "--leaf", "#9", *SMALL)
    assert (found["leaf"]["index"], found["branchEntries"], found["real"]) == (9, 10, [])


def test_a_given_summary_size_is_taken(session: Path) -> None:
    found = replayed(session, *SMALL, "--summary-tokens", 123)
    assert {firing["summaryTokens"] for firing in found["runs"][0]["firings"]} == {123}


@pytest.mark.parametrize("counter", ["o200k", "cl100k", "calibrated"])
def test_every_counter_can_be_taken(session: Path, counter: str) -> None:
    assert replayed(session, *SMALL, "--counter", counter)["counter"] == counter


def test_exact_pi_counts_what_pi_counts(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("U" * 40)
    builder.private_shell("P" * 400)
    builder.assistant("A" * 40)
    path = saved(builder, tmp_path)
    assert replayed(path)["series"][0]["tokens"] == 20
    assert replayed(path, "--exact-pi")["series"][0]["tokens"] > 120


def test_switched_off_compaction_is_played_through_with_a_warning(session: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"compaction": {"enabled": False}}))
    agent: dict[str, Any] = {"PI_CODING_AGENT_DIR": str(tmp_path)}
    found = replayed(session, *SMALL, **agent)
    assert found["runs"][0]["count"] > 0
    assert "compaction_disabled" in [warning["code"] for warning in found["warnings"]]
    assert "[compaction_disabled]" in run("replay", session, *SMALL, **agent).out


def test_settings_come_from_the_files_and_a_flag_wins(session: Path, tmp_path: Path) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"compaction": {"reserveTokens": 77, "keepRecentTokens": 88}}))
    agent: dict[str, Any] = {"PI_CODING_AGENT_DIR": str(tmp_path)}
    found = replayed(session, "--context-window", 1000, "--keep-recent-tokens", 99, **agent)
    chosen = found["settings"]
    assert (chosen["reserveTokens"], chosen["keepRecentTokens"], found["threshold"]) == (77, 99, 923)
    assert chosen["sources"] == {
        "enabled": "default", "contextWindow": "flag", "reserveTokens": "user", "keepRecentTokens": "flag",
    }  # fmt: skip


# Sweeps


def test_a_sweep_has_one_line_a_combination(session: Path) -> None:
    options = ("--windows", "1k,1200", "--reserves", "100,300", "--keeps", "250,2k")
    found, done = replayed(session, *options), run("replay", session, *options)
    assert [(r["contextWindow"], r["reserveTokens"], r["keepRecentTokens"]) for r in found["runs"]] == [
        (window, reserve, keep) for window in (1000, 1200) for reserve in (100, 300) for keep in (250, 2000)
    ]
    lines = [line for line in done.out.splitlines() if line.lstrip().startswith(("1,000 ", "1,200 "))]
    assert len(lines) == 8
    for line, made in zip(lines, found["runs"], strict=True):
        assert int(line.split()[3].replace(",", "")) == made["count"]
        assert ("in vain at" in line) == (made["vainChecks"] > 0)
        assert ("over the window" in line) == (made["maxContext"] > made["contextWindow"])


def test_a_window_that_is_never_filled_takes_one_line(session: Path) -> None:
    done = run("replay", session, "--sweep", "--windows", "1k,1m")
    assert next(line.split() for line in done.out.splitlines() if "1,000,000" in line)[:4] == [
        "1,000,000", "any", "any", "0",
    ]  # fmt: skip


def test_a_plain_sweep_takes_the_usual_values(session: Path) -> None:
    found = replayed(session, "--sweep")
    assert {made["contextWindow"] for made in found["runs"]} == {32_000, 64_000}
    assert all(made["count"] == 0 for made in found["runs"])


@pytest.mark.parametrize("values", ["", "x", "64k,", "1.5m", "-5", "k", "9" * 30, "٣", "\ud83d\x1b"])
def test_what_is_no_list_of_numbers_is_wrong_usage(session: Path, values: str) -> None:
    done = run("replay", session, f"--windows={values}")
    assert done.code == 2
    assert "expected numbers of tokens as in 64k,128000,1m" in done.err
    assert "\x1b" not in done.err


def test_too_many_combinations_are_wrong_usage(session: Path) -> None:
    many = ",".join(map(str, range(200)))
    done = run("replay", session, "--windows", many)
    assert done.code == 2
    assert "expected at most 1,000 combinations, found 1,800" in done.err


# What else may come


@pytest.mark.parametrize("words", [("gone.jsonl",), ("--leaf", "#99"), ("--leaf", "nobody")])
def test_what_is_not_there_is_one_line_and_exit_code_1(session: Path, words: tuple[str, ...]) -> None:
    named = words if words[0] == "gone.jsonl" else (str(session), *words)
    done = run("replay", *named)
    assert (done.code, done.out, len(done.talk)) == (1, "", 1)


def test_an_empty_session_is_told_as_such(tmp_path: Path) -> None:
    path = saved(SessionBuilder(), tmp_path)
    done = run("replay", path, "--sweep")
    assert done.code == 0
    assert row(done, "context") == "looked at after 0 replies, 0 with reported usage; at most 0 tokens"
    assert replayed(path)["leaf"] is None


def test_session_text_never_acts_on_the_terminal(tmp_path: Path) -> None:
    evil = "\x1b[31m\u202e\n\x00\ud83d"
    builder = SessionBuilder(header={"cwd": evil})
    builder.add("message", id=f"u{evil}", message={"role": "user", "content": evil * 400})
    builder.add("message", id=f"a{evil}", message={"role": "assistant", "content": evil * 400, "stopReason": evil})
    builder.compaction(f"a{evil}", evil, id=f"c{evil}", tokensBefore=1e300, details={"trigger": evil})
    builder.assistant(evil, tool_call(evil))
    builder.result(evil, evil)
    for name in ("session.jsonl", "\x1b[31m.jsonl"):
        path = saved(builder, tmp_path, name)
        for options in (SMALL, ("--sweep", "--windows", "500")):
            done = run("replay", path, *options)
            assert (done.code, done.err) == (0, "")
            assert not {"\x1b", "\u202e", "\x00", "\ud83d"} & set(done.out)
            replayed(path, *options)


def test_it_runs_as_a_process_without_drawing_and_pricing_libraries(session: Path) -> None:
    done = run_process("replay", session, *SMALL, "--json")
    assert (done.code, done.err) == (0, "")
    assert done.objects[0]["checks"] == 20


@pytest.mark.skipif(not SESSIONS, reason="skipped: no corpus")
@pytest.mark.parametrize("path", SESSIONS[::5], ids=lambda path: f"{path.parent.name}/{path.name}")
def test_any_file_is_played_through_or_refused_in_one_line(path: Path) -> None:
    for options in ((), ("--sweep",), ("--exact-pi", *SMALL)):
        done = run("replay", path, "--json", *options)
        if done.code:
            assert (done.code, done.out, len(done.talk)) == (1, "", 1)
        else:
            assert done.objects[0]["session"]["path"] == str(path)
