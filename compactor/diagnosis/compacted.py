"""What each compaction did to its branch: which one came before, what it kept, what it replaced, in tokens.

Takes an `Examined` session and its pairs; gives one `Compaction` for each compaction entry. One walk over the tree,
with sums and counts along the branch that are undone on the way back, so that many compactions cost no more than many
other entries.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compactor.diagnosis.examined import Examined, Tree
from compactor.entries import Entry, EntryBody

Place = Literal["kept", "nothing", "later", "elsewhere", "missing"]
"""Where the first kept entry is: before the compaction, nowhere on purpose, after it, on another branch, nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """One compaction on its branch; figures are Pi's estimates, system messages aside."""

    entry: Entry
    body: EntryBody
    previous: "Compaction | None"
    """The one before it on the branch."""
    place: Place
    first_kept: int | None
    """Index of the entry; None where nothing is kept."""
    first_depth: int
    """Entries of the branch before the first kept one; the compaction's own depth where nothing is kept."""
    parted: int
    """Kept results whose call is not kept."""
    replaced_tokens: int
    """Of the messages that were in the context and are not any more."""
    again_tokens: int
    """Of messages that an earlier compaction had replaced and that are in the context again."""
    before_tokens: int
    after_tokens: int
    system_tokens: int
    """Of all system messages on the branch."""
    reported_tokens: int
    """The newest context size that a reply reported since the previous compaction, 0 if none did."""
    summary_tokens: int
    talk_since: int
    """Entries with a message between the previous compaction, or the start, and this one."""

    @property
    def summary(self) -> str:
        """The text; empty if there is none."""
        return self.body.summary or ""


def compactions_of(examined: Examined, call_of: dict[int, int]) -> list[Compaction]:
    """All compactions in the order of the tree.

    Args:
        examined: the session.
        call_of: result -> call, by index, as `tools.pair` finds them.
    """
    branch = _Branch(examined, call_of)
    found: list[Compaction] = []
    if not any(entry.type == "compaction" for entry in examined.entries):
        return found
    for index, is_coming in examined.tree.steps():
        if not is_coming:
            branch.leave(index)
        elif index in examined.bodies and examined.entries[index].type == "compaction":
            found.append(branch.compaction(index))
            branch.enter(index, found[-1])
        else:
            branch.enter(index, None)
    return found


class _Branch:
    """The branch down to the entry at hand, with sums that undo themselves."""

    def __init__(self, examined: Examined, call_of: dict[int, int]) -> None:
        self.examined = examined
        self.tree: Tree = examined.tree
        self.call_of = call_of
        self.by_id: dict[str, list[int]] = defaultdict(list)
        self.tokens = [0]  # at each depth the tokens of all entries before it
        self.system = [0]
        self.talk = [0]
        self.reported = [0]
        self.compactions: list[Compaction] = []
        self.open_pairs = _Counts(len(examined.entries) + 1)
        self.everywhere: dict[str, list[int]] = defaultdict(list)
        for entry in examined.entries:
            self.everywhere[entry.id].append(entry.index)

    def enter(self, index: int, compaction: Compaction | None) -> None:
        """Goes on to an entry."""
        facts = self.examined.facts[index]
        self.by_id[self.examined.entries[index].id].append(index)
        self.tokens.append(self.tokens[-1] + (0 if compaction else facts.tokens))
        self.system.append(self.system[-1] + facts.system_tokens)
        self.talk.append(self.talk[-1] + (1 if facts.role and not compaction else 0))
        self.reported.append(0 if compaction else facts.usage_tokens or self.reported[-1])
        if compaction:
            self.compactions.append(compaction)
        self._count_pair(index, 1)

    def leave(self, index: int) -> None:
        """Goes back behind an entry."""
        self.by_id[self.examined.entries[index].id].pop()
        for sums in (self.tokens, self.system, self.talk, self.reported):
            sums.pop()
        if self.compactions and self.compactions[-1].entry.index == index:
            self.compactions.pop()
        self._count_pair(index, -1)

    def _count_pair(self, index: int, change: int) -> None:
        """A pair is parted by each cut after its call and not after its result."""
        call = self.call_of.get(index)
        if call is not None:
            self.open_pairs.add(self.tree.depth[call] + 1, change)
            self.open_pairs.add(self.tree.depth[index] + 1, -change)

    def compaction(self, index: int) -> Compaction:
        """What the compaction, which comes next, does to the branch."""
        body, depth = self.examined.bodies[index], self.tree.depth[index]
        previous = self.compactions[-1] if self.compactions else None
        place, first_kept = self._first_kept(index, body.first_kept_entry_id)
        first_depth = depth if first_kept is None else self.tree.depth[first_kept]
        start = previous.first_depth if previous else 0
        old_summary = previous.summary_tokens if previous else 0
        since = self.tree.depth[previous.entry.index] if previous else 0
        summary_tokens = self.examined.facts[index].tokens
        return Compaction(
            entry=self.examined.entries[index],
            body=body,
            previous=previous,
            place=place,
            first_kept=first_kept,
            first_depth=first_depth,
            parted=0 if first_kept is None else self.open_pairs.at(first_depth),
            replaced_tokens=max(0, self.tokens[first_depth] - self.tokens[start]),
            again_tokens=max(0, self.tokens[start] - self.tokens[first_depth]),
            before_tokens=old_summary + self.tokens[depth] - self.tokens[start],
            after_tokens=summary_tokens + self.tokens[depth] - self.tokens[first_depth],
            system_tokens=self.system[-1],
            reported_tokens=self.reported[-1],
            summary_tokens=summary_tokens,
            talk_since=self.talk[depth] - self.talk[since],
        )

    def _first_kept(self, index: int, wanted: str | None) -> tuple[Place, int | None]:
        if wanted is None:
            return "missing", None
        if wanted == self.examined.entries[index].id:
            return "nothing", None
        if on_branch := self.by_id.get(wanted):
            return "kept", on_branch[0]
        known = self.everywhere.get(wanted, ())
        if not known:
            return "missing", None
        return ("later" if self.tree.is_before(index, known[-1]) else "elsewhere"), None


class _Counts:
    """Sums over a range of positions, each change and each question in logarithmic time (a Fenwick tree)."""

    def __init__(self, size: int) -> None:
        self._sums = [0] * (size + 1)

    def add(self, start: int, change: int) -> None:
        """Adds to all positions from `start` on."""
        at = start + 1
        while at < len(self._sums):
            self._sums[at] += change
            at += at & -at

    def at(self, position: int) -> int:
        """The sum at a position."""
        total, at = 0, position + 1
        while at > 0:
            total += self._sums[at]
            at -= at & -at
        return total


def newest_compactions(examined: Examined, found: Sequence[Compaction]) -> list[Compaction | None]:
    """For each entry the newest compaction before it on its branch."""
    by_index = {compaction.entry.index: compaction for compaction in found}
    newest: list[Compaction | None] = [None] * len(examined.entries)
    for index in examined.tree.order:
        parent = examined.session.parents[index]
        if parent is not None:
            newest[index] = by_index.get(parent) or newest[parent]
    return newest
