"""Sessions as the lines of a Pi file."""

import json
from typing import Any

import pytest
from builders import SESSION_ID, SessionBuilder, row_line

from compactor.branch import active_branch, find_leaf
from compactor.formats.pi import parse_session
from compactor.formats.pi_writer import pi_lines

HEADER = {"type": "session", "version": 3, "id": SESSION_ID}


def user(entry_id: str | None, parent: str | None, text: str = "Open the gate.") -> dict[str, Any]:
    own = {} if entry_id is None else {"id": entry_id}
    return {"type": "message", **own, "parentId": parent, "message": {"role": "user", "content": text}}


def data_of(*rows: Any) -> bytes:
    return b"".join(row_line(row) for row in (HEADER, *rows))


def written(data: bytes) -> bytes:
    return b"".join(line + b"\n" for line in pi_lines(parse_session(data)))


def test_a_sound_file_is_copied_byte_for_byte() -> None:
    data = data_of(user("u1", None), user("u2", "u1")).replace(b'"content":', b'"content" :')
    assert written(data) == data


@pytest.mark.parametrize("version", [1, 2])
def test_older_versions_are_written_as_version_3(version: int) -> None:
    builder = SessionBuilder(version=version)
    builder.user("One.")
    builder.assistant("Two.")
    old = parse_session(builder.data())
    new = parse_session(written(builder.data()))
    assert (old.header.version, new.header.version) == (version, 3)
    assert [e.wire() for e in new.entries] == [e.wire() for e in old.entries]
    assert new.parents == old.parents


@pytest.mark.parametrize(
    "rows",
    [
        [user("u1", None), user("u2", "gone")],
        [user("u1", "u2"), user("u2", "u1")],
        [user("u1", None), user(None, "u1"), user("u3", "u1")],
        [user("u1", None), {k: v for k, v in user("u2", None).items() if k != "parentId"}],
    ],
    ids=["missing parent", "cycle", "no id", "no parent"],
)
def test_a_repaired_link_is_written_as_it_was_followed(rows: list[dict[str, Any]]) -> None:
    before = parse_session(data_of(*rows))
    assert before.warnings
    after = parse_session(written(data_of(*rows)))
    assert after.warnings == []
    assert after.parents == before.parents
    assert [e.body for e in after.entries] == [e.body for e in before.entries]
    assert len({e.id for e in after.entries}) == len(rows)


def test_lines_that_could_be_salvaged_are_whole_lines_afterwards() -> None:
    fused = data_of(user("u1", None)) + row_line(user("u2", "u1")).strip() + b"\0" + row_line(user("u3", "u2"))
    after = parse_session(written(fused))
    assert [e.id for e in after.entries] == ["u1", "u2", "u3"]
    assert after.warnings == []


def test_a_byte_order_mark_is_left_out() -> None:
    data = data_of(user("u1", None))
    assert written(b"\xef\xbb\xbf" + data) == data


def test_a_branch_by_itself_is_a_chain_from_root_to_leaf() -> None:
    session = parse_session(data_of(user("u1", None), user("u2", "u1"), user("u3", "u1")))
    branch = active_branch(session, find_leaf(session, "u3")).entries
    rows = [json.loads(line) for line in pi_lines(session, branch)]
    assert [(row["id"], row.get("parentId")) for row in rows[1:]] == [("u1", None), ("u3", "u1")]
