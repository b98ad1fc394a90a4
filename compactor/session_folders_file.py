"""The folders in which agents keep their sessions, by name; and the first row of a session file.

Pi: `~/.pi/agent/sessions/--<folder>--/`, or where its settings say. Source: Pi 1.6.0 core/session-manager.js
getDefaultSessionDirPath, readSessionHeader; config.js. Claude Code: `~/.claude/projects/<folder>/`. Codex: `~/.codex/`.
"""

import codecs
import os
import re
from collections.abc import Mapping
from typing import Any

from compactor.settings import session_dir_setting
from compactor.settings_file import agent_dir, expand_home, home_dir, read_settings

SESSION_DIR_VARIABLE = "PI_CODING_AGENT_SESSION_DIR"
"""Pi 1.6.0 config.js ENV_SESSION_DIR."""

SESSION_SUFFIX = ".jsonl"
"""Pi 1.6.0 lists no other files."""

MAX_HEADER_BYTES = 1024 * 1024
"""Pi 1.6.0 session-manager.js MAX_SESSION_HEADER_SCAN_BYTES: a header further on is not looked for."""

MAX_CLAUDE_NAME = 200
"""Claude Code cuts a longer name of a project's folder there, and adds a hash."""


def session_folder(*, cwd: str, env: Mapping[str, str], session_dir: str | None = None) -> str:
    """Where Pi's sessions made in `cwd` are: `session_dir`, PI_CODING_AGENT_SESSION_DIR, setting, else Pi's default.

    Raises:
        SettingsError: a settings file can't be used.
    """
    chosen = session_dir or env.get(SESSION_DIR_VARIABLE)
    if not chosen:
        files = read_settings(cwd, env)
        chosen = session_dir_setting(files.project, files.user)
    if chosen:
        return os.path.join(cwd, expand_home(chosen, env))
    return os.path.join(default_root(cwd, env), encoded_cwd(cwd))


def default_root(cwd: str, env: Mapping[str, str]) -> str:
    """The folder that holds Pi's folders of sessions where no setting names another."""
    return os.path.join(cwd, agent_dir(env), "sessions")


def encoded_cwd(cwd: str) -> str:
    """The name of Pi's folder for the sessions made in `cwd`; two may share one name, so the headers decide."""
    bare = re.sub(r"^[/\\]", "", os.path.abspath(cwd))
    return "--" + re.sub(r"[/\\:]", "-", bare) + "--"


def same_folder(named: str | None, cwd: str) -> bool:
    """True if a header names the folder `cwd`; a header without one could be of any project."""
    if not named or "\0" in named:
        return False
    return os.path.normcase(os.path.abspath(named)) == os.path.normcase(os.path.abspath(cwd))


def claude_projects(env: Mapping[str, str]) -> str:
    """The folder in which each project has one of Claude Code's: below CLAUDE_CONFIG_DIR, else `~/.claude`."""
    given = env.get("CLAUDE_CONFIG_DIR")
    return os.path.join(expand_home(given, env) if given else os.path.join(home_dir(env), ".claude"), "projects")


def claude_name(cwd: str) -> str:
    """The name of Claude Code's folder for `cwd`, if it is not too long: a dash for each UTF-16 unit that is no ASCII
    letter or digit; two folders may share one name."""
    import unicodedata  # only needed for Claude Code

    composed = unicodedata.normalize("NFC", cwd)
    return re.sub(r"[^a-zA-Z0-9]", lambda m: "-" if m.group() < "\U00010000" else "--", composed)


def codex_home(env: Mapping[str, str]) -> str:
    """Codex's own folder: CODEX_HOME, else `~/.codex`."""
    given = env.get("CODEX_HOME")
    return expand_home(given, env) if given else os.path.join(home_dir(env), ".codex")


def first_value(path: str) -> dict[str, Any] | None:
    """The first JSON value in the file, if it is an object; None also where it can't be read."""
    from compactor.entries import load_json  # not needed for a path, whose file can be read before this is imported

    left = MAX_HEADER_BYTES
    try:
        with open(path, "rb", buffering=4096) as file:
            while left > 0 and (line := file.readline(left)):
                left -= len(line)
                try:
                    value = load_json(line.removeprefix(codecs.BOM_UTF8))
                except (ValueError, RecursionError):
                    continue  # blank or damaged lines may go before
                return value if isinstance(value, dict) else None
    except OSError:
        return None
    return None
