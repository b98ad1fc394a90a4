"""One case of a session, answered by compactor in the fields that Pi's own code is asked for."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from compactor.cli import group

REPLY = "## Goal\nA fixed reply, the same for every request."
CONTEXT_FIELDS = (
    "branchEntries", "contextEntries", "messages", "roles", "messageTokens", "contextTokens", "usageTokens",
    "trailingTokens", "shouldCompact",
)  # fmt: skip
PLAN_FIELDS = (
    "firstKept", "isSplitTurn", "messagesToSummarize", "turnPrefixMessages", "tokensBefore", "previousSummaryChars",
    "readFiles", "modifiedFiles", "historyChars", "historySha256", "prefixChars", "prefixSha256",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question: which leaf, and which settings."""

    leaf: int | None
    """Position after the header; None is the last entry."""
    keep: int
    reserve: int
    window: int

    def options(self) -> list[str]:
        """The case as options of a command."""
        leaf = [] if self.leaf is None else ["--leaf", f"#{self.leaf}"]
        numbers = {"keep-recent": self.keep, "reserve": self.reserve}
        budgets = [text for name, value in numbers.items() for text in (f"--{name}-tokens", str(value))]
        return [*leaf, *budgets, "--context-window", str(self.window), "--exact-pi", "--json"]

    def job(self) -> dict[str, Any]:
        """The case as Pi's side is asked."""
        return {**asdict(self), "reply": REPLY}


def our_answer(path: Path, case: Case) -> dict[str, Any]:
    """What `compactor plan` and `compactor compact` say, in the shape of Pi's answer."""
    result = CliRunner().invoke(group, ["plan", str(path), *case.options()])
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    found = json.loads(result.stdout)
    answer = {name: found[name] for name in CONTEXT_FIELDS}
    plan = found["plan"]
    answer["plan"] = None if plan is None else {name: plan[name] for name in PLAN_FIELDS}
    answer["compaction"] = None if plan is None else _compaction(path, case)
    return answer


def _compaction(path: Path, case: Case) -> dict[str, Any]:
    script = path.with_name("replies.json")
    script.write_text(json.dumps([REPLY]), encoding="utf-8")
    client = ["--client", "scripted", "--script", str(script)]
    result = CliRunner().invoke(group, ["compact", str(path), *case.options(), *client])
    assert result.exit_code == 0, (result.output, result.stderr, result.exception)
    events = [json.loads(line) for line in result.stdout.split("\n") if line]
    done = next(event["result"] for event in events if event["type"] == "compaction_end")
    return {"summary": done["summary"], "estimatedTokensAfter": done["estimatedTokensAfter"]}


def pi_answer(answer: dict[str, Any]) -> dict[str, Any]:
    """Pi's answer, less what has no counterpart in ours."""
    plan, done = answer["plan"], answer["compaction"]
    kept = None if done is None else {name: done[name] for name in ("summary", "estimatedTokensAfter")}
    return {**answer, "plan": None if plan is None else {n: plan[n] for n in PLAN_FIELDS}, "compaction": kept}
