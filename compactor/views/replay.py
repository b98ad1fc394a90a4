"""When a session would have been compacted with given settings, and how its own compactions compare: `replay`.

Takes a branch, a counter and settings; gives a `Replay`, and the object of `compactor replay --json`. Where the agent
looks at its context, and what `tokens` means, is told in `replay_walk.py`; how other settings are played through, in
`replay_run.py`.

Two histories are told apart. `series` and `real` are what happened: the size of the context at each check, the
session's own compactions included, as `compactor plan --leaf #N` gives it. `runs` are what would have happened: without
those compactions and with ours instead. Up to the first of either the two are the same.

The only trigger played through is the threshold. A provider's refusal of a too large request is not: which size would
have been refused isn't in the file. `maxContext` above the window tells that it might have been.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any, Literal

from compactor.branch import Branch
from compactor.entries import Session, SessionWarning
from compactor.plan import Skip
from compactor.settings import CompactionSettings
from compactor.tokens import Counter
from compactor.views.plan import WIRE_NAMES, leaf_json, session_json, warning_json
from compactor.views.replay_run import Firing, Run, SummarySize, simulate
from compactor.views.replay_walk import Check, RealCompaction, Walk, walk_branch

SUMMARY_TOKENS = 1500
"""Of a summary where the session has none to go by; an updated summary of a real session has 1,000 to 2,500."""

WINDOWS = (32_000, 64_000, 128_000, 200_000, 1_000_000)
RESERVES = (8192, 16384, 32768)
KEEPS = (5000, 20_000, 40_000)
"""What a sweep tries; Pi's defaults are in the middle."""

MAX_CELLS = 1000
"""A larger grid is more than anyone reads."""

