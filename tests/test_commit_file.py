"""An append is whole or nothing: through kills, full disks, and other writers."""

import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from compactor.commit_file import FILE_CHANGED, WRITER_STOPPED, append_whole, locked, read_at

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and limits")

OLD = b'{"type":"session","id":"a"}\n{"type":"message"}\n'


@contextmanager
def opened(path: Path) -> Iterator[int]:
    fd = os.open(path, os.O_RDWR | os.O_APPEND)
    try:
        yield fd
    finally:
        os.close(fd)


def entry(size: int, mark: int = 0) -> bytes:
    """A line of JSON of `size` bytes, its end included."""
    frame = len(b'{"n":000000,"t":""}\n')
    return b'{"n":%06d,"t":"%s"}\n' % (mark + 100_000, b"x" * (size - frame))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "session.jsonl"
    made.write_bytes(OLD)
    return made


@pytest.mark.parametrize("size", [20, 4096, 300_000])
def test_bytes_are_added_at_the_end(path: Path, size: int) -> None:
    with opened(path) as fd:
        assert append_whole(fd, entry(size), len(OLD)) == 0
    assert path.read_bytes() == OLD + entry(size)


@pytest.mark.parametrize("size", [len(OLD) - 1, len(OLD) + 1, 0])
def test_a_file_of_another_size_is_left_alone(path: Path, size: int) -> None:
    with opened(path) as fd:
        assert append_whole(fd, entry(20), size) == FILE_CHANGED
    assert path.read_bytes() == OLD


