"""`compactor usage` from the command line: one session, a folder, what is not known, and what is damaged."""

import json
from pathlib import Path
from typing import Any

import click
import pytest
from builders import SessionBuilder, row_line
from command_line import long_session, run, run_process, saved
from hypothesis import given
from hypothesis import strategies as st
from spent import add_usage, paid, priced

from compactor.cli.usage import list_price, since_instant
from compactor.cli.usage_report import dollars
from compactor.messages import Usage

NOW = 1_772_366_400_000
"""2026-03-01T12:00:00Z."""

UNKNOWN = {"input": 1_000_000, "output": 0}
"""A usage without a cost."""


def talk() -> SessionBuilder:
    """A session with a compaction and every kind of request."""
    builder = long_session(2)
    first = builder.rows[0]["id"]
    builder.assistant(usage=priced(input=9_000, output=1_100, reasoning=64))
    builder.compaction(first, tokensBefore=9_000, usage=priced(input=8_000, output=500))
    builder.assistant(usage=priced(input=100, cacheWrite=2_400, output=50))
    builder.assistant(usage=priced(input=300, cacheRead=2_500, output=50), model="gantry-2")
    builder.result("none", usage=priced(input=10))
    add_usage(builder, "cache_warm", usage=priced(cacheRead=2_500))
    builder.branch_summary(usage=priced(input=40, output=4))
    return builder


def test_one_session_is_shown_as_small_tables(tmp_path: Path) -> None:
    path = saved(talk(), tmp_path)
    done = run("usage", path)
    assert (done.code, done.err) == (0, "")
    rows = [line.split() for line in done.out.splitlines()]
    assert ["dock/gantry-1", "7", "9,100", "1,150", "2,500", "2,400", "15,150", "$0.0601"] in rows
    assert ["dock/gantry-2", "1", "300", "50", "2,500", "0", "2,850", "$0.00410"] in rows
    assert ["no", "model", "named", "3", "8,050", "504", "0", "0", "8,554", "$0.0362"] in rows
    assert ["cache_warm", "1", "0", "0", "2,500", "0", "2,500", "$0.00250"] in rows
    assert ["total", "11", "17,450", "1,704", "5,000", "2,400", "26,554", "$0.100"] in rows
    compaction = ["9,000", "2,500", "6,500", "2", "13,000", "~$0.0130", "$0.0360", "2,500", "300"]
    assert ["#11", "0000000c", *compaction] in rows
    assert "What was not sent is an estimate" in done.out
    assert max(map(len, done.out.splitlines()[1:])) <= 110


def test_json_has_the_session_the_statistics_and_the_warnings(tmp_path: Path) -> None:
    path = saved(talk(), tmp_path)
    (found,) = run("usage", path, "--json").objects
    assert found["session"]["path"] == str(path)
    assert found["session"]["format"] == "pi"
    assert found["stats"]["tokens"]["total"] == 26_554
    assert found["warnings"] == []
    assert list(found) == [
        *("session", "since", "stats", "total", "byModel", "byKind", "compactions", "compactionMethod"),
        *("entriesWithoutTime", "warnings"),
    ]


