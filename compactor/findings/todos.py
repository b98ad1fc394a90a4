"""Calls of a todo tool -> the points of the latest list, with their state.

Takes the calls of a history; gives the points of the last call that carries a whole list. Such lists are the agent's
own account: what they call done is a claim.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compactor.findings.calls import Call

TodoState = Literal["open", "active", "done"]

_LIST_KEYS = ("todos", "items", "plan", "tasks")
_TEXT_KEYS = ("content", "text", "step", "title", "task", "description")


@dataclass(frozen=True, slots=True, kw_only=True)
class Todo:
    """One point of a todo list."""

    text: str
    state: TodoState
    entry_id: str


def find_todos(calls: Sequence[Call]) -> list[Todo]:
    """The points of the latest todo list; empty if no call carries one."""
    for call in reversed(calls):
        if "todo" not in call.tool and "plan" not in call.tool and "task" not in call.tool:
            continue
        points = next((v for key in _LIST_KEYS if isinstance(v := call.arguments.get(key), list)), None)
        if points:
            return [todo for point in points if (todo := _todo(point, call)) is not None]
    return []


def _todo(point: object, call: Call) -> Todo | None:
    if not isinstance(point, dict):
        return None
    text = next((v for key in _TEXT_KEYS if isinstance(v := point.get(key), str) and v.strip()), None)
    status = str(point.get("status", "done" if point.get("done") is True else "")).lower()
    state: TodoState = "open"
    if status in ("completed", "done", "complete", "cancelled", "canceled"):
        state = "done"
    elif status in ("in_progress", "active", "doing"):
        state = "active"
    return Todo(text=text, state=state, entry_id=call.entry_id) if text else None
