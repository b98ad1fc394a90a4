"""Messages hold what a session says, and one field of a wrong type costs no more than that field."""

from typing import Any

import msgspec
import pytest
from builders import image, tool_call
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values

from compactor.messages import Block, Cost, Message, NestedCall, NestedCalls, Usage, lenient

TEXT = {"type": "text", "text": "At berth 14."}


def message(**fields: Any) -> Message:
    return msgspec.convert(fields, Message)


@pytest.mark.parametrize(
    ("content", "blocks", "text"),
    [
        ("At berth 14.", [Block(type="text", text="At berth 14.")], "At berth 14."),
        ("", [Block(type="text", text="")], ""),
        (None, [], ""),
        ([], [], ""),
        ([TEXT, TEXT], [Block(type="text", text="At berth 14.")] * 2, "At berth 14.\nAt berth 14."),
        ([{"type": "text"}, TEXT], [Block(type="text"), Block(type="text", text="At berth 14.")], "\nAt berth 14."),
        (
            [image(), {"type": "thinking", "thinking": "hm"}],
            [Block(type="image"), Block(type="thinking", thinking="hm")],
            "",
        ),
    ],
)
def test_content_is_a_string_or_blocks_or_missing(content: Any, blocks: list[Block], text: str) -> None:
    found = message(role="user", content=content)
    assert found.blocks == blocks
    assert found.text() == text
    assert found.text("").replace("\n", "") == text.replace("\n", "")


def test_only_an_assistant_calls_tools() -> None:
    calls = [tool_call("a", "read", path="x"), tool_call("b")]
    assert [c.id for c in message(role="assistant", content=[TEXT, *calls]).tool_calls] == ["a", "b"]
    assert message(role="user", content=calls).tool_calls == []
    assert message(role="assistant", content="text").tool_calls == []
    assert message(role="assistant").tool_calls == []


def test_wire_names_are_camel_case() -> None:
    wire = {"role": "toolResult", "toolCallId": "a", "toolName": "read", "isError": True, "excludeFromContext": False}
    wire |= {"usage": {"cacheRead": 5, "cacheWrite1h": 2, "totalTokens": 7, "cost": {"cacheWrite": 0.5}}}
    found = message(**wire)
    assert (found.tool_call_id, found.tool_name, found.is_error) == ("a", "read", True)
    assert found.usage == Usage(cache_read=5, cache_write1h=2, total_tokens=7, cost=Cost(cache_write=0.5))


@pytest.mark.parametrize(
    ("wire", "expected", "bad"),
    [
        ({"role": "user", "content": "x"}, Message(role="user", content="x"), []),
        ({"role": 5, "content": "x"}, Message(content="x"), ["role"]),
        ({"role": "user", "content": 5}, Message(role="user"), ["content"]),
        (
            {"role": "user", "content": [TEXT, 5, {"type": "text", "text": ["no"]}]},
            Message(role="user", content=[Block(type="text", text="At berth 14."), Block(type="text")]),
            ["content[1]", "content[2].text"],
        ),
        (
            {"role": "assistant", "usage": {"input": "many", "output": 3, "cost": {"total": None, "input": 1}}},
            Message(role="assistant", usage=Usage(output=3, cost=Cost(input=1))),
            ["usage.input", "usage.cost.total"],
        ),
        ({"role": "assistant", "usage": 7}, Message(role="assistant"), ["usage"]),
        (
            {"role": "toolResult", "nestedCalls": {"calls": [{"name": "read", "arguments": {}}, 5]}},
            Message(role="toolResult", nested_calls=NestedCalls(calls=[NestedCall(name="read", arguments={})])),
            ["nestedCalls.calls[1]"],
        ),
        ({"role": "toolResult", "nestedCalls": [5]}, Message(role="toolResult"), ["nestedCalls"]),
        ({"role": "user", "content": [{**TEXT, "\ud83d": 1}]}, Message(role="user", content=[Block(**TEXT)]), []),
        ({"role": "system", "sections": {"\ud83d": "x"}}, Message(role="system", sections={"\ud83d": "x"}), []),
        ({"role": "system", "sections": {"\ud83d": "x", "cwd": 5}}, Message(role="system"), ["sections"]),
        (
            {"role": "toolResult", "nestedCalls": {"calls": [{"name": "read"}]}},
            Message(role="toolResult", nested_calls=NestedCalls(calls=[NestedCall(name="read")])),
            [],
        ),
        (["no", "object"], Message(), []),
        ({"unknown": 1}, Message(), []),
    ],
)
def test_a_field_of_a_wrong_type_is_named_and_the_others_stay(wire: Any, expected: Message, bad: list[str]) -> None:
    assert lenient(wire, Message) == (expected, bad)


@given(st.dictionaries(st.sampled_from([f.encode_name for f in msgspec.structs.fields(Message)]), json_values))
def test_any_object_gives_a_message_that_can_be_used(wire: dict[str, Any]) -> None:
    found, bad = lenient(wire, Message)
    assert found.text() is not None
    assert len(found.blocks) >= len(found.tool_calls)
    assert all(name.split(".")[0].split("[")[0] in wire for name in bad)
