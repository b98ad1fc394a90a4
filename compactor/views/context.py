"""What the next request holds, message by message, each with its source entry; and that as JSON.

Takes a branch and a counter; gives the messages of the very projection that planning measures, so that their number,
roles and tokens are those of `compactor plan`. Beside the stored message stands what a model gets: own roles become
user text, and a reply that failed is left out when a request is made, although it is in the context and is counted.
Source: Pi 1.6.0 messages.js convertToLlm; pi-ai transform-messages.js.
"""

from collections import Counter as Tally
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from compactor.branch import Branch
from compactor.entries import Entry, Session, SessionWarning
from compactor.js_text import utf16_len
from compactor.measure import Measured, measure
from compactor.messages import Message
from compactor.projection import ProjectedEntry, project, replayed_system
from compactor.tokens import ContextTokens, Counter, context_tokens, message_parts
from compactor.transcript import model_message
from compactor.views.entry_state import is_edited
from compactor.views.entry_text import head, headline
from compactor.views.plan import leaf_json, session_json, warning_json
from compactor.views.raw_content import raw_content, without_images
from compactor.wording import amount, shown_id

Part = Literal["summary", "kept_tail", "after_compaction"]

FAILED = ("error", "aborted")
"""Stop reasons of replies that are not sent again; pi-ai 1.6.0 transform-messages.js."""


