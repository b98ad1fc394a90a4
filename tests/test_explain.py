"""Tests of `explain`: the trigger, the source of the figures, what is summarized, what is lost, and skips."""

import pathlib
import re
from collections.abc import Sequence

import hypothesis
import pytest
from explained import (
    Row,
    Settings,
    call,
    compaction,
    explained,
    explained_session,
    message,
    model_change,
    omission,
    reply,
    result,
    user,
    words,
)
from hypothesis import given
from hypothesis import strategies as st

from compactor.plan import CompactionPlan, Skip
from compactor.session_file import read_session
from compactor.tokens import PiCounter, TokenizerCounter, should_compact

CORPUS = pathlib.Path(__file__).parents[2] / "shared" / "corpus"
REAL_SESSIONS = sorted((CORPUS / "pi").glob("*.jsonl"))
CORE_CODES = {"kept_tail", "summarized"}

TURN = [user(50), reply(50)]


@pytest.mark.parametrize(
    ("usage", "enabled", "code", "words_found"),
    [
        (95_000, True, "trigger_over", "Compaction is due: the context of 95,000 tokens is 5,000 tokens over the"),
        (90_001, True, "trigger_over", "is 1 token over the threshold of 90,000 tokens (a window of 100,000 less a"),
        (90_000, True, "trigger_under", "is exactly at the threshold of 90,000 tokens"),
        (89_999, True, "trigger_under", "Compaction is not due: the context of 89,999 tokens is 1 token below the"),
        (95_000, False, "trigger_disabled", "If it were on, it would trigger: the context of 95,000 tokens"),
        (50_000, False, "trigger_disabled", "it would not trigger anyway: the context of 50,000 tokens"),
    ],
)
def test_the_trigger_is_told_with_its_numbers(usage: int, enabled: bool, code: str, words_found: str) -> None:
    found = explained([*TURN, user(60), reply(60, usage=usage)], Settings(enabled=enabled))
    assert next(iter(found.reasons)) == code
    assert words_found in found.reasons[code]


@pytest.mark.parametrize(("usage", "says_by_hand"), [(95_000, False), (5_000, True)])
def test_a_plan_that_nothing_triggers_is_said_to_be_one_by_hand(usage: int, says_by_hand: bool) -> None:
    found = explained([*TURN, user(60), reply(60, usage=usage)])
    assert ("by hand" in next(iter(found.reasons.values()))) == says_by_hand


@pytest.mark.parametrize(
    ("rows", "code", "text"),
    [
        (
            [*TURN, reply(50, usage=4_533)],
            "context_reported",
            "The provider reported all of the context's 4,533 tokens with its newest reply.",
        ),
        (
            [*TURN, reply(50, usage=4_533), user(1_006)],
            "context_reported",
            "The provider reported 4,533 of the context's 5,539 tokens with its newest reply; the pi counter estimated "
            "the 1,006 that came after.",
        ),
        (
            [*TURN, user(1_000)],
            "context_estimated",
            "The provider reported no size for this context; "
            "the pi counter estimated all of the context's 1,100 tokens.",
        ),
        (
            [*TURN, reply(50, usage=4_533), omission("e0"), user(1_000)],
            "context_estimated",
            "The provider reported no size that still holds; "
            "the pi counter estimated all of the context's 1,100 tokens.",
        ),
    ],
)
def test_the_source_of_the_figure_is_told(rows: Sequence[Row], code: str, text: str) -> None:
    assert explained(rows).reasons[code] == text


def test_the_counter_that_made_the_estimates_is_named() -> None:
    found = explained([*TURN, *TURN], Settings(keep=300, counter=TokenizerCounter(name="letters", count=len)))
    assert "the letters counter" in found.reasons["context_estimated"]
    assert "by the letters counter" in found.reasons["kept_tail"]
    assert "by the letters counter" in found.reasons["summarized"]


