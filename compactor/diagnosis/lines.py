"""The file as bytes and lines: what its reader had to repair, and what it took in silence.

Takes the bytes and the session that was read from them; gives findings with physical lines.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import get_args

from compactor.diagnosis.examined import Examined
from compactor.diagnosis.finding import Finding, finding
from compactor.entries import NOT_UTF8, Session, SessionWarning
from compactor.formats.damaged_lines import ENTRY_TYPES, is_blank
from compactor.formats.imported import VERSION
from compactor.measure import malformed
from compactor.messages import Role
from compactor.wording import amount, shown_id

KNOWN_ROLES = frozenset(get_args(Role))

MAX_NAMED_TYPES = 3
"""Types of events that a message names."""

_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")


def reader_findings(session: Session) -> list[Finding]:
    """What the reader warned of, with the codes of a diagnosis."""
    if is_event_stream(session):
        return [_event_stream(session)]
    torn = _torn_last_line(session)
    return [_retold(warning, is_torn=warning.line == torn) for warning in session.warnings]


def _torn_last_line(session: Session) -> int | None:
    """The last line with anything on it, if nothing of it could be read."""
    damaged = [warning.line or 0 for warning in session.warnings if warning.code == "damaged_line"]
    whole = max((entry.line for entry in session.entries), default=0)
    return damaged[-1] if damaged and damaged[-1] > whole else None


def _retold(warning: SessionWarning, *, is_torn: bool) -> Finding:
    code, line = warning.code, warning.line
    message = warning.message.removeprefix(f"line {line}: ")
    if code == "damaged_line" and is_torn:
        code, message = "torn_last_line", f"the last line is torn: {message}"
    return finding(code, message, line=line, entry_id=warning.entry_id or None)


def is_event_stream(session: Session) -> bool:
    """True for the events that Pi prints with `--mode json`, after a session's header: no row is an entry."""
    made = {w.entry_id for w in session.warnings if w.code == "missing_id"}
    rows = session.entries
    is_pi = session.format == "pi" and bool(rows) and bool(made)
    return is_pi and all(row.id in made and row.type not in ENTRY_TYPES for row in rows)


def _event_stream(session: Session) -> Finding:
    names = [shown_id(row.type) for row in session.entries]
    shown = ", ".join(list(dict.fromkeys(names))[:MAX_NAMED_TYPES])
    text = f"the rows after the header are events ({shown}…), as `pi --mode json` prints them, and no session entries"
    return finding("event_stream", text, line=session.entries[0].line)


def line_findings(data: bytes, examined: Examined) -> Iterator[Finding]:
    """What the reader took in silence."""
    session = examined.session
    yield from _layout(data)
    yield from _invalid_utf8(data, {w.line for w in session.warnings if w.code == "invalid_utf8"})
    yield from _lone_surrogates(data)
    if is_event_stream(session):
        return
    for entry, facts in zip(examined.entries, examined.facts, strict=True):
        problems = [name for name in facts.problems if name != NOT_UTF8]
        if problems:
            told = malformed(entry, problems)
            yield finding(
                told.code, told.message.removeprefix(f"line {entry.line}: "), line=entry.line, entry_id=entry.id
            )
        elif entry.type == "message" and not entry.role:
            text = "the entry has no message, or one that does not say whose it is (role)"
            yield finding("missing_message", text, line=entry.line, entry_id=entry.id)
    if session.format == "pi":
        yield from _unknown(examined)
    if not session.entries:
        yield finding("no_entries", "the session has a header and no entries")


def _layout(data: bytes) -> Iterator[Finding]:
    """Line ends and blank lines."""
    blank: list[int] = []
    returns: list[int] = []
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    else:
        yield finding("no_final_newline", "the last line has no line end", line=len(lines))
    for number, line in enumerate(lines, 1):
        if line.endswith(b"\r"):
            returns.append(number)
        if not line or (len(line) < 64 and is_blank(line)):
            blank.append(number)
    if returns:
        text = f"{amount(len(returns), 'line')} end{'s' if len(returns) == 1 else ''} in a carriage return"
        yield finding("crlf_line_ends", f"{text}, as on Windows", line=returns[0])
    if blank:
        text = f"{amount(len(blank), 'line')} {'is' if len(blank) == 1 else 'are'} blank"
        yield finding("blank_lines", text, line=blank[0])


def _invalid_utf8(data: bytes, told: set[int | None]) -> Iterator[Finding]:
    """Lines that are not UTF-8, beside those that the reader told."""
    try:
        data.decode()
    except UnicodeDecodeError:
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                if number not in told:
                    text = f"bytes that are not UTF-8 (first at byte {error.start}) are read as U+FFFD"
                    yield finding("invalid_utf8", text, line=number)


def _lone_surrogates(data: bytes) -> Iterator[Finding]:
    """Lines with an escape for half of a character."""
    if not _SURROGATE_ESCAPE.search(data):
        return
    for number, line in enumerate(data.split(b"\n"), 1):
        count = lone_surrogates(line) if _SURROGATE_ESCAPE.search(line) else 0
        if count:
            halves = "a half of a character" if count == 1 else f"{count:,} halves of characters"
            text = f"the text holds {halves} (a lone surrogate), which UTF-8 can't hold"
            yield finding("lone_surrogate", text, line=number)


def lone_surrogates(line: bytes) -> int:
    """How many escapes of the line stand for half of a character whose other half is not beside them."""
    count, high_end = 0, -1
    for match in _ESCAPE.finditer(line):
        code = int(match.group(1), 16) if match.group(1) else 0
        if 0xDC00 <= code <= 0xDFFF and high_end == match.start():
            count -= 1  # it completes the half before it
        elif 0xD800 <= code <= 0xDFFF:
            count += 1
        high_end = match.end() if 0xD800 <= code <= 0xDBFF else -1
    return count


def _unknown(examined: Examined) -> Iterator[Finding]:
    """Types and roles that nobody here knows, and versions of tomorrow."""
    version = examined.session.header.version
    if version > VERSION:
        text = f"the header gives the version {version}, newer than {VERSION}, the newest that is known here"
        yield finding("newer_version", text, line=1)
    for code, noun, names in (
        ("unknown_type", "entry", [e.type for e in examined.entries if e.type not in ENTRY_TYPES]),
        ("unknown_role", "message", [e.role for e in examined.entries if e.type == "message" and _is_odd(e.role)]),
    ):
        field = "type" if noun == "entry" else "role"
        first = {getattr(e, field): e for e in reversed(examined.entries)}
        for name, count in Counter(names).items():
            text = f"{amount(count, noun, 'entries' if noun == 'entry' else None)} of the unknown {field} "
            yield finding(code, text + shown_id(name), line=first[name].line, entry_id=first[name].id)


def _is_odd(role: str) -> bool:
    return bool(role) and role not in KNOWN_ROLES
