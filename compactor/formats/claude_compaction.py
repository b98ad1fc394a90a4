"""Compactions of a Claude Code transcript as entries of Pi's.

A compaction is two rows: a boundary, which starts a new chain and names the row before it, and the summary. Newer
versions keep the last messages verbatim (`claude_kept.py`); those stay where they are in the file, and what follows may
be linked to them as if there were no boundary. A microcompaction clears the results of old calls.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.formats.claude_blocks import token_count
from compactor.formats.claude_kept import as_object, kept_by, strings
from compactor.formats.claude_rows import Row
from compactor.formats.claude_thread import Group, Item, Thread, descends, path_back
from compactor.formats.imported import LeftOut
from compactor.summary import LOST_SUMMARY

CLEARED = "[The result of this call was cleared from the context to save space.]"
"""Stands for a result that a microcompaction cleared."""


@dataclass(slots=True, kw_only=True, eq=False)
class Boundary:
    """A compaction while its transcript is read."""

    group: Group
    row_at: int
    anchors: set[str]
    """Rows before the boundary after which the conversation went on behind it, as far as the boundary names them."""
    has_summary: bool = False


@dataclass(slots=True, kw_only=True)
class Compactions:
    """The compactions of a thread, made one by one as its rows are read."""

    thread: Thread
    rows: Sequence[Row]
    left: LeftOut
    at: dict[str, int]
    """Uuid of a row -> its position."""
    newest: Boundary | None = None
    last_usage_tokens: int = 0
    """The newest context size that was reported."""
    results: dict[str, Item] = field(default_factory=dict)
    """Id of a tool call -> its result."""

    def boundary(self, row: Row, parent: Group | None) -> Group:
        """The group of a new compaction.

        Args:
            row: the boundary.
            parent: where its own link leads, None if it is a root.
        """
        self.finish()
        meta = as_object(row.value.get("compactMetadata"))
        logical = row.value.get("logicalParentUuid")
        named = self.thread.of.get(logical) if isinstance(logical, str) else None
        tokens = token_count(meta.get("preTokens")) or self.last_usage_tokens
        made = self._add(row, self._continued(named or parent), tokens, meta.get("trigger"))
        kept = kept_by(row)
        uuids = kept.uuids(self.rows, self.at)
        self._keep(made, uuids, row)
        anchors = {uuid for uuid in [*uuids, logical, kept.tail] if isinstance(uuid, str)}
        self.newest = Boundary(group=made, row_at=row.at, anchors=anchors)
        return made

    def summary(self, row: Row, text: str, parent: Group | None) -> Group:
        """The compaction that a summary belongs to: the one before it, or one of its own."""
        if self.newest is None or self.newest.has_summary:
            made = self._add(row, parent, self.last_usage_tokens, None)
            self.newest = Boundary(group=made, row_at=row.at, anchors=set())
        self.newest.group.head[0].fields["summary"] = text
        self.newest.has_summary = True
        return self.newest.group

    def micro(self, row: Row, parent: Group | None) -> Group | None:
        """The group that the edits of a microcompaction are part of; `parent` if there are none."""
        meta = as_object(row.value.get("microcompactMetadata"))
        edits: list[tuple[Item, dict[str, str] | None]] = []
        for call_id in strings(meta.get("compactedToolIds")):
            result = self.results.get(call_id)
            if result is None:
                self.left.add("skipped_edits", "cleared results that are not in the file", row.line)
            else:
                edits.append((result, {"content": CLEARED}))
        for uuid in strings(meta.get("clearedAttachmentUUIDs")):
            edits += [(item, None) for item in self.thread.made_from.get(uuid, ()) if item.is_shown]
        for target, replacement in edits:
            edit = self.thread.item(row, "context_edit", targetId=target.id, replacement=replacement)
            parent = self.thread.join(parent, edit)
        return parent

    def behind(self, row: Row, group: Group | None) -> Group | None:
        """The group after which a row continues, where its link passes the newest compaction by.

        A row that names what was kept, or the first one after the boundary, continues after it; any other goes back to
        what was before, as a user can.
        """
        newest = self.newest
        if newest is None or row.at < newest.row_at or (group is not None and group.at >= newest.group.at):
            return group
        is_next = newest.group.children == 0 and group is not None
        return newest.group if is_next or row.parent in newest.anchors else group

    def finish(self) -> None:
        """Says so where the newest compaction has no summary."""
        if self.newest is not None and not self.newest.has_summary:
            self.left.add(
                "missing_summary", "summaries of compactions, never written", self.rows[self.newest.row_at].line
            )

    def _add(self, row: Row, parent: Group | None, tokens: int, trigger: Any) -> Group:
        details = {"source": "claude-code"} | ({"trigger": trigger} if isinstance(trigger, str) else {})
        made = self.thread.item(
            row,
            "compaction",
            summary=LOST_SUMMARY,
            firstKeptEntryId="",
            tokensBefore=tokens,
            details=details,
            fromHook=True,
        )
        made.fields["firstKeptEntryId"] = made.id
        return self.thread.group(parent, made)

    def _continued(self, named: Group | None) -> Group | None:
        """The newest group, unless the boundary names one on another branch: all that it ends shall be before it."""
        newest = self.thread.last
        return newest if named is None or descends(newest, named) else named

    def _keep(self, made: Group, kept: Sequence[str], row: Row) -> None:
        """Keeps these rows' entries, and takes out what stands between them and was summarized."""
        wanted = {item.id for uuid in kept for item in self.thread.made_from.get(uuid, ())}
        groups = [group for uuid in kept if (group := self.thread.of.get(uuid)) is not None]
        first = min([group.at for group in groups], default=made.at)
        path = [item for group in path_back(made.parent, first) for item in group.items()]
        start = next((n for n, item in enumerate(path) if item.id in wanted), None)
        if start is None:
            return
        made.head[0].fields["firstKeptEntryId"] = path[start].id
        for item in path[start:]:
            if item.is_shown and item.id not in wanted:
                made.extras.append(self.thread.item(row, "context_edit", targetId=item.id, replacement=None))
