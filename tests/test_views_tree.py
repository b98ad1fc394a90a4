"""A session as a tree: nodes, chains, labels, compactions, and the JSON made of them."""

import json
import math
from typing import Any

from builders import SessionBuilder, make_session, projection_of, tool_call, usage
from hypothesis import given
from hypothesis import strategies as st
from strategies import damaged_files, sessions, texts

from compactor.errors import SessionError
from compactor.formats.pi import parse_session
from compactor.js_text import json_text, utf8
from compactor.measure import measure
from compactor.tokens import PiCounter
from compactor.views.chains import chains
from compactor.views.entry_state import STATES
from compactor.views.tree import Tree, session_tree, tree_json

ENTRY_FIELDS = {"id", "index", "line", "parentId", "parentIndex", "type", "role", "state", "tokens", "text"}
OPTIONAL_FIELDS = {"by", "byIndex", "why", "label", "stopReason", "targetIndex"}


def tree_of(builder: SessionBuilder, leaf: str | None = None, **options: Any) -> Tree:
    session = builder.session()
    return session_tree(session, measure(projection_of(session, leaf), PiCounter()), **options)


def view(builder: SessionBuilder, leaf: str | None = None) -> dict[str, Any]:
    """The JSON as any reader reads it."""
    found: dict[str, Any] = json.loads(utf8(json_text(tree_json(tree_of(builder, leaf)))))
    return found


def forked() -> SessionBuilder:
    """A branch of three entries that was left at its second for one of two."""
    builder = SessionBuilder()
    builder.user("root")
    fork = builder.assistant("fork")
    builder.user("left")
    builder.assistant("old leaf")
    builder.back_to(fork)
    builder.branch_summary("What was left.", fromId="00000004")
    builder.user("new leaf")
    return builder


def test_json_has_the_documented_fields() -> None:
    builder = forked()
    builder.compaction("00000005")
    found = view(builder)
    assert list(found) == [
        "session", "leaf", "entries", "branches", "compactions", "branchSummaries", "counts", "tokens", "warnings",
    ]  # fmt: skip
    for entry in found["entries"]:
        assert ENTRY_FIELDS <= set(entry) <= ENTRY_FIELDS | OPTIONAL_FIELDS
    assert list(found["counts"]) == list(found["tokens"]) == list(STATES)
    assert found["leaf"] == {"id": "00000007", "index": 6}


def test_an_empty_session_has_no_leaf_and_no_branch() -> None:
    found = view(SessionBuilder())
    assert (found["leaf"], found["entries"], found["branches"]) == (None, [], [])
    assert set(found["counts"].values()) == {0}


def test_branches_name_their_tips_and_where_they_fork() -> None:
    active, left = view(forked())["branches"]
    assert (active["tip"], active["isActive"], active["entries"], active["entriesFromRoot"]) == ("00000006", True, 4, 4)
    assert (active["forkedAt"], active["forkedAtIndex"]) == (None, None)
    assert (left["tip"], left["isActive"], left["entries"], left["entriesFromRoot"]) == ("00000004", False, 2, 4)
    assert (left["forkedAt"], left["forkedAtIndex"], left["firstId"]) == ("00000002", 1, "00000003")


def test_a_leaf_inside_of_the_tree_ends_the_active_branch() -> None:
    found = view(forked(), "#0")
    assert [(b["tip"], b["isActive"]) for b in found["branches"]] == [
        ("00000001", True), ("00000006", False), ("00000004", False),
    ]  # fmt: skip
    assert found["counts"]["abandoned_branch"] == 5


def test_a_branch_summary_names_the_leaf_that_was_left() -> None:
    builder = forked()
    builder.branch_summary(fromId="root")
    first, second = view(builder)["branchSummaries"]
    assert first == {"id": "00000005", "index": 4, "fromId": "00000004", "fromIndex": 3}
    assert (second["fromId"], second["fromIndex"]) == ("root", None)


def test_the_newest_label_of_an_entry_counts_on_whatever_branch_and_an_empty_one_clears_it() -> None:
    builder = SessionBuilder()
    first, second, third = builder.user(), builder.user(), builder.user()
    builder.add("label", targetId=first, label="old")
    builder.add("label", targetId=second, label="gone")
    builder.add("label", targetId="nowhere", label="lost")
    builder.add("label", targetId=third, label=7)
    builder.back_to(first)
    builder.add("label", targetId=first, label="new")
    builder.add("label", targetId=second)
    entries = view(builder)["entries"]
    assert [entry.get("label") for entry in entries[:3]] == ["new", None, None]
    assert [entry.get("targetIndex") for entry in entries[3:]] == [0, 1, None, 2, 0, 1]


def test_a_label_means_the_newest_entry_with_that_id_before_it() -> None:
    builder = SessionBuilder()
    builder.add("custom", id="twice")
    builder.add("custom", id="twice")
    builder.add("label", targetId="twice", label="here")
    builder.add("custom", id="twice")
    assert [entry.get("label") for entry in view(builder)["entries"]] == [None, "here", None, None]


