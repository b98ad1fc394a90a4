"""What a compaction of a Claude Code transcript kept verbatim, where it says so.

Takes rows; gives the uuids that a boundary names, and the rows in the order of the conversation: those that were kept
but written only after the boundary stand before it again. Newer versions list all rows (`preservedMessages`), versions
before those name the first and the last (`preservedSegment`). Sources: transcripts of Claude Code 2.0 to 2.1, and
reports on versions up to 2.1.282.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from compactor.formats.claude_rows import Row


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The rows that a boundary names."""

    listed: tuple[str, ...] = ()
    """All that was kept, in order; empty where only the ends are named."""
    head: str | None = None
    tail: str | None = None

    def uuids(self, rows: Sequence[Row], at: Mapping[str, int]) -> list[str]:
        """All that was kept: what is listed, else all rows from the first to the last."""
        if self.listed:
            return list(self.listed)
        first, last = at.get(self.head or ""), at.get(self.tail or "")
        return [] if first is None or last is None else [row.uuid for row in rows[first : last + 1]]


def kept_by(row: Row) -> Kept:
    """What a boundary says that it kept."""
    meta = as_object(row.value.get("compactMetadata"))
    messages, segment = as_object(meta.get("preservedMessages")), as_object(meta.get("preservedSegment"))
    head, tail = segment.get("headUuid"), segment.get("tailUuid")
    return Kept(
        listed=tuple(strings(messages.get("allUuids")) or strings(messages.get("uuids"))),
        head=head if isinstance(head, str) else None,
        tail=tail if isinstance(tail, str) else None,
    )


def in_order(rows: Sequence[Row]) -> list[Row]:
    """The rows, each before the boundary that kept it; one that moves continues after what is before it then."""
    at = {row.uuid: row.at for row in rows}
    boundaries = [row for row in rows if row.kind == "system" and row.subtype == "compact_boundary"]
    late: dict[int, list[int]] = {}
    for n, boundary in enumerate(boundaries):
        end = boundaries[n + 1].at if n + 1 < len(boundaries) else len(rows)
        late[boundary.at] = sorted(_written_late(boundary, rows, at, end))
    moved = {place for places in late.values() for place in places}
    ordered: list[Row] = []
    for row in rows:
        for place in late.get(row.at, ()):
            parent = at.get(rows[place].parent or "")
            if parent is None or (parent >= row.at and parent not in moved):
                rows[place].parent = ordered[-1].uuid if ordered else None
            ordered.append(rows[place])
        if row.at not in moved:
            ordered.append(row)
    for place, row in enumerate(ordered):
        row.at = place
    return ordered


def _written_late(boundary: Row, rows: Sequence[Row], at: Mapping[str, int], end: int) -> set[int]:
    """The positions, between a boundary and `end`, of rows that it kept."""
    kept = kept_by(boundary)
    late = {place for uuid in kept.listed if boundary.at < (place := at.get(uuid, -1)) < end}
    place = at.get(kept.tail or "", -1)
    while boundary.at < place < end and place not in late and rows[place].value.get("isCompactSummary") is not True:
        late.add(place)
        place = at.get(rows[place].parent or "", -1)
    return late


def as_object(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def strings(value: Any) -> list[str]:
    """The strings in a list, none if it is no list."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []
