"""Fits where the counter `calibrated` starts for a model, and writes compactor/token_priors.json.

    python tests/data/fit_token_priors.py FILE_OR_FOLDER...     session files of any format

Every session is learnt from by itself, starting from the wide figures in `ANY`. Of the weights that it ends with, those
whose feature occurred often enough count; the prior of a model, or of a family, is their mean over its sessions,
weighted by steps. Deviations are the spread between sessions, at least `MIN_SPREAD` of the mean, so that a session can
always overrule them. Only weights and counts are written, no text.
"""

import json
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compactor.branch import active_branch, find_leaf
from compactor.calibration import Priors, calibrate
from compactor.errors import CompactorError
from compactor.least_squares import Prior
from compactor.priors_file import family_of, model_name
from compactor.projection import ModelRef
from compactor.session_file import read_session
from compactor.sessions_file import files_below
from compactor.token_features import SENT, WRITTEN, sent_row, written_row
from compactor.usage_steps import Step
from compactor.vocabulary_file import text_counter

TARGET = Path(__file__).parents[2] / "compactor" / "token_priors.json"
FEATURES = (*SENT, *WRITTEN)

ANY = Prior(
    mean=(1.25, 1.25, 12.0, 8.0, 0.1, 1300.0, 1.2, 1.2, 1.2, 40.0, 5.0, 0.5, 20.0, 0.0),
    deviation=(0.25, 0.25, 10.0, 8.0, 0.7, 800.0, 0.25, 0.7, 0.25, 30.0, 10.0, 0.5, 20.0, 0.1),
)
"""For a model of which nothing is known: providers count 0.9 to 1.5 tokens for one of o200k, some tens for a call and
ten for a result, about 1,300 for an image. What a result says was left out, the model mostly did not see either. A
signature stands for a fifth of a token a character at most, less where the thinking itself is in the file."""

OF_SESSION = frozenset({"omittedTokens"})
"""Features whose weight depends on what wrote the session, not on the model: never fitted."""

MIN_MODEL_STEPS = 150
"""A model with fewer steps in all has its family's priors."""

MIN_STEPS = 30
"""A session with fewer steps says too little."""

MIN_SEEN = 20
"""Steps in which a feature must occur for its weight to count."""

MIN_SPREAD = 0.08
"""Of the mean; a smaller spread would hold a session back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fitted:
    """What one session taught about one model."""

    file: str
    model: str
    family: str
    steps: int
    weights: tuple[float | None, ...]
    """None where the feature was too rare."""


def fitted(paths: Iterable[str], count: Callable[[str], int]) -> list[Fitted]:
    """The weights that each session ends with, for the model with the most steps."""
    found = []
    for path in paths:
        try:
            session = read_session(path)
        except CompactorError:
            continue
        branch = active_branch(session, find_leaf(session, None))
        made = calibrate(branch.entries, count, lambda model: Priors(name="any", weights=ANY))
        by_model: dict[ModelRef, list[Step]] = defaultdict(list)
        for predicted in made.predicted:
            by_model[predicted.step.model].append(predicted.step)
        if not by_model:
            continue
        model, steps = max(by_model.items(), key=lambda item: len(item[1]))
        if len(steps) < MIN_STEPS or made.steps_of_model != len(steps):
            continue
        seen = [0] * len(FEATURES)
        for step in steps:
            signed = (0,) * (len(step.messages) - 1) + (step.reply_signature_chars,)
            rows = [
                (*sent_row(m, count), *written_row(m, count, n)) for m, n in zip(step.messages, signed, strict=True)
            ]
            for n, column in enumerate(zip(*rows, strict=True)):
                seen[n] += any(column)
        weights = tuple(
            weight if times >= MIN_SEEN and name not in OF_SESSION else None
            for name, weight, times in zip(FEATURES, made.counter.weights, seen, strict=True)
        )
        found.append(
            Fitted(
                file=Path(path).name,
                model=model_name(model),
                family=family_of(model),
                steps=len(steps),
                weights=weights,
            )
        )
    return found


def priors(found: Sequence[Fitted]) -> dict[str, dict[str, list[float]]]:
    """The priors by model and family, and `any`."""
    made = {"any": _entry(ANY.mean, ANY.deviation)}
    for key in ("family", "model"):
        groups: dict[str, list[Fitted]] = defaultdict(list)
        for fit in found:
            groups[getattr(fit, key)].append(fit)
        for name, group in sorted(groups.items()):
            enough = key == "family" or sum(fit.steps for fit in group) >= MIN_MODEL_STEPS
            if enough and name and name != "any":
                made[name] = _entry(*_pooled(group))
    return made


def _pooled(group: Sequence[Fitted]) -> tuple[list[float], list[float]]:
    mean, deviation = [], []
    for n in range(len(FEATURES)):
        pairs = [(weight, fit.steps) for fit in group if (weight := fit.weights[n]) is not None]
        steps = sum(count for _, count in pairs)
        if not pairs:
            mean.append(ANY.mean[n])
            deviation.append(ANY.deviation[n])
            continue
        middle = sum(weight * count for weight, count in pairs) / steps
        spread = (sum((weight - middle) ** 2 * count for weight, count in pairs) / steps) ** 0.5
        # One session alone shows no spread: half of what nothing is known by.
        least = max(MIN_SPREAD * middle, ANY.deviation[n] / (2 * len(pairs)))
        mean.append(middle)
        deviation.append(max(spread, least))
    return mean, deviation


def _entry(mean: Sequence[float], deviation: Sequence[float]) -> dict[str, list[float]]:
    return {"mean": [round(value, 4) for value in mean], "deviation": [round(value, 4) for value in deviation]}


def document(found: Sequence[Fitted]) -> Mapping[str, Any]:
    """What is written."""
    return {
        "made_by": "tests/data/fit_token_priors.py",
        "features": list(FEATURES),
        "unit": "provider tokens for one o200k token, or for one of what is counted",
        "fitted_on": [{"file": fit.file, "model": fit.model, "steps": fit.steps} for fit in found],
        "priors": priors(found),
    }


def main(arguments: Sequence[str]) -> int:
    """Fits and writes."""
    if not arguments:
        print(__doc__, file=sys.stderr)
        return 2
    paths = [path for argument in arguments for path in (files_below(argument) or [argument])]
    found = fitted(paths, text_counter("o200k_base"))
    TARGET.write_text(json.dumps(document(found), indent=1) + "\n", encoding="utf-8")
    print(f"{len(found)} sessions of {len({fit.model for fit in found})} models -> {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
