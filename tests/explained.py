"""Makes small sessions and their explanations: rows in, a plan with its reasons and warnings out.

A row is the JSON of an entry without id and parent; `explained` chains the rows as `e0`, `e1`, ... Text is measured in
tokens of the pi counter: `words(n)` has exactly n.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.branch import active_branch, find_leaf
from compactor.entries import Session
from compactor.explain import Explanation, explain
from compactor.formats.pi import parse_session
from compactor.measure import Measured, measure
from compactor.plan import CompactionPlan, Skip, plan_compaction
from compactor.projection import project
from compactor.settings import CompactionSettings
from compactor.tokens import ContextTokens, Counter, PiCounter, context_tokens

Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What a session is planned with; a test states only what it is about."""

    keep: int = 100
    window: int = 100_000
    reserve: int = 10_000
    enabled: bool = True
    exact: bool = False
    counter: Counter = field(default_factory=PiCounter)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """An outcome of planning, and what is said of it."""

    plan: CompactionPlan | Skip
    measured: Measured
    context: ContextTokens
    settings: CompactionSettings
    counter: Counter
    exact: bool

    @property
    def explanation(self) -> Explanation:
        """Reasons and warnings."""
        return explain(self)

    @property
    def reasons(self) -> dict[str, str]:
        """Texts by code, in order."""
        return {reason.code: reason.text for reason in self.explanation.reasons}

    @property
    def warnings(self) -> dict[str, str]:
        """Messages by code, in order."""
        return {warning.code: warning.message for warning in self.explanation.warnings}


def explained(rows: Sequence[Row], settings: Settings = Settings()) -> Explained:
    """The outcome for a session made of `rows`, its last row as the leaf."""
    return explained_session(parse_session(session_bytes(rows), exact=settings.exact), settings)


def explained_session(session: Session, settings: Settings, leaf: str | None = None) -> Explained:
    """The outcome for a session."""
    chosen = CompactionSettings(
        enabled=settings.enabled,
        context_window=settings.window,
        reserve_tokens=settings.reserve,
        keep_recent_tokens=settings.keep,
        sources=dict(settings.sources),
    )
    branch = active_branch(session, find_leaf(session, leaf))
    measured = measure(project(branch, exact=settings.exact), settings.counter, exact=settings.exact)
    context = context_tokens(measured.projection, measured.measures, settings.counter)
    return Explained(
        plan=plan_compaction(measured, chosen, context, exact=settings.exact),
        measured=measured,
        context=context,
        settings=chosen,
        counter=settings.counter,
        exact=settings.exact,
    )


def session_bytes(rows: Sequence[Row]) -> bytes:
    """The session file: a header and the rows, chained, each with the id `e<N>` unless it has one."""
    ids = [row.get("id", f"e{n}") for n, row in enumerate(rows)]
    when = "2026-01-02T03:04:05.000Z"
    header = {"type": "session", "version": 3, "id": "s", "timestamp": when, "cwd": "/demo"}
    chained = [
        {"timestamp": when, **row, "id": ids[n], "parentId": ids[n - 1] if n else None} for n, row in enumerate(rows)
    ]
    return "".join(json.dumps(line) + "\n" for line in [header, *chained]).encode()


def words(tokens: int) -> str:
    """Text that the pi counter takes for that many tokens."""
    return "word" * tokens


def message(role: str, content: Any, **fields: Any) -> Row:
    """A message entry."""
    return {"type": "message", "message": {"role": role, "content": content, **fields}}


def user(tokens: int = 10) -> Row:
    """A user message."""
    return message("user", words(tokens))


def reply(tokens: int = 10, *, usage: int = 0, **fields: Any) -> Row:
    """An assistant message; `usage` is the context size that the provider reported."""
    if usage:
        fields["usage"] = {"input": usage - 1, "output": 1, "totalTokens": usage}
    return message("assistant", [{"type": "text", "text": words(tokens)}], **{"stopReason": "stop", **fields})


def call(*ids: str) -> Row:
    """An assistant message of 3 tokens a call."""
    calls = [{"type": "toolCall", "id": i, "name": "runs", "arguments": {"a": 1}} for i in ids]
    return message("assistant", calls, stopReason="toolUse")


def result(call_id: str, tokens: int = 10) -> Row:
    """The result of a call."""
    content = [{"type": "text", "text": words(tokens)}]
    return message("toolResult", content, toolCallId=call_id, toolName="runs", isError=False)


def compaction(first_kept: str, summary: str = "earlier work") -> Row:
    """A compaction entry."""
    return {"type": "compaction", "summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": 1000}


def omission(target: str) -> Row:
    """A context_edit that takes an entry out of the context."""
    return {"type": "context_edit", "targetId": target, "replacement": None}


def model_change() -> Row:
    """An entry without a message."""
    return {"type": "model_change", "provider": "p", "modelId": "m"}
