"""`compactor branch-summary`: what is read, what is told, what is written and what is not, and how it stops."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, row_line, tool_call, usage
from command_line import PROGRAM, on_terminal, process_env, program, run, run_process, saved, scripted
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import damaged_files

from compactor.branch import active_branch, find_leaf
from compactor.projection import project
from compactor.session_file import read_session
from compactor.summary import PROGRESS_PARTS, SECTIONS

WINDOW = ("--context-window", "100000")
REPLY = "## Goal\nFind a berth."
JSON_FIELDS = [
    "session", "from", "to", "commonAncestor", "entries", "messages", "tokens", "budgetTokens", "unreadMessages",
    "readFiles", "modifiedFiles", "transcriptChars", "transcriptSha256", "skip", "summary",
]  # fmt: skip
SHARED = Path(__file__).parents[2] / "shared"


def forked(start: SessionBuilder | None = None) -> SessionBuilder:
    """#0 and #1, then #2 to #5 on the branch that is left, then #6 and #7 on the other."""
    builder = start or SessionBuilder()
    builder.user("Plan the harbor.")
    fork = builder.assistant("North or east?")
    builder.user("Take the north berth.")
    builder.assistant("I look.", tool_call("c1", "read", path="depth.md"), tool_call("c2", "edit", path="berths.csv"))
    builder.result("c1", "4 m")
    builder.assistant("North is too shallow.")
    builder.back_to(fork)
    builder.user("Take the east berth.")
    builder.assistant("East is free.")
    return builder


LEFT = ("--from", "#5", "--to", "#7", *WINDOW)


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return saved(forked(), tmp_path)


def test_without_a_model_the_summary_has_the_sections_of_a_branch_and_nothing_is_written(session: Path) -> None:
    before = session.read_bytes()
    done = run("branch-summary", session, *LEFT)
    assert done.code == 0
    headings = [line.lstrip("# ") for line in done.out.splitlines() if line.startswith("#")]
    assert headings == [*SECTIONS["branch"][:3], *PROGRESS_PARTS, *SECTIONS["branch"][3:]]
    assert "<read-files>\ndepth.md\n</read-files>" in done.out
    assert done.talk == [
        "summarized 3 messages with about 26 tokens of the branch that ends in #5 00000006; "
        "nothing was written (see --write and --output)"
    ]
    assert session.read_bytes() == before
    assert run("branch-summary", session, *LEFT).out == done.out


def test_json_is_one_object_with_what_was_read_and_made(session: Path, tmp_path: Path) -> None:
    message = {
        "content": [{"type": "text", "text": REPLY}],
        "stopReason": "stop",
        "usage": usage(15, input=10, output=5),
    }
    done = run("branch-summary", session, *LEFT, "--json", *scripted(tmp_path, message))
    [found] = done.objects
    assert list(found) == [*JSON_FIELDS, "entry", "writtenTo", "usage", "warnings"]
    assert (found["from"], found["to"]) == ({"id": "00000006", "index": 5}, {"id": "00000008", "index": 7})
    assert found["commonAncestor"] == {"id": "00000002", "index": 1}
    assert (found["entries"], found["messages"], found["budgetTokens"]) == (4, 3, 100_000 - 16384)
    assert (found["readFiles"], found["modifiedFiles"]) == (["depth.md"], ["berths.csv"])
    assert found["summary"].startswith(REPLY)
    assert found["entry"]["summary"] == found["summary"]
    assert (found["usage"]["input"], found["usage"]["totalTokens"]) == (10, 15)
    assert (found["skip"], found["writtenTo"]) == (None, None)
    assert [w["code"] for w in found["warnings"]] == ["missing_sections"]
    assert done.err == ""


def test_a_dry_run_asks_nobody_and_says_what_would_be_read(session: Path, tmp_path: Path) -> None:
    client = program(tmp_path, "sys.exit(9)")
    [found] = run("branch-summary", session, *LEFT, "--dry-run", "--json", *client).objects
    assert list(found) == [*JSON_FIELDS, "usage", "warnings"]
    assert (found["summary"], found["usage"], found["messages"]) == (None, None, 3)
    shown = run("branch-summary", session, *LEFT, "--dry-run", *client)
    assert shown.code == 0
    assert shown.err == ""
    rows = dict(line.split("  ", 1) for line in shown.out.splitlines())
    assert rows["left"].strip() == "#5 00000006, 4 entries after what both branches share"
    assert rows["go on"].strip() == "from #7 00000008"
    assert rows["shared"].strip() == "up to #1 00000002"
    assert "depth.md" in shown.out and "berths.csv" in shown.out


