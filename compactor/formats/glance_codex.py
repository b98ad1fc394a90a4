"""A Codex rollout as a list shows it: its rows in, counts and the first words out.

Response items are the conversation; events repeat them for the screen, and tell tokens and names. The file of a fork
begins with a copy of its parent's rows, whose tokens are not its own (`codex_fork.py` says how a copy is known).
"""

import re
from datetime import timedelta
from typing import Any

import msgspec

from compactor.errors import SessionError
from compactor.formats.glance_rows import (
    Glance,
    content_of,
    count,
    first_moment,
    last_moment,
    moment,
    text_blocks,
    words,
)

Number = int | float


class _Counts(msgspec.Struct, gc=False):
    input_tokens: Number = 0
    output_tokens: Number = 0
    total_tokens: Number | None = None


class _Info(msgspec.Struct, gc=False):
    total_token_usage: _Counts | None = None
    last_token_usage: _Counts | None = None
    prompt: Number | None = None
    """Of the oldest versions, which had no more than this."""
    completion: Number | None = None


class _Payload(msgspec.Struct, gc=False):
    type: str = ""
    role: str | None = None
    id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    source: Any = None
    forked_from_id: str | None = None
    parent_thread_id: str | None = None
    thread_name: str | None = None
    turn_id: str | None = None
    num_turns: Number | None = None
    info: _Info | None = None
    usage: _Counts | None = None


class CodexRow(msgspec.Struct, gc=False):
    """What is looked at of a line; rows of the oldest files have no payload and are items themselves."""

    type: str = ""
    timestamp: str | None = None
    payload: _Payload | None = None
    id: str | None = None
    role: str | None = None


_decode = msgspec.json.Decoder(CodexRow).decode
PAUSE = timedelta(seconds=1)
"""Rows further apart were not written in one go (`codex_fork.py`)."""

_UUID_7 = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4})-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
"""The first part is a time."""

