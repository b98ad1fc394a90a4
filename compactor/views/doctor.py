"""A diagnosis as JSON: the object of `compactor doctor --json`, for one session or for a folder."""

from collections.abc import Sequence
from typing import Any

from compactor.diagnosis import SEVERITIES, Diagnosis, Finding, Repair, advice_for, kind_of
from compactor.views.plan import session_json, warning_json


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """What was found in one file; `session` is null where the file holds none."""
    session = diagnosis.session
    return {
        "path": diagnosis.path,
        "session": None if session is None else session_json(session),
        "entries": diagnosis.entries,
        "counts": diagnosis.counts,
        "findings": _findings_json(diagnosis),
        "warnings": [] if session is None else [warning_json(warning) for warning in session.warnings],
    }


def _findings_json(diagnosis: Diagnosis) -> list[dict[str, Any]]:
    return [finding_json(found, diagnosis.format) for found in diagnosis.findings]


def finding_json(found: Finding, session_format: str | None) -> dict[str, Any]:
    """One finding; `line` and `entryId` are null where it is about no single one."""
    kind = kind_of(found.code)
    return {
        "code": found.code,
        "severity": found.severity,
        "family": kind.family,
        "line": found.line,
        "entryId": found.entry_id,
        "message": found.message,
        "advice": advice_for(found.code, session_format),
        "fixable": kind.is_repaired and session_format in ("pi", None),
    }


def repair_json(repair: Repair, after: Diagnosis) -> dict[str, Any]:
    """What was repaired in the copy, and what a diagnosis of the copy still finds."""
    return {
        "output": after.path,
        "changed": bool(repair.repaired),
        "repaired": [finding_json(found, after.format) for found in repair.repaired],
        "counts": after.counts,
        "findings": _findings_json(after),
    }


def folder_json(folder: str, diagnoses: Sequence[Diagnosis]) -> dict[str, Any]:
    """All files of a folder, and the totals."""
    return {
        "folder": folder,
        "files": [diagnosis_json(diagnosis) for diagnosis in diagnoses],
        "counts": totals(diagnoses),
        "clean": sum(not diagnosis.count("error") and not diagnosis.count("warning") for diagnosis in diagnoses),
        "warnings": [],
    }


def totals(diagnoses: Sequence[Diagnosis]) -> dict[str, int]:
    """Severity -> number of findings in all files."""
    return {severity: sum(diagnosis.count(severity) for diagnosis in diagnoses) for severity in SEVERITIES}
