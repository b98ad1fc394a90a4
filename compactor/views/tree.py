"""The tree of a session: every entry with its state, the branches, the compactions and branch summaries, as JSON.

Takes a session and the measured projection of the branch that states refer to; gives a `Tree`, a list of entries and a
list of chains (`chains.py`), and its JSON.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from compactor.entries import Entry, Session
from compactor.measure import Measured
from compactor.message_measure import message_measure
from compactor.projection import entry_messages
from compactor.views.chains import Chain, chains
from compactor.views.entry_state import STATES, EntryState, State, entry_states, first_kept_position, positions
from compactor.views.entry_text import entry_text, head, text_field
from compactor.views.plan import leaf_json, session_json, warning_json


class Node(msgspec.Struct, frozen=True, gc=False):
    """One entry of the tree."""

    entry: Entry
    parent: int | None
    """Index of the parent after repair, None for a root."""
    state: EntryState
    tokens: int | None
    """Pi's estimate of what the entry says (an edited one with its new content); None if it is no message."""
    label: str | None
    text: str
    stop_reason: str | None
    """Of an assistant message."""
    target: int | None
    """Index of the entry that a label or context_edit names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """A compaction anywhere in the tree."""

    entry: Entry
    tokens_before: int | float | None
    first_kept_id: str | None
    first_kept: int | None
    """Index of the first entry that it kept; None if there is none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchSummary:
    """A summary of a branch that was left."""

    entry: Entry
    from_id: str | None
    from_index: int | None
    """Index of the old leaf, None if it is not in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A session as a tree, seen from one leaf."""

    session: Session
    measured: Measured
    nodes: list[Node]
    chains: list[Chain]
    """The chain of each root, then those that fork from them."""
    compactions: list[Compaction]
    branch_summaries: list[BranchSummary]

    @property
    def leaf(self) -> Entry | None:
        """The leaf that states refer to."""
        return self.measured.projection.branch.leaf


def session_tree(session: Session, measured: Measured, *, whole_texts: bool = False) -> Tree:
    """The tree of a session.

    Args:
        session: all entries.
        measured: of the projection of the branch that states refer to, made with Pi's estimate.
        whole_texts: keep all that entries say, not just first words.
    """
    states, targets = entry_states(session, measured), targets_of(session)
    labels = labels_of(session, targets)
    nodes: list[Node] = []
    for entry in session.entries:
        body, index = entry.body, entry.index
        messages = entry_messages(entry, body, exact=False)
        tokens = sum([message_measure(message).tokens for message in messages]) if messages else None
        text = entry_text(entry, body, whole=whole_texts)
        text = text if whole_texts else head(text)
        reason = messages[0].stop_reason if messages else None
        label, target = labels.get(index), targets.get(index)
        nodes.append(Node(entry, session.parents[index], states[index], tokens, label, text, reason, target))
    for projected, found in zip(measured.projection.entries, measured.measures, strict=True):
        index = projected.entry.index
        if states[index].state == "edited":
            nodes[index] = msgspec.structs.replace(nodes[index], tokens=found.tokens)
    path = measured.projection.branch.entries
    by_id = {entry.id: entry.index for entry in session.entries}
    return Tree(
        session=session,
        measured=measured,
        nodes=nodes,
        chains=chains(session.parents, [entry.index for entry in path]),
        compactions=_compactions(session, path, by_id),
        branch_summaries=[
            BranchSummary(entry=entry, from_id=(from_id := entry.body.from_id), from_index=by_id.get(from_id or ""))
            for entry in session.entries
            if entry.type == "branch_summary"
        ],
    )


def targets_of(session: Session) -> dict[int, int]:
    """Index of a label or context_edit -> index of the entry that it names: the newest one before it with that id."""
    by_id: dict[str, int] = {}
    found: dict[int, int] = {}
    for entry in session.entries:
        if entry.type in ("label", "context_edit"):
            target = by_id.get(text_field(entry, "targetId"))
            if target is not None:
                found[entry.index] = target
        by_id[entry.id] = entry.index
    return found


def labels_of(session: Session, targets: Mapping[int, int]) -> dict[int, str]:
    """Index -> label: the newest label entry that names an entry counts, on whatever branch; an empty one clears it.

    Source: Pi 1.6.0 session-manager.js labelsById.
    """
    entries = session.entries
    labels = {at: text_field(entries[n], "label") for n, at in targets.items() if entries[n].type == "label"}
    return {index: label for index, label in labels.items() if label}


