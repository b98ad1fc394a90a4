"""What the model sees of a branch."""

from typing import Any

import pytest
from builders import SessionBuilder, ids_of, image, make_session, projection_of, tool_call
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values, sessions

from compactor.branch import Branch
from compactor.messages import Block, Message
from compactor.projection import ModelRef, project, replayed_system, session_model


def shown(builder: SessionBuilder, *, exact: bool = False) -> list[tuple[str, str]]:
    """Role and text of every message of the projection."""
    return [(m.role, m.summary or m.output or m.text()) for m in builder.project(exact=exact).messages()]


def talk(*texts: str) -> SessionBuilder:
    """Users and assistants in turn."""
    builder = SessionBuilder()
    for n, text in enumerate(texts):
        (builder.assistant if n % 2 else builder.user)(text)
    return builder


# --- what an entry contributes -------------------------------------------------------------------


def test_every_kind_of_entry_gives_its_messages_or_none() -> None:
    builder = make_session(
        ("system", "rules"), ("user", "q"), ("assistant", "a"), ("shell", "ls", "crane.md"), ("custom_message", "tide"),
        ("branch_summary", "other berth"), ("branch_summary", ""), "bookkeeping",
    )  # fmt: skip
    assert shown(builder) == [
        ("system", "rules"),
        ("user", "q"),
        ("assistant", "a"),
        ("bashExecution", "crane.md"),
        ("custom", "tide"),
        ("branchSummary", "other berth"),
    ]


def test_a_made_message_carries_what_its_entry_says() -> None:
    builder = SessionBuilder()
    builder.custom_message([{"type": "text", "text": "tide"}, image()])
    builder.branch_summary("S", fromId="abc")
    custom, branch = builder.project().messages()
    assert (custom.custom_type, len(custom.blocks), custom.timestamp) == ("tide", 2, 1772359201000)
    assert (branch.from_id, branch.timestamp) == ("abc", 1772359202000)


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("2026-03-01T10:00:00.000Z", 1772359200000),
        ("2026-03-01T12:00:00.125+02:00", 1772359200125),
        ("2026-03-01T10:00:00", 1772359200000),
        ("0001-01-01T00:00:00", -62135596800000),
        ("0001-01-01T00:00:00+14:00", -62135647200000),
        ("yesterday", None),
        ("", None),
        (None, None),
        (5, None),
        ("2026-03-01T10:00:00\ud83d", None),
    ],
)
def test_times_are_milliseconds_since_1970_or_unknown(written: Any, milliseconds: int | None) -> None:
    builder = SessionBuilder()
    builder.custom_message("x", timestamp=written)
    assert [m.timestamp for m in builder.project().messages()] == [milliseconds]


def test_a_message_entry_without_a_message_is_an_empty_one() -> None:
    builder = SessionBuilder()
    builder.add("message")
    builder.message("user")
    assert [(m.role, m.text()) for m in builder.project().messages()] == [("", ""), ("user", "")]


def test_a_private_shell_row_is_shown_to_nobody_unless_pi_shows_it() -> None:
    builder = make_session(("user", "q"), ("private_shell", "secret"), ("shell", "ls", "open"))
    assert [text for _, text in shown(builder)] == ["q", "open"]
    assert [text for _, text in shown(builder, exact=True)] == ["q", "secret", "open"]
    assert len(builder.project().entries) == 3


# --- compactions ---------------------------------------------------------------------------------


def test_a_compaction_stands_first_then_its_kept_tail_then_what_came_after() -> None:
    builder = talk("u1", "a1", "u2", "a2")
    builder.compaction("00000003", "S")
    builder.user("u3")
    assert [text for _, text in shown(builder)] == ["S", "u2", "a2", "u3"]
    assert ids_of(builder.project().entries) == ["00000005", "00000003", "00000004", "00000006"]


def test_what_the_first_compaction_kept_is_kept_or_summarized_by_the_second_and_never_lost() -> None:
    builder = talk("u1", "a1", "u2", "a2")
    builder.compaction("00000003", "S1")
    builder.user("u3")
    builder.compaction("00000004", "S2")
    builder.assistant("a3")
    assert [text for _, text in shown(builder)] == ["S2", "a2", "u3", "a3"]
    assert [p.is_silent for p in builder.project().entries] == [False, False, True, False, False]


