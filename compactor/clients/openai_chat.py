"""Models behind OpenAI's chat completions protocol: OpenAI, Ollama, vLLM, llama.cpp, OpenRouter and many more.

Servers differ in what they accept, so a refusal that names one of three parts of a request is answered by sending it
without that part: the newer name of the output limit, the wish for usage in the stream, the system role.
"""

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from compactor.clients.addresses import Provider, checked_url, is_loopback
from compactor.clients.failures import Asked, cut_off, missing_package, model_failure, no_certificates, too_slow
from compactor.clients.openai_reply import OpenAIReply
from compactor.clients.options import ClientOptions
from compactor.clients.retry import DEFAULT_RETRIES, RetryPolicy, Sleep, with_retries
from compactor.clients.wire import MALFORMED
from compactor.errors import SettingsError
from compactor.js_text import well_formed
from compactor.model import ModelRequest, ModelResponse, Observer, Streamed
from compactor.overflow import is_context_overflow

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk

OPENAI = Provider(
    name="openai",
    host="api.openai.com",
    key_variable="OPENAI_API_KEY",
    url_variable="OPENAI_BASE_URL",
)


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
    provider: str | None = None
    """The provider's name in answers and messages; None takes it from the address."""
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
            base_url=checked_url(options.base_url, "--base-url"),
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
            raise missing_package("openai", error.name or "openai", "compactor[openai]") from None
        url = OPENAI.url(self.base_url)
        asked = OPENAI.asked(self.model_name, url, self.api_key, self.provider)
        failures = (openai.OpenAIError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, *MALFORMED)
        try:
            web = openai.DefaultHttpxClient(trust_env=not (url and is_loopback(url)))
        except OSError as error:
            raise no_certificates(error, asked) from None
        try:
            key = asked.key or "none"  # a server of one's own wants no key, but the library does
            timeout = openai.NOT_GIVEN if self.timeout_s is None else self.timeout_s
            with openai.OpenAI(api_key=key, base_url=url, max_retries=0, timeout=timeout, http_client=web) as sdk:
                reply = self._read(self._send(sdk, request), asked, observe)
        except failures as error:
            raise model_failure(error, asked) from error
        return reply.response(asked, url)

    def _send(self, sdk: "openai.OpenAI", request: ModelRequest) -> "openai.Stream[ChatCompletionChunk]":
        """The begun stream of the reply, in the shape that the server accepts."""
        import openai

        new_name = sdk.base_url.host == OPENAI.host  # elsewhere the old one is more widely understood
        shape = self._shape or _Shape(limit_name="max_completion_tokens" if new_name else "max_tokens")
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
        arguments: dict[str, Any] = {"model": well_formed(self.model_name), "messages": messages, "stream": True}
        arguments[shape.limit_name] = request.max_output_tokens
        if shape.asks_usage:
            arguments["stream_options"] = {"include_usage": True}
        if self.temperature is not None:
            arguments["temperature"] = self.temperature
        return arguments

    def _read(self, stream: "openai.Stream[ChatCompletionChunk]", asked: Asked, observe: Observer) -> OpenAIReply:
        """The whole reply.

        Raises:
            ModelError: it broke off, or took too long.
        """
        reply = OpenAIReply()
        until_s = None if self.timeout_s is None else time.monotonic() + self.timeout_s
        with stream:
            for chunk in stream:
                if reply.take(chunk):
                    observe(Streamed(chars=reply.chars))
                if until_s is not None and time.monotonic() > until_s:
                    raise too_slow(asked, self.timeout_s or 0)
        if not reply.finish:
            raise cut_off(asked)
        return reply


def _other_shape(shape: _Shape, error: "openai.APIStatusError") -> _Shape:
    """The shape without the part that the server's refusal names; the same shape if it names none."""
    text = f"{error.message} {error.param or ''}".lower()
    if error.status_code not in (400, 404, 422, 500) or is_context_overflow(text):
        return shape
    if "system role" in text or "system message" in text or "role: system" in text:
        return replace(shape, system_role=False)
    if "stream_options" in text or "include_usage" in text:
        return replace(shape, asks_usage=False)
    if shape.limit_name == "max_tokens" and "max_completion_tokens" in text and "max_tokens" in text:
        return replace(shape, limit_name="max_completion_tokens")
    if shape.limit_name == "max_completion_tokens" and "max_completion_tokens" in text and "large" not in text:
        return replace(shape, limit_name="max_tokens")
    return shape
