"""A diagnosis as text for people: what is wrong, where, and what to do; findings of one kind stand together."""

import os
from collections.abc import Iterator, Sequence
from itertools import groupby

from compactor.cli.columns import kind_of_session
from compactor.cli.terminal import one_line
from compactor.diagnosis import SEVERITIES, Diagnosis, Finding, Repair, advice_for
from compactor.views.doctor import totals
from compactor.wording import amount, listed, shown_id

MAX_SHOWN = 6
"""Findings of one kind; the rest is counted."""

MAX_CODES = 4
"""Codes named in the line of a file."""


def report_text(diagnosis: Diagnosis) -> str:
    """The whole report on one file."""
    lines = [f"file   {one_line(diagnosis.path)}", f"found  {found_text(diagnosis.counts)}"]
    session = diagnosis.session
    if session is not None:
        kind = kind_of_session(session.format, session.header.version)
        lines.insert(1, f"type   {kind}, {amount(diagnosis.entries, 'entry', 'entries')}")
    for group in groups(diagnosis.findings):
        lines += ["", *_group_lines(group, diagnosis.format)]
    return "\n".join(lines)


def groups(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings of one code and severity together, the gravest first."""
    order = {severity: n for n, severity in enumerate(SEVERITIES)}
    ranked = sorted(findings, key=lambda found: (order[found.severity], found.code))
    made = [list(group) for _, group in groupby(ranked, key=lambda found: (found.severity, found.code))]
    return sorted(made, key=lambda group: (order[group[0].severity], group[0].line or 0))


def _group_lines(group: Sequence[Finding], session_format: str | None) -> Iterator[str]:
    first = group[0]
    yield f"{first.severity}: {first.code}" + (f" ({len(group):,} times)" if len(group) > 1 else "")
    for found in group[:MAX_SHOWN]:
        where = f"line {found.line}" if found.line is not None else "file"
        entry = f" ({shown_id(found.entry_id)})" if found.entry_id else ""
        yield f"  {where}{entry}: {one_line(found.message)}"
    if len(group) > MAX_SHOWN:
        yield f"  … and {len(group) - MAX_SHOWN:,} more; --json lists all"
    yield f"  do: {advice_for(first.code, session_format)}"


def found_text(counts: dict[str, int]) -> str:
    """`1 error, 2 warnings and 3 notes`, or `nothing`."""
    parts = [amount(number, severity) for severity, number in counts.items() if number]
    return listed(parts) if parts else "nothing"


def repair_text(repair: Repair, after: Diagnosis) -> str:
    """What the copy is like."""
    if not repair.repaired:
        lines = [f"copy   {one_line(after.path)}: the same bytes, for there was nothing to repair"]
    else:
        repaired = sum(found.severity != "note" for found in repair.repaired)
        lines = [f"copy   {one_line(after.path)}: {amount(repaired, 'finding')} repaired"]
    lines.append(f"has    {found_text(after.counts)}")
    stays = [found for found in after.findings if found.severity != "note"]
    for group in groups(stays):
        lines.append(f"  {group[0].severity} {group[0].code}: not repaired; {advice_for(group[0].code, after.format)}")
    return "\n".join(lines)


def folder_text(folder: str, diagnoses: Sequence[Diagnosis]) -> str:
    """One line a file, by its path below the folder, then the totals."""
    width = max(len(_counts(diagnosis)) for diagnosis in diagnoses)
    lines = [f"folder  {one_line(folder)}", ""]
    for diagnosis in diagnoses:
        codes = list(dict.fromkeys(group[0].code for group in groups(diagnosis.findings)))
        more = f" and {len(codes) - MAX_CODES} more" if len(codes) > MAX_CODES else ""
        told = f": {', '.join(codes[:MAX_CODES])}{more}" if codes else ""
        path = diagnosis.path.removeprefix(os.path.join(folder, ""))
        lines.append(f"{_counts(diagnosis):<{width}}  {one_line(path)}{told}")
    bad = sum(diagnosis.count("error") > 0 for diagnosis in diagnoses)
    whole = f"{amount(len(diagnoses), 'file')}, {bad:,} with errors: {found_text(totals(diagnoses))}"
    return "\n".join([*lines, "", whole])


def _counts(diagnosis: Diagnosis) -> str:
    """`2 errors, 1 warning`, or `clean`."""
    return found_text(diagnosis.counts).replace(" and ", ", ") if diagnosis.findings else "clean"
