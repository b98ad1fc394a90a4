"""What was spent as text for people, made from the JSON object: small tables, then what they leave open."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from compactor.cli.columns import kind_of_session, short_id
from compactor.cli.terminal import one_line
from compactor.session_folders_file import SESSION_SUFFIX
from compactor.wording import amount, listed

Json = Mapping[str, Any]
Rows = Sequence[tuple[str, Json]]

MAX_LABEL = 40
"""Characters of a name in a table."""

MAX_COLUMNS = 110
"""Of a paragraph."""

MAX_ROWS = 20
"""Sessions or compactions in the report; the rest is counted."""

COUNTS = ("requests", "input", "output", "cacheRead", "cacheWrite", "total")
HEAD = ("requests", "input", "output", "cache read", "cache write", "total", "cost")
COMPACTION_HEAD = (
    "before",
    "after",
    "freed",
    "replies after",
    "not sent",
    "saved",
    "own cost",
    "1st uncached",
    "usual",
)

FIRST_UNCACHED = (
    "1st uncached is what the first reply after it sent and could not read from the cache; usual is the median of the "
    "other replies."
)

OF_WHICH = {
    "reasoning": "of the output tokens were hidden reasoning",
    "cacheWrite1h": "of the cache write tokens are kept for an hour",
}
"""The parts of parts, told where there are any."""

KINDS = {
    "assistant": "replies",
    "tool": "requests of tools",
    "compaction": "compactions",
    "branch_summary": "branch summaries",
}


def session_text(found: Json) -> str:
    """The report of one session."""
    session, stats = found["session"], found["stats"]
    counts = (("userMessages", "user message"), ("toolCalls", "tool call"), ("toolResults", "tool result"))
    said = [amount(stats[name], noun) for name, noun in counts]
    said.insert(1, amount(stats["assistantMessages"], "reply", "replies"))
    head = [
        f"session   {one_line(session['path'])} ({kind_of_session(session['format'], session['version'])})",
        *_since(found),
        f"messages  {listed(said)}, on all branches",
    ]
    return _page(head, _spending(found, []), _notes(found), _compactions(found), _warnings(found))


def folder_text(found: Json) -> str:
    """The report of a folder."""
    sessions = sorted(found["sessions"], key=lambda one: (-_worth(one["total"]), -one["total"]["total"]))
    below = os.path.join(found["folder"], "")
    rows = [(_below(one["session"]["path"], below), one["total"]) for one in sessions[:MAX_ROWS]]
    head = [f"folder    {one_line(found['folder'])} ({amount(len(sessions), 'session')})", *_since(found)]
    notes = [*_rest(len(sessions), "session"), *_copies(found["copies"]), *_notes(found)]
    return _page(head, _spending(found, rows), [*notes, *_trouble(found)], _savings(found))


def _below(path: str, folder: str) -> str:
    """The file's path in the folder, without the ending that all of them have: ids stand at its end."""
    return path.removeprefix(folder).removesuffix(SESSION_SUFFIX)


def _page(*parts: Iterable[str]) -> str:
    """The parts that have lines, an empty line between them."""
    return "\n\n".join(text for part in parts if (text := "\n".join(part)))


def _wrapped(text: str) -> list[str]:
    return wrap(text, MAX_COLUMNS, break_long_words=False, break_on_hyphens=False)


def _since(found: Json) -> Iterator[str]:
    if found["since"] is not None:
        yield f"since     {found['since']}"


def _spending(found: Json, sessions: Rows) -> list[str]:
    """The tables, in columns of the same widths."""
    models = [(row["model"] or "no model named", row) for row in found["byModel"]]
    kinds = [(_kind(row["kind"]), row) for row in found["byKind"]]
    parts = [("by session", sessions), ("by model", models), ("by kind", kinds)]
    lines: list[Sequence[str]] = [("", *HEAD)]
    for title, rows in parts:
        lines += [[title], *([f"  {_label(name)}", *_cells(row)] for name, row in rows)] if rows else []
    return _aligned([*lines, ["total", *_cells(found["total"])]])


def _kind(kind: str) -> str:
    return KINDS.get(kind, kind.removeprefix("usage:"))


def _label(name: str) -> str:
    """The end of a long name, which tells files apart, and models as well."""
    flat = one_line(name)
    return flat if len(flat) <= MAX_LABEL else "…" + flat[1 - MAX_LABEL :]


