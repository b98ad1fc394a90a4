"""The findings of a history -> the lines of its summary, section by section.

Takes messages with their entry ids; gives `Sections`. A line is a quotation, or a fixed frame around one, and names the
entry it comes from. Only what a tool result confirms, or an answer that was given, is a line of Done.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compactor.constraints import Constraint, find_constraints
from compactor.findings.call_lines import LINE_CHARS, MAX_PATHS, PATH_CHARS, add_calls, recency
from compactor.findings.calls import find_calls
from compactor.findings.commands import (
    commits,
    succeeded,
)
from compactor.findings.frames import Frames
from compactor.findings.items import (
    BLOCKED,
    CONTEXT,
    DECISIONS,
    DONE,
    GOAL,
    IN_PROGRESS,
    NEXT,
    Item,
    Sections,
    no_sections,
)
from compactor.findings.quotes import clipped, code, one_line, quoted, reference
from compactor.findings.requests import Request, find_requests
from compactor.findings.statements import Statement, find_statements
from compactor.messages import Message
from compactor.summary import CONSTRAINTS

STATEMENT_CHARS = 320
MAX_KEPT = 60
"""Of each kind of statement so many are considered, the most telling and latest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digest:
    """What a history says, as lines."""

    sections: Sections
    resolved: frozenset[str]
    """Commands and files with a success: an older failure of one of them is over."""
    asks: bool
    """True when the user said something in it."""
    continues: bool
    """True when it begins inside of a turn, whose request an earlier summary tells."""
    continued_answered: bool
    """True when that turn ended with an answer."""


