"""A file of entries without a usable header, read all the same.

Takes the bytes of a file that the reader refused; gives a `StandIn`: a session with a header for the missing one.
The header is put on the first line before what is there, so that every line keeps its number.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from compactor.entries import Entry, Session
from compactor.formats.damaged_lines import BOM, ENTRY_TYPES
from compactor.formats.imported import VERSION, encoded
from compactor.formats.json_rows import json_rows
from compactor.formats.pi import made_id, parse_session
from compactor.formats.pi_rows import json_fields, scan
from compactor.formats.registry import detect_format


@dataclass(frozen=True, slots=True, kw_only=True)
class StandIn:
    """A session that could be read with another header."""

    session: Session
    reason: str
    """What is wrong with its own, in one sentence."""


def with_stand_in(data: bytes, *, path: str) -> StandIn | None:
    """The session of a file whose header is missing or has no id; None if it holds no entries of Pi.

    What a header without id says, or one that is not on the first line, is taken over.
    """
    if detect_format(data) != "pi":
        return None
    rows = [row for row in scan(data, exact=False, with_estimates=False).rows if row is not None]
    entries = [row for row in rows if row.type in ENTRY_TYPES and row.type != "session"]
    headers = [row for row in rows if row.type == "session"]
    if not entries:
        return None
    header = _header(entries, json_fields(headers[0].raw) if headers else {})
    first, line_end, rest = data.partition(b"\n")
    found = json_rows(first, ENTRY_TYPES)
    others = [row.value for row in found.rows if row.value.get("type") != "session"]
    is_plain = not found.warnings and len(others) == len(found.rows)
    line = first.removeprefix(BOM) if is_plain else b"".join(map(encoded, others))
    # With a parent it is taken for a record whatever stands after it.
    start = encoded({**header, "parentId": None})
    session = parse_session(start + line + line_end + rest, path=path)
    own = [w for w in session.warnings if w.line != 1 or w.code not in _OF_LINES]
    taken = headers[0].line if headers else 0
    own = [w for w in own if not (w.code == "extra_header" and w.line == taken)]
    session = msgspec.structs.replace(
        session, header_raw=encoded(header), warnings=[*found.warnings, *own], size=len(data)
    )
    return StandIn(session=session, reason=_reason(rows, headers))


def _reason(rows: Sequence[Entry], headers: Sequence[Entry]) -> str:
    if not headers:
        return "the file has no session header"
    if headers[0] is rows[0]:
        return "the session header has no id"
    return f"the session header stands on line {headers[0].line}, after other records"


_OF_LINES = frozenset({"fused_lines", "damaged_line"})
"""Codes that a first line of two records gives rise to."""


def _header(entries: list[Entry], known: dict[str, Any]) -> dict[str, Any]:
    """The header; its id is made from the first entry where none is known."""
    first = entries[0]
    own_id = known.get("id")
    version = known.get("version")
    is_version = isinstance(version, int) and not isinstance(version, bool)
    timestamp = json_fields(first.raw).get("timestamp")
    made = {"timestamp": timestamp} if isinstance(timestamp, str) else {}
    return {
        "type": "session",
        "version": version if is_version else VERSION,
        "id": own_id if isinstance(own_id, str) and own_id else made_id(repr(first.raw), first.line, set()),
        **made,
        **{key: value for key, value in known.items() if key not in ("type", "version", "id")},
    }
