"""Session text on its way to a terminal, and JSON on its way to programs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from builders import SessionBuilder
from command_line import PROGRAM, long_session, process_env, run, run_process, saved
from hypothesis import given
from strategies import texts

from compactor.cli.terminal import one_line, plain

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\r\x00\x7f"
ACTED_ON = [chr(n) for n in (*range(9), *range(11, 32), *range(127, 160), 0x2028, 0x2029, *range(0x202A, 0x202F))]
ACTED_ON += [chr(n) for n in range(0x2066, 0x206A)]


@pytest.mark.parametrize("character", ACTED_ON, ids=lambda c: f"U+{ord(c):04X}")
def test_a_character_that_a_terminal_acts_on_is_shown_as_an_escape(character: str) -> None:
    shown = plain(f"a{character}b")
    assert character not in shown
    assert shown == (f"a\\x{ord(character):02x}b" if ord(character) < 256 else f"a\\u{ord(character):04x}b")


@pytest.mark.parametrize("text", ["", "two\nlines\tand a tab", "検査 🚢 é", "right to left: שלום"])
def test_text_in_any_script_stays_as_it_is(text: str) -> None:
    assert plain(text) == text


def test_a_lone_surrogate_becomes_a_replacement_character_and_a_split_pair_becomes_one_character() -> None:
    assert plain("a\ud83db") == "a\ufffdb"
    assert plain("\ud83d\udea2") == "🚢"


@given(texts)
def test_one_line_is_one_line_that_can_be_written(text: str) -> None:
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert shown.encode().decode() == shown


@pytest.mark.parametrize(
    ("width", "expected"), [(0, "four words in line"), (18, "four words in line"), (9, "four wor…")]
)
def test_one_line_is_cut_at_the_width(width: int, expected: str) -> None:
    assert one_line("four\nwords \t in line ", width) == expected


def hostile_session() -> SessionBuilder:
    """A session that tries to reach the terminal wherever its text is shown."""
    builder = long_session(start=SessionBuilder(header={"cwd": f"/srv/{HOSTILE}", "id": HOSTILE}))
    builder.model_change(f"model{HOSTILE}", f"dock{HOSTILE}")
    builder.assistant("", {"type": "toolCall", "id": "c", "name": "read", "arguments": {"path": f"{HOSTILE}.md"}})
    builder.result("c", HOSTILE * 40)
    builder.add("message", id=f"id\n{HOSTILE}", parentId=f"nobody\n{HOSTILE}", message={"role": "user", "content": "x"})
    builder.user(f"Never print {HOSTILE} to the log.")
    return builder


@pytest.mark.parametrize("command", ["plan", "compact"])
@pytest.mark.parametrize(
    "option", ["--context-window=9000", "--keep-recent-tokens=20", "--leaf=#3", "--leaf=id", "--leaf=x\x1b"]
)
def test_no_command_writes_session_text_raw(tmp_path: Path, command: str, option: str) -> None:
    path = saved(hostile_session(), tmp_path)
    done = run(command, path, option)
    assert done.code == (1 if option == "--leaf=x\x1b" else 3 if not done.out else 0)
    assert [c for c in done.out + done.err if c in ACTED_ON] == []


def test_a_line_break_in_an_id_makes_no_line_of_its_own(tmp_path: Path) -> None:
    builder = long_session()
    builder.add(
        "message", id="x\nfake", parentId="gone\nwarning: fake [fake]", message={"role": "user", "content": "x"}
    )
    path = saved(builder, tmp_path)
    planned = run("plan", path, "--keep-recent-tokens", 20)
    assert [line for line in planned.out.splitlines() if line.startswith(("fake", "warning: fake"))] == []
    talked = run("compact", path, "--keep-recent-tokens", 20)
    assert [line for line in talked.talk if line.startswith(("fake", "warning: fake"))] == []


def test_json_lines_are_utf8_also_where_the_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    data = long_session().data()
    path.write_bytes(b"\xef\xbb\xbf" + data.replace(b"/srv/harbor", b"/srv/h\xffrbor", 1))
    done = run_process("compact", path, "--keep-recent-tokens", 300, "--json")
    assert done.code == 0, done.err
    assert done.objects[0]["cwd"] == "/srv/h\ufffdrbor"


def test_output_that_the_encoding_lacks_is_escaped(tmp_path: Path) -> None:
    builder = long_session()
    builder.add("model_change", provider="dock", modelId="検査🚢")
    done = run_process("plan", saved(builder, tmp_path), PYTHONUTF8="0", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (done.code, done.err) == (0, "")
    assert "model    dock/\\u691c\\u67fb\\U0001f6a2" in done.out


def test_signs_that_the_encoding_lacks_are_typed_and_the_others_stay(tmp_path: Path) -> None:
    builder = SessionBuilder(header={"cwd": str(tmp_path)})
    builder.user("Where is crane 3? " * 40)
    saved(builder, tmp_path)
    for encoding, quoted in (
        ("ascii", '"Where is crane 3?'),
        ("cp1252", "\u201cWhere is crane 3?"),
        ("utf-8", "\u201cWhere"),
    ):
        env = process_env({"PYTHONUTF8": "0", "PYTHONIOENCODING": encoding})
        words = [*PROGRAM, "sessions", "--session-dir", ".", "--agent", "pi"]
        out = subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, check=True).stdout.decode(encoding)
        assert quoted in out and "\\u" not in out


@pytest.mark.skipif(sys.platform == "win32", reason="skipped: no pseudo-terminal")
def test_json_on_a_terminal_is_still_json_and_holds_nothing_that_acts_on_it(tmp_path: Path) -> None:
    path = saved(hostile_session(), tmp_path)
    import pty  # not on Windows

    controller, terminal = pty.openpty()
    words = [*PROGRAM, "plan", str(path), "--json", "--keep-recent-tokens", "20"]
    with subprocess.Popen(words, stdout=terminal, env=process_env({})) as process:
        os.close(terminal)
        shown = b""
        while part := _read(controller):
            shown += part
    os.close(controller)
    assert process.returncode == 0
    text = shown.decode().removesuffix("\r\n")
    assert [c for c in text if c in ACTED_ON] == []
    assert json.loads(text)["session"]["id"] == HOSTILE


def _read(controller: int) -> bytes:
    """The next bytes that the terminal shows, none after its end."""
    try:
        return os.read(controller, 65536)
    except OSError:
        return b""