def test_an_error_of_the_system_is_given_back(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        assert append_whole(fd, entry(20), len(OLD)) == errno.EBADF
    finally:
        os.close(fd)


def test_reading_stops_at_the_end_of_the_file(path: Path) -> None:
    with opened(path) as fd:
        assert read_at(fd, 5, 10_000) == OLD[5:]
        assert read_at(fd, 0, 3) == OLD[:3]
        assert read_at(fd, 10_000, 3) == b""


def test_threads_do_not_keep_an_append_from_ending(path: Path) -> None:
    done = threading.Event()
    threads = [threading.Thread(target=done.wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        with opened(path) as fd:
            assert append_whole(fd, entry(5000), len(OLD)) == 0
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert path.read_bytes() == OLD + entry(5000)


def test_an_append_works_where_ended_children_are_not_waited_for(path: Path) -> None:
    """Whoever starts the command may ignore SIGCHLD, which is inherited: then no exit code reaches us."""
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        with opened(path) as fd:
            assert append_whole(fd, entry(5000), len(OLD)) == 0
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert path.read_bytes() == OLD + entry(5000)


def test_an_interruption_comes_when_the_append_is_over(path: Path) -> None:
    """The signal is sent as soon as the file is seen to grow."""
    size, main, sizes = 16_000_000, threading.get_ident(), list[int]()

    def interrupt() -> None:
        while os.path.getsize(path) == len(OLD):
            pass
        signal.pthread_kill(main, signal.SIGINT)

    before = signal.signal(signal.SIGINT, lambda number, frame: sizes.append(os.path.getsize(path)))
    sender = threading.Thread(target=interrupt)
    try:
        sender.start()
        with opened(path) as fd:
            assert append_whole(fd, b"x" * size, len(OLD)) == 0
        sender.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert sizes == [len(OLD) + size]


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="finds the writing process as Linux lists it")
def test_what_a_killed_writer_left_is_taken_back(path: Path) -> None:
    size, children = 16_000_000, Path(f"/proc/self/task/{threading.get_native_id()}/children")

    def kill_writer() -> None:
        while os.path.getsize(path) == len(OLD):
            pass
        for pid in children.read_text().split():
            os.kill(int(pid), signal.SIGKILL)

    killer = threading.Thread(target=kill_writer)
    killer.start()
    with opened(path) as fd:
        code = append_whole(fd, b"x" * size, len(OLD))
    killer.join()
    left = path.read_bytes()
    assert (code, left == OLD) == (WRITER_STOPPED, True) or (code, left == OLD + b"x" * size) == (0, True)


LIMITED = """
import os, resource, sys
from compactor.commit_file import append_whole
path, limit, size, fork = sys.argv[1], *map(int, sys.argv[2:])
fd = os.open(path, os.O_RDWR | os.O_APPEND)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
if not fork:
    os.setuid(65534) if os.geteuid() == 0 else None
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
print(append_whole(fd, b"x" * size, os.fstat(fd).st_size))
"""


def limited(path: Path, limit: int, size: int, *, fork: bool = True) -> int:
    """The outcome of an append in a process whose files may not grow beyond `limit` bytes."""
    arguments = [str(path), str(limit), str(size), str(int(fork))]
    done = subprocess.run([sys.executable, "-c", LIMITED, *arguments], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("fork", [True, False])
def test_where_space_ends_half_way_nothing_is_left(path: Path, fork: bool) -> None:
    assert limited(path, len(OLD) + 1000, 300_000, fork=fork) == errno.EFBIG
    assert path.read_bytes() == OLD


def test_where_no_process_can_be_started_this_one_writes(path: Path) -> None:
    assert limited(path, 10**6, 5000, fork=False) == 0
    assert path.read_bytes() == OLD + b"x" * 5000


def test_a_lock_that_somebody_holds_is_not_given(path: Path) -> None:
    with opened(path) as one, opened(path) as two, locked(one, 0) as first:
        assert first
        with locked(two, 0) as second:
            assert not second
    with opened(path) as three, locked(three, 0) as third:
        assert third


def test_a_lock_is_waited_for(path: Path) -> None:
    with opened(path) as one, opened(path) as two:
        taken, order = threading.Event(), list[str]()

        def hold() -> None:
            with locked(one, 0):
                taken.set()
                order.append("held")
                waiting.wait(0.05)
                order.append("released")

        waiting = threading.Event()
        holder = threading.Thread(target=hold)
        holder.start()
        taken.wait()
        with locked(two, 60) as held:
            order.append("got it")
        holder.join()
    assert held and order == ["held", "released", "got it"]


def test_the_lock_of_a_killed_process_does_not_block_and_nothing_is_left_beside_the_file(path: Path) -> None:
    code = """
import os, sys, time
from compactor.commit_file import locked
fd = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND)
with locked(fd, 0) as held:
    print(held, flush=True)
    time.sleep(600)
"""
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == b"True\n"
        with opened(path) as fd:
            with locked(fd, 0) as held_beside_it:
                holder.kill()
                holder.wait()
            with locked(fd, 0) as held_after_it:
                pass
    assert (held_beside_it, held_after_it) == (False, True)
    assert os.listdir(path.parent) == [path.name]


KILLED = """
import os, sys, filelock
from compactor.commit_file import append_whole, locked
path, size, group = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
frame = len(b'{"n":000000,"t":""}' + bytes([10]))
for request in sys.stdin:
    pid = os.fork()
    if pid == 0:
        if group:
            os.setpgid(0, 0)
        fd = os.open(path, os.O_RDWR | os.O_APPEND)
        os.write(1, b"%d\\n" % os.getpid())
        for n in range(900_000):
            added = b'{"n":%06d,"t":"%s"}\\n' % (n + 100_000, b"x" * (size - frame))
            with locked(fd, 60):
                if append_whole(fd, added, os.fstat(fd).st_size):
                    os._exit(1)
    os.waitpid(pid, 0)
    os.write(1, b"dead\\n")
"""
"""For each line of input a process that appends entry after entry until it is killed."""

KILLS = 25


@pytest.mark.parametrize(("size", "group"), [(6_000, False), (300_000, False), (300_000, True), (3_000_000, True)])
def test_killing_the_command_at_any_moment_leaves_only_whole_entries(path: Path, size: int, group: bool) -> None:
    """With a plain write instead, most of these kills tear an entry."""
    random, counts = Random(size), set[int]()
    arguments = [sys.executable, "-c", KILLED, str(path), str(size), str(int(group))]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as server:
        assert server.stdin is not None and server.stdout is not None
        for _ in range(KILLS):
            path.write_bytes(OLD)
            server.stdin.write(b"go\n")
            pid = int(server.stdout.readline())
            time.sleep(random.uniform(0.001, 0.02))  # the moment of the kill, nothing is waited for
            (os.killpg if group else os.kill)(pid, signal.SIGKILL)
            assert server.stdout.readline() == b"dead\n"
            with opened(path) as fd, locked(fd, 60) as held:
                assert held  # the writer that was at it has ended
                data = path.read_bytes()
            count, rest = divmod(len(data) - len(OLD), size)
            assert rest == 0 and data == OLD + b"".join(entry(size, n) for n in range(count))
            assert all(isinstance(json.loads(line), dict) for line in data.splitlines())
            counts.add(count)
        server.stdin.close()
    assert len(counts) > 1, "every kill came before the first append"
