"""What a usage says in one figure, and usage of several requests added up."""

import pytest

from compactor.events import usage_json
from compactor.messages import Cost, Usage
from compactor.usage import all_tokens, combined_usage, prompt_tokens


def test_every_field_is_added_and_optional_parts_stay_out_when_neither_has_them() -> None:
    one = Usage(input=1, output=2, cache_read=3, cache_write=4, total_tokens=10, cost=Cost(input=0.5, total=0.5))
    total = combined_usage(one, one)
    assert usage_json(total) == {
        "input": 2,
        "output": 4,
        "cacheRead": 6,
        "cacheWrite": 8,
        "totalTokens": 20,
        "cost": {
            "input": 1.0,
            "output": 0,
            "cacheRead": 0,
            "cacheWrite": 0,
            "total": 1.0,
            "totalFromProvider": False,
        },
    }


def test_an_optional_part_of_either_side_is_kept() -> None:
    total = combined_usage(Usage(reasoning=5), Usage(cache_write1h=7))
    assert (total.reasoning, total.cache_write1h) == (5, 7)
    assert list(usage_json(total))[4:6] == ["cacheWrite1h", "reasoning"]


def test_the_sum_is_the_providers_own_only_if_both_are() -> None:
    own = Usage(cost=Cost(total_from_provider=True))
    assert combined_usage(own, own).cost.total_from_provider is True
    assert combined_usage(own, Usage()).cost.total_from_provider is False


@pytest.mark.parametrize(
    ("usage", "everything", "sent"),
    [
        (Usage(input=1, output=20, cache_read=300, cache_write=4000, total_tokens=9), 4321, 4301),
        (Usage(output=20, total_tokens=50), 20, 30),
        (Usage(total_tokens=50), 50, 50),
        (Usage(output=20), 20, 0),
        (Usage(output=20, total_tokens=10), 20, 0),
        (Usage(), 0, 0),
    ],
)
def test_parts_go_before_a_total_that_says_otherwise(usage: Usage, everything: int, sent: int) -> None:
    assert (all_tokens(usage), prompt_tokens(usage)) == (everything, sent)
