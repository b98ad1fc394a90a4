"""Requests -> lines of a summary: the current one into Goal, earlier ones with what was done for them into Done."""

from collections.abc import Sequence

from compactor.findings.frames import Frames
from compactor.findings.items import DONE, GOAL, IN_PROGRESS, Item, Sections
from compactor.findings.page import Page
from compactor.findings.quotes import code, quoted, reference, short_path
from compactor.findings.requests import Request

MAX_PATHS = 8
MAX_COMMITS = 4
CARRIED_LAST = 1 << 30
"""An order behind all messages."""


MAX_OPEN_REQUEST_CHARS = 240


def name_open_request(sections: Sections, text: str, frames: Frames) -> None:
    """Names the request of a split turn, which is summarized apart, in the place of "every request is answered"."""
    line = Item(text=f"{frames.current}: {quoted(text, MAX_OPEN_REQUEST_CHARS)}", rank=100, order=CARRIED_LAST)
    sections[GOAL] = [*(item for item in sections[GOAL] if item.text != frames.none_open), line]


def add_requests(sections: Sections, requests: Sequence[Request], page: Page) -> None:
    """Adds the lines of all requests.

    The last request is current as long as it has no answer. An earlier one that was neither answered nor led to a
    change stays in progress, with a low rank: most often the user went on to something else.
    """
    last = requests[-1] if requests else None
    current = last if last is not None and not last.answered else None
    for n, request in enumerate(requests):
        if request is not current and not (request.is_trivial and not request.changed):
            _add_earlier(sections, request, page, is_first=n == 0)
    if current is not None:
        _add_current(sections, current, requests, page)
        return
    if last is None:
        return
    sections[GOAL].append(Item(text=page.frames.none_open, rank=90, order=page.length))
    if last.asks_back:
        question = quoted(_last_sentence(last.answer), page.note_chars)
        text = f"{page.frames.asked_back}{reference(last.answer_id)}: {question}"
        sections[IN_PROGRESS].append(Item(text=text, rank=85, order=last.message))


def _add_current(sections: Sections, current: Request, requests: Sequence[Request], page: Page) -> None:
    frames = page.frames
    if current.text:
        name = frames.current if page.ends_inside else frames.latest
        text = f"{name}{reference(current.entry_id)}: {quoted(current.text, page.request_chars)}"
        sections[GOAL].append(Item(text=text, rank=100, order=page.length))
    elif page.ends_inside:
        sections[GOAL].append(Item(text=_opening(current, page), rank=100, order=page.length))
    if current.goes_on:
        before = next((r for r in reversed(requests) if r.text and not r.goes_on), None)
        if before is not None:
            quote = quoted(before.text, page.request_chars // 2)
            text = f"{frames.goes_on}{reference(before.entry_id)}: {quote}"
            sections[GOAL].append(Item(text=text, rank=95, order=page.length + 1))
    state = f"{frames.not_answered}{reference(current.entry_id)}"
    if current.answer:
        state += f"; {frames.last_said}{reference(current.answer_id)}: {quoted(current.answer, page.quote_chars)}"
    sections[IN_PROGRESS].append(Item(text=state, rank=90, order=page.length))
    work = _work(current, page)
    if work:
        sections[DONE].append(Item(text=f"{frames.so_far}: {work}", rank=88, order=page.length))


def _opening(current: Request, page: Page) -> str:
    """What stands for the request of a turn that no message of the user opens."""
    frames = page.frames
    if not current.opening:
        return frames.no_request
    return f"{frames.opened}{reference(current.entry_id)}: {quoted(current.opening, page.request_chars)}"


def _add_earlier(sections: Sections, request: Request, page: Page, *, is_first: bool) -> None:
    frames = page.frames
    work = _work(request, page)
    parts = [] if request.text else [f"{frames.earlier} ({frames.told_before})"]
    if request.text:
        name = frames.earlier if request.answered or not work else frames.worked
        parts.append(f"{name}{reference(request.entry_id)} {quoted(request.text, page.quote_chars)}")
    parts += [work] if work else []
    if not request.answered:
        parts.append(frames.no_answer)
    else:
        parts.append(f"{frames.answered}{reference(request.answer_id)}: {quoted(request.answer, page.note_chars)}")
    is_done = request.answered or bool(work)
    rank = 2 + page.recency(request.message)
    if is_done:
        weight = 20 * bool(request.changed) + 15 * bool(request.commits) + 10 * (len(request.text) > 60)
        rank = min(86, 20 + weight + page.recency(request.message) - 15 * request.goes_on)
        rank = 87 if is_first else rank
    sections[DONE if is_done else IN_PROGRESS].append(Item(text="; ".join(parts), rank=rank, order=request.message))


def _work(request: Request, page: Page) -> str:
    """The files that were changed for a request, and the commits; empty if there are none."""
    frames = page.frames
    names = [
        code(short_path(path), page.note_chars) + (f" {frames.times}{count}" if count > 1 else "")
        for path, count in request.changed[:MAX_PATHS]
    ]
    if len(request.changed) > MAX_PATHS:
        names.append(frames.more.format(n=len(request.changed) - MAX_PATHS))
    work = [f"{frames.changed} {', '.join(names)}"] if names else []
    work += [f"{frames.committed} {quoted(line, page.note_chars)}" for line in request.commits[-MAX_COMMITS:]]
    return "; ".join(work)


def _last_sentence(answer: str) -> str:
    line = answer.rstrip().rsplit("\n", 1)[-1]
    return line.replace("! ", ". ").rsplit(". ", 1)[-1]
