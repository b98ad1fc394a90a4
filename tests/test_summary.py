"""Sections of a summary, replies that may not become one, pinned constraints."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor.file_ops import FileLists, file_blocks
from compactor.model import ModelResponse
from compactor.summary import (
    CONSTRAINTS,
    HISTORY_SECTIONS,
    NO_PRIOR_HISTORY,
    SPLIT_TURN_LEAD,
    parse_summary,
    pi_reply_problem,
    pinned,
    reply_problem,
    without_file_blocks,
)

WHOLE = """## Goal
Ship the parser.

## Constraints & Preferences
- never push to main

## Progress
### Done
- [x] Read parser.py

### In Progress
- [ ] Tests

### Blocked
- (none)

## Key Decisions
- **Hand-written lexer**: the grammar is small

## Next Steps
1. Run the tests

## Critical Context
- line 40 of parser.py"""

TEMPLATE = "Write these sections:\n## Goal\n[what the user wants]\n## Next Steps\n1. [what comes next]"


def test_whole_summary_has_nothing_missing_or_doubled() -> None:
    document = parse_summary(WHOLE)
    assert document.missing == ()
    assert document.doubled == ()
    assert document.body("Goal") == "Ship the parser."
    assert document.body("Progress") is not None
    assert "### In Progress" in (document.body("Progress") or "")
    assert document.body("Done") == "- [x] Read parser.py"
    assert document.body("Nothing Like It") is None


@pytest.mark.parametrize("name", [*HISTORY_SECTIONS, "Done", "In Progress", "Blocked"])
def test_each_section_is_missed_when_its_heading_is_gone(name: str) -> None:
    lines = [line for line in WHOLE.splitlines() if line.lstrip("#").strip() != name]
    assert parse_summary("\n".join(lines)).missing == (name,)


@pytest.mark.parametrize(
    "heading",
    [
        "## Constraints and Preferences",
        "## constraints & preferences:",
        "## **Constraints & Preferences**",
        "# Constraints",
    ],
)
def test_headings_are_known_with_small_deviations(heading: str) -> None:
    assert parse_summary(WHOLE.replace("## Constraints & Preferences", heading)).section(CONSTRAINTS) is not None


def test_doubled_heading_is_reported() -> None:
    assert parse_summary(WHOLE + "\n\n## Goal\nagain").doubled == ("Goal",)


def test_turn_part_does_not_count_as_the_history() -> None:
    split = WHOLE.replace("## Critical Context", "## Other") + SPLIT_TURN_LEAD + "## Critical Context\n- x"
    assert parse_summary(split).missing == ("Critical Context",)


def test_turn_prefix_has_three_sections_of_its_own() -> None:
    text = "## Original Request\nx\n## Progress So Far\n- y\n## Context Needed to Continue\n- z"
    assert parse_summary(text, "turn_prefix").missing == ()
    assert parse_summary(text, "branch").missing[0] == "Goal"


def test_file_blocks_are_taken_out_wherever_they_stand() -> None:
    blocks = file_blocks(FileLists(read_files=("a.py",), modified_files=("b.py",)))
    assert without_file_blocks("## Goal\nx" + blocks) == "## Goal\nx"
    assert without_file_blocks("top" + blocks + "\n\n## After\ny") == "top\n\n## After\ny"
    assert without_file_blocks("text\n\n<read-files>\na.py\nnever closed") == "text"
    assert without_file_blocks("a\n\n <modified-files>b.py, c.py</modified-files>\n\n## B\ny") == "a\n\n## B\ny"
    assert without_file_blocks("a\n<read-files></read-files>") == "a"
    assert without_file_blocks("it wrote <read-files>a.py</read-files> there") == (
        "it wrote <read-files>a.py</read-files> there"
    )
    assert without_file_blocks("the tag <read-files> inside of a line stays") == (
        "the tag <read-files> inside of a line stays"
    )


@given(st.text(), st.lists(st.text(alphabet="abc/._-", min_size=1), max_size=4))
def test_appended_blocks_always_come_off_again(text: str, paths: list[str]) -> None:
    blocks = file_blocks(FileLists(read_files=tuple(paths), modified_files=("z",)))
    once = without_file_blocks(text.strip() + blocks)
    assert "<modified-files>\nz" not in once


@pytest.mark.parametrize(
    ("response", "word"),
    [
        (ModelResponse(text=""), "no text"),
        (ModelResponse(text=" \n\t"), "only blanks"),
        (ModelResponse(text="", thinking=True), "only hidden thinking"),
        (ModelResponse(text="<think>\nWhere is crane 3?\n</think>\n\n"), "only thinking"),
        (ModelResponse(text="<thinking>cut off before the summary"), "only thinking"),
        (ModelResponse(text="## Goal\n\n## Progress\n### Done\n"), "only headings"),
        (ModelResponse(text="---"), "no words"),
        (ModelResponse(text="```\n```"), "no words"),
        (ModelResponse(text="\u200b\u200c"), "no words"),
        (ModelResponse(text="## Goal\nhalf", stop_reason="length"), "token limit"),
        (ModelResponse(text="x", tool_calls=("read",), stop_reason="toolUse"), "called read"),
        (ModelResponse(text="", stop_reason="toolUse"), "called a tool"),
        (ModelResponse(text="", stop_reason="error", error_message="backend down"), "backend down"),
        (ModelResponse(text="", stop_reason="error"), "without a message"),
        (ModelResponse(text="x", stop_reason="aborted"), "aborted"),
        (
            ModelResponse(text="## Goal\n[what the user wants]\n## Next Steps\n1. [what comes next]"),
            "repeats the request",
        ),
        (
            ModelResponse(text="**Goal**\n- WHAT the user wants\n**Next Steps**\n- [ ] what comes next"),
            "repeats the request",
        ),
        (ModelResponse(text="<think>easy</think>\n## Goal\n[what the user wants]"), "repeats the request"),
        (ModelResponse(text="<conversation>\n[User]: hello\n</conversation>"), "repeats the request"),
    ],
)
def test_reply_that_can_not_be_a_summary_is_refused_with_its_reason(response: ModelResponse, word: str) -> None:
    assert word in (reply_problem(response, TEMPLATE) or "")


@pytest.mark.parametrize(
    "text", [WHOLE, "## Goal\nshort", "- (none)", "## Goal\n- (none)", "<think>easy</think>\nshort", "## 目标\n修"]
)
def test_summary_is_not_refused(text: str) -> None:
    assert reply_problem(ModelResponse(text=text), TEMPLATE) is None


def test_summary_may_consist_of_the_constraints_that_the_template_quotes() -> None:
    rules = [f"rule {n} of the dock" for n in range(9)]
    template = TEMPLATE + "".join(f"\n> {rule}" for rule in rules)
    summary = "## Goal\nMove it.\n## Constraints & Preferences\n" + "\n".join(f"- {rule}" for rule in rules)
    assert reply_problem(ModelResponse(text=summary), template) is None


def test_pi_refuses_less() -> None:
    assert pi_reply_problem(ModelResponse(text="")) is None
    assert pi_reply_problem(ModelResponse(text="x", stop_reason="length")) is not None
    assert pi_reply_problem(ModelResponse(text="x", tool_calls=("read",))) is not None


def test_pin_is_added_after_the_items_that_are_there() -> None:
    text = pinned(WHOLE, ["use tabs"])
    assert "- never push to main\n- use tabs\n\n## Progress" in text
    assert parse_summary(text).missing == ()


def test_pin_takes_the_place_of_none() -> None:
    text = pinned(WHOLE.replace("- never push to main", "- (none)"), ["use tabs"])
    assert parse_summary(text).body(CONSTRAINTS) == "- use tabs"


def test_pin_makes_the_section_after_the_goal_when_it_is_missing() -> None:
    text = pinned("## Goal\nShip.\n\n## Next Steps\n1. go", ["use tabs"])
    assert text == f"## Goal\nShip.\n\n## {CONSTRAINTS}\n- use tabs\n\n## Next Steps\n1. go"


def test_pin_without_any_section_comes_first() -> None:
    assert pinned(NO_PRIOR_HISTORY, ["use tabs"]) == f"## {CONSTRAINTS}\n- use tabs\n\n{NO_PRIOR_HISTORY}"


def test_pin_in_a_last_section() -> None:
    assert pinned(f"## Goal\nx\n\n## {CONSTRAINTS}\n- a", ["b"]).endswith("- a\n- b")


def test_no_pins_change_nothing() -> None:
    assert pinned(WHOLE, []) == WHOLE


@given(st.text(), st.lists(st.text(alphabet="abc ", min_size=1), min_size=1, max_size=3))
def test_pins_are_in_the_text_and_nothing_is_lost(text: str, pins: list[str]) -> None:
    made = pinned(text, pins)
    assert all(f"- {pin}" in made for pin in pins)
    kept = {line.strip() for line in text.splitlines()} - {""}
    none_items = {"(none)", "- (none)", "1. (none)", "---", "- [x] (none)", "- [ ] (none)"}
    assert kept - none_items <= {line.strip() for line in made.splitlines()}


@pytest.mark.parametrize(
    "piece", ["\n", "## Goal\n", "#", "## a  ", "<read-files>\n", "</read-files>\n", " \n", "###### x\n"]
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """400 kB take well under a second; a square of that would take minutes."""
    text = piece * (400_000 // len(piece))
    parse_summary(text)
    without_file_blocks(text + "<read-files>\nx\n</read-files>")
    assert pinned(text, ["x"])
