"""A session's tree as text: one line an entry, side branches drawn with lines, runs of plain entries folded."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from compactor.cli.columns import (
    MIN_TEXT,
    labelled,
    leaf_text,
    screen_width,
    session_text,
    short_id,
    warning_lines,
)
from compactor.cli.terminal import one_line
from compactor.js_text import json_text
from compactor.views.chains import Chain
from compactor.views.entry_state import STATES, State
from compactor.views.tree import Node, Tree, tokens_by_state
from compactor.wording import amount, listed

STATE_WORDS: dict[State, str] = {
    "in_context": "in the context: the next request holds it",
    "edited": "in the context with other content, by a context edit",
    "edited_out": "edited out: a context edit took it from the context",
    "compacted_away": "compacted away: the summary of the compaction named stands for it",
    "abandoned_branch": "not on the branch that ends in the leaf",
    "never_sent": "never sent: bookkeeping, or nothing that a model may see",
}
WHY_WORDS = {"orphan_result": "no call before it", "private": "excluded by the user"}

FOLDED_AT_LEAST = 3
"""A shorter run of plain entries is shown entry by entry."""

SMALL = 30
"""A session of so few entries is shown entry by entry."""

MAX_KINDS = 4
"""A folded run names its most frequent kinds of entries."""

KIND_WIDTH = 14
"""As wide as Pi's longer names of roles and types."""

SHOWN_TYPES = frozenset({"compaction", "branch_summary", "model_change", "session_info"})
"""Entry types that are never folded; context_edits are folded only with each other."""


Fate = tuple[State, int | None]
"""A state, and the index of the compaction that led to it."""

NO_FATE: Fate = ("never_sent", None)


MARKS: dict[State, str] = dict(zip(STATES, "●◐×○┄·", strict=True))
FORK, LAST_FORK, LINE = "├─ ", "└─ ", "│  "


@dataclass(slots=True)
class _Report:
    """What lines are made from."""

    tree: Tree
    width: int
    show_all: bool
    whole_texts: bool
    sides: dict[int, list[Chain]] = field(default_factory=dict)
    """Index of a fork -> the chains that start there."""
    notable: set[int] = field(default_factory=set)
    """Entries that are shown although their type may be plain: ends of chains, forks, the leaf, the first kept."""
    notes: dict[int, str] = field(default_factory=dict)
    """Index -> what is to be said before an entry's text."""


def tree_text(tree: Tree, *, show_all: bool, whole_texts: bool) -> str:
    """The whole report."""
    show_all = show_all or len(tree.nodes) <= SMALL
    report = _Report(tree=tree, width=screen_width(), show_all=show_all, whole_texts=whole_texts)
    for chain in tree.chains:
        report.notable.update((chain.entries[0], chain.entries[-1]))
        if chain.forked_at is not None:
            report.sides.setdefault(chain.forked_at, []).append(chain)
    report.notable.update(report.sides)
    _add_notes(report)
    lines = [*_heading(tree), "", *_tree_lines(report)]
    if not tree.nodes:
        lines.append("the session has no entries")
    lines += ["", *_legend(report)]
    return "\n".join([*lines, *warning_lines([*tree.session.warnings, *tree.measured.warnings])])


def _heading(tree: Tree) -> list[str]:
    session = tree.session
    rows = [("session", session_text(session))]
    rows += [("project", session.header.cwd)] if session.header.cwd else []
    rows += [("leaf", leaf_text(tree.measured.projection.branch))] if tree.leaf is not None else []
    labels, summaries = sum(node.label is not None for node in tree.nodes), len(tree.branch_summaries)
    parts = [amount(len(tree.chains), "branch", "branches")]
    parts += [amount(len(tree.compactions), "compaction")] if tree.compactions else []
    parts += [amount(summaries, "branch summary", "branch summaries")] if summaries else []
    parts += [amount(labels, "label")] if labels else []
    return labelled([*rows, ("holds", listed(parts))])


def _add_notes(report: _Report) -> None:
    """What compactions, summaries, edits and the leaf need said of them."""
    tree, notes = report.tree, report.notes
    for made in tree.compactions:
        before = "" if made.tokens_before is None else f"{_number(made.tokens_before)} tokens before, "
        kept = "nothing kept" if made.first_kept is None else f"kept from #{made.first_kept}"
        notes[made.entry.index] = f"({before}{kept}) "
        if made.first_kept is not None and tree.nodes[made.entry.index].state.state == "in_context":
            report.notable.add(made.first_kept)
            notes[made.first_kept] = f"[first kept by #{made.entry.index}] "
    for summary in tree.branch_summaries:
        known = short_id(summary.from_id) if summary.from_id else "an unknown entry"
        left = known if summary.from_index is None else f"#{summary.from_index}"
        notes[summary.entry.index] = f"(of the branch left at {left}) "
    if tree.leaf is not None:
        index = tree.leaf.index
        report.notable.add(index)
        notes[index] = f"[leaf] {notes.get(index, '')}"


def _number(value: int | float) -> str:
    return f"{value:,}" if isinstance(value, int) else json_text(value)


