"""One compaction from start to end: which events go out, when the entry is written, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
from builders import SessionBuilder, image, usage
from command_line import long_session
from hypothesis import given
from hypothesis import strategies as st
from replies import PREFIX_REPLY, WHOLE_REPLY, options
from strategies import sessions

from compactor.branch import active_branch, find_leaf
from compactor.engine import Compacted, Effects, compact, summary_source
from compactor.errors import ModelAborted, ModelError, SessionChanged
from compactor.events import EntryStamp, Event, Reason, json_line
from compactor.formats.pi import parse_session
from compactor.messages import Usage
from compactor.model import (
    ModelRequest,
    ModelResponse,
    Notice,
    Observer,
    RetryFinished,
    RetryScheduled,
    RetryStarted,
    Streamed,
)
from compactor.plan import CompactionPlan, Skip
from compactor.planned import Planned, plan_branch
from compactor.settings import CompactionSettings
from compactor.tokens import PiCounter
from compactor.writable import write_problem

STAMP = EntryStamp(id="c0ffee01", timestamp="2026-03-01T12:00:00.000Z", milliseconds=1772366400000)
REASONS: tuple[Reason, ...] = ("manual", "threshold", "overflow")
RETRIES = (
    RetryScheduled(attempt=1, max_attempts=3, delay_ms=2000, error_message="busy"),
    RetryStarted(),
    RetryFinished(),
)

Answer = str | ModelResponse | BaseException


@dataclass(slots=True)
class Answering:
    """A client with answers in order, the last of which repeats; an exception is raised."""

    answers: Sequence[Answer] = ()
    notices: Sequence[Notice] = ()
    asked: list[ModelRequest] = field(default_factory=list)

    name = "answering"
    model = None

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        self.asked.append(request)
        for notice in self.notices:
            observe(notice)
        fitting = PREFIX_REPLY if request.kind == "turn_prefix" else WHOLE_REPLY
        answers = self.answers or (fitting,)
        answer = answers[min(len(self.asked), len(answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return ModelResponse(text=answer) if isinstance(answer, str) else answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A compaction and what it did, in order: events by type, and `commit`."""

    done: Compacted
    events: list[Event]
    order: list[str]
    lines: list[bytes]


def planned(
    builder: SessionBuilder, *, keep: int = 300, exact: bool = False, leaf: str | None = None, **settings: Any
) -> Planned:
    """The plan of a session's last branch, or of that of a leaf."""
    session = builder.session(exact=exact)
    chosen = CompactionSettings(keep_recent_tokens=keep, **settings)
    return plan_branch(session, active_branch(session, find_leaf(session, leaf)), PiCounter(), chosen, exact=exact)


def run(
    plan: Planned,
    client: Answering,
    reason: Reason = "manual",
    commit: Callable[[bytes], None] | None = lambda line: None,
    **summary: Any,
) -> Run:
    """Compacts, and notes what happens in which order."""
    events: list[Event] = []
    order: list[str] = []
    lines: list[bytes] = []

    def emit(event: Event) -> None:
        events.append(event)
        order.append(event["type"])

    def committed(line: bytes) -> None:
        order.append("commit")
        lines.append(line)
        assert commit is not None
        commit(line)

    effects = Effects(client=client, emit=emit, stamp=STAMP, commit=None if commit is None else committed)
    done = compact(plan, options(**summary), reason, effects)
    return Run(done=done, events=events, order=order, lines=lines)


def no_commit(line: bytes) -> None:
    """A commit that must not be reached."""
    raise AssertionError(line)


@pytest.mark.parametrize("reason", REASONS)
def test_a_success_starts_commits_and_then_ends(reason: Reason) -> None:
    ran = run(planned(long_session()), Answering(), reason)
    assert ran.order == ["compaction_start", "commit", "compaction_end"]
    assert ran.events[0] == {"type": "compaction_start", "reason": reason}
    end = ran.events[-1]
    assert (end["reason"], end["aborted"], end["willRetry"]) == (reason, False, reason == "overflow")
    assert "errorMessage" not in end


def test_without_a_commit_the_line_is_only_given_back() -> None:
    ran = run(planned(long_session()), Answering(), commit=None)
    assert ran.order == ["compaction_start", "compaction_end"]
    assert ran.done.entry is not None
    assert ran.done.line == json_line(ran.done.entry)


