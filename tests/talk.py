"""Makers of messages for tests of findings: who said what, which tool was called, what came back."""

from typing import Any

from compactor.messages import Block, Message
from compactor.model import ModelRequest, RequestKind


def user(text: str) -> Message:
    """A message of the user."""
    return Message(role="user", content=text)


def assistant(text: str = "", *calls: Block, stop_reason: str | None = None) -> Message:
    """A message of the assistant: text, then calls."""
    blocks = [Block(type="text", text=text)] if text else []
    return Message(
        role="assistant", content=[*blocks, *calls], stop_reason=stop_reason or ("toolUse" if calls else "stop")
    )


def call(call_id: str, tool: str, **arguments: Any) -> Block:
    """A tool call."""
    return Block(type="toolCall", id=call_id, name=tool, arguments=arguments)


def result(call_id: str, text: str, *, failed: bool = False, tool: str = "") -> Message:
    """What a tool gave back."""
    content = [Block(type="text", text=text)]
    return Message(role="toolResult", tool_call_id=call_id, tool_name=tool, is_error=failed, content=content)


def ran(call_id: str, command: str, text: str, *, failed: bool = False) -> list[Message]:
    """A shell command with its result."""
    return [assistant("", call(call_id, "bash", command=command)), result(call_id, text, failed=failed)]


def edited(call_id: str, path: str, *, failed: bool = False, note: str = "") -> list[Message]:
    """An edit with its result, which can go on with a note."""
    text = ("Could not find the exact text" if failed else f"Successfully replaced 1 block in {path}.") + note
    return [assistant("", call(call_id, "edit", path=path, edits=[])), result(call_id, text, failed=failed)]


def ids_of(messages: list[Message]) -> list[str]:
    """An entry id for each message: e0, e1, ..."""
    return [f"e{n}" for n in range(len(messages))]


def request(
    messages: list[Message],
    kind: RequestKind = "history",
    *,
    previous: str | None = None,
    focus: str | None = None,
    max_output_tokens: int = 8192,
) -> ModelRequest:
    """A request for a summary of these messages."""
    return ModelRequest(
        kind=kind,
        system="",
        context="the transcript, which counts for nothing",
        instructions="the prompt, which counts for nothing",
        max_output_tokens=max_output_tokens,
        messages=tuple(messages),
        entry_ids=tuple(ids_of(messages)),
        previous_summary=previous,
        focus=focus,
    )
