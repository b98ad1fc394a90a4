"""What Codex reports of tokens, told apart into requests: `token_count` events in, the usage of one request out.

An event holds the cumulative counts of the thread and those of its last request. It is written again without a new
request (at the start of a turn, after a compaction), after a fork it goes on from the counts of the parent, and after
a reset it starts again. What a request added is therefore the growth of the cumulative counts; where the last request
accounts for less, the rest is given beside it, so that all that is given adds up to the last cumulative counts. Counts
that grew by less than the request went on from older ones: the request counts. In newer files (0.15x) a
`token_usage_record` row tells the usage of every response, those of compactions among them, which events leave out; an
event that repeats a record adds nothing, whatever its counts go on from.

Cached input, and input that was written to the cache, are parts of the input; reasoning is a part of the output (Codex
protocol.rs TokenUsage).
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from compactor.js_text import MAX_SAFE_INTEGER


class Counts(msgspec.Struct, frozen=True, gc=False):
    """Token counts of one request, or of all requests so far."""

    input: int = 0
    """With what came from the cache and what was written to it."""
    cached: int = 0
    written: int = 0
    output: int = 0
    """With the reasoning."""
    reasoning: int = 0
    total: int = 0

    @property
    def is_empty(self) -> bool:
        """True if nothing was sent or answered; an estimate of the context has a total all the same."""
        return not (self.input or self.output)

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(
            self.input - other.input,
            self.cached - other.cached,
            self.written - other.written,
            self.output - other.output,
            self.reasoning - other.reasoning,
            self.total - other.total,
        )

    def beyond(self, request: "Counts") -> "Counts":
        """What these counts hold beyond a request; nothing if they hold less than it."""
        if self.falls_below(request):
            return Counts()
        rest = self - request
        cached = min(max(rest.cached, 0), rest.input)
        written = min(max(rest.written, 0), rest.input - cached)
        return Counts(rest.input, cached, written, rest.output, max(rest.reasoning, 0), rest.total)

    def falls_below(self, other: "Counts") -> bool:
        """True if any of the counts is smaller, as those of one thread never become."""
        return self.input < other.input or self.output < other.output or self.total < other.total

    def repeats(self, other: "Counts | None") -> bool:
        """True if these are the other's counts, told in less or more detail."""
        return other is not None and (self.input, self.output, self.total) == (other.input, other.output, other.total)

    def usage(self) -> dict[str, Any]:
        """The counts as Pi's usage: input without the cached parts, no cost."""
        usage: dict[str, Any] = {
            "input": self.input - self.cached - self.written,
            "output": self.output,
            "cacheRead": self.cached,
            "cacheWrite": self.written,
            "totalTokens": self.total,
            "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0, "totalFromProvider": False},
        }
        return usage | ({"reasoning": self.reasoning} if self.reasoning else {})


def counts_of(value: Any) -> Counts | None:
    """The counts that an object holds, None if it holds none."""
    if not isinstance(value, dict):
        return None
    sent = _figure(value, "input_tokens", "prompt")
    answered = _figure(value, "output_tokens", "completion")
    total = _figure(value, "total_tokens")
    if sent is None and answered is None and total is None:
        return None
    sent, answered = sent or 0, answered or 0
    cached = min(_figure(value, "cached_input_tokens") or 0, sent)
    return Counts(
        input=sent,
        cached=cached,
        written=min(_figure(value, "cache_write_input_tokens") or 0, sent - cached),
        output=answered,
        reasoning=_figure(value, "reasoning_output_tokens") or 0,
        total=sent + answered if total is None else total,
    )


def _figure(value: dict[str, Any], *names: str) -> int | None:
    """The first of these fields that holds a number of tokens."""
    for name in names:
        found = value.get(name)
        if type(found) is int and 0 <= found <= MAX_SAFE_INTEGER:
            return found
    return None


class Report(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What one event adds."""

    request: Counts | None = None
    """The last request; its total is the size of the context after it."""
    rest: Counts | None = None
    """What the cumulative counts grew by beyond that request."""
    estimate: int = 0
    """Size of the context as Codex estimated it, without a request; 0 if it did not."""


@dataclass(slots=True)
class Reports:
    """The reports of one thread, in the order of the file."""

    cumulative: Counts = field(default_factory=Counts)
    context_tokens: int = 0
    """Size of the context by the newest event, an estimate right after a compaction; 0 before the first."""
    has_requests: bool = False
    """True once an event told a single request apart."""
    _recorded: Counts | None = None
    """The request of the newest record, until an event repeats it."""
    _announced: Counts | None = None
    """The request of the newest event, until a record repeats it."""
    _responses: set[str] = field(default_factory=set)
    """Ids of the responses that were recorded."""

    def take_record(self, record: dict[str, Any]) -> Report:
        """What a `token_usage_record` adds; empty if its response was recorded or reported before."""
        used = counts_of(record.get("usage"))
        response = record.get("response_id")
        if used is None or used.is_empty or (isinstance(response, str) and response in self._responses):
            return Report()
        if isinstance(response, str):
            self._responses.add(response)
        announced, self._announced = self._announced, None
        if used.repeats(announced):
            return Report()
        self._recorded, self.has_requests = used, True
        return Report(request=used)

    def take(self, info: Any) -> Report:
        """What the `info` of an event adds; empty if it repeats what was known or holds nothing."""
        if not isinstance(info, dict):
            return Report()
        total = counts_of(info.get("total_token_usage"))
        last = counts_of(info.get("last_token_usage"))
        if total is None and last is None:
            last = counts_of(info)
        estimate = 0
        if last is not None:
            self.context_tokens = last.total or self.context_tokens
            estimate, last = (last.total, None) if last.is_empty else (0, last)
        self.has_requests = self.has_requests or last is not None
        if last is not None and last.repeats(self._recorded):
            self._recorded, self.cumulative = None, total or self.cumulative
            return Report()
        if total is None:
            self._announced = last
            return Report(request=last)
        if total == self.cumulative or total.is_empty:
            return Report(estimate=estimate)
        spent = self._growth(total, last)
        self.cumulative = total
        rest = spent.beyond(last or Counts())
        self._announced = last
        return Report(request=last, rest=None if rest == Counts() else rest)

    def _growth(self, total: Counts, last: Counts | None) -> Counts:
        """What was used since the event before; counts that fall, or are those of one request, started again."""
        if total == last or total.falls_below(self.cumulative):
            return last or total
        return total - self.cumulative
