"""What of a message costs tokens, as numbers that a provider's count depends on linearly.

Takes messages and a function that counts the tokens of a text in a known vocabulary; gives one row for what is sent
(tool results, the user's text) and one for what the model wrote. No provider counts like any public vocabulary, but
each stays in a steady ratio to it, a different one for prose, results and arguments, plus a constant for every message
and call.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from compactor.js_text import json_text
from compactor.messages import Message

Count = Callable[[str], int]

SENT = ("resultTokens", "userTokens", "results", "userMessages", "omittedTokens", "images")
"""Features of what is sent: tokens of tool results and of everything else, how many of either, tokens that a result
says were left out of the file, images."""

WRITTEN = (
    "textTokens", "thinkingTokens", "argumentTokens", "calls", "messages", "escapeTokens", "thoughts", "signatureChars",
)  # fmt: skip
"""Features of what the model wrote: tokens of text, of thinking and of arguments as plain text, how many calls and
messages, what the arguments cost more as JSON, whether it thought at all, characters of the thinking's signature."""

HIDDEN = frozenset({"thinkingTokens", "thoughts", "signatureChars"})
"""Those that tell of reasoning. It may be shortened in the file or be missing from it, but a block of it, even an empty
one, stands where there was some, and its signature is the reasoning encrypted: as long as that is."""

_OMITTED = re.compile(r"(\d[\d,]*)\s+(?:more\s+)?(?:chars?|characters)\s+(?:omitted|truncated|elided|left out)")
_MARK_CHARS = 200
"""A mark for what was left out stands at the end of a text."""

MAX_ARGUMENT_DEPTH = 200
"""Arguments nested deeper count as JSON text."""


def sent_row(message: Message, count: Count) -> tuple[float, ...]:
    """The row of a message that is sent to the model, in the order of `SENT`; all zero for a reply of the model."""
    role = message.role
    if role == "assistant":
        return (0.0,) * len(SENT)
    images = sum(1 for block in message.blocks if block.type == "image")
    if role == "toolResult":
        text = message.text()
        tokens = count(text)
        return (tokens, 0.0, 1.0, 0.0, omitted_chars(text) * tokens / max(1, len(text)), images)
    return (0.0, sum(map(count, _texts(message))), 0.0, 1.0, 0.0, images)


def _texts(message: Message) -> Iterator[str]:
    """The texts of a message that is neither a reply nor a result."""
    yield message.text()
    yield from (text for text in (message.command, message.output, message.summary) if text)
    yield from (text for text in (message.sections or {}).values() if text)
    if message.tools_added:
        yield json_text(message.tools_added)


def omitted_chars(text: str) -> int:
    """Characters that the text says were left out of it, 0 if it says nothing."""
    found = _OMITTED.findall(text[-_MARK_CHARS:])
    return int(found[-1].replace(",", "")[:12]) if found else 0


def written_row(message: Message, count: Count, signature_chars: int = 0) -> tuple[float, ...]:
    """The row of a reply of the model, in the order of `WRITTEN`; all zero for other messages."""
    if message.role != "assistant":
        return (0.0,) * len(WRITTEN)
    text = thinking = arguments = escapes = calls = thoughts = 0
    for block in message.blocks:
        if block.type == "text":
            text += count(block.text or "")
        elif block.type == "thinking":
            thinking += count(block.thinking or "")
            thoughts = 1
        elif block.type == "toolCall":
            calls += 1
            if block.arguments is None:
                continue
            plain = count("\n".join(_strings(block.arguments, 0)))
            arguments += plain
            escapes += max(0, count(json_text(block.arguments)) - plain)
    return (text, thinking, arguments, calls, 1.0, escapes, thoughts, signature_chars)


def spoken_row(row: Sequence[float]) -> tuple[float, ...]:
    """The row of the same reply without its reasoning."""
    return tuple(0.0 if name in HIDDEN else value for name, value in zip(WRITTEN, row, strict=True))


def visible_tokens(row: Sequence[float]) -> float:
    """Tokens of a reply's own text and arguments, of a row that `written_row` gave."""
    return row[WRITTEN.index("textTokens")] + row[WRITTEN.index("argumentTokens")]


def _strings(value: Any, depth: int) -> Iterator[str]:
    """The keys and values of arguments as plain texts."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < MAX_ARGUMENT_DEPTH:
        for item in value.items() if isinstance(value, dict) else value:
            if isinstance(item, tuple):
                yield str(item[0])
                item = item[1]
            yield from _strings(item, depth + 1)
    elif value is not None:
        yield json_text(value)
