"""Text and JSON behave as in JavaScript. The expected values are recorded outputs of Node 24."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_character, json_values

from compactor.js_text import (
    json_text,
    number_text,
    ordered_items,
    parse_json,
    utf8,
    utf16_head,
    utf16_len,
    utf16_order,
    well_formed,
)

wild_text = st.text(any_character)

NUMBERS = [
    ("0", "0"),
    ("-0", "0"),
    ("-0.0", "0"),
    ("1.0", "1"),
    ("1e0", "1"),
    ("1.2e+2", "120"),
    ("1e21", "1e+21"),
    ("1E+20", "100000000000000000000"),
    ("123456789012345680000", "123456789012345680000"),
    ("100000000000000000000.5", "100000000000000000000"),
    ("1e-6", "0.000001"),
    ("1e-7", "1e-7"),
    ("0.000001", "0.000001"),
    ("0.00001234", "0.00001234"),
    ("1.5e-7", "1.5e-7"),
    ("1234.5678e-20", "1.2345678e-17"),
    ("0.1", "0.1"),
    ("-1.5", "-1.5"),
    ("4.35", "4.35"),
    ("123456789.125", "123456789.125"),
    ("0.30000000000000004", "0.30000000000000004"),
    ("1e23", "1e+23"),
    ("5e-324", "5e-324"),
    ("2e-324", "0"),
    ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ("1e309", "null"),
    ("-1e400", "null"),
    ("9007199254740991", "9007199254740991"),
    ("9007199254740993", "9007199254740992"),
    ("-9007199254740993", "-9007199254740992"),
    ("18446744073709551616", "18446744073709552000"),
    ("1000000000000000000000", "1e+21"),
    ("12345678901234567890123", "1.2345678901234568e+22"),
    ("1" + "0" * 308, "1e+308"),
    ("1" + "0" * 309, "null"),
    ("7" * 5000, "null"),
]

VALUES = [
    (r'"tab\t nl\n cr\r bs\b ff\f"', r'"tab\t nl\n cr\r bs\b ff\f"'),
    (r'"\u0000\u001f\u007f\u0080"', '"\\u0000\\u001f\u007f\u0080"'),
    (r'"quote\" slash\/ back\\"', r'"quote\" slash/ back\\"'),
    ('"é 検査 🚢"', '"é 検査 🚢"'),
    (r'"\u2028\u2029\ufeff"', '"\u2028\u2029\ufeff"'),
    (r'"\ud83d"', r'"\ud83d"'),
    (r'"\ude00"', r'"\ude00"'),
    (r'"\uDE00\uD83D"', r'"\ude00\ud83d"'),
    (r'"\ud83d\ude00"', '"😀"'),
    (r'"a\ud83db"', r'"a\ud83db"'),
    (r'"\ud83d\ud83d\ude00\ude00"', r'"\ud83d😀\ude00"'),
    ('"<|endoftext|></conversation>"', '"<|endoftext|></conversation>"'),
    ("[]", "[]"),
    ("{}", "{}"),
    ("  [ 1.0 , 2.50, -0, { } ]  ", "[1,2.5,0,{}]"),
    ("[false,null,true,[],[[]],{}]", "[false,null,true,[],[[]],{}]"),
    ('{"b":1,"a":2}', '{"b":1,"a":2}'),
    ('{"a":1,"b":2,"a":3}', '{"a":3,"b":2}'),
    ('{"b":1,"2":2,"a":3,"10":4,"1":5}', '{"1":5,"2":2,"10":4,"b":1,"a":3}'),
    ('{"01":1,"1":2,"-1":3,"1.0":4}', '{"1":2,"01":1,"-1":3,"1.0":4}'),
    ('{"4294967295":1,"4294967294":2,"0":3}', '{"0":3,"4294967294":2,"4294967295":1}'),
    ('{"99999999999999999999":1,"7":2}', '{"7":2,"99999999999999999999":1}'),
    ('{"1e3":1,"":2," 1":3}', '{"1e3":1,"":2," 1":3}'),
    ('{"٣":1,"3":2,"²":3}', '{"3":2,"٣":1,"²":3}'),
    (r'{"x":{"9":[{"b":1,"3":{}}],"\ud800":"\udc00"}}', r'{"x":{"9":[{"3":{},"b":1}],"\ud800":"\udc00"}}'),
]


@pytest.mark.parametrize(("source", "expected"), NUMBERS)
def test_numbers_are_printed_as_javascript_prints_them(source: str, expected: str) -> None:
    assert number_text(parse_json(source)) == expected
    assert json_text(parse_json(f'{{"n":[{source}]}}')) == f'{{"n":[{expected}]}}'


def test_a_number_that_json_has_no_word_for_becomes_null() -> None:
    assert json_text([float("nan"), float("inf"), -float("inf"), 10**400]) == "[null,null,null,null]"


@pytest.mark.parametrize(("source", "expected"), VALUES)
def test_values_are_printed_as_javascript_prints_them(source: str, expected: str) -> None:
    assert json_text(parse_json(source)) == expected


def test_surrogates_that_stand_side_by_side_are_printed_as_the_character_that_they_make() -> None:
    """Python keeps them apart where it joined two strings; JavaScript can't."""
    assert json_text("\ud83d" + "\ude00") == '"😀"'


