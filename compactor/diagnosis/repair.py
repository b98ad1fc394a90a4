"""A repaired copy of a Pi session: whole lines, ids of their own, links as the reader followed them.

Takes the bytes of a file and its diagnosis; gives the bytes of the copy. Lines without damage are copied byte for byte,
and a file without damage as a whole, whatever its version. What is only odd stays: content is neither made up nor left
out, so a result without its call is still there, and so is what a compaction lost.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from compactor.diagnosis.checkup import Diagnosis
from compactor.diagnosis.examined import tree_of
from compactor.diagnosis.finding import Finding, kind_of
from compactor.entries import Entry, Session
from compactor.errors import SessionError
from compactor.formats.imported import encoded
from compactor.formats.pi import made_id
from compactor.formats.pi_rows import json_fields
from compactor.formats.pi_writer import pi_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """The copy, and what it still has wrong."""

    content: bytes
    repaired: tuple[Finding, ...]
    left: tuple[Finding, ...]
    """Errors and warnings that no copy can mend."""


def repair(data: bytes, diagnosis: Diagnosis) -> Repair:
    """The repaired copy.

    Args:
        data: the whole file.
        diagnosis: of these bytes.

    Raises:
        SessionError: the file holds no session of Pi, or a line that must be changed can't be.
    """
    session = diagnosis.session
    if session is None:
        what = diagnosis.findings[0].message
        raise SessionError(f"{diagnosis.path}: expected a session to repair, found none: {what}")
    if session.format != "pi":
        raise SessionError(
            f"{diagnosis.path}: expected a Pi session to repair, found the format {session.format!r}; "
            "write it as one with `compactor convert`"
        )
    if any(found.code == "event_stream" for found in diagnosis.findings):
        raise SessionError(f"{diagnosis.path}: expected a Pi session to repair, found the events that Pi prints")
    repaired = tuple(found for found in diagnosis.findings if kind_of(found.code).is_repaired)
    left = tuple(f for f in diagnosis.findings if f.severity != "note" and not kind_of(f.code).is_repaired)
    if not repaired:
        return Repair(content=data, repaired=(), left=left)
    lines = pi_lines(mended(session)) if any(f.severity != "note" for f in repaired) else _as_written(session)
    return Repair(content=b"".join(line + b"\n" for line in lines), repaired=repaired, left=left)


def _as_written(session: Session) -> Iterator[bytes]:
    """The lines of a file whose line ends or blank lines are all that is changed; its version stays."""
    yield session.header_raw
    for entry in session.entries:
        yield entry.raw


def mended(session: Session) -> Session:
    """The session with ids of its own for each entry, references to them, and lines that every JSON reader takes."""
    names = _Names(session)
    odd = {warning.line for warning in session.warnings if warning.code == "invalid_json_repaired"}
    entries = [_mended_entry(entry, names, is_odd=entry.line in odd) for entry in session.entries]
    header = encoded(json_fields(session.header_raw)) if 1 in odd else _plain(session.header_raw)
    return msgspec.structs.replace(session, entries=entries, header_raw=header)


def _mended_entry(entry: Entry, names: "_Names", *, is_odd: bool) -> Entry:
    """The entry, to be written anew if it has another id or reference now, or NaN among its numbers."""
    own, references, plain = names.own[entry.index], names.references(entry), _plain(entry.raw)
    if is_odd or references or own != entry.id or entry.patch is not None:
        patch = {**(entry.patch or {}), **references}
        return msgspec.structs.replace(entry, id=own, patch=patch, source=plain, start=0, end=len(plain))
    return entry if plain == entry.raw else msgspec.structs.replace(entry, source=plain, start=0, end=len(plain))


def _plain(raw: bytes) -> bytes:
    """The object in valid UTF-8."""
    return raw.decode("utf-8", "replace").encode()


REFERENCES = {
    "compaction": "firstKeptEntryId",
    "context_edit": "targetId",
    "label": "targetId",
}
"""Entry type -> the field that names another entry on which something depends."""


class _Names:
    """Ids of their own for all entries, and what references to ids that were used twice become."""

    def __init__(self, session: Session) -> None:
        by_id: dict[str, list[int]] = defaultdict(list)
        for entry in session.entries:
            by_id[entry.id].append(entry.index)
        doubled = {entry_id: found for entry_id, found in by_id.items() if len(found) > 1}
        taken = set(by_id)
        self.own = [entry.id for entry in session.entries]
        for found in doubled.values():
            for index in found[1:]:
                self.own[index] = made_id(session.header.id, session.entries[index].line, taken)
        self._meant = _meant(session, doubled) if doubled else {}

    def references(self, entry: Entry) -> dict[str, str]:
        """The field by which an entry names another, if two have that id, with the id that the one meant has now."""
        meant = self._meant.get(entry.index)
        return {} if meant is None else {REFERENCES[entry.type]: self.own[meant]}


def _meant(session: Session, doubled: Mapping[str, Sequence[int]]) -> dict[int, int]:
    """For each entry that names another by an id that several have, which of these is meant, by index.

    For a compaction the first on its branch, as in `projection.context_entries`; for an edit the newest on its branch;
    else the newest before it in the file.
    """
    meant: dict[int, int] = {}
    on_branch: dict[str, list[int]] = defaultdict(list)
    for index, is_coming in tree_of(session.parents).steps():
        entry = session.entries[index]
        if not is_coming:
            if entry.id in doubled:
                on_branch[entry.id].pop()
            continue
        if entry.id in doubled and entry.type == "compaction":
            on_branch[entry.id].append(index)  # it may name itself, where no other with its id is before it
        if entry.type in REFERENCES and (named := _named(entry)) in doubled:
            above, all_of_it = on_branch[named], doubled[named]
            before = all_of_it[max(0, bisect_left(all_of_it, index) - 1)]
            at = 0 if entry.type == "compaction" else -1
            meant[index] = above[at] if above and entry.type != "label" else before
        if entry.id in doubled and entry.type != "compaction":
            on_branch[entry.id].append(index)
    return meant


def _named(entry: Entry) -> str:
    """The id by which an entry names another; empty if it does not."""
    body = entry.body
    return (body.first_kept_entry_id if entry.type == "compaction" else body.target_id) or ""
