"""Messages -> the user's requests, and how the turn of each ended.

Takes messages; gives `Request` values in order: a user's text, what was done in its turn, and whether it was answered.
A turn is answered when its last message is the assistant's text without a call. Messages before the first request
belong to one that an earlier summary tells; it has an empty text.
"""

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from compactor.findings.calls import Call
from compactor.findings.commands import Commit
from compactor.findings.typed import typed
from compactor.messages import Message

SHORT_CHARS = 60
"""A request up to this length that only says to go on needs the one before it to be understood."""

TRIVIAL_CHARS = 8

_GO_ON = re.compile(
    r"(?:(?:ok(?:ay)?|yes|yep|yeah|sure|please|pls|alright|good|great|fine|and|now|just|then|commit(?: it| this)?"
    r"|push)[,.! ]+)*"
    r"(?:continue|go on|go ahead|proceed|carry on|keep going|resume|next|yes|yep|yeah|y|ok(?:ay)?|sure|do it"
    r"|do that|again|try again|retry|same again|start"
    r"|继续|好的?|可以|是的?|行|続けて|はい|weiter|ja|oui|continúa|sí|sigue)\b(?:.{0,40})$|.{0,40}\b(?:continue"
    r"|proceed|carry on|go on|move on)(?: (?:to|with) .{0,40})?$",
    re.IGNORECASE,
)
_ASKS_BACK = re.compile(r"[?？]\s*[\"'”*_)]*\s*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One message of the user and its turn."""

    text: str
    """Verbatim, a slash command as it was typed; empty for a turn whose request is not among the messages."""
    opening: str
    """The text of the message that a turn without a request opens with, if an extension sent it; else empty."""
    message: int
    entry_id: str
    end: int
    """Position after the last message of its turn."""
    answered: bool
    """True when the assistant ended the turn with a text."""
    asks_back: bool
    """True when that text ends in a question."""
    answer: str
    """The last text of the assistant in the turn; empty if there is none."""
    answer_id: str
    changed: tuple[tuple[str, int], ...] = ()
    """Files that successful calls changed, each with how often."""
    commits: tuple[str, ...] = ()

    @property
    def is_trivial(self) -> bool:
        """True for a word or two, or a command to the agent's program: nothing that would be missed."""
        text = self.text
        return len(text) < TRIVIAL_CHARS or (text.startswith("/") and " " not in text and "/" not in text[1:])

    @property
    def goes_on(self) -> bool:
        """True for "continue" and the like, which mean nothing without the request before."""
        text = " ".join(self.text.split())
        return len(text) <= SHORT_CHARS and _GO_ON.match(text) is not None


def find_requests(
    messages: Sequence[Message], entry_ids: Sequence[str], calls: Sequence[Call], commits: Sequence[Commit]
) -> list[Request]:
    """The requests of the user in order, with their turns."""
    starts = [n for n, m in enumerate(messages) if m.role == "user" and typed(m.text())]
    bounds = starts if starts and starts[0] == 0 else [0, *starts]
    if not messages:
        return []
    found = []
    for start, end in zip(bounds, [*bounds[1:], len(messages)], strict=True):
        is_user = messages[start].role == "user" and bool(typed(messages[start].text()))
        if not is_user and not any(messages[n].role in ("assistant", "toolResult") for n in range(start, end)):
            continue
        made = _within(calls, start, end)
        turn = _Turn(messages, entry_ids, range(start, end))
        found.append(_request(turn, made, _within(commits, start, end), is_user=is_user))
    return found


Placed = TypeVar("Placed", Call, Commit)


def _within(found: Sequence[Placed], start: int, end: int) -> Sequence[Placed]:
    """Those of a turn; they come in order of their messages."""
    first = bisect_left(found, start, key=lambda one: one.message)
    return found[first : bisect_left(found, end, lo=first, key=lambda one: one.message)]


@dataclass(frozen=True, slots=True)
class _Turn:
    messages: Sequence[Message]
    entry_ids: Sequence[str]
    span: range

    def entry_id(self, position: int) -> str:
        return self.entry_ids[position] if position < len(self.entry_ids) else ""


def _request(turn: _Turn, calls: Sequence[Call], commits: Sequence[Commit], *, is_user: bool) -> Request:
    messages, span = turn.messages, turn.span
    said = [n for n in span if messages[n].role == "assistant" and messages[n].text().strip()]
    last = next((messages[n] for n in reversed(span) if messages[n].role in ("assistant", "toolResult", "user")), None)
    answer = messages[said[-1]].text().strip() if said else ""
    ended = last is not None and last.role == "assistant" and not last.tool_calls and bool(last.text().strip())
    stopped = last is not None and last.stop_reason in ("aborted", "error", "length")
    changed: dict[str, int] = {}
    for call in calls:
        if call.is_change and call.outcome == "ok":
            for path in call.paths:
                changed[path] = changed.get(path, 0) + 1
    return Request(
        text=typed(messages[span.start].text()) if is_user else "",
        opening=messages[span.start].text().strip() if messages[span.start].role == "custom" else "",
        message=span.start,
        entry_id=turn.entry_id(span.start),
        end=span.stop,
        answered=ended and not stopped,
        asks_back=_ASKS_BACK.search(answer) is not None,
        answer=answer,
        answer_id=turn.entry_id(said[-1]) if said else "",
        changed=tuple(changed.items()),
        commits=tuple(commit.line for commit in commits),
    )