def _tree_lines(report: _Report) -> Iterator[str]:
    """The lines of the tree; what waits to be drawn is on a list, so that no depth is too much."""
    waiting = [(chain, 0, "", "") for chain in reversed(report.tree.chains) if chain.forked_at is None]
    while waiting:
        chain, start, first_lead, lead = waiting.pop()
        end = next((n for n in range(start, len(chain.entries)) if chain.entries[n] in report.sides), None)
        shown = chain.entries[start : len(chain.entries) if end is None else end + 1]
        yield from _run_lines(report, shown, first_lead, lead)
        if end is None:
            continue
        goes_on = end + 1 < len(chain.entries)
        if goes_on:
            waiting.append((chain, end + 1, lead, lead))
        sides = report.sides[chain.entries[end]]
        for n, side in reversed(list(enumerate(sides))):
            is_last = not goes_on and n == len(sides) - 1
            rest = lead + (" " * len(LINE) if is_last else LINE)
            waiting.append((side, 0, lead + (LAST_FORK if is_last else FORK), rest))


def _run_lines(report: _Report, entries: Sequence[int], first_lead: str, lead: str) -> Iterator[str]:
    """Lines for entries without a fork between them."""
    run: list[Node] = []
    fate = NO_FATE
    for index in entries:
        node = report.tree.nodes[index]
        own = _fate(node)
        is_shown = _is_shown(report, node)
        if is_shown or (run and not _is_one_run(run[-1], node, fate)):
            yield from _folded(report, run, fate, lead)
            run, fate = [], NO_FATE
        if is_shown:
            yield _node_line(report, node, first_lead if index == entries[0] else lead)
        else:
            run.append(node)
            fate = fate if own == NO_FATE else own
    yield from _folded(report, run, fate, lead)


def _is_shown(report: _Report, node: Node) -> bool:
    """True for an entry that has a line of its own."""
    if report.show_all or node.label is not None or node.entry.index in report.notable:
        return True
    state = node.state
    return node.entry.type in SHOWN_TYPES or state.state in ("edited", "edited_out") or state.why in WHY_WORDS


def _is_one_run(last: Node, node: Node, fate: Fate) -> bool:
    """True if a plain entry can join a run: messages that share a fate, or edits; bookkeeping joins any messages."""
    if (node.entry.type == "context_edit") != (last.entry.type == "context_edit"):
        return False
    return _fate(node) == NO_FATE or fate in (NO_FATE, _fate(node))


def _fate(node: Node) -> Fate:
    """What became of a message, by state and by what did it; `NO_FATE` for bookkeeping."""
    return NO_FATE if node.state.state == "never_sent" else (node.state.state, node.state.by)


def _folded(report: _Report, run: Sequence[Node], fate: Fate, lead: str) -> Iterator[str]:
    """One line for a run of plain entries, or their own lines if they are few."""
    if len(run) < FOLDED_AT_LEAST:
        yield from (_node_line(report, node, lead) for node in run)
        return
    kinds = Counter(_kind(node) for node in run)
    named = kinds.most_common(MAX_KINDS)
    others = len(run) - sum(number for _, number in named)
    counts = ", ".join([*(f"{number:,} {kind}" for kind, number in named), *([f"{others:,} other"] if others else [])])
    state, by = fate
    tokens = sum(node.tokens or 0 for node in run)
    text = f"… {amount(len(run), 'entry', 'entries')}: {counts}"
    text += f"; {amount(tokens, 'token')}" if state != "never_sent" else ""
    text += "" if by is None else f", compacted away by #{by}"
    yield f"{lead}{MARKS[state]} {text}"


def _kind(node: Node) -> str:
    """The role of a message, else the entry's type, short enough for its column."""
    kind = node.entry.role or node.entry.type
    return one_line("thinking_level" if kind == "thinking_level_change" else kind, KIND_WIDTH)


def _node_line(report: _Report, node: Node, lead: str) -> str:
    entry, state = node.entry, node.state
    tokens = "" if node.tokens is None else f"{node.tokens:,}"
    index_width = len(str(len(report.tree.nodes)))
    mark = MARKS[state.state]
    place = f"{'#' + str(entry.index):<{index_width + 1}} {short_id(entry.id):<8}"
    left = f"{lead}{mark} {place} {_kind(node):<{KIND_WIDTH}} {tokens:>8}  "
    note = report.notes.get(entry.index, "")
    note += f"(#{node.target}) " if node.target is not None else ""
    note += f"[label {node.label}] " if node.label is not None else ""
    note += f"[{node.stop_reason}] " if node.stop_reason in ("error", "aborted", "length") else ""
    note += f"[by #{state.by}] " if state.by is not None else ""
    note += f"[{WHY_WORDS[state.why]}] " if state.why in WHY_WORDS else ""
    width = 0 if report.whole_texts else max(MIN_TEXT, report.width - len(left))
    return (left + one_line(note + node.text, width)).rstrip()


def _legend(report: _Report) -> Iterator[str]:
    """The states that occur, with how many entries and tokens each has."""
    nodes = report.tree.nodes
    found = Counter(node.state.state for node in nodes)
    for state, tokens in tokens_by_state(report.tree):
        if found[state]:
            sizes = f"{amount(found[state], 'entry', 'entries'):>13} {amount(tokens, 'token'):>17}"
            yield f"{MARKS[state]} {sizes}  {STATE_WORDS[state]}"
