"""The facts that were marked by hand in recorded sessions: well-formed, free of session text, and where they say.

`evals/cases/marking-guide.md` says what counts as a fact. The spans can only be looked up beside the recordings.
"""

import functools
import hashlib
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from compactor.branch import active_branch, find_leaf
from compactor.entries import Entry
from compactor.messages import Message
from compactor.session_file import read_session
from evals.facts import KINDS

CASES = Path(__file__).parents[1] / "evals" / "cases"
SOURCES = {"user": "user", "assistant": "assistant", "toolResult": "tool"}
FEWEST_MARKS = 200
FEWEST_ENTRIES, MOST_ENTRIES = 6, 15
"""Lengths of a window."""

SHAPES = {
    "session": r"[a-z-]+/[a-z0-9.-]+\.jsonl",
    "window": r"[1-9]",
    "entry": r"#\d+",
    "part": r"text|result|call:\d+",
    "argument": r"path|file_path|command",
    "start": r"\d+",
    "end": r"\d+",
    "kind": "|".join(KINDS),
    "source": "user|assistant|tool",
    "sha256": r"[0-9a-f]{12}",
}
"""Every field of a mark but `detail`, and all that may stand in it."""

NAMES = {"branch", "commit", "pull request", "remote", "version", "package", "environment variable", "event"}
NAMES |= {"class", "constant", "field", "function", "test", "type"}
"""What an identifier is a name of."""

DETAILS = {
    "path": {"status": {"read", "modified", "created", "mentioned"}},
    "outcome": {"status": {"passed", "failed"}},
    "decision": {"status": {"proposed", "accepted", "rejected"}},
    "constraint": {"polarity": {"ban", "duty", "preference"}},
    "identifier": {"name": NAMES},
}
ALWAYS_DETAILED = ("path", "constraint", "identifier")

Row = dict[str, Any]


def rows_of(name: str) -> list[Row]:
    return [json.loads(line) for line in (CASES / name).read_text(encoding="utf-8").splitlines()]


MARKS = rows_of("marks.jsonl")
WINDOWS = rows_of("windows.jsonl")
SESSIONS = sorted({window["session"] for window in WINDOWS})


def number(entry: str) -> int:
    return int(entry.removeprefix("#"))


def length_of(window: Row) -> int:
    return number(window["last"]) - number(window["first"]) + 1


@functools.cache
def entries_of(path: Path) -> dict[int, Entry]:
    """The active branch of a session, by position."""
    session = read_session(str(path))
    return {entry.index: entry for entry in active_branch(session, find_leaf(session, None)).entries}


def message_at(shared: Path, session: str, entry: str) -> Message:
    message = entries_of(shared / "corpus" / session)[number(entry)].body.message
    assert message is not None
    return message


def marked_text(message: Message, mark: Row) -> str:
    """What the span of a mark covers."""
    part = mark["part"]
    if part.startswith("call:"):
        text: str = message.tool_calls[int(part.removeprefix("call:"))].arguments[mark["argument"]]
    else:
        text = message.text()
    assert mark["end"] <= len(text)
    return text[mark["start"] : mark["end"]]


def described(mark: Row) -> str:
    return " ".join(str(mark[key]) for key in ("session", "window", "entry", "part", "start", "kind"))


def test_there_are_at_least_two_hundred_marks() -> None:
    assert len(MARKS) >= FEWEST_MARKS


def test_a_mark_holds_references_and_words_of_closed_sets_only() -> None:
    """So no text of a session can stand in it."""
    for mark in MARKS:
        plain = {key: value for key, value in mark.items() if key != "detail"}
        assert plain.keys() | {"argument"} == SHAPES.keys(), plain
        assert all(re.fullmatch(SHAPES[key], str(value)) for key, value in plain.items()), plain
        assert ("argument" in mark) == mark["part"].startswith("call:"), plain
        assert mark["start"] < mark["end"], plain


def test_the_detail_of_a_mark_is_a_word_that_fits_its_kind() -> None:
    for mark in (mark for mark in MARKS if "detail" in mark):
        allowed = DETAILS[mark["kind"]]
        assert set(mark["detail"]) == set(allowed), described(mark)
        assert all(mark["detail"][key] in words for key, words in allowed.items()), described(mark)


def test_paths_constraints_and_identifiers_always_have_their_detail() -> None:
    assert [described(m) for m in MARKS if m["kind"] in ALWAYS_DETAILED and "detail" not in m] == []


def test_every_mark_lies_in_its_window() -> None:
    windows = {(window["session"], window["window"]): window for window in WINDOWS}
    assert len(windows) == len(WINDOWS)
    for mark in MARKS:
        window = windows[mark["session"], mark["window"]]
        assert number(window["first"]) <= number(mark["entry"]) <= number(window["last"]), described(mark)


def test_every_window_has_marks() -> None:
    assert {(w["session"], w["window"]) for w in WINDOWS} == {(m["session"], m["window"]) for m in MARKS}


@pytest.mark.parametrize("session", SESSIONS)
def test_windows_of_a_session_follow_each_other_without_overlap(session: str) -> None:
    windows = [window for window in WINDOWS if window["session"] == session]
    assert [window["window"] for window in windows] == list(range(1, len(windows) + 1))
    lasts = [-1, *(number(window["last"]) for window in windows)]
    assert all(number(window["first"]) > last for window, last in zip(windows, lasts, strict=False))


@pytest.mark.parametrize("window", WINDOWS, ids=lambda w: f"{w['session']} {w['window']}")
def test_a_window_is_short_and_says_why_it_was_chosen(window: Row) -> None:
    assert set(window) == {"session", "window", "first", "last", "why"}
    assert FEWEST_ENTRIES <= length_of(window) <= MOST_ENTRIES
    assert 0 < len(window["why"]) <= 100


def test_a_fact_is_marked_once_in_a_window() -> None:
    seen = Counter((m["session"], m["window"], m["kind"], m["sha256"]) for m in MARKS)
    assert [fact for fact, times in seen.items() if times > 1] == []


@pytest.mark.parametrize("session", SESSIONS)
def test_marks_stand_in_the_order_of_their_session(session: str) -> None:
    marks = [mark for mark in MARKS if mark["session"] == session]
    places = [(number(m["entry"]), m["part"], m["start"], m["end"], m["kind"]) for m in marks]
    assert places == sorted(set(places))


def test_every_span_still_covers_the_text_that_was_marked(shared: Path) -> None:
    for mark in MARKS:
        text = marked_text(message_at(shared, mark["session"], mark["entry"]), mark)
        found = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        assert found.startswith(mark["sha256"]), described(mark)
        assert text == text.strip(), described(mark)


def test_the_part_and_the_source_of_a_mark_are_those_of_its_message(shared: Path) -> None:
    for mark in MARKS:
        role = message_at(shared, mark["session"], mark["entry"]).role
        assert SOURCES[role] == mark["source"], described(mark)
        assert (mark["part"] == "result") == (role == "toolResult"), described(mark)


@pytest.mark.parametrize("session", SESSIONS)
def test_windows_are_runs_of_the_active_branch_with_half_of_all_user_messages(session: str, shared: Path) -> None:
    entries = entries_of(shared / "corpus" / session)
    inside: set[int] = set()
    for window in (window for window in WINDOWS if window["session"] == session):
        inside |= set(range(number(window["first"]), number(window["last"]) + 1))
    assert inside <= entries.keys()
    assert all(entries[n].parent_id == entries[n - 1].id for n in inside if n and n - 1 in inside)
    users = {index for index, entry in entries.items() if entry.role == "user"}
    assert 2 * len(users & inside) >= len(users)
