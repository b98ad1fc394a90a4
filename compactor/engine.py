"""One compaction from start to end: plan, requests, checks, entry, events.

Takes a session and what was chosen for it; emits Pi's events and gives the entry's line, which the caller may write.
The only steps that leave the process are the client's; they are passed in. Nothing is written here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from compactor.branch import Branch, link_parents_as_pi
from compactor.entries import Entry
from compactor.errors import CompactorError, ModelAborted, ReplyRejected
from compactor.events import (
    CompactionResult,
    EntryStamp,
    Event,
    Reason,
    compaction_aborted,
    compaction_done,
    compaction_entry,
    compaction_failed,
    compaction_start,
    json_line,
    notice_event,
    with_position,
)
from compactor.measure import measure
from compactor.messages import Message
from compactor.model import ModelClient, Notice
from compactor.plan import CompactionPlan, Skip
from compactor.planned import Planned
from compactor.projection import Projection, entry_messages, project, replayed_system
from compactor.requests import SummaryOptions
from compactor.summarizer import SummarySource, SummaryText, summarize

Emit = Callable[[Event], None]
Observe = Callable[[Notice], None]

SKIP_MESSAGES = {"already_compacted": "Already compacted"}
"""Pi 1.6.0 agent-session.js words this reason so; the others are told in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """How a compaction ended."""

    result: CompactionResult | None = None
    entry: dict[str, Any] | None = None
    line: bytes | None = None
    """The entry as the line to append; None if there is none."""
    summary: SummaryText | None = None
    error: str | None = None
    aborted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What a compaction needs from outside of the core."""

    client: ModelClient
    emit: Emit
    stamp: EntryStamp
    """Id and time of the new entry."""
    observe: Observe = field(default=lambda notice: None)
    """Told of progress and retries, besides the events."""
    commit: Callable[[bytes], None] | None = None
    """Writes the entry's line before the end event says that it worked; None if nothing is written."""


def compact(planned: Planned, options: SummaryOptions, reason: Reason, effects: Effects) -> Compacted:
    """Makes the summary of a plan, checks it, and gives the entry's line.

    Events are emitted as Pi does: a start, retries, an end with a result or an error message. A manual run that has
    nothing to do says so in its end event; an automatic one emits nothing.
    """
    plan = planned.plan
    if isinstance(plan, Skip):
        message = SKIP_MESSAGES.get(plan.reason, f"Nothing to compact ({plan.detail})")
        if reason == "manual":
            effects.emit(compaction_start(reason))
            effects.emit(compaction_failed(reason, message))
        return Compacted(error=message)
    effects.emit(compaction_start(reason))
    try:
        summary = _ask(plan, options, reason, effects)
        result = _result(planned, plan, summary, effects.stamp)
        if not planned.exact:
            _refuse_growth(planned, plan, result)
        entry = _entry(planned, result, effects.stamp)
        line = json_line(entry)
        if effects.commit is not None:
            effects.commit(line)
    except (KeyboardInterrupt, ModelAborted):
        effects.emit(compaction_aborted(reason))
        return Compacted(aborted=True)
    except CompactorError as error:
        effects.emit(compaction_failed(reason, str(error)))
        return Compacted(error=str(error))
    effects.emit(compaction_done(reason, result, will_retry=reason == "overflow"))
    return Compacted(result=result, entry=entry, line=line, summary=summary)


def write_problem(planned: Planned) -> str | None:
    """Why an entry at the end of the file would not mean what the plan says; None if it would.

    In version 1 the last row is always the leaf, and a position must not depend on who reads a damaged file. An id that
    stands for a missing one is not in the file, so nothing can refer to it.
    """
    session, leaf = planned.session, planned.branch.leaf
    if isinstance(planned.plan, Skip) or leaf is None:
        return None
    todo = "open the session in Pi once, which writes it anew, and run again"
    if session.header.version < 2:
        if leaf.index + 1 < len(session.entries):
            return f"expected the newest entry as the leaf, for version 1 has no branches; found #{leaf.index}; {todo}"
        if session.warnings:
            return f"expected a file of version 1 without damage, found: {session.warnings[0].message}; {todo}"
    made = {w.entry_id for w in session.warnings if w.code == "missing_id"}
    for entry in (leaf, planned.plan.first_kept):
        if entry.id in made:
            return f"expected an id to refer to, found none on line {entry.line}; {todo}"
    doubled = _doubled_id(planned, leaf, planned.plan.first_kept)
    if doubled is not None:
        return doubled
    if any(w.code in BROKEN_LINKS or w.code in SKIPPED_BY_PI for w in session.warnings):
        return _unreachable_in_pi(planned, leaf, planned.plan)
    return None


def _doubled_id(planned: Planned, leaf: Entry, first_kept: Entry) -> str | None:
    """Why an id in the new entry would mean another entry than the plan's; None if both mean the plan's.

    The id of a parent means the last entry that has it, the first kept id means the first one on the branch.
    """
    parent = next(entry for entry in reversed(planned.session.entries) if entry.id == leaf.id)
    if parent is not leaf:
        return (
            f"expected a leaf with an id of its own, found {leaf.id!r} on line {leaf.line} and again on line "
            f"{parent.line}; name another leaf"
        )
    kept = next(entry for entry in planned.branch.entries if entry.id == first_kept.id)
    if kept is not first_kept:
        return (
            f"expected a first kept entry with an id of its own, found {kept.id!r} on line {kept.line} and again on "
            f"line {first_kept.line}; cut elsewhere with another --keep-recent-tokens"
        )
    return None


BROKEN_LINKS = frozenset({"missing_parent", "lost_parent", "parent_cycle", "duplicate_id"})
"""Warnings about links that are followed here and not by Pi."""

