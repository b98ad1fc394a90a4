"""One compaction from start to end: plan, requests, checks, entry, events.

Takes a session and what was chosen for it; emits Pi's events and gives the entry's line, which the caller may write.
The only steps that leave the process are the client's; they are passed in. Nothing is written here.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from compactor.branch import Branch
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
from compactor.model import ModelClient, ModelRequest, ModelResponse, Notice
from compactor.plan import CompactionPlan, Skip
from compactor.planned import Planned, plain_messages
from compactor.projection import Projection, entry_messages, project
from compactor.requests import SummaryOptions, user_rules
from compactor.summarizer import SummarySource, SummaryText, summarize
from compactor.tokens import PiCounter, current_system

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
        draft = _draft(plan, summary)
        entry = _entry(planned, draft, effects.stamp)
        result = replace(draft, estimated_tokens_after=_tokens_after(planned, entry))
        if not planned.exact:
            _refuse_growth(planned, plan, result)
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
        tail=_tail_with_rules(plan),
        files=plan.files,
    )


TAIL_RULES_SHARE = 0.1
"""Rules of the kept tail are repeated in the summary if they take at most this share of what it replaces."""


def _tail_with_rules(plan: CompactionPlan) -> list[Message]:
    """The user's messages in the kept tail, if there is room to repeat their rules; they are kept in any case."""
    said = [m for m in _messages(plan, plan.kept)[0] if m.role == "user"]
    size = sum(PiCounter().text(rule.text) for rule in user_rules(said))
    return said if size <= TAIL_RULES_SHARE * _summarized_tokens(plan) else []


def _summarized_tokens(plan: CompactionPlan) -> int:
    measures = plan.measured.measures
    return sum(measures[n].tokens - measures[n].system_tokens for n in (*plan.history, *plan.turn_prefix))


def _earlier_user_messages(plan: CompactionPlan) -> list[Message]:
    """The user's messages on the branch that are no longer in the context."""
    projection = plan.measured.projection
    shown = {projected.entry.index for projected in projection.entries}
    gone = (e for e in projection.branch.entries if e.role == "user" and e.index not in shown)
    return [message for entry in gone for message in entry_messages(entry, entry.body, exact=False)]


def _messages(plan: CompactionPlan, span: range) -> tuple[list[Message], list[str]]:
    found = list(plain_messages(plan, span))
    return [message for _, message in found], [entry_id for entry_id, _ in found]


def _ask(plan: CompactionPlan, options: SummaryOptions, reason: Reason, effects: Effects) -> SummaryText:
    """Plays the summarizer's requests against the client."""

    def observe(notice: Notice) -> None:
        event = notice_event(notice, reason)
        if event is not None:
            effects.emit(event)
        effects.observe(notice)

    return play(summarize(summary_source(plan), options), effects.client, observe)


def play(
    steps: Generator[ModelRequest, ModelResponse, SummaryText], client: ModelClient, observe: Observe
) -> SummaryText:
    """The summary that the steps lead to, each request answered by the client."""
    try:
        request = next(steps)
        while True:
            request = steps.send(client.complete(request, observe))
    except StopIteration as done:
        made: SummaryText = done.value
        return made


def _draft(plan: CompactionPlan, summary: SummaryText) -> CompactionResult:
    """The result but for the size of the context that its entry makes."""
    return CompactionResult(
        summary=summary.text,
        first_kept_entry_id=plan.first_kept.id,
        tokens_before=plan.tokens_before,
        estimated_tokens_after=0,
        files=plan.files,
        usage=summary.usage,
    )


def _entry(planned: Planned, result: CompactionResult, stamp: EntryStamp) -> dict[str, Any]:
    system = current_system(planned.measured.projection, planned.measured.measures)
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
    replaced = _summarized_tokens(plan)
    replaced += planned.counter.text(plan.previous_summary) if plan.previous_summary else 0
    size = planned.counter.text(result.summary)
    if size >= replaced:
        raise ReplyRejected(
            f"Summarization failed: the summary has {size:,} tokens and would replace {replaced:,}; it saves nothing"
        )