def test_a_dry_run_tells_roots_apart_many_files_and_warnings(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("First root.")
    builder.assistant("", *(tool_call(f"c{n}", "read", path=f"f{n}.md") for n in range(9)))
    builder.back_to(None)
    builder.user("Second root.")
    done = run("branch-summary", saved(builder, tmp_path), "--from", "#1", "--to", "#2", "--dry-run")
    assert "shared     no entry" in done.out
    assert "f5.md and 3 more" in done.out
    assert done.out.splitlines()[-1].endswith("[window_unknown]")


def test_the_newest_entry_is_the_branch_that_was_left_unless_another_is_named(session: Path) -> None:
    [found] = run("branch-summary", session, "--to", "00000006", *WINDOW, "--json", "--dry-run").objects
    assert (found["from"]["index"], found["entries"]) == (7, 2)


@pytest.mark.parametrize(
    ("ends", "reason"),
    [(("#5", "#5"), "same_entry"), (("#1", "#7"), "same_branch")],
)
@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--write",)])
def test_nothing_to_summarize_is_told_with_its_reason(
    session: Path, ends: tuple[str, str], reason: str, options: tuple[str, ...]
) -> None:
    before = session.read_bytes()
    words = ("branch-summary", session, "--from", ends[0], "--to", ends[1], *WINDOW, *options)
    done = run(*words)
    assert (done.code, done.out) == (3, "")
    assert len(done.talk) == 1
    assert done.talk[0].startswith("nothing to summarize: --from ")
    assert done.talk[0].endswith(f"[{reason}]")
    as_json = run(*words, "--json")
    assert as_json.code == 3
    assert as_json.objects[0]["skip"]["reason"] == reason
    assert as_json.objects[0]["summary"] is None
    assert session.read_bytes() == before


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "nobody", "--to", "#1"), "expected the id of one entry or #N, found 'nobody'"),
        (("--to", "#8"), "no entry #8; expected #0 to #7"),
        (("--to", "0000000"), "8 entries start with it"),
    ],
)
def test_an_end_that_is_no_entry_is_one_clear_line(session: Path, words: tuple[str, ...], told: str) -> None:
    done = run("branch-summary", session, *words)
    assert (done.code, done.out, len(done.talk)) == (1, "", 1)
    assert told in done.err


def test_a_session_without_entries_has_no_branch(tmp_path: Path) -> None:
    done = run("branch-summary", saved(SessionBuilder(), tmp_path), "--to", "#0")
    assert (done.code, len(done.talk)) == (1, 1)
    done = run("branch-summary", tmp_path / "session.jsonl", "--from", "#0", "--to", "#0")
    assert done.code == 1
    assert "the session has no entries" in done.err


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "Missing option '--to'"),
        (("--to", "#1", "--write", "--output", "x"), "--write and --output exclude each other"),
        (("--to", "#1", "--output", "-"), "--output needs the name of a file"),
        (("--to", "#1", "--dry-run", "--write"), "--dry-run writes nothing"),
        (("--to", "#1", "--dry-run", "--output", "x"), "--dry-run writes nothing"),
        (("--to", "#1", "--record"), "--record needs --replay-dir"),
        (("--to", "#1", "--summarizer-window", "9"), "--summarizer-window is for clients with a model"),
        (("--to", "#1", "--keep-recent-tokens", "9"), "No such option"),
    ],
)
def test_wrong_usage_is_told(session: Path, words: tuple[str, ...], told: str) -> None:
    done = run("branch-summary", session, *words)
    assert done.code == 2
    assert told in done.err


