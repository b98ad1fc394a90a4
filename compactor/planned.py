"""A session with its plan and all that led to it: what `plan` reports and `compact` carries out."""

from collections.abc import Iterator
from dataclasses import dataclass

from compactor.branch import Branch
from compactor.entries import Session, SessionWarning
from compactor.measure import Measured, measure
from compactor.messages import Message
from compactor.plan import CompactionPlan, Skip, plan_compaction
from compactor.projection import project
from compactor.settings import CompactionSettings
from compactor.tokens import ContextTokens, Counter, context_tokens, should_compact


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A session with everything that a decision needs."""

    session: Session
    branch: Branch
    measured: Measured
    context: ContextTokens
    settings: CompactionSettings
    triggers: bool
    """True when the context is over the threshold and compaction is enabled."""
    plan: CompactionPlan | Skip
    counter: Counter
    exact: bool

    @property
    def warnings(self) -> list[SessionWarning]:
        """What was wrong with the file and its entries."""
        return [*self.session.warnings, *self.measured.warnings]


def plain_messages(plan: CompactionPlan, span: range) -> Iterator[tuple[str, Message]]:
    """Entry id and message of context entries of a plan, one entry at a time, without system messages."""
    entries = plan.measured.projection.entries
    for n in span:
        for message in entries[n].messages():
            if message.role != "system":
                yield entries[n].entry.id, message


def plan_branch(
    session: Session, branch: Branch, counter: Counter, settings: CompactionSettings, *, exact: bool = False
) -> Planned:
    """The plan of a branch of the session, whether or not the trigger fires."""
    measured = measure(project(branch, exact=exact), counter, exact=exact)
    context = context_tokens(measured.projection, measured.measures, counter)
    plan = plan_compaction(measured, settings, context, exact=exact)
    triggers = should_compact(
        context.tokens,
        context_window=settings.context_window,
        reserve_tokens=settings.reserve_tokens,
        enabled=settings.enabled,
    )
    return Planned(
        session=session,
        branch=branch,
        measured=measured,
        context=context,
        settings=settings,
        triggers=triggers,
        plan=plan,
        counter=counter,
        exact=exact,
    )
