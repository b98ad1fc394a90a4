"""Session files of any size for the benchmarks: a session's entries repeated as one chain with fresh ids.

python tests/bench/grown.py NAME FILE MEGABYTES
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000
WHEN = "2026-03-01T10:00:00.000Z"
SHARED = Path(__file__).parents[3] / "shared" / "corpus" / "pi"
SOURCES = ("pi-mono-before-compaction-v1", "edc-real-long-session-v3")
"""Two real sessions: one mostly of tool results, one of a long talk."""


def source_names() -> list[str]:
    """The sessions that can be grown: real ones where the corpus is there, else one of our own."""
    return [name for name in SOURCES if (SHARED / f"{name}.jsonl").exists()] or ["own"]


def source_rows(name: str) -> list[dict[str, Any]]:
    """The rows of a session, header first."""
    if name == "own":
        return list(own_rows())
    return [json.loads(line) for line in (SHARED / f"{name}.jsonl").read_bytes().splitlines() if line]


def own_rows() -> Iterator[dict[str, Any]]:
    """A session of a made task: 40 turns with reads, edits and long results."""
    yield {
        "type": "session",
        "version": 3,
        "id": "bench",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "cwd": "/srv/harbor",
    }
    code = "def berth(crane: int, tide: float) -> str:\n    return f'{crane}: {tide:.2f} m'  # naïve\n"
    cost = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}
    for turn in range(40):
        yield _message(role="user", content=f"Turn {turn}: the crane at berth {turn} moves too early. " * 3)
        for step in range(6):
            call: dict[str, Any] = {
                "type": "toolCall",
                "id": f"call_{turn}_{step}",
                "name": "edit" if step % 3 else "read",
            }
            call |= {"arguments": {"path": f"src/berth{step}.py", "oldText": code * step, "newText": code * (step + 1)}}
            usage = {"input": 3, "output": 90, "cacheRead": 900 * turn, "cacheWrite": 0, "totalTokens": 93 + 900 * turn}
            text = {"type": "text", "text": "The tide is read before the crane stops; I change the order. " * step}
            content = [text, call]
            yield _message(role="assistant", content=content, usage={**usage, "cost": cost}, stopReason="toolUse")
            content = [{"type": "text", "text": code * (10 * step + turn)}]
            yield _message(role="toolResult", toolCallId=call["id"], toolName=call["name"], content=content)


def _message(**message: Any) -> dict[str, Any]:
    return {
        "type": "message",
        "timestamp": "2026-03-01T10:00:00.000Z",
        "message": {**message, "timestamp": 1772359200000},
    }


def grow(rows: list[dict[str, Any]], path: Path, size: int) -> int:
    """Writes a session of about `size` bytes to `path`; gives the number of entries.

    Compactions are left out, so that the whole file is one context.
    """
    body = [row for row in rows if row["type"] not in ("session", "compaction")]
    header = {**next(row for row in rows if row["type"] == "session"), "version": 3}
    written = entries = 0
    parent: str | None = None
    with path.open("wb") as file:
        written += file.write(_line(header))
        while written < size:
            for row in body:
                entries += 1
                made = f"{entries:08x}"
                written += file.write(_line({**row, "id": made, "parentId": parent}))
                parent = made
                if written >= size:
                    break
    return entries


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


if __name__ == "__main__":
    grow(source_rows(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]) * MEGABYTE)