SKIPPED_BY_PI = frozenset({"damaged_line", "fused_lines", "nul_bytes", "byte_order_mark", "invalid_json_repaired"})
"""Warnings about lines of which something is read here and nothing by Pi."""


def _unreachable_in_pi(planned: Planned, leaf: Entry, plan: CompactionPlan) -> str | None:
    """Why Pi, which repairs neither links nor lines, would not find the kept tail."""
    session = planned.session
    parents = link_parents_as_pi(session.entries).parents
    skipped = {w.line for w in session.warnings if w.code in SKIPPED_BY_PI}
    at: int | None = leaf.index
    last = leaf
    seen: set[int] = set()
    while at is not None and at not in seen:
        seen.add(at)
        last = session.entries[at]
        if last.line in skipped:
            return (
                f"expected a kept tail that Pi can read, found damage on line {last.line}, which Pi skips with all "
                "before it; keep fewer tokens (--keep-recent-tokens), so that the cut is after that line, or name an "
                "earlier --leaf"
            )
        if last is plan.first_kept:
            return None
        at = parents[at]
    return (
        "expected a branch that Pi can follow to the first kept entry, found a broken parent link on line "
        f"{last.line}: the kept tail before it would be lost; keep fewer tokens (--keep-recent-tokens), so that the "
        "cut is after that line"
    )


def summary_source(plan: CompactionPlan) -> SummarySource:
    """The messages that a plan summarizes, without system messages."""
    history, history_ids = _messages(plan, plan.history)
    prefix, prefix_ids = _messages(plan, plan.turn_prefix)
    return SummarySource(
        history=history,
        history_ids=history_ids,
        prefix=prefix,
        prefix_ids=prefix_ids,
        previous_summary=plan.previous_summary,
        earlier=_earlier_user_messages(plan) if plan.previous_summary is not None else (),
        files=plan.files,
    )


def _earlier_user_messages(plan: CompactionPlan) -> list[Message]:
    """The user's messages on the branch that are no longer in the context."""
    projection = plan.measured.projection
    shown = {projected.entry.index for projected in projection.entries}
    gone = (e for e in projection.branch.entries if e.role == "user" and e.index not in shown)
    return [message for entry in gone for message in entry_messages(entry, entry.body, exact=False)]


def _messages(plan: CompactionPlan, span: range) -> tuple[list[Message], list[str]]:
    messages: list[Message] = []
    ids: list[str] = []
    for n in span:
        projected = plan.measured.projection.entries[n]
        for message in projected.messages():
            if message.role != "system":
                messages.append(message)
                ids.append(projected.entry.id)
    return messages, ids


def _ask(plan: CompactionPlan, options: SummaryOptions, reason: Reason, effects: Effects) -> SummaryText:
    """Plays the summarizer's requests against the client."""

    def observe(notice: Notice) -> None:
        event = notice_event(notice, reason)
        if event is not None:
            effects.emit(event)
        effects.observe(notice)

    steps = summarize(summary_source(plan), options)
    try:
        request = next(steps)
        while True:
            request = steps.send(effects.client.complete(request, observe))
    except StopIteration as done:
        made: SummaryText = done.value
        return made


def _result(planned: Planned, plan: CompactionPlan, summary: SummaryText, stamp: EntryStamp) -> CompactionResult:
    made = CompactionResult(
        summary=summary.text,
        first_kept_entry_id=plan.first_kept.id,
        tokens_before=plan.tokens_before,
        estimated_tokens_after=0,
        files=plan.files,
        usage=summary.usage,
    )
    return replace(made, estimated_tokens_after=_tokens_after(planned, _entry(planned, made, stamp)))


def _entry(planned: Planned, result: CompactionResult, stamp: EntryStamp) -> dict[str, Any]:
    projection = planned.measured.projection
    has_system = any("system" in m.roles for m in planned.measured.measures)
    system = replayed_system(projection.messages()) if has_system else None
    leaf = planned.branch.leaf
    entry = compaction_entry(result, stamp, leaf.id if leaf else "", system)
    if planned.session.header.version < 2 and isinstance(planned.plan, CompactionPlan):
        return with_position(entry, planned.plan.first_kept.index + 1)
    return entry


def _tokens_after(planned: Planned, wire: dict[str, Any]) -> int:
    """Tokens of the context that the new entry makes, message by message."""
    line = json_line(wire)
    entries = planned.branch.entries
    entry = Entry(len(planned.session.entries), 0, "compaction", wire["id"], wire["parentId"], "", line, 0, len(line))
    projection: Projection = project(Branch(entries=[*entries, entry]), exact=planned.exact)
    after = measure(projection, planned.counter, exact=planned.exact)
    total = sum(m.tokens for m in after.measures)
    # The recorded answers of Pi leave the system message out of this figure, Pi's own event does not:
    # docs/estimated-tokens-after.md.
    return total - sum(m.system_tokens for m in after.measures) if planned.exact else total


def _refuse_growth(planned: Planned, plan: CompactionPlan, result: CompactionResult) -> None:
    """Refuses a summary that is not smaller than what it stands for.

    Raises:
        ReplyRejected: it is not.
    """
    spans = (*plan.history, *plan.turn_prefix)
    replaced = sum(plan.measured.measures[n].tokens - plan.measured.measures[n].system_tokens for n in spans)
    replaced += planned.counter.text(plan.previous_summary) if plan.previous_summary else 0
    size = planned.counter.text(result.summary)
    if size >= replaced:
        raise ReplyRejected(
            f"Summarization failed: the summary has {size} tokens and would replace {replaced}; it saves nothing"
        )
