"""The chains that a tree of entries is drawn as.

Takes the parents of all entries and the active branch; gives `Chain`s, each from a root or a fork to a tip. The active
branch is one chain; elsewhere the child with the most entries below it continues its parent's chain, so that chains
nest at most about as deep as the logarithm of the number of entries. No recursion: a session may be of any depth.
"""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Entries that follow each other, from a root or a fork to a tip."""

    entries: list[int]
    """Indexes, oldest first."""
    forked_at: int | None
    """Index of the entry that the first one follows, on another chain; None at a root."""
    is_active: bool
    """True for the active branch."""
    depth: int
    """How many entries there are from the root to the tip."""


def chains(parents: Sequence[int | None], active: Sequence[int]) -> list[Chain]:
    """The chains of a tree, those of roots in file order first, each followed later by those that fork from it.

    Args:
        parents: for each entry the index of its parent, without circles.
        active: the active branch, root first.
    """
    children: list[list[int]] = [[] for _ in parents]
    for index, parent in enumerate(parents):
        if parent is not None:
            children[parent].append(index)
    heavier = _continuations(parents, children)
    for at, following in zip(active, [*active[1:], None], strict=False):
        heavier[at] = following
    found: list[Chain] = []
    starts: list[tuple[int, int]] = [(index, 0) for index, parent in enumerate(parents) if parent is None]
    starts.reverse()
    while starts:
        first, above = starts.pop()
        entries = [first]
        while (following := heavier[entries[-1]]) is not None:
            entries.append(following)
        is_active = bool(active) and entries[-1] == active[-1]
        made = Chain(entries=entries, forked_at=parents[first], is_active=is_active, depth=above + len(entries))
        found.append(made)
        for n in range(len(entries) - 1, -1, -1):
            starts += [(c, above + n + 1) for c in reversed(children[entries[n]]) if c != heavier[entries[n]]]
    return found


def _continuations(parents: Sequence[int | None], children: Sequence[Sequence[int]]) -> list[int | None]:
    """For each entry the child with the most entries below it, the newest of several; None at a tip."""
    order = [index for index, parent in enumerate(parents) if parent is None]
    for index in order:
        order += children[index]  # parents before children: the list grows while it is walked
    sizes = [1] * len(parents)
    for index in reversed(order):
        parent = parents[index]
        if parent is not None:
            sizes[parent] += sizes[index]
    return [max(below, key=lambda c: (sizes[c], c)) if below else None for below in children]
