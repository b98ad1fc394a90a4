"""A Codex rollout as a list shows it: its rows in, counts and the first words out.

Response items are the conversation; events repeat them for the screen, and tell tokens and names. The rows are taken
for what the importer takes them for (`codex.py`): tokens, the copy at the start of a fork, the folder, and texts that
are not the user's own.
"""

from typing import Any

import msgspec

from compactor.errors import SessionError
from compactor.formats.codex_calls import CALLS, OUTPUTS
from compactor.formats.codex_content import content_blocks, injected_kind, mail_in
from compactor.formats.codex_fork import Copy
from compactor.formats.codex_rows import BARE_ITEMS, FOLDER_ROWS, ROW_TYPES, TURN_EVENTS, is_delivery, told_folder
from compactor.formats.codex_usage import Report, Reports
from compactor.formats.glance_rows import Glance, content_of, first_moment, last_moment, object_in, words


class _Payload(msgspec.Struct, gc=False):
    type: str = ""
    role: str | None = None
    id: str | None = None
    session_id: str | None = None
    timestamp: str | None = None
    cwd: str | None = None
    source: Any = None
    forked_from_id: str | None = None
    history_base: Any = None
    subagent_history_start_ordinal: Any = None
    parent_thread_id: str | None = None
    thread_name: str | None = None
    turn_id: str | None = None
    num_turns: Any = None
    info: Any = None
    usage: Any = None
    response_id: Any = None


class CodexRow(msgspec.Struct, gc=False):
    """What is looked at of a line; rows of the oldest files have no payload and are items themselves."""

    type: str = ""
    timestamp: str | None = None
    payload: _Payload | None = None
    id: str | None = None
    role: str | None = None
    ordinal: Any = None
    metadata: Any = None


_decode = msgspec.json.Decoder(CodexRow).decode

_REPLY_PARTS = CALLS | {"reasoning"}
_MAIL_SIGN = b"trigger_turn"
"""Stands in every message that is mail (`codex_content.py mail_in`)."""

_REQUEST = "## My request for Codex:"
"""An editor puts what it shows before this line, and what the user typed after it."""


