"""Settings files are found where Pi has them, and a bad one is refused with its place."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.errors import SettingsError
from compactor.settings_file import agent_dir, expand_home, home_dir, read_settings, read_settings_file

HOME = "USERPROFILE" if os.name == "nt" else "HOME"


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({HOME: "/h"}, os.path.join("/h", ".pi", "agent")),
        ({HOME: "/h", "PI_CODING_AGENT_DIR": ""}, os.path.join("/h", ".pi", "agent")),
        ({HOME: "/h", "PI_CODING_AGENT_DIR": "/elsewhere"}, "/elsewhere"),
        ({HOME: "/h", "PI_CODING_AGENT_DIR": "~"}, "/h"),
        ({HOME: "/h", "PI_CODING_AGENT_DIR": "~/pi"}, os.path.join("/h", "pi")),
        ({HOME: "/h", "PI_CODING_AGENT_DIR": "~other/pi"}, "~other/pi"),
    ],
)
def test_the_agent_folder_is_that_of_the_variable_or_in_the_home_folder(env: dict[str, str], expected: str) -> None:
    assert agent_dir(env) == expected


def test_without_a_home_variable_the_account_has_a_home_folder() -> None:
    assert home_dir({}) == os.path.expanduser("~")


def test_only_a_leading_tilde_is_the_home_folder() -> None:
    assert expand_home("a/~/b", {HOME: "/h"}) == "a/~/b"


def test_both_files_are_read_from_their_places(tmp_path: Path) -> None:
    user, project = tmp_path / "agent" / "settings.json", tmp_path / "work" / ".pi" / "settings.json"
    for path, text in ((user, '{"theme": "dark"}'), (project, '{"compaction": {"enabled": false}}')):
        path.parent.mkdir(parents=True)
        path.write_text(text)
    env = {"PI_CODING_AGENT_DIR": str(user.parent)}
    files = read_settings(str(tmp_path / "work"), env)
    assert files.user is not None and files.project is not None
    assert (files.user.path, files.user.values) == (str(user), {"theme": "dark"})
    assert (files.project.path, files.project.values) == (str(project), {"compaction": {"enabled": False}})
    assert read_settings(None, env).project is None


def test_missing_files_are_no_settings(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("x")
    files = read_settings(str(tmp_path / "plain"), {"PI_CODING_AGENT_DIR": str(tmp_path / "none")})
    assert files.user is None and files.project is None


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", {}),
        (b"{}", {}),
        (b"\xef\xbb\xbf{}", {}),
        (b'{"a": "\xff"}', {"a": "\ufffd"}),
        (b'{"a": "\\ud800"}', {"a": "\ud800"}),
    ],
)
def test_empty_marked_and_oddly_encoded_files_are_read(tmp_path: Path, data: bytes, values: dict[str, str]) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(data)
    found = read_settings_file(str(path))
    assert found is not None and found.values == values


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"a": 1,}', 1),
        ('{\n  "a": 1\n  "b": 2\n}', 3),
        ("// note\n{}", 1),
        ("\n\n{", 3),
        ('{"a": NaN}', 1),
        ('{"a": -Infinity}', 1),
        ("[" * 100_000, 1),
        ('{"a": ' + "9" * 5000 + "}", 1),
        ("[]", 1),
        ("null", 1),
        ("5", 1),
        ("  ", 1),
    ],
)
def test_what_is_no_json_object_is_refused_with_file_and_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(SettingsError) as raised:
        read_settings_file(str(path))
    message = str(raised.value)
    assert message.startswith(f"{path}:{line}: expected ") and message.endswith("; correct the file")
    assert "\n" not in message and len(message) < len(str(path)) + 200


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="no regular file"):
        read_settings_file(str(tmp_path))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_pipe_in_the_place_of_the_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    os.mkfifo(path)
    with pytest.raises(SettingsError, match="no regular file"):
        read_settings_file(str(path))


@pytest.mark.parametrize("folder", ["a\0b", "\ud800", "x" * 5000, "", ".", "C:\\work"])
def test_a_project_folder_that_is_not_on_this_machine_has_no_settings(tmp_path: Path, folder: str) -> None:
    assert read_settings(os.path.join(tmp_path, folder), {"PI_CODING_AGENT_DIR": str(tmp_path)}).project is None


FORBIDDEN = """
import os, sys
from compactor.errors import SettingsError
from compactor.settings_file import read_settings_file
if os.geteuid() == 0:
    os.setuid(65534)
for path in sys.argv[1:]:
    try:
        print(read_settings_file(path))
    except SettingsError as error:
        print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_closed_file_is_refused_and_one_in_a_closed_folder_is_not_there() -> None:
    with tempfile.TemporaryDirectory() as root:  # not below tmp_path, where nobody else may enter
        path, closed = Path(root, "settings.json"), Path(root, "closed")
        path.write_text("{}")
        closed.mkdir()
        for made, mode in ((path, 0), (closed, 0), (Path(root), 0o755)):
            os.chmod(made, mode)
        run = [sys.executable, "-c", FORBIDDEN, str(path), str(closed / "settings.json")]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        os.chmod(closed, 0o700)
    file, in_folder = done.stdout.splitlines()
    assert file == f"{path}: the settings file can't be read: Permission denied; make it readable or remove it"
    assert in_folder == "None"


@given(text=st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_is_settings_or_one_line(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "any-settings.json"
    path.write_text(text, encoding="utf-8")
    try:
        found = read_settings_file(str(path))
    except SettingsError as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert found is not None
