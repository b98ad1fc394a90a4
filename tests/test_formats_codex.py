"""Codex rollouts: what becomes of their conversation, compactions, rollbacks and forks, and of real files."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import row_line
from codex_rollouts import (
    CODEX_ID,
    Row,
    bodies,
    call,
    codes,
    context,
    context_size,
    counts,
    event,
    item,
    ledger,
    messages,
    meta,
    output,
    parsed,
    replaced,
    replies,
    report,
    row,
    said,
    told,
    turns,
)
from command_line import run
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values, texts

from compactor.branch import active_branch, find_leaf
from compactor.errors import SessionError
from compactor.formats.codex import parse_codex
from compactor.formats.codex_compaction import KEPT_USER_BYTES, SUMMARY_OPENING
from compactor.formats.codex_content import injected_kind
from compactor.projection import project
from compactor.session_file import read_session
from compactor.summary import ENCRYPTED_SUMMARY, UNWRITTEN_SUMMARY

SHARED = Path(__file__).parents[2] / "shared"
ROLLOUTS = sorted((SHARED / "corpus" / "codex").glob("*.jsonl")) + sorted(
    (SHARED / "bugs").glob("4[01]-codex*/*.jsonl")
)
on_rollouts = pytest.mark.skipif(not ROLLOUTS, reason="skipped: no corpus")
each_rollout = pytest.mark.parametrize("path", ROLLOUTS, ids=lambda p: f"{p.parent.name}-{p.stem}")

TALK = [
    said("user", "Load the crane."),
    said("assistant", "Loaded."),
    report(counts(900, 0, 100), counts(900, 0, 100)),
]


# The conversation.


def test_items_of_one_reply_become_one_message_and_events_are_no_messages() -> None:
    session = parsed(
        meta(base_instructions={"text": "You load ships."}),
        event("task_started", turn_id="t1"),
        said("user", "Load the crane."),
        event("user_message", message="Load the crane."),
        item("reasoning", summary=[{"type": "summary_text", "text": "First look."}], encrypted_content="AAAA"),
        event("agent_reasoning", text="First look."),
        said("assistant", "Looking."),
        event("agent_message", message="Looking."),
        call("c1", cmd="ls"),
        call("c2", cmd="pwd"),
        report(counts(90, 40, 10), counts(90, 40, 10)),
        output("c1", "crane.py"),
        output("c2", "/dock"),
        said("assistant", "Loaded."),
        report(counts(210, 120, 15), counts(120, 80, 5)),
        event("task_complete", turn_id="t1", last_agent_message="Loaded."),
    )
    assert context(session) == [
        "system: You load ships.",
        "user: Load the crane.",
        "assistant: Looking. exec_command(c1) exec_command(c2)",
        "toolResult c1: crane.py",
        "toolResult c2: /dock",
        "assistant: Loaded.",
    ]
    (_, first), (_, second) = replies(session)
    assert [block.type for block in first.blocks] == ["thinking", "text", "toolCall", "toolCall"]
    assert first.blocks[0].thinking == "First look."
    assert first.blocks[2].arguments == {"cmd": "ls"}
    assert (first.stop_reason, second.stop_reason) == ("toolUse", "stop")
    assert first.usage is not None and second.usage is not None
    assert (first.usage.input, first.usage.cache_read, first.usage.output, first.usage.total_tokens) == (
        50,
        40,
        10,
        100,
    )
    assert second.usage.total_tokens == 125
    assert session.reported_window == 258_400
    assert session.warnings == []


def test_the_header_says_what_pi_has_a_field_for_and_keeps_the_rest_apart() -> None:
    session = parsed(
        meta(timestamp="2026-02-03T07:59:00.000Z", source="cli", model_provider="azure", forked_from_id="other"),
        row("turn_context", {"model": "gpt-5.5"}),
        said("assistant", "Ready."),
    )
    assert (session.format, session.header.id, session.header.cwd) == ("codex", CODEX_ID, "/dock")
    raw = json.loads(session.header_raw)
    assert raw["timestamp"] == "2026-02-03T07:59:00.000Z"
    assert raw["importedFrom"] == {"format": "codex", "version": "0.145.0", "forkedFrom": "other", "source": "cli"}
    (_, reply) = replies(session)[0]
    assert (reply.provider, reply.model) == ("azure", "gpt-5.5")


def test_a_change_of_the_model_is_an_entry_and_a_repeated_model_is_none() -> None:
    contexts = [row("turn_context", {"model": name}) for name in ("gpt-5", "gpt-5", "", 7, "gpt-6")]
    session = parsed(meta(), *contexts, said("assistant", "Ready."))
    assert [b.model_id for b in bodies(session) if b.model_id] == ["gpt-5", "gpt-6"]
    assert replies(session)[0][1].model == "gpt-6"


@pytest.mark.parametrize(
    ("between", "count"),
    [
        (event("agent_message", message="One."), 1),
        (row("world_state", {"full": True}), 1),
        (report(None, None), 1),
        (said("user", "Go on."), 2),
        (said("developer", "Mind the tide."), 2),
        (event("turn_aborted", reason="interrupted"), 2),
        (row("turn_context", {"model": "gpt-6"}), 2),
        (report(counts(5, 0, 1), counts(5, 0, 1)), 2),
        (item("agent_message", content=[{"type": "input_text", "text": "mail"}]), 2),
    ],
)
def test_a_reply_ends_where_another_speaks_or_its_usage_is_reported(between: Row, count: int) -> None:
    session = parsed(meta(), said("assistant", "One."), between, said("assistant", "Two."))
    assert len(replies(session)) == count


def test_the_model_goes_on_in_another_message_after_a_result() -> None:
    rows = [call("c1"), output("c1"), said("assistant", "Next."), call("c2"), output("c2")]
    session = parsed(meta(), *rows, report(counts(50, 0, 5), counts(50, 0, 5)))
    assert [told(m) for _, m in replies(session)] == [
        "assistant:  exec_command(c1)",
        "assistant: Next. exec_command(c2)",
    ]
    assert [m.usage.total_tokens for _, m in replies(session) if m.usage is not None] == [0, 55]


@pytest.mark.parametrize("order", [(0, 1, 2), (0, 2, 1)], ids=["report first", "result first"])
def test_usage_goes_to_the_reply_wherever_its_results_stand(order: tuple[int, ...]) -> None:
    rows = [call("c1"), report(counts(50, 0, 5), counts(50, 0, 5)), output("c1")]
    session = parsed(meta(), said("user", "Go."), *(rows[n] for n in order))
    assert [m.usage.total_tokens for _, m in replies(session) if m.usage is not None] == [55]
    assert context(session)[1:] == ["assistant:  exec_command(c1)", "toolResult c1: done"]


INJECTED = [
    ("<environment_context>\n  <cwd>/dock</cwd>\n</environment_context>", "environment_context"),
    ("\n <ENVIRONMENT_CONTEXT>x", "environment_context"),
    ("<user_instructions>\nUse tabs.\n</user_instructions>", "user_instructions"),
    ("# AGENTS.md instructions for /dock\n\n<INSTRUCTIONS>", "agents_md"),
    ("<turn_aborted>\nThe user stopped it.", "turn_aborted"),
    ('<hook_prompt hook_run_id="h1">Check.</hook_prompt>', "hook_prompt"),
    ("<user_shell_command>\n<command>ls</command>", "user_shell_command"),
    ("<subagent_notification>{}</subagent_notification>", "subagent_notification"),
    ('<codex_internal_context source="goal">\nGo on.\n</codex_internal_context>', "codex_internal_context"),
    ("<goal_context>\nGo on.\n</goal_context>", "goal_context"),
    ("<external_editor>\nmap.py is open\n</external_editor>", "external_editor"),
    ("Warning: apply_patch was requested via shell. Use the apply_patch tool instead of exec_command.", "warning"),
    ("Warning: the harbor is closed", None),
    ("<div>Why is this centred?</div>", None),
    ("<image name=[Image #1]>", None),
    ("AGENTS.md is out of date", None),
    ("See <environment_context> above", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "kind"), INJECTED)
def test_what_codex_put_into_a_users_message_is_not_the_users(text: str, kind: str | None) -> None:
    assert injected_kind(text) == kind
    (body,) = bodies(parsed(meta(), said("user", text)))
    if kind is None:
        assert body.message is not None and body.message.role == "user"
    else:
        assert (body.custom_type, body.content) == (f"codex.{kind}", body.content)


def test_a_users_message_with_injected_parts_is_taken_apart() -> None:
    session = parsed(meta(), said("user", "<environment_context>x", "Load it.", "<skill>y</skill>", "Now."))
    assert context(session) == ["custom: <environment_context>x\n<skill>y</skill>", "user: Load it.\nNow."]
    assert bodies(session)[0].custom_type == "codex.environment_context"


def test_what_others_told_the_model_is_in_the_context_and_hidden_in_the_talk() -> None:
    mail = item(
        "agent_message",
        author="/root",
        recipient="/root/mate",
        content=[
            {"type": "input_text", "text": "Check berth 4."},
            {"type": "encrypted_content", "encrypted_content": "A"},
        ],
    )
    odd = item("message", role=7, content="odd")
    session = parsed(meta(), said("developer", "Read only."), mail, odd, item("agent_message", content=[]))
    assert context(session) == ["custom: Read only.", "custom: Check berth 4.", "custom: odd"]
    assert [b.custom_type for b in bodies(session)] == ["codex.developer", "codex.agent_message", "codex.unknown"]
    wires = [entry.wire() for entry in session.entries]
    assert [wire["display"] for wire in wires] == [False, False, False]
    assert wires[1]["details"] == {"author": "/root", "recipient": "/root/mate"}
    assert codes(session) == ["content_left_out"]


MAIL = {"author": "/root/mate", "recipient": "/root", "other_recipients": [], "content": "Berth 4 is free."}


def test_mail_of_other_agents_is_in_the_context_however_it_was_written() -> None:
    """As a row of its own, as an item, and as JSON among the assistant's messages (0.11x to 0.13x)."""
    mail = json.dumps(MAIL | {"trigger_turn": False})
    rows = [
        row("inter_agent_communication", MAIL | {"trigger_turn": True}),
        said("assistant", mail),
        row("inter_agent_communication", MAIL | {"content": "", "encrypted_content": "AAAA"}),
    ]
    session = parsed(meta(), said("user", "Wait."), *rows, said("assistant", "It is free."))
    assert context(session) == ["user: Wait.", "custom: Berth 4 is free.", f"custom: {mail}", "assistant: It is free."]
    notes = [entry.wire() for entry in session.entries if entry.type == "custom_message"]
    assert [note["customType"] for note in notes] == ["codex.agent_message", "codex.agent_message"]
    assert [note["details"] for note in notes] == [{"author": "/root/mate", "recipient": "/root"}] * 2
    assert codes(session) == ["content_left_out"]


