"""What a session or a folder spent: Pi's own statistics, sums by model and kind, and what compactions saved."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import SessionBuilder
from hypothesis import given
from hypothesis import strategies as st
from spent import add_usage, paid, priced
from strategies import json_values, sessions

from compactor.entries import Session
from compactor.js_text import json_text, utf8
from compactor.messages import Cost, Usage
from compactor.session_file import read_session
from compactor.usage import all_tokens
from compactor.views.compaction_effects import compaction_effects
from compactor.views.usage import FolderUsage, effect_json, usage_json

SHARED = Path(__file__).parents[2] / "shared"
RECORDED = SHARED / "oracle" / "usage.jsonl"


def no_price(used: Usage, provider: str | None, model: str) -> Cost | None:
    """A catalogue that knows nothing."""
    return None


def flat_price(used: Usage, provider: str | None, model: str) -> Cost | None:
    """A catalogue that knows gantry-1: 2 dollars a million tokens, whatever they are for."""
    if model != "gantry-1":
        return None
    parts = {name: getattr(used, name) * 2 / 1_000_000 for name in ("input", "output", "cache_read", "cache_write")}
    return Cost(**parts, total=sum(parts.values()))


def test_no_more_is_read_for_estimates_than_allowed() -> None:
    builder = SessionBuilder()
    for _ in range(3):
        builder.compaction(builder.user("Where is crane 3?"), "## Goal\nCrane 3.", tokensBefore=500)
    session = builder.session()
    compactions = [entry for entry in session.entries if entry.type == "compaction"]
    found = compaction_effects(session, [], compactions, max_entries=3)
    assert [effect.after_source for effect in found] == ["estimated", "estimated", None]
    assert [effect.freed is None for effect in found] == [False, False, True]
    shown = effect_json(found[-1])
    assert (shown["tokensAfter"], shown["tokensAfterSource"], shown["freedTokens"]) == (None, None, None)


def view(builder: SessionBuilder, **options: Any) -> dict[str, Any]:
    return usage_json(builder.session(), options.pop("price", no_price), **options)


def folder_of(*builders: SessionBuilder, price: Any = no_price) -> dict[str, Any]:
    found = FolderUsage(folder="quay", price=price)
    for builder in builders:
        found.add(builder.session())
    return found.json()


def recorded_answers() -> list[Any]:
    """File and answer of each session that Pi's statistics were recorded of; none without the corpus."""
    if not RECORDED.exists():
        return [pytest.param(None, None, marks=pytest.mark.skip(reason="skipped: no corpus"))]
    rows = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    return [pytest.param(row["file"], row["answer"], id=row["file"]) for row in rows]


@pytest.mark.parametrize(("file", "answer"), recorded_answers())
def test_statistics_are_those_recorded_from_real_pi(file: str, answer: dict[str, Any]) -> None:
    """Where Pi itself fails, a cost is missing in the file: the tokens are right and the cost is not known."""
    found = usage_json(read_session(str(SHARED / "corpus" / file)), no_price)["stats"]
    if "error" in answer:
        assert found["cost"] is None
        assert found["tokens"] == tokens_by_hand(SHARED / "corpus" / file)
        return
    assert found == answer


def tokens_by_hand(path: Path) -> dict[str, int]:
    names = ("input", "output", "cacheRead", "cacheWrite")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    used = [row["message"]["usage"] for row in rows if "usage" in row.get("message", {})]
    tokens = {name: sum(usage[name] for usage in used) for name in names}
    return {**tokens, "total": sum(tokens.values())}


