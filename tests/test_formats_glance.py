"""A session at a glance: its counts are those that Pi keeps and that the readers find, whichever agent wrote it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder, make_session, plan_of, row_line, usage
from hypothesis import given
from hypothesis import strategies as st
from session_homes import (
    claude_row,
    claude_talk,
    codex_row,
    codex_said,
    codex_talk,
    codex_tokens,
    rows_data,
    stamp,
    talk,
)
from strategies import json_values, sessions

from compactor.entries import Session
from compactor.errors import SessionError
from compactor.formats.codex_rows import FOLDER_ROWS
from compactor.formats.glance import Glance, glance
from compactor.formats.glance_codex import CodexTally
from compactor.formats.glance_rows import MAX_SALVAGED_BYTES, MAX_WORDS_CHARS, content_of, glance_with, moment
from compactor.formats.registry import parse_session
from compactor.ledger import read_ledger
from compactor.usage import all_tokens


def look(data: bytes | SessionBuilder | list[dict[str, Any]]) -> Glance:
    if isinstance(data, SessionBuilder):
        return glance([data.data()])
    return glance([data if isinstance(data, bytes) else rows_data(data)])


def leaves(session: Session) -> int:
    return len(session.entries) - len(set(session.parents) - {None})


def test_a_session_of_pi_at_a_glance() -> None:
    made = talk()
    made.add("session_info", name="  Harbor\nworks ")
    assert look(made) == Glance(
        format="pi",
        id="harbor-0001",
        cwd="/srv/harbor",
        name="Harbor works",
        first_message="Where is crane 3?",
        started_at=datetime(2026, 3, 1, 10, tzinfo=UTC),
        last_entry_at=datetime(2026, 3, 1, 10, 0, 3, tzinfo=UTC),
        messages=2,
        context_tokens=150,
        total_tokens=150,
        cost=0.25,
        compactions=0,
        branches=1,
        damaged_lines=0,
        is_whole=True,
    )


def test_a_session_of_claude_code_at_a_glance() -> None:
    assert look(claude_talk()) == Glance(
        format="claude-code",
        id="claude-1",
        cwd="/srv/harbor",
        name=None,
        first_message="Where is crane 3?",
        started_at=datetime(2026, 3, 1, 10, 1, tzinfo=UTC),
        last_entry_at=datetime(2026, 3, 1, 10, 2, tzinfo=UTC),
        messages=2,
        context_tokens=100,
        total_tokens=100,
        cost=None,
        compactions=0,
        branches=1,
        damaged_lines=0,
        is_whole=True,
    )


def test_a_session_of_codex_at_a_glance() -> None:
    assert look(codex_talk()) == Glance(
        format="codex",
        id="019d0000-0000-7000-8000-000000000001",
        cwd="/srv/harbor",
        name=None,
        first_message="Where is crane 3?",
        started_at=datetime(2026, 3, 1, 10, tzinfo=UTC),
        last_entry_at=datetime(2026, 3, 1, 10, 2, tzinfo=UTC),
        messages=2,
        context_tokens=120,
        total_tokens=120,
        cost=None,
        compactions=0,
        branches=1,
        damaged_lines=0,
        is_whole=True,
    )


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "an empty file"),
        (b" \n\n", "an empty file"),
        (b"notes\n", "no header"),
        (b"5\n", "no header"),
        (row_line({"type": "message", "id": "a", "parentId": None}), "no header"),
        (row_line({"type": "session"}), "no header"),
        (row_line({"type": "summary", "summary": "Older talk", "leafUuid": "x"}), "only side records"),
        (b'{"type":"reasoning" torn\n', "no header"),
    ],
)
def test_what_is_no_session_is_refused_in_a_few_words(data: bytes, words: str) -> None:
    with pytest.raises(SessionError, match=words):
        look(data)


def test_a_codex_file_whose_rows_are_all_lost_is_refused() -> None:
    with pytest.raises(SessionError, match="rows of Codex"):
        glance_with(CodexTally(), [b"\n"], True)


# Pi


@given(sessions())
def test_the_figures_of_any_session_of_pi_are_those_that_its_reader_finds(made: SessionBuilder) -> None:
    found, session = look(made), made.session()
    assert found.messages == sum(entry.type == "message" for entry in session.entries)
    assert found.compactions == sum(entry.type == "compaction" for entry in session.entries)
    assert found.branches == leaves(session)
    context = plan_of(session, keep=100).context
    assert (found.context_tokens or 0) == context.usage_tokens


def test_pi_itself_counts_the_same(shared: Path) -> None:
    answers = [json.loads(line) for line in (shared / "oracle" / "usage.jsonl").read_text().splitlines()]
    assert answers
    for recorded in answers:
        found, answer = look((shared / "corpus" / recorded["file"]).read_bytes()), recorded["answer"]
        if "error" in answer:
            assert found.cost is None and found.total_tokens is not None
        else:
            counted = (found.messages, found.total_tokens, found.cost)
            assert counted == (answer["totalMessages"], answer["tokens"]["total"], answer["cost"]), recorded["file"]


def test_all_requests_count_and_an_unknown_price_makes_the_cost_unknown() -> None:
    made = talk()
    made.add("usage", provider="dock", model="gantry-1", usage=usage(40, input=40))
    made.compaction("00000001", usage=usage(8, output=8))
    made.branch_summary(usage=usage(5, cacheRead=5))
    made.result("call_1", usage=usage(2, cacheWrite=2))
    made.message("user", content="again", usage=usage(1000, input=1000))
    found = look(made)
    assert (found.total_tokens, found.cost) == (205, 0.25)
    made.assistant(usage={"input": 0, "output": 0})
    assert look(made).cost == 0.25
    made.assistant(usage={"input": 1, "output": 0})
    made.assistant(usage=usage(1, input=1))
    assert (look(made).total_tokens, look(made).cost) == (207, None)


def test_the_context_is_what_the_newest_usable_reply_of_the_branch_reports() -> None:
    made = SessionBuilder()
    first = made.user()
    made.assistant(usage=usage(500))
    made.assistant(usage=usage(0, input=300, output=50))
    assert look(made).context_tokens == 350
    made.assistant(usage=usage(900), stopReason="aborted")
    made.assistant(usage=usage(0))
    assert look(made).context_tokens == 350
    made.back_to(first)
    made.user("Another way")
    assert look(made).context_tokens is None
    made.assistant(usage=usage(70))
    assert look(made).context_tokens == 70
    made.edit(first)
    assert look(made).context_tokens is None


def test_a_name_may_be_taken_back() -> None:
    made = talk()
    made.add("session_info", name="Harbor works")
    made.add("session_info", name=" ")
    made.add("session_info")
    assert look(made).name is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("  Two\n words ", "Two words"),
        ([{"type": "image", "data": "x"}, {"type": "text", "text": "One"}, {"type": "text", "text": "two"}], "One two"),
        ('<skill name="tide" location="/s">\nHow to.\n</skill>\n\nfor berth 4', "/skill:tide for berth 4"),
        ("x" * (MAX_WORDS_CHARS + 1), "x" * (MAX_WORDS_CHARS - 1) + "…"),
        ("x" * MAX_WORDS_CHARS, "x" * MAX_WORDS_CHARS),
        ([], None),
        (None, None),
        (7, None),
        ([7, {"type": "text", "text": 7}], None),
    ],
)
def test_the_first_message_is_on_one_line(content: Any, expected: str | None) -> None:
    made = SessionBuilder()
    made.user(content)
    assert look(made).first_message == expected


def test_a_blank_first_message_makes_room_for_the_next() -> None:
    assert look(make_session(("user", " "), "assistant", ("user", "Now"))).first_message == "Now"


def test_version_1_has_no_branches_and_no_damage() -> None:
    made = make_session("user", "assistant", "user", "assistant")
    made.version = 1
    found = look(made)
    assert (found.messages, found.branches, found.damaged_lines) == (4, 1, 0)


def test_a_session_without_entries_has_no_branch() -> None:
    found = look(SessionBuilder())
    assert (found.messages, found.branches, found.last_entry_at) == (0, 0, datetime(2026, 3, 1, 10, tzinfo=UTC))


@pytest.mark.parametrize(
    ("change", "damaged"),
    [
        (lambda rows: rows[1].update(parentId="nowhere"), 1),
        (lambda rows: rows[1].pop("parentId"), 1),
        (lambda rows: rows[1].update(parentId=rows[2]["id"]), 1),
        (lambda rows: rows[0].update(parentId=rows[0]["id"]), 1),
        (lambda rows: rows[2].update(id=rows[1]["id"]), 1),
        (lambda rows: rows[1].update(usage="much"), 0),
        (lambda rows: None, 0),
    ],
)
def test_an_entry_that_follows_none_before_it_is_damage(
    change: Callable[[list[dict[str, Any]]], None], damaged: int
) -> None:
    made = make_session("user", "assistant", "user")
    change(made.rows)
    found = look(made)
    assert (found.damaged_lines, found.branches, found.messages) == (damaged, 1, 3)


@pytest.mark.parametrize(
    ("spoil", "damaged", "messages"),
    [
        (lambda lines: [*lines[:-1], lines[-1][:40]], 1, 2),
        (lambda lines: [b"\xef\xbb\xbf" + lines[0], *lines[1:]], 0, 3),
        (lambda lines: [lines[0], b"\n", b"\r\n", *lines[1:]], 0, 3),
        (lambda lines: [*lines[:2], b"\0\0\0\n", *lines[2:]], 1, 3),
        (lambda lines: [*lines[:2], lines[2].rstrip(b"\n"), lines[3]], 1, 3),
        (lambda lines: [*lines, b"[" + b" " * MAX_SALVAGED_BYTES + b"\n"], 1, 3),
        (lambda lines: [line.replace(b"crane", b"\\ud83d") for line in lines], 0, 3),
    ],
)
def test_damaged_lines_are_counted_and_what_they_hold_is_saved(
    spoil: Callable[[list[bytes]], list[bytes]], damaged: int, messages: int
) -> None:
    found = look(b"".join(spoil(make_session("user", "assistant", "user").lines())))
    assert (found.damaged_lines, found.messages) == (damaged, messages)


def test_figures_that_can_not_be_are_left_out_of_sums() -> None:
    made = SessionBuilder()
    made.user()
    made.assistant(usage={"input": 5, "output": 10**400, "totalTokens": 10**400, "cost": {"total": 10**400}})
    found = look(made)
    assert (found.total_tokens, found.context_tokens, found.cost) == (5, 5, 0.0)


# Claude Code


def test_a_reply_on_several_lines_is_one_message_with_the_usage_of_the_last() -> None:
    rows = claude_talk()
    more = claude_row("assistant", 3, 2, [{"type": "tool_use", "id": "t1", "name": "Read", "input": {}}])
    more["message"] |= {"id": "msg_2", "usage": {"input_tokens": 10, "output_tokens": 50}}
    results = [{"type": "tool_result", "tool_use_id": name, "content": "x"} for name in ("t1", "t2")]
    rows += [more, claude_row("user", 4, 3, results), claude_row("assistant", 5, 4, "Done.")]
    found = look(rows)
    assert (found.messages, found.context_tokens, found.total_tokens, found.branches) == (5, 100, 160, 1)


def test_a_message_beside_results_counts_and_the_copy_of_a_row_does_not() -> None:
    both = [{"type": "tool_result", "tool_use_id": "t1", "content": "x"}, {"type": "text", "text": "Go on."}]
    row = claude_row("user", 3, 2, both)
    found = look([*claude_talk(), row, row])
    assert (found.messages, found.branches) == (4, 1)


def test_two_messages_that_follow_one_are_two_branches_whatever_stands_between() -> None:
    between = {"type": "system", "uuid": "row-3", "parentUuid": "row-2", "timestamp": stamp(3)}
    rows = [*claude_talk(), between, claude_row("user", 4, 3, "This way"), claude_row("user", 5, 2, "That way")]
    assert look(rows).branches == 2
    rows.append(claude_row("user", 6, 1, "From the start"))
    assert look(rows).branches == 3


def test_calls_side_by_side_are_no_branches() -> None:
    rows = claude_talk()
    for number in (3, 4):
        rows.append(claude_row("assistant", number, number - 1, [{"type": "tool_use", "id": f"t{number}"}]))
        rows[-1]["message"]["id"] = "msg_2"
    for number in (5, 6):
        rows.append(claude_row("user", number, number - 2, [{"type": "tool_result", "tool_use_id": f"t{number - 2}"}]))
    rows.append(claude_row("assistant", 7, 6, "Done."))
    assert look(rows).branches == 1


def test_rows_of_sub_agents_count_only_as_tokens() -> None:
    side = [
        claude_row("user", 8, None, "Task", isSidechain=True),
        claude_row("assistant", 9, 8, "Done", isSidechain=True),
    ]
    found = look(claude_talk() + side)
    assert (found.messages, found.total_tokens, found.is_subagent) == (2, 200, False)
    alone = look([{**row, "agentId": "a7"} for row in side])
    assert (alone.id, alone.parent_id, alone.is_subagent, alone.messages) == ("a7", "claude-1", True, 2)


def test_a_compaction_counts_once_and_makes_the_context_unknown() -> None:
    boundary = {"type": "system", "subtype": "compact_boundary", "uuid": "row-3", "parentUuid": None}
    summary = claude_row("user", 4, 3, "This session is being continued", isCompactSummary=True)
    rows = [*claude_talk(), boundary, summary]
    found = look(rows)
    assert (found.compactions, found.context_tokens, found.messages, found.branches) == (1, None, 2, 1)
    rows.append(claude_row("assistant", 5, 4, "Go on."))
    assert look(rows).context_tokens == 100
    rows.append({"type": "system", "subtype": "microcompact_boundary", "uuid": "row-6", "parentUuid": "row-5"})
    assert (look(rows).compactions, look(rows).context_tokens) == (1, None)
    assert look([*claude_talk(), summary]).compactions == 1


@pytest.mark.parametrize(
    ("rows", "name"),
    [
        ([{"type": "custom-title", "customTitle": "Mine"}, {"type": "ai-title", "aiTitle": "Its"}], "Mine"),
        ([{"type": "ai-title", "aiTitle": "Old"}, {"type": "ai-title", "aiTitle": "New"}], "New"),
        ([{"type": "summary", "summary": "Here", "leafUuid": "row-2"}], "Here"),
        ([{"type": "summary", "summary": "Older talk", "leafUuid": "elsewhere"}], None),
        ([{"type": "mode", "mode": "plan"}, {"type": "ai-title"}, {"type": "summary", "summary": "x"}], None),
    ],
)
def test_the_name_is_the_users_else_that_of_the_agent(rows: list[dict[str, Any]], name: str | None) -> None:
    assert look(rows + claude_talk()).name == name


COMMAND = "<command-message>tide</command-message>\n<command-name>/tide</command-name>\n<command-args>{}</command-args>"


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        (["Caveat: The messages below were generated", "Move crane 3"], "Move crane 3"),
        ([[{"type": "text", "text": "<system-reminder>x"}, {"type": "text", "text": "Move it"}]], "Move it"),
        ([COMMAND.format(""), "<local-command-stdout>ok</local-command-stdout>", "Move crane 3"], "Move crane 3"),
        ([COMMAND.format("")], "/tide"),
        ([COMMAND.format("at berth 4"), "Move crane 3"], "/tide at berth 4"),
        (["[Request interrupted by user]"], None),
    ],
)
def test_texts_that_claude_code_puts_in_are_not_the_users(contents: list[Any], expected: str | None) -> None:
    rows = [claude_row("user", n, n - 1 or None, content) for n, content in enumerate(contents, 1)]
    assert look(rows).first_message == expected


def test_meta_rows_and_rows_without_message_are_no_messages() -> None:
    rows = [*claude_talk(), claude_row("user", 3, 2, "A caveat", isMeta=True)]
    rows.append({"type": "user", "uuid": "row-4", "parentUuid": "row-3", "sessionId": "claude-1"})
    assert look(rows).messages == 2


# Codex


def test_neighbouring_parts_of_a_reply_are_one_message() -> None:
    rows = codex_talk()
    for kind in ("reasoning", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output"):
        rows.append(codex_row("response_item", 3, type=kind, call_id="c1"))
    rows += [codex_said("assistant", "Done."), codex_row("turn_context", 4, model="o-9")]
    assert look(rows).messages == 7


def test_events_and_texts_that_codex_puts_in_are_no_messages() -> None:
    rows = codex_talk()
    rows[1:1] = [
        codex_said("developer", "You are a coding agent."),
        codex_said("user", "<environment_context>\n<cwd>/srv</cwd>"),
        codex_said("user", "# AGENTS.md instructions for /srv"),
        codex_said("user", "  <Recommended_Plugins>x"),
        codex_said("user", "Warning: apply_patch was requested via exec"),
        codex_row("event_msg", 1, type="user_message", message="Where is crane 3?"),
        codex_row("response_item", 1, type="message", role="user", content=None),
    ]
    found = look(rows)
    assert (found.messages, found.first_message) == (2, "Where is crane 3?")


def test_mail_of_other_agents_and_notes_of_what_a_script_said_are_no_messages() -> None:
    mail = json.dumps({"author": "/root/mate", "recipient": "/root", "content": "x", "trigger_turn": True})
    note = codex_said("assistant", "At berth 14.") | {"metadata": {"delivered_assistant_message": "v1"}}
    rows = [*codex_talk(), note, codex_said("assistant", mail), codex_said("user", mail)]
    rows += [codex_row("response_item", 3, type="agent_message", content="x"), codex_said("assistant", "Seen.")]
    rows += [codex_row("inter_agent_communication", 4, content="x"), codex_said("assistant", "And the tide.")]
    found = look(rows)
    assert (found.messages, found.first_message) == (4, "Where is crane 3?")
    quoted = codex_said("assistant", 'Set "trigger_turn": true.') | {"metadata": {"client_authored": True}}
    assert look([*codex_talk(), quoted]).messages == 3


def test_a_message_of_an_image_alone_counts_and_has_no_words() -> None:
    picture = [{"type": "input_image", "image_url": "data:image/png;base64,aGk="}]
    rows = codex_talk()
    rows.insert(1, codex_row("response_item", 1, type="message", role="user", content=picture))
    assert (look(rows).messages, look(rows).first_message) == (3, "Where is crane 3?")


def test_a_turn_that_starts_or_ends_ends_the_reply() -> None:
    rows = [*codex_talk()[:3], codex_row("event_msg", 3, type="turn_aborted"), codex_said("assistant", "Again.")]
    rows.append(codex_row("response_item", 3, type="ghost_snapshot"))
    assert look([*rows, codex_said("assistant", "And more.")]).messages == 3


def test_of_what_an_editor_sends_the_request_is_the_message() -> None:
    rows = codex_talk()
    rows[1] = codex_said("user", "# Context from my IDE setup:\n\nx\n## My request for Codex:\nMove crane 3\n")
    assert look(rows).first_message == "Move crane 3"


def test_tokens_are_the_growth_of_the_cumulative_counts() -> None:
    rows = [*codex_talk(), codex_tokens(120, 120), codex_tokens(300, 180), codex_tokens(50, 50)]
    rows.append(codex_row("event_msg", 5, type="token_count", info=None))
    rows.append(codex_row("event_msg", 5, type="token_count", info={}))
    found = look(rows)
    assert (found.total_tokens, found.context_tokens) == (350, 50)


def codex_record(total: int, response: str, minute: int = 2) -> dict[str, Any]:
    """The usage of one response, in newer files."""
    used = {"input_tokens": total - 10, "output_tokens": 10, "total_tokens": total}
    return codex_row("token_usage_record", minute, response_id=response, usage=used)


def test_records_of_responses_count_once_with_the_events_that_repeat_them() -> None:
    rows = [*codex_talk()[:3], codex_record(120, "r1"), codex_tokens(120, 120), codex_tokens(120, 120)]
    assert (look(rows).total_tokens, look(rows).context_tokens) == (120, 120)
    rows += [codex_record(130, "c1"), codex_row("compacted", 3, compaction_response_id="c1")]
    estimate = codex_row("event_msg", 3, type="token_count", info={"last_token_usage": {"total_tokens": 70}})
    for more in ([], [codex_tokens(120, 120)], [estimate]):
        found = look([*rows, *more])
        assert (found.total_tokens, found.context_tokens) == (250, None)
    rows += [codex_said("assistant", "On."), codex_record(90, "r2")]
    assert (look(rows).total_tokens, look(rows).context_tokens) == (340, 90)


def test_a_request_after_a_compaction_and_before_a_reply_was_the_compactions() -> None:
    rows = [*codex_talk(), codex_row("compacted", 3, message="Sum."), codex_tokens(250, 130)]
    assert (look(rows).total_tokens, look(rows).context_tokens) == (250, None)


@pytest.mark.parametrize(
    ("turns", "context"), [(1, 120), (2, None), (9, None), (0, 200), (-1, 200), (True, 200), ("2", 200), (None, 200)]
)
def test_the_context_after_a_step_back_is_what_it_was_before_those_turns(turns: Any, context: int | None) -> None:
    rows = [*codex_talk(), codex_said("user", "And crane 4?"), codex_said("assistant", "Gone."), codex_tokens(320, 200)]
    rows.append(codex_row("event_msg", 5, type="thread_rolled_back", num_turns=turns))
    found = look(rows)
    assert (found.context_tokens, found.total_tokens) == (context, 320)
    session = parse_session(rows_data([*rows, codex_said("user", "So?")]))
    assert (context or 0) == plan_of(session, keep=100).context.usage_tokens


def test_a_session_that_reports_no_tokens_leaves_them_open() -> None:
    found = look(codex_talk()[:3])
    assert (found.total_tokens, found.context_tokens) == (None, None)


def test_the_oldest_reports_are_read() -> None:
    head = codex_talk()[:1]
    plain = codex_row("event_msg", 1, type="token_count", info={"prompt": 30, "completion": 12})
    done = [
        codex_row("event_msg", n, type="turn.completed", usage={"input_tokens": 10 * n, "output_tokens": 5})
        for n in (1, 2)
    ]
    assert look([*head, plain, *done]).total_tokens == 42
    assert look([*head, *done]).total_tokens == 25
    assert look([*head, codex_row("event_msg", 1, type="token_count", info={"prompt": 30})]).total_tokens == 30


def test_a_compaction_and_a_step_back_are_counted() -> None:
    rows = [*codex_talk(), codex_row("compacted", 3, message="", replacement_history=[])]
    assert (look(rows).compactions, look(rows).context_tokens) == (1, None)
    rows.append(codex_row("event_msg", 4, type="thread_rolled_back", num_turns=1))
    assert look(rows).branches == 2


def test_a_thread_may_be_named_and_started_by_another() -> None:
    named = codex_row("event_msg", 3, type="thread_name_updated", thread_name="Harbor works")
    spawn = {"subagent": {"thread_spawn": {"parent_thread_id": "p1", "depth": 1}}}
    found = look([*codex_talk(source=spawn), named])
    assert (found.name, found.is_subagent, found.parent_id) == ("Harbor works", True, "p1")
    review = look(codex_talk(source={"subagent": "review"}, parent_thread_id="p2"))
    assert (review.is_subagent, review.parent_id) == (True, "p2")
    odd = look(codex_talk(source={"subagent": {"thread_spawn": 5}}))
    assert (odd.is_subagent, odd.parent_id) == (True, None)


def fork(*own: dict[str, Any], **meta: Any) -> list[dict[str, Any]]:
    """A fork: its own head, the copy of its parent's rows, and its own rows."""
    head = codex_row("session_meta", 0, id="019d0000-0500-7000-8000-00000000000f", cwd="/srv/harbor", **meta)
    return [head, *[{**row, "timestamp": stamp(30)} for row in codex_talk()], *own]


