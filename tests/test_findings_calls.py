"""Calls: paired with their results; done only if a result says so; todo lists."""

import pytest
from talk import assistant, call, edited, ids_of, ran, result, user

from compactor.findings.calls import Outcome, exit_code, find_calls
from compactor.findings.todos import find_todos
from compactor.messages import Message, NestedCall, NestedCalls


def test_a_call_has_the_outcome_of_its_result_and_none_without_one() -> None:
    messages = [
        assistant("", call("a", "edit", path="a.py"), call("b", "edit", path="b.py"), call("c", "edit", path="c.py")),
        result("b", "no match", failed=True),
        result("a", "ok"),
    ]
    calls = find_calls(messages, ids_of(messages))
    assert [(c.paths, c.outcome, c.entry_id, c.result_id) for c in calls] == [
        (("a.py",), "ok", "e0", "e2"),
        (("b.py",), "failed", "e0", "e1"),
        (("c.py",), "unknown", "e0", ""),
    ]


@pytest.mark.parametrize(
    ("text", "failed", "outcome"),
    [
        ("fine", False, "ok"),
        ("boom\n\nCommand exited with code 2", True, "failed"),
        ("boom\n\nCommand exited with code 2", False, "failed"),
        ("Exit code: 0\nfine", False, "ok"),
        ("Exit code: 1\nbad", False, "failed"),
    ],
)
def test_a_command_failed_if_the_result_or_its_exit_code_says_so(text: str, failed: bool, outcome: Outcome) -> None:
    assert [c.outcome for c in find_calls(ran("a", "make", text, failed=failed))] == [outcome]


def test_exit_codes_are_read_at_the_end_and_in_the_first_line() -> None:
    assert exit_code("x" * 900 + "exit code 1" + "y" * 900) is None
    assert exit_code("done\nCommand exited with code 127") == 127


def test_a_command_of_the_user_is_a_call_unless_it_is_private() -> None:
    row = Message(role="bashExecution", command="make", output="bad", exit_code=2)
    private = Message(role="bashExecution", command="secret", output="", exclude_from_context=True)
    [made] = find_calls([row, private])
    assert (made.command, made.by_user, made.outcome) == ("make", True, "failed")


def test_nested_calls_are_as_good_as_the_script_that_made_them() -> None:
    nested = NestedCalls(calls=[NestedCall(name="write", arguments={"path": "n.py"}), NestedCall(name="x")])
    good = Message(role="toolResult", tool_call_id="z", nested_calls=nested)
    bad = Message(role="toolResult", tool_call_id="z", nested_calls=nested, is_error=True)
    assert [c.outcome for c in find_calls([good])] == ["ok", "ok"]
    assert [c.outcome for c in find_calls([bad])] == ["unknown", "unknown"]


def test_a_record_of_what_the_call_itself_says_is_no_second_call() -> None:
    asked = assistant("", call("a", "Edit", file_path="a.py"))
    records = [NestedCall(name="edit", arguments={"path": path}) for path in ("a.py", "b.py")]
    answer = Message(role="toolResult", tool_call_id="a", nested_calls=NestedCalls(calls=records))
    found = find_calls([asked, answer])
    assert [(c.tool, c.paths, c.outcome) for c in found] == [("edit", ("a.py",), "ok"), ("edit", ("b.py",), "ok")]
    assert [c.paths for c in find_calls([answer])] == [("a.py",), ("b.py",)]


@pytest.mark.parametrize(
    ("arguments", "paths", "command"),
    [
        ({"path": "a"}, ("a",), ""),
        ({"file_path": "a"}, ("a",), ""),
        ({"patch": "*** Update File: a.py\n*** Add File: b.py\n"}, ("a.py", "b.py"), ""),
        ({"command": ["bash", "-lc", "make test"]}, (), "make test"),
        ({"cmd": ["git", "status"]}, (), "git status"),
        ({"path": 7, "command": None}, (), ""),
    ],
)
def test_arguments_of_several_agents_are_understood(
    arguments: dict[str, object], paths: tuple[str, ...], command: str
) -> None:
    [made] = find_calls([assistant("", call("a", "Bash", **arguments))])
    assert (made.paths, made.command, made.tool) == (paths, command, "bash")


def test_malformed_calls_never_fail() -> None:
    broken = Message(role="assistant", content=[call("a", "edit")])
    odd = assistant("", call("", "bash", command={"x": 1}))
    [_, made] = find_calls([broken, odd, Message(role="toolResult"), user("x"), *edited("q", "z.py")[1:]])
    assert made.command == ""


def test_the_latest_todo_list_counts() -> None:
    old = call("a", "todowrite", todos=[{"content": "old", "status": "pending"}])
    new = call(
        "b",
        "todowrite",
        todos=[
            {"content": "write", "status": "completed"},
            {"content": "test", "status": "in_progress"},
            {"content": "ship", "status": "pending"},
            {"status": "pending"},
            "noise",
        ],
    )
    todos = find_todos(find_calls([assistant("", old), assistant("", new), *edited("e", "a.py")]))
    assert [(t.text, t.state) for t in todos] == [("write", "done"), ("test", "active"), ("ship", "open")]
    assert find_todos(find_calls(edited("e", "a.py"))) == []


def test_a_call_of_a_todo_tool_without_a_list_leaves_the_list_before_it() -> None:
    listed = call("a", "todowrite", todos=[{"content": "ship", "status": "pending"}])
    asked = [assistant("", call("b", "todoread")), assistant("", call("c", "update_plan", plan=[]))]
    assert [todo.text for todo in find_todos(find_calls([assistant("", listed), *asked]))] == ["ship"]
