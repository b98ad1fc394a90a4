"""Reads a session file from disk: path in, `Session` out; no byte of the file is changed."""

from compactor.bytes_file import read_bytes
from compactor.entries import Session
from compactor.formats.registry import parse_session

__all__ = ["read_bytes", "read_session"]


def read_session(path: str, *, exact: bool = False, with_estimates: bool = False) -> Session:
    """The session at `path`.

    Args:
        path: a session file of Pi, Claude Code or Codex.
        exact: read a Pi file as Pi does, its losses included.
        with_estimates: measure messages in passing, for a caller that is about to measure the context.

    Raises:
        SessionError: missing, a directory, unreadable, or not a session.
    """
    return parse_session(read_bytes(path), path=path, exact=exact, with_estimates=with_estimates)