OLD_TURN = "019d0000-0100-7000-8000-000000000001"
OWN_TURN = "019d0000-0600-7000-8000-000000000001"


@pytest.mark.parametrize(
    ("rows", "total"),
    [
        (fork(), 0),
        (fork(codex_tokens(400, 280, 40)), 280),
        (fork(codex_tokens(400, 280, 40), forked_from_id="parent"), 280),
        (fork(codex_row("turn_context", 30, turn_id=OLD_TURN), codex_tokens(400, 280, 30)), 0),
        (fork(codex_row("turn_context", 30, turn_id=OWN_TURN), codex_tokens(400, 280, 30)), 280),
        (fork(codex_tokens(400, 280, 40), codex_row("turn_context", 41, turn_id=OWN_TURN)), 0),
        (fork(codex_row("turn_context", 30), {"type": "world_state", "payload": {}}, codex_tokens(400, 280, 40)), 280),
        (fork(codex_row("turn_context", 40, turn_id=OWN_TURN), codex_row("turn_context", 41, turn_id=OWN_TURN)), 0),
        ([*codex_talk(), codex_row("session_meta", 9, id="other"), codex_tokens(400, 280, 40)], 400),
        ([*codex_talk(), codex_talk()[0]], 120),
    ],
)
def test_a_fork_has_used_what_it_added_to_its_parent(rows: list[dict[str, Any]], total: int) -> None:
    assert look(rows).total_tokens == total


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "ordinal": n} for n, row in enumerate(rows)]


