"""Text of a session made fit for one line of a summary: verbatim words that can fake nothing.

Takes any text; gives it on one line, with tags that could close or fake a block written as `&lt;`, cut with a mark that
says how much is missing. A line break, and so a heading, a list item or a rule of its own, can't come out of it.
"""

import re

from compactor.js_text import utf16_len
from compactor.tags import neutralise

_SUMMARY_TAG = re.compile(r"<(?=\s*/?\s*summary\b)", re.IGNORECASE)
_LEADING_MARKS = re.compile(r"^(?:#{1,6}\s+|(?:[-*_]\s*){3,}$)+")
_BREAKS = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")

MAX_PATH_CHARS = 48
"""A longer path is shown by its last three parts."""

SHORT_ID_CHARS = 8
"""Pi's entry ids have 8 characters; of longer ones the start is enough to find them."""


def one_line(text: str) -> str:
    """The text on one line, inert."""
    text = _LEADING_MARKS.sub("", " ".join(_BREAKS.sub(" ", text).split()))
    return _SUMMARY_TAG.sub("&lt;", neutralise(text))


def clipped(text: str, max_chars: int) -> str:
    """The text on one line, cut at a blank to about `max_chars` characters with a mark; whole if it is not longer."""
    line = one_line(text)
    if len(line) <= max_chars:
        return line
    at = line.rfind(" ", max_chars // 2, max_chars)
    head = line[: at if at > 0 else max_chars].rstrip()
    return f"{head} [… {utf16_len(line) - utf16_len(head)} more characters]"


def quoted(text: str, max_chars: int) -> str:
    """The text in quotation marks, cut as `clipped`."""
    return f"“{clipped(text, max_chars)}”"


def code(text: str, max_chars: int) -> str:
    """A command or a path between backticks, cut as `clipped`."""
    return f"`{clipped(text, max_chars).replace('`', chr(39))}`"


def reference(entry_id: str) -> str:
    """Where a finding comes from, ` [#entry]`; empty if the entry has no id."""
    return f" [#{one_line(entry_id)[:SHORT_ID_CHARS]}]" if entry_id else ""


def short_path(path: str) -> str:
    """The path, without its first folders if it is long; the engine lists all modified files in full."""
    if len(path) <= MAX_PATH_CHARS:
        return path
    parts = path.replace("\\", "/").split("/")
    return "…/" + "/".join(parts[-3:]) if len(parts) > 3 else path
