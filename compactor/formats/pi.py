"""Reads the bytes of a Pi session file (versions 1, 2, 3) into a `Session`.

An index pass finds each line's span, type, id and parent; nothing else is decoded. Lines that are not one whole JSON
object are salvaged (`damaged_lines.py`) with a warning each. `exact=True` reads as Pi 1.6.0 does: lines that
`JSON.parse` refuses are skipped in silence. Source: Pi 1.6.0 session-manager.js loadEntriesFromFile,
migrateSessionEntries; docs/session-format.md.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from compactor.branch import Links, link_parents, link_parents_as_pi
from compactor.entries import Entry, Session, SessionHeader, SessionWarning, load_json
from compactor.errors import SessionError
from compactor.formats.damaged_lines import BOM, is_blank, read_as_pi, salvage
from compactor.js_text import utf8
from compactor.messages import lenient

CURRENT_VERSION = 3
"""Pi 1.6.0 session-manager.js CURRENT_SESSION_VERSION."""


class _RoleOnly(msgspec.Struct, gc=False):
    role: str = ""


class _IndexRow(msgspec.Struct, gc=False, rename={"parent_id": "parentId"}):
    type: str
    id: str | None = None
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    message: _RoleOnly | None = None


_decode_index = msgspec.json.Decoder(_IndexRow).decode


class _Row(msgspec.Struct, gc=False):
    """One record of the file before migration."""

    index: _IndexRow
    line: int
    source: bytes
    start: int
    end: int


@dataclass(slots=True)
class _Rows:
    """The rows of a file as they are found."""

    rows: list[_Row | None] = field(default_factory=list)
    """None stands for a record that is lost; version 1 indexes count it."""
    warnings: list[SessionWarning] = field(default_factory=list)
    ghosts: dict[str, str | None] = field(default_factory=dict)
    torn_tail: bool = False


def parse_session(data: bytes, *, path: str = "<memory>", exact: bool = False) -> Session:
    """The session in `data`.

    Args:
        data: the whole file.
        path: named in messages.
        exact: read as Pi does, its losses included.

    Raises:
        SessionError: the first record is not a session header with an id.
    """
    found = _scan(data, exact)
    real = [row for row in found.rows if row is not None]
    header = _header(real, path, data)
    version = _version(header)
    entries = _entries(found, version, header.id, exact)
    if exact:
        links = link_parents_as_pi(entries)
    elif version < 2:
        parents: list[int | None] = [None, *range(len(entries) - 1)] if entries else []
        links = Links(parents=parents, warnings=[])
    else:
        links = link_parents(entries, found.ghosts)
    warnings = sorted([*found.warnings, *links.warnings], key=lambda w: w.line or 0)
    first = real[0]
    return Session(
        path=path,
        format="pi",
        header=msgspec.structs.replace(header, version=version),
        header_raw=first.source[first.start : first.end],
        entries=entries,
        parents=links.parents,
        warnings=warnings,
        size=len(data),
        ends_with_newline=data.endswith(b"\n"),
        torn_tail=found.torn_tail,
    )


def _scan(data: bytes, exact: bool) -> _Rows:
    """The index pass over all lines."""
    found = _Rows()
    rows, decode, row_type = found.rows, _decode_index, _Row
    view = memoryview(data)
    find = data.find
    start, number, size = 0, 0, len(data)
    while start < size:
        end = find(b"\n", start)
        if end < 0:
            end = size
        number += 1
        if end > start:
            try:
                index = decode(view[start:end])
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                _slow_line(data[start:end], number, found, exact)
                found.torn_tail = end == size and rows[-1:] == [None]
            else:
                stop = end - 1 if data[end - 1] == 13 else end
                rows.append(row_type(index, number, data, start, stop))
        start = end + 1
    return found


def _slow_line(line: bytes, number: int, found: _Rows, exact: bool) -> None:
    """Adds what a line holds that the fast reader refused."""
    if is_blank(line):
        return
    if exact:
        try:
            value = read_as_pi(line)
        except ValueError:
            return
        if value is not None:
            found.rows.append(_loose_row(value, line, number))
        return
    parts = salvage(line)
    for code, text in parts.problems:
        found.warnings.append(SessionWarning(code=code, message=f"line {number}: {text}", line=number))
    if parts.ghost:
        found.ghosts[parts.ghost[0]] = parts.ghost[1]
    lost = parts.rows - len(parts.objects)
    found.rows += [None] * lost
    found.rows += [_loose_row(value, raw, number) for value, raw in parts.objects]


def _loose_row(value: Any, raw: bytes, number: int) -> _Row:
    """A row from a value whose index fields may have any type."""
    fields = value if isinstance(value, dict) else {}
    kind = fields.get("type")
    index, _ = lenient({**fields, "type": kind if isinstance(kind, str) else ""}, _IndexRow)
    return _Row(index, number, raw, 0, len(raw))


def _header(rows: list[_Row], path: str, data: bytes) -> SessionHeader:
    """The header in the first row.

    Raises:
        SessionError: there is none.
    """
    if not data or data.isspace():
        raise SessionError(f"{path}: expected a session file, found {'an empty file' if not data else 'only blanks'}")
    wanted = 'expected a session file (first line {"type":"session","id":…})'
    if not rows:
        raise SessionError(f"{path}: {wanted}, found {_excerpt(data)} on line 1; give the path of a Pi session")
    first = rows[0]
    if first.index.type != "session" or first.index.id is None:
        kind = f"an entry of type {first.index.type!r}" if first.index.type else "JSON that is no entry"
        kind = "a session header without an id" if first.index.type == "session" else kind
        raise SessionError(f"{path}: {wanted}, found {kind} on line {first.line}; the header line is missing")
    header, _ = lenient({"id": first.index.id, **_fields(first)}, SessionHeader)
    return header


def _fields(row: _Row) -> dict[str, Any]:
    """The row's JSON object; empty if it is nested too deep, which only the index pass can bear."""
    try:
        value: dict[str, Any] = load_json(row.source[row.start : row.end].removeprefix(BOM))
    except ValueError:
        return {}
    return value


