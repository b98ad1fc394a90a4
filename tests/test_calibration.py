"""A counter that learns from the usage that a session reports."""

from random import Random
from typing import Literal

import pytest
from builders import SessionBuilder, tool_call, usage
from hypothesis import given
from strategies import sessions, texts

from compactor.branch import active_branch, find_leaf
from compactor.calibration import Calibration, Priors, calibrate
from compactor.least_squares import Prior
from compactor.measure import measure
from compactor.messages import Block, Message
from compactor.projection import ModelRef, project
from compactor.step_errors import WARM_UP_STEPS

WEIGHTS = Prior(
    mean=(1.2, 1.2, 10.0, 10.0, 0.3, 1000.0, 1.2, 1.2, 1.2, 30.0, 5.0, 0.5, 10.0, 0.0),
    deviation=(0.3, 0.3, 10.0, 10.0, 0.5, 500.0, 0.3, 0.5, 0.3, 30.0, 10.0, 0.5, 30.0, 0.1),
)


def priors_of(model: ModelRef) -> Priors:
    return Priors(name=model.model_id or "any", weights=WEIGHTS)


def words(text: str) -> int:
    """A vocabulary in which every word is a token."""
    return len(text.split())


def calibrated(builder: SessionBuilder, leaf: str | None = None) -> Calibration:
    session = builder.session()
    return calibrate(active_branch(session, find_leaf(session, leaf)).entries, words, priors_of)


def talk(steps: int, *, rate: float = 1.5, told: float = 1.0, seed: int = 7, **fields: object) -> SessionBuilder:
    """A session whose provider counts `rate` tokens a word, and reports the part `told` of each reply."""
    chance, builder, context = Random(seed), SessionBuilder(), 5000
    builder.user()
    for n in range(steps):
        sent, written = chance.randint(5, 900), chance.randint(5, 300)
        if n:
            builder.result(f"c{n - 1}", "tide " * sent)
            context += round(sent * rate)
        real = round(written * rate)
        reported = max(1, round(real * told))
        call = tool_call(f"c{n}")
        builder.assistant("crane " * written, call, usage=usage(context + reported, output=reported), **fields)
        context += real
    return builder


@pytest.mark.parametrize("rate", [0.8, 1.0, 1.5, 2.5])
def test_predictions_come_close_to_what_the_provider_reports(rate: float) -> None:
    errors = calibrated(talk(80, rate=rate)).counter.errors
    assert errors is not None and errors.ratio is not None and errors.median is not None
    assert errors.steps == 79 - WARM_UP_STEPS
    assert abs(errors.ratio - 1) < 0.03
    assert errors.median < 0.05


def test_each_step_is_predicted_from_those_before_it_alone() -> None:
    whole = calibrated(talk(40))
    builder = talk(40)
    session = builder.session()
    for n in (1, 5, 20):
        leaf = session.entries[whole.predicted[n - 1].step.entries[-1]]
        part = calibrate(active_branch(session, leaf).entries, words, priors_of)
        assert [(p.sent, p.written) for p in part.predicted] == [(p.sent, p.written) for p in whole.predicted[:n]]


def test_without_usage_the_priors_count() -> None:
    builder = SessionBuilder()
    builder.user("one two")
    builder.assistant("three")
    made = calibrated(builder)
    assert (made.predicted, made.steps_of_model) == ([], 0)
    assert made.counter.weights == WEIGHTS.mean
    assert made.counter.text("one two three four five") == 6
    assert made.counter.message(Message(role="user", content="one two three four five")) == 16


@pytest.mark.parametrize("steps", [0, 1, 2, 6])
def test_a_few_steps_give_sane_weights(steps: int) -> None:
    made = calibrated(talk(steps))
    text = Message(role="toolResult", content=[Block(type="text", text="tide " * 1000)])
    assert 900 < made.counter.message(text) < 2000
    assert made.counter.errors is not None
    assert made.counter.errors.ratio is None


def test_usage_of_zero_teaches_nothing() -> None:
    builder = SessionBuilder()
    for _ in range(5):
        builder.user()
        builder.assistant(usage=usage(0))
    assert calibrated(builder).counter.weights == WEIGHTS.mean


