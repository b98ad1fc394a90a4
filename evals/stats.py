"""Rates with intervals, and comparisons that know what is paired and what belongs together.

Takes counts by cluster (a session, a document); gives intervals and p-values. Facts of one session are not independent,
so whole clusters are resampled, never single facts. Everything random takes a seed: the same input gives the same
figures. Sources: Wilson 1927; Efron and Tibshirani 1993 (percentile bootstrap over clusters); McNemar 1947 (exact);
Holm 1979.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

Z95 = 1.959963984540054
"""Standard normal quantile for 95 % on both sides."""

Z80 = 0.8416212335729143
"""Standard normal quantile for a power of 80 %."""

RESAMPLES = 2000
"""Enough that the ends of a 95 % interval move by less than a percentage point from seed to seed."""

EXACT_CLUSTERS = 12
"""Up to so many clusters all sign changes are tried (4,096); beyond that a random part of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """How many of the facts of one cluster have a property."""

    hits: int
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A share with what it rests on."""

    hits: int
    n: int
    clusters: int
    """Clusters with any fact at all."""
    low: float | None
    """End of the 95 % interval; None without facts."""
    high: float | None

    @property
    def value(self) -> float | None:
        """The share; None without facts."""
        return self.hits / self.n if self.n else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """Two conditions on the same facts."""

    pairs: int
    difference: float | None
    """Rate of the first less that of the second; None without pairs."""
    low: float | None
    high: float | None
    permutation_p: float | None
    """Two-sided, signs changed by cluster; None with fewer than two clusters."""
    mcnemar_p: float | None
    """Two-sided and exact, as if all pairs were independent."""
    detectable: float | None
    """The smallest difference that so many clusters would show in four of five studies; None if it can't be told."""


def wilson(hits: int, n: int) -> tuple[float, float] | None:
    """The 95 % interval of a share of independent cases; None without cases."""
    if n <= 0:
        return None
    share, z2 = hits / n, Z95 * Z95
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n)) / (1 + z2 / n)
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def clustered_rate(counts: Sequence[Counted], *, seed: int, resamples: int = RESAMPLES) -> Rate:
    """The pooled share over clusters; with one cluster alone, or none that differs, the interval is Wilson's.

    Clusters that all have the same share would give an interval of no width, which nobody should believe.
    """
    used = [c for c in counts if c.n > 0]
    hits, n = sum(c.hits for c in used), sum(c.n for c in used)
    plain = wilson(hits, n)
    if plain is None:
        return Rate(hits=0, n=0, clusters=0, low=None, high=None)
    if len(used) > 1:
        chance = Random(seed)
        shares = []
        for _ in range(resamples):
            drawn = chance.choices(used, k=len(used))
            shares.append(sum(c.hits for c in drawn) / sum(c.n for c in drawn))
        low, high = _middle_95(shares)
        if high > low:
            return Rate(hits=hits, n=n, clusters=len(used), low=min(low, hits / n), high=max(high, hits / n))
    return Rate(hits=hits, n=n, clusters=len(used), low=plain[0], high=plain[1])


def compared(pairs: Mapping[str, Sequence[tuple[bool, bool]]], *, seed: int, resamples: int = RESAMPLES) -> Compared:
    """The first condition against the second on the same facts.

    Args:
        pairs: cluster -> for each fact whether it survived under the first and under the second condition.
        seed: of the resampling and of the sign changes.
        resamples: how many of either.
    """
    used = [list(found) for _, found in sorted(pairs.items()) if found]
    total = sum(len(found) for found in used)
    if not total:
        return Compared(
            pairs=0, difference=None, low=None, high=None, permutation_p=None, mcnemar_p=None, detectable=None
        )
    gains = [(sum(int(a) - int(b) for a, b in found), len(found)) for found in used]
    difference = sum(gain for gain, _ in gains) / total
    low = high = None
    if len(used) > 1:
        chance = Random(seed)
        drawn = [chance.choices(gains, k=len(gains)) for _ in range(resamples)]
        low, high = _middle_95([sum(g for g, _ in some) / sum(n for _, n in some) for some in drawn])
    first = sum(a and not b for found in used for a, b in found)
    second = sum(b and not a for found in used for a, b in found)
    return Compared(
        pairs=total,
        difference=difference,
        low=low,
        high=high,
        permutation_p=_permutation_p([gain for gain, _ in gains], seed=seed, resamples=resamples),
        mcnemar_p=mcnemar_p(first, second),
        detectable=_detectable(gains, total),
    )


def _middle_95(values: Sequence[float]) -> tuple[float, float]:
    ordered = sorted(values)
    cut = int(0.025 * len(ordered))
    return ordered[cut], ordered[-1 - cut]


def _permutation_p(gains: Sequence[int], *, seed: int, resamples: int) -> float | None:
    """How often changing the sign of whole clusters gives a sum at least as far from zero."""
    if len(gains) < 2:
        return None
    observed = abs(sum(gains))
    if len(gains) <= EXACT_CLUSTERS:
        sums = [
            abs(sum(s * g for s, g in zip(signs, gains, strict=True))) for signs in product((1, -1), repeat=len(gains))
        ]
        return sum(found >= observed for found in sums) / len(sums)
    chance = Random(seed)
    beyond = sum(abs(sum(g * chance.choice((1, -1)) for g in gains)) >= observed for _ in range(resamples))
    return (beyond + 1) / (resamples + 1)


def mcnemar_p(first_only: int, second_only: int) -> float | None:
    """Two-sided exact p-value of the pairs that differ; None if none does."""
    n = first_only + second_only
    if not n:
        return None
    tail = sum(math.comb(n, k) for k in range(min(first_only, second_only) + 1))
    return min(1.0, math.ldexp(2.0 * tail, -n))


def _detectable(gains: Sequence[tuple[int, int]], total: int) -> float | None:
    """The smallest true difference found with 80 % power at 5 %, from the spread between clusters."""
    if len(gains) < 2:
        return None
    mean = sum(gain for gain, _ in gains) / total
    # Residuals of a ratio estimate: clusters weigh by their facts.
    spread: float = sum((gain - mean * n) ** 2 for gain, n in gains) / (len(gains) - 1)
    if not spread:
        return None
    return (Z95 + Z80) * math.sqrt(len(gains) * spread) / total


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Each p-value adjusted for all of them, in the order given; never below its own, never above 1."""
    ordered = sorted(p_values.items(), key=lambda item: item[1])
    adjusted: dict[str, float] = {}
    so_far = 0.0
    for n, (name, p) in enumerate(ordered):
        so_far = max(so_far, min(1.0, p * (len(ordered) - n)))
        adjusted[name] = so_far
    return {name: adjusted[name] for name in p_values}
