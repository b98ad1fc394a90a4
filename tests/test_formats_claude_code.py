"""Transcripts of Claude Code as sessions: one message an answer, every result with its call, no usage lost."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import row_line
from claude_transcripts import (
    SESSION,
    TranscriptBuilder,
    branch_of,
    call,
    check,
    context_size,
    result,
    story,
    text,
    wire,
)
from command_line import run
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values, texts

from compactor.branch import find_leaf
from compactor.entries import Session
from compactor.errors import SessionError
from compactor.file_ops import file_calls
from compactor.formats.claude_code import parse_claude_code
from compactor.formats.pi import parse_session as parse_pi
from compactor.formats.pi_writer import pi_lines
from compactor.formats.registry import detect_format, parse_session
from compactor.session_file import read_session

DATA = Path(__file__).parent / "data"
SHARED = Path(__file__).parents[2] / "shared"
CORPUS = sorted((SHARED / "corpus" / "claude-code").glob("*.jsonl"))


def codes(session: Session) -> list[str]:
    return [warning.code for warning in session.warnings]


def left_out(session: Session) -> dict[str, str]:
    """What was left out -> the rest of the warning."""
    return dict(w.message.split(": ", 1) for w in session.warnings if ": " in w.message)


def message(session: Session, at: int) -> dict[str, Any]:
    found: dict[str, Any] = session.entries[at].wire()["message"]
    return found


# Answers


def test_the_rows_of_an_answer_become_one_message_with_the_usage_of_the_last() -> None:
    talk = TranscriptBuilder()
    talk.user("Read the tide table.")
    talk.answer("m1", {"type": "thinking", "thinking": "First the table.", "signature": "c2ln"}, total=90)
    talk.answer("m1", text("I read it."), total=95)
    talk.answer("m1", call("t1", "Read", file_path="tides.csv"), total=100, message={"stop_reason": "tool_use"})
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert [(e.id, e.line) for e in session.entries] == [("u1", 1), ("u2", 2)]
    assert message(session, 1) == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "First the table.", "thinkingSignature": "c2ln"},
            {"type": "text", "text": "I read it."},
            {"type": "toolCall", "id": "t1", "name": "Read", "arguments": {"file_path": "tides.csv"}},
        ],
        "api": "anthropic-messages",
        "provider": "anthropic",
        "model": "claude-opus-4-5",
        "usage": {
            "input": 0,
            "output": 5,
            "cacheRead": 47,
            "cacheWrite": 48,
            "totalTokens": 100,
            "cost": {
                "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "totalFromProvider": False,
            },
        },
        "stopReason": "toolUse",
        "timestamp": 1772323320000,
        "responseId": "m1",
    }  # fmt: skip


SIGNED = {"type": "thinking", "thinking": "", "signature": "one"}
SNAPSHOTS = [
    ([[text("The port")], [text("The port is 9410.")]], ["The port is 9410."]),
    ([[text("The port is 9410.")], [text("The port is 9410.")]], ["The port is 9410."]),
    ([[text("The")], [text("The port")], [text("The")]], ["The port"]),
    ([[text("Look.")], [call("t1")], [text("Look. More.")]], ["Look.", "t1", "Look. More."]),
    ([[text("One")], [text("One two"), call("t1")]], ["One two", "t1"]),
    ([[text("One"), call("t1")], [text("One two"), call("t1", n=1)]], ["One two", "t1"]),
    ([[SIGNED], [SIGNED | {"signature": "two"}]], ["", ""]),
    ([[SIGNED | {"signature": ""}], [SIGNED | {"thinking": "Hm."}]], ["Hm."]),
    ([[text("a")], [{"type": "thinking", "thinking": "ab"}]], ["a", "ab"]),
    ([[text("a")], ["b"], [7], [{"type": "text", "text": 1}]], ["a", "b", "[int]", "[text]"]),
    ([[7], [8]], ["[int]", "[int]"]),
]


@pytest.mark.parametrize(("rows", "expected"), SNAPSHOTS)
def test_a_later_snapshot_of_a_block_replaces_the_earlier_one(rows: list[list[Any]], expected: list[str]) -> None:
    talk = TranscriptBuilder()
    for blocks in rows:
        talk.answer("m1", *blocks, total=50)
    blocks = message(talk.session(), 0)["content"]
    assert [b.get("text", b.get("thinking", b.get("id"))) for b in blocks] == expected


def test_the_last_snapshot_of_a_call_gives_its_arguments() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"))
    talk.answer("m1", call("t1", path="a.py"))
    assert [b["arguments"] for b in message(talk.session(), 0)["content"]] == [{"path": "a.py"}]


def test_answers_without_an_id_stand_alone() -> None:
    talk = TranscriptBuilder()
    talk.answer(None, text("one"))
    talk.answer("", text("two"))
    talk.answer(7, text("three"))
    assert story(talk.session()) == ["assistant one", "assistant two", "assistant three"]
    assert "responseId" not in message(talk.session(), 0)


STOPS = [
    ("end_turn", [text("a")], "stop", None),
    ("stop_sequence", [text("a")], "stop", None),
    ("max_tokens", [text("a")], "length", None),
    ("tool_use", [call("t")], "toolUse", None),
    (None, [call("t")], "toolUse", None),
    (None, [text("a")], "stop", None),
    ("refusal", [text("a")], "stop", "refusal"),
    ({"odd": 1}, [text("a")], "stop", None),
]


@pytest.mark.parametrize(("reason", "blocks", "expected", "kept"), STOPS)
def test_stop_reasons_are_those_of_pi(reason: Any, blocks: list[Any], expected: str, kept: str | None) -> None:
    talk = TranscriptBuilder()
    talk.answer("m", *blocks, message={"stop_reason": reason})
    made = message(talk.session(), 0)
    assert (made["stopReason"], made.get("rawStopReason")) == (expected, kept)


def test_an_api_error_is_a_failed_answer_of_the_model_in_use() -> None:
    talk = TranscriptBuilder()
    talk.answer("m0", text("API Error: 500"), message={"model": "<synthetic>"}, isApiErrorMessage=True)
    talk.answer("m1", text("Well."), total=70)
    talk.answer("m2", message={"model": "<synthetic>", "content": 3})
    first, second, third = (message(talk.session(), n) for n in range(3))
    assert (first["stopReason"], first["errorMessage"], first["model"]) == (
        "error",
        "API Error: 500",
        "claude-opus-4-5",
    )
    assert (second["stopReason"], "errorMessage" in second) == ("stop", False)
    assert (third["errorMessage"], third["model"], third["content"]) == ("the request failed", "claude-opus-4-5", [])


def test_without_any_model_the_one_that_the_file_names_is_kept() -> None:
    talk = TranscriptBuilder()
    talk.answer("m0", text("No response requested."), message={"model": "<synthetic>"})
    talk.answer("m1", text("odd"), message={"model": 5, "usage": "none"})
    assert [message(talk.session(), n)["model"] for n in range(2)] == ["<synthetic>", "<synthetic>"]
    assert message(talk.session(), 1)["usage"]["totalTokens"] == 0


ODD_USAGE = [
    ({"input_tokens": 3, "output_tokens": 4.0}, (3, 4, 0, 0, None)),
    ({"input_tokens": -3, "output_tokens": "4", "cache_read_input_tokens": True}, (0, 0, 0, 0, None)),
    ({"input_tokens": 1e300, "cache_creation_input_tokens": 9, "cache_creation": []}, (0, 0, 0, 9, None)),
    ({"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 4}}, (0, 0, 0, 9, 4)),
    ({"cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_1h_input_tokens": 40}}, (0, 0, 0, 9, 9)),
    ({"cache_creation": {"ephemeral_5m_input_tokens": 4}}, (0, 0, 0, 0, None)),
]


@pytest.mark.parametrize(("reported", "expected"), ODD_USAGE)
def test_impossible_counts_are_nothing(reported: dict[str, Any], expected: tuple[Any, ...]) -> None:
    talk = TranscriptBuilder()
    talk.answer("m", text("a"), message={"usage": reported})
    made = message(talk.session(), 0)["usage"]
    assert tuple(made.get(n) for n in ("input", "output", "cacheRead", "cacheWrite", "cacheWrite1h")) == expected
    assert made["totalTokens"] == sum(expected[:4])


def test_blocks_without_a_counterpart_are_named_and_counted() -> None:
    talk = TranscriptBuilder()
    blocks = [
        {"type": "redacted_thinking", "data": "secret"},
        {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
        {"type": "tool_use", "id": "", "name": "Bash"},
        {"type": "tool_use", "id": "t1", "name": "Odd", "input": "raw"},
        {"type": "tool_use", "id": "t2", "name": "Odd"},
        {"type": "x" * 99},
    ]
    talk.answer("m", *blocks)
    session = talk.session()
    assert message(session, 0)["content"] == [
        {"type": "thinking", "thinking": "", "thinkingSignature": "secret", "redacted": True},
        text("[server_tool_use: web_search]"),
        text("[tool_use: Bash]"),
        {"type": "toolCall", "id": "t1", "name": "Odd", "arguments": {"input": "raw"}},
        {"type": "toolCall", "id": "t2", "name": "Odd", "arguments": {}},
        text(f"[{'x' * 60}…]"),
    ]
    assert codes(session) == ["unknown_block"] * 3


# Tool results


def test_parallel_results_follow_their_answer_whatever_row_they_hang_on() -> None:
    talk = TranscriptBuilder()
    talk.user("Check both.")
    first = talk.answer("m1", call("t1"), total=50)
    second = talk.answer("m1", call("t2"), total=60)
    talk.user([result("t1")], parentUuid=first)
    talk.row("progress", data={"type": "hook_progress"}, parentUuid=second)
    talk.user([result("t2")])
    talk.answer("m2", text("Fine."), total=80, parentUuid="u4")
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert story(session) == [
        "user Check both.",
        "assistant t1|t2",
        "result t1",
        "result t2",
        "assistant Fine.",
    ]


def test_a_late_result_moves_up_and_the_talk_goes_on_where_it_was() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"), call("t2"), total=50)
    talk.user([result("t2")])
    talk.answer("m2", text("The first still runs."), total=60)
    talk.user("Wait for it.")
    late = talk.user([result("t1")])
    talk.answer("m3", text("Here it is."), total=70, parentUuid=late)
    session = talk.session()
    check(talk.data(), session, linear=True)
    expected = ["assistant t1|t2", "result t2", "result t1", "assistant The first still runs.", "user Wait for it."]
    assert story(session) == [*expected, "assistant Here it is."]


def test_a_result_that_ends_the_file_leaves_the_leaf_where_the_talk_ended() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"), total=50)
    talk.answer("m2", text("Meanwhile."), total=60)
    talk.user([result("t1")], parentUuid="u1")
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert story(session) == ["assistant t1", "result t1", "assistant Meanwhile."]


def test_a_result_before_its_call_is_placed_after_it() -> None:
    talk = TranscriptBuilder()
    talk.user("Go.")
    talk.user([result("t1")])
    talk.answer("m1", call("t1"), total=50)
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert story(session) == ["user Go.", "assistant t1", "result t1"]


def test_several_results_and_a_remark_in_one_row_become_entries_of_their_own() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"), call("t2"), call("t3"), total=50)
    talk.user([result("t1"), text("And mind the wind."), result("t2")])
    talk.user([result("t3")])
    talk.answer("m2", text("Yes."), total=60)
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert [e.id for e in session.entries] == ["u1", "u2", "u2-2", "u3", "u2-3", "u4"]
    assert story(session)[1:] == ["result t1", "result t2", "result t3", "user And mind the wind.", "assistant Yes."]


def test_a_result_without_a_call_stays_where_it_stands() -> None:
    talk = TranscriptBuilder()
    talk.user([result("gone")])
    talk.user("Go on.")
    talk.user([result("gone too")])
    session = talk.session()
    assert story(session) == ["result gone", "user Go on.", "result gone too"]
    assert message(session, 0)["toolName"] == "unknown"


def test_a_second_result_of_a_call_is_left_out_and_counted() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"), total=50)
    talk.user([result("t1", "first")])
    talk.user([result("t1", "second")])
    talk.user([result("gone")])
    talk.user([result("gone")], parentUuid=None)
    talk.answer("m2", text("So."), total=60, parentUuid="u4")
    talk.user([result("t1", "third")])
    session = talk.session()
    assert story(session) == ["assistant t1", "result t1", "result gone", "assistant So."]
    assert left_out(session) == {"further results of an answered call": "3 left out, first on line 3"}


CONTENTS = [
    ("plain", [text("plain")]),
    ([text("a"), {"type": "tool_reference", "tool_name": "Cron"}], [text("a"), text("[tool_reference: Cron]")]),
    (None, []),
    ({"odd": 1}, [text('{"odd":1}')]),
    (
        [{"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "R0"}}],
        [{"type": "image", "data": "R0", "mimeType": "image/gif"}],
    ),
    (
        [{"type": "image", "source": {"type": "base64", "data": "R0"}}],
        [{"type": "image", "data": "R0", "mimeType": "image/png"}],
    ),
    ([{"type": "image", "source": {"type": "url", "url": "https://q/a.png"}}], [text("[image: https://q/a.png]")]),
    ([{"type": "image", "source": 4}], [text("[image]")]),
]


@pytest.mark.parametrize(("content", "expected"), CONTENTS)
def test_the_content_of_a_result_is_text_and_images(content: Any, expected: list[dict[str, Any]]) -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1", "Snap"))
    talk.user([result("t1", content, is_error=True)])
    made = message(talk.session(), 1)
    assert (made["content"], made["toolName"], made["isError"]) == (expected, "Snap", True)


TOUCHED = [
    (call("t", "Read", file_path="a.py"), False, (("read", "a.py"),)),
    (call("t", "Write", file_path="a.py"), False, (("write", "a.py"),)),
    (call("t", "MultiEdit", file_path="a.py"), False, (("edit", "a.py"),)),
    (call("t", "NotebookEdit", notebook_path="a.ipynb"), False, (("edit", "a.ipynb"),)),
    (call("t", "NotebookRead", notebook_path="a.ipynb"), False, (("read", "a.ipynb"),)),
    (call("t", "Edit", file_path="a.py"), True, ()),
    (call("t", "Edit", file_path=7), False, ()),
    (call("t", "Bash", command="cat a.py"), False, ()),
]


@pytest.mark.parametrize(("made", "failed", "files"), TOUCHED)
def test_file_tools_that_worked_count_for_the_lists_of_files(
    made: dict[str, Any], failed: bool, files: tuple[Any, ...]
) -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", made)
    talk.user([result("t", is_error=failed)])
    answer, answered = (entry.body.message for entry in talk.session().entries)
    assert answer is not None and answered is not None
    assert (file_calls(answer), file_calls(answered)) == ((), files)


def test_the_record_of_a_touched_file_has_the_fields_that_pi_writes() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t", "Read", file_path="a.py"))
    talk.user([result("t")])
    calls = [{"id": "t/1", "name": "read", "arguments": {"path": "a.py"}, "status": "ok"}]
    assert message(talk.session(), 1)["nestedCalls"] == {"calls": calls, "complete": True}


# The chain


def test_rows_that_are_not_shown_pass_the_chain_on_and_are_counted() -> None:
    talk = TranscriptBuilder()
    talk.side("file-history-snapshot", messageId="u1")
    talk.user("<local-command-caveat>ignore</local-command-caveat>", isMeta=True)
    talk.user("Name the pier.")
    talk.row("system", subtype="turn_duration")
    talk.row("system", content="legacy")
    talk.row("telepathy")
    talk.row(7, message=3)  # type: ignore[arg-type]
    talk.row("assistant")
    talk.user([])
    talk.user("only for the screen", isVisibleInTranscriptOnly=True)
    talk.attachment("deferred_tools_delta", addedNames=["Cron"])
    talk.answer("m1", text("North."), total=40)
    session = talk.session()
    assert story(session) == ["user Name the pier.", "assistant North."]
    assert set(codes(session)) == {"skipped_rows"}
    assert list(left_out(session)) == [
        "file-history-snapshot records",
        "user rows with isMeta",
        "system rows (turn_duration)",
        "system rows",
        "telepathy rows",
        " rows",
        "assistant rows without a message",
        "user rows without content",
        "user rows with isVisibleInTranscriptOnly",
        "deferred_tools_delta attachments",
    ]


def test_a_result_in_a_row_that_is_not_shown_is_kept() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"), total=40)
    talk.user([result("t1"), text("hidden")], isMeta=True)
    assert story(talk.session()) == ["assistant t1", "result t1"]


def test_a_broken_link_is_joined_to_the_row_before_it() -> None:
    talk = TranscriptBuilder()
    talk.user("One.", parentUuid="lost-1")
    talk.answer("m1", text("Two."), total=40, parentUuid="lost-2")
    talk.user("Three.", parentUuid=5)
    session = talk.session()
    assert story(session) == ["user One.", "assistant Two.", "user Three."]
    assert [(w.code, w.line, w.entry_id, w.message) for w in session.warnings] == [
        ("missing_parent", 1, "u1", "parent lost-1 not found, line 1; it starts the branch"),
        ("missing_parent", 2, "u2", "parent lost-2 not found, line 2; joined to the row before it, line 1"),
        ("missing_parent", 3, "u3", "the row has no parentUuid, line 3; joined to the row before it, line 2"),
    ]


def test_a_circle_is_cut_at_its_first_row_in_the_file() -> None:
    talk = TranscriptBuilder()
    talk.user("Zero.")
    talk.user("Four.", parentUuid="u5")
    talk.user("One.", parentUuid="u4")
    talk.user("Two.", parentUuid="u3")
    talk.user("Three.", parentUuid="u4")
    session = talk.session()
    assert [(w.code, w.line) for w in session.warnings] == [("parent_cycle", 3)]
    assert story(session) == ["user Zero.", "user One.", "user Two.", "user Three.", "user Four."]


def test_a_row_that_names_itself_is_joined_to_the_row_before_it() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.user("Two.", parentUuid="u2")
    assert story(talk.session()) == ["user One.", "user Two."]
    assert codes(talk.session()) == ["parent_cycle"]


def test_a_row_before_its_parent_waits_for_it() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.attachment("hook_additional_context", {"parentUuid": "u3"}, content=["later"])
    talk.attachment("hook_additional_context", {"parentUuid": "u1"}, content=["sooner"])
    talk.answer("m1", text("Two."), total=40, parentUuid="u2")
    session = talk.session()
    assert story(session) == ["custom_message sooner", "custom_message later", "user One.", "assistant Two."]
    assert session.warnings == []


def test_going_back_makes_a_branch_and_the_last_row_is_the_leaf() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    back = talk.answer("m1", text("Two."), total=40)
    talk.user("Three.")
    talk.answer("m2", text("Four."), total=50)
    talk.user("Three again.", parentUuid=back)
    talk.answer("m3", text("Five."), total=55)
    session = talk.session()
    check(talk.data(), session)
    assert story(session) == ["user One.", "assistant Two.", "user Three again.", "assistant Five."]
    assert story(session, "u4")[-2:] == ["user Three.", "assistant Four."]


def test_the_leaf_is_the_last_entry_even_if_its_answer_began_on_another_branch() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.answer("m1", call("t1"), total=40)
    talk.user("Stop.", parentUuid="u1")
    talk.user([result("t1")], parentUuid="u2")
    session = talk.session()
    check(talk.data(), session)
    assert story(session) == ["user One.", "assistant t1", "result t1"]


def test_what_comes_after_the_talk_went_on_is_a_branch_of_its_own() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.user("Two.")
    talk.attachment("hook_additional_context", {"parentUuid": "u1"}, content="late")
    session = talk.session()
    assert story(session) == ["user One.", "user Two."]
    assert story(session, "u3") == ["user One.", "custom_message late"]


def test_a_copy_of_known_rows_is_taken_once() -> None:
    talk = TranscriptBuilder()
    talk.user("One.", sessionId="older")
    talk.answer("m1", call("t1"), total=40, sessionId="older")
    talk.user([result("t1")], sessionId="older")
    talk.rows += [{**row, "sessionId": SESSION} for row in talk.rows]
    talk.answer("m2", text("Two."), total=50)
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert left_out(session) == {"rows that stand in the file already": "3 left out, first on line 4"}
    assert (session.header.id, len(session.entries)) == (SESSION, 4)


def test_a_copy_of_an_answer_under_new_uuids_is_the_same_answer() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.answer("m1", text("Two."), total=40)
    talk.user("One.", parentUuid=None)
    talk.answer("m1", text("Two."), total=40)
    talk.user("Three.")
    session = talk.session()
    assert story(session) == ["user One.", "assistant Two.", "user Three."]


def test_one_uuid_with_two_contents_makes_two_entries() -> None:
    talk = TranscriptBuilder()
    talk.user("One.", uuid="same")
    talk.user("Two.", uuid="same", parentUuid="same")
    assert [e.id for e in talk.session().entries] == ["same", "same-2"]


def test_rows_without_a_uuid_are_named_after_their_line() -> None:
    talk = TranscriptBuilder()
    talk.user("One.", uuid=7)
    talk.user("Two.", uuid="", parentUuid="u1")
    assert [(e.id, e.line) for e in talk.session().entries] == [("line-1", 1), ("line-2", 2)]


# Sub-agents


def test_rows_of_a_sub_agent_are_left_out_and_their_tokens_counted() -> None:
    talk = TranscriptBuilder()
    talk.answer("s0", text("before all"), total=9, isSidechain=True)
    talk.user("Ask around.")
    talk.answer("m1", call("t1", "Task", prompt="look"), total=50)
    talk.user("look", isSidechain=True)
    talk.answer("s1", text("SIDE"), total=20, isSidechain=True)
    talk.answer("s1", text("SIDE"), text("more"), total=30, isSidechain=True)
    talk.answer("s2", text("free"), isSidechain=True)
    talk.answer("m1", text("shared"), total=40, isSidechain=True)
    talk.user([result("t1")])
    talk.answer("m2", text("Found."), total=80)
    talk.answer("s3", text("after all"), total=10, isSidechain=True)
    session = talk.session()
    assert story(session) == [
        "usage sub_agent",
        "user Ask around.",
        "assistant t1",
        "result t1",
        "usage sub_agent",
        "usage sub_agent",
        "assistant Found.",
    ]
    spent = [entry for entry in wire(session) if entry["type"] == "usage"]
    assert [(e["model"], e["provider"], e["usage"]["totalTokens"]) for e in spent] == [
        ("claude-opus-4-5", "anthropic", total) for total in (9, 30, 10)
    ]
    assert left_out(session) == {"rows of sub-agents": "7 left out, first on line 1"}
    assert context_size(session, "u10") == 80


def test_the_file_of_a_sub_agent_is_a_conversation() -> None:
    talk = TranscriptBuilder()
    for row in (("look around", None), ("then there", None)):
        talk.user(row[0], isSidechain=True, parentUuid=talk.leaf)
        talk.leaf = talk.rows[-1]["uuid"]
        talk.answer(f"m-{talk.leaf}", text("ok"), total=30, isSidechain=True)
        talk.leaf = talk.rows[-1]["uuid"]
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert story(session) == ["user look around", "assistant ok", "user then there", "assistant ok"]


def test_a_row_that_hangs_on_a_sub_agent_goes_on_in_the_main_thread() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    side = talk.user("SIDE", isSidechain=True)
    talk.user("Two.", parentUuid=side)
    session = talk.session()
    assert story(session) == ["user One.", "user Two."]
    assert codes(session) == ["skipped_rows"]


# Compactions


def test_boundary_and_summary_become_one_compaction_after_the_whole_history() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.answer("m1", text("Two."), total=150_000)
    made = talk.compaction("The talk: One, Two.")
    talk.user("Three.")
    talk.answer("m2", text("Four."), total=9_000)
    session = talk.session()
    check(talk.data(), session, linear=True)
    compaction = session.entries[2].wire()
    assert compaction["firstKeptEntryId"] == compaction["id"] == made
    assert (compaction["tokensBefore"], compaction["summary"], compaction["fromHook"]) == (
        150_000,
        "The talk: One, Two.",
        True,
    )
    assert compaction["details"] == {"source": "claude-code", "trigger": "auto"}
    assert story(session)[1:] == ["assistant Two.", "compaction The talk: One, Two.", "user Three.", "assistant Four."]
    assert session.warnings == []


BROKEN_LINKS: list[dict[str, Any]] = [
    {"logicalParentUuid": "never-written"},
    {"logicalParentUuid": None},
    {"logicalParentUuid": 4},
    {"logicalParentUuid": "u1"},
    {"logicalParentUuid": "u9"},
    {"logicalParentUuid": None, "parentUuid": "u2"},
    {"metadata": {"trigger": None, "preTokens": "many"}},
    {"compactMetadata": None},
]


@pytest.mark.parametrize("fields", BROKEN_LINKS)
def test_a_boundary_that_names_no_row_or_a_wrong_one_follows_the_row_before_it(fields: dict[str, Any]) -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.answer("m1", text("Two."), total=150_000)
    talk.user("Three.")
    talk.compaction(**fields)
    talk.user("Four.")
    session = talk.session()
    assert [line.split()[0] for line in story(session)] == ["user", "assistant", "user", "compaction", "user"]
    assert session.entries[3].body.tokens_before == 150_000


def test_a_boundary_on_another_branch_stays_there() -> None:
    talk = TranscriptBuilder()
    back = talk.user("One.")
    tip = talk.answer("m1", text("Two."), total=150_000)
    talk.user("Aside.", parentUuid=back)
    talk.compaction("S", logicalParentUuid=tip)
    talk.user("Three.")
    assert story(talk.session()) == ["user One.", "assistant Two.", "compaction S", "user Three."]


def test_a_boundary_before_everything_is_the_first_entry() -> None:
    talk = TranscriptBuilder()
    talk.compaction("S", logicalParentUuid="in another file")
    talk.user("One.")
    assert story(talk.session()) == ["compaction S", "user One."]


def test_a_summary_without_its_boundary_is_a_compaction() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.answer("m1", text("Two."), total=77)
    talk.summary("S")
    talk.answer("m2", text("Three."), total=50)
    session = talk.session()
    assert story(session) == ["user One.", "assistant Two.", "compaction S", "assistant Three."]
    assert session.entries[2].body.tokens_before == 77
    assert session.entries[2].wire()["details"] == {"source": "claude-code"}


def test_a_boundary_without_its_summary_says_so() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.boundary()
    talk.user("Two.")
    talk.boundary()
    session = talk.session()
    assert [line.split()[0] for line in story(session)] == ["user", "compaction", "user", "compaction"]
    assert left_out(session) == {"summaries of compactions, never written": "2 left out, first on line 2"}
    assert "not in the transcript" in str(session.entries[1].body.summary)


def kept_talk() -> TranscriptBuilder:
    talk = TranscriptBuilder("2.1.282")
    talk.user("One.")
    talk.answer("m1", text("Two."), total=900)
    talk.user("Three.")
    talk.answer("m2", call("t1"), total=950)
    talk.user([result("t1")])
    talk.row("system", subtype="stop_hook_summary")
    return talk


KEPT = [
    ({"preservedMessages": {"uuids": ["u3", "u4", "u5"], "allUuids": ["u3", "u4", "u5", "ghost"]}}, "u3", []),
    ({"preservedMessages": {"uuids": ["u4", "u5"]}}, "u4", []),
    ({"preservedSegment": {"headUuid": "u3", "anchorUuid": "u8", "tailUuid": "u6"}}, "u3", []),
    ({"preservedSegment": {"headUuid": "u3", "tailUuid": "ghost"}}, None, []),
    ({"preservedSegment": {"headUuid": 3, "tailUuid": []}}, None, []),
    ({"preservedMessages": {"uuids": ["ghost"]}}, None, []),
    ({"preservedMessages": {"uuids": "u3"}, "preservedSegment": 4}, None, []),
    ({"preservedMessages": {"uuids": ["u1", "u4", "u5"]}}, "u1", ["u2", "u3"]),
]


@pytest.mark.parametrize(("metadata", "first", "taken_out"), KEPT)
@pytest.mark.parametrize("parent", ["u8", "u6", None])
def test_what_a_compaction_kept_verbatim_stays_in_the_context(
    metadata: dict[str, Any], first: str | None, taken_out: list[str], parent: str | None
) -> None:
    """The row after the summary hangs on the summary, on the last row before the boundary, or on the row before it."""
    talk = kept_talk()
    made = talk.compaction("S", metadata=metadata, logicalParentUuid="u6")
    talk.user("Four.", **({} if parent is None else {"parentUuid": parent}))
    talk.answer("m3", text("Five."), total=400)
    session = talk.session()
    check(talk.data(), session, linear=True)
    compaction = next(entry for entry in wire(session) if entry["type"] == "compaction")
    assert compaction["firstKeptEntryId"] == (first or made)
    assert [e["targetId"] for e in wire(session) if e["type"] == "context_edit"] == taken_out
    assert story(session)[5] == "compaction S"
    assert story(session)[-2:] == ["user Four.", "assistant Five."]


def test_rows_that_pass_a_boundary_by_continue_after_it() -> None:
    """A compaction by hand leaves its rows beside the chain, and what follows hangs on the row before the boundary."""
    talk = kept_talk()
    talk.compaction("S")
    talk.user("caveat", isMeta=True, parentUuid="u6")
    talk.user("<command-name>/compact</command-name>")
    talk.attachment("hook_additional_context", {"parentUuid": "u8"}, content=["rules"])
    talk.user("Four.", parentUuid="u6")
    session = talk.session()
    assert story(session)[5:] == ["compaction S", "user Four."]
    assert story(session, "u10")[5:] == ["compaction S", "user <command-name>/compact</command-name>"]


def test_the_first_row_after_a_boundary_continues_after_it_and_a_later_one_may_go_back() -> None:
    talk = kept_talk()
    talk.compaction("S")
    talk.user("Four.", parentUuid="u2")
    talk.answer("m3", text("Five."), total=400)
    talk.user("Three again.", parentUuid="u2")
    session = talk.session()
    assert story(session) == ["user One.", "assistant Two.", "user Three again."]
    assert story(session, "u10")[4:] == ["result t1", "compaction S", "user Four.", "assistant Five."]


def test_a_row_on_a_kept_row_that_was_never_written_continues_after_the_compaction() -> None:
    talk = kept_talk()
    talk.compaction("S", metadata={"preservedMessages": {"allUuids": ["u5", "ghost"]}}, logicalParentUuid="ghost")
    talk.user("Four.", parentUuid="ghost")
    session = talk.session()
    assert story(session)[5:] == ["compaction S", "user Four."]
    assert "missing_parent" not in codes(session)


def test_history_that_a_second_compaction_writes_once_more_is_taken_once() -> None:
    talk = kept_talk()
    talk.compaction("S1", metadata={"preservedSegment": {"headUuid": "u4", "anchorUuid": "u8", "tailUuid": "u6"}})
    talk.user("Four.")
    talk.answer("m3", text("Five."), total=400)
    talk.rows += talk.rows[:3]
    talk.row("system", subtype="stop_hook_summary", uuid="hook", parentUuid="u3")
    talk.compaction("S2", metadata={"preservedSegment": {"headUuid": "u10", "tailUuid": "hook"}})
    talk.user("Six.", parentUuid="hook")
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert story(session)[5:] == ["compaction S1", "user Four.", "assistant Five.", "compaction S2", "user Six."]
    assert session.entries[8].body.first_kept_entry_id == "u10"


def test_a_microcompaction_clears_the_results_that_it_names() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"), call("t2"), total=50)
    talk.user([result("t1", "long")])
    talk.user([result("t2", "longer")])
    note = talk.attachment("file", content={"type": "text", "file": {"filePath": "a", "content": "body"}})
    metadata = {"compactedToolIds": ["t1", "t2", "gone", 4], "clearedAttachmentUUIDs": [note, "gone"]}
    made = talk.row("system", subtype="microcompact_boundary", microcompactMetadata=metadata)
    talk.user("Go on.")
    talk.row("system", subtype="microcompact_boundary")
    session = talk.session()
    edits = [(e["id"], e["targetId"], e["replacement"]) for e in wire(session) if e["type"] == "context_edit"]
    cleared = {"content": "[The result of this call was cleared from the context to save space.]"}
    assert edits == [(made, "u2", cleared), (f"{made}-2", "u3", cleared), (f"{made}-3", note, None)]
    assert [line.split()[0] for line in story(session)][-4:] == ["context_edit"] * 3 + ["user"]
    assert left_out(session) == {"cleared results that are not in the file": "1 left out, first on line 5"}


# Attachments and titles

ATTACHMENTS: list[tuple[str, dict[str, Any], str | None]] = [
    ("hook_additional_context", {"content": ["one", 5, "two"]}, "custom_message one\ntwo"),
    ("hook_additional_context", {"content": []}, None),
    ("hook_blocking_error", {"blockingError": {"blockingError": "lint failed"}}, "custom_message lint failed"),
    ("hook_blocking_error", {"blockingError": "odd"}, None),
    ("hook_success", {"hookEvent": "SessionStart", "content": "rules"}, "custom_message rules"),
    ("hook_success", {"hookEvent": "PostToolUse", "content": "rules"}, None),
    ("hook_success", {"hookEvent": "SessionStart", "content": ""}, None),
    ("edited_text_file", {"filename": "a", "snippet": "12: x"}, "custom_message 12: x"),
    ("invoked_skills", {"skills": [{"content": "tie knots"}, 5]}, "custom_message tie knots"),
    ("invoked_skills", {"skills": 5}, None),
    ("queued_command", {"prompt": "and the lamp"}, "user and the lamp"),
    ("queued_command", {"prompt": [text("see"), {"type": "image"}]}, "user see|[image]"),
    ("queued_command", {"prompt": "ping", "isMeta": True}, "custom_message ping"),
    ("queued_command", {"prompt": "<done/>", "commandMode": "task-notification"}, "custom_message <done/>"),
    ("queued_command", {"prompt": ""}, None),
    ("queued_command", {}, None),
    ("skill_listing", {"content": "- knots"}, None),
]


@pytest.mark.parametrize(("kind", "fields", "expected"), ATTACHMENTS)
def test_attachments_whose_text_the_model_read_are_kept(
    kind: str, fields: dict[str, Any], expected: str | None
) -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", text("One."), total=40)
    talk.attachment(kind, **fields)
    talk.answer("m2", text("Two."), total=50)
    session = talk.session()
    assert story(session)[1:-1] == ([] if expected is None else [expected])
    assert (f"{kind} attachments" in left_out(session)) == (expected is None)


def test_what_a_hook_adds_to_a_prompt_stands_before_it() -> None:
    talk = TranscriptBuilder()
    talk.answer("m0", text("Zero."), total=30)
    talk.user("One.")
    talk.attachment("hook_additional_context", content="rules")
    talk.attachment("queued_command", prompt="One more.")
    talk.answer("m1", text("Two."), total=40)
    session = talk.session()
    check(talk.data(), session, linear=True)
    expected = ["assistant Zero.", "custom_message rules", "user One.", "user One more.", "assistant Two."]
    assert story(session) == expected


def test_an_attachment_of_any_shape_passes_the_chain_on() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.row("attachment", attachment="odd")
    talk.row("attachment", attachment={"type": ["odd"]})
    talk.user("Two.")
    assert story(talk.session()) == ["user One.", "user Two."]


def test_injected_text_is_hidden_on_pis_screen_and_says_where_it_is_from() -> None:
    talk = TranscriptBuilder()
    talk.attachment("hook_additional_context", content=["rules"])
    made = talk.session().entries[0].wire()
    assert (made["customType"], made["display"]) == ("claude-code.hook_additional_context", False)


def test_what_a_tool_adds_to_its_result_in_a_row_of_its_own_is_kept_as_injected_text() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1", "Skill", skill="knots"), total=40)
    talk.user([result("t1", "Launching skill: knots")])
    talk.user([text("Base directory for this skill: /knots"), {"type": "image"}], isMeta=True, sourceToolUseID="t1")
    talk.user([text("of a call elsewhere")], isMeta=True, sourceToolUseID="t9")
    talk.answer("m2", text("Two."), total=50)
    session = talk.session()
    check(talk.data(), session, linear=True)
    made = session.entries[2].wire()
    assert (made["customType"], made["display"]) == ("claude-code.tool", False)
    assert [block["text"] for block in made["content"]] == ["Base directory for this skill: /knots", "[image]"]
    assert [line.split()[0] for line in story(session)] == ["assistant", "result", "custom_message", "assistant"]
    assert left_out(session)["user rows with isMeta"] == "1 left out, first on line 4"


ORIGINS: list[tuple[Any, str]] = [
    ({"kind": "human"}, "user"),
    ({"kind": 5}, "user"),
    ("odd", "user"),
    ({"kind": "task-notification"}, "custom_message"),
    ({"kind": "peer", "from": "x"}, "custom_message"),
]


@pytest.mark.parametrize(("origin", "expected"), ORIGINS)
def test_what_others_say_in_the_users_place_is_not_the_users(origin: Any, expected: str) -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.user("ready", origin=origin)
    talk.attachment("queued_command", prompt="ready", origin=origin)
    assert [line.split()[0] for line in story(talk.session())] == ["user", expected, expected]


def test_a_result_that_the_model_saw_in_part_is_what_it_saw() -> None:
    talk = TranscriptBuilder()
    talk.answer("m1", call("t1"), call("t2"), total=40)
    talk.user([result("t1", "long " * 90)])
    shown = [{"kind": "tool-result", "toolUseId": "t1", "replacement": "a preview"}, {"toolUseId": "t2"}, 5]
    talk.side("content-replacement", replacements=shown)
    talk.side("content-replacement", replacements="odd")
    talk.user([result("t2", "short")])
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert [message(session, n)["content"][0]["text"] for n in (1, 2)] == ["a preview", "short"]
    assert left_out(session) == {
        "full results of which the model saw only a part": "1 left out, first on line 2",
        "content-replacement records": "1 left out, first on line 4",
    }


TITLES: list[tuple[list[dict[str, Any]], str | None]] = [
    ([{"type": "summary", "summary": "Older talk", "leafUuid": "elsewhere"}], None),
    ([{"type": "summary", "summary": "Mooring", "leafUuid": "u1"}], "Mooring"),
    ([{"type": "summary", "summary": "Mooring", "leafUuid": 5}], None),
    ([{"type": "ai-title", "aiTitle": "First"}, {"type": "ai-title", "aiTitle": "Second"}], "Second"),
    ([{"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": "Second"}], "Mine"),
    ([{"type": "ai-title", "aiTitle": " "}, {"type": "ai-title", "aiTitle": 5}], None),
]


@pytest.mark.parametrize(("titles", "expected"), TITLES)
@pytest.mark.parametrize("first", [True, False])
def test_the_session_is_named_by_its_own_title(titles: list[dict[str, Any]], expected: str | None, first: bool) -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.answer("m1", text("Two."), total=40)
    talk.rows = [*titles, *talk.rows] if first else [*talk.rows, *titles]
    session = talk.session()
    assert [e["name"] for e in wire(session) if e["type"] == "session_info"] == ([expected] if expected else [])
    assert session.entries[-1].id == "u2"
    check(talk.data(), session, linear=True)


# The file

HEADERS = [
    (["one", "two"], "talk.jsonl", "two"),
    (["one", "two"], "/x/one.jsonl", "one"),
    (["one", "two"], "C:\\x\\one.jsonl", "one"),
    ([5, ""], "talk.jsonl", ""),
]


@pytest.mark.parametrize(("ids", "path", "expected"), HEADERS)
def test_a_session_is_the_one_that_its_file_is_named_after_else_the_last_in_it(
    ids: list[Any], path: str, expected: str
) -> None:
    talk = TranscriptBuilder("2.1.9")
    for n, session_id in enumerate(ids):
        talk.user(f"Row {n}.", sessionId=session_id)
    session = parse_claude_code(talk.data(), path=path)
    assert (session.header.id, session.header.cwd, session.format) == (expected, "/quay", "claude-code")
    header = json.loads(session.header_raw)
    assert header["importedFrom"] == {"format": "claude-code", "version": "2.1.9"}
    assert (header["timestamp"], header["version"]) == ("2026-03-01T00:01:00.000Z", 3)


def test_a_file_of_side_records_alone_is_an_empty_session() -> None:
    rows = [{"type": "file-history-snapshot"}, {"type": "ai-title", "aiTitle": "Later", "sessionId": SESSION}]
    session = parse_session(b"".join(map(row_line, rows)), path="s.jsonl")
    assert (session.format, session.header.id) == ("claude-code", SESSION)
    assert [e["name"] for e in wire(session)] == ["Later"]
    assert codes(session) == ["no_messages", "skipped_rows"]


@pytest.mark.parametrize("data", [b"", b"[]\n7\n", b"torn {"])
def test_a_file_without_any_row_is_refused_in_one_line(data: bytes) -> None:
    with pytest.raises(SessionError, match=r"^x\.jsonl: expected the rows of a Claude Code transcript"):
        parse_claude_code(data, path="x.jsonl")


def test_times_that_cannot_be_read_are_those_of_the_row_before() -> None:
    talk = TranscriptBuilder()
    talk.user("Zero.", timestamp="soon")
    talk.user("One.", timestamp="2026-03-01T10:00:00")
    talk.user("Two.", timestamp=5)
    session = talk.session()
    assert [message(session, n)["timestamp"] for n in range(3)] == [0, 1772359200000, 1772359200000]
    assert wire(session)[2]["timestamp"] == "2026-03-01T10:00:00"


def test_damaged_lines_cost_no_more_than_what_they_lost() -> None:
    talk = TranscriptBuilder()
    for n in range(4):
        talk.user(f"Row {n}.")
    lines = talk.data().split(b"\n")
    data = b"\xef\xbb\xbf" + lines[0] + b"\n" + lines[1] + lines[2] + b"\n\0\0\0" + lines[3] + b'\n{"type":"us'
    session = parse_claude_code(data, path="t.jsonl")
    assert story(session) == [f"user Row {n}." for n in range(4)]
    assert {"byte_order_mark", "fused_lines", "nul_bytes", "damaged_line"} <= set(codes(session))
    assert session.torn_tail


def test_text_of_any_characters_is_kept() -> None:
    talk = TranscriptBuilder()
    talk.user("half \ud83d of a pair \u2028 \x00")
    talk.answer("m1", call("t1", "Bash", **{"\udea2": "\ud83d"}), total=30)
    session = talk.session()
    assert message(session, 0)["content"] == [text("half \ud83d of a pair \u2028 \x00")]
    assert message(session, 1)["content"][0]["arguments"] == {"\udea2": "\ud83d"}


def test_a_converted_transcript_is_the_same_session_to_the_reader_of_pi_files() -> None:
    talk = kept_talk()
    talk.compaction("S", metadata={"preservedMessages": {"uuids": ["u4", "u5"]}})
    talk.user("Four.", parentUuid="u2")
    talk.user("Five.", parentUuid="u2")
    session = talk.session()
    again = parse_pi(b"\n".join(pi_lines(session)))
    assert wire(again) == wire(session)
    assert again.parents == session.parents
    assert again.warnings == []


# Any transcript

ids = st.sampled_from(("a", "b", "c", "a-2", "t1", "t2"))
kinds = st.sampled_from(
    ("user", "assistant", "system", "attachment", "progress", "summary", "ai-title", "content-replacement")
)
odd_blocks = st.fixed_dictionaries(
    {"type": st.sampled_from(("text", "thinking", "tool_use", "tool_result", "image", "odd"))},
    optional={
        "text": json_values, "thinking": json_values, "id": ids | json_values, "name": json_values,
        "input": json_values, "tool_use_id": ids | json_values, "content": json_values, "source": json_values,
        "signature": json_values,
    },
)  # fmt: skip
odd_messages = st.fixed_dictionaries(
    {"content": st.lists(odd_blocks | json_values, max_size=3) | json_values},
    optional={"id": ids | json_values, "usage": json_values, "model": json_values, "stop_reason": json_values},
)
odd_metadata = st.fixed_dictionaries(
    {},
    optional={
        "preTokens": json_values,
        "trigger": json_values,
        "preservedMessages": st.fixed_dictionaries({}, optional={"uuids": st.lists(ids) | json_values}) | json_values,
        "preservedSegment": st.fixed_dictionaries({"headUuid": ids, "tailUuid": ids}) | json_values,
        "compactedToolIds": st.lists(ids) | json_values,
        "clearedAttachmentUUIDs": st.lists(ids) | json_values,
    },
)
odd_rows = st.fixed_dictionaries(
    {"type": kinds | json_values},
    optional={
        "uuid": ids | json_values,
        "parentUuid": ids | json_values,
        "logicalParentUuid": ids | json_values,
        "message": odd_messages | json_values,
        "timestamp": json_values,
        "sessionId": texts | json_values,
        "isSidechain": st.booleans() | json_values,
        "isMeta": st.booleans(),
        "isCompactSummary": st.booleans(),
        "sourceToolUseID": ids,
        "origin": st.fixed_dictionaries({"kind": texts}) | json_values,
        "replacements": st.lists(st.fixed_dictionaries({"toolUseId": ids, "replacement": texts})) | json_values,
        "subtype": st.sampled_from(("compact_boundary", "microcompact_boundary")) | json_values,
        "compactMetadata": odd_metadata | json_values,
        "microcompactMetadata": odd_metadata | json_values,
        "attachment": st.fixed_dictionaries({"type": texts, "prompt": json_values}) | json_values,
        "summary": json_values,
        "aiTitle": json_values,
        "leafUuid": ids,
    },
)


@given(st.lists(odd_rows, min_size=1, max_size=9))
def test_rows_of_any_shape_are_read_to_a_tree_that_pi_reads(rows: list[dict[str, Any]]) -> None:
    data = b"\n".join([*map(row_line, rows), b'{"type":"mode"}'])
    session = parse_claude_code(data, path="odd.jsonl")
    ids = [entry.id for entry in session.entries]
    assert len(set(ids)) == len(ids)
    assert all(entry.wire()["parentId"] in {None, *ids} for entry in session.entries)
    assert [len(branch_of(session, f"#{n}")) > 0 for n in range(len(ids))] == [True] * len(ids)
    for entry in session.entries:
        assert entry.decode()[1] == []


@given(st.lists(json_values, max_size=6), st.booleans())
def test_lines_of_any_json_raise_nothing_but_a_session_error(values: list[Any], torn: bool) -> None:
    data = b"\n".join(map(row_line, values))
    try:
        parse_claude_code(data[: len(data) // 2] if torn else data, path="odd.jsonl")
    except SessionError as error:
        assert "\n" not in str(error)


FLIP: st.SearchStrategy[Any] = st.booleans()


class Steps:
    """Draws a transcript step by step, as Claude Code of several versions writes them."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.talk = TranscriptBuilder()
        self.count = 0
        self.went_back = False
        self.prompts: list[str | None] = []

    def fresh(self, prefix: str) -> str:
        self.count += 1
        return f"{prefix}{self.count}"

    def prompt(self) -> None:
        self.prompts.append(self.talk.leaf)
        self.talk.user(f"Prompt {self.fresh('p')}")

    def go_back(self) -> None:
        if self.prompts:
            self.went_back = True
            self.talk.user(f"Prompt {self.fresh('p')}", parentUuid=self.draw(st.sampled_from(self.prompts[-2:])))

    def note(self) -> None:
        kind = self.draw(st.sampled_from(("hook_success", "hook_additional_context", "queued_command")))
        self.talk.attachment(kind, content=["note"], prompt="queued", hookEvent="PostToolUse")

    def passing(self) -> None:
        self.talk.row(self.draw(st.sampled_from(("progress", "system"))))

    def aside(self) -> None:
        self.talk.answer(self.fresh("side"), text("SIDE"), total=30, isSidechain=True)

    def answer(self) -> None:
        """An answer in rows, its calls' results in any order and hanging on any of its rows."""
        draw, talk, message_id = self.draw, self.talk, self.fresh("m")
        calls = [self.fresh("t") for _ in range(draw(st.integers(0, 3)))]
        blocks = [text(f"Says {message_id}"), *map(call, calls)]
        total = draw(st.integers(20, 5000))
        waiting: list[tuple[str, str]] = []
        for n, block in enumerate(blocks):
            row = talk.answer(message_id, block, total=total + n)
            if draw(st.integers(0, 4)) == 0:
                row = talk.answer(message_id, block, total=total + n)
            waiting += [(block["id"], row)] if block["type"] == "tool_use" else []
            if waiting and draw(st.integers(0, 2)) == 0:
                self.results(waiting)
        if draw(st.integers(0, 9)):
            while waiting:
                self.results(waiting)

    def results(self, waiting: list[tuple[str, str]]) -> None:
        draw = self.draw
        if draw(st.integers(0, 3)) == 0:
            self.note() if draw(FLIP) else self.passing()
        chosen = [
            waiting.pop(draw(st.integers(0, len(waiting) - 1))) for _ in range(draw(st.integers(1, len(waiting))))
        ]
        parent = draw(st.sampled_from((self.talk.leaf, chosen[0][1])))
        self.talk.user([result(call_id) for call_id, _ in chosen], parentUuid=parent)

    def compaction(self) -> None:
        """A compaction that keeps some rows or none, with what follows linked to it or to what it kept."""
        draw, talk = self.draw, self.talk
        before = talk.leaf
        tree = [row["uuid"] for row in talk.rows if "uuid" in row and not row["isSidechain"]]
        kept = tree[len(tree) - draw(st.integers(0, 4)) :] if draw(FLIP) else []
        metadata: dict[str, Any] = {}
        if kept and draw(FLIP):
            metadata = {"preservedSegment": {"headUuid": kept[0], "tailUuid": kept[-1]}}
        elif kept:
            metadata = {"preservedMessages": {"uuids": kept}}
        linked = {} if draw(FLIP) else {"logicalParentUuid": draw(st.sampled_from((None, "ghost")))}
        talk.compaction("S", metadata=metadata, **linked)
        if "preservedMessages" in metadata and draw(FLIP):  # not on disk yet when the boundary was written
            kept.append(talk.answer(self.fresh("m"), text("late"), total=draw(st.integers(20, 5000))))
        self.prompts = []
        if draw(FLIP) and before is not None:
            talk.leaf = before
        self.prompt()

    def micro(self) -> None:
        blocks = [b for row in self.talk.rows for b in (row.get("message") or {}).get("content") or () if b]
        ids = [b["tool_use_id"] for b in blocks if isinstance(b, dict) and b.get("type") == "tool_result"]
        self.talk.row("system", subtype="microcompact_boundary", microcompactMetadata={"compactedToolIds": ids[-3:]})

    def title(self) -> None:
        self.talk.side("ai-title", aiTitle=self.fresh("title "))


