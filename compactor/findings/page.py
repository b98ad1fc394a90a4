"""What all lines of one summary share: the fixed words, how long quotations may be, and how recency counts."""

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.findings.frames import Frames

MAX_QUOTE_CHARS, LEAST_QUOTE_CHARS = 320, 80
MAX_NOTE_CHARS, LEAST_NOTE_CHARS = 180, 60
LINES_OF_QUOTES = 24
"""A quotation may take this part of the room, within the bounds above; a note (an error line, an answer) half of it."""

REQUEST_SHARE = 4
"""The current request may take this part of the room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What the lines of one summary have in common."""

    frames: Frames
    entry_ids: Sequence[str]
    length: int
    """Number of messages."""
    room: int
    """Characters that the summary may have."""
    ends_inside: bool
    """True where the talk goes on inside of the last turn; else a later request comes after it."""
    last_turn: int
    """Position of the first message of the last turn."""

    @property
    def quote_chars(self) -> int:
        """How long a quotation may be."""
        return min(MAX_QUOTE_CHARS, max(LEAST_QUOTE_CHARS, self.room // LINES_OF_QUOTES))

    @property
    def note_chars(self) -> int:
        """How long a quotation in passing may be."""
        return min(MAX_NOTE_CHARS, max(LEAST_NOTE_CHARS, self.room // (2 * LINES_OF_QUOTES)))

    @property
    def request_chars(self) -> int:
        """How long the current request may be quoted."""
        return max(LEAST_QUOTE_CHARS, self.room // REQUEST_SHARE)

    def recency(self, message: int) -> int:
        """0 for the first message of a history, 20 for the last."""
        return 20 * (message + 1) // max(1, self.length)

    def entry_id(self, message: int) -> str:
        """The id of a message's entry; empty if it has none."""
        return self.entry_ids[message] if message < len(self.entry_ids) else ""
