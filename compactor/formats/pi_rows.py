"""The records in the bytes of a Pi session file: the one pass over all lines.

Takes the whole file; gives an `Entry` a record, not yet migrated, with its span, type, id and parent. No more is
decoded, unless estimates are asked for: then the lines after the newest compaction, most of which will be needed, are
measured in the same pass and not decoded again. Lines that are not one whole JSON object are salvaged
(`damaged_lines.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import msgspec

from compactor.entries import Entry, EntryBody, SessionWarning, load_json
from compactor.formats.damaged_lines import BOM, is_blank, read_as_pi, salvage
from compactor.message_measure import message_measure
from compactor.messages import Message, lenient


class _RoleOnly(msgspec.Struct, gc=False):
    role: str = ""


class _IndexRow(msgspec.Struct, gc=False, rename={"parent_id": "parentId"}):
    """What the index pass decodes of a line."""

    type: str
    id: str | None = None
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    message: _RoleOnly | None = None


class _WholeRow(EntryBody, frozen=True, gc=False, kw_only=True, rename="camel"):
    """What it decodes of a line that is measured at once: all that `Entry.decode` does, just as strictly."""

    type: str
    id: str | None = None
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET


_decode_index = msgspec.json.Decoder(_IndexRow).decode
_decode_whole = msgspec.json.Decoder(_WholeRow).decode
_Decoder = Callable[[memoryview], _IndexRow | _WholeRow]
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

ESTIMATED_ROLES = frozenset({"user", "assistant", "toolResult"})
"""Messages that no setting hides and no migration changes, nearly all there are; others are measured when needed."""

_COMPACTION_HEAD = b'{"type":"compaction"'
"""How Pi starts the line of a compaction; in a file written otherwise only speed is lost."""


@dataclass(slots=True)
class Rows:
    """The records of a file as they are found."""

    rows: list[Entry | None] = field(default_factory=list)
    """As they stand in the file, the header among them with index -1; None for a record that is lost, which counts."""
    warnings: list[SessionWarning] = field(default_factory=list)
    ghosts: dict[str, str | None] = field(default_factory=dict)
    torn_tail: bool = False


def scan(data: bytes, exact: bool, with_estimates: bool) -> Rows:
    """The records of all lines, and what was wrong with them.

    Args:
        data: the whole file.
        exact: skip in silence what `JSON.parse` refuses.
        with_estimates: measure what comes after the newest compaction.
    """
    found = Rows()
    rows, entry_type = found.rows, Entry
    view = memoryview(data)
    ends = _line_ends(data)
    first_whole = _after_compactions(data, ends) if with_estimates else len(ends)
    decoders: Iterator[_Decoder] = chain(repeat(_decode_index, first_whole), repeat(_decode_whole))
    start = 0
    for number, (end, decode) in enumerate(zip(ends, decoders, strict=False), 1):
        if end > start:
            try:
                row = decode(view[start:end])
            except _REFUSED:
                _refused_line(data[start:end], number, found, exact)
                found.torn_tail = end == len(data) and rows[-1:] == [None]
            else:
                role, estimate, message = "", None, row.message
                if message is not None:
                    role = message.role
                    if isinstance(message, Message) and role in ESTIMATED_ROLES and row.type == "message":
                        estimate = message_measure(message)
                stop = end - 1 if data[end - 1] == 13 else end
                at, entry_id = len(rows) - 1, row.id or ""
                rows.append(
                    entry_type(at, number, row.type, entry_id, row.parent_id, role, data, start, stop, None, estimate)
                )
        start = end + 1
    return found


def _line_ends(data: bytes) -> list[int]:
    """Where each line ends: at its line feed, or at the end of the data."""
    ends: list[int] = []
    find = data.find
    end = find(b"\n")
    while end >= 0:
        ends.append(end)
        end = find(b"\n", end + 1)
    if not data.endswith(b"\n"):
        ends.append(len(data))
    return ends


def _after_compactions(data: bytes, ends: list[int]) -> int:
    """The first line after the newest compaction, 0 if there is none."""
    newest = [n for n, end in enumerate(ends) if data.startswith(_COMPACTION_HEAD, end + 1)][-1:]
    return newest[0] + 2 if newest else 0


def _refused_line(line: bytes, number: int, found: Rows, exact: bool) -> None:
    """Adds what a line holds that a strict decoder refused."""
    if is_blank(line):
        return
    try:
        index = _decode_index(line)  # a field that only the whole row has may be of a wrong type
    except _REFUSED:
        _damaged_line(line, number, found, exact)
    else:
        _add(found, index, number, line.removesuffix(b"\r"))


def _damaged_line(line: bytes, number: int, found: Rows, exact: bool) -> None:
    """Adds what a line holds that is not one JSON object with the fields of an index row."""
    if exact:
        try:
            value = read_as_pi(line)
        except ValueError:
            return
        if value is not None:
            _add(found, _loose_index(value), number, line)
        return
    parts = salvage(line)
    for code, text in parts.problems:
        found.warnings.append(SessionWarning(code=code, message=f"line {number}: {text}", line=number))
    if parts.ghost:
        found.ghosts[parts.ghost[0]] = parts.ghost[1]
    lost = parts.rows - len(parts.objects)
    found.rows += [None] * lost
    for value, raw in parts.objects:
        _add(found, _loose_index(value), number, raw)


def _loose_index(value: Any) -> _IndexRow:
    """The index fields of a value in which they may have any type."""
    fields = value if isinstance(value, dict) else {}
    kind = fields.get("type")
    index, _ = lenient({**fields, "type": kind if isinstance(kind, str) else ""}, _IndexRow)
    return index


def _add(found: Rows, index: _IndexRow, number: int, raw: bytes) -> None:
    """Adds the record that the line with this number, or a part of it, holds."""
    role = index.message.role if index.message is not None else ""
    at, entry_id = len(found.rows) - 1, index.id or ""
    found.rows.append(Entry(at, number, index.type, entry_id, index.parent_id, role, raw, 0, len(raw)))


def json_fields(raw: bytes) -> dict[str, Any]:
    """The JSON object of a row; empty if it is nested too deep, which only the index pass can bear."""
    try:
        value: dict[str, Any] = load_json(raw.removeprefix(BOM))
    except ValueError:
        return {}
    return value


def header_id(row: Entry) -> str | None:
    """The id as it is written, None if there is none."""
    try:
        return _decode_index(row.raw).id
    except _REFUSED:
        return _loose_index(json_fields(row.raw)).id
