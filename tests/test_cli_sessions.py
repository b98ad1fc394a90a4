"""`compactor sessions` end to end: text for people, one JSON object for programs, and notes on standard error."""

import json
import shutil
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, usage
from command_line import Ran, run, run_process
from session_homes import CODEX_ID, Home, claude_talk, codex_row, codex_talk, rows_data, talk

from compactor.cli.sessions_report import list_text, notes, short
from compactor.session_glance_file import END_BYTES
from compactor.session_list_file import list_sessions
from compactor.session_places_file import Wanted

NOW = datetime(2026, 3, 1, 13, tzinfo=UTC)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def listing(home: Home, *words: object) -> Ran:
    return run("sessions", "--cwd", home.cwd, *words, home=home.root, CLAUDE_CONFIG_DIR="", CODEX_HOME="")


def text(home: Home, *, max_bytes: int = 10**9, with_paths: bool = False, **wanted: Any) -> list[str]:
    """The lines of the list at a known time."""
    chosen = Wanted(**{"cwd": str(home.cwd), "env": home.env, **wanted})
    return list_text(list_sessions(chosen, max_bytes=max_bytes), NOW, with_paths=with_paths).splitlines()


def test_a_list_has_two_lines_a_session(home: Home) -> None:
    home.pi("0195aaaa-1111")
    size = home.pi("0195aaaa-1111").stat().st_size
    assert text(home) == [
        f"{home.cwd} (1 session)",
        "  0195aaaa  “Where is crane 3?”",
        f"    pi, 2 h ago (2026-03-01 10:00), 2 messages, 150 tokens in context, 150 used, $0.25, {size} B",
    ]


def test_the_command_lists_the_sessions_of_all_agents(home: Home) -> None:
    home.pi()
    home.claude()
    home.codex()
    done = listing(home)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{home.cwd} (3 sessions)\n")
    assert [line.split(",")[0] for line in done.out.splitlines()[2::2]] == ["    codex", "    claude-code", "    pi"]
    assert listing(home, "--agent", "codex").out.count("\n") == 3


def test_json_is_one_object(home: Home) -> None:
    path = home.pi()
    done = listing(home, "--json")
    assert (done.code, done.err) == (0, "")
    (found,) = done.objects
    assert found["projects"][0]["sessions"][0]["path"] == str(path)
    assert found["projects"][0]["sessions"][0]["ageSeconds"] > 0


def test_without_a_directory_it_is_the_current_one(home: Home) -> None:
    home.pi()
    done = run_process("sessions", cwd=home.cwd, HOME=str(home.root), USERPROFILE=str(home.root))
    assert (done.code, done.out.count("crane 3")) == (0, 1)
    other = run_process("sessions", cwd=home.root, HOME=str(home.root), USERPROFILE=str(home.root))
    assert (other.code, other.out) == (0, "")


def test_nothing_found_is_no_failure_and_says_where_it_looked(home: Home) -> None:
    done = listing(home)
    assert (done.code, done.out) == (0, "")
    assert len(done.talk) == 1 and f"{home.pi_folder()} (missing)" in done.err
    assert listing(home, "--json").objects[0]["projects"] == []
    everywhere = run("sessions", "--all", home=home.root, CLAUDE_CONFIG_DIR="", CODEX_HOME="")
    assert (everywhere.code, everywhere.out) == (0, "") and "no saved sessions; looked in" in everywhere.err


def test_all_groups_by_directory(home: Home) -> None:
    home.pi("a")
    home.pi("b", cwd="/gone", folder=home.pi_folder(Path("/gone")))
    done = run("sessions", "--all", "--paths", home=home.root, CLAUDE_CONFIG_DIR="", CODEX_HOME="")
    assert f"{home.cwd} (1 session)\n" in done.out
    assert "/gone (1 session; the folder is gone)\n" in done.out
    assert done.out.count(".jsonl") == 2


def test_a_limit_and_other_directories_are_told(home: Home) -> None:
    home.pi("a")
    home.pi("b")
    home.pi("c", cwd="/elsewhere")
    done = listing(home, "--limit", 1)
    assert done.out.count("crane 3") == 1
    assert done.talk == [
        "1 older session left out by --limit",
        "1 session of other directories in the same folders; --all lists them",
    ]


def test_files_that_are_passed_over_are_told(home: Home) -> None:
    home.pi()
    home.write(home.pi_folder() / "b.jsonl", b"notes")
    done = listing(home)
    assert done.talk == ["warning: 1 file passed over: 1 no session; --json names them [skipped]"]


def test_pis_folder_may_be_given(home: Home) -> None:
    home.pi("a", folder=home.root / "shared")
    assert "crane 3" in listing(home, "--session-dir", home.root / "shared").out


@pytest.mark.parametrize(
    "words", [("--all", "--cwd", "."), ("--limit", "0"), ("--agent", "nobody"), ("latest",), ("--limit", "x")]
)
def test_wrong_usage_is_refused(words: tuple[str, ...]) -> None:
    assert run("sessions", *words).code == 2


def test_a_settings_file_that_can_not_be_used_ends_in_one_line(home: Home) -> None:
    home.write(home.root / ".pi" / "agent" / "settings.json", b"{")
    done = listing(home)
    assert (done.code, done.out, len(done.talk)) == (1, "", 1)


def test_copies_are_told_apart_by_their_paths(home: Home) -> None:
    paths = [home.codex(1), home.codex(1, folder="archived_sessions")]
    shown = text(home)
    assert {line.strip() for line in shown if line.endswith(".jsonl")} == set(map(str, paths))
    assert sum("codex, archived, " in line for line in shown) == 1


