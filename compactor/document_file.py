"""Writes what a command makes to the file that `--output` names: as a whole, in one step, or not at all."""

import errno
import os
import stat
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from compactor.errors import SessionError


def write_document(output: str, *parts: bytes, session_path: str) -> None:
    """Writes the parts, one after the other, to `output`, which is replaced in one step or left as it was.

    Args:
        output: the file to write; an existing one keeps its permissions, a new one gets the session's and can be
            written.
        parts: the content.
        session_path: the session that it was made from, which is never overwritten.

    Raises:
        SessionError: the output is the session file itself, is no regular file, or can't be written.
    """
    try:
        target = os.path.realpath(output)
        mode = _output_mode(session_path, target, output)
        _replace_file(target, parts, mode)
    except (OSError, ValueError) as error:
        raise SessionError(f"{output}: the file can't be written: {reason(error)}; give another file") from None


def _output_mode(session_path: str, target: str, output: str) -> int:
    """The permissions for the file at `target`.

    Raises:
        SessionError: it is the session file, under whatever name, or no regular file.
        OSError: it may not be written.
    """
    there, session_there = _stat(target), _stat(session_path)
    known = there is not None and session_there is not None and os.path.samestat(there, session_there)
    if known or target == os.path.realpath(session_path):
        raise SessionError(f"{output}: expected another file than the session, found the session file; give another")
    if there is None:
        return stat.S_IMODE(session_there.st_mode) | stat.S_IWUSR if session_there else 0o600
    if not stat.S_ISREG(there.st_mode):
        kind = "a directory" if stat.S_ISDIR(there.st_mode) else "something that is no regular file"
        raise SessionError(f"{output}: expected a file to write, found {kind}; give the path of a file")
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "it is write-protected")
    return stat.S_IMODE(there.st_mode)


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _replace_file(target: str, parts: Sequence[bytes], mode: int) -> None:
    """Puts the parts into a new file beside `target`, flushes it, and gives it the name of `target`."""
    folder = os.path.dirname(target)
    if not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}")
    fd, temporary = tempfile.mkstemp(prefix=".compactor-", suffix=".tmp", dir=folder)
    try:
        with open(fd, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(fd)
        os.chmod(temporary, mode)
        os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _flush_folder(folder)


def _flush_folder(folder: str) -> None:
    """Makes the new name last; where a folder can't be flushed, the file system does so in its own time."""
    if sys.platform != "win32":
        with suppress(OSError):
            fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


def reason(error: OSError | ValueError) -> str:
    """Why something failed, in the system's words without number and path."""
    return error.strerror if isinstance(error, OSError) and error.strerror else str(error)
