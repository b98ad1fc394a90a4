"""Reads a whole file: path in, bytes out, at once or while the caller does something else."""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import FileIO
from threading import Thread

from compactor.errors import SessionError


def read_bytes(path: str) -> bytes:
    """The whole file.

    Raises:
        SessionError: missing, not a regular file, or unreadable.
    """
    with _told(path), _opened(path) as file:
        return _read(file, _size(file))


def start_reading(path: str) -> Callable[[], bytes]:
    """What gives the whole file when it is called, once; a thread reads the file from now on.

    Raises:
        SessionError: as `read_bytes`; if reading fails, only the call that is returned raises it.
    """
    with _told(path):
        file = _opened(path)
        size = _size(file)
    found: list[bytes] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            with file:
                found.append(_read(file, size))
        except BaseException as error:  # handed on to the caller, whatever it is
            failed.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()

    def wait() -> bytes:
        thread.join()
        with _told(path):
            if failed:
                raise failed.pop()
        return found.pop()

    return wait


def _opened(path: str) -> FileIO:
    if not stat.S_ISREG(os.stat(path).st_mode):
        kind = "a directory" if os.path.isdir(path) else "something that is no regular file"
        raise SessionError(f"{path}: expected a session file, found {kind}; give the path of a .jsonl file")
    return FileIO(path)


def _size(file: FileIO) -> int:
    return os.fstat(file.fileno()).st_size


def _read(file: FileIO, size: int) -> bytes:
    """All there is; most of it in one call, during which other threads run undisturbed."""
    parts: list[bytes] = []
    while part := file.read(max(size, 1)):
        parts.append(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


@contextmanager
def _told(path: str) -> Iterator[None]:
    """Tells in our words what the system says against the file."""
    try:
        yield
    except FileNotFoundError:
        raise SessionError(f"{path}: no such file; give the path of a session file, or `latest`") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SessionError(f"{path}: the session file can't be read: {reason}") from None
