"""Rows of another agent's file: what stands on each line, whole or damaged."""

import json

from hypothesis import given
from hypothesis import strategies as st

from compactor.formats.json_rows import json_rows

KINDS = frozenset({"user", "assistant"})
ROW = {"type": "user", "uuid": "u1", "timestamp": "2026-01-05T08:00:00.000Z", "message": {"role": "user"}}
ANSWER = {"type": "assistant", "uuid": "a1", "timestamp": "2026-01-05T08:00:01.000Z"}


def lines(*rows: object) -> bytes:
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def test_every_object_comes_with_its_physical_line() -> None:
    found = json_rows(lines(ROW) + b"\n\r\n" + lines(ANSWER), KINDS)
    assert [(row.line, row.value) for row in found.rows] == [(1, ROW), (4, ANSWER)]
    assert found.warnings == []
    assert not found.torn_tail


def test_two_rows_on_one_line_are_both_read() -> None:
    found = json_rows(json.dumps(ROW).encode() + lines(ANSWER), KINDS)
    assert [row.value for row in found.rows] == [ROW, ANSWER]
    assert [(w.code, w.line) for w in found.warnings] == [("fused_lines", 1)]


def test_the_whole_row_after_a_torn_one_is_read() -> None:
    torn = json.dumps(ROW).encode()[:40]
    found = json_rows(lines(ROW) + torn + lines(ANSWER), KINDS)
    assert [row.value for row in found.rows] == [ROW, ANSWER]
    assert [(w.code, w.line) for w in found.warnings] == [("damaged_line", 2)]


def test_a_value_that_is_no_object_is_skipped_with_a_warning() -> None:
    found = json_rows(b"[1]\n" + lines(ROW), KINDS)
    assert [row.line for row in found.rows] == [2]
    assert [(w.code, w.line) for w in found.warnings] == [("not_an_entry", 1)]


def test_nul_bytes_around_a_row_cost_nothing() -> None:
    found = json_rows(b"\0\0" + lines(ROW), KINDS)
    assert [row.value for row in found.rows] == [ROW]
    assert [w.code for w in found.warnings] == ["nul_bytes"]


def test_a_torn_last_line_is_told() -> None:
    assert json_rows(lines(ROW) + b'{"type":"assis', KINDS).torn_tail
    assert not json_rows(b'{"type":"assis\n' + lines(ROW), KINDS).torn_tail


def test_a_lone_surrogate_stays_in_the_text() -> None:
    found = json_rows(b'{"type":"user","text":"\\ud83d."}\n', KINDS)
    assert found.rows[0].value["text"] == "\ud83d."


@given(st.binary(max_size=200))
def test_no_bytes_are_refused(data: bytes) -> None:
    for row in json_rows(data, KINDS).rows:
        assert isinstance(row.value, dict)
