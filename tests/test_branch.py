"""Broken links are repaired with a warning each, and the active branch always ends."""

import pytest
from builders import SessionBuilder, ids_of, make_session
from hypothesis import given
from hypothesis import strategies as st
from strategies import sessions

from compactor.branch import Branch, active_branch, find_leaf, link_parents
from compactor.entries import Entry, Session
from compactor.errors import SessionError


def linked(*links: tuple[str, str | None]) -> Session:
    """A session of labels with these ids and parents."""
    builder = SessionBuilder()
    for entry_id, parent in links:
        builder.add("label", id=entry_id, parentId=parent)
    return builder.session()


def path(session: Session, leaf: str | None = None) -> list[str]:
    return ids_of(active_branch(session, find_leaf(session, leaf)).entries)


def codes(session: Session) -> list[str]:
    return [w.code for w in session.warnings]


# --- links ---------------------------------------------------------------------------------------


def test_branches_share_their_root_and_no_more() -> None:
    session = linked(("r", None), ("a", "r"), ("b", "a"), ("c", "r"), ("d", "c"))
    assert path(session) == ["r", "c", "d"]
    assert path(session, "b") == ["r", "a", "b"]
    assert session.warnings == []


def test_there_may_be_several_roots() -> None:
    session = linked(("r", None), ("a", "r"), ("s", None), ("b", "s"))
    assert path(session) == ["s", "b"]
    assert path(session, "a") == ["r", "a"]
    assert session.warnings == []


def test_a_parent_that_was_never_written_is_told_and_the_line_before_takes_its_place() -> None:
    session = linked(("r", None), ("a", "r"), ("b", "deadbeef"), ("c", "b"))
    assert path(session) == ["r", "a", "b", "c"]
    (warning,) = session.warnings
    assert (warning.code, warning.line, warning.entry_id) == ("missing_parent", 4, "b")
    assert warning.message == "parent deadbeef not found, line 4; joined to 'a' on the line before it"


def test_a_first_entry_with_a_missing_parent_starts_the_branch() -> None:
    session = linked(("a", "deadbeef"), ("b", "a"))
    assert path(session) == ["a", "b"]
    assert [w.message for w in session.warnings] == ["parent deadbeef not found, line 2; it starts the branch"]


def test_as_pi_reads_it_a_missing_parent_ends_the_branch_in_silence() -> None:
    builder = make_session("user", "assistant", "user")
    builder.rows[1]["parentId"] = "deadbeef"
    session = builder.session(exact=True)
    assert len(path(session)) == 2
    assert session.warnings == []


def test_an_entry_without_a_parent_field_follows_the_line_before_it() -> None:
    builder = make_session("user", "assistant", "user")
    for row in builder.rows:
        row.pop("parentId")
    session = builder.session()
    assert len(path(session)) == 3
    assert codes(session) == ["missing_parent"] * 2
    assert session.parents == [None, 0, 1]


def test_a_parent_may_stand_after_its_child() -> None:
    session = linked(("a", None), ("c", "b"), ("b", "a"))
    assert path(session, "c") == ["a", "b", "c"]
    assert session.warnings == []


def test_an_id_that_is_used_twice_means_the_newest_before_the_child() -> None:
    session = linked(("a", None), ("x", "a"), ("b", "x"), ("x", "b"), ("c", "x"))
    assert session.parents == [None, 0, 1, 2, 3]
    (warning,) = session.warnings
    assert (warning.code, warning.line) == ("duplicate_id", 5)
    assert "already used on line 3" in warning.message


def test_a_copy_of_a_whole_branch_leads_to_the_copy() -> None:
    session = linked(("a", None), ("b", "a"), ("a", None), ("b", "a"))
    assert session.parents == [None, 0, None, 2]
    assert codes(session) == ["duplicate_id"] * 2


# --- ghosts: records that are lost, whose links are known ------------------------------------------