def test_write_appends_one_line_that_becomes_the_leaf(session: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    done = run("branch-summary", session, *LEFT, "--write", "--json", *scripted(tmp_path, REPLY))
    assert done.code == 0
    after = session.read_bytes()
    assert after.startswith(before)
    [line] = after[len(before) :].splitlines()
    assert json.loads(line) == done.objects[0]["entry"]
    assert done.objects[0]["writtenTo"] == str(session)
    found = read_session(str(session))
    assert found.entries[-1].parent_id == "00000008"
    shown = list(project(active_branch(found, find_leaf(found, None))).messages())
    assert [m.summary or m.text() for m in shown] == [
        "Plan the harbor.", "North or east?", "Take the east berth.", "East is free.", json.loads(line)["summary"],
    ]  # fmt: skip
    assert (
        run("branch-summary", session, *LEFT, "--write", *scripted(tmp_path, REPLY))
        .talk[-1]
        .endswith(f"appended to {session}")
    )


def test_output_writes_a_copy(session: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    copy = tmp_path / "copy.jsonl"
    done = run("branch-summary", session, *LEFT, "--output", copy)
    assert done.talk[-1].endswith(f"written to {copy}")
    assert session.read_bytes() == before
    assert copy.read_bytes().startswith(before)
    assert read_session(str(copy)).entries[-1].type == "branch_summary"


def test_what_can_not_be_written_is_refused_before_anybody_is_asked(tmp_path: Path) -> None:
    builder = forked()
    del builder.rows[7]["id"]
    path = saved(builder, tmp_path)
    asked = tmp_path / "asked"
    client = program(tmp_path, f"open({str(asked)!r}, 'w')", "print('## Goal')")
    for target in (("--write",), ("--output", str(tmp_path / "copy.jsonl"))):
        done = run("branch-summary", path, *LEFT, *target, *client)
        assert (done.code, done.out, len(done.talk)) == (1, "", 1)
        assert "expected an id to refer to, found none on line 9" in done.err
    assert not asked.exists()
    assert run("branch-summary", path, *LEFT).code == 0


def test_version_1_can_be_read_and_is_not_written(tmp_path: Path) -> None:
    path = saved(forked(SessionBuilder(version=1)), tmp_path)
    assert run("branch-summary", path, "--to", "#3", *WINDOW).code == 0
    done = run("branch-summary", path, "--to", "#3", *WINDOW, "--write")
    assert (done.code, len(done.talk)) == (1, 1)
    assert "compactor convert" in done.err


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        ("", "Branch summarization failed: the reply holds no text"),
        ({"content": [{"type": "text", "text": "## Goal\nx"}], "stopReason": "length"}, "reached its token limit"),
        ({"content": [], "stopReason": "error", "errorMessage": "no \x1b[31m quota"}, "Branch summarization failed"),
    ],
)
def test_a_reply_that_is_no_summary_is_one_line_and_writes_nothing(
    session: Path, tmp_path: Path, reply: Any, told: str
) -> None:
    before = session.read_bytes()
    for options in ((), ("--json",)):
        done = run("branch-summary", session, *LEFT, "--write", *options, *scripted(tmp_path, reply))
        assert (done.code, done.out, len(done.talk)) == (1, "", 1)
        assert told in done.err
        assert "\x1b" not in done.err
    assert session.read_bytes() == before


