"""Whether a Codex file reports the usage of a reply before the reply or after it.

Since 2026 the items of a reply are written as they come, and its usage after them. Older versions (0.4x) wrote the
usage when the reply was complete, and only then its items, each call with its result. After a message of the user the
first of the two tells which it is; the turns of a file vote. Source: Codex core run_turn, record_conversation_items.
"""

from collections.abc import Sequence

from compactor.formats.codex_calls import CALLS
from compactor.formats.codex_content import type_of
from compactor.formats.codex_usage import Reports
from compactor.formats.json_rows import JsonRow


def is_reply_item(item: dict[str, object]) -> bool:
    """True for what the model answered, a result not being its own."""
    kind = type_of(item)
    return kind in CALLS or kind == "reasoning" or (kind == "message" and item.get("role") == "assistant")


def reports_come_first(rows: Sequence[JsonRow], copied: int) -> bool:
    """True if most turns have usage before the first item of the model.

    Args:
        rows: of the whole file.
        copied: rows before this one were copied and do not vote.
    """
    reports = Reports()
    votes = 0
    is_asked = False
    for number, row in enumerate(rows):
        payload = row.value.get("payload")
        if not isinstance(payload, dict):
            continue
        kind = type_of(row.value)
        if kind == "response_item" and type_of(payload) == "message" and payload.get("role") == "user":
            is_asked = number >= copied
        elif kind == "response_item" and is_reply_item(payload):
            votes -= is_asked
            is_asked = False
        elif kind == "event_msg" and type_of(payload) == "token_count":
            is_request = reports.take(payload.get("info")).request is not None
            votes += is_asked and is_request
            is_asked = is_asked and not is_request
    return votes > 0
