"""A plan as JSON: the object of `compactor plan --json`."""

from collections import Counter as Tally
from collections.abc import Sequence
from typing import Any

from compactor.counter_error import CounterError
from compactor.entries import Entry, Session, SessionWarning
from compactor.explain import Explanation
from compactor.js_text import utf16_len
from compactor.plan import CompactionPlan, Skip
from compactor.planned import Planned, plain_messages
from compactor.projection import session_model
from compactor.transcript import transcript_size

WIRE_NAMES = {
    "enabled": "enabled",
    "context_window": "contextWindow",
    "reserve_tokens": "reserveTokens",
    "keep_recent_tokens": "keepRecentTokens",
}
"""Settings in Pi's spelling."""


def plan_json(planned: Planned, explanation: Explanation, warnings: Sequence[SessionWarning]) -> dict[str, Any]:
    """The whole object.

    The transcripts' lengths and hashes are of the plain transcript, before embedded tags are made harmless and missing
    results are noted, so that they compare with Pi's.
    """
    branch, measured, plan = planned.branch, planned.measured, planned.plan
    model = session_model(branch)
    roles = Tally(role for m in measured.measures for role in m.roles)
    return {
        "session": session_json(planned.session),
        "leaf": leaf_json(branch.leaf),
        "entries": len(planned.session.entries),
        "branchEntries": len(branch.entries),
        "contextEntries": len(measured.projection.entries),
        "messages": roles.total(),
        "roles": dict(roles),
        "model": None if model is None else {"provider": model.provider, "modelId": model.model_id},
        "settings": {
            "enabled": planned.settings.enabled,
            "contextWindow": planned.settings.context_window,
            "reserveTokens": planned.settings.reserve_tokens,
            "keepRecentTokens": planned.settings.keep_recent_tokens,
            "sources": {WIRE_NAMES[field]: source for field, source in planned.settings.sources.items()},
        },
        "counter": planned.counter.name,
        "counterError": _error_json(explanation.counter_error),
        "messageTokens": sum(m.tokens for m in measured.measures),
        "contextTokens": planned.context.tokens,
        "usageTokens": planned.context.usage_tokens,
        "trailingTokens": planned.context.trailing_tokens,
        "threshold": planned.settings.context_window - planned.settings.reserve_tokens,
        "shouldCompact": planned.triggers,
        "plan": None if isinstance(plan, Skip) else _cut_json(plan),
        "skip": {"reason": plan.reason, "detail": plan.detail} if isinstance(plan, Skip) else None,
        "explanation": [{"code": r.code, "text": r.text} for r in explanation.reasons],
        "warnings": [*map(warning_json, told_warnings(planned, explanation, warnings))],
    }


def told_warnings(
    planned: Planned, explanation: Explanation, warnings: Sequence[SessionWarning]
) -> list[SessionWarning]:
    """All that may mislead: of the settings, of the file, of the plan; what the settings warned of is told once."""
    told = {warning.code for warning in warnings}
    return [*warnings, *planned.warnings, *(w for w in explanation.warnings if w.code not in told)]


def session_json(session: Session) -> dict[str, Any]:
    """Which session it is."""
    return {
        "path": session.path,
        "id": session.header.id,
        "version": session.header.version,
        "cwd": session.header.cwd,
        "format": session.format,
    }


def leaf_json(leaf: Entry | None) -> dict[str, Any] | None:
    """The leaf, by id and position."""
    return None if leaf is None else {"id": leaf.id, "index": leaf.index}


def warning_json(warning: SessionWarning) -> dict[str, Any]:
    """A warning; `line` and `entryId` only where they are known."""
    made: dict[str, Any] = {"code": warning.code, "message": warning.message}
    made |= {} if warning.line is None else {"line": warning.line}
    return made | ({} if warning.entry_id is None else {"entryId": warning.entry_id})


def _error_json(error: CounterError | None) -> dict[str, Any] | None:
    """How far off the counter is on this context, None where too few sizes were reported to tell."""
    if error is None:
        return None
    return {"steps": error.steps, "ratio": error.ratio, "medianStepError": error.median}


def _cut_json(plan: CompactionPlan) -> dict[str, Any]:
    history = transcript_size(message for _, message in plain_messages(plan, plan.history))
    prefix = transcript_size(message for _, message in plain_messages(plan, plan.turn_prefix))
    return {
        "firstKeptEntryId": plan.first_kept.id,
        "firstKept": f"#{plan.first_kept.index}",
        "isSplitTurn": plan.is_split_turn,
        "messagesToSummarize": plan.history_messages,
        "turnPrefixMessages": plan.prefix_messages,
        "tokensBefore": plan.tokens_before,
        "keptMessages": plan.kept_messages,
        "keptTokens": plan.kept_tokens,
        "previousSummaryChars": None if plan.previous_summary is None else utf16_len(plan.previous_summary),
        "readFiles": list(plan.files.read_files),
        "modifiedFiles": list(plan.files.modified_files),
        "historyChars": history.chars,
        "historySha256": history.sha256,
        "prefixChars": prefix.chars,
        "prefixSha256": prefix.sha256,
    }
