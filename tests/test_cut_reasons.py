"""Tests of `cut_reasons`: why the cut is where it is, and what that does to the kept tail and to the turn."""

from collections.abc import Sequence

import pytest
from explained import (
    Explained,
    Row,
    Settings,
    call,
    compaction,
    explained,
    model_change,
    omission,
    reply,
    result,
    user,
)

from compactor.plan import CompactionPlan

PLACE_CODES = {"budget_not_reached", "cut_at_crossing", "cut_after_crossing", "cut_last_permitted"}
MOVE_CODES = {"cut_moved_back", "cut_moved_forward", "cut_moved_past_failed_attempt", "cut_takes_silent_entries"}

TWO_TURNS = [user(100), reply(100), user(100), reply(100)]
LATE_RESULT = [user(), call("A"), user(), result("A"), reply()]

PLACES: dict[str, tuple[Sequence[Row], Settings, set[str], str]] = {
    "the crossing may start the tail": (TWO_TURNS, Settings(keep=200), {"cut_at_crossing"}, "e2"),
    "the crossing is a tool result": (
        [user(), call("A"), result("A", 200), reply(30)],
        Settings(keep=100),
        {"cut_after_crossing"},
        "e3",
    ),
    "only a tool result comes after the crossing": (
        [user(), reply(), call("A"), result("A", 200)],
        Settings(keep=100),
        {"cut_last_permitted"},
        "e2",
    ),
    "the range is smaller than the budget": (
        [result("gone"), user(), reply()],
        Settings(keep=1000, exact=True),
        {"budget_not_reached"},
        "e1",
    ),
    "a late result pulls the cut back": (LATE_RESULT, Settings(keep=25), {"cut_at_crossing", "cut_moved_back"}, "e1"),
    "Pi itself does not move for pairs": (LATE_RESULT, Settings(keep=25, exact=True), {"cut_at_crossing"}, "e2"),
    "moving back would leave nothing": (
        [call("A"), user(), result("A"), user(), reply()],
        Settings(keep=35),
        {"cut_at_crossing", "cut_moved_forward"},
        "e3",
    ),
    "only an omitted attempt follows": (
        [*TWO_TURNS[:3], reply(50), omission("e3")],
        Settings(keep=50),
        {"cut_at_crossing", "cut_moved_past_failed_attempt"},
        "e3",
    ),
    "entries without a message go along": (
        [*TWO_TURNS[:2], model_change(), model_change(), *TWO_TURNS[2:]],
        Settings(keep=200),
        {"cut_at_crossing", "cut_takes_silent_entries"},
        "e2",
    ),
}


def plan_of(found: Explained) -> CompactionPlan:
    assert isinstance(found.plan, CompactionPlan)
    return found.plan


@pytest.mark.parametrize(("rows", "settings", "codes", "first_kept"), PLACES.values(), ids=PLACES.keys())
def test_each_step_that_led_to_the_cut_is_told_and_no_other(
    rows: Sequence[Row], settings: Settings, codes: set[str], first_kept: str
) -> None:
    found = explained(rows, settings)
    assert set(found.reasons) & (PLACE_CODES | MOVE_CODES) == codes
    assert plan_of(found).first_kept.id == first_kept
    assert f"({first_kept})" in found.reasons["kept_tail"]


def test_the_crossing_is_named_with_place_id_and_kind() -> None:
    found = explained([user(), call("A"), result("A", 2000), reply(900)], Settings(keep=1500))
    assert found.reasons["cut_after_crossing"] == (
        "Counted back from the end, the budget of 1,500 tokens to keep is reached at #2 (e2), a tool result, which may "
        "not start the kept tail. The next entry that may is #3 (e3), an assistant message."
    )


def test_a_move_says_how_far_and_where_to() -> None:
    found = explained(LATE_RESULT, Settings(keep=25))
    assert "moved back by 1 entry to #1 (e1)" in found.reasons["cut_moved_back"]
    found = explained([call("A"), user(), result("A"), user(), reply()], Settings(keep=35))
    assert "moved forward by 2 entries to #3 (e3)" in found.reasons["cut_moved_forward"]


@pytest.mark.parametrize(("silent", "words"), [(1, "The 1 entry without a message right before it goes along")])
def test_one_silent_entry_is_told_in_the_singular(silent: int, words: str) -> None:
    found = explained([*TWO_TURNS[:2], *[model_change()] * silent, *TWO_TURNS[2:]], Settings(keep=200))
    assert found.reasons["cut_takes_silent_entries"].startswith(words)


def test_the_tail_is_told_with_both_numbers_the_percentage_and_the_counter() -> None:
    found = explained([user(), reply(), user(1500), reply(1500)], Settings(keep=2500))
    assert plan_of(found).kept_tokens == 3000
    assert found.reasons["kept_tail"] == (
        "The kept tail from #2 (e2) on has 3,000 tokens in 2 messages by the pi counter, 120% of the budget of 2,500."
    )


