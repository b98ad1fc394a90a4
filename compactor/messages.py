"""The messages of a session as types: what a JSON object of a session file holds, in Pi's wire names.

Takes decoded or raw JSON; gives frozen `Message` values. Unknown fields are not lost: they stay in the entry's own
bytes (`entries.Entry.raw`), which is what is ever written back. Source: Pi 1.6.0 docs/session-format.md.
"""

from typing import Any, Literal, TypeVar, get_args, get_origin

import msgspec

Role = Literal[
    "system", "user", "assistant", "toolResult", "bashExecution", "custom", "branchSummary", "compactionSummary"
]
Number = int | float


class Cost(msgspec.Struct, frozen=True, gc=False, rename="camel", omit_defaults=False):
    """Money in US dollars, by kind of token."""

    input: Number = 0
    output: Number = 0
    cache_read: Number = 0
    cache_write: Number = 0
    total: Number = 0
    total_from_provider: bool | None = None
    """True when the provider reported the total itself; absent in older files."""


class Usage(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """Tokens that a provider reported for one request; `input` is without the cached ones."""

    input: Number = 0
    output: Number = 0
    cache_read: Number = 0
    cache_write: Number = 0
    total_tokens: Number = 0
    cost: Cost = Cost()
    cache_write1h: Number | None = msgspec.field(default=None, name="cacheWrite1h")
    """The part of `cache_write` that is kept for an hour."""
    reasoning: Number | None = None
    """The part of `output` that was hidden reasoning."""


class Block(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One content block; which fields count depends on `type` (text, thinking, image, toolCall, or unknown)."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    arguments: Any = None


class NestedCall(msgspec.Struct, frozen=True, gc=False):
    """A tool call made by a script, recorded on the script's result."""

    name: str = ""
    arguments: Any = None


class NestedCalls(msgspec.Struct, frozen=True, gc=False):
    """The calls that a script made while it ran."""

    calls: list[NestedCall] = []


class Message(msgspec.Struct, frozen=True, gc=False, rename="camel"):
    """One message; `role` says which of the fields count."""

    role: str = ""
    content: str | list[Block] | None = None
    timestamp: Number | None = None
    # assistant
    provider: str | None = None
    model: str | None = None
    stop_reason: str | None = None
    error_message: str | None = None
    usage: Usage | None = None
    # toolResult
    tool_call_id: str | None = None
    tool_name: str | None = None
    is_error: bool | None = None
    nested_calls: NestedCalls | None = None
    # bashExecution
    command: str | None = None
    output: str | None = None
    exit_code: Number | None = None
    cancelled: bool | None = None
    truncated: bool | None = None
    full_output_path: str | None = None
    exclude_from_context: bool | None = None
    # custom
    custom_type: str | None = None
    # branchSummary, compactionSummary
    summary: str | None = None
    from_id: str | None = None
    # system
    sections: dict[str, str | None] | None = None
    tools_added: list[Any] | None = None
    tools_removed: list[Any] | None = None

    @property
    def blocks(self) -> list[Block]:
        """The content as blocks; a string is one text block, missing content is none."""
        if isinstance(self.content, str):
            return [Block(type="text", text=self.content)]
        return self.content or []

    @property
    def tool_calls(self) -> list[Block]:
        """The tool calls of an assistant message, in order."""
        if self.role != "assistant" or not isinstance(self.content, list):
            return []
        return [block for block in self.content if block.type == "toolCall"]

    def text(self, separator: str = "\n") -> str:
        """The text blocks joined; images, thinking and tool calls are left out."""
        if isinstance(self.content, str):
            return self.content
        return separator.join([block.text or "" for block in self.content or () if block.type == "text"])


T = TypeVar("T", bound=msgspec.Struct)


def lenient(value: Any, kind: type[T]) -> tuple[T, list[str]]:
    """The struct made of the fields of `value` that have the right type, and the names of those that had not.

    Used only where the strict decoder refused a line: one malformed field must not cost the whole message.
    """
    good: dict[str, Any] = {}
    bad: list[str] = []
    for field in msgspec.structs.fields(kind):
        if not isinstance(value, dict) or field.encode_name not in value:
            continue
        found = value[field.encode_name]
        try:
            good[field.name] = msgspec.convert(found, field.type)
        except (msgspec.ValidationError, UnicodeEncodeError):  # the latter at a key that is a lone surrogate
            rescued, lost = _rescue(field.encode_name, found, field.type)
            bad += lost
            if rescued is not None:
                good[field.name] = rescued
    return kind(**good), bad


def _rescue(name: str, found: Any, kind: Any) -> tuple[Any, list[str]]:
    """What can be kept of a field that has the wrong shape as a whole."""
    for option in (kind, *get_args(kind)):
        if isinstance(found, dict) and isinstance(option, type) and issubclass(option, msgspec.Struct):
            inner, bad = lenient(found, option)
            return inner, [f"{name}.{b}" for b in bad]
        if isinstance(found, list) and get_origin(option) is list:
            return _rescue_items(name, found, get_args(option)[0])
    return None, [name]


def _rescue_items(name: str, found: list[Any], kind: type[msgspec.Struct]) -> tuple[list[Any], list[str]]:
    kept: list[Any] = []
    bad: list[str] = []
    for n, item in enumerate(found):
        if isinstance(item, dict):
            inner, lost = lenient(item, kind)
            kept.append(inner)
            bad += [f"{name}[{n}].{b}" for b in lost]
        else:
            bad.append(f"{name}[{n}]")
    return kept, bad
