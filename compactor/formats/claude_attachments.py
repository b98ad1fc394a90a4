"""What a Claude Code transcript puts before the model beside what the user typed: attachments, and injected user rows.

Takes the `attachment` object of a row; gives the content that the model read, where the row itself holds it. Lists of
skills, tools and agents count as part of the system prompt, which a transcript does not hold either. Takes a user row;
says who speaks in it.
"""

from collections.abc import Callable, Container, Mapping
from typing import Any

from compactor.formats.claude_blocks import plain_content, raw_blocks
from compactor.formats.imported import LeftOut

PROMPT_EVENTS = ("SessionStart", "UserPromptSubmit")
"""Hooks whose output goes to the model although they did not ask for it."""

TOOL = "tool"
"""Speaks in what a tool adds to its result in a row of its own: the text of a skill, the pages of a file."""

Content = str | list[dict[str, Any]]


def injected_by(value: Mapping[str, Any], calls: Container[str]) -> str | None:
    """Who speaks in a user row, None for the user.

    Args:
        value: the row, or an attachment that was typed or put into the queue.
        calls: ids of all tool calls.
    """
    source = value.get("sourceToolUseID")
    if value.get("isMeta") is True and isinstance(source, str) and source in calls:
        return TOOL
    kind = _inside(value, "origin", "kind")
    return kind if isinstance(kind, str) and kind != "human" else None


def attached(attachment: Mapping[str, Any], left: LeftOut, line: int) -> tuple[bool, Content] | None:
    """Whether the user said it, and what it says; None for an attachment that holds nothing that the model read."""
    kind = attachment.get("type")
    if kind == "queued_command":
        return _queued(attachment, left, line)
    read = _TEXTS.get(kind) if isinstance(kind, str) else None
    text = _joined(read(attachment)) if read is not None else ""
    return (False, text) if text.strip() else None


def _queued(attachment: Mapping[str, Any], left: LeftOut, line: int) -> tuple[bool, Content] | None:
    """What was typed while the agent worked; notes that tasks leave in the same queue are not the user's."""
    prompt = attachment.get("prompt")
    if not raw_blocks(prompt) or prompt == "":
        return None
    is_note = attachment.get("commandMode") == "task-notification" or attachment.get("isMeta") is True
    content = prompt if isinstance(prompt, str) else plain_content(prompt, left, line)
    return not is_note and injected_by(attachment, ()) is None, content


def _joined(value: Any) -> str:
    """The strings of a string or list as lines."""
    if isinstance(value, list):
        return "\n".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""


def _inside(value: Any, *names: str) -> Any:
    """What stands in nested objects under these names, None if it is not there."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _each(value: Any, name: str) -> list[Any]:
    """This field of each object of a list."""
    return [_inside(item, name) for item in value] if isinstance(value, list) else []


def _hook_output(attachment: Mapping[str, Any]) -> Any:
    return attachment.get("content") if attachment.get("hookEvent") in PROMPT_EVENTS else None


_TEXTS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "critical_system_reminder": lambda a: a.get("content"),
    "directory": lambda a: a.get("content"),
    "edited_text_file": lambda a: a.get("snippet"),
    "file": lambda a: _inside(a.get("content"), "file", "content"),
    "hook_additional_context": lambda a: a.get("content"),
    "hook_blocking_error": lambda a: _inside(a.get("blockingError"), "blockingError"),
    "hook_stopped_continuation": lambda a: a.get("message"),
    "hook_success": _hook_output,
    "invoked_skills": lambda a: _each(a.get("skills"), "content"),
    "nested_memory": lambda a: _inside(a.get("content"), "content"),
    "plan_file_reference": lambda a: a.get("planContent"),
    "relevant_memories": lambda a: _each(a.get("memories"), "content"),
    "selected_lines_in_ide": lambda a: a.get("content"),
}
"""Kind of attachment -> where its text is; read from transcripts of Claude Code 1.0 to 2.1."""
