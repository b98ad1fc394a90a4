"""The context of a session as a request to Anthropic's count endpoint."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from builders import SessionBuilder, image, tool_call
from hypothesis import given
from strategies import sessions

from compactor.clients.anthropic_context import ContextBody, call_id, context_body

TEXT = "The tide turns."


def body_of(builder: SessionBuilder) -> ContextBody:
    return context_body(builder.project().entries)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def test_messages_system_prompt_and_tools_are_what_the_model_would_read() -> None:
    builder = SessionBuilder()
    tool = {"name": "read", "description": "reads", "parameters": {"type": "object", "properties": {"path": {}}}}
    builder.system("You run the harbor.", sections={"cwd": "/quay", "gone": None}, toolsAdded=[tool, "no tool"])
    builder.user("Read it.")
    builder.assistant("Yes.", tool_call("c1", "read", path="a.md"))
    builder.result("c1", TEXT)
    builder.assistant("Done.")
    body = body_of(builder)
    assert body.system == "You run the harbor.\n\n/quay"
    assert body.tools == [{"name": "read", "description": "reads", "input_schema": tool["parameters"]}]
    assert body.messages == [
        {"role": "user", "content": [text("Read it.")]},
        {
            "role": "assistant",
            "content": [text("Yes."), {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "a.md"}}],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [text(TEXT)]}]},
        {"role": "assistant", "content": [text("Done.")]},
    ]
    assert body.left_out == {}
    assert set(body.arguments()) == {"messages", "system", "tools"}


def test_a_result_that_came_late_stands_right_after_its_call() -> None:
    builder = SessionBuilder()
    builder.user("Go.")
    builder.assistant("", tool_call("c1"), tool_call("c2"))
    builder.result("c2", "two")
    builder.user("Wait.")
    builder.result("c1", "one", isError=True)
    body = body_of(builder)
    answers = body.messages[2]["content"]
    assert [block["tool_use_id"] for block in answers if block["type"] == "tool_result"] == ["c1", "c2"]
    assert answers[0]["is_error"] is True
    assert answers[-1] == text("Wait.")


def test_a_call_without_result_gets_one_that_says_so() -> None:
    builder = SessionBuilder()
    builder.user("Go.")
    builder.assistant("", tool_call("c1"))
    body = body_of(builder)
    (answer,) = body.messages[2]["content"]
    assert answer["is_error"] and "no result was recorded" in answer["content"][0]["text"]
    assert list(body.left_out.values()) == [1]


def test_images_are_sent_whole_and_thinking_is_not() -> None:
    builder = SessionBuilder()
    builder.user([{"type": "text", "text": "Look."}, image("aGFyYm9y")])
    builder.assistant([{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "A harbor."}])
    body = body_of(builder)
    source = {"type": "base64", "media_type": "image/png", "data": "aGFyYm9y"}
    assert body.messages[0]["content"][1] == {"type": "image", "source": source}
    assert body.messages[1]["content"] == [text("A harbor.")]
    assert body.left_out == {"blocks of thinking, left out": 1}


def test_an_image_without_data_is_counted_as_left_out() -> None:
    builder = SessionBuilder()
    builder.user([{"type": "text", "text": "Look."}, {"type": "image"}])
    assert body_of(builder).left_out == {"images, left out": 1}


def test_failed_replies_blank_texts_and_other_roles_are_as_the_agent_sends_them() -> None:
    builder = SessionBuilder()
    builder.user("Go.")
    builder.assistant("half a", stopReason="aborted")
    builder.assistant("  ")
    builder.shell("ls", "crane.md")
    body = body_of(builder)
    assert [m["role"] for m in body.messages] == ["user"]
    assert "Ran `ls`" in body.messages[0]["content"][1]["text"]


def test_a_conversation_that_starts_with_a_reply_gets_a_user_before_it() -> None:
    builder = SessionBuilder()
    builder.assistant("Hello.")
    body = body_of(builder)
    assert [m["role"] for m in body.messages] == ["user", "assistant"]
    assert body.left_out == {"first messages of a user, added": 1}


@pytest.mark.parametrize(("one", "two"), [("call_a|fc_b", "call_a_fc_b"), ("a b", "a_b"), ("é", "e")])
def test_ids_fit_the_api_and_two_ids_stay_two(one: str, two: str) -> None:
    assert call_id(one) != call_id(two)
    assert re.fullmatch("[a-zA-Z0-9_-]+", call_id(one))


@given(sessions())
def test_every_call_has_its_result_right_after_it_and_all_can_be_sent(builder: SessionBuilder) -> None:
    body = body_of(builder)
    json.dumps(body.arguments(), ensure_ascii=False).encode()
    roles = [m["role"] for m in body.messages]
    assert not roles or roles[0] == "user"
    assert all(a != b for a, b in pairwise(roles))
    for n, message in enumerate(body.messages):
        assert message["content"]
        used = [b["id"] for b in message["content"] if b["type"] == "tool_use"]
        after = body.messages[n + 1]["content"] if n + 1 < len(body.messages) else []
        found = [b["tool_use_id"] for b in after if b["type"] == "tool_result"]
        assert not used or found[: len(used)] == used
    results = [b for m in body.messages for b in m["content"] if b["type"] == "tool_result"]
    calls = [b for m in body.messages for b in m["content"] if b["type"] == "tool_use"]
    assert len(results) == len(calls)
