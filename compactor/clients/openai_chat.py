"""Models behind OpenAI's chat completions protocol: OpenAI, Ollama, vLLM, llama.cpp, OpenRouter and many more.

Servers differ in what they accept, so a refusal that names one of three parts of a request is answered by sending it
without that part: the newer name of the output limit, the wish for usage in the stream, the system role.
"""

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from compactor.clients.addresses import checked_key, checked_url
from compactor.clients.failures import Asked, cut_off, missing_package, model_failure, too_slow
from compactor.clients.options import ClientOptions
from compactor.clients.pricing import with_cost
from compactor.clients.retry import DEFAULT_RETRIES, RetryPolicy, Sleep, with_retries
from compactor.errors import ModelError, SettingsError
from compactor.js_text import well_formed
from compactor.messages import Usage
from compactor.model import ModelRequest, ModelResponse, Observer, StopReason, Streamed
from compactor.overflow import FailureClass

if TYPE_CHECKING:
    import openai
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

KEY_VARIABLE = "OPENAI_API_KEY"
OPENAI_HOST = "api.openai.com"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What a server accepts."""

    limit_name: str
    """`max_completion_tokens`, or its old name `max_tokens`."""
    asks_usage: bool = True
    system_role: bool = True


@dataclass(slots=True, kw_only=True)
class OpenAIChatClient:
    """Asks one model of one server."""

    model_name: str
    base_url: str | None = None
    """Without it OPENAI_BASE_URL counts, else OpenAI's own address."""
    api_key: str | None = field(default=None, repr=False)
    """Without it OPENAI_API_KEY counts; a server of one's own needs none."""
    temperature: float | None = None
    timeout_s: float | None = None
    trust_env: bool = True
    """False ignores proxies that are set in the environment."""
    retries: RetryPolicy = DEFAULT_RETRIES
    sleep: Sleep = time.sleep
    _shape: _Shape | None = field(default=None, init=False)

    @classmethod
    def from_options(cls, options: ClientOptions) -> "OpenAIChatClient":
        """The client that the options describe.

        Raises:
            SettingsError: no model is named, or the address is none.
        """
        if not options.model:
            raise SettingsError("the openai client needs the name of a model, found none; name one with --model")
        return cls(
            model_name=options.model,
            base_url=checked_url(options.base_url),
            api_key=options.api_key,
            temperature=options.temperature,
            timeout_s=options.timeout_s,
            retries=options.retries,
        )

    @property
    def name(self) -> str:
        """The client's name on the command line."""
        return "openai"

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

    def _ask(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        try:
            import httpx2
            import openai
        except ImportError as error:
            raise missing_package("openai", error.name or "openai", "openai") from None
        url = self.base_url or os.environ.get("OPENAI_BASE_URL") or None
        asked = self._asked(url)
        sdk_errors = (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, OSError, ValueError)
        try:
            web = openai.DefaultHttpxClient(trust_env=self.trust_env)
            timeout = openai.NOT_GIVEN if self.timeout_s is None else self.timeout_s
            with openai.OpenAI(api_key=asked.key, base_url=url, max_retries=0, timeout=timeout, http_client=web) as sdk:
                reply = self._read(self._send(sdk, request), asked, observe)
        except sdk_errors as error:
            raise model_failure(error, asked) from error
        return reply.response(asked, url)

    def _asked(self, url: str | None) -> Asked:
        """Who is asked, with the key.

        Raises:
            ModelError: there is no key, and the server is OpenAI's.
        """
        host = (urlsplit(url).hostname if url else None) or OPENAI_HOST
        key = checked_key(self.api_key or os.environ.get(KEY_VARIABLE), KEY_VARIABLE)
        if key is None and host == OPENAI_HOST:
            raise ModelError(f"the openai client needs a key, found none; set {KEY_VARIABLE}", kind="auth")
        provider = "openai" if host == OPENAI_HOST else host
        # A server of one's own wants no key, but the library wants one.
        return Asked(provider=provider, model=self.model_name, key_source=KEY_VARIABLE, key=key or "none")

    def _send(self, sdk: "openai.OpenAI", request: ModelRequest) -> "openai.Stream[ChatCompletionChunk]":
        """The begun stream of the reply, in the shape that the server accepts."""
        import openai

        old_name = OPENAI_HOST not in str(sdk.base_url)
        shape = self._shape or _Shape(limit_name="max_tokens" if old_name else "max_completion_tokens")
        refused: set[_Shape] = set()
        while True:
            try:
                stream: openai.Stream[ChatCompletionChunk] = sdk.chat.completions.create(
                    **self._arguments(request, shape)
                )
            except openai.APIStatusError as error:
                refused.add(shape)
                shape = _other_shape(shape, error)
                if shape in refused:
                    raise
                continue
            self._shape = shape
            return stream

    def _arguments(self, request: ModelRequest, shape: _Shape) -> dict[str, Any]:
        system, user = well_formed(request.system), well_formed(request.prompt)
        messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
        if not shape.system_role:
            messages = [{"role": "user", "content": f"{system}\n\n{user}"}]
        elif not system:
            del messages[0]
        arguments: dict[str, Any] = {"model": self.model_name, "messages": messages, "stream": True}
        arguments[shape.limit_name] = request.max_output_tokens
        if shape.asks_usage:
            arguments["stream_options"] = {"include_usage": True}
        if self.temperature is not None:
            arguments["temperature"] = self.temperature
        return arguments

    def _read(self, stream: "openai.Stream[ChatCompletionChunk]", asked: Asked, observe: Observer) -> "_Reply":
        """The whole reply.

        Raises:
            ModelError: it broke off, or took too long.
        """
        reply = _Reply()
        until_s = None if self.timeout_s is None else time.monotonic() + self.timeout_s
        with stream:
            for chunk in stream:
                if reply.take(chunk):
                    observe(Streamed(chars=reply.chars))
                if until_s is not None and time.monotonic() > until_s:
                    raise too_slow(asked, self.timeout_s or 0)
        if reply.finish is None:
            raise cut_off(asked)
        return reply


def _other_shape(shape: _Shape, error: "openai.APIStatusError") -> _Shape:
    """The shape without the part that the server's refusal names; the same shape if it names none."""
    text = f"{error.message} {error.param or ''}".lower()
    if "system" in text and ("role" in text or "not supported" in text):
        return replace(shape, system_role=False)
    if error.status_code not in (400, 404, 422):
        return shape
    if "stream_options" in text or "include_usage" in text:
        return replace(shape, asks_usage=False)
    if shape.limit_name == "max_tokens" and "max_completion_tokens" in text and "max_tokens" in text:
        return replace(shape, limit_name="max_completion_tokens")
    if shape.limit_name == "max_completion_tokens" and "max_completion_tokens" in text and "large" not in text:
        return replace(shape, limit_name="max_tokens")
    return shape


@dataclass(slots=True, kw_only=True)
class _Reply:
    """A reply, put together from the chunks of its stream."""

    parts: list[str] = field(default_factory=list)
    chars: int = 0
    tools: dict[int, str] = field(default_factory=dict)
    thinking: bool = False
    finish: str | None = None
    refusal: str = ""
    usage: "CompletionUsage | None" = None

    def take(self, chunk: "ChatCompletionChunk") -> bool:
        """Adds a chunk; True if it brought text."""
        self.usage = chunk.usage or self.usage
        before = self.chars
        for choice in chunk.choices or ():
            self.finish = choice.finish_reason or self.finish
            if choice.delta is not None:
                self._take_delta(choice.delta)
        return self.chars > before

    def _take_delta(self, delta: "ChoiceDelta") -> None:
        if delta.content:
            self.parts.append(delta.content)
            self.chars += len(delta.content)
        self.refusal += delta.refusal or ""
        for call in delta.tool_calls or ():
            if call.function is not None and call.function.name:
                self.tools.setdefault(call.index, call.function.name)
        self.thinking = self.thinking or any(
            getattr(delta, name, None) for name in ("reasoning_content", "reasoning", "reasoning_text")
        )

    def response(self, asked: Asked, url: str | None) -> ModelResponse:
        """The reply in the engine's terms.

        Raises:
            ModelError: its end is a failure.
        """
        finish = self.finish or ""
        if finish in FAILED_STOPS:
            found = FAILED_STOPS[finish]
            text = f"{asked.name} ended the reply with {finish!r}; try again later, or use another model"
            raise ModelError(text, kind=found.kind, retryable=found.retryable)
        stop = STOP_REASONS.get(finish, "error")
        usage = None if self.usage is None else _usage(self.usage)
        if usage is not None:
            known = asked.provider if asked.provider == "openai" else None
            usage = with_cost(usage, known, asked.model, api_url=url)
        return ModelResponse(
            text="".join(self.parts),
            stop_reason=stop,
            tool_calls=tuple(self.tools.values()),
            thinking=self.thinking,
            usage=usage,
            provider=asked.provider,
            model=asked.model,
            error_message=self._problem(asked, finish) if stop == "error" else None,
        )

    def _problem(self, asked: Asked, finish: str) -> str:
        if finish == "content_filter":
            return f"{asked.name} withheld the reply because of its content filter; use another model"
        return f"{asked.name} ended the reply for the reason {finish!r}, which is not known; use another model"


def _usage(told: "CompletionUsage") -> Usage:
    """The usage in Pi's terms: cached tokens are not part of `input`, reasoning is part of `output`."""
    read_details, written_details = told.prompt_tokens_details, told.completion_tokens_details
    cached = (read_details.cached_tokens if read_details else None) or getattr(told, "prompt_cache_hit_tokens", 0) or 0
    written = (read_details.cache_write_tokens if read_details else None) or 0
    plain = max(0, (told.prompt_tokens or 0) - cached - written)
    output = told.completion_tokens or 0
    return Usage(
        input=plain,
        output=output,
        cache_read=cached,
        cache_write=written,
        total_tokens=plain + output + cached + written,
        reasoning=written_details.reasoning_tokens if written_details else None,
    )
