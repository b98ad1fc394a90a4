"""The state of every entry: what is in the next request, and what took the rest out of it."""

from typing import Any

from builders import SessionBuilder, projection_of, tool_call
from hypothesis import given
from hypothesis import strategies as st
from strategies import damaged_files, sessions

from compactor.entries import Replacement, Session
from compactor.errors import SessionError
from compactor.formats.pi import parse_session
from compactor.measure import Measured, measure
from compactor.projection import EDITABLE_ROLES
from compactor.tokens import PiCounter
from compactor.views.entry_state import ABANDONED, STATES, EntryState, entry_states


def measured_at(session: Session, leaf: str | None = None) -> Measured:
    return measure(projection_of(session, leaf), PiCounter())


def states_of(builder: SessionBuilder, leaf: str | None = None) -> dict[str, EntryState]:
    """Entry id -> state."""
    session = builder.session()
    found = entry_states(session, measured_at(session, leaf))
    return {entry.id: state for entry, state in zip(session.entries, found, strict=True)}


def names(builder: SessionBuilder, leaf: str | None = None) -> list[str]:
    return [state.state for state in states_of(builder, leaf).values()]


def test_what_the_next_request_holds_is_in_the_context() -> None:
    builder = SessionBuilder()
    builder.system()
    builder.user()
    builder.assistant("I look.", tool_call("c1"))
    builder.result("c1")
    builder.custom_message()
    builder.branch_summary()
    builder.shell()
    assert names(builder) == ["in_context"] * 7


def test_bookkeeping_is_never_sent() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.bookkeeping()
    builder.branch_summary("")
    assert names(builder) == ["in_context"] + ["never_sent"] * 8
    assert {state.why for state in [*states_of(builder).values()][1:]} == {"no_message"}


def test_a_private_row_and_an_orphan_result_are_never_sent_and_say_why() -> None:
    builder = SessionBuilder()
    private, orphan = builder.private_shell(), builder.result("nobody")
    found = states_of(builder)
    assert found[private] == EntryState("never_sent", None, "private")
    assert found[orphan] == EntryState("never_sent", None, "orphan_result")


def test_a_failed_reply_is_in_the_context_as_planning_counts_it() -> None:
    builder = SessionBuilder()
    failed = builder.assistant("Half a", stopReason="aborted")
    assert states_of(builder)[failed].state == "in_context"


def test_an_edit_takes_out_or_replaces_its_target_and_is_named() -> None:
    builder = SessionBuilder()
    first, second, third = builder.user("one"), builder.user("two"), builder.user("three")
    omit, replace = builder.edit(first), builder.edit(second, "2")
    found, session = states_of(builder), builder.session()
    by = {entry.id: entry.index for entry in session.entries}
    assert found[first] == EntryState("edited_out", by[omit])
    assert found[second] == EntryState("edited", by[replace])
    assert found[third].state == "in_context"
    assert found[omit].state == found[replace].state == "never_sent"


def test_an_edit_that_changes_nothing_leaves_its_target_in_the_context() -> None:
    builder = SessionBuilder()
    shell, user = builder.shell(), builder.user()
    builder.edit(shell, "content that a shell row does not have")
    builder.add("context_edit", targetId=user)
    label = builder.add("label", targetId=user, label="x")
    builder.edit(label)
    found = states_of(builder)
    assert (found[shell].state, found[user].state, found[label].state) == ("in_context", "in_context", "never_sent")


def test_an_edit_counts_only_on_its_branch() -> None:
    builder = SessionBuilder()
    first = builder.user()
    builder.edit(first)
    assert states_of(builder)[first].state == "edited_out"
    assert states_of(builder, "#0")[first].state == "in_context"


def test_a_branch_that_was_left_is_abandoned_whatever_it_holds() -> None:
    builder = SessionBuilder()
    first = builder.user()
    builder.assistant()
    builder.bookkeeping()
    builder.back_to(first)
    last = builder.user("another way")
    assert names(builder) == ["in_context", *["abandoned_branch"] * 8, "in_context"]
    assert states_of(builder, "#1")[last] == ABANDONED


def test_a_compaction_takes_away_what_is_before_its_kept_tail() -> None:
    builder = SessionBuilder()
    system, gone, label = builder.system(), builder.user(), builder.add("label", targetId="x", label="y")
    kept = builder.user()
    late_system = builder.system("Now use short words.")
    compaction = builder.compaction(kept)
    after = builder.user()
    found, by = states_of(builder), builder.session().entries[5].index
    for entry in (system, gone, late_system):
        assert found[entry] == EntryState("compacted_away", by)
    assert found[label].state == "never_sent"
    assert {found[entry].state for entry in (kept, compaction, after)} == {"in_context"}


def test_of_chained_compactions_the_one_is_named_that_took_the_entry_away() -> None:
    builder = SessionBuilder()
    first, second, third = builder.user("1"), builder.user("2"), builder.user("3")
    old = builder.compaction(second)
    fourth = builder.user("4")
    new = builder.compaction(fourth)
    index = {entry.id: entry.index for entry in builder.session().entries}
    found = states_of(builder)
    assert found[first] == EntryState("compacted_away", index[old])
    assert found[second] == found[third] == EntryState("compacted_away", index[new])
    assert found[old] == EntryState("compacted_away", index[new])
    assert found[fourth].state == found[new].state == "in_context"
    assert states_of(builder, old)[first] == EntryState("compacted_away", index[old])


