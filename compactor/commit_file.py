"""Adds bytes at the end of an open file: all of them or none, also if the process is killed meanwhile.

Takes a descriptor and the size that the file must have; gives 0, or why it did not work, after which nothing of the
bytes is left. The write happens in a process of its own; docs/append.md tells why, and how far that goes.
"""

import gc
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LOCK_POLL_S = 0.02
"""Between two tries for the lock."""

FILE_CHANGED = 254
"""The file does not have the expected size. Numbers below are the system's error numbers (`errno`)."""

WRITER_STOPPED = 255
"""The writing process ended without saying why."""


@contextmanager
def locked(fd: int, timeout_s: float) -> Iterator[bool]:
    """Holds the lock of the open file; gives False if somebody else still had it after `timeout_s`.

    The lock is on the file itself: no lock file is left behind, and it ends with the last process that has this
    descriptor open, so that a dead one never blocks.

    Raises:
        OSError: the file system has no locks.
    """
    from filelock import lock_descriptor, unlock_descriptor

    give_up_s = time.monotonic() + timeout_s
    while not (held := lock_descriptor(fd, blocking=False)) and time.monotonic() < give_up_s:
        time.sleep(LOCK_POLL_S)
    try:
        yield held
    finally:
        with suppress(OSError):  # closing the file releases it anyway
            if held:
                unlock_descriptor(fd)


def append_whole(fd: int, added: bytes, size: int) -> int:
    """Appends `added` and flushes the file to disk; gives 0, `FILE_CHANGED`, `WRITER_STOPPED` or an error number.

    Signals that can wait do so until the outcome is known: whoever is interrupted finds the file as it will stay.

    Args:
        fd: open for reading and appending, and locked.
        added: what to append.
        size: bytes that the file must have before.
    """
    with _signals_blocked():
        code = _write_apart(fd, added, size)
        if code in (0, FILE_CHANGED):
            return code
        if read_at(fd, size, len(added)) == added:
            return _flush(fd, added, size)  # the writer was stopped between its last two steps
        _take_back(fd, added, size)
        return code


def read_at(fd: int, start: int, length: int) -> bytes:
    """The bytes from `start` on, fewer than `length` at the end of the file."""
    os.lseek(fd, start, os.SEEK_SET)
    parts: list[bytes] = []
    while length > 0 and (part := os.read(fd, length)):
        parts.append(part)
        length -= len(part)
    return b"".join(parts)


def _write_apart(fd: int, added: bytes, size: int) -> int:
    """Has a process of its own write, which killing this one does not stop.

    The kernel gives up a long write half-way when its process is killed. The child shares the open file and with it the
    lock, so nobody gets in between if this process ends first. Windows has no fork.
    """
    if sys.platform != "win32":
        with suppress(OSError):  # no more processes allowed
            return _outcome(_fork(fd, added, size))
    return _write(fd, added, size)


def _fork(fd: int, added: bytes, size: int) -> int:
    """The id of the writing process.

    Raises:
        OSError: none could be started.
    """
    with warnings.catch_warnings():
        # Forking beside threads is fine for a child that makes system calls only.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = WRITER_STOPPED
        try:
            gc.disable()  # no finalizer of the parent's objects may run here
            os.setsid()  # a signal to the parent's group is not for us
            code = _write(fd, added, size)
        finally:
            os._exit(code)
    return pid


def _outcome(pid: int) -> int:
    """What the writing process ended with."""
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:  # whoever started us ignores SIGCHLD; the file tells
        return WRITER_STOPPED
    return code if code >= 0 else WRITER_STOPPED


def _write(fd: int, added: bytes, size: int) -> int:
    try:
        if os.fstat(fd).st_size != size:
            return FILE_CHANGED
        left = memoryview(added)
        while left:
            left = left[os.write(fd, left) :]
    except OSError as error:
        _take_back(fd, added, size)
        return _code(error)
    return _flush(fd, added, size)


def _flush(fd: int, added: bytes, size: int) -> int:
    try:
        os.fsync(fd)
    except OSError as error:
        _take_back(fd, added, size)
        return _code(error)
    return 0


def _code(error: OSError) -> int:
    return error.errno if error.errno and error.errno < FILE_CHANGED else WRITER_STOPPED


def _take_back(fd: int, added: bytes, size: int) -> None:
    """Cuts off what was written of `added`, unless somebody else wrote after it."""
    with suppress(OSError):
        extra = os.fstat(fd).st_size - size
        if 0 < extra <= len(added) and read_at(fd, size, extra) == added[:extra]:
            os.ftruncate(fd, size)
            os.fsync(fd)


@contextmanager
def _signals_blocked() -> Iterator[None]:
    """Keeps Ctrl-C and polite ends waiting, in this thread and in the processes that it starts."""
    if sys.platform == "win32":
        yield
    else:
        waiting = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
        before = signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
