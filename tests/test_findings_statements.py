"""Statements: decisions, open points, limits, results, values; verbatim, with who said them."""

import pytest
from talk import assistant, ids_of, user

from compactor.findings.statements import MAX_TEXT_CHARS, find_statements


def kinds_of(text: str, *, by_user: bool = False) -> list[str]:
    message = user(text) if by_user else assistant(text)
    return [statement.kind for statement in find_statements([message])]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("SQLite was chosen over Postgres because no server is needed.", "decision"),
        ("We decided to keep timeouts in the client.", "decision"),
        ("The async rewrite was rejected because it breaks the plugin API.", "decision"),
        ("I'll use a queue instead of a lock.", "decision"),
        ("我们决定用队列而不是锁，因为更简单。", "decision"),
        ("Entscheidung: wir lesen zeilenweise, weil der Puffer sonst überläuft.", "decision"),
        ("Nous avons choisi une file, parce que c'est plus simple.", "decision"),
        ("Decisión: usamos una cola porque es más simple.", "decision"),
        ("Not checked: behaviour on Windows.", "scope"),
        ("Only the English locale was tested.", "scope"),
        ("I haven't run the integration tests.", "scope"),
        ("Benchmarks were run once, on one machine.", "scope"),
        ("尚未测试 Windows。", "scope"),
        ("The migration script is still unfinished: step 3 of 5 remains to be written.", "open"),
        ("To do: update the changelog before release.", "open"),
        ("The flaky test test_reconnect has not been fixed.", "open"),
        ("Next step: wire the parser into the command.", "open"),
        ("Root cause: the connection pool is never closed.", "result"),
        ("Commit a1b9f02 introduced the regression.", "result"),
        ("I am blocked on your decision about the schema.", "blocked"),
        ("The install fails with E403; I can't go on without credentials.", "blocked"),
        ("Ich komme hier nicht weiter.", "blocked"),
        ("The cache TTL is 900 seconds now.", "value"),
        ("The service listens on port 8443 of the gateway.", "value"),
    ],
)
def test_what_an_assistant_states_is_known_by_its_words(text: str, kind: str) -> None:
    assert kind in kinds_of(text)


@pytest.mark.parametrize(
    "text",
    ["Let me look at the file.", "Now create the helper:", "Shall I go on with the next step?", "Ok.", "42", "{}[]()"],
)
def test_small_talk_and_questions_state_nothing(text: str) -> None:
    assert kinds_of(text) == []


def test_a_list_item_is_also_what_the_line_over_it_says() -> None:
    text = "Remaining:\n- port the parser\n\nDidn't touch:\n- the docs\n\nChanges:\n- `a.py` waits for 900 seconds"
    found = find_statements([assistant(text)])
    assert [(s.kind, s.text, s.lead) for s in found] == [
        ("open", "port the parser", "Remaining:"),
        ("scope", "the docs", "Didn't touch:"),
        ("result", "`a.py` waits for 900 seconds", "Changes:"),
    ]


def test_of_the_user_goals_decisions_and_exact_values_count() -> None:
    assert kinds_of("The goal is to cut p95 latency below 200 ms.", by_user=True) == ["goal"]
    assert kinds_of("See https://example.org/issue for it.", by_user=True) == ["value"]
    assert kinds_of("Go with SQLite instead of Postgres.", by_user=True) == ["decision"]
    assert kinds_of("Root cause: the pool.", by_user=True) == []


def test_a_sentence_said_twice_is_told_where_it_was_said_last() -> None:
    messages = [assistant("Not checked: Windows."), user("ok"), assistant("Not checked: Windows.")]
    [statement] = find_statements(messages, ids_of(messages))
    assert (statement.message, statement.entry_id) == (2, "e2")


def test_of_a_message_too_long_to_be_typed_only_start_and_end_are_read() -> None:
    paste = "\n\n".join(f"Line {n} of what was pasted is about this and that." for n in range(800))
    said = ["Not checked: Windows.", "Not checked: Solaris.", "Not checked: macOS."]
    whole = f"{said[0]}\n\n{paste}\n\n{said[1]}\n\n{paste}\n\n{said[2]}"
    assert len(whole) > MAX_TEXT_CHARS
    assert [s.text for s in find_statements([assistant(whole)])] == [said[0], said[2]]
