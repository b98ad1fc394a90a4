"""Claude models by Anthropic's messages API, and servers that speak it.

The conversation is the first block of the user message and carries a cache mark, so another prompt over the same
conversation reads it from the cache. No temperature is sent: current models refuse it.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from compactor.clients.addresses import Provider, checked_url, is_loopback
from compactor.clients.anthropic_reply import AnthropicReply
from compactor.clients.failures import Asked, cut_off, missing_package, model_failure, no_certificates, too_slow
from compactor.clients.options import ClientOptions
from compactor.clients.retry import DEFAULT_RETRIES, RetryPolicy, Sleep, with_retries
from compactor.clients.wire import MALFORMED
from compactor.errors import SettingsError
from compactor.js_text import well_formed
from compactor.model import ModelRequest, ModelResponse, Observer, Streamed

if TYPE_CHECKING:
    import anthropic

ANTHROPIC = Provider(
    name="anthropic",
    host="api.anthropic.com",
    key_variable="ANTHROPIC_API_KEY",
    url_variable="ANTHROPIC_BASE_URL",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AnthropicMessagesClient:
    """Asks one Claude model."""

    model_name: str
    base_url: str | None = None
    """Without it ANTHROPIC_BASE_URL counts, else Anthropic's own address; `/v1` at its end is left out."""
    api_key: str | None = field(default=None, repr=False)
    """Without it ANTHROPIC_API_KEY counts; a server of one's own needs none."""
    timeout_s: float | None = None
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
            base_url=checked_url(options.base_url, "--base-url"),
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

    def count_context(self, arguments: dict[str, Any]) -> int:
        """The exact number of tokens of messages, system prompt and tools, by the provider; nothing is paid.

        Raises:
            ModelError: the request failed; it is not tried again.
        """
        with self._connected() as (sdk, _):
            return sdk.messages.count_tokens(model=well_formed(self.model_name), **arguments).input_tokens

    def _ask(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        reply = AnthropicReply()
        until_s = None if self.timeout_s is None else time.monotonic() + self.timeout_s
        with self._connected() as (sdk, asked):
            arguments: dict[str, Any] = {**self._input(request), "max_tokens": request.max_output_tokens}
            with sdk.messages.create(**arguments, stream=True) as stream:
                for event in stream:
                    if reply.take(event):
                        observe(Streamed(chars=reply.chars))
                    if until_s is not None and time.monotonic() > until_s:
                        raise too_slow(asked, self.timeout_s or 0)
        if not (reply.complete and reply.stop):
            raise cut_off(asked)
        return reply.response(asked, ANTHROPIC.url(self.base_url))

    @contextmanager
    def _connected(self) -> "Iterator[tuple[anthropic.Anthropic, Asked]]":
        """The provider's library, ready to be asked, and who is asked; failures inside become `ModelError`."""
        try:
            import anthropic
            import httpx2
        except ImportError as error:
            raise missing_package("anthropic", error.name or "anthropic", "anthropic") from None
        url = ANTHROPIC.url(self.base_url)
        asked = ANTHROPIC.asked(self.model_name, url, self.api_key)
        failures = (anthropic.AnthropicError, httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, *MALFORMED)
        try:
            web = anthropic.DefaultHttpxClient(trust_env=not (url and is_loopback(url)))
        except OSError as error:
            raise no_certificates(error, asked) from None
        try:
            timeout = anthropic.NOT_GIVEN if self.timeout_s is None else self.timeout_s
            with anthropic.Anthropic(
                api_key=asked.key or "none",  # a server of one's own wants no key, but the library does
                base_url=(url or f"https://{ANTHROPIC.host}").removesuffix("/").removesuffix("/v1"),
                max_retries=0,
                timeout=timeout,
                http_client=web,
            ) as sdk:
                yield sdk, asked
        except failures as error:
            raise model_failure(error, asked) from error

    def _input(self, request: ModelRequest) -> dict[str, Any]:
        """What the model reads."""
        # A block of blanks alone would be refused.
        apart = bool(request.context.strip() and request.instructions.strip())
        texts = [request.context, request.instructions] if apart else [request.prompt]
        blocks: list[dict[str, Any]] = [{"type": "text", "text": well_formed(text)} for text in texts]
        if apart:
            blocks[0]["cache_control"] = {"type": "ephemeral"}
        made: dict[str, Any] = {"model": well_formed(self.model_name)}
        made["messages"] = [{"role": "user", "content": blocks}]
        if request.system:
            made["system"] = well_formed(request.system)
        return made
