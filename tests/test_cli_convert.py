"""`compactor convert` from start to end."""

import json
from pathlib import Path

import pytest
from builders import SessionBuilder
from command_line import run, run_process

CODEX_ROWS = [
    {"timestamp": "2026-01-05T08:00:00.000Z", "type": "session_meta", "payload": {"id": "c1", "cwd": "/quay"}},
    {
        "timestamp": "2026-01-05T08:00:01.000Z",
        "type": "response_item",
        "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Open the gate."}]},
    },
    {"timestamp": "2026-01-05T08:00:02.000Z", "type": "response_item", "payload": {"type": "tide_table"}},
]


@pytest.fixture
def codex(tmp_path: Path) -> Path:
    path = tmp_path / "rollout.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in CODEX_ROWS), encoding="utf-8")
    return path


@pytest.fixture
def old(tmp_path: Path) -> Path:
    builder = SessionBuilder(version=1)
    builder.user("One.")
    builder.assistant("Two.")
    path = tmp_path / "old.jsonl"
    path.write_bytes(builder.data())
    return path


def test_the_session_goes_to_standard_output_and_the_talk_does_not(codex: Path) -> None:
    done = run_process("convert", codex, "--to", "pi")
    header, *entries = done.objects
    assert (done.code, header["type"], header["version"], header["id"]) == (0, "session", 3, "c1")
    assert [e["message"]["content"][0]["text"] for e in entries if e["type"] == "message"] == ["Open the gate."]
    assert any("tide_table" in line for line in done.talk)


def test_a_converted_file_is_planned_as_the_original_is(codex: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.jsonl"
    assert run("convert", codex, "--output", made).code == 0
    plans = [run("plan", path, "--json").objects[0] for path in (codex, made)]
    assert [plan["session"]["format"] for plan in plans] == ["codex", "pi"]
    for key in ("roles", "messageTokens", "contextTokens", "plan", "skip", "branchEntries"):
        assert plans[0][key] == plans[1][key]


def test_what_was_written_is_told_as_json(codex: Path, tmp_path: Path) -> None:
    done = run("convert", codex, "--json", "--output", tmp_path / "made.jsonl")
    told = done.objects[0]
    assert told["session"]["format"] == "codex"
    assert told["entries"] == len((tmp_path / "made.jsonl").read_bytes().splitlines()) - 1
    assert any("tide_table" in w["message"] for w in told["warnings"])
    assert done.err == ""


def test_an_older_session_of_pi_becomes_one_of_version_3(old: Path) -> None:
    before = old.read_bytes()
    header, *entries = run("convert", old).objects
    assert header["version"] == 3
    assert [entry["parentId"] for entry in entries] == [None, entries[0]["id"]]
    assert old.read_bytes() == before


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (["--json"], 2, "--json needs --output FILE"),
        (["--leaf", "#0"], 2, "--leaf needs --branch"),
        (["--to", "word"], 2, "'word' is not"),
        (["--branch", "--leaf", "#99"], 1, "no entry #99"),
    ],
)
def test_options_that_make_no_sense_are_refused(old: Path, options: list[str], code: int, said: str) -> None:
    done = run("convert", old, *options)
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_the_session_itself_is_never_the_output(old: Path) -> None:
    before = old.read_bytes()
    done = run("convert", old, "--output", old)
    assert (done.code, old.read_bytes()) == (1, before)
    assert "found the session file" in done.err


def test_another_agents_session_is_compacted_into_a_pi_copy_and_never_in_place(codex: Path, tmp_path: Path) -> None:
    with codex.open("a", encoding="utf-8") as file:
        for n in range(20):
            text = f"Note {n}: the crane at berth {n} is slow. " * 20
            content = [{"type": "input_text", "text": text}]
            payload = {"type": "message", "role": "user", "content": content}
            row = {"timestamp": "2026-01-05T08:00:03.000Z", "type": "response_item", "payload": payload}
            file.write(json.dumps(row) + "\n")
    before, made = codex.read_bytes(), tmp_path / "made.jsonl"
    refused = run("compact", codex, "--write", "--keep-recent-tokens", 500)
    assert (refused.code, codex.read_bytes()) == (1, before)
    assert "write a Pi copy with --output" in refused.err
    done = run("compact", codex, "--output", made, "--keep-recent-tokens", 500)
    assert (done.code, codex.read_bytes()) == (0, before)
    rows = [json.loads(line) for line in made.read_bytes().splitlines()]
    assert (rows[0]["type"], rows[-1]["type"], rows[-1]["parentId"]) == ("session", "compaction", rows[-2]["id"])
    assert run("plan", made).code == 0


def test_entries_that_share_an_id_get_one_each_and_what_names_them_follows(tmp_path: Path) -> None:
    rows = [
        {"type": "session", "version": 3, "id": "s"},
        {"type": "message", "id": "a", "parentId": None, "message": {"role": "user", "content": "One."}},
        {"type": "message", "id": "a", "parentId": "a", "message": {"role": "user", "content": "Two."}},
        {"type": "context_edit", "id": "e", "parentId": "a", "targetId": "a", "replacement": {"content": "Three."}},
    ]
    path = tmp_path / "doubled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    _, first, second, edit = run("convert", path).objects
    assert first["id"] == "a" != second["id"]
    assert (second["parentId"], edit["parentId"], edit["targetId"]) == ("a", second["id"], second["id"])
