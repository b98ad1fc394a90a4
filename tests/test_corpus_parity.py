"""Every recorded answer of Pi 1.6.0 on the corpus is reproduced, field by field, when reading exactly as Pi does.

The corpus is not part of the project; without it the tests are skipped.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders import Outcome, plan_of

from compactor.entries import Session
from compactor.js_text import utf16_len
from compactor.messages import Message
from compactor.plan import CompactionPlan
from compactor.session_file import read_session
from compactor.tokens import should_compact
from compactor.transcript import transcript_size

SHARED = Path(__file__).parents[2] / "shared"
ANSWERS = SHARED / "oracle" / "answers.jsonl"


def recorded_cases() -> dict[str, list[dict[str, Any]]]:
    """The cases by session file; none without the corpus."""
    cases: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if ANSWERS.exists():
        for line in ANSWERS.read_text(encoding="utf-8").splitlines():
            case = json.loads(line)
            cases[case["file"]].append(case)
    return cases


CASES = recorded_cases()
NO_CORPUS = pytest.param(None, marks=pytest.mark.skip(reason="skipped: no corpus"))


def summarized(plan: CompactionPlan, span: range) -> Iterator[Message]:
    for n in span:
        yield from (m for m in plan.measured.projection.entries[n].messages() if m.role != "system")


def answer_of(session: Session, arguments: dict[str, Any]) -> dict[str, Any]:
    """Our answer to one case, in the fields of the recorded one."""
    reserve, window = arguments["reserve"], arguments["window"]
    limits = {"reserve_tokens": reserve, "context_window": window}
    outcome = plan_of(session, keep=arguments["keep"], leaf=arguments["leaf"], exact=True, settings=limits)
    measures, context = outcome.measured.measures, outcome.context
    return {
        "branchEntries": len(outcome.measured.projection.branch.entries),
        "contextEntries": len(measures),
        "messages": sum(len(m.roles) for m in measures),
        "roles": dict(Counter(role for m in measures for role in m.roles)),
        "messageTokens": sum(m.tokens for m in measures),
        "contextTokens": context.tokens,
        "usageTokens": context.usage_tokens,
        "trailingTokens": context.trailing_tokens,
        "shouldCompact": should_compact(context.tokens, context_window=window, reserve_tokens=reserve),
        "plan": plan_answer(outcome),
    }


def plan_answer(outcome: Outcome) -> dict[str, Any] | None:
    plan = outcome.plan
    if not isinstance(plan, CompactionPlan):
        return None
    history = transcript_size(summarized(plan, plan.history))
    prefix = transcript_size(summarized(plan, plan.turn_prefix))
    return {
        "firstKept": f"#{plan.first_kept.index}",
        "isSplitTurn": plan.is_split_turn,
        "messagesToSummarize": plan.history_messages,
        "turnPrefixMessages": plan.prefix_messages,
        "tokensBefore": plan.tokens_before,
        "previousSummaryChars": None if plan.previous_summary is None else utf16_len(plan.previous_summary),
        "readFiles": list(plan.files.read_files),
        "modifiedFiles": list(plan.files.modified_files),
        "historyChars": history.chars,
        "historySha256": history.sha256,
        "prefixChars": prefix.chars,
        "prefixSha256": prefix.sha256,
    }


def as_recorded(answer: dict[str, Any], ours: dict[str, Any]) -> dict[str, Any]:
    """The recorded answer, less the fields that tell of the summary and not of the plan."""
    kept = {name: answer[name] for name in ours}
    if kept["plan"] is not None and ours["plan"] is not None:
        kept["plan"] = {name: kept["plan"][name] for name in ours["plan"]}
    return kept


@pytest.mark.parametrize("file", sorted(CASES) or [NO_CORPUS])
def test_every_figure_of_a_session_is_the_one_that_pi_gives(file: str) -> None:
    session = read_session(str(SHARED / "corpus" / file), exact=True)
    for case in CASES[file]:
        ours = answer_of(session, case["args"])
        assert ours == as_recorded(case["answer"], ours), case["args"]
