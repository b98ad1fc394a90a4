"""Entries that name others: targets must be there, and an edit must not part a pair."""

from typing import Any

import pytest
from builders import SessionBuilder, tool_call
from diagnosed import findings_of, line_of, told

CODES = ("unknown_edit_target", "edit_without_replacement", "edit_unpairs", "unknown_from_id", "unknown_label_target")


def pair() -> tuple[SessionBuilder, str, str]:
    """A session with a call and its result, and the ids of the two."""
    builder = SessionBuilder()
    builder.user()
    call = builder.assistant("I look.", tool_call("c1"))
    result = builder.result("c1")
    return builder, call, result


def found(builder: SessionBuilder) -> list[tuple[str, str]]:
    return [(f.severity, f.code) for f in findings_of(builder, *CODES)]


@pytest.mark.parametrize("new", [[], ["Shorter."]])
def test_an_edit_of_an_entry_before_it_is_in_order(new: list[Any]) -> None:
    builder = SessionBuilder()
    builder.edit(builder.user(), *new)
    assert told(builder) == []


def test_an_edit_of_an_entry_that_is_not_before_it_changes_nothing() -> None:
    builder, call, _ = pair()
    builder.edit("deadbeef")
    builder.add("context_edit", replacement=None)
    builder.back_to(builder.rows[0]["id"])
    builder.edit(call)
    assert found(builder) == [("warning", "unknown_edit_target")] * 3
    assert "names no entry" in findings_of(builder, *CODES)[1].message
    assert "not before it on the branch" in findings_of(builder, *CODES)[2].message


def test_an_edit_without_a_replacement_is_an_error() -> None:
    builder, call, _ = pair()
    builder.add("context_edit", targetId=call)
    assert found(builder) == [("error", "edit_without_replacement")]


@pytest.mark.parametrize(
    ("edits", "expected"),
    [
        (["call"], "but not its result on line 4"),
        (["result"], "but not the call on line 3"),
        (["call", "result"], None),
        (["call as text"], "but not its result on line 4"),
        (["call with another call"], "but not its result on line 4"),
        (["call with its call"], None),
        (["result as text"], None),
        (["call", "call with its call"], None),
    ],
)
def test_an_edit_that_takes_out_half_of_a_pair_is_told(edits: list[str], expected: str | None) -> None:
    builder, call, result = pair()
    for edit in edits:
        target = call if edit.startswith("call") else result
        new: dict[str, list[Any]] = {
            "as text": ["Shorter."],
            "with another call": [[tool_call("c9")]],
            "with its call": [[{"type": "text", "text": "I look."}, tool_call("c1")]],
        }
        builder.edit(target, *new.get(edit.partition(" ")[2], []))
    messages = [f.message for f in findings_of(builder, "edit_unpairs")]
    assert len(messages) == (expected is not None)
    assert expected is None or expected in messages[0]


def test_an_edit_on_a_branch_without_the_result_parts_nothing() -> None:
    builder, call, _ = pair()
    builder.back_to(call)
    builder.edit(call)
    assert found(builder) == []


def test_a_result_that_comes_after_the_edit_of_its_call_is_told() -> None:
    builder = SessionBuilder()
    call = builder.assistant("I look.", tool_call("c1"))
    edit = builder.edit(call)
    builder.result("c1")
    assert [f.line for f in findings_of(builder, "edit_unpairs")] == [line_of(builder, edit)]


@pytest.mark.parametrize(
    ("from_id", "expected"),
    [("00000001", []), ("root", []), (None, []), ("deadbeef", [("warning", "unknown_from_id")])],
)
def test_a_branch_summary_names_the_end_of_a_branch(from_id: str | None, expected: list[tuple[str, str]]) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.branch_summary(fromId=from_id)
    assert found(builder) == expected


@pytest.mark.parametrize(
    ("target", "expected"), [("00000001", []), (None, []), ("deadbeef", [("note", "unknown_label_target")])]
)
def test_a_label_for_nothing_is_a_note(target: str | None, expected: list[tuple[str, str]]) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.add("label", targetId=target, label="low tide")
    assert found(builder) == expected
