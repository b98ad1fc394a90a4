"""Writes the entry of a compaction: at the end of its session file, or into a copy of it.

Takes the `Session` that was read and the entry as one line of JSON. Existing bytes are never rewritten, and the entry
is in the file as a whole or not at all; docs/append.md tells how, and how far.
"""

import os

from compactor.commit_file import FILE_CHANGED, WRITER_STOPPED, append_whole, locked, read_at
from compactor.document_file import reason, write_document
from compactor.entries import Session, load_json
from compactor.errors import SessionChanged, SessionError

LOCK_TIMEOUT_S = 10.0
"""A commit takes milliseconds, so whoever holds the lock for longer hangs."""

COMPARED_BYTES = 64 * 1024
"""At either end of the file, when it is checked for changes that kept its size."""

MAX_SHOWN_BYTES = 60
"""Of a refused entry, in a message."""


def append_entry(session: Session, line: bytes) -> None:
    """Appends the entry to the session file and flushes it to disk.

    A file without a final newline, torn or not, gets one first, in the same write.

    Args:
        session: as read; its file must still be the same.
        line: one JSON object in one line, with or without line end.

    Raises:
        SessionChanged: the file changed after it was read; nothing was written.
        SessionError: it can't be written; the file is as it was, unless the message says otherwise.
    """
    added = _added(session, line)
    try:
        fd = os.open(session.path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise SessionChanged(_changed(session)) from None
    except (OSError, ValueError) as error:
        raise SessionError(
            f"{session.path}: the session file can't be written: {reason(error)}; use --output FILE"
        ) from None
    try:
        with locked(fd, LOCK_TIMEOUT_S) as held:
            if not held:
                raise SessionError(
                    f"{session.path}: another program has had the session file locked for {LOCK_TIMEOUT_S:.0f} s; "
                    "nothing was written; end it and run again"
                )
            _append(fd, added, session)
    except OSError as error:
        raise SessionError(
            f"{session.path}: the session file can't be locked and read: {reason(error)}; use --output FILE"
        ) from None
    finally:
        os.close(fd)


def write_copy(session: Session, source_bytes: bytes, line: bytes, output: str) -> None:
    """Writes a copy of the session with the entry at its end; `output` is replaced in one step or left as it was.

    Args:
        session: as read.
        source_bytes: the session file's bytes, which must be those that `session` was read from.
        line: one JSON object in one line, with or without line end.
        output: the file to write; an existing one is replaced and keeps its permissions, a new one gets the session's.

    Raises:
        SessionChanged: `source_bytes` are not those of the session.
        SessionError: the output is the session file itself, is no regular file, or can't be written.
    """
    added = _added(session, line)
    ends = source_bytes[:COMPARED_BYTES], source_bytes[-COMPARED_BYTES:]
    if len(source_bytes) != session.size or not _ends_match(session, *ends):
        raise SessionChanged(_changed(session))
    write_document(output, source_bytes, added, session_path=session.path)


def _added(session: Session, line: bytes) -> bytes:
    """What goes to the end of the file: the entry on a line of its own."""
    if session.format != "pi":
        raise SessionError(
            f"{session.path}: expected a Pi session to add an entry to, found the format {session.format!r}; "
            "convert the session first"
        )
    bare = line.removesuffix(b"\n")
    if b"\n" in bare or not _is_object(bare):
        raise SessionError(
            f"{session.path}: expected an entry of one JSON object in one line, found {bare[:MAX_SHOWN_BYTES]!r}"
        )
    return (b"" if session.ends_with_newline else b"\n") + bare + b"\n"


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(load_json(line), dict)
    except (ValueError, RecursionError):
        return False


def _check_same_file(fd: int, session: Session) -> None:
    """Raises `SessionChanged` unless the open file is the one at the path and has the content that was read."""
    try:
        same = os.path.samestat(os.fstat(fd), os.stat(session.path)) and os.fstat(fd).st_size == session.size
        head = read_at(fd, 0, COMPARED_BYTES) if same else b""
        tail = read_at(fd, max(0, session.size - COMPARED_BYTES), COMPARED_BYTES) if same else b""
    except OSError:
        same = False
    if not same or not _ends_match(session, head, tail):
        raise SessionChanged(_changed(session))


def _ends_match(session: Session, head: bytes, tail: bytes) -> bool:
    """True if the file's first and last bytes are those of the session, as far as the session still has them."""
    if session.size and tail.endswith(b"\n") != session.ends_with_newline:
        return False
    whole = next((e.source for e in reversed(session.entries) if len(e.source) == session.size), None)
    return whole is None or (whole.startswith(head) and whole.endswith(tail))


def _append(fd: int, added: bytes, session: Session) -> None:
    """Appends to the open and locked file.

    Raises:
        SessionChanged, SessionError: as `append_entry`.
    """
    _check_same_file(fd, session)
    code = append_whole(fd, added, session.size)
    if code == FILE_CHANGED:
        raise SessionChanged(_changed(session))
    if code:
        raise SessionError(_failed(fd, session, code))


def _failed(fd: int, session: Session, code: int) -> str:
    """Why the entry is not in the file, and what is."""
    why = "the writer was stopped" if code == WRITER_STOPPED else os.strerror(code)
    grown = os.fstat(fd).st_size > session.size
    after = "the file ends in a part of the entry, which readers skip" if grown else "nothing was written"
    return f"{session.path}: the entry can't be appended: {why}; {after}; run again, or use --output FILE"


def _changed(session: Session) -> str:
    return (
        f"{session.path}: expected the session file as it was read, of {session.size} bytes, found it changed; "
        "nothing was written; run again"
    )
