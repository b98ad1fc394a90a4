"""Tests of `wording`: numbers, plurals and names in English."""

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.wording import amount, kind_of, listed, roughly, share, shown_id, times


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 tokens"), (1, "1 token"), (2, "2 tokens"), (200_000, "200,000 tokens")]
)
def test_an_amount_has_separators_and_the_right_plural(number: int, expected: str) -> None:
    assert amount(number, "token") == expected


def test_an_irregular_plural_is_used_for_all_but_one() -> None:
    assert [amount(n, "entry", "entries") for n in (1, 2)] == ["1 entry", "2 entries"]


@pytest.mark.parametrize(
    ("part", "whole", "expected"),
    [
        (0, 7, "0%"),
        (1, 101, "less than 1%"),
        (1, 100, "1%"),
        (1, 2, "50%"),
        (1, 3, "33%"),
        (2, 3, "67%"),
        (30, 10, "300%"),
        (25_000, 1, "2,500,000%"),
    ],
)
def test_a_share_is_a_whole_percentage(part: int, whole: int, expected: str) -> None:
    assert share(part, whole) == expected


@pytest.mark.parametrize(
    ("number", "expected"), [(7, "7"), (42, "42"), (149, "150"), (1_638, "1,600"), (99_900, "100,000")]
)
def test_a_guess_has_two_digits(number: int, expected: str) -> None:
    assert roughly(number) == expected


def test_times_has_one_decimal() -> None:
    assert [times(25, 10), times(30_000, 10)] == ["2.5 times", "3,000.0 times"]


@pytest.mark.parametrize(
    ("parts", "expected"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_a_list_reads_as_english(parts: list[str], expected: str) -> None:
    assert listed(parts) == expected


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (("user",), "a user message"),
        (("toolResult",), "a tool result"),
        (("system", "compactionSummary"), "a compaction summary"),
        (("robot",), "a message of an unknown role"),
        ((), "an entry without a message"),
    ],
)
def test_an_entry_is_called_by_its_role(roles: tuple[str, ...], expected: str) -> None:
    assert kind_of(roles) == expected


@hypothesis.settings(deadline=None)
@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_a_shown_id_is_short_printable_and_one_line(entry_id: str) -> None:
    shown = shown_id(entry_id)
    assert shown.isprintable()
    assert len(shown) <= 2 + 40 * len(r"\U0010ffff")


def test_an_ordinary_id_is_shown_as_it_is() -> None:
    assert shown_id("1a2b3c4d") == "1a2b3c4d"


def test_ids_that_a_terminal_would_act_on_are_escaped() -> None:
    assert shown_id("a\x1b[2Jb") == r"'a\x1b[2Jb'"
