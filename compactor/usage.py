"""Adds up the usage of several requests."""

from compactor.messages import Cost, Usage


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
