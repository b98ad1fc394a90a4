"""Every context entry is measured once, and a result without its call is taken out."""

from typing import Any

import pytest
from builders import SessionBuilder, ids_of, image, make_session, projection_of, row_line, tool_call, usage
from hypothesis import given
from hypothesis import strategies as st
from strategies import sessions

from compactor.entry_measure import EntryMeasure
from compactor.formats.pi import parse_session
from compactor.measure import Measured, measure, measure_entry
from compactor.tokens import PiCounter, TokenizerCounter

PI = PiCounter()
CHARS = TokenizerCounter(name="chars", count=len)


def measured(builder: SessionBuilder, *, exact: bool = False) -> Measured:
    return measure(builder.project(exact=exact), PI, exact=exact)


def only(builder: SessionBuilder) -> EntryMeasure:
    """The measure of the one entry."""
    (found,) = measured(builder).measures
    return found


def codes(found: Measured) -> list[str]:
    return [w.code for w in found.warnings]


# --- what is known of an entry -------------------------------------------------------------------


def test_an_assistant_tells_its_calls_files_usage_and_thinking() -> None:
    builder = SessionBuilder()
    calls = [tool_call("a", "read", path="x"), tool_call("b", "bash", command="ls"), {"type": "toolCall", "name": "f"}]
    thinking = {"type": "thinking", "thinking": "🚢hm"}
    builder.assistant([thinking, {"type": "thinking"}, {"type": "text", "text": "go"}], *calls, usage=usage(70))
    found = only(builder)
    assert (found.roles, found.calls, found.results) == (("assistant",), ("a", "b"), ())
    assert (found.files, found.usage_tokens, found.thinking_chars) == ((("read", "x"),), 70, 4)


def test_an_assistant_without_calls_has_none() -> None:
    found = only(make_session("assistant"))
    assert (found.calls, found.files, found.usage_tokens, found.thinking_chars) == ((), (), 0, 0)


def test_a_result_tells_its_call_files_images_and_what_is_cut() -> None:
    builder = SessionBuilder()
    builder.assistant("", tool_call("a"))
    nested = {"calls": [{"name": "edit", "arguments": {"path": "y"}}]}
    builder.result("a", [{"type": "text", "text": "🚢" * 1500}, image(), image()], nestedCalls=nested)
    found = measured(builder).measures[1]
    assert (found.roles, found.results, found.calls) == (("toolResult",), ("a",), ())
    assert (found.files, found.images, found.cut_chars) == ((("edit", "y"),), 2, 1000)
    assert found.tokens == 750 + 2400


@pytest.mark.parametrize(("chars", "cut"), [(0, 0), (2000, 0), (2001, 1), (5000, 3000)])
@pytest.mark.parametrize("counter", [PI, CHARS, TokenizerCounter(name="none", count=lambda text: 0)])
def test_what_a_summarizer_is_not_shown_of_a_result_is_known_with_every_counter(
    chars: int, cut: int, counter: Any
) -> None:
    builder = SessionBuilder()
    builder.result("a", "x" * chars)
    assert measure_entry(builder.project().entries[0], counter).cut_chars == cut


def test_a_result_without_the_id_of_a_call_answers_none() -> None:
    builder = SessionBuilder()
    builder.message("toolResult", content=[{"type": "text", "text": "x"}])
    found = measured(builder)
    assert found.measures[0].results == ()
    assert found.warnings == []


def test_system_tokens_are_told_apart() -> None:
    builder = make_session(("system", "x" * 40), ("user", "x" * 4))
    builder.compaction("00000002", "S" * 8, systemMessage={"role": "system", "content": "y" * 20})
    compaction, user = measured(builder).measures
    assert (compaction.roles, compaction.tokens, compaction.system_tokens) == (("system", "compactionSummary"), 7, 5)
    assert (user.tokens, user.system_tokens) == (1, 0)
    system, user = measured(make_session(("system", "x" * 40), ("user", "x" * 4))).measures
    assert (system.tokens, system.system_tokens, user.system_tokens) == (10, 10, 0)


@pytest.mark.parametrize(
    ("text", "wide"),
    [
        ("plain", 0),
        ("naïve Ünïcödé документ", 0),
        ("検査", 2),
        ("abc 検査", 2),
        ("🚢", 1),
        ("検" * 9000, 9000),
        ("検" * 4000 + "a" * 4000, 8000),
        ("a" * 4000 + "検" * 4000, 0),
    ],
)
@pytest.mark.parametrize("step", ["user", "assistant", "custom_message", "branch_summary"])
def test_characters_of_wide_scripts_are_counted_from_the_start_of_a_text(step: str, text: str, wide: int) -> None:
    """A quarter token a character undercounts them."""
    assert only(make_session((step, text))).wide_chars == wide


def test_wide_characters_of_results_and_shell_rows_count_too() -> None:
    builder = make_session(("shell", "ls", "検査"))
    builder.assistant("", tool_call("a"))
    builder.result("a", "検査検")
    assert [m.wide_chars for m in measured(builder).measures] == [2, 0, 3]


def test_images_of_a_user_are_counted() -> None:
    assert only(make_session(("user", [image(), image()]))).images == 2
    assert only(make_session(("user", "no image"))).images == 0


def test_entries_that_say_nothing_measure_nothing() -> None:
    builder = make_session("bookkeeping", ("branch_summary", ""), "private_shell")
    assert measured(builder).measures == [EntryMeasure()] * 9


