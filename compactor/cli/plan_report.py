"""A plan as text for people: a few labelled rows, then the reasons and the warnings."""

from collections.abc import Iterator, Sequence

from compactor.engine import Planned
from compactor.entries import SessionWarning
from compactor.explain import Explanation
from compactor.plan import CompactionPlan, Skip
from compactor.projection import session_model

Row = tuple[str, str]
MAX_FILES = 6
"""Files named in the report; the rest is counted."""


def plan_rows(planned: Planned) -> Iterator[Row]:
    """Label and value of each row."""
    session, plan = planned.session, planned.plan
    model = session_model(planned.branch)
    yield "session", f"{session.path} (version {session.header.version}, {len(session.entries):,} entries)"
    if session.header.cwd:
        yield "project", session.header.cwd
    if model is not None:
        yield "model", f"{model.provider}/{model.model_id}"
    leaf = planned.branch.leaf
    if leaf is not None:
        yield "leaf", f"{leaf.id} (#{leaf.index}), {len(planned.branch.entries):,} entries on its branch"
    yield "context", _context(planned)
    yield "trigger", _trigger(planned)
    yield from [("plan", f"nothing: {plan.detail}")] if isinstance(plan, Skip) else _plan_rows(plan)


def _context(planned: Planned) -> str:
    context = planned.context
    if not context.usage_tokens:
        return f"about {context.tokens:,} tokens (estimated with {planned.counter.name})"
    if not context.trailing_tokens:
        return f"{context.tokens:,} tokens (reported by the provider)"
    rest = f"about {context.trailing_tokens:,} since (estimated with {planned.counter.name})"
    return f"about {context.tokens:,} tokens: {context.usage_tokens:,} reported by the provider, {rest}"


def _trigger(planned: Planned) -> str:
    settings = planned.settings
    threshold = settings.context_window - settings.reserve_tokens
    verdict = "compacts" if planned.triggers else "does not compact"
    verdict = verdict if settings.enabled else "compaction is switched off"
    window = f"{settings.context_window:,} window - {settings.reserve_tokens:,} reserve"
    return f"{verdict}: the threshold is {threshold:,} tokens ({window})"


def _plan_rows(plan: CompactionPlan) -> Iterator[Row]:
    summarized = f"{plan.history_messages:,} messages of history"
    if plan.prefix_messages:
        summarized += f" and {plan.prefix_messages:,} of the turn that is split"
    if plan.previous_summary is not None:
        summarized += "; the previous summary is updated"
    yield "summarize", summarized
    first = plan.first_kept
    yield "keep", f"{plan.kept_messages:,} messages, {plan.kept_tokens:,} tokens, from {first.id} (#{first.index}) on"
    for label, files in (("read", plan.files.read_files), ("modified", plan.files.modified_files)):
        if files:
            rest = f" and {len(files) - MAX_FILES:,} more" if len(files) > MAX_FILES else ""
            yield label, ", ".join(files[:MAX_FILES]) + rest


def plan_text(planned: Planned, explanation: Explanation, warnings: Sequence[SessionWarning]) -> str:
    """The whole report as plain text."""
    rows = list(plan_rows(planned))
    width = max(len(label) for label, _ in rows)
    lines = [f"{label:<{width}}  {' '.join(value.split())}" for label, value in rows]
    lines += ["", "why", *(f"  - {reason.text}" for reason in explanation.reasons)]
    told = [*warnings, *planned.warnings, *explanation.warnings]
    if told:
        lines += ["", "warnings", *(f"  ! {w.message} [{w.code}]" for w in told)]
    return "\n".join(lines)