def _compactions(session: Session, path: Sequence[Entry], by_id: dict[str, int]) -> list[Compaction]:
    """The compactions in file order; on the branch a first kept entry counts only if it is before its compaction."""
    first_at = positions(path)
    position = {entry.index: n for n, entry in enumerate(path)}
    made: list[Compaction] = []
    for entry in session.entries:
        if entry.type != "compaction":
            continue
        body = entry.body
        first = by_id.get(body.first_kept_entry_id or "")
        if (at := position.get(entry.index)) is not None:
            first = path[first_kept_position(path, at, first_at)].index
        made.append(
            Compaction(
                entry=entry,
                tokens_before=body.tokens_before,
                first_kept_id=body.first_kept_entry_id,
                first_kept=None if first == entry.index else first,
            )
        )
    return made


def tree_json(tree: Tree) -> dict[str, Any]:
    """The whole object of `compactor tree --json`."""
    nodes, entries = tree.nodes, tree.session.entries
    found, taken = Counter(node.state.state for node in nodes), taken_by(nodes)
    return {
        "session": session_json(tree.session),
        "leaf": leaf_json(tree.leaf),
        "entries": [_node_json(node, entries) for node in nodes],
        "branches": [_chain_json(chain, entries) for chain in tree.chains],
        "compactions": [_compaction_json(made, nodes, taken) for made in tree.compactions],
        "branchSummaries": [
            {"id": s.entry.id, "index": s.entry.index, "fromId": s.from_id, "fromIndex": s.from_index}
            for s in tree.branch_summaries
        ],
        "counts": {state: found[state] for state in STATES},
        "tokens": dict(tokens_by_state(tree)),
        "warnings": [*map(warning_json, (*tree.session.warnings, *tree.measured.warnings))],
    }


def tokens_by_state(tree: Tree) -> Iterator[tuple[State, int]]:
    """Pi's estimate of all entries in each state, in the order of `STATES`."""
    for state in STATES:
        yield state, sum([node.tokens or 0 for node in tree.nodes if node.state.state == state])


def _node_json(node: Node, entries: Sequence[Entry]) -> dict[str, Any]:
    entry, state = node.entry, node.state
    made: dict[str, Any] = {
        "id": entry.id,
        "index": entry.index,
        "line": entry.line,
        "parentId": None if node.parent is None else entries[node.parent].id,
        "parentIndex": node.parent,
        "type": entry.type,
        "role": entry.role or None,
        "state": state.state,
    }
    made |= {} if state.by is None else {"by": entries[state.by].id, "byIndex": state.by}
    made |= {"why": state.why} if state.why else {}
    made["tokens"] = node.tokens
    made |= {} if node.label is None else {"label": node.label}
    made |= {} if node.stop_reason is None else {"stopReason": node.stop_reason}
    made |= {} if node.target is None else {"targetIndex": node.target}
    return made | {"text": node.text}


def _chain_json(chain: Chain, entries: Sequence[Entry]) -> dict[str, Any]:
    tip, fork = chain.entries[-1], chain.forked_at
    return {
        "tip": entries[tip].id,
        "index": tip,
        "isActive": chain.is_active,
        "entries": len(chain.entries),
        "entriesFromRoot": chain.depth,
        "firstId": entries[chain.entries[0]].id,
        "forkedAt": None if fork is None else entries[fork].id,
        "forkedAtIndex": fork,
    }


def taken_by(nodes: Sequence[Node]) -> dict[int, list[int]]:
    """Index of a compaction -> indexes of the entries that it compacted away."""
    taken: dict[int, list[int]] = {}
    for node in nodes:
        if node.state.state == "compacted_away" and node.state.by is not None:
            taken.setdefault(node.state.by, []).append(node.entry.index)
    return taken


def _compaction_json(made: Compaction, nodes: Sequence[Node], taken: Mapping[int, Sequence[int]]) -> dict[str, Any]:
    index = made.entry.index
    gone = taken.get(index, ())
    return {
        "id": made.entry.id,
        "index": index,
        "state": nodes[index].state.state,
        "tokensBefore": made.tokens_before,
        "firstKeptEntryId": made.first_kept_id,
        "firstKeptIndex": made.first_kept,
        "summaryTokens": nodes[index].tokens,
        "entriesTaken": len(gone),
        "tokensTaken": sum([nodes[n].tokens or 0 for n in gone]),
    }
