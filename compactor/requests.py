"""The requests for one conversation: one if it fits the summarizer's window, else one a part and a merge.

Takes the messages of a conversation; yields each `ModelRequest`, is sent the `ModelResponse`, and returns the text of
the summary. A part holds as much as fits; the parts' summaries are merged in groups until one is left.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from compactor.constraints import Constraint, find_constraints
from compactor.entries import SessionWarning
from compactor.errors import ReplyRejected, SettingsError
from compactor.messages import Message, Usage
from compactor.model import ModelRequest, ModelResponse, RequestKind
from compactor.parts import part_blocks, size_tokens, split_texts
from compactor.prompt import SYSTEM_TEXT, PromptSet, PromptVariables, assemble
from compactor.summary import SectionSet, pi_reply_problem, reply_problem, without_file_blocks, without_thinking
from compactor.tags import neutralise
from compactor.transcript import SEPARATOR, paragraphs, transcript, with_missing_results
from compactor.usage import combined_usage

MIN_ROOM_TOKENS = 200
"""A window that leaves less for the conversation is refused rather than cut into crumbs."""

Steps = Generator[ModelRequest, ModelResponse, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryOptions:
    """How a summary is asked for."""

    prompts: PromptSet
    focus: str | None = None
    """Extra focus in the user's words."""
    max_output_tokens: int = 8192
    window_tokens: int | None = None
    """The summarizer's context window; None if it is not limited."""
    pins: bool = True
    """Add constraints of the user that a reply lost, word for word."""
    exact: bool = False
    """As Pi 1.6.0: no checks of a reply beyond Pi's, nothing neutralised, one request whatever its size."""


@dataclass(slots=True)
class Tally:
    """What the requests of one summary add up to."""

    usage: Usage | None = None
    requests: int = 0
    warnings: list[SessionWarning] = field(default_factory=list)

    def take(self, response: ModelResponse) -> None:
        self.requests += 1
        if response.usage is not None:
            self.usage = response.usage if self.usage is None else combined_usage(self.usage, response.usage)


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One conversation to be summarized, or a part of it."""

    messages: Sequence[Message]
    ids: Sequence[str]
    """The entry id of each message."""
    whole: SectionSet
    """What it is, hence which sections the reply should have."""
    language: str
    """What the user speaks."""
    previous: str | None = None
    """The previous summary."""
    rules: tuple[str, ...] = ()
    """Rules of the user from what is kept word for word, to be listed with the others."""
    open_request: Message | None = None
    """What opens the turn that is summarized apart."""
    budget_share: float = 1.0
    """The part of the whole summary's size that it may take."""
    step: Literal["part", "merge"] | None = None
    """Set where the conversation is told in parts."""
    part: int = 0
    part_count: int = 0

    @property
    def kind(self) -> RequestKind:
        """The kind of request that asks for it."""
        return self.step or self.whole


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """A request, and the instructions in it that a reply must not merely repeat."""

    request: ModelRequest
    task: str


def ask(told: Told, options: SummaryOptions, tally: Tally) -> Steps:
    """The summary of a conversation, in one request if it fits, else in parts."""
    # The transcript of a branch has no results at all; a client without a model still gets them with the messages.
    shown = [m for m in told.messages if m.role != "toolResult"] if told.whole == "branch" else told.messages
    if options.exact:
        return (yield from _answer(_request(told, transcript(shown), options), options, tally))
    listed = shown if told.whole == "branch" else list(with_missing_results(shown))
    texts = [neutralise(paragraph) for paragraph in paragraphs(listed)]
    asked = _request(told, SEPARATOR.join(texts), options)
    room = _room(asked, options)
    if room is None or size_tokens(SEPARATOR.join(texts)) <= room:
        return (yield from _answer(asked, options, tally))
    return (yield from _in_parts(told, split_texts(texts, room), options, tally))


