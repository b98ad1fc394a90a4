"""Pi and compactor side by side: wall time and peak memory of planning the same large sessions, as whole processes.

    COMPACTOR_PI_DIR=DIR python tests/bench/compare_with_pi.py [--rounds 5] [--megabytes 10 100] [--output DIR]

Runs, in turn and in a fresh process each time, Pi's own loader and `prepareCompaction` (pi_plan.mjs), the same with the
figures that `plan --json` has, `compactor plan` and `compactor plan --json`; then start-up.
Writes run.json (every measurement) and report.md (medians and ratios).
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.grown import MEGABYTE, source_names
from differential.real_pi import SKIP_REASON, PiInstall, find_pi

ROOT = Path(__file__).parents[2]
PI_SCRIPT = Path(__file__).with_name("pi_plan.mjs")
HELP_LIMIT_MS = 150
PLAN_1_MB_LIMIT_MS = 400
BESIDE = {"plan": "pi", "plan --json": "pi, all figures"}
"""Each command of ours, and what of Pi does the same work or less."""
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
"""An installed package has its byte code; in a checkout the first round, which does not count, writes it."""
LINEAR_SLACK = 1.25
"""Time may grow this much faster than the file before it is no longer called linear."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One process, from its start to its end."""

    subject: str
    """A command of `planners`, or a start-up command."""
    session: str
    megabytes: float
    wall_ms: float
    cpu_ms: float
    peak_mb: float
    """Largest resident set, in 10**6 bytes."""
    first_kept: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A command to measure."""

    name: str
    command: list[str]
    first_kept: Callable[[bytes], str | None] = lambda output: None


def run(subject: Subject, session: str, megabytes: float) -> Measurement:
    """Runs a command once.

    Raises:
        SystemExit: it failed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.perf_counter()
        process = subprocess.Popen(subject.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=ENVIRONMENT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            sys.exit(f"{subject.name} ended with {process.returncode}: {err.read()[-400:].decode('utf-8', 'replace')}")
        unit = 1 if sys.platform == "darwin" else 1024
        return Measurement(
            subject=subject.name,
            session=session,
            megabytes=megabytes,
            wall_ms=wall * 1000,
            cpu_ms=(usage.ru_utime + usage.ru_stime) * 1000,
            peak_mb=usage.ru_maxrss * unit / MEGABYTE,
            first_kept=subject.first_kept(out.read()),
        )


def compactor_command() -> list[str]:
    """The console script beside this Python, else the one on PATH."""
    beside = Path(sys.executable).with_name("compactor")
    found = str(beside) if beside.exists() else shutil.which("compactor")
    if found is None:
        sys.exit("expected an installed `compactor` command, found none; run `make venv` first")
    return [found]


def planners(install: PiInstall, session: Path) -> list[Subject]:
    """The commands that plan a session."""
    ours = [*compactor_command(), "plan", str(session)]
    pi = [install.node, str(PI_SCRIPT), str(install.folder), str(session)]
    return [
        Subject(name="pi", command=pi, first_kept=_first_kept_of_pi),
        Subject(name="pi, all figures", command=[*pi, "--figures"], first_kept=_first_kept_of_pi),
        Subject(name="plan", command=ours),
        Subject(name="plan --json", command=[*ours, "--json"], first_kept=_first_kept_of_plan),
    ]


def _first_kept_of_pi(output: bytes) -> str | None:
    found: str | None = json.loads(output)["firstKept"]
    return found


def _first_kept_of_plan(output: bytes) -> str | None:
    plan = json.loads(output)["plan"]
    return None if plan is None else str(plan["firstKept"])


def grow_apart(name: str, path: Path, megabytes: int) -> None:
    """Makes the file in another process: a child's peak starts at what its parent has, so this one stays small."""
    script = Path(__file__).with_name("grown.py")
    subprocess.run([sys.executable, str(script), name, str(path), str(megabytes)], check=True)


def measure_sizes(install: PiInstall, megabytes: Sequence[int], rounds: int, folder: Path) -> list[Measurement]:
    """All rounds over all files; the subjects take turns, so that a slow minute of the machine hits all of them."""
    found: list[Measurement] = []
    for name in source_names():
        for size in megabytes:
            path = folder / f"{name}-{size}.jsonl"
            grow_apart(name, path, size)
            for number in range(rounds + 1):
                round_found = [run(subject, name, size) for subject in planners(install, path)]
                _talk(f"{name} {size} MB round {number}", round_found)
                found += round_found if number else []  # the first round only warms the page cache
            path.unlink()
    return found


def measure_startup(rounds: int, folder: Path) -> list[Measurement]:
    """`--help` and a plan of 1 MB, with bare Python as the floor."""
    name = source_names()[0]
    path = folder / "small.jsonl"
    grow_apart(name, path, 1)
    ours = compactor_command()
    subjects = [
        Subject(name="python -c pass", command=[sys.executable, "-c", "pass"]),
        Subject(name="compactor --help", command=[*ours, "--help"]),
        Subject(name="compactor plan, 1 MB", command=[*ours, "plan", str(path)]),
    ]
    found: list[Measurement] = []
    for number in range(2 * rounds + 1):
        round_found = [run(subject, name, 1) for subject in subjects]
        _talk(f"start-up round {number}", round_found)
        found += round_found if number else []
    return found


def _talk(label: str, found: Sequence[Measurement]) -> None:
    parts = (f"{m.subject} {m.wall_ms:.0f} ms {m.peak_mb:.0f} MB" for m in found)
    print(f"{label}: {', '.join(parts)}", file=sys.stderr)


def median(found: Sequence[Measurement], field: str, **where: Any) -> float:
    """The median of a field over the measurements that match."""
    values = [float(getattr(m, field)) for m in found if all(getattr(m, k) == v for k, v in where.items())]
    return statistics.median(values)


def machine() -> dict[str, Any]:
    """What it ran on."""
    cpu = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        cpu = names[0] if names else cpu
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / MEGABYTE
    return {
        "system": platform.platform(),
        "cpu": cpu,
        "cores": os.cpu_count(),
        "memoryMb": round(memory),
        "load": round(os.getloadavg()[0], 1),
    }


def versions(install: PiInstall) -> dict[str, str]:
    """Of everything that takes part."""
    node = subprocess.run([install.node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    own = {name: version(name) for name in ("compactor", "msgspec", "click")}
    return {**own, "python": platform.python_version(), "pi": install.version, "node": node}


def commit() -> dict[str, Any]:
    """The commit that was measured, and whether the tree had changes."""

    def git(*arguments: str) -> str | None:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    return {"commit": git("rev-parse", "--verify", "-q", "HEAD"), "changed": bool(git("status", "--porcelain"))}


def targets(
    found: Sequence[Measurement], startup: Sequence[Measurement], megabytes: Sequence[int]
) -> list[dict[str, Any]]:
    """Each target with the value reached, worst session first."""
    names = sorted({m.session for m in found})
    small, large = min(megabytes), max(megabytes)
    reached: list[dict[str, Any]] = []
    for field, label in (("wall_ms", "time"), ("peak_mb", "peak memory")):
        worst = max(
            median(found, field, subject="plan", session=n, megabytes=large)
            / median(found, field, subject="pi", session=n, megabytes=large)
            for n in names
        )
        reached.append({"target": f"plan of {large} MB: {label} at most half of Pi's", "value": worst, "limit": 0.5})
    growth = max(
        median(found, "wall_ms", subject="plan", session=n, megabytes=large)
        / median(found, "wall_ms", subject="plan", session=n, megabytes=small)
        for n in names
    )
    limit = large / small * LINEAR_SLACK
    reached.append(
        {"target": f"time from {small} to {large} MB grows linearly (factor)", "value": growth, "limit": limit}
    )
    for subject, limit_ms in (("compactor --help", HELP_LIMIT_MS), ("compactor plan, 1 MB", PLAN_1_MB_LIMIT_MS)):
        value = median(startup, "wall_ms", subject=subject)
        reached.append({"target": f"{subject} (ms)", "value": value, "limit": limit_ms})
    return [{**r, "value": round(r["value"], 3), "met": r["value"] <= r["limit"]} for r in reached]


def report(result: dict[str, Any], found: Sequence[Measurement], startup: Sequence[Measurement]) -> str:
    """The tables of report.md."""
    where = result["machine"]
    used = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    lines = [
        "# Planning large sessions: compactor beside Pi",
        "",
        f"Whole processes, medians of {result['rounds']} rounds taken in turn after one that warms the page cache. Pi",
        "is its own loader and `prepareCompaction` in a fresh node. The sessions are grown from shorter ones; MB are",
        "10^6 bytes. `plan` is set against `pi`, `plan --json` against `pi, all figures`, which counts and hashes the",
        "same. A peak below that of the measuring script (about 20 MB) can't be seen.",
        "",
        f"{where['cpu']}, {where['cores']} cores, {where['memoryMb']} MB, {where['system']};",
        f"load {where['load']} at the start. {used}.",
        f"Command: `{result['command']}`; every measurement is in run.json.",
        "",
        "| session | MB | command | time, ms | of Pi's | peak, MB | of Pi's | CPU, ms | range of time, ms |",
        "|---|---:|---|---:|---:|---:|---:|---:|---|",
    ]
    for name, size, subject in dict.fromkeys((m.session, m.megabytes, m.subject) for m in found):
        chosen = {"session": name, "megabytes": size}
        wall, peak = (median(found, field, subject=subject, **chosen) for field in ("wall_ms", "peak_mb"))
        beside = BESIDE.get(subject, subject)
        wall_pi, peak_pi = (median(found, field, subject=beside, **chosen) for field in ("wall_ms", "peak_mb"))
        times = [m.wall_ms for m in found if (m.session, m.megabytes, m.subject) == (name, size, subject)]
        cpu = median(found, "cpu_ms", subject=subject, **chosen)
        ratios = f"{wall / wall_pi:.2f} | {peak:.0f} | {peak / peak_pi:.2f} | {cpu:.0f}"
        lines.append(f"| {name} | {size} | {subject} | {wall:.0f} | {ratios} | {min(times):.0f} to {max(times):.0f} |")
    lines += ["", "| start-up | time, ms | peak, MB |", "|---|---:|---:|"]
    for subject in dict.fromkeys(m.subject for m in startup):
        wall, peak = (median(startup, field, subject=subject) for field in ("wall_ms", "peak_mb"))
        lines.append(f"| {subject} | {wall:.0f} | {peak:.0f} |")
    lines += ["", "| target | reached | limit | |", "|---|---:|---:|---|"]
    for target in result["targets"]:
        met = "met" if target["met"] else "missed"
        lines.append(f"| {target['target']} | {target['value']:.2f} | {target['limit']:g} | {met} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measures, and writes both files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--megabytes", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--output", type=Path, default=ROOT / "results" / "speed")
    chosen = parser.parse_args()
    install = find_pi()
    if install is None:
        sys.exit(SKIP_REASON)
    where = machine()  # before the load that the measurements make
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    with tempfile.TemporaryDirectory() as folder:
        found = measure_sizes(install, chosen.megabytes, chosen.rounds, Path(folder))
        startup = measure_startup(chosen.rounds, Path(folder))
    options = f"--rounds {chosen.rounds} --megabytes {' '.join(map(str, chosen.megabytes))}"
    result = {
        "command": f"python tests/bench/compare_with_pi.py {options}",
        "date": started,
        **commit(),
        "rounds": chosen.rounds,
        "machine": where,
        "versions": versions(install),
        "sameCut": _same_cut(found),
        "targets": targets(found, startup, chosen.megabytes),
        "measurements": [asdict(m) for m in (*found, *startup)],
    }
    chosen.output.mkdir(parents=True, exist_ok=True)
    (chosen.output / "run.json").write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    (chosen.output / "report.md").write_text(report(result, found, startup), encoding="utf-8")
    print(report(result, found, startup))


def _same_cut(found: Sequence[Measurement]) -> bool:
    """True when Pi and compactor kept from the same entry in every file."""
    cuts: dict[tuple[str, float], set[str | None]] = {}
    for m in found:
        if m.subject in ("pi", "plan --json"):
            cuts.setdefault((m.session, m.megabytes), set()).add(m.first_kept)
    return all(len(firsts) == 1 for firsts in cuts.values())


if __name__ == "__main__":
    main()
