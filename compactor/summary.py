"""A summary as a document: its sections, what is missing or doubled, and whether a model's reply may become one.

Takes text; gives a parsed `SummaryDocument`, or the reason why a reply is refused. Headings are recognised in any case
and with small deviations; order and unknown sections are kept. Source for the sections: Pi 1.6.0 docs/compaction.md.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from compactor.model import ModelResponse

SectionSet = Literal["history", "turn_prefix", "branch"]

CONSTRAINTS = "Constraints & Preferences"
HISTORY_SECTIONS = ("Goal", CONSTRAINTS, "Progress", "Key Decisions", "Next Steps", "Critical Context")
PROGRESS_PARTS = ("Done", "In Progress", "Blocked")
SECTIONS: dict[SectionSet, tuple[str, ...]] = {
    "history": HISTORY_SECTIONS,
    "branch": HISTORY_SECTIONS[:-1],
    "turn_prefix": ("Original Request", "Progress So Far", "Context Needed to Continue"),
}

NO_PRIOR_HISTORY = "No prior history."
"""Pi 1.6.0 compaction.js compact: stands for the history where only the start of a turn is summarized."""

ENCRYPTED_SUMMARY = (
    "Codex compacted the conversation here. It holds the summary in encrypted form, so its text is not known; "
    "what Codex kept in plain text follows."
)
UNWRITTEN_SUMMARY = "Codex compacted the conversation here without a summary; what it kept follows."
LOST_SUMMARY = "[The summary of the conversation so far is not in the transcript.]"
PLACEHOLDERS = frozenset({ENCRYPTED_SUMMARY, UNWRITTEN_SUMMARY, LOST_SUMMARY})
"""What importers write in the place of a summary that the file of Codex, or of Claude Code, does not hold."""

SPLIT_TURN_LEAD = "\n\n---\n\n**Turn Context (split turn):**\n\n"
"""Pi 1.6.0 compaction.js compact: between the history's summary and that of the turn prefix."""

MAX_LEVEL = 6
"""The deepest heading of Markdown."""

ECHO_SHARE = 0.8
"""A reply is an echo of its template when at least this share of its lines stand in the template."""