@st.composite
def transcripts(draw: st.DrawFn) -> tuple[TranscriptBuilder, bool]:
    """A transcript, and whether the user never went back in it."""
    steps = Steps(draw)
    steps.prompt()
    choices = (steps.prompt, steps.answer, steps.answer, steps.answer, steps.note, steps.passing, steps.aside)
    rarer = (steps.compaction, steps.micro, steps.title, steps.go_back)
    for step in draw(st.lists(st.sampled_from((*choices, *rarer)), max_size=10)):
        step()
    return steps.talk, not steps.went_back


@given(transcripts())
def test_every_result_has_its_call_and_every_answer_its_usage(drawn: tuple[TranscriptBuilder, bool]) -> None:
    talk, linear = drawn
    session = talk.session()
    check(talk.data(), session, linear=linear)
    assert {"missing_parent", "parent_cycle"}.isdisjoint(codes(session))


@given(transcripts())
def test_prompts_and_answers_keep_the_order_of_the_file(drawn: tuple[TranscriptBuilder, bool]) -> None:
    talk, _ = drawn
    lines = [e.line for e in branch_of(talk.session()) if e.role == "assistant" or e.id.startswith("p")]
    assert lines == sorted(lines)


# Real transcripts


@pytest.mark.parametrize("path", CORPUS or [None], ids=lambda path: path.stem if path else "none")
def test_real_transcripts_lose_no_result_and_no_usage(path: Path | None) -> None:
    if path is None:
        pytest.skip("skipped: no corpus")
    data = path.read_bytes()
    check(data, read_session(str(path)), linear="fork" not in path.name)


