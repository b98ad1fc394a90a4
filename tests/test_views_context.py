"""What the next request holds, and how two contexts differ."""

import json
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, image, make_session, tool_call, usage
from hypothesis import given
from hypothesis import strategies as st
from strategies import damaged_files, sessions

from compactor.branch import active_branch, find_leaf
from compactor.entries import Entry, Session
from compactor.errors import SessionError
from compactor.explain import explain
from compactor.formats.pi import parse_session
from compactor.js_text import json_text, utf8
from compactor.planned import plan_branch
from compactor.session_file import read_session
from compactor.settings import CompactionSettings
from compactor.tokens import Counter, PiCounter, TokenizerCounter
from compactor.transcript import BRANCH_FRAME, COMPACTION_FRAME
from compactor.views.context import Context, context_json, context_of
from compactor.views.context_diff import ContextDiff, around_compaction, context_diff, diff_json
from compactor.views.plan import plan_json
from compactor.views.raw_content import raw_content, without_images

MESSAGE_FIELDS = ["n", "role", "as", "entryId", "index", "line", "part", "tokens", "chars", "note"]
WORDS = TokenizerCounter(name="words", count=lambda text: len(text.split()))


def made(session: Session, leaf: str | None = None, counter: Counter | None = None) -> Context:
    return context_of(session, active_branch(session, find_leaf(session, leaf)), counter or PiCounter())


def view(builder: SessionBuilder, leaf: str | None = None, **options: Any) -> dict[str, Any]:
    """The JSON as any reader reads it."""
    found: dict[str, Any] = json.loads(utf8(json_text(context_json(made(builder.session(), leaf), **options))))
    return found


def planned_json(session: Session, leaf: str | None, counter: Counter) -> dict[str, Any]:
    branch = active_branch(session, find_leaf(session, leaf))
    plan = plan_branch(session, branch, counter, CompactionSettings())
    return plan_json(plan, explain(plan), [])


def assert_equals_plan(session: Session, leaf: str | None, counter: Counter) -> None:
    """Numbers, roles and sizes are those that planning tells."""
    found, plan = context_json(made(session, leaf, counter)), planned_json(session, leaf, counter)
    assert len(found["messages"]) == plan["messages"]
    assert {role: sums["messages"] for role, sums in found["roles"].items()} == plan["roles"]
    assert found["tokens"] == {
        "context": plan["contextTokens"],
        "usage": plan["usageTokens"],
        "trailing": plan["trailingTokens"],
        "messages": plan["messageTokens"],
    }
    assert sum(message["tokens"] for message in found["messages"]) == plan["messageTokens"]
    assert sum(sums["tokens"] for sums in found["roles"].values()) == plan["messageTokens"]
    assert (found["leaf"], found["counter"]) == (plan["leaf"], plan["counter"])
    assert all(warning in plan["warnings"] for warning in found["warnings"])


@given(sessions(max_steps=20), st.data())
def test_a_context_is_what_planning_measures(builder: SessionBuilder, data: Any) -> None:
    session = builder.session()
    leaf = f"#{data.draw(st.integers(0, len(session.entries) - 1))}" if session.entries else None
    assert_equals_plan(session, leaf, data.draw(st.sampled_from((PiCounter(), WORDS))))


