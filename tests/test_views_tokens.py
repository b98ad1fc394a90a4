"""What the context costs and how far off each counter is."""

from typing import Any

from builders import SessionBuilder, image, tool_call, usage
from hypothesis import given
from strategies import sessions
from test_calibration import priors_of, talk, words

from compactor.branch import active_branch, find_leaf
from compactor.calibration import calibrate
from compactor.step_errors import WARM_UP_STEPS
from compactor.tokens import PiCounter, TokenizerCounter
from compactor.views.tokens import LARGEST, TokensView, tokens_json, tokens_view

OTHERS = (PiCounter(), TokenizerCounter(name="o200k", count=words))


def view_of(builder: SessionBuilder, counter: str = "pi") -> TokensView:
    session = builder.session()
    branch = active_branch(session, find_leaf(session, None))
    calibration = calibrate(branch.entries, words, priors_of)
    chosen = next((other for other in OTHERS if other.name == counter), calibration.counter)
    return tokens_view(session, branch, chosen, calibration, OTHERS)


def json_of(builder: SessionBuilder, counter: str = "pi") -> dict[str, Any]:
    return tokens_json(view_of(builder, counter))


def test_every_counter_is_judged_by_the_same_steps() -> None:
    found = json_of(talk(60, rate=1.5))["counters"]
    assert list(found) == ["pi", "o200k", "calibrated"]
    assert {(c["steps"], c["warmup"], c["reported"]) for c in found.values()} == {
        (59 - WARM_UP_STEPS, WARM_UP_STEPS, found["pi"]["reported"])
    }
    assert abs(found["calibrated"]["ratio"] - 1) < 0.03 < abs(found["o200k"]["ratio"] - 1)
    assert abs(found["o200k"]["biasByKind"]["toolResult"] - 1 / 1.5) < 0.01
    assert abs(found["calibrated"]["biasByKind"]["reply"] - 1) < 0.03
    assert found["pi"]["biasByKind"]["user"] is None


def test_steps_that_only_the_user_opened_show_the_users_kind() -> None:
    builder = SessionBuilder()
    for n in range(30):
        builder.user("one two three four " * 25)
        builder.assistant("five", usage=usage(1000 + 202 * n, output=2))
    bias = json_of(builder)["counters"]["o200k"]["biasByKind"]
    assert (bias["user"], bias["reply"], bias["toolResult"]) == (0.5, 0.5, None)


def test_steps_with_results_and_words_of_the_user_show_the_kind_of_neither() -> None:
    builder = SessionBuilder()
    for n in range(30):
        builder.result("c1", "one two")
        builder.user("three")
        builder.assistant("four", usage=usage(1000 + 100 * n, output=2))
    bias = json_of(builder)["counters"]["o200k"]["biasByKind"]
    assert (bias["user"], bias["toolResult"], bias["reply"]) == (None, None, 0.5)


def test_a_block_that_nobody_knows_is_of_no_kind() -> None:
    builder = SessionBuilder()
    builder.assistant([{"type": "hologram", "text": "x"}, {"type": "text", "text": "a" * 40}])
    assert json_of(builder)["byKind"] == {"replyText": 10}


def test_without_steps_nothing_is_measured() -> None:
    builder = SessionBuilder()
    builder.user()
    found = json_of(builder)
    context = {"tokens": 5, "source": "estimated", "reported": 0, "estimated": 5, "besideMessages": None}
    assert found["context"] == context
    assert all(c["ratio"] is None and c["medianStepError"] is None for c in found["counters"].values())
    assert found["calibration"] == {"priors": "any", "steps": 0, "replies": 0, "notSteps": {}, "guessed": {}}


def test_tokens_are_told_by_role_and_by_kind() -> None:
    builder = SessionBuilder()
    builder.system()
    builder.user([{"type": "text", "text": "x" * 40}, image()])
    blocks = [{"type": "thinking", "thinking": "t" * 40}, {"type": "text", "text": "a" * 80}]
    builder.assistant(blocks, tool_call("c1", "bash", command="ls"))
    builder.result("c1", [image()])
    builder.shell()
    builder.custom_message()
    found = json_of(builder)
    assert found["byRole"]["user"] == found["byKind"]["userText"] + 1200 == 1210
    assert found["byKind"]["images"] == 2400
    assert found["byKind"]["thinking"] == 10
    assert set(found["byKind"]) == {
        "images", "userText", "thinking", "replyText", "toolCalls", "systemPrompt", "userCommands", "customText",
    }  # fmt: skip
    assert sum(found["byKind"].values()) == sum(found["byRole"].values())


