"""Content blocks and usage of the Anthropic API in Pi's terms.

Takes decoded JSON of any shape; gives Pi's blocks (Pi 1.6.0 docs/message-types.md). A block that has no counterpart
becomes a short text that names it, and is counted.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compactor.formats.claude_rows import Row, named
from compactor.formats.imported import LeftOut
from compactor.js_text import MAX_SAFE_INTEGER, json_text

FILE_TOOLS = {
    "read": "read",
    "view": "read",
    "notebookread": "read",
    "readnotebook": "read",
    "write": "write",
    "replace": "write",
    "edit": "edit",
    "multiedit": "edit",
    "notebookedit": "edit",
    "notebookeditcell": "edit",
}
"""Claude Code's file tools, in small letters, past names included -> the tool of Pi's that does the same to a file."""

_NAME_KEYS = ("tool_name", "name", "title")
_PATH_KEYS = ("file_path", "notebook_path", "path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call."""

    id: str
    name: str
    arguments: Mapping[str, Any]


def raw_blocks(content: Any) -> list[Any]:
    """The blocks of a message's content; a string is one text block."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [_as_block(item) for item in content] if isinstance(content, list) else []


def _as_block(item: Any) -> Any:
    return {"type": "text", "text": item} if isinstance(item, str) else item


def is_block(block: Any, kind: str, *strings: str) -> bool:
    """True for a block of this kind whose fields of these names are strings."""
    return (
        isinstance(block, dict)
        and block.get("type") == kind
        and all(isinstance(block.get(name), str) for name in strings)
    )


def assistant_block(block: Any, left: LeftOut, line: int) -> dict[str, Any]:
    """A block of a reply."""
    if is_block(block, "text", "text"):
        return {"type": "text", "text": block["text"]}
    if is_block(block, "thinking", "thinking"):
        signature = block.get("signature")
        signed = {"thinkingSignature": signature} if isinstance(signature, str) and signature else {}
        return {"type": "thinking", "thinking": block["thinking"], **signed}
    if is_block(block, "redacted_thinking", "data"):
        return {"type": "thinking", "thinking": "", "thinkingSignature": block["data"], "redacted": True}
    call = call_of(block)
    if call is not None:
        return {"type": "toolCall", "id": call.id, "name": call.name, "arguments": call.arguments}
    return placeholder(block, left, line)


def call_of(block: Any) -> Call | None:
    """The tool call that a block of a reply makes; None for any other block."""
    if not is_block(block, "tool_use", "id", "name") or not block["id"]:
        return None
    given = block.get("input")
    arguments = given if isinstance(given, dict) else {} if given is None else {"input": given}
    return Call(id=block["id"], name=block["name"], arguments=arguments)


def content_block(block: Any, left: LeftOut, line: int) -> dict[str, Any]:
    """A block of a user message or of a tool result: text or image."""
    if is_block(block, "text", "text"):
        return {"type": "text", "text": block["text"]}
    if is_block(block, "image"):
        source = block.get("source")
        if is_block(source, "base64", "data"):
            kind = source.get("media_type")
            return {"type": "image", "data": source["data"], "mimeType": kind if isinstance(kind, str) else "image/png"}
        left.add("image_not_in_file", "images that are not in the file", line)
        where = source.get("url") if isinstance(source, dict) else None
        return {"type": "text", "text": f"[image: {where}]" if isinstance(where, str) else "[image]"}
    return placeholder(block, left, line)


def placeholder(block: Any, left: LeftOut, line: int) -> dict[str, Any]:
    """What stands for a block that has no counterpart: its type, and its name where it has one."""
    fields = block if isinstance(block, dict) else {"type": block}
    kind = named(fields.get("type"))
    left.add("unknown_block", f"content of {kind} blocks", line)
    name = next((v for key in _NAME_KEYS if isinstance(v := fields.get(key), str) and v), None)
    return {"type": "text", "text": f"[{kind}]" if name is None else f"[{kind}: {named(name)}]"}


def plain_content(content: Any, left: LeftOut, line: int) -> list[dict[str, Any]]:
    """The content of a tool result or of an attachment; a value of another kind is shown as JSON."""
    if content is None or isinstance(content, (str, list)):
        return [content_block(block, left, line) for block in raw_blocks(content)]
    return [{"type": "text", "text": json_text(content)}]


def result_message(block: Mapping[str, Any], call: Call | None, row: Row, left: LeftOut) -> dict[str, Any]:
    """The message of a tool result; a file tool that worked is noted as Pi's list of touched files wants it."""
    failed = block.get("is_error") is True
    message = {
        "role": "toolResult",
        "toolCallId": block["tool_use_id"],
        "toolName": call.name if call is not None else "unknown",
        "content": plain_content(block.get("content"), left, row.line),
        "isError": failed,
        "timestamp": row.ms,
    }
    touched = None if call is None or failed else _touched_file(call)
    return message if touched is None else {**message, "nestedCalls": {"calls": [touched], "complete": True}}


def _touched_file(call: Call) -> dict[str, Any] | None:
    """A record of what a file tool did in Pi's names, which alone count for its lists of files."""
    tool = FILE_TOOLS.get(call.name.lower())
    path = next((p for key in _PATH_KEYS if isinstance(p := call.arguments.get(key), str) and p), None)
    if tool is None or path is None:
        return None
    return {"id": f"{call.id}/1", "name": tool, "arguments": {"path": path}, "status": "ok"}


def usage_of(usage: Any) -> dict[str, Any] | None:
    """The usage of one request, None if there is none; a count that can't be right is 0. Costs are not recorded."""
    if not isinstance(usage, dict):
        return None
    parts = {
        "input": token_count(usage.get("input_tokens")),
        "output": token_count(usage.get("output_tokens")),
        "cacheRead": token_count(usage.get("cache_read_input_tokens")),
        "cacheWrite": token_count(usage.get("cache_creation_input_tokens")),
    }
    made: dict[str, Any] = {**parts, "totalTokens": sum(parts.values())}
    writes = usage.get("cache_creation")
    an_hour = token_count(writes.get("ephemeral_1h_input_tokens")) if isinstance(writes, dict) else 0
    if an_hour:
        made["cacheWrite1h"] = min(an_hour, parts["cacheWrite"])
    return made | {"cost": dict(NO_COST)}


NO_COST = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "totalFromProvider": False}
NO_USAGE = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0, "cost": NO_COST}


def token_count(value: Any) -> int:
    """A number of tokens as a row names it, 0 if it names none that can be right."""
    is_count = isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= MAX_SAFE_INTEGER
    return int(value) if is_count else 0
