"""The conversation of a Codex rollout: response items in, Pi entries out.

A reply of the model is written as several items (reasoning, texts, calls), which become one assistant message; it ends
where a result, another message, or a report of usage stands. Results are paired with calls by their id, wherever they
stand; one that stands before its call waits for it. Source: Codex protocol/src/models.rs ResponseItem.
"""

from dataclasses import dataclass, field
from typing import Any

from compactor.formats.codex_calls import CALLS, OUTPUTS, ToolCall, tool_call, tool_output
from compactor.formats.codex_chain import Chain
from compactor.formats.codex_content import Content, content_blocks, injected_kind, mail_in, type_of
from compactor.formats.codex_usage import Counts
from compactor.formats.imported import LeftOut

COMPACTION_ITEMS = frozenset({"compaction", "compaction_summary", "context_compaction"})
"""Summaries that only the provider can read."""

WITHOUT_TEXT = frozenset({"ghost_snapshot", "compaction_trigger", "additional_tools", "other"})
"""Items that hold nothing of the conversation."""

API = "openai-responses"


@dataclass(slots=True)
class Conversation:
    """The conversation so far."""

    chain: Chain
    left_out: LeftOut
    called: frozenset[str] = frozenset()
    """Ids of all calls of the file, those that are still to come among them."""
    results_between: bool = False
    """True if results stand between the items of one reply."""
    provider: str = "openai"
    model: str = "unknown"
    unreported: dict[str, Any] | None = None
    """The newest assistant message, until the usage of its request is reported."""
    _reply: dict[str, Any] | None = None
    """The assistant message that the next item of the model goes into."""
    _calls: dict[str, ToolCall] = field(default_factory=dict)
    _due: list[tuple[ToolCall, int]] = field(default_factory=list)
    """Calls of the open reply that no item will answer."""
    _early: dict[str, list[tuple[dict[str, Any], int]]] = field(default_factory=dict)
    """Results that stand before their call."""

    def add_item(self, item: dict[str, Any], line: int) -> None:
        """Adds one response item."""
        kind = type_of(item)
        if kind == "agent_message":
            self.add_mail(item, line)
        elif kind == "message" and (mail := mail_in(item)) is not None:
            self.add_mail(mail, line)
        elif kind == "message" and item.get("role") == "assistant":
            self._add_blocks(content_blocks(item.get("content")), line)
        elif kind == "message":
            self._add_told(item, line)
        elif kind == "reasoning":
            self._add_reasoning(item, line)
        elif kind in CALLS:
            self._add_call(tool_call(item, line), line)
        elif kind in OUTPUTS:
            self._add_output(item, line)
        elif kind in COMPACTION_ITEMS:
            self.left_out.add("encrypted_summary", "summaries that only the provider can read", line)
        elif kind in WITHOUT_TEXT:
            self.left_out.add("side_rows", f"{kind} items", line)
        else:
            self.left_out.add("unknown_item", f"items of the unknown type {kind!r}", line)

    def close_reply(self) -> None:
        """Ends the open reply: the next item of the model begins another."""
        if self._reply is None:
            return
        calls = [block for block in self._reply["content"] if block["type"] == "toolCall"]
        self._reply["stopReason"] = "toolUse" if calls else "stop"
        self._reply = None
        for call, line in self._due:
            self._add_result(call.id, call.name, {"content": call.answer, "isError": False}, line)
        self._due.clear()
        if self._early:
            for block in calls:
                for item, line in self._early.pop(block["id"], ()):
                    self._add_output(item, line)

    def add_user_text(self, text: str, line: int) -> None:
        """Adds a message of the user."""
        self.chain.add_message(line, {"role": "user", "content": [{"type": "text", "text": text}]})

    def add_mail(self, mail: dict[str, Any], line: int) -> None:
        """Adds what another agent of the thread wrote to this one."""
        hidden = {"type": "encrypted_content"} if mail.get("encrypted_content") else None
        content = content_blocks(mail.get("content") or hidden)
        self._add_note("agent_message", content, line, {key: mail.get(key) for key in ("author", "recipient")})

    def _blocks(self, line: int) -> list[dict[str, Any]]:
        """The content of the open reply, which is opened if there is none."""
        if self._reply is None:
            message = {"role": "assistant", "content": [], "api": API, "provider": self.provider, "model": self.model}
            self._reply = self.chain.add_message(line, message | {"usage": Counts().usage(), "stopReason": "stop"})
            self.unreported = self._reply
        blocks: list[dict[str, Any]] = self._reply["content"]
        return blocks

    def _add_blocks(self, content: Content, line: int) -> None:
        self._blocks(line).extend(content.blocks)
        self._count(content, line)

    def _add_reasoning(self, item: dict[str, Any], line: int) -> None:
        """Adds what can be read of the model's reasoning: its summary, else the reasoning itself."""
        told = content_blocks(item.get("summary")).blocks or content_blocks(item.get("content")).blocks
        texts = [block["text"] for block in told if block["type"] == "text"]
        if texts:
            self._blocks(line).append({"type": "thinking", "thinking": "\n\n".join(texts)})
        else:
            self._blocks(line)
            self.left_out.add("hidden_reasoning", "reasoning without readable text", line)

    def _add_call(self, call: ToolCall, line: int) -> None:
        self._blocks(line).append(call.block)
        self._calls[call.id] = call
        if call.answer is not None:
            self._due.append((call, line))

    def _add_output(self, item: dict[str, Any], line: int) -> None:
        if not self.results_between:
            self.close_reply()
        call_id = item.get("call_id")
        call = self._calls.get(call_id) if isinstance(call_id, str) else None
        if not isinstance(call_id, str) or not call_id:
            self.left_out.add("orphan_output", "tool results without the id of a call", line)
            return
        if call is None and call_id in self.called:
            self._early.setdefault(call_id, []).append((item, line))
            return
        name = call.name if call is not None else "unknown"
        output = tool_output(item, name)
        self._count(output.content, line)
        result: dict[str, Any] = {"content": output.content.blocks, "isError": output.is_error}
        files = call.patched_files() if call is not None and not output.is_error else []
        self._add_result(
            call_id, name, result | ({"nestedCalls": {"calls": files, "complete": True}} if files else {}), line
        )

    def _add_result(self, call_id: str, name: str, fields: dict[str, Any], line: int) -> None:
        self.chain.add_message(line, {"role": "toolResult", "toolCallId": call_id, "toolName": name, **fields})

    def _add_told(self, item: dict[str, Any], line: int) -> None:
        """Adds a message that the model was given: what Codex itself put in is kept apart from the user's words."""
        role = item.get("role")
        content = content_blocks(item.get("content"))
        if role != "user":
            self._add_note(role if isinstance(role, str) else "unknown", content, line)
            return
        kinds = [injected_kind(b["text"]) if b["type"] == "text" else None for b in content.blocks]
        own = [block for block, kind in zip(content.blocks, kinds, strict=True) if kind is None]
        injected = Content([block for block, kind in zip(content.blocks, kinds, strict=True) if kind is not None])
        if injected.blocks:
            self._add_note(next(kind for kind in kinds if kind is not None), injected, line)
        self.close_reply()
        if own:
            self.chain.add_message(line, {"role": "user", "content": own})
        self._count(content, line)

    def _add_note(self, kind: str, content: Content, line: int, details: dict[str, Any] | None = None) -> None:
        """Adds something that the model was told and that is neither the user's nor its own."""
        self.close_reply()
        self._count(content, line)
        if content.blocks:
            fields = {"customType": f"codex.{kind}", "content": content.blocks, "display": False}
            self.chain.add("custom_message", line, fields | ({"details": details} if details else {}))

    def _count(self, content: Content, line: int) -> None:
        for what in content.left_out:
            self.left_out.add("content_left_out", what, line)
