"""Where a context is cut. A text made by `tokens(n)` costs n tokens."""

from typing import Any

import pytest
from builders import Outcome, SessionBuilder, make_session, tool_call, usage
from hypothesis import given
from hypothesis import strategies as st
from strategies import sessions

from compactor.measure import measure
from compactor.messages import Message
from compactor.plan import CompactionPlan, find_cut
from compactor.tokens import PiCounter

BUDGETS = st.one_of(st.integers(0, 400), st.integers(0, 6000))


def tokens(n: int, name: str = "") -> str:
    return name.ljust(4 * n, ".")


def talk(*sizes: int) -> SessionBuilder:
    """Users and assistants in turn, named u1, a2, u3, ... of so many tokens each."""
    builder = SessionBuilder()
    for n, size in enumerate(sizes, start=1):
        (builder.user if n % 2 else builder.assistant)(tokens(size, f"{'u' if n % 2 else 'a'}{n}"))
    return builder


def names(outcome: Outcome, span: range | None = None) -> list[str]:
    """The texts of context entries less their padding."""
    return [text.rstrip(".") for text in outcome.texts(span)]


def parts(outcome: Outcome) -> tuple[list[str], list[str], list[str]]:
    """History, turn prefix and kept tail."""
    plan = outcome.cut
    return names(outcome, plan.history), names(outcome, plan.turn_prefix), names(outcome)


# --- the budget ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keep", "history", "prefix", "kept"),
    [
        (0, ["u1", "a2"], ["u3"], ["a4"]),
        (1, ["u1", "a2"], ["u3"], ["a4"]),
        (10, ["u1", "a2"], ["u3"], ["a4"]),
        (11, ["u1", "a2"], [], ["u3", "a4"]),
        (20, ["u1", "a2"], [], ["u3", "a4"]),
        (21, [], ["u1"], ["a2", "u3", "a4"]),
        (30, [], ["u1"], ["a2", "u3", "a4"]),
    ],
)
def test_the_kept_tail_starts_where_the_budget_is_reached(
    keep: int, history: list[str], prefix: list[str], kept: list[str]
) -> None:
    for exact in (False, True):
        outcome = talk(10, 10, 10, 10).plan(keep, exact=exact)
        assert parts(outcome) == (history, prefix, kept)
        assert outcome.cut.is_split_turn == bool(prefix)


@pytest.mark.parametrize("keep", [31, 40, 41, 20_000])
def test_when_everything_fits_there_is_nothing_to_do(keep: int) -> None:
    skip = talk(10, 10, 10, 10).plan(keep).skip
    assert skip.reason == "nothing_to_compact"
    assert "4 messages with 40 tokens" in skip.detail
    assert (f"fewer than the {keep:,} tokens to keep" in skip.detail) == (keep > 40)


def test_a_huge_message_where_the_budget_is_reached_is_kept_whole() -> None:
    outcome = talk(10, 10, 5000, 10).plan(100)
    assert parts(outcome)[2] == ["u3", "a4"]
    assert outcome.cut.kept_tokens == 5010


def test_a_first_message_that_alone_is_over_the_budget_leaves_nothing_to_compact() -> None:
    skip = talk(5000, 10).plan(100).skip
    assert skip.reason == "nothing_to_compact"
    assert "before a message of up to 5,000 tokens, which is kept whole" in skip.detail


def test_a_result_is_never_first_the_cut_goes_on_to_the_next_message() -> None:
    builder = talk(10)
    builder.assistant(tokens(10, "call"), tool_call("a", "read"))
    builder.result("a", tokens(500, "result"))
    builder.assistant(tokens(10, "answer"))
    for exact in (False, True):
        assert parts(builder.plan(100, exact=exact)) == ([], ["u1", "call", "result"], ["answer"])


def test_when_only_results_follow_the_budget_the_last_permitted_entry_is_first() -> None:
    builder = talk(10)
    builder.assistant(tokens(10, "call"), tool_call("a", "read"))
    builder.result("a", tokens(500, "result"))
    for exact in (False, True):
        assert parts(builder.plan(100, exact=exact)) == ([], ["u1"], ["call", "result"])


def test_entries_without_a_message_right_before_the_cut_go_along() -> None:
    builder = talk(10, 10)
    builder.model_change()
    label = builder.add("label", targetId="00000001", label="x")
    builder.user(tokens(10, "u3"))
    plan = builder.plan(10).cut
    assert plan.first_kept.type == "model_change"
    assert plan.first_kept.id < label
    assert plan.cut.permitted == 4
    assert (plan.cut.index, plan.cut.moved_for_pairs) == (2, 0)


