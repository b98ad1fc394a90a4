"""What of a message costs tokens."""

from typing import Any

import pytest
from hypothesis import given
from strategies import texts

from compactor.messages import Block, Message
from compactor.token_features import HIDDEN, SENT, WRITTEN, sent_row, spoken_row, visible_tokens, written_row


def words(text: str) -> int:
    """A vocabulary in which every word is a token."""
    return len(text.split())


def text(value: str) -> Block:
    return Block(type="text", text=value)


def named(names: tuple[str, ...], row: tuple[float, ...]) -> dict[str, float]:
    return {name: value for name, value in zip(names, row, strict=True) if value}


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (Message(role="user", content="open the gate"), {"userTokens": 3, "userMessages": 1}),
        (
            Message(role="user", content=[text("see"), Block(type="image"), Block(type="image")]),
            {"userTokens": 1, "userMessages": 1, "images": 2},
        ),
        (Message(role="toolResult", content=[text("a b c d")]), {"resultTokens": 4, "results": 1}),
        (Message(role="toolResult", content=None), {"results": 1}),
        (Message(role="bashExecution", command="ls -l", output="crane.md"), {"userTokens": 3, "userMessages": 1}),
        (Message(role="compactionSummary", summary="## Goal"), {"userTokens": 2, "userMessages": 1}),
        (
            Message(role="system", content="be brief", sections={"a": "x y", "b": None}, tools_added=[{"name": "ls"}]),
            {"userTokens": 5, "userMessages": 1},
        ),
        (Message(role="assistant", content=[text("gone")]), {}),
    ],
)
def test_what_is_sent_is_counted_by_kind(message: Message, expected: dict[str, float]) -> None:
    assert named(SENT, sent_row(message, words)) == expected


@pytest.mark.parametrize(
    ("end", "omitted"),
    [
        ("[truncated: 4,000 chars omitted]", 4000),
        ("\n\n[... 4000 more characters truncated]", 4000),
        ("(12 characters left out)", 12),
        ("wrote 4000 chars", 0),
        ("4000 chars omitted" + " " * 300, 0),
    ],
)
def test_what_a_result_says_was_left_out_of_it_is_counted_at_its_own_density(end: str, omitted: int) -> None:
    whole = "berth " * 50 + end
    row = named(SENT, sent_row(Message(role="toolResult", content=whole), words))
    assert row.get("omittedTokens", 0) == pytest.approx(omitted * words(whole) / len(whole))


def test_what_the_model_wrote_is_counted_by_kind() -> None:
    message = Message(
        role="assistant",
        content=[
            text("two words"),
            Block(type="thinking", thinking="one two three"),
            Block(type="toolCall", name="edit", arguments={"path": "a.py", "edits": [{"n": 1, "on": True}], "x": None}),
            Block(type="toolCall", name="ls", arguments=None),
            Block(type="unknown"),
        ],
    )
    row = named(WRITTEN, written_row(message, words))
    expected = {"textTokens": 2, "thinkingTokens": 3, "argumentTokens": 8, "calls": 2, "messages": 1, "thoughts": 1}
    assert row == expected
    assert visible_tokens(written_row(message, words)) == 10
    assert named(WRITTEN, written_row(Message(role="user", content="x"), words)) == {}


def test_a_block_of_thinking_counts_even_if_it_is_empty_and_so_does_its_signature() -> None:
    message = Message(role="assistant", content=[Block(type="thinking", thinking=""), text("two words")])
    row = written_row(message, words, 640)
    assert named(WRITTEN, row) == {"textTokens": 2, "messages": 1, "thoughts": 1, "signatureChars": 640}
    assert named(WRITTEN, spoken_row(row)) == {"textTokens": 2, "messages": 1}
    assert set(WRITTEN) > HIDDEN


def test_what_arguments_cost_more_as_json_is_counted_apart() -> None:
    message = Message(role="assistant", content=[Block(type="toolCall", arguments={"code": 'say "hello"\n' * 3})])
    row = named(WRITTEN, written_row(message, len))
    assert row["argumentTokens"] == len("code\n") + 12 * 3
    assert row["escapeTokens"] == len(r'{"code":""}') + 15 * 3 - row["argumentTokens"]


def test_arguments_nested_beyond_all_bounds_are_counted_as_json() -> None:
    deep: Any = "crane"
    for _ in range(900):
        deep = [deep]
    row = named(
        WRITTEN, written_row(Message(role="assistant", content=[Block(type="toolCall", arguments=deep)]), words)
    )
    assert row["argumentTokens"] == 1


@given(texts, texts)
def test_no_text_has_a_negative_row_and_more_text_never_a_smaller_one(one: str, more: str) -> None:
    for role in ("user", "toolResult"):
        less = sent_row(Message(role=role, content=one), len)
        both = sent_row(Message(role=role, content=f"{more}{one}"), len)
        assert all(0 <= a <= b for a, b in zip(less[:4], both[:4], strict=True))
    less = written_row(Message(role="assistant", content=one), len)
    both = written_row(Message(role="assistant", content=one + more), len)
    assert all(0 <= a <= b for a, b in zip(less, both, strict=True))
