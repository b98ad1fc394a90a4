"""What the user typed: the words without what the agent's program wrote around them, or in the user's name."""

import pytest
from hypothesis import given
from strategies import texts
from talk import assistant, edited, ids_of, user

from compactor.findings.requests import find_requests
from compactor.findings.statements import find_statements
from compactor.findings.typed import typed

SLASH = "<command-message>review is running…</command-message>\n<command-name>/review</command-name>\n"

WORDS = [
    (" Fix the lamp.\n", "Fix the lamp."),
    ("[Request interrupted by user]", ""),
    ("[Request interrupted by user for tool use]", ""),
    ("[Request interrupted by user] is what I read", "[Request interrupted by user] is what I read"),
    ("<local-command-stdout>Set model to opus\nNo more.</local-command-stdout>", ""),
    ("<task-notification>\n<task-id>b1</task-id>", ""),
    ("<agent-notification></agent-notification>", ""),
    ("<bash-stdout>12 passed</bash-stdout><bash-stderr></bash-stderr>", ""),
    (f"{SLASH}<command-args>pull 2</command-args>", "/review pull 2"),
    (SLASH, "/review"),
    ("<command-name>clear</command-name>\n  <command-args></command-args>", "/clear"),
    ("<command-message>no name</command-message>", "<command-message>no name</command-message>"),
    ("See <command-name>/x</command-name>", "See <command-name>/x</command-name>"),
    ("<div>why?</div>", "<div>why?</div>"),
]


@pytest.mark.parametrize(("text", "expected"), WORDS)
def test_notes_of_the_program_are_not_what_the_user_typed(text: str, expected: str) -> None:
    assert typed(text) == expected


@given(texts)
def test_other_text_is_only_stripped(text: str) -> None:
    assert typed(f"Note: {text}") == f"Note: {text}".strip()


def test_a_note_neither_asks_for_anything_nor_states_it() -> None:
    messages = [
        user("Fix the lamp in switch.py."),
        *edited("1", "switch.py"),
        user("[Request interrupted by user for tool use]"),
        user("<local-command-stdout>Decision: we always use gas lamps from now on.</local-command-stdout>"),
        user(f"{SLASH}<command-args>the lamp</command-args>"),
        assistant("It is fine."),
    ]
    found = find_requests(messages, ids_of(messages), [], [])
    assert [(request.text, request.answered) for request in found] == [
        ("Fix the lamp in switch.py.", False),
        ("/review the lamp", True),
    ]
    assert [s.text for s in find_statements(messages) if "gas lamps" in s.text] == []
