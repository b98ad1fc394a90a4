"""What the commands print for fixed sessions, byte for byte; `make golden` writes it anew, a person reads the diff.

The sessions in tests/golden are never made anew: they are what older programs wrote. Of the recorded sessions beside
the checkout only figures and digests are kept here.
"""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from command_line import Ran, run
from conftest import CHECKOUT

GOLDEN = CHECKOUT / "tests" / "golden"
WRITE = bool(os.environ.get("COMPACTOR_WRITE_GOLDEN"))

OWN = sorted([*GOLDEN.glob("*.jsonl"), CHECKOUT / "tests" / "data" / "demo-session.jsonl"])
OPTIONS = ("--context-window", "24000", "--reserve-tokens", "6000", "--keep-recent-tokens", "200")
RECORDED = (
    "edc-real-long-session-v3.jsonl",
    "pi-mono-before-compaction-v1.jsonl",
    "derived-v2-pr214-branch-summary.jsonl",
    "pi-mono-large-session-v1.jsonl",
)
RECORDED_OPTIONS = ("--context-window", "200000", "--reserve-tokens", "16384", "--keep-recent-tokens", "8000")
FIGURES = ("entries", "branchEntries", "contextEntries", "messages", "messageTokens", "contextTokens", "shouldCompact")
CUT_FIGURES = ("firstKept", "isSplitTurn", "messagesToSummarize", "turnPrefixMessages", "keptMessages", "keptTokens")


def matches(path: Path, text: str) -> None:
    """Asserts that the golden file holds the text, or writes it."""
    if WRITE:
        path.write_bytes(text.encode())
    assert path.read_bytes().decode() == text, f"{path.name} differs; if that is meant: make golden"


def plan_of(path: Path, *options: str) -> dict[str, Any]:
    """The plan as JSON, with the name of the session in place of its path."""
    done = succeeded(run("plan", path, "--json", *options))
    (found,) = done.objects
    found["session"]["path"] = path.name
    return found


def succeeded(done: Ran) -> Ran:
    """The command's output, if it did its work."""
    assert done.code == 0, done.err
    return done


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
@pytest.mark.parametrize("mode", ["plan", "exact"])
def test_plan(path: Path, mode: str) -> None:
    found = plan_of(path, *OPTIONS, *(("--exact-pi",) if mode == "exact" else ()))
    matches(GOLDEN / f"{path.stem}.{mode}.json", json.dumps(found, ensure_ascii=False, indent=2) + "\n")


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_plan_for_people(path: Path) -> None:
    done = succeeded(run("plan", path, *OPTIONS))
    matches(GOLDEN / f"{path.stem}.plan.txt", done.out.replace(str(path), path.name))


@pytest.mark.parametrize("path", OWN, ids=lambda path: path.stem)
def test_extractive_summary(path: Path) -> None:
    done = succeeded(run("compact", path, *OPTIONS))
    matches(GOLDEN / f"{path.stem}.summary.md", done.out)


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_session(shared: Path, name: str) -> None:
    path = shared / "corpus" / "pi" / name
    plan = plan_of(path, *RECORDED_OPTIONS)
    summary = succeeded(run("compact", path, *RECORDED_OPTIONS)).out
    digests = {
        "sessionSha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        **{figure: plan[figure] for figure in FIGURES},
        **{figure: plan["plan"][figure] for figure in CUT_FIGURES},
        "explanation": [reason["code"] for reason in plan["explanation"]],
        "warnings": [warning["code"] for warning in plan["warnings"]],
        "planSha256": hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest(),
        "summaryChars": len(summary),
        "summarySha256": hashlib.sha256(summary.encode()).hexdigest(),
    }
    matches(GOLDEN / "corpus" / f"{path.stem}.json", json.dumps(digests, indent=2) + "\n")


def test_every_golden_file_is_looked_at() -> None:
    kinds = ("plan.json", "exact.json", "plan.txt", "summary.md")
    expected = {f"{path.stem}.{kind}" for path in OWN for kind in kinds} | {
        path.name for path in GOLDEN.glob("*.jsonl")
    }
    assert {path.name for path in GOLDEN.iterdir() if path.is_file()} == expected
    assert {path.stem for path in (GOLDEN / "corpus").iterdir()} == {Path(name).stem for name in RECORDED}
