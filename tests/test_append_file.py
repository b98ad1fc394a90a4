"""The entry goes to the end of the file that was read, on a line of its own; copies never touch the session."""

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from builders import make_session, row_line
from filelock import unlock_descriptor
from hypothesis import given
from hypothesis import strategies as st

from compactor.append_file import append_entry, write_copy
from compactor.commit_file import locked
from compactor.entries import Session
from compactor.errors import CompactorError, SessionChanged, SessionError
from compactor.formats.pi import parse_session
from compactor.session_file import read_session

LINE = row_line({"type": "compaction", "id": "c0ffee00", "parentId": "00000004", "summary": "## Goal\nKräne 🏗 \ud800"})
OLD = make_session("user", "assistant", "user", "assistant").data()
TORN = b'{"type":"message","id":"0000'

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files and permissions")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "session.jsonl"
    made.write_bytes(OLD)
    return made


def refusal(act: Callable[[], None], kind: type[CompactorError] = SessionError) -> str:
    """The one line that an act ends with."""
    with pytest.raises(kind) as raised:
        act()
    assert len(str(raised.value).splitlines()) == 1
    return str(raised.value)


def ids(data: bytes) -> list[str]:
    return [entry.id for entry in parse_session(data).entries]


@pytest.mark.parametrize("line", [LINE, LINE.removesuffix(b"\n")])
def test_exactly_the_entrys_line_is_added(path: Path, line: bytes) -> None:
    inode = path.stat().st_ino
    append_entry(read_session(str(path)), line)
    assert path.read_bytes() == OLD + LINE
    assert path.stat().st_ino == inode
    assert os.listdir(path.parent) == [path.name]


ENDS = {
    "whole": (OLD, OLD),
    "no newline": (OLD[:-1], OLD),
    "torn": (OLD + TORN, OLD + TORN + b"\n"),
    "torn, but ended": (OLD + TORN + b"\n", OLD + TORN + b"\n"),
    "torn within a character": (OLD + b'{"a":"\xc3', OLD + b'{"a":"\xc3\n'),
    "zeros": (OLD + b"\0" * 9, OLD + b"\0" * 9 + b"\n"),
    "blank lines": (OLD + b"\n\n", OLD + b"\n\n"),
    "carriage returns": (OLD.replace(b"\n", b"\r\n"), OLD.replace(b"\n", b"\r\n")),
    "spaces": (OLD + b"  ", OLD + b"  \n"),
    "header only": (OLD[: OLD.index(b"\n")], OLD[: OLD.index(b"\n") + 1]),
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("end", ENDS)
def test_the_entry_is_never_joined_to_what_was_there(path: Path, end: str, exact: bool) -> None:
    before, after = ENDS[end]
    path.write_bytes(before)
    session = read_session(str(path), exact=exact)
    append_entry(session, LINE)
    copy = path.with_name("copy.jsonl")
    write_copy(session, before, LINE, str(copy))
    assert path.read_bytes() == copy.read_bytes() == after + LINE
    assert ids(path.read_bytes()) == [*ids(before), "c0ffee00"]


@given(tail=st.binary(max_size=30), line=st.dictionaries(st.text(st.characters()), st.text(st.characters())))
def test_any_end_of_a_file_keeps_its_bytes_and_the_entry_its_line(
    tail: bytes, line: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "any-tail.jsonl"
    path.write_bytes(OLD + tail)
    append_entry(read_session(str(path)), row_line(line))
    data = path.read_bytes()
    assert data.startswith(OLD + tail)
    assert data.removesuffix(b"\n").split(b"\n")[-1] == row_line(line)[:-1]
    assert len(data) - len(OLD + tail) - len(row_line(line)) in (0, 1)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"{}\n")


def change_end(path: Path) -> None:
    data = path.read_bytes()
    path.write_bytes(data[:-5] + b"x" + data[-4:])


def lose_newline(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1] + b" ")


