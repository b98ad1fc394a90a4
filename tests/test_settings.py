"""Each setting resolves by itself, as in Pi; what can't be used is refused with its field, value and file."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.errors import SettingsError
from compactor.projection import ModelRef
from compactor.settings import (
    CONTEXT_WINDOW_DEFAULT,
    KEEP_RECENT_TOKENS_DEFAULT,
    MAX_TOKENS_SETTING,
    RESERVE_TOKENS_DEFAULT,
    CompactionSettings,
    SettingsFile,
    resolve_settings,
    session_dir_setting,
)

GANTRY = ModelRef("dock", "gantry-1")
OVERRIDES = {"dock/gantry-1": {"reserveTokens": 5}}


def file_of(path: str, compaction: Any) -> SettingsFile | None:
    return None if compaction is ... else SettingsFile(path=path, values={"theme": "dark", "compaction": compaction})


def resolved(project: Any = ..., user: Any = ..., model: ModelRef | None = GANTRY, **flags: int) -> CompactionSettings:
    """The settings from two `compaction` values; `...` stands for no file."""
    return resolve_settings(
        flags, project=file_of("project.json", project), user=file_of("user.json", user), model=model
    )


def test_without_flags_and_files_the_defaults_count_and_say_so() -> None:
    settings = resolve_settings({})
    assert settings.enabled is True
    assert settings.context_window == CONTEXT_WINDOW_DEFAULT == 200000
    assert settings.reserve_tokens == RESERVE_TOKENS_DEFAULT == 16384
    assert settings.keep_recent_tokens == KEEP_RECENT_TOKENS_DEFAULT == 20000
    assert set(settings.sources) == {"enabled", "context_window", "reserve_tokens", "keep_recent_tokens"}
    assert set(settings.sources.values()) == {"default"}


RESERVE_CASES: dict[str, tuple[dict[str, Any], int, str]] = {
    "the user's file": ({"user": {"reserveTokens": 7}}, 7, "user"),
    "the project's file": ({"project": {"reserveTokens": 8}}, 8, "project"),
    "the project's before the user's": ({"project": {"reserveTokens": 8}, "user": {"reserveTokens": 7}}, 8, "project"),
    "other keys of the project hide nothing": (
        {"project": {"enabled": False}, "user": {"reserveTokens": 7}}, 7, "user"),
    "an override of the user before the project's setting": (
        {"project": {"reserveTokens": 8}, "user": {"modelOverrides": OVERRIDES}}, 5, "override"),
    "overrides of both files are merged by model and field": (
        {"project": {"modelOverrides": {"dock/gantry-1": {"keepRecentTokens": 1}}},
         "user": {"modelOverrides": OVERRIDES}}, 5, "override"),
    "an override of the project before one of the user": (
        {"project": {"modelOverrides": {"dock/gantry-1": {"reserveTokens": 6}}},
         "user": {"modelOverrides": OVERRIDES}}, 6, "override"),
    "an override for another model": (
        {"user": {"reserveTokens": 7, "modelOverrides": {"dock/gantry-2": {"reserveTokens": 5}}}}, 7, "user"),
    "an override without the field": (
        {"user": {"reserveTokens": 7, "modelOverrides": {"dock/gantry-1": {}}}}, 7, "user"),
    "no model": ({"user": {"modelOverrides": OVERRIDES}, "model": None}, 16384, "default"),
    "half a model": ({"user": {"modelOverrides": OVERRIDES}, "model": ModelRef(None, "gantry-1")}, 16384, "default"),
    "a flag before all": ({"project": {"modelOverrides": OVERRIDES}, "reserve_tokens": 9}, 9, "flag"),
    "a flag helps against a bad file": ({"project": {"reserveTokens": "many"}, "reserve_tokens": 9}, 9, "flag"),
    "zero is a value": ({"user": {"reserveTokens": 7}, "reserve_tokens": 0}, 0, "flag"),
    "null of the project hides the user's object": ({"project": None, "user": {"reserveTokens": 7}}, 16384, "default"),
    "null overrides are none": ({"user": {"modelOverrides": None, "reserveTokens": 7}}, 7, "user"),
    "overrides that are no object are none": ({"user": {"modelOverrides": "x", "reserveTokens": 7}}, 7, "user"),
    "the largest safe integer": ({"user": {"reserveTokens": 2**53 - 1}}, 2**53 - 1, "user"),
    "a whole number in another spelling": ({"user": {"reserveTokens": 2e4}}, 20000, "user"),
}  # fmt: skip


@pytest.mark.parametrize("case", RESERVE_CASES)
def test_a_value_is_taken_from_the_first_place_that_has_it(case: str) -> None:
    given_, tokens, source = RESERVE_CASES[case]
    settings = resolved(**given_)
    assert (settings.reserve_tokens, settings.sources["reserve_tokens"]) == (tokens, source)
    assert type(settings.reserve_tokens) is int


def test_each_value_resolves_by_itself() -> None:
    settings = resolve_settings(
        {"reserve_tokens": 1, "keep_recent_tokens": None},
        project=file_of("project.json", {"keepRecentTokens": 2}),
        user=file_of("user.json", {"enabled": False, "keepRecentTokens": 3, "reserveTokens": 4}),
        model=GANTRY,
        catalogue_window=5,
    )
    values = settings.enabled, settings.context_window, settings.reserve_tokens, settings.keep_recent_tokens
    assert values == (False, 5, 1, 2)
    assert settings.sources == {
        "enabled": "user", "context_window": "catalogue", "reserve_tokens": "flag", "keep_recent_tokens": "project",
    }  # fmt: skip
    assert settings.warnings == ()


BAD_TOKENS = [
    -1,
    1.5,
    float("inf"),
    float("nan"),
    "16384",
    True,
    False,
    None,
    [1],
    {"n": 1},
    2**53,
    10**5000,
    -(10**99),
]


@pytest.mark.parametrize("value", BAD_TOKENS, ids=[*map(str, range(len(BAD_TOKENS)))])
@pytest.mark.parametrize("field", ["reserveTokens", "keepRecentTokens"])
@pytest.mark.parametrize("place", ["project", "user"])
def test_a_value_that_is_no_token_number_is_refused_with_field_and_file(value: Any, field: str, place: str) -> None:
    with pytest.raises(SettingsError) as ordinary:
        resolved(**{place: {field: value}})
    assert str(ordinary.value).startswith(f"{place}.json: compaction.{field}: expected a whole number of tokens")
    with pytest.raises(SettingsError) as override:
        resolved(**{place: {"modelOverrides": {"dock/gantry-1": {field: value}}}})
    assert f"{place}.json: compaction.modelOverrides['dock/gantry-1'].{field}: " in str(override.value)
    assert all("\n" not in str(raised.value) and len(str(raised.value)) < 250 for raised in (ordinary, override))


def test_a_bad_ordinary_value_is_refused_even_if_an_override_hides_it() -> None:
    with pytest.raises(SettingsError, match=r"compaction\.reserveTokens: .* found 'x'"):
        resolved(user={"reserveTokens": "x", "modelOverrides": OVERRIDES})


def test_a_bad_value_that_a_better_file_hides_does_no_harm() -> None:
    assert resolved(project={"reserveTokens": 8}, user={"reserveTokens": "x"}).reserve_tokens == 8


@pytest.mark.parametrize("entry", [None, 5, "x", [], True])
def test_an_override_that_is_no_object_is_refused(entry: Any) -> None:
    with pytest.raises(
        SettingsError, match=r"user\.json: compaction\.modelOverrides\['dock/gantry-1'\]: expected an obj"
    ):
        resolved(user={"modelOverrides": {"dock/gantry-1": entry}})


@pytest.mark.parametrize("compaction", [5, "off", [], True])
def test_compaction_settings_that_are_no_object_are_refused(compaction: Any) -> None:
    with pytest.raises(SettingsError, match=r"project\.json: compaction: expected an object, found"):
        resolved(project=compaction, user={"reserveTokens": 7})


@pytest.mark.parametrize(
    ("files", "enabled", "source"),
    [
        ({}, True, "default"),
        ({"user": {"enabled": False}}, False, "user"),
        ({"project": {"enabled": True}, "user": {"enabled": False}}, True, "project"),
        ({"project": {"enabled": None}, "user": {"enabled": False}}, True, "default"),
    ],
)
def test_enabled_comes_from_the_files(files: dict[str, Any], enabled: bool, source: str) -> None:
    settings = resolved(**files)
    assert (settings.enabled, settings.sources["enabled"]) == (enabled, source)


@pytest.mark.parametrize("value", ["false", 0, 1, [], {}])
def test_enabled_must_be_a_boolean(value: Any) -> None:
    with pytest.raises(SettingsError, match=r"user\.json: compaction\.enabled: expected true or false, found"):
        resolved(user={"enabled": value})


@pytest.mark.parametrize(
    ("flags", "reported", "catalogue", "window", "source"),
    [
        ({"context_window": 9}, 7, 5, 9, "flag"),
        ({}, 7, 5, 7, "session"),
        ({}, None, 5, 5, "catalogue"),
        ({}, None, None, 200000, "default"),
    ],
)
def test_the_window_comes_from_flag_session_catalogue_or_default(
    flags: dict[str, int], reported: int | None, catalogue: int | None, window: int, source: str
) -> None:
    settings = resolve_settings(flags, model=GANTRY, reported_window=reported, catalogue_window=catalogue)
    assert (settings.context_window, settings.sources["context_window"]) == (window, source)
    assert [w.code for w in settings.warnings] == (["window_unknown"] if source == "default" else [])


def test_an_assumed_window_is_told_with_the_model() -> None:
    (known,) = resolve_settings({}, model=GANTRY).warnings
    assert "dock/gantry-1" in known.message and "200,000" in known.message
    (unknown,) = resolve_settings({}).warnings
    assert "names no model" in unknown.message


@pytest.mark.parametrize("value", [-1, 2**53, True, 1.5, "7"])
@pytest.mark.parametrize("name", ["context_window", "reserve_tokens", "keep_recent_tokens"])
def test_a_flag_that_is_no_token_number_is_refused_by_its_name(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match="--" + name.replace("_", "-")):
        resolve_settings({name: value})


@pytest.mark.parametrize(
    ("project", "user", "found"),
    [
        ({}, {}, None),
        ({}, {"sessionDir": "/u"}, "/u"),
        ({"sessionDir": "/p"}, {"sessionDir": "/u"}, "/p"),
        ({"sessionDir": ""}, {"sessionDir": "/u"}, None),
        ({"sessionDir": None}, {"sessionDir": "/u"}, None),
    ],
)
def test_the_session_folder_setting_is_that_of_the_project_first(project: Any, user: Any, found: str | None) -> None:
    files = SettingsFile(path="project.json", values=project), SettingsFile(path="user.json", values=user)
    assert session_dir_setting(*files) == found


def test_a_session_folder_setting_that_is_no_text_is_refused() -> None:
    with pytest.raises(SettingsError, match=r"user\.json: sessionDir: expected the path of a folder, found 5"):
        session_dir_setting(None, SettingsFile(path="user.json", values={"sessionDir": 5}))


WIRE_NAMES = st.sampled_from(["enabled", "reserveTokens", "keepRecentTokens", "modelOverrides", "dock/gantry-1"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3) | WIRE_NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(project=JSON, user=JSON)
def test_any_json_gives_usable_settings_or_one_line(project: Any, user: Any) -> None:
    try:
        settings = resolved(project, user)
    except SettingsError as error:
        assert len(str(error).splitlines()) == 1
    else:
        for value in (settings.reserve_tokens, settings.keep_recent_tokens):
            assert type(value) is int and 0 <= value <= MAX_TOKENS_SETTING
