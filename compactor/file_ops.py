"""Which files a part of the history read and modified, by its tool calls.

Takes messages or the (tool, path) pairs that `measure.py` kept; gives two sorted lists. A call counts whether or not
its result says that it worked: that is Pi's rule. Source: Pi 1.6.0 utils.js extractFileOpsFromMessage,
computeFileLists, formatFileOperations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from compactor.js_text import utf16_order
from compactor.messages import Message

FILE_TOOLS = frozenset({"read", "write", "edit"})
"""Pi 1.6.0 utils.js addFileOp."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLists:
    """Files touched, each list sorted by UTF-16 order."""

    read_files: tuple[str, ...] = ()
    """Read and not modified."""
    modified_files: tuple[str, ...] = ()


def file_calls(message: Message) -> tuple[tuple[str, str], ...]:
    """(tool, path) of each file call that an assistant made, or that a script recorded on its result."""
    if message.role == "toolResult":
        nested = message.nested_calls.calls if message.nested_calls is not None else ()
        return tuple(pair for call in nested if (pair := file_call(call.name, call.arguments)) is not None)
    calls = message.tool_calls
    return tuple(pair for call in calls if (pair := file_call(call.name, call.arguments)) is not None)


def file_call(name: str | None, arguments: Any) -> tuple[str, str] | None:
    """(tool, path) of a call of a file tool with a path, None for any other call."""
    if name not in FILE_TOOLS or not isinstance(arguments, dict):
        return None
    path = arguments.get("path")
    return (name, path) if isinstance(path, str) and path else None


def file_lists(calls: Iterable[tuple[str, str]], previous: FileLists | None = None) -> FileLists:
    """Read and modified files; what the previous summary's lists hold is carried on."""
    read = set(previous.read_files) if previous else set()
    modified = set(previous.modified_files) if previous else set()
    for tool, path in calls:
        (read if tool == "read" else modified).add(path)
    return FileLists(
        read_files=tuple(sorted(read - modified, key=utf16_order)),
        modified_files=tuple(sorted(modified, key=utf16_order)),
    )


def lists_of_details(details: Any, from_hook: bool | None) -> FileLists:
    """The lists that an earlier compaction stored; those that an extension wrote are not trusted."""
    if from_hook or not isinstance(details, dict):
        return FileLists()

    def strings(name: str) -> tuple[str, ...]:
        value = details.get(name)
        return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()

    return FileLists(read_files=strings("readFiles"), modified_files=strings("modifiedFiles"))


def file_blocks(files: FileLists) -> str:
    """The blocks that end a summary, each after a blank line; empty lists have none."""
    blocks = []
    if files.read_files:
        blocks.append("<read-files>\n" + "\n".join(files.read_files) + "\n</read-files>")
    if files.modified_files:
        blocks.append("<modified-files>\n" + "\n".join(files.modified_files) + "\n</modified-files>")
    return "".join("\n\n" + block for block in blocks)
