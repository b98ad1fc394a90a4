"""The text that a summarizer reads. Frames, labels and cuts are Pi's, byte for byte."""

import hashlib
from collections.abc import Sequence
from typing import Any

import pytest
from builders import SessionBuilder, image, tool_call
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from strategies import any_character, sessions

from compactor.js_text import utf8, utf16_len
from compactor.messages import Block, Message
from compactor.transcript import (
    PIECE_BYTES,
    cut_result,
    model_message,
    shell_text,
    transcript,
    transcript_size,
    with_missing_results,
)


def message(role: str, **fields: Any) -> Message:
    return convert({"role": role, **fields}, Message)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


THINKING = {"type": "thinking", "thinking": "secret thought"}


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        ([message("user", content="hello")], "[User]: hello"),
        ([message("user", content=[text("a"), image(), text("b")])], "[User]: ab"),
        ([message("user", content="")], ""),
        ([message("user", content=[image()])], ""),
        ([message("user")], ""),
        ([message("assistant", content=[text("a"), THINKING, text("b")])], "[Assistant]: a\nb"),
        ([message("assistant", content=[text("")])], "[Assistant]: "),
        ([message("assistant", content=[THINKING])], ""),
        ([message("assistant", content="plain")], "[Assistant]: plain"),
        (
            [message("assistant", content=[tool_call("1", "read", path="é", n=1.0), text("a"), tool_call("2", "ls")])],
            '[Assistant]: a\n\n[Assistant tool calls]: read(path="é", n=1); ls()',
        ),
        (
            [message("assistant", content=[{"type": "toolCall", "arguments": ["x"]}])],
            "[Assistant tool calls]: ()",
        ),
        (
            [
                message(
                    "assistant", content=[{**tool_call("1", "f"), "arguments": {"b": None, "10": [1], "9": "\ud83d"}}]
                )
            ],
            '[Assistant tool calls]: f(9="\\ud83d", 10=[1], b=null)',
        ),
        ([message("toolResult", content=[text("a"), text("b"), image()])], "[Tool result]: ab"),
        ([message("toolResult", content=[image()])], ""),
        ([message("toolResult", content="plain", isError=True)], "[Tool result]: plain"),
        ([message("custom", content="tide")], "[User]: tide"),
        ([message("custom", content=[text("a"), text("b")])], "[User]: ab"),
        ([message("custom")], ""),
        ([message("system", content="rules")], ""),
        ([message("unheard of", content="x")], ""),
        ([message("bashExecution", command="ls", output="a", excludeFromContext=True)], ""),
        ([message("bashExecution", command="ls", output="a")], "[User]: Ran `ls`\n```\na\n```"),
        (
            [message("branchSummary", summary="S")],
            "[User]: The following is a summary of a branch that this conversation came back from:\n\n"
            "<summary>\nS</summary>",
        ),
        (
            [message("compactionSummary", summary="S")],
            "[User]: The conversation history before this point was compacted into the following summary:\n\n"
            "<summary>\nS\n</summary>",
        ),
        (
            [message("user", content="q"), message("user"), message("assistant", content="a")],
            "[User]: q\n\n[Assistant]: a",
        ),
        ([], ""),
    ],
)
def test_messages_become_labelled_paragraphs(shown: Sequence[Message], expected: str) -> None:
    assert transcript(shown) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"command": "ls", "output": "a\nb", "exitCode": 0}, "Ran `ls`\n```\na\nb\n```"),
        ({"command": "ls", "output": ""}, "Ran `ls`\n(no output)"),
        ({}, "Ran ``\n(no output)"),
        ({"command": "x", "exitCode": 127}, "Ran `x`\n(no output)\n\nCommand exited with code 127"),
        ({"command": "x", "exitCode": 1.0}, "Ran `x`\n(no output)\n\nCommand exited with code 1"),
        ({"command": "x", "exitCode": 1, "cancelled": True}, "Ran `x`\n(no output)\n\n(command cancelled)"),
        ({"command": "x", "exitCode": None, "cancelled": False}, "Ran `x`\n(no output)"),
        ({"command": "x", "truncated": True}, "Ran `x`\n(no output)"),
        ({"command": "x", "fullOutputPath": "/tmp/o"}, "Ran `x`\n(no output)"),
        (
            {"command": "x", "output": "y", "exitCode": 2, "truncated": True, "fullOutputPath": "/tmp/o"},
            "Ran `x`\n```\ny\n```\n\nCommand exited with code 2\n\n[Output truncated. Full output: /tmp/o]",
        ),
    ],
)
def test_a_command_of_the_user_is_told_with_its_end(fields: dict[str, Any], expected: str) -> None:
    assert shell_text(message("bashExecution", **fields)) == expected


@pytest.mark.parametrize("missing", ["branchSummary", "compactionSummary"])
def test_a_summary_that_is_missing_is_an_empty_one(missing: str) -> None:
    shown = model_message(message(missing))
    assert shown is not None
    assert "<summary>\n" in shown.text()
    assert "None" not in shown.text()


