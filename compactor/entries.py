"""A session as values: header, entries and warnings, in the order of the file.

Takes the spans that a format reader found (`formats/pi.py`); gives `Entry` values that decode their JSON only when
asked, so that a large file costs its bytes and a small index. Pi's wire names (camelCase) live here, in `messages.py`
and in `events.py` only. Source: Pi 1.6.0 docs/session-format.md.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from compactor.entry_measure import EntryMeasure
from compactor.errors import SessionError
from compactor.js_text import parse_json
from compactor.messages import Block, Message, Number, Usage, lenient


class SessionWarning(msgspec.Struct, frozen=True, rename={"entry_id": "entryId"}, omit_defaults=True):
    """Something that was repaired, skipped, or may mislead; `line` is the physical line of the file, from 1."""

    code: str
    message: str
    line: int | None = None
    entry_id: str | None = None


class Replacement(msgspec.Struct, frozen=True):
    """What a context_edit puts in the place of its target's content."""

    content: str | list[Block] | None = None


class EntryBody(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """The fields of any entry type; `Entry.type` says which count."""

    timestamp: str | None = None
    message: Message | None = None
    # custom, custom_message
    custom_type: str | None = None
    content: str | list[Block] | None = None
    details: Any = None
    # compaction, branch_summary
    summary: str | None = None
    from_id: str | None = None
    first_kept_entry_id: str | None = None
    first_kept_entry_index: Number | None = None
    tokens_before: Number | None = None
    from_hook: bool | None = None
    usage: Usage | None = None
    system_message: Message | None = None
    # context_edit
    target_id: str | None = None
    replacement: Replacement | msgspec.UnsetType | None = msgspec.UNSET
    # model_change, usage
    provider: str | None = None
    model_id: str | None = None
    model: str | None = None
    thinking_level: str | None = None


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One entry of a session file; its JSON is decoded on demand and never kept."""

    index: int
    """Position after the header, from 0 (`#N` on the command line)."""
    line: int
    """Physical line in the file, from 1."""
    type: str
    id: str
    parent_id: str | msgspec.UnsetType | None
    """As written (or as made for version 1); UNSET if the field is missing. `Session.parents` says where it leads."""
    role: str
    """The role of a message entry, else an empty string."""
    source: bytes
    start: int
    end: int
    patch: Mapping[str, Any] | None = None
    """Fields that a migration from version 1 or 2 added or changed."""
    estimate: EntryMeasure | None = None
    """Pi's estimate of the entry by itself, if the reader took one in passing; no context_edit is applied."""

    @property
    def raw(self) -> bytes:
        """The JSON object as it stands in the file (NUL bytes and torn neighbours taken off), without line end."""
        return self.source[self.start : self.end]

    @property
    def body(self) -> EntryBody:
        """The typed fields, decoded anew on each access."""
        return self.decode()[0]

    def decode(self) -> tuple[EntryBody, list[str]]:
        """The typed fields, and the names of those whose type was not what Pi writes (they count as missing)."""
        try:
            body = _decode_body(memoryview(self.source)[self.start : self.end])
            bad: list[str] = []
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            body, bad = self._decode_leniently()
        return (_patched(body, self.patch) if self.patch else body), bad

    def _decode_leniently(self) -> tuple[EntryBody, list[str]]:
        try:
            body, bad = lenient(load_json(self.raw), EntryBody)
        except ValueError as error:
            return EntryBody(), [f"the entry ({error})"]
        return body, bad + ([NOT_UTF8] if not _is_utf8(self.raw) else [])

    def wire(self) -> dict[str, Any]:
        """The whole JSON object with unknown fields, migrated to version 3.

        Raises:
            SessionError: it is nested deeper than Python can follow.
        """
        try:
            value = load_json(self.raw)
        except ValueError as error:
            raise SessionError(f"line {self.line}: expected an entry that can be decoded, found it {error}") from None
        found: dict[str, Any] = dict(value) if isinstance(value, dict) else {}
        if self.patch is not None:
            parent = None if self.parent_id is msgspec.UNSET else self.parent_id
            found |= {"id": self.id, "parentId": parent}
        for key, new in (self.patch or {}).items():
            if key == "role":
                found["message"] = {**found["message"], "role": new}
            elif key != "dropped":
                found[key] = new
        for key in (self.patch or {}).get("dropped", ()):
            found.pop(key, None)
        return found


NOT_UTF8 = "bytes that are not UTF-8"
"""Stands among the names of unusable fields; such bytes are read as U+FFFD."""

_decode_body = msgspec.json.Decoder(EntryBody).decode


def _is_utf8(raw: bytes) -> bool:
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def load_json(raw: bytes) -> Any:
    """Any JSON value as Python's own parser reads it: lone surrogates allowed, invalid UTF-8 as U+FFFD.

    Raises:
        ValueError: not JSON, or nested too deep.
    """
    return parse_json(raw.decode("utf-8", "replace"))


def _patched(body: EntryBody, patch: Mapping[str, Any]) -> EntryBody:
    changes: dict[str, Any] = {}
    if "firstKeptEntryId" in patch:
        changes["first_kept_entry_id"] = patch["firstKeptEntryId"]
    if "role" in patch and body.message is not None:
        changes["message"] = msgspec.structs.replace(body.message, role=patch["role"])
    return msgspec.structs.replace(body, **changes) if changes else body


class SessionHeader(msgspec.Struct, frozen=True, rename="camel"):
    """The first line of a session file."""

    id: str = ""
    version: Number = 1
    timestamp: str | None = None
    cwd: str | None = None
    parent_session: str | None = None


class Session(msgspec.Struct, frozen=True):
    """One session file: header, entries in file order, and what was wrong with it."""

    path: str
    """Where it came from, for messages and JSON output."""
    format: str
    """`pi`, or the name of another agent's format."""
    header: SessionHeader
    header_raw: bytes
    """The header line as it stands in the file, without line end."""
    entries: list[Entry]
    parents: list[int | None]
    """For each entry the index of its parent after repair, or None for a root."""
    warnings: list[SessionWarning]
    size: int = 0
    """Bytes of the file when it was read."""
    ends_with_newline: bool = True
    torn_tail: bool = False
    """True when the last line is not a whole JSON object."""
    reported_window: int | None = None
    """The model's context window in tokens, where the file names it (Codex does)."""
    aliases: Mapping[str, str] = {}
    """Other ids by which entries can be named: those of another agent's rows that became a part of one."""
