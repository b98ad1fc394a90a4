"""Sessions are listed by the folder they were made in, the newest first, and whatever lies among them is survived."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder
from session_homes import CODEX_ID, NOON, Home, claude_row, claude_talk, codex_talk, rows_data, talk

from compactor.errors import SessionError, SettingsError
from compactor.session_folders_file import MAX_CLAUDE_NAME, claude_name
from compactor.session_glance_file import BLOCK_BYTES, END_BYTES, MAX_LINE_BYTES, head_cwd
from compactor.session_list_file import SessionList, list_sessions
from compactor.session_places_file import AGENTS, Place, PlacedFile, Wanted, placed_files
from compactor.sessions_file import find_session

posix_only = pytest.mark.skipif(sys.platform == "win32", reason="links, pipes and permissions of POSIX")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")


def listed(home: Home, **options: Any) -> SessionList:
    """The list; options are those of `Wanted` and of `list_sessions`."""
    limits = {name: options.pop(name) for name in ("limit", "max_bytes") if name in options}
    return list_sessions(Wanted(**{"cwd": str(home.cwd), "env": home.env, **options}), **limits)


def ids(found: SessionList) -> list[str]:
    return [session.main.id for session in found.sessions]


# Whose


def test_the_sessions_of_a_folder_are_those_of_all_agents_made_there(home: Home) -> None:
    paths = [home.pi(), home.claude(), home.codex()]
    found = listed(home)
    assert sorted(session.main.file.path for session in found.sessions) == sorted(map(str, paths))
    assert {session.main.cwd for session in found.sessions} == {str(home.cwd)}
    assert {place.path for place in found.places} <= found.existing


@pytest.mark.parametrize(
    ("agent", "expected"), [("pi", "pi-1"), ("claude-code", "claude-1"), ("codex", CODEX_ID.format(1))]
)
def test_one_agent_may_be_asked_for(home: Home, agent: str, expected: str) -> None:
    home.pi()
    home.claude()
    home.codex()
    found = listed(home, agents=(agent,))
    assert ids(found) == [expected]
    assert {place.agent for place in found.places} == {agent}


def test_a_file_of_another_agent_in_pis_folder_counts_as_that_agents(home: Home) -> None:
    home.claude(folder=home.pi_folder())
    assert ids(listed(home)) == ["claude-1"]
    assert ids(listed(home, agents=("pi",))) == []


def test_a_session_of_another_folder_whose_name_is_the_same_is_not_listed(home: Home) -> None:
    twin = home.root / "harbor-d"
    assert claude_name(str(home.cwd)) == claude_name(str(twin))
    home.claude("own")
    home.claude("twins", cwd=twin)
    home.pi("other", cwd="/elsewhere")
    home.codex(7, cwd="/elsewhere")
    found = listed(home)
    assert (ids(found), found.elsewhere) == (["own"], 3)
    assert listed(home, cwd=str(twin)).elsewhere == 2


def test_all_lists_every_folder(home: Home) -> None:
    other = home.root / "quay"
    home.pi("a", minute=3)
    home.pi("b", cwd=other, folder=home.pi_folder(other))
    home.claude("c", cwd=other, folder=home.claude_folder(other))
    home.codex(4, cwd=other)
    found = listed(home, is_all=True)
    assert {(session.main.cwd, session.main.id) for session in found.sessions} == {
        (str(home.cwd), "a"),
        (str(other), "b"),
        (str(other), "c"),
        (str(other), CODEX_ID.format(4)),
    }
    assert found.elsewhere == 0
    assert str(home.cwd) in found.existing and str(other) not in found.existing


def test_a_folder_for_all_projects_may_be_named(home: Home) -> None:
    shared = home.root / "shared"
    home.pi("a", folder=shared)
    home.pi("b", folder=shared, cwd="/elsewhere")
    found = listed(home, session_dir=str(shared), agents=("pi",))
    assert (ids(found), found.elsewhere) == (["a"], 1)
    assert sorted(ids(listed(home, session_dir=str(shared), agents=("pi",), is_all=True))) == ["a", "b"]
    assert ids(listed(home, env={**home.env, "PI_CODING_AGENT_SESSION_DIR": str(shared)})) == ["a"]


def test_the_folders_of_claude_code_and_codex_may_be_named(home: Home) -> None:
    claude, codex = home.root / "claude", home.root / "codex"
    home.claude(folder=claude / "projects" / claude_name(str(home.cwd)))
    home.codex()
    (home.root / ".codex").rename(codex)
    env = {**home.env, "CLAUDE_CONFIG_DIR": str(claude), "CODEX_HOME": "~/codex"}
    assert sorted(ids(listed(home, env=env))) == [CODEX_ID.format(1), "claude-1"]


def test_a_bad_settings_file_is_told(home: Home) -> None:
    home.write(home.root / ".pi" / "agent" / "settings.json", b"{")
    with pytest.raises(SettingsError):
        listed(home)
    assert ids(listed(home, agents=("codex",))) == []


def test_a_session_that_names_no_folder_is_listed_without_one(home: Home) -> None:
    home.pi("a", cwd="")
    rows = claude_talk()
    for row in rows:
        del row["cwd"]
    home.claude(rows=rows)
    home.codex(cwd="")
    assert [session.main.cwd for session in listed(home).sessions] == [None, None, None]


def test_a_session_of_claude_code_belongs_to_the_folder_that_its_file_is_in(home: Home) -> None:
    """Its rows name the folder that the agent was in at the moment."""
    home.claude("below", cwd=home.cwd / "src" / "quay")
    home.claude("odd", cwd="/elsewhere/x")
    found = listed(home)
    assert (ids(found), found.elsewhere) == (["below"], 1)
    assert found.sessions[0].main.cwd == str(home.cwd)


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/srv/harbor_1.d", "-srv-harbor-1-d"),
        ("/srv/Häfen 1", "-srv-H-fen-1"),
        ("/srv/Ha\u0308fen", "-srv-H-fen"),
        ("/srv/🚢", "-srv---"),
        ("C:\\harbor", "C--harbor"),
    ],
)
def test_claude_code_names_a_folder_by_letters_digits_and_dashes(cwd: str, name: str) -> None:
    assert claude_name(cwd) == name


def test_of_a_long_name_of_claude_codes_the_start_is_enough(home: Home) -> None:
    long = home.root / ("quay" * 20) / ("berth" * 30)
    name = claude_name(str(long))[:MAX_CLAUDE_NAME]
    assert ids(listed(home, cwd=str(long))) == []
    projects = home.claude_folder().parent
    home.claude("a", cwd=long, folder=projects / f"{name}-x7k2")
    home.claude("b", cwd=long, folder=projects / f"{name}x")
    assert ids(listed(home, cwd=str(long))) == ["a"]


# Order, limit, budget


def test_the_session_with_the_newest_entry_is_first_whenever_its_file_was_written(home: Home) -> None:
    for minute, name in ((1, "late"), (9, "early"), (5, "middle")):
        made = SessionBuilder()
        made.user()
        made.rows[0]["timestamp"] = {"late": "2026-03-03", "middle": "2026-03-02", "early": "2026-03-01"}[name]
        home.pi(name, made=made, minute=minute)
    home.pi("none", made=SessionBuilder(header={"timestamp": None}), minute=11)
    assert ids(listed(home)) == ["late", "middle", "none", "early"]
    assert listed(home).sessions[2].last_entry_at.timestamp() == NOON.timestamp() + 660


def test_a_limit_leaves_the_newest_and_counts_them(home: Home) -> None:
    for number in range(4):
        made = talk()
        made.rows[1]["timestamp"] = f"2026-03-0{number + 1}T10:00:00Z"
        made.user("x" * 3 * END_BYTES)
        made.rows[2]["timestamp"] = made.rows[1]["timestamp"]
        home.pi(f"s{number}", made=made, minute=-number)
    found = listed(home, limit=2)
    assert (ids(found), found.older, len(found.ids)) == (["s3", "s2"], 2, 4)
    assert [session.main.glance.messages for session in found.sessions] == [3, 3]
    whole = listed(home, limit=4)
    assert (len(whole.sessions), whole.older) == (4, 0)


def test_beyond_the_budget_both_ends_are_read_and_counts_are_left_open(home: Home) -> None:
    large = talk()
    for _ in range(20):
        large.user("x" * 20_000)
    large.assistant(usage={"input": 700, "totalTokens": 700})
    path = home.pi("new", made=large, minute=2)
    home.pi("old", made=large, minute=1)
    home.pi("small", minute=0)
    budget = path.stat().st_size + 2000
    found = {session.main.id: session.main.glance for session in listed(home, max_bytes=budget).sessions}
    assert {name: glance.is_whole for name, glance in found.items()} == {"new": True, "old": False, "small": True}
    assert (found["new"].messages, found["old"].messages, found["small"].messages) == (23, None, 2)
    assert found["old"].context_tokens == found["new"].context_tokens == 700
    assert found["old"].first_message == "Where is crane 3?"
    assert found["old"].last_entry_at == found["new"].last_entry_at


@pytest.mark.parametrize("long_line", [END_BYTES + 10, MAX_LINE_BYTES - 100, 2 * MAX_LINE_BYTES])
def test_long_lines_at_the_ends_are_coped_with(home: Home, long_line: int) -> None:
    made = SessionBuilder(header={"note": "x" * min(long_line, MAX_LINE_BYTES - 1000)})
    made.user()
    made.user("x" * 3 * MAX_LINE_BYTES)
    made.user("y" * long_line)
    home.pi("long", made=made)
    found = listed(home, max_bytes=0)
    assert ids(found) == ["long"]
    assert found.sessions[0].main.glance.damaged_lines == 0


def test_a_first_line_that_never_ends_is_no_session(home: Home) -> None:
    home.write(home.pi_folder() / "a.jsonl", b'{"type":"session","id":"a","note":"' + b"x" * 2 * MAX_LINE_BYTES)
    found = listed(home, max_bytes=0)
    assert ids(found) == []
    assert [one.reason for one in found.skipped] == ["no_session"]


def test_files_larger_than_a_block_are_counted_whole(home: Home) -> None:
    made = SessionBuilder()
    for size in (BLOCK_BYTES // 3, 2 * BLOCK_BYTES, 10, BLOCK_BYTES, 10):
        made.user("x" * size)
    path = home.pi(made=made)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    glance = listed(home).sessions[0].main.glance
    assert (glance.messages, glance.damaged_lines) == (5, 0)


# Sub-agents


def subagent_rows(parent: str, agent: str) -> list[dict[str, Any]]:
    return claude_talk(sessionId=parent, agentId=agent, isSidechain=True)


def test_sub_agents_of_claude_code_are_counted_with_their_session(home: Home) -> None:
    path = home.claude("main")
    home.claude("agent-a1", rows=subagent_rows("main", "a1"))
    home.claude("agent-a2", rows=subagent_rows("main", "a2"), folder=path.with_suffix("") / "subagents")
    home.claude("agent-a3", rows=subagent_rows("x", "a3"), folder=path.with_suffix("") / "subagents" / "deep")
    (path.with_suffix("") / "subagents" / "agent-a2.meta.json").write_text("{}")
    for options in ({}, {"is_all": True}):
        found = listed(home, **options)
        assert ids(found) == ["main"]
        assert sorted(one.id for one in found.sessions[0].subagents) == ["a1", "a2", "a3"]


def test_a_sub_agent_finds_its_session_under_another_file_name(home: Home) -> None:
    home.claude("copy", rows=claude_talk(sessionId="main", cwd=str(home.cwd)))
    home.claude("agent-a1", rows=subagent_rows("main", "a1"))
    found = listed(home)
    assert (ids(found), len(found.sessions[0].subagents)) == (["copy"], 1)


def test_sub_agents_of_codex_are_counted_with_the_thread_at_the_top(home: Home) -> None:
    home.codex(1)
    for number, parent in ((2, 1), (3, 2)):
        spawn = {"thread_spawn": {"parent_thread_id": CODEX_ID.format(parent)}}
        home.codex(number, source={"subagent": spawn})
    found = listed(home)
    assert ids(found) == [CODEX_ID.format(1)]
    assert sorted(one.id for one in found.sessions[0].subagents) == [CODEX_ID.format(2), CODEX_ID.format(3)]


def test_a_sub_agent_whose_session_is_gone_stands_for_itself(home: Home) -> None:
    home.claude("agent-a1", rows=[{**row, "cwd": str(home.cwd)} for row in subagent_rows("gone", "a1")])
    home.codex(1, source={"subagent": "review"})
    home.codex(2, source={"subagent": "review"}, parent_thread_id=CODEX_ID.format(3))
    home.codex(3, source={"subagent": "review"}, parent_thread_id=CODEX_ID.format(2))
    found = listed(home)
    assert sorted(ids(found)) == [*(CODEX_ID.format(n) for n in (1, 2, 3)), "a1"]
    assert all(session.main.is_subagent for session in found.sessions)


def test_copies_are_listed_each_and_the_newest_has_the_sub_agents(home: Home) -> None:
    home.codex(1, minute=1)
    home.codex(1, minute=2, folder="archived_sessions")
    home.codex(2, source={"subagent": "review"}, parent_thread_id=CODEX_ID.format(1))
    found = listed(home)
    counts = {session.main.file.is_archived: len(session.subagents) for session in found.sessions}
    assert counts == {True: 1, False: 0}


# What else may lie there


@pytest.mark.parametrize(
    ("data", "detail"),
    [(b"", "an empty file"), (b"\n \n", "an empty file"), (b"notes\n", "no header line"), (b"\0" * 5000, "no header")],
)
def test_files_that_are_no_sessions_are_passed_over_with_a_reason(home: Home, data: bytes, detail: str) -> None:
    home.pi()
    path = home.write(home.pi_folder() / "b.jsonl", data)
    home.write(home.pi_folder() / "c.txt", data)
    found = listed(home)
    assert ids(found) == ["pi-1"]
    assert [(one.path, one.reason) for one in found.skipped] == [(str(path), "no_session")]
    assert detail in found.skipped[0].detail


def test_a_damaged_session_is_listed_as_such(home: Home) -> None:
    path = home.pi()
    path.write_bytes(path.read_bytes()[:-30])
    found = listed(home)
    assert (ids(found), found.sessions[0].main.glance.damaged_lines) == (["pi-1"], 1)


def test_a_damaged_first_line_still_tells_the_folder(home: Home, tmp_path: Path) -> None:
    own, other = rows_data(codex_talk(1, str(home.cwd))), rows_data(codex_talk(2, "/elsewhere"))
    for number, data in ((1, own), (2, other)):
        path = home.codex(number)
        path.write_bytes(b"\xef\xbb\xbf" + data)
    found = listed(home)
    assert (ids(found), found.elsewhere) == ([CODEX_ID.format(1)], 1)
    for data in (b"", b"torn", b'{"cwd":5}', b'{"payload":5}', b'{"payload":{"cwd":5}}', b"5"):
        assert head_cwd(str(home.write(tmp_path / "head", data))) is None
    assert head_cwd(str(tmp_path / "missing")) is None


def test_packed_rollouts_are_named_unless_the_plain_file_is_there(home: Home) -> None:
    plain = home.codex()
    home.write(plain.with_name(plain.name + ".zst"), b"x")
    packed = home.write(plain.with_name("rollout-b.jsonl.zst"), b"x")
    found = listed(home)
    assert [(one.path, one.reason) for one in found.skipped] == [(str(packed), "packed")]
    assert "zstd -d rollout-b.jsonl.zst" in found.skipped[0].detail


@posix_only
def test_pipes_folders_and_links_in_circles_are_survived(home: Home) -> None:
    home.codex()
    sessions = home.root / ".codex" / "sessions"
    os.mkfifo(sessions / "pipe.jsonl")
    (sessions / "folder.jsonl").mkdir()
    (sessions / "circle").symlink_to(sessions)
    (sessions / "self.jsonl").symlink_to("self.jsonl")
    (sessions / "self").symlink_to("self")
    (sessions / "gone.jsonl").symlink_to("nothing")
    (home.root / ".codex" / "archived_sessions").symlink_to(sessions)
    found = listed(home)
    assert ids(found) == [CODEX_ID.format(1)]
    assert {Path(one.path).name for one in found.skipped} == {"pipe.jsonl", "folder.jsonl", "self.jsonl", "gone.jsonl"}
    assert {one.reason for one in found.skipped} == {"not_a_file"}


def test_a_place_may_be_no_folder_or_no_path(home: Home) -> None:
    home.write(home.root / ".codex" / "sessions", b"x")
    found = listed(home, agents=("codex",))
    assert [one.reason for one in found.skipped] == ["unreadable"]
    assert placed_files([Place(agent="pi", path="a\0b")]).files == []


UNREADABLE = """
import os, sys
from compactor.session_list_file import list_sessions
from compactor.session_places_file import Wanted
if os.geteuid() == 0:
    os.setuid(65534)
