"""Puts the chunks of a chat completions stream together, and says in the engine's terms what they are."""

from dataclasses import dataclass, field
from typing import Any

from compactor.clients.failures import Asked
from compactor.clients.pricing import with_cost
from compactor.clients.wire import at, count, items, text
from compactor.errors import ModelError
from compactor.messages import Usage
from compactor.model import ModelResponse, StopReason
from compactor.overflow import FailureClass

STOP_REASONS: dict[str, StopReason] = {
    "stop": "stop",
    "eos": "stop",
    "end_turn": "stop",
    "length": "length",
    "tool_calls": "toolUse",
    "function_call": "toolUse",
    "content_filter": "error",
}
"""`finish_reason` of the protocol, with two that servers make up, in Pi's words."""

FAILED_STOPS = {
    "model_context_window_exceeded": FailureClass(kind="overflow", retryable=False),
    "insufficient_system_resource": FailureClass(kind="overloaded", retryable=True),
    "network_error": FailureClass(kind="connection", retryable=True),
}
"""Reasons that report a failure instead of an end: z.ai, DeepSeek."""

REASONING_FIELDS = ("reasoning_content", "reasoning", "reasoning_text")
"""Where servers put hidden reasoning; the protocol has no place for it."""


@dataclass(slots=True, kw_only=True)
class OpenAIReply:
    """A reply that grows with each chunk."""

    parts: list[str] = field(default_factory=list)
    chars: int = 0
    """Characters of text so far."""
    tools: list[str] = field(default_factory=list)
    thinking: bool = False
    finish: str = ""
    """Empty until the server says that the reply has ended."""
    usage: Any = None

    def take(self, chunk: Any) -> bool:
        """Adds a chunk; True if it brought text."""
        self.usage = at(chunk, "usage") or self.usage
        before = self.chars
        for choice in items(at(chunk, "choices")):
            self._take_delta(at(choice, "delta"))
            self.finish = text(at(choice, "finish_reason")) or self.finish
        return self.chars > before

    def _take_delta(self, delta: Any) -> None:
        content = at(delta, "content")
        for part in items(content):  # Mistral's reasoning models send blocks
            self.thinking = self.thinking or at(part, "type") == "thinking"
        added = text(content) or "".join(text(at(part, "text")) for part in items(content))
        if added:
            self.parts.append(added)
            self.chars += len(added)
        self.thinking = self.thinking or any(at(delta, name) for name in REASONING_FIELDS)
        calls = [at(call, "function") for call in items(at(delta, "tool_calls"))]
        # Only the first chunk of a call has its name.
        self.tools += [name for call in [*calls, at(delta, "function_call")] if (name := text(at(call, "name")))]

    def response(self, asked: Asked, url: str | None) -> ModelResponse:
        """The reply in the engine's terms.

        Args:
            asked: who replied.
            url: where the request was sent to, to find the prices; None for OpenAI itself.

        Raises:
            ModelError: the server ended the reply because of a failure.
        """
        if self.finish in FAILED_STOPS:
            found = FAILED_STOPS[self.finish]
            said = f"{asked.name} ended the reply with {self.finish!r}; try again later, or use another model"
            raise ModelError(said, kind=found.kind, retryable=found.retryable)
        stop = STOP_REASONS.get(self.finish, "error")
        usage = usage_of(self.usage)
        if usage is not None:
            usage = with_cost(usage, None if url else "openai", asked.model, api_url=url)
        return ModelResponse(
            text="".join(self.parts),
            stop_reason=stop,
            tool_calls=tuple(self.tools),
            thinking=self.thinking,
            usage=usage,
            provider=asked.provider,
            model=asked.model,
            error_message=self._problem(asked) if stop == "error" else None,
        )

    def _problem(self, asked: Asked) -> str:
        if self.finish == "content_filter":
            return f"{asked.name} withheld the reply because of its content filter; use another model"
        return f"{asked.name} ended the reply for the unknown reason {self.finish[:60]!r}; use another model"


def usage_of(told: Any) -> Usage | None:
    """The usage in Pi's terms: cached tokens are not part of `input`, reasoning is part of `output`.

    None if the server reported none. A count that the server left out is 0.
    """
    prompt, output = count(at(told, "prompt_tokens")), count(at(told, "completion_tokens"))
    if prompt is None and output is None:
        return None
    cached = count(at(told, "prompt_tokens_details", "cached_tokens"))
    if cached is None:
        cached = count(at(told, "prompt_cache_hit_tokens")) or 0  # DeepSeek
    written = count(at(told, "prompt_tokens_details", "cache_write_tokens")) or 0
    plain = max(0, (prompt or 0) - cached - written)
    return Usage(
        input=plain,
        output=output or 0,
        cache_read=cached,
        cache_write=written,
        total_tokens=plain + cached + written + (output or 0),
        reasoning=count(at(told, "completion_tokens_details", "reasoning_tokens")),
    )