def test_statistics_group_what_no_model_is_named_for_as_pi_does() -> None:
    builder = SessionBuilder()
    builder.assistant(usage=paid(0.25, input=10))
    builder.assistant(usage=paid(1, input=20), responseModel="gantry-2")
    builder.assistant(usage=paid(0))
    builder.result("a", usage=paid(0.5, input=30))
    builder.branch_summary(usage=paid(0.25, output=40))
    add_usage(builder, "cache_warm", provider=None, model=None, usage=paid(0.125, cacheRead=50))
    assert view(builder)["stats"]["byModel"] == [
        {"key": "dock/gantry-2", "cost": 1, "tokens": 20},
        {"key": "Tools/summaries", "cost": 0.75, "tokens": 70},
        {"key": "dock/gantry-1", "cost": 0.25, "tokens": 10},
        {"key": "undefined/undefined", "cost": 0.125, "tokens": 50},
    ]


def test_sums_are_told_by_model_and_by_kind_the_dearest_first() -> None:
    builder = SessionBuilder()
    builder.assistant(usage=paid(0.25, input=10, output=1, reasoning=1))
    builder.assistant(usage=paid(1, input=20, cacheWrite=8, cacheWrite1h=5), model="gantry-2")
    add_usage(builder, "cache_warm", usage=paid(0.125, cacheRead=7))
    found = view(builder)
    assert [(row["model"], row["requests"], row["cost"]) for row in found["byModel"]] == [
        ("dock/gantry-2", 1, 1),
        ("dock/gantry-1", 2, 0.375),
    ]
    assert [(row["kind"], row["requests"], row["cost"]) for row in found["byKind"]] == [
        ("assistant", 2, 1.25),
        ("usage:cache_warm", 1, 0.125),
    ]
    assert found["total"] == {
        "requests": 3,
        "input": 30,
        "output": 1,
        "cacheRead": 7,
        "cacheWrite": 8,
        "cacheWrite1h": 5,
        "reasoning": 1,
        "total": 46,
        "cost": 1.375,
        "knownCost": 1.375,
        "unknownCostRequests": 0,
        "estimatedCost": None,
        "unpricedRequests": 0,
        "unreportedReplies": 0,
    }


def test_parts_that_no_request_tells_are_not_measured_rather_than_none() -> None:
    builder = SessionBuilder()
    builder.assistant(usage=paid(input=1))
    total = view(builder)["total"]
    assert (total["reasoning"], total["cacheWrite1h"]) == (None, None)


UNKNOWN = {"input": 1_000_000}
"""A usage without a cost."""


@pytest.mark.parametrize(
    ("rows", "price", "expected"),
    [
        ([], no_price, (0, 0, 0, None, 0)),
        ([("gantry-1", paid(0.5, input=1))], flat_price, (0.5, 0.5, 0, None, 0)),
        ([("gantry-1", UNKNOWN)], no_price, (None, None, 1, None, 1)),
        ([("gantry-1", UNKNOWN)], flat_price, (None, None, 1, 2, 0)),
        ([("gantry-1", UNKNOWN), ("gantry-2", UNKNOWN)], flat_price, (None, None, 2, 2, 1)),
        ([("gantry-1", UNKNOWN), (None, UNKNOWN)], flat_price, (None, None, 2, 2, 1)),
        ([("gantry-1", UNKNOWN), ("gantry-1", paid(0.5, input=1))], flat_price, (None, 0.5, 1, 2, 0)),
        ([("gantry-1", UNKNOWN), ("gantry-1", {})], no_price, (None, None, 1, None, 1)),
        ([("gantry-1", None), ("gantry-1", paid(0.5, input=1))], flat_price, (None, 0.5, 0, None, 0)),
        ([("gantry-1", None)], flat_price, (None, None, 0, None, 0)),
    ],
)
def test_what_a_cost_lacks_is_counted_and_never_taken_for_nothing(rows: Any, price: Any, expected: Any) -> None:
    builder = SessionBuilder()
    for model, used in rows:
        builder.assistant(model=model, usage=used)
    total = view(builder, price=price)["total"]
    assert total["unreportedReplies"] == sum(used is None for _, used in rows)
    names = ("cost", "knownCost", "unknownCostRequests", "estimatedCost", "unpricedRequests")
    assert tuple(total[name] for name in names) == expected