@pytest.mark.parametrize(("start", "total"), [(5, 280), ("5", 280), (4, 400), (1, 400), (99, 0), (None, 0)])
def test_where_rows_are_numbered_the_head_tells_what_a_fork_copied(start: Any, total: int) -> None:
    rows = numbered(fork(codex_tokens(400, 280, 30), subagent_history_start_ordinal=start))
    assert look(rows).total_tokens == total


def test_rows_that_are_older_than_the_thread_are_copies() -> None:
    old = [{**row, "timestamp": stamp(n)} for n, row in enumerate(codex_talk(), 1)]
    own = [codex_said("user", "Go on.", 50), codex_tokens(400, 280, 60)]
    head = codex_row("session_meta", 45, id="f", timestamp=stamp(45), forked_from_id="p")
    assert look([head, *old, *own]).total_tokens == 280


def test_what_a_fork_has_not_reported_itself_is_not_known() -> None:
    found = look(fork())
    assert (found.context_tokens, found.total_tokens, found.messages) == (None, 0, 2)
    assert look([codex_row("session_meta", 0, id="f", forked_from_id="p")]).total_tokens is None
    base = fork(forked_from_id="p", history_base={"thread_id": "p"})
    assert (look(base).context_tokens, look(base).total_tokens) == (120, 120)


