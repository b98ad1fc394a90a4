"""A context, or the difference of two, as text: one line a message, or all of it."""

from collections.abc import Iterator, Sequence

from compactor.cli.columns import (
    MIN_TEXT,
    labelled,
    leaf_text,
    screen_width,
    session_text,
    short_id,
    size_text,
    warning_lines,
)
from compactor.cli.terminal import one_line
from compactor.entries import SessionWarning
from compactor.views.context import FAILED, Context, ContextMessage, Part, by_role, first_words, note_of
from compactor.views.context_diff import ContextDiff, tokens_of
from compactor.views.entry_text import whole_text
from compactor.wording import amount

PART_WORDS: dict[Part, str] = {
    "summary": "summary of what was compacted away",
    "kept_tail": "kept tail, from before the compaction",
    "after_compaction": "after the compaction",
}

MAX_LISTED = 24
"""Messages listed of those removed or added; of more, the middle is counted."""


def context_text(context: Context, *, full: bool) -> str:
    """The whole report on one context."""
    rows = [("session", session_text(context.session))]
    rows += [("leaf", leaf_text(context.branch))] if context.branch.leaf is not None else []
    rows.append(("context", _size(context)))
    if context.system_parts > 1:
        sources = ", ".join(f"#{m.entry.index}" for m in context.messages if m.message.role == "system")
        whole = f"{context.system_parts} messages ({sources}) are replayed into one"
        rows.append(("system", f"{whole}: {amount(context.system_tokens, 'token')}"))
    lines = labelled(rows)
    part: Part | None = None
    for message in context.messages:
        if message.part != part or message.n == 1:
            part = message.part
            lines += [
                "",
                *([f"{PART_WORDS[part]}: {_sum([m for m in context.messages if m.part == part])}"] if part else []),
            ]
        lines += _message_lines(context, message, " ", full=full)
    if not context.messages:
        lines += ["", "nothing: no message is in this context"]
    lines += ["", *_totals(context), *_warnings(context.warnings)]
    return "\n".join(lines)


def _size(context: Context) -> str:
    """How many messages, and their size."""
    return f"{amount(len(context.messages), 'message')}, {size_text(context.size, context.counter)}"


def _sum(messages: Sequence[ContextMessage]) -> str:
    return f"{amount(len(messages), 'message')}, {amount(tokens_of(messages), 'token')}"


def _message_lines(context: Context, message: ContextMessage, sign: str, *, full: bool) -> Iterator[str]:
    """The line of a message, and with `full` its text below."""
    entry, role, seen = message.entry, message.message.role, message.seen
    index_width, n_width = len(str(len(context.session.entries))), len(str(len(context.messages)))
    place = f"{'#' + str(entry.index):<{index_width + 1}} {short_id(entry.id):<8}"
    shown_as = "not sent" if seen is None else "" if seen.role == role else f"as {seen.role}"
    left = f"{sign} {message.n:>{n_width}}  {place} {one_line(role, 17):<17} {shown_as:<8} {message.tokens:>8,}  "
    if not full:
        words = " ".join([*_tags(message), first_words(message)])
        yield (left + one_line(words, max(MIN_TEXT, screen_width() - len(left)))).rstrip()
        return
    note = note_of(message, context)
    yield (left + one_line(f"[{note}]" if note else "")).rstrip()
    text = whole_text(seen or message.message)
    yield from (f"      {line}".rstrip() for line in text.split("\n"))


def _tags(message: ContextMessage) -> Iterator[str]:
    """What `note_of` says, in a word or two."""
    if message.edit is not None:
        yield f"[edited by #{message.edit.index}]"
    if message.message.stop_reason in FAILED:
        yield f"[{message.message.stop_reason}]"
    elif message.unanswered:
        yield f"[{amount(len(message.unanswered), 'call')} without a result]"


def _totals(context: Context) -> Iterator[str]:
    """What each role costs, beside what the provider reported of all."""
    yield f"{'total':<17} {_columns(len(context.messages), context.tokens)}  (by {context.counter}, message by message)"
    if context.size.usage_tokens:
        reported = amount(context.size.usage_tokens, "token")
        yield f"{'reported':<17} {reported:>33}  (by the provider, with what it was sent beside the messages)"
    for role, sums in by_role(context.messages).items():
        yield f"{one_line(role, 17):<17} {_columns(sums['messages'], sums['tokens'])}"


def _columns(messages: int, tokens: int) -> str:
    return f"{amount(messages, 'message'):>15} {amount(tokens, 'token'):>17}"


def _warnings(warnings: Sequence[SessionWarning]) -> list[str]:
    return warning_lines({(w.code, w.message): w for w in warnings}.values())


def diff_text(diff: ContextDiff, *, full: bool) -> str:
    """The whole report on the way from one context to another."""
    lines = labelled(
        [
            ("session", session_text(diff.a.session)),
            ("a", leaf_text(diff.a.branch)),
            ("", _size(diff.a)),
            ("b", leaf_text(diff.b.branch)),
            ("", _size(diff.b)),
        ]
    )
    lines += _section(diff.a, "removed", "-", diff.removed, full=full)
    lines += _section(diff.b, "added", "+", diff.added, full=full)
    if diff.changed:
        lines += ["", f"changed: {amount(len(diff.changed), 'message')}"]
    for changed in diff.changed:
        lines += _message_lines(diff.a, changed.a, "-", full=full)
        lines += _message_lines(diff.b, changed.b, "+", full=full)
    lines += ["", f"same: {amount(diff.same, 'message')}"]
    return "\n".join([*lines, *_warnings([*diff.a.warnings, *diff.b.warnings])])


def _section(
    context: Context, title: str, sign: str, messages: Sequence[ContextMessage], *, full: bool
) -> Iterator[str]:
    """The messages that only one side holds; a long list is cut in the middle unless all is wanted."""
    if not messages:
        return
    yield from ("", f"{title}: {_sum(messages)}")
    hidden = messages[MAX_LISTED // 2 : -MAX_LISTED // 2] if len(messages) > MAX_LISTED and not full else ()
    shown = messages if not hidden else messages[: MAX_LISTED // 2]
    for message in shown:
        yield from _message_lines(context, message, sign, full=full)
    if hidden:
        yield f"{sign} … {_sum(hidden)} more; --full lists them all"
        for message in messages[-MAX_LISTED // 2 :]:
            yield from _message_lines(context, message, sign, full=full)
