"""Rates with intervals, and paired comparisons."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evals.stats import Counted, clustered_rate, compared, holm, mcnemar_p, wilson


@pytest.mark.parametrize(
    ("hits", "n", "expected"),
    [
        # scipy 1.14 binomtest(...).proportion_ci(method="wilson")
        (0, 10, (0.0, 0.277533)),
        (5, 10, (0.236593, 0.763407)),
        (10, 10, (0.722467, 1.0)),
        (81, 263, (0.255289, 0.366194)),
    ],
)
def test_wilson_gives_the_published_interval(hits: int, n: int, expected: tuple[float, float]) -> None:
    assert wilson(hits, n) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    # scipy 1.14 binomtest(first, first + second).pvalue
    [(0, 0, None), (5, 5, 1.0), (1, 9, 0.021484375), (0, 6, 0.03125), (12, 3, 0.03515625)],
)
def test_mcnemar_counts_only_the_pairs_that_differ(first: int, second: int, expected: float | None) -> None:
    assert mcnemar_p(first, second) == expected


def test_clusters_widen_the_interval_of_facts_that_belong_together() -> None:
    together = clustered_rate([Counted(hits=20, n=20), Counted(hits=0, n=20)] * 4, seed=1)
    apart = clustered_rate([Counted(hits=10, n=20)] * 4 + [Counted(hits=11, n=20), Counted(hits=9, n=20)] * 2, seed=1)
    assert together.value == apart.value == 0.5
    assert None not in (together.low, together.high, apart.low, apart.high)
    assert together.high - together.low > 3 * (apart.high - apart.low)  # type: ignore[operator]


def test_without_facts_nothing_is_said() -> None:
    for counts in ([], [Counted(hits=0, n=0)]):
        rate = clustered_rate(counts, seed=1)
        assert (rate.value, rate.low, rate.high, rate.clusters) == (None, None, None, 0)


@pytest.mark.parametrize("counts", [[Counted(hits=3, n=4)], [Counted(hits=4, n=4)] * 5])
def test_one_cluster_or_clusters_all_alike_do_not_give_an_interval_of_no_width(counts: list[Counted]) -> None:
    rate = clustered_rate(counts, seed=1)
    assert (rate.low, rate.high) == wilson(rate.hits, rate.n)


counted = st.integers(0, 30).flatmap(lambda n: st.integers(0, n).map(lambda hits: Counted(hits=hits, n=n)))


@given(st.lists(counted, max_size=8), st.integers(0, 5))
def test_an_interval_holds_its_rate_and_is_the_same_for_the_same_seed(counts: list[Counted], seed: int) -> None:
    rate = clustered_rate(counts, seed=seed, resamples=100)
    assert rate == clustered_rate(counts, seed=seed, resamples=100)
    if rate.value is not None and rate.low is not None and rate.high is not None:
        assert 0 <= rate.low <= rate.value <= rate.high <= 1


def test_a_difference_in_every_session_is_told_from_chance() -> None:
    better = {f"s{n}": [(True, n % 3 == 0)] * 10 for n in range(9)}
    found = compared(better, seed=3)
    assert found.difference == pytest.approx(2 / 3)
    assert found.low is not None and found.low > 0
    assert found.permutation_p == pytest.approx(2 / 2**6)
    assert found.mcnemar_p is not None and found.mcnemar_p < 1e-9


def test_one_session_alone_gives_no_p_value_over_sessions() -> None:
    found = compared({"s": [(True, False)] * 6, "empty": []}, seed=3)
    assert (found.pairs, found.permutation_p, found.low, found.detectable) == (6, None, None, None)
    assert found.mcnemar_p == 2 / 2**6


def test_no_difference_at_all() -> None:
    found = compared({f"s{n}": [(True, True), (False, False)] for n in range(4)}, seed=3)
    assert (found.difference, found.permutation_p, found.mcnemar_p, found.detectable) == (0, 1, None, None)
    assert compared({}, seed=3).difference is None


def test_more_clusters_make_smaller_differences_detectable() -> None:
    def study(clusters: int) -> float:
        pairs = {f"s{n:03}": [(n % 2 == 0, n % 3 == 0)] * 5 for n in range(clusters)}
        found = compared(pairs, seed=3, resamples=50).detectable
        assert found is not None
        return found

    assert study(60) == pytest.approx(study(15) / 2, rel=0.1)


@given(st.dictionaries(st.text(max_size=3), st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6), max_size=15))
def test_swapping_the_conditions_changes_the_sign_and_no_p_value(pairs: dict[str, list[tuple[bool, bool]]]) -> None:
    one = compared(pairs, seed=3, resamples=60)
    two = compared({name: [(b, a) for a, b in found] for name, found in pairs.items()}, seed=3, resamples=60)
    assert (one.difference or 0) == -(two.difference or 0)
    assert one.permutation_p == two.permutation_p
    assert one.mcnemar_p == two.mcnemar_p


def test_holm_adjusts_for_all_values_and_keeps_their_order() -> None:
    # R 4.4 p.adjust(c(.01, .04, .03, .005), "holm")
    adjusted = holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005})
    assert adjusted == pytest.approx({"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02})
    assert list(adjusted) == ["a", "b", "c", "d"]
    assert holm({}) == {}
