"""Which agent wrote a file."""

import json

import pytest

from compactor.formats.registry import MAX_LINES_LOOKED_AT, detect_format

SIDE = {"type": "file-history-snapshot", "messageId": "m"}
CLAUDE = {"type": "user", "uuid": "u1", "parentUuid": None, "message": {"role": "user", "content": "Hi."}}
CODEX = {"timestamp": "2026-01-05T08:00:00.000Z", "type": "session_meta", "payload": {"id": "c1"}}
FLAT_HEAD = {"id": "c1", "timestamp": "2025-07-01T08:00:00.000Z", "instructions": None}
FLAT = {"type": "message", "role": "user", "content": []}
PI = {"type": "session", "id": "p1"}
PI_ENTRY = {"type": "message", "id": "e1", "parentId": None, "message": {"role": "user"}}
OTHER = {"no": "format"}


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([PI, PI_ENTRY], "pi"),
        ([{"id": "p1", "type": "session"}], "pi"),
        ([CLAUDE], "claude-code"),
        ([SIDE, SIDE, CLAUDE], "claude-code"),
        ([SIDE], "claude-code"),
        ([{"type": "summary", "summary": "Older talk", "leafUuid": "x"}, CODEX], "codex"),
        ([CODEX], "codex"),
        ([{"timestamp": "t", "type": "response_item", "payload": {}}], "codex"),
        ([FLAT_HEAD, {"record_type": "state"}, FLAT], "codex"),
        ([FLAT], "codex"),
        ([{"record_type": "state"}], "codex"),
        ([PI_ENTRY], "pi"),
        ([FLAT, PI_ENTRY], "pi"),
        ([{"type": "message", "message": {"role": "user"}}], "pi"),
        ([OTHER], "pi"),
        ([{"type": ["session"], "payload": {}}, {"type": {}, "instructions": 1, "id": 2}, CODEX], "codex"),
        ([], "pi"),
    ],
)
def test_the_first_rows_show_the_format(rows: list[object], expected: str) -> None:
    data = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    assert detect_format(data) == expected
    assert detect_format(b"\xef\xbb\xbf" + data) == expected
    assert detect_format(b"\0\0torn {\n\n" + data) == expected
    assert detect_format(data.removesuffix(b"\n")) == expected


def test_only_the_start_of_a_file_is_looked_at() -> None:
    assert detect_format(b"[]\n" * (MAX_LINES_LOOKED_AT - 1) + json.dumps(CODEX).encode()) == "codex"
    assert detect_format(b"[]\n" * MAX_LINES_LOOKED_AT + json.dumps(CODEX).encode()) == "pi"
