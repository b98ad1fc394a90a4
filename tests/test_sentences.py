"""Sentences of a message: exact spans, list items whole, pasted things left out."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_character

from compactor.prose import is_code_like
from compactor.sentences import sentences


def texts_of(text: str) -> list[str]:
    return [sentence.text for sentence in sentences(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fix it. Then stop.", ["Fix it.", "Then stop."]),
        ("Edit main.py and v1.2.3 of lib.so now.", ["Edit main.py and v1.2.3 of lib.so now."]),
        ("See https://example.org/a.b?c=d. Then go.", ["See https://example.org/a.b?c=d.", "Then go."]),
        ("Use a linter, e.g. ruff, on it. Ok.", ["Use a linter, e.g. ruff, on it.", "Ok."]),
        ("Tabs, spaces etc. Never mix.", ["Tabs, spaces etc.", "Never mix."]),
        ("Read no. 5 first. Go.", ["Read no. 5 first.", "Go."]),
        ("that's bad. don't do it!", ["that's bad.", "don't do it!"]),
        ("Run `a. B` now. Go.", ["Run `a. B` now.", "Go."]),
        ("Block `!` commands. Go.", ["Block `!` commands.", "Go."]),
        ('Write "Fixed. Done." there. Go.', ['Write "Fixed. Done." there.', "Go."]),
        ("别动数据库。全部用中文回答！好", ["别动数据库。", "全部用中文回答！", "好"]),
        ("wait ... what happened", ["wait ... what happened"]),
        ("Go with option B. Never push.", ["Go with option B.", "Never push."]),
        ("So do I. Keep it.", ["So do I.", "Keep it."]),
        ("Ask J. Smith first. Go.", ["Ask J. Smith first.", "Go."]),
        ("", []),
        (" \n\t\n", []),
    ],
)
def test_sentences_end_where_a_reader_ends_them(text: str, expected: list[str]) -> None:
    assert texts_of(text) == expected


def test_list_items_stay_whole_and_know_the_line_over_them() -> None:
    found = sentences("Please mind:\n- tabs. Not spaces\n- no emojis\n  in code\n\n## Later\n1. rename it\n")
    assert [(s.text, s.lead, s.is_item) for s in found[1:]] == [
        ("tabs. Not spaces", "Please mind:", True),
        ("no emojis\n  in code", "Please mind:", True),
        ("rename it", "Later", True),
    ]


def test_a_wrapped_line_goes_on_and_a_short_line_does_not() -> None:
    wrapped = "please do not change anything in the whole folder that holds\nthe generated files"
    assert texts_of(wrapped) == [wrapped]
    assert texts_of("fix the bug\nnever push") == ["fix the bug", "never push"]


def test_a_sentence_too_long_to_quote_is_split_at_its_semicolons() -> None:
    story = "the page of the orders shares the form, and the form is what breaks when two of them are open at once"
    parts = ["Fix the login page;", *[f"{story};"] * 4, "never push to origin."]
    assert texts_of(" ".join(parts)) == parts
    short = "Fix the login page; never push to origin."
    assert texts_of(short) == [short]


@pytest.mark.parametrize(
    "paste",
    [
        "```py\nnever = 'push'\n```",
        "~~~\nDo not push.\n~~~",
        "> Do not push.\n> Ever.",
        "<skill name='x'>\nDo not push.\n</skill>",
        'Traceback (most recent call last):\n  File "a.py", line 1, in b\n    never push\nValueError: do not push it',
        "Error: do not push\n    at push (/a/b.js:1:2)",
        "$ git push --never",
        "2026-01-01T10:00:00 do not push the thing to me",
        "[ERROR] never push the thing to anybody",
        '{"rule": "never push",\n"text": "do not push"}',
        "| never | push |\n|---|---|",
        "const rule = 'never push';",
        "│ never push │",
        "import never from 'push'",
        "+ 8 - **Never**: do not push\n and do not pull either",
        " 12 ### Never push",
        " Error: 400 you must\n never push to\n anyone.",
    ],
)
def test_what_was_pasted_is_no_sentence_but_what_stands_around_it_is(paste: str) -> None:
    found = texts_of(f"Look at this.\n\n{paste}\n\nKeep the name.")
    assert found == ["Look at this.", "Keep the name."]


def test_a_sentence_right_behind_a_closing_fence_or_tag_counts() -> None:
    assert texts_of("a\n```\nx\n``` Keep the old name.") == ["a", "Keep the old name."]
    assert texts_of("a\n<x>\ny\n</x> Keep the old name.") == ["a", "Keep the old name."]


def test_a_long_document_is_marked_as_pasted_except_its_ends() -> None:
    body = "".join(f"## Part {n}\n\nThis is what part {n} of the guide says about it.\n\n" for n in range(120))
    found = sentences(f"Read this guide.\n\n{body}\n\nKeep it short.")
    assert [s.text for s in found if not s.pasted] == ["Read this guide.", "Keep it short."]
    assert len(found) == 122


def test_an_unclosed_fence_hides_nothing() -> None:
    assert "Never push." in texts_of("```\nx = 1\n\nNever push.")


@given(st.text(any_character, max_size=400))
def test_every_sentence_is_an_exact_span_in_order(text: str) -> None:
    at = 0
    for sentence in sentences(text):
        assert text[sentence.start : sentence.end] == sentence.text
        assert sentence.start >= at
        assert sentence.text == sentence.text.strip() != ""
        at = sentence.end


@given(st.text(any_character, max_size=200))
def test_code_detection_never_fails(line: str) -> None:
    assert is_code_like(line) in (True, False)


@pytest.mark.parametrize(
    "piece",
    ["<a>\n", "```\n", "- x\n", "a. ", '"', "`", "(", "# x\n", "e.g. ", "x" * 50, "不", ">\n", "</a>", "a;b{\n"],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    """A quadratic rule would need minutes for this; the limit leaves room for a busy machine."""
    start = time.process_time()
    sentences(piece * (200_000 // len(piece)))
    assert time.process_time() - start < 5