def test_a_cost_that_is_not_recorded_is_estimated_by_list_prices_and_said_to_be(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.assistant(usage=UNKNOWN, provider="anthropic", model="claude-opus-4-5")
    done = run("usage", saved(builder, tmp_path))
    assert "~$5.00" in done.out
    assert "~ cost: 1 request without a recorded cost, at today's list prices." in done.out
    builder.assistant(usage=UNKNOWN, model="nobody's")
    path = saved(builder, tmp_path)
    done = run("usage", path)
    assert "~$5.00 + ?" in done.out
    assert "? cost: 1 request without a recorded cost or a known list price." in done.out
    (found,) = run("usage", path, "--json").objects
    assert (found["total"]["cost"], found["total"]["estimatedCost"], found["total"]["unpricedRequests"]) == (None, 5, 1)


def test_a_cost_that_nobody_knows_is_unknown(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.assistant(usage=UNKNOWN)
    builder.message("assistant", content=[], provider="dock", model="gantry-1")
    builder.compaction("none", tokensBefore=None)
    builder.assistant(usage=UNKNOWN)
    done = run("usage", saved(builder, tmp_path))
    rows = [line.split() for line in done.out.splitlines()]
    assert ["total", "2", "2,000,000", "0", "0", "0", "2,000,000", "unknown"] in rows
    assert [row[2:] for row in rows if row[:1] == ["#2"]] == [
        ["unknown", "1,000,000", "unknown", "1", "unknown", "unknown", "unknown", "1,000,000", "-"]
    ]
    assert "? cost: 2 requests without" in done.out
    assert "? cost: 1 reply without a reported usage" in done.out


def test_a_catalogue_s_zero_is_not_taken_for_a_price() -> None:
    assert list_price(Usage(input=1_000_000), "anthropic", "claude-opus-4-5") is not None
    assert list_price(Usage(input=1_000_000), "dock", "gantry-1") is None
    assert list_price(Usage(input=1_000_000), None, "\ud800") is None


def folder(tmp_path: Path) -> Path:
    """A folder of a session, its fork below it, and files that are no sessions."""
    one = talk()
    two = SessionBuilder(rows=list(one.rows), leaf=one.leaf, header={"id": "harbor-0002"})
    two.assistant(usage=priced(input=1_000))
    (tmp_path / "forks").mkdir()
    saved(one, tmp_path, "one.jsonl")
    saved(two, tmp_path / "forks", "two.jsonl")
    (tmp_path / "notes.jsonl").write_text("# no session\n")
    (tmp_path / "empty.jsonl").write_bytes(b"")
    (tmp_path / "other.txt").write_text("not looked at")
    return tmp_path


def test_a_folder_is_summed_with_each_request_once_and_other_files_are_told(tmp_path: Path) -> None:
    done = run("usage", folder(tmp_path))
    assert done.code == 0
    assert [line.split(":")[0] for line in done.talk] == ["skipped", "skipped"]
    rows = [line.split() for line in done.out.splitlines()]
    assert ["one", "11", "17,450", "1,704", "5,000", "2,400", "26,554", "$0.100"] in rows
    assert ["forks/two", "12", "18,450", "1,704", "5,000", "2,400", "27,554", "$0.104"] in [
        [cell.replace("\\", "/") for cell in row] for row in rows
    ]
    assert ["total", "12", "18,450", "1,704", "5,000", "2,400", "27,554", "$0.104"] in rows
    assert "are in more than one file" in done.out
    assert "2 files skipped" in done.out
    assert "1 compaction: about 19,500 input tokens not sent" in done.out


def test_a_folder_as_json(tmp_path: Path) -> None:
    done = run("usage", folder(tmp_path), "--json", "--since", "2026-01-01")
    (found,) = done.objects
    assert found["since"] == "2026-01-01T00:00:00.000Z"
    assert [Path(one["session"]["path"]).name for one in found["sessions"]] == ["one.jsonl", "two.jsonl"]
    assert [w["code"] for w in found["warnings"]] == ["skipped_file", "skipped_file"]
    assert found["copies"] == {"requests": 11, "total": 26_554}
    assert found["total"]["total"] == 27_554


def test_a_folder_without_any_session_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text("# no session\n")
    done = run("usage", tmp_path)
    assert (done.code, done.out) == (1, "")
    assert "expected session files, found none among 1 .jsonl file(s)" in done.talk[-1]
    (tmp_path / "bare").mkdir()
    assert "found none" in run("usage", tmp_path / "bare").err


def test_a_large_folder_shows_the_dearest_sessions_and_counts_the_rest(tmp_path: Path) -> None:
    for n in range(23):
        builder = SessionBuilder()
        builder.assistant(usage=paid(n, input=n + 1))
        builder.add("message", parentId="gone", message={"role": "user", "content": "Go."})
        saved(builder, tmp_path, f"{n:02}.jsonl")
    done = run("usage", tmp_path)
    assert "\n  22  " in done.out
    assert "\n  02  " not in done.out
    assert "and 3 more sessions; --json has all" in done.out
    assert "23 warnings in" in done.out


def test_the_newest_session_of_the_folder_can_be_meant(tmp_path: Path) -> None:
    builder = SessionBuilder(header={"cwd": str(Path.cwd())})
    builder.assistant(usage=priced(input=10))
    saved(builder, tmp_path)
    assert run("usage", "latest", "--session-dir", tmp_path).code == 0
    assert run("usage", "harbor", "--session-dir", tmp_path).code == 0


@pytest.mark.parametrize("text", ["", "no-such", "no/such.jsonl"])
def test_a_session_that_is_not_there_is_one_line(text: str, tmp_path: Path) -> None:
    done = run("usage", text, "--session-dir", tmp_path)
    assert (done.code, done.out, len(done.talk)) == (1, "", 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("30m", NOW - 30 * 60_000),
        ("12h", NOW - 12 * 3_600_000),
        ("7d", NOW - 7 * 86_400_000),
        ("2w", NOW - 14 * 86_400_000),
        (" 0d ", NOW),
        ("2026-03-01", NOW - 12 * 3_600_000),
        ("2026-03-01T12:00Z", NOW),
        ("2026-03-01T12:00", NOW),
        ("2026-03-01T13:00+01:00", NOW),
    ],
)
def test_since_is_a_date_a_time_or_a_duration_before_now(text: str, expected: int) -> None:
    assert since_instant(text, now_ms=NOW) == expected


@pytest.mark.parametrize("text", ["", "7", "d", "7y", "-7d", "1.5h", "٣d", "999999d", "yesterday", "2026-02-30"])
def test_a_since_that_is_neither_is_wrong_usage(text: str, tmp_path: Path) -> None:
    with pytest.raises(click.BadParameter, match="expected a date or time"):
        since_instant(text, now_ms=NOW)
    done = run("usage", saved(talk(), tmp_path), "--since", text)
    assert (done.code, done.out) == (2, "")


def test_since_leaves_out_what_is_older_and_says_what_can_t_be_told(tmp_path: Path) -> None:
    builder = talk()
    builder.add("branch_summary", usage=priced(input=1), timestamp="soon")
    path = saved(builder, tmp_path)
    done = run("usage", path, "--since", "2026-03-01T10:00:15")
    assert "since     2026-03-01T10:00:15.000Z" in done.out
    assert "1 entry left out: without a time that can be read." in done.out
    (found,) = run("usage", path, "--since", "2026-03-01T10:00:15", "--json").objects
    assert (found["total"]["requests"], found["entriesWithoutTime"]) == (3, 1)
    (found,) = run("usage", path, "--since", "99999w", "--json").objects
    assert found["total"]["requests"] == 11
    (found,) = run("usage", path, "--since", "1m", "--json").objects
    assert found["total"]["requests"] == 0


def test_control_characters_of_a_session_never_reach_the_terminal_raw(tmp_path: Path) -> None:
    builder = SessionBuilder(header={"id": "a\x1b[31m", "cwd": "\u202e"})
    builder.assistant(usage=priced(input=5), provider="\x1b]0;x\x07", model="m\nn\u202e\ud83d" + "long" * 40)
    add_usage(builder, "\x1b[2J", usage=paid(input=3))
    builder.compaction("none", id="\x1b[1m", usage="\x1b")
    builder.add("message", parentId="\x1b[7m", message={"role": "assistant", "usage": {"input": "\x1b"}})
    path = saved(builder, tmp_path)
    for words in (("usage", path), ("usage", tmp_path)):
        done = run(*words)
        assert done.code == 0
        assert not set(done.out) & set("\x1b\x07\u202e\ud83d")
    assert run("usage", path, "--json").objects[0]["byModel"]


def test_a_long_name_keeps_its_end(tmp_path: Path) -> None:
    builder = SessionBuilder()
    builder.assistant(usage=paid(input=5), model="accounts/" * 9 + "the-model")
    line = next(line for line in run("usage", saved(builder, tmp_path)).out.splitlines() if "the-model" in line)
    assert line.startswith("  …")
    assert len(line) < 110


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0"),
        (1234.5, "$1,234.50"),
        (1, "$1.00"),
        (0.5, "$0.500"),
        (0.0325, "$0.0325"),
        (0.00473, "$0.00473"),
        (0.00012, "$0.000120"),
        (0.000012, "under $0.0001"),
        (-0.5, "-$0.500"),
        (-0.00001, "under $0.0001"),
        (9e15, "$9,000,000,000,000,000.00"),
    ],
)
def test_dollars_have_as_many_digits_as_matter(amount: float, text: str) -> None:
    assert dollars(amount) == text


