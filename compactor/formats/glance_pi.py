"""A Pi session as a list shows it: its rows in, counts and the first words out.

The figures are Pi's own where Pi has them (session statistics, context usage, the list of `/resume`). Source: Pi 1.6.0
core/session-manager.js buildSessionInfo, core/agent-session.js getSessionStats, core/usage-totals.js.
"""

import re

import msgspec

from compactor.errors import SessionError
from compactor.formats.damaged_lines import ENTRY_TYPES
from compactor.formats.glance_rows import Glance, content_of, count, first_moment, last_moment, text_blocks, words

Number = int | float


class _Cost(msgspec.Struct, gc=False):
    total: Number | None = None


class _Usage(msgspec.Struct, gc=False, rename="camel"):
    input: Number = 0
    output: Number = 0
    cache_read: Number = 0
    cache_write: Number = 0
    total_tokens: Number = 0
    cost: _Cost | None = None


class _Message(msgspec.Struct, gc=False, rename="camel"):
    role: str = ""
    stop_reason: str | None = None
    usage: _Usage | None = None


class PiRow(msgspec.Struct, gc=False, rename="camel"):
    """What is looked at of a line."""

    type: str = ""
    id: str | None = None
    parent_id: str | msgspec.UnsetType | None = msgspec.UNSET
    timestamp: str | None = None
    cwd: str | None = None
    name: str | None = None
    message: _Message | None = None
    usage: _Usage | None = None


_decode = msgspec.json.Decoder(PiRow).decode
_USAGE_TYPES = frozenset({"usage", "compaction", "branch_summary"})
_RESETS = frozenset({"compaction", "context_edit"})
"""A figure that was reported before one of these no longer holds."""

_UNUSABLE = frozenset({"aborted", "error"})
_SKILL = re.compile(r'<skill name="([^"]*)"[^>]*>')
"""How Pi starts the text of a skill, which it puts in for `/skill:name`."""


class PiTally:
    """Adds up the rows of a Pi session."""

    kind = PiRow
    decode = staticmethod(_decode)
    row_types = ENTRY_TYPES

    def __init__(self) -> None:
        self.header: PiRow | None = None
        self.links: dict[str, tuple[str | msgspec.UnsetType | None, str | None]] = {}
        """Entry id -> parent as written, and the entry before it."""
        self.readings: dict[str, int] = {}
        """Entry id -> context tokens it reports, 0 where it makes older figures stale."""
        self.last: str | None = None
        self.loose = 0
        """Entries with an id that was used before, or with a parent that none had before."""
        self.is_gapless = True
        self.stamps: list[str] = []
        self.messages = self.compactions = 0
        self.tokens: Number = 0
        self.cost: float | None = 0.0
        self.name: str | None = None
        self.first_message: str | None = None

    def add(self, row: PiRow, raw: bytes) -> None:
        """Takes the next row."""
        kind, message = row.type, row.message
        if self.header is None or kind == "session":
            self.header = self.header or row
            return
        entry_id = row.id or f"#{len(self.links)}"  # version 1 has none
        if row.id is not None and self.is_gapless:
            self.loose += not self._is_linked(row)
        self.links[entry_id] = (row.parent_id, self.last)
        self.last = entry_id
        if row.timestamp is not None:
            self.stamps.append(row.timestamp)
        if kind == "message" and message is not None:
            self._message(entry_id, message, raw)
        elif kind in _RESETS:
            self.compactions += kind == "compaction"
            self.readings[entry_id] = 0
        elif kind == "session_info":
            self.name = words(row.name or "")
        if kind in _USAGE_TYPES and row.usage is not None:
            self._spend(row.usage)

    def skip(self) -> None:
        """Rows that are not looked at follow."""
        self.last, self.is_gapless = None, False

    def _is_linked(self, row: PiRow) -> bool:
        """True if the entry is new and follows one before it, as all do in a file that was only appended to."""
        return row.id not in self.links and (row.parent_id is None or row.parent_id in self.links)

    def _message(self, entry_id: str, message: _Message, raw: bytes) -> None:
        self.messages += 1
        usage = message.usage
        if message.role == "user" and self.first_message is None:
            self.first_message = _first_words(raw)
        if usage is None or message.role not in ("assistant", "toolResult"):
            return
        self._spend(usage)
        if message.role == "assistant" and message.stop_reason not in _UNUSABLE:
            context = int(count(usage.total_tokens) or _sum(usage))
            if context > 0:
                self.readings[entry_id] = context

    def _spend(self, usage: _Usage) -> None:
        tokens = _sum(usage)
        self.tokens += tokens
        price = usage.cost.total if usage.cost is not None else None
        if price is None:
            self.cost = None if tokens else self.cost
        elif self.cost is not None:
            self.cost += count(price)

    def result(self, damaged_lines: int, is_whole: bool) -> Glance:
        """All that was found.

        Raises:
            SessionError: the first row is no header of a session.
        """
        header = self.header
        if header is None or header.type != "session" or header.id is None:
            raise SessionError("expected a session file, found no header line; the file is no Pi session")
        return Glance(
            format="pi",
            id=header.id,
            cwd=header.cwd or None,
            name=self.name,
            first_message=self.first_message,
            started_at=first_moment([header.timestamp or "", *self.stamps]),
            last_entry_at=last_moment([header.timestamp or "", *self.stamps]),
            messages=self.messages if is_whole else None,
            context_tokens=self._context(),
            total_tokens=int(self.tokens) if is_whole else None,
            cost=self.cost if is_whole else None,
            compactions=self.compactions if is_whole else None,
            branches=self._branches() if is_whole else None,
            damaged_lines=damaged_lines + self.loose,
            is_whole=is_whole,
        )

    def _parent(self, entry_id: str) -> str | None:
        """The parent; the entry before it where the file names none or one that is not there, as `link_parents`."""
        parent, before = self.links[entry_id]
        if parent is None:
            return None
        return parent if isinstance(parent, str) and parent in self.links else before

    def _context(self) -> int | None:
        """What the newest usable reply of the active branch reports."""
        at, seen = self.last, set[str]()
        while at is not None and at not in seen:
            if at in self.readings:
                return self.readings[at] or None
            seen.add(at)
            at = self._parent(at)
        return None

    def _branches(self) -> int:
        """Entries that no other entry follows; at least one, for parents may go round in a circle."""
        parents = {self._parent(entry_id) for entry_id in self.links}
        return max(len(self.links) - len(parents - {None}), 1 if self.links else 0)


def _sum(usage: _Usage) -> Number:
    return count(usage.input) + count(usage.output) + count(usage.cache_read) + count(usage.cache_write)


def _first_words(raw: bytes) -> str | None:
    """The start of a user message; of a skill that was called by name, its name and what was added."""
    text = "\n".join(text_blocks(content_of(raw, "message")))
    skill = _SKILL.match(text)
    if skill is None:
        return words(text)
    return words(f"/skill:{skill.group(1)} {text.partition('</skill>')[2]}")
