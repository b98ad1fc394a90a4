"""`compactor plan`: text and JSON, settings, leaves, counters, and which session is meant."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, tool_call, usage
from command_line import PROGRAM, Ran, long_session, on_terminal, process_env, run, run_process, saved

PLAN_FIELDS = [
    "session", "leaf", "entries", "branchEntries", "contextEntries", "messages", "roles", "model", "settings",
    "counter", "counterError", "messageTokens", "contextTokens", "usageTokens", "trailingTokens", "threshold",
    "shouldCompact", "plan", "skip", "explanation", "warnings",
]  # fmt: skip
CUT_FIELDS = [
    "firstKeptEntryId", "firstKept", "isSplitTurn", "messagesToSummarize", "turnPrefixMessages", "tokensBefore",
    "keptMessages", "keptTokens", "previousSummaryChars", "readFiles", "modifiedFiles", "historyChars",
    "historySha256", "prefixChars", "prefixSha256",
]  # fmt: skip


def planned(path: Path, *options: object, **env: Any) -> dict[str, Any]:
    """The one object of `plan --json`."""
    done = run("plan", path, "--json", *options, **env)
    assert (done.code, done.err) == (0, "")
    (found,) = done.objects
    return found


def row(done: Ran, label: str) -> str:
    """The value of a row of the text report."""
    return next(line[len(label) :].strip() for line in done.out.splitlines() if line.startswith(f"{label} "))


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return saved(long_session(), tmp_path)


def test_json_has_exactly_the_documented_fields(session: Path) -> None:
    found = planned(session, "--keep-recent-tokens", 300)
    assert list(found) == PLAN_FIELDS
    assert list(found["plan"]) == CUT_FIELDS
    assert list(found["session"]) == ["path", "id", "version", "cwd", "format"]
    assert list(found["leaf"]) == ["id", "index"]
    assert list(found["model"]) == ["provider", "modelId"]
    assert list(found["settings"]) == ["enabled", "contextWindow", "reserveTokens", "keepRecentTokens", "sources"]
    assert set(found["settings"]["sources"]) == {"enabled", "contextWindow", "reserveTokens", "keepRecentTokens"}
    assert all(list(reason) == ["code", "text"] for reason in found["explanation"])
    assert all({"code", "message"} <= set(w) <= {"code", "message", "line", "entryId"} for w in found["warnings"])
    assert found["skip"] is None


def test_json_of_a_skip_has_a_reason_and_no_plan(session: Path) -> None:
    found = planned(session)
    assert list(found) == PLAN_FIELDS
    assert found["plan"] is None
    assert list(found["skip"]) == ["reason", "detail"]


def test_text_says_what_the_json_says(session: Path) -> None:
    options = ("--keep-recent-tokens", 300, "--context-window", 1000, "--reserve-tokens", 300)
    found, done = planned(session, *options), run("plan", session, *options)
    assert (done.code, done.err) == (0, "")
    assert row(done, "session") == f"{session} (Pi version 3, 20 entries)"
    assert row(done, "model") == "dock/gantry-1"
    assert row(done, "leaf") == f"#19 {found['leaf']['id']}, 20 entries on its branch"
    assert row(done, "context") == f"about {found['contextTokens']} tokens (estimated with pi)"
    assert row(done, "trigger") == "does not compact: the threshold is 700 tokens (1,000 window - 300 reserve)"
    cut = found["plan"]
    assert row(done, "summarize") == f"{cut['messagesToSummarize']} messages of history"
    kept = f"{cut['keptMessages']} messages, about {cut['keptTokens']} tokens by pi"
    assert row(done, "keep") == f"{kept}, from {cut['firstKept']} {cut['firstKeptEntryId']} on"
    assert row(done, "read") == "crane0.md, crane1.md"
    assert row(done, "modified") == "berths.csv"
    for reason in found["explanation"]:
        assert f"  - {reason['text']}" in done.out
    for warning in found["warnings"]:
        assert f"  ! {warning['message']} [{warning['code']}]" in done.out


@pytest.mark.parametrize(
    ("window", "enabled", "should", "verdict"),
    [
        (1000, True, True, "compacts: "),
        (100_000, True, False, "does not compact: "),
        (1000, False, False, "compaction is switched off: "),
    ],
)
def test_the_trigger(tmp_path: Path, window: int, enabled: bool, should: bool, verdict: str) -> None:
    builder = long_session()
    builder.assistant("So it is.", usage=usage(950))
    path = saved(builder, tmp_path)
    (tmp_path / "settings.json").write_text(json.dumps({"compaction": {"enabled": enabled}}))
    options = ("--context-window", window, "--reserve-tokens", 100)
    agent: dict[str, Any] = {"PI_CODING_AGENT_DIR": str(tmp_path)}
    found = planned(path, *options, **agent)
    assert found["shouldCompact"] is should
    assert (found["contextTokens"], found["usageTokens"], found["threshold"]) == (950, 950, window - 100)
    assert found["settings"]["sources"]["enabled"] == "user"
    assert row(run("plan", path, *options, **agent), "trigger").startswith(verdict)


SKIPS: dict[str, tuple[SessionBuilder, tuple[object, ...]]] = {
    "no_messages": (SessionBuilder(), ()),
    "nothing_to_compact": (long_session(), ()),
    "kept_tail_over_limit": (
        long_session(),
        ("--keep-recent-tokens", 300, "--context-window", 400, "--reserve-tokens", 200),
    ),
}


@pytest.mark.parametrize("reason", [*SKIPS, "already_compacted"])
def test_each_reason_for_doing_nothing_is_told_and_exit_code_0_as_planning_worked(tmp_path: Path, reason: str) -> None:
    builder, options = SKIPS.get(reason) or (long_session(), ())
    if reason == "already_compacted":
        builder.compaction(builder.rows[10]["id"])
    path = saved(builder, tmp_path)
    found = planned(path, *options)
    assert found["skip"]["reason"] == reason
    assert reason in [r["code"] for r in found["explanation"]]
    assert row(run("plan", path, *options), "plan") == f"nothing: {found['skip']['detail']}"


def test_a_session_without_entries_has_neither_leaf_nor_model(tmp_path: Path) -> None:
    path = saved(SessionBuilder(), tmp_path)
    found = planned(path)
    assert (found["leaf"], found["model"], found["entries"], found["roles"]) == (None, None, 0, {})
    assert row(run("plan", path), "session").endswith("(Pi version 3, 0 entries)")


def test_a_split_turn_is_told(tmp_path: Path) -> None:
    builder = long_session()
    builder.user("Look at the tide. " * 30)
    builder.assistant("A long look at it. " * 30)
    builder.assistant("It is high. " * 60)
    path = saved(builder, tmp_path)
    cut = planned(path, "--keep-recent-tokens", 100)["plan"]
    assert cut["isSplitTurn"] is True
    assert cut["turnPrefixMessages"] == 2
    assert cut["prefixChars"] > 0
    done = run("plan", path, "--keep-recent-tokens", 100)
    assert row(done, "summarize") == "20 messages of history and 2 of the turn that is split"


def test_an_update_names_the_size_of_the_previous_summary(tmp_path: Path) -> None:
    builder = long_session()
    builder.compaction(builder.rows[15]["id"], "## Goal\nMove crane 3. 🚢")
    path = saved(long_session(start=builder), tmp_path)
    found = planned(path, "--keep-recent-tokens", 300)
    assert found["plan"]["previousSummaryChars"] == len("## Goal\nMove crane 3. ") + 2
    assert row(run("plan", path, "--keep-recent-tokens", 300), "summarize").endswith("the previous summary is updated")


def test_one_of_a_thing_is_not_told_in_the_plural(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("Where is crane 3? " * 20)
    builder.user("Go.")
    done = run("plan", saved(builder, tmp_path), "--keep-recent-tokens", 1, "--leaf", "#1")
    assert row(done, "summarize") == "1 message of history"
    assert row(done, "keep") == "1 message, about 1 token by pi, from #1 00000002 on"
    first = run("plan", saved(SessionBuilder(rows=builder.rows[:1]), tmp_path))
    assert row(first, "leaf") == "#0 00000001, 1 entry on its branch"


def test_what_the_settings_warn_of_is_told_once(session: Path) -> None:
    found = planned(session)
    assert [w["code"] for w in found["warnings"]].count("window_unknown") == 1
    assert run("plan", session).out.count("[window_unknown]") == 1
    assert "window_unknown" not in run("plan", session, "--context-window", 1000).out


@pytest.mark.parametrize(
    ("leaf", "index"),
    [("0000000a", 9), ("0000000", None), ("00000014", 19), ("#0", 0), ("#9", 9), ("#20", None), ("x", None)],
)
def test_a_leaf_is_an_id_its_start_or_a_position(session: Path, leaf: str, index: int | None) -> None:
    if index is None:
        done = run("plan", session, "--leaf", leaf)
        assert (done.code, done.out, len(done.talk)) == (1, "", 1)
        assert leaf in done.err
    else:
        found = planned(session, "--leaf", leaf)
        assert found["leaf"]["index"] == index
        assert (found["entries"], found["branchEntries"]) == (20, index + 1)


def test_the_start_of_an_id_is_enough_if_only_one_entry_has_it(tmp_path: Path) -> None:
    builder = long_session()
    builder.add("message", id="feed0001", message={"role": "user", "content": "Go."})
    assert planned(saved(builder, tmp_path), "--leaf", "feed")["leaf"]["id"] == "feed0001"


def test_an_abandoned_branch_is_reached_by_its_leaf(tmp_path: Path) -> None:
    builder = long_session()
    builder.back_to("00000005")
    builder.user("Rather crane 9.")
    path = saved(builder, tmp_path)
    assert planned(path)["branchEntries"] == 6
    assert planned(path, "--leaf", "#19")["branchEntries"] == 20


def test_exact_pi_has_the_losses_of_pi(tmp_path: Path) -> None:
    builder = long_session()
    builder.add("message", parentId="gone", message={"role": "user", "content": "Go."})
    path = saved(builder, tmp_path)
    assert planned(path)["branchEntries"] == 21
    assert [w["code"] for w in planned(path)["warnings"]].count("missing_parent") == 1
    assert planned(path, "--exact-pi")["branchEntries"] == 1


def test_each_counter_names_itself_and_counts_in_its_own_way(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("検査を続けてください。" * 40)
    path = saved(builder, tmp_path)
    tokens = {name: planned(path, "--counter", name) for name in ("pi", "o200k", "cl100k")}
    assert [found["counter"] for found in tokens.values()] == list(tokens)
    assert len({found["messageTokens"] for found in tokens.values()}) == 3
    assert tokens["pi"]["messageTokens"] == 110
    assert "estimated with o200k" in run("plan", path, "--counter", "o200k").out


def test_flags_go_before_the_project_and_the_project_before_the_user(tmp_path: Path) -> None:
    project, agent = tmp_path / "project", tmp_path / "agent"
    for folder, compaction in (
        (project / ".pi", {"reserveTokens": 11, "keepRecentTokens": 12}),
        (agent, {"reserveTokens": 21, "keepRecentTokens": 22, "enabled": False}),
    ):
        folder.mkdir(parents=True)
        (folder / "settings.json").write_text(json.dumps({"compaction": compaction}))
    path = saved(long_session(start=SessionBuilder(header={"cwd": str(project)})), tmp_path)
    settings = planned(path, "--reserve-tokens", 31, PI_CODING_AGENT_DIR=str(agent))["settings"]
    assert settings == {
        "enabled": False,
        "contextWindow": 200_000,
        "reserveTokens": 31,
        "keepRecentTokens": 12,
        "sources": {
            "enabled": "user",
            "contextWindow": "default",
            "reserveTokens": "flag",
            "keepRecentTokens": "project",
        },
    }


def test_the_users_settings_are_found_in_the_home_folder_and_overrides_go_by_model(tmp_path: Path) -> None:
    folder = tmp_path / ".pi" / "agent"
    folder.mkdir(parents=True)
    overrides = {"dock/gantry-1": {"keepRecentTokens": 77}, "dock/other": {"keepRecentTokens": 88}}
    compaction = {"keepRecentTokens": 66, "modelOverrides": overrides}
    (folder / "settings.json").write_text(json.dumps({"compaction": compaction}))
    settings = planned(saved(long_session(), tmp_path), home=tmp_path)["settings"]
    assert (settings["keepRecentTokens"], settings["sources"]["keepRecentTokens"]) == (77, "override")


def test_the_window_of_a_known_model_comes_from_the_catalogue(tmp_path: Path) -> None:
    builder = long_session()
    builder.model_change("claude-opus-4-5-20251101", "anthropic")
    found = planned(saved(builder, tmp_path))
    assert (found["settings"]["contextWindow"], found["settings"]["sources"]["contextWindow"]) == (200_000, "catalogue")
    assert "window_unknown" not in [w["code"] for w in found["warnings"]]


@pytest.mark.parametrize(
    "cwd", ["", "/no/such/folder", "relative", "/srv/\x00", "/srv/\ud83d", "/" + "long/" * 2000, None]
)
def test_a_header_may_name_any_folder_as_its_project(tmp_path: Path, cwd: str | None) -> None:
    path = saved(long_session(start=SessionBuilder(header={"cwd": cwd})), tmp_path)
    assert planned(path)["entries"] == 20


def in_session_folder(tmp_path: Path) -> Path:
    """A project with two sessions in Pi's folder, the newer one `harbor-0002`, beside one of another project."""
    project = tmp_path / "project"
    project.mkdir()
    folder = tmp_path / ".pi" / "agent" / "sessions" / ("--" + str(project).lstrip("/").replace("/", "-") + "--")
    folder.mkdir(parents=True)
    for number, cwd in ((1, project), (2, project), (3, tmp_path)):
        header = {"id": f"harbor-{number:04}", "cwd": str(cwd)}
        path = saved(long_session(number, SessionBuilder(header=header)), folder, f"2026_harbor-{number:04}.jsonl")
        os.utime(path, (1000 * number, 1000 * number))
    return project


