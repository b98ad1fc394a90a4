"""Converted rows as a session."""

import json

from builders import SESSION_ID

from compactor.branch import active_branch, find_leaf
from compactor.entries import SessionWarning
from compactor.formats.imported import Imported, ImportedRow, LeftOut, encoded, imported_session
from compactor.formats.pi import parse_session
from compactor.formats.pi_writer import pi_lines

USER = {"type": "message", "id": "u1", "parentId": None, "message": {"role": "user", "content": "Open the gate."}}
ODD = {"type": "message", "id": "a1", "parentId": "u1", "message": {"role": "assistant", "content": "\ud83d"}}
LABEL = {"type": "custom", "id": "c1", "parentId": "a1", "message": "no object"}


def made(*rows: ImportedRow, **fields: object) -> Imported:
    return Imported(format="codex", header={"id": SESSION_ID, "cwd": "/quay"}, rows=rows, **fields)  # type: ignore[arg-type]


def test_rows_become_entries_over_one_buffer_with_the_lines_they_came_from() -> None:
    session = imported_session(
        made(ImportedRow(3, USER), ImportedRow(7, ODD), ImportedRow(9, LABEL), reported_window=9000),
        path="r.jsonl",
        data=b"ab\n",
    )
    assert [(e.index, e.line, e.type, e.id, e.role) for e in session.entries] == [
        (0, 3, "message", "u1", "user"),
        (1, 7, "message", "a1", "assistant"),
        (2, 9, "custom", "c1", ""),
    ]
    assert [json.loads(e.raw) for e in session.entries] == [USER, ODD, LABEL]
    assert session.parents == [None, 0, 1]
    assert (session.format, session.size, session.ends_with_newline, session.reported_window) == (
        "codex", 3, True, 9000,
    )  # fmt: skip
    assert (session.header.id, session.header.version, session.header.cwd) == (SESSION_ID, 3, "/quay")


def test_the_lines_of_an_imported_session_are_read_back_as_the_same_entries() -> None:
    session = imported_session(made(ImportedRow(3, USER), ImportedRow(7, ODD)), path="r.jsonl", data=b"")
    again = parse_session(b"\n".join(pi_lines(session)))
    assert [e.raw for e in again.entries] == [e.raw for e in session.entries]
    assert [e.id for e in active_branch(again, find_leaf(again, None)).entries] == ["u1", "a1"]


def test_warnings_of_importer_and_links_are_told_in_the_order_of_lines() -> None:
    lost = {**USER, "id": "u2", "parentId": "gone"}
    told = SessionWarning(code="left_out", message="m", line=9)
    session = imported_session(
        made(ImportedRow(1, USER), ImportedRow(2, lost), warnings=[told]), path="r.jsonl", data=b""
    )
    assert [(w.code, w.line) for w in session.warnings] == [("missing_parent", 2), ("left_out", 9)]


def test_what_is_left_out_is_counted_by_kind_with_the_first_line() -> None:
    left = LeftOut()
    left.add("skipped_rows", "progress rows", 4)
    left.add("skipped_rows", "progress rows", 8, count=1500)
    left.add("skipped_rows", "mode rows", 6)
    assert [(w.code, w.line, w.message) for w in left.warnings()] == [
        ("skipped_rows", 4, "progress rows: 1,501 left out, first on line 4"),
        ("skipped_rows", 6, "mode rows: 1 left out, first on line 6"),
    ]


def test_an_object_is_one_line_of_json_whatever_it_holds() -> None:
    assert encoded({"a": "é\n"}) == '{"a":"é\\n"}'.encode()
    assert encoded({"a": "\ud83d"}) == b'{"a":"\\ud83d"}'
