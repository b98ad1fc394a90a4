"""What a decision to compact rests on: the outcome of planning, with the figures that led to it.

Takes what planning took and gave (`planned.Planned`); gives a `Decision`, the common ground of `cut_reasons.py`,
`traps.py` and `explain.py`. Indexes count context entries, as those of `plan.Cut` do; `#N` in a text is the N-th entry
of the file.
"""

from dataclasses import dataclass
from typing import Protocol

from compactor.counter_error import CounterError, counter_error
from compactor.entries import Entry
from compactor.measure import Measured
from compactor.plan import CompactionPlan, Cut, Skip, find_cut
from compactor.settings import CompactionSettings
from compactor.tokens import ContextTokens, Counter
from compactor.wording import amount, kind_of, shown_id


class Outcome(Protocol):
    """A plan beside all that it was made from, as `planned.Planned` holds them."""

    @property
    def plan(self) -> CompactionPlan | Skip:
        """What `plan_compaction` gave for the rest."""
        ...

    @property
    def measured(self) -> Measured:
        """The projection and its measures."""
        ...

    @property
    def context(self) -> ContextTokens:
        """The size of the context."""
        ...

    @property
    def settings(self) -> CompactionSettings:
        """Window, reserve and budget."""
        ...

    @property
    def counter(self) -> Counter:
        """What made every estimate."""
        ...

    @property
    def exact(self) -> bool:
        """True when planned as Pi 1.6.0 does."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A plan, or the reason why there is none, beside its inputs."""

    plan: CompactionPlan | Skip
    measured: Measured
    context: ContextTokens
    settings: CompactionSettings
    counter_name: str
    exact: bool
    cut: Cut | None
    """Where the cut is, or would be where keeping everything is the reason for a skip; None if none was sought."""
    range_start: int
    """First entry that may be summarized."""
    counter_error: CounterError | None = None
    """How far off the counter is on this context, None if too few sizes were reported."""

    @property
    def threshold_tokens(self) -> int:
        """A larger context triggers; zero or below if the reserve fills the window."""
        return self.settings.context_window - self.settings.reserve_tokens

    @property
    def budget_tokens(self) -> int:
        """How much recent context was asked to be kept."""
        return self.settings.keep_recent_tokens

    @property
    def counter(self) -> str:
        """The counter, as a text calls it."""
        return f"the {self.counter_name} counter"

    @property
    def tail(self) -> range:
        """The entries that are kept, or would be; empty if no cut was sought."""
        end = len(self.measured.measures)
        return range(end if self.cut is None else self.cut.index, end)

    def entry(self, n: int) -> Entry:
        """The n-th context entry."""
        return self.measured.projection.entries[n].entry

    def name(self, n: int) -> str:
        """The n-th context entry in a text: place in the file and id."""
        return named(self.entry(n))

    def kind(self, n: int) -> str:
        """What the n-th context entry is."""
        return kind_of(self.measured.measures[n].roles)

    def sized(self, n: int) -> str:
        """The n-th context entry in a text: its name, what it is, and its size."""
        return f"{self.name(n)}, {self.kind(n)} of {amount(self.message_tokens(n), 'token')}"

    def message_tokens(self, n: int) -> int:
        """Tokens of the n-th context entry without system messages, which no cut frees."""
        return self.measured.measures[n].tokens - self.measured.measures[n].system_tokens

    def tokens(self, span: range) -> int:
        """Tokens of consecutive context entries, system messages included."""
        return sum([m.tokens for m in self.measured.measures[span.start : span.stop]])

    def largest(self, span: range) -> int | None:
        """The entry with the most tokens, the first of equals; None if none has any."""
        sizes = [m.tokens - m.system_tokens for m in self.measured.measures[span.start : span.stop]]
        most = max(sizes, default=0)
        return span.start + sizes.index(most) if most else None


def named(entry: Entry) -> str:
    """An entry in a text: `#12 (1a2b3c4d)`."""
    return f"#{entry.index} ({shown_id(entry.id)})"


def decision(outcome: Outcome) -> Decision:
    """The decision that led to a plan, or to none."""
    plan, measured = outcome.plan, outcome.measured
    entries = measured.projection.entries
    follows = bool(entries) and entries[0].entry.type == "compaction" and bool(measured.measures[0].roles)
    start, cut = int(follows), None
    if isinstance(plan, CompactionPlan):
        start, cut = plan.range_start, plan.cut
    elif plan.reason in ("nothing_to_compact", "kept_tail_over_limit"):
        cut = find_cut(measured, start, outcome.settings.keep_recent_tokens, exact=outcome.exact)
    return Decision(
        plan=plan,
        measured=measured,
        context=outcome.context,
        settings=outcome.settings,
        counter_name=outcome.counter.name,
        exact=outcome.exact,
        cut=cut,
        range_start=start,
        counter_error=counter_error(measured, outcome.counter),
    )
