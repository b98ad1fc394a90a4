"""Where `calibrated` starts for a model: figures fitted on recorded sessions, shipped as a small JSON file.

`tests/data/fit_token_priors.py` makes the file; it holds no text, only weights, and says what they were fitted on.
"""

import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from compactor.calibration import Priors
from compactor.least_squares import Prior
from compactor.projection import ModelRef

FAMILY_MARKS = {"claude": "claude", "gpt": "gpt", "codex": "gpt", "o3": "gpt", "o4": "gpt", "gemini": "gemini"}
"""What in a model's id shows its family; models of one family share a tokenizer, or nearly."""

ANY = "any"
"""The family of all other models."""

_DATE = re.compile(r"[-@]?20\d{6}$|[-@]20\d\d-\d\d-\d\d$")


def priors_of(model: ModelRef) -> Priors:
    """The priors of the model itself if it was fitted, else of its family, else of all models."""
    return priors_in(_read(), model)


def priors_in(table: Mapping[str, Mapping[str, Sequence[float]]], model: ModelRef) -> Priors:
    """The same from a table of one's own: name of a model or family -> `mean` and `deviation`; it has `any`."""
    chosen = next(key for key in (model_name(model), family_of(model), ANY) if key in table)
    found = table[chosen]
    return Priors(name=chosen, weights=Prior(mean=tuple(found["mean"]), deviation=tuple(found["deviation"])))


def model_name(model: ModelRef) -> str:
    """The model's id without provider and date, so that dated and undated ids are one."""
    return _DATE.sub("", (model.model_id or "").rpartition("/")[2])


def family_of(model: ModelRef) -> str:
    """The family of the model, `any` if it is of none that is known."""
    name = model_name(model).lower()
    return next((family for mark, family in FAMILY_MARKS.items() if mark in name), ANY)


@cache
def _read() -> dict[str, Any]:
    with open(os.path.join(os.path.dirname(__file__), "token_priors.json"), encoding="utf-8") as file:
        priors: dict[str, Any] = json.load(file)["priors"]
    return priors
