"""One session file at a glance: a placed file in, what a list says about it out; nothing is written.

Files are read in blocks of whole lines, or only at both ends where a list must not wait for the rest.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import FileIO
from typing import TYPE_CHECKING

import msgspec

from compactor.errors import SessionError
from compactor.formats.glance import Glance, glance
from compactor.session_folders_file import SESSION_SUFFIX, claude_name, first_value
from compactor.session_places_file import AGENTS, PlacedFile, Wanted, placed_files, places

if TYPE_CHECKING:
    from typing import Any

BLOCK_BYTES = 4 * 1024 * 1024
END_BYTES = 128 * 1024
"""The head of a session and its first message fit in, and its newest messages."""

MAX_LINE_BYTES = 1024 * 1024
"""So much is looked at if no line ends within END_BYTES."""

_CODEX_NAME = re.compile(r"rollout-.+-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
"""Codex names a file after the time and the id of the thread."""


class _Payload(msgspec.Struct):
    cwd: str | None = None


class _Head(msgspec.Struct):
    """Where a first row of Pi's or of Codex's names the folder."""

    cwd: str | None = None
    payload: _Payload | None = None


_decode_head = msgspec.json.Decoder(_Head).decode


@dataclass(frozen=True, slots=True, kw_only=True)
class Glanced:
    """A session file and what it holds."""

    file: PlacedFile
    glance: Glance
    id: str
    cwd: str | None
    """The folder of the project; None if the file does not say."""

    @property
    def parent_id(self) -> str | None:
        """Of a sub-agent: the session that it belongs to, if that is known."""
        return self.file.parent_id or self.glance.parent_id

    @property
    def is_subagent(self) -> bool:
        """True if another session started it."""
        return self.file.parent_id is not None or self.glance.is_subagent


def glance_file(file: PlacedFile, *, is_whole: bool) -> Glanced:
    """What the file holds.

    Args:
        file: where it is.
        is_whole: False to look only at both ends, if it is not small anyway.

    Raises:
        SessionError: it is no session; says why, without the path.
        OSError: it can't be read.
    """
    is_whole = is_whole or file.size <= 2 * END_BYTES
    with FileIO(file.path) as opened:
        found = glance(_blocks(opened, file.size) if is_whole else _ends(opened, file.size), is_whole=is_whole)
    return Glanced(file=file, glance=found, id=_session_id(file, found), cwd=_project(file, found))


def _blocks(file: FileIO, size: int) -> Iterator[bytes]:
    """The file in pieces of whole lines; the last one may lack its line end."""
    parts: list[bytes] = []
    while data := file.read(min(BLOCK_BYTES, max(size, 1))):
        cut = data.rfind(b"\n") + 1
        if cut:
            yield b"".join([*parts, data[:cut]])
            parts = []
        parts.append(data[cut:])
    if any(parts):
        yield b"".join(parts)


def _ends(file: FileIO, size: int) -> Iterator[bytes]:
    """Whole lines from the start and from the end; a line that is too long for that is left out."""
    head = file.read(END_BYTES)
    if b"\n" not in head:
        head += file.read(MAX_LINE_BYTES - END_BYTES)
    yield head[: head.rfind(b"\n") + 1]
    for length in (END_BYTES, min(MAX_LINE_BYTES, size - END_BYTES)):
        file.seek(size - length)
        tail = file.read(length)
        if b"\n" in tail[:-1]:
            yield tail[tail.index(b"\n") + 1 :]
            return


def head_cwd(path: str) -> str | None:
    """The folder that the first row of a session of Pi's or Codex's names, None if it names none or can't be read."""
    try:
        with open(path, "rb") as file:
            row = _decode_head(file.readline(MAX_LINE_BYTES))
    except OSError:
        return None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value: dict[str, Any] = first_value(path) or {}
        payload = value.get("payload")
        found = value.get("cwd") or (payload.get("cwd") if isinstance(payload, dict) else None)
        return found if isinstance(found, str) else None
    return row.cwd or (row.payload.cwd if row.payload is not None else None)


def _session_id(file: PlacedFile, found: Glance) -> str:
    """The id by which its agent resumes a session: Claude Code and Codex go by the file's name."""
    stem = os.path.basename(file.path).removesuffix(SESSION_SUFFIX)
    if found.format == "claude-code" and not found.is_subagent:
        return stem
    named = _CODEX_NAME.fullmatch(stem) if found.format == "codex" else None
    return named.group(1) if named else found.id or stem


def _project(file: PlacedFile, found: Glance) -> str | None:
    """The folder of the session's project.

    The rows of Claude Code name the folder that the agent is in at the moment; the project is the one above it for
    which the file's folder is named.
    """
    cwd = found.cwd
    if cwd is None or found.format != "claude-code":
        return cwd
    name, above = os.path.basename(os.path.dirname(file.path)), cwd
    while claude_name(above) != name:
        above, below = os.path.dirname(above), above
        if above == below or not above:
            return cwd
    return above


def named_sessions(start: str, *, cwd: str, env: Mapping[str, str], is_all: bool = False) -> Iterator[Glanced]:
    """The sessions of Claude Code in the folder `cwd`, and those of Codex, whose file name has an id that starts so.

    Args:
        start: of the id.
        cwd: the folder that Claude Code's sessions were made in.
        env: the environment variables.
        is_all: look for those of Pi as well, and for those that were made in any folder.
    """
    wanted = Wanted(cwd=cwd, env=env, agents=AGENTS if is_all else AGENTS[1:], is_all=is_all)
    for file in placed_files(places(wanted)).files:
        stem = os.path.basename(file.path).removesuffix(SESSION_SUFFIX)
        named = _CODEX_NAME.fullmatch(stem)
        name = named.group(1) if named else stem.partition("_")[2] if file.agent == "pi" else stem
        if file.parent_id is None and name.startswith(start):
            try:
                found = glance_file(file, is_whole=False)
            except (SessionError, OSError):
                continue
            if not found.is_subagent or named:
                yield found
