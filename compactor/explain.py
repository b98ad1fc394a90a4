"""Says in plain words why a context is compacted or not, why the cut is where it is, and what may go wrong.

Takes what planning took and gave; gives reasons and warnings, each with a stable code. The order of the reasons: the
trigger, where the figure comes from, then either the cut, the kept tail, the turn and what is summarized, or why there
is nothing to do.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from compactor.counter_error import CounterError
from compactor.cut_reasons import Reason, cut_reasons
from compactor.decision import Decision, Outcome, decision, named
from compactor.entries import SessionWarning
from compactor.js_text import utf16_len
from compactor.message_measure import RESULT_MAX_CHARS
from compactor.plan import CUT_ROLES, CompactionPlan, Skip, find_cut
from compactor.tokens import should_compact
from compactor.traps import traps
from compactor.wording import amount, listed

__all__ = ["Explanation", "Reason", "explain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why the outcome is what it is, and what may mislead."""

    reasons: list[Reason]
    warnings: list[SessionWarning]
    """About settings, figures and the cut; those about the file are in `Session.warnings` and `Measured.warnings`."""
    counter_error: CounterError | None = None
    """How far off the counter is on this context, None if too few sizes were reported."""


def explain(outcome: Outcome) -> Explanation:
    """The explanation of a plan, or of why there is none.

    Args:
        outcome: the plan and all that it was made from, as `planned.plan_branch` gives them.
    """
    made, plan = decision(outcome), outcome.plan
    reasons = [_trigger(made), _context(made), *_failed_reply(made)]
    if isinstance(plan, CompactionPlan):
        reasons += [*cut_reasons(made, plan), *_summarized(made, plan), _unreachable(made, plan)]
    else:
        reasons.append(Reason(plan.reason, _skip_text(made, plan)))
    return Explanation(reasons=reasons, warnings=traps(made), counter_error=made.counter_error)


def _trigger(made: Decision) -> Reason:
    """Whether the trigger fires, by how much, and out of which figures."""
    settings, tokens, threshold = made.settings, made.context.tokens, made.threshold_tokens
    limit = (
        f"the threshold of {amount(threshold, 'token')} (a window of {settings.context_window:,} less a reserve of "
        f"{settings.reserve_tokens:,})"
    )
    over = should_compact(tokens, context_window=settings.context_window, reserve_tokens=settings.reserve_tokens)
    where = f"{amount(abs(tokens - threshold), 'token')} {'over' if over else 'below'} {limit}"
    where = f"exactly at {limit}, and only a larger one triggers" if tokens == threshold else where
    figure = f"the context of {amount(tokens, 'token')} is {where}"
    manual = " The plan is what compacting by hand would do." if isinstance(made.plan, CompactionPlan) else ""
    if not settings.enabled:
        would = "it would trigger" if over else "it would not trigger anyway"
        text = f"Automatic compaction is switched off by the settings. If it were on, {would}: {figure}.{manual}"
        return Reason("trigger_disabled", text)
    if over:
        return Reason("trigger_over", f"Compaction is due: {figure}.")
    return Reason("trigger_under", f"Compaction is not due: {figure}.{manual}")


def _failed_reply(made: Decision) -> Iterator[Reason]:
    """What the newest reply says if it failed: an overflow calls for compaction, throttling only for patience."""
    measures = made.measured.measures
    at = next((n for n in range(len(measures) - 1, -1, -1) if "assistant" in measures[n].roles), None)
    if at is None:
        return
    reply = next(m for m in made.measured.projection.entries[at].messages() if m.role == "assistant")
    if reply.stop_reason not in ("error", "length") and measures[at].usage_tokens <= made.settings.context_window:
        return
    from compactor.overflow import error_kind, is_overflow_message  # its patterns take long to compile

    where = named(made.measured.projection.entries[at].entry)
    if is_overflow_message(reply, made.settings.context_window):
        text = "did not fit the model's window. An agent recovers by compacting (reason overflow) and asking again"
        yield Reason("reply_overflowed", f"The request that {where} answers {text}.")
    elif reply.stop_reason == "error" and error_kind(reply.error_message or "") in ("rate_limit", "overloaded"):
        text = "was refused because of a limit on the rate or quota. That is no overflow: waiting helps, not compacting"
        yield Reason("reply_throttled", f"The request that {where} answers {text}.")


def _context(made: Decision) -> Reason:
    """How much of the context size was reported and how much is estimated, by which counter."""
    context, whole = made.context, f"of the context's {amount(made.context.tokens, 'token')}"
    if not context.usage_tokens:
        still = "that still holds" if context.stale_usage_tokens else "for this context"
        return Reason(
            "context_estimated", f"The provider reported no size {still}; {made.counter} estimated all {whole}."
        )
    if not context.trailing_tokens:
        return Reason("context_reported", f"The provider reported all {whole} with its newest reply.")
    text = (
        f"The provider reported {context.usage_tokens:,} {whole} with its newest reply; {made.counter} estimated the "
        f"{context.trailing_tokens:,} that came after."
    )
    return Reason("context_reported", text)


