"""A list of sessions as text for people: a group a folder, two lines a session, notes for standard error."""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from compactor.cli.terminal import one_line
from compactor.session_list_file import Listed, SessionList
from compactor.session_places_file import Wanted
from compactor.views.sessions import Project, age, id_prefixes, list_warnings, projects, subagent_tokens
from compactor.wording import amount, shown_id

WIDTH = 110
"""Longer names and first messages are cut."""

_UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def list_text(found: SessionList, now: datetime, *, with_paths: bool) -> str:
    """The whole list.

    Args:
        found: the sessions.
        now: ages are told from it, and times in its zone.
        with_paths: show the path of each file as well.
    """
    prefixes = id_prefixes(found.ids)
    times = Counter(found.ids)
    lines: list[str] = []
    for project in projects(found):
        lines += ["", _heading(project)]
        for session in project.sessions:
            prefix = shown_id(prefixes[session.main.id])
            lines.append(f"  {prefix}  {_title(session, WIDTH - len(prefix) - 4)}")
            lines.append(f"    {', '.join(_details(session, now))}")
            if with_paths or times[session.main.id] > 1:  # of copies, only the path tells one from the other
                lines.append(f"    {one_line(session.main.file.path)}")
    return "\n".join(lines[1:])


def _heading(project: Project) -> str:
    count = amount(len(project.sessions), "session")
    if project.cwd is None:
        return f"folder not named in the file ({count})"
    return f"{one_line(project.cwd)} ({count}{'' if project.exists else '; the folder is gone'})"


def _title(session: Listed, width: int) -> str:
    """The name; else the first message, in quotes."""
    glance = session.main.glance
    if glance.name is not None:
        return one_line(glance.name, width)
    return f"“{one_line(glance.first_message, width - 2)}”" if glance.first_message else "(no message of the user)"


def _details(session: Listed, now: datetime) -> Iterator[str]:
    """What there is to say; what the file does not tell is left out, never shown as 0."""
    main, glance = session.main, session.main.glance
    yield glance.format + (" sub-agent" if main.is_subagent else "") + (", archived" if main.file.is_archived else "")
    at = session.last_entry_at
    yield f"{age(at, now)} ({_local(at, now)})"
    if glance.messages is not None:
        yield amount(glance.messages, "message")
    if glance.context_tokens is not None:
        yield f"{short(glance.context_tokens)} tokens in context"
    if glance.total_tokens:
        yield f"{short(glance.total_tokens)} used"
    if glance.cost:
        yield f"${glance.cost:,.2f}" if glance.cost >= 0.005 else "less than 1 cent"
    if glance.compactions:
        yield amount(glance.compactions, "compaction")
    if glance.branches is not None and glance.branches > 1:
        yield amount(glance.branches, "branch", "branches")
    if session.subagents:
        used = subagent_tokens(session)
        tokens = f" ({short(used)} used)" if used else ""
        yield amount(len(session.subagents), "sub-agent") + tokens
    yield _bytes(main.file.size)
    if not glance.is_whole:
        yield "not counted"
    if glance.damaged_lines:
        yield f"damaged ({amount(glance.damaged_lines, 'line')})"


def _local(at: datetime, now: datetime) -> str:
    """The time in the zone of `now`, to the minute."""
    try:
        return f"{at.astimezone(now.tzinfo):%Y-%m-%d %H:%M}"
    except OverflowError:  # at either end of the calendar
        return f"{at:%Y-%m-%d %H:%M}"


def short(number: int) -> str:
    """The first three digits of a number: `742`, `8.7k`, `204k`, `15.6M`; it is never rounded up."""
    for size, letter in _UNITS:
        if number >= size:
            return f"{number * 10 // size / 10:.1f}{letter}" if number < 100 * size else f"{number // size:,}{letter}"
    return str(number)


def _bytes(size: int) -> str:
    """A size: `359 B`, `1.8 kB`, `2.4 MB`."""
    text = short(size)
    return f"{text} B" if text.isdigit() else f"{text[:-1]} {text[-1]}B"


def notes(found: SessionList, wanted: Wanted) -> Iterator[str]:
    """What is said beside the list: what it lacks, and what may mislead."""
    if not found.sessions:
        whose = "no saved sessions" if wanted.is_all else f"no saved sessions made in {wanted.cwd} (--all lists others)"
        where = ", ".join(place.path + ("" if place.path in found.existing else " (missing)") for place in found.places)
        yield f"{whose}; looked in {where}"
    if found.older:
        yield f"{amount(found.older, 'older session')} left out by --limit"
    if found.elsewhere:
        others = amount(found.elsewhere, "session")
        yield f"{others} of other directories in the same folders; --all lists them"
    for code, text in list_warnings(found):
        yield f"warning: {text}{'; --json names them' if code == 'skipped' else ''} [{code}]"
