"""Compactions: what they kept must be there, whole and in pairs, and the context must have become smaller."""

import pytest
from builders import SessionBuilder, tool_call, usage
from diagnosed import findings_of, line_of, told

LONG = "The crane stands at berth fourteen until the tide turns. " * 40
SUMMARY = "## Goal\nMove the crane before the tide turns."


def talk(turns: int = 6) -> SessionBuilder:
    """So many turns, about 600 tokens each."""
    builder = SessionBuilder()
    for turn in range(turns):
        builder.user(f"Turn {turn}: {LONG}")
    return builder


def graver(builder: SessionBuilder) -> list[tuple[str, str]]:
    return [(severity, code) for severity, code, _ in told(builder) if severity != "note"]


def test_a_compaction_that_frees_most_of_the_context_is_in_order() -> None:
    builder = talk()
    kept = builder.leaf
    builder.compaction(kept or "", SUMMARY, tokensBefore=3600)
    builder.assistant("Further.")
    assert told(builder) == []


def test_a_first_kept_entry_that_is_the_compaction_itself_keeps_nothing_on_purpose() -> None:
    builder = talk()
    builder.add("compaction", id="c0ffee01", firstKeptEntryId="c0ffee01", summary=SUMMARY, tokensBefore=3600)
    assert told(builder) == []


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("nowhere", "(deadbeef) is not in the file"),
        ("later", "stands after the compaction"),
        ("branch", "is on another branch"),
        ("unnamed", "does not say which entry it keeps first"),
    ],
)
def test_a_first_kept_entry_that_is_not_before_the_compaction_is_told(place: str, said: str) -> None:
    builder = talk()
    before = builder.leaf
    elsewhere = builder.user("On a branch.")
    builder.back_to(before)
    named = {"nowhere": "deadbeef", "later": "00000009", "branch": elsewhere, "unnamed": None}[place]
    made = builder.add("compaction", firstKeptEntryId=named, summary=SUMMARY, tokensBefore=3600)
    builder.user("Later.")
    (found,) = findings_of(builder, "first_kept_missing")
    assert (found.severity, found.line, found.entry_id) == ("error", line_of(builder, made), made)
    assert said in found.message


def test_a_compaction_of_version_1_that_names_a_row_that_is_not_there_is_told() -> None:
    builder = SessionBuilder(version=1)
    kept = builder.user()
    builder.compaction(kept, SUMMARY)
    data = builder.data().replace(b'"firstKeptEntryIndex":1', b'"firstKeptEntryIndex":77')
    assert ("error", "first_kept_missing", 3) in told(data)


def test_kept_results_whose_calls_are_not_kept_are_told() -> None:
    builder = talk()
    builder.assistant("I look.", tool_call("c1"), tool_call("c2"))
    first = builder.result("c1")
    builder.result("c2")
    made = builder.compaction(first, SUMMARY, tokensBefore=3600)
    (found,) = findings_of(builder, "kept_result_without_call")
    assert (found.severity, found.line) == ("warning", line_of(builder, made))
    where = f"the first kept entry is a tool result on line {line_of(builder, first)}"
    assert f"the calls of 2 kept tool results are not kept: {where}" in found.message


def test_a_late_result_whose_call_is_not_kept_is_told_though_the_kept_tail_starts_with_a_message() -> None:
    builder = talk()
    builder.assistant("I look.", tool_call("c1"))
    first = builder.user("While we wait.")
    builder.result("c1")
    builder.compaction(first, SUMMARY, tokensBefore=3600)
    assert f"the first kept entry is {first} on line" in findings_of(builder, "kept_result_without_call")[0].message


def test_a_result_after_a_compaction_that_replaced_its_call_is_told() -> None:
    builder = talk()
    builder.assistant("I look.", tool_call("c1"))
    kept = builder.user("While we wait.")
    made = builder.compaction(kept, SUMMARY, tokensBefore=3600)
    late = builder.result("c1")
    (found,) = findings_of(builder, "result_cut_from_call")
    assert (found.severity, found.line) == ("warning", line_of(builder, late))
    assert f"the compaction on line {line_of(builder, made)} replaced the call" in found.message


def test_pairs_on_another_branch_are_not_parted() -> None:
    builder = talk()
    call = builder.assistant("I look.", tool_call("c1"))
    builder.result("c1")
    builder.back_to(call)
    kept = builder.user("Leave it.")
    builder.compaction(kept, SUMMARY, tokensBefore=3600)
    assert findings_of(builder, "kept_result_without_call", "result_cut_from_call") == []


