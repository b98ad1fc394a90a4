"""What each compaction cost and what it saved, on whatever branch it stands.

Takes a session and the charges of its ledger; gives one `Effect` a compaction. The saving is an estimate: the tokens
that the compaction took off the context, times the replies that followed it before the next compaction (on all branches
that continue it). It supposes that each of those requests would otherwise have carried the same tokens along, which a
window may not have allowed, and takes the new messages of the first of them for tokens that were not freed. It is
priced at what these requests paid a token for reading the cache, else for plain input, because old context would mostly
have been read from the cache. What a compaction costs beside its own request is the cache that its first follower can't
read.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from compactor.branch import active_branch
from compactor.entries import Entry, Session
from compactor.js_text import MAX_SAFE_INTEGER
from compactor.ledger import Charge
from compactor.measure import measure
from compactor.messages import Cost, Number
from compactor.projection import project
from compactor.tokens import PiCounter, context_tokens
from compactor.usage import all_tokens, prompt_tokens

METHOD = (
    "What was not sent is an estimate: the tokens freed, times the replies until the next compaction; "
    "saved is its price at what those replies paid a token for reading the cache, else for plain input."
)
"""For people and programs, beside the figures."""

MAX_ESTIMATED_ENTRIES = 200_000
"""Entries read for all estimates of a session together: one of nothing but compactions must not take forever."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """One compaction."""

    entry: Entry
    timestamp: str | None
    own: Charge | None
    """The request that made the summary; None where the file does not report it."""
    tokens_before: Number | None
    """As recorded in the entry; None where it is not."""
    tokens_after: Number | None
    """What the first later reply was sent, its new messages included; else an estimate, None where that took long."""
    after_source: Literal["reported", "estimated"] | None
    """Where that is from."""
    later: tuple[Charge, ...]
    """The replies that followed, in the order of the file."""
    first: Charge | None
    """The one that `tokens_after` is of."""

    @property
    def freed(self) -> Number | None:
        """How many tokens smaller the context was; negative if it grew."""
        if self.tokens_before is None or self.tokens_after is None:
            return None
        return self.tokens_before - self.tokens_after

    @property
    def usual_uncached(self) -> Number | None:
        """The median of the tokens that the other later replies sent and did not read from the cache."""
        others = [uncached(charge) for charge in self.later if charge is not self.first]
        return median(others) if others else None


def uncached(charge: Charge) -> Number:
    """The tokens that a request sent and did not read from the cache: plain input and what it wrote to the cache."""
    return charge.usage.input + charge.usage.cache_write


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """What a token of old context costs."""

    dollars: float
    """A token, in US dollars."""
    part: str
    """`cache_read` or `input`."""
    is_recorded: bool
    """False if it comes from list prices."""


def compaction_effects(
    session: Session,
    charges: Sequence[Charge],
    compactions: Sequence[Entry],
    max_entries: int = MAX_ESTIMATED_ENTRIES,
) -> list[Effect]:
    """The effect of each of the compactions.

    Args:
        session: all of it.
        charges: of the session's ledger.
        compactions: entries of the session.
        max_entries: read for all estimates together; later ones are not made.
    """
    if not compactions:
        return []
    governing = _newest_compactions(session)
    later: dict[int | None, list[Charge]] = defaultdict(list)
    own: dict[int, Charge] = {}
    for charge in charges:
        if charge.kind == "assistant" and all_tokens(charge.usage):
            later[governing[charge.index]].append(charge)
        elif charge.kind == "compaction":
            own[charge.index] = charge
    estimates = _Estimates(session, max_entries)
    return [_effect(estimates, entry, own.get(entry.index), later[entry.index]) for entry in compactions]


def _newest_compactions(session: Session) -> list[int | None]:
    """For each entry the index of the newest compaction before it on its branch, None if there is none.

    Parents may stand later in the file, so each chain is followed up to where the answer is known.
    """
    known = bytearray(len(session.entries))
    newest: list[int | None] = [None] * len(session.entries)
    for entry in session.entries:
        chain: list[int] = []
        at: int | None = entry.index
        while at is not None and not known[at]:
            known[at] = 1
            chain.append(at)
            at = session.parents[at]
        found = _newest_below(session, newest, at)
        for index in reversed(chain):
            newest[index] = found
            found = _newest_below(session, newest, index)
    return newest


def _newest_below(session: Session, newest: Sequence[int | None], parent: int | None) -> int | None:
    if parent is None:
        return None
    return parent if session.entries[parent].type == "compaction" else newest[parent]


class _Estimates:
    """Pi's estimates of the contexts that compactions leave, up to a number of entries read in all."""

    def __init__(self, session: Session, max_entries: int) -> None:
        self.session = session
        self.left = max_entries

    def after(self, entry: Entry) -> int | None:
        """Tokens right after the compaction; None where too much was read already."""
        if self.left <= 0:
            return None
        branch = active_branch(self.session, entry)
        self.left -= len(branch.entries)
        counter = PiCounter()
        measured = measure(project(branch), counter)
        return context_tokens(measured.projection, measured.measures, counter).tokens


def _effect(estimates: _Estimates, entry: Entry, own: Charge | None, later: Sequence[Charge]) -> Effect:
    body = entry.body
    before = body.tokens_before
    first = next((charge for charge in later if charge.is_finished and prompt_tokens(charge.usage)), None)
    after = estimates.after(entry) if first is None else prompt_tokens(first.usage)
    return Effect(
        entry=entry,
        timestamp=body.timestamp,
        own=own,
        tokens_before=before if before is not None and 0 < before <= MAX_SAFE_INTEGER else None,
        tokens_after=after,
        after_source=None if after is None else "estimated" if first is None else "reported",
        later=tuple(later),
        first=first,
    )


def price_parts(charge: Charge) -> Cost | None:
    """What the parts of a request cost, by the file or else by list price; None if neither tells.

    A file may record a total alone; then its parts are not 0 but unknown.
    """
    if charge.cost is None:
        return charge.estimate
    cost = charge.usage.cost
    has_parts = cost.input + cost.output + cost.cache_read + cost.cache_write > 0
    return cost if has_parts or charge.cost == 0 else None


def rate_of(charges: Sequence[Charge]) -> Rate | None:
    """What a token of old context costs these requests, None if it can't be told: recorded, else by list price."""
    for is_recorded in (True, False):
        priced = [
            (charge.usage, cost)
            for charge in charges
            if (charge.cost is not None) == is_recorded and (cost := price_parts(charge)) is not None
        ]
        for part in ("cache_read", "input"):
            tokens = sum(getattr(usage, part) for usage, _ in priced)
            if tokens:
                dollars = sum(getattr(cost, part) for _, cost in priced) / tokens
                return Rate(dollars=dollars, part=part, is_recorded=is_recorded)
    return None