found = list_sessions(Wanted(cwd="/", env={"HOME": sys.argv[1]}, session_dir=sys.argv[1], is_all=True))
print(sorted((os.path.basename(one.path), one.reason, one.detail) for one in found.skipped))
print([session.main.id for session in found.sessions])
"""


@posix_only
def test_what_may_not_be_read_is_passed_over_with_a_reason() -> None:
    with tempfile.TemporaryDirectory() as root:  # not below tmp_path, where nobody else may enter
        os.chmod(root, 0o755)
        Path(root, "closed").mkdir(mode=0)
        for name in ("a", "b"):
            Path(root, f"{name}.jsonl").write_bytes(talk().data())
        os.chmod(Path(root, "a.jsonl"), 0)
        run = [sys.executable, "-c", UNREADABLE, root]
        done = subprocess.run(run, capture_output=True, text=True, check=True)
        os.chmod(Path(root, "closed"), 0o700)
    skipped, sessions = done.stdout.splitlines()
    assert skipped == str([(name, "unreadable", "Permission denied") for name in ("a.jsonl", "closed")])
    assert sessions == "['harbor-0001']"


def test_the_time_of_writing_may_be_any_number() -> None:
    assert PlacedFile(agent="pi", path="a", size=0, modified_ns=10**30).modified_at.year == 1970
    assert PlacedFile(agent="pi", path="a", size=0, modified_ns=-1).modified_at.year == 1969
    assert PlacedFile(agent="pi", path="a", size=0, modified_ns=10**18).modified_at.year == 2001


def test_all_files_of_the_corpus_are_listed_or_passed_over(home: Home, shared: Path) -> None:
    everything = sorted([*(shared / "corpus").rglob("*.jsonl"), *(shared / "bugs").rglob("*.jsonl")])
    assert everything
    for number, path in enumerate(everything):
        home.write(home.pi_folder() / f"{number}.jsonl", path.read_bytes())
    for budget in (0, 10**9):
        found = listed(home, is_all=True, max_bytes=budget)
        members = len(found.sessions) + sum(len(session.subagents) for session in found.sessions)
        assert members + len(found.skipped) == len(everything)
        assert found.sessions and found.skipped


# The ids that other commands take


def find(home: Home, text: str, **options: Any) -> str:
    return find_session(text, cwd=str(home.cwd), env=home.env, **options)


def test_the_start_of_an_id_may_mean_a_session_of_any_agent(home: Home) -> None:
    paths = [home.pi("abc-1"), home.claude("bcd-1"), home.codex(3), home.codex(4, folder="archived_sessions")]
    for text, path in zip(("abc", "bcd", CODEX_ID.format(3), CODEX_ID.format(4)), paths, strict=True):
        assert find(home, text) == str(path)


def test_an_id_that_sessions_of_several_agents_may_mean_lists_them(home: Home) -> None:
    home.pi("ab-1")
    home.claude("ab-2")
    with pytest.raises(SessionError, match=r"2 sessions have .*: ab-1 \(pi\), ab-2 \(claude-code\); give more"):
        find(home, "ab")
    assert find(home, "ab-2").endswith("ab-2.jsonl")


def test_an_id_of_another_folders_session_names_its_path(home: Home) -> None:
    path = home.codex(3, cwd="/elsewhere")
    with pytest.raises(SessionError, match="made in '/elsewhere'; give that path") as raised:
        find(home, CODEX_ID.format(3))
    assert str(path) in str(raised.value)


def test_an_id_from_the_list_of_all_folders_leads_to_the_path(home: Home) -> None:
    other = home.root / "harbor-d"
    paths = [
        home.pi("abc-1", cwd=other, folder=home.pi_folder(other)),
        home.claude("bcd-1", cwd=other, folder=home.claude_folder(other)),
    ]
    for text, path in zip(("abc", "bcd"), paths, strict=True):
        with pytest.raises(SessionError, match="give that path if it is meant") as raised:
            find(home, text)
        assert str(path) in str(raised.value)


def test_an_id_that_nobody_has_is_said_to_be_looked_for_everywhere(home: Home) -> None:
    home.pi("abc-1")
    with pytest.raises(SessionError, match="no session of Pi, Claude Code or Codex has an id that starts so"):
        find(home, "zzz")


def test_latest_is_pis_and_an_id_in_a_given_folder_is_looked_up_only_there(home: Home) -> None:
    own = home.pi(minute=1)
    home.claude("claude-9", minute=9)
    assert find(home, "latest") == str(own)
    with pytest.raises(SessionError, match="no session has an id that starts so"):
        find(home, "claude", session_dir=str(home.pi_folder()))


def test_neither_sub_agents_nor_what_is_no_session_are_found_by_id(home: Home) -> None:
    path = home.claude("main")
    home.claude("agent-a1", rows=subagent_rows("main", "a1"))
    home.claude("agent-a2", rows=subagent_rows("main", "a2"), folder=path.with_suffix("") / "subagents")
    home.write(home.claude_folder() / "agent-a3.jsonl", b"notes\n")
    with pytest.raises(SessionError):
        find(home, "agent")


def test_latest_passes_over_what_is_newer_but_no_session_of_this_folder(home: Home) -> None:
    own = home.pi("own")
    home.pi("other", cwd=home.root / "harbor-d", minute=5)
    home.pi("future", cwd="/elsewhere", minute=10**6)
    home.write(home.pi_folder() / "empty.jsonl", b"", 7)
    home.write(home.pi_folder() / "torn.jsonl", talk().data()[:30], 8)
    home.write(home.pi_folder() / "rows.jsonl", talk().data().split(b"\n", 1)[1], 9)
    home.claude(folder=home.pi_folder(), minute=10)
    assert find(home, "latest") == str(own)
    assert ids(listed(home, agents=("pi",))) == ["own"]


@pytest.mark.parametrize("agent", AGENTS)
def test_the_id_in_the_list_is_the_one_that_commands_take(home: Home, agent: str) -> None:
    home.pi("0195-a", minute=1)
    home.claude("0195-b", rows=[{**row, "sessionId": "other", "cwd": str(home.cwd)} for row in claude_talk()])
    home.codex(3)
    for session in listed(home, agents=(agent,)).sessions:
        assert find(home, session.main.id) == session.main.file.path


def test_a_rollout_under_another_name_goes_by_its_header(home: Home) -> None:
    path = home.codex(3)
    path.rename(path.with_name("copy.jsonl"))
    assert ids(listed(home)) == [CODEX_ID.format(3)]
    rows = [row for row in codex_talk() if row["type"] != "session_meta"]
    home.write(path.with_name("bare.jsonl"), rows_data(rows))
    assert sorted(ids(listed(home))) == [CODEX_ID.format(3), "bare"]


def test_inline_rows_of_sub_agents_do_not_make_a_sub_agent(home: Home) -> None:
    rows = claude_talk(cwd=str(home.cwd))
    rows.append(claude_row("user", 3, None, "Task", isSidechain=True))
    home.claude(rows=rows)
    assert not listed(home).sessions[0].main.is_subagent
