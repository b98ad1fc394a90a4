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
from collections.abc import Sequence
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
    own = next((n for n, row in enumerate(rows) if row.value.get("type") == "session_meta"), None)
    if own is None:
        return 0
    meta = _payload(rows[own])
    if isinstance(meta.get("history_base"), dict):  # the parent's history stays in its own file
        return 0
    numbered = _before_ordinal(rows, own + 1, meta.get("subagent_history_start_ordinal"))
    if numbered is not None:
        return numbered
    if not meta.get("forked_from_id") and not _parent_follows(rows, own, meta.get("id")):
        return 0
    start = _first_since(rows, own + 1, milliseconds(meta.get("timestamp")))
    ends = [end for end in (_pause(rows, start), _own_turn(rows, start, meta.get("id"))) if end is not None]
    return max(ends, default=len(rows))


def _before_ordinal(rows: Sequence[JsonRow], start: int, ordinal: Any) -> int | None:
    """The number of rows before the one of this number; None if the rows from `start` on have no numbers."""
    is_text = isinstance(ordinal, str) and _NUMBER.fullmatch(ordinal)
    first = int(ordinal) if is_text else ordinal
    if not isinstance(first, int) or start >= len(rows) or not isinstance(rows[start].value.get("ordinal"), int):
        return None
    numbers = ((n, rows[n].value.get("ordinal")) for n in range(start, len(rows)))
    return next((n for n, number in numbers if isinstance(number, int) and number >= first), len(rows))


def _payload(row: JsonRow) -> dict[str, Any]:
    payload = row.value.get("payload")
    return payload if isinstance(payload, dict) else {}


def _parent_follows(rows: Sequence[JsonRow], own: int, own_id: Any) -> bool:
    """True if another thread's `session_meta` stands right after the file's own."""
    if own + 1 >= len(rows) or rows[own + 1].value.get("type") != "session_meta":
        return False
    return bool(_payload(rows[own + 1]).get("id") != own_id)


def _first_since(rows: Sequence[JsonRow], start: int, made: int | None) -> int:
    """The first row from `start` on that is not known to be older than the thread."""
    while made is not None and start < len(rows):
        time = milliseconds(rows[start].value.get("timestamp"))
        if time is None or time >= made:
            break
        start += 1
    return start


def _pause(rows: Sequence[JsonRow], start: int) -> int | None:
    """The first row that was not written together with the one before it."""
    before: int | None = None
    for n in range(start, len(rows)):
        time = milliseconds(rows[n].value.get("timestamp"))
        if time is not None:
            if before is not None and abs(time - before) >= PAUSE_MS:
                return n
            before = time
    return None


def _own_turn(rows: Sequence[JsonRow], start: int, own_id: Any) -> int | None:
    """The first row of a turn that is younger than the thread."""
    made = _uuid_ms(own_id)
    if made is None:
        return None
    for n in range(start, len(rows)):
        payload = _payload(rows[n])
        if rows[n].value.get("type") == "turn_context" or payload.get("type") in _TURN_STARTS:
            started = _uuid_ms(payload.get("turn_id"))
            if started is not None and started > made:
                return n
    return None


def _uuid_ms(value: Any) -> int | None:
    """Milliseconds since 1970 in an id, None if it holds no time."""
    found = _UUID_7.fullmatch(value) if isinstance(value, str) else None
    return int(found.group(1) + found.group(2), 16) if found else None