@pytest.mark.parametrize(
    "text",
    [
        '{"trigger_turn": true',
        '{"trigger_turn": true}',
        '{"author": "/root", "recipient": 1, "trigger_turn": true}',
        '{"author": "/root", "recipient": "/root/mate", "content": "x"}',
        'Use "trigger_turn": true here.',
    ],
)
def test_a_reply_that_is_no_mail_stays_the_models(text: str) -> None:
    assert context(parsed(meta(), said("assistant", text))) == [f"assistant: {text}"]


def test_a_note_of_what_a_script_said_is_no_second_reply() -> None:
    note = said("assistant", "Moored.") | {"metadata": {"delivered_assistant_message": "v1:complete"}}
    other = said("assistant", "And fed.") | {"metadata": {"client_authored": True}}
    session = parsed(meta(), said("assistant", "Moored."), note, other)
    assert context(session) == ["assistant: Moored.\nAnd fed."]


def test_reasoning_that_cannot_be_read_is_counted_and_opens_the_reply_all_the_same() -> None:
    session = parsed(
        meta(),
        item("reasoning", summary=[], encrypted_content="AAAA"),
        report(counts(50, 0, 5), counts(50, 0, 5)),
        item("reasoning", summary=None, content=[{"type": "reasoning_text", "text": "Tide first."}]),
    )
    assert codes(session) == ["hidden_reasoning"]
    first, second = (message for _, message in replies(session))
    assert first.blocks == [] and first.usage is not None and first.usage.total_tokens == 55
    assert [block.thinking for block in second.blocks] == ["Tide first."]