FAULTS = {
    "38-claude-stream-duplicates": [
        "user Read the config.",
        "assistant I should read it.|Reading the config.|toolu_1",
        "result toolu_1",
        "assistant The port is 9410.",
    ],
    "39-claude-unknown-records": [
        "user Name the capital of the demo land.",
        "assistant toolu_1",
        "result toolu_1",
        "usage sub_agent",
        "assistant The capital is Sandport.",
    ],
}


@pytest.mark.parametrize("name", FAULTS)
def test_files_that_other_importers_misread_are_read_right(name: str) -> None:
    path = SHARED / "bugs" / name / "input.jsonl"
    if not path.exists():
        pytest.skip("skipped: no corpus")
    session = read_session(str(path))
    check(path.read_bytes(), session, linear=True)
    assert [line for line in story(session) if line] == FAULTS[name]


def test_the_example_reads_as_a_person_would_tell_it() -> None:
    """The example has all that is special: parallel calls, a sub-agent, hooks, a compaction that kept its tail."""
    data = (DATA / "claude-harbour.jsonl").read_bytes()
    assert detect_format(data) == "claude-code"
    session = read_session(str(DATA / "claude-harbour.jsonl"))
    check(data, session, linear=True)
    assert story(session) == [
        "custom_message Branch: lamp-fix",
        "user Why does the harbour lamp stay dark?",
        "assistant I look at the switch and at the wiring.|toolu_1|toolu_2",
        "result toolu_1",
        "result toolu_2",
        "assistant toolu_3",
        "result toolu_3",
        "user And write down what you find.",
        "usage sub_agent",
        "compaction The lamp stays dark: threshold 0 in switch.py.",
        "user Set it to 12.",
        "assistant toolu_4",
        "result toolu_4",
        "session_info Harbour lamp",
        "assistant The lamp lights at 12 lux.",
    ]


