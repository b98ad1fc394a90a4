"""A file is read whole, at once or while the caller does something else, with the same errors."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from compactor.bytes_file import read_bytes, start_reading
from compactor.errors import SessionError


def read_meanwhile(path: str) -> bytes:
    return start_reading(path)()


READERS = pytest.mark.parametrize("read", [read_bytes, read_meanwhile])


@READERS
@pytest.mark.parametrize("size", [0, 1, 100_000, 5_000_000])
def test_all_bytes_are_read(tmp_path: Path, size: int, read: Callable[[str], bytes]) -> None:
    data = os.urandom(size)
    (tmp_path / "a").write_bytes(data)
    assert read(str(tmp_path / "a")) == data


@READERS
@pytest.mark.parametrize("name", ["missing", ".", "a\0b", "x" * 5000])
def test_a_path_that_cannot_be_read_is_an_error_in_one_line(
    tmp_path: Path, name: str, read: Callable[[str], bytes]
) -> None:
    path = f"{tmp_path}{os.sep}{name}"
    with pytest.raises(SessionError) as refused:
        read(path)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="skipped: no file here opens and can't be read")
@READERS
def test_an_error_while_reading_reaches_the_caller(read: Callable[[str], bytes]) -> None:
    with pytest.raises(SessionError, match="/proc/self/mem: the session file can't be read: Input/output error"):
        read("/proc/self/mem")


def test_the_file_is_the_one_that_was_there_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    wait = start_reading(str(path))
    (tmp_path / "b").write_bytes(b"new")
    os.replace(tmp_path / "b", path)
    assert wait() == b"old"
