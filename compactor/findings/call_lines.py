"""Calls -> lines of a summary: checks by their verdict, open failures, calls without a result, todo lists.

Takes the calls of a history; adds `Item` values to sections. A check that failed is in progress, a passed one is done.
"""

from collections.abc import Sequence

from compactor.findings.calls import READ_TOOLS, Call
from compactor.findings.commands import CheckRun, latest_checks, open_problems, short_command
from compactor.findings.items import BLOCKED, CONTEXT, DONE, IN_PROGRESS, NEXT, Item, Sections
from compactor.findings.page import Page
from compactor.findings.quotes import clipped, code, quoted, reference, short_path
from compactor.findings.todos import find_todos

MAX_PATHS = 8
MAX_PATH_CHARS = 120


def add_calls(sections: Sections, calls: Sequence[Call], page: Page) -> None:
    """Adds the lines of all calls."""
    _add_checks(sections, calls, page)
    _add_unanswered(sections, calls, page)
    _add_cut_reads(sections, calls, page)
    _add_todos(sections, calls, page)


def _add_checks(sections: Sections, calls: Sequence[Call], page: Page) -> None:
    failed = set()
    for run in latest_checks(calls):
        section = DONE if run.verdict in ("passed", "clean") else BLOCKED if run.verdict == "failed" else IN_PROGRESS
        rank = _check_rank(run, page)
        sections[section].append(Item(text=_check_line(run, page), rank=rank, order=run.message))
        failed.add(run.command)
    for problem in open_problems(calls):
        if problem.subject in failed and not problem.is_file:
            continue
        line = f": {quoted(problem.line, page.note_chars)}" if problem.line else ""
        text = f"{code(problem.subject, page.note_chars)} {page.frames.failed}{line}{reference(problem.entry_id)}"
        rank = 10 + 3 * page.recency(problem.message)
        sections[BLOCKED].append(Item(text=text, rank=rank, order=problem.message))


def _add_unanswered(sections: Sections, calls: Sequence[Call], page: Page) -> None:
    for call in calls:
        if call.outcome != "unknown" or call.tool in READ_TOOLS:
            continue
        what = call.paths[0] if call.paths else short_command(call.command)
        name = f"{clipped(call.tool, 40)} {code(what, page.note_chars)}" if what else clipped(call.tool, 40)
        # An old one was stopped and left; only at the end it is what the agent was doing.
        rank = 80 if call.message >= page.last_turn else 15 + page.recency(call.message)
        text = f"{name}: {page.frames.no_result}{reference(call.entry_id)}"
        sections[IN_PROGRESS].append(Item(text=text, rank=rank, order=call.message))


def _add_cut_reads(sections: Sections, calls: Sequence[Call], page: Page) -> None:
    cut = _cut_reads(calls)
    if cut:
        names = ", ".join(code(short_path(path), MAX_PATH_CHARS) for path in cut[-MAX_PATHS:])
        text = f"{page.frames.partly_read}: {names}"
        sections[CONTEXT].append(Item(text=text, rank=45, order=page.length))


def _add_todos(sections: Sections, calls: Sequence[Call], page: Page) -> None:
    for n, todo in enumerate(find_todos(calls)):
        # What the list calls done is a claim; what the tools confirmed of it stands under Done anyway.
        if todo.state != "done":
            text = f"{quoted(todo.text, page.note_chars)} ({page.frames.todo}{reference(todo.entry_id)})"
            section = IN_PROGRESS if todo.state == "active" else NEXT
            sections[section].append(Item(text=text, rank=70, order=page.length + n))


def _check_rank(run: CheckRun, page: Page) -> int:
    """A failure counts most, also an old one; what changes have made stale or what proves nothing counts little."""
    if run.verdict == "ran":
        return 15
    rank = 45 + page.recency(run.message) + 10 * (run.verdict == "failed")
    return rank - 20 * run.stale


def _check_line(run: CheckRun, page: Page) -> str:
    verdict = {
        "passed": page.frames.passed,
        "failed": page.frames.failed,
        "clean": page.frames.clean,
        "ran": page.frames.ran,
        "unknown": page.frames.unknown,
    }[run.verdict]
    line = f": {quoted(run.line, page.note_chars)}" if run.line else ""
    stale = f"; {page.frames.stale}" if run.stale else ""
    return f"{code(run.command, page.note_chars)} {verdict}{line}{reference(run.entry_id)}{stale}"


def _cut_reads(calls: Sequence[Call]) -> list[str]:
    """Files whose latest read came back cut, in order."""
    found: dict[str, bool] = {}
    for call in calls:
        if call.tool in READ_TOOLS and call.outcome == "ok" and call.paths:
            found.pop(call.paths[0], None)
            tail = call.result[-160:].lower()
            found[call.paths[0]] = "more lines in file" in tail or "truncated" in tail
    return [path for path, cut in found.items() if cut]
