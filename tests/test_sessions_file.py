"""SESSION means a path, the newest session of this folder, or the one whose id starts so; never another project's."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.errors import CompactorError, SessionError, SettingsError
from compactor.sessions_file import MAX_HEADER_BYTES, encoded_cwd, find_session, session_folder

ID_A, ID_B = "0195aaaa-1111", "0195aabb-2222"


class Place:
    """A project, a home folder and the session folder that Pi would use."""

    def __init__(self, root: Path) -> None:
        self.cwd, self.agent = root / "project", root / "agent"
        self.cwd.mkdir()
        self.env = {"HOME": str(root / "home"), "PI_CODING_AGENT_DIR": str(self.agent)}
        self.folder = self.agent / "sessions" / encoded_cwd(str(self.cwd))

    def add(
        self, session_id: str, seconds: int = 0, *, folder: Path | None = None, name: str = "", **header: Any
    ) -> str:
        """A session file, written at that second; gives its path."""
        path = (folder or self.folder) / (name or f"2026-03-01T10-00-{seconds:02d}-000Z_{session_id}.jsonl")
        path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"type": "session", "version": 3, "id": session_id, "cwd": str(self.cwd), **header})
        path.write_text(line + '\n{"type": "message"}\n')
        os.utime(path, (1_772_359_200 + seconds,) * 2)
        return str(path)

    def find(self, text: str, session_dir: str | None = None) -> str:
        return find_session(text, cwd=str(self.cwd), env=self.env, session_dir=session_dir)

    def refusal(self, text: str, session_dir: str | None = None) -> str:
        """The one line that finding ends with."""
        with pytest.raises(SessionError) as raised:
            self.find(text, session_dir)
        assert len(str(raised.value).splitlines()) == 1
        return str(raised.value)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/srv/harbor", "--srv-harbor--"),
        ("/", "----"),
        ("/a:b/c\\d", "--a-b-c-d--"),
        ("/srv/häfen 1", "--srv-häfen 1--"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths without a drive")
def test_the_folder_name_is_the_path_with_dashes(cwd: str, name: str) -> None:
    assert encoded_cwd(cwd) == name


def test_the_session_folder_is_flag_then_variable_then_setting_then_default(place: Place) -> None:
    def folder(session_dir: str | None = None) -> str:
        return session_folder(cwd=str(place.cwd), env=place.env, session_dir=session_dir)

    assert folder() == str(place.folder)
    place.agent.mkdir()
    (place.agent / "settings.json").write_text('{"sessionDir": "~/of-user"}')
    assert folder() == os.path.join(place.env["HOME"], "of-user")
    (place.cwd / ".pi").mkdir()
    (place.cwd / ".pi" / "settings.json").write_text('{"sessionDir": "of-project"}')
    assert folder() == str(place.cwd / "of-project")
    place.env["PI_CODING_AGENT_SESSION_DIR"] = "/of-variable"
    assert folder() == "/of-variable"
    assert folder("/of-flag") == "/of-flag"


def test_a_bad_settings_file_is_told_unless_the_folder_is_given(place: Place) -> None:
    path = place.add(ID_A)
    (place.agent / "settings.json").write_text("{")
    with pytest.raises(SettingsError):
        place.find("latest")
    assert place.find("latest", str(place.folder)) == path


def test_a_path_is_given_back_as_it_was_typed_or_made_to_lead_there(place: Place) -> None:
    path = place.add(ID_A)
    assert place.find(path) == path
    relative = os.path.relpath(path, place.cwd)
    assert os.path.samefile(place.find(relative), path)
    typed = os.path.relpath(path)
    assert find_session(typed, cwd=os.getcwd(), env={}) == typed


def test_a_path_in_the_home_folder_may_start_with_a_tilde(place: Place) -> None:
    path = place.add(ID_A, folder=Path(place.env["HOME"]), name="a.jsonl")
    place.env["USERPROFILE"] = place.env["HOME"]
    assert os.path.samefile(place.find("~/a.jsonl"), path)


def test_latest_is_the_session_written_last(place: Place) -> None:
    place.add("a", 5)
    newest = place.add("b", 9)
    place.add("c", 7)
    assert place.find("latest") == newest


def test_of_sessions_written_at_once_the_last_by_name_is_the_latest(place: Place) -> None:
    place.add("a", name="1_a.jsonl")
    last = place.add("c", name="3_c.jsonl")
    place.add("b", name="2_b.jsonl")
    assert place.find("latest") == last


def test_latest_is_never_another_projects_even_in_a_folder_of_the_same_name(tmp_path: Path) -> None:
    place = Place(tmp_path)
    twin = tmp_path / "pro" / "ject"
    assert encoded_cwd(str(tmp_path / "pro-ject")) == encoded_cwd(str(twin))
    place.add("a", 9, cwd=str(twin))
    place.add("b", 8, cwd=str(place.cwd) + "-2")
    place.add("c", 7, cwd=None)
    place.add("d", 6, cwd="")
    place.add("e", 5, cwd=str(place.cwd) + "\0")
    refused = place.refusal("latest")
    assert str(place.folder) in refused and str(place.cwd) in refused and "5 file(s)" in refused
    own = place.add("f", 1)
    assert place.find("latest") == own


def test_in_a_folder_of_all_projects_the_headers_decide(place: Place, tmp_path: Path) -> None:
    shared = tmp_path / "all"
    place.add(ID_A, 9, folder=shared, cwd="/elsewhere")
    own = place.add(ID_B, 1, folder=shared)
    assert place.find("latest", str(shared)) == own
    assert place.find("0195", str(shared)) == own
    refused = place.refusal("0195aaaa", str(shared))
    assert "/elsewhere" in refused and ID_A in refused


def test_the_header_may_spell_the_folder_with_detours(place: Place) -> None:
    path = place.add("a", cwd=f"{place.cwd}/../{place.cwd.name}/")
    assert place.find("latest") == path


@pytest.mark.parametrize(
    "head",
    [
        b"\n  \n",
        b"\xef\xbb\xbf",
        b'{"torn": \n',
        b"\xff\xfe\n",
    ],
)
def test_the_header_is_the_first_json_value_of_the_file(place: Place, head: bytes) -> None:
    path = place.add("a")
    Path(path).write_bytes(head + Path(path).read_bytes())
    assert place.find("latest") == path


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\n\n",
        b"notes\n",
        b"5\n",
        b'{"type": "message", "id": "a"}\n{"type": "session", "id": "a"}\n',
        b'{"type": "session", "id": 5}\n',
        b'{"type": "session"}\n',
        b"[" * 100_000 + b"\n",
        b" " * (MAX_HEADER_BYTES + 1),
    ],
)
def test_files_that_are_no_sessions_are_passed_over(place: Place, data: bytes) -> None:
    own = place.add("a", 1)
    Path(place.add("b", 9)).write_bytes(data)
    assert place.find("latest") == own


def test_other_files_and_folders_are_no_sessions(place: Place) -> None:
    own = place.add("a", 1)
    place.add("b", 9, name="b.jsonl.bak")
    (place.folder / "c.jsonl").mkdir()
    (place.folder / "gone.jsonl").symlink_to(place.folder / "nothing")
    assert place.find("latest") == own


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_among_the_sessions_is_not_waited_for(place: Place) -> None:
    own = place.add("a", 1)
    os.mkfifo(place.folder / "b.jsonl")
    assert place.find("latest") == own


@pytest.mark.parametrize("text", ["0195aaaa-1111", "0195aaaa", "0195aaa"])
def test_the_start_of_an_id_is_enough(place: Place, text: str) -> None:
    own = place.add(ID_A, 1)
    place.add(ID_B, 9)
    assert place.find(text) == own


def test_the_id_may_be_that_of_the_header_or_of_the_files_name(place: Place) -> None:
    path = place.add("in-header", name="2026_in-name.jsonl")
    plain = place.add("other", name="copy.jsonl")
    assert place.find("in-h") == place.find("in-name") == path
    assert place.find("copy") == plain


def test_a_whole_id_wins_over_longer_ones_that_start_with_it(place: Place) -> None:
    place.add("abc-2", 9)
    own = place.add("abc", 1)
    assert place.find("abc") == own


def test_an_id_may_be_given_for_a_session_that_does_not_name_its_folder(place: Place) -> None:
    path = place.add("old-1", cwd=None)
    assert place.find("old") == path


def test_an_ambiguous_id_lists_at_most_five_the_newest_first(place: Place) -> None:
    for n in range(7):
        place.add(f"ab{n}", n)
    refused = place.refusal("ab")
    assert "7 sessions" in refused and str(place.folder) in refused
    assert "ab6, ab5, ab4, ab3, ab2 and 2 more" in refused
    assert "ab1" not in refused


def test_ids_in_messages_are_safe_to_print(place: Place) -> None:
    place.add("ab\n\x1b[31m", 1, name="1.jsonl")
    place.add("ab" + "x" * 5000, 2, name="2.jsonl")
    refused = place.refusal("ab")
    assert "\x1b" not in refused and len(refused) < 1000


@pytest.mark.parametrize("text", ["latest", "0195"])
def test_nothing_found_says_where_it_looked(place: Place, text: str) -> None:
    assert f"there is no folder {place.folder}" in place.refusal(text)
    place.folder.mkdir(parents=True)
    assert f"none of the 0 file(s) in {place.folder}" in place.refusal(text)


@pytest.mark.parametrize("text", ["missing.jsonl", "missing/a", "./latest", "a/" * 3000, "x" * 5000 + ".jsonl"])
def test_what_looks_like_a_path_is_not_looked_up(place: Place, text: str) -> None:
    place.add("missing.jsonl")
    assert "no such file" in place.refusal(text)


def test_an_empty_text_is_refused(place: Place) -> None:
    assert "empty" in place.refusal("")


def test_a_folder_is_refused_but_does_not_hide_a_session(place: Place) -> None:
    for name in ("latest", "ab", "cd"):
        (place.cwd / name).mkdir()
    own = place.add("abc")
    assert place.find("latest") == place.find("ab") == own
    assert "found a directory" in place.refusal("cd")
    assert "found a directory" in place.refusal(str(place.cwd))


def test_a_file_goes_before_a_session_of_that_id(place: Place) -> None:
    place.add("abc")
    (place.cwd / "abc").write_text("x")
    assert place.find("abc") == str(place.cwd / "abc")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes and devices in folders")
def test_pipes_and_devices_are_refused(place: Place) -> None:
    os.mkfifo(place.cwd / "pipe")
    assert "no regular file" in place.refusal("pipe")
    assert "no regular file" in place.refusal("/dev/null")


UNREADABLE = """
import os, sys
from compactor.errors import SessionError
from compactor.sessions_file import find_session
if os.geteuid() == 0:
    os.setuid(65534)
