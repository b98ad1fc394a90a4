"""Sums of charges: by model, by kind, and in all, with what is not known counted beside what is.

Takes charges of `ledger`; gives `Spending` values, and the charges with their list prices.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from compactor.ledger import Charge, Pricer
from compactor.messages import Number
from compactor.usage import all_tokens


@dataclass(slots=True, kw_only=True)
class Spending:
    """The sum of some charges; tokens are as reported, costs in US dollars."""

    requests: int = 0
    """That report their usage."""
    input: Number = 0
    """Without the cached ones."""
    output: Number = 0
    cache_read: Number = 0
    cache_write: Number = 0
    cache_write1h: Number | None = None
    """The part of `cache_write` that is kept for an hour; None if no request tells."""
    reasoning: Number | None = None
    """The part of `output` that was hidden reasoning; None if no request tells."""
    total: Number = 0
    known_cost: Number = 0
    """Of the requests whose cost is recorded."""
    priced: int = 0
    """Requests whose cost is recorded, without those that used no tokens."""
    unknown: int = 0
    """Requests whose cost is not recorded."""
    estimated: Number = 0
    """List price of those requests, where it is known."""
    unpriced: int = 0
    """Requests whose cost is neither recorded nor can be estimated."""
    unreported: int = 0
    """Replies, and `usage` entries, that report no usage: neither in `requests` nor in any other figure."""

    @property
    def cost(self) -> Number | None:
        """What all requests cost, None if that of any is not recorded."""
        return None if self.unknown or self.unreported else self.known_cost

    @property
    def estimated_cost(self) -> Number | None:
        """List price of the requests whose cost is not recorded; None if there are none, or none has a known price."""
        return self.estimated if self.unknown > self.unpriced else None

    @property
    def worth(self) -> Number:
        """All that is known or estimated, for the order of rows."""
        return self.known_cost + self.estimated

    def add(self, charge: Charge) -> None:
        """Adds a charge."""
        if not charge.is_reported:
            self.unreported += 1
            return
        usage = charge.usage
        self.requests += 1
        self.input += usage.input
        self.output += usage.output
        self.cache_read += usage.cache_read
        self.cache_write += usage.cache_write
        self.total += all_tokens(usage)
        if usage.cache_write1h is not None:
            self.cache_write1h = (self.cache_write1h or 0) + usage.cache_write1h
        if usage.reasoning is not None:
            self.reasoning = (self.reasoning or 0) + usage.reasoning
        if charge.cost is not None:
            self.known_cost += charge.cost
            self.priced += bool(all_tokens(usage))
            return
        self.unknown += 1
        if charge.estimate is None:
            self.unpriced += 1
        else:
            self.estimated += charge.estimate.total


@dataclass(slots=True)
class Sums:
    """The sums of all charges that were added, in their order."""

    total: Spending = field(default_factory=Spending)
    by_model: dict[str | None, Spending] = field(default_factory=dict)
    by_kind: dict[str | None, Spending] = field(default_factory=dict)

    def add(self, charges: Iterable[Charge]) -> None:
        """Adds charges."""
        for charge in charges:
            self.total.add(charge)
            self.by_model.setdefault(model_name(charge), Spending()).add(charge)
            self.by_kind.setdefault(charge.kind, Spending()).add(charge)


def dearest_first(sums: Mapping[str | None, Spending]) -> list[tuple[str | None, Spending]]:
    """The sums by what is known or estimated of their cost, then by tokens."""
    return sorted(sums.items(), key=lambda row: (-row[1].worth, -row[1].total))


def model_name(charge: Charge) -> str | None:
    """`provider/model`, the part that is not named left out; None if neither is."""
    return "/".join(part for part in (charge.provider, charge.model) if part) or None


def estimated(charges: Sequence[Charge], price: Pricer) -> list[Charge]:
    """The charges, those without a recorded cost with their list price where there is one."""
    return [
        replace(charge, estimate=price(charge.usage, charge.provider, charge.model))
        if charge.cost is None and charge.model and charge.is_reported
        else charge
        for charge in charges
    ]
