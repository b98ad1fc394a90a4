"""A replay as text for people: a few labelled rows, a table, the session's own compactions, and the warnings."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from compactor.cli.columns import labelled, leaf_text, session_text, warning_lines
from compactor.entries import SessionWarning
from compactor.plan import Skip
from compactor.views.replay import Compared, Replay, compared
from compactor.views.replay_run import Firing, Freed, Run
from compactor.wording import amount, share

MAX_ROWS = 60
"""Of a table; a threshold below what is kept fires at every check."""

SKIPS = {
    "already_compacted": "it was compacted just before",
    "nothing_to_compact": "all there is would be kept",
    "no_messages": "there is no message to summarize",
    "kept_tail_over_limit": "the kept tail alone is over the threshold",
}
"""Why a firing has nothing to compact; `plan` gives the figures."""


def replay_text(made: Replay, warnings: Sequence[SessionWarning]) -> str:
    """The whole report as plain text."""
    lines = labelled(_rows(made))
    lines += ["", *(_sweep(made) if made.is_sweep else _single(made))]
    real = compared(made.walk, made.settings)
    if real:
        lines += [
            "",
            f"really compacted {amount(len(real), 'time')}",
            *(line for each in real for line in _told(each, made)),
        ]
    return "\n".join([*lines, *warning_lines(warnings)])


def _rows(made: Replay) -> Iterator[tuple[str, str]]:
    walk, settings = made.walk, made.settings
    yield "session", session_text(made.session)
    if made.branch.leaf is not None:
        yield "leaf", leaf_text(made.branch)
    reported = sum(check.is_reported for check in walk.checks)
    largest = max((check.tokens for check in walk.checks), default=0)
    checks = amount(len(walk.checks), "reply", "replies")
    yield "context", f"looked at after {checks}, {reported:,} with reported usage; at most {largest:,} tokens"
    threshold = f"{settings.context_window - settings.reserve_tokens:,}"
    window = f"{settings.context_window:,} window - {settings.reserve_tokens:,} reserve"
    yield "threshold", f"{threshold} tokens ({window}); keeps {settings.keep_recent_tokens:,}"


def _single(made: Replay) -> Iterator[str]:
    (run,) = made.runs
    largest = f"the context would have had at most {amount(run.max_tokens, 'token')}"
    if not run.firings:
        yield f"would never compact: {largest}"
        return
    yield f"would compact {amount(run.count, 'time')}; {largest}{_over_window(run)}"
    head = (("after", 7), ("turn", 5), ("context", 9), ("shrinks to", 10), ("freed", 9), ("kept", 8), ("from", 7))
    yield f"  {'  '.join(f'{name:>{width}}' for name, width in head)}  split turn"
    for firing in run.firings[:MAX_ROWS]:
        yield f"  {_firing(firing)}"
    if len(run.firings) > MAX_ROWS:
        yield f"  … and {len(run.firings) - MAX_ROWS:,} more; --json has all"


def _over_window(run: Run) -> str:
    if run.max_tokens <= run.settings.context_window:
        return ""
    return f", more than the window of {run.settings.context_window:,}: the provider might have refused"


def _firing(firing: Firing) -> str:
    check, outcome = firing.check, firing.outcome
    start = f"{f'#{check.index}':>7}  {check.turn:>5,}  {firing.context_tokens:>9,}"
    if isinstance(outcome, Skip):
        return f"{start}  in vain at {amount(firing.checks, 'reply', 'replies')}: {SKIPS[outcome.reason]}"
    freed = firing.context_tokens - outcome.tokens_after
    sizes = f"{outcome.tokens_after:>10,}  {freed:>9,}  {outcome.kept_tokens:>8,}"
    return f"{start}  {sizes}  {f'#{outcome.first_kept.index}':>7}  {'yes' if outcome.is_split_turn else 'no'}"


def _sweep(made: Replay) -> Iterator[str]:
    head = (("window", 11), ("reserve", 9), ("keep", 9), ("compactions", 11), ("first", 8), ("split", 6))
    yield "  ".join(f"{name:>{width}}" for name, width in (*head, ("freed", 12), ("largest", 11)))
    for window, group in groupby(made.runs, key=lambda run: run.settings.context_window):
        runs = list(group)
        if any(run.firings for run in runs):
            yield from map(_cell, runs)
        else:
            yield f"{window:>11,}  {'any':>9}  {'any':>9}  {0:>11}{'':>32}{runs[0].max_tokens:>13,}"


def _cell(run: Run) -> str:
    settings = run.settings
    done = [firing for firing in run.firings if isinstance(firing.outcome, Freed)]
    first = f"#{done[0].check.index}" if done else "-"
    split = sum(isinstance(firing.outcome, Freed) and firing.outcome.is_split_turn for firing in done)
    notes = ["over the window"] if run.max_tokens > settings.context_window else []
    notes += [f"in vain at {amount(run.vain_checks, 'reply', 'replies')}"] if run.vain_checks else []
    figures = f"{settings.context_window:>11,}  {settings.reserve_tokens:>9,}  {settings.keep_recent_tokens:>9,}"
    figures += f"  {run.count:>11,}  {first:>8}  {split:>6,}  {run.freed_tokens:>12,}  {run.max_tokens:>11,}"
    return f"{figures}  {', '.join(notes)}".rstrip()


def _told(each: Compared, made: Replay) -> Iterator[str]:
    """A compaction that the session had, and how it compares."""
    real, settings = each.real, made.settings
    threshold = settings.context_window - settings.reserve_tokens
    size = real.context_tokens if real.tokens_before is None else real.tokens_before
    text = f"#{real.entry.index} at {amount(size, 'token')}"
    if settings.context_window:
        text += f", {share(size, settings.context_window)} of the window"
    if size != real.context_tokens:
        text += f" (counted here: {real.context_tokens:,})"
    text += f"; summary {real.summary_tokens:,}, kept {real.kept_tokens:,}"
    yield f"  {text}{f'; noted as {real.reason}' if real.reason else ''}"
    yield f"    {_verdict(each, threshold - size)}{_implied(each)}"


def _verdict(each: Compared, left: int) -> str:
    """How the compaction compares; `left` are the tokens between the size that is told and the threshold."""
    if each.due is not None and each.timing == "late":
        return f"late: due at #{each.due.index}, {amount(each.checks_late, 'reply', 'replies')} before"
    if each.timing == "on_time":
        return "on time"
    return f"early: {amount(left, 'token')} before the threshold" if left > 0 else "early by what is counted here"


def _implied(each: Compared) -> str:
    """The threshold that would explain it."""
    if each.threshold_to is None or each.real.reason not in (None, "auto"):
        return ""
    doubt = "" if each.real.reason else "if automatic, "
    low = f"from {each.threshold_from:,} to " if each.threshold_from else ""
    return f"; {doubt}its threshold lay {low}below {each.threshold_to:,}"
