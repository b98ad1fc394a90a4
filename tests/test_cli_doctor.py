"""`compactor doctor` from start to end."""

import json
import os
import sys
from pathlib import Path

import pytest
from builders import SessionBuilder, make_session, tool_call
from command_line import run, run_process

DATA = make_session("user", "assistant").data()
TOKEN = "ghp_" + "aB3d" * 9


def written(path: Path, data: bytes = DATA) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


def dangling() -> bytes:
    """A session with a warning and no error."""
    builder = SessionBuilder()
    builder.assistant("I look.", tool_call("c1"))
    builder.user("Never mind.")
    return builder.data()


def test_a_clean_session_is_said_to_be_clean(tmp_path: Path) -> None:
    done = run("doctor", written(tmp_path / "a.jsonl"))
    assert (done.code, done.err) == (0, "")
    assert "found  nothing" in done.out
    assert "type   Pi version 3, 2 entries" in done.out


def test_damage_is_told_with_its_line_and_what_to_do(tmp_path: Path) -> None:
    before = DATA + b"\0\0{torn"
    path = written(tmp_path / "a.jsonl", before)
    done = run_process("doctor", path)
    assert done.code == 1
    assert "error: torn_last_line\n  line 4: the last line is torn" in done.out
    assert "  do: write a repaired copy with --fix --output FILE" in done.out
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("data", "options", "code"),
    [
        (DATA, [], 0), (DATA, ["--strict"], 0), (DATA.replace(b"\n", b"\r\n"), ["--strict"], 0),
        (dangling(), [], 0), (dangling(), ["--strict"], 1), (DATA + b"{torn", [], 1), (b"", [], 1), (b"# notes", [], 1),
    ],
)  # fmt: skip
def test_the_exit_code_tells_a_check_what_was_found(tmp_path: Path, data: bytes, options: list[str], code: int) -> None:
    assert run("doctor", written(tmp_path / "a.jsonl", data), *options).code == code


def test_many_findings_of_a_kind_are_shown_in_part_and_listed_as_json(tmp_path: Path) -> None:
    path = written(tmp_path / "a.jsonl", DATA + b"7\n" * 20)
    shown = run("doctor", path).out
    assert "warning: not_an_entry (20 times)" in shown
    assert "… and 14 more; --json lists all" in shown
    assert len(run("doctor", path, "--json").objects[0]["findings"]) == 20


def test_json_is_one_object(tmp_path: Path) -> None:
    told = run("doctor", written(tmp_path / "a.jsonl", dangling()), "--json").objects
    assert len(told) == 1
    assert told[0]["session"]["format"] == "pi"
    assert [(f["code"], f["line"], f["entryId"]) for f in told[0]["findings"]] == [("dangling_call", 2, "00000001")]


def test_files_of_a_relative_folder_are_named_from_there(tmp_path: Path) -> None:
    written(tmp_path / "s" / "deep" / "b.jsonl")
    for word, cwd in ((".", tmp_path / "s"), ("s", tmp_path), (tmp_path / "s", tmp_path)):
        done = run_process("doctor", word, cwd=cwd, PYTHONPATH=str(Path(__file__).parents[1]))
        assert [line.split() for line in done.out.splitlines() if "clean" in line] == [
            ["clean", os.path.join("deep", "b.jsonl")]
        ]
        assert done.out.startswith(f"folder  {tmp_path / 's'}\n")


def test_a_folder_has_a_line_for_each_file_and_a_total(tmp_path: Path) -> None:
    written(tmp_path / "s" / "a.jsonl")
    written(tmp_path / "s" / "deep" / "b.jsonl", DATA + b"{torn")
    written(tmp_path / "s" / "c.jsonl", dangling())
    written(tmp_path / "s" / "d.jsonl", b"# notes")
    written(tmp_path / "s" / "notes.txt", b"# notes")
    done = run("doctor", tmp_path / "s")
    lines = done.out.splitlines()
    assert done.code == 1
    assert lines[2].split() == ["clean", "a.jsonl"]
    assert "1 warning" in lines[3] and "c.jsonl: dangling_call" in lines[3]
    assert "1 error" in lines[4] and "d.jsonl: not_a_session" in lines[4]
    assert "b.jsonl: torn_last_line, no_final_newline" in lines[5]
    assert lines[-1] == "4 files, 2 with errors: 2 errors, 1 warning and 1 note"
    told = run("doctor", tmp_path / "s", "--json").objects[0]
    assert [Path(file["path"]).name for file in told["files"]] == ["a.jsonl", "c.jsonl", "d.jsonl", "b.jsonl"]
    assert (told["counts"], told["clean"]) == ({"error": 2, "warning": 1, "note": 1}, 1)
    assert [file["entries"] for file in told["files"]] == [2, 2, 0, 2]


def test_a_folder_of_clean_sessions_is_clean(tmp_path: Path) -> None:
    written(tmp_path / "s" / "a.jsonl")
    written(tmp_path / "s" / "c.jsonl", dangling())
    assert run("doctor", tmp_path / "s").code == 0
    assert run("doctor", tmp_path / "s", "--strict").code == 1


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="skipped: every file can be read here")
def test_a_file_of_a_folder_that_cannot_be_read_does_not_stop_the_others(tmp_path: Path) -> None:
    written(tmp_path / "s" / "a.jsonl").chmod(0)
    written(tmp_path / "s" / "b.jsonl")
    done = run("doctor", tmp_path / "s")
    assert done.code == 1
    assert "unreadable" in done.out


