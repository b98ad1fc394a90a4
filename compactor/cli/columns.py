"""How looks at a session are laid out for people: rows that all have, the width of the screen, short ids."""

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from compactor.branch import Branch
from compactor.cli.terminal import one_line
from compactor.entries import Entry, Session, SessionWarning
from compactor.wording import amount, shown_id

if TYPE_CHECKING:
    from compactor.tokens import ContextTokens

WIDTH = 118
"""Columns where the output is no terminal."""

MIN_TEXT = 24
"""Session text gets at least so many columns, however deep the tree."""

MAX_SHOWN_ID = 13
"""Ids of Pi have 8 characters; of a longer one (a UUID) the first eight are shown, which --leaf takes."""

MAX_FILES = 6
"""Files named in a row; the rest is counted."""

AGENTS = {"claude-code": "Claude Code", "codex": "Codex"}
"""Format of a session -> the agent that wrote it, where that has no versions of its own to tell."""


def screen_width() -> int:
    """Columns to fill: those of the terminal, else `WIDTH`."""
    if not sys.stdout.isatty():
        return WIDTH
    import shutil  # not needed for a file or a pipe

    return shutil.get_terminal_size((WIDTH, 24)).columns


def short_id(entry_id: str) -> str:
    """The id, or its first characters, safe for a terminal."""
    return shown_id(entry_id if len(entry_id) <= MAX_SHOWN_ID else entry_id[:8])


def labelled(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Labels and values in two columns, each value on one line."""
    pairs = list(rows)
    width = max(len(label) for label, _ in pairs)
    return [f"{label:<{width}}  {one_line(value)}" for label, value in pairs]


def session_text(session: Session) -> str:
    """Where the session is, who wrote it, and how many entries it has."""
    kind = kind_of_session(session.format, session.header.version)
    return f"{session.path} ({kind}, {amount(len(session.entries), 'entry', 'entries')})"


def kind_of_session(session_format: str, version: float) -> str:
    """Which agent wrote it; of Pi's, which version of the file format."""
    return f"Pi version {version}" if session_format == "pi" else AGENTS.get(session_format, session_format)


def leaf_text(branch: Branch) -> str:
    """The entry that the branch ends in, and how many entries lead to it."""
    leaf = branch.leaf
    if leaf is None:
        return "none: the branch has no entries"
    return f"{named(leaf)}, {amount(len(branch.entries), 'entry', 'entries')} on its branch"


def named(entry: Entry) -> str:
    """An entry as it is called everywhere: its place and its id, both of which --leaf takes."""
    return f"#{entry.index} {short_id(entry.id)}"


def size_text(size: "ContextTokens", counter: str) -> str:
    """The size of the context, and where the figure comes from; `counter` made what is estimated of it."""
    if not size.usage_tokens:
        return f"about {amount(size.tokens, 'token')} (estimated with {counter})"
    if not size.trailing_tokens:
        return f"{amount(size.tokens, 'token')} (reported by the provider)"
    parts = f"{size.usage_tokens:,} reported by the provider, about {size.trailing_tokens:,} since"
    return f"about {amount(size.tokens, 'token')}: {parts} (estimated with {counter})"


def files_text(paths: Sequence[str]) -> str:
    """The first few files, and how many more there are."""
    rest = f" and {len(paths) - MAX_FILES:,} more" if len(paths) > MAX_FILES else ""
    return ", ".join(paths[:MAX_FILES]) + rest


def warning_lines(warnings: Iterable[SessionWarning]) -> list[str]:
    """The warnings after an empty line and a heading; nothing without any."""
    told = [f"  ! {one_line(warning.message)} [{warning.code}]" for warning in warnings]
    return ["", "warnings", *told] if told else []
