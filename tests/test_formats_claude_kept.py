"""Rows that a compaction of Claude Code kept, wherever the file has them."""

from typing import Any

import pytest
from claude_transcripts import TranscriptBuilder, call, check, context_size, result, story, text, wire

from compactor.entries import Session

LISTED = {"preservedMessages": {"anchorUuid": "u5", "uuids": ["u2", "u3", "u6", "u7", "u8"]}}
ENDS = {"preservedSegment": {"headUuid": "u2", "anchorUuid": "u5", "tailUuid": "u8"}}


def late_talk(metadata: dict[str, Any]) -> TranscriptBuilder:
    """The end of what was kept was not on disk yet when the boundary was written."""
    talk = TranscriptBuilder("2.1.282")
    talk.user("One.")
    talk.answer("m1", text("Two."), total=150_000)
    talk.user("Three.")
    talk.compaction("S", metadata=metadata, logicalParentUuid="u8")
    talk.answer("m2", call("t1"), total=160_000)
    talk.user([result("t1")])
    talk.answer("m3", text("Four."), total=161_000)
    talk.user("Five.")
    return talk


def kept_from(session: Session) -> str:
    return str(next(e["firstKeptEntryId"] for e in wire(session) if e["type"] == "compaction"))


@pytest.mark.parametrize("metadata", [LISTED, ENDS], ids=["listed", "ends"])
def test_what_was_kept_but_written_after_the_boundary_stands_before_it(metadata: dict[str, Any]) -> None:
    talk = late_talk(metadata)
    session = talk.session()
    check(talk.data(), session, linear=True)
    assert story(session) == [
        "user One.",
        "assistant Two.",
        "user Three.",
        "assistant t1",
        "result t1",
        "assistant Four.",
        "compaction S",
        "user Five.",
    ]
    assert kept_from(session) == "u2"


def test_a_size_that_was_reported_before_the_compaction_is_not_that_after_it() -> None:
    session = late_talk(LISTED).session()
    assert context_size(session, "u9") < 1_000


def test_late_rows_that_continue_a_row_that_was_kept_stay_linked_to_it() -> None:
    talk = late_talk(LISTED)
    talk.rows[5]["parentUuid"] = "u2"
    session = talk.session()
    assert [entry["parentId"] for entry in wire(session) if entry["id"] == "u6"] == ["u2"]


def test_a_late_row_whose_parent_was_never_written_continues_after_the_row_before_the_boundary() -> None:
    talk = late_talk(LISTED)
    talk.rows[5]["parentUuid"] = "ghost"
    session = talk.session()
    assert story(session)[2:4] == ["user Three.", "assistant t1"]
    assert session.warnings == []


def test_a_boundary_before_everything_can_have_kept_what_follows() -> None:
    talk = TranscriptBuilder()
    talk.compaction("S", metadata={"preservedMessages": {"uuids": ["u3"]}}, logicalParentUuid="ghost")
    talk.answer("m1", text("Two."), total=900)
    talk.user("Three.")
    session = talk.session()
    assert story(session) == ["assistant Two.", "compaction S", "user Three."]
    assert kept_from(session) == "u3"


def test_rows_after_the_next_boundary_are_not_those_that_the_one_before_kept() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.compaction("S1", metadata={"preservedMessages": {"uuids": ["u6"]}, "preservedSegment": {"tailUuid": "u6"}})
    talk.compaction("S2")
    talk.user("Two.", uuid="u6")
    assert story(talk.session()) == ["user One.", "compaction S1", "compaction S2", "user Two."]


def test_a_tail_that_hangs_on_itself_is_kept_once() -> None:
    talk = TranscriptBuilder()
    talk.user("One.")
    talk.compaction("S", metadata={"preservedSegment": {"headUuid": "u1", "tailUuid": "u5"}})
    talk.user("Two.", uuid="u4", parentUuid="u5")
    talk.user("Three.", uuid="u5", parentUuid="u4")
    assert sorted(story(talk.session())) == ["compaction S", "user One.", "user Three.", "user Two."]
