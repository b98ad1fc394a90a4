"""The client without a model: a summary made of the history's own words.

Takes a request's messages and previous summary, never the text of its prompt; answers with the sections that a model is
asked for. The same request gives the same bytes. It understands nothing: it finds sentences by their words and results
by what tools reported, quotes them and says where they stand. What is worded in an unusual way it can miss.
"""

from compactor.findings import (
    add_branch,
    digest,
    frames_for,
    name_open_request,
    part_summaries,
    with_previous,
    without_repeats,
    written,
)
from compactor.js_text import utf16_len
from compactor.language import conversation_language
from compactor.messages import Message
from compactor.model import ModelRequest, ModelResponse, Observer

DEFAULT_TOKEN_BUDGET = 2000
"""About a tenth of the 20,000 tokens that stay after a compaction by default."""

CHARS_PER_TOKEN = 4
"""Pi's estimate; UTF-16 units."""

SOURCE_SHARE = 0.6
"""A summary takes at most this part of what it stands for, because one that saves nothing is refused."""

LEAST_TOKENS = 130
"""The headings alone take about 50."""

LEAST_BRANCH_TOKENS = 500
"""The summary of a branch stands for nothing that is in the context, so a short branch can be told whole."""


class ExtractiveClient:
    """Summarizes by quoting; needs no model, no key and no network."""

    name = "extractive"
    model = None

    def __init__(self, *, token_budget: int = DEFAULT_TOKEN_BUDGET) -> None:
        self.token_budget = token_budget

    def complete(self, request: ModelRequest, observe: Observer) -> ModelResponse:
        """The summary of the request's messages; nothing is reported to `observe`, for it takes no time."""
        text = extract(request, token_budget=self.token_budget)
        return ModelResponse(text=text, stop_reason="stop", usage=None, provider="compactor", model="extractive")


def extract(request: ModelRequest, *, token_budget: int = DEFAULT_TOKEN_BUDGET) -> str:
    """The summary that a request asks for.

    Args:
        request: what to summarize; `messages`, `entry_ids`, `previous_summary`, `focus`, `kind` and the limit count.
        token_budget: most tokens of the summary, at 4 UTF-16 units a token.
    """
    previous = request.previous_summary or ""
    tokens = min(int(token_budget * request.budget_share), request.max_output_tokens)
    chars = CHARS_PER_TOKEN * tokens
    source = SOURCE_SHARE * _source_chars(request.messages, enough=int(chars / SOURCE_SHARE)) + utf16_len(previous)
    least = LEAST_BRANCH_TOKENS if request.kind == "branch" else LEAST_TOKENS
    chars = min(chars, max(CHARS_PER_TOKEN * least, int(source)))
    spoken = [m.text() for m in request.messages if m.role == "user"] or [previous]
    frames = frames_for(conversation_language(spoken))
    found = digest(request.messages, request.entry_ids, frames, room=chars, kind=request.kind, focus=request.focus)
    summaries = [m.summary for m in request.messages if m.role == "compactionSummary" and m.summary]
    if previous:
        summaries = [*(part_summaries(previous) if request.kind == "merge" else [previous]), *summaries]
    sections = with_previous(summaries, found, frames)
    if request.open_request is not None and request.open_request.text().strip():
        name_open_request(sections, request.open_request.text(), frames)
    for n, message in enumerate(request.messages):
        if message.role == "branchSummary" and message.summary:
            entry_id = request.entry_ids[n] if n < len(request.entry_ids) else ""
            add_branch(sections, message.summary, entry_id, frames)
    return written(without_repeats(sections), request.kind, chars, frames)


def _source_chars(messages: tuple[Message, ...], enough: int) -> int:
    """Roughly the size of the messages in characters; counting stops when there are enough."""
    total = 0
    for message in messages:
        for block in message.blocks:
            total += len(block.text or "") + len(block.thinking or "")
            total += len(str(block.arguments)) if block.arguments is not None else 0
        total += len(message.output or "") + len(message.summary or "")
        if total >= enough:
            break
    return total
