"""A session as it would have gone with other settings: where compaction fires, and what each firing keeps and frees.

Takes a `Walk` and settings; gives a `Run`. The session's own compactions are left out, ours take their place.

Sizes. Until the first firing, or the first compaction that the session really had, the size at a check is what it was.
From then on it is that of the context after the last firing, plus what was added since (`Walk`: differences of reported
sizes where there are some). A firing leaves the overhead, the system messages, a summary, and the kept tail at the size
by which it made the context grow. So reported usage counts throughout, and a counter's error does not add up. (Between
a compaction and the next reply Pi itself sees less, for it estimates by text alone and leaves the overhead out; as a
rule no check lies there.)

Cuts are those of `plan.plan_compaction`, on the branch up to the check with the last firing's compaction in its place.
Where it has nothing to compact, the firing is recorded once with the reason and the number of checks that it lasts; the
plan is made again only when the cut could come to lie elsewhere, and ever more seldom if it fails all the same.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from compactor.branch import Branch
from compactor.entries import Entry
from compactor.events import CompactionResult, EntryStamp, compaction_entry, json_line
from compactor.file_ops import FileLists
from compactor.measure import Measured, measure
from compactor.messages import Message
from compactor.plan import CompactionPlan, Skip, plan_compaction
from compactor.projection import project
from compactor.settings import CompactionSettings
from compactor.tokens import ContextTokens, current_system
from compactor.views.replay_walk import Check, Walk

SummarySize = Callable[[Check], int]
"""Tokens of the summary that a firing at a check would make."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Freed:
    """What a firing does to the context."""

    first_kept: Entry
    is_split_turn: bool
    kept_tokens: int
    """By the counter, as `plan` gives it."""
    summary_tokens: int
    tokens_after: int
    """Size of the context afterwards, as the next reply would report it but for what was added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Firing:
    """A check at which the context is over the threshold."""

    check: Check
    context_tokens: int
    """Size of the simulated context."""
    outcome: Freed | Skip
    checks: int = 1
    """How many checks in a row had nothing to compact; 1 for a firing that compacts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The whole branch under one set of settings."""

    settings: CompactionSettings
    firings: list[Firing]
    sizes: list[int]
    """Size of the simulated context at each check of the walk, before any firing there."""

    @property
    def count(self) -> int:
        """Firings that compact."""
        return sum(isinstance(firing.outcome, Freed) for firing in self.firings)

    @property
    def vain_checks(self) -> int:
        """Checks over the threshold that had nothing to compact."""
        return sum(firing.checks for firing in self.firings if isinstance(firing.outcome, Skip))

    @property
    def max_tokens(self) -> int:
        """The largest context, 0 without a check."""
        return max(self.sizes, default=0)

    @property
    def freed_tokens(self) -> int:
        """Taken out of the context by all firings together."""
        return sum(f.context_tokens - f.outcome.tokens_after for f in self.firings if isinstance(f.outcome, Freed))


def simulate(walk: Walk, settings: CompactionSettings, summary_size: SummarySize) -> Run:
    """The run of a branch; whether compaction is enabled is not asked."""
    simulation = _Simulation(walk, settings, summary_size)
    sizes: list[int] = []
    for check in walk.checks:
        size = simulation.size(check)
        sizes.append(size)
        if size > settings.context_window - settings.reserve_tokens:
            simulation.fire(check, size)
    return Run(settings=settings, firings=simulation.firings, sizes=sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Last:
    """The last firing that compacted."""

    position: int
    """Of its check."""
    first_kept: int
    tokens_after: int
    entry: Entry
    """The compaction that stands for it."""


class _Simulation:
    """The state between two checks."""

    def __init__(self, walk: Walk, settings: CompactionSettings, summary_size: SummarySize) -> None:
        self.walk = walk
        self.settings = settings
        self.summary_size = summary_size
        self.firings: list[Firing] = []
        self._dropped = {compaction.entry.index for compaction in walk.real}
        self._same_until = walk.real[0].position if walk.real else len(walk.entries)
        self._last: _Last | None = None
        self._edits_seen = 0
        self._edited_away = 0
        """Tokens that edits since the last firing took from entries that it had summarized."""
        self._in_vain = False
        self._wait, self._patience = 0, 1
        """Checks to let pass before the next plan; doubled with each plan that fails against the prospect."""

    def size(self, check: Check) -> int:
        """Size of the simulated context at a check; checks come in order."""
        last = self._last
        if last is None:
            return check.tokens if check.position < self._same_until else self.walk.level(check.position)
        edits = self.walk.edits
        while self._edits_seen < len(edits) and edits[self._edits_seen].position <= check.position:
            edit = edits[self._edits_seen]
            self._edited_away += edit.tokens if edit.target < last.first_kept else 0
            self._edits_seen += 1
        added = self.walk.level(check.position) - self.walk.level(last.position) - self._edited_away
        return last.tokens_after + added

    def fire(self, check: Check, size: int) -> None:
        """Compacts, or notes why there is nothing to compact."""
        self._wait -= 1
        if self._in_vain and (self._wait > 0 or not self._may_help(check.position)):
            self._last_again()
            return
        measured = self._measured(check.position)
        walk = self.walk
        context = ContextTokens(tokens=size, usage_tokens=0, trailing_tokens=size)
        plan = plan_compaction(measured, self.settings, context, exact=walk.exact)
        if isinstance(plan, CompactionPlan):
            freed = self._compact(check, plan)
            self.firings.append(Firing(check=check, context_tokens=size, outcome=freed))
            self._in_vain = False
        elif self._in_vain:
            self._last_again()
            self._wait = self._patience = 2 * self._patience
        else:
            self.firings.append(Firing(check=check, context_tokens=size, outcome=plan))
            self._in_vain, self._wait, self._patience = True, 0, 1

    def _last_again(self) -> None:
        self.firings[-1] = replace(self.firings[-1], checks=self.firings[-1].checks + 1)

    def _measured(self, position: int) -> Measured:
        """The simulated context after an entry."""
        entries, last = self.walk.entries, self._last
        path: Sequence[Entry] = entries[: position + 1]
        if last is not None:
            path = [
                *entries[last.first_kept : last.position + 1],
                last.entry,
                *entries[last.position + 1 : position + 1],
            ]
        branch = Branch(entries=[entry for entry in path if entry.index not in self._dropped])
        return measure(project(branch, exact=self.walk.exact), self.walk.counter, exact=self.walk.exact)

    def _compact(self, check: Check, plan: CompactionPlan) -> Freed:
        walk, position = self.walk, check.position
        first_kept = self._position(plan.first_kept, position)
        system = current_system(plan.measured.projection, plan.measured.measures)
        summary_tokens = self.summary_size(check)
        after = walk.overhead[position] + summary_tokens + self._tail(first_kept, position, plan.kept_tokens)
        after += walk.counter.message(system) if system is not None else 0
        self._last = _Last(
            position=position,
            first_kept=first_kept,
            tokens_after=after,
            entry=_compaction(plan, system),
        )
        self._edits_seen = self._edits_until(position)
        self._edited_away = 0
        return Freed(
            first_kept=plan.first_kept,
            is_split_turn=plan.is_split_turn,
            kept_tokens=plan.kept_tokens,
            summary_tokens=summary_tokens,
            tokens_after=after,
        )

    def _position(self, entry: Entry, end: int) -> int:
        """Where an entry of the kept tail stands on the branch; it is looked for from the end."""
        return next(n for n in range(end, -1, -1) if self.walk.entries[n].index == entry.index)

    def _edits_until(self, position: int) -> int:
        """How many edits stand up to a position."""
        return bisect_right(self.walk.edits, position, key=lambda edit: edit.position)

    def _tail(self, first: int, last: int, counted: int) -> int:
        """Tokens by which the kept tail made the context grow; as counted where that is not above 0."""
        grown = self.walk.grown
        tail = grown[last] - (grown[first - 1] if first else 0)
        start = self._edits_until(first - 1)
        for edit in self.walk.edits[start : self._edits_until(last)]:
            tail -= edit.tokens if edit.target < first else 0
        return tail if tail > 0 else counted

    def _may_help(self, position: int) -> bool:
        """False if a plan would find no more to compact than the last one that failed did.

        Looks for the cut as planning does, but for what moves it a little, and without edits.
        """
        walk, settings = self.walk, self.settings
        start = 0 if self._last is None else self._last.first_kept
        counted, total = walk.counted, walk.counted[position]
        keep = max(settings.keep_recent_tokens, 1)  # the cut lies at an entry that has tokens
        cut = start
        if total - (counted[start - 1] if start else 0) >= keep:
            cut = bisect_right(counted, total - keep, start, position + 1)
        at = walk.may_cut.find(1, cut, position + 1)
        at = at if at >= 0 else walk.may_cut.rfind(1, start, position + 1)
        limit = settings.context_window - settings.reserve_tokens
        kept = total - (counted[at - 1] if at > 0 else 0)
        return walk.has_plain.find(1, start, at) >= 0 and (walk.exact or not 0 < limit < kept)


def _compaction(plan: CompactionPlan, system: Message | None) -> Entry:
    """The entry that a firing would write; its summary is a placeholder, for a cut never falls on it."""
    result = CompactionResult(
        summary="-",
        first_kept_entry_id=plan.first_kept.id,
        tokens_before=plan.tokens_before,
        estimated_tokens_after=0,
        files=FileLists(),
    )
    line = json_line(compaction_entry(result, EntryStamp(id="", timestamp="", milliseconds=0), "", system))
    return Entry(-1, 0, "compaction", "", None, "", line, 0, len(line))
