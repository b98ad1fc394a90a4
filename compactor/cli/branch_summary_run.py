"""Carries out `compactor branch-summary`: what is read, the summary, where it goes, exit code."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from compactor.branch import active_branch, find_leaf
from compactor.branch_reading import BranchReading, read_branch, reserve_tokens_setting
from compactor.branch_summary import MadeBranchSummary, summarize_branch
from compactor.cli.asking import (
    DONE,
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
from compactor.cli.columns import files_text, labelled, named, session_text, warning_lines
from compactor.cli.inputs import SessionOptions, counter_for, open_session, settings_files, settings_for
from compactor.cli.terminal import say, write_json, write_text
from compactor.entries import Entry, Session, SessionWarning
from compactor.errors import ModelAborted, SessionError
from compactor.formats.registry import parse_session
from compactor.js_text import json_text, utf8
from compactor.projection import session_model
from compactor.views.branch_summary import branch_json
from compactor.wording import amount
from compactor.writable import branch_write_problem


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchOptions:
    """The options of `branch-summary` as given."""

    session: SessionOptions
    """`leaf` is the old leaf."""
    to: str
    flags: ClientFlags
    dry_run: bool
    write: bool
    output: str | None
    as_json: bool

    @property
    def writes(self) -> bool:
        """True when the entry is to go into a file."""
        return self.write or self.output is not None


def run(options: BranchOptions) -> int:
    """Runs the command; gives the exit code."""
    reading, warnings = _read(options.session, options.to)
    if options.writes:
        _refuse_if_unwritable(reading, options)
    if reading.unread is not None or options.dry_run:
        return _tell_reading(reading, warnings, options)
    made = _made(reading, options)
    if made is None:
        say("stopped; nothing was written")
        return STOPPED
    if options.as_json:
        where = reading.session.path if options.write else options.output
        write_json(utf8(json_text(branch_json(reading, warnings, made, where))))
        return DONE
    write_text(made.summary.text)
    for warning in (*warnings, *reading.warnings, *made.summary.warnings):
        say(f"warning: {warning.message} [{warning.code}]")
    tell_notes(made.summary, options.flags)
    where = told_target(reading.session, write=options.write, output=options.output)
    say(f"summarized {_size(reading)} of the branch that ends in {named(reading.left)}; {where}")
    return DONE


def _read(common: SessionOptions, to: str) -> tuple[BranchReading, list[SessionWarning]]:
    """What is read, and warnings about the settings."""
    opened = open_session(common)
    session = parse_session(opened.wait(), path=opened.path, exact=common.exact_pi)
    left, target = _entry(session, common.leaf), _entry(session, to)
    branch = active_branch(session, left)
    settings, warnings = settings_for(common, session, session_model(branch))
    reserve = common.reserve_tokens
    if reserve is None:
        files = settings_files(session)
        reserve = reserve_tokens_setting(files.project, files.user)
    budget = settings.context_window - reserve
    if budget <= 0:
        text = f"the reserve of {reserve:,} tokens takes all of the window of {settings.context_window:,}"
        warnings.append(SessionWarning(code="no_budget", message=f"{text}; the branch is read without a limit"))
    counter = counter_for(common.counter, branch)
    return read_branch(session, left, target, counter, budget, exact=common.exact_pi), warnings


def _entry(session: Session, name: str | None) -> Entry:
    """The entry of that name.

    Raises:
        SessionError: there is none.
    """
    entry = find_leaf(session, name)
    if entry is None:
        raise SessionError(f"{session.path}: the session has no entries, so there is no branch to summarize")
    return entry


def _refuse_if_unwritable(reading: BranchReading, options: BranchOptions) -> None:
    """Raises `SessionError` if the entry can't be added to the session, before anything is asked."""
    session = reading.session
    problem = branch_write_problem(session, reading.left, reading.target, reading.ancestor, in_place=options.write)
    if problem is not None:
        raise SessionError(f"{session.path}: {problem}")


def _made(reading: BranchReading, options: BranchOptions) -> MadeBranchSummary | None:
    """The summary, written where that was asked for; None if the user stopped it."""
    asked = asking(options.flags, exact=options.session.exact_pi)
    commit = committer(reading.session, write=options.write, output=options.output)
    stamp = new_stamp(reading.session)
    with interrupts_as_before():
        try:
            made = summarize_branch(reading, asked.options, asked.client, stamp, asked.progress.observe)
            if commit is not None:
                commit(made.line)
        except (KeyboardInterrupt, ModelAborted):
            return None
        finally:
            asked.progress.clear()
    return made


def _tell_reading(reading: BranchReading, warnings: Sequence[SessionWarning], options: BranchOptions) -> int:
    """Says what would be read, or why there is nothing; gives the exit code."""
    unread = reading.unread
    if options.as_json:
        write_json(utf8(json_text(branch_json(reading, warnings))))
    elif unread is None:
        write_text(reading_text(reading, warnings))
    else:
        say(f"nothing to summarize: {unread.detail} [{unread.reason}]")
    return DONE if unread is None else NOTHING


def reading_text(reading: BranchReading, warnings: Sequence[SessionWarning]) -> str:
    """What would be read, as a few labelled rows, and the warnings."""
    return "\n".join([*labelled(_rows(reading)), *warning_lines([*warnings, *reading.warnings])])


def _rows(reading: BranchReading) -> Iterator[tuple[str, str]]:
    yield "session", session_text(reading.session)
    entries = amount(len(reading.entries), "entry", "entries")
    yield "left", f"{named(reading.left)}, {entries} after what both branches share"
    yield "go on", f"from {named(reading.target)}"
    yield "shared", "no entry" if reading.ancestor is None else f"up to {named(reading.ancestor)}"
    limit = f"of at most {reading.budget_tokens:,}" if reading.budget_tokens > 0 else "no limit"
    yield "summarize", f"{_size(reading)}, {limit}"
    for label, files in (("read", reading.files.read_files), ("modified", reading.files.modified_files)):
        if files:
            yield label, files_text(files)


def _size(reading: BranchReading) -> str:
    return f"{amount(len(reading.messages), 'message')} with about {amount(reading.tokens, 'token')}"
