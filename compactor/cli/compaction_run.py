"""Carries out `compactor compact`: client, events to standard output, talk to standard error, exit code."""

import secrets
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from compactor.cli.inputs import SessionOptions, open_session, planned
from compactor.cli.terminal import say, write_json, write_text
from compactor.clients import ClientOptions, make_client
from compactor.engine import Compacted, Effects, compact
from compactor.errors import SessionError
from compactor.events import CompactionResult, EntryStamp, Event, Reason, json_line
from compactor.model import ModelClient, Notice, RetryScheduled, Streamed
from compactor.plan import Skip
from compactor.planned import Planned
from compactor.prompt_file import DEFAULT, load_prompts
from compactor.requests import SummaryOptions
from compactor.wording import amount
from compactor.writable import write_problem

if TYPE_CHECKING:
    from compactor.entries import SessionWarning

DONE, FAILED, NOTHING, STOPPED = 0, 1, 3, 130

MAX_OUTPUT_TOKENS = 8192
"""Of a reply, unless the user asks for another limit."""

CLEARED_LINE = "\r\x1b[K"
"""Back to the start of the terminal's line, and all of it erased (ECMA-48 EL)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactOptions:
    """The options of `compact` beside the common ones, as given."""

    client: str
    model: str | None
    base_url: str | None
    command_line: str | None
    script: str | None
    model_path: str | None
    replay_dir: str | None
    record: bool
    max_retries: int
    timeout: float | None
    prompt: str
    instructions: str | None
    max_output_tokens: int | None
    summarizer_window: int | None
    token_budget: int | None
    no_pins: bool
    reason: Reason
    auto: bool
    write: bool
    output: str | None
    as_json: bool


def run(common: SessionOptions, options: CompactOptions) -> int:
    """Runs the command; gives the exit code."""
    decided, warnings = planned(open_session(common))
    if options.write or options.output is not None:
        _refuse_if_unwritable(decided, options)
    if options.auto and not decided.triggers:
        _write_header(decided, options)
        say(f"not compacted: {_not_triggered(decided)} [not_triggered]{_see_plan(decided)}")
        return NOTHING
    if isinstance(decided.plan, Skip) and not options.as_json:
        say(f"nothing to compact: {decided.plan.detail} [{decided.plan.reason}]{_see_plan(decided)}")
        return NOTHING
    prompts = load_prompts(options.prompt)
    client = make_client(options.client, _client_options(options))
    progress = Progress()
    effects = Effects(
        client=client,
        emit=_emitter(options.as_json),
        stamp=_stamp(decided),
        observe=progress.observe,
        commit=_commit(decided, options),
    )
    window = None if isinstance(decided.plan, Skip) else options.summarizer_window or _window_of(client)
    summary_options = SummaryOptions(
        prompts=prompts,
        focus=options.instructions,
        max_output_tokens=options.max_output_tokens or _output_limit(window),
        window_tokens=window,
        pins=not options.no_pins,
        exact=common.exact_pi,
    )
    _write_header(decided, options)
    with _interrupts_as_before():
        done = compact(decided, summary_options, options.reason, effects)
    progress.clear()
    return _finish(done, decided, warnings, options)


def _write_header(decided: Planned, options: CompactOptions) -> None:
    """The first line of `--json`."""
    if options.as_json:
        write_json(decided.session.header_raw)


@contextmanager
def _interrupts_as_before() -> Iterator[None]:
    """Gives Ctrl-C back its effect, which writing takes from it."""
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _finish(done: Compacted, decided: Planned, warnings: Sequence["SessionWarning"], options: CompactOptions) -> int:
    """The talk at the end, and the exit code. Where nothing was made, that is told in one line and nothing else."""
    if done.aborted:
        say("stopped; nothing was written")
        return STOPPED
    if done.result is None:
        say(f"compactor: {done.error}")
        return NOTHING if isinstance(decided.plan, Skip) else FAILED
    if not options.as_json:
        write_text(done.result.summary)
    made = done.summary
    for warning in (*warnings, *decided.warnings, *(made.warnings if made else ())):
        say(f"warning: {warning.message} [{warning.code}]")
    if made is not None and made.pinned:
        were = "was" if len(made.pinned) == 1 else "were"
        lost = amount(len(made.pinned), "constraint")
        say(f"note: {lost} of the user that the reply did not list {were} added word for word")
    if options.prompt != DEFAULT and options.client == "extractive":
        say("note: --prompt has no effect with the client extractive, which asks no model; name another --client")
    where = f"appended to {decided.session.path}" if options.write else f"written to {options.output}"
    where = where if options.write or options.output else "nothing was written (see --write and --output)"
    say(f"{_sizes(done.result, decided)}; {where}")
    return DONE


def _sizes(result: CompactionResult, decided: Planned) -> str:
    """The context before and after by one counter, and what the provider's usage made of it."""
    before = amount(sum(measure.tokens for measure in decided.measured.measures), "token")
    how = f"estimated with {decided.counter.name}"
    if decided.context.usage_tokens:
        how += f"; by the provider's usage {result.tokens_before:,} before"
    return f"about {before} before, {result.estimated_tokens_after:,} after ({how})"


