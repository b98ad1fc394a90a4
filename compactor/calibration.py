"""A counter that learns from the usage that a session reports.

Takes the entries of a branch, priors and a function that counts in a known vocabulary; gives a `Calibration`: the
weights learnt, and what each step was predicted as before it was learnt from. The provider reports what was sent and
what the model wrote apart (`usage_steps.py`), so both are learnt for themselves; another model starts from its own
priors, and goes on where it stopped when it comes back. Why it is done like this: docs/calibration.md.

`CalibratedCounter` counts with the weights of the newest model. An entry whose size the provider reported counts as
reported: a reply as its output, and what was sent between two replies, which is known as a sum, in shares of its
estimates. Everything else is an estimate; `errors` says how good it was on this session so far.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compactor.branch import Branch
from compactor.entries import Entry
from compactor.least_squares import Drift, LeastSquares, Prior
from compactor.messages import Message, Usage
from compactor.projection import ModelRef, session_model
from compactor.step_errors import StepErrors, step_errors
from compactor.token_features import SENT, WRITTEN, Count, sent_row, spoken_row, visible_tokens, written_row
from compactor.usage_steps import CutOutputs, Step, Walk, shares, walked, written_tokens

NOISE = 0.05
"""Standard deviation of a step around the best weights, as a share of it."""

FLOOR_TOKENS = 20.0
"""Smaller steps are judged as if they had so many tokens."""

SMOOTHING_TOKENS = 5000.0
"""So much must have been seen before the typical and the average amount are told apart."""

KEEP = 0.98
"""With each step the older ones count that much in the average, so about the last fifty do."""

PARTIAL = 0.5
"""A reported output of less than this part of the reply's own text was taken while it was still streaming."""

