"""Prices and context windows of models, from the genai-prices catalogue; it is imported when it is first needed.

A model that the catalogue does not know costs nothing here: a price that is not known is never a failure.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from compactor.messages import Cost, Usage

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, PriceCalculation, Provider

PER_TOKENS = 1_000_000
"""The catalogue's rates are in US dollars for so many tokens."""

_DATE = re.compile(r"[-@:]?(?:20\d{6}|20\d\d-\d\d-\d\d)(?:-v\d+(?::\d+)?)?$|-latest$|:free$|-preview(?:-\d\d-\d\d)?$")


def with_cost(usage: Usage, provider: str | None, model: str, *, api_url: str | None = None) -> Usage:
    """The usage with its cost in US dollars by the catalogue's rates; zero where they are not known.

    Args:
        usage: the tokens of one request, `input` without the cached ones.
        provider: the provider's name; None if only the address is known.
        model: as the request named it.
        api_url: where the request was sent to, for `provider` None; an unknown address costs nothing.
    """
    found = _price(usage, provider, model, api_url)
    cost = Cost(total_from_provider=False) if found is None else _cost(usage, found)
    return msgspec.structs.replace(usage, cost=cost)


def context_window(provider: str | None, model: str) -> int | None:
    """The context window in tokens; None if the catalogue does not know it.

    Tried as given, then without the date or tag at the end, then with a leading `provider/` taken as the provider.

    Args:
        provider: None or empty if only the model is known.
        model: the model's id.
    """
    for at, name in _spellings(provider or None, model):
        found = _find(at, name)
        if found is not None and found[1].context_window:
            return found[1].context_window
    return None


def _price(usage: Usage, provider: str | None, model: str, api_url: str | None) -> "PriceCalculation | None":
    from genai_prices import Usage as Counts
    from genai_prices import data_snapshot

    if provider is None and api_url is None:
        return None
    try:
        if api_url is not None and provider is None:
            provider = data_snapshot.get_snapshot().find_provider(None, None, api_url).id
        counts = Counts(
            input_tokens=round(usage.input + usage.cache_read + usage.cache_write),
            cache_read_tokens=round(usage.cache_read),
            cache_write_tokens=round(usage.cache_write),
            cache_write_1h_tokens=round(usage.cache_write1h or 0),
            output_tokens=round(usage.output),
        )
        for at, name in _spellings(provider, model):
            found = _find(at, name)
            if found is not None:
                return data_snapshot.get_snapshot().calc(counts, name, found[0].id, None, None)
    except (LookupError, ValueError):
        # Unknown, or counts that contradict each other, which some servers report.
        return None
    return None


def _find(provider: str | None, model: str) -> "tuple[Provider, ModelInfo] | None":
    from genai_prices import data_snapshot

    try:
        return data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)
    except LookupError:
        return None


def _spellings(provider: str | None, model: str) -> Iterator[tuple[str | None, str]]:
    """Pairs of provider and model to look up, from the most to the least literal."""
    short = _DATE.sub("", model)
    names = [model] if short == model else [model, short]
    for name in names:
        yield provider, name
    for name in names:
        prefix, _, rest = name.partition("/")
        if rest and "/" not in prefix and _known(prefix):
            yield prefix, rest


def _known(provider: str) -> bool:
    from genai_prices import data_snapshot

    try:
        data_snapshot.get_snapshot().find_provider(None, provider, None)
    except LookupError:
        return False
    return True


def _cost(usage: Usage, found: "PriceCalculation") -> Cost:
    """The catalogue's total, with the input's part divided among plain, cached and written tokens."""
    read_tokens = usage.input + usage.cache_read + usage.cache_write
    price = found.model_price
    hour = Decimal(str(usage.cache_write1h or 0))
    cache_read = _part(price.cache_read_mtok, Decimal(str(usage.cache_read)), read_tokens)
    cache_write = _part(price.cache_write_mtok, Decimal(str(usage.cache_write)) - hour, read_tokens)
    cache_write += _part(price.cache_write_1h_mtok or price.cache_write_mtok, hour, read_tokens)
    return Cost(
        input=float(max(Decimal(0), found.input_price - cache_read - cache_write)),
        output=float(found.output_price),
        cache_read=float(cache_read),
        cache_write=float(cache_write),
        total=float(found.total_price),
        total_from_provider=False,
    )


def _part(rate: Any, tokens: Decimal, read_tokens: float) -> Decimal:
    """The price of some tokens; a tiered rate depends on the tokens of the whole input."""
    if rate is None:
        return Decimal(0)
    if not isinstance(rate, Decimal):
        reached = [tier.price for tier in rate.tiers if read_tokens > tier.start]
        rate = reached[-1] if reached else rate.base
    return Decimal(rate * tokens / PER_TOKENS)