CHANGES: dict[str, Callable[[Path], None]] = {
    "it grew": grow,
    "it shrank": lambda path: os.truncate(path, len(OLD) - 1),
    "its end changed": change_end,
    "its start changed": lambda path: path.write_bytes(OLD.replace(b"harbor-0001", b"harbor-0002")) and None,
    "it lost its last newline": lose_newline,
    "it is gone": Path.unlink,
    "it is empty": lambda path: path.write_bytes(b"") and None,
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_after_it_was_read_is_left_alone(path: Path, change: str) -> None:
    session = read_session(str(path))
    CHANGES[change](path)
    left = path.read_bytes() if path.exists() else None
    message = refusal(lambda: append_entry(session, LINE), SessionChanged)
    assert str(path) in message and "nothing was written" in message
    assert (path.read_bytes() if path.exists() else None) == left


def test_a_second_entry_needs_a_second_reading(path: Path) -> None:
    session = read_session(str(path))
    append_entry(session, LINE)
    refusal(lambda: append_entry(session, LINE), SessionChanged)
    append_entry(read_session(str(path)), LINE)
    assert path.read_bytes() == OLD + LINE + LINE


@posix_only
def test_a_link_leads_to_the_file_that_gets_the_entry(path: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    append_entry(read_session(str(link)), LINE)
    assert link.is_symlink() and path.read_bytes() == OLD + LINE


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="sees that the file is open as Linux lists it")
def test_a_file_that_was_replaced_while_the_lock_was_waited_for_is_left_alone(path: Path) -> None:
    session, replaced = read_session(str(path)), path.with_name("replaced.jsonl")
    replaced.write_bytes(OLD)
    fd = os.open(path, os.O_RDWR)
    try:
        with locked(fd, 0), ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(append_entry, session, LINE)
            while [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()].count(str(path)) < 2:
                assert not waiting.done()
            os.replace(replaced, path)
            os.lseek(fd, 0, os.SEEK_SET)
            unlock_descriptor(fd)
            error = waiting.exception()
        old_file = os.read(fd, 2 * len(OLD))
    finally:
        os.close(fd)
    assert isinstance(error, SessionChanged)
    assert path.read_bytes() == old_file == OLD


BAD_LINES = [b"", b"\n", b"{}\n{}\n", b"{}\n\n", b'{"a":1', b"[]", b"5", b"null", b"{}{}", b"[" * 100_000, b'"\xff"']


@pytest.mark.parametrize("line", BAD_LINES, ids=[*map(str, range(len(BAD_LINES)))])
def test_what_is_not_one_json_object_in_one_line_is_never_written(path: Path, line: bytes, tmp_path: Path) -> None:
    session = read_session(str(path))
    assert "expected an entry of one JSON object" in refusal(lambda: append_entry(session, line))
    refusal(lambda: write_copy(session, OLD, line, str(tmp_path / "copy.jsonl")))
    assert path.read_bytes() == OLD and os.listdir(tmp_path) == [path.name]


def of_another_format(session: Session) -> Session:
    fields = {name: getattr(session, name) for name in session.__struct_fields__}
    return Session(**{**fields, "format": "claude-code"})


def test_files_of_other_agents_are_never_written(path: Path, tmp_path: Path) -> None:
    session = of_another_format(read_session(str(path)))
    assert "convert" in refusal(lambda: append_entry(session, LINE))
    assert "convert" in refusal(lambda: write_copy(session, OLD, LINE, str(tmp_path / "copy.jsonl")))
    assert path.read_bytes() == OLD and os.listdir(tmp_path) == [path.name]


def test_a_folder_in_the_place_of_the_file_is_refused(path: Path) -> None:
    session = read_session(str(path))
    path.unlink()
    path.mkdir()
    assert "can't be written" in refusal(lambda: append_entry(session, LINE))


LIMITED = """
import resource, sys
from compactor.append_file import append_entry, write_copy
from compactor.errors import SessionError
from compactor.session_file import read_bytes, read_session
path, output, limit = sys.argv[1], sys.argv[2], int(sys.argv[3])
session, line = read_session(path), b'{"text":"' + b"x" * 300_000 + b'"}'
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for act in (lambda: append_entry(session, line), lambda: write_copy(session, read_bytes(path), line, output)):
    try:
        act()
    except SessionError as error:
        print(error)
"""


@posix_only
def test_where_space_ends_nothing_is_written_and_no_scraps_are_left(path: Path, tmp_path: Path) -> None:
    output = tmp_path / "copy.jsonl"
    output.write_text("as it was")
    run = [sys.executable, "-c", LIMITED, str(path), str(output), str(len(OLD) + 1000)]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    append, copy = done.stdout.splitlines()
    assert append.startswith(f"{path}: ") and "too large; nothing was written" in append
    assert copy.startswith(f"{output}: ") and "too large" in copy
    assert path.read_bytes() == OLD and output.read_text() == "as it was"
    assert sorted(os.listdir(tmp_path)) == ["copy.jsonl", "session.jsonl"]


ONE_OF_MANY = """
import sys
from compactor.append_file import append_entry
from compactor.errors import SessionChanged
from compactor.session_file import read_session
path, line = sys.argv[1], sys.argv[2].encode()
session = read_session(path)
print("ready", flush=True)
sys.stdin.readline()
while True:
    try:
        append_entry(session, line)
    except SessionChanged:
        print("changed")
        if sys.argv[3] == "once":
            break
        session = read_session(path)
    else:
        print("written")
        break
"""


@pytest.mark.parametrize("tries", ["once", "again"])
def test_of_many_writers_one_wins_and_the_others_are_told(path: Path, tries: str) -> None:
    lines = [row_line({"writer": n, "text": "x" * 20_000}) for n in range(4)]
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", ONE_OF_MANY, str(path), line.decode().strip(), tries],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for line in lines
    ]
    for writer in writers:
        assert writer.stdout is not None and writer.stdout.readline() == "ready\n"
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    said = [writer.communicate()[0].split()[-1] for writer in writers]
    written = [line for line, word in zip(lines, said, strict=True) if word == "written"]
    assert len(written) == (1 if tries == "once" else len(lines))
    data = path.read_bytes()
    assert data.startswith(OLD)
    assert sorted(data[len(OLD) :].splitlines(keepends=True)) == sorted(written)


