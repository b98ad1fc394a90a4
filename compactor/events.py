"""Pi's compaction events, and the entries of compactions and branch summaries, as the JSON that goes out.

Takes results; gives dicts in Pi's wire names and key order, and lines of bytes. Source: Pi 1.6.0 docs/json.md,
docs/session-format.md, agent-session.js, session-manager.js appendCompaction.
"""

from dataclasses import dataclass
from typing import Any, Literal

from compactor.file_ops import FileLists
from compactor.js_text import json_text, utf8
from compactor.messages import Message, Usage
from compactor.model import Notice, RetryFinished, RetryScheduled, RetryStarted

Reason = Literal["manual", "threshold", "overflow"]
Event = dict[str, Any]

FAILURE_LEAD: dict[Reason, str] = {
    "manual": "Compaction failed",
    "threshold": "Auto-compaction failed",
    "overflow": "Context overflow recovery failed",
}
"""Pi 1.6.0 agent-session.js: how `errorMessage` starts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult:
    """What a finished compaction gives."""

    summary: str
    first_kept_entry_id: str
    tokens_before: int
    estimated_tokens_after: int
    files: FileLists
    usage: Usage | None = None


def json_line(value: Any) -> bytes:
    """One line of JSON as Node prints it, UTF-8, with its line end."""
    return utf8(json_text(value)) + b"\n"


def usage_json(usage: Usage) -> dict[str, Any]:
    """Usage in wire names; optional parts only where they were reported."""
    cost = usage.cost
    made: dict[str, Any] = {
        "input": usage.input,
        "output": usage.output,
        "cacheRead": usage.cache_read,
        "cacheWrite": usage.cache_write,
    }
    made |= {} if usage.cache_write1h is None else {"cacheWrite1h": usage.cache_write1h}
    made |= {} if usage.reasoning is None else {"reasoning": usage.reasoning}
    made["totalTokens"] = usage.total_tokens
    made["cost"] = {
        "input": cost.input,
        "output": cost.output,
        "cacheRead": cost.cache_read,
        "cacheWrite": cost.cache_write,
        "total": cost.total,
    }
    if cost.total_from_provider is not None:
        made["cost"]["totalFromProvider"] = cost.total_from_provider
    return made


def details_json(files: FileLists) -> dict[str, Any]:
    """The `details` of a compaction or branch summary."""
    return {"readFiles": list(files.read_files), "modifiedFiles": list(files.modified_files)}


def compaction_start(reason: Reason) -> Event:
    """The event before anything is asked."""
    return {"type": "compaction_start", "reason": reason}


def compaction_done(reason: Reason, result: CompactionResult, *, will_retry: bool) -> Event:
    """The event of a compaction that worked."""
    made: dict[str, Any] = {
        "summary": result.summary,
        "firstKeptEntryId": result.first_kept_entry_id,
        "tokensBefore": result.tokens_before,
        "estimatedTokensAfter": result.estimated_tokens_after,
    }
    if result.usage is not None:
        made["usage"] = usage_json(result.usage)
    made["details"] = details_json(result.files)
    return {"type": "compaction_end", "reason": reason, "result": made, "aborted": False, "willRetry": will_retry}


def compaction_failed(reason: Reason, message: str) -> Event:
    """The event of a compaction that failed; nothing was written."""
    text = f"{FAILURE_LEAD[reason]}: {message}"
    return {
        "type": "compaction_end",
        "reason": reason,
        "aborted": False,
        "willRetry": False,
        "errorMessage": text,
    }


def compaction_aborted(reason: Reason) -> Event:
    """The event of a compaction that the user stopped; nothing was written."""
    return {"type": "compaction_end", "reason": reason, "aborted": True, "willRetry": False}


def notice_event(notice: Notice, reason: Reason) -> Event | None:
    """The retry event of a client's notice; None for progress."""
    if isinstance(notice, RetryScheduled):
        return {
            "type": "summarization_retry_scheduled",
            "attempt": notice.attempt,
            "maxAttempts": notice.max_attempts,
            "delayMs": notice.delay_ms,
            "errorMessage": notice.error_message,
        }
    if isinstance(notice, RetryStarted):
        return {"type": "summarization_retry_attempt_start", "source": "compaction", "reason": reason}
    if isinstance(notice, RetryFinished):
        return {"type": "summarization_retry_finished"}
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryStamp:
    """What a new entry gets from outside of the core."""

    id: str
    """Eight hex digits, unique in the file."""
    timestamp: str
    """ISO 8601 in UTC with milliseconds, as Pi writes it."""
    milliseconds: int
    """The same time, milliseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchEnds:
    """Between which entries a branch summary stands."""

    from_id: str
    """The old leaf, where the branch ends that was left."""
    to_id: str
    """The entry continued from."""


def compaction_entry(
    result: CompactionResult, stamp: EntryStamp, parent_id: str, system: Message | None
) -> dict[str, Any]:
    """The session entry of a compaction, in Pi's key order.

    Args:
        result: the compaction.
        stamp: id and time.
        parent_id: the leaf.
        system: all system messages of the projection folded into one, if it has any.
    """
    entry: dict[str, Any] = {
        "type": "compaction",
        "id": stamp.id,
        "parentId": parent_id,
        "timestamp": stamp.timestamp,
        "summary": result.summary,
        "firstKeptEntryId": result.first_kept_entry_id,
        "tokensBefore": result.tokens_before,
        "details": details_json(result.files),
    }
    if result.usage is not None:
        entry["usage"] = usage_json(result.usage)
    entry["fromHook"] = False
    if system is not None:
        entry["systemMessage"] = system_json(system, stamp.milliseconds)
    return entry


def branch_summary_entry(
    summary: str, files: FileLists, usage: Usage | None, stamp: EntryStamp, ends: BranchEnds
) -> dict[str, Any]:
    """The session entry of a branch summary, in Pi's key order; Pi 1.6.0 session-manager.js branchWithSummary."""
    entry: dict[str, Any] = {
        "type": "branch_summary",
        "id": stamp.id,
        "parentId": ends.to_id,
        "timestamp": stamp.timestamp,
        "fromId": ends.from_id,
        "summary": summary,
        "details": details_json(files),
    }
    if usage is not None:
        entry["usage"] = usage_json(usage)
    entry["fromHook"] = False
    return entry


def with_position(entry: dict[str, Any], position: int) -> dict[str, Any]:
    """The entry for a file of version 1, whose ids are made anew on every reading: only a position lasts.

    Args:
        entry: a compaction entry.
        position: of the first kept entry among all rows of the file, the header being 0; Pi 1.6.0 migrateV1ToV2.
    """
    return {**entry, "firstKeptEntryIndex": position}


def system_json(system: Message, milliseconds: int) -> dict[str, Any]:
    """A system message in wire names."""
    made: dict[str, Any] = {"role": "system", "content": system.text()}
    if system.sections:
        made["sections"] = dict(system.sections)
    if system.tools_added:
        made["toolsAdded"] = system.tools_added
    made["timestamp"] = milliseconds
    return made
