"""A transcript of Claude Code as a session of ours.

Takes the bytes of a file below `~/.claude/projects`; gives a `Session` of Pi entries. The ids of entries are the uuids
of the rows that they come from. What a transcript holds beside the conversation is left out and counted; tokens that
sub-agents used stay, as `usage` entries.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.entries import Session, SessionWarning
from compactor.errors import SessionError
from compactor.formats.claude_attachments import TOOL, Content, attached, injected_by
from compactor.formats.claude_blocks import content_block, is_block, raw_blocks, result_message
from compactor.formats.claude_compaction import Compactions
from compactor.formats.claude_kept import in_order
from compactor.formats.claude_replies import PROVIDER, Replies, replies
from compactor.formats.claude_rows import CONVERSATION, TREE_TYPES, Row, Transcript, named, transcript_rows
from compactor.formats.claude_thread import Group, Item, Thread
from compactor.formats.imported import Imported, LeftOut, imported_session
from compactor.formats.json_rows import json_rows

FORMAT = "claude-code"
BOUNDARIES = frozenset({"compact_boundary", "microcompact_boundary"})
KINDS = TREE_TYPES | {"summary"}
"""Types by which a row is known on a line that holds more than one row."""


def parse_claude_code(data: bytes, *, path: str) -> Session:
    """The session in a transcript.

    Args:
        data: the whole file.
        path: named in messages.

    Raises:
        SessionError: no line holds a JSON object.
    """
    found = json_rows(data, KINDS)
    if not found.rows:
        raise SessionError(f"{path}: expected the rows of a Claude Code transcript, found no JSON object in the file")
    left = LeftOut()
    transcript = transcript_rows(found.rows, left)
    transcript.main = in_order(transcript.main)
    importer = _Importer(transcript=transcript, left=left, answers=replies(transcript.main))
    importer.read()
    warnings = [*found.warnings, *importer.warnings, *left.warnings()]
    if not importer.thread.groups:
        text = "the transcript holds no message, only records beside the conversation"
        warnings.append(SessionWarning(code="no_messages", message=text))
    made = Imported(
        format=FORMAT,
        header=_header(transcript, path),
        rows=importer.thread.rows(importer.ends()),
        warnings=warnings,
        torn_tail=found.torn_tail,
        aliases=importer.thread.aliases(),
    )
    return imported_session(made, path=path, data=data)


def _header(transcript: Transcript, path: str) -> dict[str, Any]:
    """The header: a file is named after its session; a copy of an older one may stand at its start."""
    ids = transcript.session_ids
    stem = path.replace("\\", "/").rpartition("/")[2].removesuffix(".jsonl")
    first = transcript.main[0] if transcript.main else None
    values = [row.value for row in transcript.main]
    cwd = next((v["cwd"] for v in values if isinstance(v.get("cwd"), str)), None)
    version = next((v["version"] for v in reversed(values) if isinstance(v.get("version"), str)), None)
    return {
        "id": stem if stem in ids else ids[-1] if ids else transcript.side_session_id,
        "timestamp": first.stamp if first is not None else None,
        "cwd": cwd,
        "importedFrom": {"format": FORMAT, "version": version},
    }


def _first_of_circle(row: Row, rows: Sequence[Row], places: Mapping[str, int]) -> int:
    """The first row, in the order of the file, of the circle that the parents of a row lead into."""
    walked: dict[int, None] = {}
    at = row.at
    while at not in walked:
        walked[at] = None
        at = places[rows[at].parent or ""]
    steps = list(walked)
    return min(steps[steps.index(at) :])


@dataclass(slots=True, kw_only=True)
class _Importer:
    """Reads the rows of a thread into groups of entries."""

    transcript: Transcript
    left: LeftOut
    answers: Replies
    thread: Thread = field(default_factory=Thread)
    groups_of: dict[int, Group] = field(default_factory=dict)
    """Position of an answer's first row -> its group."""
    early: dict[int, list[Item]] = field(default_factory=dict)
    """The same -> results that came before the answer."""
    compactions: Compactions = field(init=False)
    uuids_aside: set[str] = field(init=False)
    warnings: list[SessionWarning] = field(default_factory=list)
    before: Row | None = None
    """The row that was read last."""

    def __post_init__(self) -> None:
        rows = self.transcript.main
        places = {row.uuid: row.at for row in rows}
        self.uuids_aside = {row.uuid for row in self.transcript.aside}
        self.compactions = Compactions(thread=self.thread, rows=rows, left=self.left, at=places)

    def read(self) -> None:
        """Reads all rows, and places what stands beside the thread where the file has it."""
        aside = iter(sorted(self._set_aside(), key=lambda item: item.line))
        waiting = next(aside, None)
        for row in self._parents_first():
            while waiting is not None and waiting.line < row.line:
                self.thread.set_aside(waiting)
                waiting = next(aside, None)
            self.thread.of[row.uuid] = self._placed(row, self._parent(row))
            self.before = row
        while waiting is not None:
            self.thread.set_aside(waiting)
            waiting = next(aside, None)
        self.compactions.finish()

    def ends(self) -> Iterator[Row]:
        """The rows that may end the active branch."""
        return (
            row
            for row in self.transcript.main
            if row.kind in CONVERSATION or (row.kind == "system" and row.subtype in BOUNDARIES)
        )

    def _parents_first(self) -> Iterator[Row]:
        """The rows in the order of the file, except that a row waits for its parent; a circle is cut at its first."""
        rows, places = self.transcript.main, self.compactions.at
        waiting: dict[int, list[Row]] = {}
        done = bytearray(len(rows))

        def released(row: Row) -> Iterator[Row]:
            ready = [row]
            while ready:
                one = ready.pop()
                done[one.at] = 1
                yield one
                ready += reversed(waiting.pop(one.at, ()))

        for row in rows:
            parent = places.get(row.parent or "")
            if parent is None or done[parent]:
                yield from released(row)
            else:
                waiting.setdefault(parent, []).append(row)
        for row in rows:
            if not done[row.at]:
                first = rows[_first_of_circle(row, rows, places)]
                waiting[places[first.parent or ""]].remove(first)
                yield from released(first)

    def _parent(self, row: Row) -> Group | None:
        """The group after which a row continues; what a broken link leads to is the row before it."""
        thread = self.thread
        if row.parent is None:
            return None
        if row.parent in thread.of:
            return self.compactions.behind(row, thread.of[row.parent])
        newest = self.compactions.newest
        if newest is not None and row.parent in newest.anchors:
            return newest.group
        before = self.before
        if before is not None and row.parent in self.uuids_aside:
            return thread.of[before.uuid]
        where = f"joined to the row before it, line {before.line}" if before else "it starts the branch"
        looped = row.parent in self.compactions.at
        told = f"parent {row.parent} not found" if row.parent else "the row has no parentUuid"
        text = f"the parents of {row.uuid} go round in a circle; its link was cut" if looped else told
        code = "parent_cycle" if looped else "missing_parent"
        text = f"{text}, line {row.line}; {where}"
        self.warnings.append(SessionWarning(code=code, message=text, line=row.line, entry_id=row.uuid))
        return thread.of[before.uuid] if before else None

    def _placed(self, row: Row, parent: Group | None) -> Group | None:
        """Reads a row; gives the group after which its children continue."""
        if row.kind == "assistant":
            return self._answer(row, parent)
        if row.kind == "user":
            return self._user(row, parent)
        if row.kind == "attachment":
            return self._attachment(row, parent)
        if row.kind == "system" and row.subtype == "compact_boundary":
            return self.compactions.boundary(row, parent)
        if row.kind == "system" and row.subtype == "microcompact_boundary":
            return self.compactions.micro(row, parent)
        what = f" ({named(row.subtype)})" if row.kind == "system" and row.subtype else ""
        self.left.add("skipped_rows", f"{named(row.kind)} rows{what}", row.line)
        return parent

    def _answer(self, row: Row, parent: Group | None) -> Group | None:
        reply = self.answers.by_row.get(row.at)
        if reply is None:
            self.left.add("skipped_rows", "assistant rows without a message", row.line)
            return parent
        place = self.groups_of.get(reply.row.at)
        if place is None:
            message = reply.message(self.answers.models[reply.row.at], self.left)
            item = self.thread.item(reply.row, "message", message=message)
            place = self.groups_of[reply.row.at] = self.thread.group(parent, item)
            place.results += self.early.pop(reply.row.at, [])
            usage = message["usage"]["totalTokens"]
            self.compactions.last_usage_tokens = usage or self.compactions.last_usage_tokens
        if row is not reply.row:
            self.thread.made_from[row.uuid] = [place.head[0]]
        return place

    def _user(self, row: Row, parent: Group | None) -> Group | None:
        blocks = raw_blocks(row.message.get("content"))
        results = [block for block in blocks if is_block(block, "tool_result", "tool_use_id")]
        others = [block for block in blocks if not is_block(block, "tool_result", "tool_use_id")]
        if row.value.get("isCompactSummary") is True:
            texts = [block["text"] for block in others if is_block(block, "text", "text")]
            return self.compactions.summary(row, "\n".join(texts), parent)
        place = parent
        for block in results:
            place = self._result(row, block, place)
        unseen = next((f for f in ("isMeta", "isVisibleInTranscriptOnly") if row.value.get(f) is True), None)
        speaker = injected_by(row.value, self.answers.callers)
        if unseen is not None and speaker != TOOL:
            self.left.add("skipped_rows", f"user rows with {unseen}", row.line)
        elif others:
            content = [content_block(block, self.left, row.line) for block in others]
            item = self._said(row, speaker, content)
            joins = results or speaker == TOOL
            place = self.thread.join(place, item) if joins else self.thread.group(place, item)
        elif not results:
            self.left.add("skipped_rows", "user rows without content", row.line)
        return place

    def _said(self, row: Row, speaker: str | None, content: Content) -> Item:
        """An entry for what the user said, or for what was put before the model in the user's place."""
        if speaker is None:
            return self.thread.item(row, "message", message={"role": "user", "content": content, "timestamp": row.ms})
        shown: dict[str, Any] = {"customType": f"{FORMAT}.{named(speaker)}", "content": content, "display": False}
        return self.thread.item(row, "custom_message", **shown)

    def _result(self, row: Row, block: dict[str, Any], parent: Group | None) -> Group | None:
        """Places a tool result after the answer that holds its call, wherever the row stands."""
        call_id = block["tool_use_id"]
        reply, call = self.answers.callers.get(call_id, (None, None))
        if call_id in self.compactions.results:
            self.left.add("repeated_rows", "further results of an answered call", row.line)
            place = None if reply is None else self.groups_of.get(reply.row.at)
            return place if parent is None or (place is not None and place.at > parent.at) else parent
        shown = self.transcript.shown.get(call_id)
        if shown is not None:
            self.left.add("shortened_results", "full results of which the model saw only a part", row.line)
            block = {**block, "content": shown}
        message = result_message(block, call, row, self.left)
        item = self.compactions.results[call_id] = self.thread.item(row, "message", message=message)
        if reply is None:
            return self.thread.join(parent, item)
        place = self.groups_of.get(reply.row.at)
        if place is None:
            self.early.setdefault(reply.row.at, []).append(item)
            return parent
        place.results.append(item)
        return place if parent is None or parent.at < place.at else parent

    def _attachment(self, row: Row, parent: Group | None) -> Group | None:
        attachment = row.value.get("attachment")
        attachment = attachment if isinstance(attachment, dict) else {}
        kind = named(attachment.get("type"))
        said = attached(attachment, self.left, row.line)
        if said is None:
            self.left.add("skipped_rows", f"{kind} attachments", row.line)
            return parent
        by_user, content = said
        return self.thread.join(parent, self._said(row, None if by_user else kind, content))

    def _set_aside(self) -> Iterator[Item]:
        """The session's name, and the tokens that sub-agents used."""
        title = self.transcript.title
        if title is not None:
            stamp = self.transcript.main[0].stamp if self.transcript.main else "1970-01-01T00:00:00.000Z"
            fields = self.thread.fields("title", stamp, "session_info", {"name": title.text})
            yield Item(line=title.line, fields=fields)
        known = {reply.message_id for reply in self.answers.by_row.values() if reply.message_id}
        side = replies(self.transcript.aside)
        for reply in {id(reply): reply for reply in side.by_row.values()}.values():
            if reply.usage is None or not reply.usage["totalTokens"] or reply.message_id in known:
                continue
            spent = {"kind": "sub_agent", "provider": PROVIDER["provider"], "model": reply.model, "usage": reply.usage}
            row = reply.row
            yield Item(line=row.line, fields=self.thread.fields(row.uuid, row.stamp, "usage", spent))
