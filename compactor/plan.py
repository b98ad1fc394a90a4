"""Decides where a context is cut: what is summarized, what is kept word for word.

Takes a measured projection; gives a `CompactionPlan`, or a `Skip` with its reason.

The context entries are a list; the cut is an index into it. Entries before the cut are summarized, those from it on are
kept. Walking back from the end, token counts add up until they reach `keep_recent_tokens`; the cut is the first
permitted entry at or after that point. Permitted is an entry that gives a user, assistant, shell, custom or summary
message: a tool result never is, for it must follow its call. A turn starts at a message that is not the assistant's; a
cut inside of a turn splits it, and then its start (the turn prefix) is summarized apart from the history before it.

    history ............... | turn prefix ... | kept tail .......... leaf
    ^ range start             ^ turn start      ^ cut

Beyond Pi (not with `exact`): results may come late, after a message that is a permitted cut, or their calls out of
order. So no cut may part a call from its result: it moves back to the nearest permitted entry that parts none, or
forward where moving back would leave nothing to summarize. Moving by this rule keeps the order of cuts, so a larger
`keep_recent_tokens` never keeps fewer entries. Source: Pi 1.6.0 compaction.js prepareCompaction, findProjectedCutPoint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compactor.entries import Entry
from compactor.entry_measure import EntryMeasure
from compactor.file_ops import FileLists, file_lists, lists_of_details
from compactor.measure import Measured
from compactor.pairs import parting_cuts, parts_pair
from compactor.settings import CompactionSettings
from compactor.tokens import ContextTokens
from compactor.wording import amount, shown_id

CUT_ROLES = frozenset({"user", "assistant", "bashExecution", "custom", "branchSummary", "compactionSummary"})
"""Pi 1.6.0 isCutPointMessage."""

TURN_START_ROLES = CUT_ROLES - {"assistant"}
"""Pi 1.6.0 isTurnStartMessage."""

SkipReason = Literal["already_compacted", "nothing_to_compact", "no_messages", "kept_tail_over_limit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skip:
    """Why there is nothing to do."""

    reason: SkipReason
    detail: str
    """In plain words, with the numbers that led to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where the kept tail starts, and how it came to be there. Indexes count context entries."""

    index: int
    """First kept entry."""
    turn_start: int | None
    """Start of the turn that the cut splits; None if it splits none."""
    crossing: int | None
    """Where the token count reached the budget; None if the whole range is smaller."""
    permitted: int
    """First permitted entry at or after the crossing, before anything moved it."""
    moved_for_pairs: int = 0
    """By how many entries the cut moved (negative: back) so as to part no call from its result."""
    moved_for_recovery: bool = False
    """True when it moved past the last visible entry, after which only an omitted attempt follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionPlan:
    """What a compaction would summarize and keep."""

    measured: Measured
    cut: Cut
    range_start: int
    """First context entry that may be summarized; before it is only the previous compaction."""
    previous_summary: str | None
    files: FileLists
    tokens_before: int
    kept_tokens: int
    """Tokens of the kept tail by the same counter."""
    history_messages: int
    prefix_messages: int
    kept_messages: int

    @property
    def first_kept(self) -> Entry:
        """The entry that the kept tail starts with."""
        return self.measured.projection.entries[self.cut.index].entry

    @property
    def is_split_turn(self) -> bool:
        """True when the cut lies inside of a turn."""
        return self.cut.turn_start is not None

    @property
    def history(self) -> range:
        """Context entries of the turns before the cut."""
        return range(self.range_start, self.cut.index if self.cut.turn_start is None else self.cut.turn_start)

    @property
    def kept(self) -> range:
        """Context entries of the kept tail."""
        return range(self.cut.index, len(self.measured.measures))

    @property
    def turn_prefix(self) -> range:
        """Context entries of the split turn's start; empty if no turn is split."""
        return range(self.cut.index if self.cut.turn_start is None else self.cut.turn_start, self.cut.index)


