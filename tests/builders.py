"""Makers of sessions for tests: each call adds one entry at the leaf; ids and times follow from the position alone.

Gives the bytes of a Pi session file of version 1, 2 or 3, and shortcuts to what the package makes of them.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from compactor.branch import active_branch, find_leaf
from compactor.entries import Session
from compactor.formats.pi import parse_session
from compactor.measure import Measured, measure
from compactor.plan import CompactionPlan, Skip, plan_compaction
from compactor.projection import Projection, project
from compactor.settings import CompactionSettings
from compactor.tokens import ContextTokens, Counter, PiCounter, context_tokens

SESSION_ID = "harbor-0001"
NO_USAGE: dict[str, Any] = {
    "input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 0,
    "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0},
}  # fmt: skip
_SURROGATE = re.compile("[\ud800-\udfff]")


def row_text(row: Any) -> str:
    """A row as JSON in one line, as JavaScript writes it: non-ASCII as it is, lone surrogates as escapes."""
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    return _SURROGATE.sub(lambda m: f"\\u{ord(m.group()):04x}", text)


def row_line(row: Any) -> bytes:
    """A row as a line of a session file."""
    return row_text(row).encode() + b"\n"


def usage(total: int, **parts: int) -> dict[str, Any]:
    """The usage that a provider reported."""
    return {**NO_USAGE, "totalTokens": total, **parts}


def tool_call(call_id: str, name: str = "bash", **arguments: Any) -> dict[str, Any]:
    """A block that calls a tool."""
    return {"type": "toolCall", "id": call_id, "name": name, "arguments": arguments}


def image(data: str = "aGFyYm9y") -> dict[str, Any]:
    """A block with a picture."""
    return {"type": "image", "data": data, "mimeType": "image/png"}


@dataclass(slots=True)
class SessionBuilder:
    """A session as it grows. Every method that adds an entry returns its id (in version 1: the id it would have)."""

    version: int = 3
    header: dict[str, Any] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    leaf: str | None = None

    def add(self, kind: str, **fields: Any) -> str:
        """An entry of any type; `id` and `parentId` may be given to break the rules."""
        number = len(self.rows) + 1
        made = {
            "type": kind,
            "id": f"{number:08x}",
            "parentId": self.leaf,
            "timestamp": f"2026-03-01T{10 + number // 3600:02d}:{number // 60 % 60:02d}:{number % 60:02d}.000Z",
        }
        made |= fields
        self.rows.append(made)
        self.leaf = made["id"] or f"{number:08x}"
        return self.leaf

    def message(self, role: str, **fields: Any) -> str:
        """A message entry."""
        return self.add("message", message={"role": role, **fields, "timestamp": 1772359200000 + len(self.rows)})

    def user(self, content: Any = "Where is crane 3?") -> str:
        return self.message("user", content=content)

    def assistant(self, content: Any = "At berth 14.", *calls: dict[str, Any], **fields: Any) -> str:
        """An assistant message; a string becomes a text block, an empty one none."""
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) and content else content or []
        known = {"api": "openai-completions", "provider": "dock", "model": "gantry-1", "usage": NO_USAGE}
        stop = {"stopReason": "toolUse" if calls else "stop"}
        return self.message("assistant", **{"content": [*blocks, *calls], **known, **stop, **fields})

    def result(self, call_id: str, content: Any = "done", **fields: Any) -> str:
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        known = {"toolCallId": call_id, "toolName": "bash", "isError": False}
        return self.message("toolResult", **{**known, "content": blocks, **fields})

    def shell(self, command: str = "ls", output: str = "crane.md", **fields: Any) -> str:
        known = {"exitCode": 0, "cancelled": False, "truncated": False}
        return self.message("bashExecution", **{"command": command, "output": output, **known, **fields})

    def private_shell(self, output: str = "not for the model") -> str:
        return self.shell("cat notes", output, excludeFromContext=True)

    def system(self, content: Any = "You run the harbor.", **fields: Any) -> str:
        return self.message("system", content=content, **fields)

    def custom_message(self, content: Any = "The tide turns.", **fields: Any) -> str:
        return self.add("custom_message", **{"customType": "tide", "content": content, "display": True, **fields})

    def branch_summary(self, summary: str = "The other berth was full.", **fields: Any) -> str:
        return self.add("branch_summary", **{"fromId": self.leaf or "root", "summary": summary, **fields})

    def compaction(self, first_kept: str, summary: str = "## Goal\nMove crane 3.", **fields: Any) -> str:
        """A compaction that keeps everything from the entry `first_kept` on."""
        known = {"summary": summary, "firstKeptEntryId": first_kept, "tokensBefore": 4321}
        return self.add("compaction", **{**known, **fields})

    def edit(self, target: str, *new: Any) -> str:
        """A context_edit that omits its target, or replaces the target's content by `new`."""
        replacement = {"content": new[0]} if new else None
        return self.add("context_edit", targetId=target, replacement=replacement)

    def model_change(self, model: str = "gantry-2", provider: str = "dock") -> str:
        return self.add("model_change", provider=provider, modelId=model)

    def bookkeeping(self) -> list[str]:
        """One entry of every type that says nothing to the model, and one of a type that nobody knows."""
        target = self.leaf or "none"
        return [
            self.model_change(),
            self.add("thinking_level_change", thinkingLevel="high"),
            self.add("usage", provider="dock", model="gantry-1", usage=usage(40)),
            self.add("custom", customType="tide-state", data={"level": 3}),
            self.add("label", targetId=target, label="low tide"),
            self.add("session_info", name="Harbor works"),
            self.add("not_yet_invented", content="future", deep={"kept": [None, 1.5]}),
        ]

    def back_to(self, entry_id: str | None) -> None:
        """Continues from an earlier entry: what follows is another branch."""
        self.leaf = entry_id

    def lines(self) -> list[bytes]:
        """The header line and one line an entry, each with its line end."""
        header: dict[str, Any] = {"type": "session", "version": self.version, "id": SESSION_ID}
        header |= {"timestamp": "2026-03-01T10:00:00.000Z", "cwd": "/srv/harbor", **self.header}
        rows = self.rows
        if self.version == 1:
            header.pop("version")
            rows = self._rows_of_version_1()
        return [row_line(row) for row in (header, *rows)]

    def _rows_of_version_1(self) -> list[dict[str, Any]]:
        """Without ids; a compaction names the index of the first kept row, the header being row 0."""
        index = {row["id"]: n for n, row in enumerate(self.rows, start=1)}
        rows = []
        for row in self.rows:
            old = {k: v for k, v in row.items() if k not in ("id", "parentId", "firstKeptEntryId")}
            if "firstKeptEntryId" in row:
                old["firstKeptEntryIndex"] = index[row["firstKeptEntryId"]]
            rows.append(old)
        return rows

    def data(self) -> bytes:
        """The session file."""
        return b"".join(self.lines())

    def session(self, *, exact: bool = False) -> Session:
        return parse_session(self.data(), exact=exact)

    def project(self, *, exact: bool = False) -> Projection:
        return projection_of(self.session(exact=exact), exact=exact)

    def plan(self, keep: int, *, exact: bool = False, **settings: Any) -> "Outcome":
        return plan_of(self.session(exact=exact), keep=keep, exact=exact, **settings)