def test_contexts_of_recorded_sessions_are_what_planning_measures(shared: Path) -> None:
    read = 0
    for path in sorted((shared / "corpus").rglob("*.jsonl")):
        try:
            session = read_session(str(path))
        except SessionError:
            continue
        read += 1
        last = len(session.entries) - 1
        for leaf in {None, *(f"#{at}" for at in (last * 2 // 3, last // 3, 0) if last >= 0)}:
            assert_equals_plan(session, leaf, PiCounter())
    assert read > 50


def test_json_has_the_documented_fields() -> None:
    found = view(make_session("user", "assistant"))
    assert list(found) == ["session", "leaf", "counter", "messages", "system", "tokens", "roles", "warnings"]
    assert list(found["messages"][0]) == [*MESSAGE_FIELDS, "text"]
    assert list(found["messages"][1]) == [*MESSAGE_FIELDS, "stopReason", "blocks"]


def test_every_message_names_its_entry_and_line() -> None:
    builder = make_session("user", "bookkeeping", "assistant")
    assert [(m["n"], m["entryId"], m["index"], m["line"]) for m in view(builder)["messages"]] == [
        (1, "00000001", 0, 2), (2, "00000009", 8, 10),
    ]  # fmt: skip


def test_own_roles_are_shown_as_the_model_sees_them() -> None:
    builder = SessionBuilder()
    builder.shell("ls", "a.py")
    builder.custom_message("The tide turns.")
    builder.branch_summary("B")
    kept = builder.custom_message([{"type": "text", "text": "High."}])
    builder.compaction(kept, "C")
    before = view(builder, "#3")["messages"]
    assert [(m["role"], m["as"]) for m in before] == [
        ("bashExecution", "user"), ("custom", "user"), ("branchSummary", "user"), ("custom", "user"),
    ]  # fmt: skip
    assert before[0]["text"] == "Ran `ls`\n```\na.py\n```"
    assert before[2]["text"] == "B".join(BRANCH_FRAME)
    assert [before[1]["text"], before[3]["blocks"]] == ["The tide turns.", [{"type": "text", "text": "High."}]]
    summary, tail = view(builder)["messages"]
    assert (summary["role"], summary["as"], summary["text"]) == (
        "compactionSummary", "user", "C".join(COMPACTION_FRAME),
    )  # fmt: skip
    assert tail["role"] == "custom"


def test_messages_say_which_part_of_a_compacted_context_they_are() -> None:
    builder = SessionBuilder()
    builder.user("gone")
    kept = builder.user("kept")
    builder.compaction(kept, systemMessage={"role": "system", "content": "You run the harbor."})
    builder.user("after")
    found = view(builder)["messages"]
    assert [(m["role"], m["part"]) for m in found] == [
        ("system", "summary"), ("compactionSummary", "summary"), ("user", "kept_tail"), ("user", "after_compaction"),
    ]  # fmt: skip
    assert found[0]["entryId"] == found[1]["entryId"]
    assert {m["part"] for m in view(builder, "#1")["messages"]} == {None}


def test_system_messages_are_told_one_by_one_and_replayed_into_one() -> None:
    builder = SessionBuilder()
    builder.system("Base.", sections={"cwd": "/srv", "skills": "x"}, toolsAdded=[{"name": "read"}])
    builder.user()
    builder.system("More.", sections={"skills": None}, toolsRemoved=[{"name": "read"}])
    found = view(builder)
    parts = [m for m in found["messages"] if m["role"] == "system"]
    assert [part["text"] for part in parts] == ["Base.", "More."]
    assert parts[0]["toolsAdded"] == parts[1]["toolsRemoved"] == [{"name": "read"}]
    assert all("replayed into one" in part["note"] for part in parts)
    system = found["system"]
    assert (system["text"], system["sections"]) == ("Base.\n\nMore.", {"cwd": "/srv"})
    assert [source["index"] for source in system["sources"]] == [0, 2]
    assert system["tokens"] == 4
    assert view(make_session("system"))["messages"][0]["note"] is None
    assert view(make_session("user"))["system"] is None


def test_an_edited_message_has_the_new_content_and_names_the_edit() -> None:
    builder = SessionBuilder()
    user, reply = builder.user("old"), builder.assistant("old")
    result_call = builder.assistant("", tool_call("c"))
    result = builder.result("c", "old")
    builder.edit(user, "new words")
    builder.edit(reply, "new words")
    edit = builder.edit(result, [{"type": "text", "text": "new", "extra": 1}])
    found = {m["entryId"]: m for m in view(builder)["messages"]}
    assert found[user]["text"] == "new words"
    assert found[reply]["blocks"] == [{"type": "text", "text": "new words"}]
    assert found[result]["blocks"] == [{"type": "text", "text": "new", "extra": 1}]
    assert found[result]["editedBy"] == edit
    assert edit in found[result]["note"]
    assert "editedBy" not in found[result_call]
    assert found[user]["tokens"] == 3


def test_an_omitted_message_is_not_there() -> None:
    builder = make_session(("user", "one"), ("user", "two"))
    builder.edit("00000001")
    assert [m["text"] for m in view(builder)["messages"]] == ["two"]


def test_a_failed_reply_is_counted_but_not_sent() -> None:
    builder = make_session("user")
    builder.assistant("Half a", tool_call("c"), stopReason="aborted")
    reply = view(builder)["messages"][1]
    assert (reply["as"], reply["stopReason"], reply["tokens"]) == (None, "aborted", 3)
    assert "left out when a request is made" in reply["note"]


def test_a_call_without_a_result_is_noted_and_an_orphan_result_is_left_out_with_a_warning() -> None:
    builder = make_session("user")
    builder.assistant("I look.", tool_call("c1"), tool_call("c2"))
    builder.result("c1")
    builder.result("nobody")
    found = view(builder)
    assert [m["role"] for m in found["messages"]] == ["user", "assistant", "toolResult"]
    assert "1 call without a result" in found["messages"][1]["note"]
    assert found["messages"][2]["note"] is None
    assert (found["messages"][2]["toolCallId"], found["messages"][2]["isError"]) == ("c1", False)
    assert [warning["code"] for warning in found["warnings"]] == ["orphan_result"]


def test_a_message_of_an_unknown_role_reaches_no_model() -> None:
    builder = SessionBuilder()
    builder.message("oracle", content="Beware.")
    (message,) = view(builder)["messages"]
    assert (message["role"], message["as"], message["text"]) == ("oracle", None, "Beware.")
    assert message["note"] == "no model gets a message of this role"


def test_pictures_are_named_by_type_and_size_unless_all_is_wanted() -> None:
    builder = make_session(("user", [image("aGFyYm9y"), {"type": "text", "text": "see"}]))
    (message,) = view(builder)["messages"]
    assert message["blocks"][0] == {"type": "image", "mimeType": "image/png", "bytes": 6}
    (message,) = view(builder, full=True)["messages"]
    assert message["blocks"][0] == image("aGFyYm9y")


@pytest.mark.parametrize(("data", "size"), [("aGFyYm9y", 6), ("aGE=", 2), ("aA==", 1), ("", 0), (None, None)])
def test_the_size_of_a_picture_is_that_of_its_bytes(data: Any, size: int | None) -> None:
    blocks = ["odd", {"type": "text"}, {"type": "image", "data": data}]
    assert without_images(blocks) == [
        "odd", {"type": "text"}, {"type": "image", "mimeType": None, "bytes": size},
    ]  # fmt: skip


def test_blocks_are_as_in_the_file_with_what_nobody_knows() -> None:
    blocks = [{"type": "thinking", "thinking": "Hm.", "thinkingSignature": "s"}, {"type": "audio", "seconds": 3}]
    (message,) = view(make_session(("assistant", blocks)))["messages"]
    assert message["blocks"] == blocks


@pytest.mark.parametrize("content", [7, None, {"type": "text"}])
def test_content_of_the_wrong_type_is_no_text(content: Any) -> None:
    (message,) = view(make_session(("user", content)))["messages"]
    assert message["text"] == ""


def test_content_that_is_no_object_or_nested_too_deep_is_none() -> None:
    builder = make_session("user")
    builder.add("message", message="odd")
    assert raw_content(builder.session().entries[1], None) is None
    line = builder.lines()[1].replace(b'"role"', b'"deep":' + b"[" * 200_000 + b"]" * 200_000 + b',"role"')
    deep = Entry(0, 2, "message", "00000001", None, "user", line, 0, len(line) - 1)
    assert raw_content(deep, None) is None


def test_chars_are_utf16_units_of_what_is_sent() -> None:
    builder = make_session(("user", "🚢"), ("shell", "ls", ""))
    assert [m["chars"] for m in view(builder)["messages"]] == [2, len("Ran `ls`\n(no output)")]


def test_an_empty_branch_has_an_empty_context() -> None:
    found = view(SessionBuilder())
    assert (found["leaf"], found["messages"], found["roles"]) == (None, [], {})
    assert found["tokens"] == {"context": 0, "usage": 0, "trailing": 0, "messages": 0}


@given(damaged_files())
def test_a_damaged_file_has_a_context_too(data: bytes) -> None:
    try:
        session = parse_session(data)
    except SessionError:
        return
    found = context_json(made(session))
    assert len(json.loads(utf8(json_text(found)))["messages"]) == len(found["messages"])
    assert_equals_plan(session, None, PiCounter())


def differ(builder: SessionBuilder, a: str | None, b: str | None) -> ContextDiff:
    session = builder.session()
    return context_diff(made(session, a), made(session, b))


def test_going_on_adds_and_changing_branches_removes_too() -> None:
    builder = SessionBuilder()
    first = builder.user("one")
    old = builder.user("two")
    builder.back_to(first)
    new = builder.user("three")
    found = diff_json(differ(builder, old, new))
    assert [m["entryId"] for m in found["removed"]] == [old]
    assert [m["entryId"] for m in found["added"]] == [new]
    assert (found["changed"], found["same"]) == ([], 1)
    assert found["tokens"] == {"a": 2, "b": 3, "removed": 1, "added": 2, "changed": 0}
    assert list(found) == ["session", "counter", "a", "b", "removed", "added", "changed", "same", "tokens", "warnings"]
    assert (found["a"]["leaf"]["id"], found["b"]["messages"]) == (old, 2)


def test_a_message_with_other_content_is_changed_and_one_with_the_same_is_not() -> None:
    builder = SessionBuilder()
    first, second = builder.user("one"), builder.user("two")
    start = second
    builder.edit(first, "first of all")
    builder.edit(second, "two")
    found = diff_json(differ(builder, start, None))
    (changed,) = found["changed"]
    assert (changed["a"]["text"], changed["b"]["text"]) == ("one", "first of all")
    assert (found["same"], found["tokens"]["changed"]) == (1, 2)


@given(sessions(max_steps=20), st.data())
def test_what_is_removed_added_changed_and_same_makes_up_both_contexts(builder: SessionBuilder, data: Any) -> None:
    session = builder.session()
    if not session.entries:
        return
    places = st.integers(0, len(session.entries) - 1)
    a, b = made(session, f"#{data.draw(places)}"), made(session, f"#{data.draw(places)}")
    found = context_diff(a, b)
    shared = found.same + len(found.changed)
    assert len(found.removed) + shared == len(a.messages)
    assert len(found.added) + shared == len(b.messages)
    tokens = diff_json(found)["tokens"]
    assert a.tokens - tokens["removed"] + tokens["added"] + tokens["changed"] == b.tokens
    assert context_diff(a, a).same == len(a.messages)


def test_a_compaction_is_looked_at_from_both_sides() -> None:
    builder = SessionBuilder()
    builder.user("gone")
    kept = builder.user("kept")
    first = builder.compaction(kept)
    builder.user()
    second = builder.compaction(kept)
    session = builder.session()
    for which, leaf, found in (
        (first, None, first),
        ("last", None, second),
        ("last", "#3", first),
        ("#4", None, second),
    ):
        before, after = around_compaction(session, leaf, which)
        assert after.leaf is not None and before.leaf is not None
        assert (after.leaf.id, before.leaf.index) == (found, after.leaf.index - 1)


def test_before_a_compaction_without_a_parent_there_is_nothing() -> None:
    builder = SessionBuilder()
    builder.compaction("nowhere")
    before, after = around_compaction(builder.session(), None, "last")
    assert (before.entries, len(after.entries)) == ([], 1)


@pytest.mark.parametrize(("which", "found"), [("last", "no compaction on the branch"), ("#0", "of type 'message'")])
def test_what_is_no_compaction_is_refused(which: str, found: str) -> None:
    with pytest.raises(SessionError, match=found):
        around_compaction(make_session("user").session(), None, which)


def test_reported_usage_is_told_apart_from_what_came_after() -> None:
    builder = make_session("user")
    builder.assistant("Here.", usage=usage(900))
    builder.user("x" * 40)
    assert view(builder)["tokens"] == {"context": 910, "usage": 900, "trailing": 10, "messages": 17}