@pytest.mark.parametrize("kept", ["nobody", "00000005", "00000006"])
def test_a_compaction_that_names_no_entry_before_it_keeps_none(kept: str) -> None:
    builder = talk("u1", "a1", "u2", "a2")
    builder.compaction(kept, "S")
    builder.user("u3")
    assert [text for _, text in shown(builder)] == ["S", "u3"]


def test_an_entry_of_another_branch_is_not_kept() -> None:
    builder = talk("u1", "a1")
    builder.back_to("00000001")
    builder.assistant("b1")
    builder.compaction("00000002", "S")
    assert [text for _, text in shown(builder)] == ["S"]


def test_system_messages_of_the_kept_tail_are_replaced_by_that_of_the_compaction() -> None:
    builder = make_session(("system", "old rules"), ("user", "u1"), ("system", "more"), ("user", "u2"))
    builder.compaction("00000002", "S", systemMessage={"role": "system", "content": "all rules"})
    builder.system("new")
    assert shown(builder) == [
        ("system", "all rules"),
        ("compactionSummary", "S"),
        ("user", "u1"),
        ("user", "u2"),
        ("system", "new"),
    ]


@pytest.mark.parametrize("summary", ["", None])
def test_a_compaction_without_a_summary_still_gives_its_message(summary: Any) -> None:
    builder = talk("u1")
    builder.compaction("00000001", summary)
    assert shown(builder) == [("compactionSummary", ""), ("user", "u1")]


# --- context edits -------------------------------------------------------------------------------


def test_an_edit_omits_or_replaces_and_the_last_one_wins() -> None:
    builder = talk("u1", "a1", "u2", "a2")
    builder.edit("00000001")
    builder.edit("00000002", "first")
    builder.edit("00000002", [{"type": "text", "text": "second"}, image()])
    builder.edit("00000004", "gone")
    builder.edit("00000004")
    assert shown(builder) == [("assistant", "second"), ("user", "u2")]


def test_a_string_becomes_a_text_block_where_pi_wants_blocks() -> None:
    builder = talk("u1", "a1")
    builder.result("c", "r1")
    builder.custom_message("m1")
    for target in ("00000001", "00000002", "00000003", "00000004"):
        builder.edit(target, "new")
    blocks = [Block(type="text", text="new")]
    assert [m.content for m in builder.project().messages()] == ["new", blocks, blocks, "new"]


def test_only_the_content_is_replaced() -> None:
    builder = SessionBuilder()
    builder.assistant("a1", tool_call("c", "read", path="x"), usage={"totalTokens": 7})
    builder.edit("00000001", "shorter")
    (message,) = builder.project().messages()
    assert (message.text(), message.tool_calls) == ("shorter", [])
    assert (message.model, message.stop_reason) == ("gantry-1", "toolUse")
    assert message.usage is not None
    assert message.usage.total_tokens == 7


def test_what_is_not_editable_is_only_omitted() -> None:
    builder = make_session(("shell", "ls", "out"), ("branch_summary", "S"), ("system", "rules"))
    for target in ("00000001", "00000002", "00000003"):
        builder.edit(target, "new")
    assert [text for _, text in shown(builder)] == ["out", "S", "rules"]
    for target in ("00000001", "00000002", "00000003"):
        builder.edit(target)
    assert shown(builder) == []


def test_an_edit_that_the_newest_compaction_left_behind_has_no_effect() -> None:
    builder = talk("u1", "a1", "u2")
    builder.edit("00000003")
    builder.compaction("00000003", "S")
    assert [text for _, text in shown(builder)] == ["S"]
    builder.back_to("00000003")
    builder.compaction("00000003", "S")
    assert [text for _, text in shown(builder)] == ["S", "u2"]


@pytest.mark.parametrize("replacement", [{}, {"replacement": 5}, {"replacement": ["x"]}])
def test_an_edit_that_neither_omits_nor_replaces_changes_nothing(replacement: dict[str, Any]) -> None:
    builder = talk("u1")
    builder.add("context_edit", targetId="00000001", **replacement)
    assert shown(builder) == [("user", "u1")]


