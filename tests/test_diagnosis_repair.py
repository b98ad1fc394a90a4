"""The repaired copy: what is mended, what stays as it is, and that Pi reads it as compactor read the damaged file."""

import json
import os
from pathlib import Path
from random import Random
from typing import Any

import pytest
from builders import SessionBuilder, make_session, row_line
from differential.made_sessions import made_session
from differential.real_pi import RealPi
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import damaged_files, sessions
from test_real_pi import FAST_PHASES, assert_pi_sees_the_same, typed

from compactor.branch import active_branch, find_leaf
from compactor.diagnosis import Diagnosis, Repair, diagnose, kind_of, repair
from compactor.entries import Session
from compactor.errors import SessionError
from compactor.projection import project

SHARED = Path(__file__).parents[2] / "shared"
PI_FILES = sorted((SHARED / "corpus" / "robustness").glob("*.jsonl")) + sorted((SHARED / "bugs").glob("*/*.jsonl"))
often = settings(max_examples=60, phases=FAST_PHASES, deadline=None, suppress_health_check=list(HealthCheck))


def examined(data: bytes) -> Diagnosis:
    return diagnose(data, path="harbor.jsonl")


def mended(data: bytes) -> Repair:
    return repair(data, examined(data))


def context(session: Session | None) -> list[Any]:
    """The messages that the newest entry's branch shows."""
    assert session is not None
    return [typed(m) for m in project(active_branch(session, find_leaf(session, None)), exact=True).messages()]


def damage(diagnosis: Diagnosis) -> list[str]:
    """Codes of the errors of the file and of its tree."""
    graver = [found for found in diagnosis.findings if found.severity == "error"]
    return [found.code for found in graver if kind_of(found.code).family in ("file", "tree")]


def assert_mended(data: bytes) -> Repair:
    """The copy has no damage, shows the same context, and is its own copy."""
    before = examined(data)
    made = repair(data, before)
    after = examined(made.content)
    assert damage(after) == []
    assert context(after.session) == context(before.session)
    assert after.entries == before.entries
    assert repair(made.content, after).content == made.content
    return made


@often
@given(built=sessions())
def test_a_session_without_damage_is_copied_byte_for_byte(built: SessionBuilder) -> None:
    assert mended(built.data()).content == built.data()


@pytest.mark.parametrize("version", [1, 2, 3])
def test_a_session_of_any_version_keeps_it_where_nothing_is_damaged(version: int) -> None:
    data = make_session("user", "assistant", version=version).data()
    assert mended(data).content == data
    crlf = data.replace(b"\n", b"\r\n")
    assert mended(crlf).content == data
    assert mended(data.replace(b"\n", b"\n \n")).content == data
    assert mended(data.removesuffix(b"\n")).content == data


def test_an_older_session_with_damage_becomes_one_of_version_3() -> None:
    """Its indexes would shift with the line that is left out."""
    builder = SessionBuilder(version=1)
    first = builder.user("Which berth?")
    kept = builder.user("KEEP FROM HERE")
    builder.user("And the tide?")
    builder.compaction(kept)
    lines = builder.lines()
    lines[1] = lines[1][:30] + b"\n"
    made = assert_mended(b"".join(lines))
    assert b'"version":3' in made.content.splitlines()[0]
    assert [f.code for f in made.repaired if f.severity == "error"] == ["damaged_line"]
    assert first != kept


@often
@given(data=damaged_files())
def test_no_damage_is_left_in_a_copy_and_it_shows_the_same_context(data: bytes) -> None:
    before = examined(data)
    try:
        repair(data, before)
    except SessionError:
        assert before.format != "pi" or any(f.code == "event_stream" for f in before.findings)
        return
    assert_mended(data)


@often
@given(built=sessions(), places=st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=4))
def test_links_that_lead_anywhere_are_mended(built: SessionBuilder, places: list[tuple[float, float]]) -> None:
    rows = built.rows
    for place, target in places:
        if rows:
            wanted = rows[round(target * (len(rows) - 1))]["id"]
            rows[round(place * (len(rows) - 1))]["parentId"] = wanted if target < 0.9 else "nowhere"
    assert_mended(built.data())


