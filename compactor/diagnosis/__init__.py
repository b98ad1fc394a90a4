"""What is wrong with a session: damage of the file, of the tree, of tool calls, of compactions; and a repaired copy."""

from compactor.diagnosis.checkup import Diagnosis, diagnose, unreadable
from compactor.diagnosis.finding import KINDS, SEVERITIES, Finding, Kind, advice_for, kind_of
from compactor.diagnosis.repair import Repair, repair

__all__ = [
    "KINDS",
    "SEVERITIES",
    "Diagnosis",
    "Finding",
    "Kind",
    "Repair",
    "advice_for",
    "diagnose",
    "kind_of",
    "repair",
    "unreadable",
]
