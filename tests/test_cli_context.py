"""`compactor context`: what the next request holds, and comparisons."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, image, tool_call, usage
from command_line import Ran, long_session, run, saved


def compacted() -> SessionBuilder:
    """Two turns, a compaction that keeps the second, and a question more."""
    builder = long_session(2)
    builder.compaction("00000006", systemMessage={"role": "system", "content": "You run the harbor."})
    builder.user("And now?")
    return builder


def row(done: Ran, label: str) -> str:
    return next(line[len(label) :].strip() for line in done.out.splitlines() if line.startswith(f"{label} "))


def context(path: Path, *options: object) -> Ran:
    done = run("context", path, *options)
    assert (done.code, done.err) == (0, "")
    return done


def found(path: Path, *options: object) -> dict[str, Any]:
    """The one object of `context --json`."""
    (one,) = context(path, *options, "--json").objects
    return one


def test_text_lists_every_message_in_parts(tmp_path: Path) -> None:
    path = saved(compacted(), tmp_path)
    done = context(path)
    blocks = done.out.split("\n\n")
    assert blocks[0].splitlines() == [
        f"session  {path} (Pi version 3, 12 entries)",
        "leaf     #11 0000000c, 12 entries on its branch",
        "context  8 messages, about 188 tokens (estimated with pi)",
    ]
    assert [block.splitlines()[0] for block in blocks[1:4]] == [
        "summary of what was compacted away: 2 messages, 11 tokens",
        "kept tail, from before the compaction: 5 messages, 175 tokens",
        "after the compaction: 1 message, 2 tokens",
    ]
    assert blocks[1].splitlines()[2].split() == [
        "2", "#10", "0000000b", "compactionSummary", "as", "user", "6", "##", "Goal", "Move", "crane", "3.",
    ]  # fmt: skip
    assert blocks[4].splitlines()[0].split() == [
        "total", "8", "messages", "188", "tokens", "(by", "pi,", "message", "by", "message)",
    ]  # fmt: skip


def test_text_says_what_was_done_to_a_message(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.system()
    first = builder.user("old")
    builder.assistant("", stopReason="error", errorMessage="too long")
    builder.assistant("I look.", tool_call("c1"), tool_call("c2"))
    builder.system("More.")
    builder.edit(first, "new")
    builder.message("oracle", content="Beware.")
    path = saved(builder, tmp_path)
    lines = context(path).out.split("\n\n")[1].splitlines()
    assert lines[1].endswith("1  [edited by #5] new")
    assert "not sent" in lines[2] and lines[2].endswith("[error] too long")
    assert lines[3].endswith("[2 calls without a result] I look.")
    assert "not sent" in lines[5]
    assert row(context(path), "system") == "2 messages (#0, #4) are replayed into one: 7 tokens"
    whole = context(path, "--full").out
    assert "[content replaced by the edit #5 (00000006)]" in whole
    assert "      [call] bash()" in whole


def test_all_of_every_message_can_be_shown(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("first line\n\n" + "word " * 100 + "end")
    builder.shell("ls", "a.py\nb.py")
    path = saved(builder, tmp_path)
    assert "word end" not in context(path).out
    whole = context(path, "--full").out.splitlines()
    assert "      first line" in whole
    assert whole[whole.index("      first line") + 2].endswith("word end")
    assert "      Ran `ls`" in whole


def test_the_size_is_told_as_by_plan(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user()
    builder.assistant("Here.", usage=usage(900))
    path = saved(builder, tmp_path)
    assert row(context(path), "context") == "2 messages, 900 tokens (reported by the provider)"
    assert row(context(path), "reported").split()[:2] == ["900", "tokens"]
    builder.user("x" * 40)
    path = saved(builder, tmp_path)
    text = "3 messages, about 910 tokens: 900 reported by the provider, about 10 since (estimated with pi)"
    assert row(context(path), "context") == text


def test_a_context_without_messages_is_no_error(tmp_path: Path) -> None:
    path = saved(SessionBuilder(), tmp_path)
    assert "nothing: no message is in this context" in context(path).out
    assert found(path)["messages"] == []


def test_tokens_are_counted_with_the_counter_that_is_named(tmp_path: Path) -> None:
    path = saved(compacted(), tmp_path)
    assert found(path, "--counter", "cl100k")["counter"] == "cl100k"
    assert found(path, "--counter", "cl100k")["tokens"] != found(path)["tokens"]
    assert found(path, "--counter", "calibrated")["counter"] == "calibrated"


def test_json_equals_what_plan_says(tmp_path: Path) -> None:
    path = saved(compacted(), tmp_path)
    for leaf in ("#11", "#10", "#4"):
        (plan,) = run("plan", path, "--leaf", leaf, "--json").objects
        made = found(path, "--leaf", leaf)
        assert len(made["messages"]) == plan["messages"]
        assert {role: sums["messages"] for role, sums in made["roles"].items()} == plan["roles"]
        assert made["tokens"]["context"] == plan["contextTokens"]


def test_pictures_come_with_their_data_only_if_all_is_wanted(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user([image()])
    path = saved(builder, tmp_path)
    assert "data" not in found(path)["messages"][0]["blocks"][0]
    assert found(path, "--full")["messages"][0]["blocks"][0] == image()
    assert "(1 image)" in context(path).out


def test_two_leaves_can_be_compared(tmp_path: Path) -> None:
    builder = long_session(1)
    builder.edit("00000001", "Where?")
    builder.back_to("00000003")
    builder.user("Stop.")
    path = saved(builder, tmp_path)
    lines = context(path, "--diff", "#5", "#6").out.splitlines()
    assert lines[1:5] == [
        "a        #5 00000006, 6 entries on its branch",
        "         5 messages, about 115 tokens (estimated with pi)",
        "b        #6 00000007, 4 entries on its branch",
        "         4 messages, about 162 tokens (estimated with pi)",
    ]
    assert lines[6] == "removed: 2 messages, 15 tokens"
    assert lines[10] == "added: 1 message, 2 tokens"
    assert lines[11].startswith("+ 4  #6") and lines[11].endswith("Stop.")
    assert lines[13] == "changed: 1 message"
    assert [line[0] for line in lines[14:16]] == ["-", "+"]
    assert lines[-1] == "same: 2 messages"
    made = found(path, "--diff", "#5", "00000007")
    assert (made["same"], len(made["removed"]), len(made["added"]), len(made["changed"])) == (2, 2, 1, 1)


def test_a_compaction_can_be_looked_at_from_both_sides(tmp_path: Path) -> None:
    path = saved(compacted(), tmp_path)
    made = found(path, "--compaction", "last")
    assert [m["index"] for m in made["removed"]] == [0, 1, 2, 3, 4]
    assert [m["role"] for m in made["added"]] == ["system", "compactionSummary"]
    assert (made["a"]["leaf"]["index"], made["b"]["leaf"]["index"]) == (9, 10)
    assert found(path, "--compaction", "#10") == made
    assert "same: 5 messages" in context(path, "--compaction", "last").out


def test_a_long_list_of_differences_is_cut_in_the_middle(tmp_path: Path) -> None:
    path = saved(long_session(12), tmp_path)
    lines = context(path, "--diff", "#0", "#59").out.splitlines()
    assert sum(line.startswith("+") for line in lines) == 25
    assert any(line.startswith("+ … 35 messages, ") and line.endswith("--full lists them all") for line in lines)
    assert sum(line.startswith("+") for line in context(path, "--diff", "#0", "#59", "--full").out.splitlines()) == 59


def test_the_way_back_from_a_compaction_without_a_parent_starts_at_nothing(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.compaction("nowhere")
    assert "a        none: the branch has no entries" in context(saved(builder, tmp_path), "--compaction", "#0").out


def test_warnings_of_both_sides_are_told_once(tmp_path: Path) -> None:
    path = tmp_path / "torn.jsonl"
    path.write_bytes(long_session(1).data() + b'{"type":"mess')
    assert context(path).out.count("[damaged_line]") == 1
    assert context(path, "--diff", "#1", "#2").out.count("[damaged_line]") == 1
    assert len(found(path, "--diff", "#1", "#2")["warnings"]) == 1


def test_session_text_can_not_act_on_the_terminal(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.user("\x1b[2J\u202e evil \ud83d\r\nnext")
    builder.add("custom_message", id="\x1b[2m", customType="x", content="\x07")
    builder.message("\x1b[1m", content="")
    path = saved(builder, tmp_path)
    for options in ((), ("--full",), ("--diff", "#0", "#2")):
        assert not {"\x1b", "\x07", "\u202e", "\ud83d", "\r"} & set(context(path, *options).out)


REFUSED: list[tuple[tuple[str, ...], int, str]] = [
    (("--leaf", "#99"), 1, "no entry #99"),
    (("--compaction", "last"), 1, "expected a compaction for 'last', found no compaction on the branch"),
    (("--compaction", "#0"), 1, "found an entry of type 'message'"),
    (("--diff", "#0", "nope"), 1, "expected the id of one entry or #N, found 'nope'"),
    (("--diff", "#0", "#1", "--leaf", "#0"), 2, "--diff names both leaves"),
    (("--diff", "#0", "#1", "--compaction", "last"), 2, "--diff names both leaves"),
]


@pytest.mark.parametrize(("options", "code", "message"), REFUSED)
def test_what_can_not_be_shown_is_told(tmp_path: Path, options: tuple[str, ...], code: int, message: str) -> None:
    done = run("context", saved(long_session(1), tmp_path), *options)
    assert (done.code, done.out) == (code, "")
    assert message in done.err
    assert code == 2 or len(done.talk) == 1


FAULTS: list[tuple[str, int, list[str]]] = [
    ("04-orphan-result-after-compaction/input.jsonl", 6, ["orphan_result"]),
    ("22-fused-line/input.jsonl", 4, ["damaged_line", "lost_parent"]),
    ("23-nul-hole/input-prefix.jsonl", 4, ["nul_bytes"]),
    ("26-parent-cycle/input-cycle.jsonl", 3, ["parent_cycle"]),
    ("28-missing-parent/input.jsonl", 5, ["missing_parent"]),
]


@pytest.mark.parametrize(("name", "messages", "codes"), FAULTS)
def test_known_faults_lose_nothing_in_silence(shared: Path, name: str, messages: int, codes: list[str]) -> None:
    made = found(shared / "bugs" / name)
    assert len(made["messages"]) == messages
    assert [warning["code"] for warning in made["warnings"]] == codes


def test_every_recorded_session_is_shown_or_refused_in_one_line(shared: Path) -> None:
    shown = 0
    for path in [*sorted((shared / "corpus").rglob("*.jsonl")), *sorted((shared / "bugs").rglob("*.jsonl"))]:
        done = run("context", path, "--json")
        if done.code:
            assert (done.code, done.out, len(done.talk)) == (1, "", 1)
            continue
        shown += 1
        made = json.loads(done.out)
        total = sum(message["tokens"] for message in made["messages"])
        assert f"{total:,} token" in context(path).out
    assert shown > 100
