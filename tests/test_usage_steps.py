"""A session as steps between reported context sizes."""

import pytest
from builders import SessionBuilder, tool_call, usage
from hypothesis import given
from strategies import sessions

from compactor.branch import active_branch, find_leaf
from compactor.messages import Block, Message, Usage
from compactor.usage_steps import CutOutputs, Walk, shares, usage_steps, walked, written_tokens


def reply(builder: SessionBuilder, context: int, output: int, *calls: object, **fields: object) -> str:
    return builder.assistant("Done.", *calls, usage=usage(context, output=output), **fields)  # type: ignore[arg-type]


def walk_of(builder: SessionBuilder) -> Walk:
    session = builder.session()
    return usage_steps(active_branch(session, find_leaf(session, None)).entries)


def test_growth_is_parted_into_what_was_sent_and_what_was_written() -> None:
    builder = SessionBuilder()
    builder.user()
    reply(builder, 1000, 50, tool_call("c1"))
    builder.result("c1")
    builder.user()
    reply(builder, 1300, 60)
    walk = walk_of(builder)
    (step,) = walk.steps
    assert (step.sent_tokens, step.written_tokens, step.growth_tokens) == (240, 60, 300)
    assert (step.context_tokens, step.before_entry, step.entries) == (1300, 1, (2, 3, 4))
    assert [m.role for m in step.messages] == ["toolResult", "user", "assistant"]
    assert (walk.replies, walk.gaps) == (2, {})


def test_failed_replies_and_what_is_excluded_are_no_part_of_a_step() -> None:
    builder = SessionBuilder()
    reply(builder, 1000, 50)
    reply(builder, 0, 0, stopReason="error")
    builder.private_shell()
    builder.bookkeeping()
    reply(builder, 1040, 40)
    (step,) = walk_of(builder).steps
    assert [m.role for m in step.messages] == ["assistant"]


def test_a_reply_without_usage_belongs_to_the_step_that_follows() -> None:
    builder = SessionBuilder()
    reply(builder, 1000, 50)
    reply(builder, 0, 0)
    reply(builder, 1100, 40)
    (step,) = walk_of(builder).steps
    assert [m.role for m in step.messages] == ["assistant", "assistant"]
    assert step.sent_tokens == 60


def test_nothing_is_a_step_across_a_compaction_or_an_edit() -> None:
    builder = SessionBuilder()
    first = reply(builder, 1000, 50)
    builder.compaction(first)
    reply(builder, 400, 40)
    reply(builder, 500, 40)
    builder.edit(first, "shorter")
    reply(builder, 450, 40)
    walk = walk_of(builder)
    assert [step.context_tokens for step in walk.steps] == [500]
    assert walk.gaps == {"reset": 2}


def test_nothing_is_a_step_across_models_or_where_the_context_shrank() -> None:
    builder = SessionBuilder()
    reply(builder, 1000, 50)
    reply(builder, 1100, 50, model="gantry-9")
    reply(builder, 900, 50, model="gantry-9")
    walk = walk_of(builder)
    assert (walk.steps, walk.gaps, walk.replies) == ([], {"model_switch": 1, "fall": 1}, 3)


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (Usage(output=5, total_tokens=10), 5),
        (Usage(output=5, input=1), 5),
        (Usage(output=11, total_tokens=10), 0),
        (Usage(output=-1, total_tokens=10), 0),
        (Usage(), 0),
    ],
)
def test_an_impossible_output_counts_as_none(made: Usage, expected: int) -> None:
    assert written_tokens(made) == expected


@given(sessions())
def test_every_step_grows_and_no_entry_is_in_two(builder: SessionBuilder) -> None:
    session = builder.session()
    branch = active_branch(session, find_leaf(session, None)).entries
    walk = Walk()
    given_steps = list(walked(branch, walk))
    steps = [step for step in given_steps if step.growth_tokens > 0]
    assert steps == walk.steps
    assert len(given_steps) - len(steps) == walk.gaps.get("fall", 0)
    seen = [index for step in given_steps for index in step.entries]
    assert len(seen) == len(set(seen))
    assert len(steps) + sum(walk.gaps.values()) <= max(0, walk.replies)


def test_the_signatures_of_a_replys_thinking_are_measured_as_they_stand_in_the_file() -> None:
    builder = SessionBuilder()
    reply(builder, 1000, 50)
    builder.result("c0", '"thinkingSignature":"in a result"')
    blocks = [
        {"type": "thinking", "thinking": "", "thinkingSignature": 'a\\"b'},
        {"type": "thinking", "thinking": "", "thinkingSignature": "ccc"},
    ]
    builder.assistant(blocks, usage=usage(1200, output=50))
    builder.user('"thinkingSignature":"of a user"')
    reply(builder, 1300, 50)
    one, two = walk_of(builder).steps
    # A backslash and a quote, each with its escape.
    assert (one.before_signature_chars, one.reply_signature_chars) == (0, len('a\\\\\\"b') + 3)
    assert (two.before_signature_chars, two.reply_signature_chars) == (one.reply_signature_chars, 0)


def calling(tool: str | None) -> Message:
    return Message(role="assistant", content=[Block(type="toolCall", name=tool)] if tool else "Done.")


def test_whether_a_figure_is_cut_off_is_told_by_the_tool_that_ends_the_reply() -> None:
    outputs = CutOutputs()
    assert outputs.expected(calling("read")) is None
    for n in range(20):
        outputs.add(calling("read"), 2 + n % 2, is_cut=True)
        outputs.add(calling("edit"), 400, is_cut=False)
    assert outputs.expected(calling("read")) == 2.5
    assert outputs.expected(calling("edit")) is None
    assert outputs.expected(calling("never seen")) is None


def test_a_tool_that_was_seldom_seen_goes_with_the_other_replies() -> None:
    outputs = CutOutputs()
    for _ in range(20):
        outputs.add(calling("read"), 3, is_cut=True)
    outputs.add(calling("edit"), 400, is_cut=False)
    assert outputs.expected(calling("edit")) == outputs.expected(calling(None)) == 3


@given(sessions())
def test_shares_add_up_to_what_was_reported(builder: SessionBuilder) -> None:
    session = builder.session()
    branch = active_branch(session, find_leaf(session, None)).entries
    for step in usage_steps(branch).steps:
        estimates = [1.5 * n for n in range(len(step.entries) - 1)]
        found = shares(step, estimates, None)
        assert found[step.entries[-1]] == step.written_tokens
        if step.sent_tokens >= 0 and sum(estimates) > 0:
            assert sum(found.values()) == step.growth_tokens