_HEADING = re.compile(r"^(#{1,6})[ \t]+(\S.*)$", re.MULTILINE)
_FILE_BLOCK = re.compile(
    r"<(read-files|modified-files)>[ \t]*\n.*?(?:</\1>[ \t]*(?=\n|\Z)|\Z)"
    r"|(?m:^)[ \t]*<(read-files|modified-files)>[^<\n]*</\2>[ \t]*(?=\n|\Z)",  # a model's short form of it
    re.DOTALL,
)
_PROMPT_ECHO = re.compile(r"^\s*</?(?:conversation|previous-summary)>\s*$", re.MULTILINE)
_THINKING = re.compile(r"\s*<(think|thinking)>.*?(?:</\1>|\Z)", re.DOTALL)
_MARKS = re.compile(r"\A(?:\d+[.)]|[-*+])?\s*(?:\[[ xX]\])?|[\W_]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a summary."""

    name: str
    """The canonical name where the heading is known, else as written."""
    level: int
    """Number of `#` of the heading."""
    start: int
    """Offset of the heading."""
    body_start: int
    end: int
    """Offset after the last character of the body."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SummaryDocument:
    """A summary taken apart."""

    text: str
    sections: tuple[Section, ...]
    missing: tuple[str, ...]
    doubled: tuple[str, ...]

    def body(self, name: str) -> str | None:
        """The text under a heading without its sub-headings' lines cut off; None if there is no such section."""
        found = self.section(name)
        return self.text[found.body_start : found.end].strip() if found else None

    def section(self, name: str) -> Section | None:
        """The first section of that name."""
        return next((s for s in self.sections if s.name == name), None)


def parse_summary(text: str, expected: SectionSet = "history") -> SummaryDocument:
    """The sections of a summary.

    Args:
        text: the whole summary, file blocks and a split turn's part included.
        expected: which set of sections it should have.
    """
    wanted = SECTIONS[expected]
    main = text.split(SPLIT_TURN_LEAD, 1)[0] if expected == "history" else text
    main = _FILE_BLOCK.sub(lambda block: " " * len(block.group()), main)  # offsets stay those of `text`
    sections = []
    following = [len(main)] * (MAX_LEVEL + 1)  # where the next heading of each level starts
    for match in reversed(list(_HEADING.finditer(main))):
        level = len(match.group(1))
        name = _canonical(match.group(2).rstrip().rstrip("#"))
        end = min(following[: level + 1])
        sections.append(Section(name=name, level=level, start=match.start(), body_start=match.end(), end=end))
        following[level] = match.start()
    sections.reverse()
    names = [s.name for s in sections]
    needed = (*wanted, *PROGRESS_PARTS) if "Progress" in wanted else wanted
    return SummaryDocument(
        text=main,
        sections=tuple(sections),
        missing=tuple(name for name in needed if name not in names),
        doubled=tuple(sorted({name for name in needed if names.count(name) > 1})),
    )


_KNOWN = {re.sub(r"[^a-z]", "", name.lower()): name for names in (*SECTIONS.values(), PROGRESS_PARTS) for name in names}
_KNOWN |= {"constraintsandpreferences": CONSTRAINTS, "constraints": CONSTRAINTS, "decisions": "Key Decisions"}


def _canonical(heading: str) -> str:
    plain = re.sub(r"[^a-z]", "", heading.lower())
    return _KNOWN.get(plain, heading.strip("*_: "))


def without_file_blocks(text: str) -> str:
    """The text without `<read-files>` and `<modified-files>` blocks, which the engine writes anew."""
    if "-files>" not in text:
        return text
    kept, at = [], 0
    for block in _FILE_BLOCK.finditer(text):
        kept.append(text[at : block.start()].rstrip("\n"))
        at = block.end()
    return "".join([*kept, text[at:]]).strip()


def without_thinking(text: str) -> str:
    """The text without the reasoning that many local models write before it, in a `<think>` element of its own."""
    found = _THINKING.match(text)
    return text[found.end() :] if found else text


def reply_problem(response: ModelResponse, template: str, label: str = "Summarization") -> str | None:
    """Why a reply can't become a summary, in one line; None if it can.

    Args:
        response: what the model answered.
        template: the instructions it was given, to recognise an echo.
        label: how the message starts.
    """
    if response.stop_reason == "error":
        return f"{label} failed: {response.error_message or 'the model reported an error without a message'}"
    if response.stop_reason == "length":
        return f"{label} failed: the reply reached its token limit, so the summary is incomplete"
    if response.stop_reason == "aborted":
        return f"{label} failed: the reply was aborted"
    if response.tool_calls or response.stop_reason == "toolUse":
        names = ", ".join(response.tool_calls[:3]) or "a tool"
        return f"{label} failed: the model called {names} instead of writing a summary"
    empty = _emptiness(response)
    if empty is not None:
        return f"{label} failed: the reply holds {empty}"
    if _PROMPT_ECHO.search(response.text) or _is_echo(without_thinking(response.text), template):
        return f"{label} failed: the reply repeats the request instead of summarizing"
    return None


def pi_reply_problem(response: ModelResponse, label: str = "Summarization") -> str | None:
    """What Pi 1.6.0 refuses, in Pi's sense: an error, a length stop, a tool call; blank replies pass."""
    if response.stop_reason in ("error", "length", "aborted") or response.tool_calls:
        return reply_problem(response, "", label)
    return None


def _emptiness(response: ModelResponse) -> str | None:
    """What a reply holds that says nothing at all; None if it says something."""
    if not response.text.strip():
        return "only hidden thinking" if response.thinking else "only blanks" if response.text else "no text"
    said = without_thinking(response.text)
    if not said.strip():
        return "only thinking"
    if not any(character.isalnum() for character in _HEADING.sub("", said)):
        return "only headings" if _HEADING.search(said) else "no words"
    return None


def _is_echo(reply: str, template: str) -> bool:
    lines = [line.strip() for line in reply.splitlines()]
    marked = [line for line in lines if line and not line.startswith("#") and line not in _EMPTY_ITEMS]
    said = [words for line in marked if (words := _words(line))]
    # What the template quotes is the user's, and a summary has to repeat it.
    given = {_words(line) for line in template.splitlines() if not line.startswith(">")}
    return bool(said) and sum(words in given for words in said) >= ECHO_SHARE * len(said)


def _words(line: str) -> str:
    """The line without marks, brackets and case, which an echo may change."""
    return _MARKS.sub(" ", line.casefold()).strip()


_EMPTY_ITEMS = frozenset({"(none)", "- (none)", "1. (none)", "---", "- [x] (none)", "- [ ] (none)"})


def pinned(text: str, constraints: Sequence[str]) -> str:
    """The summary with these sentences as further items of its constraints section, which is made if it is missing."""
    if not constraints:
        return text
    items = "\n".join(f"- {line}" for line in constraints)
    document = parse_summary(text)
    section = document.section(CONSTRAINTS)
    if section is None:
        goal = document.section("Goal")
        at = goal.end if goal else 0
        before, after = text[:at].rstrip("\n"), text[at:].lstrip("\n")
        block = f"## {CONSTRAINTS}\n{items}"
        return "\n\n".join(part for part in (before, block, after) if part)
    body = text[section.body_start : section.end]
    kept = "\n".join(line for line in body.strip("\n").splitlines() if line.strip() not in _EMPTY_ITEMS).rstrip()
    new_body = f"\n{kept}\n{items}" if kept else f"\n{items}"
    rest = text[section.end :]
    return text[: section.body_start] + new_body + (f"\n\n{rest}" if rest.strip() else rest)
