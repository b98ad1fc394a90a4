"""What commands that make a summary share: who is asked and how, progress, the new entry and its way to disk."""

import secrets
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime

import click

from compactor.cli.client_options import ClientFlags
from compactor.cli.terminal import say
from compactor.clients import ClientOptions, make_client
from compactor.entries import Session
from compactor.events import EntryStamp
from compactor.model import ModelClient, Notice, RetryScheduled, Streamed
from compactor.prompt_file import DEFAULT, load_prompts
from compactor.requests import SummaryOptions
from compactor.summarizer import SummaryText
from compactor.wording import amount

DONE, FAILED, NOTHING, STOPPED = 0, 1, 3, 130
"""Exit codes."""

MAX_OUTPUT_TOKENS = 8192
"""Of a reply, unless the user asks for another limit."""

CLEARED_LINE = "\r\x1b[K"
"""Back to the start of the terminal's line, and all of it erased (ECMA-48 EL)."""


@dataclass(slots=True)
class Progress:
    """What a client tells while it works: retries in a line each, and on a terminal how much has arrived."""

    shown: bool = False
    """True while the last line of standard error is the one that counts."""

    def observe(self, notice: Notice) -> None:
        """Tells of a notice."""
        if isinstance(notice, RetryScheduled):
            self.clear()
            wait = f"trying again in {notice.delay_ms / 1000:.0f} s ({notice.attempt} of {notice.max_attempts})"
            say(f"{notice.error_message}; {wait}")
        elif isinstance(notice, Streamed) and sys.stderr.isatty():
            self.shown = True
            click.echo(f"{CLEARED_LINE}writing the summary: {amount(notice.chars, 'character')}", nl=False, err=True)

    def clear(self) -> None:
        """Takes the counting line away, for what comes after it."""
        if self.shown:
            click.echo(CLEARED_LINE, nl=False, err=True)
            self.shown = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who is asked for the summary, and how."""

    client: ModelClient
    options: SummaryOptions
    progress: Progress = field(default_factory=Progress)


def asking(flags: ClientFlags, *, exact: bool, needs_window: bool = True) -> Asking:
    """The client and the options of a summary.

    Args:
        flags: as given.
        exact: as Pi 1.6.0.
        needs_window: False where nothing will be asked, so that no local model is started to tell its window.

    Raises:
        PromptError, SettingsError: the prompt or the client can't be used.
    """
    prompts = load_prompts(flags.prompt)
    client = make_client(flags.client, _client_options(flags))
    window = (flags.summarizer_window or _window_of(client)) if needs_window else None
    options = SummaryOptions(
        prompts=prompts,
        focus=flags.instructions,
        max_output_tokens=flags.max_output_tokens or _output_limit(window),
        window_tokens=window,
        pins=not flags.no_pins,
        exact=exact,
    )
    return Asking(client=client, options=options)


def _client_options(flags: ClientFlags) -> ClientOptions:
    return ClientOptions(
        model=flags.model,
        base_url=flags.base_url,
        command=flags.command_line,
        script=flags.script,
        model_path=flags.model_path,
        replay_dir=flags.replay_dir,
        record=flags.record,
        max_retries=flags.max_retries,
        timeout_s=flags.timeout,
        token_budget=flags.token_budget,
        context_window=flags.summarizer_window,
    )


def _window_of(client: ModelClient) -> int | None:
    """The summarizer's window: what a local server set up, else the catalogue's; None for no or an unknown model."""
    if client.name == "local":
        window: int | None = getattr(client, "window_tokens", None)
        return window
    from compactor.windows_file import window_of_model

    return window_of_model(None, client.model) if client.model and client.name in ("openai", "anthropic") else None


def _output_limit(window: int | None) -> int:
    """Tokens for a reply: enough for a long summary, but no more than a quarter of a small window."""
    return MAX_OUTPUT_TOKENS if window is None else max(1, min(MAX_OUTPUT_TOKENS, window // 4))


@contextmanager
def interrupts_as_before() -> Iterator[None]:
    """Gives Ctrl-C back its effect, which writing takes from it."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def new_stamp(session: Session) -> EntryStamp:
    """Id and time of an entry that is made now; no entry of the session has the id."""
    taken = {entry.id for entry in session.entries}
    made = secrets.token_hex(4)
    while made in taken:
        made = secrets.token_hex(4)
    now = datetime.now(UTC)
    text = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return EntryStamp(id=made, timestamp=text, milliseconds=int(now.timestamp() * 1000))


def committer(session: Session, *, write: bool, output: str | None) -> Callable[[bytes], None] | None:
    """What writes an entry's line, None if nothing is to be written."""
    if not write and output is None:
        return None

    def commit(line: bytes) -> None:
        from compactor.append_file import append_entry, write_copy
        from compactor.document_file import write_document
        from compactor.formats.pi_writer import pi_lines
        from compactor.session_file import read_bytes

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # from here on the entry and what is told of it belong together
        if output is None:
            append_entry(session, line)
        elif session.format != "pi":
            lines = [converted + b"\n" for converted in pi_lines(session)]
            write_document(output, *lines, line, session_path=session.path)
        else:
            write_copy(session, read_bytes(session.path), line, output)

    return commit


def tell_notes(made: SummaryText | None, flags: ClientFlags) -> None:
    """Notes about a summary that was made: constraints that were added, a prompt that nobody read."""
    if made is not None and made.pinned:
        were = "was" if len(made.pinned) == 1 else "were"
        lost = amount(len(made.pinned), "constraint")
        say(f"note: {lost} of the user that the reply did not list {were} added word for word")
    if flags.prompt != DEFAULT and flags.client == "extractive":
        say("note: --prompt has no effect with the client extractive, which asks no model; name another --client")


def told_target(session: Session, *, write: bool, output: str | None) -> str:
    """Where the entry went, as the last piece of the talk."""
    where = f"appended to {session.path}" if write else f"written to {output}"
    return where if write or output else "nothing was written (see --write and --output)"