def test_the_name_of_a_thread_is_the_name_of_the_session() -> None:
    session = parsed(meta(), event("thread_name_updated", thread_name="Crane"), event("thread_name_updated"))
    assert [entry.wire()["name"] for entry in session.entries] == ["Crane"]


# Compactions.


def test_what_replaced_the_history_is_the_context_after_a_compaction() -> None:
    history = [
        said("user", "Load the crane."),
        said("assistant", "Done so far."),
        said("user", "<environment_context>"),
    ]
    session = parsed(
        meta(base_instructions={"text": "You load ships."}),
        *TALK,
        replaced(*history, item("compaction", encrypted_content="AAAA")),
        report(counts(900, 0, 100), counts(0, total=300)),
        event("context_compacted"),
        said("assistant", "Going on."),
    )
    assert context(session) == [
        "system: You load ships.",
        f"compactionSummary: {ENCRYPTED_SUMMARY}",
        "user: Load the crane.",
        "assistant: Done so far.",
        "custom: <environment_context>",
        "assistant: Going on.",
    ]
    (entry,) = (entry for entry in session.entries if entry.type == "compaction")
    wire = entry.wire()
    assert (wire["firstKeptEntryId"], wire["fromHook"], wire["tokensBefore"]) == (entry.id, True, 1000)
    assert wire["details"] == {"source": "codex", "tokensAfter": 300}
    assert (wire["provider"], wire["model"]) == ("openai", "unknown")
    marked = [e.wire().get("importedFrom") for e in session.entries]
    assert marked == [None] * 4 + ["replacement_history"] * 3 + [None]
    assert codes(session) == ["encrypted_summary"]
    assert context(session, session.entries[2].id)[-1] == "assistant: Loaded."


