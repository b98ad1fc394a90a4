"""Why the cut is where it is, how large the kept tail is, and whether a turn is split.

Takes a decision whose outcome is a plan; gives reasons in the order in which the cut came about. The rules told here
are those of `plan.py`.
"""

from collections.abc import Iterator

import msgspec

from compactor.decision import Decision
from compactor.plan import TURN_START_ROLES, CompactionPlan, Cut
from compactor.wording import amount, share

FAR_OVER = 1.5
"""A kept tail of this many times the budget is worth a word: the crossing message alone is half a budget or more."""

FAR_UNDER = 0.25
"""So is one of less than this part of the budget: what was recent went into the summary."""


class Reason(msgspec.Struct, frozen=True):
    """One step of an explanation."""

    code: str
    """Stable, snake_case."""
    text: str
    """Whole sentences, in one line."""


def cut_reasons(decision: Decision, plan: CompactionPlan) -> list[Reason]:
    """Why the kept tail starts where it does, and what that means for its size and for the turn."""
    return [_place(decision, plan.cut), *_moves(decision, plan.cut), *_tail(decision, plan), _turn(decision, plan)]


def is_far_over(decision: Decision, plan: CompactionPlan) -> bool:
    """True when the kept tail is much larger than what was asked to be kept."""
    return 0 < decision.budget_tokens * FAR_OVER <= plan.kept_tokens


def swallowed(decision: Decision, plan: CompactionPlan) -> int | None:
    """The largest recent entry that the budget had paid for and that is summarized all the same.

    None unless that leaves the kept tail far below the budget.
    """
    cut = plan.cut
    if cut.crossing is None or cut.moved_for_recovery or plan.kept_tokens >= decision.budget_tokens * FAR_UNDER:
        return None
    return decision.largest(range(cut.crossing, cut.index))


def _place(decision: Decision, cut: Cut) -> Reason:
    """Where the budget was reached, and the first permitted entry from there on."""
    budget = f"Counted back from the end, the budget of {amount(decision.budget_tokens, 'token')} to keep"
    at = f"{decision.name(cut.permitted)}, {decision.kind(cut.permitted)}"
    if cut.crossing is None:
        whole = decision.tokens(range(decision.range_start, len(decision.measured.measures)))
        since = " since the previous compaction" if decision.range_start else ""
        text = (
            f"{budget} is never reached: all entries{since} have {whole:,}. The first that may start the kept tail is"
        )
        return Reason("budget_not_reached", f"{text} {at}.")
    reached = f"{budget} is reached at {decision.name(cut.crossing)}, {decision.kind(cut.crossing)}"
    if cut.permitted == cut.crossing:
        return Reason("cut_at_crossing", f"{reached}; the cut is right before it.")
    if cut.permitted > cut.crossing:
        text = f"{reached}, which may not start the kept tail. The next entry that may is {at}."
        return Reason("cut_after_crossing", text)
    text = f"{reached}. No entry from there to the end may start the kept tail; the last one before that may is {at}."
    return Reason("cut_last_permitted", text)


def _moves(decision: Decision, cut: Cut) -> Iterator[Reason]:
    """What moved the cut away from the permitted entry."""
    paired = cut.permitted + cut.moved_for_pairs
    if cut.moved_for_pairs:
        way = "back" if cut.moved_for_pairs < 0 else "forward"
        steps = amount(abs(cut.moved_for_pairs), "entry", "entries")
        to = decision.name(paired)
        text = f"From there the cut moved {way} by {steps} to {to}, to keep every call on the same side as its result."
        yield Reason(f"cut_moved_{way}", text)
    if cut.moved_for_recovery:
        text = (
            f"The cut moved past {decision.name(paired)}, because after it there is only a failed attempt of the "
            "assistant that was taken out of the context."
        )
        yield Reason("cut_moved_past_failed_attempt", text)
    silent = paired + cut.moved_for_recovery - cut.index
    if silent > 0:
        what = amount(silent, "entry", "entries") + " without a message"
        text = f"The {what} right before it {'goes' if silent == 1 else 'go'} along, so the first kept entry is "
        yield Reason("cut_takes_silent_entries", f"{text}{decision.name(cut.index)}.")


