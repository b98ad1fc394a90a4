"""Tests of `traps`: each warning where it must be, and not where it must not."""

import re
from collections.abc import Sequence

import pytest
from explained import Row, Settings, call, compaction, explained, message, omission, reply, result, user

from compactor.calibration import CalibratedCounter
from compactor.step_errors import StepErrors
from compactor.token_features import SENT, WRITTEN
from compactor.tokens import TokenizerCounter

HEALTHY = [user(50), reply(50), user(60), reply(60, usage=5_000)]
CHINESE = [message("user", "请把这个函数改名" * 50), message("assistant", "好" * 400, stopReason="stop")] * 2

Sample = tuple[Sequence[Row], Settings]

REPORTED = [row for n in range(8) for row in (user(50), reply(50, usage=5_000 + 400 * n))]
"""Turns of 100 tokens by Pi's estimate that the provider reports as 400."""

WARN: dict[str, Sample] = {
    "trigger_too_late": ([*REPORTED, user(1_000)], Settings(keep=2_000)),
    "trigger_too_early": (
        [*(row for n in range(8) for row in (user(50), reply(50, usage=5_000 + 50 * n))), user(5_000)],
        Settings(keep=6_000),
    ),
    "window_unknown": (HEALTHY, Settings(sources={"context_window": "default"})),
    "reserve_not_below_window": (HEALTHY, Settings(window=8_000, reserve=8_000)),
    "keep_not_below_threshold": (HEALTHY, Settings(window=20_000, reserve=10_000, keep=10_000)),
    "stale_usage": ([*HEALTHY, compaction("e2"), user()], Settings()),
    "estimate_far_below_reported": ([user(4_000), reply(6_000, usage=35_000)], Settings(keep=6_000)),
    "no_usage": ([user(50), reply(50), user(50)], Settings()),
    "kept_tail_over_budget": ([*HEALTHY, user(140), reply(10)], Settings(keep=100)),
    "kept_tail_over_threshold": ([*HEALTHY, user(200)], Settings(window=150, reserve=0, exact=True)),
    "kept_tail_under_budget": ([user(), call("A"), result("A", 300), reply(24, usage=900)], Settings()),
    "call_parted_from_result": (
        [user(), call("A"), user(), result("A"), reply(usage=900)],
        Settings(keep=25, exact=True),
    ),
    "huge_message": ([*HEALTHY, user(101)], Settings(keep=100)),
    "non_latin_undercounted": (CHINESE, Settings(keep=100)),
}

SILENT: dict[str, tuple[str, Sample]] = {
    "an estimate off by less than the window shows": (
        "trigger_too_late",
        ([*REPORTED, user(600)], Settings(keep=2_000)),
    ),
    "a context that is reported as a whole": ("trigger_too_late", (REPORTED, Settings())),
    "an estimate that is only little too large": (
        "trigger_too_early",
        (
            [*(row for n in range(8) for row in (user(50), reply(50, usage=5_000 + 90 * n))), user(5_000)],
            Settings(keep=6_000),
        ),
    ),
    "a window from a flag": ("window_unknown", (HEALTHY, Settings(sources={"context_window": "flag"}))),
    "a reserve just below the window": ("reserve_not_below_window", (HEALTHY, Settings(window=8_000, reserve=7_999))),
    "a budget just below the threshold": (
        "keep_not_below_threshold",
        (HEALTHY, Settings(window=20_000, reserve=10_000, keep=9_999)),
    ),
    "a budget above a threshold that is already warned of": (
        "keep_not_below_threshold",
        (HEALTHY, Settings(window=8_000, reserve=8_000)),
    ),
    "usage after the compaction": ("stale_usage", ([*HEALTHY, compaction("e2"), user(), reply(usage=90)], Settings())),
    "stale usage is another warning": ("no_usage", ([*HEALTHY, omission("e0"), user()], Settings())),
    "an estimate that a system prompt explains": (
        "estimate_far_below_reported",
        ([user(4_000), reply(6_000, usage=34_999)], Settings(keep=6_000)),
    ),
    "an empty context": ("no_usage", ([], Settings())),
    "a tail just short of half more": ("kept_tail_over_budget", ([*HEALTHY, user(139), reply(10)], Settings(keep=100))),
    "a budget of zero": ("kept_tail_over_budget", (HEALTHY, Settings(keep=0))),
    "a tail at the threshold": (
        "kept_tail_over_threshold",
        ([*HEALTHY, user(200)], Settings(window=200, reserve=0, exact=True)),
    ),
    "a quarter of the budget": (
        "kept_tail_under_budget",
        ([user(), call("A"), result("A", 300), reply(25, usage=900)], Settings()),
    ),
    "pairs are kept together": (
        "call_parted_from_result",
        ([user(), call("A"), user(), result("A"), reply(usage=900)], Settings(keep=25)),
    ),
    "a result whose call id is used again in the tail": (
        "call_parted_from_result",
        ([user(), call("A"), result("A"), user(), call("A"), result("A"), reply()], Settings(keep=25, exact=True)),
    ),
    "a message of the budget's size": ("huge_message", ([*HEALTHY, user(100)], Settings(keep=100))),
    "a long message that is summarized": ("huge_message", ([user(), reply(3_000), *HEALTHY], Settings(keep=100))),
    "a system prompt": (
        "huge_message",
        ([*HEALTHY, message("system", "word" * 900), user(), reply()], Settings(keep=500)),
    ),
    "a tokenizer counts Chinese": (
        "non_latin_undercounted",
        (CHINESE, Settings(keep=100, counter=TokenizerCounter(name="letters", count=len))),
    ),
    "some typographic signs in English": (
        "non_latin_undercounted",
        ([message("user", "a “quoted” word — and more…" + "word" * 100)], Settings()),
    ),
}


