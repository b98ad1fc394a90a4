"""Warnings before a compaction: settings that defeat it, figures that mislead, messages that no cut can tame.

Takes a decision; gives `SessionWarning`s with stable codes. A healthy session with sound settings gives none.
"""

from collections.abc import Iterator

from compactor.cut_reasons import is_far_over, swallowed
from compactor.decision import Decision
from compactor.entries import SessionWarning
from compactor.message_measure import CHARS_PER_TOKEN
from compactor.plan import CompactionPlan
from compactor.tokens import PiCounter
from compactor.wording import amount, roughly, times

UNDERCOUNT = 0.2
"""A likely size that exceeds the estimate by this part is worth a warning; English text and code stay well below."""


OFF_SHARE = 0.02
"""Of the window: an estimate that is further off than this moves the trigger."""

UNSEEN_TOKENS = 20_000
"""What an agent's system prompt and tools cost at most, as a rule; older session files don't hold them."""

FAR_BELOW = 1.5
"""A provider that counts this many times the estimate, `UNSEEN_TOKENS` aside, makes a budget mean something else."""


def traps(decision: Decision) -> list[SessionWarning]:
    """What may mislead or go wrong, in the order settings, context figure, kept tail, single messages."""
    found = [*_settings(decision), *_context(decision), *_trigger_off(decision)]
    if isinstance(decision.plan, CompactionPlan):
        found += _kept_tail(decision, decision.plan)
    return [*found, *_huge_message(decision), *_undercounted(decision)]


def _settings(decision: Decision) -> Iterator[SessionWarning]:
    """Settings that make compaction fire always, or again at once."""
    settings, threshold = decision.settings, decision.threshold_tokens
    if settings.sources.get("context_window") == "default":
        text = (
            "the model's context window is not known and is assumed to be "
            f"{amount(settings.context_window, 'token')}: set --context-window"
        )
        yield SessionWarning(code="window_unknown", message=text)
    if threshold <= 0:
        text = (
            f"the reserve of {amount(settings.reserve_tokens, 'token')} fills the whole window of "
            f"{settings.context_window:,}, so every context triggers: set --reserve-tokens to less than the window"
        )
        yield SessionWarning(code="reserve_not_below_window", message=text)
    elif decision.budget_tokens >= threshold:
        text = (
            f"the budget of {amount(decision.budget_tokens, 'token')} to keep is not below the threshold of "
            f"{threshold:,}, so compaction could fire again at once: set --keep-recent-tokens well below it"
        )
        yield SessionWarning(code="keep_not_below_threshold", message=text)


def _context(decision: Decision) -> Iterator[SessionWarning]:
    """A context size without the provider's word for it."""
    context = decision.context
    if context.usage_tokens:
        yield from _far_below(decision)
    elif context.stale_usage_tokens:
        text = (
            f"the newest size that the provider reported, {amount(context.stale_usage_tokens, 'token')}, is left "
            "aside: a compaction or an edit of the context came after it; until the next reply the size is an estimate"
        )
        yield SessionWarning(code="stale_usage", message=text)
    elif context.tokens:
        low = ", which real providers exceed by 25 to 100% on code" if decision.counter_name == PiCounter.name else ""
        text = f"no reply reports its usage, so the size of the context is an estimate by {decision.counter}{low}"
        yield SessionWarning(code="no_usage", message=text)


def _trigger_off(decision: Decision) -> Iterator[SessionWarning]:
    """An estimate that is likely so far off that compaction fires in another turn than it should."""
    error, context = decision.counter_error, decision.context
    estimated = context.trailing_tokens
    if error is None or not estimated:
        return
    off = round(estimated / error.ratio) - estimated
    if abs(off) <= OFF_SHARE * decision.settings.context_window:
        return
    when = "late" if off > 0 else "early"
    text = (
        f"{decision.counter} saw {error.ratio:.0%} of what the provider reported over {amount(error.steps, 'step')}, "
        f"so of the context's {amount(context.tokens, 'token')} the estimated {estimated:,} are likely about "
        f"{roughly(estimated + off)}; the trigger comes about {roughly(abs(off))} too {when}"
    )
    if error.turn_tokens:
        text += f", some {amount(max(1, round(abs(off) / error.turn_tokens)), 'turn')} at this session's pace"
    if error.median is None:  # another counter has learnt nothing of this session
        text += "; --counter calibrated counts closer"
    yield SessionWarning(code=f"trigger_too_{when}", message=text)


