"""Measures one message by Pi's estimate: its tokens, and what planning needs to know beside them.

Takes a message; gives an `EntryMeasure`. This is the inner loop of reading a session, run once for every message of a
large file, hence the plain loops and the test for ASCII before anything else. Source: Pi 1.6.0 compaction.js
estimateTokens, calculateContextTokens.
"""

import re

from compactor.entry_measure import EntryMeasure
from compactor.file_ops import FILE_TOOLS, file_call, file_calls
from compactor.js_text import MAX_SAFE_INTEGER, json_text, json_units, utf16_len
from compactor.messages import Block, Message, Usage

CHARS_PER_TOKEN = 4
"""Pi 1.6.0 estimateTokens."""

IMAGE_CHARS = 4800
"""Pi 1.6.0 ESTIMATED_IMAGE_CHARS: what an image costs, whatever its size."""

RESULT_MAX_CHARS = 2000
"""Pi 1.6.0 utils.js TOOL_RESULT_MAX_CHARS: UTF-16 units of a tool result that a summarizer is shown."""

SAMPLE_CHARS = 500
"""Scripts are judged by the start of a text: enough to tell, and a bounded cost."""

_WIDE = re.compile("[^\x00-\u058f\ufffd]")  # a replacement character is of no script


def message_measure(message: Message) -> EntryMeasure:
    """The measure of a message, with Pi's estimate for its tokens.

    Source: Pi 1.6.0 estimateTokens: an image of an assistant costs nothing, a message of an unknown role neither.
    """
    role = message.role
    if role == "toolResult":
        return _result(message)
    if role == "assistant":
        return _assistant(message)
    if role in ("user", "custom"):
        chars, images, wide = _content_units(message.content)
        return EntryMeasure(_tokens(chars, images), 0, _role(role), images=images, wide_chars=wide)
    if role == "system":
        chars, images, _ = _content_units(message.content)
        tokens = _tokens(chars + sum(map(utf16_len, beside_content(message))), images)
        return EntryMeasure(tokens, tokens, _role(role))
    texts: tuple[str | None, ...] = ()
    if role == "bashExecution":
        texts = (message.command, message.output)
    elif role in ("branchSummary", "compactionSummary"):
        texts = (message.summary,)
    chars, wide = sum(utf16_len(text) for text in texts if text), sum(wide_chars(text) for text in texts if text)
    return EntryMeasure(_tokens(chars), 0, _role(role), wide_chars=wide)


def _result(message: Message) -> EntryMeasure:
    chars, images, wide = _content_units(message.content)
    answered = message.tool_call_id
    return EntryMeasure(
        _tokens(chars, images),
        0,
        _RESULT,
        (),
        (answered,) if answered is not None else (),
        file_calls(message) if message.nested_calls is not None else (),
        0,
        chars - RESULT_MAX_CHARS if chars > RESULT_MAX_CHARS else 0,
        0,
        images,
        wide,
    )


def _content_units(content: str | list[Block] | None) -> tuple[int, int, int]:
    """UTF-16 units of the texts, number of images, and about how many characters of the texts are wide."""
    if isinstance(content, str):
        return utf16_len(content), 0, wide_chars(content)
    chars = images = wide = 0
    for block in content or ():
        kind = block.type
        if kind == "text":
            text = block.text
            if text:
                if text.isascii():
                    chars += len(text)
                else:
                    chars += utf16_len(text)
                    wide += wide_chars(text)
        elif kind == "image":
            images += 1
    return chars, images, wide


def _assistant(message: Message) -> EntryMeasure:
    chars = thinking = wide = 0
    calls: list[str] = []
    files: list[tuple[str, str]] = []
    for block in message.blocks:
        kind = block.type
        if kind == "toolCall":
            name, arguments = block.name, block.arguments
            chars += utf16_len(name or "") + json_units(arguments)
            if block.id is not None:
                calls.append(block.id)
            if name in FILE_TOOLS and (pair := file_call(name, arguments)) is not None:
                files.append(pair)
        elif kind == "text":
            text = block.text or ""
            chars += utf16_len(text)
            wide += wide_chars(text)
        elif kind == "thinking":
            thinking += utf16_len(block.thinking or "")
    tokens = -(-(chars + thinking) // CHARS_PER_TOKEN)
    reported = usable_usage(message)
    return EntryMeasure(tokens, 0, _ASSISTANT, tuple(calls), (), tuple(files), reported, 0, thinking, 0, wide)


def _tokens(chars: int, images: int = 0) -> int:
    return -(-(chars + IMAGE_CHARS * images) // CHARS_PER_TOKEN)


def wide_chars(text: str) -> int:
    """About how many characters of the text are beyond U+0590, judged by its first `SAMPLE_CHARS`."""
    if text.isascii():
        return 0
    sample = text[:SAMPLE_CHARS]
    return 0 if sample.isascii() else len(_WIDE.findall(sample)) * len(text) // len(sample)


def beside_content(message: Message) -> list[str]:
    """The texts that a system message holds beside its content: sections, and the tools added as JSON."""
    texts = [value for value in (message.sections or {}).values() if value]
    return texts if message.tools_added is None else [*texts, json_text(message.tools_added)]


def context_size(usage: Usage) -> int:
    """Tokens of the context after the request, as reported, 0 for an impossible figure.

    Source: Pi 1.6.0 calculateContextTokens.
    """
    total = usage.total_tokens or usage.input + usage.output + usage.cache_read + usage.cache_write
    return int(total) if 0 < total <= MAX_SAFE_INTEGER else 0


def usable_usage(message: Message) -> int:
    """The reported context size, 0 if there is none or the reply was aborted or failed."""
    if message.role != "assistant" or message.usage is None or message.stop_reason in ("aborted", "error"):
        return 0
    return context_size(message.usage)


_ROLES: dict[str, tuple[str, ...]] = {}


def _role(role: str) -> tuple[str, ...]:
    """One shared tuple a role: a large session has few roles and many entries."""
    return _ROLES.setdefault(role, (role,)) if len(_ROLES) < 64 else (role,)


_ASSISTANT, _RESULT = _role("assistant"), _role("toolResult")
