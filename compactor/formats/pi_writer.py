"""A session as the lines of a Pi file of version 3.

Takes a `Session`, whichever agent wrote it, and perhaps the entries of one branch; gives lines that Pi reads as we do:
a link that was repaired is written as it was followed. A line that needs no change is copied byte for byte.
"""

from collections.abc import Iterator, Sequence

from compactor.entries import Entry, Session
from compactor.formats.damaged_lines import BOM
from compactor.formats.imported import VERSION, encoded
from compactor.formats.pi_rows import json_fields


def pi_lines(session: Session, branch: Sequence[Entry] | None = None) -> Iterator[bytes]:
    """The lines of the file, without line ends; the header is the first.

    Args:
        session: as read, each entry with an id of its own (`diagnosis.repair.mended` sees to that).
        branch: only these entries, each the child of the one before it; None for all, in file order.

    Raises:
        SessionError: a line that must be changed is nested deeper than Python can follow.
    """
    yield _header(session)
    entries = session.entries
    before: int | None = None
    for entry in entries if branch is None else branch:
        parent = session.parents[entry.index] if branch is None else before
        yield _line(entry, None if parent is None else entries[parent].id)
        before = entry.index


def _header(session: Session) -> bytes:
    """The header, with the current version."""
    header = json_fields(session.header_raw)
    version = header.get("version")
    if isinstance(version, int) and version >= VERSION:
        return session.header_raw.removeprefix(BOM)
    return encoded({"type": "session", **header, "id": session.header.id, "version": VERSION})


def _line(entry: Entry, parent_id: str | None) -> bytes:
    """The entry with its parent, as it stands in the file where that is what it says."""
    if entry.patch is None and entry.parent_id == parent_id and b"\0" not in entry.raw:
        return entry.raw
    wire = entry.wire()
    ordered = {"type": wire.pop("type", entry.type), "id": entry.id, "parentId": parent_id}
    wire.pop("id", None)
    wire.pop("parentId", None)
    return encoded(ordered | wire)
