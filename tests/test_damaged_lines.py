"""What can be saved of a line that is not one whole JSON object."""

import json
from typing import Any

import pytest
from builders import row_line, row_text
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values

from compactor.formats.damaged_lines import is_blank, read_as_pi, salvage

FIRST = {"type": "message", "id": "0a", "parentId": "09", "message": {"role": "user", "content": 'one {"} \\ 検'}}
SECOND = {"type": "message", "id": "0b", "parentId": "0a", "message": {"role": "user", "content": [{"type": "text"}]}}
A, B = row_line(FIRST)[:-1], row_line(SECOND)[:-1]
V1 = b'{"type":"message","timestamp":"2026-03-01T10:00:01.000Z","message":{"role":"user","content":"old"}}'


def objects(line: bytes) -> list[dict[str, Any]]:
    return [value for value, _ in salvage(line).objects]


def codes(line: bytes) -> list[str]:
    return [code for code, _ in salvage(line).problems]


@pytest.mark.parametrize(
    ("line", "found", "problems"),
    [
        (b"\xef\xbb\xbf" + A, [FIRST], ["byte_order_mark"]),
        (b"\0\0" + A + b"\0", [FIRST], ["nul_bytes"]),
        (b"\xef\xbb\xbf\0" + A, [FIRST], ["byte_order_mark", "nul_bytes"]),
        (A + B, [FIRST, SECOND], ["fused_lines"]),
        (A + b" \t " + B, [FIRST, SECOND], ["fused_lines"]),
        (V1 + V1, [json.loads(V1)] * 2, ["fused_lines"]),
        (b'{"type":"session","id":"a"}' + V1, [{"type": "session", "id": "a"}, json.loads(V1)], ["fused_lines"]),
        (A[:40] + B, [SECOND], ["damaged_line"]),
        (A[:-1] + B, [SECOND], ["damaged_line"]),
        (A[5:] + B, [SECOND], ["damaged_line"]),
        (A + B[:40], [FIRST], ["damaged_line"]),
        (A + b"garbage" + B, [FIRST, SECOND], ["damaged_line"]),
        (A[:-40], [], ["damaged_line"]),
        (b"}{", [], ["damaged_line"]),
        (b"no json at all", [], ["damaged_line"]),
        (b'{"type":"label","n":1}', [{"type": "label", "n": 1}], []),
        (b'{"type":"label","n":"\\ud83d"}', [{"type": "label", "n": "\ud83d"}], []),
        (b'{"type":"unheard","n":"\\ud83d"}', [{"type": "unheard", "n": "\ud83d"}], []),
        (b'{"type":"label","n":"a\xffb"}', [{"type": "label", "n": "a\ufffdb"}], ["invalid_utf8"]),
        (b'{"type":"label","n":"C:\\new\\q"}', [{"type": "label", "n": "C:\new\\q"}], ["invalid_json_repaired"]),
        (b'{"type":"label","n":"\\u12"}', [{"type": "label", "n": "\\u12"}], ["invalid_json_repaired"]),
        (b'{"type":"label","n":"a\x01\tb"}', [{"type": "label", "n": "a\x01\tb"}], ["invalid_json_repaired"]),
        (b'{"type":"label","n":"\\q\\ud83d"}', [{"type": "label", "n": "\\q\ud83d"}], ["invalid_json_repaired"]),
        (b'{"kind":"label","n":"\\q"}', [], ["damaged_line"]),
        (b'["\\q"]', [], ["damaged_line"]),
        (b"5", [], ["not_an_entry"]),
        (b'["a"]', [], ["not_an_entry"]),
        (b"null", [], ["not_an_entry"]),
        (b'{"no":"type"}', [], ["not_an_entry"]),
        (b'{"type":["label"]}', [], ["not_an_entry"]),
        (b"\0\0\0", [], ["nul_bytes"]),
        (b"\xef\xbb\xbf \t", [], ["byte_order_mark"]),
    ],
)  # fmt: skip
def test_every_whole_record_of_a_line_is_saved(line: bytes, found: list[Any], problems: list[str]) -> None:
    assert objects(line) == found
    assert codes(line) == problems
    assert all(json.loads(raw) == value for value, raw in salvage(line).objects)


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        (b"\0\0", 0),
        (b"\xef\xbb\xbf", 0),
        (A, 1),
        (b"5", 1),
        (b'{"torn', 1),
        (A + B, 2),
        (A[:30] + B, 2),
        (A + B[:30], 2),
    ],
)
def test_a_line_tells_how_many_records_it_held(line: bytes, rows: int) -> None:
    assert salvage(line).rows == rows


