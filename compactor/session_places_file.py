"""The session files of all agents: folders in, the files in them out, without reading one.

Pi keeps `<time>_<id>.jsonl` in a folder a project. Claude Code keeps `<session>.jsonl` in a folder a project,
sub-agents as `agent-<id>.jsonl` beside it or below `<session>/subagents/`. Codex keeps
`sessions/YYYY/MM/DD/rollout-<time>-<id>.jsonl` and `archived_sessions/`; it packs what is a week old as `.jsonl.zst`.
Source of Pi's: Pi 1.6.0 core/session-manager.js listAll, listSessionsFromDir.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from compactor.session_folders_file import (
    MAX_CLAUDE_NAME,
    SESSION_SUFFIX,
    claude_name,
    claude_projects,
    codex_home,
    default_root,
    encoded_cwd,
    session_folder,
)

AGENTS = ("pi", "claude-code", "codex")
"""In the order in which they are named."""

PACKED_SUFFIX = ".jsonl.zst"
"""Codex codex-rs/rollout/src/compression.rs COMPRESSED_SUFFIX."""

CLAUDE_DEPTH = 4
"""Below a project's folder: the session's, `subagents`, and what may be in there."""

CODEX_DEPTH = 3
"""Year, month and day."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Whose sessions are looked for."""

    cwd: str
    """Absolute path of the folder that the sessions were made in."""
    env: Mapping[str, str]
    session_dir: str | None = None
    """Pi's folder of sessions; None for the one that Pi would use."""
    agents: Sequence[str] = AGENTS
    is_all: bool = False
    """True for the sessions of all folders; then `cwd` only says which project's settings count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder that may hold session files."""

    agent: str
    path: str
    depth: int = 0
    """So many levels of folders below it count as well."""
    is_archive: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedFile:
    """A file that is a session's, judging by its place."""

    agent: str
    path: str
    size: int
    """Bytes."""
    modified_ns: int
    """When it was written last, in nanoseconds since 1970."""
    parent_id: str | None = None
    """Of a sub-agent's file: the session that it belongs to, if the place says."""
    is_archived: bool = False

    @property
    def modified_at(self) -> datetime:
        """`modified_ns` as a time; 1970 for a number that is none, which a file system may hold."""
        try:
            return _EPOCH + timedelta(microseconds=self.modified_ns // 1000)
        except OverflowError:
            return _EPOCH


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A file or folder that is passed over."""

    path: str
    reason: str
    """`unreadable`, `not_a_file`, `packed`, or `no_session`."""
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is in the places."""

    files: list[PlacedFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)


def places(wanted: Wanted) -> list[Place]:
    """The folders to look into, which need not exist.

    Raises:
        SettingsError: the settings file that may name Pi's folder can't be used.
    """
    cwd, env = wanted.cwd, wanted.env
    made: list[Place] = []
    if "pi" in wanted.agents:
        folder = session_folder(cwd=cwd, env=env, session_dir=wanted.session_dir)
        default = os.path.join(default_root(cwd, env), encoded_cwd(cwd))
        root = os.path.dirname(folder) if folder == default and wanted.is_all else folder
        made.append(Place(agent="pi", path=root, depth=1 if wanted.is_all else 0))
    if "claude-code" in wanted.agents:
        projects = os.path.join(cwd, claude_projects(env))
        if wanted.is_all:
            made.append(Place(agent="claude-code", path=projects, depth=CLAUDE_DEPTH + 1))
        else:
            folders = [os.path.join(projects, name) for name in _claude_names(projects, cwd)]
            made += [Place(agent="claude-code", path=path, depth=CLAUDE_DEPTH) for path in folders]
    if "codex" in wanted.agents:
        home = os.path.join(cwd, codex_home(env))
        made.append(Place(agent="codex", path=os.path.join(home, "sessions"), depth=CODEX_DEPTH))
        archive = os.path.join(home, "archived_sessions")
        if os.path.isdir(archive):
            made.append(Place(agent="codex", path=archive, depth=CODEX_DEPTH, is_archive=True))
    return made


def _claude_names(projects: str, cwd: str) -> list[str]:
    """The folders for `cwd`: one, but for a long name, of which only the start is known."""
    name = claude_name(cwd)
    if len(name) <= MAX_CLAUDE_NAME:
        return [name]
    start = name[:MAX_CLAUDE_NAME] + "-"
    try:
        return [found for found in sorted(os.listdir(projects)) if found.startswith(start)]
    except OSError:
        return []


def placed_files(wanted: Sequence[Place]) -> Found:
    """The files in the places. Nothing is waited for: pipes are passed over, and a link to a folder is followed once.

    A folder that does not exist is empty; one that can't be listed is skipped.
    """
    found = Found()
    seen: set[tuple[int, int]] = set()
    for place in wanted:
        todo = [(place.path, 0)]
        while todo:
            folder, level = todo.pop()
            try:
                number = os.stat(folder)
                if number.st_ino and (number.st_dev, number.st_ino) in seen:
                    continue
                seen.add((number.st_dev, number.st_ino))
                with os.scandir(folder) as rows:
                    below = [path for row in rows if (path := _take(row, place, found)) is not None]
            except (FileNotFoundError, ValueError):
                continue
            except OSError as error:
                found.skipped.append(Skipped(path=folder, reason="unreadable", detail=error.strerror or str(error)))
                continue
            todo += [(path, level + 1) for path in below if level < place.depth]
    return found


def _take(row: "os.DirEntry[str]", place: Place, found: Found) -> str | None:
    """Notes a file; gives the path of a folder."""
    name, path = row.name, row.path
    is_packed = name.endswith(PACKED_SUFFIX)
    if not is_packed and not name.endswith(SESSION_SUFFIX):
        return path if _is_folder(row) else None
    try:
        if not row.is_file():
            found.skipped.append(Skipped(path=path, reason="not_a_file", detail="it is no regular file"))
        elif not is_packed:
            stat = row.stat()
            found.files.append(
                PlacedFile(
                    agent=place.agent,
                    path=path,
                    size=stat.st_size,
                    modified_ns=stat.st_mtime_ns,
                    parent_id=_parent_id(path[len(place.path) :]) if place.agent == "claude-code" else None,
                    is_archived=place.is_archive,
                )
            )
        elif not os.path.exists(path.removesuffix(".zst")):
            detail = f"it is packed; unpack it with `zstd -d {name}`"
            found.skipped.append(Skipped(path=path, reason="packed", detail=detail))
    except OSError as error:  # removed meanwhile, or a link in a circle
        found.skipped.append(Skipped(path=path, reason="not_a_file", detail=error.strerror or str(error)))
    return None


def _is_folder(row: "os.DirEntry[str]") -> bool:
    try:
        return row.is_dir()
    except OSError:
        return False


def _parent_id(below: str) -> str | None:
    """The session whose sub-agent has a file there: `<session>/subagents/agent-<id>.jsonl`."""
    parts = below.split(os.sep)
    at = parts.index("subagents") if "subagents" in parts else 0
    return parts[at - 1] if at else None
