"""Plays the model's side of `summarize` in tests: replies in, requests and the finished text out."""

from collections.abc import Sequence
from dataclasses import dataclass

from compactor.messages import Usage
from compactor.model import ModelRequest, ModelResponse
from compactor.prompt_file import load_prompts
from compactor.requests import SummaryOptions
from compactor.summarizer import SummarySource, SummaryText, summarize

WHOLE_REPLY = """## Goal
Move crane 3.

## Constraints & Preferences
- (none)

## Progress
### Done
- [x] Found berth 14

### In Progress
- [ ] The move

### Blocked
- (none)

## Key Decisions
- **Berth 14**: it is free

## Next Steps
1. Move it

## Critical Context
- crane 3 weighs 40 t"""

PREFIX_REPLY = (
    "## Original Request\nMove it.\n\n## Progress So Far\n- looked\n\n## Context Needed to Continue\n- berth 14"
)


def options(**changes: object) -> SummaryOptions:
    """Options with the shipped default prompts."""
    return SummaryOptions(**{"prompts": load_prompts("default"), **changes})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What was asked, and what came of it."""

    requests: list[ModelRequest]
    summary: SummaryText


def play(source: SummarySource, replies: Sequence[str | ModelResponse] = (), **changes: object) -> Played:
    """Answers each request with the next reply; the last one, or a fitting one, repeats."""
    steps = summarize(source, options(**changes))
    asked: list[ModelRequest] = []
    try:
        request = next(steps)
        while True:
            asked.append(request)
            request = steps.send(reply_to(request, replies, len(asked) - 1))
    except StopIteration as done:
        return Played(requests=asked, summary=done.value)


def reply_to(request: ModelRequest, replies: Sequence[str | ModelResponse], at: int) -> ModelResponse:
    """The reply at a position; without replies a whole one of the right kind, with a little usage."""
    if not replies:
        is_prefix = "## Original Request" in request.instructions
        return ModelResponse(text=PREFIX_REPLY if is_prefix else WHOLE_REPLY, usage=Usage(input=10, output=5))
    reply = replies[min(at, len(replies) - 1)]
    return ModelResponse(text=reply) if isinstance(reply, str) else reply
