"""Sessions with every entry type and role, made from a source of chance: seeded, or hypothesis' own, which can shrink.

Gives the bytes of a Pi session file. Texts hold what has broken counters and cutters before: characters beyond the
BMP, lone surrogates (as JSON escapes), tags, results longer than a summarizer is shown, numbers that JavaScript prints
in its own way, keys that it puts first.
"""

import json
from dataclasses import dataclass, field
from random import Random
from typing import Any

WORDS = (
    "harbor", "crane", "manifest", "tonnage", "berth 14", "naïve", "検査", "документ", "🚢", "𝒳𝒴", "\ud83d", "e\u0301",
    "\u2028", "\t", '"quoted"', "back\\slash", "</conversation>", "<summary>", "<|endoftext|>", "## Goal", "- [x] done",
    "E42: no such dock", "src/dock/crane.py", "0.1", "==", "x" * 61,
)  # fmt: skip
PATHS = ("src/dock/crane.py", "docs/plan.md", "src/é.py", "src/𝒳.py", "Makefile", "a b/c.txt")
NUMBERS = (
    0,
    1,
    -7,
    2**53,
    2**53 + 1,
    10**21,
    0.1,
    1.0,
    -0.0,
    1e21,
    1e-7,
    123456789.125,
    5e-324,
    1.7976931348623157e308,
)
TOOLS = ("read", "write", "edit", "bash")
SYSTEM = {"role": "system", "content": "You work on the harbor software.", "toolsAdded": [{"name": "read"}]}


@dataclass(slots=True)
class _Maker:
    """A session as it grows."""

    chance: Random
    version: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    leaf: str | None = None
    clock: int = 0
    reported: int = 500

    def some(self, low: int, high: int) -> str:
        return " ".join(self.chance.choice(WORDS) for _ in range(self.chance.randint(low, high)))

    def odds(self, part: float) -> bool:
        return self.chance.random() < part

    def add(self, kind: str, **fields: Any) -> str:
        self.clock += 1
        made = f"{len(self.rows) + 0x1000:08x}"
        when = f"2026-03-01T10:{self.clock // 60 % 60:02d}:{self.clock % 60:02d}.{self.clock % 1000:03d}Z"
        row: dict[str, Any] = {"type": kind, "id": made, "parentId": self.leaf, "timestamp": when, **fields}
        if self.version == 1:
            del row["id"], row["parentId"]
        if self.odds(0.1):
            row["futureField"] = {"kept": [None, True, self.some(1, 2)]}
        self.rows.append(row)
        self.leaf = made
        return made

    def message(self, role: str, **fields: Any) -> str:
        return self.add("message", message={"role": role, **fields, "timestamp": 1772359200000 + self.clock})

    def path(self) -> list[int]:
        """Indexes of the rows from the leaf to its root."""
        if self.version == 1:
            return list(range(len(self.rows) - 1, -1, -1))
        by_id = {row["id"]: index for index, row in enumerate(self.rows)}
        found = []
        at = self.leaf
        while at is not None:
            found.append(by_id[at])
            at = self.rows[by_id[at]]["parentId"]
        return found


def made_session(chance: Random, *, min_steps: int = 2, max_steps: int = 50, version: int = 3) -> bytes:
    """The bytes of a session file.

    Args:
        chance: decides everything.
        min_steps: entries are added in at least so many steps; a step with tool calls adds their results too.
        max_steps: and in at most so many.
        version: of the format, 1 to 3.
    """
    maker = _Maker(chance=chance, version=version)
    if maker.odds(0.6):
        maker.message("system", **{k: v for k, v in SYSTEM.items() if k != "role"}, sections={"cwd": "/srv/harbor"})
    steps: list[Any] = [_user, _assistant, _assistant, _assistant, _shell, _custom_message, _bookkeeping, _system]
    if version > 1:
        steps += [_branch_summary, _context_edit, _go_back]
    for _ in range(chance.randint(min_steps, max_steps)):
        step = _compaction if len(maker.rows) > 5 and maker.odds(0.05) else chance.choice(steps)
        step(maker)
    header: dict[str, Any] = {"type": "session", "id": "made-harbor", "timestamp": "2026-03-01T09:59:00.000Z"}
    header |= {"cwd": "/srv/harbor"} | ({"version": version} if version > 1 else {})
    return b"".join(_line(row) for row in [header, *maker.rows])