def test_the_entry_says_what_the_end_event_says() -> None:
    plan = planned(long_session())
    ran = run(plan, Answering(["## Goal\nMove crane 3.", PREFIX_REPLY]))
    entry, result = ran.done.entry, ran.events[-1]["result"]
    assert entry is not None
    shared = ("summary", "firstKeptEntryId", "tokensBefore", "details")
    assert {name: entry[name] for name in shared} == {name: result[name] for name in shared}
    assert (entry["id"], entry["timestamp"]) == (STAMP.id, STAMP.timestamp)
    assert entry["parentId"] == plan.session.entries[-1].id
    assert ran.lines == [ran.done.line]


def test_tokens_after_are_those_of_the_session_with_the_entry() -> None:
    builder = long_session()
    builder.user([image(), {"type": "text", "text": "And this?"}])
    ran = run(planned(builder), Answering())
    assert ran.done.line is not None and ran.done.result is not None
    again = parse_session(builder.data() + ran.done.line)
    measured = plan_branch(again, active_branch(again, find_leaf(again, None)), PiCounter(), CompactionSettings())
    assert ran.done.result.estimated_tokens_after == sum(m.tokens for m in measured.measured.measures)
    assert ran.done.result.estimated_tokens_after < ran.done.result.tokens_before


SKIPS: dict[str, tuple[Callable[[], SessionBuilder], dict[str, Any]]] = {
    "no_messages": (SessionBuilder, {}),
    "nothing_to_compact": (long_session, {"keep": 100_000}),
    "already_compacted": (lambda: compacted(long_session()), {}),
    "kept_tail_over_limit": (long_session, {"context_window": 400, "reserve_tokens": 100}),
}


def compacted(builder: SessionBuilder) -> SessionBuilder:
    """The session with a compaction as its newest entry."""
    builder.compaction(builder.rows[-1]["id"])
    return builder


@pytest.mark.parametrize("reason", SKIPS)
def test_a_manual_run_with_nothing_to_do_says_so_in_its_end_event(reason: str) -> None:
    make, settings = SKIPS[reason]
    plan = planned(make(), **settings)
    assert isinstance(plan.plan, Skip)
    assert plan.plan.reason == reason
    client = Answering()
    ran = run(plan, client, commit=no_commit)
    assert ran.order == ["compaction_start", "compaction_end"]
    assert ran.events[1]["errorMessage"] == f"Compaction failed: {ran.done.error}"
    assert "result" not in ran.events[1]
    assert client.asked == []
    assert ran.done.line is None


@pytest.mark.parametrize("reason", SKIPS)
@pytest.mark.parametrize("automatic", ["threshold", "overflow"])
def test_an_automatic_run_with_nothing_to_do_emits_nothing(reason: str, automatic: Reason) -> None:
    make, settings = SKIPS[reason]
    client = Answering()
    ran = run(planned(make(), **settings), client, automatic, no_commit)
    assert (ran.order, client.asked) == ([], [])
    assert ran.done.error


BAD_REPLIES = {
    "nothing": ModelResponse(text=""),
    "blanks": ModelResponse(text=" \n\t\n"),
    "thinking only": ModelResponse(text="", thinking=True),
    "cut short": ModelResponse(text="## Goal\nMove cra", stop_reason="length"),
    "tool call beside text": ModelResponse(text=WHOLE_REPLY, stop_reason="toolUse", tool_calls=("read",)),
    "error": ModelResponse(text="", stop_reason="error", error_message="overloaded"),
    "aborted by the server": ModelResponse(text="## Goal", stop_reason="aborted"),
    "echo": ModelResponse(text="<conversation>\n[User]: x\n</conversation>"),
}


@pytest.mark.parametrize("reason", REASONS)
@pytest.mark.parametrize("reply", BAD_REPLIES.values(), ids=BAD_REPLIES)
def test_a_bad_reply_ends_with_a_message_and_without_a_commit(reply: ModelResponse, reason: Reason) -> None:
    ran = run(planned(long_session()), Answering([reply]), reason, no_commit)
    assert ran.order == ["compaction_start", "compaction_end"]
    end = ran.events[-1]
    assert (end["aborted"], end["willRetry"]) == (False, False)
    assert ran.done.error is not None and end["errorMessage"].endswith(f": {ran.done.error}")
    assert "result" not in end
    assert (ran.done.result, ran.done.line) == (None, None)


