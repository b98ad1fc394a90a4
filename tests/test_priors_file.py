"""Where the calibrated counter starts for a model."""

import json
from pathlib import Path

import pytest

import compactor
from compactor.priors_file import family_of, model_name, priors_of
from compactor.projection import ModelRef
from compactor.token_features import SENT, WRITTEN

SHIPPED = json.loads((Path(compactor.__file__).parent / "token_priors.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("provider", "model", "name", "family"),
    [
        ("anthropic", "claude-opus-4-5-20251101", "claude-opus-4-5", "claude"),
        ("openrouter", "anthropic/claude-sonnet-4.5", "claude-sonnet-4.5", "claude"),
        ("openai-codex", "gpt-5.5", "gpt-5.5", "gpt"),
        ("openai", "gpt-4o-2024-08-06", "gpt-4o", "gpt"),
        (None, "o3", "o3", "gpt"),
        ("google", "gemini-3-pro", "gemini-3-pro", "gemini"),
        ("dock", "gantry-1", "gantry-1", "any"),
        (None, None, "", "any"),
    ],
)
def test_a_model_is_known_by_its_name_without_provider_and_date(
    provider: str | None, model: str | None, name: str, family: str
) -> None:
    assert (model_name(ModelRef(provider, model)), family_of(ModelRef(provider, model))) == (name, family)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-opus-4-5", "claude-opus-4-5"),
        ("claude-next-9", "claude"),
        ("gpt-9", "gpt"),
        ("gantry-1", "any"),
        ("", "any"),
    ],
)
def test_the_closest_figures_that_were_fitted_are_taken(model: str, expected: str) -> None:
    assert priors_of(ModelRef("x", model)).name == expected


def test_every_shipped_prior_has_a_mean_and_a_deviation_for_each_feature_and_says_what_it_rests_on() -> None:
    assert SHIPPED["features"] == [*SENT, *WRITTEN]
    assert SHIPPED["fitted_on"]
    for name, prior in SHIPPED["priors"].items():
        assert len(prior["mean"]) == len(prior["deviation"]) == len(SENT) + len(WRITTEN), name
        assert all(value >= 0 for value in prior["mean"])
        assert all(value > 0 for value in prior["deviation"])