def test_fix_writes_a_copy_and_leaves_the_session(tmp_path: Path) -> None:
    before = DATA + b"{torn"
    path, copy = written(tmp_path / "a.jsonl", before), tmp_path / "copy.jsonl"
    done = run("doctor", path, "--fix", "--output", copy)
    assert (done.code, path.read_bytes(), copy.read_bytes()) == (0, before, DATA)
    assert "1 finding repaired" in done.out
    assert run("doctor", copy).code == 0
    told = run("doctor", path, "--fix", "--output", copy, "--json").objects[0]
    assert (told["counts"]["error"], told["fix"]["counts"]["error"], told["fix"]["output"]) == (1, 0, str(copy))


def test_fix_of_a_clean_session_writes_the_same_bytes(tmp_path: Path) -> None:
    path, copy = written(tmp_path / "a.jsonl"), tmp_path / "copy.jsonl"
    done = run("doctor", path, "--fix", "--output", copy)
    assert (done.code, copy.read_bytes()) == (0, DATA)
    assert "the same bytes" in done.out


def test_what_no_copy_can_mend_is_said_and_decides_the_exit_code(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.result("nobody")
    path = written(tmp_path / "a.jsonl", builder.data() + b"{torn")
    done = run("doctor", path, "--fix", "--output", tmp_path / "copy.jsonl")
    assert done.code == 1
    assert "error orphan_result: not repaired" in done.out


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--fix"], 2, "--fix and --output FILE go together"),
        (["--output", "x"], 2, "--fix and --output FILE go together"),
        (["--fix", "--output", "SELF"], 1, "found the session file"),
        (["--fix", "--output", "DIR"], 1, "found a directory"),
    ],
)
def test_a_copy_is_never_written_where_it_should_not_be(
    tmp_path: Path, options: list[str], code: int, said: str
) -> None:
    path = written(tmp_path / "a.jsonl", DATA + b"{torn")
    places = {"SELF": str(path), "DIR": str(tmp_path)}
    done = run("doctor", path, *(places.get(option, option) for option in options))
    assert (done.code, done.out, path.read_bytes()) == (code, "", DATA + b"{torn")
    assert said in done.err
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.jsonl"]


def test_fix_takes_one_session_of_pi(tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    codex = written(tmp_path / "s" / "c.jsonl", b'{"type":"session_meta","payload":{"id":"c1","cwd":"/quay"}}\n')
    assert run("doctor", tmp_path / "s", "--fix", "--output", copy).code == 2
    for path, said in ((codex, "compactor convert"), (written(tmp_path / "e.jsonl", b""), "the file is empty")):
        done = run("doctor", path, "--fix", "--output", copy)
        assert (done.code, copy.exists()) == (1, False)
        assert said in done.err
        assert len(done.err.splitlines()) == 1


def test_a_missing_session_and_an_empty_folder_are_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "nowhere.jsonl", tmp_path / "empty"):
        done = run("doctor", path)
        assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 1)


def test_sessions_are_looked_up_by_id(tmp_path: Path) -> None:
    written(tmp_path / "s" / "2026_harbor-0001.jsonl", DATA.replace(b"/srv/harbor", str(tmp_path).encode()))
    done = run_process("doctor", "harbor", "--session-dir", tmp_path / "s", cwd=tmp_path)
    assert (done.code, "found  nothing" in done.out) == (0, True)


def test_a_secret_is_never_printed(tmp_path: Path) -> None:
    builder = make_session("user", ("branch_summary", f"Use {TOKEN} for the tide table."))
    path = written(tmp_path / "a.jsonl", builder.data())
    for options in ([], ["--json"]):
        done = run("doctor", path, *options)
        assert done.code == 1
        assert "GitHub token ghp_…" in done.out
        assert TOKEN not in done.out and TOKEN[:8] not in done.out


def test_text_of_a_session_reaches_the_terminal_as_escapes(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.add("x\x1b[2J\nerror", id="\x1b]0;t\x07", parentId="\x1b[31m\u202e")
    builder.add("x\ud83d", id="b" * 400, parentId=None)
    path = written(tmp_path / "a\x1b[1m.jsonl", builder.data())
    for target in (path, tmp_path):
        done = run_process("doctor", target)
        assert "Traceback" not in done.err
        assert not set("\x1b\x07\u202e") & set(done.out + done.err)
    assert json.loads(run_process("doctor", path, "--json").out)["counts"]["error"] == 1


def test_what_the_extra_redact_finds_is_told_beside_our_own(tmp_path: Path) -> None:
    pytest.importorskip("betterleaks", reason="skipped: betterleaks not installed")
    shopify = "shpat_" + "a1b2c3d4" * 4
    builder = make_session("user", ("branch_summary", f"Use {TOKEN} and {shopify} \ud83d for the tide table."))
    done = run("doctor", written(tmp_path / "a.jsonl", builder.data()), "--json")
    secrets = [f for f in done.objects[0]["findings"] if f["code"] == "secret_in_summary"]
    assert [f["severity"] for f in secrets] == ["error", "warning"]
    assert "GitHub token ghp_…" in secrets[0]["message"]
    assert "shopify" in secrets[1]["message"] and "shpa…" in secrets[1]["message"]
    assert shopify not in done.out
