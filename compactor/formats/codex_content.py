"""The content of Codex messages: content items in, blocks of Pi's out, and which texts are not the user's own.

Codex puts texts of its own into messages of the user role: what the environment is, the project's instructions, that a
turn was interrupted. They are known by how they begin. Source: Codex core/src/context (markers of contextual user
fragments), protocol/src/models.rs ContentItem.
"""

import re
from dataclasses import dataclass, field
from typing import Any

from compactor.js_text import parse_json

TEXTS = frozenset({"input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal"})

TAGS = frozenset(
    {
        "environment_context",
        "user_instructions",
        "turn_aborted",
        "user_shell_command",
        "user_action",
        "skill",
        "skills_instructions",
        "plugins",
        "plugins_instructions",
        "apps_instructions",
        "subagents",
        "subagent_notification",
        "hook_prompt",
        "permissions",
        "collaboration_mode",
        "recommended_plugins",
        "goal_context",
        "codex_internal_context",
        "extension_context",
        "external_context",
        "application_context",
    }
)
"""The tags that texts of Codex's own begin with."""

WARNINGS = (
    "Warning: The maximum number of unified exec processes you can keep open is ",
    "Warning: apply_patch was requested via ",
    "Warning: Your account was flagged for potentially high-risk cyber activity",
)
"""How the warnings begin that older versions put among the user's messages."""

DEFAULT_IMAGE = "image/png"

_OPENING_TAG = re.compile(r"\s*<([a-z_]+)(?: [^<>\n]*)?>", re.IGNORECASE)
_AGENTS_MD = re.compile(r"\s*# AGENTS\.md instructions\b", re.IGNORECASE)
_DATA_URL = re.compile(r"data:([^;,]*)(?:;[^,]*)?,")


def injected_kind(text: str) -> str | None:
    """What a text is that Codex put into a message of the user role, None for the user's own words."""
    tag = _OPENING_TAG.match(text)
    if tag is not None:
        name = tag.group(1).lower()
        return name if name in TAGS or name.startswith("external_") else None
    if text.lstrip().startswith(WARNINGS):
        return "warning"
    return "agents_md" if _AGENTS_MD.match(text) else None


def mail_in(message: dict[str, Any]) -> dict[str, Any] | None:
    """The mail of another agent that a message holds, with the message's content; None if it holds something else.

    Codex 0.11x to 0.13x put mail among the assistant's messages, as JSON (protocol.rs InterAgentCommunication).
    """
    blocks = content_blocks(message.get("content")).blocks
    text = blocks[0].get("text", "") if len(blocks) == 1 else ""
    if not text.startswith("{") or '"trigger_turn":' not in text:
        return None
    try:
        mail = parse_json(text)
    except ValueError:
        return None
    is_mail = isinstance(mail, dict) and all(isinstance(mail.get(key), str) for key in ("author", "recipient"))
    return {**mail, "content": message["content"]} if is_mail else None


def type_of(value: dict[str, Any]) -> str:
    """The `type` of a row, an item or a part; empty if it has none that is a text."""
    kind = value.get("type")
    return kind if isinstance(kind, str) else ""


@dataclass(slots=True)
class Content:
    """Blocks, and what had to be left out of them."""

    blocks: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """The kinds of the parts that have no counterpart."""

    @property
    def first_text(self) -> str:
        """The first text, empty if there is none."""
        return next((block["text"] for block in self.blocks if block["type"] == "text"), "")


def content_blocks(content: Any) -> Content:
    """The blocks of a message's or a result's content: a text, one content item, or a list of them."""
    found = Content()
    for part in content if isinstance(content, list) else [content]:
        if isinstance(part, str):
            found.blocks.append({"type": "text", "text": part})
        elif isinstance(part, dict):
            _add_part(part, found)
        elif part is not None:
            found.left_out.append(f"content of type {type(part).__name__}")
    return found


def _add_part(part: dict[str, Any], found: Content) -> None:
    kind = type_of(part)
    text = part.get("refusal" if kind == "refusal" else "text")
    if kind in TEXTS and isinstance(text, str):
        found.blocks.append({"type": "text", "text": text})
    elif kind == "input_image" and isinstance(url := part.get("image_url"), str):
        found.blocks.append(_image(url))
    elif kind == "image" and isinstance(data := part.get("data"), str):
        found.blocks.append({"type": "image", "data": data, "mimeType": str(part.get("mimeType") or DEFAULT_IMAGE)})
    elif kind == "encrypted_content":
        found.left_out.append("encrypted content")
    else:
        found.left_out.append(f"{kind} content" if kind else "content without a type")


def _image(url: str) -> dict[str, Any]:
    """An image, or a text where only its address is known."""
    data = _DATA_URL.match(url)
    if data is None:
        return {"type": "text", "text": f"[image: {url}]"}
    return {"type": "image", "data": url[data.end() :], "mimeType": data.group(1) or DEFAULT_IMAGE}
