"""What a diagnosis finds: one `Finding` each, and for every code its family, its weight and what to do about it.

An error is damage: bytes, links or calls that an agent loses, or can't use as they stand. A warning is what a
compaction or an edit of the context did wrong, or what is likely to mislead. A note is worth knowing and costs nothing.
"""

from dataclasses import dataclass
from typing import Literal

import msgspec

Severity = Literal["error", "warning", "note"]
Family = Literal["file", "tree", "tools", "compactions", "secrets"]

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The gravest first."""


class Finding(msgspec.Struct, frozen=True, gc=False):
    """One thing that is wrong with a session, or worth knowing."""

    code: str
    """A key of `KINDS`, or the code of an importer's warning."""
    message: str
    """One plain sentence."""
    severity: Severity
    line: int | None = None
    """Physical line of the file, from 1; of the first where the finding is about several."""
    entry_id: str | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    """What all findings of one code have in common."""

    family: Family
    severity: Severity
    """The usual one."""
    advice: str
    """What to do."""
    is_repaired: bool = False
    """True if the repaired copy does not have it any more."""


_FIX = "write a repaired copy with --fix --output FILE"
_RESTORE = "restore the lines from a backup if there is one; " + _FIX
_LEAVE = "nothing needs to be done"
_GO_BACK = "continue from before the compaction, and compact again"
_COMPACT_AGAIN = "look at what the summary says, and compact again with the missing facts as --instructions"

