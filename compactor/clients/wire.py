"""Reads single values out of a server's reply, which may have any shape: the libraries do not check what arrives."""

import json
from typing import Any

MALFORMED = (json.JSONDecodeError, UnicodeDecodeError)
"""What the libraries raise for a stream that holds no JSON."""


def at(value: Any, *names: str) -> Any:
    """The member of an object or a dictionary, of a member of it, and so on; None where one is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
    return value


def items(value: Any) -> list[Any]:
    """The value if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def text(value: Any) -> str:
    """The value if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """The value as a number of tokens; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < 2**53:
        return None
    return int(value)