def test_an_id_that_was_used_twice_is_given_to_the_first_and_references_follow() -> None:
    builder = SessionBuilder()
    first = builder.user("Older talk.")
    builder.add("message", id=first, message={"role": "user", "content": "Same id."})
    later = builder.user("Kept talk.")
    builder.add("message", id=later, parentId=first, message={"role": "assistant", "content": "On a branch."})
    builder.compaction(later)
    builder.add("label", targetId=first, label="low tide")
    data = builder.data()
    made = assert_mended(data)
    copy = examined(made.content).session
    assert copy is not None
    ids = [entry.id for entry in copy.entries]
    assert len(set(ids)) == len(ids)
    by_text = {entry.body.message.text(): entry.id for entry in copy.entries if entry.body.message}
    assert (by_text["Older talk."], by_text["Kept talk."]) == (first, later)
    wanted = {entry.type: entry.body for entry in copy.entries}
    assert wanted["compaction"].first_kept_entry_id == by_text["On a branch."]
    assert wanted["label"].target_id == by_text["Same id."]


def test_a_compaction_that_keeps_nothing_and_shares_its_id_still_keeps_nothing() -> None:
    builder = SessionBuilder()
    builder.user("One.")
    twice = builder.add("compaction", id="c0ffee01", firstKeptEntryId="c0ffee01", summary="All.", tokensBefore=9)
    builder.back_to(None)
    builder.add("compaction", id=twice, firstKeptEntryId=twice, summary="Again.", tokensBefore=9)
    made = assert_mended(builder.data())
    copy = examined(made.content).session
    assert copy is not None
    assert all(e.id == e.body.first_kept_entry_id for e in copy.entries if e.type == "compaction")


@pytest.mark.parametrize(("kind", "field"), [("context_edit", "targetId"), ("label", "targetId")])
@pytest.mark.parametrize("is_earlier", [True, False])
def test_a_reference_to_a_doubled_id_names_the_entry_that_was_meant(kind: str, field: str, is_earlier: bool) -> None:
    builder = SessionBuilder()
    builder.user("Start.")
    twin = {"id": "aaaaaaaa", "message": {"role": "user", "content": "Twin."}}
    start = builder.leaf
    named = {field: "aaaaaaaa", "summary": "s", "label": "l", "replacement": None}
    if is_earlier:
        builder.add("message", **twin)
        builder.back_to(start)
        builder.add("message", **twin)
        builder.add(kind, **named)
    else:
        builder.add(kind, **named)
        builder.add("message", **twin)
        builder.back_to(start)
        builder.add("message", **twin)
    copy = examined(mended(builder.data()).content).session
    assert copy is not None
    twins = [e.id for e in copy.entries if e.body.message is not None and e.body.message.text() == "Twin."]
    wire = next(e.wire() for e in copy.entries if e.type == kind)
    assert wire[field] == (twins[1] if is_earlier else twins[0])


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (b'{"type":"custom","id":"aa","parentId":"00000001","data":NaN}', b"null"),
        (b'{"type":"custom","id":"aa","parentId":"00000001","data":"caf\xe9"}', "caf\ufffd".encode()),
        (b'{"type":"custom","id":"aa","parentId":"00000001","data":"C:\\dir"}', b"C:\\\\dir"),
        (b'{"type":"custom","id":"aa","parentId":"00000001","data":"half \\ud83d"}', b"half \\ud83d"),
        (b'\0\0{"type":"custom","id":"aa","parentId":"00000001","data":"hole"}', b'"hole"'),
        (b'{"type":"custom","parentId":"00000001","data":"no id"}', b'"no id"'),
        (b'{"type":"custom","id":"aa","parentId":"00000001","deep":' + b"[" * 800 + b"]" * 800 + b"}", b"[[[[["),
    ],
)
def test_a_line_that_pi_refuses_is_written_so_that_it_does_not(line: bytes, wanted: bytes) -> None:
    data = make_session("user").data() + b"{torn\n" + line + b"\n"
    made = assert_mended(data)
    assert wanted in made.content.splitlines()[-1]
    assert b"\0" not in made.content