KINDS: dict[str, Kind] = {
    # The file as bytes and lines.
    "unreadable": Kind("file", "error", "make the file readable"),
    "empty_file": Kind("file", "error", "delete the file, or restore it from a backup"),
    "not_a_session": Kind("file", "error", "give the path of a session of Pi, Claude Code or Codex"),
    "event_stream": Kind("file", "error", "give the session file itself, which Pi keeps in its session folder"),
    "missing_header": Kind("file", "error", _FIX + "; it gets a new header, without the project's folder", True),
    "extra_header": Kind("file", "warning", "see whether two files were joined; " + _FIX, True),
    "byte_order_mark": Kind("file", "error", _FIX + "; save sessions as UTF-8 without a byte order mark", True),
    "nul_bytes": Kind("file", "error", _RESTORE, True),
    "invalid_utf8": Kind("file", "error", _RESTORE, True),
    "invalid_json_repaired": Kind("file", "error", _FIX, True),
    "fused_lines": Kind("file", "error", _FIX + "; let only one program write the file at a time", True),
    "damaged_line": Kind("file", "error", _RESTORE, True),
    "torn_last_line": Kind("file", "error", _FIX + "; the program was stopped while it wrote", True),
    "not_an_entry": Kind("file", "warning", _FIX + "; it leaves the line out", True),
    "missing_id": Kind("file", "error", _FIX + "; it gives the entry an id", True),
    "missing_message": Kind("file", "error", "restore the line from a backup if there is one, or take it out"),
    "malformed_field": Kind("file", "warning", "see what wrote the entry"),
    "unknown_version": Kind("file", "warning", _FIX, True),
    "newer_version": Kind("file", "note", "update compactor if figures look wrong"),
    "first_kept_lost": Kind("file", "error", _RESTORE, True),
    "pi_sees_less": Kind("file", "warning", _FIX + "; Pi reads the copy as compactor reads this file", True),
    "unknown_type": Kind("file", "note", _LEAVE + ": the entries are kept as they are"),
    "unknown_role": Kind("file", "note", _LEAVE + ": the messages are kept as they are"),
    "lone_surrogate": Kind("file", "note", _LEAVE + " here; other programs may fail on the text"),
    "crlf_line_ends": Kind("file", "note", _LEAVE + ": readers take them", True),
    "blank_lines": Kind("file", "note", _LEAVE + ": readers pass over them", True),
    "no_final_newline": Kind("file", "note", _LEAVE + " unless a program appends without looking", True),
    "no_entries": Kind("file", "note", _LEAVE),
    # How entries hang together.
    "missing_parent": Kind("tree", "error", _FIX, True),
    "lost_parent": Kind("tree", "error", _FIX, True),
    "duplicate_id": Kind("tree", "error", _FIX + "; the later entry gets a new id", True),
    "parent_cycle": Kind("tree", "error", _FIX, True),
    "forward_parent": Kind("tree", "warning", "see what wrote the file; readers that go line by line lose the entry"),
    "several_roots": Kind("tree", "note", _LEAVE + ": it is what starting over leaves behind"),
    "unknown_label_target": Kind("tree", "note", _LEAVE),
    "unknown_from_id": Kind("tree", "warning", "nothing can be done; what the summary was made of can't be traced"),
    # Tool calls and results.
    "orphan_result": Kind("tools", "error", "take the entry out of the context with a context_edit, or compact"),
    "result_on_other_branch": Kind("tools", "error", "continue from an entry before the result, or compact"),
    "result_before_call": Kind("tools", "error", "continue from an entry before the result, or compact"),
    "duplicate_result": Kind("tools", "warning", "take the later one out of the context with a context_edit"),
    "dangling_call": Kind("tools", "note", "nothing, as a rule: Pi tells the model that there is no result"),
    # Compactions and edits of the context.
    "first_kept_missing": Kind("compactions", "error", _GO_BACK),
    "kept_result_without_call": Kind("compactions", "warning", _GO_BACK),
    "result_cut_from_call": Kind("compactions", "warning", "compact again, so that the result is summarized too"),
    "kept_messages_lost": Kind("compactions", "warning", _COMPACT_AGAIN),
    "previous_summary_lost": Kind("compactions", "warning", _COMPACT_AGAIN),
    "kept_again": Kind("compactions", "warning", "see what compacts the session: it goes back behind its own summary"),
    "empty_summary": Kind("compactions", "error", _GO_BACK),
    "summary_bigger": Kind("compactions", "warning", "compact later, or keep fewer tokens (keepRecentTokens)"),
    "no_progress": Kind("compactions", "warning", "lower keepRecentTokens, or raise the context window"),
    "compacted_twice": Kind("compactions", "note", "see what starts compactions: the first was in vain"),
    "tokens_before_implausible": Kind("compactions", "warning", "don't rely on the figure; see what wrote the entry"),
    "doubled_headings": Kind("compactions", "warning", "compact again; Pi carries the doubled parts on"),
    "doubled_file_lists": Kind("compactions", "warning", "compact again with compactor, which writes each list once"),
    "file_list_bloat": Kind("compactions", "warning", "start a new session, or leave the lists out of the summary"),
    "missing_sections": Kind("compactions", "note", _LEAVE + " unless the prompt asks for them"),
    "edit_unpairs": Kind("compactions", "warning", "edit the other half of the pair in the same way"),
    "unknown_edit_target": Kind("compactions", "warning", _LEAVE + ": the edit changes nothing"),
    "edit_without_replacement": Kind("compactions", "error", "take the entry out: Pi 1.6.0 fails on it"),
    # Credentials.
    "secret_in_summary": Kind(
        "secrets", "error", "replace the credential at its issuer: it is sent with every request"
    ),
}

LEFT_OUT = Kind("file", "note", _LEAVE + ": a Pi session has no place for it")
"""What importers leave out, by whatever code they tell it."""


def kind_of(code: str) -> Kind:
    """What findings of the code have in common."""
    return KINDS.get(code, LEFT_OUT)


def advice_for(code: str, session_format: str | None) -> str:
    """What to do about findings of the code in a session of that format; None where there is no session."""
    kind = kind_of(code)
    if kind.is_repaired and session_format not in ("pi", None):
        return "see what wrote the file; `compactor convert` writes what can be read as a Pi session"
    return kind.advice


def finding(
    code: str,
    message: str,
    *,
    line: int | None = None,
    entry_id: str | None = None,
    severity: Severity | None = None,
) -> Finding:
    """A finding with the usual severity of its code, or another one."""
    return Finding(code, message, severity or kind_of(code).severity, line, entry_id)