@pytest.mark.parametrize(
    ("rows", "keep", "parts"),
    [
        ([*TURN, *TURN, *TURN], 100, "4 messages with 200 tokens by the pi counter (all of history)."),
        ([*TURN, *TURN], 50, "3 messages with 150 tokens by the pi counter (2 of history and 1 of a turn prefix)."),
        (TURN, 50, "1 message with 50 tokens by the pi counter (all of a turn prefix)."),
        (
            [message("system", words(70)), *TURN],
            50,
            "1 message with 50 tokens by the pi counter (all of a turn prefix).",
        ),
    ],
)
def test_what_is_summarized_is_counted_without_system_messages(rows: Sequence[Row], keep: int, parts: str) -> None:
    assert explained(rows, Settings(keep=keep)).reasons["summarized"] == f"To be summarized: {parts}"


def test_the_previous_summary_is_updated_with_new_history() -> None:
    rows = [*TURN, compaction("none"), *TURN, compaction("none", "x" * 1_234), *TURN, *TURN]
    text = explained(rows).reasons["previous_summary"]
    assert text == "The previous summary, of 1,234 characters, is updated; 2 compactions came before on this branch."


def test_the_previous_summary_is_carried_over_where_only_a_turn_prefix_is_new() -> None:
    text = explained([*TURN, compaction("none"), *TURN], Settings(keep=50)).reasons["previous_summary"]
    assert "is carried over as it is" in text
    assert text.endswith("1 compaction came before on this branch.")


@pytest.mark.parametrize("rows", [[*TURN, *TURN], [*TURN, compaction("none", ""), *TURN, *TURN]])
def test_no_previous_summary_is_told_where_there_is_none(rows: Sequence[Row]) -> None:
    assert "previous_summary" not in explained(rows).reasons


IMAGE = message("user", [{"type": "image", "data": "AAAA", "mimeType": "image/png"}])
THOUGHT = message("assistant", [{"type": "thinking", "thinking": "t" * 1_300}], stopReason="stop")
UNREACHABLE = {
    "one result": ([call("A"), result("A", 700)], "800 characters beyond the first 2,000 characters of 1 tool result"),
    "two results": (
        [call("A", "B"), result("A", 700), result("B", 700)],
        "1,600 characters beyond the first 2,000 characters of each of 2 tool results",
    ),
    "thinking": ([THOUGHT], "1,300 characters of thinking"),
    "one image": ([IMAGE], "1 image"),
    "all": (
        [IMAGE, IMAGE, THOUGHT, call("A"), result("A", 501)],
        "4 characters beyond the first 2,000 characters of 1 tool result, 1,300 characters of thinking and 2 images",
    ),
}


@pytest.mark.parametrize(("rows", "what"), UNREACHABLE.values(), ids=UNREACHABLE.keys())
def test_what_the_summarizer_never_sees_is_told(rows: Sequence[Row], what: str) -> None:
    reasons = explained([user(), *rows, *TURN]).reasons
    assert reasons["unreachable"] == f"The summarizer never sees {what}. What is said only there is lost."
    assert "all_reachable" not in reasons


@pytest.mark.parametrize("kept", [[], [user(), THOUGHT, call("A"), result("A", 700), reply(100)]])
def test_only_the_part_to_be_summarized_counts_as_unreachable(kept: Sequence[Row]) -> None:
    tokens = 1_000 if kept else 100
    reasons = explained([user(), call("B"), result("B", 500), *TURN, *kept], Settings(keep=tokens)).reasons
    assert "all_reachable" in reasons
    assert "unreachable" not in reasons


