"""What Codex reports of tokens, where it is put, and what of it a fork copied."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from codex_rollouts import (
    Row,
    call,
    context,
    context_size,
    counts,
    event,
    item,
    ledger,
    meta,
    output,
    parsed,
    replaced,
    replies,
    report,
    row,
    said,
)
from hypothesis import given
from hypothesis import strategies as st

from compactor.formats.codex_fork import copied_rows
from compactor.formats.codex_order import reports_come_first
from compactor.formats.codex_usage import Counts, Report, Reports, counts_of
from compactor.formats.json_rows import JsonRow
from compactor.ledger import read_ledger


def take(*infos: Any) -> list[Report]:
    reports = Reports()
    return [reports.take(info) for info in infos]


def info(total: dict[str, int] | None, last: dict[str, int] | None) -> dict[str, Any]:
    return {"total_token_usage": total, "last_token_usage": last}


def test_counts_are_read_with_their_parts() -> None:
    value = counts(100, 60, 20, reasoning_output_tokens=15, cache_write_input_tokens=30)
    found = counts_of(value)
    assert found == Counts(input=100, cached=60, written=30, output=20, reasoning=15, total=120)
    assert found.usage() | {"cost": None} == {
        "input": 10, "output": 20, "cacheRead": 60, "cacheWrite": 30, "totalTokens": 120, "reasoning": 15, "cost": None
    }  # fmt: skip
    assert "reasoning" not in Counts().usage()


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        ({"prompt": 7, "completion": 2}, Counts(input=7, output=2, total=9)),
        ({"input_tokens": 7}, Counts(input=7, total=7)),
        ({"total_tokens": 7}, Counts(total=7)),
        (
            {"input_tokens": 7, "cached_input_tokens": 9, "cache_write_input_tokens": 9},
            Counts(input=7, cached=7, total=7),
        ),
        ({"input_tokens": True, "output_tokens": -1, "total_tokens": 2**60}, None),
        ({"input_tokens": "7"}, None),
        ({}, None),
        ([], None),
        (None, None),
    ],
)
def test_impossible_figures_count_as_missing(value: Any, wanted: Counts | None) -> None:
    assert counts_of(value) == wanted


def test_an_event_that_repeats_the_counts_or_holds_none_adds_nothing() -> None:
    first = info(counts(50, 0, 5), counts(50, 0, 5))
    assert take(first, first, None, {}, info(counts(0), counts(0)), 7, info(None, counts(0)))[1:] == [Report()] * 6


def test_an_estimate_of_the_context_is_no_request() -> None:
    reports = Reports()
    reports.take(info(counts(50, 0, 5), counts(50, 0, 5)))
    assert reports.context_tokens == 55
    assert reports.take(info(counts(50, 0, 5), counts(0, total=20))) == Report(estimate=20)
    assert reports.context_tokens == 20


FIRST = info(counts(50, 10, 5), counts(50, 10, 5))


@pytest.mark.parametrize(
    ("second", "last", "rest"),
    [
        (info(counts(110, 50, 12), counts(60, 40, 7)), counts(60, 40, 7), None),
        (info(counts(140, 60, 22), counts(60, 40, 7)), counts(60, 40, 7), counts(30, 10, 10)),
        (info(counts(140, 60, 22), None), None, counts(90, 50, 17)),
        (info(counts(140, 60, 22), counts(0, total=9)), None, counts(90, 50, 17)),
        (info(counts(30, 0, 3), counts(30, 0, 3)), counts(30, 0, 3), None),
        (info(counts(80, 0, 9), counts(80, 0, 9)), counts(80, 0, 9), None),
        (info(counts(40, 0, 60), counts(30, 0, 3)), counts(30, 0, 3), None),
        (info(counts(40, 0, 2), None), None, counts(40, 0, 2)),
        (info(None, counts(60, 40, 7)), counts(60, 40, 7), None),
        (info(counts(90, 20, 9), counts(60, 10, 7)), counts(60, 10, 7), None),
        (info(counts(110, 90, 12), counts(60, 40, 7)), counts(60, 40, 7), None),
        (info(counts(130, 20, 12), counts(60, 40, 7)), counts(60, 40, 7), counts(20)),
        ({"prompt": 60, "completion": 7}, counts(60, 0, 7), None),
    ],
    ids=[
        "goes on", "grew by more", "no request told", "an estimate", "started again", "started again with more",
        "fell", "fell without a request", "no total", "grew by less", "more of it cached",
        "less of it cached", "older names",
    ],
)  # fmt: skip
def test_what_an_event_adds(second: Any, last: Row | None, rest: Row | None) -> None:
    found = take(FIRST, second)[1]
    assert (found.request, found.rest) == (counts_of(last), counts_of(rest))


@given(
    requests=st.lists(st.tuples(st.integers(1, 99), st.integers(0, 99), st.integers(0, 99)), max_size=8),
    hidden=st.lists(st.integers(0, 50), min_size=8, max_size=8),
)
def test_what_is_given_adds_up_to_the_cumulative_counts(
    requests: list[tuple[int, int, int]], hidden: list[int]
) -> None:
    reports, sums, total = Reports(), Counts(), Counts()
    for (sent, cached, answered), more in zip(requests, hidden, strict=False):
        last = counts(sent, min(sent, cached), answered)
        grown = counts(total.input + sent + more, total.cached + min(sent, cached), total.output + answered)
        found = reports.take(info(grown, last))
        total = counts_of(grown) or total
        for part in (found.request, found.rest):
            sums = sums if part is None else Counts() - (Counts() - sums - part)
    assert sums == total


def test_usage_without_a_reply_is_an_entry_of_its_own() -> None:
    first, second = counts(50, 10, 5), counts(150, 10, 15)
    session = parsed(meta(), report(first, first), said("assistant", "Hm."), report(second, counts(60, 0, 6)))
    kinds = [(entry.type, entry.wire().get("kind")) for entry in session.entries]
    assert kinds == [("usage", "unattributed"), ("message", None), ("usage", "unattributed")]
    assert ledger(session) == [150, 10, 15, 165]
    assert context_size(session, replies(session)[0][0]) == 66


def test_older_events_with_the_usage_of_a_turn_are_cumulative_unless_they_fall() -> None:
    turns = [event("turn.completed", usage=counts(*figures)) for figures in ((10, 0, 4), (30, 5, 9), (20, 0, 2))]
    assert ledger(parsed(meta(), *turns)) == [50, 5, 11, 61]
    told_already = report(counts(30, 5, 9), counts(30, 5, 9))
    assert ledger(parsed(meta(), said("assistant", "x"), told_already, *turns)) == [30, 5, 9, 39]


@pytest.mark.parametrize("window", [0, True, "big", 2**60, None])
def test_an_impossible_window_is_not_reported(window: Any) -> None:
    session = parsed(meta(), event("task_started", model_context_window=1000), report(counts(5), None, window=window))
    assert session.reported_window == 1000


# Order.


def test_older_files_report_usage_before_the_reply_and_write_results_between_its_calls() -> None:
    session = parsed(
        meta(cli_version="0.46.0"),
        said("user", "Load it."),
        report(counts(90, 0, 10), counts(90, 0, 10)),
        item("reasoning", summary=[]),
        call("c1"),
        output("c1", "one"),
        call("c2"),
        output("c2", "two"),
        report(counts(210, 0, 25), counts(120, 0, 15)),
        said("assistant", "Loaded."),
        said("user", "And now?"),
        report(None, None),
        report(counts(210, 0, 25), counts(210, 0, 25)),
        report(counts(350, 0, 30), counts(140, 0, 5)),
        said("assistant", "Go."),
    )
    assert context(session)[:4] == [
        "user: Load it.",
        "assistant:  exec_command(c1) exec_command(c2)",
        "toolResult c1: one",
        "toolResult c2: two",
    ]
    assert [e.type for e in session.entries] == ["message"] * 7
    assert [context_size(session, entry) for entry, _ in replies(session)] == [100, 135, 145]
    assert ledger(session) == [350, 0, 30, 380]


def test_in_older_files_a_request_before_a_compaction_was_its_own_and_the_one_after_it_the_next_replys() -> None:
    session = parsed(
        meta(),
        *[said("user", "Load it."), report(counts(90, 0, 10), counts(90, 0, 10)), said("assistant", "Loaded.")],
        *[report(counts(190, 0, 20), counts(100, 0, 10)), row("compacted", {"message": "Sum."})],
        *[said("user", "On."), report(counts(240, 0, 22), counts(50, 0, 2)), said("assistant", "Yes.")],
        *[report(counts(250, 0, 24), counts(10, 0, 2)), row("turn_context", {"model": "m"}), said("assistant", "And.")],
    )
    held = [(e.type, int(u.total_tokens)) for e in session.entries if (u := e.body.usage) is not None]
    assert held == [("compaction", 110), ("usage", 12)]
    assert [m.usage.total_tokens for _, m in replies(session) if m.usage is not None] == [100, 52, 0]
    assert ledger(session) == [250, 0, 24, 274]


def test_the_turns_of_a_file_vote_on_the_order_and_copied_ones_do_not() -> None:
    first = [said("user", "x"), report(counts(90), counts(90)), said("assistant", "x")]
    after = [said("user", "x"), said("assistant", "x"), report(counts(90), counts(90))]
    for rows, copied, wanted in (
        (first, 0, True), (after, 0, False), ([*first, *after], 0, False), ([*first, *after, *first], 0, False),
        (first, 2, False), (first[1:], 0, False), ([{"type": "compacted"}, row("compacted", {})], 0, False),
    ):  # fmt: skip
        numbered = [JsonRow(n, value) for n, value in enumerate(rows, 1)]
        assert reports_come_first(numbered, copied) is wanted


# Records of responses.


def record(used: dict[str, int], response: Any = None, **more: Any) -> Row:
    return row("token_usage_record", {"response_id": response, "usage": used, "thread_token_usage": used, **more})


USED = counts(900, 400, 100)


@pytest.mark.parametrize(
    "rows",
    [
        [record(USED, "r1"), report(USED, USED), report(USED, USED)],
        [record(USED, "r1"), record(USED, "r1"), report(USED, USED)],
        [report(USED, USED), record(USED, "r1")],
        [report(None, USED), record(USED, 7)],
        [record(USED)],
        [record(counts(900, 400, 100, reasoning_output_tokens=9), "r1"), report(counts(5_900, 0, 700), USED)],
    ],
    ids=["record first", "twice", "event first", "no sum", "no event", "sums that go on from elsewhere"],
)
def test_a_record_and_the_event_that_repeats_it_are_one_request(rows: list[Row]) -> None:
    session = parsed(meta(), said("user", "Load it."), said("assistant", "Loaded."), *rows)
    assert ledger(session) == [900, 400, 100, 1000]
    assert context_size(session, replies(session)[0][0]) == 1000


def test_a_request_counts_even_where_the_sums_started_from_older_ones_again() -> None:
    rows = []
    for n, total in enumerate([counts(900, 0, 100), counts(1800, 0, 200), counts(1800, 0, 200)]):
        used = counts(900, 0, 100)
        rows += [said("user", f"{n}"), said("assistant", "Done."), record(used, f"r{n}"), report(total, used)]
    assert ledger(parsed(meta(), *rows)) == [2700, 0, 300, 3000]


@pytest.mark.parametrize("used", [None, {}, counts(0), {"input_tokens": "many"}])
def test_a_record_without_counts_adds_nothing(used: Any) -> None:
    session = parsed(meta(), said("assistant", "Done."), record(used, "r1"), record(used, ["r1"]))
    assert ledger(session) == [0, 0, 0, 0] and [e.type for e in session.entries] == ["message"]


def compaction_by(response: Any, **more: Any) -> Row:
    return row("compacted", {"message": "", "replacement_history": [], "compaction_response_id": response, **more})


def test_the_record_of_a_compaction_is_the_compactions_even_after_a_reply_without_usage() -> None:
    talk = [said("user", "One."), said("assistant", "Done."), record(USED, "r1"), report(USED, USED)]
    stopped = [said("user", "Two."), item("reasoning", summary=[]), event("turn_aborted")]
    session = parsed(
        meta(),
        *talk,
        *stopped,
        record(counts(1000, 900, 50), "c1"),
        compaction_by("c1"),
        report(USED, counts(0, total=70)),
    )
    (compaction,) = (e.body for e in session.entries if e.type == "compaction")
    assert compaction.usage is not None and compaction.usage.total_tokens == 1050
    assert compaction.tokens_before == 1000
    assert [m.usage.total_tokens for _, m in replies(session) if m.usage] == [1000, 0]
    assert ledger(session) == [1900, 1300, 150, 2050]


@pytest.mark.parametrize("response", [None, "c2", ["c1"]])
def test_a_compaction_that_names_no_known_response_takes_the_request_right_before_it(response: Any) -> None:
    session = parsed(meta(), said("user", "One."), record(USED, "c1"), compaction_by(response))
    assert [e.type for e in session.entries] == ["message", "compaction"]
    assert ledger(session) == [900, 400, 100, 1000]


def test_the_records_of_a_copy_are_not_the_forks() -> None:
    copied = [said("assistant", "Done."), record(USED, "r1"), record(counts(1000, 0, 50), "c1"), compaction_by("c1")]
    rows = numbered([row("session_meta", {"id": OWN, "subagent_history_start_ordinal": 5}), *copied])
    own = numbered([said("assistant", "Mine."), record(counts(40, 0, 5), "r2")], start=5)
    session = parsed(*rows, *own)
    assert ledger(session) == [40, 0, 5, 45]


# Forks.


def numbered(rows: Sequence[Row], start: int = 0) -> list[Row]:
    return [{**value, "ordinal": n} for n, value in enumerate(rows, start)]


@pytest.mark.parametrize(
    ("start", "copied"), [(3, 3), ("3", 3), (1, 1), (0, 1), (9, 4), (None, 0), ("x", 0), ("9" * 99, 0), ([], 0)]
)
def test_where_rows_are_numbered_the_head_tells_how_much_is_a_copy(start: Any, copied: int) -> None:
    head = row("session_meta", {"id": OWN, "subagent_history_start_ordinal": start})
    rows = numbered([head, *(said("user", "x") for _ in range(3))])
    assert copied_rows([JsonRow(n, value) for n, value in enumerate(rows, 1)]) == copied
    alone = [JsonRow(1, head), *(JsonRow(n, said("user", "x")) for n in (2, 3))]
    assert copied_rows(alone) == copied_rows(alone[:1]) == 0


def thread_id(time: int, end: int = 1) -> str:
    digits = f"{time:012x}"
    return f"{digits[:8]}-{digits[8:]}-7000-8000-{end:012x}"


OWN, PARENT = thread_id(1_000_000), thread_id(500_000, 2)


def fork_rows(*rest: Row, own: str = OWN, **fields: Any) -> list[Row]:
    return [row("session_meta", {"id": own, "forked_from_id": PARENT, **fields}), *rest]


LATER = "2026-02-03T08:01:00.000Z"
PARENT_META = row("session_meta", {"id": PARENT})
COPY = [PARENT_META, said("user", "One."), said("assistant", "Done."), report(counts(90, 0, 10), counts(90, 0, 10))]


@pytest.mark.parametrize(
    ("rows", "copied"),
    [
        ([], 0),
        ([said("user", "One.")], 0),
        ([row("session_meta", "damaged"), said("user", "One.", at=9)], 0),
        ([row("session_meta", {"id": OWN}), *COPY[1:], said("user", "Two.", at=9)], 0),
        ([row("session_meta", {"id": OWN}), row("session_meta", {"id": OWN}), said("user", "Two.", at=9)], 0),
        ([row("session_meta", {"id": OWN})], 0),
        ([row("session_meta", {"id": OWN}), *COPY, said("user", "Two.", at=9)], 5),
        (fork_rows(*COPY, said("user", "Two.", at=9), said("assistant", "Done.", at=30)), 5),
        (fork_rows(*COPY[1:], history_base={"thread_id": PARENT}), 0),
        (fork_rows(*COPY), 5),
        (fork_rows(*COPY, {"type": "response_item"}, {**said("user", "x"), "timestamp": "?"}), 7),
        (fork_rows(*COPY, row("turn_context", {"turn_id": thread_id(1_000_001)}), said("assistant", "x")), 5),
        (fork_rows(*COPY, event("task_started", turn_id=thread_id(1_000_001)), said("assistant", "x", at=9)), 6),
        (fork_rows(*COPY, event("task_started", turn_id=thread_id(900_000)), said("assistant", "x", at=9)), 6),
        (fork_rows(*COPY, event("task_started", turn_id="one"), said("assistant", "x"), own="fork"), 7),
        (fork_rows(*COPY, said("user", "x", at=9), event("task_started", at=9, turn_id=thread_id(1_000_001))), 6),
        (fork_rows(*COPY, said("user", "x", at=60.5), said("user", "y", at=62), timestamp=LATER), 6),
        (fork_rows(*COPY, timestamp=LATER), 5),
    ],
    ids=[
        "nothing",
        "no meta",
        "damaged meta",
        "no fork",
        "a resumed thread",
        "a meta alone",
        "a parent's meta is enough",
        "a pause",
        "a parent in its own file",
        "nothing but the copy",
        "rows without a time",
        "a turn of its own",
        "a turn of its own, then a pause",
        "a turn of the parent",
        "ids that are no times",
        "a pause, then a turn of its own",
        "older rows are copies",
        "all rows are older",
    ],
)
def test_how_much_of_a_fork_is_a_copy(rows: Sequence[Row], copied: int) -> None:
    assert copied_rows([JsonRow(n, value) for n, value in enumerate(rows, 1)]) == copied


def test_a_fork_has_its_parents_conversation_and_not_its_usage() -> None:
    own = report(counts(250, 90, 30), counts(160, 90, 20), at=12)
    session = parsed(*fork_rows(*COPY, said("user", "Two.", at=9), said("assistant", "Done too.", at=11), own))
    assert context(session) == ["user: One.", "assistant: Done.", "user: Two.", "assistant: Done too."]
    assert ledger(session) == [160, 90, 20, 180]
    assert session.header.id == OWN
    assert json.loads(session.header_raw)["importedFrom"]["forkedFrom"] == PARENT
    assert context_size(session, session.entries[-1]) == 180


def test_what_a_fork_copied_is_marked_and_its_requests_are_its_parents() -> None:
    own = [said("user", "Two.", at=9), said("assistant", "Two done.", at=11), report(counts(160), counts(70), at=12)]
    rows = [*COPY, replaced(said("user", "One.")), row("turn_context", {"model": "gantry"}), *own]
    session = parsed(*fork_rows(*rows, replaced(said("user", "Two."), at=13)))
    marks = [(entry.type, entry.wire().get("importedFrom")) for entry in session.entries]
    assert marks == [
        ("message", "parent"), ("message", "parent"), ("compaction", "parent"), ("message", "replacement_history"),
        ("model_change", "parent"), ("message", None), ("message", None), ("compaction", None),
        ("message", "replacement_history"),
    ]  # fmt: skip
    found = read_ledger(session)
    assert [(c.kind, c.model, c.is_reported) for c in found.charges] == [("assistant", "gantry", True)]
    assert (found.user_messages, found.assistant_messages, found.total_messages) == (2, 2, 4)


def test_the_request_of_a_compaction_names_the_model_of_the_branch() -> None:
    known = [row("session_meta", {"id": OWN, "model_provider": "dock"}), row("turn_context", {"model": "gantry"})]
    session = parsed(*known, said("user", "One."), record(USED, "c1"), compaction_by("c1"))
    (charge,) = read_ledger(session).charges
    assert (charge.kind, charge.provider, charge.model) == ("compaction", "dock", "gantry")


def test_the_first_usage_of_a_fork_is_not_that_of_a_copied_reply() -> None:
    copied, own = COPY[:-1], report(counts(160, 0, 20), counts(160, 0, 20), at=12)
    session = parsed(*fork_rows(*copied, said("user", "Two.", at=9), own))
    assert [e.type for e in session.entries] == ["message", "message", "message", "usage"]
    assert ledger(session) == [160, 0, 20, 180]
