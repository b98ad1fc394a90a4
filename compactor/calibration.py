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
from compactor.least_squares import LeastSquares, Prior
from compactor.messages import Message, Usage
from compactor.projection import ModelRef, session_model
from compactor.step_errors import StepErrors, step_errors
from compactor.token_features import SENT, WRITTEN, Count, sent_row, visible_tokens, written_row
from compactor.usage_steps import Step, Walk, walked, written_tokens

NOISE = 0.05
"""Standard deviation of a step around the best weights, as a share of it."""

FLOOR_TOKENS = 20.0
"""Smaller steps are judged as if they had so many tokens."""

SMOOTHING_TOKENS = 5000.0
"""So much written text must have been seen before the typical and the average reply are told apart."""

PARTIAL = 0.5
"""A reported output of less than this part of the reply's own text was taken while it was still streaming."""


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
        """Tokens of a message by the weights alone, what the provider adds for it included."""
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


class _Learner:
    """The estimates of one model as they grow."""

    def __init__(self, priors: Priors, count: Count) -> None:
        self.steps = 0
        self._count = count
        self._fit = LeastSquares(priors.weights, noise=NOISE, floor=FLOOR_TOKENS)
        self._expected_tokens = 0.0
        self._written_tokens = 0
        self._partial: list[int] = []
        self._reply: Message | None = None
        self._row: tuple[float, ...] = ()
        """Of the newest reply, from which the next step mostly starts."""

    @property
    def _reasoning(self) -> float:
        """What replies cost beyond the weights, which follow the typical reply; hidden reasoning comes in bursts.

        Halfway to the average reply, so that neither the single step nor the sum is far off.
        """
        return math.sqrt((self._written_tokens + SMOOTHING_TOKENS) / (self._expected_tokens + SMOOTHING_TOKENS))

    def weights(self) -> tuple[float, ...]:
        """The weights in use, hidden reasoning included."""
        plain = self._fit.weights
        return (*plain[: len(SENT)], *(weight * self._reasoning for weight in plain[len(SENT) :]))

    def take(self, step: Step) -> _Taken:
        """Predicts a step, then learns from it."""
        count = self._count
        rows = [sent_row(message, count) for message in step.messages[:-1]]
        sent = [self._fit.estimate((*row, *_NOT_WRITTEN)) for row in rows]
        before_row = self._row if step.before is self._reply else written_row(step.before, count)
        self._reply, self._row = step.reply, (reply_row := written_row(step.reply, count))
        before = self._fit.estimate((*_NOT_SENT, *before_row))
        reply = self._fit.estimate((*_NOT_SENT, *reply_row))
        told = written_tokens(step.before.usage or Usage())
        was_cut = told < PARTIAL * visible_tokens(before_row)
        rest = max(0.0, before - told) if was_cut else 0.0
        predicted = Predicted(step=step, sent=sum(sent) + rest, written=self._reported(reply))
        known = _shares(step, sent, (before, told) if was_cut else None)
        row = [sum(column) for column in zip(_NOT_SENT, *rows, strict=True)]
        self.steps += 1
        self._learn_written(step, reply_row, reply)
        if was_cut:
            self._fit.observe((*row, *before_row), step.sent_tokens + told)
        elif step.sent_tokens >= 0:
            self._fit.observe((*row, *_NOT_WRITTEN), step.sent_tokens)
        return _Taken(predicted, known)

    def _reported(self, reply: float) -> float:
        """What will be reported for a reply of that size: where most figures were cut off, about as much as those."""
        if 2 * len(self._partial) <= self.steps:
            return reply * self._reasoning
        return sum(self._partial) / len(self._partial)

    def _learn_written(self, step: Step, row: Sequence[float], expected: float) -> None:
        if step.written_tokens < PARTIAL * visible_tokens(row):
            self._partial.append(step.written_tokens)
            return
        self._expected_tokens += expected
        self._written_tokens += step.written_tokens
        self._fit.observe((*_NOT_SENT, *row), step.written_tokens)


_NOT_SENT, _NOT_WRITTEN = (0.0,) * len(SENT), (0.0,) * len(WRITTEN)


def _shares(step: Step, sent: Sequence[float], cut: tuple[float, int] | None) -> dict[int, int]:
    """The reported sizes of a step's entries: the reply's own, and what was sent, divided as it was estimated.

    What was sent is known only as a sum; where the provider dropped more than was sent, it is not known at all. A reply
    whose own figure was cut off is in the sum that follows it.

    Args:
        step: the step.
        sent: estimates of what was sent.
        cut: estimate and reported figure of the reply before, if that figure was cut off.
    """
    *indexes, reply = step.entries
    known = {reply: step.written_tokens}
    parts, total = list(zip(indexes, sent, strict=True)), step.sent_tokens
    if cut is not None:
        parts.insert(0, (step.before_entry, cut[0]))
        total += cut[1]
    whole = sum(estimate for _, estimate in parts)
    if total < 0 or whole <= 0:
        return known
    told, so_far = 0, 0.0
    shares: dict[int, int] = {}
    for index, estimate in parts:
        so_far += estimate
        upto = round(total * so_far / whole)
        shares[index] = shares.get(index, 0) + upto - told
        told = upto
    return known | shares
