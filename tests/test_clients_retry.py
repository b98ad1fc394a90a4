"""Sending a request again: how often, after which waits, and what the observer is told."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.clients.retry import RetryPolicy, retry_after_ms, with_retries
from compactor.errors import ModelError
from compactor.model import ModelResponse, Notice, RetryFinished, RetryScheduled, RetryStarted

REPLY = ModelResponse(text="done")
PASSING = ModelError("busy", kind="overloaded", retryable=True)
LASTING = ModelError("bad key", kind="auth")


@dataclass
class Run:
    """Plays failures before a reply, and keeps what happened."""

    failures: list[ModelError]
    policy: RetryPolicy = RetryPolicy()  # noqa: RUF009
    notices: list[Notice] = field(default_factory=list)
    slept_s: list[float] = field(default_factory=list)

    def go(self) -> ModelResponse:
        left: Iterator[ModelError] = iter(self.failures)

        def call() -> ModelResponse:
            for failure in left:
                raise failure
            return REPLY

        return with_retries(call, policy=self.policy, observe=self.notices.append, sleep=self.slept_s.append)


def scheduled(attempt: int, delay_ms: int, message: str = "busy", most: int = 3) -> list[Notice]:
    made = RetryScheduled(attempt=attempt, max_attempts=most, delay_ms=delay_ms, error_message=message)
    return [made, RetryStarted()]


def test_reply_at_once_tells_nothing() -> None:
    run = Run([])
    assert run.go() is REPLY
    assert (run.notices, run.slept_s) == ([], [])


def test_passing_failures_are_retried_after_doubled_waits_and_finished_once() -> None:
    run = Run([PASSING, PASSING, PASSING])
    assert run.go() is REPLY
    assert run.slept_s == [2, 4, 8]
    assert run.notices == [*scheduled(1, 2000), *scheduled(2, 4000), *scheduled(3, 8000), RetryFinished()]


def test_last_failure_is_raised_when_the_retries_are_used_up() -> None:
    run = Run([PASSING] * 3, RetryPolicy(max_retries=2))
    with pytest.raises(ModelError, match="busy"):
        run.go()
    assert run.notices == [*scheduled(1, 2000, most=2), *scheduled(2, 4000, most=2), RetryFinished()]


def test_lasting_failure_is_raised_at_once() -> None:
    run = Run([LASTING])
    with pytest.raises(ModelError, match="bad key"):
        run.go()
    assert (run.notices, run.slept_s) == ([], [])


def test_lasting_failure_after_a_retry_ends_the_retries() -> None:
    run = Run([PASSING, LASTING])
    with pytest.raises(ModelError, match="bad key"):
        run.go()
    assert run.notices == [*scheduled(1, 2000), RetryFinished()]


def test_no_retries_means_none() -> None:
    run = Run([PASSING], RetryPolicy(max_retries=0))
    with pytest.raises(ModelError, match="busy"):
        run.go()
    assert run.notices == []


@pytest.mark.parametrize("stopped", ["call", "sleep"])
def test_interrupt_passes_through_and_still_finishes_the_retries(stopped: str) -> None:
    notices: list[Notice] = []
    calls = 0

    def call() -> ModelResponse:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise KeyboardInterrupt
        raise PASSING

    def sleep(seconds: float) -> None:
        if stopped == "sleep":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        with_retries(call, policy=RetryPolicy(), observe=notices.append, sleep=sleep)
    assert [type(n) for n in notices].count(RetryFinished) == 1
    assert isinstance(notices[-1], RetryFinished)


@given(st.integers(1, 10_000), st.integers(0, 10**9))
def test_no_wait_is_longer_than_the_longest(attempt: int, base_ms: int) -> None:
    policy = RetryPolicy(base_delay_ms=base_ms)
    assert policy.delay_ms(attempt) <= policy.max_delay_ms
    assert policy.delay_ms(attempt) <= policy.delay_ms(attempt + 1)


@dataclass
class Response:
    headers: Mapping[str, str]


class Refusal(Exception):
    """As the providers' libraries raise it: with the response."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("refused")
        self.response = Response(headers)


def refused(headers: Mapping[str, str], text: str = "busy") -> ModelError:
    error = ModelError(text, kind="rate_limit", retryable=True)
    error.__cause__ = Refusal(headers)
    return error


NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "expected_ms"),
    [
        ({"retry-after": "7"}, 7000),
        ({"retry-after": " 0.5 "}, 500),
        ({"retry-after": "0"}, 0),
        ({"retry-after-ms": "250", "retry-after": "7"}, 250),
        ({"retry-after-ms": "soon", "retry-after": "7"}, 7000),
        ({"retry-after": format_datetime(NOW.replace(second=45), usegmt=True)}, 40_000),
        ({"retry-after": format_datetime(NOW.replace(year=2025), usegmt=True)}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "9" * 400}, None),
        ({"retry-after": "Mon, 99 Foo 2026 99:99:99 GMT"}, None),
        ({"retry-after": "Mon, 01 Jan 99999999999 00:00:00 GMT"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_wait_in_a_header_is_read(headers: Mapping[str, str], expected_ms: int | None) -> None:
    assert retry_after_ms(refused(headers), NOW.timestamp()) == expected_ms


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("Please try again in 12m45.504s. Need more?", 765_504),
        ("try again in 20ms", 20),
        ("Please retry in 58.4s.", 58_400),
        ("Please retry after 10 seconds.", 10_000),
        ("try again in 1 hour", 3_600_000),
        ("Try again in ~123 min.", 7_380_000),
        ("try again later", None),
        ("adjust your input and try again", None),
        ("", None),
    ],
)
def test_wait_in_the_server_s_words_is_read(text: str, expected_ms: int | None) -> None:
    assert retry_after_ms(refused({}, text), 0) == expected_ms


@given(st.text() | st.sampled_from(["try again in " + "9" * 5000 + "s", "retry in " + "1s " * 5000]), st.text())
def test_any_words_and_header_are_read_without_an_error(text: str, header: str) -> None:
    found = retry_after_ms(refused({"retry-after": header}, text), 0)
    assert found is None or found >= 0


def test_server_s_wait_replaces_the_doubled_one() -> None:
    run = Run([refused({"retry-after": "7"}), PASSING])
    run.go()
    assert run.slept_s == [7, 4]


def test_server_that_asks_for_too_long_a_wait_is_not_waited_for() -> None:
    run = Run([refused({"retry-after": "3600"}, "limit reached")])
    with pytest.raises(
        ModelError, match="limit reached; the server asks to wait 3600 s, which is over the limit of 60 s"
    ):
        run.go()
    assert (run.notices, run.slept_s) == ([], [])
