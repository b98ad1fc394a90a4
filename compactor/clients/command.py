"""Any program as the model: the prompt goes to its standard input, its standard output is the summary.

The program gets UTF-8: the system text, a blank line, the user message. No shell is involved.
"""

import hashlib
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import PurePath

from compactor.clients.children import end, start
from compactor.clients.failures import one_line
from compactor.clients.options import ClientOptions
from compactor.errors import ModelError, SettingsError
from compactor.js_text import utf8
from compactor.model import ModelRequest, ModelResponse, Observer

MAX_STDERR_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandClient:
    """Runs a program for each request."""

    command: str
    """Program and arguments, as one would type them."""
    label: str | None = None
    """What the answers are recorded under; None makes one of the program's name and a digest of the command."""
    timeout_s: float | None = None
    """None waits for as long as it takes."""

    @classmethod
    def from_options(cls, options: ClientOptions) -> "CommandClient":
        """The client for the command that the options name.

        Raises:
            SettingsError: no command is named, or its quotes do not match.
        """
        if not (options.command or "").strip():
            raise SettingsError("the command client needs a program to run, found none; name one with --command")
        made = cls(command=options.command or "", label=options.model, timeout_s=options.timeout_s)
        made.argv()
        return made

    @property
    def name(self) -> str:
        """The client's name on the command line."""
        return "command"

    @property
    def model(self) -> str | None:
        """A name that differs from command to command, and tells no argument: there may be a key among them."""
        if self.label is not None:
            return self.label
        return f"{self._program()}-{hashlib.sha256(utf8(self.command)).hexdigest()[:8]}"

    def argv(self) -> list[str]:
        """The command as a list.

        Raises:
            SettingsError: its quotes do not match.
        """
        try:
            # On Windows the backslash separates folders; there only quotes are understood.
            words = shlex.split(self.command, posix=os.name == "posix")
        except ValueError as error:
            raise SettingsError(f"can't split --command into words: {error}; check its quotes") from None
        return words if os.name == "posix" else [word.strip('"') for word in words]

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        """What the program printed, without the last line end. It is run once: its failures do not pass.

        Raises:
            ModelError: it is missing, failed, took too long, or printed no UTF-8.
        """
        prompt = utf8("\n\n".join(part for part in (request.system, request.prompt) if part))
        pipe = subprocess.PIPE
        try:
            process = start(self.argv(), stdin=pipe, stdout=pipe, stderr=pipe)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            text = f"can't start the command {self._program()!r}: {reason}; check --command"
            raise ModelError(text, kind="setup") from None
        try:
            output, errors = process.communicate(prompt, timeout=self.timeout_s)
        except subprocess.TimeoutExpired:
            text = f"the command {self._program()!r} was not done after {self.timeout_s:g} s and was stopped"
            raise ModelError(f"{text}; allow more time with --timeout", kind="timeout") from None
        finally:
            end(process)
        if process.returncode != 0:
            raise self._failed(process.returncode, errors)
        return self._response(output)

    def _response(self, output: bytes) -> ModelResponse:
        try:
            text = output.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ModelError(
                f"expected UTF-8 from the command {self._program()!r}, found the byte 0x{output[error.start]:02x} at "
                f"offset {error.start}; make it print UTF-8",
                kind="reply",
            ) from None
        text = text.removesuffix("\n").removesuffix("\r")
        return ModelResponse(text=text, provider="command", model=self.model or "")

    def _failed(self, code: int, errors: bytes) -> ModelError:
        lines = errors[: 64 * MAX_STDERR_CHARS].decode("utf-8", "replace").splitlines()
        first = next((line for line in (one_line(raw, MAX_STDERR_CHARS) for raw in lines) if line), "")
        how = f"ended with exit code {code}" if code > 0 else f"was ended by signal {-code}"
        said = f": {first}" if first else " and said nothing on standard error"
        return ModelError(f"the command {self._program()!r} {how}{said}; run it by hand to see more", kind="server")

    def _program(self) -> str:
        words = self.argv()
        return one_line(PurePath(words[0]).name, 80) if words else ""