def links_with(ghosts: dict[str, str | None], *links: tuple[str, str | None]) -> tuple[list[int | None], list[str]]:
    entries = [Entry(n, n + 2, "label", i, parent, "", b"", 0, 0) for n, (i, parent) in enumerate(links)]
    found = link_parents(entries, ghosts)
    return found.parents, [w.message for w in found.warnings]


def test_the_child_of_a_lost_entry_is_joined_to_its_grandparent() -> None:
    parents, told = links_with({"g": "a", "h": "g"}, ("a", None), ("z", None), ("b", "h"))
    assert parents == [None, None, 0]
    assert told == ["parent 'h' is on a damaged line; joined to its parent 'a'"]


def test_the_child_of_a_lost_root_starts_the_branch() -> None:
    parents, told = links_with({"g": None}, ("a", None), ("b", "g"))
    assert parents == [None, None]
    assert told == ["parent 'g' is on a damaged line; the entry starts the branch"]


@pytest.mark.parametrize("ghosts", [{"g": "nowhere"}, {"g": "h", "h": "g"}, {"g": "g"}])
def test_lost_entries_that_lead_nowhere_count_as_missing(ghosts: dict[str, str | None]) -> None:
    parents, told = links_with(ghosts, ("a", None), ("b", "g"))
    assert parents == [None, 0]
    assert told == ["parent g not found, line 3; joined to 'a' on the line before it"] or "nowhere" in str(ghosts)


def test_a_lost_entry_of_which_there_is_a_whole_copy_is_not_missed() -> None:
    parents, told = links_with({"b": "a"}, ("a", None), ("c", "b"), ("b", "a"))
    assert parents == [None, 2, 0]
    assert told == []


# --- circles -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("links", "parents", "cuts"),
    [
        ([("a", "a")], [None], ["a"]),
        ([("a", "c"), ("b", "a"), ("c", "b")], [None, 0, 1], ["a"]),
        ([("r", None), ("a", "a")], [None, 0], ["a"]),
        ([("r", None), ("a", "b"), ("b", "a")], [None, 0, 1], ["a"]),
        ([("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")], [None, 0, 1, 2], ["a", "c"]),
        ([("a", "b"), ("b", "a"), ("c", "b")], [None, 0, 1], ["a"]),
        ([("a", "d"), ("b", "c"), ("c", "b"), ("d", "a")], [None, 0, 1, 0], ["a", "b"]),
        ([("a", "c"), ("b", "d"), ("c", "d"), ("d", "b")], [None, 0, 3, 1], ["b", "a"]),
        ([("a", "b"), ("b", "c"), ("c", "c")], [None, 0, 1], ["c", "b", "a"]),
    ],
)
def test_a_circle_is_cut_at_its_first_entry(
    links: list[tuple[str, str]], parents: list[int | None], cuts: list[str]
) -> None:
    """Where joining it to the line before closes a new circle, that one is cut in its turn."""
    session = linked(*links)
    assert session.parents == parents
    assert {w.entry_id for w in session.warnings} == set(cuts)
    assert set(codes(session)) == {"parent_cycle"}


def test_the_warning_names_the_ids_and_what_was_done() -> None:
    session = linked(("r", None), ("a", "c"), ("b", "a"), ("c", "b"))
    assert [w.message for w in session.warnings] == [
        "the parents go round in a circle ('a' -> 'c' -> 'b' -> 'a'); the link of 'a' was cut, "
        "joined to 'r' on the line before it"
    ]
    alone = linked(("a", "a"))
    assert alone.warnings[0].message.endswith("('a' -> 'a'); the link of 'a' was cut, it starts the branch")


def test_the_warning_of_a_long_circle_is_short() -> None:
    session = linked(("e0", "e99"), *((f"e{n}", f"e{n - 1}") for n in range(1, 100)))
    (warning,) = session.warnings
    assert "'e93' -> … -> 'e0'" in warning.message
    assert path(session) == [f"e{n}" for n in range(100)]