def test_an_omitted_entry_measures_nothing_and_a_replaced_one_its_new_content() -> None:
    builder = make_session(("user", "x" * 400), ("user", "y" * 400))
    builder.edit("00000001")
    builder.edit("00000002", "z" * 4)
    assert [m.tokens for m in measured(builder).measures] == [0, 1, 0, 0]


def test_a_role_that_nobody_knows_is_carried_along() -> None:
    builder = SessionBuilder()
    for n in range(100):
        builder.message(f"role{n}", content="x")
    assert [m.roles for m in measured(builder).measures] == [(f"role{n}",) for n in range(100)]


@pytest.mark.parametrize("exact", [False, True])
def test_a_field_of_the_wrong_type_is_told_once(exact: bool) -> None:
    builder = make_session("user")
    builder.message("user", content=7, timestamp="late")
    builder.add("context_edit", targetId="00000001", replacement=7)
    warnings = measured(builder, exact=exact).warnings
    assert [(w.code, w.line, w.entry_id) for w in warnings] == [
        ("malformed_field", 3, "00000002"),
        ("malformed_field", 4, "00000003"),
    ]
    assert warnings[0].message == "line 3: message.content can't be used as written and counts as missing"


def test_no_more_than_five_broken_fields_are_named() -> None:
    header = row_line({"type": "session", "id": "a", "version": 3})
    blocks = [{"type": "text", "text": n} for n in range(9)]
    row = row_line({"type": "message", "id": "b", "parentId": None, "message": {"role": "user", "content": blocks}})
    (warning,) = measure(projection_of(parse_session(header + row)), PI).warnings
    assert warning.message.count("content[") == 5


# --- orphans -------------------------------------------------------------------------------------


def test_a_result_whose_call_is_not_before_it_is_left_out_with_a_warning() -> None:
    builder = make_session("user", ("result", "lost", "x" * 40), "assistant")
    found = measured(builder)
    assert [m.roles for m in found.measures] == [("user",), (), ("assistant",)]
    assert found.projection.entries[1].messages() == []
    assert found.projection.entries[1].is_silent
    assert [(w.code, w.line, w.entry_id) for w in found.warnings] == [("orphan_result", 3, "00000002")]


def test_as_pi_measures_it_an_orphan_stays() -> None:
    builder = make_session("user", ("result", "lost", "x" * 40))
    found = measured(builder, exact=True)
    assert [m.tokens for m in found.measures] == [5, 10]
    assert found.warnings == []


def test_a_result_below_a_compaction_that_left_its_call_behind_is_an_orphan() -> None:
    builder = make_session("user")
    builder.assistant("", tool_call("a"))
    builder.compaction("00000003", "S")
    builder.result("a")
    found = measured(builder)
    assert codes(found) == ["orphan_result"]
    assert [m.roles for m in found.measures] == [("compactionSummary",), ()]


def test_a_result_whose_call_an_edit_took_away_is_an_orphan() -> None:
    builder = SessionBuilder()
    builder.assistant("", tool_call("a"))
    builder.result("a")
    builder.edit("00000001", "no call any more")
    assert codes(measured(builder)) == ["orphan_result"]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_results_may_come_late_and_in_any_order(order: str) -> None:
    builder = SessionBuilder()
    builder.assistant("", tool_call("a"), tool_call("b"))
    for call_id in order:
        builder.user("meanwhile")
        builder.result(call_id)
    assert measured(builder).warnings == []


def test_a_result_before_its_call_is_an_orphan() -> None:
    builder = make_session(("result", "a"))
    builder.assistant("", tool_call("a"))
    assert codes(measured(builder)) == ["orphan_result"]


@given(sessions())
def test_after_measuring_every_result_has_its_call_before_it(builder: SessionBuilder) -> None:
    found = measured(builder)
    seen: set[str] = set()
    for projected, one in zip(found.projection.entries, found.measures, strict=True):
        for message in projected.messages():
            if message.role == "toolResult" and message.tool_call_id is not None:
                assert message.tool_call_id in seen
            seen |= {call.id for call in message.tool_calls if call.id is not None}
        assert one.roles == tuple(m.role for m in projected.messages())
        assert one.tokens == sum(map(PI.message, projected.messages()))


@given(sessions(), st.booleans())
def test_the_order_and_number_of_entries_stay(builder: SessionBuilder, exact: bool) -> None:
    projection = builder.project(exact=exact)
    found = measure(projection, PI, exact=exact)
    assert ids_of(found.projection.entries) == ids_of(projection.entries)
    assert len(found.measures) == len(projection.entries)
    assert found.projection.newest_reset == projection.newest_reset
    if exact:
        assert found.projection is projection


@pytest.mark.parametrize("kept", ["gone", None])
def test_a_compaction_whose_kept_entries_can_not_be_found_is_told(kept: str | None) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.compaction("x", firstKeptEntryId=kept)
    builder.user()
    warnings = measure(builder.project(), PiCounter()).warnings
    assert [w.code for w in warnings] == ["first_kept_missing"]
    assert warnings[0].line == 3


def test_a_compaction_that_names_itself_kept_nothing_on_purpose() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.compaction("00000002")
    assert measure(builder.project(), PiCounter()).warnings == []


def test_bytes_that_are_not_utf8_are_told_as_what_they_are_read_as() -> None:
    data = make_session("user", ("user", "MARK")).data().replace(b"MARK", b"\xff\xfe")
    warnings = measure(projection_of(parse_session(data)), PiCounter()).warnings
    assert [w.code for w in warnings] == ["malformed_field"]
    assert "are read as U+FFFD" in warnings[0].message
    assert "counts as missing" not in warnings[0].message
