"""What the context costs, and how far each counter is off: the object of `compactor tokens --json`.

Takes a branch, counters and a calibration; gives tokens by role and kind, the largest entries, and the errors of every
counter over the session's own steps. A counter that learns predicts each step before it learns from it; the others
never learn. "Kind" is what a text is to the model: a part of a reply, a tool result, or what the user's side said.
"""

from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from compactor.branch import Branch
from compactor.calibration import Calibration, Predicted
from compactor.entries import Session, SessionWarning
from compactor.measure import Measured, measure
from compactor.messages import Message
from compactor.projection import project
from compactor.step_errors import WARM_UP_STEPS, StepErrors, step_errors
from compactor.token_features import omitted_chars
from compactor.tokens import ContextTokens, Counter, context_tokens, message_parts
from compactor.usage_steps import Step
from compactor.views.plan import session_json, warning_json

LARGEST = 10
"""Entries named as the largest."""

Guess = Literal["hiddenReasoning", "cutOutputs", "shortenedResults", "images"]
"""What a file does not hold, so that no counter can do more than guess at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CounterErrors:
    """How far off a counter was."""

    whole: StepErrors
    bias: dict[str, float | None]
    """Predicted tokens a reported one, by kind; None where no step shows the kind by itself."""
    context: list[int]
    """The context after each step as predicted, summed up since the last figure that could be taken over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokensView:
    """All that `tokens` shows."""

    session: Session
    counter: Counter
    measured: Measured
    context: ContextTokens
    beside_tokens: int | None
    """Reported beyond what the counter makes of the messages: system prompt, tools, what the agent adds. Below zero
    where something was dropped on the way, None if no size is reported."""
    by_role: dict[str, int]
    by_kind: dict[str, int]
    calibration: Calibration
    errors: dict[str, CounterErrors]
    guesses: dict[Guess, int]
    """In how many of the steps each occurred."""
    warnings: list[SessionWarning]


def tokens_view(
    session: Session, branch: Branch, counter: Counter, calibration: Calibration, counters: Sequence[Counter]
) -> TokensView:
    """The view of a branch.

    Args:
        session: for its name and warnings.
        branch: root first.
        counter: makes the figures by role and kind.
        calibration: of the same branch; its predictions are one more counter, `calibrated`.
        counters: the counters to judge beside it.
    """
    measured = measure(project(branch), counter)
    by_role, by_kind = _sizes(measured, counter)
    steps = [predicted.step for predicted in calibration.predicted]
    errors = {made.name: _errors(steps, *_plain(steps, made)) for made in counters}
    learnt = [(p.sent, p.written) for p in calibration.predicted]
    errors[calibration.counter.name] = _errors(steps, [s for s, _ in learnt], [w for _, w in learnt])
    context = context_tokens(measured.projection, measured.measures, counter)
    messages = sum(found.tokens for found in measured.measures) - context.trailing_tokens
    return TokensView(
        session=session,
        counter=counter,
        measured=measured,
        context=context,
        beside_tokens=context.usage_tokens - messages if context.usage_tokens else None,
        by_role=by_role,
        by_kind=by_kind,
        calibration=calibration,
        errors=errors,
        guesses=_guesses(calibration.predicted),
        warnings=[*session.warnings, *measured.warnings],
    )


def _guesses(predicted: Sequence[Predicted]) -> dict[Guess, int]:
    """The steps with something that no counter can know, by what it is."""
    found: dict[Guess, int] = {"hiddenReasoning": 0, "cutOutputs": 0, "shortenedResults": 0, "images": 0}
    for made in predicted:
        sent = made.step.messages[:-1]
        found["hiddenReasoning"] += _hides_reasoning(made.step)
        found["cutOutputs"] += made.is_cut
        found["shortenedResults"] += any(m.role == "toolResult" and omitted_chars(m.text()) for m in sent)
        found["images"] += any(block.type == "image" for m in sent for block in m.blocks)
    return {what: times for what, times in found.items() if times}


def _hides_reasoning(step: Step) -> bool:
    """True if the model thought and the file has neither the thinking nor its signature."""
    blocks = [block for block in step.reply.blocks if block.type == "thinking"]
    if step.reply_signature_chars or any((block.thinking or "").strip() for block in blocks):
        return False
    return bool(blocks or (step.reply.usage is not None and step.reply.usage.reasoning))


def _plain(steps: Sequence[Step], counter: Counter) -> tuple[list[float], list[float]]:
    """What a counter that never learns makes of the messages sent, and of the replies."""
    sent = [float(sum(counter.message(m) for m in step.messages[:-1])) for step in steps]
    return sent, [float(counter.message(step.reply)) for step in steps]


def _errors(steps: Sequence[Step], sent: Sequence[float], written: Sequence[float]) -> CounterErrors:
    whole = [(s + w, step.growth_tokens) for step, s, w in zip(steps, sent, written, strict=True)]
    counted = list(zip(steps, sent, written, strict=True))[WARM_UP_STEPS:]
    by_kind: dict[str, list[tuple[float, int]]] = {"reply": [], "toolResult": [], "user": []}
    for step, s, w in counted:
        by_kind["reply"].append((w, step.written_tokens))
        roles = {m.role for m in step.messages[:-1]}
        if roles and step.sent_tokens > 0 and (roles == {"toolResult"} or "toolResult" not in roles):
            by_kind["toolResult" if roles == {"toolResult"} else "user"].append((s, step.sent_tokens))
    return CounterErrors(
        whole=step_errors(whole),
        bias={kind: _ratio(pairs) for kind, pairs in by_kind.items()},
        context=_context(steps, [predicted for predicted, _ in whole]),
    )


