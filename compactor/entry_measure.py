"""What is known of one context entry without keeping its messages: a few figures, ids and paths."""

import msgspec


class EntryMeasure(msgspec.Struct, frozen=True, gc=False):
    """The figures of an entry; `message_measure.py` makes them from a message, `measure.py` from a context entry."""

    tokens: int = 0
    system_tokens: int = 0
    """The part of `tokens` that system messages cost."""
    roles: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Ids of the tool calls made here."""
    results: tuple[str, ...] = ()
    """Ids of the tool calls answered here."""
    files: tuple[tuple[str, str], ...] = ()
    """(tool, path) of the calls that read, wrote or edited a file; see `file_ops.py`."""
    usage_tokens: int = 0
    """Context size that the provider reported here, 0 if it did not or the reply failed."""
    cut_chars: int = 0
    """UTF-16 units of tool results beyond what a summarizer is shown."""
    thinking_chars: int = 0
    images: int = 0
    wide_chars: int = 0
    """Characters beyond U+0590, of scripts that a quarter token a character undercounts."""
    problems: tuple[str, ...] = ()
    """Fields that had the wrong type and count as missing."""
