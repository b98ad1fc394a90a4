"""Costs and context windows by the catalogue."""

import pytest
from genai_prices import Usage as Counts
from genai_prices import calc_price
from hypothesis import given
from hypothesis import strategies as st

from compactor.clients.pricing import context_window, with_cost
from compactor.messages import Cost, Usage

UNPRICED = Cost(total_from_provider=False)


def test_each_kind_of_token_has_its_part_of_the_cost() -> None:
    cost = with_cost(
        Usage(input=1000, output=100, cache_read=200, cache_write=50, cache_write1h=20), "anthropic", "claude-opus-4-5"
    ).cost
    # Dollars a million: 5 input, 25 output, 0.5 read, 6.25 written, 10 written for an hour.
    assert cost.input == pytest.approx(0.005)
    assert cost.output == pytest.approx(0.0025)
    assert cost.cache_read == pytest.approx(0.0001)
    assert cost.cache_write == pytest.approx((30 * 6.25 + 20 * 10) / 1_000_000)
    assert cost.total == pytest.approx(cost.input + cost.output + cost.cache_read + cost.cache_write)
    assert cost.total_from_provider is False


COUNTS = st.integers(0, 3_000_000)


@given(COUNTS, COUNTS, COUNTS, COUNTS, st.sampled_from(["claude-opus-4-5", "claude-sonnet-4-5", "claude-3-haiku"]))
def test_total_is_the_catalogue_s_and_the_parts_add_up_to_it(
    plain: int, output: int, read: int, written: int, model: str
) -> None:
    cost = with_cost(Usage(input=plain, output=output, cache_read=read, cache_write=written), "anthropic", model).cost
    counts = Counts(
        input_tokens=plain + read + written, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written
    )
    expected = float(calc_price(counts, model, provider_id="anthropic").total_price)
    assert cost.total == pytest.approx(expected)
    assert cost.input + cost.output + cost.cache_read + cost.cache_write == pytest.approx(expected)
    assert min(cost.input, cost.output, cost.cache_read, cost.cache_write) >= 0


def test_tokens_stay_as_they_were() -> None:
    usage = Usage(input=1, output=2, cache_read=3, cache_write=4, total_tokens=10, cache_write1h=4, reasoning=1)
    priced = with_cost(usage, "anthropic", "claude-opus-4-5")
    assert priced.cost != usage.cost
    assert [getattr(priced, name) for name in ("input", "output", "cache_read", "cache_write", "total_tokens")] == [
        *(1, 2, 3, 4, 10)
    ]
    assert (priced.cache_write1h, priced.reasoning) == (4, 1)


@pytest.mark.parametrize(
    ("provider", "model", "url"),
    [
        ("anthropic", "no-such-model", None),
        ("no-such-provider", "gpt-4o", None),
        (None, "gpt-4o", None),
        (None, "gpt-4o", "http://localhost:8080/v1"),
        (None, "", "https://api.openai.com/v1"),
        ("openai", "\ud800", None),
    ],
)
def test_what_the_catalogue_does_not_know_costs_nothing(provider: str | None, model: str, url: str | None) -> None:
    assert with_cost(Usage(input=1000, output=1000), provider, model, api_url=url).cost == UNPRICED


def test_address_of_a_known_provider_finds_its_prices() -> None:
    usage = Usage(input=1000, output=1000)
    by_name = with_cost(usage, "openai", "gpt-4o").cost
    assert with_cost(usage, None, "gpt-4o", api_url="https://api.openai.com/v1").cost == by_name
    assert by_name.total > 0


def test_dated_name_costs_what_the_plain_one_does() -> None:
    usage = Usage(input=1000, output=1000)
    dated = with_cost(usage, "anthropic", "claude-opus-4-5-20251101").cost
    assert dated == with_cost(usage, "anthropic", "claude-opus-4-5").cost


@pytest.mark.parametrize(
    ("provider", "model", "window"),
    [
        ("anthropic", "claude-opus-4-5", 200_000),
        ("anthropic", "claude-opus-4-5-20251101", 200_000),
        ("anthropic", "claude-opus-4.5", 200_000),
        (None, "claude-opus-4-5@20251101", 200_000),
        ("", "anthropic/claude-opus-4-5", 200_000),
        ("openrouter", "anthropic/claude-opus-4.5", 200_000),
        ("openai", "gpt-4o-2024-08-06", 128_000),
        ("openai-codex", "gpt-5.5", 1_000_000),
        (None, "openai-codex/gpt-5.5", 1_000_000),
        (None, "gpt-5.5-2026-01-01", 1_000_000),
        ("openai", "GPT-4o", 128_000),
        ("amazon-bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0", 200_000),
        ("anthropic", "no-such-model", None),
        (None, "no-such-model", None),
        (None, "", None),
        (None, "/", None),
        ("no-such-provider", "\ud800", None),
    ],
)
def test_context_window_is_found_by_the_usual_spellings(provider: str | None, model: str, window: int | None) -> None:
    assert context_window(provider, model) == window


@given(st.none() | st.text(), st.text())
def test_any_name_is_looked_up_without_an_error(provider: str | None, model: str) -> None:
    assert (context_window(provider, model) or 1) > 0
