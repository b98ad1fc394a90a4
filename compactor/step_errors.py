"""How far off predictions of steps are: the figures by which counters are compared."""

from collections.abc import Sequence
from dataclasses import dataclass

WARM_UP_STEPS = 20
"""The first steps of a session are not counted in errors, for any counter."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepErrors:
    """How far off the predictions of steps were."""

    steps: int
    predicted: float
    """Sum over the steps that count, in tokens."""
    reported: int
    median: float | None
    """Of |predicted - reported| / reported over the steps; None without steps."""
    p90: float | None

    @property
    def ratio(self) -> float | None:
        """Predicted tokens a reported one; None without steps."""
        return self.predicted / self.reported if self.reported else None


def step_errors(pairs: Sequence[tuple[float, int]]) -> StepErrors:
    """The errors of steps, given as (predicted, reported growth); the first `WARM_UP_STEPS` do not count."""
    counted = pairs[WARM_UP_STEPS:]
    errors = sorted(abs(predicted - reported) / reported for predicted, reported in counted)
    return StepErrors(
        steps=len(counted),
        predicted=sum(predicted for predicted, _ in counted),
        reported=sum(reported for _, reported in counted),
        median=_quantile(errors, 0.5),
        p90=_quantile(errors, 0.9),
    )


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The value that so large a share of the ordered values does not exceed, between two of them in proportion."""
    if not ordered:
        return None
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
