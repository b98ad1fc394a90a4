"""Requests: which one is current, which are answered, what was done for each."""

import pytest
from talk import assistant, call, edited, ids_of, ran, user

from compactor.findings.calls import find_calls
from compactor.findings.commands import commits
from compactor.findings.requests import Request, find_requests
from compactor.messages import Message


def requests_of(messages: list[Message]) -> list[Request]:
    calls = find_calls(messages)
    return find_requests(messages, ids_of(messages), calls, commits(calls))


def test_a_turn_is_answered_when_it_ends_with_a_text() -> None:
    messages = [user("a"), *edited("1", "x.py"), assistant("done"), user("b"), *edited("2", "y.py")]
    assert [(r.text, r.answered, r.changed, r.answer) for r in requests_of(messages)] == [
        ("a", True, (("x.py", 1),), "done"),
        ("b", False, (("y.py", 1),), ""),
    ]


@pytest.mark.parametrize("reason", ["aborted", "error", "length"])
def test_a_text_that_was_cut_off_is_no_answer(reason: str) -> None:
    assert [r.answered for r in requests_of([user("a"), assistant("do", stop_reason=reason)])] == [False]


def test_a_text_with_a_call_is_no_answer() -> None:
    assert [r.answered for r in requests_of([user("a"), assistant("go", call("1", "read", path="x"))])] == [False]


def test_messages_before_the_first_request_are_a_turn_without_a_text() -> None:
    found = requests_of([*edited("1", "x.py"), assistant("done"), user("b")])
    assert [(r.text, r.answered) for r in found] == [("", True), ("b", False)]
    assert requests_of([]) == []
    assert requests_of([Message(role="custom", content="x")]) == []


def test_only_successful_changes_and_confirmed_commits_are_work() -> None:
    messages = [
        user("a"),
        *edited("1", "bad.py", failed=True),
        *edited("2", "good.py"),
        *edited("3", "good.py"),
        *ran("4", "git commit -m x", "[main abcdef1] x"),
    ]
    [request] = requests_of(messages)
    assert (request.changed, request.commits) == ((("good.py", 2),), ("[main abcdef1] x",))


@pytest.mark.parametrize("text", ["continue", "ok, go on", "Yes please continue", "继续", "it's good. continue"])
def test_go_on_needs_the_request_before_it(text: str) -> None:
    assert requests_of([user(text)])[0].goes_on


@pytest.mark.parametrize("text", ["Fix the parser.", "continue the migration of all twelve services, then write docs"])
def test_a_request_of_its_own_does_not(text: str) -> None:
    assert not requests_of([user(text)])[0].goes_on


def test_a_question_at_the_end_asks_back() -> None:
    assert requests_of([user("a"), assistant("Done. Shall I push?")])[0].asks_back
    assert not requests_of([user("a"), assistant("Done. Pushed.")])[0].asks_back
