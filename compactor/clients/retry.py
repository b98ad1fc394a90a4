"""Sends a request again after a failure that passes, and tells the observer as Pi does.

The only retries there are: the providers' libraries are told to make none. The wait doubles from try to try, unless
the server says how long to wait. Source: Pi 1.6.0 retry.js retryAssistantCall, and settings-manager.js for the numbers.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from compactor.errors import ModelError
from compactor.model import ModelResponse, Observer, RetryFinished, RetryScheduled, RetryStarted

Sleep = Callable[[float], None]
"""Waits for so many seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and after which waits a request is sent again."""

    max_retries: int = 3
    base_delay_ms: int = 2000
    max_delay_ms: int = 60_000
    """No wait is longer; a server that asks for more is not waited for."""

    def delay_ms(self, attempt: int) -> int:
        """The wait before retry number `attempt`, counted from 1."""
        doublings = min(max(0, attempt - 1), 32)
        return min(self.base_delay_ms << doublings, self.max_delay_ms)


DEFAULT_RETRIES = RetryPolicy()


def with_retries(
    call: Callable[[], ModelResponse], *, policy: RetryPolicy, observe: Observer, sleep: Sleep = time.sleep
) -> ModelResponse:
    """What `call` returns, called again after each failure that may pass.

    `RetryScheduled` comes before each wait and `RetryStarted` after it; `RetryFinished` comes once, however it ends,
    and only if a retry was scheduled.

    Raises:
        ModelError: the last failure.
    """
    attempt = 0
    try:
        while True:
            try:
                return call()
            except ModelError as error:
                if not error.retryable or attempt >= policy.max_retries:
                    raise
                delay_ms = _delay_ms(error, policy, attempt + 1)
                attempt += 1
                reason = str(error)
            scheduled = RetryScheduled(
                attempt=attempt, max_attempts=policy.max_retries, delay_ms=delay_ms, error_message=reason
            )
            observe(scheduled)
            sleep(delay_ms / 1000)
            observe(RetryStarted())
    finally:
        if attempt:
            observe(RetryFinished())


def _delay_ms(error: ModelError, policy: RetryPolicy, attempt: int) -> int:
    """The wait before the next try.

    Raises:
        ModelError: the server asks for a longer wait than the policy allows.
    """
    asked_ms = retry_after_ms(error, time.time())
    if asked_ms is None:
        return policy.delay_ms(attempt)
    if asked_ms > policy.max_delay_ms:
        limit_s = policy.max_delay_ms // 1000
        text = f"{error}; the server asks to wait {asked_ms / 1000:.0f} s, which is over the limit of {limit_s} s"
        raise ModelError(text, kind=error.kind, retryable=True) from error
    return asked_ms


_UNITS_MS = {"ms": 1.0, "s": 1000.0, "m": 60_000.0, "h": 3_600_000.0}
_WAIT = re.compile(
    r"(?:try(?: again)?|retry) (?:in|after) ~?((?:\d{1,9}(?:\.\d{1,9})?\s?(?:ms|h|m|s)[a-z]{0,6}\s?){1,4})",
    re.IGNORECASE,
)
_WAIT_PART = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s?(ms|h|m|s)", re.IGNORECASE)


def retry_after_ms(error: ModelError, now_s: float) -> int | None:
    """The wait that the server asked for; None if it named none.

    It stands in a header of the response that the error was made from (its cause), or in the server's message.

    Args:
        error: a failure of a request.
        now_s: the current time in seconds since 1970, for headers that hold a date.
    """
    response = getattr(error.__cause__, "response", None)
    headers = getattr(response, "headers", None)
    told = _header_ms(headers, now_s) if headers is not None else None
    if told is not None:
        return told
    found = _WAIT.search(str(error))
    if found is None:
        return None
    return round(sum(float(n) * _UNITS_MS[unit.lower()] for n, unit in _WAIT_PART.findall(found.group(1))))


def _header_ms(headers: Mapping[str, str], now_s: float) -> int | None:
    """The wait in `retry-after-ms` or `retry-after`; a value that can't be read counts as none."""
    for name, unit_ms in (("retry-after-ms", 1.0), ("retry-after", 1000.0)):
        text = (headers.get(name) or "").strip()
        if re.fullmatch(r"\d{1,12}(\.\d{1,12})?", text):
            return round(float(text) * unit_ms)
    try:
        until = parsedate_to_datetime((headers.get("retry-after") or "").strip())
    except (ValueError, OverflowError):  # the latter where a part of the date is beyond any integer of C
        return None
    return max(0, round((until.timestamp() - now_s) * 1000))
