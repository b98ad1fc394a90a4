"""The text that a summarizer reads: messages as the model sees them, then as plain labelled paragraphs.

Takes messages; gives text. Thinking and images are left out, a long tool result is cut with a marker. By default a call
that never got a result says so, so that a summary does not take a request for a fact. Source: Pi 1.6.0 messages.js
convertToLlm, utils.js serializeConversation; the frames and labels are wire constants, needed byte for byte.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from compactor.js_text import json_text, ordered_items, utf8, utf16_head, utf16_len
from compactor.message_measure import RESULT_MAX_CHARS
from compactor.messages import Block, Message

COMPACTION_FRAME = (
    "The conversation history before this point was compacted into the following summary:\n\n<summary>\n",
    "\n</summary>",
)
"""Pi 1.6.0 messages.js: around the summary of a compaction."""

BRANCH_FRAME = (
    "The following is a summary of a branch that this conversation came back from:\n\n<summary>\n",
    "</summary>",
)
"""Pi 1.6.0 messages.js: around the summary of a branch."""

NO_RESULT = "(no result was recorded: {name} was requested, it is not known to have run)"

SEPARATOR = "\n\n"
"""Between the paragraphs of a transcript."""


def model_message(message: Message) -> Message | None:
    """The message as it goes to a model: own roles become user text; None for a row excluded from context."""
    role = message.role
    if role == "bashExecution":
        return None if message.exclude_from_context else _user(shell_text(message))
    if role == "custom":
        content = message.content
        return _user(content) if isinstance(content, str) else Message(role="user", content=content or [])
    if role == "branchSummary":
        return _user(BRANCH_FRAME[0] + (message.summary or "") + BRANCH_FRAME[1])
    if role == "compactionSummary":
        return _user(COMPACTION_FRAME[0] + (message.summary or "") + COMPACTION_FRAME[1])
    return message if role in ("system", "user", "assistant", "toolResult") else None


def _user(text: str) -> Message:
    return Message(role="user", content=[Block(type="text", text=text)])


def shell_text(message: Message) -> str:
    """A command that the user ran, as text for the model; Pi 1.6.0 bashExecutionToText."""
    text = f"Ran `{message.command or ''}`\n"
    text += f"```\n{message.output}\n```" if message.output else "(no output)"
    if message.cancelled:
        text += "\n\n(command cancelled)"
    elif message.exit_code:
        text += f"\n\nCommand exited with code {json_text(message.exit_code)}"
    if message.truncated and message.full_output_path:
        text += f"\n\n[Output truncated. Full output: {message.full_output_path}]"
    return text


def paragraphs(messages: Iterable[Message]) -> Iterator[str]:
    """The labelled paragraphs of a transcript, in order."""
    for original in messages:
        message = model_message(original)
        if message is not None:
            yield from _paragraphs_of(message)


def _paragraphs_of(message: Message) -> list[str]:
    if message.role == "toolResult":
        text = message.text("")
        return [f"[Tool result]: {cut_result(text)}"] if text else []
    if message.role == "assistant":
        return _assistant_paragraphs(message.blocks)
    text = message.text("") if message.role == "user" else ""
    return [f"[User]: {text}"] if text else []


def _assistant_paragraphs(blocks: list[Block]) -> list[str]:
    texts: list[str] = []
    calls: list[str] = []
    for block in blocks:
        if block.type == "text":
            texts.append(block.text or "")
        elif block.type == "toolCall":
            calls.append(_call_text(block))
    found = ["[Assistant]: " + "\n".join(texts)] if texts else []
    if calls:
        found.append("[Assistant tool calls]: " + "; ".join(calls))
    return found


def _call_text(call: Block) -> str:
    arguments = call.arguments if isinstance(call.arguments, dict) else {}
    parts = [f"{name}={json_text(value)}" for name, value in ordered_items(arguments)]
    return f"{call.name or ''}({', '.join(parts)})"


def cut_result(text: str) -> str:
    """A tool result as shown to a summarizer: at most `RESULT_MAX_CHARS` UTF-16 units, then how many are missing."""
    length = utf16_len(text)
    if length <= RESULT_MAX_CHARS:
        return text
    missing = length - RESULT_MAX_CHARS
    return f"{utf16_head(text, RESULT_MAX_CHARS)}\n\n[... {missing} more characters truncated]"


def transcript(messages: Iterable[Message]) -> str:
    """The whole transcript."""
    return SEPARATOR.join(paragraphs(messages))


def with_missing_results(messages: Iterable[Message]) -> Iterator[Message]:
    """The messages with a made result after each assistant message whose calls are answered nowhere in them."""
    listed = list(messages)
    answered = {m.tool_call_id for m in listed if m.role == "toolResult"}
    for message in listed:
        yield message
        for call in message.tool_calls:
            if call.id not in answered:
                text = NO_RESULT.format(name=call.name or "the tool")
                yield Message(
                    role="toolResult",
                    tool_call_id=call.id,
                    tool_name=call.name,
                    is_error=True,
                    content=[Block(type="text", text=text)],
                )


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptSize:
    """What identifies a transcript without keeping it."""

    chars: int
    """UTF-16 units."""
    sha256: str
    """Of its UTF-8 bytes, lone surrogates as U+FFFD."""


def transcript_size(messages: Iterable[Message]) -> TranscriptSize:
    """Length and hash of `transcript(messages)`, made without holding the text."""
    from hashlib import sha256  # takes longer to import than a small session takes to plan

    digest = sha256()
    chars = 0
    held: list[bytes] = []
    held_bytes, lead = 0, b""
    # Paragraph by paragraph, since one character beyond ASCII makes the encoding of all that it is joined to slow.
    for text in paragraphs(messages):
        written = utf8(text)
        chars += len(text) if len(written) == len(text) else utf16_len(text)
        chars += len(SEPARATOR) if held or lead else 0
        held.append(written)
        held_bytes += len(written)
        if held_bytes >= PIECE_BYTES:
            digest.update(lead + _SEPARATOR_BYTES.join(held))
            held, held_bytes, lead = [], 0, _SEPARATOR_BYTES
    if held:
        digest.update(lead + _SEPARATOR_BYTES.join(held))
    return TranscriptSize(chars=chars, sha256=digest.hexdigest())


PIECE_BYTES = 1 << 18
"""Paragraphs are hashed in pieces of about this size: few calls, and little memory."""

_SEPARATOR_BYTES = SEPARATOR.encode()