def test_details_are_told_where_there_are_any(home: Home) -> None:
    made = talk()
    made.add("session_info", name="Harbor works")
    made.compaction("00000001")
    made.back_to("00000001")
    made.assistant(usage={"input": 20_000, "output": 0, "cost": {"total": 3.0}})
    path = home.pi(made=made)
    path.write_bytes(path.read_bytes() + b"torn")
    shown = text(home)
    assert shown[1] == "  pi-1  Harbor works"
    assert "3 messages, 20.0k tokens in context, 20.1k used, $3.25, 1 compaction, 2 branches, 1." in shown[2]
    assert shown[2].endswith(" kB, damaged (1 line)")


def test_what_is_not_known_is_left_out(home: Home) -> None:
    made = SessionBuilder()
    made.assistant(usage={**usage(5, input=5), "cost": {"total": 0.001}})
    made.user("")
    made.compaction("00000001")
    home.pi("a", made=made)
    shown = text(home)
    assert shown[1] == "  a  (no message of the user)"
    assert "2 messages, 5 used, less than 1 cent, 1 compaction" in shown[2]
    path = home.pi("b")
    path.write_bytes(path.read_bytes() + b" " * 3 * END_BYTES)
    assert any(line.endswith(" kB, not counted") and "messages" not in line for line in text(home, max_bytes=0))


def test_a_session_that_names_no_folder_says_so(home: Home) -> None:
    home.pi(cwd="")
    assert text(home)[0] == "folder not named in the file (1 session)"


def test_sub_agents_are_told_with_their_session_and_alone(home: Home) -> None:
    home.claude("main")
    home.claude("agent-a1", rows=claude_talk(sessionId="main", isSidechain=True))
    home.codex(1)
    meta = {"source": {"subagent": "review"}, "parent_thread_id": CODEX_ID.format(1)}
    path = home.codex(2, **meta)
    path.write_bytes(rows_data(codex_talk(2, str(home.cwd), **meta)[:2]))
    shown = "\n".join(text(home))
    assert "100 used, 1 sub-agent (100 used)," in shown
    assert "120 used, 1 sub-agent, " in shown
    home.codex(3, source={"subagent": "review"})
    assert "    codex sub-agent, " in "\n".join(text(home))


def test_session_text_is_shown_and_never_acted_on(home: Home) -> None:
    evil = "\x1b[31mred\x07\u202e \ud83d [bold]"
    made = SessionBuilder(header={"id": "a\x1b]0;x"})
    made.user(evil)
    made.add("session_info", name=evil)
    home.pi("p", cwd="/srv/\x1b[2J\nx", made=made)
    rows = codex_talk(2, "/srv/\x1b[2J\nx")
    path = home.codex(2)
    path.write_bytes(rows_data([*rows, codex_row("event_msg", 3, type="thread_name_updated", thread_name=evil)]))
    for words in ((), ("--json",)):
        done = run("sessions", "--all", *words, home=home.root, CLAUDE_CONFIG_DIR="", CODEX_HOME="")
        assert done.code == 0
        assert "\x1b" not in done.out + done.err and "\x07" not in done.out
    assert len(json.loads(done.out)["projects"]) == 1


def test_times_are_in_the_zone_of_the_clock_and_may_lie_at_the_end_of_the_calendar(home: Home) -> None:
    made = SessionBuilder()
    made.user()
    made.rows[0]["timestamp"] = "9999-12-31T23:59:59Z"
    home.pi(made=made)
    chosen = Wanted(cwd=str(home.cwd), env=home.env)
    east = NOW.astimezone(timezone(timedelta(hours=9)))
    assert "in the future (9999-12-31 23:59)" in list_text(list_sessions(chosen), east, with_paths=False)
    home.pi()
    assert "2 h ago (2026-03-01 19:00)" in list_text(list_sessions(chosen), east, with_paths=False)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1.0k"),
        (99_999, "99.9k"),
        (204_321, "204k"),
        (999_999, "999k"),
        (8_714_053, "8.7M"),
        (10**12, "1,000G"),
    ],
)
def test_large_numbers_are_shown_to_three_digits(number: int, expected: str) -> None:
    assert short(number) == expected


def test_notes_are_none_where_nothing_is_to_be_said(home: Home) -> None:
    home.pi()
    wanted = Wanted(cwd=str(home.cwd), env=home.env)
    assert list(notes(list_sessions(wanted), wanted)) == []


def test_the_id_shown_is_taken_by_other_commands(home: Home) -> None:
    home.pi("0195aaaa-1111")
    home.pi("0195aaaa-1222")
    found = listing(home, "--json").objects[0]["projects"][0]["sessions"]
    for session in found:
        words = ("plan", session["idPrefix"], "--json")
        done = run_process(*words, cwd=home.cwd, HOME=str(home.root), USERPROFILE=str(home.root))
        assert done.code == 0, done.err
        assert json.loads(done.out)["session"]["path"] == session["path"]


def test_every_file_of_the_corpus_can_be_listed(home: Home, shared: Path) -> None:
    home.pi_folder().mkdir(parents=True)
    for number, path in enumerate([*(shared / "corpus").rglob("*.jsonl"), *(shared / "bugs").rglob("*.jsonl")]):
        shutil.copy(path, home.pi_folder() / f"{number}.jsonl")
    done = run("sessions", "--all", home=home.root, CLAUDE_CONFIG_DIR="", CODEX_HOME="")
    assert done.code == 0 and done.out.count("\n") > 200
    assert max(map(len, done.out.splitlines())) < 200 + len(str(home.root))
