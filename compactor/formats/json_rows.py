"""The JSON objects in the lines of another agent's file, with the number of the line each stands on.

Takes the bytes of a file of JSON lines; gives its objects in order and what was wrong with the lines. What the strict
reader refuses is salvaged as for Pi's own files (`damaged_lines.py`).
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import msgspec

from compactor.entries import SessionWarning
from compactor.formats.damaged_lines import is_blank, salvage


@dataclass(frozen=True, slots=True)
class JsonRow:
    """One object of the file."""

    line: int
    """Physical line, from 1."""
    value: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonRows:
    """All objects of a file."""

    rows: list[JsonRow] = field(default_factory=list)
    warnings: list[SessionWarning] = field(default_factory=list)
    torn_tail: bool = False
    """True when the last line is not a whole JSON object."""


_decode = msgspec.json.Decoder().decode
_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def json_rows(data: bytes, kinds: Collection[str]) -> JsonRows:
    """The objects of all lines.

    Args:
        data: the whole file.
        kinds: the values of `type` by which a record is known on a line that holds several or a torn one.
    """
    rows: list[JsonRow] = []
    warnings: list[SessionWarning] = []
    torn = False
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line:
            continue
        torn = False
        try:
            value = _decode(line)
        except _REFUSED:
            if is_blank(line):
                continue
            parts = salvage(line, kinds)
            told = [
                SessionWarning(code=code, message=f"line {number}: {text}", line=number)
                for code, text in parts.problems
            ]
            warnings += told
            rows += [JsonRow(number, found) for found, _ in parts.objects]
            torn = not parts.objects and bool(parts.rows)
        else:
            if isinstance(value, dict):
                rows.append(JsonRow(number, value))
            else:
                text = f"line {number}: expected a JSON object, found {type(value).__name__}; skipped"
                warnings.append(SessionWarning(code="not_an_entry", message=text, line=number))
    return JsonRows(rows=rows, warnings=warnings, torn_tail=torn)
