"""What a history says, word for word, and the summary that can be made of it without a model."""

from compactor.findings.carried import add_branch, part_summaries, with_previous
from compactor.findings.digest import Digest, digest
from compactor.findings.frames import Frames, frames_for
from compactor.findings.items import Item, Sections, no_sections, without_repeats
from compactor.findings.layout import written
from compactor.findings.turn_lines import name_open_request

__all__ = [
    "Digest",
    "Frames",
    "Item",
    "Sections",
    "add_branch",
    "digest",
    "frames_for",
    "name_open_request",
    "no_sections",
    "part_summaries",
    "with_previous",
    "without_repeats",
    "written",
]
