"""What a list of sessions says about one of them, and the one cheap pass over its rows.

Takes the lines of a session file and a tally that knows the agent's rows; gives the tally what each line holds. Only
the few fields that a tally names are decoded, so that hundreds of megabytes a second go by.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, Protocol, TypeVar

import msgspec

from compactor.entries import load_json
from compactor.formats.damaged_lines import BOM, is_blank, salvage
from compactor.messages import lenient

MAX_SALVAGED_BYTES = 1024 * 1024
"""A longer line that the strict decoder refuses only counts as damaged; a list must not wait for it."""

MAX_WORDS_CHARS = 300
"""As much of a first message is kept."""

MAX_COUNT = 2**53
"""A figure beyond this is no count of tokens and no price; JavaScript's integers end here."""

HARMLESS = frozenset({"byte_order_mark"})
"""Oddities of a line by which nothing is lost."""

_REFUSED = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Glance:
    """A session in a list; what was not counted, or is not in the file, is None."""

    format: str
    """`pi`, `claude-code` or `codex`."""
    id: str | None
    cwd: str | None
    """The folder that the session was made in, as the file names it."""
    name: str | None
    """Given by a person or by the agent."""
    first_message: str | None
    """The start of what the user wrote first, on one line; texts that an agent puts in do not count."""
    started_at: datetime | None
    last_entry_at: datetime | None
    messages: int | None
    """All branches together: what the user wrote, one a reply of the model, one a tool result."""
    context_tokens: int | None
    """As the provider reported it last; None where nothing was since the newest compaction."""
    total_tokens: int | None
    """Used by all requests that the file reports."""
    cost: float | None
    """In US dollars, as recorded; only Pi records it."""
    compactions: int | None
    branches: int | None
    damaged_lines: int
    """Lines that can't be read as they stand, and entries of Pi's that follow none; among the lines looked at."""
    is_whole: bool
    """False if only both ends of the file were looked at."""
    is_subagent: bool = False
    parent_id: str | None = None
    """Of a sub-agent: the session that started it, if the file says."""


Row = TypeVar("Row", bound=msgspec.Struct)


class Tally(Protocol, Generic[Row]):
    """Adds up the rows of one session."""

    @property
    def kind(self) -> type[Row]:
        """What is decoded of a row."""

    @property
    def decode(self) -> Callable[[bytes], Row]:
        """Decodes a line; msgspec's errors say that it is none."""

    @property
    def row_types(self) -> Collection[str]:
        """The values of `type` by which a row on a damaged line is known."""

    def add(self, row: Row, raw: bytes) -> None:
        """Takes the next row; `raw` is its JSON."""

    def skip(self) -> None:
        """Rows that are not looked at follow."""

    def result(self, damaged_lines: int, is_whole: bool) -> Glance:
        """All that was found.

        Raises:
            SessionError: these are no rows of a session.
        """


def glance_with(tally: Tally[Row], blocks: Iterable[bytes], is_whole: bool) -> Glance:
    """What the tally finds in the blocks; if they are not the whole file, something is left out between them.

    Raises:
        SessionError: these are no rows of a session.
    """
    damaged = 0
    for n, block in enumerate(blocks):
        if n and not is_whole:
            tally.skip()
        damaged += tally_rows(block, tally)
    return tally.result(damaged, is_whole)


def tally_rows(data: bytes, tally: Tally[Row]) -> int:
    """Gives all rows to the tally; the number of damaged lines."""
    decode, add = tally.decode, tally.add
    damaged = 0
    for line in data.split(b"\n"):
        if line:
            try:
                row = decode(line)
            except _REFUSED:
                damaged += _salvaged(line, tally)
            else:
                add(row, line)
    return damaged


def _salvaged(line: bytes, tally: Tally[Row]) -> bool:
    """Gives the tally what a refused line holds; True if the line is damaged.

    A line may be refused for a lone surrogate, or a field of an unusual type, and yet be whole.
    """
    if len(line) > MAX_SALVAGED_BYTES:
        return True
    if is_blank(line):
        return False
    parts = salvage(line, tally.row_types)
    for value, raw in parts.objects:
        tally.add(lenient(value, tally.kind)[0], raw)
    return any(code not in HARMLESS for code, _ in parts.problems)


def count(value: int | float) -> int | float:
    """The figure, 0 if it is none that can be added up (infinite, or far too large)."""
    return value if -MAX_COUNT <= value <= MAX_COUNT else 0


def moment(stamp: str | None) -> datetime | None:
    """The time that an ISO 8601 text means, UTC where it names no zone; None if it is no time."""
    try:
        found = datetime.fromisoformat(stamp or "")
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def first_moment(stamps: Sequence[str]) -> datetime | None:
    """The first of the texts that is a time."""
    return next((found for stamp in stamps if (found := moment(stamp)) is not None), None)


def last_moment(stamps: Sequence[str]) -> datetime | None:
    """The last of the texts that is a time."""
    return next((found for stamp in reversed(stamps) if (found := moment(stamp)) is not None), None)


def object_in(raw: bytes) -> dict[str, Any]:
    """The JSON object of a line, empty if there is none that can be decoded."""
    try:
        value = load_json(raw.removeprefix(BOM))
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def content_of(raw: bytes, holder: str) -> Any:
    """The `content` of the object that the row holds under that name, or of the row itself if it holds none.

    None if there is none, or it can't be decoded.
    """
    row = object_in(raw)
    held = row.get(holder, row)
    return held.get("content") if isinstance(held, dict) else None


def text_blocks(content: Any) -> list[str]:
    """The texts of a message's content, which is a text, or blocks of which some hold text."""
    if isinstance(content, str):
        return [content]
    blocks = content if isinstance(content, list) else []
    texts = [block.get("text") for block in blocks if isinstance(block, dict)]
    return [text for text in texts if isinstance(text, str)]


def words(text: str) -> str | None:
    """The start of the text on one line, None if it is blank."""
    flat = " ".join(text.lstrip()[: 4 * MAX_WORDS_CHARS].split())
    return (flat if len(flat) <= MAX_WORDS_CHARS else flat[: MAX_WORDS_CHARS - 1] + "…") or None