def _line(row: dict[str, Any]) -> bytes:
    text = json.dumps(row, ensure_ascii=False, separators=(",", ":"))
    if not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text):
        text = json.dumps(row, separators=(",", ":"))
    return text.encode() + b"\n"


def _blocks(maker: _Maker, text: str) -> Any:
    if maker.odds(0.4):
        return text
    image = {"type": "image", "data": "aGFyYm9y" * maker.chance.randint(1, 40), "mimeType": "image/png"}
    return [{"type": "text", "text": text}] + ([image] if maker.odds(0.2) else [])


def _user(maker: _Maker) -> None:
    maker.message("user", content=_blocks(maker, maker.some(1, 120)))


def _assistant(maker: _Maker) -> None:
    calls = [_call(maker, n) for n in range(maker.chance.choice((0, 1, 1, 2, 3)))]
    content: list[dict[str, Any]] = []
    if maker.odds(0.3):
        content.append({"type": "thinking", "thinking": maker.some(1, 40), "thinkingSignature": "c2ln"})
    content += [{"type": "text", "text": maker.some(0, 60)} for _ in range(maker.chance.choice((0, 1, 2)))]
    stop = "toolUse" if calls else maker.chance.choice(("stop", "stop", "stop", "length", "error", "aborted"))
    model = {"api": "openai-completions", "provider": "dock", "model": maker.chance.choice(("gantry-1", "gantry-2"))}
    maker.message("assistant", content=content + calls, **model, usage=_usage(maker), stopReason=stop)
    answered = [call for call in calls if not maker.odds(0.08)]
    if maker.odds(0.2):
        maker.chance.shuffle(answered)
    for call in answered:
        if maker.odds(0.06):
            _user(maker)
        _result(maker, call)


def _call(maker: _Maker, n: int) -> dict[str, Any]:
    chance = maker.chance
    values: dict[str, Any] = {
        "path": chance.choice(PATHS), "offset": chance.choice(NUMBERS), "text": maker.some(0, 30), "10": None,
        "2": {"b": [1, None, chance.choice(NUMBERS)], "a": {"7": False, "z": []}}, "": True, "01": maker.some(1, 1),
    }  # fmt: skip
    keys = chance.sample(sorted(values), chance.randint(0, len(values)))
    made = f"call_{len(maker.rows)}_{n}"
    return {"type": "toolCall", "id": made, "name": chance.choice(TOOLS), "arguments": {k: values[k] for k in keys}}


def _usage(maker: _Maker) -> dict[str, Any]:
    chance = maker.chance
    maker.reported += chance.randint(10, 900)
    parts = {"input": chance.randint(1, 60), "output": chance.randint(1, 300), "cacheRead": maker.reported}
    parts |= {"cacheWrite": chance.choice((0, 11))}
    total = chance.choice((0, sum(parts.values())))
    if maker.odds(0.12):
        parts, total = dict.fromkeys(parts, 0), 0
    cost = {"input": 0.25, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0.25}
    return {**parts, "totalTokens": total, "cost": cost}


def _result(maker: _Maker, call: dict[str, Any]) -> None:
    text = maker.some(0, 60)
    if maker.odds(0.2):
        text += "y" * (1999 - len(text)) + "🚢" + maker.some(0, 200)
    fields: dict[str, Any] = {"toolCallId": call["id"], "toolName": call["name"], "isError": maker.odds(0.1)}
    if maker.odds(0.1):
        nested = [
            {"id": "n1", "name": maker.chance.choice(TOOLS), "arguments": {"path": "nested/é.py"}, "status": "ok"}
        ]
        fields["nestedCalls"] = {"calls": nested, "complete": True}
    content = _blocks(maker, text)
    maker.message("toolResult", **fields, content=content if isinstance(content, list) else [])


