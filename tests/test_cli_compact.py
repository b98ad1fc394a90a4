"""`compactor compact`: summaries, events, what is written and what is not, and how it stops."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, row_line, usage
from command_line import PROGRAM, Ran, long_session, process_env, program, run, run_process, saved, scripted
from replies import PREFIX_REPLY, WHOLE_REPLY

from compactor.branch import active_branch, find_leaf
from compactor.projection import project
from compactor.session_file import read_session
from compactor.summary import HISTORY_SECTIONS, PROGRESS_PARTS

KEEP = ("--keep-recent-tokens", "300", "--context-window", "100000")
RESULT_FIELDS = ["summary", "firstKeptEntryId", "tokensBefore", "estimatedTokensAfter", "details"]


@pytest.fixture
def session(tmp_path: Path) -> Path:
    return saved(long_session(), tmp_path)


def assistant(*content: dict[str, Any], stop: str = "stop", **fields: Any) -> dict[str, Any]:
    """A reply as Pi stores it."""
    known = {"api": "a", "provider": "dock", "model": "gantry-1", "usage": usage(15, input=10, output=5)}
    return {"role": "assistant", "content": list(content), **known, "stopReason": stop, **fields}


def text(value: str) -> dict[str, Any]:
    """A block of text."""
    return {"type": "text", "text": value}


def end_of(done: Ran) -> dict[str, Any]:
    """The end event, after the header line and the start event."""
    header, start, *between, end = done.objects
    assert header["type"] == "session"
    assert (start["type"], end["type"]) == ("compaction_start", "compaction_end")
    assert all(event["type"].startswith("summarization_retry_") for event in between)
    return end


def kept_texts(path: Path) -> list[str]:
    """The texts that the model sees when the session goes on, after the summary."""
    found = read_session(str(path))
    return [m.text() for m in project(active_branch(found, find_leaf(found, None))).messages()][1:]


def test_without_a_model_the_summary_has_every_section_and_goes_to_standard_output(session: Path) -> None:
    before = session.read_bytes()
    done = run("compact", session, *KEEP)
    assert done.code == 0
    headings = [line.lstrip("# ") for line in done.out.splitlines() if line.startswith("#")]
    assert [h for h in headings if h in HISTORY_SECTIONS] == list(HISTORY_SECTIONS)
    assert [h for h in headings if h in PROGRESS_PARTS] == list(PROGRESS_PARTS)
    assert done.talk[-1].endswith("nothing was written (see --write and --output)")
    assert len(done.talk) == 1
    assert session.read_bytes() == before
    assert run("compact", session, *KEEP).out == done.out


def test_json_is_the_header_line_the_start_and_the_end(session: Path) -> None:
    done = run("compact", session, *KEEP, "--json")
    lines = done.out.splitlines()
    assert len(lines) == 3
    assert lines[0].encode() == session.read_bytes().split(b"\n")[0]
    assert lines[1] == '{"type":"compaction_start","reason":"manual"}'
    end = end_of(done)
    assert list(end) == ["type", "reason", "result", "aborted", "willRetry"]
    assert (end["reason"], end["aborted"], end["willRetry"]) == ("manual", False, False)
    assert list(end["result"]) == RESULT_FIELDS
    assert end["result"]["details"] == {"readFiles": ["crane0.md", "crane1.md"], "modifiedFiles": ["berths.csv"]}
    assert run("compact", session, *KEEP).out.strip() == end["result"]["summary"].strip()


def test_the_end_says_what_the_plan_said(session: Path) -> None:
    plan = run("plan", session, *KEEP, "--json").objects[0]
    result = end_of(run("compact", session, *KEEP, "--json"))["result"]
    assert result["firstKeptEntryId"] == plan["plan"]["firstKeptEntryId"]
    assert result["tokensBefore"] == plan["contextTokens"]
    assert result["details"]["readFiles"] == plan["plan"]["readFiles"]


def test_a_scripted_reply_becomes_the_summary_with_its_usage(session: Path, tmp_path: Path) -> None:
    done = run("compact", session, *KEEP, "--json", *scripted(tmp_path, assistant(text(WHOLE_REPLY))))
    result = end_of(done)["result"]
    assert list(result) == [*RESULT_FIELDS[:4], "usage", "details"]
    assert result["summary"].startswith(WHOLE_REPLY)
    assert (result["usage"]["input"], result["usage"]["output"], result["usage"]["totalTokens"]) == (10, 5, 15)


@pytest.mark.parametrize(
    ("client", "option", "told"),
    [
        ("extractive", "--model", True),
        ("extractive", "--base-url", True),
        ("extractive", "--command", True),
        ("extractive", "--script", True),
        ("extractive", "--model-path", True),
        ("scripted", "--token-budget", True),
        ("extractive", "--token-budget", False),
        ("command", "--model", False),
    ],
)
def test_an_option_that_the_client_does_not_read_is_told(
    session: Path, tmp_path: Path, client: str, option: str, told: bool
) -> None:
    clients = {
        "extractive": (),
        "scripted": scripted(tmp_path, WHOLE_REPLY),
        "command": program(tmp_path, "print('## Goal\\nMove crane 3.')"),
    }
    done = run("compact", session, *KEEP, *clients[client], option, "900")
    assert done.code == 0
    assert (f"note: {option} has no effect with the client {client}" in done.err) == told


def test_write_appends_one_line_that_says_what_the_event_says(session: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    done = run("compact", session, *KEEP, "--json", "--write", *scripted(tmp_path, assistant(text(WHOLE_REPLY))))
    after = session.read_bytes()
    assert after.startswith(before)
    added = after[len(before) :]
    assert added.endswith(b"\n") and added.count(b"\n") == 1
    entry, result = json.loads(added), end_of(done)["result"]
    shared = ("summary", "firstKeptEntryId", "tokensBefore", "usage", "details")
    assert {name: entry[name] for name in shared} == {name: result[name] for name in shared}
    assert (entry["type"], entry["parentId"], entry["fromHook"]) == ("compaction", "00000014", False)
    assert len(entry["id"]) == 8
    assert done.talk[-1].endswith(f"appended to {session}")


def test_only_the_session_is_written_and_nothing_is_left_beside_it(session: Path, tmp_path: Path) -> None:
    names = sorted(p.name for p in tmp_path.iterdir())
    assert run("compact", session, *KEEP, "--write").code == 0
    assert sorted(p.name for p in tmp_path.iterdir()) == names


def test_the_tail_that_the_plan_keeps_is_what_the_session_goes_on_with(session: Path) -> None:
    texts = [m.text() for e in read_session(str(session)).entries[10:] if (m := e.body.message) is not None]
    assert run("compact", session, *KEEP, "--write").code == 0
    assert kept_texts(session) == texts


@pytest.mark.parametrize("version", [1, 2, 3])
def test_the_entry_means_the_same_in_a_file_of_every_version(tmp_path: Path, version: int) -> None:
    path = saved(long_session(start=SessionBuilder(version=version)), tmp_path)
    before = kept_texts(path)[-10:]
    assert run("compact", path, *KEEP, "--write").code == 0
    entry = json.loads(path.read_bytes().splitlines()[-1])
    assert entry.get("firstKeptEntryIndex") == (11 if version == 1 else None)
    assert kept_texts(path) == before


def test_a_file_to_which_no_entry_can_be_added_is_refused_before_a_model_is_asked(tmp_path: Path) -> None:
    old = long_session(start=SessionBuilder(version=1))
    torn = saved(old, tmp_path, "torn.jsonl")
    torn.write_bytes(torn.read_bytes().replace(b'"user"', b'"us', 1))
    nameless = long_session()
    nameless.rows[-1]["id"] = None
    asked = tmp_path / "asked"
    client = program(tmp_path, f"open({str(asked)!r}, 'w')", "print('## Goal')")
    for path, options in (
        (torn, ()),
        (saved(old, tmp_path, "old.jsonl"), ("--leaf", "#18")),
        (saved(nameless, tmp_path, "nameless.jsonl"), ()),
    ):
        before = path.read_bytes()
        for where in (("--write",), ("--output", str(tmp_path / "out.jsonl"))):
            done = run("compact", path, *KEEP, *options, *where, *client)
            assert (done.code, done.out, len(done.talk)) == (1, "", 1)
            assert str(path) in done.err
        assert path.read_bytes() == before
        assert run("compact", path, *KEEP, *options).code == 0
    assert not asked.exists()
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_without_a_last_line_end_gets_one_first(session: Path) -> None:
    session.write_bytes(session.read_bytes().removesuffix(b"\n"))
    assert run("compact", session, *KEEP, "--write").code == 0
    assert len(session.read_bytes().splitlines()) == 22
    assert read_session(str(session)).warnings == []


def test_output_is_a_copy_with_the_entry_and_the_session_stays(session: Path, tmp_path: Path) -> None:
    before = session.read_bytes()
    copy = tmp_path / "copy.jsonl"
    copy.write_text("something older")
    done = run("compact", session, *KEEP, "--json", "--output", copy)
    assert session.read_bytes() == before
    assert copy.read_bytes().startswith(before)
    entry = json.loads(copy.read_bytes()[len(before) :])
    assert entry["summary"] == end_of(done)["result"]["summary"]
    assert done.talk[-1].endswith(f"written to {copy}")


def test_a_branch_that_is_named_by_its_leaf_is_continued(tmp_path: Path) -> None:
    builder = long_session()
    builder.back_to("00000005")
    builder.user("Rather crane 9.")
    path = saved(builder, tmp_path)
    assert run("compact", path, *KEEP, "--leaf", "#19", "--write").code == 0
    entry = json.loads(path.read_bytes().splitlines()[-1])
    assert (entry["parentId"], entry["firstKeptEntryId"]) == ("00000014", "0000000b")
    assert "Rather crane 9." not in kept_texts(path)


@pytest.mark.parametrize(
    ("options", "reason"),
    [((), "manual"), (("--reason", "threshold"), "threshold"), (("--reason", "overflow"), "overflow")],
)
def test_the_reason_is_in_both_events_and_only_an_overflow_is_retried(
    session: Path, options: tuple[str, ...], reason: str
) -> None:
    done = run("compact", session, *KEEP, "--json", *options)
    assert done.objects[1]["reason"] == end_of(done)["reason"] == reason
    assert end_of(done)["willRetry"] is (reason == "overflow")


@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_auto_does_nothing_below_the_threshold(session: Path, as_json: tuple[str, ...]) -> None:
    before = session.read_bytes()
    done = run("compact", session, *KEEP, "--auto", "--write", *as_json)
    assert (done.code, len(done.talk)) == (3, 1)
    assert "the threshold is 83,616" in done.err
    assert len(done.out.splitlines()) == len(as_json)
    assert session.read_bytes() == before


def test_auto_compacts_above_the_threshold_unless_compaction_is_switched_off(session: Path, tmp_path: Path) -> None:
    fires = ("--keep-recent-tokens", "300", "--context-window", "1000", "--reserve-tokens", "400", "--auto", "--json")
    done = run("compact", session, *fires)
    assert (done.code, end_of(done)["reason"], end_of(done)["willRetry"]) == (0, "threshold", False)
    (tmp_path / "settings.json").write_text('{"compaction": {"enabled": false}}')
    done = run("compact", session, *fires, PI_CODING_AGENT_DIR=str(tmp_path))
    assert (done.code, len(done.objects)) == (3, 1)
    assert "switched off" in done.err
    assert run("compact", session, *KEEP, PI_CODING_AGENT_DIR=str(tmp_path)).code == 0


def compacted() -> SessionBuilder:
    """A session whose newest entry is a compaction."""
    builder = long_session()
    builder.compaction(builder.rows[10]["id"])
    return builder


SKIPS: dict[str, tuple[SessionBuilder, Sequence[str]]] = {
    "no_messages": (SessionBuilder(), KEEP),
    "nothing_to_compact": (long_session(), ("--context-window", "100000")),
    "already_compacted": (compacted(), KEEP),
    "kept_tail_over_limit": (
        long_session(),
        ("--keep-recent-tokens", "300", "--context-window", "400", "--reserve-tokens", "100"),
    ),
}


@pytest.mark.parametrize("where", [(), ("--write",), ("--output", "out.jsonl")])
@pytest.mark.parametrize("reason", SKIPS)
def test_nothing_to_do_is_exit_code_3_and_one_plain_line(tmp_path: Path, reason: str, where: tuple[str, ...]) -> None:
    builder, options = SKIPS[reason]
    path = saved(builder, tmp_path)
    done = run("compact", path, *options, *where, *program(tmp_path, "raise SystemExit('asked')"))
    assert (done.code, done.out, len(done.talk)) == (3, "", 1)
    assert done.err.startswith("nothing to compact: ")
    assert done.talk[0].endswith(f"[{reason}]")
    assert path.read_bytes() == builder.data()
    assert not (tmp_path / "out.jsonl").exists()


@pytest.mark.parametrize("reason", SKIPS)
def test_nothing_to_do_as_events_is_a_failed_end_by_hand_and_none_otherwise(tmp_path: Path, reason: str) -> None:
    builder, options = SKIPS[reason]
    path = saved(builder, tmp_path)
    done = run("compact", path, *options, "--json", "--write")
    assert done.code == 3
    assert end_of(done)["errorMessage"].startswith("Compaction failed: ")
    assert "result" not in end_of(done)
    automatic = run("compact", path, *options, "--json", "--write", "--reason", "threshold")
    assert (automatic.code, len(automatic.objects)) == (3, 1)
    assert path.read_bytes() == builder.data()


def test_compacting_twice_in_a_row_does_nothing_the_second_time(session: Path) -> None:
    assert run("compact", session, *KEEP, "--write").code == 0
    before = session.read_bytes()
    done = run("compact", session, *KEEP, "--write")
    assert done.code == 3
    assert "[already_compacted]" in done.err
    assert session.read_bytes() == before


BAD_REPLIES: dict[str, object] = {
    "no block": assistant(),
    "an empty text": assistant(text("")),
    "blanks": assistant(text(" \n\u00a0\n\t")),
    "only thinking": assistant({"type": "thinking", "thinking": "First the goal."}),
    "thinking and blanks": assistant({"type": "thinking", "thinking": "First the goal."}, text("\n")),
    "cut off": assistant(text("## Goal\nMove cra"), stop="length"),
    "a tool call": assistant({"type": "toolCall", "id": "z", "name": "read", "arguments": {}}, stop="toolUse"),
    "a tool call after a summary": assistant(
        text(WHOLE_REPLY), {"type": "toolCall", "id": "z", "name": "read", "arguments": {}}, stop="toolUse"
    ),
    "an error": assistant(stop="error", errorMessage="upstream went away"),
    "a failure": {"error": "the server has no such model", "kind": "bad_request"},
    "the question": "<conversation>\n[User]: Where is crane 3?\n</conversation>",
    "as long as the history": "## Goal\n" + "Crane 3 stands at berth 14, says the list.\n" * 200,
}


@pytest.mark.parametrize("kind", BAD_REPLIES)
def test_a_bad_reply_is_exit_code_1_and_nothing_is_written(session: Path, tmp_path: Path, kind: str) -> None:
    before = session.read_bytes()
    client = scripted(tmp_path, BAD_REPLIES[kind])
    done = run("compact", session, *KEEP, "--json", "--write", *client)
    end = end_of(done)
    assert done.code == 1
    assert (end["aborted"], end["willRetry"], "result" in end) == (False, False, False)
    assert end["errorMessage"].startswith("Compaction failed: ")
    assert len(end["errorMessage"].splitlines()) == 1
    plain = run("compact", session, *KEEP, "--output", tmp_path / "out.jsonl", *client)
    assert (plain.code, plain.out, len(plain.talk)) == (1, "", 1)
    assert plain.err.startswith("compactor: ")
    assert session.read_bytes() == before
    assert not (tmp_path / "out.jsonl").exists()


def test_a_failure_that_passes_is_told_by_events_and_the_summary_is_made(session: Path, tmp_path: Path) -> None:
    failure = {"error": "busy, try again in 1 ms", "kind": "overloaded", "retryable": True}
    client = scripted(tmp_path, failure, failure, WHOLE_REPLY)
    done = run("compact", session, *KEEP, "--json", "--max-retries", "2", "--reason", "threshold", *client)
    assert done.code == 0
    assert [event["type"] for event in done.objects] == [
        "session",
        "compaction_start",
        *("summarization_retry_scheduled", "summarization_retry_attempt_start") * 2,
        "summarization_retry_finished",
        "compaction_end",
    ]
    assert done.objects[4] == {
        "type": "summarization_retry_scheduled",
        "attempt": 2,
        "maxAttempts": 2,
        "delayMs": 1,
        "errorMessage": "busy, try again in 1 ms",
    }
    assert done.objects[3] == {
        "type": "summarization_retry_attempt_start",
        "source": "compaction",
        "reason": "threshold",
    }
    assert sum("trying again" in line for line in done.talk) == 2


def test_a_failure_that_does_not_pass_ends_the_retries(session: Path, tmp_path: Path) -> None:
    failure = {"error": "busy, try again in 1 ms", "kind": "overloaded", "retryable": True}
    done = run("compact", session, *KEEP, "--json", "--write", "--max-retries", "1", *scripted(tmp_path, failure))
    assert done.code == 1
    assert [event["type"] for event in done.objects][-2:] == ["summarization_retry_finished", "compaction_end"]
    assert "busy" in end_of(done)["errorMessage"]


def test_a_session_that_grew_meanwhile_is_not_written(session: Path, tmp_path: Path) -> None:
    row = row_line(
        {"type": "message", "id": "feed0001", "parentId": "00000014", "message": {"role": "user", "content": "!"}}
    )
    client = program(tmp_path, f"open({str(session)!r}, 'ab').write({row!r})", f"print({WHOLE_REPLY!r})")
    before = session.read_bytes()
    done = run("compact", session, *KEEP, "--json", "--write", *client)
    assert done.code == 1
    assert "changed" in end_of(done)["errorMessage"]
    assert session.read_bytes() == before + row
    copied = run("compact", session, *KEEP, "--json", "--output", tmp_path / "out.jsonl", *client)
    assert copied.code == 1
    assert not (tmp_path / "out.jsonl").exists()


def grown(path: Path, turns: int = 4) -> None:
    """Adds turns to a session file after its newest entry, as an agent does."""
    leaf = read_session(str(path)).entries[-1].id
    more = long_session(turns)
    ids = {row["id"]: f"{len(path.read_bytes()) % 0xFFFF:04x}{n:04x}" for n, row in enumerate(more.rows)}
    rows = [{**row, "id": ids[row["id"]], "parentId": ids.get(row["parentId"], leaf)} for row in more.rows]
    with path.open("ab") as file:
        file.writelines(map(row_line, rows))


@pytest.mark.parametrize("client", ["extractive", "scripted"])
def test_a_chain_of_compactions_updates_the_summary_and_repeats_no_list_of_files(
    session: Path, tmp_path: Path, client: str
) -> None:
    echo = f"{WHOLE_REPLY}\n\n<read-files>\nold.md\n</read-files>\n\n<modified-files>\nold.csv\n</modified-files>"
    options = scripted(tmp_path, echo) if client == "scripted" else ("--client", client)
    for _ in range(3):
        assert run("plan", session, *KEEP, "--json").objects[0]["plan"] is not None
        done = run("compact", session, *KEEP, "--json", "--write", *options)
        result = end_of(done)["result"]
        assert result["summary"].count("<read-files>") == result["summary"].count("<modified-files>") == 1
        assert result["summary"].endswith("<modified-files>\nberths.csv\n</modified-files>")
        assert "old." not in result["summary"]
        grown(session)
        plan = run("plan", session, *KEEP, "--json").objects[0]["plan"]
        assert plan["previousSummaryChars"] == len(result["summary"])
    assert [e.type for e in read_session(str(session)).entries].count("compaction") == 3


def test_the_update_is_asked_with_the_previous_summary_and_without_what_it_stands_for(
    session: Path, tmp_path: Path
) -> None:
    asked = tmp_path / "asked.txt"
    client = program(
        tmp_path,
        f"open({str(asked)!r}, 'wb').write(sys.stdin.buffer.read())",
        "print('## Goal\\nMove the cranes.')",
    )
    assert run("compact", session, *KEEP, "--write", *client).code == 0
    first = asked.read_text(encoding="utf-8")
    assert "<previous-summary>" not in first
    assert "Turn 0" in first and "Turn 3" not in first
    grown(session)
    assert run("compact", session, *KEEP, "--instructions", "Mind the tide.", *client).code == 0
    second = asked.read_text(encoding="utf-8")
    assert second.count("<previous-summary>\n## Goal\nMove the cranes.") == 1
    assert "Mind the tide." in second
    assert "Turn 3" in second
    assert second.count("Turn 0") == 1  # that of the new turns


def test_a_split_turn_asks_twice_and_joins_both(tmp_path: Path) -> None:
    builder = long_session()
    builder.user("Look at the tide. " * 30)
    builder.assistant("A long look at it. " * 30)
    builder.assistant("It is high. " * 60)
    path = saved(builder, tmp_path)
    replies = scripted(tmp_path, assistant(text(WHOLE_REPLY)), assistant(text(PREFIX_REPLY)))
    result = end_of(
        run(
            "compact",
            path,
            "--keep-recent-tokens",
            "100",
            "--context-window",
            "9999",
            "--reserve-tokens",
            "9",
            "--json",
            *replies,
        )
    )["result"]
    assert result["summary"].startswith(f"{WHOLE_REPLY}\n\n---\n\n**Turn Context (split turn):**\n\n{PREFIX_REPLY}")
    assert result["usage"]["totalTokens"] == 30


def test_constraints_that_a_reply_lost_are_added_word_for_word_unless_that_is_switched_off(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("Never touch the tide table. It belongs to Marta.")
    path = saved(long_session(start=builder), tmp_path)
    client = scripted(tmp_path, WHOLE_REPLY)
    done = run("compact", path, *KEEP, *client)
    assert "Never touch the tide table." in done.out
    assert any("1 constraint of the user" in line for line in done.talk)
    bare = run("compact", path, *KEEP, "--no-pins", *client)
    assert "Never touch the tide table." not in bare.out
    assert not any("constraint" in line for line in bare.talk)


def test_recorded_answers_are_given_again_without_the_client(session: Path, tmp_path: Path) -> None:
    folder = tmp_path / "answers"
    client = program(tmp_path, f"print({WHOLE_REPLY!r})")
    first = run("compact", session, *KEEP, *client, "--replay-dir", folder, "--record")
    assert (first.code, len(list(folder.iterdir()))) == (0, 1)
    (tmp_path / "model.py").write_text("raise SystemExit(1)")
    assert run("compact", session, *KEEP, *client, "--replay-dir", folder).out == first.out


def test_exact_pi_asks_and_answers_as_pi_does(session: Path, tmp_path: Path) -> None:
    blanks = end_of(run("compact", session, *KEEP, "--exact-pi", "--json", *scripted(tmp_path, "  ")))
    assert blanks["result"]["summary"].startswith("  \n\n<read-files>")


needs_signals = pytest.mark.skipif(os.name == "nt", reason="skipped: no POSIX signals")


@needs_signals
@pytest.mark.parametrize("as_json", [(), ("--json",)])
def test_ctrl_c_during_a_call_ends_in_order_and_leaves_no_child(
    session: Path, tmp_path: Path, as_json: tuple[str, ...]
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    client = program(
        tmp_path,
        "import time",
        "sys.stdin.read()",
        f"pipe = open({str(pipe)!r}, 'wb', 0)",
        "pipe.write(b'!')",
        "time.sleep(120)",
    )
    before = session.read_bytes()
    # Whoever starts the tests may have made Ctrl-C ignored for all children.
    start = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from evals.cli import main; main()"
    )
    words = [sys.executable, "-c", start, "compact", str(session), *KEEP, "--write", *as_json, *client]
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=process_env({})) as process:
        assert select.select([reader], [], [], 60)[0], "the program was not started"
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert os.read(reader, 9) == b"!"
    assert select.select([reader], [], [], 60)[0]
    assert os.read(reader, 9) == b"", "the child still holds the pipe"
    os.close(reader)
    assert session.read_bytes() == before
    assert err.decode().splitlines()[-1] == "stopped; nothing was written"
    assert "Traceback" not in err.decode()
    ends = [json.loads(line) for line in out.splitlines()][2:]
    aborted = {"type": "compaction_end", "reason": "manual", "aborted": True, "willRetry": False}
    assert ends == ([aborted] if as_json else [])


@needs_signals
def test_after_writing_ctrl_c_has_its_effect_again(session: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    assert run("compact", session, *KEEP, "--write").code == 0
    assert signal.getsignal(signal.SIGINT) is before


def test_a_real_process_keeps_data_and_talk_apart(session: Path) -> None:
    done = run_process("compact", session, *KEEP, "--json", "--write")
    assert done.code == 0
    assert len(done.objects) == 3
    assert done.talk == [done.talk[0]]
    again = run_process("compact", session, *KEEP)
    assert (again.code, again.out) == (3, "")


def test_a_reader_that_goes_away_gets_no_traceback_and_no_write(session: Path) -> None:
    before = session.read_bytes()
    words = [*PROGRAM, "compact", str(session), *KEEP, "--json", "--write"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=process_env({})) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read().decode()
    assert process.returncode == 1
    assert "Traceback" not in errors
    assert session.read_bytes() == before


def test_json_of_a_bad_choice_is_nothing_at_all(session: Path) -> None:
    for choice in (("--prompt", "nobody"), ("--client", "scripted"), ("--client", "command")):
        done = run("compact", session, *KEEP, "--json", *choice)
        assert (done.code, done.out, len(done.talk)) == (1, "", 1)


def test_warnings_are_told_beside_a_summary_and_counted_where_there_is_none(tmp_path: Path) -> None:
    builder = long_session()
    builder.add("message", parentId="gone", message={"role": "user", "content": "Go."})
    path = saved(builder, tmp_path)
    done = run("compact", path, "--keep-recent-tokens", "300")
    assert [line.rpartition(" ")[2] for line in done.talk[:-1]] == ["[window_unknown]", "[missing_parent]"]
    idle = run("compact", path, "--context-window", "100000")
    assert (idle.code, len(idle.talk)) == (3, 1)
    assert idle.err.endswith("; see `compactor plan` for 1 warning about the file\n")


def test_auto_says_that_the_window_is_assumed(session: Path) -> None:
    assert "assumed" in run("compact", session, "--auto").err
    assert "assumed" not in run("compact", session, "--auto", "--context-window", "100000").err


def test_sizes_before_and_after_are_by_one_counter_and_the_providers_figure_is_named(tmp_path: Path) -> None:
    builder = long_session()
    assert run("compact", saved(builder, tmp_path), *KEEP).talk[-1].startswith("about 700 tokens before, ")
    builder.assistant("So it is.", usage=usage(5000))
    talk = run("compact", saved(builder, tmp_path), *KEEP).talk[-1]
    assert talk.startswith("about 703 tokens before, ")
    assert "(estimated with pi; by the provider's usage 5,000 before)" in talk


@pytest.mark.skipif(os.name == "nt", reason="skipped: no pseudo-terminal")
def test_progress_on_a_terminal_is_taken_away_before_anything_else_is_told() -> None:
    import pty  # not on Windows

    lines = (
        "from compactor.cli.asking import Progress",
        "from compactor.model import RetryScheduled, Streamed",
        "progress = Progress()",
        "progress.observe(Streamed(chars=1))",
        "progress.observe(Streamed(chars=1200))",
        "progress.observe(RetryScheduled(attempt=1, max_attempts=3, delay_ms=2000, error_message='bu\\x1bsy'))",
        "progress.clear()",
        "progress.observe(Streamed(chars=5))",
        "progress.clear()",
    )
    controller, terminal = pty.openpty()
    subprocess.run([sys.executable, "-c", "\n".join(lines)], stderr=terminal, env=process_env({}), check=True)
    os.close(terminal)
    shown = os.read(controller, 65536).decode()
    os.close(controller)
    start = "\r\x1b[K"
    assert shown == (
        f"{start}writing the summary: 1 character{start}writing the summary: 1,200 characters{start}"
        f"bu\\x1bsy; trying again in 2 s (1 of 3)\r\n{start}writing the summary: 5 characters{start}"
    )
