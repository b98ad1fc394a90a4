"""Reads a session file from disk: path in, `Session` out; no byte of the file is changed."""

import os
import stat

from compactor.entries import Session
from compactor.errors import SessionError
from compactor.formats.pi import parse_session


def read_session(path: str, *, exact: bool = False, with_estimates: bool = False) -> Session:
    """The session at `path`.

    Args:
        path: a Pi session file.
        exact: read as Pi does, its losses included.
        with_estimates: measure messages in passing, for a caller that is about to measure the context.

    Raises:
        SessionError: missing, a directory, unreadable, or not a session.
    """
    return parse_session(read_bytes(path), path=path, exact=exact, with_estimates=with_estimates)


def read_bytes(path: str) -> bytes:
    """The whole file.

    Raises:
        SessionError: missing, not a regular file, or unreadable.
    """
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            kind = "a directory" if os.path.isdir(path) else "something that is no regular file"
            raise SessionError(f"{path}: expected a session file, found {kind}; give the path of a .jsonl file")
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        raise SessionError(f"{path}: no such file; give the path of a session file, or `latest`") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SessionError(f"{path}: the session file can't be read: {reason}") from None
