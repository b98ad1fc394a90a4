"""What two contexts of one session have in common, and what only one of them holds; as JSON too.

Takes two contexts; matches their messages by source entry. One that both hold counts as changed where a context_edit
gives it other content in one of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compactor.branch import Branch, active_branch, find_leaf
from compactor.entries import Entry, Session
from compactor.errors import SessionError
from compactor.views.context import Context, ContextMessage, first_words, message_json, size_json
from compactor.views.plan import leaf_json, session_json, warning_json

LAST = "last"
"""The word for the newest compaction of the branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A message that both contexts hold with different content."""

    a: ContextMessage
    b: ContextMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextDiff:
    """The way from context `a` to context `b`."""

    a: Context
    b: Context
    removed: list[ContextMessage]
    added: list[ContextMessage]
    changed: list[Changed]
    same: int


def context_diff(a: Context, b: Context) -> ContextDiff:
    """The difference of two contexts of the same session."""
    old = {(message.entry.index, message.at): message for message in a.messages}
    added: list[ContextMessage] = []
    changed: list[Changed] = []
    same = 0
    for message in b.messages:
        before = old.pop((message.entry.index, message.at), None)
        if before is None:
            added.append(message)
        elif before.edit is not message.edit and before.message != message.message:
            changed.append(Changed(a=before, b=message))
        else:
            same += 1
    return ContextDiff(a=a, b=b, removed=list(old.values()), added=added, changed=changed, same=same)


def around_compaction(session: Session, leaf: str | None, which: str) -> tuple[Branch, Branch]:
    """The branches right before and right after a compaction.

    Args:
        session: the session.
        leaf: where to look for the last compaction; None for the newest entry.
        which: an id, `#N`, or `last`.

    Raises:
        SessionError: there is no such compaction.
    """
    found = _last_compaction(session, leaf) if which == LAST else find_leaf(session, which)
    if found is None or found.type != "compaction":
        what = "no compaction on the branch" if found is None else f"an entry of type {found.type!r}"
        raise SessionError(
            f"{session.path}: expected a compaction for {which!r}, found {what}; `compactor tree` lists them all"
        )
    parent = session.parents[found.index]
    before = active_branch(session, None if parent is None else session.entries[parent])
    return before, active_branch(session, found)


def _last_compaction(session: Session, leaf: str | None) -> Entry | None:
    entries = active_branch(session, find_leaf(session, leaf)).entries
    return next((entry for entry in reversed(entries) if entry.type == "compaction"), None)


def tokens_of(messages: Sequence[ContextMessage]) -> int:
    """The counts of messages added up."""
    return sum([message.tokens for message in messages])


def diff_json(diff: ContextDiff) -> dict[str, Any]:
    """The whole object of `compactor context --json` with --diff or --compaction."""
    a, b = diff.a, diff.b
    warnings = {(w.code, w.message): w for w in (*a.warnings, *b.warnings)}
    return {
        "session": session_json(a.session),
        "counter": a.counter,
        "a": _side_json(a),
        "b": _side_json(b),
        "removed": [_message_json(message, a) for message in diff.removed],
        "added": [_message_json(message, b) for message in diff.added],
        "changed": [{"a": _message_json(c.a, a), "b": _message_json(c.b, b)} for c in diff.changed],
        "same": diff.same,
        "tokens": {
            "a": a.size.tokens,
            "b": b.size.tokens,
            "removed": tokens_of(diff.removed),
            "added": tokens_of(diff.added),
            "changed": sum([c.b.tokens - c.a.tokens for c in diff.changed]),
        },
        "warnings": [*map(warning_json, warnings.values())],
    }


def _side_json(context: Context) -> dict[str, Any]:
    return {"leaf": leaf_json(context.branch.leaf), "messages": len(context.messages), "tokens": size_json(context)}


def _message_json(message: ContextMessage, context: Context) -> dict[str, Any]:
    return {**message_json(message, context), "text": first_words(message)}
