"""The entries of an imported Codex session as they are made, and the branch that the next one continues.

Takes the fields of entries in the order of the file; gives `ImportedRow` values with ids and parents. A rollback moves
the end of the branch, so that what follows is a branch of its own. Source: Codex core context_manager/history.rs
drop_last_n_user_turns.
"""

from dataclasses import dataclass, field
from typing import Any

from compactor.formats.imported import ImportedRow, milliseconds
from compactor.formats.pi import made_id

BESIDE_MESSAGES = frozenset({"custom_message", "custom", "model_change"})
"""Entries that may stand before a user's message as a part of the same turn."""


@dataclass(slots=True)
class Chain:
    """All entries so far, and the place of the next."""

    session_id: str
    rows: list[ImportedRow] = field(default_factory=list)
    timestamp: str = ""
    """Of the newest row that has one; entries without a time of their own take it."""
    marks: dict[str, Any] = field(default_factory=dict)
    """Fields that every entry gets for the time being."""
    _time_ms: int = 0
    _branch: list[dict[str, Any]] = field(default_factory=list)
    _context_start: int = 0
    """Where the branch's newest compaction stands on it, 0 if it has none."""
    _taken: set[str] = field(default_factory=set)

    def set_time(self, timestamp: Any) -> None:
        """Makes this the time of the next entries, if it is one."""
        time = milliseconds(timestamp)
        if time is not None:
            self.timestamp, self._time_ms = timestamp, time

    def add(self, kind: str, line: int, fields: dict[str, Any]) -> dict[str, Any]:
        """Adds an entry at the end of the branch and gives its fields, which may be changed until the end."""
        entry = {
            "type": kind,
            "id": made_id(self.session_id, line, self._taken),
            "parentId": self._branch[-1]["id"] if self._branch else None,
            "timestamp": self.timestamp,
            **fields,
            **self.marks,
        }
        self.rows.append(ImportedRow(line, entry))
        self._branch.append(entry)
        if kind == "compaction":
            self._context_start = len(self._branch) - 1
        return entry

    def add_message(self, line: int, message: dict[str, Any]) -> dict[str, Any]:
        """Adds a message entry and gives the message."""
        self.add("message", line, {"message": message | {"timestamp": self._time_ms}})
        stored: dict[str, Any] = self._branch[-1]["message"]
        return stored

    @property
    def newest(self) -> dict[str, Any] | None:
        """The entry that the next one continues."""
        return self._branch[-1] if self._branch else None

    def take_back(self) -> dict[str, Any]:
        """Removes the newest entry and gives it."""
        self.rows.pop()
        return self._branch.pop()

    @property
    def context(self) -> list[dict[str, Any]]:
        """The entries of the branch from its newest compaction on."""
        return self._branch[self._context_start :]

    def roll_back(self, turns: int) -> int:
        """Ends the branch before the last so many turns of the user in the context, and gives how many were dropped.

        What Codex had put before a turn goes with it; what stands before the first turn stays.
        """
        starts = [n for n in range(self._context_start, len(self._branch)) if _is_user_turn(self._branch[n])]
        dropped = min(turns, len(starts))
        if dropped <= 0:
            return 0
        end = starts[-dropped]
        while end > starts[0] and self._branch[end - 1]["type"] in BESIDE_MESSAGES:
            end -= 1
        del self._branch[end:]
        return dropped


def _is_user_turn(entry: dict[str, Any]) -> bool:
    return bool(entry["type"] == "message" and entry["message"]["role"] == "user")
