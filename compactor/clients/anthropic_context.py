"""The context of a session as the body of a request to Anthropic's messages API, to have it counted.

Takes the entries of a projection; gives system prompt, tools and messages. The API refuses a call without its result
right after it and a result without its call, so every call gets a result, one that was not recorded says so, and a
result without call is left out. Thinking is left out: without its signature it is refused, and that of earlier turns is
not counted.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from compactor.js_text import well_formed
from compactor.messages import Message
from compactor.projection import ProjectedEntry, replayed_system
from compactor.transcript import NO_RESULT, model_message

_ID = re.compile(r"[^a-zA-Z0-9_-]")
"""What the API refuses in the id of a call."""


@dataclass(slots=True)
class ContextBody:
    """What goes into the request, and what could not."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    system: str = ""
    tools: list[dict[str, Any]] = field(default_factory=list)
    left_out: dict[str, int] = field(default_factory=dict)
    """What the count lacks or what was added to it, with how often."""

    def arguments(self) -> dict[str, Any]:
        """The arguments of the API's call, but for the model."""
        made: dict[str, Any] = {"messages": self.messages}
        made |= {"system": self.system} if self.system else {}
        return made | ({"tools": self.tools} if self.tools else {})

    def count(self, what: str) -> None:
        """Notes something that is not as in the session."""
        self.left_out[what] = self.left_out.get(what, 0) + 1


def context_body(entries: Iterable[ProjectedEntry]) -> ContextBody:
    """The body for the context entries of a projection, in order."""
    body = ContextBody()
    shown = [(message, projected) for projected in entries for message in projected.messages()]
    system = replayed_system(message for message, _ in shown)
    if system is not None:
        sections = [text for text in (system.sections or {}).values() if text]
        body.system = well_formed("\n\n".join([text for text in (system.text(), *sections) if text.strip()]))
        body.tools = [tool for tool in map(_tool, system.tools_added or ()) if tool is not None]
    talk = [(turned, projected) for message, projected in shown if (turned := model_message(message)) is not None]
    results = {m.tool_call_id: _result(m, p, body) for m, p in talk if m.role == "toolResult" and m.tool_call_id}
    asked: set[str] = set()
    for message, projected in talk:
        if message.role == "user":
            _add(body, "user", _content(message, projected, body))
        elif message.role == "assistant" and message.stop_reason not in ("aborted", "error"):
            _add_reply(body, message, results, asked)
    for _ in results.keys() - asked:
        body.count("tool results without a call, left out")
    if body.messages and body.messages[0]["role"] != "user":
        body.messages.insert(0, {"role": "user", "content": [{"type": "text", "text": "…"}]})
        body.count("first messages of a user, added")
    return body


def _add(body: ContextBody, role: str, blocks: list[dict[str, Any]]) -> None:
    """Adds blocks, to the message before if it has the same role."""
    if blocks and body.messages and body.messages[-1]["role"] == role:
        body.messages[-1]["content"] += blocks
    elif blocks:
        body.messages.append({"role": role, "content": blocks})


def _add_reply(body: ContextBody, message: Message, results: dict[str, dict[str, Any]], asked: set[str]) -> None:
    """Adds a reply, and right after it the results of its calls."""
    blocks: list[dict[str, Any]] = []
    answers: list[dict[str, Any]] = []
    for block in message.blocks:
        if block.type == "text" and (block.text or "").strip():
            blocks.append({"type": "text", "text": well_formed(block.text or "")})
        elif block.type == "thinking":
            body.count("blocks of thinking, left out")
        elif block.type == "toolCall" and block.id and block.id not in asked:
            asked.add(block.id)
            name = well_formed(block.name or "tool")
            blocks.append({"type": "tool_use", "id": call_id(block.id), "name": name, "input": _input(block.arguments)})
            answer = results.get(block.id)
            if answer is None:
                body.count("results of calls, added because none was recorded")
                lost = [{"type": "text", "text": NO_RESULT.format(name=name)}]
                answer = {"type": "tool_result", "tool_use_id": call_id(block.id), "content": lost, "is_error": True}
            answers.append(answer)
    _add(body, "assistant", blocks)
    _add(body, "user", answers)


def _input(arguments: Any) -> dict[str, Any]:
    """The arguments as an object that can be sent: what is no Unicode text is replaced."""
    sent: Any = json.loads(json.dumps(arguments, ensure_ascii=False).encode("utf-8", "replace"))
    return sent if isinstance(sent, dict) else {}


def call_id(text: str) -> str:
    """The id of a call in the characters that the API takes; two ids stay two."""
    return _ID.sub(lambda match: f"_{ord(match.group()):x}_", text)


def _result(message: Message, projected: ProjectedEntry, body: ContextBody) -> dict[str, Any]:
    made = {"type": "tool_result", "tool_use_id": call_id(message.tool_call_id or "")}
    content = _content(message, projected, body)
    return {**made, "content": content, **({"is_error": True} if message.is_error else {})}


def _content(message: Message, projected: ProjectedEntry, body: ContextBody) -> list[dict[str, Any]]:
    """Texts and images of a message of the user's side."""
    blocks: list[dict[str, Any]] = []
    images = iter(_images(projected) if any(block.type == "image" for block in message.blocks) else ())
    for block in message.blocks:
        if block.type == "text" and (block.text or "").strip():
            blocks.append({"type": "text", "text": well_formed(block.text or "")})
        elif block.type == "image":
            image = next(images, None)
            if image is None:
                body.count("images, left out")
            else:
                source = {"type": "base64", "media_type": image["mimeType"], "data": image["data"]}
                blocks.append({"type": "image", "source": source})
    return blocks


def _images(projected: ProjectedEntry) -> list[dict[str, Any]]:
    """The images of an entry as they stand in the file; their data is decoded nowhere else."""
    wire = projected.entry.wire()
    message = wire.get("message")
    content = message.get("content") if isinstance(message, dict) else wire.get("content")
    found = (
        [b for b in content if isinstance(b, dict) and b.get("type") == "image"] if isinstance(content, list) else []
    )
    whole = [b for b in found if isinstance(b.get("data"), str) and isinstance(b.get("mimeType"), str)]
    return whole if len(whole) == len(found) and projected.edit is None else []


def _tool(tool: Any) -> dict[str, Any] | None:
    if not isinstance(tool, dict) or not isinstance(tool.get("name"), str):
        return None
    schema = tool.get("parameters")
    described = {"description": tool["description"]} if isinstance(tool.get("description"), str) else {}
    return {
        "name": tool["name"],
        **described,
        "input_schema": schema if isinstance(schema, dict) else {"type": "object"},
    }
