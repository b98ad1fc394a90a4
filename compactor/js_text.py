"""JavaScript's rules for text, which Pi's numbers are made of: UTF-16 lengths, slices, order, and JSON both ways.

Takes Python strings (lone surrogates allowed) and decoded JSON; gives the integers and strings that Node would give.
Source: ECMA-262 `JSON.stringify` (SerializeJSONProperty, QuoteJSONString), `Number::toString`, OrdinaryOwnPropertyKeys.
"""

import json
import re
from collections.abc import Iterable
from decimal import Decimal
from json.encoder import encode_basestring as _quote
from typing import Any

import msgspec

MAX_ARRAY_INDEX = 2**32 - 2
"""Keys that are canonical integers up to this come first in an object (ECMA-262 OrdinaryOwnPropertyKeys)."""

MAX_ARRAY_INDEX_DIGITS = len(str(MAX_ARRAY_INDEX))

MAX_SAFE_INTEGER = 2**53 - 1
"""Above this a JSON integer becomes the nearest double (ECMA-262 Number.MAX_SAFE_INTEGER)."""

MAX_DOUBLE_DIGITS = 309
"""Integers with more digits than this are infinite as doubles (ECMA-262 Number.MAX_VALUE)."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def utf16_len(text: str) -> int:
    """Number of UTF-16 code units, JavaScript's `text.length`."""
    return len(text) if _is_narrow(text) else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _is_narrow(text: str) -> bool:
    """True only when every character is one UTF-16 unit, found without a look at the characters.

    A string that takes less than four bytes a character has none beyond U+FFFF (PEP 393).
    """
    return text.isascii() or text.__sizeof__() < 4 * len(text)


def utf16_head(text: str, max_units: int) -> str:
    """The longest start of `text` within `max_units` UTF-16 units that does not split a surrogate pair."""
    if len(text) <= max_units and utf16_len(text) <= max_units:
        return text
    if _is_narrow(text):
        splits = max_units > 0 and _SURROGATE_PAIR.match(text, max_units - 1)  # two lone halves side by side
        return text[: max_units - 1] if splits else text[:max_units]
    units = text[: max_units + 1].encode("utf-16-le", "surrogatepass")
    end = max_units - 1 if _splits_pair(units, max_units) else max_units
    return units[: 2 * end].decode("utf-16-le", "surrogatepass")


def _splits_pair(units: bytes, at: int) -> bool:
    """True when the unit before `at` opens a surrogate pair that the next one closes."""
    before = int.from_bytes(units[max(0, 2 * at - 2) : 2 * at], "little")
    after = int.from_bytes(units[2 * at : 2 * at + 2], "little")
    return 0xD800 <= before <= 0xDBFF and 0xDC00 <= after <= 0xDFFF


def utf16_order(text: str) -> bytes:
    """A sort key that orders strings as JavaScript's default `sort` does, by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def well_formed(text: str) -> str:
    """The text with every lone surrogate replaced by U+FFFD and surrogate pairs joined, so that UTF-8 can hold it."""
    if text.isascii() or not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def utf8(text: str) -> bytes:
    """UTF-8 bytes of the text; lone surrogates become U+FFFD."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return well_formed(text).encode()


def number_text(value: int | float) -> str:
    """A JSON number as JavaScript prints it (`1.0` is `1`, `1e+21`, shortest form that reads back)."""
    if isinstance(value, int):
        if -MAX_SAFE_INTEGER <= value <= MAX_SAFE_INTEGER:
            return str(value)
        try:
            value = float(value)
        except OverflowError:
            return "null"
    if value != value or value in (float("inf"), float("-inf")):
        return "null"
    if value == 0:
        return "0"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    text = "".join(map(str, digits))
    point = len(text) + int(exponent)
    return ("-" if sign else "") + _place_point(text, point)


def _place_point(digits: str, point: int) -> str:
    """ECMA-262 Number::toString, steps 6 to 10: `digits` times ten to the power of (`point` - number of digits)."""
    if len(digits) <= point <= 21:
        return digits + "0" * (point - len(digits))
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return "0." + "0" * -point + digits
    mantissa = digits if len(digits) == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{'+' if point > 0 else '-'}{abs(point - 1)}"


class _Written(str):
    """A part of JSON text that is done."""

    __slots__ = ()