def test_only_a_request_without_recorded_cost_is_looked_up() -> None:
    builder = SessionBuilder()
    builder.assistant(usage=paid(0, input=10), model="recorded")
    builder.assistant(usage=UNKNOWN, model="asked")
    builder.message("assistant", content=[], model="unreported")
    asked: list[str] = []

    def price(used: Usage, provider: str | None, model: str) -> Cost | None:
        asked.append(f"{provider}/{model}")
        return None

    view(builder, price=price)
    assert asked == ["dock/asked"]


def compacted() -> SessionBuilder:
    """A session of one compaction: 9,000 tokens before it, 2,500 sent after, 300 more in a second reply."""
    builder = SessionBuilder()
    first = builder.user()
    builder.assistant(usage=priced(input=9_000, output=100))
    builder.compaction(first, tokensBefore=9_000, usage=priced(input=8_000, output=500))
    builder.user("Go on.")
    builder.assistant(usage=priced(input=100, cacheWrite=2_400, output=50))
    builder.assistant(usage=priced(input=300, cacheRead=2_500, output=50))
    builder.assistant(usage=priced(input=500, cacheRead=2_500, output=50))
    return builder


def test_a_compaction_s_cost_stands_beside_what_it_saved() -> None:
    builder = compacted()
    (found,) = view(builder)["compactions"]
    own = found.pop("own")
    assert (own["total"], own["cost"]) == (8_500, pytest.approx(0.036))
    assert found == {
        "entryId": "00000003",
        "index": 2,
        "timestamp": "2026-03-01T10:00:03.000Z",
        "tokensBefore": 9_000,
        "tokensAfter": 2_500,
        "tokensAfterSource": "reported",
        "freedTokens": 6_500,
        "laterRequests": 3,
        "inputTokensNotSent": 19_500,
        "savedCost": pytest.approx(0.0195),
        "savedCostRate": {"part": "cache_read", "recorded": True},
        "firstRequest": {
            "entryId": "00000005",
            "input": 100,
            "cacheRead": 0,
            "cacheWrite": 2_400,
            "uncached": 2_500,
            "uncachedCost": pytest.approx(0.0124),
            "usualUncached": 400,
        },
    }


def test_what_a_compaction_saved_ends_with_the_next_one_and_counts_on_all_branches_that_continue_it() -> None:
    builder = compacted()
    here = builder.leaf
    builder.assistant(usage=priced(input=500))
    builder.back_to(here)
    builder.assistant(usage=priced(input=500))
    builder.compaction("00000001")
    builder.assistant(usage=priced(input=500))
    found = view(builder)["compactions"]
    assert [one["laterRequests"] for one in found] == [5, 1]


def test_a_later_entry_may_be_the_parent_of_an_earlier_one() -> None:
    builder = SessionBuilder()
    builder.add("message", id="reply", parentId="cut", message={"role": "assistant", "usage": priced(input=700)})
    builder.add("message", id="other", parentId="reply", message={"role": "assistant", "usage": priced(input=70)})
    builder.add("compaction", id="cut", parentId=None, summary="S", firstKeptEntryId="cut", tokensBefore=1000)
    (found,) = view(builder)["compactions"]
    assert (found["laterRequests"], found["tokensAfter"], found["freedTokens"]) == (2, 700, 300)


def test_without_a_later_reply_the_context_after_is_estimated_and_nothing_is_saved_yet() -> None:
    builder = SessionBuilder()
    builder.compaction(builder.user("x" * 400), "s" * 40, tokensBefore=5_000)
    builder.assistant(usage=priced())
    (found,) = view(builder)["compactions"]
    assert (found["tokensAfter"], found["tokensAfterSource"], found["freedTokens"]) == (110, "estimated", 4_890)
    assert (found["laterRequests"], found["inputTokensNotSent"], found["savedCost"]) == (0, 0, 0)
    assert (found["own"], found["firstRequest"], found["savedCostRate"]) == (None, None, None)


