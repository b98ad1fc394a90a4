"""Transcripts of Claude Code, made row by row, and what must hold for any of them, read from the raw rows alone."""

import json
from collections.abc import Iterable
from typing import Any

from builders import projection_of

from compactor.branch import active_branch, find_leaf
from compactor.entries import Entry, Session
from compactor.formats.claude_code import parse_claude_code
from compactor.measure import measure
from compactor.tokens import PiCounter, context_tokens

SESSION = "5e550000-0000-4000-8000-000000000001"
USAGE_KEYS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def call(call_id: str, name: str = "Bash", **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: Any = "done", **fields: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def usage(total: int, output: int = 5) -> dict[str, Any]:
    """The usage of an answer after which the context holds `total` tokens."""
    read = (total - output) // 2
    written = total - output - read
    return {
        "input_tokens": 0,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": output,
    }


class TranscriptBuilder:
    """A transcript; each row is the child of the one before it unless told otherwise."""

    def __init__(self, version: str = "2.1.0") -> None:
        self.rows: list[dict[str, Any]] = []
        self.leaf: str | None = None
        self.version = version
        self.minutes = 0

    def row(self, kind: str, **fields: Any) -> str:
        """Adds a row of the tree; gives its uuid."""
        self.minutes += 1
        uuid = fields.pop("uuid", f"u{len(self.rows) + 1}")
        row = {
            "parentUuid": self.leaf,
            "isSidechain": False,
            "cwd": "/quay",
            "sessionId": SESSION,
            "version": self.version,
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-03-01T{self.minutes // 60:02}:{self.minutes % 60:02}:00.000Z",
        }
        self.rows.append({**row, **fields})
        if not self.rows[-1]["isSidechain"]:
            self.leaf = uuid
        return str(uuid)

    def side(self, kind: str, **fields: Any) -> None:
        """Adds a record outside of the tree."""
        self.rows.append({"type": kind, **fields})

    def user(self, content: Any, **fields: Any) -> str:
        return self.row("user", message={"role": "user", "content": content}, **fields)

    def answer(self, message_id: Any, *blocks: Any, total: int = 0, **fields: Any) -> str:
        """Adds one row of an answer; `total` is the size of the context that it reports."""
        message = {"id": message_id, "role": "assistant", "model": "claude-opus-4-5", "content": list(blocks)}
        message |= {"stop_reason": None, "usage": usage(total) if total else usage(5, 5) | {"output_tokens": 0}}
        message |= fields.pop("message", {})
        return self.row("assistant", message=message, **fields)

    def boundary(self, pre_tokens: int = 150_000, **fields: Any) -> str:
        metadata = {"trigger": "auto", "preTokens": pre_tokens} | fields.pop("metadata", {})
        told = {"subtype": "compact_boundary", "compactMetadata": metadata, "logicalParentUuid": self.leaf}
        return self.row("system", **({"parentUuid": None} | told | fields))

    def summary(self, words: str = "Summary of the talk so far.", **fields: Any) -> str:
        return self.user(words, isCompactSummary=True, isVisibleInTranscriptOnly=True, **fields)

    def compaction(self, words: str = "Summary of the talk so far.", **fields: Any) -> str:
        """Adds a boundary and its summary; gives the uuid of the boundary."""
        made = self.boundary(**fields)
        self.summary(words)
        return made

    def attachment(self, kind: str, parent: dict[str, Any] | None = None, **fields: Any) -> str:
        return self.row("attachment", attachment={"type": kind, **fields}, **(parent or {}))

    def data(self) -> bytes:
        return b"".join(json.dumps(row).encode() + b"\n" for row in self.rows)

    def session(self) -> Session:
        return parse_claude_code(self.data(), path="talk.jsonl")


def wire(session: Session) -> list[dict[str, Any]]:
    return [entry.wire() for entry in session.entries]


def branch_of(session: Session, entry_id: str | None = None) -> list[Entry]:
    return active_branch(session, find_leaf(session, entry_id)).entries


def story(session: Session, entry_id: str | None = None) -> list[str]:
    """The active branch, an entry a line: what it is, and the start of what it says."""
    return [_told(entry.wire()) for entry in branch_of(session, entry_id)]


def _told(entry: dict[str, Any]) -> str:
    if entry["type"] == "message":
        message = entry["message"]
        if message["role"] == "toolResult":
            return f"result {message['toolCallId']}"
        content = message["content"]
        blocks = [text(content)] if isinstance(content, str) else content
        said = [b.get("text") or b.get("thinking") or b.get("id") or b["type"] for b in blocks]
        return f"{message['role']} {'|'.join(said)}"
    shown = {"custom_message": "content", "compaction": "summary", "context_edit": "targetId", "usage": "kind"}
    return f"{entry['type']} {entry.get(shown.get(entry['type'], 'name'))}"


def context_size(session: Session, leaf: str) -> int:
    projection = projection_of(session, leaf)
    measured = measure(projection, PiCounter())
    return context_tokens(measured.projection, measured.measures, PiCounter()).tokens


def main_rows(data: bytes) -> list[dict[str, Any]]:
    """The conversation rows of the main thread, or of the sub-agent whose file it is, each uuid once."""
    rows = [json.loads(line) for line in data.split(b"\n") if line]
    talk = [row for row in rows if row.get("type") in ("user", "assistant")]
    main = [row for row in talk if not row.get("isSidechain")] or talk
    first: dict[str, dict[str, Any]] = {}
    for row in main:
        first.setdefault(row["uuid"], row)
    return list(first.values())


def blocks_of(row: dict[str, Any], kind: str) -> Iterable[dict[str, Any]]:
    content = row["message"]["content"]
    return [b for b in content if b["type"] == kind] if isinstance(content, list) else []


def check(data: bytes, session: Session, *, linear: bool = False) -> None:
    """Asserts all that must hold for a whole transcript.

    Args:
        data: the file.
        session: what was made of it.
        linear: the user never went back, so that everything is on the active branch.
    """
    rows = main_rows(data)
    entries = {entry.id: entry for entry in session.entries}
    assert len(entries) == len(session.entries)
    assert all(entry.wire()["parentId"] in {None, *entries} for entry in session.entries)
    last_usage = {r["message"]["id"]: r["message"]["usage"] for r in rows if r["type"] == "assistant"}
    callers = {b["id"]: r["message"]["id"] for r in rows if r["type"] == "assistant" for b in blocks_of(r, "tool_use")}
    answered = {b["tool_use_id"] for r in rows if r["type"] == "user" for b in blocks_of(r, "tool_result")}
    messages = [(entry, entry.wire()["message"]) for entry in session.entries if entry.type == "message"]
    answers = {m["responseId"]: entry for entry, m in messages if m["role"] == "assistant"}
    results = {m["toolCallId"]: entry for entry, m in messages if m["role"] == "toolResult"}
    assert sorted(answers) == sorted(last_usage)
    assert len(answers) == len([m for _, m in messages if m["role"] == "assistant"]) == len(last_usage)
    assert set(results) == answered and len(results) == len([m for _, m in messages if m["role"] == "toolResult"])
    active = {entry.id for entry in branch_of(session)}
    for call_id in answered & set(callers):
        answer, found = answers[callers[call_id]], results[call_id]
        assert answer.id in {entry.id for entry in branch_of(session, found.id)[:-1]}
        assert (answer.id in active) == (found.id in active)
    for message_id, reported in last_usage.items():
        total = sum(reported.get(key) or 0 for key in USAGE_KEYS)
        if total:
            assert context_size(session, answers[message_id].id) == total
    boundaries = [r for r in map(json.loads, data.splitlines()) if r.get("subtype") == "compact_boundary"]
    made = [entry for entry in session.entries if entry.type == "compaction"]
    assert [entry.id for entry in made] == list(dict.fromkeys(r["uuid"] for r in boundaries))
    if linear:
        assert active == set(entries)