def test_a_reply_that_shows_nothing_of_what_it_cost_is_hidden_reasoning() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.assistant("One.", usage=usage(1000, output=50))
    builder.user()
    builder.assistant([], usage=usage(1100, output=80))
    assert json_of(builder, "calibrated")["byKind"]["hiddenReasoning"] == 80


def test_the_largest_entries_come_first() -> None:
    builder = SessionBuilder()
    sizes = [7, 90, 3, 40, 90, *range(20, 30)]
    for size in sizes:
        builder.user("x" * size * 4)
    found = json_of(builder)["largest"]
    assert [row["tokens"] for row in found] == sorted(sizes, reverse=True)[:LARGEST]
    assert [row["index"] for row in found[:2]] == [1, 4]


def test_predicted_context_goes_on_from_reported_sizes_where_steps_break_off() -> None:
    builder = talk(10)
    first = builder.session().entries[2].id
    before = view_of(builder)
    builder.compaction(first)
    for n in range(3):
        builder.user("go on")
        builder.assistant("x", usage=usage(700 + 50 * n, output=2))
    view = view_of(builder)
    steps = [p.step for p in view.calibration.predicted]
    predicted = view.errors["pi"].context
    assert predicted[: len(before.errors["pi"].context)] == before.errors["pi"].context
    assert steps[-2].context_tokens == 750
    assert 700 < predicted[-2] < predicted[-1] < 710


def test_what_made_no_step_is_counted_by_reason() -> None:
    builder = talk(4)
    builder.assistant("x", usage=usage(10, output=1))
    assert json_of(builder)["calibration"]["notSteps"] == {"fall": 1}


def test_what_was_reported_beside_the_messages_is_told() -> None:
    builder = SessionBuilder()
    builder.user("x" * 400)
    builder.assistant("a" * 200, usage=usage(9_000, output=50))
    builder.user("x" * 80)
    assert json_of(builder)["context"] == {
        "tokens": 9_020, "source": "reported+estimated", "reported": 9_000, "estimated": 20, "besideMessages": 8_850,
    }  # fmt: skip


def test_a_reply_that_failed_is_no_part_of_the_calibrated_context() -> None:
    builder = talk(4)
    whole = view_of(builder, "calibrated").by_role
    builder.assistant("never finished " * 300, stopReason="aborted", usage=usage(0))
    assert view_of(builder, "calibrated").by_role == whole
    assert view_of(builder, "pi").by_role["assistant"] > 1_000


def thinking(text: str, **fields: str) -> list[dict[str, Any]]:
    return [{"type": "thinking", "thinking": text, **fields}, {"type": "text", "text": "one two"}]


def test_what_no_counter_can_know_is_counted_by_what_it_is() -> None:
    builder, context = SessionBuilder(), 1000
    for content, output, reasoning in [
        ("one two", 2, None),
        (thinking(""), 40, None),
        (thinking("", thinkingSignature="s" * 80), 40, None),
        (thinking("hm"), 40, None),
        ("one two", 40, 36),
        ("word " * 100, 1, None),
    ]:
        builder.user([{"type": "text", "text": "look"}, image()] if output == 1 else "go")
        builder.result("c1", "tide [truncated: 900 chars omitted]" if reasoning else "tide")
        context += 100
        told = usage(context, output=output) | ({"reasoning": reasoning} if reasoning else {})
        builder.assistant(content, usage=told)
    assert json_of(builder)["calibration"]["guessed"] == {
        "hiddenReasoning": 2, "cutOutputs": 1, "shortenedResults": 1, "images": 1,
    }  # fmt: skip


@given(sessions())
def test_kinds_and_roles_have_the_same_sum_and_nothing_is_negative(builder: SessionBuilder) -> None:
    for counter in ("pi", "o200k", "calibrated"):
        view = view_of(builder, counter)
        assert sum(view.by_role.values()) == sum(view.by_kind.values())
        assert sum(view.by_role.values()) == sum(m.tokens for m in view.measured.measures)
        assert all(size >= 0 for size in (*view.by_role.values(), *view.by_kind.values()))
        assert all(context >= 0 for errors in view.errors.values() for context in errors.context)
