"""Measures one message by Pi's estimate: its tokens, and what planning needs to know beside them.

Takes a message; gives an `EntryMeasure`. This is the inner loop of reading a session, run once for every message of a
large file, hence the plain loops and the test for ASCII before anything else. Source: Pi 1.6.0 compaction.js
estimateTokens, calculateContextTokens.
"""

import re

from compactor.entry_measure import EntryMeasure
from compactor.file_ops import FILE_TOOLS, file_calls
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

_WIDE = re.compile("[\u0590-\uffff\U00010000-\U0010ffff]")


def message_measure(message: Message) -> EntryMeasure:
    """The measure of a message, with Pi's estimate for its tokens.

    Source: Pi 1.6.0 estimateTokens: an image of an assistant costs nothing, a message of an unknown role neither.
    """
    role = message.role
    if role == "assistant":
        return _assistant(message)
    if role == "toolResult":
        return _result(message)
    if role in ("user", "custom"):
        return _spoken(role, message)
    if role == "system":
        chars, images, _ = _content_units(message.content)
        chars += IMAGE_CHARS * images + sum(map(utf16_len, beside_content(message)))
        return EntryMeasure(_tokens(chars), _tokens(chars), _role(role))
    texts: tuple[str | None, ...] = ()
    if role == "bashExecution":
        texts = (message.command, message.output)
    elif role in ("branchSummary", "compactionSummary"):
        texts = (message.summary,)
    chars = sum(utf16_len(text) for text in texts if text)
    wide = sum(wide_chars(text) for text in texts if text)
    return EntryMeasure(_tokens(chars), 0, _role(role), wide_chars=wide)


def _assistant(message: Message) -> EntryMeasure:
    content = message.content
    if type(content) is not list:
        chars, _, wide = _content_units(content)
        return EntryMeasure(_tokens(chars), 0, _ASSISTANT, (), (), (), usable_usage(message), wide_chars=wide)
    chars = thinking = wide = 0
    calls: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    for block in content:
        kind = block.type
        if kind == "toolCall":
            name = block.name
            if name:
                chars += utf16_len(name)
            chars += json_units(block.arguments)
            if block.id is not None:
                calls += (block.id,)
            if name in FILE_TOOLS:
                files += file_calls((block,))
        elif kind == "text":
            if text := block.text:
                chars += utf16_len(text)
                if not text.isascii():
                    wide += wide_chars(text)
        elif kind == "thinking" and block.thinking:
            thinking += utf16_len(block.thinking)
    usage_tokens = usable_usage(message)
    return EntryMeasure(
        -(-(chars + thinking) // CHARS_PER_TOKEN), 0, _ASSISTANT, calls, (), files, usage_tokens, 0, thinking, 0, wide
    )
