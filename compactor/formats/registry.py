"""Which agent wrote a file, and the reader for it.

Takes the bytes of a session file; gives a `Session` in Pi's terms. Importers are loaded when a file needs them.
"""

import sys
from collections.abc import Callable
from typing import Any

import msgspec

from compactor.entries import Session
from compactor.formats.pi import parse_session as parse_pi

IMPORTERS = {
    "claude-code": "compactor.formats.claude_code:parse_claude_code",
    "codex": "compactor.formats.codex:parse_codex",
}
"""Format -> module:function; each takes the bytes and `path`."""

MAX_LINES_LOOKED_AT = 200
"""Side records may stand before the first row that tells one agent from another."""

PI_HEAD = b'{"type":"session"'
"""How Pi starts a file; one written otherwise is found out by its first row."""

CODEX_TYPES = frozenset({"session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state"})
CODEX_ITEMS = frozenset({"message", "reasoning", "function_call", "function_call_output", "custom_tool_call"})
CLAUDE_SIDE_TYPES = frozenset(
    {
        "summary",
        "file-history-snapshot",
        "file-history-delta",
        "queue-operation",
        "last-prompt",
        "ai-title",
        "custom-title",
        "agent-name",
        "bridge-session",
        "mode",
        "permission-mode",
        "pr-link",
    }
)
"""Of rows that are not part of the tree."""


def parse_session(data: bytes, *, path: str = "<memory>", exact: bool = False, with_estimates: bool = False) -> Session:
    """The session in `data`, whichever agent wrote it.

    Args:
        data: the whole file.
        path: named in messages.
        exact: read a Pi file as Pi does, its losses included.
        with_estimates: measure the messages of a Pi file in passing.

    Raises:
        SessionError: it is no session of a known agent.
    """
    found = detect_format(data)
    if found not in IMPORTERS:
        return parse_pi(data, path=path, exact=exact, with_estimates=with_estimates)
    module, _, name = IMPORTERS[found].partition(":")
    __import__(module)
    parse: Callable[..., Session] = getattr(sys.modules[module], name)
    return parse(data, path=path)


def detect_format(data: bytes) -> str:
    """`pi`, `claude-code` or `codex`; `pi` also where nothing is known, for its reader tells what is wrong."""
    if data.startswith(PI_HEAD):
        return "pi"
    likely = "pi"
    start = 0
    for _ in range(MAX_LINES_LOOKED_AT):
        end = data.find(b"\n", start)
        line = data[start : end if end >= 0 else len(data)]
        found, is_sure = _format_of(line)
        if is_sure:
            return found
        likely = found if likely == "pi" else likely
        if end < 0:
            break
        start = end + 1
    return likely


def _format_of(line: bytes) -> tuple[str, bool]:
    """The format that a line speaks for, and whether it settles the matter."""
    try:
        row: Any = msgspec.json.decode(line.strip(b"\xef\xbb\xbf\0 \t\r"))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "pi", False
    if not isinstance(row, dict):
        return "pi", False
    kind = row.get("type") if isinstance(row.get("type"), str) else ""
    if kind == "session":
        return "pi", True
    if "payload" in row and kind in CODEX_TYPES:
        return "codex", True
    if "uuid" in row and "parentUuid" in row:
        return "claude-code", True
    if kind in CLAUDE_SIDE_TYPES:
        return "claude-code", False
    if "id" in row and "parentId" in row:
        return "pi", True
    is_item = kind in CODEX_ITEMS and "message" not in row  # which a row of Pi's version 1 has
    is_flat = is_item or "record_type" in row or ("type" not in row and "instructions" in row and "id" in row)
    return ("codex", False) if is_flat else ("pi", False)
