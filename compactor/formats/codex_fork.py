"""How much of a forked Codex rollout is a copy of its parent's.

A fork's file starts with its own `session_meta`; then come the parent's, and the parent's rows as they were, but for
their times: mostly they are those of the copying. The copied conversation is the fork's context, yet the copied
reports of usage are not its own. Rows that are older than the thread are copies. After them the copy ends where both
signs of the fork's own work have been seen, as far as the file shows them:

- A pause. Copied rows are written at once, milliseconds apart, and no model answers within a second. A jump back in
  time counts as well.
- A turn that started after the thread was made. Ids of threads and turns are UUIDs of version 7, which begin with the
  time (RFC 9562, section 5.7), and the copied turns keep theirs.

A file that shows neither holds nothing but the copy. Where rows are numbered (newer files), no such signs are needed:
the file's `session_meta` tells the number of the first row that is not copied.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.formats.imported import milliseconds
from compactor.formats.json_rows import JsonRow

PAUSE_MS = 1000
"""Rows that are further apart were not written in one go."""

_UUID_7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]{1,15}")
"""Some builds write the number as a text."""

_TURN_STARTS = ("task_started", "turn_started")


def copied_rows(rows: Sequence[JsonRow]) -> int:
    """The number of rows, from the start, that hold the parent's history; 0 if the file is no fork."""
    copy = Copy()
    copied = 0
    for number, row in enumerate(rows):
        if copy.ends_before(row.value):
            copied = number
        if copy.is_settled:
            break
    return len(rows) if copy.is_open else copied


@dataclass(slots=True)
class Copy:
    """Tells the end of the copy while the rows of a file go by."""

    has_head: bool = False
    """True once the file's own `session_meta` went by; rows before it tell nothing."""
    is_open: bool = False
    """True if the file is a fork and nothing of its own was seen yet."""
    is_settled: bool = False
    """True once no later row can change where the copy ends."""
    _meta: dict[str, Any] = field(default_factory=dict)
    _has_begun: bool = False
    _own_ordinal: int | None = None
    """Number of the first row that is no copy, where rows are numbered."""
    _made: int | None = None
    """When the thread was made, until a row comes that is not known to be older."""
    _born: int | None = None
    """When the thread was made by its id, until a younger turn starts; None if the id tells no time."""
    _before: int | None = None
    """Time of the row before."""
    _has_paused: bool = False

    def ends_before(self, row: Mapping[str, Any]) -> bool:
        """Takes the next row, until all is settled; True if the copy ends before it, by what the rows so far tell.

        Without numbers it may be true twice: of the two signs of the fork's own work the later one counts.
        """
        if not self.has_head:
            self._take_head(row)
            return False
        if not self._has_begun and not self._begins(row):
            return False
        is_own = self._has_own_number(row) if self._own_ordinal is not None else self._shows_own_work(row)
        self.is_open = self.is_open and not is_own
        return is_own

    def _take_head(self, row: Mapping[str, Any]) -> None:
        if row.get("type") == "session_meta":
            self.has_head = True
            self._meta = _payload(row)
            has_base = isinstance(self._meta.get("history_base"), dict)  # the parent's history stays in its own file
            self.is_settled = has_base
            self.is_open = bool(self._meta.get("forked_from_id")) and not has_base

    def _begins(self, row: Mapping[str, Any]) -> bool:
        """True if the file is a fork, which the row after the head tells, as well as how the copy's end will show."""
        self._has_begun = True
        if isinstance(row.get("ordinal"), int):
            self._own_ordinal = _number(self._meta.get("subagent_history_start_ordinal"))
        own_id = self._meta.get("id")
        is_parents = row.get("type") == "session_meta" and _payload(row).get("id") != own_id
        self.is_open = self.is_open or self._own_ordinal is not None or is_parents
        self.is_settled = not self.is_open
        self._made, self._born = milliseconds(self._meta.get("timestamp")), _uuid_ms(own_id)
        return self.is_open

    def _has_own_number(self, row: Mapping[str, Any]) -> bool:
        number, own = row.get("ordinal"), self._own_ordinal
        self.is_settled = isinstance(number, int) and own is not None and number >= own
        return self.is_settled

    def _shows_own_work(self, row: Mapping[str, Any]) -> bool:
        time = milliseconds(row.get("timestamp"))
        if self._made is not None and time is not None and time < self._made:
            return False
        self._made = None
        has_sign = self._pauses(time)
        has_sign = self._starts_own_turn(row) or has_sign
        self.is_settled = self._has_paused and self._born is None
        return has_sign

    def _pauses(self, time: int | None) -> bool:
        """True for the first row that was not written together with the one before it."""
        if self._has_paused or time is None:
            return False
        before, self._before = self._before, time
        self._has_paused = before is not None and abs(time - before) >= PAUSE_MS
        return self._has_paused

    def _starts_own_turn(self, row: Mapping[str, Any]) -> bool:
        """True for the first row of a turn that is younger than the thread."""
        payload = _payload(row)
        if self._born is None or not (row.get("type") == "turn_context" or payload.get("type") in _TURN_STARTS):
            return False
        started = _uuid_ms(payload.get("turn_id"))
        if started is None or started <= self._born:
            return False
        self._born = None
        return True


def _payload(row: Mapping[str, Any]) -> dict[str, Any]:
    payload = row.get("payload")
    return payload if isinstance(payload, dict) else {}


def _number(value: Any) -> int | None:
    if isinstance(value, str) and _NUMBER.fullmatch(value):
        return int(value)
    return value if isinstance(value, int) else None


def _uuid_ms(value: Any) -> int | None:
    """Milliseconds since 1970 in an id, None if it holds no time."""
    found = _UUID_7.fullmatch(value) if isinstance(value, str) else None
    return int(found.group(1) + found.group(2), 16) if found else None
