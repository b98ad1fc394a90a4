"""What the rows of a Codex rollout are, by their types: for the importer, and for the glance of a list.

Source: Codex protocol/src/protocol.rs RolloutItem, EventMsg.
"""

import re
from collections.abc import Mapping
from typing import Any

from compactor.formats.codex_calls import CALLS, OUTPUTS
from compactor.formats.codex_content import content_blocks, injected_kind

SIDE_ROWS = frozenset(
    {
        "world_state",
        "inter_agent_communication_metadata",
        "realtime_item",
        "retained_context",
        "rollout_reference",
        "security_risk_score",
    }
)
"""Rows that hold nothing that the model saw, or that an item repeats."""

ROW_TYPES = frozenset(
    {
        "session_meta",
        "turn_context",
        "response_item",
        "event_msg",
        "compacted",
        "inter_agent_communication",
        "token_usage_record",
        *SIDE_ROWS,
    }
)
BARE_ITEMS = frozenset({"message", "reasoning", *CALLS, *OUTPUTS})
"""Items as rows of their own, in older files."""

TURN_EVENTS = frozenset({"task_started", "turn_started", "task_complete", "turn_complete", "turn_aborted"})

FOLDER_ROWS = 20
"""So far from the start a file without a folder of its own is searched for one."""

_FOLDER = re.compile(r"<cwd>([^<\n]+)</cwd>|^\s*Current working directory: ([^\n]+)$", re.MULTILINE)


def is_delivery(row: Mapping[str, Any]) -> bool:
    """True for an item that notes what a script of the model's said to the user: the model sees it in the script."""
    metadata = row.get("metadata")
    return isinstance(metadata, dict) and isinstance(metadata.get("delivered_assistant_message"), str)


def told_folder(row: Mapping[str, Any]) -> str:
    """The working directory that a row tells the model of, or that a turn ran in; empty if it tells of none."""
    item = row.get("payload", row)
    if not isinstance(item, Mapping):
        return ""
    if row.get("type") == "turn_context" and isinstance(folder := item.get("cwd"), str):
        return folder
    return _folder_in(item) if item.get("type") == "message" else ""


def _folder_in(message: Mapping[str, Any]) -> str:
    """The working directory that a message tells the model of, empty if it tells of none."""
    for block in content_blocks(message.get("content")).blocks:
        if block["type"] == "text" and injected_kind(block["text"]) == "environment_context":
            found = _FOLDER.search(block["text"])
            if found is not None:
                return str(found.group(1) or found.group(2)).strip()
    return ""