def test_what_an_edit_took_out_before_a_compaction_was_not_compacted_away() -> None:
    builder = SessionBuilder()
    omitted, replaced = builder.user("one"), builder.user("two")
    private, orphan = builder.private_shell(), builder.result("nobody")
    edit = builder.edit(omitted)
    builder.edit(replaced, "2")
    last = builder.user("three")
    builder.compaction(last)
    found, index = states_of(builder), {e.id: e.index for e in builder.session().entries}
    assert found[omitted] == EntryState("edited_out", index[edit])
    assert found[replaced].state == "compacted_away"
    assert (found[private].why, found[orphan].why) == ("private", "orphan_result")


def test_a_compaction_that_keeps_nothing_takes_everything() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.compaction("nowhere")
    assert names(builder) == ["compacted_away", "in_context"]


def test_an_omitted_compaction_is_edited_out() -> None:
    builder = SessionBuilder()
    kept = builder.user()
    compaction = builder.compaction(kept)
    builder.edit(compaction)
    assert names(builder) == ["in_context", "edited_out", "never_sent"]


Judged = dict[int, tuple[str, int | None]]
"""Index of an entry -> its state, and what did it."""


def judged(measured: Measured) -> Judged:
    """The entries that a context has a place for; an older compaction in its kept tail has none."""
    found: Judged = {}
    for projected, figures in zip(measured.projection.entries, measured.measures, strict=True):
        edit, index = projected.edit, projected.entry.index
        if projected.entry.type == "compaction" and projected.is_silent:
            continue
        if figures.roles:
            new = None if edit is None else edit.body.replacement
            is_edited = isinstance(new, Replacement) and figures.roles[0] in EDITABLE_ROLES
            found[index] = ("edited", edit.index) if edit is not None and is_edited else ("in_context", None)
        elif not projected.is_silent and edit is not None and projected.intrinsic_messages():
            found[index] = ("edited_out", edit.index)
        else:
            found[index] = ("never_sent", None)
    return found


def slow_states(session: Session, measured: Measured) -> Judged:
    """The states by a look at the whole context before each compaction, one compaction after the other."""
    found: Judged = {entry.index: ("abandoned_branch", None) for entry in session.entries}
    older: set[int] = set()
    for compaction in [e for e in measured.projection.branch.entries if e.type == "compaction"]:
        parent = session.parents[compaction.index]
        before = {} if parent is None else judged(measured_at(session, f"#{parent}"))
        after = judged(measured_at(session, f"#{compaction.index}"))
        for index in before.keys() - after.keys():
            is_gone = before[index][0] in ("in_context", "edited") or index in older
            found[index] = ("compacted_away", compaction.index) if is_gone else before[index]
        older.add(compaction.index)
    return found | judged(measured)


@given(sessions(max_steps=20), st.data())
def test_states_are_those_of_the_contexts_before_each_compaction(builder: SessionBuilder, data: Any) -> None:
    session = builder.session()
    if session.entries:
        at = data.draw(st.integers(0, len(session.entries) - 1))
        measured = measured_at(session, f"#{at}")
        found = entry_states(session, measured)
        assert {n: (state.state, state.by) for n, state in enumerate(found)} == slow_states(session, measured)


@given(sessions(max_steps=20))
def test_states_part_all_entries_and_agree_with_the_projection(builder: SessionBuilder) -> None:
    session = builder.session()
    measured = measured_at(session)
    found = entry_states(session, measured)
    assert len(found) == len(session.entries)
    assert {state.state for state in found} <= set(STATES)
    shown = {p.entry.index for p, m in zip(measured.projection.entries, measured.measures, strict=True) if m.roles}
    assert {n for n, state in enumerate(found) if state.state in ("in_context", "edited")} == shown
    on_branch = {entry.index for entry in measured.projection.branch.entries}
    assert {n for n, state in enumerate(found) if state.state == "abandoned_branch"} == set(
        range(len(found))
    ) - on_branch
    for state in found:
        kinds = {"compacted_away": "compaction", "edited": "context_edit", "edited_out": "context_edit"}
        kind = kinds.get(state.state)
        assert (state.by is None) == (kind is None)
        assert state.by is None or (session.entries[state.by].type == kind and state.by in on_branch)


def test_of_thousands_of_chained_compactions_each_takes_one_entry() -> None:
    builder = SessionBuilder()
    users = [builder.user() for _ in range(2000)]
    for user in users:
        builder.compaction(user)
    found = states_of(builder)
    assert [found[user].by for user in users[:-1]] == list(range(2001, 4000))
    assert found[users[-1]].state == "in_context"


@given(damaged_files())
def test_entries_of_a_damaged_file_have_states_too(data: bytes) -> None:
    try:
        session = parse_session(data)
    except SessionError:
        return
    assert len(entry_states(session, measured_at(session))) == len(session.entries)
