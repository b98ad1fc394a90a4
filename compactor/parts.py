"""Divides a conversation that is too large for one request, and shows the parts' summaries for merging.

Takes the paragraphs of a transcript; gives texts of a bounded size. Nothing is dropped: a paragraph larger than a part
goes on in the next one, with a mark at both ends.
"""

from collections.abc import Iterable, Iterator, Sequence

from compactor.js_text import utf8
from compactor.tags import neutralise
from compactor.transcript import SEPARATOR

BYTES_PER_TOKEN = 3
"""A cautious guess of a request's size: English text and code have 3 to 4.5 bytes a token, Chinese about 3."""

CONTINUES = "\n[… continues in the next part]"
CONTINUED = "[… continued from the part before]\n"


def split_texts(texts: Iterable[str], room: int) -> list[str]:
    """The paragraphs joined into parts of at most `room` tokens each; a longer one is continued with marks."""
    parts: list[list[str]] = [[]]
    used = 0
    for piece in (piece for text in texts for piece in _pieces(text, room)):
        size = size_tokens(piece) + 1
        if parts[-1] and used + size > room:
            parts.append([])
            used = 0
        parts[-1].append(piece)
        used += size
    return [SEPARATOR.join(part) for part in parts]


def _pieces(text: str, room: int) -> Iterator[str]:
    """A paragraph in pieces of at most `room` tokens, each marked where it goes on; whole if it fits."""
    if size_tokens(text) + 1 <= room:
        yield text
        return
    marks = size_tokens(CONTINUES + CONTINUED) + 2
    most = max(1, (room - marks) * BYTES_PER_TOKEN)
    data = utf8(text)
    at = 0
    while at < len(data):
        end = _piece_end(data, at, most)
        start = CONTINUED if at else ""
        stop = CONTINUES if end < len(data) else ""
        yield start + data[at:end].decode() + stop
        at = end


def _piece_end(data: bytes, at: int, most: int) -> int:
    """Where a piece ends: after a line if one ends in its second half, never inside of a character."""
    end = min(len(data), at + most)
    if end == len(data):
        return end
    line = data.rfind(b"\n", at + most // 2, end)
    if line >= 0:
        return line + 1
    while end > at + 1 and data[end] & 0xC0 == 0x80:
        end -= 1
    return end


def part_blocks(parts: Sequence[str]) -> str:
    """Part summaries as blocks for the merging request."""
    blocks = (f'<part-summary number="{n}">\n{neutralise(text)}\n</part-summary>' for n, text in enumerate(parts, 1))
    return SEPARATOR.join(blocks)


def size_tokens(text: str) -> int:
    """A cautious estimate of a text's tokens, from its UTF-8 size; it errs on the high side for most text."""
    return -(-len(utf8(text)) // BYTES_PER_TOKEN)
