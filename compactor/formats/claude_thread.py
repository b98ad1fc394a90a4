"""The tree of a transcript in Pi's terms: groups of entries, each group a link of a chain.

A transcript links its rows one by one, and forks wherever calls ran side by side: the row of one result and the row
of the next call share a parent. Real branches are few. So the entries that belong together are put in one group: an
answer, then all results of its calls, then what hooks and the queue added before the conversation went on. Whatever
names any row of a group as its parent continues after the group's last entry. Rows without an entry of their own
(progress, notes of the program) stand for the group that their parent belongs to.

Takes groups and items one by one; gives the rows of a Pi file, the leaf last.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.formats.claude_rows import Row
from compactor.formats.imported import ImportedRow


@dataclass(slots=True, kw_only=True, eq=False)
class Item:
    """One entry to be."""

    line: int
    fields: dict[str, Any]
    """As in a Pi file; the parent is filled in at the end."""

    @property
    def id(self) -> str:
        """The entry's id."""
        made: str = self.fields["id"]
        return made

    @property
    def is_shown(self) -> bool:
        """True for what the model reads and an edit can take out."""
        return self.fields["type"] in ("message", "custom_message")

    @property
    def is_prompt(self) -> bool:
        """True for a message of the user."""
        return self.fields["type"] == "message" and bool(self.fields["message"]["role"] == "user")


@dataclass(slots=True, kw_only=True, eq=False)
class Group:
    """Entries that follow one another on every branch that they are on."""

    at: int
    """How many groups were there before."""
    parent: "Group | None"
    front: list[Item] = field(default_factory=list)
    """What hooks added to a prompt; Claude Code sends it before the prompt, so that the turn still starts with that."""
    head: list[Item] = field(default_factory=list)
    results: list[Item] = field(default_factory=list)
    extras: list[Item] = field(default_factory=list)
    """What was added before the next group began."""
    loose: list[Item] = field(default_factory=list)
    """Entries that the model never sees; where they stand does not matter to it."""
    children: int = 0

    def items(self) -> list[Item]:
        """The visible part, in order."""
        return [*self.front, *self.head, *self.results, *self.extras]


@dataclass(slots=True, kw_only=True)
class Thread:
    """The groups so far."""

    groups: list[Group] = field(default_factory=list)
    of: dict[str, Group | None] = field(default_factory=dict)
    """Uuid of a row -> the group after which its children continue; None before the first one."""
    made_from: dict[str, list[Item]] = field(default_factory=dict)
    """Uuid of a row -> the entries that it became, or became a part of."""
    loose: list[Item] = field(default_factory=list)
    """Those that came before the first group."""
    taken: dict[str, int] = field(default_factory=dict)
    """Id of an entry -> the number in the last id that was made of it."""

    @property
    def last(self) -> Group | None:
        """The newest group."""
        return self.groups[-1] if self.groups else None

    def item(self, row: Row, kind: str, **fields: Any) -> Item:
        """An entry that comes from a row."""
        made = Item(line=row.line, fields=self.fields(row.uuid, row.stamp, kind, fields))
        self.made_from.setdefault(row.uuid, []).append(made)
        return made

    def fields(self, wanted_id: str, stamp: str, kind: str, fields: dict[str, Any]) -> dict[str, Any]:
        """The fields of an entry, with an id that no other has: the wanted one, or that with a number."""
        own, number = wanted_id, self.taken.get(wanted_id, 1)
        while own in self.taken:
            number += 1
            own = f"{wanted_id}-{number}"
        self.taken[wanted_id] = number
        self.taken[own] = self.taken.get(own, 1)
        return {"type": kind, "id": own, "parentId": None, "timestamp": stamp, **fields}

    def group(self, parent: Group | None, *items: Item) -> Group:
        """A new group after `parent`."""
        made = Group(at=len(self.groups), parent=parent, head=list(items))
        self.groups.append(made)
        if parent is not None:
            parent.children += 1
        return made

    def join(self, parent: Group | None, item: Item) -> Group:
        """The group that an item is now part of: that of its parent, or one of its own if others went on from there."""
        if parent is None or parent.children:
            return self.group(parent, item)
        goes_first = item.fields["type"] == "custom_message" and parent.head[0].is_prompt
        (parent.front if goes_first else parent.extras).append(item)
        return parent

    def set_aside(self, item: Item) -> None:
        """Adds an entry that the model never sees after whatever is newest."""
        (self.loose if self.last is None else self.last.loose).append(item)

    def rows(self, conversation: Iterable[Row]) -> list[ImportedRow]:
        """The entries of a Pi file.

        Args:
            conversation: rows that may end the active branch, in the order of the file.
        """
        leaf = self._leaf(list(conversation))
        order = [group for group in self.groups if group is not leaf] + ([] if leaf is None else [leaf])
        chains = {group.at: self._chain(group, group is leaf) for group in order}
        made = _linked(self.loose, None)
        start = made[-1].fields["id"] if made else None
        for group in order:
            parent = start if group.parent is None else chains[group.parent.at][-1].id
            start = None if group.parent is None else start  # what came before the first group is before one root only
            made += _linked(chains[group.at], parent)
        return made

    def aliases(self) -> dict[str, str]:
        """Uuid of a row that gave no entry its id -> the entry that it is part of, or that came right before it."""
        found: dict[str, str] = {}
        for uuid, group in self.of.items():
            items = self.made_from.get(uuid) or (group.items() if group is not None else [])
            if items and not any(item.id == uuid for item in items):
                found[uuid] = items[-1].id
        return found

    def _leaf(self, conversation: Sequence[Row]) -> Group | None:
        """The group that ends the active branch: the newest that nothing follows."""
        for row in reversed(conversation):
            group = self.of.get(row.uuid)
            if group is not None and not group.children:
                return group
        return next((group for group in reversed(self.groups) if not group.children), None)

    def _chain(self, group: Group, is_leaf: bool) -> list[Item]:
        """The entries in order; the file must not end with one that is not part of the conversation."""
        return [*group.loose, *group.items()] if is_leaf else [*group.items(), *group.loose]


def _linked(items: Sequence[Item], parent: str | None) -> list[ImportedRow]:
    made = []
    for item in items:
        item.fields["parentId"] = parent
        made.append(ImportedRow(item.line, item.fields))
        parent = item.id
    return made


def descends(group: Group | None, ancestor: Group) -> bool:
    """True when `ancestor` is `group` or stands on the way from it to the root."""
    while group is not None and group.at > ancestor.at:
        group = group.parent
    return group is ancestor


def path_back(group: Group | None, first: int) -> list[Group]:
    """The groups from `group` to the root whose number is at least `first`, in the order of the branch."""
    path = []
    while group is not None and group.at >= first:
        path.append(group)
        group = group.parent
    return path[::-1]
