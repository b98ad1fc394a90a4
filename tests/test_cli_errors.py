"""Bad input of every kind: the right exit code, one line that says what to do, no traceback, and nothing on stdout."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import SessionBuilder, row_line
from command_line import PROGRAM, Ran, long_session, process_env, run, run_process, saved
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values, sessions

COMMANDS = ("plan", "compact")


def refused(done: Ran) -> None:
    """Asserts that the command failed with one line on stderr and nothing else."""
    assert (done.code, done.out) == (1, ""), done
    assert len(done.talk) == 1, done.talk
    assert done.err.startswith("compactor: ")
    assert len(done.err) > 30


BAD_FILES: dict[str, bytes] = {
    "empty": b"",
    "blank": b" \n\t\n\n",
    "notes": b"# Harbor notes\n\nCrane 3 stands at berth 14.\n",
    "binary": bytes(range(256)) * 40,
    "a picture": b"\x89PNG\r\n\x1a\n" + b"\x00" * 500,
    "gzip": b"\x1f\x8b\x08\x00" + bytes(range(255, 0, -1)),
    "no header": b"".join(long_session().lines()[1:]),
    "a header without an id": row_line({"type": "session", "version": 3}),
    "a header with a number as id": row_line({"type": "session", "version": 3, "id": 7}),
    "a list": b"[1, 2, 3]\n",
    "a string": b'"session"\n',
    "settings": json.dumps({"compaction": {"enabled": True}}, indent=2).encode(),
    "deep": b"[" * 100_000 + b"]" * 100_000,
    "one long line": b"x" * 1_000_000,
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", BAD_FILES)
def test_a_file_that_is_no_session_is_refused_and_left_alone(tmp_path: Path, command: str, kind: str) -> None:
    path = tmp_path / "file.jsonl"
    path.write_bytes(BAD_FILES[kind])
    done = run(command, path)
    refused(done)
    assert str(path) in done.err
    assert len(done.err) < 400
    refused(run(command, path, "--json"))
    assert path.read_bytes() == BAD_FILES[kind]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "make",
    [
        lambda folder: folder / "missing.jsonl",
        lambda folder: folder / "missing" / "missing.jsonl",
        lambda folder: folder,
        lambda folder: "",
        lambda folder: "nobody",
        lambda folder: "latest",
        lambda folder: "x" * 5000,
        lambda folder: "/" + "x" * 5000 + ".jsonl",
        lambda folder: os.devnull,
        lambda folder: "a\x00b",
        lambda folder: "two\nlines",
    ],
)
def test_a_session_that_is_not_there_is_refused(tmp_path: Path, command: str, make: Callable[[Path], object]) -> None:
    refused(run(command, make(tmp_path), home=tmp_path))


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="skipped: this user may read everything")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_session_that_may_not_be_read_is_refused(tmp_path: Path, command: str) -> None:
    path = saved(long_session(), tmp_path)
    path.chmod(0)
    refused(run(command, path))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="skipped: no named pipes")
def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    refused(run("plan", tmp_path / "pipe.jsonl"))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "leaf", ["", "#", "#20", "#-1", "#1.0", "#１", "#" + "9" * 5000, "nobody", "0000", "\x1b[2J", "x" * 9999]
)
def test_a_bad_leaf_is_refused(tmp_path: Path, command: str, leaf: str) -> None:
    refused(run(command, saved(long_session(), tmp_path), "--leaf", leaf))


BAD_SETTINGS = {
    "not JSON": "{compaction: 1}",
    "a list": "[]",
    "compaction is a number": '{"compaction": 7}',
    "negative": '{"compaction": {"reserveTokens": -1}}',
    "fraction": '{"compaction": {"reserveTokens": 1.5}}',
    "text": '{"compaction": {"keepRecentTokens": "20000"}}',
    "too large": '{"compaction": {"keepRecentTokens": 1e300}}',
    "endless": '{"compaction": {"keepRecentTokens": 1e400}}',
    "enabled is text": '{"compaction": {"enabled": "no"}}',
    "override is a number": '{"compaction": {"modelOverrides": {"dock/gantry-1": 3}}}',
    "not a number": '{"compaction": {"reserveTokens": NaN}}',
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", BAD_SETTINGS)
def test_a_bad_settings_file_is_refused_with_its_path(tmp_path: Path, command: str, kind: str) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(BAD_SETTINGS[kind])
    done = run(command, saved(long_session(), tmp_path), PI_CODING_AGENT_DIR=str(tmp_path))
    refused(done)
    assert str(settings) in done.err


def test_a_settings_file_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "settings.json").mkdir()
    refused(run("plan", saved(long_session(), tmp_path), PI_CODING_AGENT_DIR=str(tmp_path)))


BAD_PROMPTS: dict[str, bytes] = {
    "does not end": b"{% if previous_summary %}Go on.",
    "unknown variable": b"Summarize {{ conversatoin }}.",
    "no jinja": b"{{ 1 + }}",
    "not UTF-8": b"Zusammenfassung f\xfcr die n\xe4chste Sitzung",
    "unknown file": b'{% include "nothing.j2" %}',
    "reaches outside": b'{% include "/etc/passwd" %}',
    "python": b"{{ ''.__class__.__mro__[1].__subclasses__() }}",
}


@pytest.mark.parametrize("kind", BAD_PROMPTS)
def test_a_bad_prompt_file_is_refused_with_its_path(tmp_path: Path, kind: str) -> None:
    prompt = tmp_path / "own.j2"
    prompt.write_bytes(BAD_PROMPTS[kind])
    done = run("compact", saved(long_session(), tmp_path), "--keep-recent-tokens", 300, "--prompt", prompt)
    refused(done)
    assert "own.j2" in done.err


@pytest.mark.parametrize(
    "options",
    [
        ("--prompt", "nobody"),
        ("--prompt", "missing.j2"),
        ("--prompt", "{folder}"),
        ("--prompt", ""),
        ("--client", "scripted"),
        ("--client", "scripted", "--script", "{folder}/missing.txt"),
        ("--client", "scripted", "--script", "{folder}"),
        ("--client", "scripted", "--script", "{folder}/bad.json"),
        ("--client", "scripted", "--script", "{folder}/empty.json"),
        ("--client", "command"),
        ("--client", "command", "--command", "'"),
        ("--client", "command", "--command", "no-such-program-anywhere"),
        ("--client", "replay"),
        ("--client", "replay", "--replay-dir", "{folder}/none"),
        ("--client", "local"),
        ("--output", "{folder}/no/such/folder/out.jsonl"),
        ("--output", "{folder}"),
        ("--output", "{folder}/session.jsonl"),
    ],
)
def test_a_bad_choice_for_compact_is_refused_and_writes_nothing(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "bad.json").write_text("[1, 2")
    (tmp_path / "empty.json").write_text("[]")
    path = saved(long_session(), tmp_path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    filled = [option.replace("{folder}", str(tmp_path)) for option in options]
    refused(
        run("compact", path, "--keep-recent-tokens", 300, "--context-window", 9000, "--reserve-tokens", 900, *filled)
    )
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


@pytest.mark.parametrize("client", ["openai", "anthropic"])
def test_a_provider_without_a_key_is_refused_with_the_name_of_the_variable(tmp_path: Path, client: str) -> None:
    pytest.importorskip(client)
    path = saved(long_session(), tmp_path)
    done = run(
        "compact", path, "--keep-recent-tokens", 300, "--context-window", 9000, "--client", client, "--model", "m"
    )
    assert (done.code, done.out) == (1, "")
    assert f"{client.upper()}_API_KEY" in done.talk[-1]


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "{session}", "--context-window", "-1"),
        ("plan", "{session}", "--reserve-tokens", "many"),
        ("plan", "{session}", "--keep-recent-tokens", "1.5"),
        ("plan", "{session}", "--counter", "words"),
        ("plan", "{session}", "--no-such-option"),
        ("compact", "{session}", "--client", "nobody"),
        ("compact", "{session}", "--reason", "boredom"),
        ("compact", "{session}", "--max-retries", "-1"),
        ("compact", "{session}", "--timeout", "0"),
        ("compact", "{session}", "--timeout", "nan"),
        ("compact", "{session}", "--token-budget", "1"),
        ("compact", "{session}", "--write", "--output", "x"),
        ("compact", "{session}", "--record"),
        ("compact", "{session}", "--auto", "--reason", "manual"),
        ("compact", "{session}", "--auto", "--reason", "overflow"),
        ("compact", "{session}", "--summarizer-window", "9000"),
        ("prompts", "--leaf", "#1"),
    ],
)
def test_wrong_usage_is_exit_code_2_and_says_which_option(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = saved(long_session(), tmp_path)
    before = path.read_bytes()
    done = run(*(str(path) if word == "{session}" else word for word in words))
    assert (done.code, done.out) == (2, "")
    assert done.talk[0].startswith(f"Usage: compactor {words[0]} ")
    assert done.talk[-1].startswith("Error: ")
    assert any(word in done.talk[-1] for word in words if word.startswith("--"))
    assert path.read_bytes() == before


def test_numbers_beyond_all_reason_are_refused_in_one_line(tmp_path: Path) -> None:
    path = saved(long_session(), tmp_path)
    refused(run("plan", path, "--context-window", 10**30))
    done = run("plan", path, "--context-window", "9" * 5000)
    assert (done.code, done.out) == (2, "")


def test_an_error_of_a_real_process_is_one_line_on_standard_error(tmp_path: Path) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(BAD_FILES["notes"])
    for command in COMMANDS:
        refused(run_process(command, path))


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="skipped: no /dev/full")
@pytest.mark.parametrize("words", [("plan",), ("plan", "--json"), ("compact",), ("compact", "--json")])
def test_output_that_can_not_be_written_is_told_in_one_line(tmp_path: Path, words: tuple[str, ...]) -> None:
    path = saved(long_session(), tmp_path)
    command, *options = words
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [*PROGRAM, command, str(path), *options, "--keep-recent-tokens", "30"],
            env=process_env({}),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    told = done.stderr.decode().splitlines()
    assert done.returncode == 1
    assert len(told) == 1 and told[0].startswith("compactor: standard output can't be written: ")


@pytest.mark.skipif(sys.platform == "win32", reason="skipped: streams are closed by a POSIX shell")
@pytest.mark.parametrize(("words", "code"), [(("plan",), 0), (("plan", "--json"), 0), (("plan", "--leaf", "none"), 1)])
def test_a_program_without_standard_output_and_error_ends_as_with_them(
    tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    path = saved(long_session(), tmp_path)
    command, *options = words
    line = shlex.join([*PROGRAM, command, str(path), *options])
    assert subprocess.run(["sh", "-c", f"{line} >&- 2>&-"], env=process_env({}), check=False).returncode == code


@pytest.mark.skipif(sys.platform != "linux", reason="skipped: the current folder can't be removed everywhere")
def test_a_current_folder_that_is_gone_is_told_in_one_line(tmp_path: Path) -> None:
    line = f"mkdir gone && cd gone && rmdir ../gone && {shlex.join([*PROGRAM, 'plan', 'latest'])}"
    root = str(Path(__file__).parents[1])
    env = process_env({"PYTHONPATH": root})
    done = subprocess.run(["sh", "-c", line], cwd=tmp_path, env=env, capture_output=True, check=False)
    refused(Ran(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode()))


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="skipped: names of files are Unicode here")
def test_a_file_name_that_is_no_unicode_is_shown_and_works(tmp_path: Path) -> None:
    path = os.fsencode(tmp_path) + b"/h\xffrbor.jsonl"
    Path(os.fsdecode(path)).write_bytes(long_session().data())
    done = run_process("plan", os.fsdecode(path), "--json")
    assert (done.code, done.err) == (0, "")
    assert done.objects[0]["entries"] == 20
    assert run_process("plan", os.fsdecode(path)).code == 0
    refused(run_process("plan", os.fsdecode(path) + "x"))


def survives(data: bytes, folder: Path) -> None:
    """Asserts that every command ends in an orderly way on a file with these bytes, which stay as they are."""
    path = folder / "any.jsonl"
    path.write_bytes(data)
    for command in COMMANDS:
        for options in ((), ("--json", "--keep-recent-tokens", 30), ("--exact-pi", "--keep-recent-tokens", 30)):
            done = run(command, path, *options)
            assert done.code in (0, 1, 3)
            assert done.code != 1 or done.err
    assert path.read_bytes() == data


@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    survives(data, tmp_path_factory.getbasetemp())


@given(st.data())
def test_a_damaged_session_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    whole = data.draw(sessions(max_steps=6)).data()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(whole)))
        cut = data.draw(st.integers(0, 40))
        whole = whole[:at] + data.draw(st.binary(max_size=6)) + whole[at + cut :]
    survives(whole, tmp_path_factory.getbasetemp())


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(("type", "id", "parentId", "message", "summary", "timestamp", "cwd", "version")),
            json_values,
        ),
        max_size=4,
    )
)
def test_rows_whose_fields_have_any_type_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]]
) -> None:
    header = SessionBuilder().lines()[0]
    survives(header + b"".join(map(row_line, rows)), tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("name", ["", "-"])
def test_output_without_a_file_name_is_a_usage_error(name: str, tmp_path: Path) -> None:
    ran = run("compact", saved(long_session(), tmp_path), "--output", name)
    assert ran.code == 2
    assert "name of a file" in ran.err
    assert ran.out == ""
