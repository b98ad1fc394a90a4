"""The tree: broken links are errors with their line, odd ones are not."""

import pytest
from builders import SessionBuilder, make_session
from diagnosed import findings_of, told
from hypothesis import given
from hypothesis import strategies as st

from compactor.diagnosis.examined import tree_of


def session(*parents: str | None) -> SessionBuilder:
    """Entries with these parents; the n-th has the id `0000000n`."""
    builder = SessionBuilder()
    for parent in parents:
        builder.add("message", parentId=parent, message={"role": "user", "content": "Berth 14."})
    return builder


ONE, TWO, THREE = "00000001", "00000002", "00000003"


@pytest.mark.parametrize(
    ("parents", "expected"),
    [
        ([None, ONE, TWO], []),
        ([None, ONE, ONE], []),
        ([None, "deadbeef"], [("error", "missing_parent", 3)]),
        ([None, ONE, THREE], [("error", "parent_cycle", 4)]),
        ([THREE, ONE, TWO], [("error", "parent_cycle", 2)]),
        ([None, THREE, ONE], [("warning", "forward_parent", 3)]),
        ([None, None, TWO], [("note", "several_roots", 3)]),
        ([None, 5], [("error", "missing_parent", 3)]),
    ],
)
def test_links(parents: list[str | None], expected: list[tuple[str, str, int | None]]) -> None:
    assert [found for found in told(session(*parents)) if found[1] != "pi_sees_less"] == expected


def test_an_id_used_twice_is_an_error() -> None:
    builder = make_session("user")
    builder.add("message", id=ONE, message={"role": "user", "content": "Again."})
    assert ("error", "duplicate_id", 3) in told(builder)


def test_roots_that_broken_links_make_are_not_told_twice() -> None:
    assert findings_of(session("deadbeef", None), "several_roots") == []


def test_the_message_names_the_ids() -> None:
    (found,) = findings_of(session(None, THREE, ONE), "forward_parent")
    assert found.message == f"the parent {THREE} stands after the entry, on line 4"
    assert found.entry_id == TWO


@st.composite
def forests(draw: st.DrawFn) -> list[int | None]:
    """Parents without a circle, in any order of the file."""
    size = draw(st.integers(0, 20))
    order = draw(st.permutations(range(size)))
    parents: list[int | None] = [None] * size
    for n, index in enumerate(order):
        above = draw(st.integers(-1, n - 1))
        parents[index] = None if above < 0 else order[above]
    return parents


def ancestors(parents: list[int | None], index: int) -> list[int]:
    found = []
    at = parents[index]
    while at is not None:
        found.append(at)
        at = parents[at]
    return found[::-1]


@given(forests())
def test_the_walk_over_a_tree_always_stands_on_a_branch(parents: list[int | None]) -> None:
    tree = tree_of(parents)
    path: list[int] = []
    seen = []
    for index, is_coming in tree.steps():
        if is_coming:
            assert path == ancestors(parents, index)
            assert tree.depth[index] == len(path)
            path.append(index)
            seen.append(index)
        else:
            assert path.pop() == index
    assert sorted(seen) == list(range(len(parents)))
    for first in range(len(parents)):
        for second in range(len(parents)):
            assert tree.is_before(first, second) == (first in ancestors(parents, second))
