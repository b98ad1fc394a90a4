"""`compactor tree`: the drawing, the JSON, and what it says of sessions that are broken."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder
from command_line import long_session, on_terminal, run, run_process, saved


def forked() -> SessionBuilder:
    """A long branch that was left at its third entry, with a compaction on it, and a short one."""
    builder = long_session(8)
    builder.compaction("00000021")
    builder.back_to("00000003")
    builder.branch_summary("The long way.", fromId="00000029")
    builder.user("Another way.")
    return builder


def tree(path: Path, *options: object) -> list[str]:
    """The lines of the drawing, without heading and legend."""
    done = run("tree", path, *options)
    assert (done.code, done.err) == (0, "")
    return done.out.split("\n\n")[1].splitlines()


def test_runs_of_plain_entries_are_folded_and_side_branches_are_drawn(tmp_path: Path) -> None:
    lines = tree(saved(forked(), tmp_path))
    assert [line[:14] for line in lines] == [
        "● #0  00000001", "● #1  00000002", "● #2  00000003", "├─ ┄ #3  00000", "│  ┄ … 36 entr", "│  ┄ #40 00000",
        "● #41 0000002a", "● #42 0000002b",
    ]  # fmt: skip
    assert lines[4] == "│  ┄ … 36 entries: 15 assistant, 14 toolResult, 7 user; 1,238 tokens"
    assert "(4,321 tokens before, kept from #32) ## Goal Move crane 3." in lines[5]
    assert "(of the branch left at #40) The long way." in lines[6]
    assert lines[7].endswith("3  [leaf] Another way.")


def test_every_entry_can_be_shown(tmp_path: Path) -> None:
    path = saved(forked(), tmp_path)
    assert len(tree(path, "--all")) == len(tree(path, "--full")) == 43


def test_whole_texts_can_be_shown(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("word " * 100 + "end")
    path = saved(builder, tmp_path)
    assert tree(path)[0].endswith("…")
    assert tree(path, "--full")[0].endswith("word end")
    assert len(run("tree", path, "--json").objects[0]["entries"][0]["text"]) == 200
    assert len(run("tree", path, "--json", "--full").objects[0]["entries"][0]["text"]) == 503


def test_no_line_is_wider_than_the_page(tmp_path: Path) -> None:
    for line in tree(saved(forked(), tmp_path), "--all"):
        assert len(line) <= 118


def test_what_was_compacted_edited_labelled_or_refused_says_so(tmp_path: Path) -> None:
    builder = long_session(7)
    kept = builder.user("Keep this.")
    builder.compaction(kept)
    replaced, omitted = builder.user("Old words."), builder.assistant("", stopReason="error", errorMessage="too long")
    builder.edit(replaced, "New words.")
    builder.edit(omitted)
    builder.private_shell()
    builder.result("nobody")
    builder.add("label", targetId=kept, label="here")
    lines = tree(saved(builder, tmp_path))
    assert lines[0].startswith("○ #0  00000001 user")
    assert "compacted away by #36" in lines[1]
    assert "[first kept by #36] [label here] Keep this." in lines[2]
    assert "◐ #37" in lines[4] and "[by #39] Old words." in lines[4]
    assert "× #38" in lines[5] and "[error] [by #40] too long" in lines[5]
    assert lines[6].endswith("(#37) replaces 00000026")
    assert "[excluded by the user]" in lines[8]
    assert "[no call before it]" in lines[9]
    assert lines[10].endswith("[leaf] (#35) 'here' on 00000024")


def test_a_run_with_different_fates_is_folded_in_parts(tmp_path: Path) -> None:
    builder = long_session(8)
    builder.compaction("00000010")
    builder.user()
    builder.compaction("00000020")
    builder.bookkeeping()
    lines = [line for line in tree(saved(builder, tmp_path)) if "…" in line and "entries:" in line]
    fates = [line[0] + line.partition("tokens")[2] for line in lines]
    assert fates == ["○, compacted away by #40", "○, compacted away by #42", "●", "·"]


def test_many_edits_in_a_row_are_folded_and_few_are_not(tmp_path: Path) -> None:
    builder = long_session(7)
    for number in (3, 4, 5):
        builder.edit(f"{number:08x}")
    builder.user()
    builder.edit("00000008")
    builder.user()
    lines = tree(saved(builder, tmp_path))
    assert [line for line in lines if "context_edit" in line] == [
        "· … 3 entries: 3 context_edit",
        "· #39 00000028 context_edit             (#7) omits 00000008",
    ]


def test_a_folded_run_names_its_most_frequent_kinds(tmp_path: Path) -> None:
    builder = long_session(7)
    for kind in ("a", "b", "c"):
        builder.add(kind)
    builder.user()
    lines = tree(saved(builder, tmp_path))
    assert "14 assistant, 14 toolResult, 6 user, 1 a, 2 other; " in lines[1]


def test_several_roots_and_the_leaf_inside_of_the_tree_are_drawn(tmp_path: Path) -> None:
    builder = SessionBuilder()
    first = builder.user("one")
    builder.user("two")
    builder.back_to(first)
    builder.user("three")
    builder.back_to(None)
    builder.user("another root")
    lines = tree(saved(builder, tmp_path), "--leaf", "#0")
    assert [line.split("#")[0] + line.split()[-1] for line in lines] == ["● one", "├─ ┄ two", "└─ ┄ three", "┄ root"]


def test_the_legend_counts_the_states_that_occur(tmp_path: Path) -> None:
    legend = run("tree", saved(forked(), tmp_path)).out.split("\n\n")[2].splitlines()
    assert [line.split()[:3] for line in legend] == [["●", "5", "entries"], ["┄", "38", "entries"]]


def test_the_heading_says_what_the_session_holds(tmp_path: Path) -> None:
    builder = forked()
    builder.add("label", targetId="00000001", label="start")
    path = saved(builder, tmp_path)
    assert run("tree", path).out.split("\n\n")[0].splitlines() == [
        f"session  {path} (Pi version 3, 44 entries)",
        "project  /srv/harbor",
        "leaf     #43 0000002c, 6 entries on its branch",
        "holds    2 branches, 1 compaction, 1 branch summary and 1 label",
    ]


def test_a_session_without_entries_is_no_error(tmp_path: Path) -> None:
    path = saved(SessionBuilder(header={"cwd": ""}), tmp_path)
    assert tree(path) == ["the session has no entries"]
    assert run("tree", path, "--json").objects[0]["branches"] == []


def test_summaries_edits_and_compactions_that_name_nothing_are_drawn(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.add("branch_summary", summary="Of what?")
    builder.branch_summary("Of another file.", fromId="not-in-this-file")
    builder.compaction("nowhere", tokensBefore=None)
    builder.compaction("nowhere", tokensBefore=12.5)
    lines = tree(saved(builder, tmp_path))
    assert "(of the branch left at an unknown entry)" in lines[1]
    assert "(of the branch left at not-in-t)" in lines[2]
    assert "(nothing kept)" in lines[3]
    assert "(12.5 tokens before, nothing kept)" in lines[4]


def test_an_output_without_drawing_characters_gets_ascii(tmp_path: Path) -> None:
    done = run_process("tree", saved(forked(), tmp_path), PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert (done.code, done.err) == (0, "")
    assert done.out.isascii()
    assert "|- - #3" in done.out and "|  - ... 36 entries" in done.out and "\\u" not in done.out


def test_session_text_can_not_act_on_the_terminal(tmp_path: Path) -> None:
    builder = SessionBuilder()
    user = builder.user("\x1b[2J\u202e evil \ud83d")
    builder.add("label", targetId=user, label="\x1b[31m")
    builder.add("session_info", name="a\nb\x07")
    builder.add("\x1b[1m", id="\x1b[2m")
    out = run("tree", saved(builder, tmp_path)).out
    assert not {"\x1b", "\x07", "\u202e", "\ud83d"} & set(out)
    assert len(out.split("\n\n")[1].splitlines()) == 4


def test_warnings_of_the_file_are_told(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(long_session(1).data() + b'{"type":"mess')
    assert "  ! line 7:" in run("tree", path).out
    assert [w["code"] for w in run("tree", path, "--json").objects[0]["warnings"]] == ["damaged_line"]


def test_a_terminal_gets_its_own_width(tmp_path: Path) -> None:
    pytest.importorskip("pty")
    shown = on_terminal("tree", saved(long_session(1), tmp_path))
    assert any(118 < len(line.rstrip()) <= 200 for line in shown.splitlines()[5:10])


@pytest.mark.parametrize(
    ("words", "message"),
    [(("nowhere.jsonl",), "no such file"), (("SESSION", "--leaf", "#99"), "no entry #99; expected #0 to #4")],
)
def test_what_is_not_there_is_told_in_one_line(tmp_path: Path, words: tuple[str, ...], message: str) -> None:
    path = saved(long_session(1), tmp_path)
    done = run("tree", *(path if word == "SESSION" else word for word in words))
    assert (done.code, done.out, len(done.talk)) == (1, "", 1)
    assert message in done.err


FAULTS: list[tuple[str, int, list[str]]] = [
    ("22-fused-line/input.jsonl", 4, ["damaged_line", "lost_parent"]),
    ("23-nul-hole/input-own-line.jsonl", 4, ["nul_bytes"]),
    ("23-nul-hole/input-prefix.jsonl", 4, ["nul_bytes"]),
    ("26-parent-cycle/input-cycle.jsonl", 3, ["parent_cycle"]),
    ("26-parent-cycle/input-self.jsonl", 1, ["parent_cycle"]),
    ("28-missing-parent/input.jsonl", 5, ["missing_parent"]),
]


@pytest.mark.parametrize(("name", "in_context", "codes"), FAULTS)
def test_known_faults_lose_nothing_in_silence(shared: Path, name: str, in_context: int, codes: list[str]) -> None:
    (found,) = run("tree", shared / "bugs" / name, "--json").objects
    assert found["counts"]["in_context"] == len(found["entries"]) == in_context
    assert [warning["code"] for warning in found["warnings"]] == codes


def test_every_recorded_session_is_drawn_or_refused_in_one_line(shared: Path) -> None:
    drawn: dict[str, Any] = {}
    for path in [*sorted((shared / "corpus").rglob("*.jsonl")), *sorted((shared / "bugs").rglob("*.jsonl"))]:
        done = run("tree", path)
        if done.code:
            assert (done.code, done.out, len(done.talk)) == (1, "", 1)
            continue
        drawn[str(path)] = done.out
        found = json.loads(run("tree", path, "--json").out)
        assert sum(found["counts"].values()) == len(found["entries"])
    assert len(drawn) > 100
