"""Reads the bytes of a Pi session file (versions 1, 2, 3) into a `Session`.

One pass finds the records (`pi_rows.py`); here they become entries of version 3, linked to their parents. Lines that
are not one whole JSON object are salvaged with a warning each. `exact=True` reads as Pi 1.6.0 does: lines that
`JSON.parse` refuses are skipped in silence. Source: Pi 1.6.0 session-manager.js loadEntriesFromFile,
migrateSessionEntries; docs/session-format.md.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from compactor.branch import Links, link_parents, link_parents_as_pi
from compactor.entries import Entry, Session, SessionHeader, SessionWarning
from compactor.errors import SessionError
from compactor.formats.pi_rows import Rows, header_id, json_fields, scan
from compactor.js_text import utf8
from compactor.messages import lenient

CURRENT_VERSION = 3
"""Pi 1.6.0 session-manager.js CURRENT_SESSION_VERSION."""

GIVE = "give the path of a session of Pi, Claude Code or Codex"

MAX_VERSION_DIGITS = 9
"""A longer number is no version that was ever written; Python refuses to read one of thousands of digits."""


def parse_session(data: bytes, *, path: str = "<memory>", exact: bool = False, with_estimates: bool = False) -> Session:
    """The session in `data`.

    Args:
        data: the whole file.
        path: named in messages.
        exact: read as Pi does, its losses included.
        with_estimates: measure messages in passing (`Entry.estimate`), for a caller that will measure the context.

    Raises:
        SessionError: the first record is not a session header with an id.
    """
    found = scan(data, exact, with_estimates)
    real = [row for row in found.rows if row is not None]
    header = _header(real, path, data)
    version = _version(found, real, exact)
    entries = _entries(found, real, version, header.id, exact)
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
        header_raw=first.raw,
        entries=entries,
        parents=links.parents,
        warnings=warnings,
        size=len(data),
        ends_with_newline=data.endswith(b"\n"),
        torn_tail=found.torn_tail,
    )


def _header(rows: list[Entry], path: str, data: bytes) -> SessionHeader:
    """The header in the first row.

    Raises:
        SessionError: there is none.
    """
    if not data or data.isspace():
        raise SessionError(f"{path}: expected a session file, found {'an empty file' if not data else 'only blanks'}")
    wanted = 'expected a session file (first line {"type":"session","id":…})'
    if not rows:
        raise SessionError(f"{path}: {wanted}, found {_excerpt(data)} on line 1; {GIVE}")
    first = rows[0]
    session_id = header_id(first)
    if first.type != "session" or session_id is None:
        kind = f"an entry of type {first.type!r}" if first.type else "JSON that is no entry"
        kind = "a session header without an id" if first.type == "session" else kind
        todo = "the header is damaged" if first.type == "session" else "the header line is missing"
        raise SessionError(f"{path}: {wanted}, found {kind} on line {first.line}; {todo}")
    header, _ = lenient({"id": session_id, **json_fields(first.raw)}, SessionHeader)
    return header


def _excerpt(data: bytes) -> str:
    line = data.lstrip().split(b"\n", 1)[0][:40].decode("utf-8", "replace")
    return repr("".join(c if c.isprintable() else "�" for c in line))


def _version(found: Rows, rows: list[Entry], exact: bool) -> int:
    """The version that the header gives; 1 if it gives none.

    A version that is no number is as JavaScript compares it (`"3"` is 3, `"x"` is none of the older ones). By default
    it is the current one, also where there is none, if the entries have ids, as those of version 1 never do.
    """
    version: Any = json_fields(rows[0].raw).get("version")
    if type(version) in (int, float):
        return max(1, int(version)) if version == version and abs(version) < 2**31 else CURRENT_VERSION
    if not exact and len(rows) > 1 and all(row.id for row in rows[1:]):
        seen = "none" if version is None else repr(version)
        text = f"line {rows[0].line}: expected a number as the version, found {seen}; read as {CURRENT_VERSION}"
        found.warnings.append(SessionWarning(code="unknown_version", message=text, line=rows[0].line))
        return CURRENT_VERSION
    if isinstance(version, str):
        digits = version.strip().lstrip("0") or "0"
        known = digits.isascii() and digits.isdigit() and len(digits) <= MAX_VERSION_DIGITS
        return max(1, int(digits)) if known else CURRENT_VERSION
    return 1 if version is None or isinstance(version, bool) else CURRENT_VERSION


def _entries(found: Rows, rows: list[Entry], version: int, session_id: str, exact: bool) -> list[Entry]:
    """The entries after the header, migrated to version 3 in memory."""
    body = [row for row in rows if row.type != "session"]
    if not exact:
        for extra in [row for row in rows[1:] if row.type == "session"]:
            text = f"line {extra.line}: a second session header was skipped"
            found.warnings.append(SessionWarning(code="extra_header", message=text, line=extra.line))
    if version < 2:
        return _migrate_v1(found, body, session_id, exact)
    if version >= CURRENT_VERSION and len(body) == len(found.rows) - 1 and (exact or all(row.id for row in body)):
        return body  # one header, nothing lost: every row is at its place
    entries: list[Entry] = []
    taken: set[str] = set()
    for position, row in enumerate(body):
        patch = _hook_role(row) if version < 3 else None
        entry_id = row.id
        if not entry_id and not exact:
            taken = taken or {row.id for row in body}
            entry_id = made_id(session_id, row.line, taken)
            patch = patch or {}
            text = f"line {row.line}: the entry has no id; {entry_id} is used in its place"
            found.warnings.append(SessionWarning(code="missing_id", message=text, line=row.line, entry_id=entry_id))
        entries.append(_moved(row, position, entry_id, row.parent_id, patch))
    return entries


def _moved(
    row: Entry,
    position: int,
    entry_id: str,
    parent_id: str | msgspec.UnsetType | None,
    patch: Mapping[str, Any] | None,
) -> Entry:
    """The row at its place among the entries, with what a migration changed."""
    role = patch["role"] if patch and "role" in patch else row.role
    changes = {"index": position, "id": entry_id, "parent_id": parent_id, "role": role, "patch": patch}
    return msgspec.structs.replace(row, **changes)


def _hook_role(row: Entry) -> dict[str, Any] | None:
    """Version 2 -> 3: the role hookMessage is now custom."""
    is_hook = row.type == "message" and row.role == "hookMessage"
    return {"role": "custom"} if is_hook else None


def _migrate_v1(found: Rows, body: list[Entry], session_id: str, exact: bool) -> list[Entry]:
    """Version 1 -> 3: ids and parents in file order; firstKeptEntryIndex (header included) becomes an id."""
    taken: set[str] = set()
    ids: dict[int, str] = {}
    for row in body:
        ids[id(row)] = made_id(session_id, row.line if not exact else len(ids), taken)
    entries: list[Entry] = []
    parent: str | None = None
    for position, row in enumerate(body):
        patch = _hook_role(row) or {}
        if row.type == "compaction":
            patch |= _first_kept_patch(found, row, ids, exact)
        entries.append(_moved(row, position, ids[id(row)], parent, patch))
        parent = ids[id(row)]
    return entries


def _first_kept_patch(found: Rows, row: Entry, ids: Mapping[int, str], exact: bool) -> dict[str, Any]:
    """What replaces firstKeptEntryIndex: the id of the row at that position, if it is an entry."""
    wanted = json_fields(row.raw).get("firstKeptEntryIndex")
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
    if target is None or target.type == "session":
        return dropped
    return dropped | {"firstKeptEntryId": ids[id(target)]}


def made_id(session_id: str, line: int, taken: set[str]) -> str:
    """Eight hex digits made from the session id and the line, unique among `taken`, the same on every reading."""
    from hashlib import sha256  # only files without ids need it

    salt = 0
    while (made := sha256(utf8(f"{session_id}\n{line}\n{salt}")).hexdigest()[:8]) in taken:
        salt += 1
    taken.add(made)
    return made