def make_session(*steps: tuple[Any, ...] | str, version: int = 3) -> SessionBuilder:
    """A builder after the named steps: `"user"` or `("user", "text")` calls the method of that name."""
    builder = SessionBuilder(version=version)
    for step in steps:
        name, *arguments = (step,) if isinstance(step, str) else step
        getattr(builder, name)(*arguments)
    return builder


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """All that planning makes of a branch."""

    measured: Measured
    context: ContextTokens
    plan: CompactionPlan | Skip

    @property
    def cut(self) -> CompactionPlan:
        """The plan, where there must be one."""
        assert isinstance(self.plan, CompactionPlan), self.plan
        return self.plan

    @property
    def skip(self) -> Skip:
        """The reason for doing nothing, where there must be one."""
        assert isinstance(self.plan, Skip), self.plan.first_kept
        return self.plan

    def ids(self, span: range | None = None) -> list[str]:
        """Ids of context entries that give messages, those of the kept tail by default."""
        chosen = range(self.cut.cut.index, len(self.measured.measures)) if span is None else span
        return [self.measured.projection.entries[n].entry.id for n in chosen if self.measured.measures[n].roles]

    def texts(self, span: range | None = None) -> list[str]:
        """Texts of the messages of context entries, those of the kept tail by default."""
        chosen = range(self.cut.cut.index, len(self.measured.measures)) if span is None else span
        entries = self.measured.projection.entries
        return [m.summary or m.output or m.text() for n in chosen for m in entries[n].messages()]


def projection_of(session: Session, leaf: str | None = None, *, exact: bool = False) -> Projection:
    """The projection of a branch."""
    return project(active_branch(session, find_leaf(session, leaf)), exact=exact)


def plan_of(
    session: Session,
    *,
    keep: int,
    leaf: str | None = None,
    exact: bool = False,
    counter: Counter | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Outcome:
    """The outcome of planning a branch; `settings` are other fields of `CompactionSettings`."""
    counting = counter or PiCounter()
    measured = measure(projection_of(session, leaf, exact=exact), counting, exact=exact)
    context = context_tokens(measured.projection, measured.measures, counting)
    chosen = CompactionSettings(keep_recent_tokens=keep, **(settings or {}))
    return Outcome(measured=measured, context=context, plan=plan_compaction(measured, chosen, context, exact=exact))


def ids_of(entries: Sequence[Any]) -> list[str]:
    """Ids of entries, or of projected entries."""
    return [getattr(e, "entry", e).id for e in entries]