def _client_options(options: CompactOptions) -> ClientOptions:
    return ClientOptions(
        model=options.model,
        base_url=options.base_url,
        command=options.command_line,
        script=options.script,
        model_path=options.model_path,
        replay_dir=options.replay_dir,
        record=options.record,
        max_retries=options.max_retries,
        timeout_s=options.timeout,
        token_budget=options.token_budget,
        context_window=options.summarizer_window,
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


def _stamp(decided: Planned) -> EntryStamp:
    taken = {entry.id for entry in decided.session.entries}
    made = secrets.token_hex(4)
    while made in taken:
        made = secrets.token_hex(4)
    now = datetime.now(UTC)
    text = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return EntryStamp(id=made, timestamp=text, milliseconds=int(now.timestamp() * 1000))


def _emitter(as_json: bool) -> Callable[[Event], None]:
    return (lambda event: write_json(json_line(event))) if as_json else (lambda event: None)


def _refuse_if_unwritable(decided: Planned, options: CompactOptions) -> None:
    """Raises `SessionError` if no entry can be added to the session, before anything is asked."""
    problem = write_problem(decided, in_place=options.write)
    if problem is not None:
        raise SessionError(f"{decided.session.path}: {problem}")


def _commit(decided: Planned, options: CompactOptions) -> Callable[[bytes], None] | None:
    """What writes the entry's line, None if nothing is to be written."""
    if not options.write and options.output is None:
        return None

    def commit(line: bytes) -> None:
        from compactor.append_file import append_entry, write_copy
        from compactor.document_file import write_document
        from compactor.formats.pi_writer import pi_lines
        from compactor.session_file import read_bytes

        signal.signal(signal.SIGINT, signal.SIG_IGN)  # from here on the entry and its event belong together
        session = decided.session
        if options.output is None:
            append_entry(session, line)
        elif session.format != "pi":
            lines = [converted + b"\n" for converted in pi_lines(session)]
            write_document(options.output, *lines, line, session_path=session.path)
        else:
            write_copy(session, read_bytes(session.path), line, options.output)

    return commit


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


def _not_triggered(decided: Planned) -> str:
    """Why an automatic compaction is not due."""
    settings = decided.settings
    if not settings.enabled:
        return "compaction is switched off in the settings"
    threshold = settings.context_window - settings.reserve_tokens
    assumed = " with an assumed window, see --context-window" if settings.warnings else ""
    return f"the context has about {decided.context.tokens:,} tokens, the threshold is {threshold:,}{assumed}"


def _see_plan(decided: Planned) -> str:
    """Where warnings about the file can be read, if there are any."""
    count = len(decided.warnings)
    return f"; see `compactor plan` for {amount(count, 'warning')} about the file" if count else ""