@pytest.mark.parametrize(
    "told",
    [
        codex_row("turn_context", 1, cwd="/srv/harbor"),
        codex_said("user", "<environment_context>\n<cwd>/srv/harbor</cwd>\n</environment_context>"),
        codex_said("user", "<environment_context>\nCurrent working directory: /srv/harbor\n</environment_context>"),
    ],
)
def test_a_head_that_names_no_folder_leaves_it_to_the_first_rows(told: dict[str, Any]) -> None:
    rows = codex_talk(cwd="")
    assert look(rows).cwd is None
    rows[1:1] = [told, codex_row("turn_context", 1, cwd="/elsewhere")]
    assert look(rows).cwd == "/srv/harbor"
    assert look([*codex_talk(cwd=""), *[codex_said("user", "x")] * FOLDER_ROWS, told]).cwd is None
    assert look([*codex_talk(cwd="/dock"), told]).cwd == "/dock"
    bare = [{"id": "old-1", "timestamp": stamp(0), "instructions": "x"}, told.get("payload", told)]
    assert (look(bare).cwd or "") == parse_session(rows_data(bare)).header.cwd


CODEX_STEPS: dict[str, list[dict[str, Any]]] = {
    "asked": [codex_said("user", "So?"), codex_row("turn_context", 5, turn_id="t")],
    "put in": [codex_said("user", "<turn_aborted>x"), codex_said("developer", "Be brief.")],
    "called": [
        codex_row("response_item", 5, type=kind, call_id="c") for kind in ("function_call", "function_call_output")
    ],
    "reset": [codex_said("assistant", "Yes."), codex_tokens(90, 90)],
    "grew": [codex_said("assistant", "No."), codex_tokens(5_000, 70)],
    "repeated": [codex_tokens(120, 120)],
    "recorded": [codex_said("assistant", "Yes."), codex_record(55, "r1")],
    "compacted": [
        codex_record(60, "c1"),
        codex_row("compacted", 6, replacement_history=[], compaction_response_id="c1"),
    ],
    "back": [codex_row("event_msg", 6, type="thread_rolled_back", num_turns=1)],
    "rest": [codex_row("event_msg", 9, type="turn_complete")],
}


