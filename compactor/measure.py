"""Measures every context entry once, so that planning needs no second look at the text.

Takes a projection and a counter; gives one small `EntryMeasure` an entry. By default it also takes out tool results
whose call does not stand before them: providers refuse a request that holds one.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import msgspec

from compactor.entries import NOT_UTF8, Entry, SessionWarning
from compactor.entry_measure import EntryMeasure
from compactor.message_measure import message_measure
from compactor.messages import Message
from compactor.projection import ProjectedEntry, Projection
from compactor.tokens import Counter, PiCounter

_NOTHING = EntryMeasure()


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A projection with the measures of its entries."""

    projection: Projection
    """Without orphan results, unless read as Pi does."""
    measures: list[EntryMeasure]
    warnings: list[SessionWarning]


def measure(projection: Projection, counter: Counter, *, exact: bool = False) -> Measured:
    """The measures of a projection's entries, and the projection without orphan tool results.

    Args:
        projection: as `projection.project` gives it.
        counter: makes the token figures.
        exact: as Pi 1.6.0; otherwise a result without its call before it is left out, with a warning.
    """
    measures = [measure_entry(projected, counter) for projected in projection.entries]
    warnings = [*_lost_tail(projection), *_malformed(projection.entries, measures)]
    if exact:
        return Measured(projection=projection, measures=measures, warnings=warnings)
    entries = list(projection.entries)
    seen: set[str] = set()
    for n, found in enumerate(measures):
        if found.results and not seen.issuperset(found.results):
            entry = entries[n].entry
            text = f"tool result {found.results[0]!r} has no call before it in the context; it is left out"
            warnings.append(SessionWarning(code="orphan_result", message=text, line=entry.line, entry_id=entry.id))
            measures[n] = _NOTHING
            entries[n] = ProjectedEntry(entry, entries[n].edit, True, False)
            continue
        if found.calls:
            seen.update(found.calls)
    kept = Projection(entries=entries, branch=projection.branch, newest_reset=projection.newest_reset)
    return Measured(projection=kept, measures=measures, warnings=warnings)


def measure_entry(projected: ProjectedEntry, counter: Counter) -> EntryMeasure:
    """The measure of one context entry."""
    taken = projected.entry.estimate
    if taken is not None and projected.edit is None and not projected.is_silent and counter.name == PiCounter.name:
        return taken
    if projected.entry.type in _SILENT_TYPES:
        return _NOTHING
    messages, problems = projected.decode()
    known = counter.entry(projected.entry.index) if projected.edit is None and messages else None
    if len(messages) == 1:
        found = _measure_message(messages[0], counter, known)
    else:
        found = _join([_measure_message(m, counter, None) for m in messages]) if messages else _NOTHING
    return msgspec.structs.replace(found, problems=tuple(problems)) if problems else found


_SILENT_TYPES = frozenset({"model_change", "thinking_level_change", "usage", "custom", "label", "session_info"})
"""Entry types that never contribute a message, nor change one; Pi 1.6.0 sessionEntryToContextMessages."""


def _measure_message(message: Message, counter: Counter, known: int | None) -> EntryMeasure:
    """The measure of a message; `known` are its tokens where the counter need not look at it."""
    found = message_measure(message)
    if counter.name == PiCounter.name:
        return found
    tokens = counter.message(message) if known is None else known
    system_tokens = tokens if message.role == "system" else 0
    return msgspec.structs.replace(found, tokens=tokens, system_tokens=system_tokens)


def _join(parts: Sequence[EntryMeasure]) -> EntryMeasure:
    return EntryMeasure(
        tokens=sum(p.tokens for p in parts),
        system_tokens=sum(p.system_tokens for p in parts),
        roles=tuple(role for p in parts for role in p.roles),
        wide_chars=sum(p.wide_chars for p in parts),
    )


def _malformed(entries: Iterable[ProjectedEntry], measures: Iterable[EntryMeasure]) -> Iterable[SessionWarning]:
    for projected, found in zip(entries, measures, strict=True):
        if found.problems:
            yield malformed(projected.entry, found.problems)


def malformed(entry: Entry, problems: Sequence[str]) -> SessionWarning:
    """The warning about an entry some of whose fields have the wrong type."""
    fields = [name for name in problems if name != NOT_UTF8]
    told = [f"{', '.join(fields[:5])} can't be used as written and counts as missing"] if fields else []
    told += [f"{NOT_UTF8} are read as U+FFFD"] if NOT_UTF8 in problems else []
    text = f"line {entry.line}: {'; '.join(told)}"
    return SessionWarning(code="malformed_field", message=text, line=entry.line, entry_id=entry.id)


def _lost_tail(projection: Projection) -> Iterable[SessionWarning]:
    """A warning where the newest compaction kept entries that can't be found."""
    first = projection.entries[0].entry if projection.entries else None
    if first is None or first.type != "compaction":
        return
    kept_id = first.body.first_kept_entry_id
    before = itertools.takewhile(lambda e: e.index != first.index, projection.branch.entries)
    if kept_id != first.id and not any(e.id == kept_id for e in before):
        text = (
            f"line {first.line}: the first entry that the compaction kept ({kept_id!r}) is not before it on the branch"
        )
        text += "; nothing from before it is in the context but its summary"
        yield SessionWarning(code="first_kept_missing", message=text, line=first.line, entry_id=first.id)
