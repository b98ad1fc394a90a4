"""Token counts as text for people: tables, the counters' errors, and a chart of predicted against reported context."""

from collections.abc import Iterator, Sequence
from typing import Any

from compactor.cli.terminal import one_line
from compactor.step_errors import WARM_UP_STEPS
from compactor.views.tokens import GAP_TEXTS, CounterErrors, TokensView, context_source, largest
from compactor.wording import amount, shown_id

CHART_ROWS, CHART_MAX_COLUMNS, LABEL_COLUMNS = 12, 100, 10
CHART_MARKS = {"reported": "─", "pi": "p", "calibrated": "c"}
"""In the order in which they are drawn; a later mark covers an earlier one."""

SOURCES = {
    "reported": "reported by the provider",
    "reported+estimated": "reported by the provider up to its newest reply, estimated from there on",
    "estimated": "estimated, no usable figure is reported",
}


def tokens_text(view: TokensView, exact: dict[str, Any] | None, width: int) -> str:
    """The whole report.

    Args:
        view: what to tell.
        exact: what the provider counted, None if it was not asked.
        width: columns to use.
    """
    context = view.context
    lines = [f"session  {one_line(view.session.path)}"]
    source = SOURCES[context_source(context)]
    about = "" if context_source(context) == "reported" else "about "
    lines.append(f"context  {about}{amount(context.tokens, 'token')}, {source}")
    if context.trailing_tokens and context.usage_tokens:
        lines.append(f"         {context.usage_tokens:,} reported, about {context.trailing_tokens:,} estimated")
    if exact is not None:
        lines.append(f"exact    {amount(exact['tokens'], 'token')} counted by {exact['client']} for {exact['model']}")
        lines += [f"         not as in the session: {what} ({n:,})" for what, n in exact["notAsInSession"].items()]
    lines += ["", *_sizes(view), "", *_errors(view)]
    chart = list(_chart(view, min(width, CHART_MAX_COLUMNS)))
    lines += ["", *chart] if chart else []
    if view.warnings:
        lines += ["", "warnings", *(f"  ! {one_line(w.message)} [{w.code}]" for w in view.warnings)]
    return "\n".join(lines)


def _sizes(view: TokensView) -> Iterator[str]:
    """Tokens by role, by kind, and the largest entries."""
    total = sum(view.by_role.values())
    yield f"the messages of the context by the {view.counter.name} counter: {amount(total, 'token')}"
    for title, sizes in (("by role", view.by_role), ("by kind", view.by_kind)):
        yield f"  {title}"
        for name, tokens in sizes.items():
            yield f"    {one_line(name, 24):<24} {tokens:>10,}  {tokens / max(1, total):>4.0%}"
    yield "  largest entries"
    for entry_id, index, role, tokens in largest(view):
        place = f"#{index} ({shown_id(entry_id)})"
        yield f"    {place:<24} {tokens:>10,}  {one_line(role, 30)}"


def _errors(view: TokensView) -> Iterator[str]:
    """One line a counter, then what the steps are and what they rest on."""
    learnt = view.calibration
    steps = len(learnt.predicted)
    counted = max(0, steps - WARM_UP_STEPS)
    yield f"how far off each counter is: {amount(counted, 'step')} counted, {min(steps, WARM_UP_STEPS)} to warm up"
    heads = f"{'predicted':>12} {'reported':>12} {'ratio':>6} {'median':>7} {'9 of 10':>8}   ratio by kind"
    yield f"  {'counter':<12} {heads}"
    for name, errors in view.errors.items():
        yield f"  {name:<12} {_error_row(errors)}"
    yield f"  calibrated: {sureness(view)}"
    for gap, count in learnt.walk.gaps.items():
        yield f"  not counted as steps: {count:,} {GAP_TEXTS[gap]}"


def _error_row(errors: CounterErrors) -> str:
    whole = errors.whole
    kinds = ", ".join(f"{kind} {_ratio(ratio)}" for kind, ratio in errors.bias.items() if ratio is not None)
    figures = f"{round(whole.predicted):>12,} {whole.reported:>12,} {_ratio(whole.ratio):>6}"
    return f"{figures} {_share(whole.median):>7} {_share(whole.p90):>8}   {kinds or '-'}"


def _ratio(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"


def sureness(view: TokensView) -> str:
    """How much the calibrated counter knows, in plain words."""
    learnt = view.calibration
    errors = view.errors[learnt.counter.name].whole
    rests = f"{amount(learnt.steps_of_model, 'step')} of this session's model on top of the figures for {learnt.priors}"
    if not learnt.steps_of_model:
        return f"no step of this model yet; it rests on the shipped figures for {learnt.priors!r} alone"
    if errors.median is None:
        return f"it rests on {rests}; too few steps to say how far off it is"
    return f"it rests on {rests}; half of the steps were less than {errors.median:.0%} off before they were learnt from"


def _chart(view: TokensView, width: int) -> Iterator[str]:
    """Reported and predicted context along the session, one column a stretch of steps."""
    steps = [predicted.step for predicted in view.calibration.predicted]
    if len(steps) < 2:
        return
    columns = min(width - LABEL_COLUMNS - 1, len(steps))
    series = {"reported": [step.context_tokens for step in steps]}
    series |= {name: view.errors[name].context for name in ("pi", "calibrated") if name in view.errors}
    top = max(max(values) for values in series.values())
    grid = [[" "] * columns for _ in range(CHART_ROWS)]
    for name, mark in CHART_MARKS.items():
        for column, value in enumerate(_sampled(series[name], columns)):
            row = CHART_ROWS - 1 - min(CHART_ROWS - 1, value * CHART_ROWS // max(1, top + 1))
            grid[row][column] = mark
    yield "context after each reply (tokens): ─ reported, c calibrated, p pi; predictions are summed up"
    for n, cells in enumerate(grid):
        label = f"{round(top * (CHART_ROWS - n) / CHART_ROWS):,}" if n % 3 == 0 else ""
        yield f"{label:>{LABEL_COLUMNS - 1}} ┤{''.join(cells)}".rstrip()
    yield f"{'0':>{LABEL_COLUMNS - 1}} └{'─' * columns}  {amount(len(steps), 'step')}"


def _sampled(values: Sequence[int], columns: int) -> list[int]:
    """The last value of each of so many equal stretches."""
    return [values[(n + 1) * len(values) // columns - 1] for n in range(columns)]
