"""Saved sessions as a list: grouped by the folder that they were made in, and as the object of `sessions --json`."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from compactor.wording import amount

if TYPE_CHECKING:
    from compactor.session_list_file import Listed, SessionList

MIN_PREFIX_CHARS = 8
"""An id is not shortened further; so many are easy to copy and to tell apart."""

_STEPS = (
    (timedelta(days=730), timedelta(days=365), "years"),
    (timedelta(days=61), timedelta(days=30), "months"),
    (timedelta(days=14), timedelta(days=7), "weeks"),
    (timedelta(days=2), timedelta(days=1), "days"),
    (timedelta(hours=1), timedelta(hours=1), "h"),
    (timedelta(minutes=1), timedelta(minutes=1), "min"),
)
"""From this age on, in this unit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """The sessions that were made in one folder."""

    cwd: str | None
    """None for sessions that do not say where they were made."""
    exists: bool
    sessions: list["Listed"]


def projects(found: "SessionList") -> list[Project]:
    """The sessions by folder; the folder with the newest session first."""
    groups: dict[str | None, list[Listed]] = {}
    for session in found.sessions:
        groups.setdefault(session.main.cwd, []).append(session)
    return [Project(cwd=cwd, exists=cwd in found.existing, sessions=group) for cwd, group in groups.items()]


def age(at: datetime, now: datetime) -> str:
    """How long ago that was: `just now`, `5 min ago`, `3 h ago`, `2 days ago`; a clock may also be wrong."""
    past = now - at
    if past < -_STEPS[-1][0]:
        return "in the future"
    for start, unit, name in _STEPS:
        if past >= start:
            return f"{past // unit} {name} ago"
    return "just now"


def id_prefixes(ids: Iterable[str]) -> dict[str, str]:
    """The shortest start of each id that no other one has, but no fewer than MIN_PREFIX_CHARS characters."""
    ordered = sorted(set(ids))
    needed = dict.fromkeys(ordered, MIN_PREFIX_CHARS)
    for one, other in pairwise(ordered):
        shared = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
        needed[one], needed[other] = max(needed[one], shared + 1), max(needed[other], shared + 1)
    return {one: one[: needed[one]] for one in ordered}


def subagent_tokens(session: "Listed") -> int | None:
    """What the sub-agents used; None if one was not counted, or does not say."""
    used = [one.glance.total_tokens for one in session.subagents]
    return sum(tokens for tokens in used if tokens is not None) if None not in used else None


def list_warnings(found: "SessionList") -> list[tuple[str, str]]:
    """Code and text of what may mislead."""
    made: list[tuple[str, str]] = []
    ends = sum(not session.main.glance.is_whole for session in found.sessions)
    if ends:
        made.append(("not_counted", f"{amount(ends, 'session')} read only at both ends, so nothing is counted there"))
    if found.skipped:
        reasons = Counter(one.reason for one in found.skipped)
        kinds = ", ".join(f"{count:,} {_REASONS[reason]}" for reason, count in reasons.items())
        made.append(("skipped", f"{amount(len(found.skipped), 'file')} passed over: {kinds}"))
    return made


_REASONS = {
    "unreadable": "can't be read",
    "not_a_file": "no regular file",
    "packed": "packed by Codex as .zst",
    "no_session": "no session",
}


def sessions_json(found: "SessionList", now: datetime) -> dict[str, Any]:
    """The whole object.

    Args:
        found: the sessions.
        now: ages are told from it.
    """
    prefixes = id_prefixes(found.ids)
    return {
        "folders": [
            {"agent": place.agent, "path": place.path, "exists": place.path in found.existing} for place in found.places
        ],
        "projects": [
            {
                "cwd": project.cwd,
                "exists": None if project.cwd is None else project.exists,
                "sessions": [_session_json(one, prefixes[one.main.id], now) for one in project.sessions],
            }
            for project in projects(found)
        ],
        "older": found.older,
        "elsewhere": found.elsewhere,
        "skipped": [{"path": one.path, "reason": one.reason, "detail": one.detail} for one in found.skipped],
        "warnings": [{"code": code, "message": text} for code, text in list_warnings(found)],
    }


def _session_json(session: "Listed", prefix: str, now: datetime) -> dict[str, Any]:
    main, glance = session.main, session.main.glance
    return {
        "id": main.id,
        "idPrefix": prefix,
        "agent": glance.format,
        "path": main.file.path,
        "name": glance.name,
        "firstMessage": glance.first_message,
        "startedAt": _stamp(glance.started_at),
        "lastEntryAt": _stamp(glance.last_entry_at),
        "modifiedAt": _stamp(main.file.modified_at),
        "ageSeconds": round((now - session.last_entry_at).total_seconds()),
        "messages": glance.messages,
        "contextTokens": glance.context_tokens,
        "totalTokens": glance.total_tokens,
        "cost": glance.cost,
        "compactions": glance.compactions,
        "branches": glance.branches,
        "bytes": main.file.size,
        "damagedLines": glance.damaged_lines,
        "counted": glance.is_whole,
        "archived": main.file.is_archived,
        "subagentOf": main.parent_id if main.is_subagent else None,
        "isSubagent": main.is_subagent,
        "subagents": {
            "files": len(session.subagents),
            "bytes": sum(one.file.size for one in session.subagents),
            "totalTokens": subagent_tokens(session),
        },
    }


def _stamp(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