def test_a_circle_of_eight_is_named_whole() -> None:
    session = linked(("e0", "e7"), *((f"e{n}", f"e{n - 1}") for n in range(1, 8)))
    assert "…" not in session.warnings[0].message


def test_many_circles_behind_one_another_take_no_quadratic_time() -> None:
    """Walking each circle again from the start would take minutes here."""
    pairs = [(n, n + 1) for n in range(1, 60_000, 2)]
    links = [("0", "60000")] + [link for a, b in pairs for link in ((str(a), str(b)), (str(b), str(a)))]
    session = linked(*links)
    assert codes(session) == ["parent_cycle"] * 30_001
    assert len(path(session)) == len(session.entries)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12))
def test_however_the_parents_are_every_branch_ends_at_a_root(parents: list[int]) -> None:
    links = [(str(n), None if parent == 12 else str(parent)) for n, parent in enumerate(parents)]
    session = linked(*links)
    for entry in session.entries:
        branch = active_branch(session, entry).entries
        assert branch[-1] is entry
        assert session.parents[branch[0].index] is None
        assert len(branch) <= len(parents)
    for n, parent in enumerate(parents):
        moved = session.parents[n] != (None if parent == 12 else parent)
        assert moved == any(w.entry_id == str(n) for w in session.warnings)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=12))
def test_as_pi_reads_it_the_branch_ends_too(parents: list[int]) -> None:
    """Pi itself would go round for ever."""
    builder = SessionBuilder()
    for n, parent in enumerate(parents):
        builder.add("label", id=str(n), parentId=None if parent == 12 else str(parent))
    session = builder.session(exact=True)
    assert len(active_branch(session, session.entries[-1]).entries) <= len(parents)


@given(sessions())
def test_whole_links_are_left_alone(builder: SessionBuilder) -> None:
    session = builder.session()
    index = {row["id"]: n for n, row in enumerate(builder.rows)}
    assert session.parents == [index.get(row["parentId"]) for row in builder.rows]


# --- the leaf ------------------------------------------------------------------------------------

SESSION = linked(("aa11", None), ("aa22", "aa11"), ("b", "aa22"), ("#1", "b"))


@pytest.mark.parametrize(
    ("leaf", "expected"),
    [(None, "#1"), ("aa11", "aa11"), ("aa1", "aa11"), ("b", "b"), ("#0", "aa11"), ("#002", "b"), ("#1", "aa22")],
)
def test_a_leaf_is_an_id_a_unique_prefix_a_number_or_the_last_entry(leaf: str | None, expected: str) -> None:
    found = find_leaf(SESSION, leaf)
    assert found is not None
    assert found.id == expected


@pytest.mark.parametrize(
    ("leaf", "told"),
    [
        ("aa", "2 entries start with it: aa11, aa22"),
        ("zz", "no entry has it"),
        ("", "no entry has it"),
        ("#4", "no entry #4; expected #0 to #3"),
        ("#-1", "no entry #-1"),
        ("#x", "no entry #x"),
        ("#²", "no entry #²"),
        ("#" + "9" * 5000, "no entry #9"),
    ],
)
def test_what_names_no_entry_or_several_is_refused(leaf: str, told: str) -> None:
    with pytest.raises(SessionError, match=told):
        find_leaf(SESSION, leaf)


def test_a_duplicate_id_names_its_newest_entry() -> None:
    found = find_leaf(linked(("a", None), ("a", "a")), "a")
    assert found is not None
    assert found.index == 1


def test_an_empty_session_has_no_leaf_and_an_empty_branch() -> None:
    empty = linked()
    assert find_leaf(empty, None) is None
    assert active_branch(empty, None) == Branch(entries=[])
    assert Branch(entries=[]).leaf is None
    with pytest.raises(SessionError, match="no entry #0; the session has no entries"):
        find_leaf(empty, "#0")
    assert active_branch(SESSION, SESSION.entries[1]).leaf == SESSION.entries[1]
