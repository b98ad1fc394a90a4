"""A branch as it grew: the size of its context wherever an agent looks at it, and the compactions it really had.

Takes a branch and a counter; gives a `Walk`. One pass, linear in the branch.

Checks. Pi 1.6.0 looks at the size of the context once a reply and the results of its tools are there: before the next
request of the same run (agent-session.js _compactBeforeNextAssistantResponse), at the end of the run and, for replies
that were stopped, before the next prompt (_checkCompaction). So a check comes after an assistant message, or after the
last of the results that follow it; a prompt is never in the context of its own check.

Growth. What an entry adds to a context that is never compacted is, in this order: the difference of two reported sizes,
where nothing was compacted between them; its own tokens by the counter, corrected at the next reported size. The first
reported size holds what the file doesn't show (instructions, tools); that is `overhead`, and no compaction frees it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import msgspec

from compactor.branch import Branch
from compactor.calibration import CalibratedCounter
from compactor.entries import Entry, EntryBody
from compactor.entry_measure import EntryMeasure
from compactor.js_text import MAX_SAFE_INTEGER
from compactor.measure import measure_entry
from compactor.overflow import is_overflow_message
from compactor.plan import CUT_ROLES
from compactor.projection import ProjectedEntry
from compactor.tokens import Counter, PiCounter, TokenizerCounter
from compactor.views.replay_context import GrowingContext


class Check(msgspec.Struct, frozen=True, gc=False):
    """A point where an agent compares the context with its threshold."""

    position: int
    """On the branch, from 0; of the entry that the check comes after."""
    index: int
    """Of that entry in the file (`#N`)."""
    entry_id: str
    turn: int
    """How many messages the user has written on the branch so far."""
    tokens: int
    """Size of the context as it really was, the session's own compactions included."""
    is_reported: bool
    """True when `tokens` rests on usage that a provider reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RealCompaction:
    """A compaction that the session had."""

    position: int
    entry: Entry
    tokens_before: int | None
    """As the entry records it; None if it records no possible number."""
    context_tokens: int
    """Size of the context right before, counted as for a check."""
    summary_tokens: int
    kept_tokens: int
    reason: str | None
    """`overflow` after a reply that failed for that, `extension` if one of Pi's wrote it, `auto` or `manual` as another
    agent noted, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """A context_edit that changed what an entry costs."""

    position: int
    target: int
    """Position of the entry."""
    tokens: int
    """Added to the context; negative if it took something out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """The branch with its sizes. Lists are by position on the branch, sums up to and including that entry."""

    entries: Sequence[Entry]
    counter: Counter
    exact: bool
    checks: list[Check]
    real: list[RealCompaction]
    """Without those that have no message before them: nothing of what they replaced is in the file."""
    edits: list[Edit]
    grown: list[int]
    """Tokens of messages other than system ones, had there been no compaction."""
    system: list[int]
    """Tokens of system messages."""
    overhead: list[int]
    """Tokens that the file doesn't show; 0 before the first reported size."""
    counted: list[int]
    """Tokens by the counter alone, as the search for a cut adds them up; edits are left out."""
    may_cut: bytearray
    """True where a kept tail may start."""
    has_plain: bytearray
    """True for entries with a message that a summary may replace."""

    def level(self, position: int) -> int:
        """Size of the context after an entry, had there been no compaction."""
        return self.overhead[position] + self.system[position] + self.grown[position]


def walk_branch(branch: Branch, counter: Counter, *, exact: bool = False) -> Walk:
    """The walk from the root of a branch to its leaf."""
    if isinstance(counter, TokenizerCounter | CalibratedCounter):
        counter = replace(counter, count=cache(counter.count))  # every plan asks for the same texts again
    entries = _with_estimates(branch.entries, counter, exact)
    growth = _Growth(entries, counter, exact)
    is_check = _checked(entries)
    checks: list[Check] = []
    turn = 0
    for position, entry in enumerate(entries):
        growth.add()
        turn += entry.role == "user"
        if is_check[position]:
            size = growth.context.size()
            checks.append(Check(position, entry.index, entry.id, turn, size.tokens, size.is_reported))
    return Walk(
        entries=entries,
        counter=counter,
        exact=exact,
        checks=checks,
        real=growth.real,
        edits=growth.edits,
        grown=growth.grown,
        system=growth.system,
        overhead=growth.overhead,
        counted=growth.counted,
        may_cut=growth.may_cut,
        has_plain=growth.has_plain,
    )


def _with_estimates(entries: Sequence[Entry], counter: Counter, exact: bool) -> list[Entry]:
    """The entries with Pi's estimate on each message, so that none is decoded a second time for another plan."""
    if counter.name != PiCounter.name:
        return list(entries)
    made: list[Entry] = []
    for entry in entries:
        if entry.estimate is None and entry.type not in ("compaction", "context_edit"):
            found = measure_entry(ProjectedEntry(entry, None, False, exact), counter)
            entry = msgspec.structs.replace(entry, estimate=found)
        made.append(entry)
    return made


