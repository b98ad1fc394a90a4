"""One assistant message for each answer of the API, put together from the rows that it was written in.

Claude Code writes a row for each content block or snapshot while an answer streams in; all rows of one answer share
`message.id`, and each repeats the usage as it was known then. Takes rows; gives `Reply` values with Pi's message.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from compactor.formats.claude_blocks import NO_USAGE, Call, assistant_block, call_of, raw_blocks, usage_of
from compactor.formats.claude_rows import Row
from compactor.formats.imported import LeftOut, encoded

SYNTHETIC = "<synthetic>"
"""The model that Claude Code names for what it said in the model's place, such as the text of an API error."""

STOP_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "tool_use": "toolUse",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}
"""Anthropic's reason -> Pi's; without one of these, an answer with calls stopped for its tools."""

PROVIDER = {"api": "anthropic-messages", "provider": "anthropic"}

_GROWING = {"text": "text", "thinking": "thinking"}
"""Blocks that grow from snapshot to snapshot -> the field that holds their text."""


@dataclass(slots=True, kw_only=True)
class Reply:
    """One answer of the API."""

    row: Row
    """The first of its rows."""
    message_id: str = ""
    blocks: list[Any] = field(default_factory=list)
    usage: dict[str, Any] | None = None
    stop: str | None = None
    model: str = ""
    is_error: bool = False
    seen: set[bytes] = field(default_factory=set)
    """All blocks so far as JSON, earlier snapshots included."""
    calls: dict[str, int] = field(default_factory=dict)
    """Id of a tool call -> position among the blocks."""

    def add(self, row: Row) -> None:
        """Adds what another row says: its blocks unless they are known, and the newest usage."""
        message = row.message
        incoming = raw_blocks(message.get("content"))
        for at, block in enumerate(incoming):
            key = encoded({"block": block})
            if key in self.seen:
                continue
            self.seen.add(key)
            place = self._earlier(block, at if len(incoming) > 1 else None)
            if place is None:
                place = len(self.blocks)
                self.blocks.append(block)
            else:
                self.blocks[place] = block
            call = call_of(block)
            if call is not None:
                self.calls[call.id] = place
        self.usage = usage_of(message.get("usage")) or self.usage
        stop, model = message.get("stop_reason"), message.get("model")
        self.stop = stop if isinstance(stop, str) else self.stop
        self.model = model if isinstance(model, str) and model else self.model
        self.is_error = self.is_error or row.value.get("isApiErrorMessage") is True or model == SYNTHETIC

    def _earlier(self, block: Any, at: int | None) -> int | None:
        """Where an earlier snapshot of the block stands: the last block, or the one at this place of a whole one."""
        call = call_of(block)
        if call is not None:
            return self.calls.get(call.id)
        last = len(self.blocks) - 1
        places = [last] if at is None or at >= last else [at, last]
        return next((n for n in places if n >= 0 and _extends(self.blocks[n], block)), None)

    def found_calls(self) -> list[Call]:
        """The tool calls, in order."""
        return [call for block in self.blocks if (call := call_of(block)) is not None]

    def message(self, model: str, left: LeftOut) -> dict[str, Any]:
        """Pi's message.

        Args:
            model: what to name where the rows name none, or one that does not exist.
            left: counts blocks that have no counterpart.
        """
        stop = STOP_REASONS.get(self.stop or "")
        made: dict[str, Any] = {
            "role": "assistant",
            "content": [assistant_block(block, left, self.row.line) for block in self.blocks],
            **PROVIDER,
            "model": model if self.model in ("", SYNTHETIC) else self.model,
            "usage": self.usage or NO_USAGE,
            "stopReason": "error" if self.is_error else stop or ("toolUse" if self.calls else "stop"),
            "timestamp": self.row.ms,
        }
        if self.is_error:
            texts = [block["text"] for block in made["content"] if block["type"] == "text"]
            made["errorMessage"] = "\n".join(texts) or "the request failed"
        elif self.stop is not None and stop is None:
            made["rawStopReason"] = self.stop
        return made | ({"responseId": self.message_id} if self.message_id else {})


def _extends(old: Any, new: Any) -> bool:
    """True when `new` is a later snapshot of the text or thinking block `old`."""
    if not isinstance(old, dict) or not isinstance(new, dict) or old.get("type") != new.get("type"):
        return False
    name = _GROWING.get(str(new.get("type")))
    before, after = old.get(name), new.get(name)
    if not isinstance(before, str) or not isinstance(after, str) or not after.startswith(before):
        return False
    return bool(before) or not old.get("signature")


@dataclass(slots=True, kw_only=True)
class Replies:
    """The answers of a thread."""

    by_row: dict[int, Reply] = field(default_factory=dict)
    """Position of a row -> the answer that it is part of; rows without a usable message are missing."""
    callers: dict[str, tuple[Reply, Call]] = field(default_factory=dict)
    """Id of a tool call -> who made it."""
    models: dict[int, str] = field(default_factory=dict)
    """Position of the first row of an answer -> the newest real model by then."""


def replies(rows: Iterable[Row]) -> Replies:
    """The answers in the rows of a thread; a message without an id stands alone."""
    found = Replies()
    by_id: dict[str, Reply] = {}
    for row in rows:
        if row.kind != "assistant" or not row.message:
            continue
        message_id = row.message.get("id")
        known = by_id.get(message_id) if isinstance(message_id, str) and message_id else None
        reply = known or Reply(row=row, message_id=message_id if isinstance(message_id, str) else "")
        reply.add(row)
        found.by_row[row.at] = reply
        if reply.message_id:
            by_id[reply.message_id] = reply
    distinct = {id(reply): reply for reply in found.by_row.values()}.values()
    real = [reply.model for reply in distinct if reply.model not in ("", SYNTHETIC)]
    model = real[0] if real else SYNTHETIC
    for reply in distinct:
        model = model if reply.model in ("", SYNTHETIC) else reply.model
        found.models[reply.row.at] = model
        for call in reply.found_calls():
            found.callers.setdefault(call.id, (reply, call))
    return found