def _excerpt(data: bytes) -> str:
    line = data.lstrip().split(b"\n", 1)[0][:40].decode("utf-8", "replace")
    return repr("".join(c if c.isprintable() else "�" for c in line))


def _version(header: SessionHeader) -> int:
    version = header.version
    return max(1, int(version)) if version == version and abs(version) < 2**31 else CURRENT_VERSION


def _entries(found: _Rows, version: int, session_id: str, exact: bool) -> list[Entry]:
    """The entries after the header, migrated to version 3 in memory."""
    rows = [row for row in found.rows if row is not None]
    body = [row for row in rows if row.index.type != "session"]
    if not exact:
        for extra in [row for row in rows[1:] if row.index.type == "session"]:
            text = f"line {extra.line}: a second session header was skipped"
            found.warnings.append(SessionWarning(code="extra_header", message=text, line=extra.line))
    if version < 2:
        return _migrate_v1(found, body, session_id, exact)
    taken = {row.index.id for row in body if row.index.id} if not exact else set()
    entries: list[Entry] = []
    for position, row in enumerate(body):
        entry_id = row.index.id
        patch: dict[str, Any] | None = _hook_role(row) if version < 3 else None
        if not entry_id and not exact:
            entry_id = made_id(session_id, row.line, taken)
            patch = patch or {}
            text = f"line {row.line}: the entry has no id; {entry_id} is used in its place"
            found.warnings.append(SessionWarning(code="missing_id", message=text, line=row.line, entry_id=entry_id))
        entries.append(_entry(row, position, entry_id or "", row.index.parent_id, patch))
    return entries


def _entry(
    row: _Row,
    position: int,
    entry_id: str,
    parent_id: str | msgspec.UnsetType | None,
    patch: Mapping[str, Any] | None,
) -> Entry:
    index = row.index
    role = index.message.role if index.message is not None else ""
    if patch and "role" in patch:
        role = patch["role"]
    return Entry(position, row.line, index.type, entry_id, parent_id, role, row.source, row.start, row.end, patch)


def _hook_role(row: _Row) -> dict[str, Any] | None:
    """Version 2 -> 3: the role hookMessage is now custom."""
    is_hook = row.index.type == "message" and row.index.message is not None and row.index.message.role == "hookMessage"
    return {"role": "custom"} if is_hook else None


def _migrate_v1(found: _Rows, body: list[_Row], session_id: str, exact: bool) -> list[Entry]:
    """Version 1 -> 3: ids and parents in file order; firstKeptEntryIndex (header included) becomes an id."""
    taken: set[str] = set()
    ids: dict[int, str] = {}
    for row in body:
        ids[id(row)] = made_id(session_id, row.line if not exact else len(ids), taken)
    entries: list[Entry] = []
    parent: str | None = None
    for position, row in enumerate(body):
        patch = _hook_role(row) or {}
        if row.index.type == "compaction":
            patch |= _first_kept_patch(found, row, ids, exact)
        entries.append(_entry(row, position, ids[id(row)], parent, patch))
        parent = ids[id(row)]
    return entries


def _first_kept_patch(found: _Rows, row: _Row, ids: Mapping[int, str], exact: bool) -> dict[str, Any]:
    """What replaces firstKeptEntryIndex: the id of the row at that position, if it is an entry."""
    wanted = _fields(row).get("firstKeptEntryIndex")
    if not isinstance(wanted, int | float) or isinstance(wanted, bool):
        return {}
    dropped: dict[str, Any] = {"dropped": ("firstKeptEntryIndex",)}
    rows = found.rows
    at = int(wanted) if wanted == wanted and abs(wanted) < 2**53 and wanted == int(wanted) else -1
    target = rows[at] if 0 <= at < len(rows) else None
    if target is None and not exact and 0 <= at < len(rows):
        target = next((r for r in rows[at:] if r is not None), None)
        text = f"line {row.line}: the first kept entry (record {at}) is damaged; the next one is kept from"
        found.warnings.append(SessionWarning(code="first_kept_lost", message=text, line=row.line))
    if target is None or target.index.type == "session":
        return dropped
    return dropped | {"firstKeptEntryId": ids[id(target)]}


def made_id(session_id: str, line: int, taken: set[str]) -> str:
    """Eight hex digits made from the session id and the line, unique among `taken`, the same on every reading."""
    salt = 0
    while (made := hashlib.sha256(utf8(f"{session_id}\n{line}\n{salt}")).hexdigest()[:8]) in taken:
        salt += 1
    taken.add(made)
    return made