def plan_compaction(
    measured: Measured, settings: CompactionSettings, context: ContextTokens, *, exact: bool = False
) -> CompactionPlan | Skip:
    """The plan for the branch, whether or not the trigger fires.

    Args:
        measured: the projection and its measures.
        settings: `keep_recent_tokens`, and window and reserve for the limit on the kept tail.
        context: the size of the context, which becomes `tokens_before`.
        exact: as Pi 1.6.0, which may part pairs and keeps a tail of any size.
    """
    leaf = measured.projection.branch.leaf
    if leaf is not None and leaf.type == "compaction":
        return Skip(reason="already_compacted", detail=f"the newest entry {leaf.id} is a compaction")
    measures = measured.measures
    previous = _previous_compaction(measured)
    start = 0 if previous is None else previous + 1
    if not any(set(m.roles) - {"system"} for m in measures[start:]):
        since = "after the previous compaction " if start else ""
        return Skip(reason="no_messages", detail=f"there is no message {since}that a summary could replace")
    cut = find_cut(measured, start, settings.keep_recent_tokens, exact=exact)
    plan = _plan(measured, cut, start, previous, context)
    if not plan.history_messages and not plan.prefix_messages:
        return _nothing(plan, settings)
    limit = settings.context_window - settings.reserve_tokens
    if not exact and 0 < limit < plan.kept_tokens:
        return _tail_over_limit(plan, settings, limit)
    return plan


def _previous_compaction(measured: Measured) -> int | None:
    """The context entry whose summary stands for everything before; only the first can be one."""
    entries, measures = measured.projection.entries, measured.measures
    return 0 if entries and entries[0].entry.type == "compaction" and measures[0].roles else None


def _plan(measured: Measured, cut: Cut, start: int, previous: int | None, context: ContextTokens) -> CompactionPlan:
    measures = measured.measures
    summary, carried = None, FileLists()
    if previous is not None:
        body = measured.projection.entries[previous].entry.body
        summary, carried = body.summary or "", lists_of_details(body.details, body.from_hook)
    split = cut.index if cut.turn_start is None else cut.turn_start
    calls = (pair for m in measures[start : cut.index] for pair in m.files)
    return CompactionPlan(
        measured=measured,
        cut=cut,
        range_start=start,
        previous_summary=summary,
        files=file_lists(calls, carried),
        tokens_before=context.tokens,
        kept_tokens=sum(m.tokens for m in measures[cut.index :]),
        history_messages=_plain_messages(measures[start:split]),
        prefix_messages=_plain_messages(measures[split : cut.index]),
        kept_messages=sum(len(m.roles) for m in measures[cut.index :]),
    )


def _plain_messages(measures: Sequence[EntryMeasure]) -> int:
    """Messages other than system ones, which are never summarized."""
    return sum([len(m.roles) - m.roles.count("system") for m in measures])


def _nothing(plan: CompactionPlan, settings: CompactionSettings) -> Skip:
    whole = f"{amount(plan.kept_messages, 'message')} with {amount(plan.kept_tokens, 'token')}"
    if plan.cut.crossing is None:
        why = f"fewer than the {settings.keep_recent_tokens:,} tokens to keep"
    else:
        biggest = max(plan.measured.measures[plan.cut.index :], key=lambda m: m.tokens).tokens
        why = f"the only place to cut is before a message of up to {amount(biggest, 'token')}, which is kept whole"
    return Skip(reason="nothing_to_compact", detail=f"the kept tail takes all there is, {whole}: {why}")


def _tail_over_limit(plan: CompactionPlan, settings: CompactionSettings, limit: int) -> Skip:
    tail = plan.measured.measures[plan.cut.index :]
    at = max(range(len(tail)), key=lambda n: tail[n].tokens)
    entry = plan.measured.projection.entries[plan.cut.index + at].entry
    detail = (
        f"the kept tail alone has {amount(plan.kept_tokens, 'token')}, more than the {limit:,} that the window of "
        f"{settings.context_window:,} leaves after the reserve of {settings.reserve_tokens:,}; its largest entry "
        f"{shown_id(entry.id)} has {tail[at].tokens:,}; a summary of the rest can't bring the context below the limit: "
        f"keep fewer tokens than {limit:,}, or use a model with a larger window"
    )
    return Skip(reason="kept_tail_over_limit", detail=detail)