@pytest.mark.parametrize(
    ("head", "reason"),
    [
        (b"", "has no session header"),
        (b'{"type":"session","version":3,"cwd":"/srv/harbor"}\n', "has no id"),
        (b'{"type":"session","id":"s1","cw\n', "has no session header"),
        (b'\xef\xbb\xbf{"type":"session","version":"x","timestamp":"t"}{"torn\n', "has no id"),
    ],
)
def test_a_file_without_a_header_gets_one(head: bytes, reason: str) -> None:
    data = head + b"".join(make_session("user", "assistant").lines()[1:])
    before = examined(data)
    assert reason in before.findings[0].message or any(reason in f.message for f in before.findings)
    made = assert_mended(data)
    assert made.content.startswith(b'{"type":"session","version":3,"id":"')
    assert (b"/srv/harbor" in made.content) == (b"/srv/harbor" in head)
    assert b"parentId" not in made.content.splitlines()[0]


def test_a_header_further_down_is_put_where_it_belongs() -> None:
    header, *rows = make_session("user", "assistant").lines()
    made = assert_mended(rows[0] + header + rows[1])
    assert made.content.splitlines()[0] == header.rstrip()
    assert len(made.content.splitlines()) == 3


def test_a_header_that_only_python_reads_is_written_for_all() -> None:
    data = make_session("user").data()
    for odd in (b'"tide":NaN,', b'"tide":"\xff",', b'"tide":"\\x",'):
        made = assert_mended(data.replace(b'"cwd"', odd + b'"cwd"', 1) + b"{torn")
        assert json.loads(made.content.splitlines()[0])["cwd"] == "/srv/harbor"


def test_results_and_calls_without_their_other_half_stay() -> None:
    builder = SessionBuilder()
    builder.user()
    builder.result("nobody", "An orphan.")
    made = mended(builder.data() + b"{torn")
    assert b"An orphan." in made.content
    assert [found.code for found in made.left] == ["orphan_result"]
    assert "torn_last_line" in [found.code for found in made.repaired]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the file is empty"),
        (b"# my notes\n", "found '# my notes'"),
        (row_line({"type": "session_meta", "payload": {"id": "c1", "cwd": "/quay"}}), "compactor convert"),
        (make_session().data() + row_line({"type": "agent_start"}), "the events that Pi prints"),
    ],
)
def test_what_is_no_session_of_pi_is_not_repaired(data: bytes, said: str) -> None:
    with pytest.raises(SessionError, match=said):
        mended(data)


@pytest.mark.skipif(not PI_FILES, reason="skipped: no corpus")
@pytest.mark.parametrize("path", PI_FILES, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_damaged_files_of_the_corpus_are_mended(path: Path) -> None:
    data = path.read_bytes()
    before = examined(data)
    if before.session is None or before.session.format != "pi":
        pytest.skip("no session of Pi")
    assert_mended(data)


def wounded(chance: Random) -> bytes:
    """A session of Pi's with a few wounds: torn and fused lines, links to nowhere, bytes out of place."""
    lines = made_session(chance).splitlines(keepends=True)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(1, len(lines)) if len(lines) > 1 else 0
        line = lines[at]
        wound = chance.choice(("tear", "fuse", "nul", "link", "twice", "byte", "blank", "other"))
        lines[at] = {
            "tear": line[: len(line) // 2] + b"\n",
            "fuse": line.removesuffix(b"\n"),
            "nul": b"\0" * 9 + line,
            "link": line.replace(b'"parentId":"', b'"parentId":"x', 1),
            "twice": line + line,
            "byte": line.replace(b"a", b"\xff", 1),
            "blank": b" \n" + line,
            "other": b"[1]\n" + line,
        }[wound]
    return b"".join(lines)


@settings(max_examples=40, phases=FAST_PHASES, deadline=None, suppress_health_check=list(HealthCheck))
@given(chance=st.randoms(use_true_random=False))
def test_pi_reads_the_copy_as_compactor_read_the_damaged_file(pi: RealPi, tmp_path: Path, chance: Random) -> None:
    data = wounded(chance)
    before = examined(data)
    if before.session is None:
        return
    path = tmp_path / f"copy-{os.getpid()}.jsonl"
    path.write_bytes(repair(data, before).content)
    assert_pi_sees_the_same(pi, path)
    theirs = pi.ask("open", path, keep=20000)
    assert [typed(m) for row in theirs["context"] for m in row["messages"]] == context(before.session)
