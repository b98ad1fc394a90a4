"""Token counts as text for people: tables, the counters' errors, and a chart of predicted against reported context."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from compactor.cli.columns import short_id, warning_lines
from compactor.cli.terminal import one_line
from compactor.step_errors import WARM_UP_STEPS
from compactor.views.tokens import CounterErrors, TokensView, context_source, largest
from compactor.wording import amount

CHART_ROWS, CHART_MAX_COLUMNS, LABEL_COLUMNS = 12, 100, 10
CHART_MARKS = {"reported": "─", "pi": "p", "calibrated": "c"}
"""In the order in which they are drawn; a later mark covers an earlier one."""

TOTALS_COLUMNS, KINDS_COLUMNS = 95, 69
"""The table of counters has sums, and ratios by kind, only where it is not wider than the screen with them."""

MAX_TEXT_COLUMNS = 110
"""Of a sentence."""

SOURCES = {
    "reported": "reported by the provider",
    "reported+estimated": "reported by the provider up to its newest reply, estimated from there on",
    "estimated": "estimated, no usable figure is reported",
}

GAPS = {
    "reset": "right after a compaction or an edit, whose growth is not known",
    "model_switch": "of another model than the reply before it, whose counts do not compare",
    "fall": "after which the context was smaller: the provider or the agent dropped something",
}
"""What steps can't be made of, said of replies."""

GUESSES = {
    "hiddenReasoning": "with reasoning that is billed and in no form in the file",
    "cutOutputs": "whose output was reported while it was still streaming",
    "shortenedResults": "after a result that says it was shortened; whether the model saw all of it is not known",
    "images": "after an image; providers count them by size, the file tells only that there is one",
}
"""What no counter can know, said of replies."""


def tokens_text(view: TokensView, exact: dict[str, Any] | None, width: int) -> str:
    """The whole report.

    Args:
        view: what to tell.
        exact: what the provider counted, None if it was not asked.
        width: columns to use.
    """
    lines = [f"session  {one_line(view.session.path)}", *_context(view, exact, width)]
    lines += ["", *_sizes(view, width), "", *_errors(view, width)]
    chart = list(_chart(view, min(width, CHART_MAX_COLUMNS)))
    lines += ["", *chart] if chart else []
    return "\n".join([*lines, *warning_lines(view.warnings)])


def _context(view: TokensView, exact: dict[str, Any] | None, width: int) -> Iterator[str]:
    context = view.context
    source = context_source(context)
    about = "" if source == "reported" else "about "
    yield from _said(f"context  {about}{amount(context.tokens, 'token')}, {SOURCES[source]}", width, " " * 9)
    if source == "reported+estimated":
        parts = f"{context.usage_tokens:,} reported, about {context.trailing_tokens:,} estimated by"
        yield from _said(f"         {parts} {view.counter.name}", width, " " * 9)
    if exact is not None:
        yield f"exact    {amount(exact['tokens'], 'token')} counted by {exact['client']} for {one_line(exact['model'])}"
        yield from (f"         not as in the session: {what} ({n:,})" for what, n in exact["notAsInSession"].items())


def _sizes(view: TokensView, width: int) -> Iterator[str]:
    """Tokens by role, by kind, and the largest entries."""
    total = sum(view.by_role.values())
    yield from _said(f"the messages of the context: about {amount(total, 'token')} by {view.counter.name}", width)
    beside = view.beside_tokens
    if beside is not None and view.counter.name == view.calibration.counter.name:
        more = f"{beside:,} were reported beside them: system prompt, tools, what the agent adds unseen"
        less = f"{-beside:,} less were reported: something of them was shortened or not sent again"
        yield from _said(f"  {more if beside >= 0 else less}", width, "  ")
    for title, sizes in (("by role", view.by_role), ("by kind", view.by_kind)):
        yield f"  {title}"
        for name, tokens in sizes.items():
            yield f"    {one_line(name, 18):<18} {tokens:>10,}  {tokens / max(1, total):>4.0%}"
    yield "  largest entries"
    for entry_id, index, role, tokens in largest(view):
        place = f"#{index} {short_id(entry_id)}"
        yield f"    {place:<18} {tokens:>10,}  {one_line(role, max(4, width - 35))}"