def _in_parts(told: Told, parts: Sequence[str], options: SummaryOptions, tally: Tally) -> Steps:
    """The summaries of the parts, merged until one is left."""
    text = f"the conversation was larger than the summarizer's window and was summarized in {len(parts)} parts"
    tally.warnings.append(SessionWarning(code="summarized_in_parts", message=text))
    made: list[str] = []
    for n, part in enumerate(parts, 1):
        piece = replace(told, step="part", messages=(), ids=(), previous=None, part=n, part_count=len(parts))
        made.append((yield from _answer(_request(piece, part, options), options, tally)))
    while len(made) > 1:
        groups = _merge_groups(told, made, options)
        made = []
        last = told.previous if len(groups) == 1 else None
        for group in groups:
            if len(group) == 1:
                made += group
                continue
            merge = replace(told, step="merge", messages=(), ids=(), previous=last, part_count=len(group))
            made.append((yield from _answer(_request(merge, part_blocks(group), options), options, tally)))
    return made[0]


def _merge_groups(told: Told, made: Sequence[str], options: SummaryOptions) -> list[list[str]]:
    """The part summaries in groups that fit one request each, at least two in each.

    Raises:
        SettingsError: two of them do not fit the window.
    """
    probe = _request(replace(told, step="merge", messages=(), ids=()), "", options)
    room = _room(probe, options) or 0
    groups: list[list[str]] = [[]]
    for text in made:
        if groups[-1] and size_tokens(part_blocks([*groups[-1], text])) > room:
            groups.append([])
        groups[-1].append(text)
    if len(groups) >= len(made):
        raise SettingsError(
            f"the summarizer's window of {options.window_tokens} tokens can't hold two part summaries and a reply of "
            f"{options.max_output_tokens}; use a larger window or a smaller --max-output-tokens"
        )
    return groups


def _room(asked: _Asked, options: SummaryOptions) -> int | None:
    """Tokens that a conversation may have in such a request; None without a limit.

    Raises:
        SettingsError: nothing fits beside the instructions and the reply.
    """
    if options.window_tokens is None:
        return None
    around = asked.request.system + asked.request.instructions
    room = options.window_tokens - options.max_output_tokens - size_tokens(around)
    if room < MIN_ROOM_TOKENS:
        raise SettingsError(
            f"the summarizer's window of {options.window_tokens} tokens leaves {room} for the conversation after the "
            f"instructions and a reply of {options.max_output_tokens}; expected at least {MIN_ROOM_TOKENS}: use a "
            f"larger window or a smaller --max-output-tokens"
        )
    return room


def _request(told: Told, text: str, options: SummaryOptions) -> _Asked:
    """The request for a conversation's text."""
    previous = told.previous
    assembled = assemble(
        options.prompts,
        PromptVariables(
            kind=told.kind,
            conversation=text,
            previous_summary=previous if options.exact or previous is None else neutralise(previous),
            focus=options.focus,
            language=told.language,
            user_constraints=() if options.exact else (*told.rules, *(c.text for c in user_rules(told.messages))),
            part=told.part,
            part_count=told.part_count,
            whole=told.whole,
        ),
    )
    request = ModelRequest(
        kind=told.kind,
        system=SYSTEM_TEXT,
        context=assembled.context,
        instructions=assembled.instructions,
        max_output_tokens=options.max_output_tokens,
        messages=tuple(told.messages),
        entry_ids=tuple(told.ids),
        previous_summary=previous,
        rules=told.rules,
        open_request=told.open_request,
        budget_share=told.budget_share,
        focus=options.focus,
        input_tokens=size_tokens(assembled.context + assembled.instructions),
    )
    return _Asked(request=request, task=assembled.task)


def user_rules(messages: Sequence[Message]) -> list[Constraint]:
    """The rules of the user that hold: those that were not lifted or changed later."""
    return [c for c in find_constraints(messages) if c.changed_by is None]


_LABELS: dict[RequestKind, str] = {
    "history": "Summarization",
    "turn_prefix": "Turn prefix summarization",
    "branch": "Branch summarization",
    "part": "Part summarization",
    "merge": "Merging of part summaries",
}
"""How an error message starts; the first three as in Pi 1.6.0."""


def _answer(asked: _Asked, options: SummaryOptions, tally: Tally) -> Steps:
    """The text of the reply, if it may count.

    Raises:
        ReplyRejected: it may not.
    """
    response = yield asked.request
    tally.take(response)
    label = _LABELS[asked.request.kind]
    problem = pi_reply_problem(response, label) if options.exact else reply_problem(response, asked.task, label)
    if problem is not None:
        raise ReplyRejected(problem)
    return response.text if options.exact else without_file_blocks(without_thinking(response.text).strip())
