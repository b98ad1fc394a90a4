"""Whether an entry at the end of a file would mean to Pi what it means here; compactions are in test_engine.py."""

from collections.abc import Callable

import msgspec
import pytest
from builders import SessionBuilder

from compactor.branch import find_leaf
from compactor.branch_reading import read_branch
from compactor.entries import Session
from compactor.formats.pi import parse_session
from compactor.tokens import PiCounter
from compactor.writable import branch_write_problem


def forked(version: int = 3) -> SessionBuilder:
    """Entries #0 and #1, then #2 and #3 on the branch that is left, then #4 and #5 on the other."""
    builder = SessionBuilder(version=version)
    builder.user("Plan the harbor.")
    fork = builder.assistant("North or east?")
    builder.user("North.")
    builder.assistant("Full.")
    builder.back_to(fork)
    builder.user("East.")
    builder.assistant("Free.")
    return builder


def problem_of(session: Session, left: str = "#3", target: str = "#5", *, in_place: bool = True) -> str | None:
    ends = find_leaf(session, left), find_leaf(session, target)
    assert ends[0] is not None and ends[1] is not None
    ancestor = read_branch(session, ends[0], ends[1], PiCounter(), 0).ancestor
    return branch_write_problem(session, ends[0], ends[1], ancestor, in_place=in_place)


@pytest.mark.parametrize("version", [2, 3])
def test_a_whole_session_takes_a_branch_summary(version: int) -> None:
    assert problem_of(forked(version).session()) is None


def test_version_1_has_no_branches_and_is_pointed_to_convert() -> None:
    session = forked(1).session()
    for in_place in (True, False):
        assert "compactor convert" in (problem_of(session, "#5", "#3", in_place=in_place) or "")


def test_a_file_that_pi_would_link_anew_for_want_of_a_version_takes_none() -> None:
    data = forked().data().replace(b'"version":3,', b"", 1)
    for in_place in (True, False):
        assert "found none; write it as version 3" in (problem_of(parse_session(data), in_place=in_place) or "")


def test_a_session_of_another_agent_takes_an_entry_in_a_copy_only() -> None:
    session = msgspec.structs.replace(forked().session(), format="codex")
    assert "one of codex" in (problem_of(session) or "")
    assert problem_of(session, in_place=False) is None


@pytest.mark.parametrize("row", [3, 5])
def test_an_entry_without_an_id_can_be_neither_end(row: int) -> None:
    builder = forked()
    del builder.rows[row]["id"]
    assert f"found none on line {row + 2}" in (problem_of(builder.session()) or "")


@pytest.mark.parametrize(("row", "end"), [(3, "--from"), (4, "--to")])
def test_an_id_that_a_later_entry_has_too_can_be_neither_end(row: int, end: str) -> None:
    builder = forked()
    builder.rows[5]["id"] = builder.rows[row]["id"]
    problem = problem_of(builder.session(), "#3", "#4")
    assert f"expected a {end} with an id of its own" in (problem or "")
    assert f"on line {row + 2} and again on line 7" in (problem or "")


def test_a_broken_link_between_the_target_and_the_common_ancestor_is_refused() -> None:
    builder = forked()
    builder.rows[5]["parentId"] = "deadbeef"
    assert "found a broken parent link on line 7" in (problem_of(builder.session()) or "")
    builder = forked()
    builder.rows[1]["parentId"] = "deadbeef"
    assert problem_of(builder.session()) is None, "what is before the ancestor is lost to both branches"


@pytest.mark.parametrize(
    ("damage", "refused"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:60] + b"\0" + lines[-1][60:]], True),
        (lambda lines: [*lines[:5], lines[5][:60] + b"\0" + lines[5][60:], *lines[6:]], True),
        (lambda lines: [*lines[:4], lines[4][:60] + b"\0" + lines[4][60:], *lines[5:]], False),
        (lambda lines: [*lines, b'{"type":"message","id":"torn'], False),
    ],
    ids=["the target", "before the target", "on the branch that was left", "torn tail"],
)
def test_a_line_that_pi_skips_is_refused_where_the_summary_would_stand_on_it(
    damage: Callable[[list[bytes]], list[bytes]], refused: bool
) -> None:
    problem = problem_of(parse_session(b"".join(damage(forked().lines()))))
    assert (problem is not None) == refused
    assert not refused or "found damage on line" in (problem or "")


def test_branches_without_a_common_root_need_a_target_that_pi_can_read() -> None:
    builder = SessionBuilder()
    builder.user("First root.")
    builder.back_to(None)
    builder.user("Second root.")
    assert problem_of(builder.session(), "#0", "#1") is None
    lines = builder.lines()
    damaged = parse_session(b"".join([*lines[:-1], lines[-1][:60] + b"\0" + lines[-1][60:]]))
    assert "found damage on line 3" in (problem_of(damaged, "#0", "#1") or "")