SKIPS: dict[str, tuple[Sequence[Row], Settings, str, Sequence[str]]] = {
    "newest is a compaction": (
        [*TURN, compaction("e1")],
        Settings(),
        "already_compacted",
        ["The newest entry, #2 (e2), is a compaction", "--leaf"],
    ),
    "no messages": ([model_change()], Settings(), "no_messages", ["no message that a summary", "--leaf"]),
    "none since": (
        [*TURN, compaction("none"), model_change()],
        Settings(),
        "no_messages",
        ["no message since the previous compaction"],
    ),
    "empty": ([], Settings(), "no_messages", ["no message that a summary"]),
    "small": (
        [*TURN, *TURN],
        Settings(keep=2_000),
        "nothing_to_compact",
        ["4 messages with 200 tokens", "The budget of 2,000 tokens to keep is not reached", "below 200,"],
    ),
    "small since": (
        [*TURN, compaction("none"), *TURN],
        Settings(keep=2_000),
        "nothing_to_compact",
        ["all there is since the previous compaction: 2 messages with 100 tokens"],
    ),
    "one huge message": (
        [user(5_000)],
        Settings(keep=1_000),
        "nothing_to_compact",
        ["reached at #0 (e0), a user message of 5,000 tokens", "No smaller budget helps"],
    ),
    "a huge message and a reply": (
        [user(5_000), reply(10)],
        Settings(keep=1_000),
        "nothing_to_compact",
        ["reached at #0 (e0), a user message of 5,000 tokens", "A smaller --keep-recent-tokens, below 1,000,"],
    ),
    "a system prompt and one message": (
        [message("system", words(300)), user(50)],
        Settings(keep=1_000),
        "nothing_to_compact",
        ["1 message with 50 tokens", "The budget of 1,000 tokens to keep is not reached. No smaller budget helps"],
    ),
    "nothing may start the tail": (
        [result("gone", 200), result("gone", 200)],
        Settings(exact=True),
        "nothing_to_compact",
        ["No entry may start a kept tail. No smaller budget helps"],
    ),
    "tail over the limit by a system prompt": (
        [*TURN, user(0), message("system", words(9_000))],
        Settings(window=4_000, reserve=1_000),
        "kept_tail_over_limit",
        [
            "would have 9,000 tokens, more than the threshold of 3,000, so no summary",
            "can bring the context below it. Set a smaller --keep-recent-tokens",
        ],
    ),
    "tail over the limit": (
        [*TURN, user(9_000)],
        Settings(window=4_000, reserve=1_000),
        "kept_tail_over_limit",
        ["would have 9,000 tokens, more than the threshold of 3,000", "#2 (e2), a user message of 9,000 tokens"],
    ),
}


@pytest.mark.parametrize(("rows", "settings", "code", "parts"), SKIPS.values(), ids=SKIPS.keys())
def test_a_skip_says_why_and_what_could_be_done(
    rows: Sequence[Row], settings: Settings, code: str, parts: Sequence[str]
) -> None:
    found = explained(rows, settings)
    assert isinstance(found.plan, Skip)
    assert found.plan.reason == code
    assert [p for p in parts if p not in found.reasons[code]] == []
    assert len(found.reasons) == 3


@pytest.mark.parametrize(
    ("rows", "below"), [([*TURN, *TURN], 200), ([user(5_000), reply(10)], 1_000), ([user(300), *TURN], 400)]
)
def test_the_smaller_budget_that_is_advised_exists(rows: Sequence[Row], below: int) -> None:
    keep = 2_000 if below < 1_000 else 1_000
    assert f"below {below:,}," in explained(rows, Settings(keep=keep)).reasons["nothing_to_compact"]
    assert any(isinstance(explained(rows, Settings(keep=n)).plan, CompactionPlan) for n in range(1, below, 7))


def test_a_usual_plan_has_five_to_eight_reasons_and_no_warning() -> None:
    found = explained(
        [*TURN, *TURN, user(), call("A"), result("A", 900), reply(90, usage=5_000)],
        Settings(window=6_000, reserve=1_500),
    )
    assert {"trigger_over", "split_turn", "unreachable"} <= set(found.reasons)
    assert 5 <= len(found.reasons) <= 8
    assert found.warnings == {}


@pytest.mark.parametrize("bad_id", ["a\nb", "\x1b]0;x\x07", "\ud800", "é" * 5_000, ""])
def test_an_id_from_the_file_can_neither_break_a_line_nor_reach_the_terminal(bad_id: str) -> None:
    rows: list[Row] = [*TURN, {**user(200), "id": bad_id}, {**reply(50), "id": bad_id + "2"}]
    for settings in (Settings(keep=100), Settings(keep=1_000), Settings(keep=100, window=50, reserve=10)):
        found = explained(rows, settings)
        for text in (*found.reasons.values(), *found.warnings.values()):
            assert text.isprintable()
            assert len(text) < 600


