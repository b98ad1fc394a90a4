"""A previous summary in the next one: what holds is kept, what is over moves, rules are never lost."""

import pytest
from talk import assistant, edited, ids_of, ran, user

from compactor.findings import digest, no_sections, part_summaries, with_previous
from compactor.findings.carried import add_branch
from compactor.findings.frames import ENGLISH
from compactor.findings.items import BLOCKED, CONTEXT, DECISIONS, DONE, GOAL, IN_PROGRESS, NEXT, Sections
from compactor.messages import Message
from compactor.summary import CONSTRAINTS, SPLIT_TURN_LEAD

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