def _shell(maker: _Maker) -> None:
    fields: dict[str, Any] = {"command": "ls " + maker.some(0, 3), "output": maker.some(0, 40)}
    fields |= {"exitCode": maker.chance.choice((0, 1, 127)), "cancelled": maker.odds(0.1), "truncated": maker.odds(0.2)}
    fields |= {"fullOutputPath": "/srv/harbor/dock.txt"} if maker.odds(0.5) else {}
    maker.message("bashExecution", **fields, **({"excludeFromContext": True} if maker.odds(0.3) else {}))


def _custom_message(maker: _Maker) -> None:
    if maker.version < 3 and maker.odds(0.5):
        maker.message("hookMessage", customType="tide", content=maker.some(1, 20), display=True)
        return
    maker.add("custom_message", customType="tide", content=_blocks(maker, maker.some(1, 40)), display=maker.odds(0.5))


def _bookkeeping(maker: _Maker) -> None:
    target = maker.chance.choice(maker.rows).get("id", "none") if maker.rows else "none"
    rows: tuple[dict[str, Any], ...] = (
        {"kind": "model_change", "provider": "dock", "modelId": "gantry-2"},
        {"kind": "thinking_level_change", "thinkingLevel": "high"},
        {"kind": "custom", "customType": "tide-state", "data": {"level": maker.chance.choice(NUMBERS)}},
        {"kind": "label", "targetId": target, "label": "mark"},
        {"kind": "session_info", "name": maker.some(1, 3)},
        {"kind": "not_yet_invented", "content": maker.some(1, 3)},
    )
    maker.add(**maker.chance.choice(rows))


def _system(maker: _Maker) -> None:
    sections = {maker.chance.choice(("skills", "cwd")): maker.chance.choice((None, maker.some(1, 20)))}
    tools: dict[str, Any] = (
        {"toolsAdded": [{"name": "edit", "parameters": {"2": 1.0, "1": []}}]} if maker.odds(0.3) else {}
    )
    tools |= {"toolsRemoved": [{"name": "read"}]} if maker.odds(0.2) else {}
    maker.message("system", content=maker.some(0, 10), sections=sections, **tools)


def _branch_summary(maker: _Maker) -> None:
    details = {"readFiles": ["old/read.md"], "modifiedFiles": []}
    summary = maker.chance.choice(("", maker.some(3, 60)))
    maker.add("branch_summary", fromId=maker.leaf or "root", summary=summary, details=details)


def _context_edit(maker: _Maker) -> None:
    rows = [maker.rows[n] for n in maker.path()]
    roles = ("user", "assistant", "toolResult")
    targets = [r for r in rows if r["type"] == "custom_message" or r.get("message", {}).get("role") in roles]
    if targets:
        new = {"content": maker.chance.choice((maker.some(0, 20), [{"type": "text", "text": maker.some(1, 20)}]))}
        target = maker.chance.choice(targets[:6])["id"]
        maker.add("context_edit", targetId=target, replacement=None if maker.odds(0.5) else new)


def _compaction(maker: _Maker) -> None:
    path = maker.path()
    kept = maker.chance.choice(path[: 1 + len(path) // 2])
    first = {"firstKeptEntryIndex": kept + 1} if maker.version == 1 else {"firstKeptEntryId": maker.rows[kept]["id"]}
    fields: dict[str, Any] = {"summary": "## Goal\n" + maker.some(2, 60), **first, "tokensBefore": 4321}
    if maker.odds(0.6):
        fields["details"] = {"readFiles": ["prior.md", "src/dock/crane.py"], "modifiedFiles": ["prior.py"]}
    fields |= {"fromHook": True} if maker.odds(0.2) else {}
    fields |= {"systemMessage": {**SYSTEM, "timestamp": 1772359200000}} if maker.odds(0.5) else {}
    maker.add("compaction", **fields)


def _go_back(maker: _Maker) -> None:
    if len(maker.rows) > 4:
        maker.leaf = maker.chance.choice(maker.rows)["id"]
