"""Every counter on every real session: how far off it is, what its kept tails really hold, how late it would trigger.

    python tests/bench/judge_counters.py FILE_OR_FOLDER... [--output results/tokens]

Takes session files of any format; keeps those with enough reported usage, each session once. Writes run.json (every
figure), report.md and, with the extra `charts`, steps.svg. `calibrated` is judged three times: with the shipped priors,
which were fitted on some of these sessions; with priors fitted on all other sessions, so that nothing of a session is
known beforehand; and with no more than the general ones. Every step is predicted before it is learnt from.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.compare_with_pi import commit, machine
from fit_token_priors import Fitted, fitted, priors

from compactor.branch import Branch, active_branch, find_leaf
from compactor.calibration import Calibration, calibrate
from compactor.entries import Session
from compactor.errors import CompactorError
from compactor.message_measure import context_size
from compactor.messages import Usage
from compactor.plan import CompactionPlan
from compactor.planned import plan_branch
from compactor.priors_file import priors_in, priors_of
from compactor.session_file import read_session
from compactor.sessions_file import files_below
from compactor.settings import CompactionSettings
from compactor.step_errors import StepErrors, step_errors
from compactor.tokens import Counter, PiCounter, TokenizerCounter
from compactor.usage_steps import Step
from compactor.views.tokens import tokens_view
from compactor.vocabulary_file import text_counter

ROOT = Path(__file__).parents[2]

MIN_COUNTED = 10
"""Steps after the warm-up that a session must have."""

KEEP_TOKENS = 20_000
CUTS = 25
"""Cuts of a session, evenly along it."""

SHARES = (0.5, 0.75, 0.9)
"""Of the session's largest context: thresholds at which a trigger is judged."""

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One session that reports enough."""

    name: str
    session: Session
    branch: Branch
    calibration: Calibration
    """With the shipped priors."""


def cases(arguments: Sequence[str], count: Count) -> Iterator[Case]:
    """The sessions with enough steps, each id and size once."""
    paths = [path for argument in arguments for path in (files_below(argument) or [argument])]
    seen: set[tuple[str, int]] = set()
    for path in paths:
        try:
            session = read_session(path)
        except CompactorError:
            continue
        branch = active_branch(session, find_leaf(session, None))
        made = calibrate(branch.entries, count, priors_of)
        errors = made.counter.errors
        key = (session.header.id, len(made.predicted))
        if errors is None or errors.steps < MIN_COUNTED or key in seen:
            continue
        seen.add(key)
        yield Case(name=Path(path).name, session=session, branch=branch, calibration=made)


def errors_json(errors: StepErrors) -> dict[str, Any]:
    return {
        "steps": errors.steps,
        "predicted": round(errors.predicted),
        "reported": errors.reported,
        "ratio": errors.ratio,
        "medianStepError": errors.median,
        "p90StepError": errors.p90,
    }


def judged(case: Case, fits: Sequence[Fitted], count: Count, others: Sequence[Counter]) -> dict[str, Any]:
    """The errors of every counter on a session."""
    view = tokens_view(case.session, case.branch, case.calibration.counter, case.calibration, others)
    found = {name: errors_json(errors.whole) for name, errors in view.errors.items()}
    apart = [fit for fit in fits if not same_session(fit.file, case.name)]
    for name, known in (("calibrated, others' priors", apart), ("calibrated, general priors", [])):
        start = partial(priors_in, priors(known))
        pairs = [(p.tokens, p.step.growth_tokens) for p in calibrate(case.branch.entries, count, start).predicted]
        found[name] = errors_json(step_errors(pairs))
    return found


def same_session(one: str, other: str) -> bool:
    """True also for a session that was continued from the other: such files are named `derived-`."""
    if one == other:
        return True
    stems = [name.removeprefix("derived-").split("-")[1] for name in (one, other) if name.startswith("derived-")]
    return any(stem in one and stem in other for stem in stems)


def tails(case: Case, counter_of: Callable[[Branch], Counter]) -> dict[str, Any] | None:
    """What kept tails of `KEEP_TOKENS` really hold, over many cuts, by the sizes that the provider reported."""
    settings = CompactionSettings(keep_recent_tokens=KEEP_TOKENS, reserve_tokens=0)
    steps = [p.step for p in case.calibration.predicted]
    sizes, over = [], []
    for n in range(1, CUTS + 1):
        step = steps[min(len(steps) - 1, n * len(steps) // CUTS)]
        leaf = case.session.entries[step.entries[-1]]
        branch = active_branch(case.session, leaf)
        plan = plan_branch(case.session, branch, counter_of(branch), settings).plan
        real = real_tail(plan, steps, step) if isinstance(plan, CompactionPlan) else None
        if real is not None:
            sizes.append(real[0])
            over.append(abs(real[0] - KEEP_TOKENS) <= 0.1 * KEEP_TOKENS + real[1])
    if not sizes:
        return None
    return {"cuts": len(sizes), "median": median(sizes), "least": min(sizes), "most": max(sizes),
            "within": sum(over) / len(over)}  # fmt: skip


def real_tail(plan: CompactionPlan, steps: Sequence[Step], last: Step) -> tuple[int, int] | None:
    """Reported tokens from the first kept entry to the last reply, and those of the largest message around the cut.

    Known where the first kept entry is a reply of a step, or what was sent first after a reply; None elsewhere, and
    where something in between is not known.
    """
    first = plan.first_kept.index
    inside = [step for step in steps if step.entries[-1] >= first and step.entries[-1] <= last.entries[-1]]
    if not inside or inside[0].before_entry >= first:
        return None
    ends = [step.context_tokens - step.growth_tokens for step in inside[1:]]
    if ends != [step.context_tokens for step in inside[:-1]]:
        return None
    start = inside[0]
    largest = max(start.sent_tokens, start.written_tokens)
    if first == start.entries[-1]:
        return last.context_tokens - start.context_tokens + start.written_tokens, largest
    if first == start.entries[0]:
        return last.context_tokens - start.context_tokens + start.growth_tokens, largest
    return None


def lateness(case: Case, count: Count, others: Sequence[Counter]) -> list[dict[str, Any]]:
    """For thresholds along the session: how many replies later a counter alone would see that they were passed.

    The counters sum up their own counts from the first reported size on, as an agent without usage figures does.
    """
    view = tokens_view(case.session, case.branch, case.calibration.counter, case.calibration, others)
    reported = [p.step.context_tokens for p in case.calibration.predicted]
    turns = [sum(m.role == "user" for m in p.step.messages) for p in case.calibration.predicted]
    found = []
    for share in SHARES:
        threshold = share * max(reported)
        due = next(n for n, tokens in enumerate(reported) if tokens > threshold)
        late = {}
        for name, errors in view.errors.items():
            at = next((n for n, tokens in enumerate(errors.context) if tokens > threshold), None)
            gone = None if at is None else at - due
            late[name] = {"replies": gone, "turns": None if at is None else sum(turns[min(due, at) : max(due, at)])}
        found.append({"share": share, "threshold": round(threshold), "replyOfAll": [due, len(reported)], "late": late})
    return found


def figures(case: Case, fits: Sequence[Fitted], count: Count) -> dict[str, Any]:
    """All that is found out about a session."""
    others: list[Counter] = [
        PiCounter(),
        TokenizerCounter(name="o200k", count=count),
        TokenizerCounter(name="cl100k", count=text_counter("cl100k_base")),
    ]
    last = case.calibration.predicted[-1].step
    usage = last.reply.usage or Usage()
    return {
        "session": case.name,
        "format": case.session.format,
        "model": f"{last.model.provider}/{last.model.model_id}",
        "context": context_size(usage),
        "notSteps": dict(case.calibration.walk.gaps),
        "cutOutputs": sum(p.is_cut for p in case.calibration.predicted),
        "counters": judged(case, fits, count, others),
        "tails": {
            "pi": tails(case, lambda branch: PiCounter()),
            "calibrated": tails(case, lambda branch: calibrate(branch.entries, count, priors_of).counter),
        },
        "lateness": lateness(case, count, others),
    }


def report(result: Mapping[str, Any]) -> str:
    """The figures as tables."""
    rows = result["sessions"]
    made = f"Made by `{result['command']}` on {result['date'][:10]}, commit {result['commit'][:8]}."
    lines = [
        "# Token counters, judged by the usage that sessions report",
        "",
        made,
        "",
        "A step is the growth of the reported context from one reply to the next; the first 20 steps of a session are",
        "not counted. Each cell has the ratio (predicted tokens a reported one) and the error of the median step.",
        "`calibrated` predicts every step before it learns from it. Its shipped priors were fitted on some of these",
        "sessions; *others' priors* were fitted anew for each session without it and what was continued from it, so",
        "nothing of the session was known beforehand.",
        "",
        "| session | model | steps | " + " | ".join(COLUMNS) + " |",
        "|---|---|---:|" + "---:|" * len(COLUMNS),
    ]
    for row in rows:
        cells = [f"{c['ratio']:.2f}, {c['medianStepError']:.0%}" for c in (row["counters"][name] for name in COLUMNS)]
        steps = row["counters"]["pi"]["steps"]
        lines.append(f"| {row['session']} | {row['model']} | {steps} | " + " | ".join(cells) + " |")
    lines += ["", *_kept_lines(rows), "", *_late_lines(rows), "", *REMARKS, ""]
    return "\n".join(lines)


COLUMNS = ("pi", "o200k", "cl100k", "calibrated", "calibrated, others' priors", "calibrated, general priors")

REMARKS = (
    "## What can't be modelled",
    "",
    "- Reasoning that is billed as output and of which the file holds neither text nor signature. The counter goes",
    "  halfway from the typical to the average reply; single replies can be far off, sums are not.",
    "- Outputs of Claude Code are often those of the start of the stream (`cutOutputs` in run.json). They are found",
    "  by comparing them with the reply's own text, and what they lack is expected in the next step. The context that",
    "  is reported right after such a reply is too small by the reply; nothing here corrects it.",
    "- What an agent adds unseen (reminders, changed files) is in the constant of a message; a large one surprises.",
    "- A context that falls (results cleared, reasoning dropped at a new turn) makes no step that can be judged; such",
    "  replies are counted in `notSteps` in run.json. What is dropped of reasoning is learnt from them.",
)


def _kept_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## What a kept tail of 20,000 tokens really holds"
    yield ""
    yield "By the provider's figures, at the median over cuts along the session; *within* is the share of cuts that are"
    yield "at most 10 % and one message off. Cuts where the real size is not known are left out."
    yield ""
    yield "| session | cuts | pi: median | range | within | calibrated: median | range | within |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        pi, ours = row["tails"]["pi"], row["tails"]["calibrated"]
        if pi and ours:
            cells = [f"{t['median']:,.0f} | {t['least']:,} to {t['most']:,} | {t['within']:.0%}" for t in (pi, ours)]
            yield f"| {row['session']} | {pi['cuts']}, {ours['cuts']} | {' | '.join(cells)} |"


def _late_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## How late a trigger comes that goes by counted text alone"
    yield ""
    yield "Replies (and turns of the user) after the context really passed a share of the session's largest one until"
    yield "the counter alone sees it; `never`: not within the session; below zero: too early."
    yield ""
    yield "| session | 50 %: pi | calibrated | 75 %: pi | calibrated | 90 %: pi | calibrated |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for row in rows:
        cells = [_late(at["late"][name]) for at in row["lateness"] for name in ("pi", "calibrated")]
        yield f"| {row['session']} | {' | '.join(cells)} |"


def _late(found: Mapping[str, Any]) -> str:
    return "never" if found["replies"] is None else f"{found['replies']} ({found['turns']})"


def chart(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Ratio and median error of each counter on each session, as a Vega-Lite specification."""
    values = [
        {"session": row["session"], "counter": name, "ratio": found["ratio"], "error": found["medianStepError"]}
        for row in rows
        for name in ("pi", "o200k", "calibrated")
        for found in [row["counters"][name]]
    ]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "data": {"values": values},
        "width": 420,
        "mark": {"type": "point", "filled": True, "size": 70},
        "encoding": {
            "y": {"field": "session", "type": "nominal", "title": None},
            "x": {"field": "error", "type": "quantitative", "title": "error of the median step",
                  "axis": {"format": "%"}},
            "color": {"field": "counter", "type": "nominal", "sort": ["pi", "o200k", "calibrated"]},
            "shape": {"field": "counter", "type": "nominal", "sort": ["pi", "o200k", "calibrated"]},
        },
    }  # fmt: skip


def main() -> int:
    """Judges, writes and tells."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--output", default=str(ROOT / "results" / "tokens"))
    options = parser.parse_args()
    count = text_counter("o200k_base")
    found = list(cases(options.paths, count))
    fits = fitted([case.session.path for case in found], count)
    rows = []
    for case in found:
        rows.append(figures(case, fits, count))
        ours = rows[-1]["counters"]["calibrated"]
        print(f"{case.name}: ratio {ours['ratio']:.3f}, median {ours['medianStepError']:.3f}", file=sys.stderr)
    names = [Path(path).name for path in options.paths]
    result = {
        "command": f"python tests/bench/judge_counters.py {' '.join(names)}",
        "date": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        **commit(),
        "machine": machine(),
        "sessions": rows,
    }
    folder = Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (folder / "report.md").write_text(report(result), encoding="utf-8")
    from compactor.chart_file import chart_svg

    (folder / "steps.svg").write_bytes(chart_svg(chart(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
