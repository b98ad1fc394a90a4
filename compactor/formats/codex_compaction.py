"""A compaction of Codex as parts of a Pi session: what is its summary, and what the context goes on with.

Takes the payload of a `compacted` row; gives the summary and the response items that replaced the history. A
compaction on the provider's side leaves no summary that can be read; one by the model puts it last among the items,
as a message that begins with a fixed sentence. Source: Codex core/src/compact.rs build_compacted_history.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from compactor.formats.codex_content import content_blocks, type_of
from compactor.formats.codex_conversation import COMPACTION_ITEMS
from compactor.js_text import utf8
from compactor.summary import ENCRYPTED_SUMMARY, UNWRITTEN_SUMMARY

SUMMARY_OPENING = "Another language model started to solve this problem"
"""How a summary among the items begins; Codex core templates/compact/summary_prefix.md."""

KEPT_USER_BYTES = 4 * 20_000
"""Of the user's messages so much stays, the newest; Codex compact.rs COMPACT_USER_MESSAGE_MAX_TOKENS, its estimate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What a compaction left."""

    summary: str
    items: Sequence[dict[str, Any]] | None
    """What replaced the history, without the summary; None where the row does not say (older versions)."""


def compacted(payload: dict[str, Any]) -> Compacted:
    """The parts of a `compacted` row."""
    message = payload.get("message")
    summary = message.strip() if isinstance(message, str) else ""
    given = payload.get("replacement_history")
    items = [item for item in given if isinstance(item, dict)] if isinstance(given, list) else None
    for n in range(len(items or ()) - 1, -1, -1):
        assert items is not None
        text = _user_text(items[n])
        if text and (text == summary if summary else text.startswith(SUMMARY_OPENING)):
            return Compacted(summary=text, items=[*items[:n], *items[n + 1 :]])
    if not summary:
        is_hidden = any(type_of(item) in COMPACTION_ITEMS for item in items or ())
        summary = ENCRYPTED_SUMMARY if is_hidden else UNWRITTEN_SUMMARY
    return Compacted(summary=summary, items=items)


def compaction_responses(payloads: Sequence[Any]) -> frozenset[str]:
    """The ids of the responses that wrote a compaction, by the payloads of a file."""
    ids = (payload.get("compaction_response_id") for payload in payloads if isinstance(payload, dict))
    return frozenset(response for response in ids if isinstance(response, str))


def _user_text(item: dict[str, Any]) -> str:
    """The text of a user's message, empty for any other item."""
    if item.get("type") != "message" or item.get("role") != "user":
        return ""
    texts = [block["text"] for block in content_blocks(item.get("content")).blocks if block["type"] == "text"]
    return "\n".join(texts).strip()


def kept_user_texts(context: Sequence[dict[str, Any]]) -> list[str]:
    """The user's messages that stay where a row does not say what replaced the history, the oldest first.

    Args:
        context: the entries since the compaction before.
    """
    kept: list[str] = []
    left = KEPT_USER_BYTES
    for entry in reversed(context):
        message = entry.get("message") if entry["type"] == "message" else None
        if message is None or message["role"] != "user":
            continue
        text = "\n".join(block["text"] for block in message["content"] if block["type"] == "text")
        size = len(utf8(text))
        if size > left:
            kept += [_shortened(text, left)] if left else []
            break
        left -= size
        kept.append(text)
    return kept[::-1]


def _shortened(text: str, max_bytes: int) -> str:
    """Start and end of a text that is too long, as Codex keeps the oldest message that still fits in part."""
    half = max_bytes // 2
    data = utf8(text)
    start, end = data[:half].decode(errors="ignore"), data[len(data) - half :].decode(errors="ignore")
    return f"{start}\n[…]\n{end}"
