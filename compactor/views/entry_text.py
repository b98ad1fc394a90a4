"""What an entry or a message says, as text for people: its first words, or all of it.

Takes decoded entries; gives untrusted text as it is in the file, not made safe for a terminal.
"""

from collections.abc import Iterator

from compactor.entries import Entry, EntryBody
from compactor.errors import SessionError
from compactor.js_text import json_text, ordered_items, utf16_head
from compactor.messages import Block, Message
from compactor.usage import all_tokens
from compactor.wording import amount

HEAD_CHARS = 200
"""First words are cut at this many UTF-16 units."""


def head(text: str) -> str:
    """The first words of a text; a surrogate pair is never split."""
    return utf16_head(text, HEAD_CHARS)


def entry_text(entry: Entry, body: EntryBody, *, whole: bool = False) -> str:
    """What an entry of any type says; empty where it says nothing.

    Args:
        entry: the entry.
        body: its typed fields.
        whole: all content of a message; otherwise what best stands for it.
    """
    match entry.type:
        case "message":
            message = body.message or Message()
            return whole_text(message) if whole else headline(message)
        case "custom_message":
            return Message(content=body.content).text()
        case "compaction" | "branch_summary":
            return body.summary or ""
        case "model_change":
            return f"{body.provider or '?'}/{body.model_id or '?'}"
        case "thinking_level_change":
            return body.thinking_level or ""
        case "usage":
            tokens = "" if body.usage is None else f" {json_text(all_tokens(body.usage))} tokens"
            return f"{body.provider or '?'}/{body.model or '?'}{tokens}"
        case "custom":
            return body.custom_type or ""
        case "context_edit":
            return f"{'omits' if body.replacement is None else 'replaces'} {body.target_id or '?'}"
        case "label" | "session_info":
            return _named(entry)
    return ""


def _named(entry: Entry) -> str:
    """What a label or session_info entry says."""
    if entry.type == "session_info":
        return text_field(entry, "name")
    label, target = text_field(entry, "label"), text_field(entry, "targetId")
    return f"{label!r} on {target}" if label else f"none on {target}"


def text_field(entry: Entry, name: str) -> str:
    """A field of an entry that is text; empty where it is missing or something else."""
    try:
        found = entry.wire().get(name)
    except SessionError:
        return ""
    return found if isinstance(found, str) else ""


def headline(message: Message) -> str:
    """What best stands for a message: its text, else its calls, else its thinking, else what went wrong."""
    match message.role:
        case "bashExecution":
            return f"$ {message.command or ''}"
        case "branchSummary" | "compactionSummary":
            return message.summary or ""
        case "system":
            return message.text() or _system_parts(message)
    text = message.text()
    if text.strip():
        return text
    calls = ", ".join(_call(block, HEAD_CHARS) for block in message.tool_calls)
    thinking = next((b.thinking for b in message.blocks if b.type == "thinking" and b.thinking), "")
    images = sum(block.type == "image" for block in message.blocks)
    picture = f"({amount(images, 'image')})" if images else ""
    return calls or picture or thinking or message.error_message or text


def _system_parts(message: Message) -> str:
    """Names what a system message holds beside its content."""
    parts = [f"sections {', '.join(message.sections)}"] if message.sections else []
    for what, tools in (("added", message.tools_added), ("removed", message.tools_removed)):
        parts += [f"{amount(len(tools), 'tool')} {what}"] if tools else []
    return "; ".join(parts)


def whole_text(message: Message) -> str:
    """All that a message holds, block by block; a picture is named, not shown."""
    match message.role:
        case "bashExecution":
            return f"$ {message.command or ''}\n{message.output or ''}"
        case "branchSummary" | "compactionSummary":
            return message.summary or ""
        case "system":
            return "\n\n".join(filter(None, (message.text(), *_system_texts(message))))
    return "\n".join(filter(None, (*map(_block_text, message.blocks), message.error_message)))


def _system_texts(message: Message) -> Iterator[str]:
    for name, text in (message.sections or {}).items():
        yield f"[section {name}]\n{text}" if text is not None else f"[section {name} removed]"
    for sign, tools in (("added", message.tools_added), ("removed", message.tools_removed)):
        for tool in tools or ():
            yield f"[tool {sign}] {json_text(tool)}"


def _block_text(block: Block) -> str:
    match block.type:
        case "text":
            return block.text or ""
        case "thinking":
            return f"[thinking] {block.thinking}" if block.thinking else ""
        case "toolCall":
            return f"[call] {_call(block)}"
    return f"[{block.type or 'unknown block'}]"


def _call(block: Block, max_chars: int = 0) -> str:
    """A tool call; texts among its arguments are cut at `max_chars` if that is given."""
    arguments = block.arguments if isinstance(block.arguments, dict) else {}
    parts: list[str] = []
    size = 0
    for name, value in ordered_items(arguments):
        if max_chars and size >= max_chars:
            break
        shown = json_text(utf16_head(value, max_chars) if max_chars and isinstance(value, str) else value)
        parts.append(f"{name}={shown}")
        size += len(shown)
    return f"{block.name or ''}({', '.join(parts)})"