Timing = Literal["early", "on_time", "late"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The values that a sweep combines; None is the usual ones."""

    windows: Sequence[int] | None = None
    reserves: Sequence[int] | None = None
    keeps: Sequence[int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A session played through."""

    session: Session
    branch: Branch
    walk: Walk
    settings: CompactionSettings
    """Those that the session's own compactions are compared with."""
    summary_tokens: int | None
    """As given; None where each firing takes what the session shows."""
    is_sweep: bool
    runs: list[Run]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A compaction that the session had, beside the settings."""

    real: RealCompaction
    threshold_from: int | None
    threshold_to: int | None
    """A threshold from the one to below the other would have fired at this check and at none before; None if none."""
    due: Check | None
    """The first check since the compaction before that was over the threshold of the settings."""
    timing: Timing
    checks_late: int
    """How many checks after `due` the compaction came."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayOptions:
    """How a replay counts."""

    summary_tokens: int | None = None
    """Of every summary; None takes that of the real compaction at the same place, else their median, else a default."""
    exact: bool = False
    """As Pi 1.6.0."""


def replay(
    session: Session,
    branch: Branch,
    counter: Counter,
    settings: CompactionSettings,
    *,
    grid: Grid | None = None,
    options: ReplayOptions | None = None,
) -> Replay:
    """The branch played through with the settings, or with every combination of a grid.

    Args:
        session: that the branch is of.
        branch: root first.
        counter: makes every estimate.
        settings: window, reserve and budget; whether compaction is enabled is not asked.
        grid: the values of a sweep.
        options: how to count.
    """
    chosen = options or ReplayOptions()
    walk = walk_branch(branch, counter, exact=chosen.exact)
    sizes = _summary_sizes(walk, chosen.summary_tokens)
    cells = [settings] if grid is None else grid_settings(walk, settings, grid)
    return Replay(
        session=session,
        branch=branch,
        walk=walk,
        settings=settings,
        summary_tokens=chosen.summary_tokens,
        is_sweep=grid is not None,
        runs=[simulate(walk, cell, sizes) for cell in cells],
    )


def grid_settings(walk: Walk, settings: CompactionSettings, grid: Grid) -> list[CompactionSettings]:
    """Every combination, by window, reserve and budget.

    Of the usual windows the first that is never filled is the last. Combinations that keep more than the threshold
    allows are left out, unless reserves and budgets were both asked for or nothing else is left.
    """
    windows = grid.windows or _windows_up_to(max((walk.level(check.position) for check in walk.checks), default=0))
    cells = [
        replace(settings, context_window=window, reserve_tokens=reserve, keep_recent_tokens=keep)
        for window in sorted(set(windows))
        for reserve in sorted(set(grid.reserves or RESERVES))
        for keep in sorted(set(grid.keeps or KEEPS))
    ]
    if grid.reserves and grid.keeps:
        return cells
    return [c for c in cells if c.keep_recent_tokens < c.context_window - c.reserve_tokens] or cells


def _windows_up_to(tokens: int) -> Sequence[int]:
    """The usual windows up to the first that is never filled."""
    enough = bisect_left(WINDOWS, tokens + max(RESERVES))
    return WINDOWS[: enough + 1]


def _summary_sizes(walk: Walk, given: int | None) -> SummarySize:
    """The size of the summary that a firing at a check makes."""
    real = walk.real
    usual = round(median(compaction.summary_tokens for compaction in real)) if real else SUMMARY_TOKENS
    by_check = {}
    positions = [check.position for check in walk.checks]
    for compaction in real:
        at = bisect_right(positions, compaction.position) - 1
        by_check[positions[at] if at >= 0 else -1] = compaction.summary_tokens

    def size(check: Check) -> int:
        return given if given is not None else by_check.get(check.position, usual)

    return size


def compared(walk: Walk, settings: CompactionSettings) -> list[Compared]:
    """The session's own compactions beside the settings; each is judged by the checks since the one before it."""
    threshold = settings.context_window - settings.reserve_tokens
    positions = [check.position for check in walk.checks]
    found: list[Compared] = []
    start = 0
    for real in walk.real:
        end = bisect_right(positions, real.position)
        since = walk.checks[start:end]
        due = next((n for n, check in enumerate(since) if check.tokens > threshold), None)
        late = 0 if due is None else len(since) - 1 - due
        low = max((check.tokens for check in since[:-1]), default=0)
        high = since[-1].tokens if since else 0
        found.append(
            Compared(
                real=real,
                threshold_from=low if low < high else None,
                threshold_to=high if low < high else None,
                due=None if due is None else since[due],
                timing="early" if due is None else "late" if late else "on_time",
                checks_late=late,
            )
        )
        start = end
    return found


def replay_json(made: Replay, warnings: Sequence[SessionWarning]) -> dict[str, Any]:
    """The whole object."""
    settings, walk = made.settings, made.walk
    return {
        "session": session_json(made.session),
        "leaf": leaf_json(made.branch.leaf),
        "branchEntries": len(walk.entries),
        "settings": {
            "contextWindow": settings.context_window,
            "reserveTokens": settings.reserve_tokens,
            "keepRecentTokens": settings.keep_recent_tokens,
            "sources": {WIRE_NAMES[field]: source for field, source in settings.sources.items()},
        },
        "threshold": settings.context_window - settings.reserve_tokens,
        "counter": walk.counter.name,
        "checks": len(walk.checks),
        "real": [_real_json(each) for each in compared(walk, settings)],
        "runs": [_run_json(run, walk, with_series=not made.is_sweep) for run in made.runs],
        "series": [{"index": c.index, "tokens": c.tokens, "reported": c.is_reported} for c in walk.checks],
        "warnings": [*map(warning_json, warnings)],
    }


def _real_json(each: Compared) -> dict[str, Any]:
    real, due = each.real, each.due
    implied = None
    if each.threshold_to is not None:
        implied = {"from": each.threshold_from, "below": each.threshold_to}
    return {
        "index": real.entry.index,
        "entryId": real.entry.id,
        "tokensBefore": real.tokens_before,
        "contextTokens": real.context_tokens,
        "summaryTokens": real.summary_tokens,
        "keptTokens": real.kept_tokens,
        "reason": real.reason,
        "impliedThreshold": implied,
        "timing": each.timing,
        "due": None if due is None else {"index": due.index, "entryId": due.entry_id, "contextTokens": due.tokens},
        "checksLate": each.checks_late,
    }


def _run_json(run: Run, walk: Walk, *, with_series: bool) -> dict[str, Any]:
    made: dict[str, Any] = {
        "contextWindow": run.settings.context_window,
        "reserveTokens": run.settings.reserve_tokens,
        "keepRecentTokens": run.settings.keep_recent_tokens,
        "threshold": run.settings.context_window - run.settings.reserve_tokens,
        "firings": [_firing_json(firing) for firing in run.firings],
        "count": run.count,
        "vainChecks": run.vain_checks,
        "maxContext": run.max_tokens,
        "freedTokens": run.freed_tokens,
    }
    if with_series:
        sizes = zip(walk.checks, run.sizes, strict=True)
        made["series"] = [{"index": check.index, "tokens": size} for check, size in sizes]
    return made


def _firing_json(firing: Firing) -> dict[str, Any]:
    check, outcome = firing.check, firing.outcome
    made: dict[str, Any] = {"index": check.index, "entryId": check.entry_id, "turn": check.turn}
    made["contextTokens"] = firing.context_tokens
    if isinstance(outcome, Skip):
        return made | {"checks": firing.checks, "skip": {"reason": outcome.reason, "detail": outcome.detail}}
    return made | {
        "isSplitTurn": outcome.is_split_turn,
        "firstKept": f"#{outcome.first_kept.index}",
        "firstKeptEntryId": outcome.first_kept.id,
        "keptTokens": outcome.kept_tokens,
        "freedTokens": firing.context_tokens - outcome.tokens_after,
        "summaryTokens": outcome.summary_tokens,
        "tokensAfter": outcome.tokens_after,
    }