@pytest.mark.skipif(os.name == "nt", reason="skipped: the folder's name is made for paths with slashes")
def test_latest_and_the_start_of_an_id_are_looked_up_for_the_current_folder(tmp_path: Path) -> None:
    project = in_session_folder(tmp_path)
    latest = run_process("plan", "latest", "--json", cwd=project, HOME=str(tmp_path))
    assert latest.objects[0]["session"]["id"] == "harbor-0002"
    older = run_process("plan", "harbor-0001", "--json", cwd=project, HOME=str(tmp_path))
    assert older.objects[0]["session"]["id"] == "harbor-0001"
    for text in ("harbor", "harbor-0003", "nobody"):
        done = run_process("plan", text, cwd=project, HOME=str(tmp_path))
        assert (done.code, done.out, len(done.talk)) == (1, "", 1)
        assert text in done.err


def test_session_dir_says_where_to_look(tmp_path: Path) -> None:
    folder = tmp_path / "all"
    folder.mkdir()
    saved(SessionBuilder(header={"cwd": os.getcwd(), "id": "harbor-0007"}), folder, "x.jsonl")
    done = run("plan", "harbor-0007", "--session-dir", folder, "--json")
    assert done.objects[0]["session"]["id"] == "harbor-0007"
    assert run("plan", "latest", "--session-dir", folder, "--json").out == done.out


