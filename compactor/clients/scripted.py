"""Answers from a list of replies made beforehand: for tests, demonstrations, and replies that a person wrote.

A reply is a text, a response, or a failure. From a file they come as: a JSON list, JSON lines, one JSON object, or
plain text that is the only reply. An object is an assistant message as Pi stores it, or `{"error", "kind",
"retryable"}`. The last reply repeats. Nothing depends on time or chance.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import msgspec

from compactor.clients.options import ClientOptions
from compactor.clients.retry import DEFAULT_RETRIES, RetryPolicy, Sleep, with_retries
from compactor.errors import ModelError, ModelErrorKind, SettingsError
from compactor.js_text import parse_json
from compactor.messages import Message
from compactor.model import ModelRequest, ModelResponse, Observer, StopReason

Reply = ModelResponse | ModelError


@dataclass(slots=True, kw_only=True)
class ScriptedClient:
    """Gives its replies in order, whatever is asked."""

    replies: Sequence[str | Reply]
    """At least one; a `ModelError` is raised."""
    retries: RetryPolicy = DEFAULT_RETRIES
    sleep: Sleep = time.sleep
    _given: int = field(default=0, init=False)

    @classmethod
    def from_options(cls, options: ClientOptions) -> "ScriptedClient":
        """The client for the file that the options name.

        Raises:
            SettingsError: no file is named, or it can't be read as replies.
        """
        if options.script is None:
            raise SettingsError("the scripted client needs a file of replies, found none; name one with --script")
        return cls(replies=read_replies(options.script), retries=options.retries)

    @property
    def name(self) -> str:
        """The client's name on the command line."""
        return "scripted"

    @property
    def model(self) -> str | None:
        """None: no model is asked."""
        return None

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        """The next reply; a retry takes the one after it.

        Raises:
            ModelError: the reply is a failure.
        """
        return with_retries(self._next, policy=self.retries, observe=observe, sleep=self.sleep)

    def _next(self) -> ModelResponse:
        reply = self.replies[min(self._given, len(self.replies) - 1)]
        self._given += 1
        if isinstance(reply, str):
            return ModelResponse(text=reply, provider="scripted", model="scripted")
        if isinstance(reply, ModelError):
            # A new one each time: an exception that is raised twice collects tracebacks.
            raise ModelError(str(reply), kind=reply.kind, retryable=reply.retryable)
        return reply


def read_replies(path: str) -> list[str | Reply]:
    """The replies in a file.

    Raises:
        SettingsError: the file can't be read, is malformed JSON, or holds no reply.
    """
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"can't read the replies in {path}: {error.strerror or error}; check --script") from None
    except UnicodeDecodeError as error:
        raise SettingsError(f"expected UTF-8 text in {path}, found other bytes at offset {error.start}") from None
    wanted = path.lower().endswith((".json", ".jsonl", ".ndjson"))
    values = _json_values(text, path, wanted=wanted)
    if values is None:
        return [text]
    if not values:
        raise SettingsError(f"expected at least one reply in {path}, found none; add a text or an object")
    return [_reply(value, f"{path}, reply {n}") for n, value in enumerate(values, 1)]


def _json_values(text: str, path: str, *, wanted: bool) -> list[Any] | None:
    """The replies as JSON values; None if the file is plain text.

    Args:
        text: the file's text.
        path: the file, for messages.
        wanted: True when the file's name says that it is JSON: then plain text is an error.
    """
    if not wanted and not text.lstrip().startswith(("{", "[", '"')):
        return None
    try:
        value = parse_json(text)
    except ValueError:
        pass
    else:
        return value if isinstance(value, list) else [value]
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            values.append(parse_json(line))
        except ValueError as error:
            if wanted:
                raise SettingsError(
                    f"expected JSON in {path}, line {number}: {error}; see the scripted client"
                ) from None
            return None
    return values


def _reply(value: Any, where: str) -> str | Reply:
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and "error" in value:
        return _failure(value, where)
    if isinstance(value, dict) and ("content" in value or "errorMessage" in value):
        return _response(value, where)
    raise SettingsError(
        f"expected a text, an assistant message with `content`, or an object with `error` in {where}; "
        f"found {type(value).__name__}"
    )


def _failure(value: dict[str, Any], where: str) -> ModelError:
    kind = value.get("kind", "server")
    kinds = get_args(ModelErrorKind)
    if kind not in kinds:
        raise SettingsError(f"expected `kind` to be one of {', '.join(kinds)} in {where}; found {kind!r}")
    return ModelError(str(value["error"]), kind=kind, retryable=value.get("retryable") is True)


def _response(value: dict[str, Any], where: str) -> ModelResponse:
    try:
        message = msgspec.convert(value, Message)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:  # the latter at a key that is a lone surrogate
        raise SettingsError(f"expected an assistant message as Pi stores it in {where}: {error}") from None
    reasons: tuple[StopReason, ...] = get_args(StopReason)
    stop = next((reason for reason in reasons if reason == (message.stop_reason or "stop")), None)
    if stop is None:
        raise SettingsError(
            f"expected `stopReason` to be one of {', '.join(reasons)} in {where}; found {message.stop_reason!r}"
        )
    return ModelResponse(
        text=message.text(),
        stop_reason=stop,
        tool_calls=tuple(block.name or "" for block in message.blocks if block.type == "toolCall"),
        thinking=any(block.type == "thinking" for block in message.blocks),
        usage=message.usage,
        provider=message.provider or "scripted",
        model=message.model or "scripted",
        error_message=message.error_message,
    )
