"""The ledger: a charge for every request on any branch, Pi's counts of messages, and nothing unknown taken for 0."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders import NO_USAGE, SESSION_ID, SessionBuilder, row_line, tool_call, usage
from hypothesis import given
from hypothesis import strategies as st
from spent import add_usage, paid
from strategies import damaged_files, json_values, sessions

from compactor.errors import SessionError
from compactor.formats.imported import Imported, ImportedRow, imported_session
from compactor.formats.pi import parse_session
from compactor.ledger import Charge, Ledger, copies, instant, read_ledger
from compactor.messages import Number
from compactor.session_file import read_session
from compactor.usage import all_tokens

HUGE = 10**400


def ledger_of(builder: SessionBuilder, since: str | None = None) -> Ledger:
    return read_ledger(builder.session(), since_ms=None if since is None else instant(since))


def charges_of(builder: SessionBuilder) -> list[Charge]:
    return ledger_of(builder).charges


def only_charge(**fields: Any) -> Charge:
    """The charge of an assistant message with these fields."""
    builder = SessionBuilder()
    builder.assistant(**fields)
    (charge,) = charges_of(builder)
    return charge


def test_every_kind_of_request_is_charged_in_the_order_of_the_file() -> None:
    builder = SessionBuilder()
    first = builder.user()
    builder.assistant(usage=paid(input=1))
    add_usage(builder, "cache_warm", usage=paid(input=2))
    add_usage(builder, "tide_table", model="gantry-9", usage=paid(input=3))
    builder.add("usage", usage=paid(input=4))
    builder.result("call", usage=paid(input=5))
    builder.compaction(first, usage=paid(input=6))
    builder.branch_summary(usage=paid(input=7))
    found = charges_of(builder)
    assert [(c.kind, c.usage.input) for c in found] == [
        ("assistant", 1), ("usage:cache_warm", 2), ("usage:tide_table", 3), ("usage:unknown", 4), ("tool", 5),
        ("compaction", 6), ("branch_summary", 7),
    ]  # fmt: skip
    assert [c.model for c in found] == ["gantry-1", "gantry-1", "gantry-9", None, None, None, None]


def test_what_was_compacted_away_or_left_on_another_branch_counts() -> None:
    builder = SessionBuilder()
    first = builder.user()
    builder.assistant(usage=paid(input=1))
    builder.compaction(builder.user())
    builder.assistant(usage=paid(input=2))
    builder.back_to(first)
    builder.assistant(usage=paid(input=3))
    assert [c.usage.input for c in charges_of(builder)] == [1, 2, 3]


def test_messages_without_a_request_are_no_charges_although_they_hold_a_usage() -> None:
    builder = SessionBuilder()
    builder.message("user", content="Go.", usage=paid(input=1))
    builder.message("bashExecution", command="ls", output="", usage=paid(input=1))
    builder.add("custom", usage=paid(input=1))
    builder.result("call")
    builder.compaction("none")
    builder.branch_summary()
    assert charges_of(builder) == []


def test_messages_are_counted_as_pi_counts_them() -> None:
    builder = SessionBuilder()
    builder.system()
    builder.user()
    builder.assistant("I look.", tool_call("a"), tool_call("b"), {"type": "thinking", "thinking": "?"})
    builder.message("assistant", content="a text alone")
    builder.result("a")
    builder.shell()
    builder.custom_message()
    found = ledger_of(builder)
    assert (found.user_messages, found.assistant_messages, found.tool_calls) == (1, 2, 2)
    assert (found.tool_results, found.total_messages) == (1, 6)


@pytest.mark.parametrize(
    ("reported", "cost"),
    [
        (paid(0.5, input=10), 0.5),
        (paid(0, input=10), 0),
        ({"input": 10}, None),
        ({"input": 10, "cost": {}}, None),
        ({"input": 10, "cost": {"input": 0.5}}, None),
        ({"input": 10, "cost": None}, None),
        ({"totalTokens": 10}, None),
        ({"input": 0, "output": 0}, 0),
        ({}, 0),
        (None, None),
    ],
)
def test_a_cost_is_known_only_where_it_is_recorded_or_nothing_was_used(reported: Any, cost: float | None) -> None:
    assert only_charge(usage=reported).cost == cost


def test_a_reply_that_reports_no_usage_is_a_request_of_unknown_size() -> None:
    builder = SessionBuilder()
    builder.message("assistant", content=[], provider="dock", model="gantry-1")
    add_usage(builder, "cache_warm")
    builder.add("message", message=None, type="message")
    assert [(c.kind, c.is_reported, c.cost) for c in charges_of(builder)] == [
        ("assistant", False, None),
        ("usage:cache_warm", False, None),
    ]


def test_the_model_that_answered_goes_before_the_one_that_was_asked() -> None:
    assert only_charge(responseModel="gantry-1-0301").model == "gantry-1-0301"
    assert only_charge().model == "gantry-1"


@pytest.mark.parametrize(("reason", "is_finished"), [("stop", True), ("error", False), ("aborted", False)])
def test_a_reply_that_failed_or_was_stopped_is_charged_and_marked(reason: str, is_finished: bool) -> None:
    charge = only_charge(usage=paid(input=7), stopReason=reason)
    assert (charge.usage.input, charge.is_finished) == (7, is_finished)


@pytest.mark.parametrize("value", ["12", -1, True, None, [], {}, HUGE, 1e300, "\ud800"])
@pytest.mark.parametrize("name", ["input", "output", "cacheRead", "cacheWrite", "totalTokens", "cacheWrite1h"])
def test_a_count_that_can_t_be_counts_as_missing_and_the_others_stay(name: str, value: Any) -> None:
    builder = SessionBuilder()
    builder.assistant("", tool_call("a"), usage={**paid(0.25, input=1, output=1), name: value})
    found = ledger_of(builder)
    (charge,) = found.charges
    counted = {"input", "output"} - {name}
    assert (charge.usage.input, charge.usage.output) == ("input" in counted, "output" in counted)
    assert all_tokens(charge.usage) == len(counted)
    assert (charge.cost, found.tool_calls) == (0.25, 1)
    assert [w.code for w in found.warnings] == ([] if value is None else ["malformed_usage"])


@pytest.mark.parametrize("value", ["0.5", -0.5, HUGE, [], False])
def test_a_total_cost_that_can_t_be_is_unknown(value: Any) -> None:
    builder = SessionBuilder()
    builder.assistant(usage={**paid(input=1), "cost": {"input": 0.5, "total": value}})
    found = ledger_of(builder)
    assert [c.cost for c in found.charges] == [None]
    assert [(w.code, w.line, w.entry_id) for w in found.warnings] == [("malformed_usage", 2, "00000001")]
    assert "cost.total" in found.warnings[0].message


def test_numbers_that_are_none_never_reach_a_sum() -> None:
    builder = SessionBuilder()
    builder.assistant(usage="USAGE")
    data = builder.data()
    for text in (b'{"input":NaN,"output":3}', b'{"input":Infinity,"output":3}', b'{"input":-Infinity,"output":3}'):
        (charge,) = read_ledger(parse_session(data.replace(b'"USAGE"', text))).charges
        assert (charge.usage.input, charge.usage.output) == (0, 3)


def test_a_warning_names_a_few_fields_and_counts_the_rest() -> None:
    builder = SessionBuilder()
    names = ("input", "output", "cacheRead", "cacheWrite", "totalTokens", "reasoning", "cacheWrite1h")
    builder.assistant(usage=dict.fromkeys(names, -1))
    (warning,) = ledger_of(builder).warnings
    assert "and 2 more can't be used" in warning.message


@pytest.mark.parametrize("raw", [b'{"usage":' + b"[" * 50_000 + b"]" * 50_000 + b"}", b'{"usage":{"input":1'])
def test_an_entry_that_can_t_be_decoded_is_told_and_counts_as_a_request(raw: bytes) -> None:
    builder = SessionBuilder()
    add_usage(builder, "cache_warm", usage=paid(input=1))
    session = builder.session()
    entry = msgspec.structs.replace(session.entries[0], source=raw, start=0, end=len(raw))
    found = read_ledger(msgspec.structs.replace(session, entries=[entry]))
    assert [(c.is_reported, c.usage.input) for c in found.charges] == [(False, 0)]
    assert found.warnings[0].message.startswith("line 2: the entry (")


IMPORTED_REPLIES = [
    ({"usage": paid(0.0, input=9)}, [(9, None, True)]),
    ({"usage": paid(0.25, input=9)}, [(9, 0.25, True)]),
    ({"usage": paid(0.0)}, [(0, None, False)]),
    ({"usage": paid(0.0), "stopReason": "error"}, [(0, 0, True)]),
]
"""Fields of a reply that an importer made -> its charges: tokens, cost, whether it is reported."""


@pytest.mark.parametrize(("fields", "expected"), IMPORTED_REPLIES)
def test_a_zero_that_an_importer_wrote_is_no_figure(fields: dict[str, Any], expected: list[Any]) -> None:
    message = {"role": "assistant", "content": [], "provider": "dock", "model": "gantry-1", **fields}
    rows = [ImportedRow(line=1, fields={"type": "message", "id": "a", "parentId": None, "message": message})]
    session = imported_session(Imported(format="codex", header={"id": "x"}, rows=rows), path="x", data=b"")
    assert [(c.usage.input, c.cost, c.is_reported) for c in read_ledger(session).charges] == expected


@pytest.mark.parametrize(("fields", "expected"), IMPORTED_REPLIES)
def test_a_converted_file_is_read_as_the_file_it_was_made_of(fields: dict[str, Any], expected: list[Any]) -> None:
    builder = SessionBuilder(header={"importedFrom": {"format": "codex"}})
    builder.assistant(**fields)
    assert [(c.usage.input, c.cost, c.is_reported) for c in charges_of(builder)] == expected


def test_what_an_imported_file_repeats_is_no_request() -> None:
    builder = SessionBuilder(header={"importedFrom": {"format": "codex"}})
    builder.assistant()
    builder.rows[-1]["importedFrom"] = "replacement_history"
    add_usage(builder, "sub_agent", usage=paid(0))
    found = ledger_of(builder)
    assert [(c.kind, c.is_reported) for c in found.charges] == [("usage:sub_agent", True)]
    assert (found.assistant_messages, found.total_messages) == (0, 0)


def test_a_reply_that_a_fork_copied_is_a_message_but_no_request() -> None:
    builder = SessionBuilder(header={"importedFrom": {"format": "codex"}})
    builder.assistant("", tool_call("a"))
    builder.rows[-1]["importedFrom"] = "parent"
    found = ledger_of(builder)
    assert (found.charges, found.assistant_messages, found.tool_calls) == ([], 1, 1)


def test_marks_of_importers_mean_nothing_in_a_session_of_pis_own() -> None:
    builder = SessionBuilder()
    builder.assistant(usage=paid(input=1))
    builder.rows[-1]["importedFrom"] = "replacement_history"
    found = ledger_of(builder)
    assert (len(found.charges), found.assistant_messages) == (1, 1)


def test_a_compaction_whose_model_is_named_is_a_request_to_it() -> None:
    builder = SessionBuilder()
    builder.compaction(builder.user(), usage=paid(input=1), provider="dock", model="gantry-1")
    builder.branch_summary(usage=paid(input=1), provider="dock", model="gantry-1")
    assert [(c.provider, c.model) for c in charges_of(builder)] == [("dock", "gantry-1"), (None, None)]


@pytest.mark.parametrize("header", [b'{"importedFrom":1}', b'{"importedFrom":{}', b'["importedFrom"]', b""])
def test_a_header_that_names_no_other_agent_changes_nothing(header: bytes) -> None:
    builder = SessionBuilder()
    builder.assistant(usage=paid(0, input=9))
    session = msgspec.structs.replace(builder.session(), header_raw=header)
    assert [c.cost for c in read_ledger(session).charges] == [0]


def test_only_what_is_not_older_counts() -> None:
    builder = SessionBuilder()
    builder.add("usage", usage=paid(input=1), timestamp="2026-03-01T10:00:00.000Z")
    builder.add("usage", usage=paid(input=2), timestamp="2026-03-02T10:00:00.000Z")
    builder.add("usage", usage=paid(input=4), timestamp="2026-03-02T12:00:00+02:00")
    builder.compaction("none", timestamp="2026-03-01T10:00:00.000Z")
    found = ledger_of(builder, "2026-03-02T10:00:00Z")
    assert [c.usage.input for c in found.charges] == [2, 4]
    assert (found.compactions, found.untimed) == ([], 0)


def test_an_entry_whose_time_can_t_be_told_is_left_out_and_counted() -> None:
    builder = SessionBuilder()
    builder.add("usage", usage=paid(input=1), timestamp="yesterday")
    builder.add("usage", usage=paid(input=2), timestamp=None)
    builder.add("message", timestamp=7, message={"role": "assistant", "usage": paid(input=4), "timestamp": -1})
    builder.add("message", timestamp="?", message={"role": "assistant", "usage": paid(input=8), "timestamp": 2e12})
    builder.add("label", timestamp=None)
    found = ledger_of(builder, "2026-03-02")
    assert [c.usage.input for c in found.charges] == [8]
    assert found.untimed == 3
    assert [c.usage.input for c in ledger_of(builder).charges] == [1, 2, 4, 8]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01", 1000),
        ("1970-01-01T00:00:00.250Z", 250),
        ("1970-01-01T01:00:00+01:00", 0),
        ("0001-01-01T00:00:00+23:00", -62135679600000),
        ("", None),
        ("soon", None),
        ("2026-13-01", None),
        ("\ud800", None),
    ],
)
def test_times_without_a_zone_are_utc(text: str, expected: int | None) -> None:
    assert instant(text) == expected


def copied(one: SessionBuilder, two: SessionBuilder) -> list[bool]:
    """Which charges of `two` are copies of those of `one`."""
    seen: set[tuple[Any, ...]] = set()
    assert not any(copies(charges_of(one), seen))
    return copies(charges_of(two), seen)


def test_a_fork_s_copies_are_found_and_its_own_requests_are_not() -> None:
    one = SessionBuilder()
    one.assistant(usage=paid(input=1))
    one.compaction(one.user(), usage=paid(input=2))
    two = SessionBuilder(rows=list(one.rows), leaf=one.leaf)
    one.assistant(usage=paid(input=3))
    two.assistant(usage=paid(input=4))
    assert copied(one, two) == [True, True, False]


def test_a_copy_in_a_file_of_version_1_is_found_although_it_has_no_id() -> None:
    one = SessionBuilder(version=1)
    one.assistant(usage=paid(input=1))
    two = SessionBuilder(version=1, rows=list(one.rows), leaf=one.leaf, header={"id": "harbor-0002"})
    assert copied(one, two) == [True]


def test_equal_charges_of_one_file_are_not_copies_of_each_other() -> None:
    one = SessionBuilder()
    for _ in range(2):
        one.add("usage", id="same", timestamp="2026-03-01T10:00:00Z", usage=paid(input=1))
    assert copied(SessionBuilder(), one) == [False, False]


def test_a_provider_s_reply_is_known_by_its_id_even_if_the_copy_was_made_while_it_streamed() -> None:
    one, two = SessionBuilder(), SessionBuilder()
    one.assistant(usage=paid(input=5, output=100), responseId="msg_1")
    two.user()
    two.assistant(usage=paid(input=5, output=3), responseId="msg_1")
    two.assistant(usage=paid(input=6), responseId="msg_1")
    assert copied(one, two) == [True, False]


@pytest.mark.parametrize("fields", [{"timestamp": None}, {"usage": NO_USAGE, "id": None}])
def test_what_nothing_tells_apart_is_never_taken_for_a_copy(fields: dict[str, Any]) -> None:
    one = SessionBuilder()
    one.add("usage", **{"usage": paid(input=1), **fields})
    assert copied(one, one) == [False]


def test_a_copy_of_a_reply_without_tokens_is_known_by_its_id_and_time() -> None:
    one = SessionBuilder()
    one.assistant()
    assert copied(one, one) == [True]


@given(st.lists(st.one_of(st.just(usage(9, input=9)), st.just(paid(0.1, output=4)), json_values), max_size=6))
def test_whatever_a_usage_holds_sums_are_finite_and_not_negative(usages: list[Any]) -> None:
    builder = SessionBuilder()
    for found in usages:
        builder.assistant(usage=found)
    assert_sane(ledger_of(builder))


@given(sessions(), json_values, st.sampled_from(("usage", "message", "timestamp", "id", "kind", "content")))
def test_any_session_with_any_value_in_any_field_has_a_ledger(builder: SessionBuilder, value: Any, name: str) -> None:
    builder.add("message", message={"role": "assistant", name: value, "usage": {"cost": value, name: value}})
    add_usage(builder, value, usage={"cost": {"total": value}})
    add_usage(builder, "cache_warm", usage=value, timestamp=value)
    assert_sane(ledger_of(builder))
    assert_sane(ledger_of(builder, "2026-03-01T10:00:03Z"))


@given(damaged_files())
def test_a_damaged_file_has_a_ledger(data: bytes) -> None:
    try:
        session = parse_session(data)
    except SessionError:
        return
    assert_sane(read_ledger(session))


def assert_sane(ledger: Ledger) -> None:
    """No figure that can't be, and one charge or more for each reply."""
    figures: list[Number] = []
    for charge in ledger.charges:
        used = charge.usage
        figures += [used.input, used.output, used.cache_read, used.cache_write, used.total_tokens, charge.cost or 0]
        figures += [used.cache_write1h or 0, used.reasoning or 0, used.cost.input, used.cost.cache_read]
    assert all(0 <= figure < 2**53 for figure in figures)
    assert ledger.assistant_messages == sum(c.kind == "assistant" for c in ledger.charges)


def test_the_example_session_of_pi_s_own_documentation_has_its_cost(tmp_path: Path) -> None:
    """Wire names as in Pi 1.6.0 docs/session-format.md, read from a file."""
    cost = {"input": 0, "output": 0, "cacheRead": 0.015, "cacheWrite": 0, "total": 0.015}
    warm = {"input": 0, "output": 0, "cacheRead": 50000, "cacheWrite": 0, "totalTokens": 50000, "cost": cost}
    rows: list[Any] = [{"type": "session", "version": 3, "id": SESSION_ID, "cwd": "/srv"}]
    rows += [{"type": "usage", "id": "f6", "parentId": None, "kind": "cache_warm", "usage": warm, "note": "why"}]
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(map(row_line, rows)))
    (charge,) = read_ledger(read_session(str(path))).charges
    assert (charge.kind, charge.cost, charge.usage.cache_read) == ("usage:cache_warm", 0.015, 50000)
