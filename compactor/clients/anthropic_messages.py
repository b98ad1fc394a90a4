"""Claude models by Anthropic's messages API, and servers that speak it.

The conversation is the first block of the user message and carries a cache mark, so another prompt over the same
conversation reads it from the cache. No temperature is sent: current models refuse it.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from compactor.clients.addresses import checked_key, checked_url
from compactor.clients.failures import Asked, cut_off, missing_package, model_failure, one_line, too_slow
from compactor.clients.options import ClientOptions
from compactor.clients.pricing import with_cost
from compactor.clients.retry import DEFAULT_RETRIES, RetryPolicy, Sleep, with_retries
from compactor.errors import ModelError, SettingsError
from compactor.js_text import well_formed
from compactor.messages import Usage
from compactor.model import ModelRequest, ModelResponse, Observer, StopReason, Streamed

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import RawMessageStreamEvent

KEY_VARIABLE = "ANTHROPIC_API_KEY"
ANTHROPIC_HOST = "api.anthropic.com"

STOP_REASONS: dict[str, StopReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "max_tokens": "length",
    # The window was full before the reply was complete: the same as a limit that was too low.
    "model_context_window_exceeded": "length",
    "tool_use": "toolUse",
    "refusal": "error",
    "pause_turn": "error",
}
"""`stop_reason` of the API in Pi's words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicMessagesClient:
    """Asks one Claude model."""

    model_name: str
    base_url: str | None = None
    """Without it ANTHROPIC_BASE_URL counts, else Anthropic's own address; `/v1` at its end is left out."""
    api_key: str | None = field(default=None, repr=False)
    """Without it ANTHROPIC_API_KEY counts; a server of one's own needs none."""
    timeout_s: float | None = None
    trust_env: bool = True
    """False ignores proxies that are set in the environment."""
    retries: RetryPolicy = DEFAULT_RETRIES
    sleep: Sleep = time.sleep

    @classmethod
    def from_options(cls, options: ClientOptions) -> "AnthropicMessagesClient":
        """The client that the options describe.

        Raises:
            SettingsError: no model is named, or the address is none.
        """
        if not options.model:
            raise SettingsError("the anthropic client needs the name of a model, found none; name one with --model")
        return cls(
            model_name=options.model,
            base_url=checked_url(options.base_url),
            api_key=options.api_key,
            timeout_s=options.timeout_s,
            retries=options.retries,
        )

    @property
    def name(self) -> str:
        """The client's name on the command line."""
        return "anthropic"

    @property
    def model(self) -> str | None:
        """The model's name."""
        return self.model_name

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        """The model's answer, streamed.

        Raises:
            ModelError: the request failed, after the retries.
        """
        return with_retries(lambda: self._ask(request, observe), policy=self.retries, observe=observe, sleep=self.sleep)

    def count_tokens(self, request: ModelRequest) -> int:
        """The exact number of input tokens of a request, by the provider; no reply is made and nothing is paid.

        Raises:
            ModelError: the request failed; it is not tried again.
        """
        with self._connected() as (sdk, _):
            return sdk.messages.count_tokens(**self._input(request)).input_tokens

    def _ask(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        reply = _Reply()
        until_s = None if self.timeout_s is None else time.monotonic() + self.timeout_s
        with self._connected() as (sdk, asked):
            arguments: dict[str, Any] = {**self._input(request), "max_tokens": request.max_output_tokens}
            with sdk.messages.create(**arguments, stream=True) as stream:
                for event in stream:
                    if reply.take(event):
                        observe(Streamed(chars=reply.chars))
                    if until_s is not None and time.monotonic() > until_s:
                        raise too_slow(asked, self.timeout_s or 0)
        if not reply.complete or reply.stop is None:
            raise cut_off(asked)
        return reply.response(asked)

    @contextmanager
    def _connected(self) -> "Iterator[tuple[anthropic.Anthropic, Asked]]":
        """The provider's library, ready to be asked, and who is asked; failures inside become `ModelError`."""
        try:
            import anthropic
            import httpx2
        except ImportError as error:
            raise missing_package("anthropic", error.name or "anthropic", "anthropic") from None
        url = self.base_url or os.environ.get("ANTHROPIC_BASE_URL") or f"https://{ANTHROPIC_HOST}"
        asked = self._asked(url)
        web = anthropic.DefaultHttpxClient(trust_env=self.trust_env)
        timeout = anthropic.NOT_GIVEN if self.timeout_s is None else self.timeout_s
        errors = (
            *(anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError),
            *(OSError, ValueError),
        )
        try:
            with anthropic.Anthropic(
                api_key=asked.key,
                base_url=url.removesuffix("/").removesuffix("/v1"),
                max_retries=0,
                timeout=timeout,
                http_client=web,
            ) as sdk:
                yield sdk, asked
        except errors as error:
            raise model_failure(error, asked) from error

    def _asked(self, url: str) -> Asked:
        """Who is asked, with the key.

        Raises:
            ModelError: there is no key, and the server is Anthropic's.
        """
        host = urlsplit(url).hostname or ANTHROPIC_HOST
        key = checked_key(self.api_key or os.environ.get(KEY_VARIABLE), KEY_VARIABLE)
        if key is None and host == ANTHROPIC_HOST:
            raise ModelError(f"the anthropic client needs a key, found none; set {KEY_VARIABLE}", kind="auth")
        provider = "anthropic" if host == ANTHROPIC_HOST else host
        # A server of one's own wants no key, but the library wants one.
        return Asked(provider=provider, model=self.model_name, key_source=KEY_VARIABLE, key=key or "none")

    def _input(self, request: ModelRequest) -> dict[str, Any]:
        """What the model reads."""
        blocks: list[dict[str, Any]] = []
        if request.context:
            mark = {"cache_control": {"type": "ephemeral"}} if request.instructions else {}
            blocks.append({"type": "text", "text": well_formed(request.context), **mark})
        if request.instructions or not blocks:
            blocks.append({"type": "text", "text": well_formed(request.instructions)})
        made: dict[str, Any] = {"model": self.model_name, "messages": [{"role": "user", "content": blocks}]}
        if request.system:
            made["system"] = well_formed(request.system)
        return made


@dataclass(slots=True, kw_only=True)
class _Reply:
    """A reply, put together from the events of its stream."""

    texts: dict[int, list[str]] = field(default_factory=dict)
    """The parts of each text block."""
    chars: int = 0
    tools: list[str] = field(default_factory=list)
    thinking: bool = False
    stop: str | None = None
    explanation: str = ""
    counts: dict[str, int] = field(default_factory=dict)
    """Tokens in the API's words; later events replace earlier ones."""
    complete: bool = False

    def take(self, event: "RawMessageStreamEvent") -> bool:
        """Adds an event; True if it brought text."""
        if event.type == "message_start":
            self._count(event.message.usage)
        elif event.type == "content_block_start":
            self._begin(event.index, event.content_block)
        elif event.type == "content_block_delta":
            return event.delta.type == "text_delta" and self._add(event.index, event.delta.text)
        elif event.type == "message_delta":
            self.stop = event.delta.stop_reason or self.stop
            details = event.delta.stop_details
            self.explanation = (details.explanation if details else None) or self.explanation
            self._count(event.usage)
        elif event.type == "message_stop":
            self.complete = True
        return False

    def _begin(self, index: int, block: Any) -> None:
        if block.type == "text":
            self._add(index, block.text or "")
        elif block.type == "tool_use":
            self.tools.append(block.name)
        elif block.type in ("thinking", "redacted_thinking"):
            self.thinking = True

    def _add(self, index: int, text: str) -> bool:
        self.texts.setdefault(index, []).append(text)
        self.chars += len(text)
        return bool(text)

    def _count(self, usage: Any) -> None:
        """Takes over the counts that are given; the two usage types of the library share their names."""
        found = {
            "input": getattr(usage, "input_tokens", None),
            "output": getattr(usage, "output_tokens", None),
            "read": getattr(usage, "cache_read_input_tokens", None),
            "written": getattr(usage, "cache_creation_input_tokens", None),
            "hour": getattr(getattr(usage, "cache_creation", None), "ephemeral_1h_input_tokens", None),
            "thinking": getattr(getattr(usage, "output_tokens_details", None), "thinking_tokens", None),
        }
        self.counts |= {name: count for name, count in found.items() if count is not None}

    def response(self, asked: Asked) -> ModelResponse:
        """The reply in the engine's terms."""
        stop = STOP_REASONS.get(self.stop or "", "error")
        known = asked.provider if asked.provider == "anthropic" else None
        return ModelResponse(
            text="\n".join("".join(parts) for parts in self.texts.values()),
            stop_reason=stop,
            tool_calls=tuple(self.tools),
            thinking=self.thinking,
            usage=with_cost(self._usage(), known, asked.model),
            provider=asked.provider,
            model=asked.model,
            error_message=self._problem(asked) if stop == "error" else None,
        )

    def _usage(self) -> Usage:
        """The usage in Pi's terms; the API's `input_tokens` are already without the cached ones."""
        counts = self.counts
        parts = [counts.get(name, 0) for name in ("input", "output", "read", "written")]
        return Usage(
            input=parts[0],
            output=parts[1],
            cache_read=parts[2],
            cache_write=parts[3],
            total_tokens=sum(parts),
            cache_write1h=counts.get("hour"),
            reasoning=counts.get("thinking"),
        )

    def _problem(self, asked: Asked) -> str:
        if self.stop == "refusal":
            why = f": {one_line(self.explanation)}" if self.explanation else ""
            return f"{asked.name} refused to write the summary{why}; use another model"
        return f"{asked.name} ended the reply for the reason {self.stop!r}; use another model"