def test_entries_without_tokens_do_not_reach_a_budget() -> None:
    builder = talk(10, 10, 10)
    builder.user("")
    assert parts(builder.plan(0))[2] == ["u3", ""]


@pytest.mark.parametrize(
    ("step", "starts"),
    [
        (("user", tokens(10, "m")), True),
        (("custom_message", tokens(10, "m")), True),
        (("branch_summary", tokens(10, "m")), True),
        (("assistant", tokens(10, "m")), False),
    ],
)
def test_a_turn_starts_at_what_is_not_the_assistants(step: tuple[str, str], starts: bool) -> None:
    builder = talk(10, 10)
    getattr(builder, step[0])(*step[1:])
    plan = builder.plan(10).cut
    assert plan.is_split_turn is not starts
    assert plan.cut.turn_start == (None if starts else 0)


def test_a_shell_row_starts_a_turn_unless_it_is_private() -> None:
    builder = talk(10, 10)
    builder.shell("", tokens(10, "out"))
    assert parts(builder.plan(10)) == (["u1", "a2"], [], ["out"])


def test_a_cut_at_an_assistant_without_a_turn_before_it_splits_none() -> None:
    builder = make_session(("assistant", tokens(10, "a1")), ("assistant", tokens(10, "a2")))
    assert parts(builder.plan(10)) == (["a1"], [], ["a2"])
    assert not builder.plan(10).cut.is_split_turn


def test_a_turn_that_started_before_the_range_is_not_split() -> None:
    builder = talk(10, 10)
    builder.compaction("00000002", "S")
    builder.assistant(tokens(10, "a4"))
    assert parts(builder.plan(10)) == (["a2"], [], ["a4"])


def test_system_messages_are_never_summarized_but_cost_their_tokens() -> None:
    builder = make_session(("system", tokens(50, "rules")))
    builder.user(tokens(10, "u2"))
    builder.system(tokens(50, "more"))
    builder.user(tokens(10, "u4"))
    outcome = builder.plan(10)
    assert outcome.cut.history_messages == 1
    assert outcome.cut.tokens_before == 20 + 101
    assert names(outcome) == ["u4"]


# --- nothing to do -------------------------------------------------------------------------------


def test_a_branch_that_ends_with_a_compaction_is_already_compacted() -> None:
    builder = talk(10, 10)
    builder.compaction("00000002", "S")
    for keep in (1, 20_000):
        assert builder.plan(keep).skip.reason == "already_compacted"
    builder.model_change()
    assert builder.plan(1).skip.reason == "nothing_to_compact"


@pytest.mark.parametrize(
    "steps",
    [[], ["bookkeeping"], [("system", "rules")], ["private_shell"], [("result", "lost")], [("branch_summary", "")]],
)
def test_without_a_message_there_is_none_to_summarize(steps: list[Any]) -> None:
    for keep in (0, 1, 20_000):
        skip = make_session(*steps).plan(keep).skip
        assert skip.reason == "no_messages"
        assert skip.detail == "there is no message that a summary could replace"


def test_without_a_message_since_the_last_compaction_there_is_none_to_summarize() -> None:
    builder = talk(10)
    builder.compaction("nothing", "S")
    builder.system("rules")
    assert "after the previous compaction" in builder.plan(1).skip.detail


@pytest.mark.parametrize("keep", [0, 1, 20_000])
def test_one_message_is_never_compacted(keep: int) -> None:
    assert talk(10).plan(keep).skip.reason == "nothing_to_compact"


def test_results_alone_give_pi_nothing_to_cut() -> None:
    for keep in (1, 20_000):
        assert make_session(("result", "a", tokens(10))).plan(keep, exact=True).skip.reason == "nothing_to_compact"


def test_a_kept_tail_over_the_limit_is_refused_with_its_largest_entry() -> None:
    """A summary of the rest could not bring the context below it."""
    builder = talk(10, 10, 5000, 10)
    limits = {"context_window": 6000, "reserve_tokens": 1000}
    skip = builder.plan(100, settings=limits).skip
    assert skip.reason == "kept_tail_over_limit"
    assert "5,010 tokens, more than the 5,000" in skip.detail
    assert "00000003 has 5,000" in skip.detail
    assert isinstance(builder.plan(100, exact=True, settings=limits).plan, CompactionPlan)
    assert isinstance(builder.plan(100, settings={**limits, "reserve_tokens": 990}).plan, CompactionPlan)


def test_a_reserve_as_large_as_the_window_sets_no_limit() -> None:
    limits = {"context_window": 8192, "reserve_tokens": 16_384}
    assert isinstance(talk(10, 10, 10).plan(10, settings=limits).plan, CompactionPlan)


