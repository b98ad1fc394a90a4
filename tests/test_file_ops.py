"""Which files a part of the history touched."""

from typing import Any

import pytest
from builders import tool_call
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from strategies import json_values, texts

from compactor.file_ops import FileLists, file_blocks, file_calls, file_lists, lists_of_details
from compactor.messages import Message


def message(**fields: Any) -> Message:
    return convert(fields, Message)


def test_the_calls_of_an_assistant_count_whether_or_not_they_worked() -> None:
    calls = [tool_call("1", "read", path="a"), tool_call("2", "write", path="b"), tool_call("3", "edit", path="c")]
    assert file_calls(message(role="assistant", content=calls)) == (("read", "a"), ("write", "b"), ("edit", "c"))


@pytest.mark.parametrize(
    "call",
    [
        tool_call("1", "bash", path="a"),
        tool_call("1", "Read", path="a"),
        tool_call("1", "read", file="a"),
        tool_call("1", "read", path=""),
        tool_call("1", "read", path=7),
        tool_call("1", "read", path=["a"]),
        {"type": "toolCall", "id": "1", "name": "read", "arguments": "a"},
        {"type": "toolCall", "id": "1", "name": "read"},
        {"type": "toolCall", "id": "1", "arguments": {"path": "a"}},
        {"type": "text", "text": "read a", "name": "read", "arguments": {"path": "a"}},
    ],
)
def test_what_names_no_file_counts_for_nothing(call: dict[str, Any]) -> None:
    assert file_calls(message(role="assistant", content=[call])) == ()


def test_calls_that_a_script_made_count_too() -> None:
    nested = {"calls": [{"name": "write", "arguments": {"path": "out"}}, {"name": "bash", "arguments": {}}]}
    assert file_calls(message(role="toolResult", nestedCalls=nested)) == (("write", "out"),)
    assert file_calls(message(role="toolResult")) == ()
    assert file_calls(message(role="user", content="read a")) == ()


@pytest.mark.parametrize(
    ("calls", "previous", "read", "modified"),
    [
        ([], None, (), ()),
        ([("read", "b"), ("read", "a"), ("read", "b")], None, ("a", "b"), ()),
        ([("read", "a"), ("edit", "a"), ("write", "b")], None, (), ("a", "b")),
        ([("read", "c")], (("a",), ("b",)), ("a", "c"), ("b",)),
        ([("edit", "a")], (("a",), ("b",)), (), ("a", "b")),
        ([("read", "b")], (("a",), ("b",)), ("a",), ("b",)),
        ([("read", "\uffff"), ("read", "🚢"), ("read", "Z"), ("read", "a")], None, ("Z", "a", "🚢", "\uffff"), ()),
    ],
)
def test_a_modified_file_is_no_longer_a_read_one(
    calls: list[tuple[str, str]],
    previous: tuple[tuple[str, ...], tuple[str, ...]] | None,
    read: tuple[str, ...],
    modified: tuple[str, ...],
) -> None:
    before = FileLists(read_files=previous[0], modified_files=previous[1]) if previous else None
    assert file_lists(calls, before) == FileLists(read_files=read, modified_files=modified)


@given(st.lists(st.tuples(st.sampled_from(("read", "write", "edit")), texts)), st.lists(texts), st.lists(texts))
def test_no_file_is_lost_or_in_both_lists(calls: list[tuple[str, str]], read: list[str], modified: list[str]) -> None:
    found = file_lists(calls, FileLists(read_files=tuple(read), modified_files=tuple(modified)))
    assert set(found.read_files) | set(found.modified_files) == {path for _, path in calls} | {*read, *modified}
    assert not set(found.read_files) & set(found.modified_files)


@pytest.mark.parametrize(
    ("details", "from_hook", "expected"),
    [
        ({"readFiles": ["a"], "modifiedFiles": ["b"]}, False, FileLists(read_files=("a",), modified_files=("b",))),
        ({"readFiles": ["a"], "modifiedFiles": ["b"]}, None, FileLists(read_files=("a",), modified_files=("b",))),
        ({"readFiles": ["a"], "modifiedFiles": ["b"]}, True, FileLists()),
        ({"readFiles": ["a", 5, None], "modifiedFiles": "b"}, False, FileLists(read_files=("a",))),
        ({}, False, FileLists()),
        (None, False, FileLists()),
        (["a"], False, FileLists()),
    ],
)
def test_lists_of_an_earlier_compaction_are_taken_unless_an_extension_wrote_them(
    details: Any, from_hook: bool | None, expected: FileLists
) -> None:
    assert lists_of_details(details, from_hook) == expected


@given(json_values, st.one_of(st.none(), st.booleans()))
def test_details_may_be_anything(details: Any, from_hook: bool | None) -> None:
    assert isinstance(lists_of_details(details, from_hook), FileLists)


@pytest.mark.parametrize(
    ("files", "text"),
    [
        (FileLists(), ""),
        (FileLists(read_files=("a", "b")), "\n\n<read-files>\na\nb\n</read-files>"),
        (FileLists(modified_files=("c",)), "\n\n<modified-files>\nc\n</modified-files>"),
        (
            FileLists(read_files=("a",), modified_files=("c",)),
            "\n\n<read-files>\na\n</read-files>\n\n<modified-files>\nc\n</modified-files>",
        ),
    ],
)
def test_the_blocks_that_end_a_summary(files: FileLists, text: str) -> None:
    assert file_blocks(files) == text