def test_entries_with_a_reported_size_count_as_reported() -> None:
    builder = talk(12)
    made = calibrated(builder)
    session = builder.session()
    branch = active_branch(session, find_leaf(session, None))
    measures = measure(project(branch), made.counter).measures
    first = made.predicted[0].step
    tail = sum(m.tokens for m in measures[first.entries[0] :])
    assert tail == made.predicted[-1].step.context_tokens - (first.context_tokens - first.growth_tokens)


def test_an_edited_entry_is_counted_by_its_new_text() -> None:
    builder = talk(12)
    builder.edit(builder.session().entries[3].id, "short now")
    session = builder.session()
    branch = active_branch(session, find_leaf(session, None))
    made = calibrate(branch.entries, words, priors_of)
    projection = project(branch)
    assert measure(projection, made.counter).measures[3].tokens == made.counter.message(
        projection.entries[3].messages()[0]
    )


def test_outputs_that_were_cut_off_while_streaming_are_found_out_and_made_up_for() -> None:
    made = calibrated(talk(80, told=0.01))
    errors = made.counter.errors
    assert errors is not None and errors.ratio is not None and errors.median is not None
    assert abs(errors.ratio - 1) < 0.05
    assert errors.median < 0.1
    reply = Message(role="assistant", content=[Block(type="text", text="crane " * 200)])
    assert 270 < made.counter.message(reply) < 360
    known = [made.counter.entry(p.step.before_entry) for p in made.predicted]
    assert all(size is not None and size > 3 for size in known)


def test_a_reply_with_hidden_reasoning_weighs_more() -> None:
    plain = calibrated(talk(60)).counter
    chance, builder, context = Random(3), SessionBuilder(), 4000
    for n in range(60):
        written = chance.randint(20, 200)
        output = round(written * 1.5) * (9 if n % 10 == 9 else 1)
        context += output
        builder.user("go")
        builder.assistant("crane " * written, usage=usage(context, output=output))
    reply = Message(role="assistant", content=[Block(type="text", text="crane " * 100)])
    assert calibrated(builder).counter.message(reply) > 1.1 * plain.message(reply)


Drops = Literal["never", "at once", "at a new turn"]


def thinking_talk(
    steps: int, drops: Drops, *, seed: int = 5, shown: bool = True, signed: bool = False
) -> SessionBuilder:
    """A session whose model thinks; each fifth step is a new turn, and reasoning is `drops`ped from the context."""
    chance, builder, context, turn = Random(seed), SessionBuilder(), 9000, 0
    for n in range(steps):
        sent, written, thought = chance.randint(50, 900), chance.randint(50, 300), chance.choice([0, 60, 700])
        context += round(1.5 * sent)
        if n % 5 == 0:
            builder.user("tide " * sent)
            context -= turn if drops == "at a new turn" else 0
            turn = 0
        else:
            builder.result(f"c{n - 1}", "tide " * sent)
        block = {"type": "thinking", "thinking": "gull " * thought if shown else ""}
        block |= {"thinkingSignature": "s" * (200 + 5 * thought)} if signed else {}
        blocks = [*([block] if thought else []), {"type": "text", "text": "crane " * written}]
        output, reasoning = round(1.5 * (written + thought)), round(1.5 * thought)
        builder.assistant([*blocks, tool_call(f"c{n}")], usage=usage(context + output, output=output))
        context += output - (reasoning if drops == "at once" else 0)
        turn += reasoning
    return builder


def missed(made: Calibration) -> float:
    """Error of the sum, as a share of it."""
    errors = made.counter.errors
    assert errors is not None and errors.ratio is not None
    return abs(errors.ratio - 1)


@pytest.mark.parametrize("drops", ["never", "at once", "at a new turn"])
def test_reasoning_that_the_provider_does_not_send_again_is_found_out(drops: Drops) -> None:
    made = calibrated(thinking_talk(120, drops))
    assert missed(made) < 0.05
    assert made.counter.errors is not None
    assert (made.counter.errors.median or 0) < 0.08
    assert made.walk.gaps.get("fall", 0) == (0 if drops == "never" else made.walk.replies - 1 - len(made.predicted))


