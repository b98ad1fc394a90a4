"""A session file is read as it is, never changed, and what can't be read is told in one line."""

import os
from pathlib import Path

import pytest
from builders import make_session

from compactor.errors import SessionError
from compactor.session_file import read_bytes, read_session


def test_a_session_is_read_from_disk_and_knows_where_it_came_from(tmp_path: Path) -> None:
    path = tmp_path / "sé ssion.jsonl"
    path.write_bytes(make_session("user", "assistant").data())
    session = read_session(str(path))
    assert session.path == str(path)
    assert len(session.entries) == 2


def test_reading_changes_no_byte_and_no_time(tmp_path: Path) -> None:
    path = tmp_path / "old.jsonl"
    data = make_session("user", ("compaction", "00000001"), version=1).data() + b'{"torn'
    path.write_bytes(data)
    before = path.stat().st_mtime_ns
    for exact in (False, True):
        read_session(str(path), exact=exact)
    assert path.read_bytes() == data
    assert path.stat().st_mtime_ns == before


def test_damage_costs_more_when_reading_as_pi_does(tmp_path: Path) -> None:
    path = tmp_path / "fused.jsonl"
    path.write_bytes(make_session("user", "assistant").data().replace(b'}\n{"type":"message"', b'}{"type":"message"'))
    assert len(read_session(str(path)).entries) == 2
    with pytest.raises(SessionError, match=r"fused\.jsonl: expected a session file"):
        read_session(str(path), exact=True)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing.jsonl", "no such file; give the path of a session file"),
        (".", "found a directory; give the path of a .jsonl file"),
        ("a\0b", "the session file can't be read"),
        ("x" * 5000, "the session file can't be read"),
    ],
)
def test_a_path_that_cannot_be_read_is_an_error_in_one_line(tmp_path: Path, name: str, told: str) -> None:
    path = f"{tmp_path}{os.sep}{name}"
    with pytest.raises(SessionError) as refused:
        read_bytes(path)
    assert told in str(refused.value)
    assert str(refused.value).startswith(f"{path}: ")
    assert "\n" not in str(refused.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SessionError, match="found something that is no regular file"):
        read_bytes(str(tmp_path / "pipe"))


def test_a_file_that_may_not_be_read_is_an_error_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "secret.jsonl"
    path.write_bytes(b"")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(SessionError, match="can't be read: Permission denied"):
        read_bytes(str(path))