def test_a_bad_second_reply_spoils_the_whole_summary() -> None:
    builder = long_session()
    call = {"type": "toolCall", "id": "z", "name": "read", "arguments": {"path": "tide.md"}}
    builder.user("Look at the tide. " * 30)
    builder.assistant("A long look at it. " * 30, call)
    builder.result("z", "High. " * 30)
    builder.assistant("It is high. " * 60)
    plan = planned(builder, keep=100)
    assert isinstance(plan.plan, CompactionPlan) and plan.plan.is_split_turn
    client = Answering([WHOLE_REPLY, ModelResponse(text="half", stop_reason="length")])
    ran = run(plan, client, commit=no_commit)
    assert len(client.asked) == 2
    assert ran.order == ["compaction_start", "compaction_end"]


FAILURES: list[tuple[BaseException, dict[str, Any]]] = [
    (ModelError("the server said 500", kind="server", retryable=True), {"aborted": False}),
    (KeyboardInterrupt(), {"aborted": True}),
    (ModelAborted(), {"aborted": True}),
]


@pytest.mark.parametrize(("failure", "expected"), FAILURES, ids=lambda case: type(case).__name__)
def test_a_client_that_fails_ends_with_a_message_and_a_stopped_one_as_aborted(
    failure: BaseException, expected: dict[str, Any]
) -> None:
    ran = run(planned(long_session()), Answering([failure]), commit=no_commit)
    assert ran.order == ["compaction_start", "compaction_end"]
    message = {} if expected["aborted"] else {"errorMessage": f"Compaction failed: {failure}"}
    end = {"type": "compaction_end", "reason": "manual", **expected, "willRetry": False, **message}
    assert ran.events[-1] == end
    assert ran.done.aborted == expected["aborted"]


def test_an_error_that_nobody_planned_is_not_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        run(planned(long_session()), Answering([ZeroDivisionError()]), commit=no_commit)


def test_when_the_commit_fails_the_end_event_does_not_claim_success() -> None:
    def refuse(line: bytes) -> None:
        raise SessionChanged("the file changed")

    ran = run(planned(long_session()), Answering(), commit=refuse)
    assert ran.order == ["compaction_start", "commit", "compaction_end"]
    assert ran.events[-1]["errorMessage"] == "Compaction failed: the file changed"
    assert (ran.done.error, ran.done.result, ran.done.line) == ("the file changed", None, None)


def test_retries_come_between_start_and_end_and_progress_does_not() -> None:
    ran = run(planned(long_session()), Answering(notices=[Streamed(chars=3), *RETRIES, Streamed(chars=9)]), "threshold")
    assert ran.order == [
        "compaction_start",
        "summarization_retry_scheduled",
        "summarization_retry_attempt_start",
        "summarization_retry_finished",
        "commit",
        "compaction_end",
    ]
    assert ran.events[2] == {"type": "summarization_retry_attempt_start", "source": "compaction", "reason": "threshold"}


def test_the_observer_sees_every_notice() -> None:
    seen: list[Notice] = []
    notices = [Streamed(chars=3), *RETRIES]
    effects = Effects(client=Answering(notices=notices), emit=lambda event: None, stamp=STAMP, observe=seen.append)
    compact(planned(long_session()), options(), "manual", effects)
    assert seen == notices


def test_a_summary_as_large_as_what_it_replaces_is_refused() -> None:
    plan = planned(long_session())
    big = "## Goal\n" + "Move crane 3 to berth 14 before the tide turns.\n" * 400
    ran = run(plan, Answering([big]), commit=no_commit)
    assert "saves nothing" in ran.events[-1]["errorMessage"]
    exact = run(planned(long_session(), exact=True), Answering([big]), exact=True)
    assert exact.order == ["compaction_start", "commit", "compaction_end"]


def test_the_previous_summary_counts_as_replaced() -> None:
    builder = long_session(2)
    first = builder.rows[-1]["id"]
    builder.compaction(first, "## Goal\n" + "Everything about the cranes. " * 200)
    for number in range(6):
        builder.user(f"Short {number}. " * 8)
        builder.assistant("Yes. " * 8)
    reply = "## Goal\n" + "Everything about the cranes. " * 100
    ran = run(planned(builder, keep=60), Answering([reply]))
    assert ran.order[-1] == "compaction_end"
    assert ran.done.error is None


