"""Losses between the compactions of a branch: a warning with the share where they are plain, else nothing."""

from typing import Any

import pytest
from builders import SessionBuilder, tool_call
from diagnosed import findings_of, line_of
from hypothesis import given
from strategies import texts

from compactor.diagnosis.chains import chain_findings, words_of
from compactor.diagnosis.compacted import compactions_of
from compactor.diagnosis.examined import examine

FIRST = """## Goal
Move the crane schedule to the northern berth.

## Progress
- [x] Read the tide table of March
- [x] Measured berth fourteen with the laser
- [ ] Paint the bollards yellow

## Key Decisions
- Keep the diesel engine as a reserve
- Ask the harbor master before every lift"""
KEPT = ["Please order seventeen shackles from the chandler in Hamburg.", "Ordered; the invoice goes to accounting."]
LATER = ["Now inspect the gantry motor for overheating bearings.", "The bearings overheat at sixty degrees."]
NEWEST = ["Thanks, write the maintenance report."]
UPDATED = FIRST + "\n- Seventeen shackles were ordered from the chandler in Hamburg\n- Gantry motor bearings overheat"
SKIPPED = FIRST + "\n- The gantry motor was inspected: bearings overheat at sixty degrees"
UNRELATED = "## Goal\nInspect the gantry motor, whose bearings overheat at sixty degrees."


def chain(second: str, *, first: str = FIRST, kept: list[str] | None = None, **fields: Any) -> SessionBuilder:
    """Two compactions: the first keeps `KEPT`, the second only `NEWEST`."""
    builder = SessionBuilder()
    builder.user("Where are we?")
    start, *_ = [builder.user(text) for text in (KEPT if kept is None else kept)]
    builder.compaction(start, first, tokensBefore=400)
    for text in LATER:
        builder.assistant(text)
    newest = builder.user(NEWEST[0])
    builder.compaction(newest, second, tokensBefore=400, **fields)
    return builder


def losses(builder: SessionBuilder) -> list[str]:
    return [f.code for f in findings_of(builder, "previous_summary_lost", "kept_messages_lost")]


def test_a_summary_that_updates_the_previous_one_and_what_was_kept_lost_nothing() -> None:
    assert losses(chain(UPDATED)) == []


def test_a_summary_that_has_next_to_nothing_of_the_previous_one_is_told_with_the_share() -> None:
    builder = chain(UNRELATED + " Seventeen shackles were ordered from the chandler in Hamburg.")
    (found,) = findings_of(builder, "previous_summary_lost")
    assert (found.severity, found.line) == ("warning", 9)
    assert found.message == "only 0 of 6 statements (0%) of the previous summary, on line 5, are found in this one"


def test_a_previous_summary_of_a_line_or_two_proves_nothing() -> None:
    two = "## Goal\nMove the crane.\n\n## Next Steps\n1. Paint the bollards"
    assert losses(chain(UNRELATED + KEPT[0], first=two)) == []
    assert losses(chain(UNRELATED + KEPT[0], first=two + "\n2. Read the tide table")) == ["previous_summary_lost"]


def test_a_summary_without_text_says_nothing_about_losses() -> None:
    assert losses(chain(" ")) == []
    assert losses(chain(UNRELATED, first="")) == []


def test_messages_that_the_next_compaction_neither_summarized_nor_kept_are_told() -> None:
    builder = chain(SKIPPED)
    (found,) = findings_of(builder, "kept_messages_lost")
    assert (found.severity, found.line) == ("warning", 9)
    assert "2 entries that the compaction on line 5 kept seem neither summarized nor kept" in found.message
    assert "0 of 11 words" in found.message


def test_messages_that_are_still_kept_are_not_lost() -> None:
    builder = chain(SKIPPED)
    builder.rows[-1]["firstKeptEntryId"] = builder.rows[1]["id"]
    assert losses(builder) == []


