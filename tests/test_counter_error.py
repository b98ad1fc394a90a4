"""How far off a counter is on the context at hand."""

import pytest
from builders import SessionBuilder, usage

from compactor.branch import active_branch, find_leaf
from compactor.calibration import CalibratedCounter
from compactor.counter_error import MIN_STEPS, CounterError, counter_error
from compactor.measure import measure
from compactor.projection import project
from compactor.step_errors import StepErrors
from compactor.token_features import SENT, WRITTEN
from compactor.tokens import Counter, PiCounter


def error_of(builder: SessionBuilder, counter: Counter | None = None) -> CounterError | None:
    session = builder.session()
    counter = counter or PiCounter()
    projection = project(active_branch(session, find_leaf(session, None)))
    return counter_error(measure(projection, counter), counter)


def talk(turns: int, growth: int = 200, start: int = 1000) -> SessionBuilder:
    """Turns of 25 + 25 tokens by Pi's estimate, which the provider reports as `growth`."""
    builder = SessionBuilder()
    for n in range(turns):
        builder.user("x" * 100)
        builder.assistant("y" * 100, usage=usage(start + n * growth))
    return builder


def test_counted_tokens_are_compared_with_the_reported_growth() -> None:
    error = error_of(talk(MIN_STEPS + 1))
    assert error is not None
    assert (error.steps, error.ratio, error.median, error.turn_tokens) == (MIN_STEPS, 0.25, None, 200)


@pytest.mark.parametrize("turns", [0, 1, MIN_STEPS])
def test_too_few_reported_sizes_say_nothing(turns: int) -> None:
    assert error_of(talk(turns)) is None


def test_sizes_on_two_sides_of_a_compaction_do_not_compare() -> None:
    builder = talk(20)
    kept = builder.session().entries[-12].id
    builder.compaction(kept)
    builder.user("x" * 100)
    builder.assistant("y" * 100, usage=usage(90_000))
    error = error_of(builder)
    assert error is not None
    assert (error.steps, error.ratio) == (5, 0.25)


def test_a_context_that_shrank_is_no_step() -> None:
    builder = talk(MIN_STEPS + 1)
    builder.assistant("y" * 100, usage=usage(10))
    error = error_of(builder)
    assert error is not None and error.steps == MIN_STEPS


def test_a_counter_that_learns_brings_its_own_errors() -> None:
    errors = StepErrors(steps=9, predicted=90.0, reported=100, median=0.1, p90=0.2)
    counter = CalibratedCounter(count=len, weights=(1.0,) * len((*SENT, *WRITTEN)), errors=errors)
    error = error_of(talk(3), counter)
    assert error is not None
    assert (error.steps, error.ratio, error.median) == (9, 0.9, 0.1)
    untaught = StepErrors(steps=0, predicted=0, reported=0, median=None, p90=None)
    nothing = CalibratedCounter(count=len, weights=(1.0,) * len((*SENT, *WRITTEN)), errors=untaught)
    assert error_of(talk(3), nothing) is None


def test_a_counter_that_sees_nothing_is_not_judged() -> None:
    builder = SessionBuilder()
    for n in range(MIN_STEPS + 2):
        builder.assistant("", usage=usage(1000 + n))
    assert error_of(builder) is None