def find_cut(measured: Measured, start: int, keep_recent_tokens: int, *, exact: bool = False) -> Cut:
    """The cut for a budget; `index` equals the number of entries if there is none to keep.

    Args:
        measured: the projection and its measures.
        start: first entry that may be summarized.
        keep_recent_tokens: the kept tail reaches at least this many tokens if the range has them.
        exact: as Pi 1.6.0, which may part a call from its result.
    """
    measures = measured.measures
    crossing = _crossing(measures, start, keep_recent_tokens)
    first = _first_permitted(measured, start, crossing)
    if first is None:
        return Cut(index=start, turn_start=None, crossing=crossing, permitted=start)
    index = first if exact else _between_pairs(measured, start, first)
    moved = index - first
    recovery = crossing is not None and moved == 0 and _only_omitted_attempt_follows(measured, index)
    index += recovery
    while index > start and _may_step_back_over(measured, index - 1, exact):
        index -= 1
    return Cut(
        index=index,
        turn_start=_turn_start(measured, index, start),
        crossing=crossing,
        permitted=first,
        moved_for_pairs=moved,
        moved_for_recovery=recovery,
    )


def _gives(measured: Measured, n: int, roles: frozenset[str]) -> bool:
    """True for an entry that is no compaction and gives a message of one of these roles."""
    is_compaction = measured.projection.entries[n].entry.type == "compaction"
    return not is_compaction and not roles.isdisjoint(measured.measures[n].roles)


def _crossing(measures: Sequence[EntryMeasure], start: int, budget: int) -> int | None:
    total = 0
    for n in range(len(measures) - 1, start - 1, -1):
        total += measures[n].tokens
        if measures[n].tokens and total >= budget:
            return n
    return None


def _first_permitted(measured: Measured, start: int, crossing: int | None) -> int | None:
    """The first permitted entry at or after the crossing, else the last one; None if there is none at all."""
    end = len(measured.measures)
    after = range(start if crossing is None else crossing, end)
    before = range(after.start - 1, start - 1, -1)
    return next((n for span in (after, before) for n in span if _gives(measured, n, CUT_ROLES)), None)


def _between_pairs(measured: Measured, start: int, first: int) -> int:
    """The nearest permitted entry, back first, before which no call waits for a result at or after it."""
    measures = measured.measures
    if not parts_pair(measures, start, first):
        return first
    parts = parting_cuts(measures, start)
    whole = [n for n in range(start, len(measures)) if not parts[n] and _gives(measured, n, CUT_ROLES)]
    back = next((n for n in reversed(whole) if n <= first), start)
    if _plain_messages(measures[start:back]):
        return back
    return next((n for n in whole if n >= first), back)


def _only_omitted_attempt_follows(measured: Measured, cut: int) -> bool:
    """True when after the cut there is only a failed attempt of the assistant that context_edits omitted.

    Source: Pi 1.6.0 findProjectedCutPoint, recovery suffix.
    """
    suffix = range(cut + 1, len(measured.measures))
    if not suffix or any(measured.measures[n].roles for n in suffix):
        return False
    entries = [measured.projection.entries[n] for n in suffix]
    if any(p.entry.type == "compaction" for p in entries):
        return False
    omitted = {p.entry.id for p in entries if p.entry.type != "context_edit" and p.intrinsic_messages()}
    has_attempt = any(p.entry.id in omitted and p.entry.role == "assistant" for p in entries)
    edits = [p.entry.body for p in entries if p.entry.type == "context_edit"]
    return has_attempt and all(edit.replacement is None or edit.target_id in omitted for edit in edits)


def _may_step_back_over(measured: Measured, n: int, exact: bool) -> bool:
    """True for an entry without messages; by default a row that the user excluded from context stays behind."""
    entry = measured.projection.entries[n].entry
    if entry.type == "compaction" or measured.measures[n].roles:
        return False
    return exact or entry.role not in ("bashExecution", "toolResult")


def _turn_start(measured: Measured, cut: int, start: int) -> int | None:
    """The start of the turn that a cut splits, None if it splits none."""
    if _gives(measured, cut, TURN_START_ROLES):
        return None
    return next((n for n in range(cut, start - 1, -1) if _gives(measured, n, TURN_START_ROLES)), None)
