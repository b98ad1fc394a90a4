"""Makers of Codex rollouts for tests, row by row, and short forms of what they become."""

import json
from typing import Any

from builders import row_line

from compactor.branch import active_branch, find_leaf
from compactor.entries import Entry, EntryBody, Session
from compactor.formats.codex import parse_codex
from compactor.measure import measure
from compactor.messages import Message
from compactor.projection import project
from compactor.tokens import PiCounter, context_tokens

Row = dict[str, Any]
CODEX_ID = "019f0000-0000-7000-8000-00000000c0de"


def row(kind: str, payload: Any, at: float = 0.0) -> Row:
    minutes, seconds = divmod(at, 60)
    return {"timestamp": f"2026-02-03T08:{int(minutes):02}:{seconds:06.3f}Z", "type": kind, "payload": payload}


def meta(**fields: Any) -> Row:
    return row("session_meta", {"id": CODEX_ID, "cwd": "/dock", "cli_version": "0.145.0", **fields})


def item(kind: str, at: float = 0.0, **fields: Any) -> Row:
    return row("response_item", {"type": kind, **fields}, at)


def said(role: str, *said_texts: str, at: float = 0.0) -> Row:
    kind = "output_text" if role == "assistant" else "input_text"
    return item("message", at, role=role, content=[{"type": kind, "text": text} for text in said_texts])


def call(call_id: str, name: str = "exec_command", at: float = 0.0, **arguments: Any) -> Row:
    return item("function_call", at, name=name, arguments=json.dumps(arguments), call_id=call_id)


def output(call_id: str, text: Any = "done", at: float = 0.0) -> Row:
    return item("function_call_output", at, call_id=call_id, output=text)


def event(kind: str, at: float = 0.0, **fields: Any) -> Row:
    return row("event_msg", {"type": kind, **fields}, at)


def counts(sent: int, cached: int = 0, answered: int = 0, total: int | None = None, **more: int) -> dict[str, int]:
    total = sent + answered if total is None else total
    return {
        "input_tokens": sent,
        "cached_input_tokens": cached,
        "output_tokens": answered,
        "total_tokens": total,
        **more,
    }


def report(total: dict[str, int] | None, last: dict[str, int] | None, at: float = 0.0, window: int = 258_400) -> Row:
    info = {"total_token_usage": total, "last_token_usage": last, "model_context_window": window}
    return event("token_count", at, info=info, rate_limits=None)


def parsed(*rows: Row) -> Session:
    return parse_codex(b"".join(map(row_line, rows)), path="rollout.jsonl")


def bodies(session: Session) -> list[EntryBody]:
    return [entry.body for entry in session.entries]


def messages(session: Session, leaf: str | None = None) -> list[Message]:
    """The context at a leaf."""
    return list(project(active_branch(session, find_leaf(session, leaf))).messages())


def told(message: Message) -> str:
    """A message in a few words."""
    calls = "".join(f" {block.name}({block.id})" for block in message.tool_calls)
    mark = f" {message.tool_call_id}" if message.role == "toolResult" else ""
    return f"{message.role}{mark}: {message.summary or message.text()}{calls}"


def context(session: Session, leaf: str | None = None) -> list[str]:
    return [told(message) for message in messages(session, leaf)]


def codes(session: Session) -> list[str]:
    return [warning.code for warning in session.warnings]


def ledger(session: Session) -> list[int]:
    """Input with the cached part, cached, output and total of all entries that hold a usage."""
    found = [b.message.usage if b.message is not None else b.usage for b in bodies(session)]
    sums = [0, 0, 0, 0]
    for usage in found:
        if usage is not None:
            sent = usage.input + usage.cache_read + usage.cache_write
            for n, figure in enumerate((sent, usage.cache_read, usage.output, usage.total_tokens)):
                sums[n] += int(figure)
    return sums


def replies(session: Session) -> list[tuple[Entry, Message]]:
    found = [(entry, entry.body.message) for entry in session.entries if entry.role == "assistant"]
    return [(entry, message) for entry, message in found if message is not None]


def context_size(session: Session, entry: Entry) -> int:
    """The newest reported figure that counts at a leaf, as `plan` takes it."""
    measured = measure(project(active_branch(session, entry)), PiCounter())
    return context_tokens(measured.projection, measured.measures, PiCounter()).tokens


def turns(*names: str) -> list[Row]:
    return [r for name in names for r in (said("user", name), said("assistant", f"{name} done"))]


def replaced(*items: Row, message: str = "", at: float = 0.0) -> Row:
    return row("compacted", {"message": message, "replacement_history": [i["payload"] for i in items]}, at)
