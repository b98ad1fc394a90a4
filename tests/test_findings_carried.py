"""A previous summary in the next one: what holds is kept, what is over moves, rules are never lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from talk import assistant, edited, ids_of, ran, user

from compactor.findings import digest, no_sections, part_summaries, with_previous
from compactor.findings.carried import add_branch
from compactor.findings.frames import ALL_FRAMES, ENGLISH, Frames
from compactor.findings.headings import in_markdown, section_of
from compactor.findings.items import BLOCKED, CONTEXT, DECISIONS, DONE, GOAL, IN_PROGRESS, NEXT, Sections
from compactor.messages import Message
from compactor.summary import CONSTRAINTS, PLACEHOLDERS, SPLIT_TURN_LEAD

PREVIOUS = """## Goal
- Current request [#aa]: “Port the parser.”

## Constraints & Preferences
- Never push to origin. [#aa]
- Use tabs. [#ab]

## Progress
### Done
- [x] old work

### In Progress
- [ ] `npm test` failed: “1 failed” [#ac]
- [ ] half of it

### Blocked
- `x.py` failed: “no match” [#ad]

## Key Decisions
- **A queue**: simpler

## Next Steps
1. WP3: write docs
2. ship it

## Critical Context
- port 8443

<read-files>
a.py
</read-files>"""


def carried(messages: list[Message], *summaries: str) -> Sections:
    newer = digest(messages, ids_of(messages), ENGLISH, room=8000)
    return with_previous(summaries, newer, ENGLISH)


def texts_of(sections: Sections, name: str) -> list[str]:
    return [item.text for item in sorted(sections[name], key=lambda item: item.order)]


def test_everything_that_holds_is_kept_section_by_section() -> None:
    sections = carried([assistant("", *edited("1", "y.py")[0].blocks)], PREVIOUS)
    assert texts_of(sections, GOAL) == ["Current request [#aa]: “Port the parser.”"]
    assert texts_of(sections, CONSTRAINTS) == ["Never push to origin. [#aa]", "Use tabs. [#ab]"]
    assert texts_of(sections, DONE)[0] == "old work"
    assert texts_of(sections, IN_PROGRESS)[:2] == ["`npm test` failed: “1 failed” [#ac]", "half of it"]
    assert texts_of(sections, BLOCKED) == ["`x.py` failed: “no match” [#ad]"]
    assert texts_of(sections, DECISIONS) == ["**A queue**: simpler"]
    assert texts_of(sections, NEXT) == ["WP3: write docs", "ship it"]
    assert texts_of(sections, CONTEXT) == ["port 8443"]


def test_what_has_succeeded_since_is_open_no_more() -> None:
    messages = [
        *ran("1", "npm test", "3 passed"),
        *edited("2", "x.py"),
        *ran("3", "git commit -m a", "[main abcdef1] WP3: docs"),
    ]
    sections = carried(messages, PREVIOUS)
    assert texts_of(sections, IN_PROGRESS)[0] == "half of it"
    assert texts_of(sections, BLOCKED) == []
    assert texts_of(sections, NEXT) == ["ship it"]


def test_a_new_request_moves_the_old_one_to_done() -> None:
    sections = carried([assistant("Ported."), user("Now write docs.")], PREVIOUS)
    assert texts_of(sections, GOAL) == ["Latest request here, unanswered [#e1]: “Now write docs.”"]
    assert "Request (from the previous summary) [#aa]: “Port the parser.”" in texts_of(sections, DONE)


def test_an_answered_request_moves_to_done_without_a_new_one() -> None:
    sections = carried([assistant("Ported.")], PREVIOUS)
    assert texts_of(sections, GOAL) == [ENGLISH.none_open]
    assert any("Port the parser" in text for text in texts_of(sections, DONE))


def test_the_request_of_a_split_turn_is_the_current_one_and_its_rules_stay_rules() -> None:
    turn = (
        "## Original Request\n- Current request [#b1]: “Add a flag.”\n\n## Progress So Far\n- [x] changed `a.py`\n"
        "- [ ] half\n\n## Context Needed to Continue\n- Constraint: Keep it short. [#b1]\n- port 1"
    )
    done = PREVIOUS.split("\n\n<read-files>")[0].replace("Current request [#aa]: “Port the parser.”", "Big goal")
    sections = carried(edited("1", "y.py"), done + SPLIT_TURN_LEAD + turn)
    assert texts_of(sections, GOAL) == ["Big goal", "Current request [#b1]: “Add a flag.”"]
    assert "Keep it short. [#b1]" in texts_of(sections, CONSTRAINTS)
    assert "changed `a.py`" in texts_of(sections, DONE)
    over = carried([*edited("1", "y.py"), assistant("Added."), user("Next thing.")], done + SPLIT_TURN_LEAD + turn)
    assert texts_of(over, GOAL) == ["Big goal", "Latest request here, unanswered [#e3]: “Next thing.”"]


def test_a_rule_of_the_previous_summary_that_is_lifted_now_is_marked() -> None:
    sections = carried([user("You can push now.")], PREVIOUS)
    assert texts_of(sections, CONSTRAINTS)[:2] == [
        "Never push to origin. [#aa] (changed later by the user [#e0]: “You can push now.”)",
        "Use tabs. [#ab]",
    ]


def test_a_summary_of_another_make_is_read_by_near_headings() -> None:
    other = (
        "# Notes\n\n## Branch\n`main`\n\n## Completed Work\n1. parser + lexer\n\n## Key Decisions Made\n* keep it\n\n"
        "## Next Steps (soon)\n### WP9: tests\n- write them\n\n## Empty\n(none)\n\n## Code\n```py\nx = 1\n```\n"
    )
    sections = carried(edited("1", "y.py"), other)
    assert texts_of(sections, DONE)[0] == "parser + lexer"
    assert texts_of(sections, DECISIONS) == ["keep it"]
    assert texts_of(sections, NEXT) == ["WP9: tests: write them"]
    assert texts_of(sections, CONTEXT) == ["Branch: `main`", "Code: x = 1"]


@pytest.mark.parametrize("summary", sorted(PLACEHOLDERS))
@pytest.mark.parametrize("frames", ALL_FRAMES)
def test_a_summary_that_is_not_in_the_file_is_named_as_such_and_not_quoted(summary: str, frames: Frames) -> None:
    newer = digest([user("Go on.")], ["e0"], frames, room=8000)
    for text in (f"{summary}\n", f"{summary}\n\n<read-files>\na.py\n</read-files>"):
        assert texts_of(with_previous([text], newer, frames), CONTEXT) == [frames.not_readable]
    split = with_previous([f"{summary}{SPLIT_TURN_LEAD}## Original Request\n- Add a flag."], newer, frames)
    assert any("Add a flag." in text for text in texts_of(split, DONE))
    (told,) = texts_of(with_previous([f"## Critical Context\n- {frames.not_readable}"], newer, frames), CONTEXT)
    assert told == frames.not_readable
    quoted = texts_of(with_previous([f"## Critical Context\n- {summary} Then more."], newer, frames), CONTEXT)
    assert len(quoted) == 1 and quoted != [frames.not_readable]


@pytest.mark.parametrize("summary", ["", "No prior history.", "no headings at all", "## Goal\n", "---\n---\n"])
def test_odd_summaries_never_fail(summary: str) -> None:
    carried([user("a")], summary)


def test_the_parts_of_a_merge_are_split_at_rules_but_not_at_a_split_turn() -> None:
    assert [part.strip() for part in part_summaries(f"a\n\n---\n\nb{SPLIT_TURN_LEAD}c\n---\nd")] == [
        "a",
        f"b{SPLIT_TURN_LEAD}c",
        "d",
    ]


def test_another_branch_gives_its_rules_and_context_only() -> None:
    sections = no_sections()
    add_branch(sections, PREVIOUS, "0123456789", ENGLISH)
    assert texts_of(sections, CONSTRAINTS) == ["Never push to origin. [#aa]", "Use tabs. [#ab]"]
    assert "From another branch [#01234567], Done: old work" in texts_of(sections, CONTEXT)
    assert [name for name in sections if sections[name]] == [CONSTRAINTS, CONTEXT]


def test_a_line_of_another_branch_before_all_headings_has_no_section_name() -> None:
    sections = no_sections()
    add_branch(sections, "We tried it.\n\n## Key Decisions\n- x", "01234567", ENGLISH)
    assert "From another branch [#01234567]: We tried it." in texts_of(sections, CONTEXT)


def test_that_nothing_was_open_on_another_branch_says_nothing_about_this_one() -> None:
    sections = no_sections()
    add_branch(sections, f"## Goal\n- {ENGLISH.none_open}\n\n## Key Decisions\n- a queue", "01234567", ENGLISH)
    assert texts_of(sections, CONTEXT) == ["From another branch [#01234567], Key Decisions: a queue"]


def test_the_request_of_a_split_turn_in_a_models_own_words_is_named_as_told_before() -> None:
    previous = f"## Goal\n- Big goal{SPLIT_TURN_LEAD}## Original Request\nAdd a flag to the program."
    sections = carried(edited("1", "y.py"), previous)
    told = "Current request (from the previous summary): Add a flag to the program."
    assert texts_of(sections, GOAL)[:2] == ["Big goal", told]
    over = carried([assistant("Added."), user("Now write docs.")], previous)
    assert "Add a flag" not in " ".join(texts_of(over, GOAL))
    assert texts_of(over, DONE)[0] == "Request (from the previous summary) Add a flag to the program."


def test_lines_indented_under_an_item_stay_with_it() -> None:
    previous = (
        "## Next Steps\n1. port the parser\n   - with its tests\n2. ship it\n\n## Habits\n- short words\n  in the docs"
    )
    sections = carried([], previous)
    assert texts_of(sections, NEXT) == ["port the parser - with its tests", "ship it"]
    assert texts_of(sections, CONTEXT) == ["Habits: short words in the docs"]


CLAUDE_CODE = """This session is being continued from a previous conversation that ran out of context. The summary \
below covers the earlier portion of the conversation.

Analysis:
Step by step:

1. **Initial Request**: the pier tables

2. Pending Tasks: a first guess

Summary:
1. Primary Request and Intent:
   The user wants the pier tables moved:
   - with their tests

2. Key Technical Concepts:
   - tide sums

3. Files and Code Sections:
   - `pier.py`
     - holds the sums
     ```py
     ## Goal
     x = 1
     ```
   - `test_pier.py`

4. Errors and fixes:
   - **Wrong sign**: fixed

5. Problem Solving:
   - [none]

6. All user messages:
   - "Move the pier tables. Never push to origin."
   - "[Request interrupted by user]"
   - “and the tests”

7. Pending Tasks:
   - None explicitly remaining - all is done

8. Current Work:
   Completed the sums.
   ```
   a = 1
   b = 2
   c = 3
   d = 4
   ```
   - moving `test_pier.py`

9. Optional Next Step:
   Run the tests:
   ```bash
   pytest -q
   ```

If you need specific details from before compaction (like code), read the full transcript at: /quay/x.jsonl
Please continue the conversation from where we left it off without asking the user any further questions."""


def test_the_numbered_summary_of_claude_code_is_read_section_by_section() -> None:
    sections = carried([assistant("", *edited("1", "y.py")[0].blocks)], CLAUDE_CODE)
    assert texts_of(sections, GOAL) == [
        "Current request (from the previous summary): “and the tests”",
        "The user wants the pier tables moved:",
        "with their tests",
    ]
    assert texts_of(sections, CONSTRAINTS) == ["Never push to origin."]
    told = "Request (from the previous summary) “Move the pier tables. Never push to origin.”"
    assert texts_of(sections, DONE) == [told, "Completed the sums."]
    assert texts_of(sections, IN_PROGRESS)[0] == "moving `test_pier.py`"
    assert texts_of(sections, NEXT) == ["Run the tests:", "pytest -q"]
    assert texts_of(sections, CONTEXT) == [
        "Key technical concepts: tide sums",
        "Files and code sections: `pier.py` - holds the sums",
        "Files and code sections: `test_pier.py`",
        "Errors and fixes: **Wrong sign**: fixed",
    ]


def test_the_last_message_that_a_summary_lists_is_over_when_the_user_has_gone_on() -> None:
    sections = carried([assistant("Moved."), user("Now the docs.")], CLAUDE_CODE)
    assert not any("and the tests" in text for text in texts_of(sections, GOAL))
    assert "Request (from the previous summary) “and the tests”" in texts_of(sections, DONE)
    assert not any("test_pier" in text for text in texts_of(sections, IN_PROGRESS))
    assert "Current work (from the previous summary): moving `test_pier.py`" in texts_of(sections, CONTEXT)


def test_a_rule_among_listed_messages_is_marked_where_a_later_message_lifts_it() -> None:
    listed = '## Goal\nx\n\n## All user messages\n- "Never push to origin."\n- "You can push now."'
    marked = "Never push to origin. (changed later by the user: “You can push now.”)"
    assert texts_of(carried([], listed), CONSTRAINTS) == [marked]


OTHERS = {
    "elements": (
        "<state_snapshot>\n  <overall_goal>Move the tables.</overall_goal>\n  <active_constraints>\n    - Use tabs.\n"
        "  </active_constraints>\n  <key_knowledge>\n    - port 1\n  </key_knowledge>\n  <recent_actions>\n"
        "    - moved a\n  </recent_actions>\n  <current_plan>\n"
        "    1. [DONE] move a\n    2. [TODO] move b\n  </current_plan>\n"
        "</state_snapshot>",
        {
            GOAL: ["Move the tables."],
            CONSTRAINTS: ["Use tabs."],
            DONE: ["moved a", "move a"],
            NEXT: ["move b"],
            CONTEXT: ["Key knowledge: port 1"],
        },
    ),
    "capitals": (
        "USER_CONTEXT: Move the tables.\n\nCOMPLETED: moved a\n\nPENDING: move b\n- move c\n\nTESTS: 3 fail",
        {GOAL: ["Move the tables."], DONE: ["moved a"], NEXT: ["move b", "move c"], CONTEXT: ["Tests: 3 fail"]},
    ),
    "bold": (
        "**User Intent**\nMove the tables.\n\n**Errors + Fixes**\n- a sign\n\n**Pending Tasks:** move b\n\n"
        "- **Current Work**: moving a",
        {GOAL: ["Move the tables."], IN_PROGRESS: ["moving a"], NEXT: ["move b"]},
    ),
    "numbered and bold": (
        "1. **Current Work:** moving a\n2. **Key Technical Concepts**\n- tides\n3. **Pending Tasks and Next Steps**: b",
        {IN_PROGRESS: ["moving a"], NEXT: ["b"], CONTEXT: ["Key technical concepts: tides"]},
    ),
    "Markdown": (
        "## Goal\nMove the tables.\n\n## Instructions\n- Use tabs.\n\n## Discoveries\n- port 1\n\n## Accomplished ##\n"
        "- moved a\n\n## 5. Exact Next Steps\n1. move b\n\n## Strategy & Approach\n- by hand",
        {
            GOAL: ["Move the tables."],
            CONSTRAINTS: ["Use tabs."],
            DONE: ["moved a"],
            DECISIONS: ["by hand"],
            NEXT: ["move b"],
            CONTEXT: ["Discoveries: port 1"],
        },
    ),
    "free text": (
        "Another language model started to solve this problem and produced a summary of its thinking process.\n"
        "The tables are moved.",
        {CONTEXT: ["The tables are moved."]},
    ),
}
"""What a summary looks like -> it, and the lines that it gives."""


@pytest.mark.parametrize("name", OTHERS)
def test_summaries_of_other_agents_are_read_by_their_own_headings(name: str) -> None:
    summary, expected = OTHERS[name]
    found = {section: texts for section in no_sections() if (texts := texts_of(carried([], summary), section))}
    assert {section: found.get(section) for section in expected} == expected


def test_too_few_known_names_make_no_headings() -> None:
    text = "1. Pending Tasks: a\n2. Cranes: b\n3. Current Work: c"
    assert in_markdown(text) == text


def test_thinking_before_a_summary_stays_where_the_summary_lacks_a_part_of_it() -> None:
    text = "1. Pending Tasks: a\n2. Current Work: b\nSummary:\n3. User Intent: c"
    assert texts_of(carried([], text), NEXT) == ["a"]


def test_a_summary_of_ours_is_left_as_it_is() -> None:
    assert in_markdown(PREVIOUS) == PREVIOUS


NAMES = [
    ("Goal", GOAL),
    ("1. Primary Request and Intent", GOAL),
    ("Files & Changes", None),
    ("Tests", None),
    ("Task tracking", None),
    ("Key Decisions Made", DECISIONS),
    ("2) Remaining Work", NEXT),
    ("Open issues", BLOCKED),
    ("Harbour", None),
]


@pytest.mark.parametrize(("name", "section"), NAMES)
def test_headings_of_any_make_have_a_section(name: str, section: str | None) -> None:
    assert section_of(name) == section


OPEN_ENDS = [
    ("None explicitly remaining - all done", False),
    ("There are no pending tasks.", False),
    ("No further steps requested", False),
    ("None of the open tests pass", True),
    ("Nothing works since the upgrade", True),
    ("No retry yet in the uploader", True),
]


@pytest.mark.parametrize(("line", "is_point"), OPEN_ENDS)
def test_words_that_nothing_is_open_are_no_open_point(line: str, is_point: bool) -> None:
    assert texts_of(carried([], f"## Next Steps\n- {line}"), NEXT) == ([line] if is_point else [])


LONG = [
    " ",
    "# a" + " " * 40_000 + "b",
    "<a>",
    "```\n",
    "1. a ",
    "**a",
    "[DONE]",
    "Summary:\n",
    "1. Pending Tasks:\n2. Tests:\n",
]


@pytest.mark.parametrize("part", LONG, ids=lambda part: part[:8].strip())
def test_a_long_summary_takes_no_longer_than_its_length(part: str) -> None:
    """Has no clock: a search that starts anew at each character would not end within minutes."""
    in_markdown(part * (40_000 // len(part) + 1))


WORDS = st.sampled_from(
    [
        "1. Pending Tasks:",
        "**User Intent**",
        "TESTS:",
        "<overall_goal>",
        "</overall_goal>",
        "## Goal",
        "Summary:",
        "```",
    ]
)


@given(st.lists(st.one_of(WORDS, st.text(max_size=20)), max_size=12).map("\n".join))
def test_no_summary_is_too_odd_to_carry(summary: str) -> None:
    carried([user("a")], summary)