def test_what_a_model_may_see_reaches_it_unchanged() -> None:
    for role in ("system", "user", "assistant", "toolResult"):
        original = message(role, content=[text("a"), image()])
        assert model_message(original) is original
    custom = model_message(message("custom", content=[text("a"), image()]))
    assert custom == Message(role="user", content=[Block(type="text", text="a"), Block(type="image")])
    assert model_message(message("unheard of", content="x")) is None


# --- long results --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        ("x" * 2000, "x" * 2000),
        ("x" * 2001, "x" * 2000 + "\n\n[... 1 more characters truncated]"),
        ("x" * 12345, "x" * 2000 + "\n\n[... 10345 more characters truncated]"),
        ("🚢" * 1000, "🚢" * 1000),
        ("🚢" * 1001, "🚢" * 1000 + "\n\n[... 2 more characters truncated]"),
        ("x" * 1999 + "🚢", "x" * 1999 + "\n\n[... 1 more characters truncated]"),
        ("x" + "🚢" * 1500, "x" + "🚢" * 999 + "\n\n[... 1001 more characters truncated]"),
        ("検" * 2001, "検" * 2000 + "\n\n[... 1 more characters truncated]"),
        ("x" * 1999 + "\ud83dx", "x" * 1999 + "\ud83d" + "\n\n[... 1 more characters truncated]"),
    ],
)
def test_a_long_result_is_cut_at_2000_utf16_units_and_never_inside_a_character(result: str, expected: str) -> None:
    """Python's own slices count code points."""
    assert cut_result(result) == expected
    assert transcript([message("toolResult", content=result)]) == f"[Tool result]: {expected}"


@given(st.text(any_character, max_size=30), st.integers(0, 200))
def test_a_cut_result_tells_how_much_is_missing(part: str, times: int) -> None:
    result = part * times
    cut = cut_result(result)
    if utf16_len(result) <= 2000:
        assert cut == result
    else:
        assert cut.endswith(f"[... {utf16_len(result) - 2000} more characters truncated]")
        assert utf16_len(cut.rsplit("\n\n[... ", 1)[0]) in (1999, 2000)


# --- missing results -----------------------------------------------------------------------------


def test_a_call_without_a_result_is_said_to_have_none() -> None:
    """So that a request is not taken for a fact."""
    asked = [tool_call("a", "read", path="x"), tool_call("b", "write", path="y")]
    talk = [
        message("assistant", content=asked),
        message("toolResult", toolCallId="a", content="A"),
        message("assistant", content=[{"type": "toolCall", "id": "c"}]),
        message("user", content="stop"),
    ]
    made = list(with_missing_results(talk))
    assert [m.role for m in made] == ["assistant", "toolResult", "toolResult", "assistant", "toolResult", "user"]
    assert [m.tool_call_id for m in made] == [None, "b", "a", None, "c", None]
    assert made[1].is_error
    assert made[1].tool_name == "write"
    assert made[1].text() == "(no result was recorded: write was requested, it is not known to have run)"
    assert "the tool was requested" in made[4].text()


@given(sessions())
def test_after_that_every_call_has_a_result_and_nothing_else_changed(builder: SessionBuilder) -> None:
    messages = list(builder.project().messages())
    made = list(with_missing_results(messages))
    answered = {m.tool_call_id for m in made if m.role == "toolResult"}
    assert {call.id for m in messages for call in m.tool_calls} <= answered
    assert [m for m in made if any(m is original for original in messages)] == messages
    assert len(made) - len(messages) == len(
        [c for m in messages for c in m.tool_calls if c.id not in {r.tool_call_id for r in messages}]
    )


# --- size ----------------------------------------------------------------------------------------


@given(sessions(), st.booleans())
def test_the_size_is_that_of_the_whole_text(builder: SessionBuilder, exact: bool) -> None:
    messages = list(builder.project(exact=exact).messages())
    whole = transcript(messages)
    size = transcript_size(messages)
    assert size.chars == utf16_len(whole)
    assert size.sha256 == hashlib.sha256(utf8(whole)).hexdigest()


@pytest.mark.parametrize("sizes", [(PIECE_BYTES,), (PIECE_BYTES, 1), (1, PIECE_BYTES, 5, 5, PIECE_BYTES, PIECE_BYTES)])
def test_the_size_of_a_long_text_is_found_in_pieces(sizes: Sequence[int]) -> None:
    messages = [message("user", content="é" * size) for size in sizes]
    whole = transcript(messages)
    size = transcript_size(messages)
    assert size.chars == utf16_len(whole)
    assert size.sha256 == hashlib.sha256(utf8(whole)).hexdigest()


def test_the_size_of_nothing_is_that_of_the_empty_text() -> None:
    size = transcript_size([])
    assert (size.chars, size.sha256) == (0, hashlib.sha256(b"").hexdigest())


@given(sessions())
def test_neither_pictures_nor_thoughts_nor_private_rows_are_in_a_transcript(builder: SessionBuilder) -> None:
    builder.user([text("look"), image("BASE64DATA")])
    builder.assistant([THINKING, text("seen")])
    builder.private_shell("PRIVATE-OUTPUT")
    for exact in (False, True):
        whole = transcript(builder.project(exact=exact).messages())
        assert "look" in whole
        assert [word for word in ("BASE64DATA", "secret thought", "PRIVATE-OUTPUT") if word in whole] == []
