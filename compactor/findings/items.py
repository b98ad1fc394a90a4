"""The lines of a summary before it is written: by section, each with its rank.

`Item` is one bullet without its mark; `Sections` holds the items of all sections by the names of the headings. The rank
says what gives way first, the order where a line stands.
"""

import re
from dataclasses import dataclass

from compactor.summary import CONSTRAINTS

GOAL, DONE, IN_PROGRESS, BLOCKED = "Goal", "Done", "In Progress", "Blocked"
DECISIONS, NEXT, CONTEXT = "Key Decisions", "Next Steps", "Critical Context"
NAMES = (GOAL, CONSTRAINTS, DONE, IN_PROGRESS, BLOCKED, DECISIONS, NEXT, CONTEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One line of a section."""

    text: str
    """Without list mark and line breaks."""
    rank: int
    """0 to 100; what has less gives way first."""
    order: int = 0
    """Lines of a section stand by this; equal ones as they came."""


Sections = dict[str, list[Item]]

_REFERENCE = re.compile(r"\s*\[#[^\]\s]{1,8}\]")
_SOFT = re.compile(r"[\s\"'“”‘’*_`.。!！]+")


def no_sections() -> Sections:
    """All sections, empty."""
    return {name: [] for name in NAMES}


def identity(text: str) -> str:
    """What two lines that say the same have in common: the words without references, marks and blanks."""
    return _SOFT.sub("", _REFERENCE.sub("", text)).lower()


def without_repeats(sections: Sections) -> Sections:
    """The sections without lines that stand twice; the one of the higher rank stays, of equals the later."""
    best: dict[str, tuple[str, Item]] = {}
    for name, items in sections.items():
        for item in items:
            key = f"{name == CONSTRAINTS} {identity(item.text)}"
            if key not in best or best[key][1].rank <= item.rank:
                best[key] = name, item
    kept = {id(item) for _, item in best.values()}
    return {name: [item for item in items if id(item) in kept] for name, items in sections.items()}
