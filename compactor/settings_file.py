"""Reads Pi's settings files from disk: the user's in the agent folder, the project's in its `.pi` folder.

Takes the environment as a mapping and the project's folder; gives `SettingsFile` values, None where there is no file.
Source: Pi 1.6.0 config.js getAgentDir, core/settings-manager.js FileSettingsStorage and loadFromStorage,
utils/paths.js normalizePath.
"""

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from compactor.errors import SettingsError
from compactor.settings import SettingsFile

AGENT_DIR_VARIABLE = "PI_CODING_AGENT_DIR"
"""Pi 1.6.0 config.js ENV_AGENT_DIR."""

CONFIG_FOLDER = ".pi"
"""Pi 1.6.0 config.js CONFIG_DIR_NAME."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFiles:
    """The two files that count for a project."""

    project: SettingsFile | None
    user: SettingsFile | None


def read_settings(project_dir: str | None, env: Mapping[str, str]) -> SettingsFiles:
    """Both settings files; a missing file is None. No file is changed, and Pi's lock on them is not taken.

    Args:
        project_dir: the folder that the session was made in; None if it is not known.
        env: the environment variables.

    Raises:
        SettingsError: a file can't be read or is not a JSON object; names file, line and column.
    """
    user = read_settings_file(os.path.join(agent_dir(env), "settings.json"))
    if project_dir is None:
        return SettingsFiles(project=None, user=user)
    return SettingsFiles(
        project=read_settings_file(os.path.join(project_dir, CONFIG_FOLDER, "settings.json")), user=user
    )


def read_settings_file(path: str) -> SettingsFile | None:
    """The settings in the file at `path`, None if there is none within reach; an empty file holds no settings.

    Raises:
        SettingsError: not a regular file, unreadable, or not a JSON object.
    """
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):  # a session from elsewhere may name a folder that can't be, or is closed to us
        return None
    if not stat.S_ISREG(mode):
        raise SettingsError(f"{path}: expected a settings file, found something that is no regular file; remove it")
    try:
        with open(path, "rb") as file:
            text = file.read().decode("utf-8", "replace").removeprefix("\ufeff")
    except OSError as error:
        reason = error.strerror or str(error)
        raise SettingsError(
            f"{path}: the settings file can't be read: {reason}; make it readable or remove it"
        ) from None
    return SettingsFile(path=path, values=_parse(text, path) if text else {})


def agent_dir(env: Mapping[str, str]) -> str:
    """Pi's own folder: where PI_CODING_AGENT_DIR says, else `.pi/agent` in the home folder."""
    given = env.get(AGENT_DIR_VARIABLE)
    return expand_home(given, env) if given else os.path.join(home_dir(env), CONFIG_FOLDER, "agent")


def expand_home(path: str, env: Mapping[str, str]) -> str:
    """The path with a leading `~` (alone or before a separator) replaced by the home folder, as Pi does."""
    if path == "~":
        return home_dir(env)
    if path.startswith(("~/", "~\\") if os.name == "nt" else "~/"):
        return os.path.join(home_dir(env), path[2:])
    return path


def home_dir(env: Mapping[str, str]) -> str:
    """The home folder as Node's `os.homedir` finds it: from the environment, else from the account."""
    return env.get("USERPROFILE" if os.name == "nt" else "HOME") or os.path.expanduser("~")


def _parse(text: str, path: str) -> dict[str, Any]:
    """The JSON object in `text`.

    Raises:
        SettingsError: it is not one.
    """
    try:
        values = json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        raise SettingsError(
            f"{path}:{error.lineno}: expected JSON, found an error at column {error.colno} ({error.msg}); "
            "correct the file"
        ) from None
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise SettingsError(f"{path}:1: expected JSON, found an error ({reason}); correct the file") from None
    if not isinstance(values, dict):
        raise SettingsError(f"{path}:1: expected a JSON object, found {type(values).__name__}; correct the file")
    return values


def _refuse_constant(name: str) -> NoReturn:
    """NaN and Infinity are Python's, not JSON's."""
    raise ValueError(f"{name} is not JSON")
