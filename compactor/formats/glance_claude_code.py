"""A Claude Code transcript as a list shows it: its rows in, counts and the first words out.

One reply of the model is written on several lines with one `message.id`; its usage is that of the last line. Rows of
sub-agents may stand among the others (`isSidechain`): their tokens count, they are no part of the conversation.
"""

import re
from collections import Counter

import msgspec

from compactor.errors import SessionError
from compactor.formats.glance_rows import Glance, content_of, count, first_moment, last_moment, text_blocks, words

Number = int | float


class _Block(msgspec.Struct, gc=False):
    type: str = ""


class _Usage(msgspec.Struct, gc=False):
    input_tokens: Number = 0
    output_tokens: Number = 0
    cache_creation_input_tokens: Number = 0
    cache_read_input_tokens: Number = 0


class _Message(msgspec.Struct, gc=False):
    id: str | None = None
    content: str | list[_Block] | None = None
    usage: _Usage | None = None


class ClaudeRow(msgspec.Struct, gc=False, rename="camel"):
    """What is looked at of a line."""

    type: str = ""
    subtype: str | None = None
    uuid: str | None = None
    parent_uuid: str | None = None
    timestamp: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    cwd: str | None = None
    is_sidechain: bool | None = None
    is_meta: bool | None = None
    is_compact_summary: bool | None = None
    message: _Message | None = None
    custom_title: str | None = None
    ai_title: str | None = None
    summary: str | None = None
    leaf_uuid: str | None = None


_decode = msgspec.json.Decoder(ClaudeRow).decode
_RESETS = frozenset({"compact_boundary", "microcompact_boundary"})
_PUT_IN = (
    *("<command-", "<local-command-", "<system-reminder>", "<bash-", "<ide_", "<task-notification>"),
    *("Caveat: The messages below", "[Request interrupted"),
)
"""How texts start that Claude Code, and not the user, put among the user's messages."""

_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ADDED = re.compile(r"<command-args>\s*(\S.*?)</command-args>", re.DOTALL)


class _Thread:
    """The main conversation, or all rows of sub-agents."""

    def __init__(self) -> None:
        self.messages = 0
        self.context: int | None = None
        self.used: dict[str, Number] = {}
        """Reply -> tokens, as its last line has them."""
        self.followers: Counter[str | None] = Counter()
        """Message -> how many messages of the user, and first lines of replies, follow it."""
        self.prompted: set[str | None] = set()
        """Messages that one of the user follows; replies alone fork at tool calls that run side by side."""
        self.first_message: str | None = None
        self.first_command: str | None = None
        """Stands for a first message in a session of commands alone."""


