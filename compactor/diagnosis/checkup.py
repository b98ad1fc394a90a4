"""The diagnosis of a session file: all checks, on files that the reader refuses too.

Takes the bytes of a file; gives a `Diagnosis`. A file without a usable header is read with one that stands in for it,
so that everything else in it can be told and saved.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from compactor.credentials import find_credentials
from compactor.diagnosis.chains import chain_findings
from compactor.diagnosis.compacted import compactions_of
from compactor.diagnosis.compactions import compaction_findings
from compactor.diagnosis.edits import reference_findings
from compactor.diagnosis.examined import examine
from compactor.diagnosis.finding import SEVERITIES, Finding, finding, kind_of
from compactor.diagnosis.lines import is_event_stream, line_findings, reader_findings
from compactor.diagnosis.links import link_findings, pi_finding
from compactor.diagnosis.stand_in import with_stand_in
from compactor.diagnosis.summaries import Scanner, summary_findings
from compactor.diagnosis.tools import pair, tool_findings
from compactor.entries import Session
from compactor.errors import SessionError
from compactor.formats.damaged_lines import BOM
from compactor.formats.registry import parse_session


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What was found in one file."""

    path: str
    session: Session | None
    """None if the file holds none. Its header may be one that stands in for a missing one."""
    findings: Sequence[Finding]
    """In the order of the file."""
    entries: int = 0
    """How many the session has."""

    @property
    def format(self) -> str | None:
        """The session's format; None without a session."""
        return None if self.session is None else self.session.format

    def light(self) -> "Diagnosis":
        """The same without the session's entries, for one of many."""
        if self.session is None:
            return self
        return replace(self, session=msgspec.structs.replace(self.session, entries=[], parents=[]))

    def count(self, severity: str) -> int:
        """How many findings have the severity."""
        return sum(found.severity == severity for found in self.findings)

    @property
    def counts(self) -> dict[str, int]:
        """Severity -> number of findings."""
        return {severity: self.count(severity) for severity in SEVERITIES}


def diagnose(data: bytes, *, path: str, scan: Scanner = find_credentials) -> Diagnosis:
    """All that is wrong with a file.

    Args:
        data: the whole file.
        path: named in messages.
        scan: finds credentials in summaries.
    """
    if not data.removeprefix(BOM).strip(b"\0 \t\r\n\v\f"):
        found = "the file is empty" if not data else "the file holds nothing but blanks"
        return Diagnosis(path=path, session=None, findings=(finding("empty_file", found, line=1),))
    try:
        session = parse_session(data, path=path)
        refused: list[Finding] = []
    except SessionError as error:
        stand_in = with_stand_in(data, path=path)
        if stand_in is None:
            text = str(error).removeprefix(f"{path}: ")
            return Diagnosis(path=path, session=None, findings=(finding("not_a_session", text, line=1),))
        session = stand_in.session
        refused = [finding("missing_header", stand_in.reason, line=1)]
    told = [*refused, *_all(data, session, is_refused=bool(refused), scan=scan)]
    findings = sorted(told, key=lambda found: found.line or 0)
    return Diagnosis(path=path, session=session, findings=findings, entries=len(session.entries))


def unreadable(path: str, error: SessionError) -> Diagnosis:
    """The diagnosis of a file that can't be read."""
    text = str(error).removeprefix(f"{path}: ")
    return Diagnosis(path=path, session=None, findings=(finding("unreadable", text),))


def _all(data: bytes, session: Session, *, is_refused: bool, scan: Scanner) -> list[Finding]:
    examined = examine(session)
    found = reader_findings(session)
    found += line_findings(data, examined)
    if is_event_stream(session):
        return found
    found += link_findings(examined)
    if session.format == "pi" and (is_refused or any(_is_damage(f) for f in found)):
        seen = pi_finding(session, None if is_refused else _as_pi(data, session.path))
        found += [seen] if seen else []
    pairs = pair(examined)
    compactions = compactions_of(examined, pairs.call_of)
    found += tool_findings(examined, pairs)
    found += compaction_findings(examined, compactions, pairs.call_of)
    found += reference_findings(examined, pairs.call_of)
    found += chain_findings(examined, compactions)
    found += summary_findings(examined, scan)
    return found


def _is_damage(found: Finding) -> bool:
    return found.severity == "error" and kind_of(found.code).family in ("file", "tree")


def _as_pi(data: bytes, path: str) -> Session | None:
    """The session as Pi reads it, None if it refuses it."""
    try:
        return parse_session(data, path=path, exact=True)
    except SessionError:
        return None
