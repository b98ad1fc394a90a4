"""The content of a message as it stands in the file, unknown fields and block types included, for JSON output."""

from typing import Any

from compactor.entries import Entry
from compactor.errors import SessionError


def raw_content(entry: Entry, edit: Entry | None) -> Any:
    """The content of the entry's own message, or what a context_edit put in its place; None where it can't be decoded.

    A text that replaces the content of an assistant message or a tool result becomes one text block, as in Pi.
    """
    try:
        wire = (edit or entry).wire()
    except SessionError:
        return None
    if edit is not None:
        content = wire["replacement"].get("content")
        is_text = isinstance(content, str) and entry.role in ("assistant", "toolResult")
        return [{"type": "text", "text": content}] if is_text else content
    holder = wire.get("message") if entry.type == "message" else wire
    return holder.get("content") if isinstance(holder, dict) else None


def without_images(blocks: list[Any]) -> list[Any]:
    """The blocks with pictures by type and size instead of their data."""
    return [_image(block) if isinstance(block, dict) and block.get("type") == "image" else block for block in blocks]


def _image(block: dict[str, Any]) -> dict[str, Any]:
    """A picture without its data; `bytes` is its size, from the length of the base64 text."""
    data = block.get("data")
    size = len(data.rstrip("=")) * 3 // 4 if isinstance(data, str) else None
    return {"type": "image", "mimeType": block.get("mimeType"), "bytes": size}