def test_usage_of_both_requests_is_in_the_entry() -> None:
    builder = long_session()
    builder.user("Look. " * 40)
    builder.assistant("It is high. " * 40)
    builder.assistant("It is low. " * 40)
    plan = planned(builder, keep=100)
    assert isinstance(plan.plan, CompactionPlan) and plan.plan.is_split_turn
    replies = [
        ModelResponse(text=text, usage=Usage(input=10, output=5, total_tokens=15))
        for text in (WHOLE_REPLY, PREFIX_REPLY)
    ]
    ran = run(plan, Answering(replies))
    assert ran.done.entry is not None
    assert ran.done.entry["usage"]["totalTokens"] == ran.events[-1]["result"]["usage"]["totalTokens"] == 30


def test_a_session_with_system_messages_carries_them_folded_into_one() -> None:
    builder = SessionBuilder()
    builder.system("You run the harbor.", sections={"cwd": "/srv/harbor"}, toolsAdded=[{"name": "read"}])
    ran = run(planned(long_session(start=builder)), Answering())
    assert ran.done.entry is not None
    assert ran.done.entry["systemMessage"] == {
        "role": "system",
        "content": "You run the harbor.",
        "sections": {"cwd": "/srv/harbor"},
        "toolsAdded": [{"name": "read"}],
        "timestamp": STAMP.milliseconds,
    }
    without = run(planned(long_session()), Answering()).done.entry
    assert without is not None
    assert "systemMessage" not in without


def test_summary_source_names_the_entry_of_every_message_and_leaves_system_messages_out() -> None:
    builder = SessionBuilder()
    builder.system()
    ids = [builder.user("Where is crane 3? " * 20), builder.assistant("At berth 14. " * 20)]
    builder.system("Now you run two harbors.")
    ids.append(builder.custom_message("The tide turns. " * 20))
    builder.user("Go on. " * 20)
    plan = planned(builder, keep=20)
    assert isinstance(plan.plan, CompactionPlan)
    source = summary_source(plan.plan)
    assert list(source.history_ids) == ids
    assert [m.role for m in source.history] == ["user", "assistant", "custom"]
    assert (list(source.prefix), source.earlier) == ([], ())


def test_an_update_also_gets_what_the_user_said_before_the_previous_summary() -> None:
    builder = SessionBuilder()
    builder.user("Never touch the tide table.")
    builder.assistant("I will not.")
    kept = builder.user("Where is crane 3?")
    builder.compaction(kept, "## Goal\nMove crane 3.")
    builder.user("Go on. " * 40)
    builder.assistant("Done. " * 40)
    plan = planned(builder, keep=30)
    assert isinstance(plan.plan, CompactionPlan)
    assert [m.text() for m in summary_source(plan.plan).earlier] == ["Never touch the tide table."]


@pytest.mark.parametrize(("tokens", "enabled", "fires"), [(900, True, False), (901, True, True), (901, False, False)])
def test_the_trigger_fires_above_the_threshold_only_and_only_if_enabled(
    tokens: int, enabled: bool, fires: bool
) -> None:
    builder = long_session()
    builder.assistant("So it is.", usage=usage(tokens))
    plan = planned(builder, context_window=1000, reserve_tokens=100, enabled=enabled)
    assert plan.triggers is fires


@given(sessions(), st.integers(0, 400), st.booleans())
def test_any_session_is_compacted_or_says_why_not_and_stays_readable(
    builder: SessionBuilder, keep: int, exact: bool
) -> None:
    ran = run(planned(builder, keep=keep, exact=exact), Answering(["## Goal\nx"]), exact=exact)
    assert (ran.done.line is None) == (ran.done.error is not None)
    if ran.done.line is not None:
        data = builder.data()
        again = parse_session(data + ran.done.line, exact=exact)
        assert again.entries[-1].id == STAMP.id
        assert again.entries[-1].body.summary == ran.events[-1]["result"]["summary"]


def broken_link_session(lost: str) -> SessionBuilder:
    """A session whose fourth message names a parent that was never written."""
    builder = SessionBuilder()
    for n in range(6):
        builder.user(f"Question {n}? " + "word " * 40)
        builder.assistant(f"Answer {n}. " + "word " * 40)
    builder.rows[3]["parentId"] = lost
    return builder


