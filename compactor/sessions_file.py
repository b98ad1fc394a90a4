"""Finds the session file that SESSION on the command line means: a path, `latest`, or the start of a session's id.

Takes the text, the current folder and the environment; gives a path. Of the files in Pi's session folder only the
header line is read, and a session counts only if its header names the current folder. An id may also be that of a
session of Claude Code or Codex, as `compactor sessions` shows it. Source: Pi 1.6.0 core/session-manager.js
readSessionHeader, findMostRecentSession, findById; main.js resolveSessionPath.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

from compactor.errors import SessionError
from compactor.session_folders_file import (
    MAX_HEADER_BYTES,
    SESSION_SUFFIX,
    encoded_cwd,
    first_value,
    same_folder,
    session_folder,
)
from compactor.settings_file import expand_home
from compactor.wording import shown_id

__all__ = [
    "LATEST",
    "MAX_HEADER_BYTES",
    "encoded_cwd",
    "files_below",
    "find_session",
    "session_files",
    "session_folder",
]

MAX_LISTED = 5
"""Of the sessions that an ambiguous id may mean, in a message."""

LATEST = "latest"
"""The word for Pi's newest session of the current folder."""

GIVE = "give a path, or an id that `compactor sessions` shows"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A session file in one of the places that are searched."""

    path: str
    id: str
    """From the header."""
    cwd: str | None
    agent: str = "pi"

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
    if text == LATEST:
        found = _latest(folder, cwd)
    else:
        others = _of_other_agents(text, cwd, env) if session_dir is None else ()
        found = _by_id([*_sessions(folder), *others], folder, cwd, text)
    if found is None and mode is not None:
        raise SessionError(_not_a_file(text, mode))
    if found is None and text == LATEST:
        raise SessionError(f"{text}: no session of Pi made in {cwd}: {_searched(folder)}; {GIVE}")
    if found is None:
        raise SessionError(_no_such_id(text, folder, cwd, None if session_dir else env))
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


def _latest(folder: str, cwd: str) -> str | None:
    return next((found.path for found in _sessions(folder) if same_folder(found.cwd, cwd)), None)


def _by_id(sessions: Iterable[_Found], folder: str, cwd: str, text: str) -> str | None:
    """The session with that id, else the only one whose id starts so.

    Raises:
        SessionError: several, or only sessions of other projects.
    """
    candidates = [found for found in sessions if any(name.startswith(text) for name in found.ids)]
    own = [found for found in candidates if not found.cwd or same_folder(found.cwd, cwd)]
    own = [found for found in own if text in found.ids] or own
    if len(own) > 1:
        of_pi = all(found.agent == "pi" for found in own)
        shown = [shown_id(found.id) + ("" if of_pi else f" ({found.agent})") for found in own[:MAX_LISTED]]
        more = f" and {len(own) - MAX_LISTED} more" if len(own) > MAX_LISTED else ""
        raise SessionError(
            f"{text}: {len(own)} sessions{f' in {folder}' if of_pi else ''} have an id that starts so: "
            f"{', '.join(shown)}{more}; give more of the id, or the path"
        )
    if candidates and not own:
        raise SessionError(_made_elsewhere(text, cwd, candidates[0].path, candidates[0].cwd))
    return own[0].path if own else None


def _of_other_agents(text: str, cwd: str, env: Mapping[str, str]) -> Iterator[_Found]:
    """The sessions of Claude Code and Codex whose id starts so, going by the names of the files."""
    from compactor.session_glance_file import named_sessions  # not needed for Pi's sessions, as a rule

    for named in named_sessions(text, cwd=cwd, env=env):
        yield _Found(path=named.file.path, id=named.id, cwd=named.cwd, agent=named.file.agent)


def _sessions(folder: str) -> Iterator[_Found]:
    """The sessions in the folder, the one written last first; each header is read when it is asked for.

    What can't be read, or is no session, is passed over, as Pi does: one bad file must not hide the others.
    """
    for path in _newest_first(folder):
        header = first_value(path)
        if header is not None and header.get("type") == "session" and isinstance(header.get("id"), str):
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


def _searched(folder: str) -> str:
    """What is in Pi's folder of sessions instead."""
    if not os.path.isdir(folder):
        return f"there is no folder {folder}"
    return f"it is none of the {sum(1 for _ in _newest_first(folder))} file(s) in {folder}"


def _no_such_id(text: str, folder: str, cwd: str, env: Mapping[str, str] | None) -> str:
    """Where the session was made that has such an id, if there is one; else where it was looked for.

    With `env` the sessions of all agents and folders are looked at, without it only those in `folder`.
    """
    if env is None:
        return f"{text}: no session has an id that starts so: {_searched(folder)}; {GIVE}"
    from compactor.session_glance_file import named_sessions  # only where nothing else was found

    other = next(named_sessions(text, cwd=cwd, env=env, is_all=True), None)
    if other is not None:
        return _made_elsewhere(text, cwd, other.file.path, other.cwd)
    return f"{text}: no session of Pi, Claude Code or Codex has an id that starts so ({_searched(folder)}); {GIVE}"


def _made_elsewhere(text: str, cwd: str, path: str, made_in: str | None) -> str:
    where = "elsewhere" if made_in is None else f"in {made_in!r}"
    return f"{text}: expected a session made in {cwd}, found only {path}, made {where}; give that path if it is meant"