@pytest.mark.parametrize("summary", ["", " \n", None])
def test_an_empty_summary_is_an_error(summary: str | None) -> None:
    builder = talk()
    builder.compaction(builder.leaf or "", summary, tokensBefore=3600)  # type: ignore[arg-type]
    assert ("error", "empty_summary") in graver(builder)


def test_a_summary_no_smaller_than_what_it_replaced_is_told() -> None:
    builder = SessionBuilder()
    builder.user("Where is crane 3?")
    kept = builder.user("And the tide?")
    builder.compaction(kept, LONG, tokensBefore=13)
    (found,) = findings_of(builder, "summary_bigger")
    assert found.severity == "warning"
    assert (
        "the summary of 570 tokens is no smaller than the 5 tokens that it replaced; the context grew by 565"
        in found.message
    )


def test_a_context_that_grew_by_a_few_tokens_is_a_note() -> None:
    builder = SessionBuilder()
    builder.user("Where?")
    kept = builder.user("And the tide?")
    builder.compaction(kept, SUMMARY, tokensBefore=13)
    assert [(f.severity, f.code) for f in findings_of(builder)] == [("note", "summary_bigger")]


def test_a_compaction_that_replaced_no_message_made_no_progress() -> None:
    builder = talk()
    builder.compaction(builder.rows[0]["id"], LONG, tokensBefore=3600)
    assert graver(builder) == [("warning", "no_progress")]


def test_a_compaction_that_keeps_what_the_previous_one_had_replaced_is_told() -> None:
    builder = talk()
    builder.compaction(builder.leaf or "", SUMMARY, tokensBefore=3600)
    builder.user(LONG)
    again = builder.compaction(builder.rows[2]["id"], SUMMARY, tokensBefore=1800)
    (found,) = findings_of(builder, "kept_again")
    assert (found.severity, found.line) == ("warning", line_of(builder, again))
    assert "1,716 tokens" in found.message


def test_two_compactions_in_a_row_are_a_note_where_the_second_freed_something() -> None:
    builder = talk()
    first = builder.compaction(builder.rows[3]["id"], SUMMARY, tokensBefore=3600)
    builder.model_change()
    builder.compaction(builder.rows[5]["id"], SUMMARY, tokensBefore=1800)
    (found,) = findings_of(builder, "compacted_twice")
    assert found.severity == "note"
    assert f"that on line {line_of(builder, first)}" in found.message
    assert graver(builder) == []


def test_figures_are_those_of_the_branch_that_the_compaction_is_on() -> None:
    """The same compaction after a short and after a long branch."""
    builder = SessionBuilder()
    start = builder.user("Where is crane 3?")
    builder.user(LONG)
    builder.user(LONG)
    builder.compaction(builder.leaf or "", LONG, tokensBefore=1200)
    builder.back_to(start)
    kept = builder.user("And the tide?")
    builder.compaction(kept, LONG, tokensBefore=13)
    assert [f.line for f in findings_of(builder, "summary_bigger")] == [7]


@pytest.mark.parametrize(
    ("recorded", "severity"),
    [
        (3600, None), (900, None), (60_000, None), (500_000, "warning"), (0, "warning"), (-5, "warning"),
        (None, "note"), ("many", "note"), (3.5e300, "warning"),
    ],
)  # fmt: skip
def test_a_recorded_context_size_must_be_possible(recorded: object, severity: str | None) -> None:
    builder = talk()
    builder.compaction(builder.leaf or "", SUMMARY, tokensBefore=recorded)
    assert [f.severity for f in findings_of(builder, "tokens_before_implausible")] == ([severity] if severity else [])


def test_a_recorded_size_far_above_the_text_is_possible_where_a_provider_reported_it() -> None:
    builder = talk()
    builder.assistant("Yes.", usage=usage(500_000))
    builder.compaction(builder.leaf or "", SUMMARY, tokensBefore=500_010)
    assert findings_of(builder, "tokens_before_implausible") == []


def test_a_recorded_size_far_below_the_text_is_told() -> None:
    builder = SessionBuilder()
    builder.user(LONG * 200)
    kept = builder.user("And?")
    builder.compaction(kept, SUMMARY, tokensBefore=10)
    assert "only 10, yet" in findings_of(builder, "tokens_before_implausible")[0].message
