"""Finds the session file that SESSION on the command line means: a path, `latest`, or the start of a session's id.

Takes the text, the current folder and the environment; gives a path. Of the files in the session folder only the header
line is read, and a session counts only if its header names the current folder. Source: Pi 1.6.0 core/session-manager.js
getDefaultSessionDirPath, readSessionHeader, findMostRecentSession, findById; main.js resolveSessionPath.
"""

import codecs
import errno
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from compactor.errors import SessionError
from compactor.settings import session_dir_setting
from compactor.settings_file import agent_dir, expand_home, read_settings
from compactor.wording import shown_id

SESSION_DIR_VARIABLE = "PI_CODING_AGENT_SESSION_DIR"
"""Pi 1.6.0 config.js ENV_SESSION_DIR."""

SESSION_SUFFIX = ".jsonl"
"""Pi 1.6.0 lists no other files."""

MAX_HEADER_BYTES = 1024 * 1024
"""Pi 1.6.0 session-manager.js MAX_SESSION_HEADER_SCAN_BYTES: a header further on is not looked for."""

MAX_LISTED = 5
"""Of the sessions that an ambiguous id may mean, in a message."""

LATEST = "latest"
"""The word for the newest session of the current folder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A session file of the folder that is searched."""

    path: str
    id: str
    """From the header."""
    cwd: str | None

    @property
    def ids(self) -> tuple[str, str]:
        """The id of the header and that of the file's name, which is `<time>_<id>.jsonl` where Pi made it."""
        stem = os.path.basename(self.path).removesuffix(SESSION_SUFFIX)
        return self.id, stem.partition("_")[2] or stem


def find_session(text: str, *, cwd: str, env: Mapping[str, str], session_dir: str | None = None) -> str:
    """The path of the session file that `text` means.

    An existing file goes first; then `latest`, the file that was written last (of equals the last by name); then an id
    or the start of one. A folder that happens to be named like an id does not hide the session.

    Args:
        text: what was typed.
        cwd: the absolute path of the folder whose sessions are looked up.
        env: the environment variables.
        session_dir: where to look them up; None for the place that Pi would use.

    Raises:
        SessionError: nothing or more than one found, or no readable file; says where it looked.
        SettingsError: the settings file that may name the session folder can't be used.
    """
    typed = expand_home(text, env)
    path = os.path.join(cwd, typed)
    mode = _mode(path)
    if mode is not None and stat.S_ISREG(mode):
        if not os.access(path, os.R_OK):
            raise SessionError(f"{text}: the session file can't be read: Permission denied; make it readable")
        return typed if os.path.abspath(typed) == os.path.abspath(path) else path
    if not text or _looks_like_path(text):
        raise SessionError(_not_a_file(text, mode))
    folder = session_folder(cwd=cwd, env=env, session_dir=session_dir)
    found = _latest(folder, cwd) if text == LATEST else _by_id(folder, cwd, text)
    if found is None:
        raise SessionError(_not_a_file(text, mode) if mode is not None else _not_found(text, folder, cwd))
    return found


def session_files(text: str, *, cwd: str, env: Mapping[str, str], session_dir: str | None = None) -> list[str]:
    """The session files that SESSION|DIR means: all below a directory, by path, or the one that `find_session` finds.

    Raises:
        SessionError: nothing found.
    """
    folder = os.path.join(cwd, expand_home(text, env))
    if not text or not os.path.isdir(folder):
        return [find_session(text, cwd=cwd, env=env, session_dir=session_dir)]
    found = files_below(folder)
    if not found:
        raise SessionError(f"{text}: expected session files ({SESSION_SUFFIX}) in the directory, found none")
    return found


def files_below(folder: str) -> list[str]:
    """The `.jsonl` files in a directory and in those below it, by path; what can't be listed is passed over."""
    found: list[str] = []
    for at, folders, names in os.walk(folder):
        folders.sort()
        found += [os.path.join(at, name) for name in sorted(names) if name.endswith(SESSION_SUFFIX)]
    return [path for path in found if os.path.isfile(path)]


def session_folder(*, cwd: str, env: Mapping[str, str], session_dir: str | None = None) -> str:
    """Where the sessions made in `cwd` are: `session_dir`, PI_CODING_AGENT_SESSION_DIR, setting, else Pi's default.

    Raises:
        SettingsError: a settings file can't be used.
    """
    chosen = session_dir or env.get(SESSION_DIR_VARIABLE)
    if not chosen:
        files = read_settings(cwd, env)
        chosen = session_dir_setting(files.project, files.user)
    if chosen:
        return os.path.join(cwd, expand_home(chosen, env))
    return os.path.join(cwd, agent_dir(env), "sessions", encoded_cwd(cwd))


