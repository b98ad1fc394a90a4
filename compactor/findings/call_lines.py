"""Calls -> lines of a summary: checks by their verdict, open failures, calls without a result, todo lists.

Takes the calls of a history; adds `Item` values to sections. A check that failed is in progress, a passed one is done.
"""

from collections.abc import Sequence

from compactor.findings.calls import READ_TOOLS, Call
from compactor.findings.commands import CheckRun, latest_checks, open_problems, short_command
from compactor.findings.frames import Frames
from compactor.findings.items import BLOCKED, CONTEXT, DONE, IN_PROGRESS, NEXT, Item, Sections
from compactor.findings.quotes import clipped, code, quoted, reference
from compactor.findings.todos import find_todos

LINE_CHARS = 200
PATH_CHARS = 120
MAX_PATHS = 8


def add_calls(sections: Sections, calls: Sequence[Call], frames: Frames, length: int, last_turn: int) -> None:
    """Adds the lines of all calls.

    Args:
        sections: where the lines go.
        calls: the calls of the history, in order.
        frames: the fixed words.
        length: number of messages of the history, which recency is measured by.
        last_turn: position of the first message of the last turn.
    """
    _add_checks(sections, calls, frames, length)
    _add_unanswered(sections, calls, frames, length, last_turn)
    _add_cut_reads(sections, calls, frames, length)
    _add_todos(sections, calls, frames, length)


def recency(message: int, length: int) -> int:
    """0 for the first message of a history, 20 for the last."""
    return 20 * (message + 1) // max(1, length)


def _add_checks(sections: Sections, calls: Sequence[Call], frames: Frames, length: int) -> None:
    failed = set()
    for run in latest_checks(calls):
        section = DONE if run.verdict in ("passed", "clean", "ran") else IN_PROGRESS
        rank = 45 + recency(run.message, length) + 10 * (run.verdict == "failed") - 20 * (run.stale and section == DONE)
        sections[section].append(Item(text=_check_line(run, frames), rank=rank, order=run.message))
        failed.add(run.command)
    for problem in open_problems(calls):
        if problem.subject in failed and not problem.is_file:
            continue
        line = f": {quoted(problem.line, LINE_CHARS)}" if problem.line else ""
        text = f"{code(problem.subject, LINE_CHARS)} {frames.failed}{line}{reference(problem.entry_id)}"
        rank = 30 + 2 * recency(problem.message, length)
        sections[BLOCKED].append(Item(text=text, rank=rank, order=problem.message))


def _add_unanswered(sections: Sections, calls: Sequence[Call], frames: Frames, length: int, last_turn: int) -> None:
    for call in calls:
        if call.outcome != "unknown" or call.tool in READ_TOOLS:
            continue
        what = call.paths[0] if call.paths else short_command(call.command)
        name = f"{clipped(call.tool, 40)} {code(what, LINE_CHARS)}" if what else clipped(call.tool, 40)
        # An old one was stopped and left; only at the end it is what the agent was doing.
        rank = 80 if call.message >= last_turn else 15 + recency(call.message, length)
        text = f"{name}: {frames.no_result}{reference(call.entry_id)}"
        sections[IN_PROGRESS].append(Item(text=text, rank=rank, order=call.message))


def _add_cut_reads(sections: Sections, calls: Sequence[Call], frames: Frames, length: int) -> None:
    cut = _cut_reads(calls)
    if cut:
        names = ", ".join(code(path, PATH_CHARS) for path in cut[-MAX_PATHS:])
        text = f"{frames.partly_read}: {names}"
        sections[CONTEXT].append(Item(text=text, rank=45, order=length))


def _add_todos(sections: Sections, calls: Sequence[Call], frames: Frames, length: int) -> None:
    for n, todo in enumerate(find_todos(calls)):
        section = {"done": DONE, "active": IN_PROGRESS, "open": NEXT}[todo.state]
        text = f"{quoted(todo.text, LINE_CHARS)} ({frames.todo}{reference(todo.entry_id)})"
        if todo.state != "done":
            sections[section].append(Item(text=text, rank=70, order=length + n))


def _check_line(run: CheckRun, frames: Frames) -> str:
    verdict = {
        "passed": frames.passed,
        "failed": frames.failed,
        "clean": frames.clean,
        "ran": frames.ran,
        "unknown": frames.unknown,
    }[run.verdict]
    line = f": {quoted(run.line, LINE_CHARS)}" if run.line else ""
    stale = f"; {frames.stale}" if run.stale else ""
    return f"{code(run.command, LINE_CHARS)} {verdict}{line}{reference(run.entry_id)}{stale}"


def _cut_reads(calls: Sequence[Call]) -> list[str]:
    """Files whose latest read came back cut, in order."""
    found: dict[str, bool] = {}
    for call in calls:
        if call.tool in READ_TOOLS and call.outcome == "ok" and call.paths:
            found.pop(call.paths[0], None)
            tail = call.result[-160:].lower()
            found[call.paths[0]] = "more lines in file" in tail or "truncated" in tail
    return [path for path, cut in found.items() if cut]
