"""Calls of a shell -> checks with their verdicts, commits, and errors that nothing has resolved since.

Takes the calls of a history; gives for each check (tests, build, lint, types) its latest run, the commits that a result
confirms, and failures without a later success of the same command or file. A verdict is the exit status that the tool
result tells, never a guess from the text; the quoted line is verbatim.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from compactor.findings.calls import Call, exit_code

Verdict = Literal["passed", "failed", "clean", "ran", "unknown"]
"""`clean` and `ran`: it ended, its exit status is not known; with and without a word of error in the output."""

MAX_COMMAND_CHARS = 160
"""A longer command is a script, not a check."""

MAX_SCRIPT_CHARS = 2000
"""Of a longer script only the start is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """The latest run of one check."""

    command: str
    """As it was run, without a leading `cd` and what only filters its output."""
    verdict: Verdict
    line: str
    """The line of the result that says how it went, verbatim; empty if none does."""
    message: int
    entry_id: str
    stale: bool
    """True when files were changed after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A failure that is still open."""

    subject: str
    """The command or the file."""
    line: str
    """The line of the result that tells the error, verbatim."""
    message: int
    entry_id: str
    is_file: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """A commit that git's output confirms."""

    line: str
    """`[branch hash] subject`, verbatim."""
    message: int
    entry_id: str


