"""Tool calls and results: pairs are found on each branch, and every odd one is told by what is odd about it."""

import pytest
from builders import SessionBuilder, tool_call
from diagnosed import findings_of, line_of
from hypothesis import given
from strategies import sessions

from compactor.diagnosis.examined import examine
from compactor.diagnosis.tools import pair

CODES = ("orphan_result", "result_on_other_branch", "result_before_call", "duplicate_result", "dangling_call")


def odd(builder: SessionBuilder) -> list[tuple[str, str, int | None]]:
    return [(found.severity, found.code, found.line) for found in findings_of(builder, *CODES)]


def test_a_call_with_its_result_is_in_order() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.assistant("I look.", tool_call("c1"), tool_call("c2"))
    builder.result("c2")
    builder.result("c1")
    builder.assistant("Done.")
    assert findings_of(builder) == []


def test_ids_that_start_anew_in_every_message_are_in_order() -> None:
    builder = SessionBuilder()
    for _ in range(3):
        builder.assistant("I look.", tool_call("call_0"))
        builder.result("call_0")
    assert odd(builder) == []


def test_a_result_without_any_call_is_an_orphan() -> None:
    builder = SessionBuilder()
    builder.user()
    orphan = builder.result("nobody")
    unnamed = builder.message("toolResult", content=[])
    lines = line_of(builder, orphan), line_of(builder, unnamed)
    assert odd(builder) == [("error", "orphan_result", line) for line in lines]


def test_a_result_before_its_call_is_told() -> None:
    builder = SessionBuilder()
    builder.user()
    result = builder.result("c1")
    call = builder.assistant("I look.", tool_call("c1"))
    builder.user()
    (found, dangling) = findings_of(builder, *CODES)
    assert (found.code, found.line) == ("result_before_call", line_of(builder, result))
    assert f"made on line {line_of(builder, call)}" in found.message
    assert dangling.code == "dangling_call"


def test_a_result_on_another_branch_than_its_call_is_told() -> None:
    builder = SessionBuilder()
    start = builder.user()
    call = builder.assistant("I look.", tool_call("c1"))
    builder.back_to(start)
    result = builder.result("c1")
    found = findings_of(builder, "result_on_other_branch")
    assert [f.line for f in found] == [line_of(builder, result)]
    assert f"line {line_of(builder, call)}" in found[0].message


def test_the_same_result_on_two_branches_is_in_order_and_twice_on_one_is_not() -> None:
    builder = SessionBuilder()
    call = builder.assistant("I look.", tool_call("c1"))
    builder.result("c1")
    builder.user()
    builder.back_to(call)
    builder.result("c1")
    assert odd(builder) == []
    twice = builder.result("c1")
    assert odd(builder) == [("warning", "duplicate_result", line_of(builder, twice))]


@pytest.mark.parametrize(
    ("stop", "after", "severity"),
    [
        ("toolUse", ["user"], "warning"),
        ("toolUse", [], "note"),
        ("toolUse", ["result"], "note"),
        ("toolUse", ["bookkeeping"], "note"),
        ("aborted", ["user"], "note"),
        ("error", ["user", "assistant"], "note"),
    ],
)
def test_a_call_without_a_result_is_normal_where_the_turn_or_the_session_ended(
    stop: str, after: list[str], severity: str
) -> None:
    builder = SessionBuilder()
    builder.assistant("I look.", tool_call("c1"), tool_call("c2"), stopReason=stop)
    for step in after:
        getattr(builder, step)(*(["c2"] if step == "result" else []))
    found = findings_of(builder, "dangling_call")
    assert {f.severity for f in found} == {severity}
    assert "the call c1 has no result" in found[0].message


@given(sessions())
def test_each_result_is_paired_with_the_newest_such_call_on_its_branch_or_told(builder: SessionBuilder) -> None:
    session = builder.session()
    examined = examine(session)
    pairs = pair(examined)
    for index, facts in enumerate(examined.facts):
        if not facts.results:
            continue
        at = session.parents[index]
        while at is not None and facts.results[0] not in examined.facts[at].calls:
            at = session.parents[at]
        assert pairs.call_of.get(index) == at
        assert (index in pairs.lonely) == (at is None)
    answered = {(call, examined.facts[result].results[0]) for result, call in pairs.call_of.items()}
    everything = {(i, call) for i, facts in enumerate(examined.facts) for call in facts.calls}
    assert set(pairs.unanswered) == everything - answered
