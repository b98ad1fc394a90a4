"""A session as all checks need it: the tree with its order, and what each entry is about, decoded once.

Takes a `Session`; gives an `Examined`, which holds figures and ids, and the bodies of the few entries that are no
messages. Linear in the size of the session.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgspec

from compactor.entries import Entry, EntryBody, Session
from compactor.message_measure import message_measure
from compactor.projection import entry_messages

BODY_TYPES = frozenset({"compaction", "branch_summary", "context_edit", "label"})
"""Entries that say something about others."""


class Facts(msgspec.Struct, frozen=True, gc=False):
    """What an entry is about."""

    tokens: int = 0
    """Pi's estimate of its messages, system messages aside."""
    system_tokens: int = 0
    role: str = ""
    """Of its last message; empty if it has none."""
    calls: tuple[str, ...] = ()
    """Ids of the tool calls made here."""
    results: tuple[str, ...] = ()
    """Ids of the tool calls answered here."""
    usage_tokens: int = 0
    """The context size that the provider reported here, else 0."""
    is_cut_short: bool = False
    """True for a reply that was aborted or failed."""
    problems: tuple[str, ...] = ()
    """Fields that had the wrong type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """The order of a forest in which every entry comes before those that follow from it."""

    order: list[int]
    """Entry indexes, each right after its parent or after what follows from an earlier child."""
    depth: list[int]
    """For each entry the number of entries before it on its branch."""
    enter: list[int]
    """For each entry its position in `order`."""
    leave: list[int]
    """For each entry the position of the last entry that follows from it."""

    def is_before(self, first: int, second: int) -> bool:
        """True if `second` follows from `first`, on whatever branch."""
        return self.enter[first] < self.enter[second] <= self.leave[first]

    def steps(self) -> Iterator[tuple[int, bool]]:
        """Each entry with True when a walk over the tree comes to it, with False when it goes back behind it."""
        path: list[int] = []
        for index in self.order:
            while len(path) > self.depth[index]:
                yield path.pop(), False
            path.append(index)
            yield index, True


@dataclass(frozen=True, slots=True, kw_only=True)
class Examined:
    """A session, decoded once."""

    session: Session
    tree: Tree
    facts: list[Facts]
    """For each entry."""
    bodies: dict[int, EntryBody]
    """By index, of the entries of `BODY_TYPES`."""

    @property
    def entries(self) -> list[Entry]:
        """The session's entries."""
        return self.session.entries

    def of_type(self, kind: str) -> Iterator[tuple[Entry, EntryBody]]:
        """The entries of a type of `BODY_TYPES`, in file order."""
        for index, body in self.bodies.items():
            if self.entries[index].type == kind:
                yield self.entries[index], body


def examine(session: Session) -> Examined:
    """The session with its tree and the facts of its entries."""
    facts: list[Facts] = []
    bodies: dict[int, EntryBody] = {}
    for entry in session.entries:
        body, problems = entry.decode()
        facts.append(_facts(entry, body, problems))
        if entry.type in BODY_TYPES:
            bodies[entry.index] = body
    return Examined(session=session, tree=tree_of(session.parents), facts=facts, bodies=bodies)


def _facts(entry: Entry, body: EntryBody, problems: Sequence[str]) -> Facts:
    measures = [message_measure(message) for message in entry_messages(entry, body, exact=False)]
    if not measures:
        return Facts(problems=tuple(problems)) if problems else _NOTHING
    last = measures[-1]
    system = sum(m.system_tokens for m in measures)
    stop = body.message.stop_reason if body.message is not None else None
    return Facts(
        tokens=sum(m.tokens for m in measures) - system,
        system_tokens=system,
        role=last.roles[-1] if last.roles else "",
        calls=last.calls,
        results=last.results,
        usage_tokens=last.usage_tokens,
        is_cut_short=stop in ("aborted", "error"),
        problems=tuple(problems),
    )


_NOTHING = Facts()


def tree_of(parents: Sequence[int | None]) -> Tree:
    """The order of the entries whose parents are given; they must go round in no circle."""
    children: list[list[int]] = [[] for _ in parents]
    waiting: list[int] = []
    for index, parent in enumerate(parents):
        (waiting if parent is None else children[parent]).append(index)
    waiting.reverse()
    order: list[int] = []
    depth, enter, leave = [0] * len(parents), [0] * len(parents), [0] * len(parents)
    while waiting:
        index = waiting.pop()
        enter[index] = leave[index] = len(order)
        parent = parents[index]
        depth[index] = 0 if parent is None else depth[parent] + 1
        order.append(index)
        waiting += reversed(children[index])
    for index in reversed(order):
        parent = parents[index]
        if parent is not None and leave[parent] < leave[index]:
            leave[parent] = leave[index]
    return Tree(order=order, depth=depth, enter=enter, leave=leave)
