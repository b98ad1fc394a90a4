"""Puts the events of a messages stream together, and says in the engine's terms what they are."""

from dataclasses import dataclass, field
from typing import Any

from compactor.clients.failures import Asked, one_line
from compactor.clients.pricing import with_cost
from compactor.clients.wire import at, count, text
from compactor.messages import Usage
from compactor.model import ModelResponse, StopReason

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    # The window was full before the reply was complete: as with a limit that was too low.
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
    "refusal": "error",
    "pause_turn": "error",
}
"""`stop_reason` of the API in Pi's words."""

COUNTS = {
    "input": ("input_tokens",),
    "output": ("output_tokens",),
    "cache_read": ("cache_read_input_tokens",),
    "cache_write": ("cache_creation_input_tokens",),
    "hour": ("cache_creation", "ephemeral_1h_input_tokens"),
    "reasoning": ("output_tokens_details", "thinking_tokens"),
}
"""Where the API's usage has which count."""


@dataclass(slots=True, kw_only=True)
class AnthropicReply:
    """A reply that grows with each event."""

    texts: dict[Any, list[str]] = field(default_factory=dict)
    """The parts of each text block."""
    chars: int = 0
    """Characters of text so far."""
    tools: list[str] = field(default_factory=list)
    thinking: bool = False
    stop: str = ""
    """Empty until the API says why the reply has ended."""
    explanation: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """Tokens by the names of `COUNTS`; the counts of a later event replace those of an earlier one."""
    complete: bool = False

    def take(self, event: Any) -> bool:
        """Adds an event; True if it brought text."""
        kind = at(event, "type")
        before = self.chars
        if kind == "message_start":
            self._count(at(event, "message", "usage"))
        elif kind == "content_block_start":
            self._begin(at(event, "index"), at(event, "content_block"))
        elif kind == "content_block_delta":
            self._add(at(event, "index"), text(at(event, "delta", "text")))
        elif kind == "message_delta":
            self.stop = text(at(event, "delta", "stop_reason")) or self.stop
            self.explanation = text(at(event, "delta", "stop_details", "explanation")) or self.explanation
            self._count(at(event, "usage"))
        elif kind == "message_stop":
            self.complete = True
        return self.chars > before

    def _begin(self, index: Any, block: Any) -> None:
        kind = at(block, "type")
        if kind == "text":
            self._add(index, text(at(block, "text")))
        elif kind == "tool_use":
            self.tools.append(text(at(block, "name")))
        elif kind in ("thinking", "redacted_thinking"):
            self.thinking = True

    def _add(self, index: Any, added: str) -> None:
        if added:
            self.texts.setdefault(index if isinstance(index, int) else 0, []).append(added)
            self.chars += len(added)

    def _count(self, usage: Any) -> None:
        found = {name: count(at(usage, *path)) for name, path in COUNTS.items()}
        self.counts |= {name: number for name, number in found.items() if number is not None}

    def response(self, asked: Asked, url: str | None) -> ModelResponse:
        """The reply in the engine's terms.

        Args:
            asked: who replied.
            url: where the request was sent to, to find the prices; None for Anthropic itself.
        """
        stop = STOP_REASONS.get(self.stop, "error")
        usage = self.usage()
        if usage is not None:
            usage = with_cost(usage, None if url else "anthropic", asked.model, api_url=url)
        return ModelResponse(
            text="\n".join("".join(parts) for parts in self.texts.values()),
            stop_reason=stop,
            tool_calls=tuple(self.tools),
            thinking=self.thinking,
            usage=usage,
            provider=asked.provider,
            model=asked.model,
            error_message=self._problem(asked) if stop == "error" else None,
        )

    def usage(self) -> Usage | None:
        """The usage in Pi's terms, None if the server reported none; the API's input is without cached tokens."""
        if not self.counts:
            return None
        parts = [self.counts.get(name, 0) for name in ("input", "output", "cache_read", "cache_write")]
        return Usage(
            input=parts[0],
            output=parts[1],
            cache_read=parts[2],
            cache_write=parts[3],
            total_tokens=sum(parts),
            cache_write1h=self.counts.get("hour"),
            reasoning=self.counts.get("reasoning"),
        )

    def _problem(self, asked: Asked) -> str:
        if self.stop == "refusal":
            why = f": {one_line(self.explanation)}" if self.explanation else ""
            return f"{asked.name} refused to write the summary{why}; use another model"
        return f"{asked.name} ended the reply for the reason {self.stop[:60]!r}; use another model"