_TURN_STARTS = frozenset({"task_started", "turn_started"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
_REPLY_PARTS = frozenset({"reasoning", "function_call", "custom_tool_call", "local_shell_call", "web_search_call"})
_ITEMS = frozenset({"message", *_OUTPUTS, *_REPLY_PARTS})
_PUT_IN = (
    *("<environment_context>", "<user_instructions>", "<turn_aborted>", "<INSTRUCTIONS>", "<skill>", "<user_shell_"),
    *("# AGENTS.md instructions", "<subagent_notification>"),
)
"""How texts start that Codex, and not the user, put among the user's messages."""

_REQUEST = "## My request for Codex:"
"""An editor puts what it shows before this line, and what the user typed after it."""


class CodexTally:
    """Adds up the rows of a rollout."""

    kind = CodexRow
    decode = staticmethod(_decode)
    row_types = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted", *_ITEMS})

    def __init__(self) -> None:
        self.meta: _Payload | None = None
        self.stamps: list[str] = []
        self.rows = self.messages = self.compactions = self.rollbacks = 0
        self.is_in_reply = False
        self.context: int | None = None
        self.cumulative: _Counts | None = None
        """The newest cumulative counts."""
        self.has_counts = False
        """True once a token_count told any."""
        self.used: Number = 0
        """The growth of the cumulative counts."""
        self.copied: Number | None = None
        """Of that, what was copied; None while the file may still be all copy, or if it is no fork."""
        self.is_fork = False
        self.has_paused = self.has_own_turn = False
        self.name: str | None = None
        self.first_message: str | None = None

    def add(self, row: CodexRow, raw: bytes) -> None:
        """Takes the next row."""
        self.rows += 1
        kind, payload = row.type, row.payload
        if row.timestamp is not None:
            if self.is_fork and not self.has_paused:
                self._look_for_pause(row.timestamp)
            self.stamps.append(row.timestamp)
        if payload is None:
            if kind in _ITEMS:
                self._item(kind, row.role, raw)
            elif self.meta is None and row.id is not None:  # the head of the oldest files
                self.meta = _Payload(id=row.id)
        elif kind == "response_item":
            self._item(payload.type, payload.role, raw)
        elif kind == "session_meta":
            self._session_meta(payload)
        elif kind == "compacted":
            self.compactions += 1
            self.context, self.is_in_reply = None, False
        else:
            self._event(kind, payload)

    def skip(self) -> None:
        """Rows that are not looked at follow."""
        self.context = None

    def _session_meta(self, payload: _Payload) -> None:
        if self.meta is None:
            self.meta = payload
            self.is_fork = payload.forked_from_id is not None
        elif self.rows == 2 and payload.id != self.meta.id:
            self.is_fork = True

    def _item(self, kind: str, role: str | None, raw: bytes) -> None:
        """An item of the conversation; neighbouring parts of a reply are one message."""
        if kind in _REPLY_PARTS or (kind == "message" and role == "assistant"):
            self.messages += not self.is_in_reply
            self.is_in_reply = True
            return
        self.is_in_reply = False
        if kind in _OUTPUTS:
            self.messages += 1
        elif kind == "message" and role == "user":
            text = _own_text(content_of(raw, "payload"))
            self.messages += text is not None
            self.first_message = self.first_message or words(text or "")

    def _event(self, kind: str, payload: _Payload) -> None:
        if payload.type == "token_count":
            self.is_in_reply = False
            if payload.info is not None:
                self._report(payload.info)
        elif payload.type == "turn.completed" and payload.usage is not None and not self.has_counts:
            self._grow(payload.usage)
        elif payload.type == "thread_name_updated":
            self.name = words(payload.thread_name or "")
        elif payload.type == "thread_rolled_back":
            self.rollbacks += 1
            self.is_in_reply = False
        elif kind == "turn_context" or payload.type in _TURN_STARTS:
            self._look_for_own_turn(payload.turn_id)

    def _report(self, info: _Info) -> None:
        """A token_count; it is repeated without a new request."""
        last, now = info.last_token_usage, info.total_token_usage
        if last is not None and _total(last):
            self.context = int(_total(last))
        if now is None and info.prompt is not None:
            now = _Counts(input_tokens=info.prompt, output_tokens=info.completion or 0)
        if now is not None:
            self.has_counts = True
            self._grow(now)

    def _grow(self, now: _Counts) -> None:
        """Adds what the cumulative counts grew by; they start again where one of them falls."""
        before = self.cumulative or _Counts()
        is_new = (
            now.input_tokens < before.input_tokens
            or now.output_tokens < before.output_tokens
            or _total(now) < _total(before)
        )
        self.used += _total(now) - (0 if is_new else _total(before))
        self.cumulative = now

    def _look_for_pause(self, stamp: str) -> None:
        """The copy was written at once; the file's first row is older."""
        if len(self.stamps) < 2:
            return
        before, now = moment(self.stamps[-1]), moment(stamp)
        if before is not None and now is not None and abs(now - before) >= PAUSE:
            self.has_paused, self.copied = True, self.used

    def _look_for_own_turn(self, turn_id: str | None) -> None:
        """Turns of the copy are older than the thread."""
        if not self.is_fork or self.has_own_turn:
            return
        made = _UUID_7.fullmatch(self.meta.id or "") if self.meta is not None else None
        started = _UUID_7.fullmatch(turn_id or "")
        if made and started and started.group(1) > made.group(1):
            self.has_own_turn, self.copied = True, self.used

    def result(self, damaged_lines: int, is_whole: bool) -> Glance:
        """All that was found.

        Raises:
            SessionError: there are no rows.
        """
        if not self.rows:
            raise SessionError("expected rows of Codex, found none")
        meta = self.meta or _Payload()
        parent = meta.parent_thread_id or _spawned_by(meta.source)
        copied = (self.used if self.copied is None else self.copied) if self.is_fork else 0
        total = None if self.cumulative is None else int(self.used - copied)
        return Glance(
            format="codex",
            id=meta.id,
            cwd=meta.cwd or None,
            name=self.name,
            first_message=self.first_message,
            started_at=first_moment([meta.timestamp or "", *self.stamps]),
            last_entry_at=last_moment(self.stamps),
            messages=self.messages if is_whole else None,
            context_tokens=self.context,
            total_tokens=total if is_whole else None,
            cost=None,
            compactions=self.compactions if is_whole else None,
            branches=(1 + self.rollbacks if self.messages else 0) if is_whole else None,
            damaged_lines=damaged_lines,
            is_whole=is_whole,
            is_subagent=isinstance(meta.source, dict) and "subagent" in meta.source,
            parent_id=parent,
        )


def _total(counts: _Counts) -> Number:
    if counts.total_tokens is not None:
        return count(counts.total_tokens)
    return count(counts.input_tokens) + count(counts.output_tokens)


def _spawned_by(source: Any) -> str | None:
    """The thread that started a sub-agent, where its source names it."""
    how = source.get("subagent") if isinstance(source, dict) else None
    spawn = how.get("thread_spawn") if isinstance(how, dict) else None
    parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
    return parent if isinstance(parent, str) else None


def _own_text(content: Any) -> str | None:
    """What the user wrote; None if all of the message was put in."""
    own = [
        text.partition(_REQUEST)[2] or text for text in text_blocks(content) if not text.lstrip().startswith(_PUT_IN)
    ]
    return "\n".join(own) if own else None