def encoded_cwd(cwd: str) -> str:
    """The name of the folder for the sessions made in `cwd`; two folders may share one name, so the headers decide."""
    bare = re.sub(r"^[/\\]", "", os.path.abspath(cwd))
    return "--" + re.sub(r"[/\\:]", "-", bare) + "--"


def _latest(folder: str, cwd: str) -> str | None:
    return next((found.path for found in _sessions(folder) if _same_folder(found.cwd, cwd)), None)


def _by_id(folder: str, cwd: str, text: str) -> str | None:
    """The session with that id, else the only one whose id starts so.

    Raises:
        SessionError: several, or only sessions of other projects.
    """
    candidates = [found for found in _sessions(folder) if any(name.startswith(text) for name in found.ids)]
    own = [found for found in candidates if not found.cwd or _same_folder(found.cwd, cwd)]
    own = [found for found in own if text in found.ids] or own
    if len(own) > 1:
        listed = ", ".join(shown_id(found.id) for found in own[:MAX_LISTED])
        more = f" and {len(own) - MAX_LISTED} more" if len(own) > MAX_LISTED else ""
        raise SessionError(
            f"{text}: {len(own)} sessions in {folder} have an id that starts so: {listed}{more}; "
            "give more of the id, or the path"
        )
    if candidates and not own:
        raise SessionError(
            f"{text}: expected a session made in {cwd}, found only {candidates[0].path}, "
            f"made in {candidates[0].cwd!r}; give that path if it is meant"
        )
    return own[0].path if own else None


def _sessions(folder: str) -> Iterator[_Found]:
    """The sessions in the folder, the one written last first; each header is read when it is asked for.

    What can't be read, or is no session, is passed over, as Pi does: one bad file must not hide the others.
    """
    for path in _newest_first(folder):
        header = _header(path)
        if header is not None:
            cwd = header.get("cwd")
            yield _Found(path=path, id=header["id"], cwd=cwd if isinstance(cwd, str) else None)


def _newest_first(folder: str) -> list[str]:
    """The regular `.jsonl` files of the folder; empty if there is no such folder.

    Raises:
        SessionError: the folder can't be listed.
    """
    dated: list[tuple[int, str]] = []
    try:
        with os.scandir(folder) as rows:
            for row in rows:
                if row.name.endswith(SESSION_SUFFIX) and row.is_file():
                    with suppress(OSError):  # removed meanwhile
                        dated.append((row.stat().st_mtime_ns, row.name))
    except (FileNotFoundError, ValueError):
        return []
    except OSError as error:
        raise SessionError(
            f"{folder}: the session folder can't be listed: {error.strerror}; see --session-dir"
        ) from None
    return [os.path.join(folder, name) for _, name in sorted(dated, reverse=True)]


def _header(path: str) -> dict[str, Any] | None:
    """The header: the first JSON value in the file, if it is a session's. None for other files."""
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
                known = isinstance(value, dict) and value.get("type") == "session" and isinstance(value.get("id"), str)
                return value if known else None
    except OSError:
        return None
    return None


def _same_folder(named: str | None, cwd: str) -> bool:
    """True if a header names the folder `cwd`; a header without one could be of any project."""
    if not named or "\0" in named:
        return False
    return os.path.normcase(os.path.abspath(named)) == os.path.normcase(os.path.abspath(cwd))


def _mode(path: str) -> int | None:
    """What is at the path, as `st_mode`; None if nothing is.

    Raises:
        SessionError: the way there is closed.
    """
    try:
        return os.stat(path).st_mode
    except ValueError:
        return None
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EINVAL):
            return None
        raise SessionError(f"{path}: the session file can't be read: {error.strerror}; make it readable") from None


def _looks_like_path(text: str) -> bool:
    return "/" in text or "\\" in text or text.endswith(SESSION_SUFFIX)


def _not_a_file(text: str, mode: int | None) -> str:
    if not text:
        return f"expected a session, found an empty text; give a path, `{LATEST}`, or the start of a session's id"
    if mode is None:
        return f"{text}: no such file; give the path of a session file, `{LATEST}`, or the start of a session's id"
    kind = "a directory" if stat.S_ISDIR(mode) else "something that is no regular file"
    return f"{text}: expected a session file, found {kind}; give the path of a {SESSION_SUFFIX} file"


def _not_found(text: str, folder: str, cwd: str) -> str:
    """Where it was looked for, and what is there instead."""
    if not os.path.isdir(folder):
        return f"{text}: no session found: there is no folder {folder}; give a path, or the folder with --session-dir"
    what = f"made in {cwd}" if text == LATEST else "whose id starts so"
    there = sum(1 for _ in _newest_first(folder))
    return f"{text}: no session {what} among the {there} file(s) in {folder}; give a path, or --session-dir"