def test_a_budget_of_zero_has_no_percentage() -> None:
    text = explained(TWO_TURNS, Settings(keep=0)).reasons["kept_tail"]
    assert text.endswith("has 100 tokens in 1 message by the pi counter, against the budget of 0.")


@pytest.mark.parametrize(("last", "is_far"), [(139, False), (140, True), (5000, True)])
def test_the_largest_message_is_named_once_the_tail_has_half_more_than_the_budget(last: int, is_far: bool) -> None:
    found = explained([user(), reply(), user(last), reply(10)], Settings(keep=100))
    assert ("kept_tail_cause" in found.reasons) == is_far
    if is_far:
        assert f"#2 (e2), a user message of {last:,} tokens" in found.reasons["kept_tail_cause"]


@pytest.mark.parametrize(("last", "is_short"), [(24, True), (25, False)])
def test_a_tail_below_a_quarter_of_the_budget_names_what_used_it_up(last: int, is_short: bool) -> None:
    found = explained([user(), call("A"), result("A", 300), reply(last)], Settings(keep=100))
    assert ("kept_tail_cause" in found.reasons) == is_short
    if is_short:
        assert "#2 (e2), a tool result of 300 tokens, used up the budget" in found.reasons["kept_tail_cause"]


def test_a_tail_that_is_empty_after_a_failed_attempt_is_blamed_on_nothing_else() -> None:
    found = explained([*TWO_TURNS[:3], reply(50), omission("e3")], Settings(keep=50))
    assert plan_of(found).kept_tokens == 0
    assert "kept_tail_cause" not in found.reasons
    assert "kept_tail_under_budget" not in found.warnings


LONG, SHORT = [user(50), reply(50), reply(50)], [user(10), reply(10), reply(10)]
SPLITS: dict[str, tuple[Sequence[Row], int, str, str]] = {
    "the turn is longer than the budget": (
        [*SHORT, *LONG],
        100,
        "e3",
        "The whole turn has 150 tokens, more than the budget of 100.",
    ),
    "no turn is": (
        [*SHORT, *SHORT, *SHORT],
        50,
        "e3",
        "no turn is longer than the budget, so the split is only due to where the budget ends.",
    ),
    "another turn is": (
        [*LONG, *SHORT, *SHORT],
        50,
        "e3",
        "it would fit into the budget, so the split is only due to where the budget ends.",
    ),
}


@pytest.mark.parametrize(("rows", "keep", "start", "cause"), SPLITS.values(), ids=SPLITS.keys())
def test_a_split_turn_is_told_with_its_start_and_its_cause(
    rows: Sequence[Row], keep: int, start: str, cause: str
) -> None:
    found = explained(rows, Settings(keep=keep))
    assert plan_of(found).is_split_turn
    assert f"splits the turn that starts at #{start[1:]} ({start})" in found.reasons["split_turn"]
    assert found.reasons["split_turn"].endswith(cause)


def test_the_prefix_is_counted_in_the_singular_and_in_the_plural() -> None:
    one, two = (explained([*SHORT, *LONG], Settings(keep=keep)).reasons["split_turn"] for keep in (100, 50))
    assert "The 1 message of that turn before the cut is summarized apart" in one
    assert "The 2 messages of that turn before the cut are summarized apart" in two


UNSPLIT: dict[str, tuple[Sequence[Row], Settings, str, str]] = {
    "the tail starts a turn": (TWO_TURNS, Settings(keep=200), "turn_not_split", "starts with a user message"),
    "there is no turn to split": (
        [reply(), reply(), reply(100)],
        Settings(keep=100),
        "turn_not_split",
        "holds no start of a turn before the cut",
    ),
    "a silent entry starts the tail": (
        [*TWO_TURNS[:2], model_change(), *TWO_TURNS[2:]],
        Settings(keep=200),
        "turn_prefix_whole",
        "the next turn starts at #3 (e3)",
    ),
    "the tail shows nothing": (
        [*TWO_TURNS[:3], reply(50), omission("e3")],
        Settings(keep=50),
        "turn_prefix_whole",
        "Nothing that the model sees is kept, so the turn that starts at #2 (e2)",
    ),
}


@pytest.mark.parametrize(("rows", "settings", "code", "words"), UNSPLIT.values(), ids=UNSPLIT.keys())
def test_a_cut_between_turns_is_not_called_a_split(
    rows: Sequence[Row], settings: Settings, code: str, words: str
) -> None:
    found = explained(rows, settings)
    assert words in found.reasons[code]
    assert plan_of(found).is_split_turn == (code == "turn_prefix_whole")
    assert "split_turn" not in found.reasons


def test_what_lies_before_the_previous_compaction_is_no_part_of_the_range() -> None:
    rows = [*LONG, compaction("none"), result("gone"), user(), reply()]
    text = explained(rows, Settings(keep=1000, exact=True)).reasons["budget_not_reached"]
    assert "all entries since the previous compaction have 30" in text