def _checked(entries: Sequence[Entry]) -> bytearray:
    """For each entry whether a check comes after it."""
    found = bytearray(len(entries))
    following = ""
    for position in range(len(entries) - 1, -1, -1):
        if entries[position].type == "message":
            role = entries[position].role
            found[position] = role in ("assistant", "toolResult") and following != "toolResult"
            following = role
    return found


class _Growth:
    """The lists of a `Walk`, made entry by entry."""

    def __init__(self, entries: Sequence[Entry], counter: Counter, exact: bool) -> None:
        self.context = GrowingContext(entries, counter, exact=exact)
        self.entries = entries
        self.real: list[RealCompaction] = []
        self.edits: list[Edit] = []
        self.grown: list[int] = []
        self.system: list[int] = []
        self.overhead: list[int] = []
        self.counted: list[int] = []
        self.may_cut = bytearray()
        self.has_plain = bytearray()
        self._has_messages = False
        self._costs: list[int] = []
        """Tokens of each entry with the edits so far, whether or not it is still in the context."""
        self._expected: int | None = None
        """The newest reported size and what came since; None before the first since a compaction."""
        self._was_reported = False

    def add(self) -> None:
        """Takes in the next entry."""
        position = len(self.grown)
        entry = self.entries[position]
        if entry.type == "compaction":
            self._compaction(position, entry)
            return
        found = self.context.add()
        if entry.type == "context_edit":
            self._append(found, self._edit(position, entry), 0)
        elif found.usage_tokens:
            self._reply(found)
        else:
            if self._expected is not None:
                self._expected += found.tokens
            self._append(found, found.tokens - found.system_tokens, 0)

    def _append(self, found: EntryMeasure, grown: int, overhead: int) -> None:
        self._costs.append(found.tokens - found.system_tokens)
        for sums, added in (
            (self.grown, grown),
            (self.system, found.system_tokens),
            (self.overhead, overhead),
            (self.counted, found.tokens),
        ):
            sums.append(sums[-1] + added if sums else added)
        is_plain = bool(set(found.roles) - {"system"})
        self.may_cut.append(not CUT_ROLES.isdisjoint(found.roles))
        self.has_plain.append(is_plain)
        self._has_messages |= is_plain

    def _reply(self, found: EntryMeasure) -> None:
        """A reply with a reported size: it corrects what was expected, or shows what the file doesn't."""
        plain, used = found.tokens - found.system_tokens, found.usage_tokens
        expected, self._expected = self._expected, used
        if expected is not None:
            self._append(found, used - expected, 0)
        elif self._was_reported:
            self._append(found, plain, 0)  # the first size after a compaction is that of another context
        else:
            hidden = used - self.context.estimate()
            self._append(found, plain + min(hidden, 0), max(hidden, 0))
        self._was_reported = True

    def _edit(self, position: int, edit: Entry) -> int:
        """Tokens that an edit adds to its targets."""
        total = 0
        for target in self.context.places(edit.body.target_id):
            shown = ProjectedEntry(self.entries[target], edit, False, self.context.exact)
            found = measure_entry(shown, self.context.counter)
            added = found.tokens - found.system_tokens - self._costs[target]
            self._costs[target] += added
            self.edits.append(Edit(position=position, target=target, tokens=added))
            total += added
            if self._expected is not None and self.context.shows(target):
                self._expected += added
        return total

    def _compaction(self, position: int, entry: Entry) -> None:
        """Notes a compaction, unless it stands at the start of the branch and so belongs to every context."""
        before = self.context.size().tokens
        found = self.context.add()
        self._expected = None
        summary_tokens = found.tokens - found.system_tokens
        if not self._has_messages:
            self._append(EntryMeasure(found.tokens, found.system_tokens), summary_tokens, 0)
            return
        self._append(EntryMeasure(), 0, 0)
        body = entry.body
        self.real.append(
            RealCompaction(
                position=position,
                entry=entry,
                tokens_before=_whole(body.tokens_before),
                context_tokens=before,
                summary_tokens=summary_tokens,
                kept_tokens=self.context.plain_tokens - summary_tokens,
                reason=_reason(self.entries, position, body),
            )
        )


def _whole(number: int | float | None) -> int | None:
    return int(number) if number is not None and 0 <= number <= MAX_SAFE_INTEGER else None


def _reason(entries: Sequence[Entry], position: int, body: EntryBody) -> str | None:
    """Why a compaction was made, as far as the file tells."""
    details = body.details if isinstance(body.details, dict) else {}
    noted = details.get("trigger")
    if noted in ("auto", "manual"):
        return str(noted)
    if body.from_hook and "source" not in details:  # an importer names its source; Pi's extensions don't
        return "extension"
    for entry in reversed(entries[max(0, position - MAX_LOOKED_BACK) : position]):
        if entry.type == "message":
            message = entry.body.message
            return "overflow" if message is not None and is_overflow_message(message) else None
    return None


MAX_LOOKED_BACK = 20
"""Between a failed reply and the compaction that answers it there is little more than the edit that omits it."""