# --- compactions one after the other -------------------------------------------------------------


def test_what_the_first_compaction_kept_is_summarized_by_the_second() -> None:
    builder = talk(10, 10, 10, 10)
    builder.compaction("00000003", tokens(5, "S1"), details={"readFiles": ["a", "b"], "modifiedFiles": ["c"]})
    for n in (6, 7, 8, 9):
        builder.user(tokens(10, f"u{n}")) if n % 2 == 0 else builder.assistant(tokens(10, f"a{n}"))
    outcome = builder.plan(20)
    assert parts(outcome) == (["u3", "a4", "u6", "a7"], [], ["u8", "a9"])
    plan = outcome.cut
    assert (plan.range_start, plan.previous_summary) == (1, tokens(5, "S1"))
    assert plan.tokens_before == 65
    assert plan.files.read_files == ("a", "b")
    assert plan.files.modified_files == ("c",)


def test_files_of_the_summarized_part_count_and_those_of_the_tail_do_not() -> None:
    builder = talk(10)
    builder.assistant("", tool_call("1", "read", path="a"), tool_call("2", "edit", path="b"))
    builder.result("1")
    builder.result("2")
    builder.user(tokens(10, "u"))
    builder.assistant("", tool_call("3", "write", path="c"))
    builder.result("3")
    files = builder.plan(10).cut.files
    assert (files.read_files, files.modified_files) == (("a",), ("b",))


def test_lists_that_an_extension_wrote_are_not_carried_on() -> None:
    builder = talk(10)
    builder.compaction("00000001", "S", details={"readFiles": ["a"]}, fromHook=True)
    builder.user(tokens(10, "u3"))
    assert builder.plan(10).cut.files.read_files == ()


def test_a_compaction_that_an_edit_took_away_is_no_previous_summary() -> None:
    builder = talk(10, 10)
    builder.edit(builder.compaction("00000001", "S"))
    builder.user(tokens(10, "u3"))
    plan = builder.plan(10).cut
    assert (plan.range_start, plan.previous_summary) == (0, None)


def test_an_older_compaction_in_the_kept_tail_is_no_place_to_cut() -> None:
    builder = talk(10, 10)
    builder.compaction("00000001", "S1")
    builder.user(tokens(10, "u4"))
    builder.compaction("00000001", "S2")
    builder.user(tokens(10, "u6"))
    outcome = builder.plan(20)
    assert parts(outcome) == (["u1", "a2"], [], ["u4", "u6"])
    assert outcome.cut.first_kept.id == "00000004"


def test_the_newest_request_is_not_lost_in_the_history() -> None:
    """Its turn is split, so it opens the turn prefix, apart from the turns that are done."""
    builder = talk(20, 20, 20)
    for n in range(3):
        builder.assistant(tokens(10, f"step{n}"), tool_call(f"c{n}"))
        builder.result(f"c{n}", tokens(30, f"r{n}"))
    assert parts(builder.plan(50)) == (["u1", "a2"], ["u3", "step0", "r0", "step1", "r1"], ["step2", "r2"])


# --- failed attempts that were taken out -----------------------------------------------------------


def failed_attempt(builder: SessionBuilder) -> SessionBuilder:
    builder.edit(builder.assistant(tokens(10, "failed"), stopReason="error"))
    return builder


def test_after_a_failed_attempt_everything_visible_may_be_summarized() -> None:
    """The overflow came from the newest message, so keeping it would not help."""
    for exact in (False, True):
        outcome = failed_attempt(talk(10, 10, 500)).plan(100, exact=exact)
        assert parts(outcome) == (["u1", "a2"], ["u3"], [])
        assert outcome.cut.cut.moved_for_recovery
        assert outcome.cut.first_kept.id == "00000004"


@pytest.mark.parametrize("case", ["small", "other edit", "visible", "no attempt"])
def test_without_a_failed_attempt_at_the_end_the_newest_message_stays(case: str) -> None:
    builder = talk(10, 10, 500)
    keep = 100
    if case == "small":
        builder, keep = failed_attempt(builder), 1000
    elif case == "other edit":
        failed_attempt(builder).edit("00000002", "shorter")
    elif case == "visible":
        failed_attempt(builder).assistant(tokens(200, "more"))
    else:
        builder.edit(builder.user("gone"))
    for exact in (False, True):
        outcome = builder.plan(keep, exact=exact)
        assert not isinstance(outcome.plan, CompactionPlan) or not outcome.cut.cut.moved_for_recovery


