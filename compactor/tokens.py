"""Counts tokens: of a message, of a context entry, of a whole context.

Takes messages and a counter; gives integers. `pi` is Pi's estimate, a quarter of the UTF-16 units, which real
providers exceed by 25 to 100 % on code and several times on Chinese; a tokenizer counter is closer, yet no provider
counts like it. Neither is exact: only the usage that a provider reported is. Source: Pi 1.6.0 compaction.js
estimateTokens, estimateProjectedContextTokens, shouldCompact.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from compactor.entry_measure import EntryMeasure
from compactor.js_text import json_text, utf16_len
from compactor.message_measure import CHARS_PER_TOKEN, IMAGE_CHARS, beside_content, message_measure
from compactor.messages import Message
from compactor.projection import Projection, replayed_system
from compactor.step_errors import StepErrors


class Counter(Protocol):
    """Counts tokens of text and messages; the name is shown beside every figure that it made."""

    @property
    def name(self) -> str:
        """As given on the command line."""
        ...

    def text(self, text: str) -> int:
        """Tokens of a text."""
        ...

    def message(self, message: Message) -> int:
        """Tokens of a message."""
        ...

    def entry(self, index: int) -> int | None:
        """Tokens of the entry with that index where they are known, None where its messages must be counted."""
        ...

    @property
    def errors(self) -> StepErrors | None:
        """How far off it was on steps that it had not seen yet; None for a counter that does not learn."""
        ...


class PiCounter:
    """Pi's estimate: UTF-16 units divided by four, rounded up per message."""

    name = "pi"

    def text(self, text: str) -> int:
        """A quarter of the text's UTF-16 units, rounded up."""
        return -(-utf16_len(text) // CHARS_PER_TOKEN)

    def message(self, message: Message) -> int:
        """A quarter of the message's characters, rounded up; 1200 for an image."""
        return message_measure(message).tokens

    errors = None

    def entry(self, index: int) -> None:
        """Nothing is known but the text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerCounter:
    """Counts with a tokenizer; images cost what Pi takes for them."""

    name: str
    count: Callable[[str], int]

    def text(self, text: str) -> int:
        """Tokens of the text; special tokens count as the text that spells them."""
        return self.count(text)

    def message(self, message: Message) -> int:
        """Tokens of all parts of the message, without the provider's own framing (about 4 a message)."""
        texts, images = message_parts(message)
        return sum(map(self.count, texts)) + images * IMAGE_CHARS // CHARS_PER_TOKEN

    errors = None

    def entry(self, index: int) -> None:
        """Nothing is known but the text."""


def message_parts(message: Message) -> tuple[list[str], int]:
    """The texts of a message that cost tokens, and its number of images."""
    role = message.role
    if role == "assistant":
        return _assistant_parts(message), 0
    if role in ("user", "toolResult", "custom"):
        return _content_parts(message)
    if role == "bashExecution":
        return [message.command or "", message.output or ""], 0
    if role in ("branchSummary", "compactionSummary"):
        return [message.summary or ""], 0
    if role == "system":
        texts, images = _content_parts(message)
        return texts + beside_content(message), images
    return [], 0


def _content_parts(message: Message) -> tuple[list[str], int]:
    if isinstance(message.content, str):
        return [message.content], 0
    texts: list[str] = []
    images = 0
    for block in message.content or ():
        if block.type == "text" and block.text:
            texts.append(block.text)
        elif block.type == "image":
            images += 1
    return texts, images


def _assistant_parts(message: Message) -> list[str]:
    texts: list[str] = []
    for block in message.blocks:
        if block.type == "text":
            texts.append(block.text or "")
        elif block.type == "thinking":
            texts.append(block.thinking or "")
        elif block.type == "toolCall":
            texts += [block.name or "", json_text(block.arguments)]
    return texts


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextTokens:
    """The size of the context, and where the figure comes from."""

    tokens: int
    usage_tokens: int
    """Reported by the provider; 0 when everything is estimated."""
    trailing_tokens: int
    """Estimated for what came after the reported figure."""
    stale_usage_tokens: int = 0
    """A reported figure that was left aside because a compaction or edit came after it."""


def context_tokens(projection: Projection, measures: Sequence[EntryMeasure], counter: Counter) -> ContextTokens:
    """The context size: the newest reported usage plus estimates after it, or estimates alone.

    Args:
        projection: the context.
        measures: of `projection.entries`, made with `counter`.
        counter: estimates what no usage covers.
    """
    at = next((n for n in range(len(measures) - 1, -1, -1) if measures[n].usage_tokens), None)
    if at is not None and not _is_stale(projection, at):
        trailing = sum(m.tokens for m in measures[at + 1 :])
        used = measures[at].usage_tokens
        return ContextTokens(tokens=used + trailing, usage_tokens=used, trailing_tokens=trailing)
    system = sum(m.system_tokens for m in measures)
    plain = sum(m.tokens for m in measures) - system
    whole = current_system(projection, measures)
    plain += counter.message(whole) if whole is not None else 0
    stale = measures[at].usage_tokens if at is not None else 0
    return ContextTokens(tokens=plain, usage_tokens=0, trailing_tokens=plain, stale_usage_tokens=stale)


def current_system(projection: Projection, measures: Sequence[EntryMeasure]) -> Message | None:
    """All system messages of the context folded into one, None if there is none; only their entries are decoded."""
    return replayed_system(
        message
        for projected, m in zip(projection.entries, measures, strict=True)
        if "system" in m.roles
        for message in projected.messages()
    )


def _is_stale(projection: Projection, at: int) -> bool:
    """True when a compaction or context_edit came after the entry that reported the usage."""
    if projection.newest_reset < 0:
        return False
    wanted = projection.entries[at].entry.index
    after = projection.branch.entries[projection.newest_reset + 1 :]
    return not any(entry.index == wanted for entry in reversed(after))


def should_compact(tokens: int, *, context_window: int, reserve_tokens: int, enabled: bool = True) -> bool:
    """True when the context is larger than the window less the reserve; nothing is clamped."""
    return enabled and tokens > context_window - reserve_tokens