def _errors(view: TokensView, width: int) -> Iterator[str]:
    """One line a counter, then what the steps are and what they rest on."""
    learnt = view.calibration
    counted = max(0, len(learnt.predicted) - WARM_UP_STEPS)
    if counted:
        yield from _said(
            f"how far off each counter is over {amount(counted, 'step')} from reply to reply; the first "
            f"{WARM_UP_STEPS} are not counted",
            width,
        )
        yield from _table(view, width)
    else:
        steps = f"the session has {amount(len(learnt.predicted), 'step')} from reply to reply"
        yield from _said(
            f"how far off each counter is can't be told: {steps}, and the first {WARM_UP_STEPS} only warm up", width
        )
    yield from _said(f"  calibrated: {sureness(view)}", width)
    for gap, count in learnt.walk.gaps.items():
        yield from _said(f"  not counted: {amount(count, 'reply', 'replies')} {GAPS[gap]}", width)
    for guess, count in view.guesses.items():
        yield from _said(f"  only guessed: {amount(count, 'reply', 'replies')} {GUESSES[guess]}", width)


def _table(view: TokensView, width: int) -> Iterator[str]:
    """A line a counter, as wide as the screen allows."""
    kinds = list(next(iter(view.errors.values())).bias) if width >= KINDS_COLUMNS else []
    with_totals = width >= TOTALS_COLUMNS
    totals = f" {'predicted':>12} {'reported':>12}" if with_totals else ""
    yield f"  {'counter':<10}{totals} {'ratio':>6} {'median':>7} {'9 of 10':>8}" + "".join(f"{k:>11}" for k in kinds)
    for name, errors in view.errors.items():
        yield f"  {name:<10}{_error_row(errors, kinds, with_totals=with_totals)}"
    meant = (
        "ratio: predicted tokens a reported one; median, 9 of 10: so far off are half of the steps, and nine of ten, "
        "at most"
    )
    yield from _said(f"  {meant}{'; then the ratio by what the tokens are' if kinds else ''}", width)


def _error_row(errors: CounterErrors, kinds: Sequence[str], *, with_totals: bool) -> str:
    whole = errors.whole
    totals = f" {round(whole.predicted):>12,} {whole.reported:>12,}" if with_totals else ""
    shares = f" {_ratio(whole.ratio):>6} {_share(whole.median):>7} {_share(whole.p90):>8}"
    return totals + shares + "".join(f"{_ratio(errors.bias[kind]):>11}" for kind in kinds)


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def _said(sentence: str, width: int, indent: str = "    ") -> list[str]:
    """A sentence in as many lines as it needs."""
    return textwrap.wrap(
        sentence,
        max(len(indent) + 10, min(width, MAX_TEXT_COLUMNS)),
        subsequent_indent=indent,
        break_on_hyphens=False,
    )


def sureness(view: TokensView) -> str:
    """How much the calibrated counter knows, in plain words."""
    learnt = view.calibration
    errors = view.errors[learnt.counter.name].whole
    start = "any model" if learnt.priors == "any" else one_line(learnt.priors)
    if not learnt.steps_of_model:
        return f"no step of this model yet; it rests on the shipped figures for {start} alone"
    rests = (
        f"{amount(learnt.steps_of_model, 'step')} of this session's model, on top of the shipped figures for {start}"
    )
    if errors.median is None:
        return f"it rests on {rests}; too few steps to say how far off it is"
    half = f"half of the steps were less than {max(errors.median, 0.01):.0%} off before they were learnt from"
    return f"it rests on {rests}; {half}"


def _chart(view: TokensView, width: int) -> Iterator[str]:
    """Reported and predicted context along the session, one column a stretch of steps."""
    steps = [predicted.step for predicted in view.calibration.predicted]
    if len(steps) < 2:
        return
    columns = max(1, min(width - LABEL_COLUMNS - 1, len(steps)))
    series = {"reported": [step.context_tokens for step in steps]}
    series |= {name: view.errors[name].context for name in ("pi", "calibrated") if name in view.errors}
    top = max(max(values) for values in series.values())
    grid = [[" "] * columns for _ in range(CHART_ROWS)]
    for name, mark in CHART_MARKS.items():
        for column, value in enumerate(_sampled(series[name], columns)):
            row = CHART_ROWS - 1 - min(CHART_ROWS - 1, value * CHART_ROWS // max(1, top + 1))
            grid[row][column] = mark
    legend = f"context in tokens after each of {amount(len(steps), 'step')}: ─ reported, c calibrated, p pi"
    yield from _said(f"{legend} (predictions summed up)", width)
    for n, cells in enumerate(grid):
        label = f"{round(top * (CHART_ROWS - n) / CHART_ROWS):,}" if n % 3 == 0 else ""
        yield f"{label:>{LABEL_COLUMNS - 1}} ┤{''.join(cells)}".rstrip()
    yield f"{'0':>{LABEL_COLUMNS - 1}} └{'─' * columns}"


def _sampled(values: Sequence[int], columns: int) -> list[int]:
    """The last value of each of so many equal stretches."""
    return [values[(n + 1) * len(values) // columns - 1] for n in range(columns)]