def _ratio(pairs: Sequence[tuple[float, int]]) -> float | None:
    reported = sum(found for _, found in pairs)
    return sum(predicted for predicted, _ in pairs) / reported if reported else None


def _context(steps: Sequence[Step], predicted: Sequence[float]) -> list[int]:
    """The context after each step by predictions alone, from the first reported size on.

    What changed between two steps without being one is taken over as reported; where that halved the context, as a
    compaction does, the sum starts anew.
    """
    at: float = 0
    before = 0
    found: list[int] = []
    for step, tokens in zip(steps, predicted, strict=True):
        base = step.context_tokens - step.growth_tokens
        at = base if base < before / 2 or not before else max(0, at + base - before)
        at += tokens
        before = step.context_tokens
        found.append(round(at))
    return found


def _sizes(measured: Measured, counter: Counter) -> tuple[dict[str, int], dict[str, int]]:
    """Tokens of the context by role and by kind."""
    by_role: Tally[str] = Tally()
    by_kind: Tally[str] = Tally()
    for projected, found in zip(measured.projection.entries, measured.measures, strict=True):
        if not found.tokens:
            continue
        messages = projected.messages()
        left = found.tokens
        for n, message in enumerate(messages, 1):
            tokens = left if n == len(messages) else min(left, counter.message(message))
            left -= tokens
            by_role[message.role] += tokens
            by_kind.update(_kinds(message, tokens, counter))
    return dict(by_role.most_common()), dict(by_kind.most_common())


def _kinds(message: Message, tokens: int, counter: Counter) -> dict[str, int]:
    """The tokens of a message by what they are spent on, divided as the counter sees its parts."""
    if message.role != "assistant":
        images = sum(1 for block in message.blocks if block.type == "image")
        texts, _ = message_parts(message)
        if not images or not any(texts):
            return {"images" if images else _KINDS.get(message.role, "otherText"): tokens}
        text = min(tokens, sum(map(counter.text, texts)))
        return {_KINDS.get(message.role, "otherText"): text, "images": tokens - text}
    sizes = {"replyText": 0, "thinking": 0, "toolCalls": 0}
    for block in message.blocks:
        kind = {"text": "replyText", "thinking": "thinking", "toolCall": "toolCalls"}.get(block.type)
        if kind is not None:
            part = Message(role="assistant", content=[block])
            sizes[kind] += sum(map(counter.text, message_parts(part)[0]))
    whole = sum(sizes.values())
    if not whole:
        return {"hiddenReasoning" if message.usage is not None else "replyText": tokens}
    made = {kind: tokens * size // whole for kind, size in sizes.items() if size}
    largest = max(made, key=lambda kind: made[kind])
    made[largest] += tokens - sum(made.values())
    return made


_KINDS = {
    "user": "userText",
    "toolResult": "toolResults",
    "system": "systemPrompt",
    "custom": "customText",
    "bashExecution": "userCommands",
    "branchSummary": "summaries",
    "compactionSummary": "summaries",
}
"""What the text of a role is spent on."""


def tokens_json(view: TokensView) -> dict[str, Any]:
    """The object of `tokens --json`."""
    context, learnt = view.context, view.calibration
    return {
        "session": session_json(view.session),
        "counter": view.counter.name,
        "context": {
            "tokens": context.tokens,
            "source": context_source(context),
            "reported": context.usage_tokens,
            "estimated": context.trailing_tokens,
            "besideMessages": view.beside_tokens,
        },
        "byRole": view.by_role,
        "byKind": view.by_kind,
        "largest": [{"entryId": e, "index": i, "role": r, "tokens": t} for e, i, r, t in largest(view)],
        "counters": {name: _counter_json(errors) for name, errors in view.errors.items()},
        "calibration": {
            "priors": learnt.priors,
            "steps": learnt.steps_of_model,
            "replies": learnt.walk.replies,
            "notSteps": dict(learnt.walk.gaps),
            "guessed": dict(view.guesses),
        },
        "warnings": [*map(warning_json, view.warnings)],
    }


def context_source(context: ContextTokens) -> str:
    """Where the size of the context comes from: `reported`, `reported+estimated` or `estimated`."""
    if not context.usage_tokens:
        return "estimated"
    return "reported+estimated" if context.trailing_tokens else "reported"


def largest(view: TokensView) -> list[tuple[str, int, str, int]]:
    """Id, index, role and tokens of the entries that take most of the context."""
    pairs = zip(view.measured.projection.entries, view.measured.measures, strict=True)
    sizes = [(p.entry.id, p.entry.index, "+".join(m.roles), m.tokens) for p, m in pairs if m.tokens]
    return sorted(sizes, key=lambda row: (-row[3], row[1]))[:LARGEST]


def _counter_json(errors: CounterErrors) -> dict[str, Any]:
    whole = errors.whole
    return {
        "steps": whole.steps,
        "warmup": WARM_UP_STEPS,
        "predicted": round(whole.predicted),
        "reported": whole.reported,
        "ratio": whole.ratio,
        "medianStepError": whole.median,
        "p90StepError": whole.p90,
        "biasByKind": errors.bias,
    }
