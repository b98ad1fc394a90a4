"""The whole diagnosis: on any bytes it ends without an exception, with findings that say where and what to do."""

from pathlib import Path

import pytest
from builders import SessionBuilder, make_session, row_line
from diagnosed import diagnosis_of, findings_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import damaged_files, json_values, sessions

from compactor.credentials import Credential
from compactor.diagnosis import KINDS, SEVERITIES, Diagnosis, advice_for, diagnose, kind_of, unreadable
from compactor.errors import SessionError

SHARED = Path(__file__).parents[2] / "shared"
ANYTHING = sorted(SHARED.glob("corpus/**/*.jsonl")) + sorted(SHARED.glob("bugs/*/*"))
often = settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))


def assert_sound(diagnosis: Diagnosis, lines: int) -> None:
    assert sum(diagnosis.counts.values()) == len(diagnosis.findings)
    for found in diagnosis.findings:
        assert found.severity in SEVERITIES
        assert found.message.strip()
        assert found.line is None or 1 <= found.line <= max(lines, 1)
        assert advice_for(found.code, diagnosis.format)
    places = [found.line or 0 for found in diagnosis.findings]
    assert places == sorted(places)


@often
@given(st.one_of(damaged_files(), st.binary(max_size=200), st.lists(json_values.map(row_line)).map(b"".join)))
def test_any_bytes_have_a_diagnosis(data: bytes) -> None:
    assert_sound(diagnosis_of(data), data.count(b"\n") + 1)


@often
@given(sessions())
def test_a_session_as_pi_would_write_it_has_no_damage(built: SessionBuilder) -> None:
    diagnosis = diagnosis_of(built)
    assert_sound(diagnosis, len(built.rows) + 1)
    damage = [f.code for f in diagnosis.findings if kind_of(f.code).family in ("file", "tree")]
    harmless = {"lone_surrogate", "unknown_type", "several_roots", "no_entries", "unknown_label_target"}
    assert set(damage) <= harmless


@pytest.mark.skipif(not ANYTHING, reason="skipped: no corpus")
@pytest.mark.parametrize("path", ANYTHING, ids=lambda p: f"{p.parent.name}-{p.name}")
def test_every_file_of_the_corpus_has_a_diagnosis(path: Path) -> None:
    data = path.read_bytes()
    assert_sound(diagnosis_of(data), data.count(b"\n") + 1)


def test_a_diagnosis_knows_its_session_and_how_many_entries_it_has() -> None:
    diagnosis = diagnosis_of(make_session("user", "assistant"))
    assert (diagnosis.format, diagnosis.entries, diagnosis.counts) == ("pi", 2, {"error": 0, "warning": 0, "note": 0})
    light = diagnosis.light()
    assert light.session is not None
    assert (light.entries, light.session.entries, light.session.header.id) == (2, [], "harbor-0001")


def test_a_file_that_is_no_session_has_one_finding() -> None:
    diagnosis = diagnosis_of(b"[1, 2, 3]\n")
    assert (diagnosis.session, diagnosis.format, diagnosis.entries) == (None, None, 0)
    assert diagnosis.light() is diagnosis
    (found,) = diagnosis.findings
    assert found.message.startswith("expected a session file")


def test_a_file_that_cannot_be_read_has_one_finding() -> None:
    (found,) = unreadable("a.jsonl", SessionError("a.jsonl: the session file can't be read: no")).findings
    assert (found.code, found.message) == ("unreadable", "the session file can't be read: no")


def test_what_a_scanner_finds_in_summaries_is_told() -> None:
    builder = SessionBuilder()
    builder.branch_summary("the tide turns")
    credentials = [Credential(kind="tide table", start=4, end=8, is_certain=False)]
    found = diagnose(builder.data(), path="a.jsonl", scan=lambda text: credentials).findings
    assert [f.message for f in found] == ["the summary seems to hold a credential: tide table tide…"]


@pytest.mark.parametrize(
    "rows",
    [
        [{"type": "tide", "id": "a", "parentId": None}],
        [{"type": "tide", "id": "a", "parentId": None}, {"type": "session", "id": 5}],
        [{"type": "session"}],
        [{"record_type": "state"}],
        [{"id": "a", "instructions": None}],
    ],
)
def test_rows_without_a_header_of_which_none_is_an_entry_are_no_session(rows: list[dict[str, object]]) -> None:
    assert diagnosis_of(b"".join(map(row_line, rows))).entries == 0


def test_a_header_whose_id_is_no_text_is_told() -> None:
    data = make_session("user").data().replace(b'"id":"harbor-0001"', b'"id":7')
    (found,) = findings_of(data, "missing_header")
    assert (found.message, found.line) == ("the session header has no id", 1)


def test_entries_before_a_header_are_told_with_the_line_of_the_header() -> None:
    header, first, second = make_session("user", "assistant").lines()
    (found,) = findings_of(first + header + second, "missing_header")
    assert found.message == "the session header stands on line 2, after other records"
    assert findings_of(first + header + second, "extra_header") == []
    assert [f.line for f in findings_of(first + header + header + second, "extra_header")] == [3]


def test_damage_of_a_first_line_without_header_is_told_as_in_any_line() -> None:
    first, second = make_session("user", "assistant").lines()[1:]
    assert findings_of(first + second, "fused_lines", "damaged_line") == []
    fused = first.rstrip() + second
    assert [f.line for f in findings_of(fused, "fused_lines")] == [1]
    assert diagnosis_of(fused).entries == 2
    torn = first[:40] + second
    assert [f.line for f in findings_of(torn, "damaged_line")] == [1]
    assert diagnosis_of(torn).entries == 1
    assert [f.code for f in findings_of(b"\xef\xbb\xbf" + first + second)] == [
        "pi_sees_less", "missing_header", "byte_order_mark",
    ]  # fmt: skip


def test_every_kind_says_what_to_do() -> None:
    for code, kind in KINDS.items():
        assert kind.advice and kind == kind_of(code)
        assert not kind.is_repaired or kind.family in ("file", "tree")
        assert ("--fix" in advice_for(code, "codex")) is False or not kind.is_repaired


def test_the_code_of_an_importer_is_a_note_of_the_file() -> None:
    assert (kind_of("skipped_rows").family, kind_of("skipped_rows").severity) == ("file", "note")
