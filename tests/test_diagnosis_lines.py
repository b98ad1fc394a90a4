"""The file as bytes and lines: every damage is told with its line, and what is only odd as a note."""

from pathlib import Path

import pytest
from builders import SessionBuilder, make_session, row_line
from diagnosed import diagnosis_of, findings_of, told
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

from compactor.diagnosis.lines import lone_surrogates
from compactor.js_text import json_text

SHARED = Path(__file__).parents[2] / "shared"
SEEN_LESS = ("warning", "pi_sees_less", None)
EXPECTED: dict[str, list[tuple[str, str, int | None]]] = {
    "corpus/robustness/derived-pi-blank-lines.jsonl": [("note", "blank_lines", 2)],
    "corpus/robustness/derived-pi-bom.jsonl": [SEEN_LESS, ("error", "byte_order_mark", 1)],
    "corpus/robustness/derived-pi-concatenated-objects.jsonl": [SEEN_LESS, ("error", "fused_lines", 19)],
    "corpus/robustness/derived-pi-cr-only-tail.jsonl": [
        ("note", "no_final_newline", 20), ("note", "crlf_line_ends", 20),
    ],
    "corpus/robustness/derived-pi-crlf.jsonl": [("note", "crlf_line_ends", 1)],
    "corpus/robustness/derived-pi-duplicate-ids.jsonl": [("error", "duplicate_id", 21)],
    "corpus/robustness/derived-pi-empty.jsonl": [("error", "empty_file", 1)],
    "corpus/robustness/derived-pi-header-only.jsonl": [("note", "no_entries", None)],
    "corpus/robustness/derived-pi-invalid-escape.jsonl": [SEEN_LESS, ("error", "invalid_json_repaired", 21)],
    "corpus/robustness/derived-pi-invalid-utf8.jsonl": [("error", "invalid_utf8", 21)],
    "corpus/robustness/derived-pi-lone-surrogate.jsonl": [("note", "lone_surrogate", 21)],
    "corpus/robustness/derived-pi-missing-parent.jsonl": [SEEN_LESS, ("error", "missing_parent", 21)],
    "corpus/robustness/derived-pi-no-header.jsonl": [SEEN_LESS, ("error", "missing_header", 1)],
    "corpus/robustness/derived-pi-nul-padding.jsonl": [("error", "nul_bytes", 21), ("note", "no_final_newline", 21)],
    "corpus/robustness/derived-pi-parent-cycle.jsonl": [SEEN_LESS, ("error", "parent_cycle", 3)],
    "corpus/robustness/derived-pi-self-compaction.jsonl": [],
    "corpus/robustness/derived-pi-truncated-last-line.jsonl": [
        ("error", "torn_last_line", 20), ("note", "no_final_newline", 20),
    ],
    "corpus/robustness/derived-pi-unicode-separators.jsonl": [],
    "corpus/robustness/derived-pi-unknown-entry-types.jsonl": [
        ("note", "unknown_type", 21), ("note", "unknown_role", 22),
        *(("warning", "not_an_entry", n) for n in range(23, 28)),
    ],
    "corpus/robustness/derived-pi-whitespace-only.jsonl": [("error", "empty_file", 1)],
    "bugs/20-lone-surrogate/input.jsonl": [("note", "lone_surrogate", 2), ("note", "lone_surrogate", 4)],
    "bugs/22-fused-line/input.jsonl": [SEEN_LESS, ("error", "damaged_line", 4), ("error", "lost_parent", 4)],
    "bugs/23-nul-hole/input-own-line.jsonl": [("error", "nul_bytes", 4)],
    "bugs/23-nul-hole/input-prefix.jsonl": [SEEN_LESS, ("error", "nul_bytes", 4)],
    "bugs/25-not-a-session/input-bom.jsonl": [SEEN_LESS, ("error", "byte_order_mark", 1)],
    "bugs/25-not-a-session/input-empty.jsonl": [("error", "empty_file", 1)],
    "bugs/25-not-a-session/input-no-header.jsonl": [SEEN_LESS, ("error", "missing_header", 1)],
    "bugs/25-not-a-session/input-notes.jsonl": [("error", "not_a_session", 1)],
    "bugs/26-parent-cycle/input-cycle.jsonl": [SEEN_LESS, ("error", "parent_cycle", 2)],
    "bugs/26-parent-cycle/input-self.jsonl": [SEEN_LESS, ("error", "parent_cycle", 2)],
    "bugs/28-missing-parent/input.jsonl": [SEEN_LESS, ("error", "missing_parent", 4)],
}  # fmt: skip
CLEAN = [
    path
    for folder in ("pi", "pi-generated", "claude-code", "codex")
    for path in sorted((SHARED / "corpus" / folder).glob("*.jsonl"))
]


@pytest.mark.skipif(not SHARED.exists(), reason="skipped: no corpus")
@pytest.mark.parametrize("name", EXPECTED)
def test_each_damage_of_the_corpus_is_told_with_its_line(name: str) -> None:
    assert told((SHARED / name).read_bytes()) == EXPECTED[name]