_CHECK = re.compile(
    r"(?:^|[\s;&|(/])(?:pytest|py\.test|tox|nox|unittest|jest|vitest|mocha|ava|karma|playwright test|cypress run"
    r"|rspec|phpunit|ctest"
    r"|(?:go|cargo|dotnet|swift|mix|gradle|\./gradlew|mvn|bazel|deno|bun|zig|sbt|lein|flutter|dart|rake|rails"
    r"|node --?) ?(?:test|build|check"
    r"|vet|clippy|lint|analyze|verify|nextest|fmt --check)"
    r"|(?:npm|pnpm|yarn|bun)(?: run)?(?: -\S+)* (?:test|t|build|check|lint|typecheck|type-check|tsc|ci|verify"
    r"|validate)[\w:.-]*"
    r"|make(?: -\S+)*(?: (?:test|check|build|lint|all|ci|verify)[\w-]*| *$)|just (?:test|check|build|lint|ci)\S*"
    r"|tsc|tsgo|mypy|pyright|ruff|flake8|pylint"
    r"|eslint|biome|prettier --check|black --check|isort --check|shellcheck|rubocop|golangci-lint|cmake --build"
    r"|ninja|msbuild|xcodebuild"
    r"|python\d? -m (?:pytest|unittest|mypy|compileall|build|ruff)|(?:\./|bash |sh )\S*tests?\S*\.sh)(?=$|[\s;&|)])"
)
_LEADING = re.compile(r"^\s*(?:(?:cd|pushd|export|source|set|\.) [^;&|\n]+(?:&&|;|\n)\s*|(?:[A-Z_][A-Z0-9_]*=\S* )+)+")
_PIPED = re.compile(
    r"\s*(?:2>&1\s*|2>/dev/null\s*)?\|\s*(?:tail|head|grep|egrep|rg|cat|tee|less|sed|awk|wc|sort|uniq|jq)\b.*$",
    re.MULTILINE,
)
_FAIL_COUNT = re.compile(
    r"\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?\b(?! fixed))|\bFAILED?\b|\berror(?:\[\w+\]| TS\d+)"
)
_JOINT = re.compile(r"\s*(?:&&|;|\n)\s*")
_REDIRECT = re.compile(r"\s*(?:2>&1|[12]?>\s*/dev/null|&>\s*/dev/null)")
_VERDICTS = (
    re.compile(
        r"\b\d+ (?:tests? )?(?:passed|failed|failing|passing|errors?|skipped|failures?|warnings?|problems?)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"^(?:Tests?:|Test (?:Suites|Files)|test result:|Ran \d+ tests?|OK\b|FAILED\b|FAIL\b|ok\s|PASS\b|BUILD "
        r"|Success|Found \d+|All (?:checks|tests|\w+ checks) pass)",
        re.IGNORECASE,
    ),
    re.compile(
        r"no (?:issues|errors|problems)|all .{0,30}(?:passed|pass|clean|ok)\b|build (?:succeeded|failed"
        r"|successful)|compiled? (?:successfully|with)|finished",
        re.IGNORECASE,
    ),
)
_ERROR_LINE = re.compile(
    r"\berror\b|\w(?:Error|Exception)\b|\bfail(?:ed|ure|s)?\b|\bfatal\b|\bpanic|traceback|not found|no such|denied"
    r"|cannot|can't|could not|unable|refused"
    r"|timed? ?out|undefined|unexpected|invalid|unresolved|missing|✗|✘|×|\bERR!|assert|错误|失败",
    re.IGNORECASE,
)
_STRONG_ERROR = re.compile(
    r"\w*(?:Error|Exception)\b(?:\[\w+\])?:|\berror(?:\[\w+\]| TS\d+|:)|\bfatal:|\bpanicked|ERR!|^E\s{2,}\S|\bFAILED\b",
    re.IGNORECASE,
)
_NOISE = re.compile(
    r"^\s*(?:at |\d+ \||npm (?:ERR|error)! (?:A complete log|code|errno|path)|\[\d+ more"
    r"|Traceback \(most|Command exited with code)"
)
_QUIET = re.compile(
    r"^(?:grep|rg|ls|cat|test|\[|diff|which|find|fd|git (?:diff|grep|status|log|show)|command -v|type|pgrep|head"
    r"|tail|wc|sed|awk)\b"
)
_TASK_NAME = re.compile(r"\b[A-Z]{2,6}-?\d+\b")
_COMMIT = re.compile(r"^\[[^\]\n]{1,120} [0-9a-f]{7,40}\] .+$", re.MULTILINE)


def short_command(command: str) -> str:
    """The command without leading `cd` and assignments and without what only filters its output, on one line."""
    text = _REDIRECT.sub("", _PIPED.sub("", _LEADING.sub("", command[:MAX_SCRIPT_CHARS]))).strip()
    lines = (line.strip().rstrip(";") for line in (text or command[:MAX_SCRIPT_CHARS]).splitlines())
    return " ".join("; ".join(line for line in lines if line).split())


def _is_filtered(command: str) -> bool:
    """True when the exit status is that of a pipe's last part, or of a later command."""
    return _PIPED.search(command) is not None or ";" in command or "||" in command or "\n" in command.strip()


def is_check(command: str) -> bool:
    """True for a command that tests, builds, lints or checks types."""
    return len(command) <= MAX_COMMAND_CHARS and _CHECK.search(command) is not None


def latest_checks(calls: Sequence[Call]) -> list[CheckRun]:
    """The latest run of each check, in order of those runs."""
    last_change = max((call.message for call in calls if call.is_change and call.outcome == "ok"), default=-1)
    good = succeeded(calls)
    runs: dict[str, CheckRun] = {}
    for call in calls:
        command = short_command(call.command) if call.is_shell else ""
        if not command or not is_check(command):
            continue
        runs.pop(command, None)
        line = verdict_line(call) if call.outcome != "unknown" else ""
        runs[command] = CheckRun(
            command=command,
            verdict=_verdict(call, line),
            line=line,
            message=call.message,
            entry_id=call.result_id or call.entry_id,
            stale=last_change > call.message,
        )
    return [run for run in runs.values() if run.verdict != "failed" or good.get(run.command, -1) <= run.message]


def _verdict(call: Call, line: str) -> Verdict:
    """What a result proves: a count of failures outweighs the exit status, and a filter's status proves nothing."""
    if call.outcome == "unknown":
        return "unknown"
    if call.outcome == "failed" or (line and _FAIL_COUNT.search(line)):
        return "failed"
    if not _is_filtered(call.command[:MAX_SCRIPT_CHARS]):
        return "passed"
    if line and any(pattern.search(line) for pattern in _VERDICTS):
        return "passed"
    return "ran" if error_line(call.shown_result) else "clean"


def verdict_line(call: Call) -> str:
    """The line of a result that sums up how a check went, the last of the most telling kind; empty if there is none."""
    lines = [line.strip() for line in call.shown_result.splitlines()]
    lines = [line for line in lines if line and len(line) <= 300 and not _NOISE.match(line)]
    for pattern in _VERDICTS[:2]:
        found = [line for line in lines if pattern.search(line)]
        if found:
            return found[-1].strip("= -")
    if call.outcome == "failed":
        return error_line(call.shown_result)
    found = [line for line in lines if _VERDICTS[2].search(line)]
    return found[-1].strip("= -") if found else ""


def error_line(result: str) -> str:
    """The line of a result that names the error: the last strong one, else the first that speaks of one, else empty."""
    weak = strong = ""
    for line in result.splitlines():
        line = line.strip()
        if not line or len(line) > 400 or _NOISE.match(line):
            continue
        if _STRONG_ERROR.search(line):
            strong = line
        elif not weak and _ERROR_LINE.search(line):
            weak = line
    return strong or weak


def succeeded(calls: Iterable[Call]) -> dict[str, int]:
    """For each command, each part of a command line, and each file the position of its last success."""
    last: dict[str, int] = {}
    for call in calls:
        if call.outcome == "ok" and not (call.is_shell and _FAIL_COUNT.search(verdict_line(call))):
            for key in _keys(call):
                last[key] = call.message
    return last


def _keys(call: Call) -> tuple[str, ...]:
    if not call.is_shell:
        return call.paths
    command = short_command(call.command)
    parts = tuple(part for part in _JOINT.split(command) if part)
    return (command, *parts) if len(parts) > 1 else (command,)


def open_problems(calls: Sequence[Call]) -> list[Problem]:
    """Failures that no later success of the same command or the same file resolved, in order, the latest of each."""
    good = succeeded(calls)
    found: dict[str, Problem] = {}
    for call in calls:
        if call.outcome != "failed":
            continue
        for key in _keys(call)[:1]:
            if not key or good.get(key, -1) > call.message or (call.is_shell and _is_quiet(key, call)):
                continue
            line = error_line(call.shown_result)
            if not line and not (call.is_shell and is_check(key)):
                continue
            found.pop(key, None)
            found[key] = Problem(
                subject=key,
                line=line,
                message=call.message,
                entry_id=call.result_id or call.entry_id,
                is_file=not call.is_shell,
            )
    return list(found.values())


def _is_quiet(command: str, call: Call) -> bool:
    """True for searches and tests, whose exit code 1 is an answer."""
    return _QUIET.match(command) is not None and exit_code(call.result) == 1


def task_names(text: str) -> list[str]:
    """The numbered tasks that a text names, such as `WP15` or `ABC-12`, in order."""
    return _TASK_NAME.findall(text)


def commits(calls: Iterable[Call]) -> list[Commit]:
    """The commits that the results of successful commands show, each once."""
    found: dict[str, Commit] = {}
    for call in calls:
        if call.is_shell and call.outcome == "ok" and "commit" in call.command:
            for line in _COMMIT.findall(call.shown_result):
                found[line] = Commit(line=line, message=call.message, entry_id=call.result_id)
    return list(found.values())
