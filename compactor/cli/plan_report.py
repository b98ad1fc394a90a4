"""A plan as text for people: a few labelled rows, then the reasons and the warnings."""

from collections.abc import Iterator, Sequence

from compactor.cli.columns import files_text, labelled, leaf_text, named, session_text, size_text, warning_lines
from compactor.cli.terminal import one_line
from compactor.counter_error import CounterError
from compactor.entries import SessionWarning
from compactor.explain import Explanation
from compactor.plan import CompactionPlan, Skip
from compactor.planned import Planned
from compactor.projection import session_model
from compactor.views.plan import told_warnings
from compactor.wording import amount

Row = tuple[str, str]


def plan_rows(planned: Planned, error: CounterError | None) -> Iterator[Row]:
    """Label and value of each row; `error` tells how far off the counter is, if that is known."""
    session, plan = planned.session, planned.plan
    model = session_model(planned.branch)
    yield "session", session_text(session)
    if session.header.cwd:
        yield "project", session.header.cwd
    if model is not None:
        yield "model", f"{model.provider}/{model.model_id}"
    if planned.branch.leaf is not None:
        yield "leaf", leaf_text(planned.branch)
    yield "context", size_text(planned.context, planned.counter.name)
    yield "trigger", _trigger(planned)
    yield from [("plan", f"nothing: {plan.detail}")] if isinstance(plan, Skip) else _plan_rows(planned, plan)
    yield "counter", _counter(planned, error)


def _trigger(planned: Planned) -> str:
    settings = planned.settings
    threshold = settings.context_window - settings.reserve_tokens
    verdict = "compacts" if planned.triggers else "does not compact"
    verdict = verdict if settings.enabled else "compaction is switched off"
    window = f"{settings.context_window:,} window - {settings.reserve_tokens:,} reserve"
    return f"{verdict}: the threshold is {amount(threshold, 'token')} ({window})"


def _counter(planned: Planned, error: CounterError | None) -> str:
    """What the counter makes of the context by itself, and how it does where sizes were reported to judge it by."""
    total = sum(measure.tokens for measure in planned.measured.measures)
    text = f"{planned.counter.name}: about {amount(total, 'token')} in the messages of the context"
    if error is None:
        return text
    half = "" if error.median is None else f", half of the steps less than {error.median:.0%} off"
    return f"{text}; saw {error.ratio:.0%} of what the provider reported over {amount(error.steps, 'step')}{half}"


def _plan_rows(planned: Planned, plan: CompactionPlan) -> Iterator[Row]:
    summarized = f"{amount(plan.history_messages, 'message')} of history"
    if plan.prefix_messages:
        summarized += f" and {plan.prefix_messages:,} of the turn that is split"
    if plan.previous_summary is not None:
        summarized += "; the previous summary is updated"
    yield "summarize", summarized
    size = (
        f"{amount(plan.kept_messages, 'message')}, about {amount(plan.kept_tokens, 'token')} by {planned.counter.name}"
    )
    yield "keep", f"{size}, from {named(plan.first_kept)} on"
    for label, files in (("read", plan.files.read_files), ("modified", plan.files.modified_files)):
        if files:
            yield label, files_text(files)


def plan_text(planned: Planned, explanation: Explanation, warnings: Sequence[SessionWarning]) -> str:
    """The whole report as plain text."""
    lines = labelled(plan_rows(planned, explanation.counter_error))
    lines += ["", "why", *(f"  - {one_line(reason.text)}" for reason in explanation.reasons)]
    return "\n".join([*lines, *warning_lines(told_warnings(planned, explanation, warnings))])