def test_a_failed_reply_does_not_tell_the_context_after_but_was_sent() -> None:
    builder = SessionBuilder()
    builder.compaction(builder.user(), tokensBefore=5_000)
    builder.assistant(usage=priced(input=9), stopReason="error")
    builder.assistant(usage=priced(input=1_000))
    (found,) = view(builder)["compactions"]
    assert (found["tokensAfter"], found["laterRequests"]) == (1_000, 2)
    assert found["firstRequest"]["usualUncached"] == 9


@pytest.mark.parametrize("before", [None, 0, -5, "9000", 10**400, [], math.nan])
def test_without_a_usable_size_before_nothing_is_said_to_be_freed(before: Any) -> None:
    builder = SessionBuilder()
    builder.compaction(builder.user(), tokensBefore=before)
    builder.assistant(usage=priced(input=1_000))
    (found,) = view(builder)["compactions"]
    names = ("tokensBefore", "freedTokens", "inputTokensNotSent", "savedCost")
    assert [found[name] for name in names] == [None] * 4


def test_a_context_that_grew_has_a_negative_saving() -> None:
    builder = SessionBuilder()
    builder.compaction(builder.user(), tokensBefore=100)
    builder.assistant(usage=priced(input=1_100))
    (found,) = view(builder)["compactions"]
    assert (found["freedTokens"], found["savedCost"]) == (-1_000, pytest.approx(-0.004))


@pytest.mark.parametrize(
    ("replies", "price", "rate", "saved"),
    [
        ([priced(input=1_000)], no_price, {"part": "input", "recorded": True}, 0.036),
        ([UNKNOWN], no_price, None, None),
        ([UNKNOWN], flat_price, {"part": "input", "recorded": False}, -1.98),
        ([paid(0, input=1_000)], no_price, {"part": "input", "recorded": True}, 0),
        ([paid(0.5, input=1_000)], no_price, None, None),
        ([priced(output=1_000)], no_price, None, None),
        ([UNKNOWN, priced(cacheRead=10)], flat_price, {"part": "cache_read", "recorded": True}, -1.98),
    ],
)
def test_a_saving_is_priced_as_the_later_requests_were(replies: Any, price: Any, rate: Any, saved: Any) -> None:
    """A recorded total without its parts does not tell what a token of the context costs."""
    builder = SessionBuilder()
    builder.compaction(builder.user(), tokensBefore=10_000)
    for used in replies:
        builder.assistant(usage=used)
    (found,) = view(builder, price=price)["compactions"]
    assert found["savedCostRate"] == rate
    assert found["savedCost"] == (None if saved is None else pytest.approx(saved))


def test_what_is_older_is_left_out_everywhere() -> None:
    builder = compacted()
    found = view(builder, since_ms=1_772_359_205_000)
    assert (found["since"], found["compactions"]) == ("2026-03-01T10:00:05.000Z", [])
    assert (found["stats"]["userMessages"], found["total"]["requests"]) == (0, 3)
    assert view(builder)["since"] is None


def test_warnings_of_the_file_and_of_the_ledger_are_told() -> None:
    builder = SessionBuilder()
    builder.add("message", parentId="gone", message={"role": "assistant", "usage": {"input": -1}})
    assert [w["code"] for w in view(builder)["warnings"]] == ["missing_parent", "malformed_usage"]


def test_an_empty_session_spent_nothing() -> None:
    found = view(SessionBuilder())
    assert (found["total"]["requests"], found["total"]["cost"], found["stats"]["cost"]) == (0, 0, 0)
    assert (found["byModel"], found["byKind"], found["compactions"]) == ([], [], [])


def fork_of(one: SessionBuilder) -> SessionBuilder:
    return SessionBuilder(rows=list(one.rows), leaf=one.leaf, header={"id": "harbor-0002"})