class ClaudeTally:
    """Adds up the rows of a transcript."""

    kind = ClaudeRow
    decode = staticmethod(_decode)
    row_types = frozenset({"user", "assistant", "system", "attachment", "progress", "summary"})

    def __init__(self) -> None:
        self.main, self.side = _Thread(), _Thread()
        self.anchors: dict[str, str | None] = {}
        """Row -> itself, or the message above it if it is none."""
        self.stamps: list[str] = []
        self.boundaries = self.summaries = 0
        self.session_id: str | None = None
        self.agent_id: str | None = None
        self.cwd: str | None = None
        self.titles: dict[str, str | None] = {}
        self.leaf_titles: list[tuple[str, str]] = []

    def add(self, row: ClaudeRow, raw: bytes) -> None:
        """Takes the next row."""
        if row.uuid is None:
            self._side_record(row)
            return
        if row.uuid in self.anchors:  # the copy that resuming a session makes
            return
        self.session_id = row.session_id or self.session_id
        self.agent_id = self.agent_id or row.agent_id
        self.cwd = self.cwd or row.cwd
        if row.timestamp is not None:
            self.stamps.append(row.timestamp)
        above = self.anchors.get(row.parent_uuid, row.parent_uuid) if row.parent_uuid else None
        thread = self.side if row.is_sidechain else self.main
        is_message = row.type in ("user", "assistant") and row.message is not None and not row.is_meta
        self.anchors[row.uuid] = row.uuid if is_message else above
        if row.type == "system" and row.subtype in _RESETS:
            self.boundaries += row.subtype == "compact_boundary"
            thread.context = None
        elif is_message and row.message is not None:
            if row.type == "assistant":
                _reply(thread, row.uuid, above, row.message)
            elif row.is_compact_summary:
                self.summaries += 1
                thread.context = None
            else:
                _user(thread, above, row.message, raw)

    def skip(self) -> None:
        """Rows that are not looked at follow."""
        self.main.context = self.side.context = None

    def _side_record(self, row: ClaudeRow) -> None:
        """A row that is no part of the conversation; it may hold a name."""
        if row.type == "custom-title" and row.custom_title is not None:
            self.titles["custom"] = words(row.custom_title)
        elif row.type == "ai-title" and row.ai_title is not None:
            self.titles["ai"] = words(row.ai_title)
        elif row.type == "summary" and row.summary and row.leaf_uuid:
            self.leaf_titles.append((row.leaf_uuid, row.summary))

    def result(self, damaged_lines: int, is_whole: bool) -> Glance:
        """All that was found.

        Raises:
            SessionError: there is no row of a conversation.
        """
        if not self.anchors:
            raise SessionError("expected a conversation, found only side records of Claude Code")
        is_subagent = bool(self.side.messages and not self.main.messages)
        thread = self.side if is_subagent else self.main
        used = sum(self.main.used.values()) + sum(self.side.used.values())
        forks = sum(thread.followers[above] - 1 for above in thread.prompted)
        return Glance(
            format="claude-code",
            id=(self.agent_id if is_subagent else None) or self.session_id,
            cwd=self.cwd,
            name=self._name(),
            first_message=thread.first_message or thread.first_command,
            started_at=first_moment(self.stamps),
            last_entry_at=last_moment(self.stamps),
            messages=thread.messages if is_whole else None,
            context_tokens=thread.context,
            total_tokens=int(used) if is_whole else None,
            cost=None,
            compactions=max(self.boundaries, self.summaries) if is_whole else None,
            branches=(forks + 1 if thread.messages else 0) if is_whole else None,
            damaged_lines=damaged_lines,
            is_whole=is_whole,
            is_subagent=is_subagent,
            parent_id=self.session_id if is_subagent else None,
        )

    def _name(self) -> str | None:
        """What the user named it, else what Claude Code did; a title counts only with its last message in the file."""
        titles = [words(text) for leaf, text in self.leaf_titles if leaf in self.anchors]
        return self.titles.get("custom") or self.titles.get("ai") or (titles[-1] if titles else None)


def _reply(thread: _Thread, uuid: str, above: str | None, message: _Message) -> None:
    """A line of a reply, which may be one of several."""
    key = message.id or uuid
    if key not in thread.used:
        thread.messages += 1
        thread.followers[above] += 1
    usage = message.usage or _Usage()
    tokens = (
        count(usage.input_tokens)
        + count(usage.output_tokens)
        + count(usage.cache_creation_input_tokens)
        + count(usage.cache_read_input_tokens)
    )
    thread.used[key] = tokens
    if tokens > 0:
        thread.context = int(tokens)


def _user(thread: _Thread, above: str | None, message: _Message, raw: bytes) -> None:
    """A row of the user's side: tool results, a message, or both."""
    content = message.content
    blocks = content if isinstance(content, list) else []
    results = sum(block.type == "tool_result" for block in blocks)
    thread.messages += results
    if isinstance(content, str) or len(blocks) > results:
        thread.messages += 1
        if not results:
            thread.followers[above] += 1
            thread.prompted.add(above)
        if thread.first_message is None:
            _first_words(thread, raw)


def _first_words(thread: _Thread, raw: bytes) -> None:
    """Notes the start of what the user wrote, if not all of it was put in; a command counts with what is added."""
    texts = text_blocks(content_of(raw, "message"))
    thread.first_message = words("\n".join(text for text in texts if not text.lstrip().startswith(_PUT_IN)))
    command = _COMMAND.search("\n".join(texts)) if thread.first_message is None else None
    if command is not None:
        added = _ADDED.search("\n".join(texts))
        told = words(f"{command.group(1)} {added.group(1)}" if added else command.group(1))
        thread.first_message = told if added else None
        thread.first_command = thread.first_command or told