def json_text(value: Any) -> str:
    """`JSON.stringify(value)` of a decoded JSON value: no spaces, non-ASCII as is, lone surrogates escaped.

    Without recursion: a value may be nested deeper than Python's stack.
    """
    if type(value) is not dict and type(value) is not list:
        return _scalar_text(value)
    parts: list[str] = []
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if type(item) is _Written:
            parts.append(item)
        elif type(item) is dict and item:
            todo.append(_CLOSE_OBJECT)
            lead = "{"
            members: list[Any] = []
            for key, member in ordered_items(item):
                members += (_Written(f"{lead}{_json_string(key)}:"), member)
                lead = ","
            todo += reversed(members)
        elif type(item) is list and item:
            todo.append(_CLOSE_ARRAY)
            for member in reversed(item):
                todo += (member, _COMMA)
            todo[-1] = _OPEN_ARRAY
        else:
            parts.append(_scalar_text(item))
    return "".join(parts)


_CLOSE_OBJECT, _OPEN_ARRAY, _CLOSE_ARRAY, _COMMA = map(_Written, "}[],")


def json_units(value: Any) -> int:
    """UTF-16 units of `json_text(value)`.

    What most tool calls hold is measured by msgspec, which writes texts and small integers as JavaScript does; the
    order of the keys does not matter for the length.
    """
    if type(value) is dict and _is_plain(value, MAX_PLAIN_DEPTH):
        try:
            written = _encode(value)
        except UnicodeEncodeError:  # a lone surrogate
            return utf16_len(json_text(value))
        return len(written) if written.isascii() else utf16_len(written.decode())
    return utf16_len(json_text(value))


def _is_plain(value: dict[str, Any] | list[Any], depth: int) -> bool:
    """True when all there is, down to a depth, are texts, small integers, booleans, null, objects and lists."""
    members: Iterable[Any] = value.values() if isinstance(value, dict) else value
    for member in members:
        kind = type(member)
        if kind is str or kind is bool or member is None:
            continue
        if kind is int:
            if not -MAX_SAFE_INTEGER <= member <= MAX_SAFE_INTEGER:
                return False
        elif depth == 0 or (kind is not dict and kind is not list) or not _is_plain(member, depth - 1):
            return False
    return True


MAX_PLAIN_DEPTH = 4
"""Deeper than tool arguments go as a rule; what is deeper is written out without recursion."""

_encode = msgspec.json.Encoder().encode


def _scalar_text(value: Any) -> str:
    """The text of a value without members."""
    kind = type(value)
    if kind is str:
        return _json_string(value)
    if kind is dict or kind is list:
        return "{}" if kind is dict else "[]"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    if kind is int or kind is float:
        return number_text(value)
    raise TypeError(f"expected a decoded JSON value, found {kind.__name__}")


def ordered_items(value: dict[str, Any]) -> list[tuple[str, Any]]:
    """The items of an object in JavaScript's order: integer-like keys ascending, then the rest as written."""
    if not any(key[:1].isdigit() for key in value):
        return list(value.items())
    numeric = sorted((k for k in value if _is_array_index(k)), key=int)
    return [(k, value[k]) for k in numeric] + [(k, v) for k, v in value.items() if not _is_array_index(k)]


def _is_array_index(key: str) -> bool:
    if not (key.isascii() and key.isdigit()) or len(key) > MAX_ARRAY_INDEX_DIGITS:
        return False
    return (key == "0" or key[0] != "0") and int(key) <= MAX_ARRAY_INDEX


def _json_string(text: str) -> str:
    try:
        return _encode(text).decode()
    except UnicodeEncodeError:  # a surrogate: joined where it is half of a pair, else escaped
        quoted = _quote(text)
    joined = _SURROGATE_PAIR.sub(lambda m: m.group().encode("utf-16-le", "surrogatepass").decode("utf-16-le"), quoted)
    return _SURROGATE.sub(lambda m: f"\\u{ord(m.group()):04x}", joined)


def parse_json(text: str, *, strict: bool = True, constants: bool = True) -> Any:
    """The value of a JSON text, lone surrogates allowed.

    Args:
        text: one JSON value.
        strict: False lets raw control characters stand in strings.
        constants: True reads NaN and Infinity, which JavaScript refuses.

    Raises:
        ValueError: it is not JSON, or nested deeper than Python's stack.
    """
    refuse = None if constants else _refuse
    try:
        return json.loads(text, strict=strict, parse_int=parse_integer, parse_constant=refuse)
    except RecursionError:
        raise ValueError("nested too deep") from None


def parse_integer(digits: str) -> int | float:
    """The number; a double, as in JavaScript, where it has more digits than any double can hold."""
    return int(digits) if len(digits) <= MAX_DOUBLE_DIGITS else float(digits)


def _refuse(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")
