"""Usage as a file reports it, what it says in one figure, and the usage of several requests added up."""

import msgspec

from compactor.js_text import MAX_SAFE_INTEGER
from compactor.messages import Cost, Number, Usage


class ReportedCost(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A cost as written; unlike `messages.Cost` it tells what is missing from what is 0."""

    input: Number | None = None
    output: Number | None = None
    cache_read: Number | None = None
    cache_write: Number | None = None
    total: Number | None = None


class ReportedUsage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """A usage as written."""

    input: Number | None = None
    output: Number | None = None
    cache_read: Number | None = None
    cache_write: Number | None = None
    total_tokens: Number | None = None
    cache_write1h: Number | None = msgspec.field(default=None, name="cacheWrite1h")
    reasoning: Number | None = None
    cost: ReportedCost | None = None


PARTS = ("input", "output", "cache_read", "cache_write")
"""The parts of a usage and of its cost that add up to the total."""


def cleaned_usage(reported: ReportedUsage, bad: list[str]) -> Usage:
    """The usage, what is missing or can't be as 0; the cost has its parts only, for the total may not be known.

    Args:
        reported: as written.
        bad: gets the names of the counts whose value can't be.
    """

    def count(name: str) -> Number | None:
        value: Number | None = getattr(reported, name)
        if value is None or is_usable(value):
            return value
        bad.append(f"usage.{_NAMES[name]}")
        return None

    cost = reported.cost or ReportedCost()
    parts = {name: value for name in PARTS if (value := getattr(cost, name)) is not None and is_usable(value)}
    return Usage(
        **{name: count(name) or 0 for name in (*PARTS, "total_tokens")},
        cache_write1h=count("cache_write1h"),
        reasoning=count("reasoning"),
        cost=Cost(**parts),
    )


_NAMES = {f.name: f.encode_name for f in msgspec.structs.fields(ReportedUsage)}


def is_usable(number: Number) -> bool:
    """False for what no request can use or cost: less than nothing, or more than a double counts exactly."""
    return 0 <= number <= MAX_SAFE_INTEGER


def all_tokens(usage: Usage) -> Number:
    """The tokens of a request: the sum of its parts, or the reported total where no part is."""
    return usage.input + usage.output + usage.cache_read + usage.cache_write or usage.total_tokens


def prompt_tokens(usage: Usage) -> Number:
    """The tokens that were sent, the cached ones among them; what is not output where only the total is reported."""
    sent = usage.input + usage.cache_read + usage.cache_write
    return sent or max(0, usage.total_tokens - usage.output)


def combined_usage(first: Usage, second: Usage) -> Usage:
    """The sum of two usages, field by field; optional parts where either has them.

    Source: Pi 1.6.0 usage-totals.js combineUsage: a total counts as the provider's own only if both are.
    """

    def optional(a: int | float | None, b: int | float | None) -> int | float | None:
        return None if a is None and b is None else (a or 0) + (b or 0)

    one, two = first.cost, second.cost
    cost = Cost(
        input=one.input + two.input,
        output=one.output + two.output,
        cache_read=one.cache_read + two.cache_read,
        cache_write=one.cache_write + two.cache_write,
        total=one.total + two.total,
        total_from_provider=bool(one.total_from_provider and two.total_from_provider),
    )
    return Usage(
        input=first.input + second.input,
        output=first.output + second.output,
        cache_read=first.cache_read + second.cache_read,
        cache_write=first.cache_write + second.cache_write,
        total_tokens=first.total_tokens + second.total_tokens,
        cost=cost,
        cache_write1h=optional(first.cache_write1h, second.cache_write1h),
        reasoning=optional(first.reasoning, second.reasoning),
    )
