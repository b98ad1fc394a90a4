"""What entries and messages say: first words, or all of it."""

from typing import Any

import pytest
from builders import SessionBuilder, image, tool_call, usage

from compactor.entries import Entry
from compactor.js_text import utf16_len
from compactor.messages import Block, Message
from compactor.views.entry_text import HEAD_CHARS, entry_text, head, headline, text_field, whole_text


def only_entry(kind: str, **fields: Any) -> Entry:
    builder = SessionBuilder()
    builder.add(kind, **fields)
    return builder.session().entries[0]


ENTRIES: list[tuple[str, dict[str, Any], str]] = [
    ("message", {"message": {"role": "user", "content": "hello"}}, "hello"),
    ("message", {}, ""),
    ("custom_message", {"customType": "tide", "content": "high"}, "high"),
    ("compaction", {"summary": "S"}, "S"),
    ("branch_summary", {}, ""),
    ("model_change", {"provider": "dock", "modelId": "g"}, "dock/g"),
    ("model_change", {}, "?/?"),
    ("thinking_level_change", {"thinkingLevel": "high"}, "high"),
    ("thinking_level_change", {}, ""),
    ("usage", {"provider": "dock", "model": "g", "usage": usage(40)}, "dock/g 40 tokens"),
    ("usage", {}, "?/?"),
    ("custom", {"customType": "tide"}, "tide"),
    ("context_edit", {"targetId": "x", "replacement": None}, "omits x"),
    ("context_edit", {"replacement": {"content": "y"}}, "replaces ?"),
    ("label", {"targetId": "x", "label": "low tide"}, "'low tide' on x"),
    ("label", {"targetId": "x"}, "none on x"),
    ("session_info", {"name": "Harbor"}, "Harbor"),
    ("session_info", {"name": 7}, ""),
    ("not_yet_invented", {"content": "future"}, ""),
]


@pytest.mark.parametrize(("kind", "fields", "expected"), ENTRIES)
def test_every_type_of_entry_says_what_it_is_about(kind: str, fields: dict[str, Any], expected: str) -> None:
    entry = only_entry(kind, **fields)
    assert entry_text(entry, entry.body) == expected


def text(words: str) -> Block:
    return Block(type="text", text=words)


CALL = Block(type="toolCall", id="c", name="read", arguments={"path": "a.py", "lines": [1, 2]})
THOUGHT = Block(type="thinking", thinking="Let me see.")
PICTURE = Block(type="image")
TOOL = {"name": "read"}

MESSAGES: list[tuple[Message, str, str]] = [
    (Message(role="user", content="hello"), "hello", "hello"),
    (
        Message(role="assistant", content=[THOUGHT, text("I look."), CALL]),
        "I look.",
        '[thinking] Let me see.\nI look.\n[call] read(path="a.py", lines=[1,2])',
    ),
    (
        Message(role="assistant", content=[THOUGHT, CALL, Block(type="toolCall")]),
        'read(path="a.py", lines=[1,2]), ()',
        '[thinking] Let me see.\n[call] read(path="a.py", lines=[1,2])\n[call] ()',
    ),
    (
        Message(role="assistant", content=[Block(type="thinking"), THOUGHT]),
        "Let me see.",
        "[thinking] Let me see.",
    ),
    (Message(role="assistant", content=[], error_message="too long"), "too long", "too long"),
    (Message(role="toolResult", content=[PICTURE, PICTURE]), "(2 images)", "[image]\n[image]"),
    (Message(role="toolResult", content=[Block()]), "", "[unknown block]"),
    (Message(role="bashExecution", command="ls", output="a.py"), "$ ls", "$ ls\na.py"),
    (Message(role="bashExecution"), "$ ", "$ \n"),
    (Message(role="branchSummary", summary="S"), "S", "S"),
    (Message(role="compactionSummary"), "", ""),
    (Message(role="system", content="You help."), "You help.", "You help."),
    (
        Message(role="system", sections={"cwd": "/srv", "old": None}, tools_added=[TOOL], tools_removed=[TOOL, TOOL]),
        "sections cwd, old; 1 tool added; 2 tools removed",
        '[section cwd]\n/srv\n\n[section old removed]\n\n[tool added] {"name":"read"}\n\n'
        '[tool removed] {"name":"read"}\n\n[tool removed] {"name":"read"}',
    ),
    (Message(role="system"), "", ""),
]


@pytest.mark.parametrize(("message", "first_words", "everything"), MESSAGES)
def test_a_message_has_a_headline_and_a_whole_text(message: Message, first_words: str, everything: str) -> None:
    assert headline(message) == first_words
    assert whole_text(message) == everything


def test_all_of_a_message_entry_can_be_asked_for() -> None:
    builder = SessionBuilder()
    builder.assistant("I look.", tool_call("c", "ls"))
    entry = builder.session().entries[0]
    assert entry_text(entry, entry.body) == "I look."
    assert entry_text(entry, entry.body, whole=True) == "I look.\n[call] ls()"


def test_a_headline_of_calls_is_short_whatever_they_hold() -> None:
    arguments = {"text": "x" * 10_000, "more": "y" * 10_000}
    call = Block(type="toolCall", name="write", arguments=arguments)
    assert len(headline(Message(role="assistant", content=[call]))) < 2 * HEAD_CHARS
    assert len(whole_text(Message(role="assistant", content=[call]))) > 20_000


def test_first_words_never_split_a_surrogate_pair() -> None:
    assert utf16_len(head("a" + "🚢" * 200)) == HEAD_CHARS - 1


def test_a_field_of_an_entry_that_is_nested_too_deep_counts_as_missing() -> None:
    builder = SessionBuilder()
    builder.add("label", targetId="x", label="deep")
    line = builder.lines()[1].replace(b'"deep"', b'"deep","data":' + b"[" * 200_000 + b"]" * 200_000)
    entry = builder.session().entries[0]
    deep = Entry(0, 2, "label", entry.id, None, "", line, 0, len(line) - 1)
    assert text_field(deep, "label") == ""


def test_a_picture_alone_is_named() -> None:
    builder = SessionBuilder()
    builder.user([image()])
    entry = builder.session().entries[0]
    assert entry_text(entry, entry.body) == "(1 image)"
