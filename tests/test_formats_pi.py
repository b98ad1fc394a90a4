"""Every version of a session file is read whole, damage costs no more than the damaged bytes, and nothing is silent."""

import json
from typing import Any

import pytest
from builders import SESSION_ID, SessionBuilder, ids_of, make_session, projection_of, row_line
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec import UNSET
from strategies import damaged_files, json_values, sessions

from compactor.entries import Session
from compactor.errors import SessionError
from compactor.formats.pi import made_id, parse_session

HEADER = row_line({"type": "session", "version": 3, "id": SESSION_ID, "cwd": "/srv/harbor"})


def codes(session: Session) -> list[str]:
    return [w.code for w in session.warnings]


def shown(session: Session, *, exact: bool = False) -> list[str]:
    """The texts that the model sees on the branch of the last entry."""
    return [m.summary or m.text() for m in projection_of(session, exact=exact).messages()]


def talk(version: int = 3) -> SessionBuilder:
    return make_session(("user", "u1"), ("assistant", "a1"), ("user", "u2"), ("assistant", "a2"), version=version)


def test_a_session_is_read_with_its_header_lines_and_links() -> None:
    builder = talk()
    builder.bookkeeping()
    session = builder.session()
    assert (session.header.id, session.header.version, session.header.cwd) == (SESSION_ID, 3, "/srv/harbor")
    assert session.header_raw + b"\n" == builder.lines()[0]
    assert [e.id for e in session.entries] == [row["id"] for row in builder.rows]
    assert [e.type for e in session.entries] == [row["type"] for row in builder.rows]
    assert [e.role for e in session.entries[:5]] == ["user", "assistant", "user", "assistant", ""]
    assert [e.index for e in session.entries] == list(range(11))
    assert [e.line for e in session.entries] == list(range(2, 13))
    assert session.parents == [None, *range(10)]
    assert session.warnings == []
    assert session.size == len(builder.data())
    assert session.ends_with_newline
    assert not session.torn_tail


@given(sessions(), st.booleans())
def test_what_was_written_is_read_without_a_warning(builder: SessionBuilder, exact: bool) -> None:
    session = parse_session(builder.data(), exact=exact)
    assert [e.raw + b"\n" for e in session.entries] == builder.lines()[1:]
    assert session.warnings == []


@given(sessions())
def test_a_whole_file_is_read_alike_with_and_without_repair(builder: SessionBuilder) -> None:
    ours, pis = builder.session(), builder.session(exact=True)
    assert ours.entries == pis.entries
    assert ours.parents == pis.parents


@pytest.mark.parametrize("version", [1, 2, 3])
@given(data=st.data())
def test_every_version_shows_the_same_messages(data: st.DataObject, version: int) -> None:
    """Versions differ in links and names, and these are migrated."""
    builder = data.draw(sessions(version=1))
    builder.version = 3
    expected = shown(builder.session())
    builder.version = version
    session = builder.session()
    assert shown(session) == expected
    assert session.header.version == version
    assert session.parents == [None, *range(len(builder.rows))][: len(builder.rows)]


# --- the header ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"", "an empty file"),
        (b" \n\t\n", "only blanks"),
        (b"notes about cranes\nmore\n", r"'notes about cranes' on line 1"),
        (b"\x1b[31mred\n", r"'\ufffd\[31mred' on line 1"),
        (b"\xff\xfe\x00\n", "on line 1"),
        (row_line({"type": "message", "id": "a"}), "an entry of type 'message' on line 1; the header line is missing"),
        (row_line({"type": "session"}), "a session header without an id on line 1"),
        (row_line({"type": "session", "id": 5}), "a session header without an id on line 1"),
        (b"[1]\n" + HEADER[:40], "on line 1"),
        (b'{"type":"session","id":"a","x":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n", "on line 1"),
    ],
)
@pytest.mark.parametrize("exact", [False, True])
def test_what_is_not_a_session_is_refused_with_its_name_and_what_was_found(
    data: bytes, found: str, exact: bool
) -> None:
    with pytest.raises(SessionError, match=found) as refused:
        parse_session(data, path="notes.jsonl", exact=exact)
    assert str(refused.value).startswith("notes.jsonl: expected a session file")
    assert "\n" not in str(refused.value)


def test_json_that_is_no_entry_before_the_header_is_named_as_such_in_exact_mode() -> None:
    """Pi takes the first line that parses for the header."""
    with pytest.raises(SessionError, match="JSON that is no entry on line 1"):
        parse_session(b"[1]\n" + HEADER, exact=True)
    assert parse_session(b"[1]\n" + HEADER).header.id == SESSION_ID


