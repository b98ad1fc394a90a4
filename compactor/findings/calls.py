"""Messages -> what was asked of tools, each call with what came back.

Takes the messages of a history; gives `Call` values in the order of the calls. A call without a result has outcome
"unknown": it was requested, and nothing shows that it ran. Commands that the user ran are calls too.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from compactor.messages import Block, Message

Outcome = Literal["ok", "failed", "unknown"]

EDIT_TOOLS = frozenset(
    {"edit", "multiedit", "multi_edit", "str_replace", "str_replace_editor", "apply_patch", "notebookedit", "patch"}
)
WRITE_TOOLS = frozenset({"write", "write_file", "create", "create_file"})
READ_TOOLS = frozenset({"read", "read_file", "view"})
SHELL_TOOLS = frozenset(
    {"bash", "shell", "exec", "exec_command", "run_command", "local_shell", "powershell", "terminal"}
)
"""Names in small letters: Pi's own tools, and those that imported sessions of other agents use."""

SHOWN_CHARS = 4000
"""Of a result only so much of its start and of its end is looked at: verdicts and errors stand there."""

_PATH_KEYS = ("path", "file_path", "filePath", "notebook_path", "filename", "file")
_COMMAND_KEYS = ("command", "cmd", "script")
_EXIT_CODE = re.compile(r"(?:exited with (?:exit )?code|exit[ _]code:?|\"exit_code\":) ?(-?\d+)", re.IGNORECASE)
_PATCHED_FILE = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One tool call, or one command of the user."""

    tool: str
    """The tool's name in small letters."""
    arguments: dict[str, Any]
    message: int
    """Position of the message that asked for it."""
    entry_id: str
    by_user: bool = False
    outcome: Outcome = "unknown"
    result: str = ""
    result_id: str = ""
    """Entry id of the result."""

    @property
    def paths(self) -> tuple[str, ...]:
        """The files that it names; a patch can name several."""
        named = next((v for k in _PATH_KEYS if isinstance(v := self.arguments.get(k), str) and v), None)
        if named is not None:
            return (named,)
        texts = (v for v in self.arguments.values() if isinstance(v, str) and "*** " in v)
        return tuple(path.strip() for text in texts for path in _PATCHED_FILE.findall(text))

    @property
    def command(self) -> str:
        """The shell command, or an empty string."""
        value = next((self.arguments[k] for k in _COMMAND_KEYS if self.arguments.get(k)), "")
        if isinstance(value, list):
            words = [str(word) for word in value]
            return words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
        return value if isinstance(value, str) else ""

    @property
    def is_change(self) -> bool:
        """True for tools that change files."""
        return self.tool in EDIT_TOOLS or self.tool in WRITE_TOOLS

    @property
    def is_shell(self) -> bool:
        """True for tools that run a command."""
        return self.tool in SHELL_TOOLS

    @property
    def shown_result(self) -> str:
        """Start and end of the result."""
        if len(self.result) <= 2 * SHOWN_CHARS:
            return self.result
        return self.result[:SHOWN_CHARS] + "\n" + self.result[-SHOWN_CHARS:]


def find_calls(messages: Sequence[Message], entry_ids: Sequence[str] = ()) -> list[Call]:
    """The calls of these messages with their results; results of calls that are not among them are left out."""
    calls: list[Call] = []
    waiting: dict[str, int] = {}
    for position, message in enumerate(messages):
        entry_id = entry_ids[position] if position < len(entry_ids) else ""
        if message.role == "assistant":
            for block in message.tool_calls:
                if block.id:
                    waiting[block.id] = len(calls)
                calls.append(_call(block, position, entry_id))
        elif message.role == "toolResult":
            at = waiting.pop(message.tool_call_id or "", None)
            if at is not None:
                calls[at] = _answered(calls[at], message, entry_id)
            calls += _nested(message, position, entry_id, known=() if at is None else calls[at].paths)
        elif message.role == "bashExecution" and not message.exclude_from_context:
            calls.append(_user_command(message, position, entry_id))
    return calls


def _call(block: Block, position: int, entry_id: str) -> Call:
    arguments = block.arguments if isinstance(block.arguments, dict) else {}
    return Call(tool=(block.name or "").lower(), arguments=arguments, message=position, entry_id=entry_id)


def _answered(call: Call, message: Message, entry_id: str) -> Call:
    result = message.text()
    failed = bool(message.is_error) or (call.is_shell and exit_code(result) not in (None, 0))
    return replace(call, result=result, result_id=entry_id, outcome="failed" if failed else "ok")


def exit_code(result: str) -> int | None:
    """The exit code that a command's result reports at its end or in its first line; None if it reports none."""
    found = list(_EXIT_CODE.finditer(result[-200:])) or list(_EXIT_CODE.finditer(result[:120]))
    return int(found[-1].group(1)) if found else None


def _nested(message: Message, position: int, entry_id: str, *, known: Sequence[str]) -> Iterator[Call]:
    """The calls of a script. Its result says how the script ended, not each call: good only if all of it was.

    Args:
        message: the script's result.
        position: of the message.
        entry_id: of the result.
        known: files that the call itself names; a record of the same is how importers tell Pi which file it touched.
    """
    for nested in message.nested_calls.calls if message.nested_calls is not None else ():
        made = Call(
            tool=nested.name.lower(),
            arguments=nested.arguments if isinstance(nested.arguments, dict) else {},
            message=position,
            entry_id=entry_id,
            result_id=entry_id,
            outcome="unknown" if message.is_error else "ok",
        )
        if not made.paths or not set(made.paths) <= set(known):
            yield made


def _user_command(message: Message, position: int, entry_id: str) -> Call:
    failed = bool(message.cancelled) or bool(message.exit_code)
    return Call(
        tool="bash",
        arguments={"command": message.command or ""},
        message=position,
        entry_id=entry_id,
        by_user=True,
        outcome="failed" if failed else "ok",
        result=message.output or "",
        result_id=entry_id,
    )