for text in sys.argv[1:]:
    try:
        print("found", find_session(text, cwd="/", env={}))
    except SessionError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_file_or_folder_without_permission_is_refused_in_one_line() -> None:
    with tempfile.TemporaryDirectory() as root:  # not below tmp_path, where nobody else may enter
        os.chmod(root, 0o755)
        closed = Path(root, "closed")
        closed.mkdir()
        path = Path(root, "a.jsonl")
        path.write_text('{"type": "session", "id": "a"}')
        os.chmod(path, 0)
        os.chmod(closed, 0)
        run = [sys.executable, "-c", UNREADABLE, str(path), str(closed / "b.jsonl")]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        os.chmod(closed, 0o700)
    assert done.stdout.splitlines() == [
        f"{path}: the session file can't be read: Permission denied; make it readable",
        f"{closed / 'b.jsonl'}: the session file can't be read: Permission denied; make it readable",
    ]


@given(text=st.text(st.characters(), max_size=12))
def test_any_text_is_a_path_or_ends_with_one_line(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    root = tmp_path_factory.getbasetemp() / "any-session"
    root.mkdir(exist_ok=True)
    try:
        assert os.path.isfile(find_session(text, cwd=str(root), env={"PI_CODING_AGENT_DIR": str(root)}))
    except CompactorError as error:
        assert "\n" not in str(error).replace(text, "")