@pytest.mark.parametrize(("keep", "refused"), [(500, True), (100, False)])
def test_entry_is_refused_where_pi_could_not_follow_the_branch_to_the_kept_tail(keep: int, refused: bool) -> None:
    decided = planned(broken_link_session("deadbeef"), keep=keep)
    problem = write_problem(decided)
    assert (problem is not None) == refused
    assert not refused or "broken parent link on line 5" in (problem or "")


def test_whole_links_are_no_reason_to_refuse() -> None:
    assert write_problem(planned(broken_link_session("00000003"), keep=500)) is None


@pytest.mark.parametrize(
    ("damage", "refused"),
    [
        (lambda lines: [*lines[:-2], lines[-2].rstrip(b"\n") + lines[-1]], True),
        (lambda lines: [*lines[:-1], lines[-1][:60] + b"\0" + lines[-1][60:]], True),
        (lambda lines: [*lines[:-3], b'{"type":"custom","id":"x' + lines[-3], *lines[-2:]], True),
        (lambda lines: [*lines[:2], lines[2].rstrip(b"\n") + lines[3], *lines[4:]], False),
        (lambda lines: [*lines, b'{"type":"message","id":"torn'], False),
    ],
    ids=["fused leaf", "NUL in the leaf", "torn before the first kept", "fused in the history", "torn tail"],
)
def test_entry_is_refused_where_pi_skips_a_line_of_the_kept_tail(
    damage: Callable[[list[bytes]], list[bytes]], refused: bool
) -> None:
    builder = SessionBuilder()
    for n in range(6):
        builder.user(f"Question {n}? " + "word " * 40)
        builder.assistant(f"Answer {n}. " + "word " * 40)
    session = parse_session(b"".join(damage(builder.lines())))
    chosen = CompactionSettings(keep_recent_tokens=150)
    decided = plan_branch(session, active_branch(session, find_leaf(session, None)), PiCounter(), chosen)
    problem = write_problem(decided)
    assert (problem is not None) == refused
    assert not refused or "which Pi skips" in (problem or "")


def doubled_ids_session() -> SessionBuilder:
    """A session whose third and fifth question have one id, and whose fifth continues from the end."""
    builder = SessionBuilder()
    for n in range(6):
        builder.user(f"Question {n}? " + "word " * 40)
        builder.assistant(f"Answer {n}. " + "word " * 40)
    builder.rows[8]["id"] = builder.rows[9]["parentId"] = builder.rows[4]["id"]
    return builder


@pytest.mark.parametrize(("keep", "lines"), [(200, "line 6 and again on line 10"), (60, None), (100, None)])
def test_entry_is_refused_where_the_first_kept_id_would_mean_an_earlier_entry(keep: int, lines: str | None) -> None:
    problem = write_problem(planned(doubled_ids_session(), keep=keep))
    assert (problem is None) == (lines is None)
    assert lines is None or lines in (problem or "")


@pytest.mark.parametrize(("leaf", "refused"), [("#4", True), ("#8", False)])
def test_entry_is_refused_where_the_id_of_its_leaf_would_mean_a_later_entry(leaf: str, refused: bool) -> None:
    problem = write_problem(planned(doubled_ids_session(), keep=60, leaf=leaf))
    assert (problem is not None) == refused
    assert not refused or "found '00000005' on line 6 and again on line 10" in (problem or "")


RULE = "Never move a crane while the wind is above 40 km/h."


def test_rule_in_the_kept_tail_is_listed_with_the_others_where_there_is_room() -> None:
    builder = long_session(turns=12)
    builder.user(f"Next one. {RULE}")
    builder.assistant("Fine.")
    assert [m.text() for m in summary_source(cut_of(planned(builder, keep=20))).tail] == [f"Next one. {RULE}"]


def test_rule_in_the_kept_tail_is_left_there_where_the_summary_must_be_small() -> None:
    builder = SessionBuilder()
    builder.user("Hello there, crane driver. " * 3)
    builder.assistant("Hello.")
    builder.user(f"Next one. {RULE}")
    assert summary_source(cut_of(planned(builder, keep=1))).tail == []


def cut_of(decided: Planned) -> CompactionPlan:
    assert isinstance(decided.plan, CompactionPlan)
    return decided.plan