@pytest.mark.parametrize(
    ("fields", "version"),
    [
        ({}, 1),
        ({"version": 2}, 2),
        ({"version": 3.0}, 3),
        ({"version": 0}, 1),
        ({"version": -5}, 1),
        ({"version": 10**400}, 3),
        ({"version": "3"}, 3),
        ({"version": "003"}, 3),
        ({"version": "9" * 5000}, 3),
        ({"version": None}, 1),
    ],
)
def test_the_version_is_a_number_from_one(fields: dict[str, Any], version: int) -> None:
    session = parse_session(row_line({"type": "session", "id": "a", **fields}))
    assert session.header.version == version
    assert session.entries == []


def test_a_version_that_is_no_number_at_all_counts_as_the_newest() -> None:
    assert parse_session(b'{"type":"session","id":"a","version":NaN}\n').header.version == 3


def test_fields_of_the_header_that_have_the_wrong_type_count_as_missing() -> None:
    header = parse_session(row_line({"type": "session", "id": "a", "cwd": 7, "timestamp": [], "version": 3})).header
    assert (header.id, header.cwd, header.timestamp) == ("a", None, None)


def test_a_header_that_can_be_found_but_not_decoded_still_gives_its_id() -> None:
    """The index pass skips what it does not need, and so bears what the decoder does not: digits without end."""
    header = parse_session(b'{"type":"session","id":"a","version":3,"x":' + b"7" * 5000 + b"}\n").header
    assert (header.id, header.version) == ("a", 3)


def test_a_line_that_holds_null_is_no_entry_for_pi_either() -> None:
    assert parse_session(HEADER + b"null\n", exact=True).entries == []


def test_a_second_header_is_skipped_with_a_warning() -> None:
    data = talk().data() + HEADER
    session = parse_session(data)
    assert len(session.entries) == 4
    assert [(w.code, w.line) for w in session.warnings] == [("extra_header", 6)]
    assert parse_session(data, exact=True).warnings == []


# --- lines ---------------------------------------------------------------------------------------


def test_lines_end_at_line_feeds_only() -> None:
    builder = make_session(("user", "a\u2028b\u2029c\u0085d\x0b"))
    assert b"\xe2\x80\xa8" in builder.data()
    assert shown(builder.session()) == ["a\u2028b\u2029c\u0085d\x0b"]


@pytest.mark.parametrize("end", [b"\r\n", b"\n\n", b"\n \t\n", b"\n\xc2\xa0\xe2\x80\xa8\n", b"\n\r\n"])
def test_blank_lines_and_carriage_returns_are_no_damage(end: bytes) -> None:
    session = parse_session(talk().data().replace(b"\n", end))
    assert shown(session) == ["u1", "a1", "u2", "a2"]
    assert session.warnings == []
    assert all(not e.raw.endswith(b"\r") for e in session.entries)


def test_a_last_line_without_line_end_is_whole() -> None:
    session = parse_session(talk().data().rstrip(b"\n"))
    assert len(session.entries) == 4
    assert not session.ends_with_newline
    assert not session.torn_tail
    assert session.warnings == []


@pytest.mark.parametrize("cut", [1, 20, 60])
def test_a_torn_last_line_is_lost_and_told(cut: int) -> None:
    session = parse_session(talk().data()[: -1 - cut])
    assert shown(session) == ["u1", "a1", "u2"]
    assert session.torn_tail
    assert [(w.code, w.line) for w in session.warnings] == [("damaged_line", 5)]


def test_a_torn_line_in_the_middle_is_no_torn_tail() -> None:
    lines = talk().lines()
    session = parse_session(b"".join([*lines[:2], lines[2][:50] + b"\n", *lines[3:]]))
    assert not session.torn_tail
    assert "damaged_line" in codes(session)


def test_a_byte_order_mark_is_skipped_with_a_warning() -> None:
    data = b"\xef\xbb\xbf" + talk().data()
    session = parse_session(data)
    assert shown(session) == ["u1", "a1", "u2", "a2"]
    assert codes(session) == ["byte_order_mark"]
    assert session.header.id == SESSION_ID
    with pytest.raises(SessionError):
        parse_session(data, exact=True)


