"""The saved sessions of Pi, Claude Code and Codex, each at a glance: folders in, a list out; nothing is written.

All files are read from end to end as long as they are within a budget, the newest first; of the others only both ends
are, and what only a count would tell is left open. What is no session is passed over with a reason.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from compactor.errors import SessionError
from compactor.session_folders_file import same_folder
from compactor.session_glance_file import Glanced, glance_file, head_cwd
from compactor.session_places_file import Place, PlacedFile, Skipped, Wanted, placed_files, places

MAX_COUNTED_BYTES = 500_000_000
"""Read from end to end in about a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One session of the list, with the sub-agents that it started."""

    main: Glanced
    subagents: Sequence[Glanced] = ()

    @property
    def last_entry_at(self) -> datetime:
        """When its newest entry was made; when its file was written where no entry tells."""
        return self.main.glance.last_entry_at or self.main.file.modified_at


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionList:
    """What was found, the session with the newest entry first."""

    places: list[Place]
    sessions: list[Listed]
    ids: list[str]
    """Of all sessions, those beyond the limit as well."""
    elsewhere: int
    """Sessions in these places that were made in other folders."""
    existing: frozenset[str]
    """Which of the places, and of the folders that sessions were made in, are there now."""
    skipped: list[Skipped] = field(default_factory=list)

    @property
    def older(self) -> int:
        """Sessions beyond the limit."""
        return len(self.ids) - len(self.sessions)


def list_sessions(wanted: Wanted, *, limit: int | None = None, max_bytes: int = MAX_COUNTED_BYTES) -> SessionList:
    """The sessions that are wanted.

    Args:
        wanted: whose sessions.
        limit: at most so many, the newest.
        max_bytes: so much is read from end to end.

    Raises:
        SettingsError: the settings file that may name Pi's folder can't be used.
    """
    searched = places(wanted)
    found = placed_files(searched)
    skipped = list(found.skipped)
    here = [file for file in found.files if wanted.is_all or not _is_elsewhere(file, wanted.cwd)]
    may_cut = limit is not None and len(here) > limit
    looked = list(_glances(here, 0 if may_cut else max_bytes, skipped))
    listed, others = _grouped(looked, wanted)
    chosen = listed[:limit]
    if may_cut:
        files = [one.file for session in chosen for one in (session.main, *session.subagents)]
        chosen, _ = _grouped(list(_glances(files, max_bytes, skipped)), wanted)
    return SessionList(
        places=searched,
        sessions=chosen,
        ids=[session.main.id for session in listed],
        elsewhere=len(found.files) - len(here) + others,
        existing=frozenset(
            path
            for path in {*(place.path for place in searched), *(session.main.cwd or "" for session in chosen)}
            if os.path.isabs(path) and os.path.isdir(path)
        ),
        skipped=skipped,
    )


def _is_elsewhere(file: PlacedFile, cwd: str) -> bool:
    """True if the first row says that the session was made in another folder."""
    named = None if file.agent == "claude-code" else head_cwd(file.path)
    return bool(named) and not same_folder(named, cwd)


def _glances(files: Sequence[PlacedFile], max_bytes: int, skipped: list[Skipped]) -> Iterator[Glanced]:
    """What the files hold, those written last first; the ones that are no sessions are added to `skipped`."""
    left = max_bytes
    for file in sorted(files, key=lambda file: (file.modified_ns, file.path), reverse=True):
        is_whole = file.size <= left
        left -= file.size if is_whole else 0
        try:
            yield glance_file(file, is_whole=is_whole)
        except SessionError as error:
            skipped.append(Skipped(path=file.path, reason="no_session", detail=str(error)))
        except OSError as error:
            skipped.append(Skipped(path=file.path, reason="unreadable", detail=error.strerror or str(error)))


def _grouped(looked: Sequence[Glanced], wanted: Wanted) -> tuple[list[Listed], int]:
    """The sessions that are wanted, with their sub-agents; and how many were made in other folders.

    A sub-agent whose session is not among them stands for itself.
    """
    sessions = [one for one in looked if not one.is_subagent]
    # Of copies the one that was written last counts, for it comes first; a renamed file is known by its rows.
    first = {(one.glance.format, one.glance.id): one for one in reversed(sessions)}
    first |= {(one.glance.format, one.id): one for one in reversed(sessions)}
    started_by = {one.id: one.parent_id for one in looked if one.is_subagent}
    subagents: dict[str, list[Glanced]] = {}
    alone: list[Glanced] = []
    for one in looked:
        if one.is_subagent:
            root = first.get((one.glance.format, _root(one.parent_id, started_by)))
            (alone if root is None else subagents.setdefault(root.file.path, [])).append(one)
    agents = [one for one in (*sessions, *alone) if one.glance.format in wanted.agents]
    own = [one for one in agents if wanted.is_all or one.cwd is None or same_folder(one.cwd, wanted.cwd)]
    listed = [Listed(main=one, subagents=subagents.get(one.file.path, ())) for one in own]
    listed.sort(key=lambda one: (one.last_entry_at, one.main.file.path), reverse=True)
    return listed, len(agents) - len(own)


def _root(parent_id: str | None, started_by: dict[str, str | None]) -> str:
    """The session at the top, for a sub-agent may have been started by another one."""
    at, seen = parent_id, set[str]()
    while at in started_by and at not in seen:
        seen.add(at)
        at = started_by[at]
    return at or ""