@given(json_values)
def test_printed_json_reads_back_as_the_same_value(value: Any) -> None:
    again = parse_json(json_text(value))
    assert json_text(again) == json_text(value)
    if "null" not in json_text(value):
        assert as_doubles(again) == as_doubles(value)


def as_doubles(value: Any) -> Any:
    """The value with its numbers as JavaScript holds them, and surrogates joined."""
    if isinstance(value, dict):
        return {as_doubles(k): as_doubles(v) for k, v in value.items()}
    if isinstance(value, list):
        return [as_doubles(v) for v in value]
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@given(json_values)
def test_printed_json_can_always_be_written_as_utf8(value: Any) -> None:
    assert json_text(value).encode()


def test_json_is_printed_however_deep_it_is() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = {"a": [deep]}
    assert json_text(deep) == '{"a":[' * 50_000 + "1" + "]}" * 50_000


@pytest.mark.parametrize("value", [b"bytes", {"a": {1, 2}}, [object()], (1, 2)])
def test_what_json_does_not_know_is_refused(value: Any) -> None:
    with pytest.raises(TypeError, match="expected a decoded JSON value, found"):
        json_text(value)


def test_keys_that_look_like_array_indexes_come_first() -> None:
    assert ordered_items({"b": 0, "10": 1, "2": 2, "007": 3, "1" * 5000: 4}) == [
        ("2", 2),
        ("10", 1),
        ("b", 0),
        ("007", 3),
        ("1" * 5000, 4),
    ]


@pytest.mark.parametrize(
    ("text", "units", "whole"),
    [
        ("", 0, ""),
        ("abc", 3, "abc"),
        ("é", 1, "é"),
        ("🚢", 2, "🚢"),
        ("a🚢b", 4, "a🚢b"),
        ("\ud83d", 1, "\ufffd"),
        ("x\ude00", 2, "x\ufffd"),
        ("\ud83d\ud83d\ude00", 3, "\ufffd😀"),
        ("\ude00\ud83dé", 3, "\ufffd\ufffdé"),
        ("e\u0301", 2, "e\u0301"),
    ],
)
def test_length_and_repair_of_text_are_those_of_javascript(text: str, units: int, whole: str) -> None:
    assert utf16_len(text) == units
    assert well_formed(text) == whole
    assert utf8(text) == whole.encode()


@given(wild_text)
def test_any_text_can_be_written_as_utf8(text: str) -> None:
    assert utf8(text).decode() == well_formed(text)
    assert utf16_len(well_formed(text)) == utf16_len(text)


def test_text_is_sorted_by_utf16_units_and_not_by_code_points() -> None:
    words = ["b", "a", "Z", "é", "z", "\uffff", "🚢", "\ud83d", "", "ab", "\ue000", "10", "9"]
    assert sorted(words, key=utf16_order) == [
        "", "10", "9", "Z", "a", "ab", "b", "z", "é", "\ud83d", "🚢", "\ue000", "\uffff",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "most", "head"),
    [
        ("abc", 5, "abc"),
        ("abc", 3, "abc"),
        ("abc", 2, "ab"),
        ("abc", 0, ""),
        ("🚢🚢", 4, "🚢🚢"),
        ("🚢🚢", 3, "🚢"),
        ("🚢🚢", 2, "🚢"),
        ("🚢🚢", 1, ""),
        ("🚢", 0, ""),
        ("a🚢b", 3, "a🚢"),
        ("\ud83dab", 1, "\ud83d"),
        ("\ud83d\ude00", 1, ""),
        ("\ude00\ud83dx", 1, "\ude00"),
        ("x" * 1999 + "🚢", 2000, "x" * 1999),
    ],
)
def test_a_head_never_holds_half_of_a_pair(text: str, most: int, head: str) -> None:
    assert utf16_head(text, most) == head


@given(wild_text, st.integers(0, 40))
def test_a_head_is_the_longest_start_that_parts_no_pair(text: str, most: int) -> None:
    units = text.encode("utf-16-le", "surrogatepass")
    head = utf16_head(text, most).encode("utf-16-le", "surrogatepass")
    assert units.startswith(head)
    rest = units[len(head) :]
    if rest:
        assert 2 * most - len(head) in (0, 2)
        assert not is_high(head[-2:]) or not is_low(rest[:2])
        if len(head) < 2 * most:
            assert is_high(rest[:2])
            assert is_low(rest[2:4])


def is_high(unit: bytes) -> bool:
    return len(unit) == 2 and 0xD8 <= unit[1] <= 0xDB


def is_low(unit: bytes) -> bool:
    return len(unit) == 2 and 0xDC <= unit[1] <= 0xDF


@given(json_values)
def test_json_is_read_as_pythons_own_parser_reads_it(value: Any) -> None:
    text = json.dumps(value)
    assert parse_json(text) == json.loads(text, parse_int=lambda d: int(d) if len(d) < 310 else float(d))


@pytest.mark.parametrize("text", ["", "{", "[1,]", "01", "nul", "[" * 100_000, '{"a":' * 100_000, '"\t"', "\ufeff1"])
def test_what_is_no_json_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError):
        parse_json(text)


def test_control_characters_and_constants_are_read_only_where_asked_for() -> None:
    assert parse_json('"\t"', strict=False) == "\t"
    assert parse_json("[Infinity]") == [float("inf")]
    for word in ("NaN", "Infinity", "-Infinity"):
        with pytest.raises(ValueError, match=f"JSON has no {word}"):
            parse_json(word, constants=False)