def _summarized(made: Decision, plan: CompactionPlan) -> Iterator[Reason]:
    """What goes into the summary, and what becomes of the previous one."""
    history, prefix = plan.history_messages, plan.prefix_messages
    parts = f"{history:,} of history and {prefix:,} of a turn prefix" if history else "all of a turn prefix"
    parts = parts if prefix else "all of history"
    measures = made.measured.measures[plan.range_start : plan.cut.index]
    size = sum(m.tokens - m.system_tokens for m in measures)
    whole = f"{amount(history + prefix, 'message')} with {amount(size, 'token')} by {made.counter}"
    yield Reason("summarized", f"To be summarized: {whole} ({parts}).")
    if plan.previous_summary:
        chars = amount(utf16_len(plan.previous_summary), "character")
        number = sum(entry.type == "compaction" for entry in made.measured.projection.branch.entries)
        fate = "is updated" if history else "is carried over as it is, since only a turn prefix is summarized"
        earlier = f"{amount(number, 'compaction')} came before on this branch"
        text = f"The previous summary, of {chars}, {fate}; {earlier}."
        yield Reason("previous_summary", text)


def _unreachable(made: Decision, plan: CompactionPlan) -> Reason:
    """What the summarizer never sees of the part that it summarizes."""
    measures = made.measured.measures[plan.range_start : plan.cut.index]
    cut = [m.cut_chars for m in measures if m.cut_chars]
    thinking, images = sum(m.thinking_chars for m in measures), sum(m.images for m in measures)
    limit = f"the first {RESULT_MAX_CHARS:,} characters"
    parts = []
    if cut:
        results = "1 tool result" if len(cut) == 1 else f"each of {len(cut):,} tool results"
        parts.append(f"{amount(sum(cut), 'character')} beyond {limit} of {results}")
    parts += [f"{amount(thinking, 'character')} of thinking"] if thinking else []
    parts += [amount(images, "image")] if images else []
    if not parts:
        text = (
            f"The summarizer sees all of that: no tool result goes beyond {limit}, and there is no thinking or image."
        )
        return Reason("all_reachable", text)
    return Reason("unreachable", f"The summarizer never sees {listed(parts)}. What is said only there is lost.")


def _skip_text(made: Decision, skip: Skip) -> str:
    """Why there is nothing to do, and what could be done about it."""
    leaf = made.measured.projection.branch.leaf
    if skip.reason == "already_compacted" and leaf is not None:
        todo = "Go on with the session, or name an earlier entry with --leaf."
        return f"The newest entry, {named(leaf)}, is a compaction, so there is nothing new to summarize. {todo}"
    if skip.reason == "nothing_to_compact":
        return _nothing_text(made)
    if skip.reason == "kept_tail_over_limit":
        return _over_limit_text(made)
    since = " since the previous compaction" if made.range_start else ""
    todo = "Go on with the session, or name another branch with --leaf."
    return f"There is no message{since} that a summary could replace. {todo}"


def _nothing_text(made: Decision) -> str:
    """Why everything is kept, and whether a smaller budget would change that."""
    messages = sum(len(made.measured.measures[n].roles) for n in made.tail)
    kept = made.tokens(made.tail)
    since = " since the previous compaction" if made.range_start else ""
    whole = f"{amount(messages, 'message')} with {amount(kept, 'token')} by {made.counter}"
    text = f"Nothing is left to summarize, for the kept tail takes all there is{since}: {whole}. {_nothing_cause(made)}"
    if _smaller_budget_helps(made):
        below = min(kept, made.budget_tokens)
        return f"{text} A smaller --keep-recent-tokens, below {below:,}, can leave something to summarize."
    return f"{text} No smaller budget helps: no later entry may start a kept tail."


def _nothing_cause(made: Decision) -> str:
    """Whether the budget takes everything, or no place to cut leaves anything."""
    if all(CUT_ROLES.isdisjoint(made.measured.measures[n].roles) for n in made.tail):
        return "No entry may start a kept tail."
    budget = f"The budget of {amount(made.budget_tokens, 'token')} to keep"
    if made.cut is not None and made.cut.crossing is not None:
        crossing = made.sized(made.cut.crossing)
        return f"{budget} is reached at {crossing}, and the nearest place to cut leaves no message before it."
    return f"{budget} is not reached."


def _smaller_budget_helps(made: Decision) -> bool:
    """True when the smallest budget would leave a message to summarize."""
    cut = find_cut(made.measured, made.range_start, 1, exact=made.exact)
    return any(set(m.roles) - {"system"} for m in made.measured.measures[made.range_start : cut.index])


def _over_limit_text(made: Decision) -> str:
    """What makes the kept tail larger than the context may be."""
    kept = f"The kept tail alone would have {amount(made.tokens(made.tail), 'token')}"
    limit = f"more than the threshold of {made.threshold_tokens:,}"
    text = f"{kept}, {limit}, so no summary of the rest can bring the context below it."
    at = made.largest(made.tail)
    if at is not None:
        text += f" Its largest message is {made.sized(at)}."
    return text + " Set a smaller --keep-recent-tokens, or use a model with a larger window."
