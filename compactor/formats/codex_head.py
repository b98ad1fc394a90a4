"""What a Codex rollout says of its session: rows in, the fields of Pi's header out.

The first `session_meta` is the file's own; a fork's parent's may follow it. Files of before September 2025 begin with
the bare fields, and name the working directory nowhere but in what they told the model of its environment.
"""

from typing import Any

from compactor.formats.codex_rows import FOLDER_ROWS, told_folder
from compactor.formats.imported import LeftOut
from compactor.formats.json_rows import JsonRow
from compactor.formats.pi import made_id


def session_meta(row: dict[str, Any]) -> dict[str, Any] | None:
    """What a row says of the session, None for other rows."""
    if row.get("type") == "session_meta":
        payload = row.get("payload")
        return payload if isinstance(payload, dict) else None
    is_bare = "type" not in row and "payload" not in row and isinstance(row.get("id"), str)
    return row if is_bare and ("instructions" in row or "timestamp" in row) else None


def session_header(meta: dict[str, Any], rows: list[JsonRow]) -> dict[str, Any]:
    """The fields of Pi's header; what it has no field for goes into `importedFrom`."""
    texts = {key: value for key, value in meta.items() if isinstance(value, str)}
    session_id = texts.get("id") or texts.get("session_id") or f"codex-{made_id(repr(rows[0].value), 1, set())}"
    times = (texts.get("timestamp"), *(row.value.get("timestamp") for row in rows[:1]))
    folders = (folder for row in rows[:FOLDER_ROWS] if (folder := told_folder(row.value)))
    source = {
        "format": "codex",
        "version": texts.get("cli_version"),
        "forkedFrom": texts.get("forked_from_id"),
        "source": meta.get("source"),
    }
    return {
        "id": session_id,
        "timestamp": next((time for time in times if isinstance(time, str)), ""),
        "cwd": texts.get("cwd") or next(folders, ""),
        "importedFrom": {key: value for key, value in source.items() if value is not None},
    }


def inherited(meta: dict[str, Any], left_out: LeftOut, line: int) -> None:
    """Counts the rows that a thread goes on from and that stand in another file.

    Args:
        meta: of the file.
        left_out: what counts them.
        line: where the file says so.
    """
    base = meta.get("history_base")
    if not isinstance(base, dict):
        return
    thread, end = base.get("thread_id"), base.get("end_ordinal_exclusive")
    of_thread = f"of thread {thread}" if isinstance(thread, str) else "of another thread"
    count = end if isinstance(end, int) and not isinstance(end, bool) and end > 0 else 1
    left_out.add("inherited_history", f"older rows that are in another file, {of_thread}", line, count)