def test_a_step_over_which_the_context_shrank_teaches_what_is_dropped_but_is_not_judged() -> None:
    made = calibrated(thinking_talk(60, "at a new turn"))
    falls = made.walk.gaps["fall"]
    assert falls > 3
    assert len(made.predicted) == made.steps_of_model == 59 - falls
    turns = [p for p in made.predicted if p.step.messages[0].role == "user"][2:]
    assert all(abs(p.tokens - p.step.growth_tokens) < 0.25 * p.step.growth_tokens + 60 for p in turns)


def test_reasoning_that_a_provider_names_needs_no_estimate() -> None:
    builder = thinking_talk(120, "at a new turn", shown=False)
    for row in builder.rows:
        told = row["message"].get("usage")
        if told:
            spoken = sum(len(b.get("text", "").split()) for b in row["message"]["content"])
            told["reasoning"] = told["output"] - round(1.5 * spoken)
    predicted = calibrated(builder).predicted
    turns = [p for p in predicted if p.step.messages[0].role == "user" and p.tokens > 0][1:]
    assert turns
    assert all(abs(p.sent - p.step.sent_tokens) < 0.1 * abs(p.step.sent_tokens) + 60 for p in turns)


def test_the_length_of_its_signature_tells_how_much_was_thought_unseen() -> None:
    blind = calibrated(thinking_talk(120, "never", shown=False)).counter.errors
    signed = calibrated(thinking_talk(120, "never", shown=False, signed=True)).counter.errors
    assert signed is not None and blind is not None and signed.median is not None and blind.median is not None
    assert signed.median < 0.05 < blind.median


def test_what_an_agent_adds_now_and_then_unseen_is_in_the_sum() -> None:
    builder, context = SessionBuilder(), 5000
    for n in range(120):
        context += 300 + 60 + (700 if n % 6 == 5 else 0)
        builder.user("tide " * 200)
        builder.assistant("crane " * 40, usage=usage(context, output=60))
    made = calibrated(builder)
    assert missed(made) < 0.2
    assert made.counter.message(Message(role="user", content="tide " * 200)) > 320


def test_a_reply_without_usage_is_part_of_what_the_next_one_read() -> None:
    chance, builder, context = Random(2), SessionBuilder(), 5000
    for n in range(80):
        written = chance.randint(50, 400)
        context += round(1.5 * written) + 30
        builder.user("go")
        told = usage(context, output=round(1.5 * written)) if n % 2 else usage(0)
        builder.assistant("crane " * written, usage=told)
    made = calibrated(builder)
    assert len(made.predicted) == 39
    assert missed(made) < 0.05


def test_another_model_starts_from_its_own_priors_and_goes_on_when_it_comes_back() -> None:
    builder = talk(30, rate=2.0, model="gantry-1")
    builder.assistant("x", usage=usage(900_000, output=5), model="gantry-2")
    fresh = calibrated(builder)
    assert (fresh.priors, fresh.steps_of_model, fresh.counter.weights) == ("gantry-2", 0, WEIGHTS.mean)
    builder.assistant("x", usage=usage(900_010, output=5), model="gantry-1")
    back = calibrated(builder)
    assert (back.priors, back.steps_of_model) == ("gantry-1", 29)
    assert back.walk.gaps == {"model_switch": 2}


def test_a_context_that_shrank_for_another_reason_does_not_spoil_the_weights() -> None:
    builder = talk(40)
    result = Message(role="toolResult", content="tide " * 500)
    before = calibrated(builder).counter.message(result)
    builder.user("go on")
    builder.assistant("x", usage=usage(100, output=5))
    assert calibrated(builder).counter.message(result) == before


@given(sessions())
def test_any_session_gives_the_same_sane_counter_on_every_reading(builder: SessionBuilder) -> None:
    one, two = calibrated(builder), calibrated(builder)
    assert one.counter.weights == two.counter.weights
    assert one.counter.known == two.counter.known
    assert all(weight >= 0 for weight in one.counter.weights)
    assert all(size >= 0 for size in one.counter.known.values())
    assert all(predicted.tokens >= 0 for predicted in one.predicted)


@given(texts, texts)
def test_no_count_is_negative_and_more_text_never_counts_less(one: str, more: str) -> None:
    counter = calibrated(talk(5)).counter
    for role in ("user", "toolResult", "assistant"):
        less, both = (counter.message(Message(role=role, content=text)) for text in (one, f"{one} {more}"))
        assert 0 <= less <= both
    assert 0 <= counter.text(one) <= counter.text(f"{one} {more}")
