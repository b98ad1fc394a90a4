"""Lines of prose: what only looks like the start of a fence or of a tagged block hides nothing."""

from hypothesis import given
from hypothesis import strategies as st
from strategies import any_character

from compactor.prose import prose_lines


def lines_of(text: str) -> list[str]:
    return [text[start:end] for start, end in prose_lines(text)]


def test_a_block_ends_at_the_closing_tag_behind_it_and_not_at_one_that_was_named_before() -> None:
    text = "It breaks off at </log> all the time.\n<log>\nnever push\n</log>\nKeep the name."
    assert lines_of(text) == ["It breaks off at </log> all the time.", "Keep the name."]


def test_a_tag_that_closed_only_before_it_opens_hides_nothing() -> None:
    assert "Keep the name." in lines_of("Look at </log> here.\n<log>\nKeep the name.")


def test_backticks_with_code_on_their_own_line_open_no_fence() -> None:
    text = "``` `make` ``` builds it.\nNever push.\n```\nx = 1\n```\nKeep the name."
    assert lines_of(text) == ["``` `make` ``` builds it.", "Never push.", "Keep the name."]


@given(
    st.lists(st.one_of(st.sampled_from(["```", "~~~", "``` a`b", "<a>", "</a>", "> q", "x"]), st.text(any_character)))
)
def test_lines_of_prose_are_spans_in_order_that_share_nothing(parts: list[str]) -> None:
    text = "\n".join(parts)
    at = 0
    for start, end in prose_lines(text):
        assert at <= start < end <= len(text)
        assert text[start:end].strip() != ""
        at = end
