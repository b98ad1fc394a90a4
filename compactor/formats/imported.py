"""Another agent's session as a session of ours: converted rows in, `Session` out.

An importer (`claude_code.py`, `codex.py`) turns the rows of a file into Pi entries of version 3, each with the line
that it came from. Here they become one buffer of JSON lines, which is what a converted file holds, and `Entry` values
over it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import msgspec

from compactor.branch import link_parents
from compactor.entries import Entry, Session, SessionHeader, SessionWarning
from compactor.js_text import json_text
from compactor.messages import lenient

VERSION = 3
"""Of the entries that importers make; Pi 1.6.0 session-manager.js CURRENT_SESSION_VERSION."""


@dataclass(frozen=True, slots=True)
class ImportedRow:
    """One entry that an importer made."""

    line: int
    """Physical line of the other agent's file that it (first) came from, from 1."""
    fields: dict[str, Any]
    """The entry in Pi's wire names, `type`, `id` and `parentId` among them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """What an importer gives."""

    format: str
    header: dict[str, Any]
    """`id`, `timestamp`, `cwd`, and whatever else a header of Pi's may hold; type and version are added."""
    rows: Sequence[ImportedRow]
    """The last one is the leaf."""
    warnings: Sequence[SessionWarning] = ()
    torn_tail: bool = False
    reported_window: int | None = None
    """The model's window in tokens, where the file names it."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Ids of the other agent's rows that became a part of an entry -> the entry's id."""


def imported_session(made: Imported, *, path: str, data: bytes) -> Session:
    """The session of an importer's rows.

    Args:
        made: what the importer made.
        path: named in messages.
        data: the other agent's file.
    """
    header = {"type": "session", "version": VERSION, **made.header}
    lines = [encoded(row.fields) for row in made.rows]
    source = b"\n".join(lines)
    entries: list[Entry] = []
    start = 0
    for row, line in zip(made.rows, lines, strict=True):
        fields = row.fields
        message = fields.get("message")
        role = message.get("role", "") if isinstance(message, dict) else ""
        end = start + len(line)
        entries.append(
            Entry(len(entries), row.line, fields["type"], fields["id"], fields["parentId"], role, source, start, end)
        )
        start = end + 1
    links = link_parents(entries, {})
    return Session(
        path=path,
        format=made.format,
        header=lenient(header, SessionHeader)[0],
        header_raw=encoded(header),
        entries=entries,
        parents=links.parents,
        warnings=sorted([*made.warnings, *links.warnings], key=lambda w: w.line or 0),
        size=len(data),
        ends_with_newline=data.endswith(b"\n"),
        torn_tail=made.torn_tail,
        reported_window=made.reported_window,
        aliases=made.aliases,
    )


def encoded(fields: dict[str, Any]) -> bytes:
    """The object as one JSON line without its end; a lone surrogate stays as an escape."""
    try:
        return msgspec.json.encode(fields)
    except (UnicodeEncodeError, RecursionError):  # the latter at a value that is nested very deep
        return json_text(fields).encode()


def milliseconds(timestamp: Any) -> int | None:
    """Milliseconds since 1970 of an ISO time (UTC where it names no zone), None if it is none."""
    if not isinstance(timestamp, str):
        return None
    try:
        time = datetime.fromisoformat(timestamp)
        return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return None


@dataclass(slots=True)
class LeftOut:
    """What an importer can't carry over, counted by kind."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    lines: dict[tuple[str, str], int] = field(default_factory=dict)

    def add(self, code: str, what: str, line: int, count: int = 1) -> None:
        """Counts something: `code` names the kind of loss, `what` says which (`progress rows`)."""
        self.counts[code, what] += count
        self.lines.setdefault((code, what), line)

    def warnings(self) -> list[SessionWarning]:
        """One warning a kind, with the count and the first line."""
        told: list[SessionWarning] = []
        for (code, what), count in self.counts.items():
            line = self.lines[code, what]
            text = f"{what}: {count:,} left out, first on line {line}"
            told.append(SessionWarning(code=code, message=text, line=line))
        return told
