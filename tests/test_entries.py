"""An entry keeps the bytes that it was read from, and decodes them when asked."""

import json
from typing import Any

import msgspec
import pytest
from builders import SessionBuilder, row_line
from hypothesis import given
from hypothesis import strategies as st
from strategies import json_values, sessions, texts

from compactor.entries import Entry, EntryBody, load_json
from compactor.errors import SessionError
from compactor.js_text import json_text
from compactor.messages import Message


def entry_of(raw: bytes, **fields: Any) -> Entry:
    known: dict[str, Any] = {"index": 0, "line": 2, "type": "message", "id": "a", "parent_id": None, "role": ""}
    return Entry(**{**known, "source": raw, "start": 0, "end": len(raw), **fields})


@given(sessions(), st.dictionaries(texts, json_values, max_size=3))
def test_unknown_fields_and_types_survive(builder: SessionBuilder, extra: dict[str, Any]) -> None:
    for row in builder.rows:
        row.update({f"x{key}": value for key, value in extra.items()})
    session = builder.session()
    assert [e.raw + b"\n" for e in session.entries] == builder.lines()[1:]
    assert [json_text(e.wire()) for e in session.entries] == [
        json_text(json.loads(json.dumps(r))) for r in builder.rows
    ]


def test_raw_is_the_slice_of_the_file_and_not_a_copy_of_it() -> None:
    source = b'xx{"type":"label"}yy'
    entry = entry_of(source, start=2, end=len(source) - 2)
    assert entry.raw == b'{"type":"label"}'
    assert entry.source is source


def test_a_migrated_entry_is_written_with_its_new_links_and_role() -> None:
    row = {"type": "message", "odd": 1, "message": {"role": "hookMessage", "content": "tide", "more": [2]}}
    entry = entry_of(row_line(row), id="0a", parent_id="09", patch={"role": "custom"})
    assert entry.wire() == {
        "type": "message",
        "odd": 1,
        "message": {"role": "custom", "content": "tide", "more": [2]},
        "id": "0a",
        "parentId": "09",
    }
    assert entry.body.message == Message(role="custom", content="tide")


def test_a_migrated_compaction_names_the_entry_and_no_longer_its_index() -> None:
    row = {"type": "compaction", "summary": "s", "firstKeptEntryIndex": 3}
    patch = {"firstKeptEntryId": "0c", "dropped": ("firstKeptEntryIndex",)}
    entry = entry_of(row_line(row), id="0a", parent_id=msgspec.UNSET, patch=patch)
    assert entry.wire() == {
        "type": "compaction",
        "summary": "s",
        "id": "0a",
        "parentId": None,
        "firstKeptEntryId": "0c",
    }
    assert entry.body.first_kept_entry_id == "0c"


def test_a_patch_without_a_message_to_patch_changes_nothing() -> None:
    entry = entry_of(b'{"type":"message"}', patch={"role": "custom"})
    assert entry.body == EntryBody()
    assert entry_of(b'{"type":"message"}', patch={}).wire() == {"type": "message", "id": "a", "parentId": None}


@pytest.mark.parametrize(
    ("raw", "body", "bad"),
    [
        (b'{"timestamp":5,"summary":"s"}', EntryBody(summary="s"), ["timestamp"]),
        (b'{"message":{"role":"user","content":7}}', EntryBody(message=Message(role="user")), ["message.content"]),
        (b'{"systemMessage":{"role":1}}', EntryBody(system_message=Message()), ["systemMessage.role"]),
        (b'{"summary":"\\ud83d"}', EntryBody(summary="\ud83d"), []),
        (b'{"summary":"a\xffb"}', EntryBody(summary="a\ufffdb"), ["bytes that are not UTF-8"]),
        (b'{"tokensBefore":NaN,"summary":"s","details":-Infinity}', None, []),
        (b'{"summary":"s","fromHook":1,"usage":{"input":"x","output":2}}', None, ["fromHook", "usage.input"]),
        (b'["no object"]', EntryBody(), []),
        (b'{"summary":', EntryBody(), ["the entry (Expecting value: line 1 column 12 (char 11))"]),
        (b'{"details":' + b"[" * 50_000 + b"]" * 50_000 + b"}", EntryBody(), ["the entry (nested too deep)"]),
    ],
)
def test_what_is_no_pi_entry_is_read_as_far_as_it_goes(raw: bytes, body: EntryBody | None, bad: list[str]) -> None:
    found, problems = entry_of(raw).decode()
    assert problems == bad
    assert found == body if body is not None else found.summary == "s"


def test_an_entry_that_cannot_be_decoded_is_an_error_with_its_line_when_it_is_to_be_written() -> None:
    entry = entry_of(b'{"a":' * 50_000 + b"1" + b"}" * 50_000, line=7)
    with pytest.raises(SessionError, match=r"line 7: .*nested too deep"):
        entry.wire()


def test_an_entry_that_is_no_object_is_written_as_an_empty_one() -> None:
    assert entry_of(b"[1]").wire() == {}


def test_a_number_with_thousands_of_digits_is_infinite_as_in_javascript() -> None:
    assert load_json(b'{"n":' + b"7" * 5000 + b"}") == {"n": float("inf")}
    assert entry_of(b'{"summary":"s","details":' + b"7" * 5000 + b"}").body.summary == "s"