@pytest.mark.parametrize("hole", [1, 512])
@pytest.mark.parametrize("place", ["own line", "before", "after", "inside"])
def test_a_hole_of_nul_bytes_costs_no_entry(hole: int, place: str) -> None:
    lines = talk().lines()
    nul = b"\0" * hole
    line = lines[2]
    lines[2] = {
        "own line": nul + b"\n" + line,
        "before": nul + line,
        "after": line[:-1] + nul + b"\n",
        "inside": line[:30] + nul + line[30:],
    }[place]
    session = parse_session(b"".join(lines))
    assert shown(session) == ["u1", "a1", "u2", "a2"]
    assert [(w.code, w.line) for w in session.warnings] == [("nul_bytes", 3)]
    assert [b"\0" in e.raw for e in session.entries] == [False] * 4


@pytest.mark.parametrize("cut", [10, 60, 100])
def test_a_whole_record_behind_a_torn_one_on_its_line_is_recovered(cut: int) -> None:
    lines = talk().lines()
    session = parse_session(b"".join([*lines[:2], lines[2][:cut], *lines[3:]]))
    assert [m for m in shown(session) if m != "u1"] == ["u2", "a2"]
    assert "u1" in shown(session)
    damaged = next(w for w in session.warnings if w.code == "damaged_line")
    assert damaged.line == 3
    assert "1 whole record(s) on the same line were recovered" in damaged.message


def test_records_that_share_a_line_are_all_read() -> None:
    lines = talk().lines()
    session = parse_session(lines[0] + b"".join(line.rstrip(b"\n") for line in lines[1:]) + b"\n")
    assert shown(session) == ["u1", "a1", "u2", "a2"]
    assert codes(session) == ["fused_lines"]
    assert [e.line for e in session.entries] == [2, 2, 2, 2]


def test_a_lost_entry_whose_links_can_be_read_does_not_cut_the_branch() -> None:
    """Its child is joined to its parent although the two do not stand side by side."""
    builder = make_session(("user", "root"))
    fork = builder.leaf
    builder.assistant("left")
    builder.back_to(fork)
    lost = builder.assistant("torn " + "x" * 200)
    builder.user("right")
    lines = builder.lines()
    session = parse_session(b"".join([*lines[:3], lines[3][:150] + b"\n", lines[4]]))
    assert shown(session) == ["root", "right"]
    assert sorted(codes(session)) == ["damaged_line", "lost_parent"]
    assert any(repr(lost) in w.message for w in session.warnings)


@given(sessions(max_steps=6), st.data())
def test_a_damaged_file_keeps_all_whole_lines(builder: SessionBuilder, data: st.DataObject) -> None:
    lines = builder.lines()
    assume(len(lines) > 2)
    at = data.draw(st.integers(1, len(lines) - 1))
    cut = data.draw(st.integers(1, len(lines[at]) - 2))
    session = parse_session(b"".join([*lines[:at], lines[at][:cut] + b"\n", *lines[at + 1 :]]))
    assert [e.raw + b"\n" for e in session.entries] == [*lines[1:at], *lines[at + 1 :]]
    assert codes(session)


@given(st.one_of(damaged_files(), st.binary(max_size=300), st.binary(max_size=60).map(lambda b: HEADER + b)))
def test_any_bytes_give_a_session_or_a_session_error(data: bytes) -> None:
    for exact in (False, True):
        try:
            session = parse_session(data, exact=exact)
        except SessionError as error:
            assert "\n" not in str(error)
            continue
        assert len(session.parents) == len(session.entries)
        assert shown(session, exact=exact) is not None
        assert all(isinstance(e.wire(), dict) for e in session.entries)


@given(st.lists(json_values, max_size=6))
def test_any_json_after_the_header_gives_a_session(values: list[Any]) -> None:
    session = parse_session(HEADER + b"".join(map(row_line, values)))
    assert shown(session) is not None


@given(st.lists(st.dictionaries(st.sampled_from(["type", "id", "parentId", "message"]), json_values), max_size=4))
def test_index_fields_of_any_type_give_a_session(rows: list[dict[str, Any]]) -> None:
    data = HEADER + b"".join(row_line({"type": "message", **row}) for row in rows)
    for exact in (False, True):
        assert len(parse_session(data, exact=exact).entries) <= len(rows)


def test_an_entry_of_unknown_type_is_kept_and_says_nothing_to_the_model() -> None:
    builder = make_session(("user", "u1"))
    builder.add("not_yet_invented", content="future", message={"role": "user", "content": "no"})
    builder.assistant("a1")
    session = builder.session()
    assert shown(session) == ["u1", "a1"]
    assert session.entries[1].wire() == builder.rows[1]


