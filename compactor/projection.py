"""What the model sees of a branch: the newest compaction's summary, the kept tail, and everything after it.

Takes the active branch; gives the context entries in order, each with the messages it contributes. Messages are
decoded when asked for and not kept. Source: Pi 1.6.0 session-manager.js buildContextEntries, projectContextEntry,
buildSessionProjection; docs/session-format.md. With `exact=False` a shell row that the user excluded from context
contributes nothing, and so does a tool result whose call is not before it (see `measure.py`).
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from compactor.branch import Branch
from compactor.entries import Entry, EntryBody
from compactor.js_text import json_text
from compactor.messages import Block, Message

EDITABLE_ROLES = frozenset({"user", "assistant", "toolResult", "custom"})
"""Roles whose content a context_edit replaces; Pi 1.6.0 projectContextEntry."""


class ProjectedEntry(msgspec.Struct, frozen=True, gc=False):
    """One context entry and how it is shown to the model."""

    entry: Entry
    edit: Entry | None = None
    """The newest context_edit that targets the entry."""
    is_silent: bool = False
    """Contributes nothing: a compaction that the newest one replaced, or a tool result whose call is not there."""
    exact: bool = False

    def messages(self) -> list[Message]:
        """The messages that the model sees, decoded anew on each call."""
        return self.decode()[0]

    def decode(self) -> tuple[list[Message], list[str]]:
        """The messages, and the names of fields that have the wrong type and count as missing."""
        if self.is_silent:
            return [], []
        body, problems = self.entry.decode()
        messages = entry_messages(self.entry, body, exact=self.exact)
        return messages if self.edit is None else edited(messages, self.edit), problems

    def intrinsic_messages(self) -> list[Message]:
        """The messages of the entry as if there were no context_edit."""
        return entry_messages(self.entry, self.entry.body, exact=self.exact)


class ModelRef(msgspec.Struct, frozen=True, rename={"model_id": "modelId"}):
    """The model that a session names."""

    provider: str | None
    model_id: str | None


class Projection(msgspec.Struct, frozen=True):
    """The context entries of a branch, in the order that the model sees them."""

    entries: list[ProjectedEntry]
    branch: Branch
    newest_reset: int
    """Position on the branch of the newest context_edit or compaction, -1 if there is none; older usage is stale."""

    def messages(self) -> Iterator[Message]:
        """All messages in order, decoded one entry at a time."""
        for projected in self.entries:
            yield from projected.messages()


def project(branch: Branch, *, exact: bool = False) -> Projection:
    """The projection of a branch.

    Args:
        branch: root first, as `branch.active_branch` gives it.
        exact: as Pi 1.6.0; otherwise rows that the user excluded from context are not shown.
    """
    context = context_entries(branch.entries)
    resets = [n for n, entry in enumerate(branch.entries) if entry.type in RESETTING_TYPES]
    newest_reset = resets[-1] if resets else -1
    if not resets:
        plain = [ProjectedEntry(entry, None, False, exact) for entry in context]
        return Projection(entries=plain, branch=branch, newest_reset=newest_reset)
    edits = {e.body.target_id: e for e in context if e.type == "context_edit"}
    projected = [
        ProjectedEntry(entry, edits.get(entry.id), entry.type == "compaction" and n > 0, exact)
        for n, entry in enumerate(context)
    ]
    return Projection(entries=projected, branch=branch, newest_reset=newest_reset)


RESETTING_TYPES = frozenset({"context_edit", "compaction"})
"""Entries after which an older reported usage says nothing; Pi 1.6.0 estimateProjectedContextTokens."""


def context_entries(path: list[Entry]) -> list[Entry]:
    """The entries that the newest compaction leaves: itself, its kept tail, then all after it."""
    newest = next((n for n in range(len(path) - 1, -1, -1) if path[n].type == "compaction"), None)
    if newest is None:
        return path
    kept_id = path[newest].body.first_kept_entry_id
    first = next((n for n in range(newest) if path[n].id == kept_id), newest)
    tail = [e for e in path[first:newest] if not (e.type == "message" and e.role == "system")]
    return [path[newest], *tail, *path[newest + 1 :]]


def entry_messages(entry: Entry, body: EntryBody, *, exact: bool) -> list[Message]:
    """The messages that an entry contributes by itself.

    Source: Pi 1.6.0 sessionEntryToContextMessages. Missing content counts as empty.
    """
    if entry.type == "message":
        message = body.message if body.message is not None else Message()
        hidden = not exact and message.role == "bashExecution" and message.exclude_from_context
        return [] if hidden else [message]
    if entry.type == "custom_message":
        when = _milliseconds(body.timestamp)
        return [Message(role="custom", content=body.content, custom_type=body.custom_type, timestamp=when)]
    if entry.type == "branch_summary" and body.summary:
        when = _milliseconds(body.timestamp)
        return [Message(role="branchSummary", summary=body.summary, from_id=body.from_id, timestamp=when)]
    if entry.type == "compaction":
        summary = Message(role="compactionSummary", summary=body.summary or "", timestamp=_milliseconds(body.timestamp))
        return [body.system_message, summary] if body.system_message is not None else [summary]
    return []


def edited(messages: list[Message], edit: Entry) -> list[Message]:
    """The messages after a context_edit: none if it omits them, else with the new content.

    An edit that says neither (Pi fails on it) changes nothing.
    """
    replacement = edit.body.replacement
    if replacement is msgspec.UNSET:
        return messages
    if replacement is None:
        return []
    return [_with_content(m, replacement.content) if m.role in EDITABLE_ROLES else m for m in messages]


def _with_content(message: Message, content: str | list[Block] | None) -> Message:
    if message.role in ("assistant", "toolResult") and isinstance(content, str):
        content = [Block(type="text", text=content)]
    return msgspec.structs.replace(message, content=content)


def _milliseconds(timestamp: str | None) -> int | None:
    """Milliseconds since 1970 of an ISO time (UTC where it names no zone), None if it can't be read."""
    try:
        time = datetime.fromisoformat(timestamp or "")
    except ValueError:
        return None
    return round((time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp() * 1000)


def session_model(branch: Branch) -> ModelRef | None:
    """The model of the newest model_change or assistant message on the branch; Pi 1.6.0 getSessionContextSettings."""
    for entry in reversed(branch.entries):
        if entry.type == "model_change":
            body = entry.body
            return ModelRef(body.provider, body.model_id)
        if entry.type == "message" and entry.role == "assistant":
            message = entry.body.message or Message()
            return ModelRef(message.provider, message.model)
    return None


def replayed_system(messages: Iterator[Message]) -> Message | None:
    """All system messages folded into one: texts joined, sections patched by name, tools added and removed.

    Source: Pi 1.6.0 pi-ai utils/transcript.js getCurrentSystemMessage. None if there is neither prompt nor tool.
    """
    texts: list[str] = []
    sections: dict[str, str | None] = {}
    tools: dict[str, Any] = {}
    timestamp: int | float | None = None
    seen = False
    for message in messages:
        if message.role != "system":
            continue
        timestamp = message.timestamp if not seen else timestamp
        seen = True
        texts += [text] if (text := message.text()) else []
        for name, value in (message.sections or {}).items():
            sections.pop(name, None) if value is None else sections.__setitem__(name, value)
        for tool in message.tools_removed or ():
            tools.pop(_name(tool), None)
        for tool in message.tools_added or ():
            tools[_name(tool)] = tool
    if not seen and not tools:
        return None
    return Message(
        role="system",
        content="\n\n".join(texts),
        sections=sections or None,
        tools_added=list(tools.values()) or None,
        timestamp=timestamp or 0,
    )


def _name(tool: Any) -> str:
    """The name of a tool as JSON, so that even one that is no string can be a key."""
    return json_text(tool.get("name") if isinstance(tool, dict) else None)