def digest(
    messages: Sequence[Message], entry_ids: Sequence[str], frames: Frames, *, focus: str | None = None, room: int = 8000
) -> Digest:
    """The lines of a history.

    Args:
        messages: the history in order.
        entry_ids: for each message the id of its entry, or nothing.
        frames: the fixed words.
        focus: words of a wish; statements that hold one of them come first.
        room: characters that the summary may have: how long the request itself may be quoted.
    """
    calls = find_calls(messages, entry_ids)
    made = commits(calls)
    requests = find_requests(messages, entry_ids, calls, made)
    sections = no_sections()
    writer = _Writer(frames, requests, len(messages), max(200, room // 4), _focus_words(focus))
    sections[CONSTRAINTS] += writer.constraints(find_constraints(messages), entry_ids)
    writer.requests_into(sections)
    add_calls(sections, calls, frames, len(messages), requests[-1].message if requests else 0)
    writer.statements_into(sections, find_statements(messages, entry_ids))
    first = requests[0] if requests else None
    continues = first is not None and not first.text
    return Digest(
        sections=sections,
        resolved=frozenset(succeeded(calls)),
        asks=any(request.text for request in requests),
        continues=continues,
        continued_answered=continues and first is not None and (first.answered or len(requests) > 1),
    )


def constraint_line(constraint: Constraint, entry_ids: Sequence[str], frames: Frames) -> str:
    """A constraint word for word, with its entry and what changed it later."""
    entry_id = entry_ids[constraint.message] if constraint.message < len(entry_ids) else ""
    line = one_line(constraint.text) + reference(entry_id)
    if constraint.changed_by is None:
        return line
    position = constraint.changed_in
    where = reference(entry_ids[position]) if position is not None and position < len(entry_ids) else ""
    return f"{line} ({frames.lifted}: {quoted(constraint.changed_by, LINE_CHARS)}{where})"


def _focus_words(focus: str | None) -> frozenset[str]:
    return frozenset(word for word in (focus or "").lower().split() if len(word) > 3)


@dataclass(frozen=True, slots=True)
class _Writer:
    """Findings to lines; all share the frames and the length of the history, which recency is measured by."""

    frames: Frames
    requests: Sequence[Request]
    length: int
    request_chars: int
    focus: frozenset[str]

    def _recency(self, message: int) -> int:
        return recency(message, self.length)

    @property
    def _open(self) -> Request | None:
        """The request that has no answer yet: the last one, or none."""
        last = self.requests[-1] if self.requests else None
        return last if last is not None and not last.answered else None

    def constraints(self, found: Sequence[Constraint], entry_ids: Sequence[str]) -> Iterator[Item]:
        """The constraints; those on one line of a message share a bullet, so that their words stay together."""
        for constraint in found:
            lifted = constraint.changed_by is not None
            rank = 30 * constraint.strength - 20 * lifted + self._recency(constraint.message) // 3
            yield Item(text=constraint_line(constraint, entry_ids, self.frames), rank=rank, order=constraint.message)

    def requests_into(self, sections: Sections) -> None:
        """The current request into Goal and In Progress, the earlier ones into Done, or In Progress if unanswered."""
        current = self._open
        for n, request in enumerate(self.requests):
            if request is current:
                continue
            line = self._turn_line(request)
            if line:
                section = DONE if request.answered or request.changed or request.commits else IN_PROGRESS
                sections[section].append(Item(text=line, rank=self._turn_rank(request, n), order=request.message))
        if current is None:
            sections[GOAL].append(Item(text=self.frames.none_open, rank=90, order=self.length))
            last = self.requests[-1] if self.requests else None
            if last is not None and last.asks_back:
                text = f"{self.frames.asked_back}: {quoted(_last_sentence(last.answer), LINE_CHARS)}"
                sections[IN_PROGRESS].append(Item(text=text + reference(last.answer_id), rank=85, order=last.message))
            return
        self._current_into(sections, current)

    def _current_into(self, sections: Sections, current: Request) -> None:
        frames = self.frames
        if current.text:
            text = f"{frames.current}{reference(current.entry_id)}: {quoted(current.text, self.request_chars)}"
            sections[GOAL].append(Item(text=text, rank=100, order=self.length))
        if current.goes_on:
            before = next((r for r in reversed(self.requests) if r.text and not r.goes_on), None)
            if before is not None:
                text = f"{frames.goes_on}{reference(before.entry_id)}: {quoted(before.text, self.request_chars // 2)}"
                sections[GOAL].append(Item(text=text, rank=95, order=self.length + 1))
        state = f"{frames.not_answered}{reference(current.entry_id)}"
        if current.answer:
            said = quoted(current.answer, STATEMENT_CHARS)
            state += f"; {frames.last_said}{reference(current.answer_id)}: {said}"
        sections[IN_PROGRESS].append(Item(text=state, rank=90, order=self.length))
        work = self._work(current)
        if work:
            sections[DONE].append(Item(text=f"{frames.so_far}: {work}", rank=88, order=self.length))

    def _turn_rank(self, request: Request, n: int) -> int:
        weight = 20 * bool(request.changed) + 15 * bool(request.commits) + 10 * (len(request.text) > 60)
        first = 40 if n == 0 or (n == 1 and not self.requests[0].text) else 0
        return min(89, 15 + weight + first + self._recency(request.message) - 15 * request.goes_on)

    def _turn_line(self, request: Request) -> str:
        """A request that is over, with what was done for it; empty if there is nothing to tell."""
        work = self._work(request)
        if not request.text:
            return work
        frames = self.frames
        parts = [f"{frames.earlier}{reference(request.entry_id)} {quoted(request.text, STATEMENT_CHARS)}"]
        if work:
            parts.append(work)
        if not request.answered:
            parts.append(frames.no_answer)
        elif request.answer:
            parts.append(
                f"{frames.answered}{reference(request.answer_id)}: {quoted(_gist(request.answer), LINE_CHARS)}"
            )
        return "; ".join(parts)

    def _work(self, request: Request) -> str:
        frames = self.frames
        names = [
            code(path, PATH_CHARS) + (f" {frames.times}{count}" if count > 1 else "")
            for path, count in request.changed[:MAX_PATHS]
        ]
        if len(request.changed) > MAX_PATHS:
            names.append(frames.more.format(n=len(request.changed) - MAX_PATHS))
        work = [f"{frames.changed} {', '.join(names)}"] if names else []
        work += [f"{frames.committed} {quoted(line, LINE_CHARS)}" for line in request.commits[-4:]]
        return "; ".join(work)

    def statements_into(self, sections: Sections, found: Sequence[Statement]) -> None:
        """Decisions, open points, limits, results and values, by how telling and how late they are."""
        for statement in found:
            section = _SECTION_OF[statement.kind]
            line = self._statement_line(statement)
            item = Item(text=line, rank=self._statement_rank(statement), order=statement.message)
            sections[section].append(item)
        for section in (DECISIONS, NEXT, CONTEXT):
            ranked = sorted(sections[section], key=lambda item: -item.rank)
            floor = ranked[MAX_KEPT].rank if len(ranked) > MAX_KEPT else -1
            sections[section] = [item for item in sections[section] if item.rank > floor]

    def _statement_rank(self, statement: Statement) -> int:
        recency = self._recency(statement.message)
        rank = 8 * statement.weight + recency + 10 * statement.by_user
        if statement.kind in ("open", "blocked"):
            # An open point of an earlier turn was most often settled since.
            last_turn = self.requests[-1].message if self.requests else 0
            rank += 30 if statement.message >= last_turn else recency - 20
        if self.focus and any(word in statement.text.lower() for word in self.focus):
            rank += 25
        return max(1, min(89, rank))

    def _statement_line(self, statement: Statement) -> str:
        frames = self.frames
        quote = quoted(statement.text, STATEMENT_CHARS)
        where = reference(statement.entry_id)
        who = frames.user if statement.by_user else frames.assistant
        lead = (
            f"{clipped(statement.lead, 60).rstrip(':：')}: "
            if statement.kind in ("scope", "open") and statement.lead
            else ""
        )
        if statement.kind == "decision":
            return f"**{quote}**: {who}{where}"
        if statement.kind == "goal":
            return f"{frames.goal}{where}: {quote}"
        if statement.kind == "scope":
            return f"{frames.limits}: {lead}{quote} ({who}{where})"
        return f"{lead}{quote} ({who}{where})"


_SECTION_OF = {
    "decision": DECISIONS,
    "open": NEXT,
    "blocked": BLOCKED,
    "scope": CONTEXT,
    "result": CONTEXT,
    "value": CONTEXT,
    "goal": GOAL,
}


def _gist(answer: str) -> str:
    """The first paragraph of an answer."""
    return next((part for part in answer.split("\n\n") if part.strip()), answer)


def _last_sentence(answer: str) -> str:
    line = answer.rstrip().rsplit("\n", 1)[-1]
    pieces = line.replace("! ", ". ").rsplit(". ", 1)
    return pieces[-1]
