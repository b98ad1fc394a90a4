"""Numbers, nouns and names in English, as the texts of `explain` show them.

Takes integers, roles and ids from a session file; gives short pieces of one line, safe for a terminal.
"""

from collections.abc import Sequence

MAX_ID_CHARS = 40
"""Ids of real sessions have 8 to 36 characters; a longer one is shortened in texts, never in data."""

_KINDS = {
    "system": "a system message",
    "user": "a user message",
    "assistant": "an assistant message",
    "toolResult": "a tool result",
    "bashExecution": "a shell command of the user",
    "custom": "a message of an extension",
    "branchSummary": "a branch summary",
    "compactionSummary": "a compaction summary",
}


def amount(number: int, noun: str, plural: str | None = None) -> str:
    """A number with its noun, `1 token` or `2,000 tokens`; `plural` where adding an s is not enough."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def share(part: int, whole: int) -> str:
    """`part` as a percentage of `whole`, which must be positive: `103%`, or `less than 1%`."""
    if 0 < part * 100 < whole:
        return "less than 1%"
    return f"{(part * 200 + whole) // (2 * whole):,}%"


def times(part: int, whole: int) -> str:
    """How many times `whole`, which must be positive, goes into `part`, to one decimal: `2.5 times`."""
    return f"{part / whole:,.1f} times"


def roughly(number: int) -> str:
    """A number to two digits, for a figure that is a guess: `1,600`."""
    return f"{round(number, 2 - len(str(number))):,}" if number >= 100 else f"{number:,}"


def listed(parts: Sequence[str]) -> str:
    """`a`, `a and b`, or `a, b and c`."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def kind_of(roles: Sequence[str]) -> str:
    """What an entry with these messages is, with its article; a compaction entry counts as its summary."""
    return _KINDS.get(roles[-1], "a message of an unknown role") if roles else "an entry without a message"


def shown_id(entry_id: str) -> str:
    """An id for a text: escaped if it holds anything that a terminal would act on, shortened if it is very long."""
    short = entry_id if len(entry_id) <= MAX_ID_CHARS else entry_id[: MAX_ID_CHARS - 1] + "…"
    return short if short.isprintable() else repr(short)