@given(st.floats(-1e12, 1e12))
def test_dollars_are_never_written_with_an_exponent(amount: float) -> None:
    assert "e" not in dollars(amount).removeprefix("under ")


def test_the_whole_program_reads_a_damaged_file_without_a_traceback(tmp_path: Path) -> None:
    lines = talk().lines()
    lines[5] = lines[5][:40] + b"\n"
    lines.append(
        row_line({"type": "message", "id": "x", "parentId": "y", "message": {"role": "assistant", "usage": 7}})
    )
    path = tmp_path / "damaged.jsonl"
    path.write_bytes(b"".join(lines) + b'{"type":"usage","usage":{"input":')
    done = run_process("usage", path)
    assert (done.code, done.err) == (0, "")
    assert "[malformed_usage]" in done.out


def shared_files(shared: Path) -> list[Path]:
    return [*sorted((shared / "corpus").rglob("*.jsonl")), *sorted((shared / "bugs").rglob("*.jsonl"))]


def test_every_file_of_the_corpus_is_shown_or_refused_in_one_line(shared: Path) -> None:
    for path in shared_files(shared):
        done = run("usage", path)
        assert (done.code, len(done.talk)) in ((0, 0), (1, 1)), path
        (found,) = run("usage", path, "--json").objects or [{"total": None}]
        assert (found["total"] is None) == (done.code == 1), path
        assert_finite(found)


def assert_finite(value: Any) -> None:
    """No NaN and no infinity, which Python reads but JSON lacks."""
    json.dumps(value, allow_nan=False)


def test_a_replayed_codex_fork_counts_once_with_its_parent(shared: Path) -> None:
    (found,) = run("usage", shared / "bugs" / "41-codex-token-replay", "--json").objects
    assert found["total"]["total"] == 4900
    assert found["total"]["cost"] is None


def test_streamed_copies_of_a_claude_reply_are_one_request(shared: Path) -> None:
    (found,) = run("usage", shared / "bugs" / "38-claude-stream-duplicates" / "input.jsonl", "--json").objects
    assert (found["byKind"][0]["kind"], found["byKind"][0]["requests"]) == ("assistant", 2)
    assert found["stats"]["tokens"]["output"] == 171


def test_sessions_of_a_relative_folder_are_named_from_there(tmp_path: Path) -> None:
    folder(tmp_path)
    for words, cwd in ((("usage", "."), tmp_path), (("usage", tmp_path.name), tmp_path.parent)):
        done = run_process(*words, cwd=cwd, PYTHONPATH=str(Path(__file__).parents[1]))
        assert done.code == 0
        assert "\n  one  " in done.out