def test_an_edit_with_one_unusable_block_still_replaces() -> None:
    builder = talk("u1")
    builder.edit("00000001", [{"type": "text", "text": "new", "\ud83d": 1}, 7])
    assert shown(builder) == [("user", "new")]


def test_the_messages_without_edits_can_still_be_asked_for() -> None:
    builder = talk("u1")
    builder.edit("00000001")
    projected = builder.project().entries[0]
    assert projected.messages() == []
    assert [m.text() for m in projected.intrinsic_messages()] == ["u1"]


# --- the whole -----------------------------------------------------------------------------------


@given(sessions(), st.booleans())
def test_context_entries_are_entries_of_the_branch_each_once(builder: SessionBuilder, exact: bool) -> None:
    projection = builder.project(exact=exact)
    branch = ids_of(projection.branch.entries)
    context = ids_of(projection.entries)
    assert len(set(context)) == len(context)
    assert set(context) <= set(branch)
    newest = [p.entry for p in projection.entries if p.entry.type == "compaction"]
    assert not newest or newest[0].index == max(e.index for e in newest)
    resets = [n for n, e in enumerate(projection.branch.entries) if e.type in ("compaction", "context_edit")]
    assert projection.newest_reset == max(resets, default=-1)


@given(sessions(compactions=False))
def test_without_compaction_the_context_is_the_branch(builder: SessionBuilder) -> None:
    projection = builder.project()
    assert ids_of(projection.entries) == ids_of(projection.branch.entries)


def test_an_empty_branch_shows_nothing() -> None:
    empty = project(Branch(entries=[]))
    assert (empty.entries, list(empty.messages()), empty.newest_reset) == ([], [], -1)


def test_only_the_active_branch_is_shown() -> None:
    builder = talk("u1", "a1")
    builder.back_to("00000001")
    builder.assistant("b1")
    assert [text for _, text in shown(builder)] == ["u1", "b1"]
    assert [m.text() for m in projection_of(builder.session(), "00000002").messages()] == ["u1", "a1"]


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        ([], None),
        (["user"], None),
        (["assistant"], ModelRef("dock", "gantry-1")),
        (["assistant", "model_change"], ModelRef("dock", "gantry-2")),
        (["model_change", "assistant", "user"], ModelRef("dock", "gantry-1")),
    ],
)
def test_the_model_is_the_last_that_was_named(steps: list[str], expected: ModelRef | None) -> None:
    assert session_model(make_session(*steps).project().branch) == expected


def test_an_assistant_that_names_no_model_is_still_the_last_word() -> None:
    builder = make_session("model_change")
    builder.message("assistant", content=5)
    assert session_model(builder.project().branch) == ModelRef(None, None)


# --- system messages -----------------------------------------------------------------------------


def system(**fields: Any) -> Message:
    return Message(role="system", **fields)


def test_system_messages_are_folded_into_one() -> None:
    read, new_read, edit = {"name": "read"}, {"name": "read", "v": 2}, {"name": "edit"}
    folded = replayed_system(
        iter(
            [
                system(content="A", timestamp=5, sections={"cwd": "/a", "skills": "x"}, tools_added=[read, edit]),
                Message(role="user", content="not this"),
                system(content="", sections={"cwd": None}),
                system(content=[Block(type="text", text="B")], timestamp=9, sections={"cwd": "/b"}),
                system(tools_removed=[edit], tools_added=[new_read]),
            ]
        )
    )
    assert folded == system(
        content="A\n\nB", timestamp=5, sections={"skills": "x", "cwd": "/b"}, tools_added=[new_read]
    )
    assert list(folded.sections or {}) == ["skills", "cwd"]


def test_without_system_messages_there_is_nothing_to_fold() -> None:
    assert replayed_system(iter([Message(role="user", content="x")])) is None


def test_an_empty_system_message_stays_an_empty_one() -> None:
    assert replayed_system(iter([system()])) == system(content="", timestamp=0)


@given(st.lists(st.one_of(json_values, st.fixed_dictionaries({"name": json_values})), max_size=4))
def test_a_tool_may_have_a_name_of_any_type(tools: list[Any]) -> None:
    assert replayed_system(iter([system(tools_added=tools, tools_removed=[])])) is not None
    gone = replayed_system(iter([system(tools_added=tools), system(tools_removed=tools)]))
    assert gone == system(content="", timestamp=0)
