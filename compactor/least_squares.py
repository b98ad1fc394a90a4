"""A linear estimate that is corrected by one observation after the other, with a prior to start from.

Recursive least squares: weights and their covariance in, one row of features and what was observed; the same order of
observations gives the same weights, whoever reads the session again. Each observation counts by its relative error, so
that small and large steps matter alike, and one that is far off everything seen before counts little.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

OUTLIER_SDS = 3.0
"""An observation further off than so many standard deviations is trusted less the further off it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """What is believed before anything was observed: a mean and a standard deviation for each weight."""

    mean: tuple[float, ...]
    deviation: tuple[float, ...]


class LeastSquares:
    """Weights of a linear estimate, none of them negative in use."""

    __slots__ = ("_covariance", "_floor", "_noise", "_weights")

    def __init__(self, prior: Prior, *, noise: float, floor: float) -> None:
        """Starts from a prior.

        Args:
            prior: one mean and deviation a feature.
            noise: the standard deviation of an observation, as a share of what was expected.
            floor: what was expected counts as at least this much.
        """
        self._weights = list(prior.mean)
        size = len(self._weights)
        self._covariance = [[prior.deviation[i] ** 2 if i == j else 0.0 for j in range(size)] for i in range(size)]
        self._noise = noise
        self._floor = floor

    @property
    def weights(self) -> tuple[float, ...]:
        """The weights as they are used: never negative."""
        return tuple(max(0.0, weight) for weight in self._weights)

    def estimate(self, row: Sequence[float]) -> float:
        """What the weights make of a row; never negative for a row without negative features."""
        return sum(max(0.0, weight) * value for weight, value in zip(self._weights, row, strict=True))

    def observe(self, row: Sequence[float], found: float) -> Self:
        """Moves the weights towards what was observed for a row."""
        weights, covariance = self._weights, self._covariance
        used = [n for n, value in enumerate(row) if value]
        expected = sum(weights[n] * row[n] for n in used)
        pulled = [sum(line[n] * row[n] for n in used) for line in covariance]
        spread = sum(row[n] * pulled[n] for n in used)
        variance = (self._noise * max(abs(expected), self._floor)) ** 2
        miss = found - expected
        sds = abs(miss) / (spread + variance) ** 0.5
        if sds > OUTLIER_SDS:
            variance *= (2 * sds / OUTLIER_SDS) ** 2
        total = spread + variance
        if not used or not total < float("inf"):
            return self
        gain = [value / total for value in pulled]
        for n, share in enumerate(gain):
            weights[n] += share * miss
            line = covariance[n]
            for k, value in enumerate(pulled):
                line[k] -= share * value
        return self


class Drift:
    """By how much found amounts exceed expected ones in sum, the newer ones counting more."""

    __slots__ = ("_expected", "_found", "_keep", "_smoothing")

    def __init__(self, *, smoothing: float, keep: float) -> None:
        """Starts at a ratio of 1.

        Args:
            smoothing: an amount that counts as expected and found from the start.
            keep: the part of its weight that an amount keeps when another one comes.
        """
        self._smoothing = smoothing
        self._keep = keep
        self._expected = 0.0
        self._found = 0.0

    @property
    def ratio(self) -> float:
        """Found a expected amount; 0 at least."""
        return max(0.0, self._found + self._smoothing) / (self._expected + self._smoothing)

    def add(self, expected: float, found: float) -> None:
        """Takes in what was found where so much, which is not negative, was expected."""
        self._expected = self._keep * self._expected + expected
        self._found = self._keep * self._found + found
