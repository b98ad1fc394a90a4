"""Pi's events and the compaction entry as JSON."""

import json

import pytest

from compactor.events import (
    CompactionResult,
    EntryStamp,
    Reason,
    compaction_aborted,
    compaction_done,
    compaction_entry,
    compaction_failed,
    compaction_start,
    json_line,
    notice_event,
)
from compactor.file_ops import FileLists
from compactor.messages import Message, Usage
from compactor.model import RetryFinished, RetryScheduled, RetryStarted, Streamed

RESULT = CompactionResult(
    summary="## Goal\nx",
    first_kept_entry_id="aaaa0001",
    tokens_before=100,
    estimated_tokens_after=40,
    files=FileLists(read_files=("a",), modified_files=("b",)),
    usage=Usage(input=1),
)
STAMP = EntryStamp(id="bbbb0002", timestamp="2026-01-02T03:04:05.006Z", milliseconds=1767323045006)


def test_done_event_has_pis_fields_in_pis_order() -> None:
    event = compaction_done("overflow", RESULT, will_retry=True)
    assert list(event) == ["type", "reason", "result", "aborted", "willRetry"]
    assert list(event["result"]) == [
        "summary",
        "firstKeptEntryId",
        "tokensBefore",
        "estimatedTokensAfter",
        "usage",
        "details",
    ]
    assert event["result"]["details"] == {"readFiles": ["a"], "modifiedFiles": ["b"]}


@pytest.mark.parametrize(
    ("reason", "lead"),
    [
        ("manual", "Compaction failed: x"),
        ("threshold", "Auto-compaction failed: x"),
        ("overflow", "Context overflow recovery failed: x"),
    ],
)
def test_failed_event_says_what_failed_and_has_no_result(reason: Reason, lead: str) -> None:
    assert compaction_failed(reason, "x") == {
        "type": "compaction_end",
        "reason": reason,
        "aborted": False,
        "willRetry": False,
        "errorMessage": lead,
    }


def test_aborted_event_has_neither_result_nor_message() -> None:
    assert compaction_aborted("manual") == {
        "type": "compaction_end",
        "reason": "manual",
        "aborted": True,
        "willRetry": False,
    }
    assert compaction_start("manual") == {"type": "compaction_start", "reason": "manual"}


def test_retry_notices_become_pis_events_and_progress_none() -> None:
    scheduled = RetryScheduled(attempt=1, max_attempts=3, delay_ms=2000, error_message="busy")
    assert notice_event(scheduled, "manual") == {
        "type": "summarization_retry_scheduled",
        "attempt": 1,
        "maxAttempts": 3,
        "delayMs": 2000,
        "errorMessage": "busy",
    }
    assert notice_event(RetryStarted(), "threshold") == {
        "type": "summarization_retry_attempt_start",
        "source": "compaction",
        "reason": "threshold",
    }
    assert notice_event(RetryFinished(), "manual") == {"type": "summarization_retry_finished"}
    assert notice_event(Streamed(chars=3), "manual") is None


def test_entry_has_pis_fields_in_pis_order() -> None:
    system = Message(role="system", content="base", sections={"cwd": "/p"}, tools_added=[{"name": "read"}])
    entry = compaction_entry(RESULT, STAMP, "cccc0003", system)
    assert list(entry) == [
        "type",
        "id",
        "parentId",
        "timestamp",
        "summary",
        "firstKeptEntryId",
        "tokensBefore",
        "details",
        "usage",
        "fromHook",
        "systemMessage",
    ]
    assert entry["systemMessage"] == {
        "role": "system",
        "content": "base",
        "sections": {"cwd": "/p"},
        "toolsAdded": [{"name": "read"}],
        "timestamp": 1767323045006,
    }


def test_entry_without_model_and_system_leaves_their_fields_out() -> None:
    entry = compaction_entry(
        CompactionResult(
            summary="s", first_kept_entry_id="a", tokens_before=1, estimated_tokens_after=1, files=FileLists()
        ),
        STAMP,
        "p",
        None,
    )
    assert "usage" not in entry
    assert "systemMessage" not in entry


def test_a_system_message_without_sections_and_tools_has_only_its_text() -> None:
    entry = compaction_entry(RESULT, STAMP, "p", Message(role="system", content=""))
    assert list(entry["systemMessage"]) == ["role", "content", "timestamp"]


def test_json_line_is_utf8_with_its_end_and_escapes_lone_surrogates() -> None:
    assert json_line({"a": "é\ud800\n"}) == '{"a":"é\\ud800\\n"}\n'.encode()
    assert json.loads(json_line({"b": [1.0, None, True]})) == {"b": [1, None, True]}
