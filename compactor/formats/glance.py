"""A session file as a list of sessions shows it, whichever agent wrote it: bytes in, `Glance` out."""

from collections.abc import Iterable, Iterator
from itertools import chain

from compactor.errors import SessionError
from compactor.formats.glance_rows import Glance, glance_with
from compactor.formats.registry import detect_format

__all__ = ["Glance", "glance"]


def glance(blocks: Iterable[bytes], *, is_whole: bool = True) -> Glance:
    """What a list says about the session.

    Args:
        blocks: the file in pieces of whole lines, each read when it is asked for.
        is_whole: False if the blocks are the two ends of a file that is too large for a list to wait for.

    Raises:
        SessionError: it is no session of a known agent; says why in a few words, without the path.
    """
    rest: Iterator[bytes] = iter(blocks)
    head = next(rest, b"")
    if not head or head.isspace():
        raise SessionError("expected a session file, found an empty file; it may be removed")
    found, blocks = detect_format(head), chain([head], rest)
    if found == "claude-code":
        from compactor.formats.glance_claude_code import ClaudeTally

        return glance_with(ClaudeTally(), blocks, is_whole)
    if found == "codex":
        from compactor.formats.glance_codex import CodexTally

        return glance_with(CodexTally(), blocks, is_whole)
    from compactor.formats.glance_pi import PiTally

    return glance_with(PiTally(), blocks, is_whole)
