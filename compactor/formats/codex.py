"""Reads a Codex rollout into a `Session` of Pi entries.

The context of a rollout is its response items and what `compacted` rows put in their place; event rows repeat them for
the screen and are read only for usage, rollbacks, interruptions and the name. A reply's usage stands on its assistant
message; what no message accounts for becomes a `usage` entry, so that the entries add up to the thread's last
cumulative counts (`codex_usage.py`). What a fork copied from its parent is context, but not usage of its own
(`codex_fork.py`). Files of before September 2025 hold the bare items. Source: Codex protocol/src/protocol.rs
RolloutItem, EventMsg.
"""

from dataclasses import dataclass, field
from typing import Any

from compactor.entries import Session, SessionWarning
from compactor.errors import SessionError
from compactor.formats.codex_calls import called_ids
from compactor.formats.codex_chain import Chain
from compactor.formats.codex_compaction import compacted, compaction_responses, kept_user_texts
from compactor.formats.codex_content import type_of
from compactor.formats.codex_conversation import Conversation
from compactor.formats.codex_fork import copied_rows
from compactor.formats.codex_head import inherited, session_header, session_meta
from compactor.formats.codex_order import is_reply_item, reports_come_first
from compactor.formats.codex_rows import BARE_ITEMS, ROW_TYPES, SIDE_ROWS, TURN_EVENTS, is_delivery
from compactor.formats.codex_usage import Counts, Report, Reports
from compactor.formats.imported import Imported, LeftOut, imported_session
from compactor.formats.json_rows import JsonRow, json_rows
from compactor.js_text import MAX_SAFE_INTEGER
from compactor.ledger import REPEATED

REPLACED = {"importedFrom": REPEATED}
"""Marks the entries that a compaction put in the place of the history."""

COPIED = {"importedFrom": "parent"}
"""Marks the entries that a fork copied: their requests were its parent's."""


def parse_codex(data: bytes, *, path: str) -> Session:
    """The session in `data`.

    Args:
        data: the whole file.
        path: named in messages.

    Raises:
        SessionError: no row of the file is one of Codex's.
    """
    found = json_rows(data, ROW_TYPES | BARE_ITEMS)
    rows = [row for row in found.rows if "record_type" not in row.value]
    if not any(_is_known(row.value) for row in rows):
        raise SessionError(
            f'{path}: expected a Codex rollout (rows like {{"type":"response_item","payload":…}}), found no such row; '
            "give the path of a session file"
        )
    line, meta = next(((row.line, m) for row in rows if (m := session_meta(row.value)) is not None), (1, {}))
    header = session_header(meta, rows)
    walk = _Walk(rows=rows, header=header, copied=copied_rows(rows))
    inherited(meta, walk.left_out, line)
    walk.run(meta)
    warnings: list[SessionWarning] = [*found.warnings, *walk.left_out.warnings()]
    made = Imported(
        format="codex",
        header=header,
        rows=walk.chain.rows,
        warnings=warnings,
        torn_tail=found.torn_tail,
        reported_window=walk.window,
    )
    return imported_session(made, path=path, data=data)


def _is_known(row: dict[str, Any]) -> bool:
    kind = type_of(row)
    return (kind in ROW_TYPES and "payload" in row) or kind in BARE_ITEMS or session_meta(row) is not None