def test_a_folder_counts_once_what_forks_copy() -> None:
    one = compacted()
    two = fork_of(one)
    two.assistant(usage=priced(input=1_000, cacheRead=1_000))
    found = folder_of(one, two)
    assert [s["total"]["requests"] for s in found["sessions"]] == [5, 6]
    assert [s["copiedRequests"] for s in found["sessions"]] == [0, 5]
    assert (found["total"]["requests"], found["copies"]) == (6, {"requests": 5, "total": 26_050})
    assert found["total"]["total"] == 28_050
    assert found["compactions"]["count"] == 1
    assert found["compactions"]["inputTokensNotSent"] == 4 * 6_500


def test_a_folder_s_savings_say_how_many_compactions_they_lack() -> None:
    nameless = SessionBuilder()
    nameless.compaction(nameless.user(), tokensBefore=None, timestamp=None)
    nameless.assistant(usage=UNKNOWN)
    unpriced = SessionBuilder()
    unpriced.compaction(unpriced.user(), "Another.", tokensBefore=1_000_100)
    unpriced.assistant(usage=UNKNOWN, responseId="msg_2")
    assert folder_of(nameless)["compactions"] == {
        "count": 1,
        "inputTokensNotSent": None,
        "inputTokensNotSentUnknown": 1,
        "savedCost": None,
        "savedCostUnknown": 1,
    }
    assert folder_of(nameless, unpriced, compacted())["compactions"] == {
        "count": 3,
        "inputTokensNotSent": 19_600,
        "inputTokensNotSentUnknown": 1,
        "savedCost": pytest.approx(0.0195),
        "savedCostUnknown": 2,
    }


def test_a_folder_without_compactions_saved_nothing() -> None:
    one = SessionBuilder()
    one.assistant(usage=priced(input=5))
    saved = folder_of(one)["compactions"]
    assert (saved["count"], saved["inputTokensNotSent"], saved["savedCost"]) == (0, 0, 0)


def test_a_skipped_file_is_told_with_its_path_once() -> None:
    found = FolderUsage(folder="quay", price=no_price)
    found.skip("quay/a.jsonl", "quay/a.jsonl: no session")
    found.skip("quay/b.jsonl", "no session")
    assert [w["message"] for w in found.json()["warnings"]] == ["quay/a.jsonl: no session", "quay/b.jsonl: no session"]


@given(st.lists(sessions(max_steps=8), min_size=1, max_size=3), json_values)
def test_any_sessions_give_valid_json_whose_sums_agree(builders: list[SessionBuilder], value: Any) -> None:
    for builder in builders:
        builder.assistant(usage={"input": value, "output": 3, "cost": {"total": value, "input": value}})
        builder.compaction("x", tokensBefore=value, usage=value)
    found = json.loads(utf8(json_text(folder_of(*builders, price=flat_price))))
    for one in (found, *found["sessions"]):
        for group in ("byModel", "byKind"):
            for name in ("requests", "total", "unknownCostRequests", "unpricedRequests"):
                assert sum(row[name] for row in one[group]) == pytest.approx(one["total"][name])
    own = sum(one["total"]["total"] for one in found["sessions"])
    assert own == pytest.approx(found["total"]["total"] + found["copies"]["total"])


@given(sessions(compactions=True))
def test_each_reply_counts_for_the_newest_compaction_above_it(builder: SessionBuilder) -> None:
    session = builder.session()
    found = usage_json(session, no_price)["compactions"]
    assert [one["laterRequests"] for one in found] == list(later_by_hand(session))


def later_by_hand(session: Session) -> Iterator[int]:
    """Walks up from each reply to the first compaction."""
    above: list[int] = []
    for entry in session.entries:
        message = entry.body.message
        if entry.role != "assistant" or message is None or message.usage is None or not all_tokens(message.usage):
            continue
        at = session.parents[entry.index]
        while at is not None and session.entries[at].type != "compaction":
            at = session.parents[at]
        above += [] if at is None else [at]
    for entry in session.entries:
        if entry.type == "compaction":
            yield above.count(entry.index)
