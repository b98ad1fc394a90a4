"""The real `pi` command continues a session that compactor compacted: what reaches the model's server is checked.

Skipped where Pi is not installed. The server is a real one on loopback that answers every request with one line.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from differential.real_pi import SKIP_REASON, PiInstall, find_pi
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from compactor.branch import active_branch, find_leaf
from compactor.cli import group
from compactor.projection import project
from compactor.session_file import read_session
from compactor.transcript import COMPACTION_FRAME, model_message

SUMMARY = "## Goal\nMove crane 3 to berth 14.\n\n## Constraints & Preferences\n- Never touch the tide table 潮位 🚢"
ANSWER = "Crane 3 stands at berth 14."
ZERO = {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "total": 0}


@pytest.fixture(scope="module")
def install() -> PiInstall:
    found = find_pi()
    if found is None:
        pytest.skip(SKIP_REASON)
    return found


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Three turns, each with a tool call, in the form that Pi writes."""
    rows: list[dict[str, Any]] = []

    def add(**message: Any) -> None:
        parent = rows[-1]["id"] if rows else None
        when = {"timestamp": f"2026-03-01T10:00:{len(rows):02d}.000Z"}
        row = {"type": "message", "id": f"{len(rows):08x}", "parentId": parent, **when}
        rows.append({**row, "message": {**message, "timestamp": 1772359200000 + len(rows)}})

    def reply(*content: dict[str, Any], stop: str = "stop") -> None:
        model = {"api": "openai-completions", "provider": "dock", "model": "gantry-1"}
        add(role="assistant", content=content, **model, usage={**ZERO, "totalTokens": 0, "cost": ZERO}, stopReason=stop)

    for turn in range(3):
        add(role="user", content=[{"type": "text", "text": f"Turn {turn}: where is crane {turn}? " * 20}])
        call = {"type": "toolCall", "id": f"call_{turn}", "name": "read", "arguments": {"path": f"crane{turn}.md"}}
        reply({"type": "text", "text": "I look."}, call, stop="toolUse")
        text = f"berth {turn}, drawn by the harbor office " * 20
        found = {"toolCallId": call["id"], "toolName": "read", "isError": False}
        add(role="toolResult", **found, content=[{"type": "text", "text": text}])
        reply({"type": "text", "text": f"At berth {turn}."})
    project_dir = tmp_path / "project"
    project_dir.mkdir()
    header = {"type": "session", "version": 3, "id": "harbor-1", "timestamp": "2026-03-01T09:59:00.000Z"}
    path = tmp_path / "session.jsonl"
    lines = [json.dumps(row) + "\n" for row in ({**header, "cwd": str(project_dir)}, *rows)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def streamed(request: Request) -> Response:
    """A chat completion as a stream of events."""
    base = {"id": "r1", "object": "chat.completion.chunk", "created": 1, "model": "gantry-1"}
    usage = {"prompt_tokens": 100, "completion_tokens": 9, "total_tokens": 109}
    chunks = (
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    )

    def events() -> Iterator[str]:
        for chunk in chunks:
            yield f"data: {json.dumps({**base, **chunk})}\n\n"
        yield "data: [DONE]\n\n"

    return Response(events(), content_type="text/event-stream")


def run_pi(install: PiInstall, session: Path, server: HTTPServer, prompt: str) -> list[dict[str, Any]]:
    """The events that `pi --mode json` prints for one prompt."""
    home = session.parent / "home"
    home.mkdir(exist_ok=True)
    provider = {"baseUrl": server.url_for("/v1"), "api": "openai-completions", "apiKey": "none"}
    models = {"providers": {"dock": {**provider, "models": [{"id": "gantry-1", "contextWindow": 200_000}]}}}
    (home / "models.json").write_text(json.dumps(models), encoding="utf-8")
    offline = {"PI_OFFLINE": "1", "PI_SKIP_VERSION_CHECK": "1", "PI_TELEMETRY": "0"}
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
    done = subprocess.run(
        [
            install.node,
            str(install.cli),
            "--mode",
            "json",
            "--session",
            str(session),
            "--model",
            "dock/gantry-1",
            prompt,
        ],
        cwd=session.parent / "project",
        env={**kept, **offline, "HOME": str(home), "PI_CODING_AGENT_DIR": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr.decode()
    return [json.loads(line) for line in done.stdout.splitlines()]


def sent_text(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def test_the_model_is_sent_our_summary_and_the_kept_tail(
    install: PiInstall, session: Path, httpserver: HTTPServer
) -> None:
    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_handler(streamed)
    script = session.with_name("replies.json")
    script.write_text(json.dumps([SUMMARY]), encoding="utf-8")
    options = ["--client", "scripted", "--script", str(script), "--keep-recent-tokens", "300", "--write"]
    done = CliRunner().invoke(group, ["compact", str(session), *options])
    assert done.exit_code == 0, (done.output, done.stderr)
    written = session.read_bytes()
    ours = read_session(str(session))
    seen = [model_message(m) for m in project(active_branch(ours, find_leaf(ours, None))).messages()]

    events = run_pi(install, session, httpserver, "And crane 3?")

    assert events[0]["type"] == "session"
    assert events[0]["id"] == "harbor-1"
    assert len(httpserver.log) == 1
    sent = [m for m in json.loads(httpserver.log[0][0].data)["messages"] if m["role"] not in ("system", "developer")]
    roles = {"toolResult": "tool"}
    expected = [(roles.get(m.role, m.role), m.text("")) for m in seen if m is not None]
    assert [(m["role"], sent_text(m)) for m in sent] == [*expected, ("user", "And crane 3?")]
    assert sent_text(sent[0]) == COMPACTION_FRAME[0] + (ours.entries[-1].body.summary or "") + COMPACTION_FRAME[1]
    assert SUMMARY.splitlines()[1] in sent_text(sent[0])
    assert "Turn 0" not in json.dumps(sent[1:])
    assert "Turn 2" in json.dumps(sent)
    assert session.read_bytes().startswith(written)
    again = read_session(str(session))
    assert again.warnings == []
    branch = active_branch(again, find_leaf(again, None))
    assert ours.entries[-1].id in [entry.id for entry in branch.entries]
    assert list(project(branch).messages())[-1].text() == ANSWER