@pytest.mark.parametrize(
    ("message", "items", "summary", "kept"),
    [
        ("The crane is loaded.", [], "The crane is loaded.", []),
        ("Sum.", [said("user", "Go."), said("user", "Sum.")], "Sum.", ["user: Go."]),
        ("Sum.", [said("user", "Sum."), said("user", "Sum.")], "Sum.", ["user: Sum."]),
        ("Sum.", [said("assistant", "Sum."), said("user", "Go.")], "Sum.", ["assistant: Sum.", "user: Go."]),
        (
            "",
            [said("user", "Go."), said("user", f"{SUMMARY_OPENING}.\nSo.")],
            f"{SUMMARY_OPENING}.\nSo.",
            ["user: Go."],
        ),
        ("", [said("user", "Go.")], UNWRITTEN_SUMMARY, ["user: Go."]),
        ("", [], UNWRITTEN_SUMMARY, []),
        ("", [item("context_compaction", encrypted_content="A")], ENCRYPTED_SUMMARY, []),
    ],
)
def test_a_summary_that_can_be_read_is_shown_once(
    message: str, items: list[Row], summary: str, kept: list[str]
) -> None:
    session = parsed(meta(), *TALK, replaced(*items, message=message))
    assert context(session) == [f"compactionSummary: {summary}", *kept]