@pytest.mark.skipif(not CLEAN, reason="skipped: no corpus")
@pytest.mark.parametrize("path", CLEAN, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_sessions_as_agents_wrote_them_have_no_errors(path: Path) -> None:
    assert [found for found in diagnosis_of(path.read_bytes()).findings if found.severity == "error"] == []


DATA = make_session("user", "assistant").data()
ONE, TWO, THREE = DATA.splitlines()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (DATA, []),
        (b"", [("error", "empty_file", 1)]),
        (b"\0\0\n \n", [("error", "empty_file", 1)]),
        (b"\xef\xbb\xbf", [("error", "empty_file", 1)]),
        (b"\xef\xbb\xbf" + DATA, [SEEN_LESS, ("error", "byte_order_mark", 1)]),
        (DATA + b"{torn", [("error", "torn_last_line", 4), ("note", "no_final_newline", 4)]),
        (DATA + b"{torn\n", [("error", "torn_last_line", 4)]),
        (DATA + b"{torn\n\n", [("error", "torn_last_line", 4), ("note", "blank_lines", 5)]),
        (b"\n".join([ONE, b"{torn", TWO, THREE, b""]), [("error", "damaged_line", 2)]),
        (DATA + ONE + b"\n", [("warning", "extra_header", 4)]),
        (DATA.replace(b"\n", b"\r\n"), [("note", "crlf_line_ends", 1)]),
        (DATA.replace(b"crane 3", b"\xff\xfe"), [("error", "invalid_utf8", 2)]),
        (DATA.replace(b"crane 3", b"\xed\xa0\x80"), [("error", "invalid_utf8", 2)]),
        (DATA.replace(b"crane 3", b"\\ud83d \xff"), [("error", "invalid_utf8", 2), ("note", "lone_surrogate", 2)]),
        (DATA.replace(b"crane 3", b"\\ud83d\\ude00 \\\\ud83d"), []),
        (DATA.replace(b"crane 3", b"\\d"), [SEEN_LESS, ("error", "invalid_json_repaired", 2)]),
        (DATA.replace(b'"version":3', b'"version":9'), [("note", "newer_version", 1)]),
        (DATA.replace(b'"version":3', b'"version":"3"'), [("warning", "unknown_version", 1)]),
        (DATA.replace(b'"role":"user"', b'"role":5'), [("warning", "malformed_field", 2)]),
        (DATA.replace(b'"role":"user",', b""), [("error", "missing_message", 2)]),
        (DATA.replace(b'"message":{', b'"massage":{', 1), [("error", "missing_message", 2)]),
        (b"# my notes\n", [("error", "not_a_session", 1)]),
        (b'{"type":"session_meta","payload":{}}\n', [("note", "no_entries", None)]),
        (ONE + b"\n", [("note", "no_entries", None)]),
    ],
)  # fmt: skip
def test_damage_and_oddities_are_told_apart(data: bytes, expected: list[tuple[str, str, int | None]]) -> None:
    assert told(data) == expected


def test_what_pi_would_not_read_is_said() -> None:
    assert findings_of(b"\xef\xbb\xbf" + DATA, "pi_sees_less")[0].message.startswith("Pi 1.6.0 refuses the file")
    builder = make_session("user", "assistant", "user")
    builder.rows[1]["parentId"] = "nowhere"
    (found,) = findings_of(builder, "pi_sees_less")
    assert found.message == "Pi 1.6.0 reads only 2 of the 3 entries on the newest branch"
    builder.rows[1]["parentId"] = builder.rows[2]["id"]
    assert "never ends" in findings_of(builder, "pi_sees_less")[0].message


def test_unknown_types_and_roles_are_counted_with_their_first_line() -> None:
    builder = SessionBuilder()
    for _ in range(3):
        builder.add("tide_table", level=3)
    builder.message("gull", content="caw")
    types, roles = findings_of(builder, "unknown_type", "unknown_role")
    assert (types.message, types.line) == ("3 entries of the unknown type tide_table", 2)
    assert (roles.message, roles.line) == ("1 message of the unknown role gull", 5)


def test_what_an_importer_leaves_out_is_a_note() -> None:
    rows = [
        {"type": "session_meta", "payload": {"id": "c1", "cwd": "/quay"}},
        {"type": "response_item", "payload": {"type": "tide_table"}},
    ]
    diagnosis = diagnosis_of(b"".join(map(row_line, rows)))
    assert diagnosis.format == "codex"
    assert [found.severity for found in diagnosis.findings] == ["note"] * len(diagnosis.findings)
    assert any("tide_table" in found.message for found in diagnosis.findings)


def test_the_events_that_pi_prints_are_no_session() -> None:
    events = [{"type": "agent_start"}, {"type": "message_start", "message": {"role": "user"}}, {"type": "agent_end"}]
    (found,) = findings_of(make_session().data() + b"".join(map(row_line, events)))
    assert (found.code, found.severity, found.line) == ("event_stream", "error", 2)
    assert "agent_start, message_start, agent_end" in found.message


@given(st.lists(texts, max_size=4))
def test_lone_surrogates_are_counted_as_javascript_has_them(parts: list[str]) -> None:
    text = "".join(parts)
    joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    lone = joined.count("\ufffd") - text.count("\ufffd")
    assert lone_surrogates(json_text([text]).encode()) == lone