def _cells(row: Json) -> list[str]:
    return [*(_number(row[name]) for name in COUNTS), _cost(row)]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows in columns, the first to the left and the others to the right."""
    width = max(len(row) for row in rows)
    widths = [max((len(row[n]) for row in rows if n < len(row)), default=0) for n in range(width)]
    lines = []
    for row in rows:
        cells = [cell.rjust(widths[n]) if n else cell.ljust(widths[0]) for n, cell in enumerate(row)]
        lines.append("  ".join(cells).rstrip())
    return lines


def _number(number: float | None) -> str:
    return "unknown" if number is None else f"{number:,.0f}"


def _worth(row: Json) -> float:
    return float((row["knownCost"] or 0) + (row["estimatedCost"] or 0))


def _cost(row: Json) -> str:
    """The cost: as recorded, with `~` where a part is estimated and `+ ?` where a part is not known."""
    if row["cost"] is not None:
        return dollars(row["cost"])
    if row["knownCost"] is None and row["estimatedCost"] is None:
        return "unknown"
    sign = "" if row["estimatedCost"] is None else "~"
    return f"{sign}{dollars(_worth(row))}{' + ?' if row['unpricedRequests'] + row['unreportedReplies'] else ''}"


def dollars(amount_of: float) -> str:
    """An amount of US dollars with as many digits as matter: `$1,234.50`, `$0.0325`, `$0.00473`."""
    size = abs(amount_of)
    if size == 0:
        return "$0"
    for least, digits in ((1, 2), (0.1, 3), (0.01, 4), (0.001, 5), (0.0001, 6)):
        if size >= least:
            return f"{'-' if amount_of < 0 else ''}${size:,.{digits}f}"
    return "under $0.0001"


def _compactions(found: Json) -> Iterator[str]:
    """The compactions as a table, and how it was made."""
    effects = found["compactions"]
    if not effects:
        return
    yield from _aligned([("compactions", *COMPACTION_HEAD), *map(_compaction_cells, effects[:MAX_ROWS])])
    yield from _rest(len(effects), "compaction")
    yield from _wrapped(f"{found['compactionMethod']} {FIRST_UNCACHED}")
    if any(effect["tokensAfterSource"] == "estimated" for effect in effects[:MAX_ROWS]):
        yield "~ after: no reply that reports its size followed; a quarter of the characters is taken."


def _compaction_cells(effect: Json) -> list[str]:
    first = effect["firstRequest"]
    about = "~" if effect["tokensAfterSource"] == "estimated" else ""
    return [
        f"  #{effect['index']} {short_id(effect['entryId'])}",
        _number(effect["tokensBefore"]),
        about + _number(effect["tokensAfter"]),
        _number(effect["freedTokens"]),
        _number(effect["laterRequests"]),
        _number(effect["inputTokensNotSent"]),
        _estimate(effect["savedCost"]),
        "unknown" if effect["own"] is None else _cost(effect["own"]),
        "-" if first is None else _number(first["uncached"]),
        "-" if first is None or first["usualUncached"] is None else _number(first["usualUncached"]),
    ]


def _estimate(cost: float | None) -> str:
    if cost is None:
        return "unknown"
    return f"~{dollars(cost)}" if cost else dollars(cost)


def _rest(count: int, noun: str) -> Iterator[str]:
    if count > MAX_ROWS:
        yield f"and {amount(count - MAX_ROWS, f'more {noun}')}; --json has all"


def _copies(copies: Json) -> Iterator[str]:
    if copies["requests"]:
        count, tokens = amount(copies["requests"], "request"), _number(copies["total"])
        yield f"{count} of {tokens} tokens are in more than one file, as forks copy them; the totals count each once."


def _savings(found: Json) -> Iterator[str]:
    saved = found["compactions"]
    if not saved["count"]:
        return
    tokens, money = saved["inputTokensNotSent"], saved["savedCost"]
    parts = [
        "unknown tokens" if tokens is None else f"about {_number(tokens)} input tokens",
        "unknown cost" if money is None else f"about {dollars(money)}",
    ]
    yield f"{amount(saved['count'], 'compaction')}: {parts[0]} not sent, {parts[1]} saved"
    yield from _wrapped(found["compactionMethod"])


def _notes(found: Json) -> Iterator[str]:
    """What the figures lack."""
    total = found["total"]
    for name, text in OF_WHICH.items():
        if total[name]:
            yield f"{_number(total[name])} {text}"
    estimated = total["unknownCostRequests"] - total["unpricedRequests"]
    if estimated:
        yield f"~ cost: {amount(estimated, 'request')} without a recorded cost, at today's list prices."
    if total["unpricedRequests"]:
        yield f"? cost: {amount(total['unpricedRequests'], 'request')} without a recorded cost or a known list price."
    if total["unreportedReplies"]:
        replies = amount(total["unreportedReplies"], "reply", "replies")
        yield f"? cost: {replies} without a reported usage; no other figure has them."
    if found["entriesWithoutTime"]:
        yield f"{amount(found['entriesWithoutTime'], 'entry', 'entries')} left out: without a time that can be read."


def _trouble(found: Json) -> Iterator[str]:
    """What was wrong with the files of a folder, counted."""
    if found["warnings"]:
        yield f"{amount(len(found['warnings']), 'file')} skipped: no sessions that can be read."
    warned = sum(len(one["warnings"]) for one in found["sessions"])
    if warned:
        yield f"{amount(warned, 'warning')} in the files: look at the sessions one by one, or use --json."


def _warnings(found: Json) -> list[str]:
    told = [f"  ! {one_line(warning['message'])} [{warning['code']}]" for warning in found["warnings"]]
    return ["warnings", *told] if told else []
