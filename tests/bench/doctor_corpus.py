"""The doctor on a whole corpus of session files: how many findings of each kind, file by file, and what --fix mends.

    python tests/bench/doctor_corpus.py DIR... [--output results/doctor]

Runs the diagnosis on every .jsonl file below the directories, repairs what is a session of Pi, and looks at the copies.
Writes run.json (every figure, no text of a session) and report.md. The remarks of the report are kept in this script.
"""

import argparse
import json
import platform
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from compactor.diagnosis import SEVERITIES, Diagnosis, diagnose, kind_of, repair
from compactor.errors import SessionError
from compactor.sessions_file import files_below

ROOT = Path(__file__).parents[2]
REMARKS = """\
Remarks

- No file that an agent wrote (`pi`, `claude-code`, `codex`) has an error. There are two warnings in them: a call
  without a result although the session goes on, where Pi compacted while the tool was running; and an edit of the
  context that takes out a result and leaves its call, in a session that was continued for tests.
- The sessions of `pi-generated` are random: calls lack results, edits take out halves of pairs, compactions keep a tail
  that starts with a tool result. The warnings are right; no agent would write such sessions.
- The files of `robustness` and `bugs` were damaged on purpose. Whether each damage is told with the right line is not
  counted here but tested (tests/test_diagnosis_lines.py). The files `events-…` are what `pi --mode json` prints, which
  is no session.
- What this corpus can't show: it has two chains of real compactions by Pi, neither with a loss. How often the two
  measures for losses between compactions (`previous_summary_lost`, `kept_messages_lost`) are wrong on real chains is
  not known; they are warnings for that reason. The one `previous_summary_lost` here is in a random session, whose
  summaries have nothing to do with each other. No summary in the corpus holds a credential, for its keys were replaced.
"""


def row(path: Path, root: Path) -> dict[str, Any]:
    """The figures of one file."""
    data = path.read_bytes()
    start_s = time.perf_counter()
    found = diagnose(data, path=str(path))
    elapsed_ms = (time.perf_counter() - start_s) * 1000
    return {
        "file": str(path.relative_to(root)),
        "bytes": len(data),
        "format": found.format,
        "entries": found.entries,
        "counts": found.counts,
        "codes": {s: dict(Counter(f.code for f in found.findings if f.severity == s)) for s in SEVERITIES},
        "elapsedMs": round(elapsed_ms, 1),
        "fix": fix_row(data, found),
    }


def fix_row(data: bytes, found: Diagnosis) -> dict[str, Any] | None:
    """What a repaired copy is like, None where there can be none."""
    try:
        made = repair(data, found)
    except SessionError:
        return None
    after = diagnose(made.content, path="copy")
    damage = [f for f in after.findings if f.severity == "error" and kind_of(f.code).family in ("file", "tree")]
    return {"changed": made.content != data, "counts": after.counts, "damage": len(damage), "entries": after.entries}


def report(run: dict[str, Any]) -> str:
    """The figures as Markdown."""
    files = run["files"]
    lines = [
        "# The doctor on the whole corpus",
        "",
        f"Made on {run['date'][:10]} by `{run['command']}`; every figure is in run.json.",
    ]
    lines += ["", "| folder | files | with errors | errors | warnings | notes |", "|---|---:|---:|---:|---:|---:|"]
    for folder in dict.fromkeys(Path(file["file"]).parts[0] for file in files):
        inside = [file for file in files if Path(file["file"]).parts[0] == folder]
        sums = [sum(file["counts"][severity] for file in inside) for severity in SEVERITIES]
        bad = sum(file["counts"]["error"] > 0 for file in inside)
        lines.append(f"| {folder} | {len(inside)} | {bad} | {' | '.join(map(str, sums))} |")
    lines += ["", "| finding | weight | findings | files |", "|---|---|---:|---:|"]
    for severity in SEVERITIES:
        total: Counter[str] = Counter()
        for file in files:
            total.update(file["codes"][severity])
        for code, count in total.most_common():
            lines.append(f"| {code} | {severity} | {count} | {sum(code in f['codes'][severity] for f in files)} |")
    fixed = [file for file in files if file["fix"] is not None]
    changed = [file for file in fixed if file["fix"]["changed"]]
    left = sum(file["fix"]["damage"] for file in fixed)
    same = len(fixed) - len(changed)
    told = f"Of {len(fixed)} sessions of Pi, `--fix` copied {same} byte for byte and changed {len(changed)}"
    lines += ["", f"{told}; errors of file or tree that are left in the copies: {left}.", "", REMARKS]
    lines += [
        "## File by file",
        "",
        "| file | entries | errors | warnings | notes | after --fix |",
        "|---|---:|---|---|---|---|",
    ]
    lines += [file_line(file) for file in files]
    return "\n".join(lines) + "\n"


def file_line(file: dict[str, Any]) -> str:
    """A row of the long table."""
    cells = [", ".join(f"{code} {n}" if n > 1 else code for code, n in file["codes"][s].items()) for s in SEVERITIES]
    after = (
        ""
        if file["fix"] is None
        else "the same bytes"
        if not file["fix"]["changed"]
        else _counts(file["fix"]["counts"])
    )
    return f"| {file['file']} | {file['entries']} | {' | '.join(cells)} | {after} |"


def _counts(counts: dict[str, int]) -> str:
    return (
        ", ".join(f"{number} {severity}{'s' if number > 1 else ''}" for severity, number in counts.items() if number)
        or "clean"
    )


def main(arguments: Sequence[str]) -> None:
    """Runs it and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "doctor")
    options = parser.parse_args(arguments)
    files = [
        {**found, "file": f"{folder.name}/{found['file']}"} if len(options.folders) > 1 else found
        for folder in options.folders
        for found in (row(Path(path), folder) for path in files_below(str(folder)))
    ]
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    run = {
        "command": "python tests/bench/doctor_corpus.py "
        + " ".join(f"DIR/{folder.name}" for folder in options.folders),
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": git.stdout.strip() or None,
        "machine": {"system": platform.platform()},
        "versions": {"compactor": version("compactor"), "python": platform.python_version()},
        "files": files,
    }
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "run.json").write_text(json.dumps(run, indent=1) + "\n", encoding="utf-8")
    (options.output / "report.md").write_text(report(run), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
