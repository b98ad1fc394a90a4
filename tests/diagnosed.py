"""Shortcuts for tests of a diagnosis: a session or bytes in, findings out."""

from builders import SessionBuilder

from compactor.diagnosis import Diagnosis, Finding, diagnose

PATH = "harbor.jsonl"


def diagnosis_of(session: SessionBuilder | bytes) -> Diagnosis:
    """The diagnosis of a session, or of a file's bytes."""
    return diagnose(session if isinstance(session, bytes) else session.data(), path=PATH)


def findings_of(session: SessionBuilder | bytes, *codes: str) -> list[Finding]:
    """Its findings, only those with these codes if any is given."""
    return [found for found in diagnosis_of(session).findings if not codes or found.code in codes]


def told(session: SessionBuilder | bytes) -> list[tuple[str, str, int | None]]:
    """Severity, code and line of each finding."""
    return [(found.severity, found.code, found.line) for found in diagnosis_of(session).findings]


def line_of(session: SessionBuilder, entry_id: str) -> int:
    """The line that the entry stands on; the header is line 1."""
    return next(n for n, row in enumerate(session.rows, 2) if row["id"] == entry_id)
