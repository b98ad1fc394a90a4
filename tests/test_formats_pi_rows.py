"""Measuring while reading spares a second decoding and changes nothing that is found."""

from typing import Any

import pytest
from builders import SessionBuilder, make_session, projection_of, row_line, tool_call, usage
from hypothesis import given
from hypothesis import strategies as st
from strategies import damaged_files, sessions

from compactor.errors import SessionError
from compactor.formats.pi import parse_session
from compactor.measure import Measured, measure
from compactor.tokens import Counter, PiCounter, TokenizerCounter

COUNTERS: tuple[Counter, ...] = (PiCounter(), TokenizerCounter(name="chars", count=len))


def found(data: bytes, counter: Counter, *, exact: bool, with_estimates: bool) -> Measured:
    session = parse_session(data, exact=exact, with_estimates=with_estimates)
    return measure(projection_of(session, exact=exact), counter, exact=exact)


def same_both_ways(data: bytes, *, exact: bool = False) -> None:
    """Asserts that all measures and warnings are the same with estimates and without."""
    plain, quick = (parse_session(data, exact=exact, with_estimates=quick) for quick in (False, True))
    assert all(entry.estimate is None for entry in plain.entries)
    assert [(e.id, e.index, e.line, e.role, e.raw, e.patch) for e in quick.entries] == [
        (e.id, e.index, e.line, e.role, e.raw, e.patch) for e in plain.entries
    ]
    assert (quick.warnings, quick.parents, quick.header_raw) == (plain.warnings, plain.parents, plain.header_raw)
    for counter in COUNTERS:
        expected = found(data, counter, exact=exact, with_estimates=False)
        taken = found(data, counter, exact=exact, with_estimates=True)
        assert (taken.measures, taken.warnings) == (expected.measures, expected.warnings)


@given(st.sampled_from((1, 2, 3)).flatmap(lambda version: sessions(version=version)), st.booleans())
def test_a_session_measures_the_same_whether_or_not_it_was_measured_while_reading(
    builder: SessionBuilder, exact: bool
) -> None:
    same_both_ways(builder.data(), exact=exact)


@given(damaged_files(), st.booleans())
def test_so_does_a_damaged_one(data: bytes, exact: bool) -> None:
    try:
        parse_session(data, exact=exact)
    except SessionError as refused:
        with pytest.raises(SessionError) as again:
            parse_session(data, exact=exact, with_estimates=True)
        assert str(again.value) == str(refused)
    else:
        same_both_ways(data, exact=exact)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": 7},
        {"role": "user", "content": "x", "timestamp": "noon"},
        {"role": "assistant", "content": [{"type": "text", "text": 1}], "usage": usage(9)},
        {"role": "assistant", "content": [], "usage": {"cost": {"total": "much"}}},
        {"role": "toolResult", "content": [7, {"type": "text", "text": "x"}]},
        {"role": "hookMessage", "content": "x"},
        {"role": "user", "content": "\ud83d"},
    ],
)
@pytest.mark.parametrize("version", [1, 2, 3])
def test_odd_messages_are_measured_the_long_way(message: dict[str, Any], version: int) -> None:
    header = row_line({"type": "session", "id": "a", "version": version})
    row = row_line({"type": "message", "id": "e1", "parentId": None, "message": message})
    same_both_ways(header + row)
    assert parse_session(header + row, with_estimates=True).entries[0].estimate is None


def test_only_plain_messages_after_the_newest_compaction_are_measured_while_reading() -> None:
    builder = make_session("user", "assistant")
    builder.compaction(builder.user("Kept."))
    builder.user("New.")
    builder.assistant("", tool_call("c1"))
    builder.result("c1")
    builder.shell()
    builder.model_change()
    entries = parse_session(builder.data(), with_estimates=True).entries
    assert [e.estimate is not None for e in entries] == [False] * 4 + [True] * 3 + [False] * 2
    same_both_ways(builder.data())


def test_an_edited_entry_is_measured_with_the_edit() -> None:
    builder = make_session()
    builder.edit(builder.user("x" * 4000), "short")
    measures = found(builder.data(), PiCounter(), exact=False, with_estimates=True).measures
    assert measures[0].tokens == 2


@pytest.mark.parametrize("end", [b"\r\n", b"\n\n", b"\n \n"])
def test_line_ends_do_not_matter(end: bytes) -> None:
    same_both_ways(make_session("user", "assistant", "user").data().replace(b"\n", end))
    same_both_ways(make_session("user", "assistant", "user").data().rstrip(b"\n"))
