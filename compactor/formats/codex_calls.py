"""The tool calls of Codex and what came back: response items in, parts of Pi's messages out.

Takes the payload of one response item; gives a call with its arguments as an object, or a result with its content,
whether it failed, and the files that a patch changed. Source: Codex protocol/src/models.rs ResponseItem, and the
texts that its tools answer with.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from compactor.formats.codex_content import Content, content_blocks, type_of
from compactor.js_text import json_text, parse_json

HOSTED = {"web_search_call": "web_search", "image_generation_call": "image_generation"}
"""Calls that the provider carries out itself -> the name of the tool; no output of theirs is written."""

OTHER_NAMES = {"local_shell_call": "local_shell", "tool_search_call": "tool_search"}
CALLS = frozenset({"function_call", "custom_tool_call", *OTHER_NAMES, *HOSTED})
OUTPUTS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        "local_shell_call_output",
        "mcp_tool_call_output",
        "tool_search_output",
    }
)

NOT_IN_FILE = "(The result of this call is not in the Codex file.)"

_HEADER_LINES = r"\n(?:[A-Z][A-Za-z ]*: [^\n]*\n)*Output:"
_EXIT_CODE = re.compile(rf"^(?:Process exited with code|Exit code:) (-?\d+){_HEADER_LINES}", re.MULTILINE)
_HEADER_CHARS = 20_000
"""A result's header is looked for in so many characters: it repeats the command, which may be long."""

_REFUSED = re.compile(
    r"Script failed\b|failed to parse |unsupported (?:custom )?(?:tool )?call|aborted by user|execution error|"
    r"patch rejected|aborted$",
    re.IGNORECASE,
)
_PATCH = "*** Begin Patch"
_PATCHED = re.compile(r"^\*\*\* (?:(Add|Update|Delete) File|Move to): ([^\n]+)$", re.MULTILINE)
_DATA_64 = re.compile(r"[A-Za-z0-9+/]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call."""

    id: str
    name: str
    arguments: dict[str, Any]
    answer: list[dict[str, Any]] | None = None
    """What stands for the result where no item gives it."""

    @property
    def block(self) -> dict[str, Any]:
        """The call as a content block of Pi's."""
        return {"type": "toolCall", "id": self.id, "name": self.name, "arguments": self.arguments}

    def patched_files(self) -> list[dict[str, Any]]:
        """The files that a patch in the arguments names, as records of nested calls (Pi 1.6.0 docs/message-types.md).

        Empty if there is no patch; they name Pi's own tools, whose files it lists.
        """
        texts = [text for text in _texts(self.arguments) if _PATCH in text]
        if self.name != "apply_patch":  # a command or a script that runs it
            texts = [text for text in texts if "apply_patch" in text or "applypatch" in text]
        found: dict[tuple[str, str], None] = {}
        for text in texts:
            is_quoted = _PATCH + "\\n" in text
            for kind, path in _PATCHED.findall(text.replace("\\n", "\n") if is_quoted else text):
                found["edit" if kind in ("Update", "Delete") else "write", path.strip()] = None
        paths = [(name, path) for name, path in found if path]
        return [
            {"id": f"{self.id}/{n}", "name": name, "arguments": {"path": path}, "status": "ok"}
            for n, (name, path) in enumerate(paths, 1)
        ]


def _texts(arguments: dict[str, Any]) -> Iterator[str]:
    """The texts among the arguments, those of a list among them."""
    for value in arguments.values():
        for text in value if isinstance(value, list) else (value,):
            if isinstance(text, str):
                yield text


def called_ids(items: Sequence[Any]) -> frozenset[str]:
    """The ids of all calls among the payloads of a file."""
    ids = (item.get("call_id") for item in items if isinstance(item, dict) and type_of(item) in CALLS)
    return frozenset(call_id for call_id in ids if isinstance(call_id, str))


def tool_call(item: dict[str, Any], line: int) -> ToolCall:
    """The call of a response item of one of `CALLS`; one without an id is named after its line."""
    kind = item["type"]
    found = (item.get(key) for key in ("call_id", "id"))
    call_id = next((value for value in found if isinstance(value, str) and value), f"line_{line}")
    name = item.get("name")
    name = name if isinstance(name, str) and name else HOSTED.get(kind) or OTHER_NAMES.get(kind) or "unknown"
    return ToolCall(id=call_id, name=name, arguments=_arguments(item), answer=_answer(item))


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    kind = item["type"]
    if kind in ("web_search_call", "local_shell_call"):
        action = item.get("action")
        return {k: v for k, v in action.items() if v is not None} if isinstance(action, dict) else {}
    if kind == "image_generation_call":
        return {"prompt": prompt} if isinstance(prompt := item.get("revised_prompt"), str) else {}
    if kind == "custom_tool_call":
        return {"input": item.get("input") or ""}
    given = item.get("arguments")
    if isinstance(given, str) and given.strip():
        try:
            parsed = parse_json(given)
        except ValueError:
            parsed = None
        return parsed if isinstance(parsed, dict) else {"arguments": given}
    if isinstance(given, dict):
        return given
    return {} if given is None or isinstance(given, str) else {"arguments": given}


def _answer(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    """What stands for the result of a hosted tool."""
    if item["type"] not in HOSTED:
        return None
    made = item.get("result")
    if item["type"] == "image_generation_call" and isinstance(made, str) and _DATA_64.match(made):
        return [{"type": "image", "data": made, "mimeType": "image/png"}]
    return [{"type": "text", "text": NOT_IN_FILE}]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput:
    """One result."""

    content: Content
    is_error: bool


def tool_output(item: dict[str, Any], tool: str) -> ToolOutput:
    """The result in a response item of one of `OUTPUTS`.

    Args:
        item: the payload.
        tool: the name of the tool, by which it tells that it failed.
    """
    output = item.get("tools") if item["type"] == "tool_search_output" else item.get("output")
    code: Any = None
    refused = False
    if isinstance(output, dict) and not type_of(output) and "content" in output:
        refused = output.get("success") is False or output.get("isError") is True
        output = output["content"]
    if isinstance(output, str) and output.startswith(('{"output":', '[{"')):
        output, code = _unwrapped(output)
    if item["type"] == "tool_search_output" or (isinstance(output, dict) and not type_of(output)):
        output = json_text(output)
    content = content_blocks(output)
    start = content.first_text[:_HEADER_CHARS]
    if code is None and (header := _EXIT_CODE.search(start)):
        code = header.group(1) != "0"
    own = re.match(rf"{re.escape(tool)} (?:verification )?failed\b", start)
    return ToolOutput(content=content, is_error=bool(code or refused or own or _REFUSED.match(start)))


def _unwrapped(output: str) -> tuple[Any, Any]:
    """The text and the exit code in a result that is itself JSON, as older versions wrote it; else the text."""
    try:
        value = parse_json(output)
    except ValueError:
        return output, None
    if isinstance(value, dict) and isinstance(value.get("output"), str):
        metadata = value.get("metadata")
        return value["output"], metadata.get("exit_code") if isinstance(metadata, dict) else None
    if isinstance(value, list) and all(isinstance(part, dict) and isinstance(part.get("text"), str) for part in value):
        return [{"type": "input_text", "text": part["text"]} for part in value], None
    return output, None
