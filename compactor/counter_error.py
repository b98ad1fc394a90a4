"""How far off a counter is on the context at hand, judged by the sizes that the provider reported along it.

Takes a measured projection; gives sums over the stretches between two replies with reported usage. It costs no second
look at the text. A counter that takes over reported sizes can't be judged so and brings its own errors along.
"""

from dataclasses import dataclass

from compactor.measure import Measured
from compactor.projection import Projection
from compactor.tokens import Counter

MIN_STEPS = 5
"""Fewer stretches say too little about a counter."""

TURN_ROLES = frozenset({"user", "bashExecution", "custom", "branchSummary"})
"""A message of such a role opens a turn; Pi 1.6.0 compaction.js isTurnStartEntry, but for summaries of compactions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterError:
    """What a counter made of stretches whose size was reported."""

    steps: int
    ratio: float
    """Counted tokens a reported one."""
    median: float | None
    """Of the relative errors of single steps; None where only the sums are known."""
    turn_tokens: float | None
    """Reported growth a turn; None if no turn began."""


def counter_error(measured: Measured, counter: Counter) -> CounterError | None:
    """The error of the counter that measured the projection; None if too few sizes were reported."""
    steps = _sums(measured)
    learnt = counter.errors
    if learnt is not None:
        ratio, median = learnt.ratio, learnt.median
        return (
            None
            if ratio is None
            else CounterError(steps=learnt.steps, ratio=ratio, median=median, turn_tokens=steps.turn_tokens)
        )
    if steps.steps < MIN_STEPS or steps.reported <= 0 or not steps.counted:
        return None
    ratio = steps.counted / steps.reported
    return CounterError(steps=steps.steps, ratio=ratio, median=None, turn_tokens=steps.turn_tokens)


@dataclass(slots=True)
class _Sums:
    steps: int = 0
    counted: int = 0
    reported: int = 0
    turns: int = 0

    @property
    def turn_tokens(self) -> float | None:
        return self.reported / self.turns if self.turns and self.reported > 0 else None


def _sums(measured: Measured) -> _Sums:
    """Counted and reported tokens of the stretches over which the context grew, and the turns that began there."""
    sums = _Sums()
    reset = _reset_index(measured.projection)
    before = before_index = 0
    counted = turns = 0
    for projected, found in zip(measured.projection.entries, measured.measures, strict=True):
        counted += found.tokens - found.system_tokens
        turns += not TURN_ROLES.isdisjoint(found.roles)
        if not found.usage_tokens:
            continue
        index = projected.entry.index
        growth = found.usage_tokens - before
        if before and growth > 0 and (before_index < reset) == (index < reset):
            sums.steps += 1
            sums.counted += counted
            sums.reported += growth
            sums.turns += turns
        before, before_index, counted, turns = found.usage_tokens, index, 0, 0
    return sums


def _reset_index(projection: Projection) -> int:
    """Place in the file of the newest compaction or edit; sizes reported before and after it do not compare."""
    at = projection.newest_reset
    return projection.branch.entries[at].index if at >= 0 else 0
