"""The figures by which counters are compared."""

import pytest

from compactor.step_errors import WARM_UP_STEPS, step_errors

WARM_UP = [(1.0, 1000)] * WARM_UP_STEPS


def test_the_first_steps_do_not_count() -> None:
    errors = step_errors([*WARM_UP, (90.0, 100), (330.0, 300)])
    assert (errors.steps, errors.predicted, errors.reported) == (2, 420.0, 400)
    assert errors.ratio == 1.05


@pytest.mark.parametrize("count", [0, 1, 5, WARM_UP_STEPS])
def test_with_too_few_steps_nothing_is_said(count: int) -> None:
    errors = step_errors(WARM_UP[:count])
    assert (errors.steps, errors.ratio, errors.median, errors.p90) == (0, None, None, None)


@pytest.mark.parametrize(
    ("found", "median", "p90"),
    [([110], 0.1, 0.1), ([110, 130], 0.2, 0.28), ([100, 110, 120, 130, 140], 0.2, 0.36), ([50, 150], 0.5, 0.5)],
)
def test_median_and_ninth_decile_are_of_relative_errors(found: list[int], median: float, p90: float) -> None:
    errors = step_errors([*WARM_UP, *((float(value), 100) for value in found)])
    assert errors.median == pytest.approx(median)
    assert errors.p90 == pytest.approx(p90)
