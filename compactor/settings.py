"""Compaction settings: flags, Pi's two settings files, the model catalogue and defaults, resolved value by value.

Takes what was given on the command line and what the files hold (decoded JSON, with the file's path for messages);
gives `CompactionSettings` with the origin of each value. Source: Pi 1.6.0 core/settings-manager.js deepMergeSettings,
getCompactionEnabled, getCompactionTokenSetting; core/settings-defaults.js.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from compactor.errors import SettingsError

RESERVE_TOKENS_DEFAULT = 16384
"""Pi 1.6.0 core/settings-defaults.js compaction.reserveTokens."""

KEEP_RECENT_TOKENS_DEFAULT = 20000
"""Pi 1.6.0 core/settings-defaults.js compaction.keepRecentTokens."""

CONTEXT_WINDOW_DEFAULT = 200000
"""Assumed for a model that the catalogue lacks: the usual window of the models that Pi 1.6.0 lists."""

MAX_TOKENS_SETTING = 2**53 - 1
"""ECMA-262 Number.MAX_SAFE_INTEGER; Pi 1.6.0 getCompactionTokenSetting refuses more."""

MAX_SHOWN_CHARS = 60
"""Of a refused value, in a message."""

SettingSource = Literal["flag", "project", "user", "override", "session", "catalogue", "default"]

_FLAGS = {
    "context_window": "--context-window",
    "reserve_tokens": "--reserve-tokens",
    "keep_recent_tokens": "--keep-recent-tokens",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A settings file as decoded."""

    path: str
    """Named in messages."""
    values: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsWarning:
    """Something about the settings that may mislead."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionSettings:
    """What a compaction is decided by."""

    enabled: bool = True
    """False switches the automatic trigger off."""
    context_window: int = CONTEXT_WINDOW_DEFAULT
    """Tokens that the model can take in."""
    reserve_tokens: int = RESERVE_TOKENS_DEFAULT
    """Tokens of the window that are kept free for the next reply."""
    keep_recent_tokens: int = KEEP_RECENT_TOKENS_DEFAULT
    """Tokens of recent context that are kept word for word."""
    sources: Mapping[str, SettingSource] = field(default_factory=dict)
    """Where each of the fields above comes from, by field name."""
    warnings: tuple[SettingsWarning, ...] = ()


class NamedModel(Protocol):
    """A model by provider and id, as `projection.ModelRef` names it."""

    @property
    def provider(self) -> str | None:
        """The provider, if it is known."""
        ...

    @property
    def model_id(self) -> str | None:
        """The model's id, if it is known."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layer:
    """A value at one place of one file."""

    source: SettingSource
    path: str
    value: Any


def resolve_settings(
    flags: Mapping[str, int | None],
    *,
    project: SettingsFile | None = None,
    user: SettingsFile | None = None,
    model: NamedModel | None = None,
    reported_window: int | None = None,
    catalogue_window: int | None = None,
) -> CompactionSettings:
    """The settings for one session; each value by itself: flag, override for the model, ordinary setting, default.

    Args:
        flags: by field name of `CompactionSettings`; None or missing is not given. A value that a flag sets is not
            looked up in the files, so that a flag helps against a bad file.
        project: the project's file; merged over the user's, object by object.
        user: the user's file.
        model: whose `compaction.modelOverrides["provider/modelId"]` count.
        reported_window: the window in tokens that the session itself names for its model, None if it names none.
        catalogue_window: the window in tokens that the catalogue has for the model, None if it has none.

    Raises:
        SettingsError: a value is not a non-negative integer (or `enabled` not a boolean); names field, value and file.
    """
    found = _Resolver(flags=flags, compaction=_compaction(_layers(project, user)), model=model)
    window, window_source = found.window(reported_window, catalogue_window)
    reserve, reserve_source = found.tokens("reserve_tokens", "reserveTokens", RESERVE_TOKENS_DEFAULT)
    keep, keep_source = found.tokens("keep_recent_tokens", "keepRecentTokens", KEEP_RECENT_TOKENS_DEFAULT)
    enabled, enabled_source = found.enabled()
    return CompactionSettings(
        enabled=enabled,
        context_window=window,
        reserve_tokens=reserve,
        keep_recent_tokens=keep,
        sources={
            "enabled": enabled_source,
            "context_window": window_source,
            "reserve_tokens": reserve_source,
            "keep_recent_tokens": keep_source,
        },
        warnings=(_unknown_window(model),) if window_source == "default" else (),
    )


def session_dir_setting(project: SettingsFile | None, user: SettingsFile | None) -> str | None:
    """The `sessionDir` setting as written, None if there is none; Pi 1.6.0 SettingsManager.getSessionDir.

    Raises:
        SettingsError: it is not a string.
    """
    top = _top(_find(_layers(project, user), "sessionDir"))
    if top is None or top.value is None or top.value == "":
        return None
    if not isinstance(top.value, str):
        raise SettingsError(
            f"{top.path}: sessionDir: expected the path of a folder, found {_shown(top.value)}; "
            "correct the file or give --session-dir"
        )
    return top.value


