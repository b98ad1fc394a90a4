"""Calls of a shell -> checks with their verdicts, commits, and errors that nothing has resolved since.

Takes the calls of a history; gives for each check (tests, build, lint, types) its latest run, the commits that a result
confirms, and failures without a later success of the same command or file. A verdict is the exit status that the tool
result tells, never a guess from the text; the quoted line is verbatim.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compactor.findings.calls import Call, Outcome

MAX_COMMAND_CHARS = 160
"""A longer command is a script; its start names it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """The latest run of one check."""

    command: str
    """As it was run, without a leading `cd` and what only filters its output."""
    outcome: Outcome
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
    r"(?:^|[\s;&|(/])(?:pytest|py\.test|tox|nox|unittest|jest|vitest|mocha|ava|karma|playwright test|cypress run|rspec|phpunit|ctest"
    r"|(?:go|cargo|dotnet|swift|mix|gradle|\./gradlew|mvn|bazel|deno|bun|zig|sbt|lein|flutter|dart|rake|rails|node --?) ?(?:test|build|check"
    r"|vet|clippy|lint|analyze|verify|nextest|fmt --check)"
    r"|(?:npm|pnpm|yarn|bun)(?: run)?(?: -\S+)* (?:test|t|build|check|lint|typecheck|type-check|tsc|ci|verify|validate)[\w:.-]*"
    r"|make(?: -\S+)*(?: (?:test|check|build|lint|all|ci|verify)[\w-]*| *$)|just (?:test|check|build|lint|ci)\S*|tsc|tsgo|mypy|pyright|ruff|flake8|pylint"
    r"|eslint|biome|prettier --check|black --check|isort --check|shellcheck|rubocop|golangci-lint|cmake --build|ninja|msbuild|xcodebuild"
    r"|python\d? -m (?:pytest|unittest|mypy|compileall|build|ruff)|(?:\./|bash |sh )\S*tests?\S*\.sh)(?=$|[\s;&|)])"
)
_LEADING = re.compile(r"^\s*(?:(?:cd|pushd|export|source|set|\.) [^;&|\n]+(?:&&|;|\n)\s*|(?:[A-Z_][A-Z0-9_]*=\S* )+)+")
_FILTER = re.compile(r"\s*(?:2>&1|2>/dev/null|>/dev/null|\|\s*(?:tail|head|grep|rg|cat|tee|less|sed|awk|wc)\b[^|&;]*|(?:;|&&)\s*echo\b[^;&|]*)(?=\s|$|\||;)")
_VERDICTS = (
    re.compile(r"\b\d+ (?:tests? )?(?:passed|failed|failing|passing|errors?|skipped|failures?|warnings?|problems?)\b", re.IGNORECASE),
    re.compile(r"^(?:Tests?:|Test (?:Suites|Files)|test result:|Ran \d+ tests?|OK\b|FAILED\b|FAIL\b|ok\s|PASS\b|BUILD |Success|Found \d+|All (?:checks|tests|\w+ checks) pass)", re.IGNORECASE),
    re.compile(r"no (?:issues|errors|problems)|all .{0,30}(?:passed|pass|clean|ok)\b|build (?:succeeded|failed|successful)|compiled? (?:successfully|with)|finished", re.IGNORECASE),
)
_ERROR_LINE = re.compile(
    r"\berror\b|\w(?:Error|Exception)\b|\bfail(?:ed|ure|s)?\b|\bfatal\b|\bpanic|traceback|not found|no such|denied|cannot|can't|could not|unable|refused"
    r"|timed? ?out|undefined|unexpected|invalid|unresolved|missing|✗|✘|×|\bERR!|assert|错误|失败",
    re.IGNORECASE,
)
_STRONG_ERROR = re.compile(r"\w*(?:Error|Exception)\b(?:\[\w+\])?:|\berror(?:\[\w+\]| TS\d+|:)|\bfatal:|\bpanicked|ERR!|^E\s{2,}\S|\bFAILED\b", re.IGNORECASE)
_NOISE = re.compile(r"^\s*(?:at |\d+ \|Command exited|npm (?:ERR|error)! (?:A complete log|code|errno|path)|\[\d+ more|Traceback \(most|Command exited with code)")
_QUIET = re.compile(r"^(?:grep|rg|ls|cat|test|\[|diff|which|find|fd|git (?:diff|grep|status|log|show)|command -v|type|pgrep|head|tail|wc|sed|awk)\b")
_COMMIT = re.compile(r"^\[[^\]\n]{1,120} [0-9a-f]{7,40}\] .+$", re.MULTILINE)


def short_command(command: str) -> str:
    """The command without leading `cd` and assignments and without what only filters its output, on one line."""
    text = _FILTER.sub("", _LEADING.sub("", command[:2000])).strip()
    return " ".join(text.split()) or " ".join(command[:2000].split())


def is_check(command: str) -> bool:
    """True for a command that tests, builds, lints or checks types."""
    return len(command) <= MAX_COMMAND_CHARS and _CHECK.search(command) is not None


def latest_checks(calls: Sequence[Call]) -> list[CheckRun]:
    """The latest run of each check, in order of those runs."""
    last_change = max((call.message for call in calls if call.is_change and call.outcome == "ok"), default=-1)
    runs: dict[str, CheckRun] = {}
    for call in calls:
        command = short_command(call.command) if call.is_shell else ""
        if not command or not is_check(command):
            continue
        runs.pop(command, None)
        runs[command] = CheckRun(
            command=command,
            outcome=call.outcome,
            line=verdict_line(call) if call.outcome != "unknown" else "",
            message=call.message,
            entry_id=call.result_id or call.entry_id,
            stale=last_change > call.message,
        )
    return list(runs.values())


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
    """For each command and file the position of its last success."""
    last: dict[str, int] = {}
    for call in calls:
        if call.outcome == "ok":
            for key in _keys(call):
                last[key] = call.message
    return last


def _keys(call: Call) -> tuple[str, ...]:
    if call.is_shell:
        return (short_command(call.command),)
    return call.paths


def open_problems(calls: Sequence[Call]) -> list[Problem]:
    """Failures that no later success of the same command or the same file resolved, in order, the latest of each."""
    good = succeeded(calls)
    found: dict[str, Problem] = {}
    for call in calls:
        if call.outcome != "failed":
            continue
        for key in _keys(call):
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
    return _QUIET.match(command) is not None and exit_is_one(call)


def exit_is_one(call: Call) -> bool:
    """True if the result says exit code 1."""
    return "code 1" in call.result[-80:] and call.result[-80:].strip()[-6:] == "code 1"


def commits(calls: Iterable[Call]) -> list[Commit]:
    """The commits that the results of successful commands show, each once."""
    found: dict[str, Commit] = {}
    for call in calls:
        if call.is_shell and call.outcome == "ok" and "commit" in call.command:
            for line in _COMMIT.findall(call.shown_result):
                found[line] = Commit(line=line, message=call.message, entry_id=call.result_id)
    return list(found.values())
