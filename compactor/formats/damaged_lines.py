"""What can be saved of a line that is not one whole JSON object.

Takes the bytes of one physical line; gives the JSON objects found in it and what was wrong. Faults seen in real files:
two records on one line (concurrent writers), a torn record before a whole one, blocks of NUL bytes after a crash,
invalid escapes after careless masking, raw control characters, a byte order mark, invalid UTF-8, lone surrogates.
"""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from compactor.js_text import json_text, parse_integer, parse_json

BOM = b"\xef\xbb\xbf"
ENTRY_TYPES = frozenset(
    {
        "session",
        "message",
        "model_change",
        "thinking_level_change",
        "usage",
        "compaction",
        "context_edit",
        "branch_summary",
        "custom",
        "custom_message",
        "label",
        "session_info",
    }
)
"""Pi 1.6.0 docs/session-format.md; other types count as entries when they carry `id` and `parentId`."""

_OBJECT_START = re.compile(r'\{\s*"')
_NOT_BLANK = re.compile(r"\S")
_LOOK_AHEAD_CHARS = 64
"""Enough to see whether another record follows."""

_INVALID_ESCAPE = re.compile(r'\\(?:(u)(?![0-9a-fA-F]{4})|([^"\\/bfnrtu])|(["\\/bfnrtu]))')
_ID = re.compile(r'"id"\s*:\s*"([^"\\]{1,128})"')
_PARENT = re.compile(r'"parentId"\s*:\s*(?:"([^"\\]{1,128})"|null)')
_JS_WHITESPACE = "\t\n\v\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"


@dataclass(frozen=True, slots=True, kw_only=True)
class LineParts:
    """What was found in one damaged line."""

    objects: tuple[tuple[dict[str, Any], bytes], ...] = ()
    """Each JSON object and the clean bytes that it was read from."""
    problems: tuple[tuple[str, str], ...] = ()
    """(code, what was wrong and what was lost)."""
    ghost: tuple[str, str | None] | None = None
    """Id and parent id of a record that is lost but whose links could be read."""
    rows: int = 1
    """How many records the line held when it was whole (0 for blanks); version 1 indexes count them."""


def is_blank(line: bytes) -> bool:
    """True for a line that JavaScript's `trim` leaves empty."""
    if line.strip():
        return len(line) < 64 and not re.sub(f"[{_JS_WHITESPACE}]", "", line.decode("utf-8", "replace"))
    return True


def read_as_pi(line: bytes) -> Any:
    """The value that `JSON.parse` gives for the line.

    Raises:
        ValueError: `JSON.parse` refuses it, or it is nested deeper than Python can follow.
    """
    return parse_json(line.decode("utf-8", "replace"), constants=False)


def salvage(line: bytes, kinds: Collection[str] = ENTRY_TYPES) -> LineParts:
    """Everything that can be recovered from a line that the strict reader refused.

    Args:
        line: without its line feed.
        kinds: the values of `type` by which a dated record without Pi's links is known.
    """
    problems: list[tuple[str, str]] = []
    clean = line
    if clean.startswith(BOM):
        clean = clean[len(BOM) :]
        problems.append(("byte_order_mark", "a byte order mark was skipped"))
    if b"\0" in clean:
        count = clean.count(b"\0")
        clean = clean.replace(b"\0", b"")
        problems.append(("nul_bytes", f"{count} NUL bytes were skipped"))
    if is_blank(clean):
        return LineParts(problems=tuple(problems), rows=0)
    text, more = _decode(clean)
    problems += more
    whole = _other_value(text)
    if whole is not None:
        return LineParts(problems=(*problems, ("not_an_entry", whole)))
    found, lost, ghost = _objects(text, kinds)
    if found and not lost and len(found) == 1:
        value = found[0][0]
        raw = clean.strip() if not more else found[0][1]
        if not _is_json(text):
            problems.append(("invalid_json_repaired", "NaN or Infinity, which JSON lacks, was read all the same"))
        return LineParts(objects=((value, raw),), problems=tuple(problems))
    if not found:
        repaired = _repair(text)
        if repaired is not None:
            problems.append(("invalid_json_repaired", "invalid escapes or control characters were read as plain text"))
            return LineParts(objects=(repaired,), problems=tuple(problems))
    if len(found) > 1 and not lost:
        problems.append(("fused_lines", f"{len(found)} records on one line were read one by one"))
    if lost:
        saved = f"; {len(found)} whole record(s) on the same line were recovered" if found else ""
        problems.append(("damaged_line", f"{lost} characters could not be read as JSON and are lost{saved}"))
    rows = max(1, len(found) + (1 if lost and found else 0))
    return LineParts(objects=tuple(found), problems=tuple(problems), ghost=ghost, rows=rows)


