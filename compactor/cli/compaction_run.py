"""Carries out `compactor compact`: client, events to standard output, talk to standard error, exit code."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from compactor.cli.asking import (
    DONE,
    FAILED,
    NOTHING,
    STOPPED,
    asking,
    committer,
    interrupts_as_before,
    new_stamp,
    tell_notes,
    told_target,
)
from compactor.cli.client_options import ClientFlags
from compactor.cli.inputs import SessionOptions, open_session, planned
from compactor.cli.terminal import say, write_json, write_text
from compactor.engine import Compacted, Effects, compact
from compactor.errors import SessionError
from compactor.events import CompactionResult, Event, Reason, json_line
from compactor.plan import Skip
from compactor.planned import Planned
from compactor.wording import amount
from compactor.writable import write_problem

if TYPE_CHECKING:
    from compactor.entries import SessionWarning


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactOptions:
    """The options of `compact` beside the common ones, as given."""

    flags: ClientFlags
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
    asked = asking(options.flags, exact=common.exact_pi, needs_window=not isinstance(decided.plan, Skip))
    effects = Effects(
        client=asked.client,
        emit=_emitter(options.as_json),
        stamp=new_stamp(decided.session),
        observe=asked.progress.observe,
        commit=committer(decided.session, write=options.write, output=options.output),
    )
    _write_header(decided, options)
    with interrupts_as_before():
        done = compact(decided, asked.options, options.reason, effects)
    asked.progress.clear()
    return _finish(done, decided, warnings, options)


def _write_header(decided: Planned, options: CompactOptions) -> None:
    """The first line of `--json`."""
    if options.as_json:
        write_json(decided.session.header_raw)


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
    tell_notes(made, options.flags)
    where = told_target(decided.session, write=options.write, output=options.output)
    say(f"{_sizes(done.result, decided)}; {where}")
    return DONE


def _sizes(result: CompactionResult, decided: Planned) -> str:
    """The context before and after by one counter, and what the provider's usage made of it."""
    before = amount(sum(measure.tokens for measure in decided.measured.measures), "token")
    how = f"estimated with {decided.counter.name}"
    if decided.context.usage_tokens:
        how += f"; by the provider's usage {result.tokens_before:,} before"
    return f"about {before} before, {result.estimated_tokens_after:,} after ({how})"


def _emitter(as_json: bool) -> Callable[[Event], None]:
    return (lambda event: write_json(json_line(event))) if as_json else (lambda event: None)


def _refuse_if_unwritable(decided: Planned, options: CompactOptions) -> None:
    """Raises `SessionError` if no entry can be added to the session, before anything is asked."""
    problem = write_problem(decided, in_place=options.write)
    if problem is not None:
        raise SessionError(f"{decided.session.path}: {problem}")


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