def test_a_copy_has_the_session_and_the_entry(path: Path, tmp_path: Path) -> None:
    output = tmp_path / "copy.jsonl"
    write_copy(read_session(str(path)), OLD, LINE, str(output))
    assert output.read_bytes() == OLD + LINE and path.read_bytes() == OLD
    assert sorted(os.listdir(tmp_path)) == ["copy.jsonl", "session.jsonl"]


@posix_only
def test_a_new_copy_gets_the_sessions_permissions_and_an_old_one_keeps_its_own(path: Path, tmp_path: Path) -> None:
    os.chmod(path, 0o640)
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("before")
    os.chmod(old, 0o604)
    for output in (old, new):
        write_copy(read_session(str(path)), OLD, LINE, str(output))
        assert output.read_bytes() == OLD + LINE
    assert [stat.S_IMODE(p.stat().st_mode) for p in (old, new)] == [0o604, 0o640]


def test_a_copy_is_made_of_the_bytes_that_were_read_or_not_at_all(path: Path, tmp_path: Path) -> None:
    session, output = read_session(str(path)), tmp_path / "copy.jsonl"
    for other in (OLD + b"{}\n", OLD[:-1] + b" ", OLD.replace(b"harbor-0001", b"harbor-0002"), b""):
        refusal(partial(write_copy, session, other, LINE, str(output)), SessionChanged)
    assert not output.exists()


@posix_only
@pytest.mark.parametrize("name", ["itself", "with detours", "symbolic link", "hard link"])
def test_the_output_is_never_the_session_itself(path: Path, tmp_path: Path, name: str) -> None:
    session, link = read_session(str(path)), tmp_path / "link.jsonl"
    output = {"itself": str(path), "with detours": f"{tmp_path}/../{tmp_path.name}/./{path.name}"}.get(name, str(link))
    if name == "symbolic link":
        link.symlink_to(path)
    if name == "hard link":
        os.link(path, link)
    assert "found the session file" in refusal(lambda: write_copy(session, OLD, LINE, output))
    assert path.read_bytes() == OLD
    if name == "itself":
        path.unlink()
        assert "found the session file" in refusal(lambda: write_copy(session, OLD, LINE, output))


@posix_only
def test_a_link_as_output_stays_a_link(path: Path, tmp_path: Path) -> None:
    link, target = tmp_path / "link.jsonl", tmp_path / "target.jsonl"
    link.symlink_to(target)
    write_copy(read_session(str(path)), OLD, LINE, str(link))
    assert link.is_symlink() and target.read_bytes() == OLD + LINE


@posix_only
@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("missing/copy.jsonl", "there is no folder"),
        ("session.jsonl/copy.jsonl", "Not a directory"),
        (".", "found a directory"),
        ("", "found a directory"),
        ("pipe", "no regular file"),
        ("/dev/null", "no regular file"),
        ("loop", "symbolic links"),
        ("x" * 300, "name too long"),
        ("a\0b", "null"),
        ("\ud800", "can't encode"),
    ],
)
def test_an_output_that_can_not_be_written_is_refused_in_one_line(path: Path, output: str, found: str) -> None:
    os.mkfifo(path.with_name("pipe"))
    path.with_name("loop").symlink_to("loop")
    session = read_session(str(path))
    message = refusal(lambda: write_copy(session, OLD, LINE, os.path.join(path.parent, output) if output else output))
    assert found in message
    assert sorted(os.listdir(path.parent)) == ["loop", "pipe", "session.jsonl"]
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


FORBIDDEN = """
import os, sys
from compactor.append_file import append_entry, write_copy
from compactor.errors import SessionError
from compactor.session_file import read_bytes, read_session
path = sys.argv[1]
session = read_session(path)
if os.geteuid() == 0:
    os.setuid(65534)
for output in (None, *sys.argv[2:]):
    try:
        append_entry(session, b"{}") if output is None else write_copy(session, read_bytes(path), b"{}", output)
    except SessionError as error:
        print(error)
"""


@posix_only
def test_without_permission_nothing_is_written_and_one_line_says_so() -> None:
    with tempfile.TemporaryDirectory() as root:  # not below tmp_path, where nobody else may enter
        path, protected, closed = Path(root, "a.jsonl"), Path(root, "b.jsonl"), Path(root, "closed")
        closed.mkdir()
        for made in (path, protected):
            made.write_bytes(OLD)
            os.chmod(made, 0o444)
        os.chmod(closed, 0o555)
        os.chmod(root, 0o755)
        run = [sys.executable, "-c", FORBIDDEN, str(path), str(protected), str(closed / "c.jsonl")]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        os.chmod(closed, 0o755)
        assert path.read_bytes() == protected.read_bytes() == OLD and not os.listdir(closed)
    append, copy, new = done.stdout.splitlines()
    assert append == f"{path}: the session file can't be written: Permission denied; use --output FILE"
    assert "write-protected" in copy and "Permission denied" in new


def test_a_large_entry_is_written_whole(path: Path) -> None:
    line = json.dumps({"type": "compaction", "id": "c0ffee00", "summary": "x" * 2_000_000}).encode()
    append_entry(read_session(str(path)), line)
    assert path.read_bytes() == OLD + line + b"\n"