def test_older_compactions_keep_the_summary_and_the_users_newest_messages() -> None:
    long = "ä" * (KEPT_USER_BYTES // 4)
    asked = [said("user", text) for text in ("Oldest.", f"a{long}z", "<environment_context>", long, "Newest.")]
    session = parsed(meta(), *asked, said("assistant", "Hm."), row("compacted", {"message": "Sum."}))
    summary, shortened, kept, newest = messages(session)
    assert summary.summary == "Sum."
    assert (kept.text(), newest.text()) == (long, "Newest.")
    start, mark, end = shortened.text().split("\n")
    assert mark == "[…]" and start.startswith("aä") and end.endswith("äz")
    assert len((start + end).encode()) in range(KEPT_USER_BYTES // 2 - 20, KEPT_USER_BYTES // 2 + 1)
    again = [row("compacted", {"message": "Sum 2.", "replacement_history": None})]
    session = parsed(meta(), said("user", "One."), *again, said("user", "Two."), *again)
    assert context(session) == ["compactionSummary: Sum 2.", "user: One.", "user: Two."]


def test_a_message_that_fills_what_may_stay_leaves_no_room_for_an_older_one() -> None:
    full = "x" * KEPT_USER_BYTES
    session = parsed(meta(), said("user", "Old."), said("user", full), row("compacted", {"message": "Sum."}))
    assert [len(m.text()) for m in messages(session)] == [0, KEPT_USER_BYTES]


def test_a_request_that_no_reply_accounts_for_right_before_a_compaction_was_its_own() -> None:
    request = report(counts(1700, 800, 150), counts(800, 800, 50))
    session = parsed(meta(), *TALK, request, row("turn_context", {}), replaced(message="Sum."), said("user", "On."))
    (body,) = (b for e, b in zip(session.entries, bodies(session), strict=True) if e.type == "compaction")
    assert body.usage is not None and body.usage.total_tokens == 850
    assert [e.type for e in session.entries] == ["message", "message", "compaction", "message"]
    assert ledger(session) == [1700, 800, 150, 1850]


def test_requests_after_a_compaction_and_before_a_reply_are_its_own_or_nobodys() -> None:
    second, third = counts(1700, 800, 150), counts(1800, 800, 160)
    session = parsed(
        meta(),
        *TALK,
        replaced(message="Sum."),
        report(second, counts(800, 800, 50)),
        report(third, counts(100, 0, 10)),
        *turns("On"),
        report(counts(2000, 800, 170), counts(200, 0, 10)),
    )
    held = [(e.type, int(u.total_tokens)) for e in session.entries if (u := e.body.usage) is not None]
    assert held == [("compaction", 850), ("usage", 110)]
    assert ledger(session) == [2000, 800, 170, 2170]
    assert context_size(session, session.entries[-1]) == 210


# Rollbacks.


@pytest.mark.parametrize(
    ("count", "left"),
    [
        (1, ["One", "Two"]),
        (2, ["One"]),
        (3, []),
        (9, []),
        (0, ["One", "Two", "Three"]),
        (-1, ["One", "Two", "Three"]),
        (True, ["One", "Two", "Three"]),
        (None, ["One", "Two", "Three"]),
    ],
)
def test_a_rollback_takes_the_last_turns_out_of_the_context_and_keeps_them_in_the_tree(
    count: Any, left: list[str]
) -> None:
    rolled = event("thread_rolled_back", num_turns=count)
    session = parsed(meta(), said("developer", "Rules."), *turns("One", "Two", "Three"), rolled, *turns("Four"))
    kept = [f"{role}: {text}" for name in left for role, text in (("user", name), ("assistant", f"{name} done"))]
    assert context(session) == ["custom: Rules.", *kept, "user: Four", "assistant: Four done"]
    assert len(session.entries) == 9


def test_what_codex_put_before_a_turn_goes_with_it() -> None:
    before = [
        said("developer", "Now read only."),
        said("user", "<environment_context>"),
        row("turn_context", {"model": "m"}),
    ]
    rolled = event("thread_rolled_back", num_turns=1)
    session = parsed(meta(), *turns("One"), *before, *turns("Two"), rolled, said("user", "Three"))
    assert context(session) == ["user: One", "assistant: One done", "user: Three"]


def test_a_rollback_goes_no_further_back_than_the_compaction() -> None:
    rolled = event("thread_rolled_back", num_turns=5)
    session = parsed(meta(), *turns("One"), replaced(said("user", "One")), *turns("Two"), rolled, said("user", "Three"))
    assert context(session) == [f"compactionSummary: {UNWRITTEN_SUMMARY}", "user: Three"]


def test_usage_after_a_rollback_is_not_that_of_the_reply_that_it_took_back() -> None:
    rolled = event("thread_rolled_back", num_turns=1)
    session = parsed(meta(), *turns("One"), rolled, report(counts(50, 0, 5), counts(50, 0, 5)))
    assert [e.type for e in session.entries] == ["message", "message", "usage"]
    assert replies(session)[0][1].usage is not None and context_size(session, replies(session)[0][0]) < 50


# Files.


def test_files_of_before_september_2025_hold_bare_items() -> None:
    rows: list[Row] = [
        {"id": "old-1", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None, "git": {}},
        {"record_type": "state"},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Load it."}]},
        {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}', "call_id": "c1"},
        {"record_type": "state"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"output":"x","metadata":{"exit_code":0}}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Loaded."}]},
    ]
    session = parsed(*rows)
    assert (session.format, session.header.id, session.warnings) == ("codex", "old-1", [])
    assert context(session) == ["user: Load it.", "assistant:  shell(c1)", "toolResult c1: x", "assistant: Loaded."]
    assert {b.timestamp for b in bodies(session)} == {"2025-08-01T10:00:00.000Z"}


@pytest.mark.parametrize(
    ("rows", "folder"),
    [
        ([said("user", "<environment_context>\n  <cwd>/old/dock</cwd>\n</environment_context>")], "/old/dock"),
        (
            [said("user", "<environment_context>\nCurrent working directory: C:\\dock\nApproval policy: never")],
            "C:\\dock",
        ),
        ([said("user", "Load it.", "<environment_context><shell>zsh</shell>")], ""),
        ([row("turn_context", {"cwd": "/turn"}), said("user", "<environment_context><cwd>/late</cwd>")], "/turn"),
        ([row("turn_context", {"cwd": 1}), row("response_item", 1), item("reasoning")], ""),
        (
            [
                said("user", "<cwd>/quoted</cwd>"),
                item("message", content=[{"type": "input_image", "image_url": "data:,"}]),
            ],
            "",
        ),
    ],
    ids=["tag", "older line", "not told", "first turn", "nothing to read", "no environment"],
)
def test_a_head_without_a_folder_leaves_it_to_what_the_model_was_told(rows: list[Row], folder: str) -> None:
    head: Row = {"id": "old-1", "timestamp": "2025-08-01T10:00:00.000Z", "instructions": None}
    assert parsed(head, *rows).header.cwd == folder
    assert parsed(meta(), *rows).header.cwd == "/dock"


@pytest.mark.parametrize(
    ("base", "said_of_it"),
    [
        ({"thread_id": "t1", "end_ordinal_exclusive": 412}, "older rows that are in another file, of thread t1: 412"),
        ({"thread_id": 1, "end_ordinal_exclusive": True}, "older rows that are in another file, of another thread: 1"),
        (None, None),
    ],
)
def test_history_that_is_in_another_file_is_warned_of(base: Any, said_of_it: str | None) -> None:
    session = parsed(meta(history_base=base), said("user", "Go on."))
    wanted = [] if said_of_it is None else [f"{said_of_it} left out, first on line 1"]
    assert [w.message for w in session.warnings if w.code == "inherited_history"] == wanted
    assert context(session) == ["user: Go on."]


def test_base_instructions_may_be_a_plain_text() -> None:
    for given_as in ("Mind the tide.", {"text": "Mind the tide."}):
        assert [b.message.text() for b in bodies(parsed(meta(base_instructions=given_as))) if b.message] == [
            "Mind the tide."
        ]


def test_a_file_without_a_head_gets_an_id_of_its_own() -> None:
    one, two = parsed(said("user", "One.")), parsed(said("user", "Two."))
    assert one.header.id.startswith("codex-") and one.header.id != two.header.id
    assert one.entries[0].id != two.entries[0].id
    assert parsed(said("user", "One.")).entries[0].id == one.entries[0].id


def test_rows_and_items_of_unknown_types_are_counted_and_do_no_harm() -> None:
    session = parsed(
        meta(),
        row("hologram", {}),
        row("hologram", {}),
        {"type": ["x"], "payload": {}},
        {"type": "turn_context"},
        row("response_item", "text"),
        item("teleport_call", call_id="c1"),
        item("ghost_snapshot", ghost_commit={}),
        row("realtime_item", {"id": "r1"}),
        row("response_item", {"type": {}}),
        said("user", "Still here."),
    )
    assert context(session) == ["user: Still here."]
    assert sorted(codes(session)) == sorted(
        ["unknown_row", "unknown_row", "unreadable_row", "unreadable_row", "unknown_item", "unknown_item", "side_rows"]
    )
    told_rows = [w.message for w in session.warnings if w.code == "unknown_row"]
    assert told_rows[0] == "rows of the unknown type 'hologram': 2 left out, first on line 2"


@pytest.mark.parametrize("data", [b"", b"\n\n", b"text", b'{"a":1}\n', b"[1]", b'{"type":"response_item"}'])
def test_a_file_without_rows_of_codex_is_no_session(data: bytes) -> None:
    with pytest.raises(SessionError, match="expected a Codex rollout"):
        parse_codex(data, path="x.jsonl")


def test_damaged_lines_cost_no_more_than_what_they_lost() -> None:
    head, *rest = (row_line(r) for r in (meta(), said("user", "One."), said("user", "Two."), said("user", "Three.")))
    data = head + rest[0][:-1] + rest[1] + rest[2][:-30]
    session = parse_codex(data, path="x.jsonl")
    assert context(session) == ["user: One.", "user: Two."]
    assert session.torn_tail
    assert {"fused_lines", "damaged_line"} <= set(codes(session))


def test_lone_surrogates_and_deep_arguments_survive() -> None:
    deep = "[" * 400 + "]" * 400
    session = parsed(meta(), said("user", "a\ud83dz"), call("c\udc00", "wait\ud83d", note="\ud83d"), output("c\udc00"))
    assert context(session)[1:] == ["assistant:  wait\ud83d(c\udc00)", "toolResult c\udc00: done"]
    given = item("function_call", name="wait", arguments=f'{{"a":{deep}}}', call_id="c1")
    assert context(parsed(meta(), given, output("c1")))[-1] == "toolResult c1: done"


KINDS = st.sampled_from(
    ["session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state", "message", "reasoning"]
)
ITEM_KINDS = st.sampled_from(
    [
        *("message", "reasoning", "function_call", "function_call_output", "custom_tool_call", "tool_search_output"),
        *("local_shell_call", "web_search_call", "image_generation_call", "tool_search_call", "agent_message"),
        *("compaction", "token_count", "turn.completed", "task_started", "turn_aborted", "thread_rolled_back"),
    ]
)
FIELDS = st.sampled_from(
    [
        *("role", "content", "summary", "name", "arguments", "input", "call_id", "id", "output", "action", "result"),
        *("info", "usage", "num_turns", "message", "replacement_history", "model", "base_instructions", "tools"),
        *("forked_from_id", "timestamp", "turn_id", "model_context_window", "last_token_usage", "total_token_usage"),
    ]
)
IDS = st.sampled_from(["c1", "c2", "", "assistant", "user", "developer"])
parts = st.recursive(
    st.one_of(json_values, IDS, st.integers(0, 9)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.builds(
            lambda kind, fields: {"type": kind, **fields}, ITEM_KINDS, st.dictionaries(FIELDS, inner, max_size=4)
        ),
        st.builds(lambda text: {"type": "input_text", "text": text}, texts),
    ),
    max_leaves=8,
)
shaped_rows = st.builds(
    lambda kind, time, payload: {"timestamp": time, "type": kind, "payload": payload},
    st.one_of(KINDS, json_values),
    st.one_of(st.sampled_from(["2026-02-03T08:00:00Z", "2026-02-03T09:00:00Z"]), json_values),
    st.one_of(
        st.builds(
            lambda kind, fields: {"type": kind, **fields}, ITEM_KINDS, st.dictionaries(FIELDS, parts, max_size=5)
        ),
        st.dictionaries(FIELDS, parts, max_size=5),
        json_values,
    ),
)


@given(rows=st.lists(st.one_of(shaped_rows, shaped_rows, st.dictionaries(texts, json_values, max_size=3)), max_size=7))
def test_any_rows_are_a_session_or_a_plain_refusal(rows: list[Row]) -> None:
    try:
        session = parsed(*rows)
    except SessionError as error:
        assert "\n" not in str(error)
        return
    ids = [entry.id for entry in session.entries]
    assert len(set(ids)) == len(ids)
    for entry in session.entries:
        assert entry.wire()["id"] == entry.id
    list(project(active_branch(session, find_leaf(session, None))).messages())


@given(data=st.binary(max_size=60))
def test_any_bytes_are_a_session_or_a_plain_refusal(data: bytes) -> None:
    try:
        parse_codex(row_line(meta()) + data, path="x.jsonl")
    except SessionError:
        pytest.fail("the first row is a session's")


# The command line.


def test_the_commands_take_a_rollout(tmp_path: Path) -> None:
    path, made = tmp_path / "rollout.jsonl", tmp_path / "pi.jsonl"
    rows = [meta(), *TALK, replaced(said("user", "Load the crane."), message="Sum."), *turns("Two")]
    path.write_bytes(b"".join(map(row_line, rows)))
    plan = run("plan", path, "--json", "--leaf", "#1").objects[0]
    assert (plan["session"]["format"], plan["contextTokens"], plan["usageTokens"]) == ("codex", 1000, 1000)
    assert plan["settings"]["contextWindow"] == 258_400
    assert run("convert", path, "--output", made).code == 0
    assert context(read_session(str(made))) == context(read_session(str(path)))
    assert "does not compact" in run("plan", path).out


# Real rollouts, checked against the raw rows.


def raw_rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line]


def changes_of_usage(rows: list[Row]) -> Iterator[tuple[int, Row]]:
    """(position, info) of each event whose cumulative counts are new."""
    before: Any = None
    for n, found in enumerate(rows):
        info = (found["payload"].get("info") if found["payload"].get("type") == "token_count" else None) or {}
        total = info.get("total_token_usage")
        if total and total["total_tokens"] and total != before:
            before = total
            yield n, info


def is_fork(path: Path) -> bool:
    return "fork" in path.name


@on_rollouts
@each_rollout
def test_real_rollouts_add_up_to_their_last_cumulative_counts(path: Path) -> None:
    reported = [info["total_token_usage"] for _, info in changes_of_usage(raw_rows(path))]
    if not reported:
        pytest.skip("no cumulative counts")
    last, copied = reported[-1], reported[-2] if is_fork(path) else {}
    names = ("input_tokens", "cached_input_tokens", "output_tokens", "total_tokens")
    assert ledger(read_session(str(path))) == [last[name] - copied.get(name, 0) for name in names]


@on_rollouts
@each_rollout
def test_real_rollouts_have_the_reported_context_at_every_reply_that_it_was_reported_for(path: Path) -> None:
    session = read_session(str(path))
    rows = raw_rows(path)
    sizes = [info["last_token_usage"]["total_tokens"] for _, info in changes_of_usage(rows)]
    wanted = sizes[-1:] if is_fork(path) else sizes
    found = [
        (e, int(m.usage.total_tokens)) for e, m in replies(session) if m.usage is not None and m.usage.total_tokens
    ]
    if any(r["payload"].get("role") == "assistant" for r in rows):
        assert [size for _, size in found] == wanted
    assert [context_size(session, entry) for entry, _ in found] == [size for _, size in found]


@on_rollouts
@each_rollout
def test_real_rollouts_keep_every_text_once_and_pair_every_result(path: Path) -> None:
    session = read_session(str(path))
    items = [r["payload"] for r in raw_rows(path) if r["type"] == "response_item"]
    raw = Counter(
        part["text"]
        for found in items
        if found["type"] == "message"
        for part in found["content"]
        if isinstance(part.get("text"), str)
    )
    kept: Counter[str] = Counter()
    calls: set[str] = set()
    for entry in session.entries:
        body = entry.body
        if entry.wire().get("importedFrom") == "replacement_history" or entry.role in ("system", "toolResult"):
            continue
        if body.message is not None:
            kept.update(block.text for block in body.message.blocks if block.type == "text" and block.text is not None)
            calls.update(block.id for block in body.message.tool_calls if block.id)
        elif isinstance(body.content, list) and body.custom_type != "codex.agent_message":
            kept.update(block.text for block in body.content if block.text is not None)
    assert kept == raw
    answered = {b.message.tool_call_id for b in bodies(session) if b.message is not None and b.message.tool_call_id}
    asked = {found["call_id"] for found in items if found["type"].endswith("_call") and "call_id" in found}
    assert asked <= calls
    assert {found["call_id"] for found in items if found["type"].endswith("_output")} <= answered
    assert answered <= calls


@on_rollouts
@each_rollout
def test_real_rollouts_continue_a_compaction_with_what_replaced_the_history(path: Path) -> None:
    rows = [r for r in raw_rows(path) if r["type"] in ("compacted", "response_item")]
    session = read_session(str(path))
    compactions = [entry for entry in session.entries if entry.type == "compaction"]
    histories = [r["payload"]["replacement_history"] for r in rows if r["type"] == "compacted"]
    assert len(compactions) == len(histories)
    for entry, history in zip(compactions, histories, strict=True):
        wanted = [p["text"] for i in history if i["type"] == "message" for p in i["content"] if "text" in p]
        marked = [e for e in session.entries[entry.index + 1 :] if e.line == entry.line]
        shown = messages(session, marked[-1].id if marked else entry.id)
        talk = [
            m for m in shown if m.role in ("user", "assistant", "custom") and m.custom_type != "codex.agent_message"
        ]
        found = [block.text for m in talk for block in m.blocks]
        single = [i["content"][0].get("text") for i in history if i.get("role") == "user" and len(i["content"]) == 1]
        if entry.body.summary in single:
            wanted.remove(entry.body.summary)
        assert [text for text in found if text is not None and not text.startswith("[image: ")] == wanted
