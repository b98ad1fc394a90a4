"""The rows of a Claude Code transcript that are part of its tree, in the order of the file.

Takes the JSON objects of the file; gives `Row` values of the main thread, those of sub-agents apart, and what the side
records say of the session. A file that holds nothing but the rows of a sub-agent is that sub-agent's own conversation.
A row that a resumed or a compacted session wrote once more is taken once.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.formats.imported import LeftOut, milliseconds
from compactor.formats.json_rows import JsonRow

CONVERSATION = frozenset({"user", "assistant"})
TREE_TYPES = CONVERSATION | {"system", "attachment", "progress"}
"""Of rows that the links run through; one of another type counts too if it has a uuid."""

MAX_NAME_CHARS = 60
"""A warning shows no more of a type that the file names."""

_TITLES = {"custom-title": ("customTitle", 2), "ai-title": ("aiTitle", 1), "summary": ("summary", 0)}
"""Side record -> (field that holds the session's name, rank: what the user chose comes first)."""

_SAME_FIELDS = ("type", "subtype", "message", "attachment")
"""Fields by which a row with a known uuid is told to be the same; a copy may have another parent and session id."""


@dataclass(slots=True, kw_only=True)
class Row:
    """One row of the tree."""

    at: int
    """Position among the rows of its thread."""
    line: int
    kind: str
    uuid: str
    parent: str | None
    """None for a root, an empty string where the row does not say."""
    value: dict[str, Any]
    stamp: str
    """ISO time; that of the row before it where it has none."""
    ms: int
    """The same time in milliseconds since 1970."""

    @property
    def message(self) -> dict[str, Any]:
        """The API message, empty if there is none."""
        message = self.value.get("message")
        return message if isinstance(message, dict) else {}

    @property
    def subtype(self) -> str:
        """What a system row is about, an empty string where it does not say."""
        subtype = self.value.get("subtype")
        return subtype if isinstance(subtype, str) else ""


@dataclass(slots=True, kw_only=True)
class Title:
    """The session's name."""

    text: str
    line: int
    rank: int


@dataclass(slots=True, kw_only=True)
class Transcript:
    """All rows of a file."""

    main: list[Row] = field(default_factory=list)
    aside: list[Row] = field(default_factory=list)
    """Rows of sub-agents that stand in the file of the session that started them."""
    title: Title | None = None
    session_ids: list[str] = field(default_factory=list)
    """Of the rows of the tree, in the order of the file, without repetitions in a row."""
    side_session_id: str = ""
    """Of a side record, for a file that has nothing else."""
    shown: dict[str, str] = field(default_factory=dict)
    """Id of a tool call -> what the model saw instead of a result that was too long."""


def transcript_rows(found: Sequence[JsonRow], left: LeftOut) -> Transcript:
    """The rows of a transcript.

    Args:
        found: the objects of the file.
        left: counts what is not carried over.
    """
    made = Transcript()
    tree = [row for row in found if _is_tree_row(row.value)]
    has_main = any(_speaks(row.value) and not _is_aside(row.value) for row in tree)
    reader = _Reader(made=made, left=left)
    titles: list[JsonRow] = []
    for row in found:
        if not _is_tree_row(row.value):
            titles += _side_record(row, made, left)
        elif has_main and _is_aside(row.value):
            reader.add(row, made.aside)
            left.add("skipped_rows", "rows of sub-agents", row.line)
        else:
            reader.add(row, made.main)
    made.title = _title(titles, reader.seen)
    return made


def named(value: Any) -> str:
    """A type in a warning, shortened."""
    text = value if isinstance(value, str) else type(value).__name__
    return text if len(text) <= MAX_NAME_CHARS else text[:MAX_NAME_CHARS] + "…"


def _is_tree_row(value: dict[str, Any]) -> bool:
    uuid = value.get("uuid")
    return (isinstance(uuid, str) and uuid != "") or _speaks(value)


def _speaks(value: dict[str, Any]) -> bool:
    kind = value.get("type")
    return isinstance(kind, str) and kind in CONVERSATION


def _is_aside(value: dict[str, Any]) -> bool:
    return value.get("isSidechain") is True


def _side_record(row: JsonRow, made: Transcript, left: LeftOut) -> list[JsonRow]:
    """Notes what a row outside of the tree says; gives it back if it may name the session."""
    kind, session_id = row.value.get("type"), row.value.get("sessionId")
    if not made.side_session_id and isinstance(session_id, str):
        made.side_session_id = session_id
    if isinstance(kind, str) and kind in _TITLES:
        return [row]
    if kind == "content-replacement" and (shown := _replacements(row.value.get("replacements"))):
        made.shown |= shown
        return []
    left.add("skipped_rows", f"{named(kind)} records", row.line)
    return []


def _replacements(listed: Any) -> dict[str, str]:
    """Id of a tool call -> the text that stands for its result, as far as the record says it."""
    found = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    pairs = [(item.get("toolUseId"), item.get("replacement")) for item in found]
    return {call_id: text for call_id, text in pairs if isinstance(call_id, str) and isinstance(text, str)}


def _title(rows: Sequence[JsonRow], uuids: dict[str, Row]) -> Title | None:
    """The last name of the best kind; a summary only if it is one of this file's leaves."""
    best: Title | None = None
    for row in rows:
        key, rank = _TITLES[row.value["type"]]
        text = row.value.get(key)
        if not isinstance(text, str) or not text.strip() or (best is not None and rank < best.rank):
            continue
        leaf = row.value.get("leafUuid")
        if rank or (isinstance(leaf, str) and leaf in uuids):
            best = Title(text=text, line=row.line, rank=rank)
    return best


@dataclass(slots=True, kw_only=True)
class _Reader:
    made: Transcript
    left: LeftOut
    seen: dict[str, Row] = field(default_factory=dict)
    stamp: str = "1970-01-01T00:00:00.000Z"
    ms: int = 0

    def add(self, found: JsonRow, rows: list[Row]) -> None:
        """Adds a row of the tree, unless it is there already."""
        value = found.value
        uuid = value.get("uuid")
        if not isinstance(uuid, str) or not uuid:
            uuid = f"line-{found.line}"
        known = self.seen.get(uuid)
        if known is not None and all(known.value.get(name) == value.get(name) for name in _SAME_FIELDS):
            self.left.add("repeated_rows", "rows that stand in the file already", found.line)
            return
        kind, parent = value.get("type"), value.get("parentUuid", "")
        self._tell_time(value.get("timestamp"))
        row = Row(
            at=len(rows),
            line=found.line,
            kind=kind if isinstance(kind, str) else "",
            uuid=uuid,
            parent=parent if parent is None or isinstance(parent, str) else "",
            value=value,
            stamp=self.stamp,
            ms=self.ms,
        )
        rows.append(row)
        self.seen[uuid] = row
        session_id = value.get("sessionId")
        if isinstance(session_id, str) and session_id and session_id not in self.made.session_ids[-1:]:
            self.made.session_ids.append(session_id)

    def _tell_time(self, stamp: Any) -> None:
        moment = milliseconds(stamp)
        if moment is not None:
            self.stamp, self.ms = stamp, moment
