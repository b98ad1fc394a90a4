"""A model on this computer: serves a GGUF file with llama.cpp in a child process and asks it as any other server.

The child starts with the first request and ends with the client, with this process, or if this process is killed. It
listens on the loopback address only, on a free port, and wants a key that only this process knows.
"""

import json
import secrets
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any
from urllib.request import ProxyHandler, Request, build_opener

from compactor.clients.children import end, start
from compactor.clients.failures import missing_package, one_line
from compactor.clients.openai_chat import OpenAIChatClient
from compactor.clients.options import ClientOptions
from compactor.clients.retry import DEFAULT_RETRIES, RetryPolicy, Sleep
from compactor.errors import ModelError, SettingsError
from compactor.model import ModelRequest, ModelResponse, Observer

GGUF_MAGIC = b"GGUF"
"""The first bytes of such a file (ggml docs/gguf.md)."""

START_LIMIT_S = 600.0
"""A large file on a slow disk takes minutes to load."""

SERVER_PROGRAM = Path(__file__).with_name("local_server.py")


@dataclass(slots=True, kw_only=True, weakref_slot=True)
class LocalClient:
    """Asks a model that it serves itself; also a context manager that ends the server."""

    model_path: str
    threads: int = 1
    context_window: int | None = None
    """Tokens; None is the model's own window, as far as memory goes."""
    temperature: float | None = None
    timeout_s: float | None = None
    retries: RetryPolicy = DEFAULT_RETRIES
    sleep: Sleep = time.sleep
    _running: "_Server | None" = field(default=None, init=False)

    @classmethod
    def from_options(cls, options: ClientOptions) -> "LocalClient":
        """The client that the options describe.

        Raises:
            SettingsError: no file is named, or a number is out of range.
        """
        if not options.model_path:
            raise SettingsError("the local client needs a GGUF file, found none; name one with --model-path")
        if options.threads < 1:
            raise SettingsError(f"expected at least 1 thread, found {options.threads}")
        return cls(
            model_path=options.model_path,
            threads=options.threads,
            context_window=options.context_window,
            temperature=options.temperature,
            timeout_s=options.timeout_s,
            retries=options.retries,
        )

    @property
    def name(self) -> str:
        """The client's name on the command line."""
        return "local"

    @property
    def model(self) -> str | None:
        """The file's name without its ending."""
        return Path(self.model_path).stem

    @property
    def url(self) -> str:
        """The server's address, without `/v1`; starts the server if it does not run.

        Raises:
            ModelError: it can't be started.
        """
        return self._server().url

    @property
    def api_key(self) -> str:
        """The key that the server wants; starts the server if it does not run."""
        return self._server().key

    @property
    def window_tokens(self) -> int | None:
        """The context window that the server set up, None if it does not say; starts the server if it does not run."""
        server = self._server()
        asked = Request(f"{server.url}/props", headers={"Authorization": f"Bearer {server.key}"})
        try:
            # The loopback address is never behind a proxy.
            with build_opener(ProxyHandler({})).open(asked, timeout=30) as answer:
                found = json.load(answer)["default_generation_settings"]["n_ctx"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if isinstance(found, int) and found > 0 else None

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        """The model's answer, streamed.

        Raises:
            ModelError: the server can't be started, or the request failed.
        """
        server = self._server()
        chat = OpenAIChatClient(
            model_name=self.model or "local",
            base_url=f"{server.url}/v1",
            api_key=server.key,
            temperature=self.temperature,
            timeout_s=self.timeout_s,
            provider="local",
            retries=self.retries,
            sleep=self.sleep,
        )
        return chat.complete(request, observe)

    def close(self) -> None:
        """Ends the server; the next request starts it again."""
        if self._running is not None:
            self._running.finish()
            self._running = None

    def __enter__(self) -> "LocalClient":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _server(self) -> "_Server":
        """The running server.

        Raises:
            ModelError: it can't be started.
        """
        if self._running is not None and self._running.process.poll() is None:
            return self._running
        self.close()
        for package in ("xllamacpp", "openai"):
            if find_spec(package) is None:
                raise missing_package("local", package, "compactor[local]")
        _check_file(self.model_path)
        self._running = _started(self)
        return self._running


@dataclass(frozen=True, slots=True, kw_only=True)
class _Server:
    """A child process that serves a model."""

    process: "subprocess.Popen[bytes]"
    url: str
    key: str = field(repr=False)
    finish: "weakref.finalize[..., LocalClient]"
    """Ends the process; called when the client is dropped, and at the end of the program."""


def _check_file(path: str) -> None:
    """Raises `ModelError` unless the file can be read and begins as a GGUF file does."""
    try:
        with Path(path).open("rb") as file:
            magic = file.read(len(GGUF_MAGIC))
    except OSError as error:
        raise ModelError(f"can't read {path}: {error.strerror or error}; check --model-path", kind="setup") from None
    if magic != GGUF_MAGIC:
        raise ModelError(f"expected a GGUF file, found other content in {path}; check --model-path", kind="setup")


def _started(client: LocalClient) -> _Server:
    """A new server that is ready.

    Raises:
        ModelError: it ended, or was not ready in time.
    """
    key = secrets.token_urlsafe(24)
    settings = {
        "model": str(Path(client.model_path).resolve()),
        "threads": client.threads,
        "context": client.context_window or 0,
        "key": key,
    }
    with tempfile.TemporaryFile() as log:
        # -P keeps this folder, with its names that others may use too, off the child's path.
        argv = [sys.executable, "-P", str(SERVER_PROGRAM)]
        pipe = subprocess.PIPE
        process = start(argv, stdin=pipe, stdout=pipe, stderr=log)
        try:
            answer = _first_answer(process, settings)
            if "url" not in answer:
                raise _not_started(client, answer, log)
        except BaseException:
            end(process)
            raise
    finish = weakref.finalize(client, end, process)
    return _Server(process=process, url=answer["url"], key=key, finish=finish)


def _first_answer(process: "subprocess.Popen[bytes]", settings: dict[str, Any]) -> dict[str, str]:
    """What the child says once it is ready, or could not start; empty if it ended without a word or took too long."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(settings).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        return {}
    # A pipe can't be read with a time limit on every system; a timer that ends the child ends the reading too.
    timer = threading.Timer(START_LIMIT_S, process.kill)
    timer.daemon = True
    timer.start()
    try:
        line = process.stdout.readline()
    finally:
        timer.cancel()
    try:
        answer = json.loads(line)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}


def _not_started(client: LocalClient, answer: dict[str, str], log: IO[bytes]) -> ModelError:
    """The failure, with the first error in the server's log."""
    log.seek(0)
    lines = log.read(100_000).decode("utf-8", "replace").splitlines()
    found = next((line.split(" E ", 1)[1] for line in lines if " E " in line), None) or answer.get("error")
    said = one_line(found or "it ended without a message", 200)
    return ModelError(
        f"the model server could not start with {client.model_path}: {said}; check the file and the free memory",
        kind="setup",
    )