COMMANDS = [("plan",), ("plan", "--json"), ("convert", "--to", "pi")]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[-1])
def test_commands_take_a_transcript(words: tuple[str, ...]) -> None:
    done = run(words[0], DATA / "claude-harbour.jsonl", *words[1:])
    assert (done.code, bool(done.out)) == (0, True), done.err


def test_a_transcript_is_compacted_with_its_files_and_commands(tmp_path: Path) -> None:
    talk = TranscriptBuilder()
    talk.user("Raise the threshold of the lamp in src/lamp.py and keep the tests green. " * 20)
    steps = [call("t1", "Edit", file_path="src/lamp.py"), call("t2", "Bash", command="pytest -q tests/test_lamp.py")]
    for number, step in enumerate(steps):
        talk.answer(f"m{number}", text("I go on with it. " * 100), step, total=4000 + number)
        talk.user([result(step["id"], "12 passed in 0.3s" if number else "The file was updated.")])
    talk.user("Thanks.")
    talk.answer("m9", text("You are welcome."), total=5000)
    (tmp_path / "talk.jsonl").write_bytes(talk.data())
    done = run("compact", tmp_path / "talk.jsonl", "--keep-recent-tokens", "9")
    assert done.code == 0, done.err
    assert "<modified-files>\nsrc/lamp.py\n</modified-files>" in done.out
    assert "pytest -q tests/test_lamp.py" in done.out