def test_a_healthy_session_gives_no_warning() -> None:
    found = explained(HEALTHY, Settings(keep=100, sources={"context_window": "catalogue"}))
    assert found.warnings == {}


@pytest.mark.parametrize(("code", "sample"), WARN.items(), ids=WARN.keys())
def test_a_trap_is_warned_of(code: str, sample: Sample) -> None:
    assert code in explained(*sample).warnings


@pytest.mark.parametrize(("code", "sample"), SILENT.values(), ids=SILENT.keys())
def test_what_is_no_trap_is_not_warned_of(code: str, sample: Sample) -> None:
    assert code not in explained(*sample).warnings


def test_every_code_has_a_case_that_warns_and_one_that_does_not() -> None:
    assert {code for code, _ in SILENT.values()} == set(WARN)


@pytest.mark.parametrize(("code", "sample"), WARN.items(), ids=WARN.keys())
def test_a_warning_is_one_line_with_separated_numbers(code: str, sample: Sample) -> None:
    text = explained(*sample).warnings[code]
    assert text.isprintable()
    assert not re.search(r"\d{4}", text)
    assert not re.search(r"\b1 [a-z]+s\b", text)


@pytest.mark.parametrize(
    ("code", "entry_id"),
    [("huge_message", "e4"), ("kept_tail_under_budget", "e2"), ("call_parted_from_result", "e3")],
)
def test_a_warning_about_an_entry_names_it_and_its_line(code: str, entry_id: str) -> None:
    (warning,) = [w for w in explained(*WARN[code]).explanation.warnings if w.code == code]
    assert (warning.entry_id, warning.line) == (entry_id, int(entry_id[1:]) + 2)
    assert f"({entry_id})" in warning.message


@pytest.mark.parametrize(("size", "is_huge"), [(500, False), (501, True)])
def test_a_message_of_more_than_half_of_the_window_is_huge_even_if_it_is_summarized(size: int, is_huge: bool) -> None:
    found = explained([user(size), *HEALTHY], Settings(window=1_000, reserve=100))
    assert ("huge_message" in found.warnings) == is_huge
    if is_huge:
        assert "#0 (e0), a user message of 501 tokens, more than half of the window" in found.warnings["huge_message"]


def test_a_huge_message_is_told_where_it_leaves_nothing_to_summarize() -> None:
    found = explained([user(5_000), reply(10, usage=6_000)], Settings(keep=100))
    assert "#0 (e0), a user message of 5,000 tokens, more than the budget of 100" in found.warnings["huge_message"]


def test_the_likely_size_of_chinese_is_a_token_a_character() -> None:
    text = explained(CHINESE, Settings(keep=100)).warnings["non_latin_undercounted"]
    assert "the messages of the context: 400 by it, likely about 1,600" in text
    assert "the kept tail: 100 by it, likely about 400" in text


def test_an_estimate_by_pi_is_said_to_be_low_and_one_by_a_tokenizer_is_not() -> None:
    rows, letters = [user(50), reply(50), user(50)], TokenizerCounter(name="letters", count=len)
    assert (
        explained(rows)
        .warnings["no_usage"]
        .endswith("by the pi counter, which real providers exceed by 25 to 100% on code")
    )
    assert explained(rows, Settings(counter=letters)).warnings["no_usage"].endswith("by the letters counter")


def test_the_real_size_of_the_tail_is_guessed_from_what_the_provider_reported() -> None:
    rows = [user(20_000), reply(20_000, usage=90_000), user(500)]
    text = explained(rows, Settings(keep=20_000)).warnings["estimate_far_below_reported"]
    assert text.startswith("the provider reported 90,000 tokens where the pi counter estimates 40,000;")
    assert text.endswith("so the kept tail of 20,500 may really have up to about 46,000")
    skipped = explained(rows, Settings(keep=80_000)).warnings["estimate_far_below_reported"]
    assert skipped.endswith("explain only a part of it")


def test_one_parted_result_and_several_are_counted() -> None:
    rows = [user(), call("A", "B"), user(), result("A"), result("B"), reply()]
    two = explained(rows, Settings(keep=35, exact=True)).warnings["call_parted_from_result"]
    assert two.startswith("2 tool results of the kept tail lost their calls")
    one = explained(*WARN["call_parted_from_result"]).warnings["call_parted_from_result"]
    assert one.startswith("1 tool result of the kept tail lost its call to the summary, the first is #3 (e3)")


def test_a_late_trigger_is_told_in_tokens_and_turns() -> None:
    text = explained([*REPORTED, user(1_000)], Settings(keep=2_000)).warnings["trigger_too_late"]
    assert "saw 25% of what the provider reported over 7 steps" in text
    assert "the estimated 1,000 are likely about 4,000" in text
    assert "about 3,000 too late, some 8 turns" in text
    assert text.endswith("--counter calibrated counts closer")


def test_a_counter_that_learnt_is_not_told_to_be_replaced_by_itself() -> None:
    errors = StepErrors(steps=90, predicted=400.0, reported=1000, median=0.2, p90=0.5)
    counter = CalibratedCounter(count=len, weights=(1.0,) * len((*SENT, *WRITTEN)), errors=errors)
    text = explained([*REPORTED, user(1_000)], Settings(keep=2_000, counter=counter)).warnings["trigger_too_late"]
    assert "the calibrated counter saw 40%" in text
    assert "--counter" not in text


def test_without_a_turn_the_pace_is_left_out() -> None:
    rows = [reply(50, usage=5_000 + 400 * n) for n in range(8)]
    text = explained([*rows, result("x", 3_000)], Settings(keep=4_000, exact=True)).warnings["trigger_too_late"]
    assert "turn" not in text
