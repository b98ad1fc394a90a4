"""Compactions: whether what they kept is there, whether they freed anything, and what edits of the context break.

Takes what `compacted.py` found out about each; gives findings.
"""

from collections.abc import Iterator, Sequence

from compactor.diagnosis.compacted import Compaction, newest_compactions
from compactor.diagnosis.examined import Examined
from compactor.diagnosis.finding import Finding, finding
from compactor.wording import amount, shown_id

SMALL_GROWTH_TOKENS = 200
"""A context that grew by less lost nothing worth a warning."""

UNSEEN_TOKENS = 60_000
"""What the file need not show of a request: system prompt, tools, images that cost more than Pi's flat figure."""

MAX_UNDERCOUNT = 8
"""No provider counts more than this many times Pi's estimate, not even of Chinese."""


def compaction_findings(examined: Examined, found: Sequence[Compaction], call_of: dict[int, int]) -> Iterator[Finding]:
    """What is wrong with the compactions themselves, and with results that they parted from their calls."""
    for compaction in found:
        yield from _boundary(compaction, examined)
        if not compaction.summary.strip():
            yield _of(compaction, "empty_summary", "the compaction has no summary: what it replaced is gone")
        else:
            yield from _progress(compaction)
        yield from _tokens_before(compaction)
    yield from _cut_results(examined, found, call_of)


def _of(compaction: Compaction, code: str, text: str, *, is_small: bool = False) -> Finding:
    entry = compaction.entry
    return finding(code, text, line=entry.line, entry_id=entry.id, severity="note" if is_small else None)


def _boundary(compaction: Compaction, examined: Examined) -> Iterator[Finding]:
    """The first kept entry: where it is, and whether it starts in the middle of a pair."""
    wanted = compaction.body.first_kept_entry_id
    lost = "; the model sees nothing from before the compaction but its summary"
    if wanted is None:
        yield _of(compaction, "first_kept_missing", "the compaction does not say which entry it keeps first" + lost)
    elif compaction.place in _PLACES:
        text = f"the entry that the compaction keeps first ({shown_id(wanted)}) {_PLACES[compaction.place]}"
        yield _of(compaction, "first_kept_missing", text + lost)
    if compaction.parted and compaction.first_kept is not None:
        first = examined.entries[compaction.first_kept]
        what = "is a tool result" if first.role == "toolResult" else f"is {shown_id(first.id)}"
        text = f"the calls of {amount(compaction.parted, 'kept tool result')} are not kept"
        yield _of(
            compaction,
            "kept_result_without_call",
            f"{text}: the first kept entry {what} on line {first.line}; providers refuse such a context",
        )


_PLACES = {
    "missing": "is not in the file",
    "elsewhere": "is on another branch",
    "later": "stands after the compaction",
}


def _progress(compaction: Compaction) -> Iterator[Finding]:
    """Whether the context became smaller."""
    growth = compaction.after_tokens - compaction.before_tokens
    is_small = growth < SMALL_GROWTH_TOKENS
    summary = f"the summary of {amount(compaction.summary_tokens, 'token')}"
    if compaction.again_tokens:
        again = amount(compaction.again_tokens, "token")
        text = f"it keeps {again} of messages that the compaction before it had replaced, so they count twice"
        yield _of(compaction, "kept_again", text, is_small=compaction.again_tokens < SMALL_GROWTH_TOKENS)
    elif not compaction.replaced_tokens and growth >= 0:
        text = f"the compaction replaced no message, so {summary} made the context no smaller"
        yield _of(compaction, "no_progress", text, is_small=is_small)
    elif growth >= 0:
        replaced = amount(compaction.replaced_tokens, "token")
        text = f"{summary} is no smaller than the {replaced} that it replaced; the context grew by {growth:,}"
        yield _of(compaction, "summary_bigger", text, is_small=is_small)
    elif compaction.previous is not None and not compaction.talk_since:
        line = compaction.previous.entry.line
        yield _of(compaction, "compacted_twice", f"no message stands between this compaction and that on line {line}")


def _tokens_before(compaction: Compaction) -> Iterator[Finding]:
    """The recorded size of the context, against what the branch holds."""
    recorded = compaction.body.tokens_before
    estimate = compaction.before_tokens + compaction.system_tokens
    if recorded is None:
        yield _of(compaction, "tokens_before_implausible", "tokensBefore is missing or no number", is_small=True)
        return
    likely = max(estimate, compaction.reported_tokens)
    least = min(estimate, compaction.reported_tokens or estimate)
    if recorded <= 0 or recorded != recorded:
        text = f"tokensBefore is {recorded:,}, which no context has"
    elif recorded > MAX_UNDERCOUNT * likely + UNSEEN_TOKENS:
        text = f"tokensBefore is {recorded:,}, yet the messages before make about {amount(estimate, 'token')}"
    elif recorded * MAX_UNDERCOUNT < least - UNSEEN_TOKENS:
        text = f"tokensBefore is only {recorded:,}, yet the messages before make about {amount(estimate, 'token')}"
    else:
        return
    yield _of(compaction, "tokens_before_implausible", text)


def _cut_results(examined: Examined, found: Sequence[Compaction], call_of: dict[int, int]) -> Iterator[Finding]:
    """Results after a compaction whose call it replaced."""
    if not found:
        return
    newest = newest_compactions(examined, found)
    depth = examined.tree.depth
    for result, call in call_of.items():
        compaction = newest[result]
        is_cut = compaction is not None and depth[call] < compaction.first_depth
        if compaction is not None and is_cut:
            entry = examined.entries[result]
            text = f"the compaction on line {compaction.entry.line} replaced the call that this result answers"
            yield finding("result_cut_from_call", text + "; providers refuse it", line=entry.line, entry_id=entry.id)