def test_a_failed_attempt_may_be_rewritten_before_it_is_taken_out() -> None:
    builder = talk(10, 10, 500)
    failed = builder.assistant(tokens(10, "failed"), stopReason="error")
    builder.edit(failed, "shorter")
    builder.edit(failed)
    for exact in (False, True):
        assert builder.plan(100, exact=exact).cut.cut.moved_for_recovery


def test_an_attempt_that_was_only_rewritten_or_of_another_kind_is_no_failed_one() -> None:
    builder = talk(10, 10, 500)
    builder.edit(builder.assistant(tokens(10, "failed")), "rewritten")
    assert parts(builder.plan(100))[2] == ["u3", "rewritten"]
    builder = talk(10, 10, 500)
    builder.edit("00000002")
    builder.model_change()
    assert parts(builder.plan(100))[2] == ["u3"]


def test_an_older_compaction_between_the_cut_and_the_end_stops_the_recovery() -> None:
    builder = talk(10, 10, 500)
    builder.compaction("00000003", "S1")
    failed_attempt(builder)
    builder.compaction("00000002", "S2")
    failed_attempt(builder)
    for exact in (False, True):
        assert parts(builder.plan(100, exact=exact))[2] == ["u3"]


# --- pairs ---------------------------------------------------------------------------------------


def late_result() -> SessionBuilder:
    """Two calls; a message comes between their results."""
    builder = talk(10, 10, 10)
    builder.assistant(tokens(10, "calls"), tool_call("a"), tool_call("b"))
    builder.result("b", tokens(10, "rb"))
    builder.custom_message(tokens(10, "note"))
    builder.result("a", tokens(10, "ra"))
    builder.assistant(tokens(10, "done"))
    return builder


def test_a_cut_between_a_call_and_its_late_result_moves_back() -> None:
    outcome = late_result().plan(25)
    assert outcome.cut.cut.moved_for_pairs == -2
    assert parts(outcome) == (["u1", "a2"], ["u3"], ["calls", "rb", "note", "ra", "done"])
    exact = late_result().plan(25, exact=True)
    assert parts(exact)[2] == ["note", "ra", "done"]


def test_a_cut_that_cannot_move_back_moves_on() -> None:
    """Back at the first entry there would be nothing left to summarize."""
    builder = SessionBuilder()
    builder.assistant(tokens(10, "call"), tool_call("a"))
    builder.user(tokens(10, "meanwhile"))
    builder.result("a", tokens(10, "result"))
    builder.user(tokens(10, "next"))
    outcome = builder.plan(25)
    assert parts(outcome) == (["call", "meanwhile", "result"], [], ["next"])
    assert outcome.cut.cut.moved_for_pairs == 2


def test_system_messages_alone_are_nothing_to_summarize_either() -> None:
    builder = make_session(("system", "rules"))
    builder.assistant(tokens(10, "call"), tool_call("a"))
    builder.user(tokens(10, "meanwhile"))
    builder.result("a", tokens(10, "result"))
    builder.user(tokens(10, "next"))
    assert parts(builder.plan(25))[2] == ["next"]


def test_when_no_cut_leaves_the_pairs_whole_nothing_is_compacted() -> None:
    builder = SessionBuilder()
    builder.assistant(tokens(10, "call"), tool_call("a"))
    builder.user(tokens(10, "meanwhile"))
    builder.result("a", tokens(10, "result"))
    assert builder.plan(15).skip.reason == "nothing_to_compact"
    assert isinstance(builder.plan(15, exact=True).plan, CompactionPlan)


def test_results_in_another_order_than_their_calls_stay_with_them() -> None:
    builder = talk(10)
    builder.assistant(tokens(10, "first"), tool_call("a"))
    builder.assistant(tokens(10, "second"), tool_call("b"))
    builder.result("b", tokens(10, "rb"))
    builder.result("a", tokens(10, "ra"))
    builder.assistant(tokens(10, "done"))
    for keep in range(1, 100):
        assert_pairs_whole(builder.plan(keep))
    assert parts(builder.plan(35))[2] == ["first", "second", "rb", "ra", "done"]


def test_an_id_that_is_used_again_pairs_with_the_newest_call() -> None:
    builder = talk(10)
    for n in range(2):
        builder.assistant(tokens(10, f"call{n}"), tool_call("same"))
        builder.result("same", tokens(10, f"r{n}"))
    assert parts(builder.plan(20))[2] == ["call1", "r1"]


def test_a_private_row_is_never_the_first_kept_entry() -> None:
    builder = talk(10, 10)
    builder.private_shell(tokens(5000, "secret"))
    builder.user(tokens(10, "u4"))
    outcome = builder.plan(10)
    assert outcome.cut.first_kept.id == "00000004"
    assert outcome.cut.tokens_before == 30
    skip = builder.plan(100).skip
    assert skip.reason == "nothing_to_compact"
    assert builder.plan(100, exact=True).cut.first_kept.id == "00000003"