def _far_below(decision: Decision) -> Iterator[SessionWarning]:
    """A counter that sees far less than the provider reported for the same messages."""
    measures, reported = decision.measured.measures, decision.context.usage_tokens
    newest = next(n for n in range(len(measures) - 1, -1, -1) if measures[n].usage_tokens)
    estimated = decision.tokens(range(newest + 1))
    if not 0 < estimated * FAR_BELOW <= reported - UNSEEN_TOKENS:
        return
    text = (
        f"the provider reported {amount(reported, 'token')} where {decision.counter} estimates {estimated:,}; a system "
        "prompt and tools that the file lacks explain only a part of it"
    )
    if isinstance(decision.plan, CompactionPlan):
        kept = decision.plan.kept_tokens
        text += f", so the kept tail of {kept:,} may really have up to about {roughly(kept * reported // estimated)}"
    yield SessionWarning(code="estimate_far_below_reported", message=text)


def _kept_tail(decision: Decision, plan: CompactionPlan) -> Iterator[SessionWarning]:
    """A kept tail far from what was asked for, too large to help, or with half of a pair."""
    budget, kept, threshold = decision.budget_tokens, plan.kept_tokens, decision.threshold_tokens
    if is_far_over(decision, plan):
        text = (
            f"the kept tail has {amount(kept, 'token')}, {times(kept, budget)} the {budget:,} asked for; they stay in "
            "the context beside the summary"
        )
        yield SessionWarning(code="kept_tail_over_budget", message=text)
    if 0 < threshold < kept:
        text = (
            f"the kept tail alone has {amount(kept, 'token')}, more than the threshold of {threshold:,}, so the "
            "context stays over it: set a smaller --keep-recent-tokens"
        )
        yield SessionWarning(code="kept_tail_over_threshold", message=text)
    if (at := swallowed(decision, plan)) is not None:
        text = (
            f"only {amount(kept, 'token')} of recent context {'is' if kept == 1 else 'are'} kept word for word of the "
            f"{budget:,} asked for: {decision.name(at)} took the budget and is summarized"
        )
        yield _about(decision, at, "kept_tail_under_budget", text)
    parted = _parted_calls(decision, plan)
    if parted:
        first, lost = decision.name(parted[0]), "lost its call" if len(parted) == 1 else "lost their calls"
        text = (
            f"{amount(len(parted), 'tool result')} of the kept tail {lost} to the summary, the first is {first}; "
            "providers refuse a result without its call: plan without --exact-pi"
        )
        yield _about(decision, parted[0], "call_parted_from_result", text)


def _parted_calls(decision: Decision, plan: CompactionPlan) -> list[int]:
    """Kept tool results whose call is summarized; only the exact mode of planning leaves any."""
    if not decision.exact:
        return []
    measures = decision.measured.measures
    summarized = {call for n in range(plan.range_start, plan.cut.index) for call in measures[n].calls}
    kept = {call for n in decision.tail for call in measures[n].calls}
    return [n for n in decision.tail if any(r in summarized and r not in kept for r in measures[n].results)]


def _huge_message(decision: Decision) -> Iterator[SessionWarning]:
    """One message that alone breaks the budget where it is kept, or fills half of the window wherever it is."""
    half = decision.settings.context_window // 2
    at = decision.largest(decision.tail)
    if at is not None and decision.message_tokens(at) > decision.budget_tokens > 0:
        limit = f"more than the budget of {decision.budget_tokens:,} to keep; it is kept whole"
    else:
        at = decision.largest(range(decision.range_start, len(decision.measured.measures)))
        limit = f"more than half of the window of {decision.settings.context_window:,}"
        if at is None or decision.message_tokens(at) <= half:
            return
    text = f"one message is huge: {decision.sized(at)}, {limit}"
    yield _about(decision, at, "huge_message", text)


def _undercounted(decision: Decision) -> Iterator[SessionWarning]:
    """Text in scripts with about one token a character, which a quarter token a character undercounts."""
    measures = decision.measured.measures
    if decision.counter_name != PiCounter.name or not any(m.wide_chars for m in measures):
        return
    spans = [("the messages of the context", range(len(measures)))]
    if isinstance(decision.plan, CompactionPlan):
        spans.append(("the kept tail", decision.tail))
    sizes = [(what, decision.tokens(span), _likely_tokens(decision, span)) for what, span in spans]
    if not any(likely > counted * (1 + UNDERCOUNT) for _, counted, likely in sizes):
        return
    parts = ", and ".join(
        f"{what}: {counted:,} by it, likely about {roughly(likely)}" for what, counted, likely in sizes
    )
    text = (
        f"{decision.counter} takes {CHARS_PER_TOKEN} characters for a token, but Chinese, Japanese and Korean are "
        f"nearer to one each ({parts}); --counter o200k counts closer"
    )
    yield SessionWarning(code="non_latin_undercounted", message=text)


def _likely_tokens(decision: Decision, span: range) -> int:
    wide = sum([m.wide_chars for m in decision.measured.measures[span.start : span.stop]])
    return decision.tokens(span) + wide - wide // CHARS_PER_TOKEN


def _about(decision: Decision, n: int, code: str, text: str) -> SessionWarning:
    entry = decision.entry(n)
    return SessionWarning(code=code, message=text, line=entry.line, entry_id=entry.id)
