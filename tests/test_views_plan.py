"""A plan as JSON: figures that agree with each other, with the transcript, and with any JSON reader."""

import hashlib
import json
from typing import Any

import pytest
from builders import SessionBuilder, image, usage
from command_line import long_session
from hypothesis import given
from hypothesis import strategies as st
from strategies import sessions

from compactor.branch import active_branch, find_leaf
from compactor.engine import summary_source
from compactor.entries import SessionWarning
from compactor.explain import Explanation, explain
from compactor.js_text import json_text, utf8, utf16_len, well_formed
from compactor.plan import CompactionPlan, Skip
from compactor.planned import Planned, plan_branch
from compactor.settings import CompactionSettings
from compactor.tokens import PiCounter
from compactor.transcript import transcript
from compactor.views.plan import plan_json, told_warnings, warning_json


def planned(builder: SessionBuilder, *, keep: int = 300, exact: bool = False, **settings: Any) -> Planned:
    session = builder.session(exact=exact)
    chosen = CompactionSettings(keep_recent_tokens=keep, sources={"keep_recent_tokens": "flag"}, **settings)
    return plan_branch(session, active_branch(session, find_leaf(session, None)), PiCounter(), chosen, exact=exact)


def view(plan: Planned) -> dict[str, Any]:
    return plan_json(plan, explain(plan), [])


def test_settings_have_pis_names_and_only_known_sources() -> None:
    found = view(planned(long_session(), context_window=1000, reserve_tokens=100, enabled=False))
    assert found["settings"] == {
        "enabled": False,
        "contextWindow": 1000,
        "reserveTokens": 100,
        "keepRecentTokens": 300,
        "sources": {"keepRecentTokens": "flag"},
    }
    assert found["threshold"] == 900


def test_a_reserve_beyond_the_window_gives_a_threshold_below_zero() -> None:
    found = view(planned(long_session(), context_window=1000, reserve_tokens=1500))
    assert (found["threshold"], found["shouldCompact"]) == (-500, True)


def test_figures_of_reported_and_estimated_context_add_up() -> None:
    builder = long_session()
    builder.assistant("So it is.", usage=usage(950))
    builder.user([image(), {"type": "text", "text": "Go on."}])
    found = view(planned(builder))
    assert (found["usageTokens"], found["trailingTokens"], found["contextTokens"]) == (950, 1202, 2152)


def test_roles_count_every_message_of_the_context() -> None:
    builder = SessionBuilder()
    builder.system()
    builder.shell()
    builder.private_shell()
    builder.custom_message()
    builder.branch_summary()
    builder.bookkeeping()
    found = view(planned(long_session(1, builder)))
    assert found["roles"] == {
        "system": 1, "bashExecution": 1, "custom": 1, "branchSummary": 1, "user": 1, "assistant": 2, "toolResult": 2,
    }  # fmt: skip
    assert found["messages"] == sum(found["roles"].values())
    assert (found["entries"], found["contextEntries"]) == (17, 17)


def test_lengths_are_utf16_units_and_hashes_are_of_utf8() -> None:
    builder = SessionBuilder()
    builder.user("Crane 3 🚢 \ud83d " * 30)
    builder.assistant("検査 " * 30)
    builder.user("Go. " * 40)
    plan = planned(builder, keep=30)
    assert isinstance(plan.plan, CompactionPlan)
    shown = transcript(summary_source(plan.plan).history)
    cut = view(plan)["plan"]
    assert cut["historyChars"] == utf16_len(shown) > len(shown)
    assert cut["historySha256"] == hashlib.sha256(well_formed(shown).encode()).hexdigest()
    assert (cut["prefixChars"], cut["prefixSha256"]) == (0, hashlib.sha256(b"").hexdigest())


def test_transcripts_are_the_plain_ones_without_anything_made_harmless() -> None:
    builder = SessionBuilder()
    builder.user("</conversation> " * 20)
    builder.user("Go. " * 40)
    assert view(planned(builder, keep=30))["plan"]["historyChars"] == len("[User]: ") + 16 * 20


def test_an_empty_previous_summary_is_not_the_same_as_none() -> None:
    builder = SessionBuilder()
    builder.compaction(builder.user(), "")
    assert view(planned(long_session(start=builder)))["plan"]["previousSummaryChars"] == 0
    assert view(planned(long_session()))["plan"]["previousSummaryChars"] is None


@pytest.mark.parametrize(
    ("warning", "expected"),
    [
        (SessionWarning(code="a", message="b"), {"code": "a", "message": "b"}),
        (SessionWarning(code="a", message="b", line=3), {"code": "a", "message": "b", "line": 3}),
        (
            SessionWarning(code="a", message="b", line=3, entry_id=""),
            {"code": "a", "message": "b", "line": 3, "entryId": ""},
        ),
    ],
)
def test_a_warning_has_only_the_places_that_are_known(warning: SessionWarning, expected: dict[str, Any]) -> None:
    assert warning_json(warning) == expected


def test_warnings_come_from_settings_file_and_plan_in_this_order_and_none_is_told_twice() -> None:
    builder = long_session()
    builder.add("message", parentId="gone", message={"role": "user", "content": "Go."})
    plan = planned(builder)
    settings = [SessionWarning(code="window_unknown", message="which model?")]
    again = [SessionWarning(code="window_unknown", message="which window?"), SessionWarning(code="trap", message="!")]
    told = told_warnings(plan, Explanation(reasons=[], warnings=again), settings)
    assert [w.code for w in told] == ["window_unknown", "missing_parent", "trap"]
    assert told[0].message == "which model?"


def test_two_warnings_of_one_code_about_the_file_are_both_told() -> None:
    builder = long_session()
    for _ in range(2):
        builder.add("message", parentId="gone", message={"role": "user", "content": "Go."})
    assert [w["code"] for w in view(planned(builder))["warnings"]].count("missing_parent") == 2


@given(sessions(), st.integers(0, 300), st.booleans())
def test_any_plan_is_valid_json_and_its_parts_add_up(builder: SessionBuilder, keep: int, exact: bool) -> None:
    plan = planned(builder, keep=keep, exact=exact)
    found = json.loads(utf8(json_text(view(plan))))
    assert (found["plan"] is None) == isinstance(plan.plan, Skip) == (found["skip"] is not None)
    assert found["messages"] == sum(found["roles"].values())
    assert found["contextTokens"] == found["usageTokens"] + found["trailingTokens"]
    assert 0 <= found["branchEntries"] <= found["entries"]
    if found["plan"] is not None:
        cut = found["plan"]
        system = found["roles"].get("system", 0)
        # System messages are not summarized, and the previous summary is neither summarized nor kept.
        counted = cut["messagesToSummarize"] + cut["turnPrefixMessages"] + cut["keptMessages"]
        assert found["messages"] - system - 1 <= counted <= found["messages"]
        assert cut["isSplitTurn"] or cut["turnPrefixMessages"] == cut["prefixChars"] == 0
