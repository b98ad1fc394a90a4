"""A home folder with saved sessions of Pi, Claude Code and Codex, for tests; times follow from the arguments alone."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from builders import SessionBuilder, row_line

from compactor.session_folders_file import claude_name, encoded_cwd

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
"""Most files were written then."""

CODEX_ID = "019d0000-0000-7000-8000-{:012x}"


def stamp(minute: int) -> str:
    """A time on the first of March 2026."""
    return f"2026-03-01T{10 + minute // 60:02d}:{minute % 60:02d}:00.000Z"


def claude_row(kind: str, number: int, parent: int | None, content: Any, **fields: Any) -> dict[str, Any]:
    """A row of a Claude Code transcript; rows are numbered."""
    message: dict[str, Any] = {"role": kind, "content": content}
    if kind == "assistant":
        used = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 2, "cache_read_input_tokens": 83}
        message |= {"id": f"msg_{number}", "model": "claude-9", "usage": used}
    made = {
        "type": kind,
        "uuid": f"row-{number}",
        "parentUuid": None if parent is None else f"row-{parent}",
        "timestamp": stamp(number),
        "sessionId": "claude-1",
        "cwd": "/srv/harbor",
        "isSidechain": False,
        "message": message,
    }
    return made | fields


def claude_talk(**fields: Any) -> list[dict[str, Any]]:
    """A question and its answer."""
    return [
        claude_row("user", 1, None, "Where is crane 3?", **fields),
        claude_row("assistant", 2, 1, [{"type": "text", "text": "At berth 14."}], **fields),
    ]


def codex_row(kind: str, minute: int, **payload: Any) -> dict[str, Any]:
    """A row of a Codex rollout."""
    return {"timestamp": stamp(minute), "type": kind, "payload": payload}


def codex_said(role: str, text: str, minute: int = 1) -> dict[str, Any]:
    """A message in a rollout."""
    block = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return codex_row("response_item", minute, type="message", role=role, content=[block])


def codex_tokens(total: int, last: int, minute: int = 2) -> dict[str, Any]:
    """What a rollout reports of tokens."""

    def counts(number: int) -> dict[str, int]:
        return {"input_tokens": number - 10, "output_tokens": 10, "total_tokens": number}

    info = {"total_token_usage": counts(total), "last_token_usage": counts(last)}
    return codex_row("event_msg", minute, type="token_count", info=info)


def codex_talk(number: int = 1, cwd: str = "/srv/harbor", **meta: Any) -> list[dict[str, Any]]:
    """A question and its answer."""
    known = {"id": CODEX_ID.format(number), "timestamp": stamp(0), "cwd": cwd, "source": "cli"}
    return [
        codex_row("session_meta", 0, **{**known, **meta}),
        codex_said("user", "Where is crane 3?"),
        codex_said("assistant", "At berth 14."),
        codex_tokens(120, 120),
    ]


def rows_data(rows: list[dict[str, Any]]) -> bytes:
    """The rows as a file."""
    return b"".join(map(row_line, rows))


@dataclass(slots=True)
class Home:
    """A home folder; a method that adds a session returns the path of its file."""

    root: Path
    cwd: Path = field(init=False)
    """A project in which sessions are made."""

    def __post_init__(self) -> None:
        self.cwd = self.root / "harbor.d"
        self.cwd.mkdir(parents=True)

    @property
    def env(self) -> Mapping[str, str]:
        """The environment of a process whose home it is."""
        return {"HOME": str(self.root), "USERPROFILE": str(self.root)}

    def write(self, path: Path, data: bytes, minute: int = 0) -> Path:
        """A file that was written in that minute after noon."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        os.utime(path, (NOON.timestamp() + 60 * minute,) * 2)
        return path

    def pi_folder(self, cwd: Path | None = None) -> Path:
        return self.root / ".pi" / "agent" / "sessions" / encoded_cwd(str(cwd or self.cwd))

    def pi(
        self,
        session_id: str = "pi-1",
        *,
        cwd: Path | str | None = None,
        folder: Path | None = None,
        made: SessionBuilder | None = None,
        minute: int = 0,
    ) -> Path:
        """A session of Pi's."""
        built = made or talk()
        header = {"id": session_id, "cwd": str(self.cwd if cwd is None else cwd), **built.header}
        data = replace(built, header=header).data()
        return self.write((folder or self.pi_folder()) / f"2026_{session_id}.jsonl", data, minute)

    def claude_folder(self, cwd: Path | None = None) -> Path:
        return self.root / ".claude" / "projects" / claude_name(str(cwd or self.cwd))

    def claude(
        self,
        session_id: str = "claude-1",
        *,
        cwd: Path | str | None = None,
        folder: Path | None = None,
        rows: list[dict[str, Any]] | None = None,
        minute: int = 0,
        **fields: Any,
    ) -> Path:
        """A session of Claude Code's."""
        made = rows or claude_talk(sessionId=session_id, cwd=str(self.cwd if cwd is None else cwd), **fields)
        return self.write((folder or self.claude_folder()) / f"{session_id}.jsonl", rows_data(made), minute)

    def codex(
        self,
        number: int = 1,
        *,
        cwd: Path | str | None = None,
        folder: str = "sessions/2026/03/01",
        minute: int = 0,
        **meta: Any,
    ) -> Path:
        """A session of Codex's."""
        rows = codex_talk(number, str(self.cwd if cwd is None else cwd), **meta)
        name = f"rollout-2026-03-01T10-00-00-{CODEX_ID.format(number)}.jsonl"
        return self.write(self.root / ".codex" / folder / name, rows_data(rows), minute)


def talk() -> SessionBuilder:
    """A question and its answer, in Pi."""
    made = SessionBuilder()
    made.user()
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}
    used = {"input": 100, "output": 20, "cacheRead": 30, "cacheWrite": 0, "totalTokens": 150, "cost": cost}
    made.assistant(usage=used)
    return made