def test_an_entry_without_an_id_gets_the_same_one_on_every_reading() -> None:
    builder = talk()
    for row in builder.rows[1:]:
        del row["id"], row["parentId"]
    first, second = builder.session(), builder.session()
    assert ids_of(first.entries) == ids_of(second.entries)
    assert len(set(ids_of(first.entries))) == 4
    assert shown(first) == ["u1", "a1", "u2", "a2"]
    assert codes(first).count("missing_id") == 3
    assert first.entries[1].parent_id is UNSET
    assert first.entries[1].wire()["id"] == first.entries[1].id
    assert [e.id for e in builder.session(exact=True).entries[1:]] == ["", "", ""]


@pytest.mark.parametrize("broken", [7, None, "", ["a"]])
def test_a_broken_id_counts_as_missing(broken: Any) -> None:
    builder = talk()
    builder.rows[3]["id"] = broken
    session = builder.session()
    assert len(session.entries[3].id) == 8
    assert "missing_id" in codes(session)


# --- version 1 -----------------------------------------------------------------------------------


def test_ids_of_version_1_are_deterministic_unique_and_chained() -> None:
    session = talk(version=1).session()
    ids = ids_of(session.entries)
    assert ids == ids_of(talk(version=1).session().entries)
    assert len(set(ids)) == 4
    assert all(len(i) == 8 and int(i, 16) >= 0 for i in ids)
    assert [e.parent_id for e in session.entries] == [None, *ids[:-1]]
    assert [e.wire()["parentId"] for e in session.entries] == [None, *ids[:-1]]


@given(st.text(max_size=5), st.lists(st.integers(0, 50), max_size=60))
def test_made_ids_are_unique_whatever_is_taken(session_id: str, lines: list[int]) -> None:
    taken: set[str] = set()
    made = [made_id(session_id, line, taken) for line in lines]
    assert len(set(made)) == len(made)
    again: set[str] = set()
    assert [made_id(session_id, line, again) for line in lines] == made


def v1_with_compaction(index: Any, *extra: bytes) -> bytes:
    rows = [row_line({"type": "message", "message": {"role": "user", "content": f"u{n}"}}) for n in range(1, 4)]
    compaction = row_line({"type": "compaction", "summary": "S", "firstKeptEntryIndex": index})
    return row_line({"type": "session", "id": "a"}) + b"".join([*rows, *extra, compaction])


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (1, ["S", "u1", "u2", "u3"]),
        (2, ["S", "u2", "u3"]),
        (3.0, ["S", "u3"]),
        (0, ["S"]),
        (4, ["S"]),
        (5, ["S"]),
        (-1, ["S"]),
        (1.5, ["S"]),
        (10**400, ["S"]),
        ("1", ["S"]),
        (True, ["S"]),
        (None, ["S"]),
    ],
)
def test_the_index_of_version_1_counts_the_header(index: Any, expected: list[str]) -> None:
    session = parse_session(v1_with_compaction(index))
    assert shown(session) == expected
    assert shown(parse_session(v1_with_compaction(index), exact=True)) == expected


def test_an_index_that_was_migrated_is_written_as_an_id() -> None:
    session = parse_session(v1_with_compaction(2))
    wire = session.entries[-1].wire()
    assert wire["firstKeptEntryId"] == session.entries[1].id
    assert "firstKeptEntryIndex" not in wire


@pytest.mark.parametrize("damage", [b'{"type":"message","mess\n', b"5\n", b'{"no":"type"}\n', b"}{\n"])
def test_a_lost_line_of_version_1_still_counts_for_the_index(damage: bytes) -> None:
    """Pi drops it first, and so keeps from the wrong entry."""
    header, u1, u2, u3, compaction = v1_with_compaction(3).splitlines(keepends=True)
    session = parse_session(b"".join([header, u1, damage, u3, compaction, u2]))
    assert shown(session) == ["S", "u3", "u2"]
    assert codes(session)


def test_a_line_of_nul_bytes_or_blanks_does_not_count_for_the_index() -> None:
    header, u1, u2, u3, compaction = v1_with_compaction(2).splitlines(keepends=True)
    session = parse_session(b"".join([header, b"\n", u1, b"\0\0\0\n", u2, b"  \n", u3, compaction]))
    assert shown(session) == ["S", "u2", "u3"]


