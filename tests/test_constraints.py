"""Constraints: what a user laid down is found word for word, errands and reports are not, nothing gets lost."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rules_said import DEVELOPED, HELD_OUT, NOT_RULES
from strategies import any_character

from compactor.constraint_orders import LIKELY
from compactor.constraints import (
    Constraint,
    constraints_in_summary,
    find_constraints,
    missing_constraints,
)
from compactor.messages import Block, Message


def found_in(*texts: str) -> list[Constraint]:
    return find_constraints([Message(role="user", content=text) for text in texts])


def texts_of(*texts: str) -> list[str]:
    return [constraint.text for constraint in found_in(*texts)]


@pytest.mark.parametrize("sentence", DEVELOPED)
def test_a_rule_is_found_word_for_word(sentence: str) -> None:
    assert texts_of(f"Please fix the parser first.\n\n{sentence}\n\nThanks!") == [sentence]


def test_a_clear_rule_is_at_least_likely() -> None:
    """Weaker ones give way first and are not put back into a reply that lost them."""
    assert [sentence for sentence in DEVELOPED if found_in(sentence)[0].strength < LIKELY] == []


@pytest.mark.parametrize(
    "lead", ["PS: ", "thx... ", "well… ", "2 of 3 pass; ", "(see above) ", "ship it 🚀 ", "a, b, etc. "]
)
def test_please_opens_an_order_wherever_it_stands(lead: str) -> None:
    assert "please keep the api stable" in texts_of(f"{lead}please keep the api stable")[0]


@pytest.mark.parametrize(
    "errand",
    ["fix the typo", "take a look at the flaky test", "check why the build is red", "add a retry to the uploader"],
)
@pytest.mark.parametrize(
    "frame",
    ["{}", "please {}", "could you {}?", "It would be great if you could {}.", "the build is red, so please {}"],
)
def test_a_polite_errand_stays_an_errand(frame: str, errand: str) -> None:
    assert texts_of(frame.format(errand)) == []


@pytest.mark.parametrize(
    "rule",
    ["keep the diff small", "answer in French", "run the linter before each commit", "never touch the lock file"],
)
@pytest.mark.parametrize(
    "frame",
    [
        "could you {}?",
        "might I ask you to {}?",
        "It'd be lovely if you could {}.",
        "it is slow here, so please {}",
        "do {}",
    ],
)
def test_a_polite_rule_is_a_rule(frame: str, rule: str) -> None:
    [found] = found_in(frame.format(rule))
    assert (found.text, found.strength >= LIKELY) == (frame.format(rule), True)


@pytest.mark.parametrize(
    "wish",
    ["not pushing to main", "keeping the diff small", "using tabs everywhere", "running the linter before each commit"],
)
def test_would_you_mind_asks_for_a_rule_whatever_the_verb_in_ing_comes_from(wish: str) -> None:
    assert texts_of(f"Would you mind {wish}?") == [f"Would you mind {wish}?"]


@pytest.mark.parametrize("wish", ["stopping the server", "fixing the typo", "a quick look at the log", "if I push it"])
def test_would_you_mind_before_an_errand_or_a_question_is_no_rule(wish: str) -> None:
    assert texts_of(f"Would you mind {wish}?") == []


@pytest.mark.parametrize("seal", ["always.", "every time", "No exceptions!", "Period."])
def test_a_fragment_that_makes_a_rule_belongs_to_it(seal: str) -> None:
    assert texts_of(f"tabs. {seal}") == [f"tabs. {seal}"]
    assert texts_of(f"The login crashes. {seal}") in ([], [seal])


@pytest.mark.parametrize("sentence", NOT_RULES)
def test_an_errand_a_question_or_a_report_is_no_rule(sentence: str) -> None:
    assert texts_of(sentence) == []


def test_of_sentences_never_tuned_to_at_least_96_of_100_are_found() -> None:
    missed = [sentence for sentence in HELD_OUT if texts_of(sentence) != [sentence]]
    assert len(missed) <= 0.04 * len(HELD_OUT), missed


@pytest.mark.parametrize(
    ("sentence", "kind"),
    [
        ("Never push to origin.", "action"),
        ("Never print the API token.", "secrecy"),
        ("Run the tests before each commit.", "process"),
        ("I prefer tabs over spaces.", "preference"),
        ("Answer in German with three bullets at most.", "output"),
    ],
)
def test_kind_tells_what_a_rule_is_about(sentence: str, kind: str) -> None:
    assert [constraint.kind for constraint in found_in(sentence)] == [kind]


def test_only_the_users_own_messages_count() -> None:
    said = "Never push to origin."
    messages = [
        Message(role="assistant", content=[Block(type="text", text=said)]),
        Message(role="toolResult", content=[Block(type="text", text=said)]),
        Message(role="bashExecution", command="echo", output=said),
        Message(role="custom", content=said),
        Message(role="compactionSummary", summary=said),
    ]
    assert find_constraints(messages) == []


@pytest.mark.parametrize(
    "paste",
    [
        "```\nNever edit this file.\n```",
        "> Never edit this file.",
        "<doc>\nNever edit this file.\n</doc>",
        "Traceback (most recent call last):\n  File 'a.py', line 3\nRuntimeError: you must not do this",
        "2026-01-01 10:00:00 WARN users must never see this line",
        '{"rule": "never edit", "must": "always"}',
    ],
)
def test_a_rule_around_a_paste_is_found_and_the_paste_is_not(paste: str) -> None:
    assert texts_of(f"It fails like this:\n\n{paste}\n\nKeep the old name.") == ["Keep the old name."]
    assert texts_of(f"Keep the old name.\n\n{paste}") == ["Keep the old name."]


def test_a_pasted_guide_does_not_flood_but_rules_before_and_behind_it_are_found() -> None:
    guide = "".join(f"## Rule {n}\n\nYou must never do thing number {n} in any project.\n\n" for n in range(120))
    text = f"Never push. Here is our guide.\n\n{guide}For the rest of this session, use tabs.\n\nAlways use pnpm."
    assert texts_of(text) == ["Never push.", "For the rest of this session, use tabs.", "Always use pnpm."]


def test_a_rule_typed_right_behind_something_without_a_full_stop_is_inside_what_is_found() -> None:
    assert any("Bullet points only." in text for text in texts_of("look at the failing test Bullet points only."))
    words = "alpha beta gamma " * 100
    assert texts_of(f"{words}Never push to origin.") == ["Never push to origin."]


def test_list_items_under_a_heading_for_rules_are_rules_and_a_ban_keeps_its_list() -> None:
    assert texts_of("House rules:\n- tabs\n- 100 columns\n\nFix the bug.") == ["tabs", "100 columns"]
    assert texts_of("Do not touch:\n- src/a.py\n- src/b.py\n\nFix the bug.") == [
        "Do not touch:\n- src/a.py\n- src/b.py"
    ]


def test_a_line_that_only_announces_rules_is_none_even_if_it_says_always() -> None:
    said = "Always follow these rules:\n- tabs in Makefiles\n- ASCII in comments"
    assert texts_of(said) == ["tabs in Makefiles", "ASCII in comments"]


def test_a_rule_said_twice_is_told_once_at_its_first_place() -> None:
    assert [(c.text, c.message) for c in found_in("No emojis.", "Fix it.", "no emojis!")] == [("No emojis.", 0)]


@pytest.mark.parametrize(
    ("rule", "lift"),
    [
        ("Never push to origin.", "ok you can push now"),
        ("Always indent with tabs.", "Forget the rule about tabs."),
        ("Do not edit config.py.", "Feel free to edit config.py after all."),
        ("The migrations are frozen.", "The freeze on migrations is over."),
        ("不要推送到远程。", "现在可以推送了"),
    ],
)
def test_a_rule_that_the_user_lifts_is_kept_and_marked(rule: str, lift: str) -> None:
    [first, *_] = found_in(rule, lift)
    assert (first.text, first.changed_by, first.changed_in) == (rule, lift, 1)


def test_a_lift_of_one_rule_leaves_the_others_and_a_rule_stated_anew_holds_again() -> None:
    found = found_in("Never push. Use tabs.", "You can push now.")
    assert [(c.text, c.changed_by is not None) for c in found] == [("Never push.", True), ("Use tabs.", False)]
    assert [c.changed_by for c in found_in("Never push.", "You can push now.", "Never push.")] == [None]


def test_a_rule_told_at_length_is_not_taken_to_be_lifted_by_a_few_words() -> None:
    """It names too much: any sentence that gives leave would meet one of its words."""
    reasons = ", ".join(f"whatever the reason of team {n} may be" for n in range(9))
    assert [c.changed_by for c in found_in(f"Never push to origin, {reasons}.", "You can push now.")] == [None]
    assert [c.changed_by for c in found_in("Never push to origin.", "You can push now.")] == ["You can push now."]


def test_missing_are_those_whose_words_are_gone_whatever_the_marks_and_blanks() -> None:
    rules = found_in("Don't touch `src/a.py`.\nNever push to origin.")
    assert missing_constraints(rules, "- **Don’t touch  src/a.py.**\n- never push") == [rules[1]]
    assert missing_constraints(rules, "- Don't\n touch src/a.py. “Never push to origin.”") == []
    assert missing_constraints([], "") == []


@pytest.mark.parametrize(
    ("summary", "items"),
    [
        ("## Goal\nx\n\n## Constraints & Preferences\n- a + b\n  c\n* d\n\n## Progress\n- e", ["a + b c", "d"]),
        ("## Constraints & Preferences\n- (none)\n\n## Progress", []),
        ("# Constraints\n1. one\n2. two\n### Sub\nplain\n# Next\nx", ["one", "two", "plain"]),
        ("## Goal\nNever push.", []),
        ("", []),
    ],
)
def test_items_of_a_constraints_section_are_read_back(summary: str, items: Sequence[str]) -> None:
    assert constraints_in_summary(summary) == items


@given(st.lists(st.one_of(st.text(any_character, max_size=300), st.sampled_from(DEVELOPED)), max_size=6))
def test_every_constraint_is_a_substring_of_its_message_at_its_offset(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    for constraint in found_in("Hello.", text):
        message = ("Hello.", text)[constraint.message]
        assert message[constraint.start : constraint.start + len(constraint.text)] == constraint.text
        assert constraint.text.strip() == constraint.text != ""


@given(st.text(any_character, max_size=300), st.text(any_character, max_size=300))
def test_finding_and_missing_never_fail_and_agree(text: str, summary: str) -> None:
    found = found_in(text)
    assert found == found_in(text)
    assert missing_constraints(found, text) == []
    assert set(map(id, missing_constraints(found, summary))) <= set(map(id, found))
    constraints_in_summary(summary)
