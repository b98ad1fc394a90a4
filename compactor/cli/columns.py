"""How views are laid out for people: the width of the screen, short ids, and signs that the output can show."""

import shutil
import sys
from collections.abc import Iterable

from compactor.cli.terminal import one_line
from compactor.entries import Session
from compactor.wording import shown_id

WIDTH = 118
"""Columns where the output is no terminal."""

MIN_TEXT = 24
"""Session text gets at least so many columns, however deep the tree."""

MAX_SHOWN_ID = 13
"""Ids of Pi have 8 characters; of a longer one (a UUID) the first eight are shown, which --leaf takes."""


def screen_width() -> int:
    """Columns to fill: those of the terminal, else `WIDTH`."""
    return shutil.get_terminal_size((WIDTH, 24)).columns if sys.stdout.isatty() else WIDTH


def short_id(entry_id: str) -> str:
    """The id, or its first characters, safe for a terminal."""
    return shown_id(entry_id if len(entry_id) <= MAX_SHOWN_ID else entry_id[:8])


def can_show(signs: str) -> bool:
    """True when standard output can show these characters as they are."""
    try:
        signs.encode(sys.stdout.encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def fitted(text: str, width: int) -> str:
    """The text on one line, safe for a terminal, cut at `width` columns unless that is 0."""
    flat = one_line(text)
    if not width or len(flat) <= width:
        return flat
    dots = "…" if can_show("…") else "..."
    return flat[: width - len(dots)] + dots


def labelled(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Labels and values in two columns, each value on one line."""
    return [f"{label:<8} {one_line(value)}" for label, value in rows]


def kind_of_session(session: Session) -> str:
    """Which agent wrote it; of Pi's, which version of the file format."""
    return f"Pi version {session.header.version}" if session.format == "pi" else session.format