def test_compactions_tell_what_they_kept_and_took() -> None:
    builder = SessionBuilder()
    builder.user("x" * 40)
    kept = builder.user("kept")
    builder.compaction(kept, "s" * 20, tokensBefore=77)
    builder.compaction("nowhere", "")
    fork = builder.user()
    builder.compaction(kept)
    builder.back_to(fork)
    builder.compaction("00000008", id="00000008")
    first, second, third, fourth = view(builder)["compactions"]
    assert first == {
        "id": "00000003",
        "index": 2,
        "state": "compacted_away",
        "tokensBefore": 77,
        "firstKeptEntryId": kept,
        "firstKeptIndex": 1,
        "summaryTokens": 5,
        "entriesTaken": 1,
        "tokensTaken": 10,
    }
    assert (second["firstKeptIndex"], second["entriesTaken"], second["summaryTokens"]) == (None, 2, 0)
    assert (third["state"], third["firstKeptIndex"], third["entriesTaken"]) == ("abandoned_branch", 1, 0)
    assert (fourth["state"], fourth["firstKeptIndex"], fourth["entriesTaken"]) == ("in_context", None, 2)


def test_tokens_are_of_the_entry_itself_and_of_new_content_where_it_was_replaced() -> None:
    builder = SessionBuilder()
    omitted, replaced = builder.user("x" * 40), builder.user("y" * 40)
    builder.edit(omitted)
    builder.edit(replaced, "z" * 8)
    builder.private_shell()
    assert [entry["tokens"] for entry in view(builder)["entries"]] == [10, 2, None, None, None]


def test_parents_are_those_after_repair() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.add("custom", parentId="deadbeef")
    found = view(builder)
    assert (found["entries"][1]["parentId"], found["entries"][1]["parentIndex"]) == ("00000001", 0)
    assert [warning["code"] for warning in found["warnings"]] == ["missing_parent"]


def test_texts_are_cut_at_200_units_unless_whole_ones_are_wanted() -> None:
    builder = make_session(("user", "🚢" * 150))
    assert view(builder)["entries"][0]["text"] == "🚢" * 100
    assert tree_of(builder, whole_texts=True).nodes[0].text == "🚢" * 150


def test_a_failed_reply_says_how_it_stopped() -> None:
    builder = SessionBuilder()
    builder.assistant("", stopReason="error", errorMessage="prompt is too long")
    (entry,) = view(builder)["entries"]
    assert (entry["stopReason"], entry["text"]) == ("error", "prompt is too long")


@given(sessions(max_steps=20), st.data())
def test_counts_add_up_and_tokens_in_context_are_those_of_planning(builder: SessionBuilder, data: Any) -> None:
    session = builder.session()
    leaf = f"#{data.draw(st.integers(0, len(session.entries) - 1))}" if session.entries else None
    measured = measure(projection_of(session, leaf), PiCounter())
    found = tree_json(session_tree(session, measured))
    assert sum(found["counts"].values()) == len(session.entries) == len(found["entries"])
    assert sum(found["tokens"].values()) == sum(entry["tokens"] or 0 for entry in found["entries"])
    in_context = found["tokens"]["in_context"] + found["tokens"]["edited"]
    assert in_context == sum(m.tokens for m in measured.measures)
    taken = sum(made["entriesTaken"] for made in found["compactions"])
    assert taken == found["counts"]["compacted_away"]


@st.composite
def forests(draw: st.DrawFn) -> list[int | None]:
    """Parents of entries, each before its child."""
    size = draw(st.integers(0, 40))
    return [draw(st.one_of(st.none(), st.integers(0, n - 1))) if n else None for n in range(size)]


@given(forests(), st.data())
def test_chains_part_all_entries_and_the_active_one_is_the_branch(parents: list[int | None], data: Any) -> None:
    active: list[int] = []
    at = data.draw(st.integers(0, len(parents) - 1)) if parents else None
    while at is not None:
        active.insert(0, at)
        at = parents[at]
    found = chains(parents, active)
    assert sorted(n for chain in found for n in chain.entries) == list(range(len(parents)))
    assert [chain.entries for chain in found if chain.is_active] == ([active] if active else [])
    for chain in found:
        assert [parents[n] for n in chain.entries] == [chain.forked_at, *chain.entries[:-1]]


@given(forests())
def test_chains_nest_at_most_as_deep_as_the_logarithm(parents: list[int | None]) -> None:
    found = chains(parents, [])
    chain_of = {n: chain for chain in found for n in chain.entries}
    for chain in found:
        nested, fork = 0, chain.forked_at
        while fork is not None:
            nested, fork = nested + 1, chain_of[fork].forked_at
        assert nested <= math.log2(len(parents))


def test_a_chain_may_be_longer_than_any_recursion() -> None:
    size = 50_000
    (chain,) = chains([None, *range(size - 1)], [])
    assert (len(chain.entries), chain.depth) == (size, size)


@given(damaged_files())
def test_a_damaged_file_has_a_tree_too(data: bytes) -> None:
    try:
        session = parse_session(data)
    except SessionError:
        return
    found = tree_json(session_tree(session, measure(projection_of(session), PiCounter())))
    assert json.loads(utf8(json_text(found)))["counts"] == found["counts"]


@given(texts, texts)
def test_any_text_comes_through(said: str, label: str) -> None:
    builder = SessionBuilder()
    user = builder.user(said)
    builder.assistant(said, tool_call("c", said), usage=usage(3))
    builder.add("label", targetId=user, label=label)
    builder.add("session_info", name=said)
    builder.add("custom", customType=said)
    assert len(view(builder)["entries"]) == 5
