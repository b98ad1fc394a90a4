"""How fast a thousand sessions of all agents are listed; `make bench` prints the table.

COMPACTOR_BENCH_COLD=1 empties the page cache before each round, which needs Linux and root.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.grown import MEGABYTE, own_rows
from command_line import process_env
from pytest_benchmark.fixture import BenchmarkFixture

from compactor.session_list_file import list_sessions
from compactor.session_places_file import Wanted

FILES = 1000
SIZES = (20_000, 50_000, 80_000, 120_000, 200_000)
LARGE = 3 * MEGABYTE
"""Every fortieth file is that large."""

PROJECTS = 25
ROUNDS = 5


def pi_rows(number: int) -> Iterator[dict[str, Any]]:
    """A session that can go on for as long as it takes."""
    header, *body = own_rows()
    yield {**header, "id": f"{number:08x}-0000-7000-8000-000000000000", "cwd": f"/srv/harbor{number % PROJECTS}"}
    parent, made = None, 0
    while True:
        for row in body:
            made += 1
            yield {**row, "id": f"{made:08x}", "parentId": parent}
            parent = f"{made:08x}"


def claude_rows(number: int) -> Iterator[dict[str, Any]]:
    """The same talk as Claude Code writes it."""
    session, cwd = f"{number:08x}-0000-4000-8000-000000000000", f"/srv/harbor{number % PROJECTS}"
    parent = None
    for made, row in enumerate(pi_rows(number)):
        message = row.get("message")
        if message is None:
            continue
        role = "assistant" if message["role"] == "assistant" else "user"
        content = message["content"]
        if message["role"] == "toolResult":
            content = [{"type": "tool_result", "tool_use_id": message["toolCallId"], "content": content}]
        used = {"input_tokens": 3, "output_tokens": 90, "cache_read_input_tokens": 900}
        extra = {"id": f"msg_{made}", "usage": used} if role == "assistant" else {}
        known = {"type": role, "uuid": f"u{made}", "parentUuid": parent, "timestamp": row["timestamp"]}
        known |= {"sessionId": session, "cwd": cwd, "isSidechain": False}
        yield {**known, "message": {"role": role, "content": content, **extra}}
        parent = f"u{made}"


def codex_rows(number: int) -> Iterator[dict[str, Any]]:
    """The same talk as Codex writes it."""
    made = 0
    for row in pi_rows(number):
        message = row.get("message")
        payload: dict[str, Any]
        if message is None:
            kind, payload = "session_meta", {"id": row["id"], "cwd": row["cwd"], "source": "cli"}
        elif message["role"] == "toolResult":
            kind, payload = "response_item", {"type": "function_call_output", "output": message["content"][0]["text"]}
        else:
            kind, payload = "response_item", {"type": "message", "role": message["role"], "content": message["content"]}
        yield {"timestamp": row["timestamp"], "type": kind, "payload": payload}
        made += 100
        total = {"input_tokens": made, "output_tokens": 0, "total_tokens": made}
        info = {"total_token_usage": total, "last_token_usage": {**total, "total_tokens": 100}}
        yield {"timestamp": row["timestamp"], "type": "event_msg", "payload": {"type": "token_count", "info": info}}


def write(path: Path, rows: Iterator[dict[str, Any]], size: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        while file.tell() < size:
            file.write(json.dumps(next(rows), ensure_ascii=False, separators=(",", ":")).encode() + b"\n")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home folder with a thousand sessions: six of ten are Pi's, three Claude Code's, one Codex'."""
    root = tmp_path_factory.mktemp("home")
    for number in range(FILES):
        size = SIZES[number % len(SIZES)] if number % 40 else LARGE
        name, project = f"{number:08x}", f"harbor{number % PROJECTS}"
        if number % 10 < 6:
            path = root / ".pi" / "agent" / "sessions" / f"--srv-{project}--" / f"2026_{name}.jsonl"
            write(path, pi_rows(number), size)
        elif number % 10 < 9:
            path = root / ".claude" / "projects" / f"-srv-{project}" / f"{name}-0000-4000-8000-000000000000.jsonl"
            write(path, claude_rows(number), size)
        else:
            path = root / ".codex" / "sessions" / "2026" / "03" / f"{number % 28:02d}"
            write(
                path / f"rollout-2026-03-01T10-00-00-{name}-0000-7000-8000-000000000000.jsonl", codex_rows(number), size
            )
    return root


def megabytes(home: Path) -> float:
    return sum(path.stat().st_size for path in home.rglob("*.jsonl")) / MEGABYTE


def note_rate(benchmark: BenchmarkFixture, home: Path) -> None:
    """Adds the rate at the median time."""
    if benchmark.stats is not None:
        median = benchmark.stats.stats.median
        benchmark.extra_info["rate"] = f"{FILES / median:.0f} files/s, {megabytes(home) / median:.0f} MB/s"
        benchmark.extra_info["megabytes"] = round(megabytes(home))


def empty_page_cache() -> None:
    if os.environ.get("COMPACTOR_BENCH_COLD") == "1":
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3")


def test_list_a_thousand_sessions(benchmark: BenchmarkFixture, home: Path) -> None:
    wanted = Wanted(cwd="/srv/harbor1", env={"HOME": str(home), "USERPROFILE": str(home)}, is_all=True)
    found = benchmark.pedantic(list_sessions, (wanted,), setup=empty_page_cache, rounds=ROUNDS)
    note_rate(benchmark, home)
    assert len(found.sessions) == FILES and not found.skipped
    assert all(session.main.glance.is_whole for session in found.sessions)


def test_list_a_thousand_sessions_as_a_process(benchmark: BenchmarkFixture, home: Path) -> None:
    env = process_env({"HOME": str(home), "USERPROFILE": str(home), "CLAUDE_CONFIG_DIR": "", "CODEX_HOME": ""})
    words = [sys.executable, "-m", "evals", "sessions", "--all", "--json"]

    def listed() -> bytes:
        return subprocess.run(words, env=env, capture_output=True, check=True).stdout

    out = benchmark.pedantic(listed, setup=empty_page_cache, rounds=ROUNDS)
    note_rate(benchmark, home)
    assert sum(len(project["sessions"]) for project in json.loads(out)["projects"]) == FILES
