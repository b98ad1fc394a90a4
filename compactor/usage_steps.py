"""A session as steps between reported context sizes, the only exact token figures that a session holds.

Takes entries of a branch in order; gives one `Step` for each reply with usable usage that follows another without a
compaction, an edit or a change of model between them. What a provider reports is the context after a reply: all that it
read plus what it wrote. So the growth from one reply to the next is what was sent between them plus the new reply, and
both parts are known by themselves: what was read now, less all that was there before, was sent.
"""

import re
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
    before_signature_chars: int
    entries: tuple[int, ...]
    """Index of the entry of each message."""
    messages: tuple[Message, ...]
    """What was sent, and at the end the reply."""
    reply_signature_chars: int
    """Length of the signatures of the reply's thinking, which grows with what was thought."""
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

    A failed or aborted reply is not sent again, and counts for nothing. A step over which the context shrank is given
    too, for it shows what was dropped; `walk.steps` does not have it.
    """
    before: _Reply | None = None
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
            reply = _Reply(message, entry.index, signature_chars(entry, message))
            step = None if before is None else _step(before, reply, indexes, messages)
            found = gap if step is None else _gap(step)
            if found is not None:
                walk.gaps[found] = walk.gaps.get(found, 0) + 1
            elif step is not None:
                walk.steps.append(step)
            if step is not None and found != "model_switch":
                yield step
            before, gap = reply, None
            indexes, messages = [], []


_SPEAKING_TYPES = frozenset({"message", "custom_message", "branch_summary"})


@dataclass(frozen=True, slots=True)
class _Reply:
    """A reply with reported usage."""

    message: Message
    entry: int
    signature_chars: int


_SIGNATURE = re.compile(rb'"thinkingSignature"\s*:\s*"([^"\\]*(?:\\.[^"\\]*)*)"')


def signature_chars(entry: Entry, message: Message) -> int:
    """Bytes of the signatures of a reply's thinking, as they stand in the file; 0 without any."""
    if not any(block.type == "thinking" for block in message.blocks):
        return 0
    return sum(map(len, _SIGNATURE.findall(entry.raw)))


def _step(before: _Reply, reply: _Reply, indexes: Sequence[int], messages: Sequence[Message]) -> Step:
    message = reply.message
    old, new = before.message.usage or Usage(), message.usage or Usage()
    written = written_tokens(new)
    after = context_size(new)
    return Step(
        model=ModelRef(message.provider, message.model),
        before=before.message,
        before_entry=before.entry,
        before_signature_chars=before.signature_chars,
        entries=tuple(indexes),
        messages=tuple(messages),
        reply_signature_chars=reply.signature_chars,
        sent_tokens=after - written - context_size(old),
        written_tokens=written,
        context_tokens=after,
    )


def shares(step: Step, estimates: Sequence[float], cut: tuple[float, int] | None) -> dict[int, int]:
    """The reported sizes of a step's entries: the reply's own, and what was sent, divided as it was estimated.

    What was sent is known only as a sum; where the provider dropped more than was sent, it is not known at all. A reply
    whose own figure was cut off is in the sum that follows it.

    Args:
        step: the step.
        estimates: of what was sent, one a message.
        cut: estimate and reported figure of the reply before, if that figure was cut off.
    """
    *indexes, reply = step.entries
    known = {reply: step.written_tokens}
    parts, total = list(zip(indexes, estimates, strict=True)), step.sent_tokens
    if cut is not None:
        parts.insert(0, (step.before_entry, cut[0]))
        total += cut[1]
    whole = sum(estimate for _, estimate in parts)
    if total < 0 or whole <= 0:
        return known
    told, so_far = 0, 0.0
    found: dict[int, int] = {}
    for index, estimate in parts:
        so_far += estimate
        upto = round(total * so_far / whole)
        found[index] = found.get(index, 0) + upto - told
        told = upto
    return known | found


def written_tokens(usage: Usage) -> int:
    """What the reply took, 0 for an impossible figure."""
    return int(usage.output) if 0 < usage.output <= context_size(usage) else 0


def _gap(step: Step) -> Gap | None:
    if (step.before.provider, step.before.model) != (step.reply.provider, step.reply.model):
        return "model_switch"
    return "fall" if step.growth_tokens <= 0 else None


SMOOTHING_REPLIES = 5
"""So many replies of all kinds stand behind what is said of the replies that end with one tool."""


class CutOutputs:
    """Which replies have an output figure that was taken while they were still streaming.

    Claude Code stores the figure of the start of the stream where the call at the end of the reply was carried out at
    once, so it is told by the tool.
    """

    def __init__(self) -> None:
        self._seen: dict[str | None, int] = {}
        self._cut: dict[str | None, int] = {}
        self._figures: list[int] = []

    def expected(self, reply: Message) -> float | None:
        """What will be reported for a reply whose figure is likely cut off; None if it is likely whole."""
        if not self._figures:
            return None
        tool = _last_tool(reply)
        share = len(self._figures) / sum(self._seen.values())
        cut = self._cut.get(tool, 0) + SMOOTHING_REPLIES * share
        if 2 * cut <= self._seen.get(tool, 0) + SMOOTHING_REPLIES:
            return None
        return sum(self._figures) / len(self._figures)

    def add(self, reply: Message, written_tokens: int, *, is_cut: bool) -> None:
        """Takes in what was reported for a reply."""
        tool = _last_tool(reply)
        self._seen[tool] = self._seen.get(tool, 0) + 1
        if is_cut:
            self._cut[tool] = self._cut.get(tool, 0) + 1
            self._figures.append(written_tokens)


def _last_tool(reply: Message) -> str | None:
    calls = reply.tool_calls
    return calls[-1].name if calls else None
