"""The options that every command with a SESSION takes, and what they lead to: session, settings, counter, plan."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from compactor.branch import Branch
    from compactor.entries import Session, SessionWarning
    from compactor.planned import Planned
    from compactor.projection import ModelRef
    from compactor.settings import CompactionSettings
    from compactor.settings_file import SettingsFiles
    from compactor.tokens import Counter

COUNTERS = ("pi", "o200k", "cl100k", "calibrated")
"""Pi's estimate, OpenAI's vocabularies, and what the session's own reported usage teaches."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOptions:
    """The common options as given."""

    session: str
    leaf: str | None
    context_window: int | None
    reserve_tokens: int | None
    keep_recent_tokens: int | None
    counter: str
    exact_pi: bool
    session_dir: str | None


_TOKENS = click.IntRange(min=0)
_SESSION = click.argument("session", metavar="SESSION")
_LEAF = click.option("--leaf", metavar="ID|#N", help="Take this entry as the leaf: an id, or #N for the N-th from 0.")
_WINDOW = click.option("--context-window", type=_TOKENS, metavar="N", help="The model's window in tokens.")
_RESERVE = click.option("--reserve-tokens", type=_TOKENS, metavar="N", help="Tokens kept free for the next reply.")
_KEEP = click.option("--keep-recent-tokens", type=_TOKENS, metavar="N", help="Tokens to keep word for word.")
_COUNTER = click.option(
    "--counter", type=click.Choice(COUNTERS), default="pi", show_default=True, help="How tokens are counted."
)
_EXACT = click.option("--exact-pi", is_flag=True, help="Bit for bit as Pi 1.6.0, its losses included.")
_SESSION_DIR = click.option("--session-dir", metavar="DIR", help="Where `latest` and id prefixes are looked up.")
_JSON = click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")


def session_options(command: F) -> F:
    """Adds SESSION and the common options to a command, which gets them by the names of `SessionOptions`."""
    return _decorated(command, _SESSION, _LEAF, _WINDOW, _RESERVE, _KEEP, _COUNTER, _EXACT, _SESSION_DIR)


def branch_options(command: F) -> F:
    """Adds SESSION and those of the common options that have no leaf and no kept tail."""
    return _decorated(command, _SESSION, _WINDOW, _RESERVE, _COUNTER, _EXACT, _SESSION_DIR)


def view_options(command: F) -> F:
    """Adds SESSION, --leaf, --session-dir and --json to a command that only looks; it gets `session`, `leaf`,
    `session_dir` and `as_json`."""
    return _decorated(command, _SESSION, _LEAF, _SESSION_DIR, _JSON)


def _decorated(command: F, *decorators: Callable[[F], F]) -> F:
    """The command with these options, in this order in its help."""
    for decorate in reversed(decorators):
        command = decorate(command)
    return command


def looked_up(session: str, session_dir: str | None) -> "Session":
    """The session that SESSION names, of whichever agent.

    Raises:
        SessionError: there is none, or it can't be read.
    """
    from compactor.session_file import read_session
    from compactor.sessions_file import find_session

    return read_session(find_session(session, cwd=current_folder(), env=os.environ, session_dir=session_dir))


def looked_up_branch(session: "Session", leaf: str | None) -> "Branch":
    """The branch that ends in the entry that --leaf names, else in the newest one."""
    from compactor.branch import active_branch, find_leaf

    return active_branch(session, find_leaf(session, leaf))


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A session file that is being read, for the options that name it."""

    options: SessionOptions
    path: str
    wait: Callable[[], bytes]
    """Gives the bytes, once."""


def open_session(options: SessionOptions) -> Opened:
    """The session file that the options name; it is read while the caller imports what comes next."""
    from compactor.bytes_file import start_reading
    from compactor.sessions_file import find_session

    path = find_session(options.session, cwd=current_folder(), env=os.environ, session_dir=options.session_dir)
    return Opened(options=options, path=path, wait=start_reading(path))


def named_folder(session: str) -> str | None:
    """The absolute path of the directory that SESSION|DIR names; None where it names a session."""
    from compactor.settings_file import expand_home

    folder = os.path.abspath(os.path.join(current_folder(), expand_home(session, os.environ)))
    return folder if session and os.path.isdir(folder) else None


def current_folder() -> str:
    """The current folder.

    Raises:
        SessionError: it was removed, or the way to it is closed.
    """
    try:
        return os.getcwd()
    except OSError as error:
        from compactor.errors import SessionError

        reason = error.strerror or error
        raise SessionError(f"the current folder can't be found: {reason}; change to another folder") from None


def counter_named(name: str) -> "Counter":
    """The counter of that name that needs no session; a vocabulary is loaded only for those that need one."""
    from compactor.tokens import PiCounter, TokenizerCounter

    if name == "pi":
        return PiCounter()
    from compactor.vocabulary_file import text_counter

    return TokenizerCounter(name=name, count=text_counter("cl100k_base" if name == "cl100k" else "o200k_base"))


def counter_for(name: str, branch: "Branch") -> "Counter":
    """The counter of that name for a branch: `calibrated` learns from the usage that the branch reports."""
    if name != "calibrated":
        return counter_named(name)
    from compactor.calibration import calibrate
    from compactor.priors_file import priors_of
    from compactor.vocabulary_file import text_counter

    return calibrate(branch.entries, text_counter("o200k_base"), priors_of).counter


def planned(opened: Opened) -> tuple["Planned", list["SessionWarning"]]:
    """The plan for the session that was opened, and warnings about its settings."""
    from compactor.branch import active_branch, find_leaf
    from compactor.formats.registry import parse_session
    from compactor.planned import plan_branch
    from compactor.projection import session_model

    options = opened.options
    session = parse_session(
        opened.wait(), path=opened.path, exact=options.exact_pi, with_estimates=options.counter == "pi"
    )
    branch = active_branch(session, find_leaf(session, options.leaf))
    settings, warnings = settings_for(options, session, session_model(branch))
    counter = counter_for(options.counter, branch)
    return plan_branch(session, branch, counter, settings, exact=options.exact_pi), warnings


def settings_for(
    options: SessionOptions, session: "Session", model: "ModelRef | None"
) -> tuple["CompactionSettings", list["SessionWarning"]]:
    """Flags, else Pi's settings files of the session's project and of the user, else the catalogue and defaults."""
    from compactor.entries import SessionWarning
    from compactor.settings import resolve_settings

    window = None
    if options.context_window is None and session.reported_window is None and model is not None:
        from compactor.windows_file import window_of_model

        window = window_of_model(model.provider, model.model_id)
    files = settings_files(session)
    settings = resolve_settings(
        flags_of(options),
        project=files.project,
        user=files.user,
        model=model,
        reported_window=session.reported_window,
        catalogue_window=window,
    )
    return settings, [SessionWarning(code=w.code, message=w.message) for w in settings.warnings]


def settings_files(session: "Session") -> "SettingsFiles":
    """Pi's settings files for the session's project and of the user."""
    from compactor.settings_file import read_settings

    return read_settings(_project_dir(session.header.cwd), os.environ)


def _project_dir(cwd: str | None) -> str | None:
    """The folder that the session names, if it is one here; a header may hold any text, or name another machine's."""
    return cwd if cwd and os.path.isabs(cwd) and os.path.isdir(cwd) else None


def flags_of(options: SessionOptions) -> Mapping[str, int | None]:
    """The settings given as flags, by field name."""
    return {
        "context_window": options.context_window,
        "reserve_tokens": options.reserve_tokens,
        "keep_recent_tokens": options.keep_recent_tokens,
    }