def test_the_reserve_comes_from_pis_setting_for_branch_summaries_unless_given(session: Path, tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.mkdir()
    values = {"branchSummary": {"reserveTokens": 4000}, "compaction": {"reserveTokens": 9}}
    (agent / "settings.json").write_text(json.dumps(values), encoding="utf-8")
    words = ("branch-summary", session, *LEFT, "--dry-run", "--json")
    assert run(*words, PI_CODING_AGENT_DIR=str(agent)).objects[0]["budgetTokens"] == 96_000
    given = run(*words, "--reserve-tokens", "1", PI_CODING_AGENT_DIR=str(agent))
    assert given.objects[0]["budgetTokens"] == 99_999


def test_a_reserve_as_large_as_the_window_sets_no_limit_and_says_so(session: Path) -> None:
    words = ("branch-summary", session, "--from", "#5", "--to", "#7", "--context-window", "9", "--dry-run")
    [found] = run(*words, "--json").objects
    assert (found["budgetTokens"], found["messages"]) == (None, 3)
    assert [w["code"] for w in found["warnings"]] == ["no_budget"]
    assert "no limit" in run(*words).out


def test_what_does_not_fit_the_budget_is_told(session: Path) -> None:
    words = (
        "branch-summary",
        session,
        "--from",
        "#5",
        "--to",
        "#7",
        "--context-window",
        "20",
        "--reserve-tokens",
        "10",
    )
    done = run(*words)
    assert done.code == 0
    assert "warning: 2 older messages of the branch" in done.err
    [found] = run(*words, "--json").objects
    assert (found["messages"], found["unreadMessages"]) == (1, 2)


def test_constraints_that_the_reply_lost_are_told_as_added(tmp_path: Path) -> None:
    builder = SessionBuilder()
    fork = builder.user("Plan.")
    builder.user("Never dredge the harbor after 22:00.")
    builder.back_to(fork)
    builder.user("East.")
    path = saved(builder, tmp_path)
    words = ("branch-summary", path, "--from", "#1", "--to", "#2", *scripted(tmp_path, REPLY))
    done = run(*words)
    assert "- Never dredge the harbor after 22:00." in done.out
    assert "note: 1 constraint of the user that the reply did not list was added word for word" in done.err
    assert "Never dredge" not in run(*words, "--no-pins").out


def test_options_of_the_client_reach_it_and_unused_ones_are_told(session: Path, tmp_path: Path) -> None:
    seen = tmp_path / "seen.txt"
    client = program(tmp_path, f"open({str(seen)!r}, 'w').write(sys.stdin.read())", "print('## Goal\\nBerth.')")
    done = run("branch-summary", session, *LEFT, *client, "--instructions", "tides first", "--script", "x")
    assert done.code == 0
    assert "tides first" in seen.read_text(encoding="utf-8")
    assert "note: --script has no effect with the client command" in done.err
    done = run("branch-summary", session, *LEFT, "--prompt", "terse")
    assert "note: --prompt has no effect with the client extractive" in done.err
    assert run("branch-summary", session, *LEFT, "--prompt", "nobody").code == 1


def test_answers_are_recorded_and_replayed(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    words = ("branch-summary", session, *LEFT, "--replay-dir", folder)
    first = run(*words, "--record", *scripted(tmp_path, REPLY))
    assert first.code == 0
    again = run(*words, "--client", "replay")
    assert (again.code, again.out) == (0, first.out)


def test_untrusted_text_reaches_the_terminal_as_escapes(tmp_path: Path) -> None:
    builder = SessionBuilder()
    fork = builder.user("Plan.")
    builder.user("Look at \x1b[31mred\x07 and \ud83d and \u202e.")
    builder.assistant("", tool_call("c1", "edit", path="a\x1b[2J.py\nnext"))
    left = builder.add("label", id="0\x1b\u20289", targetId="x", label="y")
    builder.back_to(fork)
    builder.user("East.")
    path = saved(builder, tmp_path)
    for options in ((), ("--dry-run",), ("--exact-pi",), ("--json",)):
        done = run("branch-summary", path, "--from", left, "--to", "#4", *WINDOW, *options)
        assert done.code == 0
        assert not any(c in done.out + done.err for c in "\x1b\x07")
    written = run("branch-summary", path, "--from", left, "--to", "#4", *WINDOW, "--write", "--json")
    assert read_session(str(path)).entries[-1].body.from_id == left
    assert json.loads(written.out)["entry"]["fromId"] == left


@settings(max_examples=30, suppress_health_check=list(HealthCheck))
@given(data=damaged_files(), exact=st.booleans())
def test_no_file_makes_a_traceback(tmp_path: Path, data: bytes, exact: bool) -> None:
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(data)
    for target in ("#0", "#1"):
        done = run("branch-summary", path, "--to", target, *(["--exact-pi"] if exact else []))
        assert done.code in (0, 1, 3)


def test_another_agents_session_is_summarized_and_a_copy_in_pis_format_written(tmp_path: Path) -> None:
    def row(uuid: str, parent: str | None, kind: str, text: str) -> bytes:
        known = {"isSidechain": False, "sessionId": "s-1", "cwd": "/srv/harbor", "version": "2.0.0", "type": kind}
        message: dict[str, Any] = {"role": kind, "content": text}
        if kind == "assistant":
            message |= {"id": f"msg_{uuid}", "model": "m", "content": [{"type": "text", "text": text}]}
        when = f"2026-03-01T10:00:0{uuid[-1]}.000Z"
        return row_line({"uuid": uuid, "parentUuid": parent, **known, "message": message, "timestamp": when})

    path = tmp_path / "claude.jsonl"
    path.write_bytes(
        row("u-1", None, "user", "Plan the harbor.")
        + row("u-2", "u-1", "assistant", "North or east?")
        + row("u-3", "u-2", "user", "North.")
        + row("u-4", "u-2", "user", "East.")
    )
    entries = read_session(str(path)).entries
    ends = ("--from", f"#{len(entries) - 2}", "--to", f"#{len(entries) - 1}", *WINDOW)
    copy = tmp_path / "copy.jsonl"
    done = run("branch-summary", path, *ends, "--write")
    assert done.code == 1
    assert "--output" in done.err and "compactor convert" in done.err
    done = run("branch-summary", path, *ends, "--output", copy)
    assert done.code == 0, done.err
    made = read_session(str(copy))
    assert (made.format, made.entries[-1].type) == ("pi", "branch_summary")
    assert made.entries[-1].parent_id == made.entries[-2].id


def test_ctrl_c_stops_it_and_writes_nothing(session: Path, tmp_path: Path) -> None:
    if os.name == "nt":
        pytest.skip("skipped: no signals")
    started = tmp_path / "started"
    client = program(tmp_path, f"open({str(started)!r}, 'w')", "import time", "time.sleep(60)")
    before = session.read_bytes()
    words = [str(w) for w in ("branch-summary", session, *LEFT, "--write", "--json", *client)]
    process = subprocess.Popen(
        [*PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=process_env({}), text=True
    )
    while not started.exists():
        assert process.poll() is None, process.communicate()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, "", "stopped; nothing was written\n")
    assert session.read_bytes() == before


def test_as_a_process_of_its_own(session: Path) -> None:
    done = run_process("branch-summary", session, *LEFT, "--write")
    assert done.code == 0
    assert done.out.startswith("## Goal\n")


@pytest.mark.skipif(os.name == "nt", reason="skipped: no pseudo-terminal")
def test_on_a_terminal_the_dry_run_is_plain_text(session: Path) -> None:
    assert "4 entries after what both branches share" in on_terminal("branch-summary", session, *LEFT, "--dry-run")


def recorded_cases() -> list[dict[str, Any]]:
    """One recorded case of Pi a session, of those without a limit."""
    path = SHARED / "oracle" / "branches.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    cases = [case for case in map(json.loads, lines) if case["answer"]["budget"] == 0]
    return list({case["file"]: case for case in cases}.values())


@pytest.mark.skipif(not recorded_cases(), reason="skipped: no corpus")
@pytest.mark.parametrize("case", recorded_cases(), ids=lambda c: c["file"])
def test_the_dry_run_says_what_pi_would_read(case: dict[str, Any]) -> None:
    answer = case["answer"]
    ends = ("--from", answer["from"], "--to", answer["to"], "--context-window", "0", "--reserve-tokens", "0")
    path = SHARED / "corpus" / case["file"]
    [found] = run("branch-summary", path, *ends, "--exact-pi", "--dry-run", "--json").objects
    same = ("entries", "messages", "readFiles", "modifiedFiles", "transcriptChars", "transcriptSha256")
    assert {name: found[name] for name in same} == {name: answer[name] for name in same}
    assert found["tokens"] == answer["totalTokens"]
    ancestor = found["commonAncestor"]
    assert (None if ancestor is None else f"#{ancestor['index']}") == answer["commonAncestor"]


@pytest.mark.skipif(not SHARED.exists(), reason="skipped: no corpus")
@pytest.mark.parametrize("mode", [(), ("--exact-pi",)])
def test_the_prompt_of_a_real_report_holds_edited_texts_only(tmp_path: Path, mode: tuple[str, ...]) -> None:
    seen = tmp_path / "seen.txt"
    client = program(tmp_path, f"open({str(seen)!r}, 'w').write(sys.stdin.read())", "print('## Goal\\nBerth.')")
    path = SHARED / "bugs" / "44-branch-summary-hidden" / "input.jsonl"
    assert run("branch-summary", path, "--from", "00000007", "--to", "#8", *client, *mode).code == 0
    prompt = seen.read_text(encoding="utf-8")
    assert "REPLACED-TEXT" in prompt and "gate is closed" in prompt
    assert "HIDDEN-ATTEMPT" not in prompt and "ORIGINAL-TEXT" not in prompt
