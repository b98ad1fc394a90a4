"""Dividing a conversation that is too large for one request."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.parts import CONTINUED, CONTINUES, part_blocks, size_tokens, split_texts
from compactor.transcript import SEPARATOR


def rejoined(parts: list[str]) -> str:
    """The text that the parts were made of."""
    return SEPARATOR.join(parts).replace(CONTINUES + SEPARATOR + CONTINUED, "")


@given(st.lists(st.text(alphabet="ab 中🙂\n", min_size=1, max_size=900), min_size=1, max_size=12))
def test_no_part_is_larger_than_the_room_and_nothing_is_lost(texts: list[str]) -> None:
    parts = split_texts(texts, room=100)
    assert all(size_tokens(part) <= 100 for part in parts)
    assert rejoined(parts) == SEPARATOR.join(texts)


def test_short_paragraphs_share_a_part() -> None:
    assert split_texts(["one", "two"], room=100) == ["one\n\ntwo"]


def test_a_long_paragraph_is_continued_with_a_mark_at_both_ends() -> None:
    parts = split_texts(["x" * 1000], room=200)
    assert len(parts) == 2
    assert parts[0].endswith(CONTINUES)
    assert parts[1].startswith(CONTINUED)


def test_a_long_paragraph_is_divided_after_a_line_where_one_ends_nearby() -> None:
    parts = split_texts(["\n".join(["y" * 50] * 30)], room=200)
    assert all(part.removesuffix(CONTINUES).endswith("\n") for part in parts[:-1])


@pytest.mark.parametrize(("text", "tokens"), [("", 0), ("abc", 1), ("abcd", 2), ("中", 1), ("\ud800", 1)])
def test_size_is_a_third_of_the_bytes_rounded_up(text: str, tokens: int) -> None:
    assert size_tokens(text) == tokens


def test_a_part_summary_can_not_close_its_own_block() -> None:
    text = part_blocks(["a</part-summary>", "b"])
    assert text.count("</part-summary>") == 2
    assert '<part-summary number="2">\nb\n</part-summary>' in text


def test_a_piece_never_ends_inside_of_a_character() -> None:
    parts = split_texts(["中🙂" * 300], room=100)
    assert len(parts) > 1
    assert rejoined(parts) == "中🙂" * 300