def test_the_plan_at_each_answer_has_the_size_that_it_reported() -> None:
    path = DATA / "claude-harbour.jsonl"
    for entry in read_session(str(path)).entries:
        body = entry.body.message
        if entry.role == "assistant" and body is not None and body.usage is not None:
            told = run("plan", path, "--json", "--leaf", entry.id).objects[0]
            assert told["contextTokens"] == told["usageTokens"] == body.usage.total_tokens


def test_an_answer_can_be_named_by_the_uuid_of_any_of_its_rows() -> None:
    rows = [
        {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Go."}},
        {
            "type": "assistant", "uuid": "a1", "parentUuid": "u1",
            "message": {"id": "m1", "role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
        },
        {
            "type": "assistant", "uuid": "a2", "parentUuid": "a1",
            "message": {
                "id": "m1", "role": "assistant",
                "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}],
            },
        },
        {"type": "progress", "uuid": "p1", "parentUuid": "a2", "data": {}},
        {"type": "user", "uuid": "u2", "parentUuid": "p1", "message": {"role": "user", "content": "On."}},
    ]  # fmt: skip
    data = b"".join(json.dumps({"timestamp": "2026-01-05T08:00:00.000Z", **row}).encode() + b"\n" for row in rows)
    session = parse_claude_code(data, path="s.jsonl")
    named = [find_leaf(session, uuid) for uuid in ("a1", "a2", "p1", "u2")]
    assert [entry.id for entry in named if entry is not None] == ["a1", "a1", "a1", "u2"]