def _is_json(text: str) -> bool:
    """True unless a number is one that only Python's reader knows."""
    try:
        parse_json(text.strip(_JS_WHITESPACE), constants=False)
    except ValueError:
        return False
    return True


def _other_value(text: str) -> str | None:
    """What the line holds if it is JSON but no object with a type, hence no entry of a session."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    if isinstance(value, dict):
        return None if isinstance(value.get("type"), str) else "a JSON object without a type was skipped"
    return f"expected a JSON object, found {type(value).__name__}; skipped"


def _decode(clean: bytes) -> tuple[str, list[tuple[str, str]]]:
    try:
        return clean.decode(), []
    except UnicodeDecodeError as error:
        problem = f"bytes that are not UTF-8 (first at byte {error.start}) were read as U+FFFD"
        return clean.decode("utf-8", "replace"), [("invalid_utf8", problem)]


def _objects(
    text: str, kinds: Collection[str]
) -> tuple[list[tuple[dict[str, Any], bytes]], int, tuple[str, str | None] | None]:
    """Whole records in the text, the number of characters that belong to none, and the links of the first lost part."""
    decoder = json.JSONDecoder(parse_int=parse_integer)
    last = len(text.rstrip())
    found: list[tuple[dict[str, Any], bytes]] = []
    lost = 0
    ghost: tuple[str, str | None] | None = None
    at = gap_start = 0
    gap_end = _blanks_end(text, 0)
    while (start := _OBJECT_START.search(text, at)) is not None:
        try:
            value, end = decoder.raw_decode(text, start.start())
        except ValueError:
            at = start.start() + 1
            continue
        except RecursionError:
            break
        is_alone = start.start() == gap_end and end == last
        if not _is_record(value, is_alone, text[end : end + _LOOK_AHEAD_CHARS].strip(), kinds):
            at = start.start() + 1
            continue
        gap = text[gap_start : start.start()].strip(" \t\r")
        lost += len(gap)
        ghost = ghost or _links(gap)
        found.append((value, text[start.start() : end].encode("utf-8", "surrogatepass")))
        at = gap_start = end
        gap_end = _blanks_end(text, end)
    gap = text[gap_start:].strip(" \t\r")
    return found, lost + len(gap), ghost or _links(gap)


def _blanks_end(text: str, start: int) -> int:
    """Where the first character that is no blank stands, at or after `start`."""
    found = _NOT_BLANK.search(text, start)
    return found.start() if found else len(text)


def _is_record(value: dict[str, Any], is_alone: bool, after: str, kinds: Collection[str]) -> bool:
    """True for a session entry, as opposed to a block inside of a torn one."""
    kind = value.get("type")
    if not isinstance(kind, str):
        return False
    if is_alone or ("id" in value and "parentId" in value):
        return True
    is_dated = "timestamp" in value or "id" in value  # as rows of version 1 and headers are
    return kind in kinds and is_dated and (not after or after.startswith("{"))


def _links(gap: str) -> tuple[str, str | None] | None:
    """Id and parent id at the start of a torn record."""
    head = gap[:400]
    found, parent = _ID.search(head), _PARENT.search(head)
    return (found.group(1), parent.group(1)) if found and parent else None


def _repair(text: str) -> tuple[dict[str, Any], bytes] | None:
    """The record after doubling the backslash of invalid escapes and allowing raw control characters."""

    def double(match: re.Match[str]) -> str:
        return match.group() if match.group(3) else "\\" + match.group()

    try:
        value = parse_json(_INVALID_ESCAPE.sub(double, text), strict=False)
    except ValueError:
        return None
    if not isinstance(value, dict) or "type" not in value:
        return None
    return value, json_text(value).encode()