ROWS = st.lists(
    st.one_of(
        st.builds(user, st.integers(0, 300)),
        st.builds(reply, st.integers(0, 300), usage=st.sampled_from([0, 0, 700, 95_000])),
        st.builds(call, st.sampled_from("ABC")),
        st.builds(result, st.sampled_from("ABCD"), st.integers(0, 900)),
        st.builds(compaction, st.sampled_from(["e0", "e2", "none"]), st.text(max_size=5)),
        st.builds(omission, st.sampled_from(["e0", "e1", "e3"])),
        st.just(model_change()),
        st.builds(message, st.sampled_from(["user", "system", "robot"]), st.text(max_size=20)),
    ),
    max_size=12,
)
SETTINGS = st.builds(
    Settings,
    keep=st.integers(0, 500),
    window=st.integers(0, 2_000),
    reserve=st.integers(0, 1_000),
    enabled=st.booleans(),
    exact=st.booleans(),
)


@hypothesis.settings(deadline=None)
@given(ROWS, SETTINGS)
def test_every_outcome_is_explained_with_the_figures_of_the_plan(rows: list[Row], settings: Settings) -> None:
    found = explained(rows, settings)
    reasons = found.reasons
    assert len(reasons) == len(found.explanation.reasons)
    for code, text in reasons.items():
        assert re.fullmatch(r"[a-z_]+", code)
        assert text.isprintable() and text.endswith(".") and text[0].isupper()
        assert not re.search(r"(?<!-)\b1 (?:messages|tokens|entries|characters|results|images|compactions)\b", text)
    over = should_compact(found.context.tokens, context_window=settings.window, reserve_tokens=settings.reserve)
    assert ("trigger_over" in reasons) == (settings.enabled and over)
    if isinstance(found.plan, Skip):
        assert found.plan.reason in reasons
        return
    plan = found.plan
    assert f" has {plan.kept_tokens:,} token" in reasons["kept_tail"]
    assert f"#{plan.first_kept.index} (" in reasons["kept_tail"]
    assert f" {plan.history_messages + plan.prefix_messages:,} message" in reasons["summarized"]
    assert plan.is_split_turn == ("turn_not_split" not in reasons)
    assert ("split_turn" in reasons) <= (plan.prefix_messages > 0)


@pytest.mark.skipif(not REAL_SESSIONS, reason="skipped: no corpus")
@pytest.mark.parametrize("path", REAL_SESSIONS, ids=lambda p: p.stem)
@pytest.mark.parametrize("keep", [2_000, 20_000])
def test_real_sessions_are_explained_without_noise(path: pathlib.Path, keep: int) -> None:
    settings = Settings(keep=keep, window=200_000, reserve=16_384, counter=PiCounter())
    found = explained_session(read_session(str(path)), settings)
    codes = set(found.reasons)
    assert codes & {"trigger_over", "trigger_under"}
    assert codes & {"context_reported", "context_estimated"}
    if isinstance(found.plan, CompactionPlan):
        assert codes >= CORE_CODES
        assert codes & {"unreachable", "all_reachable"}
        assert 6 <= len(codes) <= 9
    assert len(found.warnings) <= 2


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        (
            {"stopReason": "error", "errorMessage": "prompt is too long: 213462 tokens > 200000 maximum"},
            "reply_overflowed",
        ),
        (
            {"stopReason": "error", "errorMessage": "ThrottlingException: Too many tokens, please wait"},
            "reply_throttled",
        ),
        ({"stopReason": "error", "errorMessage": "401 invalid key"}, None),
        ({"stopReason": "stop"}, None),
    ],
)
def test_a_failed_newest_reply_is_told_apart_by_what_helps(fields: dict[str, str], code: str | None) -> None:
    found = explained([user(), reply(**fields)])
    codes = {r.code for r in found.explanation.reasons} & {"reply_overflowed", "reply_throttled"}
    assert codes == ({code} if code else set())


def test_only_the_newest_reply_is_looked_at_for_a_failure() -> None:
    failed = reply(stopReason="error", errorMessage="prompt is too long: 213462 tokens > 200000 maximum")
    found = explained([user(), failed, user(), reply()])
    assert "reply_overflowed" not in {r.code for r in found.explanation.reasons}