@given(
    steps=st.lists(st.sampled_from(sorted(CODEX_STEPS)), max_size=8),
    head=st.sampled_from([{}, {"forked_from_id": "p"}, {"subagent_history_start_ordinal": 5}]),
)
def test_what_a_rollout_used_is_what_its_reader_finds(steps: list[str], head: dict[str, Any]) -> None:
    rows = numbered([*codex_talk(**head), *(row for step in steps for row in CODEX_STEPS[step])])
    found, session = look(rows), parse_session(rows_data(rows))
    charges = read_ledger(session).charges
    assert (found.total_tokens or 0) == sum(all_tokens(charge.usage) for charge in charges)
    assert found.compactions == sum(entry.type == "compaction" for entry in session.entries)


def test_the_oldest_files_are_rows_without_payload() -> None:
    items: list[dict[str, Any]] = [
        {"id": "old-1", "timestamp": stamp(0), "instructions": "x", "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is crane 3?"}]},
        {"type": "function_call", "name": "shell", "call_id": "c1"},
        {"type": "function_call_output", "call_id": "c1", "output": "x"},
    ]
    found = look(items)
    assert (found.id, found.messages, found.first_message) == ("old-1", 3, "Where is crane 3?")
    assert found.format == "codex"


# All


def test_what_the_readers_find_in_real_sessions_is_the_same(shared: Path) -> None:
    """Messages of Codex are another matter: its reader adds the system message, and what a compaction repeats."""
    paths = sorted((shared / "corpus").glob("c*/*.jsonl"))
    assert paths
    for path in paths:
        data = path.read_bytes()
        found, session = look(data), parse_session(data)
        assert found.format == session.format
        assert found.compactions == sum(entry.type == "compaction" for entry in session.entries), path.name
        if found.messages:
            assert found.branches == leaves(session), path.name
            assert (found.context_tokens or 0) == plan_of(session, keep=100).context.usage_tokens, path.name
        if found.format == "claude-code":
            assert found.messages == sum(entry.type == "message" for entry in session.entries), path.name


