"""Turns what a provider's library raised into one `ModelError`: kind, retryable, and one line that says what to do.

Both libraries share their shape (`status_code`, `body`, `response`), so one translation serves both. A key never
gets into a message, whatever the server sends back.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from compactor.errors import ModelError, ModelErrorKind
from compactor.js_text import well_formed
from compactor.overflow import FailureClass, classify_failure

MAX_MESSAGE_CHARS = 400
"""A server's own words are cut here."""

MIN_KEY_CHARS = 8
"""Shorter ones stand in for a key (`EMPTY`, `none`, `x`) and are parts of common words."""

_BLANK_OR_CONTROL = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """Who was asked, for messages."""

    provider: str
    model: str
    key_source: str
    """Where the key comes from, such as the name of a variable."""
    key: str | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Provider and model as messages name them."""
        return f"{self.provider} ({self.model})"


_ADVICE: dict[ModelErrorKind, str] = {
    "bad_request": "check the model's name, the base URL (its path usually ends in /v1) and the options",
    "overflow": "use a model with a larger window, or name its window with --summarizer-window so that long "
    "conversations are summarized in parts",
    "overloaded": "try again later, or use another model",
    "timeout": "try again, or allow more time with --timeout",
    "connection": "check the base URL and the network",
    "server": "try again later, or use another model",
}


def one_line(text: str, max_chars: int = MAX_MESSAGE_CHARS) -> str:
    """The text on one line, without control characters and lone surrogates, cut with a mark at `max_chars`."""
    flat = well_formed(_BLANK_OR_CONTROL.sub(" ", text[: 4 * max_chars])).strip()
    return flat if len(flat) <= max_chars else flat[: max_chars - 1].rstrip() + "…"


def model_failure(error: Exception, asked: Asked) -> ModelError:
    """The `ModelError` for an exception of a provider's library or of its transport.

    Raise it `from` the exception: `retry.retry_after_ms` reads the headers there.
    """
    status = _status(error)
    words = _words(error)
    found = _transport_class(error) or classify_failure(f"{_labels(error)} {words}", status)
    found = _as_the_server_says(error, found)
    what = f"{asked.name} answered {status}" if status is not None else asked.name
    text = f"{what}: {one_line(_without_key(words, asked)) or 'no message'}; {_advice(found, asked)}"
    return ModelError(text, kind=found.kind, retryable=found.retryable)


def cut_off(asked: Asked) -> ModelError:
    """The failure of a reply that ended before its end was announced."""
    text = f"{asked.name}: the connection closed before the reply was complete; {_ADVICE['connection']}"
    return ModelError(text, kind="connection", retryable=True)


def too_slow(asked: Asked, timeout_s: float) -> ModelError:
    """The failure of a reply that took longer than allowed."""
    text = f"{asked.name}: the reply was not complete after {timeout_s:g} s; {_ADVICE['timeout']}"
    return ModelError(text, kind="timeout", retryable=True)


def no_certificates(error: OSError, asked: Asked) -> ModelError:
    """The failure to load the certificates that the environment names."""
    text = f"{asked.name}: can't load certificates: {error.strerror or error}; check SSL_CERT_FILE and SSL_CERT_DIR"
    return ModelError(text, kind="setup")


def missing_package(client: str, package: str, requirement: str) -> ModelError:
    """The failure of a client whose library is not installed."""
    text = f'the client {client} needs the package {package}, which is not installed; pip install "{requirement}"'
    return ModelError(text, kind="setup")


def _status(error: Exception) -> int | None:
    """The HTTP status of a refusal; None for a transport failure, or an error inside of a stream that began well."""
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) and status >= 400 else None


def _parts(error: Exception) -> dict[str, Any]:
    """The object that describes the error; libraries differ in whether they unwrap `error`."""
    body = getattr(error, "body", None)
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        body = body["error"]
    return body if isinstance(body, dict) else {}


def _labels(error: Exception) -> str:
    parts = _parts(error)
    return " ".join(str(parts[name]) for name in ("type", "code") if parts.get(name) is not None)


def _words(error: Exception) -> str:
    """What the server or the transport said."""
    parts = _parts(error)
    for name in ("message", "detail", "error"):
        if parts.get(name):
            return f"{parts[name]}{_upstream(parts)}"
    body = getattr(error, "body", None)
    if isinstance(body, str) and body.strip():
        return "an HTML page instead of JSON" if body.lstrip().startswith("<") else body
    cause = error.__cause__
    said = str(error) or type(error).__name__
    return f"{said.rstrip('.')} ({cause})" if cause is not None and str(cause) and _status(error) is None else said


def _upstream(parts: dict[str, Any]) -> str:
    """What the provider behind a gateway said (OpenRouter's `metadata.raw`)."""
    metadata = parts.get("metadata")
    raw = metadata.get("raw") if isinstance(metadata, dict) else None
    return f" ({raw})" if raw else ""


def _transport_class(error: Exception) -> FailureClass | None:
    """The class of a failure below HTTP; None if it is none."""
    names = {kind.__name__ for kind in type(error).__mro__}
    if names & {"APITimeoutError", "TimeoutException"}:
        return FailureClass(kind="timeout", retryable=True)
    if names & {"UnsupportedProtocol", "InvalidURL", "LocalProtocolError"}:
        return FailureClass(kind="setup", retryable=False)
    if names & {"APIConnectionError", "TransportError", "StreamError"}:
        return FailureClass(kind="connection", retryable=True)
    if names & {"JSONDecodeError", "UnicodeDecodeError", "APIResponseValidationError"}:
        return FailureClass(kind="server", retryable=True)
    return None


def _as_the_server_says(error: Exception, found: FailureClass) -> FailureClass:
    """The class with `x-should-retry`, which some servers send, taken into account."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    told = headers.get("x-should-retry") if headers is not None else None
    if told not in ("true", "false") or found.kind in ("overflow", "auth"):
        return found
    return FailureClass(kind=found.kind, retryable=told == "true")


def _without_key(text: str, asked: Asked) -> str:
    key = asked.key or ""
    return text.replace(key, "[key]") if len(key) >= MIN_KEY_CHARS else text


def _advice(found: FailureClass, asked: Asked) -> str:
    if found.kind == "auth":
        return f"check the key in {asked.key_source} and what it may use"
    if found.kind == "rate_limit":
        return "wait, then try again" if found.retryable else "raise the account's limit, or use another model"
    return _ADVICE.get(found.kind, "check the base URL")
