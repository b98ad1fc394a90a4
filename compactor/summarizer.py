"""Makes a summary out of a plan: which requests are asked, and what is made of the replies.

`summarize` is a generator: it yields each `ModelRequest` and is sent the `ModelResponse`; it returns the finished
`SummaryText`. So nothing here reaches a model, and a test can play both sides. A split turn makes two requests, the
history's and the prefix's. A conversation that does not fit the summarizer's window is told in parts, each summarized
by itself, and the parts' summaries are merged; a text longer than a part is continued in the next with a mark at both
ends, so nothing is dropped unmarked. Source: Pi 1.6.0 compaction.js compact, usage-totals.js combineUsage.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field

from compactor.constraints import missing_constraints
from compactor.entries import SessionWarning
from compactor.file_ops import FileLists, file_blocks
from compactor.js_text import well_formed
from compactor.language import conversation_language
from compactor.messages import Message, Usage
from compactor.model import ModelRequest, ModelResponse
from compactor.requests import SummaryOptions, Tally, Told, ask, user_rules
from compactor.summary import (
    CONSTRAINTS,
    NO_PRIOR_HISTORY,
    SPLIT_TURN_LEAD,
    SectionSet,
    parse_summary,
    pinned,
    without_file_blocks,
)
from compactor.tags import neutralise

PREFIX_SHARE = 0.35
"""Of a summary's size, for the start of a split turn where there is a history beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummarySource:
    """What is summarized."""

    history: Sequence[Message]
    history_ids: Sequence[str] = ()
    """The entry id of each message."""
    prefix: Sequence[Message] = ()
    prefix_ids: Sequence[str] = ()
    previous_summary: str | None = None
    earlier: Sequence[Message] = ()
    """The user's messages that the previous summary stands for, to tell which of its constraints are the user's."""
    tail: Sequence[Message] = ()
    """The user's messages in the kept tail: their rules are listed with the others, so that all are in one place."""
    files: FileLists = field(default_factory=FileLists)
    whole: SectionSet = "history"
    """`history`, or `branch` for the summary of an abandoned branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryText:
    """The finished text, and what it took."""

    text: str
    usage: Usage | None
    requests: int
    pinned: tuple[str, ...] = ()
    """Constraints that the replies had lost."""
    warnings: tuple[SessionWarning, ...] = ()


def summarize(source: SummarySource, options: SummaryOptions) -> Generator[ModelRequest, ModelResponse, SummaryText]:
    """Asks for the summary of a source and puts it together.

    Raises:
        ReplyRejected: a reply can't become a summary.
        PromptError: the prompt can't be rendered.
        SettingsError: the summarizer's window is too small for any request.
    """
    tally = Tally()
    language = conversation_language([m.text() for m in (*source.history, *source.prefix) if m.role == "user"])
    text, prefix = NO_PRIOR_HISTORY, ""
    previous = source.previous_summary
    if previous is not None and not options.exact:
        previous = without_file_blocks(previous)
    if source.history or not source.prefix:
        told = Told(
            messages=source.history,
            ids=source.history_ids,
            whole=source.whole,
            language=language,
            previous=previous or None,
            open_request=next((m for m in source.prefix if m.role == "user"), None),
            budget_share=1 - PREFIX_SHARE if source.prefix else 1.0,
            rules=() if options.exact or not options.pins else tuple(c.text for c in user_rules(source.tail)),
        )
        text = yield from ask(told, options, tally)
        _note_sections(text, source.whole, options, tally)
    elif previous or (options.exact and previous is not None):
        text = previous
    if source.prefix:
        share = PREFIX_SHARE if source.history else 1.0
        told = Told(
            messages=source.prefix, ids=source.prefix_ids, whole="turn_prefix", language=language, budget_share=share
        )
        prefix = SPLIT_TURN_LEAD + (yield from ask(told, options, tally))
    lost = _lost_constraints(source, text, prefix, options)
    text = pinned(text, lost) + prefix + file_blocks(source.files)
    return SummaryText(
        text=text if options.exact else well_formed(text),
        usage=tally.usage,
        requests=tally.requests,
        pinned=tuple(lost),
        warnings=tuple(tally.warnings),
    )


def _note_sections(text: str, expected: SectionSet, options: SummaryOptions, tally: Tally) -> None:
    """Warns of sections that the reply lacks or has twice."""
    document = parse_summary(text, expected)
    for code, names in (("missing_sections", document.missing), ("doubled_sections", document.doubled)):
        if names and not options.exact:
            what = "has no section" if code == "missing_sections" else "has twice"
            tally.warnings.append(SessionWarning(code=code, message=f"the reply {what}: {', '.join(names)}"))


def _lost_constraints(source: SummarySource, text: str, prefix: str, options: SummaryOptions) -> list[str]:
    """Constraints of the user that the summary lost: those just summarized, and those that the previous one kept.

    One stated in a split turn or in the kept tail must stand among the constraints too, so that all are in one place.
    One that the user later lifted or changed is not brought back.
    """
    if options.exact or not options.pins:
        return []
    before, history = len(source.earlier), len(source.earlier) + len(source.history)
    stated = user_rules([*source.earlier, *source.history, *source.prefix, *source.tail])
    dropped = missing_constraints([c for c in stated if c.message < before], source.previous_summary or "")
    told = missing_constraints([c for c in stated if c.message < history and c not in dropped], text + prefix)
    section = parse_summary(text).body(CONSTRAINTS) or ""
    later = missing_constraints([c for c in stated if c.message >= history], section)
    return [neutralise(" ".join(c.text.split())) for c in (*told, *later)]