@dataclass(slots=True)
class _Walk:
    """One pass over the rows."""

    rows: list[JsonRow]
    header: dict[str, Any]
    copied: int
    """Rows before this one were copied from the thread that this one was forked from."""
    reports: Reports = field(default_factory=Reports)
    left_out: LeftOut = field(default_factory=LeftOut)
    window: int | None = None
    chain: Chain = field(init=False)
    talk: Conversation = field(init=False)
    system: dict[str, Any] | None = None
    is_copy: bool = False
    reports_first: bool = False
    """True if usage stands before the reply that it is of."""
    compaction: dict[str, Any] | None = None
    """The newest compaction, until the model replies."""
    compacted_by: frozenset[str] = frozenset()
    """Ids of the responses that wrote a compaction."""
    compacting: dict[str, Counts] = field(default_factory=dict)
    """Requests of compactions that are still to come, by the id of their response."""
    loose: dict[str, Any] | None = None
    """The newest usage entry whose request is not known: if a compaction follows at once, it was that one's."""

    def run(self, meta: dict[str, Any]) -> None:
        """Makes all entries."""
        self.chain = Chain(self.header["id"])
        items = [row.value.get("payload", row.value) for row in self.rows]
        self.talk = Conversation(self.chain, self.left_out, called=called_ids(items))
        self.compacted_by = compaction_responses(items)
        self.talk.results_between = self.reports_first = reports_come_first(self.rows, self.copied)
        self.chain.set_time(self.header["timestamp"])
        provider = meta.get("model_provider")
        self.talk.provider = provider if isinstance(provider, str) and provider else self.talk.provider
        base = meta.get("base_instructions")
        text = base.get("text") if isinstance(base, dict) else base
        if isinstance(text, str) and text:
            self.system = self.chain.add_message(self.rows[0].line, {"role": "system", "content": text})
        for number, row in enumerate(self.rows):
            self.is_copy = number < self.copied
            if number == self.copied:
                self.talk.close_reply()
                self.talk.unreported = self.compaction = None
            self.chain.marks = COPIED if self.is_copy else {}
            self.chain.set_time(row.value.get("timestamp"))
            self._row(row.value, row.line)
        self.talk.close_reply()

    def _row(self, row: dict[str, Any], line: int) -> None:
        kind, payload = type_of(row), row.get("payload")
        if session_meta(row) is not None or (kind in SIDE_ROWS and "payload" in row) or is_delivery(row):
            return
        if kind in BARE_ITEMS and "payload" not in row:
            self._item(row, line)
        elif kind not in ROW_TYPES:
            self.left_out.add("unknown_row", f"rows of the unknown type {kind!r}", line)
        elif not isinstance(payload, dict):
            self.left_out.add("unreadable_row", f"{kind} rows without an object as payload", line)
        elif kind == "response_item":
            self._item(payload, line)
        elif kind == "event_msg":
            self._event(payload, line)
        elif kind == "compacted":
            self._compacted(payload, line)
        elif kind == "token_usage_record":
            self._record(payload, line)
        elif kind == "inter_agent_communication":
            self.talk.add_mail(payload, line)
        else:
            self._turn_context(payload, line)

    def _item(self, item: dict[str, Any], line: int) -> None:
        usage: Any = None
        if self.reports_first and self._follows_loose() and is_reply_item(item):
            usage = self.chain.take_back()["usage"]
        self.talk.add_item(item, line)
        if self.talk.unreported is not None:
            self.compaction = None
            if usage is not None:
                self.talk.unreported["usage"] = usage

    def _follows_loose(self) -> bool:
        """True if nothing came after the request whose reply is not known."""
        return self.loose is not None and self.chain.newest is self.loose

    def _turn_context(self, payload: dict[str, Any], line: int) -> None:
        """A new request begins, perhaps to another model."""
        self.talk.close_reply()
        model = payload.get("model")
        if isinstance(model, str) and model and model != self.talk.model:
            self.talk.model = model
            self.chain.add("model_change", line, {"provider": self.talk.provider, "modelId": model})

    def _event(self, event: dict[str, Any], line: int) -> None:
        """What an event says beyond the items that it repeats."""
        kind = type_of(event)
        if kind == "token_count":
            self._note_window(event.get("info"))
            self._usage(self.reports.take(event.get("info")), line)
        elif kind == "turn.completed" and not self.reports.has_requests:
            self._usage(self.reports.take({"total_token_usage": event.get("usage")}), line)
        elif kind in TURN_EVENTS:
            self.talk.close_reply()
            self._note_window(event)
            if kind == "turn_aborted":
                self.chain.add(
                    "custom", line, {"customType": "codex.turn_aborted", "data": {"reason": event.get("reason")}}
                )
        elif kind == "thread_rolled_back":
            self._roll_back(event.get("num_turns"), line)
        elif kind == "thread_name_updated" and isinstance(name := event.get("thread_name"), str):
            self.chain.add("session_info", line, {"name": name})

    def _note_window(self, holder: Any) -> None:
        window = holder.get("model_context_window") if isinstance(holder, dict) else None
        if isinstance(window, int) and not isinstance(window, bool) and 0 < window <= MAX_SAFE_INTEGER:
            self.window = window

    def _roll_back(self, turns: Any, line: int) -> None:
        self.talk.close_reply()
        wanted = turns if isinstance(turns, int) and not isinstance(turns, bool) else 0
        self.chain.roll_back(wanted)
        self.talk.unreported = self.compaction = self.loose = None

    def _usage(self, report: Report, line: int) -> None:
        """Puts reported usage where it belongs: on the newest reply, on the newest compaction, or beside them."""
        if report.estimate and self.compaction is not None:
            self.compaction["details"]["tokensAfter"] = report.estimate
        if report.request is None and report.rest is None:
            return
        self.talk.close_reply()
        reply, self.talk.unreported = self.talk.unreported, None
        if self.is_copy:
            return
        if report.request is not None:
            if self.reports_first:
                self.loose = self._add_usage(report.request, line)
            elif reply is not None:
                reply["usage"] = report.request.usage()
            elif self.compaction is not None and "usage" not in self.compaction:
                self.compaction["usage"] = report.request.usage()
            else:
                self.loose = self._add_usage(report.request, line)
        if report.rest is not None:
            self._add_usage(report.rest, line)

    def _add_usage(self, counts: Counts, line: int) -> dict[str, Any]:
        fields = {"kind": "unattributed", "provider": self.talk.provider, "model": self.talk.model}
        return self.chain.add("usage", line, fields | {"usage": counts.usage()})

    def _record(self, record: dict[str, Any], line: int) -> None:
        """Takes the usage of one response, which may be that of a compaction whose row follows."""
        report = self.reports.take_record(record)
        response = record.get("response_id")
        if report.request is not None and isinstance(response, str) and response in self.compacted_by:
            if not self.is_copy:
                self.compacting[response] = report.request
            return
        if report.request is not None:
            self.reports.context_tokens = report.request.total
        self._usage(report, line)

    def _own_request(self, payload: dict[str, Any]) -> dict[str, Any] | None:
        """The usage of the request that wrote a compaction, None if it was not reported."""
        response = payload.get("compaction_response_id")
        request = self.compacting.pop(response, None) if isinstance(response, str) else None
        if request is not None:
            return request.usage()
        return self.chain.take_back()["usage"] if self._follows_loose() else None

    def _compacted(self, payload: dict[str, Any], line: int) -> None:
        """Adds a compaction and what it put in the place of the history."""
        self.talk.close_reply()
        request = self._own_request(payload)
        parts = compacted(payload)
        kept = kept_user_texts(self.chain.context) if parts.items is None else []
        fields: dict[str, Any] = {"summary": parts.summary, "tokensBefore": self.reports.context_tokens}
        fields |= {"details": {"source": "codex"}, "fromHook": True}
        fields |= {"provider": self.talk.provider, "model": self.talk.model}
        fields |= {} if self.system is None else {"systemMessage": self.system}
        entry = self.chain.add("compaction", line, fields | ({} if request is None else {"usage": request}))
        entry["firstKeptEntryId"] = entry["id"]
        marks, self.chain.marks = self.chain.marks, REPLACED
        for text in kept:
            self.talk.add_user_text(text, line)
        for item in parts.items or ():
            self.talk.add_item(item, line)
        self.talk.close_reply()
        self.chain.marks = marks
        self.talk.unreported = self.loose = None
        self.compaction = entry