DROPPED = Prior(mean=(0.0, 0.0), deviation=(0.3, 0.5))
"""Which part of a reply's reasoning is not sent again: from the next request on; from the user's next message on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Priors:
    """Where the estimates of a model start."""

    name: str
    """Whose they are: a model, a family, or `any`."""
    weights: Prior
    """For the features `SENT`, then `WRITTEN`."""


PriorsOf = Callable[[ModelRef], Priors]
"""Gives where a model starts; the shipped ones are in `priors_file.py`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """A step and what was expected of it before it was learnt from."""

    step: Step
    sent: float
    written: float
    is_cut: bool
    """The output that was reported for the reply was taken while it was still streaming."""

    @property
    def tokens(self) -> float:
        """The whole step as it was expected."""
        return self.sent + self.written


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibratedCounter:
    """Counts with weights that a session taught."""

    count: Count
    weights: tuple[float, ...]
    """For the features `SENT`, then `WRITTEN`."""
    known: Mapping[int, int] = field(default_factory=dict)
    """Tokens of the entries, by index, whose size was reported."""
    errors: StepErrors | None = None
    """Of the steps that taught it, each before it was learnt from."""
    name: str = "calibrated"

    def text(self, text: str) -> int:
        """Tokens of a text of the user or in a summary."""
        return round(self.weights[SENT.index("userTokens")] * self.count(text))

    def message(self, message: Message) -> int:
        """Tokens of a message by the weights alone, what the provider adds for it included.

        A reply that failed or was stopped counts nothing, for it is not sent again.
        """
        if message.role == "assistant" and message.stop_reason in ("aborted", "error"):
            return 0
        row = (*sent_row(message, self.count), *written_row(message, self.count))
        return round(sum(weight * value for weight, value in zip(self.weights, row, strict=True)))

    def entry(self, index: int) -> int | None:
        """The reported size of an entry, None if it was not reported."""
        return self.known.get(index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a session taught."""

    walk: Walk
    predicted: list[Predicted]
    """One a step, in order."""
    counter: CalibratedCounter
    priors: str
    """Whose priors the newest model started from."""
    steps_of_model: int
    """Steps that the newest model's weights rest on, beside its priors."""


def calibrate(entries: Sequence[Entry], count: Count, priors_of: PriorsOf) -> Calibration:
    """What the entries of a branch teach, in order.

    Args:
        entries: root first.
        count: tokens of a text in a known vocabulary (o200k, which the shipped priors are for).
        priors_of: where a model starts.
    """
    walk = Walk()
    learners: dict[ModelRef, _Learner] = {}
    predicted: list[Predicted] = []
    known: dict[int, int] = {}
    for step in walked(entries, walk):
        if step.model not in learners:
            learners[step.model] = _Learner(priors_of(step.model), count)
        made = learners[step.model].take(step)
        if step.growth_tokens > 0:
            predicted.append(made.predicted)
        known |= made.known
    model = session_model(Branch(entries=list(entries))) or ModelRef(None, None)
    learner = learners.get(model) or _Learner(priors_of(model), count)
    counter = CalibratedCounter(
        count=count,
        weights=learner.weights(),
        known=known,
        errors=step_errors([(made.tokens, made.step.growth_tokens) for made in predicted]),
    )
    name = priors_of(model).name
    return Calibration(walk=walk, predicted=predicted, counter=counter, priors=name, steps_of_model=learner.steps)


@dataclass(frozen=True, slots=True)
class _Taken:
    """What came of a step."""

    predicted: Predicted
    known: dict[int, int]
    """Reported tokens by index of the entry."""


@dataclass(frozen=True, slots=True)
class _Expected:
    """What the weights alone make of a step."""

    row: tuple[float, ...]
    """Of what was sent, all features."""
    sent: list[float]
    """Tokens of each message that was sent."""
    dropped: float
    """Tokens of reasoning that the provider leaves out from now on."""
    before: float
    """The reply before."""
    before_told: int
    """What was reported for it."""
    reply_row: tuple[float, ...]
    reply: float


class _Learner:
    """The estimates of one model as they grow."""

    def __init__(self, priors: Priors, count: Count) -> None:
        self.steps = 0
        self._count = count
        own = priors.weights
        wide = Prior(mean=(*own.mean, *DROPPED.mean), deviation=(*own.deviation, *DROPPED.deviation))
        self._fit = LeastSquares(wide, noise=NOISE, floor=FLOOR_TOKENS)
        self._sent_drift = Drift(smoothing=SMOOTHING_TOKENS, keep=KEEP)
        self._written_drift = Drift(smoothing=SMOOTHING_TOKENS, keep=KEEP)
        self._outputs = CutOutputs()
        self._turn_reasoning = 0.0
        """Reasoning of the turn that may still be in the context."""
        self._newest: Message | None = None
        self._row: tuple[float, ...] = ()
        self._is_cut = False
        """Of the newest reply, from which the next step mostly starts: its row, and whether its figure is cut off."""

    def weights(self) -> tuple[float, ...]:
        """The weights in use, for `SENT` and `WRITTEN`."""
        sent, written = _halfway(self._sent_drift), _halfway(self._written_drift)
        plain = self._fit.weights[: -len(_NOT_DROPPED)]
        return tuple(weight * (sent if n < len(SENT) else written) for n, weight in enumerate(plain))

    def take(self, step: Step) -> _Taken:
        """Predicts a step, then learns from it."""
        told = written_tokens(step.before.usage or Usage())
        if step.before is not self._newest:
            self._turn_reasoning = 0.0
            self._row = written_row(step.before, self._count, step.before_signature_chars)
            self._is_cut = _is_cut(self._row, told)
        expected = self._expected(step, told)
        more, longer = _halfway(self._sent_drift), _halfway(self._written_drift)
        rest = max(0.0, expected.before * longer - told) if self._is_cut else 0.0
        cut_off = self._outputs.expected(step.reply)
        written = expected.reply * longer if cut_off is None else cut_off
        sent = max(-written, sum(expected.sent) * more + rest - expected.dropped)
        cut = (expected.before, told) if self._is_cut else None
        is_cut = _is_cut(expected.reply_row, step.written_tokens)
        made = Predicted(step=step, sent=sent, written=written, is_cut=is_cut)
        known = shares(step, expected.sent, cut)
        self._learn_sent(step, expected)
        self._newest, self._row, self._is_cut = step.reply, expected.reply_row, is_cut
        self._learn_written(step, expected)
        self.steps += step.growth_tokens > 0
        return _Taken(made, known)

    def _expected(self, step: Step, told: int) -> _Expected:
        count = self._count
        rows = [(*sent_row(m, count), *written_row(m, count)) for m in step.messages[:-1]]
        whole = [sum(column) for column in zip(_NOTHING, *rows, strict=True)]
        reasoning = self._droppable(step, told)
        reply_row = written_row(step.reply, count, step.reply_signature_chars)
        return _Expected(
            row=(*whole, *(-tokens for tokens in reasoning)),
            sent=[self._fit.estimate((*row, *_NOT_DROPPED)) for row in rows],
            dropped=sum(min(1.0, w) * tokens for w, tokens in zip(self._fit.weights[-2:], reasoning, strict=True)),
            before=self._written(self._row),
            before_told=told,
            reply_row=reply_row,
            reply=self._written(reply_row),
        )

    def _written(self, row: Sequence[float]) -> float:
        return self._fit.estimate((*_NOT_SENT, *row, *_NOT_DROPPED))

    def _droppable(self, step: Step, told: int) -> tuple[float, float]:
        """Tokens of reasoning that are not sent again if a provider drops it at once; if it does at a new turn."""
        usage = step.before.usage or Usage()
        thought = 0.0
        if not self._is_cut:
            thought = told - self._written(spoken_row(self._row)) if usage.reasoning is None else usage.reasoning
        thought = min(max(0.0, thought), told)
        if all(message.role != "user" for message in step.messages):
            self._turn_reasoning += thought * (1 - min(1.0, self._fit.weights[-2]))
            return (thought, 0.0)
        turn, self._turn_reasoning = self._turn_reasoning + thought, 0.0
        return (0.0, turn)

    def _learn_sent(self, step: Step, expected: _Expected) -> None:
        sent, told = step.sent_tokens, expected.before_told
        if self._is_cut:
            row = [a + b for a, b in zip(expected.row, (*_NOT_SENT, *self._row, *_NOT_DROPPED), strict=True)]
            self._fit.observe(row, sent + told)
            self._sent_drift.add(sum(expected.sent) + expected.before, sent + told)
        elif sent >= 2 * sum(expected.row[-2:]):  # where more than all reasoning went, it was something else
            self._fit.observe(expected.row, sent)
            if step.growth_tokens > 0:
                self._sent_drift.add(sum(expected.sent), sent + expected.dropped)

    def _learn_written(self, step: Step, expected: _Expected) -> None:
        self._outputs.add(step.reply, step.written_tokens, is_cut=self._is_cut)
        if not self._is_cut:
            self._written_drift.add(expected.reply, step.written_tokens)
            self._fit.observe((*_NOT_SENT, *self._row, *_NOT_DROPPED), step.written_tokens)


def _is_cut(row: Sequence[float], told: int) -> bool:
    """True if the output that was reported can't be that of a whole reply with such a row."""
    return told < PARTIAL * visible_tokens(row)


def _halfway(drift: Drift) -> float:
    """What estimates are multiplied by. Weights follow the typical amount; hidden reasoning and what agents add unseen
    come in bursts, so the average is larger. Between the two, neither the single step nor the sum is far off."""
    return math.sqrt(drift.ratio)


_NOT_SENT, _NOT_WRITTEN, _NOT_DROPPED = (0.0,) * len(SENT), (0.0,) * len(WRITTEN), (0.0, 0.0)
_NOTHING = (*_NOT_SENT, *_NOT_WRITTEN)