@pytest.mark.parametrize("rows", [talk().data(), rows_data(claude_talk()), rows_data(codex_talk())])
def test_of_two_ends_nothing_is_counted(rows: bytes) -> None:
    lines = rows.splitlines(keepends=True)
    ends = glance([b"".join(lines[:2]), b"".join(lines[2:])], is_whole=False)
    whole = look(rows)
    assert (ends.id, ends.cwd, ends.first_message) == (whole.id, whole.cwd, whole.first_message)
    assert ends.last_entry_at == whole.last_entry_at
    counted = (ends.messages, ends.total_tokens, ends.cost, ends.compactions, ends.branches)
    assert counted == (None,) * 5 and not ends.is_whole


def test_the_context_is_that_of_the_last_end() -> None:
    made = SessionBuilder()
    made.user()
    made.assistant(usage=usage(500))
    lines = made.lines()
    made.user()
    later = made.lines()[-1:]
    assert glance([b"".join(lines), b"".join(later)], is_whole=False).context_tokens == 500
    made.leaf = "left-out"
    made.user()
    assert glance([b"".join(lines), b"".join(made.lines()[-1:])], is_whole=False).context_tokens is None
    for rows in (claude_talk(), codex_talk()):
        assert glance([rows_data(rows), rows_data(rows[:1])], is_whole=False).context_tokens is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-03-01T10:00:00.000Z", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T12:00:00+02:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01T10:00:00", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("0001-01-01T00:00:00+09:00", None),
        ("soon", None),
        ("\ud83d", None),
        (None, None),
    ],
)
def test_a_time_is_read_in_utc(text: str | None, expected: datetime | None) -> None:
    assert moment(text) == expected


