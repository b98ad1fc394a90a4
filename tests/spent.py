"""Makers of what requests cost, for tests of the ledger and of its looks."""

from typing import Any

from builders import NO_USAGE, SessionBuilder


def paid(total: float = 0.5, **parts: Any) -> dict[str, Any]:
    """A usage whose cost is recorded, without that of its parts."""
    return {**NO_USAGE, **parts, "cost": {**NO_USAGE["cost"], "total": total}}


def priced(**parts: int) -> dict[str, Any]:
    """A usage whose cost is recorded at 4 dollars a million tokens, 8 of output, 1 read from the cache, 5 written."""
    rates = {"input": 4, "output": 8, "cacheRead": 1, "cacheWrite": 5}
    cost = {name: parts.get(name, 0) * rate / 1_000_000 for name, rate in rates.items()}
    return {**NO_USAGE, **parts, "totalTokens": sum(parts.values()), "cost": {**cost, "total": sum(cost.values())}}


def add_usage(builder: SessionBuilder, kind: Any, **fields: Any) -> str:
    """A `usage` entry of a kind."""
    made = builder.add("usage", **{"provider": "dock", "model": "gantry-1", **fields})
    builder.rows[-1]["kind"] = kind
    return made