@dataclass(frozen=True, slots=True, kw_only=True)
class _Resolver:
    """Where one session's values are looked up."""

    flags: Mapping[str, int | None]
    compaction: tuple[_Layer, ...]
    model: NamedModel | None

    def window(self, reported_window: int | None, catalogue_window: int | None) -> tuple[int, SettingSource]:
        given = self._flag("context_window")
        if given is not None:
            return given, "flag"
        if reported_window is not None:
            return reported_window, "session"
        return (CONTEXT_WINDOW_DEFAULT, "default") if catalogue_window is None else (catalogue_window, "catalogue")

    def tokens(self, name: str, wire_name: str, default: int) -> tuple[int, SettingSource]:
        given = self._flag(name)
        if given is not None:
            return given, "flag"
        ordinary = _top(_find(self.compaction, wire_name))
        # As in Pi, a bad ordinary value is refused even where an override hides it.
        value = default if ordinary is None else _whole(ordinary, f"compaction.{wire_name}", _FLAGS[name])
        override = self._override(wire_name, _FLAGS[name])
        if override is not None:
            return override, "override"
        return value, "default" if ordinary is None else ordinary.source

    def enabled(self) -> tuple[bool, SettingSource]:
        top = _top(_find(self.compaction, "enabled"))
        if top is None or top.value is None:
            return True, "default"
        if not isinstance(top.value, bool):
            raise SettingsError(
                f"{top.path}: compaction.enabled: expected true or false, found {_shown(top.value)}; correct the file"
            )
        return top.value, top.source

    def _flag(self, name: str) -> int | None:
        value = self.flags.get(name)
        if value is not None and (type(value) is not int or not 0 <= value <= MAX_TOKENS_SETTING):
            raise SettingsError(f"{_FLAGS[name]}: expected a number of tokens from 0 up, found {_shown(value)}")
        return value

    def _override(self, wire_name: str, flag: str) -> int | None:
        if self.model is None or self.model.provider is None or self.model.model_id is None:
            return None
        key = f"{self.model.provider}/{self.model.model_id}"
        name = f"compaction.modelOverrides[{key!r}]"
        overrides = tuple(
            layer for layer in _find(self.compaction, "modelOverrides") if isinstance(layer.value, Mapping)
        )
        entry = _find(overrides, key)
        if entry and not isinstance(entry[0].value, Mapping):
            raise SettingsError(
                f"{entry[0].path}: {name}: expected an object, found {_shown(entry[0].value)}; correct the file"
            )
        top = _top(_find(entry, wire_name))
        return None if top is None else _whole(top, f"{name}.{wire_name}", flag)


def _layers(project: SettingsFile | None, user: SettingsFile | None) -> tuple[_Layer, ...]:
    """The files as layers, the one that wins first."""
    made: list[_Layer] = []
    if project is not None:
        made.append(_Layer(source="project", path=project.path, value=project.values))
    if user is not None:
        made.append(_Layer(source="user", path=user.path, value=user.values))
    return tuple(made)


def _find(layers: tuple[_Layer, ...], key: str) -> tuple[_Layer, ...]:
    """What the merged object holds at `key`: both files' values if both are objects, else the first one's only."""
    found = tuple(
        _Layer(source=layer.source, path=layer.path, value=layer.value[key]) for layer in layers if key in layer.value
    )
    return found if all(isinstance(layer.value, Mapping) for layer in found) else found[:1]


def _compaction(layers: tuple[_Layer, ...]) -> tuple[_Layer, ...]:
    """The `compaction` objects; a null in the project's file hides the user's, as Pi's merge has it.

    Raises:
        SettingsError: there is something else than an object.
    """
    found = _find(layers, "compaction")
    if found and found[0].value is None:
        return ()
    if found and not isinstance(found[0].value, Mapping):
        raise SettingsError(
            f"{found[0].path}: compaction: expected an object, found {_shown(found[0].value)}; correct the file"
        )
    return found


def _top(layers: tuple[_Layer, ...]) -> _Layer | None:
    return layers[0] if layers else None


def _whole(layer: _Layer, name: str, flag: str) -> int:
    """The value as a number of tokens. `2e4` is a whole number to JavaScript, and so it is here.

    Raises:
        SettingsError: anything but a whole number from 0 to the largest safe integer.
    """
    value = layer.value
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int and 0 <= value <= MAX_TOKENS_SETTING:
        return value
    raise SettingsError(
        f"{layer.path}: {name}: expected a whole number of tokens from 0 up, found {_shown(layer.value)}; "
        f"correct the file or give {flag}"
    )


def _unknown_window(model: NamedModel | None) -> SettingsWarning:
    named = "/".join(part for part in (model.provider, model.model_id) if part) if model else ""
    whose = f"the context window of {named} is not known" if named else "the session names no model"
    return SettingsWarning(
        code="window_unknown",
        message=f"{whose}: {CONTEXT_WINDOW_DEFAULT:,} tokens are assumed; give --context-window if that is wrong",
    )


def _shown(value: object) -> str:
    """The value in a message, on one line and not too long."""
    if isinstance(value, Mapping | list):
        return "an object" if isinstance(value, Mapping) else "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    # An integer of thousands of digits can't even be printed (sys.set_int_max_str_digits).
    if isinstance(value, int) and abs(value) > 10**MAX_SHOWN_CHARS:
        return "a number too large to show"
    text = repr(value)
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + "..."
