"""Runs the command line in tests: in this process for breadth, as a process of its own where that is the point.

Neither sees keys, nor settings or sessions of the person who runs the tests.
"""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from builders import SessionBuilder
from click.testing import CliRunner

from compactor.cli import group

NO_HOME = str(Path(__file__).parent / "no-such-home")
"""A home folder without settings and sessions."""

PROGRAM = (sys.executable, "-m", "evals")
"""The console program, without looking for its script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Standard output as JSON lines."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def talk(self) -> list[str]:
        """The lines on standard error."""
        return self.err.splitlines()


def run(*words: object, home: object = NO_HOME, **env: str) -> Ran:
    """Runs a command line in this process; `env` is added to the environment."""
    runner = CliRunner(env={"HOME": str(home), "USERPROFILE": str(home), "PI_CODING_AGENT_DIR": None, **env})
    done = runner.invoke(group, [str(word) for word in words], prog_name="compactor")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exc_info
    assert "Traceback" not in done.stderr
    return Ran(code=done.exit_code, out=done.stdout, err=done.stderr)


def run_process(*words: object, cwd: Path | None = None, **env: str) -> Ran:
    """Runs a command line as a process of its own."""
    done = subprocess.run(
        [*PROGRAM, *map(str, words)], cwd=cwd, env=process_env(env), capture_output=True, timeout=120, check=False
    )
    return Ran(code=done.returncode, out=done.stdout.decode(), err=done.stderr.decode())


def process_env(added: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process: that of the tests, with a home of its own."""
    return {**os.environ, "HOME": NO_HOME, "USERPROFILE": NO_HOME, "PYTHONUTF8": "1", **added}


def saved(builder: SessionBuilder, folder: Path, name: str = "session.jsonl") -> Path:
    """The session as a file."""
    path = folder / name
    path.write_bytes(builder.data())
    return path


def long_session(turns: int = 4, start: SessionBuilder | None = None) -> SessionBuilder:
    """A session, or the one at `start`, with so many turns more: a read, an edit and a reply, about 190 tokens each."""
    made = start or SessionBuilder()
    for turn in range(turns):
        made.user(f"Turn {turn}: where is crane {turn}? " + "The harbor office asks for it today. " * 6)
        call = {"type": "toolCall", "id": f"call_{turn}", "name": "read", "arguments": {"path": f"crane{turn}.md"}}
        edit = {"type": "toolCall", "id": f"edit_{turn}", "name": "edit", "arguments": {"path": "berths.csv"}}
        made.assistant("I look.", call, edit)
        made.result(f"call_{turn}", f"Crane {turn} stands at berth {turn + 10}. " * 12)
        made.result(f"edit_{turn}", "saved")
        made.assistant(f"Crane {turn} stands at berth {turn + 10}; the list says so now.")
    return made


def on_terminal(*words: object) -> str:
    """What a command shows on a terminal of 200 columns; POSIX only."""
    import pty  # not on Windows

    ours, theirs = pty.openpty()
    try:
        env = process_env({"COLUMNS": "200", "TERM": "xterm", "NO_COLOR": "1"})
        process = subprocess.Popen([*PROGRAM, *map(str, words)], stdout=theirs, stdin=subprocess.DEVNULL, env=env)
        os.close(theirs)
        shown = b""
        with suppress(OSError):  # Linux ends a closed terminal with an error
            while piece := os.read(ours, 65536):
                shown += piece
        assert process.wait(timeout=60) == 0
    finally:
        os.close(ours)
    return shown.decode()


def scripted(folder: Path, *replies: object) -> tuple[str, ...]:
    """Options for a client that gives these replies."""
    path = folder / "replies.json"
    path.write_text(json.dumps(replies), encoding="utf-8")
    return ("--client", "scripted", "--script", str(path))


def program(folder: Path, *lines: str) -> tuple[str, ...]:
    """Options for a client that runs these lines of Python."""
    path = folder / "model.py"
    path.write_text("\n".join(("import sys", *lines)), encoding="utf-8")
    return ("--client", "command", "--command", shlex.join([sys.executable, str(path)]))