def test_when_the_first_kept_line_is_itself_lost_the_next_one_is_kept_from() -> None:
    header, u1, _, u3, compaction = v1_with_compaction(2).splitlines(keepends=True)
    data = b"".join([header, u1, b'{"type":"mess\n', u3, compaction])
    session = parse_session(data)
    assert shown(session) == ["S", "u3"]
    assert "first_kept_lost" in codes(session)


def test_when_nothing_follows_the_lost_first_kept_line_nothing_is_kept() -> None:
    data = row_line({"type": "session", "id": "a"}) + row_line({"type": "message", "message": {"role": "user"}})
    data += row_line({"type": "compaction", "summary": "S", "firstKeptEntryIndex": 3}) + b'{"torn'
    session = parse_session(data)
    assert shown(session) == ["S"]
    assert "first_kept_lost" in codes(session)


@pytest.mark.parametrize("exact", [False, True])
def test_nesting_near_and_beyond_what_python_bears_raises_nothing_else(exact: bool) -> None:
    """There are depths that the index pass bears and the decoder, some frames further on, does not."""
    for depth in [*range(900, 1010), 100_000]:
        deep = b"[" * depth + b"]" * depth
        header = b'{"type":"session","id":"a","deep":' + deep + b"}\n"
        compaction = b'{"type":"compaction","summary":"S","firstKeptEntryIndex":1,"deep":' + deep + b"}\n"
        try:
            session = parse_session(header + compaction, exact=exact)
        except SessionError:
            assert depth > 900
            session = parse_session(row_line({"type": "session", "id": "a"}) + compaction, exact=exact)
        assert session.header.id == "a"
        assert shown(session, exact=exact) in ([], [""], ["S"])
        assert len(session.entries) == 1 or exact or codes(session) == ["damaged_line"]


@pytest.mark.parametrize("version", [1, 2])
def test_hook_messages_of_older_versions_are_custom_messages(version: int) -> None:
    builder = SessionBuilder(version=version)
    builder.message("hookMessage", customType="tide", content="The tide turns.")
    session = builder.session()
    assert session.entries[0].role == "custom"
    assert [(m.role, m.text()) for m in projection_of(session).messages()] == [("custom", "The tide turns.")]
    assert session.entries[0].wire()["message"]["role"] == "custom"
    assert json.loads(session.entries[0].raw)["message"]["role"] == "hookMessage"


def test_a_hook_message_of_the_present_version_stays_what_it_is() -> None:
    builder = SessionBuilder()
    builder.message("hookMessage", content="x")
    assert builder.session().entries[0].role == "hookMessage"


@pytest.mark.parametrize("version", ["3", True, None, {}, "x"])
def test_a_version_that_is_no_number_costs_no_ids_where_entries_have_them(version: Any) -> None:
    builder = SessionBuilder(header={"version": version})
    first = builder.user()
    builder.assistant()
    session = builder.session()
    assert session.entries[0].id == first
    assert session.header.version == 3
    assert [w.code for w in session.warnings] == ["unknown_version"]


def test_branches_stay_branches_where_the_header_gives_no_version() -> None:
    builder = SessionBuilder()
    first = builder.user()
    builder.assistant()
    builder.leaf = first
    builder.user()
    data = builder.data().replace(b'"version":3,', b"", 1)
    session = parse_session(data)
    assert session.parents == [None, 0, 0]
    assert [w.message for w in session.warnings] == ["line 1: expected a number as the version, found none; read as 3"]
    assert parse_session(data, exact=True).parents == [None, 0, 1]  # Pi takes it for version 1


@pytest.mark.parametrize(
    ("version", "kept"), [("3", True), ("2", True), ("1", False), (None, False), (True, False), ({}, True)]
)
def test_pi_takes_a_version_as_javascript_compares_it(version: Any, kept: bool) -> None:
    builder = SessionBuilder(header={"version": version})
    first = builder.user()
    assert (builder.session(exact=True).entries[0].id == first) == kept


def test_an_empty_parent_id_is_a_missing_one() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.add("message", parentId="", message={"role": "user", "content": "still there"})
    session = builder.session()
    assert session.parents == [None, 0]
    assert [w.code for w in session.warnings] == ["missing_parent"]


def test_a_number_that_json_lacks_is_read_with_a_warning() -> None:
    data = SessionBuilder().data() + b'{"type":"custom","id":"a","parentId":null,"data":NaN}\n'
    session = parse_session(data)
    assert [e.id for e in session.entries] == ["a"]
    assert [w.code for w in session.warnings] == ["invalid_json_repaired"]
    assert parse_session(data, exact=True).entries == []