class CodexTally:
    """Adds up the rows of a rollout."""

    kind = CodexRow
    decode = staticmethod(_decode)
    row_types = ROW_TYPES | BARE_ITEMS

    def __init__(self) -> None:
        self.meta: _Payload | None = None
        self.stamps: list[str] = []
        self.rows = self.messages = self.compactions = self.rollbacks = 0
        self.is_in_reply = False
        self.context: int | None = None
        self.turn_contexts: list[int | None] = []
        """The context before each message of the user's since the newest compaction."""
        self.is_compacted = False
        """True after a compaction, until the model replies: requests are the compaction's own."""
        self.reports = Reports()
        self.used: int | None = None
        """By all requests so far that were not copied."""
        self.copy = Copy()
        self.folder = self.first_message = ""
        self.name: str | None = None

    def add(self, row: CodexRow, raw: bytes) -> None:
        """Takes the next row."""
        self.rows += 1
        kind, payload = row.type, row.payload
        if not self.copy.is_settled and (self.copy.has_head or kind == "session_meta"):
            self._follow_copy(row)
        if row.timestamp is not None:
            self.stamps.append(row.timestamp)
        if self.rows <= FOLDER_ROWS and not self.folder and (self.meta is None or not self.meta.cwd):
            self.folder = told_folder(object_in(raw))
        if payload is None:
            if kind in BARE_ITEMS:
                self._item(row, kind, row.role, raw)
            elif self.meta is None and row.id is not None:  # the head of the oldest files
                self.meta = _Payload(id=row.id)
        elif kind == "response_item":
            self._item(row, payload.type, payload.role, raw)
        elif kind == "session_meta":
            self.meta = self.meta or payload
        elif kind == "compacted":
            self.compactions += 1
            self.context, self.is_compacted, self.is_in_reply = None, True, False
            self.turn_contexts.clear()
        elif kind == "token_usage_record":
            self._report(self.reports.take_record({"usage": payload.usage, "response_id": payload.response_id}))
        elif kind in ("turn_context", "inter_agent_communication"):
            self.is_in_reply = False
        elif kind == "event_msg":
            self._event(payload)

    def skip(self) -> None:
        """Rows that are not looked at follow."""
        self.context, self.is_in_reply = None, False
        self.turn_contexts.clear()

    def _follow_copy(self, row: CodexRow) -> None:
        """Forgets what a fork's parent used, where the copy of the parent's rows ends."""
        value = msgspec.structs.asdict(row)
        if row.payload is not None:
            value["payload"] = msgspec.structs.asdict(row.payload)
        if self.copy.ends_before(value):
            self._forget_copied()

    def _forget_copied(self) -> None:
        self.used = None if self.used is None else 0
        self.context, self.is_compacted, self.is_in_reply = None, False, False
        self.turn_contexts = [None] * len(self.turn_contexts)

    def _item(self, row: CodexRow, kind: str, role: str | None, raw: bytes) -> None:
        """An item of the conversation; neighbouring parts of a reply are one message."""
        if row.metadata is not None and is_delivery({"metadata": row.metadata}):
            return
        if kind == "message" and _MAIL_SIGN in raw and mail_in({"content": content_of(raw, "payload")}) is not None:
            kind = "agent_message"
        if kind in _REPLY_PARTS or (kind == "message" and role == "assistant"):
            self.messages += not self.is_in_reply
            self.is_in_reply, self.is_compacted = True, False
        elif kind in OUTPUTS:
            self.messages += 1
            self.is_in_reply = False
        elif kind in ("message", "agent_message"):
            self.is_in_reply = False
            if kind == "message" and role == "user":
                self._said(content_of(raw, "payload"))

    def _said(self, content: Any) -> None:
        """A message in the user's name, of which what Codex put in is not the user's."""
        blocks = content_blocks(content).blocks
        own = [block for block in blocks if block["type"] != "text" or injected_kind(block["text"]) is None]
        if own:
            self.messages += 1
            self.turn_contexts.append(self.context)
            if not self.first_message:
                texts = [block["text"] for block in own if block["type"] == "text"]
                self.first_message = words("\n".join(text.partition(_REQUEST)[2] or text for text in texts)) or ""

    def _event(self, payload: _Payload) -> None:
        if payload.type == "token_count":
            self._report(self.reports.take(payload.info))
        elif payload.type == "turn.completed" and not self.reports.has_requests:
            self._report(self.reports.take({"total_token_usage": payload.usage}))
        elif payload.type in TURN_EVENTS:
            self.is_in_reply = False
        elif payload.type == "thread_name_updated":
            self.name = words(payload.thread_name or "")
        elif payload.type == "thread_rolled_back":
            self._roll_back(payload.num_turns)

    def _report(self, report: Report) -> None:
        """Adds what was used; the newest request tells the size of the context."""
        added = [counts.total for counts in (report.request, report.rest) if counts is not None]
        if added:
            self.used = (self.used or 0) + sum(added)
            self.is_in_reply = False
        if report.request is not None and not self.is_compacted:
            self.context = report.request.total

    def _roll_back(self, turns: Any) -> None:
        self.rollbacks += 1
        self.is_in_reply = False
        if isinstance(turns, int) and not isinstance(turns, bool) and turns > 0:
            self.context = self.turn_contexts[-turns] if turns <= len(self.turn_contexts) else None
            del self.turn_contexts[-turns:]

    def result(self, damaged_lines: int, is_whole: bool) -> Glance:
        """All that was found.

        Raises:
            SessionError: there are no rows.
        """
        if not self.rows:
            raise SessionError("expected rows of Codex, found none")
        if self.copy.is_open:
            self._forget_copied()
        meta = self.meta or _Payload()
        return Glance(
            format="codex",
            id=meta.id or meta.session_id,
            cwd=meta.cwd or self.folder or None,
            name=self.name,
            first_message=self.first_message or None,
            started_at=first_moment([meta.timestamp or "", *self.stamps]),
            last_entry_at=last_moment(self.stamps),
            messages=self.messages if is_whole else None,
            context_tokens=self.context,
            total_tokens=self.used if is_whole else None,
            cost=None,
            compactions=self.compactions if is_whole else None,
            branches=(1 + self.rollbacks if self.messages else 0) if is_whole else None,
            damaged_lines=damaged_lines,
            is_whole=is_whole,
            is_subagent=isinstance(meta.source, dict) and "subagent" in meta.source,
            parent_id=meta.parent_thread_id or _spawned_by(meta.source),
        )


def _spawned_by(source: Any) -> str | None:
    """The thread that started a sub-agent, where its source names it."""
    how = source.get("subagent") if isinstance(source, dict) else None
    spawn = how.get("thread_spawn") if isinstance(how, dict) else None
    parent = spawn.get("parent_thread_id") if isinstance(spawn, dict) else None
    return parent if isinstance(parent, str) else None