def assert_pairs_whole(outcome: Outcome) -> None:
    if not isinstance(outcome.plan, CompactionPlan):
        return
    measures, at = outcome.measured.measures, outcome.plan.cut.index
    calls = {call for m in measures[at:] for call in m.calls}
    results = {result for m in measures[at:] for result in m.results}
    assert results <= calls
    seen = {call for m in measures[outcome.plan.range_start : at] for call in m.calls}
    assert not (seen - calls) & results


@given(sessions(), BUDGETS)
def test_no_budget_parts_a_call_from_its_result(builder: SessionBuilder, keep: int) -> None:
    assert_pairs_whole(builder.plan(keep))


# --- the whole -----------------------------------------------------------------------------------


def visible(outcome: Outcome, span: range) -> list[Message]:
    return [m for n in span for m in outcome.measured.projection.entries[n].messages()]


@given(sessions(), BUDGETS, st.booleans())
def test_history_prefix_and_tail_are_the_whole_range_and_share_nothing(
    builder: SessionBuilder, keep: int, exact: bool
) -> None:
    outcome = builder.plan(keep, exact=exact)
    if not isinstance(outcome.plan, CompactionPlan):
        return
    plan, end = outcome.plan, len(outcome.measured.measures)
    kept = range(plan.cut.index, end)
    assert [*plan.history, *plan.turn_prefix, *kept] == list(range(plan.range_start, end))
    assert [m for n in (plan.history, plan.turn_prefix, kept) for m in visible(outcome, n)] == visible(
        outcome, range(plan.range_start, end)
    )
    summarized = [len([m for m in visible(outcome, s) if m.role != "system"]) for s in (plan.history, plan.turn_prefix)]
    assert summarized == [plan.history_messages, plan.prefix_messages]
    assert sum(summarized) > 0
    assert plan.kept_messages == len(visible(outcome, kept))
    assert plan.kept_tokens == sum(map(PiCounter().message, visible(outcome, kept)))
    assert plan.tokens_before == outcome.context.tokens
    assert visible(outcome, range(plan.range_start)) == [] or plan.previous_summary is not None


@given(sessions(), BUDGETS, BUDGETS, st.booleans())
def test_a_larger_budget_never_keeps_fewer(builder: SessionBuilder, one: int, two: int, exact: bool) -> None:
    measured = builder.plan(0, exact=exact).measured
    start = int(bool(measured.measures) and measured.projection.entries[0].entry.type == "compaction")
    small, large = (find_cut(measured, start, keep, exact=exact) for keep in sorted((one, two)))
    assert large.index <= small.index


@given(sessions(), BUDGETS)
def test_the_kept_tail_reaches_the_budget_unless_pairs_or_results_forbid_it(builder: SessionBuilder, keep: int) -> None:
    outcome = builder.plan(keep)
    if isinstance(outcome.plan, CompactionPlan) and outcome.plan.cut.crossing == outcome.plan.cut.permitted:
        moved_on = outcome.plan.cut.moved_for_pairs > 0 or outcome.plan.cut.moved_for_recovery
        assert outcome.plan.kept_tokens >= keep or moved_on


@given(sessions(), BUDGETS, st.booleans())
def test_a_tail_never_starts_with_a_result(builder: SessionBuilder, keep: int, exact: bool) -> None:
    outcome = builder.plan(keep, exact=exact)
    if isinstance(outcome.plan, CompactionPlan):
        tail = visible(outcome, range(outcome.plan.cut.index, len(outcome.measured.measures)))
        assert not tail or tail[0].role != "toolResult"


@given(sessions(), BUDGETS)
def test_a_skip_says_why_in_one_line(builder: SessionBuilder, keep: int) -> None:
    outcome = builder.plan(keep)
    if not isinstance(outcome.plan, CompactionPlan):
        assert "\n" not in outcome.plan.detail
        assert outcome.plan.detail


def test_a_range_without_entries_is_cut_at_its_end() -> None:
    measured = measure(talk(10).project(), PiCounter())
    assert find_cut(measured, 1, 10).index == 1


def test_a_result_whose_call_lies_before_the_range_is_parted_from_nothing() -> None:
    measured = late_result().plan(0).measured
    assert find_cut(measured, 4, 25).moved_for_pairs == 0


def test_a_report_decides_what_the_context_has_before() -> None:
    builder = talk(10, 10)
    builder.assistant(tokens(10, "a3"), usage=usage(777))
    assert builder.plan(10).cut.tokens_before == 777
