"""Checks with their verdicts, failures that are still open, commits."""

import pytest
from talk import assistant, call, edited, ids_of, ran, result

from compactor.findings.calls import find_calls
from compactor.findings.commands import (
    Verdict,
    commits,
    error_line,
    is_check,
    latest_checks,
    open_problems,
    short_command,
    succeeded,
    task_names,
)
from compactor.messages import Message


@pytest.mark.parametrize(
    ("command", "short"),
    [
        ("cd /a/b && npm test 2>&1 | tail -20", "npm test"),
        ("FOO=1 BAR=x pytest -q", "pytest -q"),
        ("set -e\ncd x\nbash a.sh\nbash b.sh", "bash a.sh; bash b.sh"),
        ('npm run check 2>&1 | grep -E "(error|Fixed)"', "npm run check"),
        ("cd /only", "cd /only"),
        ("", ""),
    ],
)
def test_a_command_is_named_without_what_is_around_it(command: str, short: str) -> None:
    assert short_command(command) == short


@pytest.mark.parametrize(
    "command",
    [
        *("npm test", "npm run lint", "pnpm typecheck", "yarn build", "npx vitest run", "pytest -q tests", "tox"),
        *("python -m pytest", "go test ./...", "cargo clippy", "make check", "make", "mypy src", "ruff check .", "tsc"),
        *("npx tsgo --noEmit", "bash tests/hardening/t1.sh", "./gradlew test", "mvn verify", "eslint ."),
    ],
)
def test_checks_of_many_tools_are_known(command: str) -> None:
    assert is_check(command)


@pytest.mark.parametrize("command", ["ls", "git status", "cat make.txt", "npm install", "echo test", "python a.py"])
def test_other_commands_are_no_checks(command: str) -> None:
    assert not is_check(command)


@pytest.mark.parametrize(
    ("command", "text", "failed", "verdict", "line"),
    [
        ("pytest", "....\n===== 12 passed in 1.2s =====", False, "passed", "12 passed in 1.2s"),
        ("pytest", "=== 3 failed, 9 passed ===\nCommand exited with code 1", True, "failed", "3 failed, 9 passed"),
        ("npm test | tail", "T1 result: 0 passed, 11 failed", False, "failed", "T1 result: 0 passed, 11 failed"),
        ("mypy .", "a.py:1: error: bad\nFound 2 errors in 1 file", True, "failed", "Found 2 errors in 1 file"),
        ("tsc", "a.ts(1,2): error TS2322: no", True, "failed", "a.ts(1,2): error TS2322: no"),
        ("make check", "", False, "passed", ""),
        ("make check 2>&1 | tail -5", "all quiet", False, "clean", ""),
        ("make check | tail -5", "error: it broke", False, "ran", ""),
        ("cargo test", "test result: ok. 12 passed; 0 failed", False, "passed", "test result: ok. 12 passed; 0 failed"),
    ],
)
def test_a_verdict_is_what_the_result_proves_with_its_line(
    command: str, text: str, failed: bool, verdict: Verdict, line: str
) -> None:
    [run] = latest_checks(find_calls(ran("a", command, text, failed=failed)))
    assert (run.verdict, run.line) == (verdict, line)


def test_the_latest_run_of_a_check_counts_and_a_change_after_it_makes_it_stale() -> None:
    messages = [
        *ran("a", "npm test", "1 failed", failed=True),
        *edited("b", "x.py"),
        *ran("c", "npm test", "2 passed"),
    ]
    [run] = latest_checks(find_calls(messages, ids_of(messages)))
    assert (run.verdict, run.stale, run.entry_id) == ("passed", False, "e5")
    messages += edited("d", "y.py")
    assert [r.stale for r in latest_checks(find_calls(messages))] == [True]
    messages += edited("e", "z.py", failed=True)
    assert [r.verdict for r in latest_checks(find_calls(messages))] == ["passed"]


def test_a_check_without_a_result_is_unknown() -> None:
    assert [r.verdict for r in latest_checks(find_calls([assistant("", call("a", "bash", command="make"))]))] == [
        "unknown"
    ]


def test_a_failure_is_open_until_the_same_command_or_file_succeeds() -> None:
    failed = [*ran("a", "node x.js", "Error: no x", failed=True), *edited("b", "q.py", failed=True)]
    problems = open_problems(find_calls(failed))
    assert [(p.subject, p.line, p.is_file) for p in problems] == [
        ("node x.js", "Error: no x", False),
        ("q.py", "Could not find the exact text", True),
    ]
    fixed = [*failed, *ran("c", "cd d && node x.js", "fine"), *edited("d", "q.py")]
    assert open_problems(find_calls(fixed)) == []


def test_a_part_of_a_longer_command_line_that_succeeded_is_resolved() -> None:
    messages = [*ran("a", "bash tests/t1.sh", "1 failed", failed=True), *ran("b", "bash tests/t1.sh && ls", "1 passed")]
    assert latest_checks(find_calls(messages))[0].verdict == "passed"
    assert "bash tests/t1.sh" in succeeded(find_calls(messages))


@pytest.mark.parametrize("command", ["grep -rn foo src", "test -f a", "diff a b", "rg foo"])
def test_exit_code_1_of_a_search_is_no_failure(command: str) -> None:
    text = "error: nothing\n\nCommand exited with code 1"
    assert open_problems(find_calls(ran("a", command, text, failed=True))) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (
            "a\nTypeError: x is no function\n    at f (a.js:1)\nCommand exited with code 1",
            "TypeError: x is no function",
        ),
        ("warning\nfile not found\nok", "file not found"),
        ("all fine", ""),
        ("Traceback (most recent call last):\n  File\nKeyError: 'a'", "KeyError: 'a'"),
    ],
)
def test_the_line_that_names_the_error_is_quoted(text: str, line: str) -> None:
    assert error_line(text) == line


def test_commits_are_those_that_git_confirms() -> None:
    good = ran("a", "git commit -m 'WP3: x'", "[main eba196f] WP3: x\n 2 files changed")
    bad = ran("b", "git commit -m 'y'", "[main aaaaaaa] y\nCommand exited with code 1", failed=True)
    asked: list[Message] = [assistant("", call("c", "bash", command="git commit -m z"))]
    found = commits(find_calls([*good, *bad, *asked, *good[:0], result("zz", "[main bbbbbbb] w")]))
    assert [c.line for c in found] == ["[main eba196f] WP3: x"]
    assert task_names(found[0].line) == ["WP3"]
