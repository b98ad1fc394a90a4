"""Answers from a folder of recorded answers, and records new ones: exact repeats of a run, and the response cache.

One file an answer, `<sha256>.json`, named by `ModelRequest.digest`. A file holds what the model answered and how large
the question was, not the question, and no key. Files are written whole or not at all, so runs may share a folder.
"""

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from compactor.clients.options import ClientOptions
from compactor.errors import ModelError, SettingsError
from compactor.events import usage_json
from compactor.js_text import json_text, parse_json, utf8, utf16_len
from compactor.messages import Usage
from compactor.model import ModelClient, ModelRequest, ModelResponse, Observer, StopReason

FORMAT = 1
"""Number of the file format; a file with another one is refused."""


class _Response(msgspec.Struct, frozen=True, rename="camel", omit_defaults=False):
    """A `ModelResponse` as it stands in a file."""

    text: str
    stop_reason: StopReason
    tool_calls: tuple[str, ...] = ()
    thinking: bool = False
    usage: Usage | None = None
    provider: str = ""
    model: str = ""
    error_message: str | None = None


class _Recorded(msgspec.Struct, frozen=True):
    """What is read of a file."""

    format: int
    response: _Response


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayClient:
    """Answers from its folder; asks `inner` where the folder has no answer."""

    folder: str
    inner: ModelClient | None = None
    """Who is asked for new answers; None if nobody is."""
    record: bool = False
    """Keep the new answers."""
    recorded_model: str | None = None
    """Without `inner`: the name of the model whose answers are wanted."""

    @classmethod
    def from_options(cls, options: ClientOptions) -> "ReplayClient":
        """The client that asks nobody.

        Raises:
            SettingsError: no folder is named, or answers are to be recorded though nobody is asked.
        """
        if options.replay_dir is None:
            raise SettingsError("the replay client needs a folder of recorded answers; name one with --replay-dir")
        if options.record:
            raise SettingsError("the replay client asks no model, so it has nothing to record; name another client")
        return cls(folder=options.replay_dir, recorded_model=options.model)

    @property
    def name(self) -> str:
        """The name of the client that is asked, else `replay`."""
        return self.inner.name if self.inner is not None else "replay"

    @property
    def model(self) -> str | None:
        """The model that answers, or whose answers are repeated."""
        return self.inner.model if self.inner is not None else self.recorded_model

    @property
    def window_tokens(self) -> int | None:
        """The context window that the inner client knows, None if it knows none."""
        window: int | None = getattr(self.inner, "window_tokens", None)
        return window

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        """The recorded answer, else the inner client's.

        An answer with an error, or one that was cut off, is not recorded: the next run shall ask again.

        Raises:
            ModelError: there is no recorded answer and nobody to ask, the record is damaged, or the request failed.
        """
        digest = request.digest(self.model)
        path = Path(self.folder) / f"{digest}.json"
        known = _read(path)
        if known is not None:
            return known
        if self.inner is None:
            advice = "" if self.model else 'give --model if the records name one (under "model"), or '
            raise ModelError(
                f"expected a recorded answer {path.name} for model {self.model or '(none)'} in {self.folder}, found "
                f"none; {advice}record it with the client that asks the model, --replay-dir and --record",
                kind="setup",
            )
        response = self.inner.complete(request, observe)
        if self.record and response.stop_reason not in ("error", "aborted", "length"):
            _write(path, _record(request, digest, self, response))
        return response


def _read(path: Path) -> ModelResponse | None:
    """The answer in a file; None if there is no such file.

    Raises:
        ModelError: the file can't be read, or is not a recorded answer.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ModelError(f"can't read the recorded answer {path}: {error.strerror or error}", kind="setup") from None
    try:
        recorded = msgspec.convert(parse_json(data.decode("utf-8")), _Recorded)
    except (ValueError, msgspec.ValidationError) as error:
        raise _unusable(path, f"is damaged ({error})") from None
    if recorded.format != FORMAT:
        raise _unusable(path, f"has format {recorded.format}, expected {FORMAT}")
    return ModelResponse(**msgspec.structs.asdict(recorded.response))


def _unusable(path: Path, what: str) -> ModelError:
    return ModelError(f"the recorded answer {path} {what}; delete it and record it again", kind="setup")


def _record(request: ModelRequest, digest: str, client: ReplayClient, response: ModelResponse) -> dict[str, Any]:
    """The file's content; sizes of texts are in UTF-16 units."""
    return {
        "format": FORMAT,
        "digest": digest,
        "client": client.name,
        "model": client.model,
        "request": {
            "kind": request.kind,
            "systemChars": utf16_len(request.system),
            "contextChars": utf16_len(request.context),
            "instructionsChars": utf16_len(request.instructions),
            "estimatedInputTokens": request.input_tokens,
            "maxOutputTokens": request.max_output_tokens,
        },
        "response": {
            "text": response.text,
            "stopReason": response.stop_reason,
            "toolCalls": list(response.tool_calls),
            "thinking": response.thinking,
            "usage": None if response.usage is None else usage_json(response.usage),
            "provider": response.provider,
            "model": response.model,
            "errorMessage": response.error_message,
        },
    }


def _write(path: Path, content: dict[str, Any]) -> None:
    """Writes a file whole or not at all.

    Raises:
        ModelError: the folder can't be written to.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, made = tempfile.mkstemp(prefix=".answer-", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(utf8(json_text(content)) + b"\n")
            os.replace(made, path)
        except BaseException:
            with suppress(OSError):
                os.unlink(made)
            raise
    except OSError as error:
        text = f"can't record an answer in {path.parent}: {error.strerror or error}; check --replay-dir"
        raise ModelError(text, kind="setup") from None
