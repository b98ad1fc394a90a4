"""The context of a branch as it grows, entry by entry, in time linear in the branch.

Takes entries one after the other; says at any point what `planned.plan_branch` would say of the branch up to there. An
entry is looked at when it comes, when an edit changes it, and when a compaction keeps it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from compactor.entries import Entry
from compactor.entry_measure import EntryMeasure
from compactor.measure import measure_entry
from compactor.messages import Message
from compactor.projection import ProjectedEntry, context_entries, replayed_system
from compactor.tokens import Counter

_NOTHING = EntryMeasure()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextSize:
    """The size of the context at one point."""

    tokens: int
    is_reported: bool
    """True when it rests on usage that a provider reported, with estimates only for what came after."""


@dataclass(slots=True, kw_only=True)
class _Shown:
    """What the model sees since the newest compaction, by position on the branch."""

    measures: dict[int, EntryMeasure] = field(default_factory=dict)
    """What each entry costs; a tool result without its call costs nothing."""
    by_themselves: dict[int, EntryMeasure] = field(default_factory=dict)
    """What each entry would cost if every result had its call."""
    edits: dict[str | None, Entry] = field(default_factory=dict)
    callers: dict[str, list[int]] = field(default_factory=dict)
    """Which entries make a call, by its id, in order."""
    answers: dict[str, list[int]] = field(default_factory=dict)
    """Which entries answer a call, by its id."""
    tokens: int = 0
    """Of messages other than system ones."""


class GrowingContext:
    """What the model would see of the entries added so far; its size agrees with `tokens.context_tokens`."""

    def __init__(self, entries: Sequence[Entry], counter: Counter, *, exact: bool) -> None:
        """Starts with no entry.

        Args:
            entries: the branch; each is added once, in order.
            counter: makes every estimate.
            exact: as Pi 1.6.0, which counts tool results without a call too.
        """
        self.entries = entries
        self.counter = counter
        self.exact = exact
        self._added = 0
        self._places: dict[str, list[int]] = {}
        self._shown = _Shown()
        self._system: Message | None = None
        self._system_tokens: int | None = 0
        self._usage = self._trailing = 0

    def add(self) -> EntryMeasure:
        """Takes in the next entry; gives what it costs in this context."""
        at = self._added
        entry = self.entries[at]
        self._added += 1
        self._places.setdefault(entry.id, []).append(at)
        if entry.type == "compaction":
            self._compact(at, entry)
        elif entry.type == "context_edit":
            self._usage = 0
            self._show(at)
            self._edit(entry)
        else:
            self._show(at)
            self._report(at)
        return self._shown.measures[at]

    def size(self) -> ContextSize:
        """The size as the agent sees it."""
        if self._usage:
            return ContextSize(tokens=self._usage + self._trailing, is_reported=True)
        return ContextSize(tokens=self.estimate(), is_reported=False)

    def estimate(self) -> int:
        """The size by text alone, whatever was reported."""
        if self._system_tokens is None:
            self._system_tokens = self.counter.message(self._system) if self._system is not None else 0
        return self._shown.tokens + self._system_tokens

    @property
    def plain_tokens(self) -> int:
        """Tokens of all messages of the context but system ones."""
        return self._shown.tokens

    def places(self, entry_id: str | None) -> Sequence[int]:
        """Positions of the entries with an id, those out of context too."""
        return self._places.get(entry_id, ()) if entry_id is not None else ()

    def shows(self, at: int) -> bool:
        """True for an entry that is in the context."""
        return at in self._shown.measures

    def _report(self, at: int) -> None:
        """Notes a reported size, or what came after it; and what a system message changes."""
        found = self._shown.measures[at]
        if found.usage_tokens:
            self._usage, self._trailing = found.usage_tokens, 0
        else:
            self._trailing += found.tokens
        if "system" in found.roles:
            before = [] if self._system is None else [self._system]
            self._system = replayed_system(iter([*before, *self._projected(at).messages()]))
            self._system_tokens = None

    def _projected(self, at: int) -> ProjectedEntry:
        entry = self.entries[at]
        return ProjectedEntry(entry, self._shown.edits.get(entry.id), False, self.exact)

    def _show(self, at: int) -> None:
        """Counts an entry that comes into the context."""
        shown = self._shown
        found = measure_entry(self._projected(at), self.counter)
        shown.by_themselves[at] = found
        for call in found.calls:
            shown.callers.setdefault(call, []).append(at)
        for result in found.results:
            shown.answers.setdefault(result, []).append(at)
        self._settle(at)

    def _settle(self, at: int) -> None:
        """Counts an entry by what it now costs."""
        shown = self._shown
        old, new = shown.measures.get(at, _NOTHING), shown.by_themselves[at]
        if new.results and not self.exact and not all(self._is_called(result, at) for result in new.results):
            new = _NOTHING
        shown.measures[at] = new
        shown.tokens += new.tokens - new.system_tokens - old.tokens + old.system_tokens

    def _is_called(self, result: str, at: int) -> bool:
        callers = self._shown.callers.get(result) or [at]
        return callers[0] < at

    def _edit(self, edit: Entry) -> None:
        """Counts the targets of an edit anew, and the results of calls that come or go with it."""
        shown = self._shown
        target_id = edit.body.target_id
        shown.edits[target_id] = edit
        for at in self.places(target_id):
            if at not in shown.measures:
                continue
            old, new = shown.by_themselves[at], measure_entry(self._projected(at), self.counter)
            shown.by_themselves[at] = new
            _move(shown.callers, at, old.calls, new.calls)
            _move(shown.answers, at, old.results, new.results)
            self._settle(at)
            for call in set(old.calls) ^ set(new.calls):
                for answer in shown.answers.get(call, ()):
                    self._settle(answer)
            if "system" in old.roles + new.roles:
                self._fold_system()

    def _compact(self, at: int, entry: Entry) -> None:
        """Starts over with what a compaction keeps; its entries stand where they did, for the order of calls."""
        kept = self.places(entry.body.first_kept_entry_id)
        first = kept[0] if kept and kept[0] < at else at
        context = context_entries(list(self.entries[first : at + 1]))
        position = {e.index: first + n for n, e in enumerate(self.entries[first : at + 1])}
        self._shown = _Shown(edits={e.body.target_id: e for e in context if e.type == "context_edit"})
        self._usage = 0
        for old in context[1:]:
            if old.type != "compaction":  # one that the newest replaced shows nothing, whatever an edit says
                self._show(position[old.index])
        self._show(at)
        self._fold_system()

    def _fold_system(self) -> None:
        """Folds the system messages of the context into one."""
        at = [n for n, found in self._shown.measures.items() if "system" in found.roles]
        self._system = replayed_system(message for n in sorted(at) for message in self._projected(n).messages())
        self._system_tokens = None


def _move(places: dict[str, list[int]], at: int, old: Sequence[str], new: Sequence[str]) -> None:
    """Notes that an entry has other calls, or other results, than it had."""
    for name in old:
        places[name].remove(at)
    for name in new:
        places.setdefault(name, []).append(at)
        places[name].sort()
