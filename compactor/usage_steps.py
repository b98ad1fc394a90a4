"""A session as steps between reported context sizes, the only exact token figures that a session holds.

Takes entries of a branch in order; gives one `Step` for each reply with usable usage that follows another without a
compaction, an edit or a change of model between them. What a provider reports is the context after a reply: all that it
read plus what it wrote. So the growth from one reply to the next is what was sent between them plus the new reply, and
both parts are known by themselves: what was read now, less all that was there before, was sent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from compactor.entries import Entry
from compactor.message_measure import context_size, usable_usage
from compactor.messages import Message, Usage
from compactor.projection import RESETTING_TYPES, ModelRef, entry_messages

Gap = Literal["reset", "model_switch", "fall"]
"""Why the growth up to a reply says nothing: a compaction or edit between, another model, a context that shrank."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """What was added to the context between two replies, and what the provider said it took."""

    model: ModelRef
    before: Message
    """The reply that the growth is counted from."""
    before_entry: int
    """Index of its entry."""
    entries: tuple[int, ...]
    """Index of the entry of each message."""
    messages: tuple[Message, ...]
    """What was sent, and at the end the reply."""
    sent_tokens: int
    """Reported: what was read beyond the context that was there before; negative where the provider dropped more."""
    written_tokens: int
    """Reported: the reply, hidden reasoning included."""
    context_tokens: int
    """Reported: the context after the reply."""

    @property
    def growth_tokens(self) -> int:
        """Growth of the reported context."""
        return self.sent_tokens + self.written_tokens

    @property
    def reply(self) -> Message:
        """The reply that the step ends with."""
        return self.messages[-1]


@dataclass(slots=True)
class Walk:
    """The walk over a branch; `steps` fills as it goes."""

    steps: list[Step] = field(default_factory=list)
    gaps: dict[Gap, int] = field(default_factory=dict)
    """How many replies with usage made no step, by reason."""
    replies: int = 0
    """Replies with usable usage."""


def usage_steps(entries: Sequence[Entry]) -> Walk:
    """All steps of a branch, and what made none."""
    walk = Walk()
    for _ in walked(entries, walk):
        pass
    return walk


def walked(entries: Sequence[Entry], walk: Walk) -> Iterator[Step]:
    """The steps one by one, each as soon as it is known; `walk` is told all else.

    A failed or aborted reply is not sent again, and counts for nothing.
    """
    before: Message | None = None
    before_entry = -1
    indexes: list[int] = []
    messages: list[Message] = []
    gap: Gap | None = None
    for entry in entries:
        if entry.type in RESETTING_TYPES:
            before, gap = None, "reset"
        if entry.type not in _SPEAKING_TYPES:
            continue
        for message in entry_messages(entry, entry.body, exact=False):
            is_usable = bool(usable_usage(message))
            if message.role == "assistant" and message.stop_reason in ("aborted", "error"):
                continue
            indexes.append(entry.index)
            messages.append(message)
            if not is_usable:
                continue
            walk.replies += 1
            step = None if before is None else _step(before, before_entry, indexes, messages)
            found = gap if step is None else _gap(step)
            if found is not None:
                walk.gaps[found] = walk.gaps.get(found, 0) + 1
            elif step is not None:
                walk.steps.append(step)
                yield step
            before, before_entry, gap = message, entry.index, None
            indexes, messages = [], []


_SPEAKING_TYPES = frozenset({"message", "custom_message", "branch_summary"})


def _step(before: Message, before_entry: int, indexes: Sequence[int], messages: Sequence[Message]) -> Step:
    reply = messages[-1]
    old, new = before.usage or Usage(), reply.usage or Usage()
    written = written_tokens(new)
    after = context_size(new)
    return Step(
        model=ModelRef(reply.provider, reply.model),
        before=before,
        before_entry=before_entry,
        entries=tuple(indexes),
        messages=tuple(messages),
        sent_tokens=after - written - context_size(old),
        written_tokens=written,
        context_tokens=after,
    )


def written_tokens(usage: Usage) -> int:
    """What the reply took, 0 for an impossible figure."""
    return int(usage.output) if 0 < usage.output <= context_size(usage) else 0


def _gap(step: Step) -> Gap | None:
    if (step.before.provider, step.before.model) != (step.reply.provider, step.reply.model):
        return "model_switch"
    return "fall" if step.growth_tokens <= 0 else None