def test_messages_of_which_a_part_is_still_kept_are_judged_by_the_rest() -> None:
    builder = chain(SKIPPED, kept=[*KEPT, "The pilot boat leaves at dawn."])
    builder.rows[-1]["firstKeptEntryId"] = builder.rows[3]["id"]
    assert losses(builder) == []
    builder.rows[-1]["summary"] = UPDATED.replace("Seventeen shackles were ordered from the chandler in Hamburg", "")
    assert losses(builder) == []  # what came later is kept as well, so nothing tells how much a summary takes up


def test_a_few_words_prove_nothing() -> None:
    assert losses(chain(SKIPPED, kept=["Yes.", "Good."])) == []


def test_nothing_to_compare_with_proves_nothing() -> None:
    builder = SessionBuilder()
    start, *_ = [builder.user(text) for text in KEPT]
    builder.compaction(start, FIRST, tokensBefore=400)
    newest = builder.user(NEWEST[0])
    builder.compaction(newest, FIRST, tokensBefore=400)
    assert losses(builder) == []


def with_files(*, details: Any, hook: bool = False, second_path: str = "gantry.md") -> SessionBuilder:
    """The messages that the first compaction kept read a file; so does what follows."""
    builder = SessionBuilder()
    builder.user("Where are we?")
    start = builder.assistant("I look.", tool_call("c1", "read", path="berth.md"))
    builder.result("c1")
    builder.compaction(start, FIRST, tokensBefore=400)
    builder.assistant("I look.", tool_call("c2", "edit", path=second_path))
    builder.result("c2")
    newest = builder.user(NEWEST[0])
    builder.compaction(newest, FIRST, tokensBefore=400, details=details, **({"fromHook": True} if hook else {}))
    return builder


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (with_files(details={"readFiles": [], "modifiedFiles": ["gantry.md"]}), ["kept_messages_lost"]),
        (with_files(details={"readFiles": ["berth.md"], "modifiedFiles": ["gantry.md"]}), []),
        (with_files(details={"readFiles": [], "modifiedFiles": []}, hook=True), []),
        (with_files(details={"readFiles": []}, second_path="berth.md"), []),
        (with_files(details={"other": 1}), []),
        (with_files(details=None), []),
        (with_files(details="lists"), []),
    ],
)
def test_files_that_only_the_kept_messages_touched_must_be_in_the_lists(
    built: SessionBuilder, expected: list[str]
) -> None:
    assert losses(built) == expected


def test_the_message_says_how_many_files_are_missing() -> None:
    (found,) = findings_of(with_files(details={"readFiles": []}), "kept_messages_lost")
    assert found.message.endswith("1 file that they touch is not in its lists")


def test_each_compaction_is_compared_with_the_one_before_it_on_its_branch() -> None:
    builder = chain(UPDATED)
    builder.back_to(builder.rows[3]["id"])
    builder.user(LATER[0])
    newest = builder.user(NEWEST[0])
    other = builder.compaction(newest, UNRELATED, tokensBefore=400)
    (found,) = findings_of(builder, "previous_summary_lost")
    assert found.line == line_of(builder, other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Move src/crane.py to v1.20!", {"move", "src/crane.py", "v1.20"}),
        ("at 8080 or 5", {"8080"}),
        ("港の工事", {"港の", "の工", "工事"}),
        ("_x_ snake_case", {"snake_case"}),
    ],
)
def test_words_are_names_paths_and_numbers(text: str, words: set[str]) -> None:
    assert words_of(text) == words


@given(texts, texts)
def test_words_of_a_text_are_among_those_of_a_longer_one(text: str, more: str) -> None:
    assert words_of(text) <= words_of(f"{text}\n{more}")


def test_no_more_entries_are_read_than_allowed() -> None:
    examined = examine(chain(SKIPPED).session())
    compactions = compactions_of(examined, {})
    assert [len(list(chain_findings(examined, compactions, most))) for most in (3, 4, 5, 6)] == [0, 0, 0, 1]