def test_the_newest_entry_is_the_last_that_names_a_time() -> None:
    made = make_session("user", "assistant", "user", "user")
    made.rows[2].pop("timestamp")
    made.rows[3]["timestamp"] = "soon"
    assert look(made).last_entry_at == datetime(2026, 3, 1, 10, 0, 2, tzinfo=UTC)


@pytest.mark.parametrize("raw", [b"torn", b"5", b'{"message":5}', b'{"message":{}}', b"[" * 100_000])
def test_content_that_can_not_be_found_is_none(raw: bytes) -> None:
    assert content_of(raw, "message") is None


HEADS: list[dict[str, Any]] = [
    {"type": "session", "version": 3, "id": "any"},
    claude_talk()[0],
    codex_talk()[0],
]


rows_of_any_kind = st.one_of(
    json_values,
    st.dictionaries(st.sampled_from(["type", "payload", "message", "uuid", "id", "timestamp"]), json_values),
)


@given(head=st.sampled_from(HEADS), values=st.lists(rows_of_any_kind), torn=st.binary(max_size=20))
def test_any_json_after_a_first_row_gives_a_session(head: dict[str, Any], values: list[Any], torn: bytes) -> None:
    found = look(row_line(head) + b"".join(map(row_line, values)) + torn)
    assert found.messages is not None and found.damaged_lines >= 0
