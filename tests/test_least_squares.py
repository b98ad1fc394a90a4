"""Weights that follow what is observed, from a prior on."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.least_squares import Drift, LeastSquares, Prior

PRIOR = Prior(mean=(1.0, 10.0), deviation=(0.5, 10.0))


def fresh(prior: Prior = PRIOR) -> LeastSquares:
    return LeastSquares(prior, noise=0.05, floor=20.0)


def test_without_observations_the_prior_decides() -> None:
    assert fresh().weights == (1.0, 10.0)
    assert fresh().estimate((100.0, 1.0)) == 110.0


def test_weights_come_close_to_those_that_made_the_observations() -> None:
    fit = fresh()
    for n in range(1, 60):
        row = (37.0 * n % 500, 1.0 + n % 3)
        fit.observe(row, 1.3 * row[0] + 4 * row[1])
    assert fit.weights == pytest.approx((1.3, 4.0), abs=0.05)


def test_one_observation_far_off_all_others_moves_the_weights_little() -> None:
    fit = fresh()
    for n in range(1, 40):
        fit.observe((100.0 + n, 1.0), 1.2 * (100 + n) + 5)
    before = fit.weights[0]
    fit.observe((100.0, 1.0), 60_000.0)
    assert abs(fit.weights[0] - before) < 0.2


def test_a_feature_that_is_never_seen_keeps_its_prior() -> None:
    fit = fresh()
    for n in range(1, 30):
        fit.observe((50.0 * n, 0.0), 70.0 * n)
    assert fit.weights[1] == 10.0


def test_a_weight_is_never_negative_in_use() -> None:
    fit = fresh()
    for _ in range(50):
        fit.observe((0.0, 1.0), -500.0)
    assert fit.weights[1] == 0.0
    assert fit.estimate((0.0, 3.0)) == 0.0


def test_a_row_without_features_teaches_nothing() -> None:
    assert fresh().observe((0.0, 0.0), 900.0).weights == PRIOR.mean


numbers = st.floats(0, 1e7) | st.integers(0, 10**7).map(float)
observations = st.lists(st.tuples(numbers, numbers, st.floats(-1e7, 1e8)), max_size=30)


@given(observations)
def test_weights_stay_finite_and_the_same_on_every_run(seen: list[tuple[float, float, float]]) -> None:
    one, two = fresh(), fresh()
    for first, second, found in seen:
        one.observe((first, second), found)
        two.observe((first, second), found)
    assert one.weights == two.weights
    assert all(isfinite(weight) and weight >= 0 for weight in one.weights)


def test_figures_beyond_all_bounds_teach_nothing() -> None:
    assert fresh().observe((1e308, 1e308), 1.0).weights == PRIOR.mean


def test_a_drift_is_what_was_found_in_sum_for_what_was_expected() -> None:
    drift = Drift(smoothing=100.0, keep=1.0)
    assert drift.ratio == 1.0
    drift.add(300.0, 700.0)
    assert drift.ratio == 2.0
    drift.add(0.0, -5000.0)
    assert drift.ratio == 0.0


def test_a_drift_follows_the_newer_amounts() -> None:
    drift = Drift(smoothing=1.0, keep=0.9)
    for found in (300.0, 80.0):
        for _ in range(60):
            drift.add(100.0, found)
    assert 0.8 <= drift.ratio < 0.82
