"""What is asked of a model and what comes back: the only types that clients and the pure core share.

A client turns a `ModelRequest` into a `ModelResponse` or raises `errors.ModelError`. Notices go to the observer that
the caller passes in; the engine turns them into Pi's `summarization_retry_*` events.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol

from compactor.js_text import utf8
from compactor.messages import Message, Usage

RequestKind = Literal["history", "turn_prefix", "branch", "part", "merge"]
StopReason = Literal["stop", "length", "toolUse", "error", "aborted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One question to a model: a system text and one user message made of `context` and `instructions`."""

    kind: RequestKind
    """`history` and `turn_prefix` as in a compaction, `branch`, and `part`/`merge` where one request was too large."""
    system: str
    context: str
    """The `<conversation>` block: equal for every prompt over the same conversation, so a cache mark goes after it."""
    instructions: str
    """Previous summary, if any, then what to write."""
    max_output_tokens: int
    messages: tuple[Message, ...] = field(default=(), repr=False)
    """The messages that `context` shows, and for a branch the tool results between them, for clients that need no
    model; never sent."""
    entry_ids: tuple[str, ...] = field(default=(), repr=False)
    """For each of `messages` the id of the session entry that it comes from."""
    previous_summary: str | None = None
    """For clients that need no model; already inside `instructions`."""
    rules: tuple[str, ...] = ()
    """The user's rules in the kept tail, for clients that need no model; already inside `instructions`."""
    open_request: Message | None = field(default=None, repr=False)
    """What opens the turn that is split and summarized apart: the request that is being worked on; never sent."""
    budget_share: float = 1.0
    """The part of a whole summary's size that this request's text may take, for clients that need no model."""
    focus: str | None = None
    """Extra focus asked for by the user; already inside `instructions`."""
    input_tokens: int = 0
    """Estimated tokens of system, context and instructions; an estimate, not exact."""

    @property
    def prompt(self) -> str:
        """The whole user message."""
        return self.context + self.instructions

    def digest(self, model: str | None) -> str:
        """sha256 (hex) over everything that reaches the model, and the model's name: the key of recorded answers."""
        parts = (model or "", self.system, self.context, self.instructions, str(self.max_output_tokens))
        lengths = b"".join(len(utf8(p)).to_bytes(8, "big") + utf8(p) for p in parts)
        return hashlib.sha256(lengths).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelResponse:
    """What the model answered, as it came; `summary.reply_problem` decides whether it counts."""

    text: str
    """The text blocks joined by newlines; empty if there were none."""
    stop_reason: StopReason = "stop"
    tool_calls: tuple[str, ...] = ()
    """Names of the tools that the reply calls."""
    thinking: bool = False
    """True when the reply held reasoning blocks."""
    usage: Usage | None = None
    """None for clients without a model."""
    provider: str = ""
    model: str = ""
    error_message: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled:
    """A transient failure; the same request is sent again after `delay_ms`."""

    attempt: int
    max_attempts: int
    delay_ms: int
    error_message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryStarted:
    """The wait is over, the request is being sent again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryFinished:
    """The last retry ended, well or not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Streamed:
    """More of the reply arrived."""

    chars: int
    """Characters of text so far."""


Notice = RetryScheduled | RetryStarted | RetryFinished | Streamed
Observer = Callable[[Notice], None]


class ModelClient(Protocol):
    """Anything that answers a `ModelRequest`."""

    @property
    def name(self) -> str:
        """The client's name on the command line."""
        ...

    @property
    def model(self) -> str | None:
        """The model that it asks, None where there is none."""
        ...

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        """The model's answer.

        Raises:
            ModelError: the request failed, after the client's own retries.
        """
        ...