def _tail(decision: Decision, plan: CompactionPlan) -> Iterator[Reason]:
    """The true size of the kept tail against what was asked for, and the message that is to blame."""
    budget, kept = decision.budget_tokens, plan.kept_tokens
    size = f"{amount(kept, 'token')} in {amount(plan.kept_messages, 'message')} by {decision.counter}"
    ratio = f"{share(kept, budget)} of " if budget else "against "
    text = f"The kept tail from {decision.name(plan.cut.index)} on has {size}, {ratio}the budget of {budget:,}."
    yield Reason("kept_tail", text)
    if is_far_over(decision, plan) and (at := decision.largest(decision.tail)) is not None:
        part = share(decision.message_tokens(at), kept)
        text = f"The largest message in it is {decision.sized(at)}, {part} of the tail; no message is ever cut in two."
        yield Reason("kept_tail_cause", text)
    elif (at := swallowed(decision, plan)) is not None:
        text = f"It is that small because {decision.sized(at)}, used up the budget and yet lies before the cut."
        yield Reason("kept_tail_cause", text)


def _turn(decision: Decision, plan: CompactionPlan) -> Reason:
    """Whether the cut lies inside of a turn, and what brought that about."""
    opening = next((n for n in decision.tail if decision.measured.measures[n].roles), None)
    start = plan.cut.turn_start
    if start is None:
        return Reason("turn_not_split", _whole_turn_text(decision, opening))
    turn = f"the turn that starts at {decision.name(start)}"
    if opening is None:
        text = f"Nothing that the model sees is kept, so {turn} is summarized to its end, as a turn prefix."
        return Reason("turn_prefix_whole", text)
    if _starts_turn(decision, opening):
        text = (
            f"The kept tail begins with an entry without a message, so {turn} counts as split, although all of it is "
            f"summarized: the next turn starts at {decision.name(opening)}."
        )
        return Reason("turn_prefix_whole", text)
    text = (
        f"The cut splits {turn}: {decision.name(opening)} is {decision.kind(opening)} inside of it. The "
        f"{amount(plan.prefix_messages, 'message')} of that turn before the cut {_is_are(plan.prefix_messages)} "
        f"summarized apart from the history. {_split_cause(decision, start)}"
    )
    return Reason("split_turn", text)


def _whole_turn_text(decision: Decision, opening: int | None) -> str:
    if opening is not None and _starts_turn(decision, opening):
        return f"No turn is split: the kept tail starts with {decision.kind(opening)}, which starts a turn."
    return "No turn is split: what may be summarized holds no start of a turn before the cut."


def _split_cause(decision: Decision, start: int) -> str:
    """Whether the turn was too long to keep, or the budget merely ended inside of it."""
    measures, budget = decision.measured.measures, decision.budget_tokens
    end = next((n for n in range(start + 1, len(measures)) if _starts_turn(decision, n)), len(measures))
    size = sum([m.tokens - m.system_tokens for m in measures[start:end]])
    if size > budget:
        return f"The whole turn has {amount(size, 'token')}, more than the budget of {budget:,}."
    longest = max(_turn_sizes(decision).values())
    fits = "no turn is longer than the budget" if longest <= budget else "it would fit into the budget"
    return f"The whole turn has {amount(size, 'token')}; {fits}, so the split is only due to where the budget ends."


def _turn_sizes(decision: Decision) -> dict[int, int]:
    """Tokens of each turn that may be summarized, by the entry that starts it."""
    measures = decision.measured.measures
    starts = [
        n for n in range(decision.range_start, len(measures)) if not TURN_START_ROLES.isdisjoint(measures[n].roles)
    ]
    starts = [n for n in starts if _starts_turn(decision, n)]
    ends = [*starts[1:], len(measures)]
    return {
        start: sum([m.tokens - m.system_tokens for m in measures[start:end]])
        for start, end in zip(starts, ends, strict=False)
    }


def _starts_turn(decision: Decision, n: int) -> bool:
    starts = not TURN_START_ROLES.isdisjoint(decision.measured.measures[n].roles)
    return starts and decision.entry(n).type != "compaction"


def _is_are(number: int) -> str:
    return "is" if number == 1 else "are"
