"""Counting is Pi's, or a tokenizer's; a provider's own figure outranks both as long as it is not stale."""

from typing import Any

import pytest
from builders import Outcome, SessionBuilder, image, make_session, tool_call, usage
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert
from strategies import sessions, texts

from compactor.message_measure import context_size, usable_usage
from compactor.messages import Message, Usage
from compactor.tokens import (
    Counter,
    PiCounter,
    TokenizerCounter,
    message_parts,
    should_compact,
)

PI = PiCounter()
WORDS = TokenizerCounter(name="words", count=lambda text: len(text.split()))


def message(role: str, **fields: Any) -> Message:
    return convert({"role": role, **fields}, Message)


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


# --- a message -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "chars"),
    [
        ({"role": "user", "content": ""}, 0),
        ({"role": "user", "content": "12345"}, 5),
        ({"role": "user", "content": [text("12"), text("345")]}, 5),
        ({"role": "user"}, 0),
        ({"role": "user", "content": [{"type": "text"}, {"type": "audio", "text": "no"}]}, 0),
        ({"role": "user", "content": "🚢🚢"}, 4),
        ({"role": "user", "content": "検査"}, 2),
        ({"role": "user", "content": "\ud83d"}, 1),
        ({"role": "user", "content": [image()]}, 4800),
        ({"role": "toolResult", "content": [image(), text("1"), image()]}, 9601),
        ({"role": "custom", "content": "1234"}, 4),
        ({"role": "assistant", "content": [text("123"), {"type": "thinking", "thinking": "45"}]}, 5),
        ({"role": "assistant", "content": [{"type": "thinking"}, {"type": "text"}, {"type": "toolCall"}]}, 4),
        ({"role": "assistant", "content": [tool_call("id", "read", path="é")]}, 4 + 12),
        ({"role": "assistant", "content": [tool_call("id", "f", n=1.0)]}, 1 + 7),
        ({"role": "assistant", "content": [tool_call("id", "f", n="\ud83d")]}, 1 + 14),
        ({"role": "assistant", "content": [image()]}, 0),
        ({"role": "assistant", "content": "plain"}, 5),
        ({"role": "bashExecution", "command": "ls", "output": "abc", "exitCode": 127}, 5),
        ({"role": "bashExecution"}, 0),
        ({"role": "branchSummary", "summary": "12345"}, 5),
        ({"role": "compactionSummary", "summary": "12345"}, 5),
        ({"role": "compactionSummary"}, 0),
        ({"role": "system", "content": "123"}, 3),
        ({"role": "system", "content": "1", "sections": {"long name": "23", "gone": None, "none": ""}}, 3),
        ({"role": "system", "content": [text("1"), image()], "toolsAdded": [{"name": "x"}]}, 1 + 4800 + 14),
        ({"role": "system", "toolsAdded": []}, 2),
        ({"role": "unheard of", "content": "12345"}, 0),
        ({"role": "", "content": "12345"}, 0),
    ],
)
def test_a_message_costs_a_quarter_of_its_utf16_units(fields: dict[str, Any], chars: int) -> None:
    found = convert(fields, Message)
    assert PI.message(found) == -(-chars // 4)
    parts, images = message_parts(found)
    assert PI.text("".join(parts)) == -(-(chars - 4800 * images) // 4)


@pytest.mark.parametrize(("chars", "tokens"), [(0, 0), (1, 1), (4, 1), (5, 2), (8, 2), (9, 3)])
def test_a_started_token_is_a_whole_one(chars: int, tokens: int) -> None:
    assert PI.text("x" * chars) == tokens
    assert PI.message(message("user", content="x" * chars)) == tokens


@pytest.mark.parametrize("role", ["user", "toolResult", "custom"])
@pytest.mark.parametrize("counter", [PI, WORDS])
def test_an_image_costs_the_same_however_large_it_is(role: str, counter: Counter) -> None:
    small, large = (message(role, content=[image("A" * n), text("one two")]) for n in (8, 80_000))
    assert counter.message(small) == counter.message(large) == 1200 + 2


def test_a_control_token_in_a_text_is_text() -> None:
    assert PI.text("<|endoftext|>") == 4
    assert PI.message(message("user", content="<|endoftext|>" * 2)) == 7


def test_a_tokenizer_counts_the_same_parts() -> None:
    said = message("assistant", content=[text("one two"), tool_call("id", "read", path="three four")])
    assert WORDS.message(said) == 2 + 1 + 2
    assert WORDS.text("one two three") == 3


@given(texts, texts)
def test_more_text_never_costs_less(one: str, two: str) -> None:
    assert PI.text(one + two) >= max(PI.text(one), PI.text(two))
    assert PI.text(one + two) <= PI.text(one) + PI.text(two)


# --- reported usage ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reported", "size"),
    [
        (Usage(), 0),
        (Usage(total_tokens=100, input=1), 100),
        (Usage(input=1, output=20, cache_read=300, cache_write=4000), 4321),
        (Usage(total_tokens=12.7), 12),
        (Usage(total_tokens=-5), 0),
        (Usage(input=-5, output=2), 0),
        (Usage(total_tokens=float("inf")), 0),
        (Usage(total_tokens=float("nan")), 0),
        (Usage(total_tokens=10**400), 0),
        (Usage(input=float("inf"), output=-float("inf")), 0),
    ],
)
def test_the_reported_size_is_the_total_or_the_sum_and_never_nonsense(reported: Usage, size: int) -> None:
    assert context_size(reported) == size


@pytest.mark.parametrize(
    ("fields", "tokens"),
    [
        ({"role": "assistant", "usage": usage(70), "stopReason": "stop"}, 70),
        ({"role": "assistant", "usage": usage(70)}, 70),
        ({"role": "assistant", "usage": usage(70), "stopReason": "length"}, 70),
        ({"role": "assistant", "usage": usage(70), "stopReason": "aborted"}, 0),
        ({"role": "assistant", "usage": usage(70), "stopReason": "error"}, 0),
        ({"role": "assistant", "stopReason": "stop"}, 0),
        ({"role": "assistant", "usage": usage(0)}, 0),
        ({"role": "toolResult", "usage": usage(70)}, 0),
    ],
)
def test_only_a_reply_that_ended_well_tells_the_size(fields: dict[str, Any], tokens: int) -> None:
    assert usable_usage(convert(fields, Message)) == tokens


def figures(outcome: Outcome) -> tuple[int, int, int, int]:
    found = outcome.context
    return found.tokens, found.usage_tokens, found.trailing_tokens, found.stale_usage_tokens


def talk() -> SessionBuilder:
    builder = make_session(("user", "x" * 400))
    builder.assistant("y" * 40, usage=usage(5000))
    return builder


def test_the_newest_report_counts_and_what_follows_is_estimated() -> None:
    builder = talk()
    builder.assistant("z" * 8, usage=usage(6000))
    builder.user("x" * 400)
    assert figures(builder.plan(1)) == (6100, 6000, 100, 0)


def test_without_a_report_everything_is_estimated() -> None:
    builder = make_session(("user", "x" * 400), ("assistant", "y" * 40))
    assert figures(builder.plan(1)) == (110, 0, 110, 0)


def test_a_failed_reply_after_the_report_is_estimated() -> None:
    builder = talk()
    builder.assistant("z" * 40, usage=usage(9000), stopReason="error")
    assert figures(builder.plan(1)) == (5010, 5000, 10, 0)


@pytest.mark.parametrize("reset", ["compaction", "edit"])
def test_a_report_from_before_a_compaction_or_edit_is_stale(reset: str) -> None:
    """Else a compaction would fire again at once."""
    builder = talk()
    if reset == "compaction":
        builder.compaction("00000001", "S" * 40)
    else:
        builder.edit("00000001", "x" * 40)
    builder.user("z" * 4)
    outcome = builder.plan(1)
    estimate = 10 + 100 + 10 + 1 if reset == "compaction" else 10 + 10 + 1
    assert figures(outcome) == (estimate, 0, estimate, 5000)


@pytest.mark.parametrize("reset", ["compaction", "edit"])
def test_a_report_from_after_a_compaction_or_edit_is_fresh(reset: str) -> None:
    builder = talk()
    if reset == "compaction":
        builder.compaction("00000001", "S" * 40)
    else:
        builder.edit("00000001", "x" * 40)
    builder.assistant("z" * 4, usage=usage(900))
    assert figures(builder.plan(1)) == (900, 900, 0, 0)


def test_an_edit_on_another_branch_makes_no_report_stale() -> None:
    builder = talk()
    builder.edit("00000001")
    builder.back_to("00000002")
    builder.user("z" * 4)
    assert figures(builder.plan(1)) == (5001, 5000, 1, 0)


def test_system_messages_are_counted_as_the_one_that_they_make() -> None:
    builder = make_session(("user", "x" * 4))
    builder.system("a" * 40, sections={"cwd": "b" * 400})
    builder.system("c" * 40, sections={"cwd": "d" * 40})
    assert figures(builder.plan(1)) == (1 + (40 + 2 + 40 + 40 + 3) // 4, 0, 1 + (40 + 2 + 40 + 40 + 3) // 4, 0)


def test_system_messages_do_not_matter_beside_a_report() -> None:
    builder = talk()
    builder.system("a" * 40)
    assert figures(builder.plan(1)) == (5010, 5000, 10, 0)


@given(sessions(), st.booleans())
def test_the_size_is_the_report_and_the_estimate(builder: SessionBuilder, exact: bool) -> None:
    context = builder.plan(1, exact=exact).context
    assert context.tokens == context.usage_tokens + context.trailing_tokens
    assert not (context.usage_tokens and context.stale_usage_tokens)


def test_an_empty_session_has_no_size() -> None:
    assert figures(SessionBuilder().plan(1)) == (0, 0, 0, 0)


# --- the trigger ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "window", "reserve", "enabled", "fires"),
    [
        (183_616, 200_000, 16_384, True, False),
        (183_617, 200_000, 16_384, True, True),
        (183_617, 200_000, 16_384, False, False),
        (0, 8192, 16_384, True, True),
        (0, 16_384, 16_384, True, False),
        (1, 16_384, 16_384, True, True),
    ],
)
def test_it_fires_above_the_window_less_the_reserve_and_nothing_is_clamped(
    tokens: int, window: int, reserve: int, enabled: bool, fires: bool
) -> None:
    assert should_compact(tokens, context_window=window, reserve_tokens=reserve, enabled=enabled) is fires