@dataclass(frozen=True, slots=True)
class ContextMessage:
    """One message of the context."""

    n: int
    """From 1."""
    projected: ProjectedEntry
    at: int
    """Which of its entry's messages it is: a compaction may give two."""
    message: Message
    """As stored, with the content that a context_edit put there."""
    tokens: int
    part: Part | None
    """None where the branch has no compaction."""
    edit: Entry | None
    """The context_edit that replaced the content."""
    unanswered: tuple[str, ...]
    """Ids of its tool calls that no result in the context answers."""

    @property
    def entry(self) -> Entry:
        """The source."""
        return self.projected.entry

    @property
    def seen(self) -> Message | None:
        """What a model gets; None where it gets nothing."""
        failed = self.message.role == "assistant" and self.message.stop_reason in FAILED
        return None if failed else model_message(self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """The context of a branch."""

    session: Session
    branch: Branch
    measured: Measured
    counter: str
    size: ContextTokens
    messages: list[ContextMessage]
    system: Message | None
    """All system messages replayed into one; most providers are sent only that."""
    system_tokens: int
    system_parts: int
    """How many messages that is."""

    @property
    def warnings(self) -> list[SessionWarning]:
        """What was wrong with the file and with entries of the context."""
        return [*self.session.warnings, *self.measured.warnings]

    @property
    def tokens(self) -> int:
        """The counts of all messages added up."""
        return sum([message.tokens for message in self.messages])


def context_of(session: Session, branch: Branch, counter: Counter) -> Context:
    """The context that a branch makes."""
    measured = measure(project(branch), counter)
    measures = measured.measures
    answered = {result for found in measures for result in found.results}
    messages: list[ContextMessage] = []
    for (projected, part), found in zip(_with_parts(measured), measures, strict=True):
        given = projected.messages()
        edit = projected.edit if is_edited(projected, found.roles) else None
        for at, message in enumerate(given):
            tokens = found.tokens if len(given) == 1 else counter.message(message)
            open_calls = tuple(call for call in found.calls if call not in answered)
            messages.append(ContextMessage(len(messages) + 1, projected, at, message, tokens, part, edit, open_calls))
    parts = [m.message for m in messages if m.message.role == "system"]
    system = replayed_system(iter(parts))
    return Context(
        session=session,
        branch=branch,
        measured=measured,
        counter=counter.name,
        size=context_tokens(measured.projection, measures, counter),
        messages=messages,
        system=system,
        system_tokens=0 if system is None else counter.message(system),
        system_parts=len(parts),
    )


def _with_parts(measured: Measured) -> Iterator[tuple[ProjectedEntry, Part | None]]:
    """The context entries, each with the part of a compacted context that it belongs to."""
    entries, path = measured.projection.entries, measured.projection.branch.entries
    if not entries or entries[0].entry.type != "compaction":
        yield from ((projected, None) for projected in entries)
        return
    first = entries[0].entry.index
    after = next(n for n, entry in enumerate(reversed(path)) if entry.index == first)
    yield entries[0], "summary"
    yield from ((projected, "kept_tail") for projected in entries[1 : len(entries) - after])
    yield from ((projected, "after_compaction") for projected in entries[len(entries) - after :])


def note_of(message: ContextMessage, context: Context) -> str:
    """What a reader should know of a message, in plain words; empty where there is nothing."""
    notes: list[str] = []
    stored = message.message
    if message.edit is not None:
        notes.append(f"content replaced by the edit #{message.edit.index} ({shown_id(message.edit.id)})")
    if stored.role == "assistant" and stored.stop_reason in FAILED:
        notes.append(f"failed ({stored.stop_reason}): counted, but left out when a request is made")
    elif message.unanswered:
        calls = amount(len(message.unanswered), "call")
        notes.append(f"{calls} without a result: a request gets an error result in its place")
    elif message.seen is None:
        notes.append("no model gets a message of this role")
    if stored.role == "system" and context.system_parts > 1:
        notes.append("part of the system prompt, which is replayed into one message")
    return "; ".join(notes)


def context_json(context: Context, *, full: bool = False) -> dict[str, Any]:
    """The whole object of `compactor context --json`.

    Args:
        context: the context.
        full: with the data of pictures.
    """
    return {
        "session": session_json(context.session),
        "leaf": leaf_json(context.branch.leaf),
        "counter": context.counter,
        "messages": [
            message_json(message, context) | content_json(message, with_images=full) for message in context.messages
        ],
        "system": _system_json(context),
        "tokens": size_json(context),
        "roles": by_role(context.messages),
        "warnings": [*map(warning_json, context.warnings)],
    }


def size_json(context: Context) -> dict[str, int]:
    """The size of the context as planning takes it, where it comes from, and the counts of all messages added up."""
    size = context.size
    return {
        "context": size.tokens,
        "usage": size.usage_tokens,
        "trailing": size.trailing_tokens,
        "messages": context.tokens,
    }


def by_role(messages: Sequence[ContextMessage]) -> dict[str, dict[str, int]]:
    """Role -> number of messages and their tokens, in the order of appearance."""
    counts = Tally(message.message.role for message in messages)
    tokens = Tally[str]()
    for message in messages:
        tokens[message.message.role] += message.tokens
    return {role: {"messages": number, "tokens": tokens[role]} for role, number in counts.items()}


def message_json(message: ContextMessage, context: Context) -> dict[str, Any]:
    """A message without its content."""
    seen, entry, stored = message.seen, message.entry, message.message
    made: dict[str, Any] = {
        "n": message.n,
        "role": stored.role,
        "as": None if seen is None else seen.role,
        "entryId": entry.id,
        "index": entry.index,
        "line": entry.line,
        "part": message.part,
        "tokens": message.tokens,
        "chars": sum(map(utf16_len, message_parts(seen or stored)[0])),
        "note": note_of(message, context) or None,
    }
    made |= {} if message.edit is None else {"editedBy": message.edit.id}
    for name, value in (
        ("toolCallId", stored.tool_call_id),
        ("toolName", stored.tool_name),
        ("isError", stored.is_error),
        ("stopReason", stored.stop_reason),
    ):
        made |= {} if value is None else {name: value}
    return made


def content_json(message: ContextMessage, *, with_images: bool) -> dict[str, Any]:
    """The content: `text` where it is text or becomes text for the model, else `blocks` as they are in the file."""
    stored, seen = message.message, message.seen
    if stored.role == "system":
        return _system_content(stored)
    if stored.role in ("bashExecution", "branchSummary", "compactionSummary") and seen is not None:
        return {"text": seen.text("")}
    content = raw_content(message.entry, message.edit)
    if isinstance(content, list):
        return {"blocks": content if with_images else without_images(content)}
    return {"text": content if isinstance(content, str) else stored.text()}


def _system_content(system: Message) -> dict[str, Any]:
    made: dict[str, Any] = {"text": system.text()}
    for name, value in (
        ("sections", system.sections),
        ("toolsAdded", system.tools_added),
        ("toolsRemoved", system.tools_removed),
    ):
        made |= {} if value is None else {name: value}
    return made


def _system_json(context: Context) -> dict[str, Any] | None:
    """The system messages replayed into one, and the entries that it comes from."""
    if context.system is None:
        return None
    parts = [message for message in context.messages if message.message.role == "system"]
    return {
        "tokens": context.system_tokens,
        "chars": sum(map(utf16_len, message_parts(context.system)[0])),
        "sources": [{"entryId": part.entry.id, "index": part.entry.index} for part in parts],
        **_system_content(context.system),
    }


def first_words(message: ContextMessage) -> str:
    """The start of what a message says."""
    return head(headline(message.message))