@pytest.mark.parametrize(
    ("line", "ghost"),
    [
        (A[:60], ("0a", "09")),
        (b'{"type":"message","id":"0a","parentId":null,"mess', ("0a", None)),
        (A[:60] + B, ("0a", "09")),
        (A + B[:60], ("0b", "0a")),
        (A[:25], None),
        (A[20:60], None),
        (A, None),
        (b'{"id":"' + b"x" * 200 + b'","parentId":null,', None),
    ],
)
def test_the_links_of_a_torn_record_are_read(line: bytes, ghost: tuple[str, str | None] | None) -> None:
    assert salvage(line).ghost == ghost


@pytest.mark.parametrize(
    "torn",
    [
        b'{"type":"message","id":"0a","message":{"content":[{"type":"text","text":"x"},{"type":"custom","n":1}, "cut',
        b'{"type":"x","details":{"type":"message"},"more":[{"type":"label"}',
        b'{"type":"x","a":{"id":1,"parentId":2},"b":',
    ],
)
def test_a_block_inside_of_a_torn_record_is_no_record(torn: bytes) -> None:
    assert objects(torn) == []
    assert objects(torn + A) == [FIRST]


def test_what_is_lost_is_told_in_numbers() -> None:
    (code, text), *_ = salvage(A[:40] + B).problems
    assert code == "damaged_line"
    assert (
        text
        == "40 characters could not be read as JSON and are lost; 1 whole record(s) on the same line were recovered"
    )
    assert salvage(b"\0\0" + A).problems[0][1] == "2 NUL bytes were skipped"
    assert "first at byte 17" in salvage(b'{"type":"label","\xff":1}').problems[0][1]


def test_the_saved_bytes_are_those_of_the_file_where_it_had_the_record_whole() -> None:
    spaced = b'{"type": "label",  "n": 1.0}'
    assert salvage(b" " + spaced + b"\r").objects[0][1] == spaced
    assert salvage(b"torn" + A).objects[0][1] == A


@given(json_values, json_values)
def test_two_entries_on_one_line_are_both_saved_whatever_they_hold(one: Any, two: Any) -> None:
    first, second = {**FIRST, "details": one}, {**SECOND, "details": two}
    assert [row_text(v) for v in objects(row_line(first)[:-1] + row_line(second)[:-1])] == [
        row_text(json.loads(row_text(first), parse_int=long_integer)),
        row_text(json.loads(row_text(second), parse_int=long_integer)),
    ]


def long_integer(digits: str) -> int | float:
    return int(digits) if len(digits) < 300 else float(digits)


@given(json_values, st.data())
def test_a_record_behind_a_torn_one_is_saved(value: Any, data: st.DataObject) -> None:
    torn = row_line({**FIRST, "details": value})
    cut = data.draw(st.integers(1, len(torn) - 2))
    assert objects(torn[:cut] + B)[-1:] == [SECOND]


@given(st.binary(max_size=200))
def test_any_bytes_can_be_salvaged(line: bytes) -> None:
    parts = salvage(line)
    assert parts.rows >= len(parts.objects)
    assert all(isinstance(value, dict) for value, _ in parts.objects)


def test_many_blocks_inside_of_a_torn_line_are_skipped_without_a_second_look_at_the_text() -> None:
    """Quadratic time would take minutes here."""
    blocks = b",".join(b'{"type":"text","n":%d}' % n for n in range(100_000))
    torn = b'{"type":"message","id":"0a","parentId":"09","details":[' + blocks
    assert objects(torn + B) == [SECOND]
    assert salvage(torn + B).ghost == ("0a", "09")


def test_a_line_nested_without_end_is_lost_at_once() -> None:
    assert objects(b'{"type":' * 200_000) == []
    assert codes(b'{"type":' * 200_000) == ["damaged_line"]
    assert codes(b"[" * 200_000) == ["damaged_line"]


@pytest.mark.parametrize(
    ("line", "blank"),
    [
        (b"", True),
        (b" \t\r\v\f", True),
        ("\u00a0\u2028\u3000\ufeff".encode(), True),
        (b"0", False),
        ("\u200b".encode(), False),
        ("\u00a0x".encode(), False),
        ("\u00a0".encode() * 100, False),
        (b"\0", False),
    ],
)
def test_blank_is_what_javascript_trims_away(line: bytes, blank: bool) -> None:
    assert is_blank(line) is blank


@pytest.mark.parametrize("line", [b"{", b"NaN", b'{"a":-Infinity}', b"\xef\xbb\xbf{}", b"\0{}", b"[" * 100_000, b"01"])
def test_what_pi_refuses_is_a_value_error(line: bytes) -> None:
    with pytest.raises(ValueError):
        read_as_pi(line)


def test_what_pi_reads_is_read() -> None:
    assert read_as_pi(b' {"a":"\xff\\ud83d","b":1e999}\r') == {"a": "\ufffd\ud83d", "b": float("inf")}