def test_planning_changes_no_byte_and_leaves_nothing_behind(tmp_path: Path) -> None:
    builder = SessionBuilder(version=1)
    path = saved(long_session(start=builder), tmp_path)
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    planned(path, "--keep-recent-tokens", 300)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_reader_that_goes_away_gets_no_traceback(tmp_path: Path) -> None:
    path = saved(long_session(60), tmp_path)
    words = [*PROGRAM, "plan", str(path), "--json", "--keep-recent-tokens", "300"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=process_env({})) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert process.returncode == 1
    assert errors == b""


HEAVY = ("anthropic", "openai", "tiktoken", "jinja2", "rich", "genai_prices")


@pytest.mark.parametrize("words", [("--help",), ("plan", "--help"), ("plan",), ("plan", "--json"), ("compact",)])
def test_no_heavy_library_is_imported_that_is_not_needed(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = saved(long_session(), tmp_path)
    session = [] if "--help" in words else [str(path)]
    program = (
        "import sys\nimport evals.cli\nfrom compactor.cli import group\n"
        "try:\n    group(prog_name='compactor')\nfinally:\n"
        f"    print([n for n in {HEAVY} if n in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *words, *session],
        env=process_env({}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.splitlines()[-1] == "[]"


@pytest.mark.skipif(os.name != "posix", reason="skipped: a pseudo-terminal needs POSIX")
def test_on_a_terminal_the_report_says_the_same_and_session_text_stays_text(tmp_path: Path) -> None:
    builder = SessionBuilder(header={"cwd": "/srv/[bold]harbor[/bold]"})
    builder.user("Where is crane 3? " * 20)
    builder.assistant("", tool_call("c1", "read", path="dock\x1b[31m.md"))
    builder.result("c1", "berth 14 " * 20)
    builder.user("Thanks.")
    session = saved(builder, tmp_path)
    shown = on_terminal("plan", session, "--keep-recent-tokens", "1")
    assert "[bold]harbor[/bold]" in shown
    assert "\x1b[31m" not in shown
    assert "dock\\x1b[31m.md" in shown
    plain = run("plan", session, "--keep-recent-tokens", "1").out
    reasons = [line.removeprefix("  - ") for line in plain.splitlines() if line.startswith("  - ")]
    flat = " ".join(shown.split())
    assert reasons and all(reason in flat for reason in reasons)


def test_a_fast_end_loses_nothing_of_what_was_written(tmp_path: Path) -> None:
    """The process ends without tidying up: a file that is not flushed would end short."""
    path = saved(long_session(400), tmp_path)
    target = tmp_path / "plan.json"
    with target.open("wb") as file:
        done = subprocess.run(
            [*PROGRAM, "plan", str(path), "--json"], stdout=file, env=process_env({}), timeout=60, check=True
        )
    assert done.returncode == 0
    assert json.loads(target.read_bytes())["entries"] > 400


def test_the_counter_is_judged_by_what_the_provider_reported(tmp_path: Path) -> None:
    builder = SessionBuilder()
    for n in range(30):
        builder.user("Where is crane 3? " * 20)
        builder.assistant("At berth 14. " * 10, usage=usage(3_000 + 500 * n, output=120))
    path = saved(builder, tmp_path)
    found = planned(path, "--keep-recent-tokens", 2000)
    assert (found["counter"], found["counterError"]["steps"], found["counterError"]["medianStepError"]) == (
        "pi",
        29,
        None,
    )
    assert 0.2 < found["counterError"]["ratio"] < 0.3
    assert "; saw 2" in row(run("plan", path), "counter")
    assert row(run("plan", path), "counter").startswith(f"pi: about {found['messageTokens']:,} tokens in the messages")
    learnt = planned(path, "--keep-recent-tokens", 2000, "--counter", "calibrated")
    assert learnt["counter"] == "calibrated"
    assert learnt["counterError"]["steps"] == 9
    assert abs(learnt["counterError"]["ratio"] - 1) < 0.05
    assert 2000 <= learnt["plan"]["keptTokens"] <= 2500
    text = row(run("plan", path, "--counter", "calibrated", "--keep-recent-tokens", 2000), "counter")
    assert "half of the steps less than" in text
