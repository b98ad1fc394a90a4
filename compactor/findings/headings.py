"""The headings of a summary, whichever agent wrote it.

Takes the name of a heading, gives the section of ours that its lines belong to; takes the summary of another agent,
gives it with Markdown headings and without what that agent's program wrote around it. Sources: summaries in transcripts
of Claude Code 1.0 to 2.1, and the forms that Codex, Gemini CLI, Qwen Code, Kimi CLI, OpenCode, Crush, Goose, Cline and
OpenHands ask their models for.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from textwrap import dedent

from compactor.findings.items import BLOCKED, CONTEXT, DECISIONS, DONE, GOAL, IN_PROGRESS, NEXT
from compactor.summary import CONSTRAINTS

USER_MESSAGES = "User Messages"
"""A section that lists what the user said; its last item is the request that was open."""

MIN_KNOWN = 3
"""A list or a bold line makes headings only where so many of them have names that summaries use."""

MAX_FENCED_LINES = 3
"""Longer code makes no sense on one line, and what stands in a file can be read again."""

_OURS = {
    "Goal": GOAL,
    "Original Request": GOAL,
    "Done": DONE,
    "Progress": CONTEXT,
    "Progress So Far": DONE,
    "In Progress": IN_PROGRESS,
    "Blocked": BLOCKED,
    "Key Decisions": DECISIONS,
    "Next Steps": NEXT,
    "Critical Context": CONTEXT,
    "Context Needed to Continue": CONTEXT,
}

_THEIRS: Mapping[str, tuple[str, ...]] = {
    GOAL: (
        "primary request and intent",
        "primary request",
        "user intent",
        "user context",
        "user goal",
        "intent",
        "session objective",
        "current goal",
    ),
    CONSTRAINTS: (
        "active constraints",
        "constraints and invariants",
        "constraints and requirements",
        "important instructions",
        "instructions",
        "user constraints",
        "user instructions",
        "user preferences",
    ),
    DONE: ("recent actions", "work completed", "work done", "changes", "progress summary"),
    IN_PROGRESS: ("current focus", "task state", "active task"),
    BLOCKED: ("active issues", "known issues", "open issues", "open problems", "unresolved issues"),
    DECISIONS: ("strategy and approach",),
    NEXT: (
        "optional next step",
        "next step",
        "exact next steps",
        "immediate next steps",
        "current plan",
        "what remains to be done",
        "unfinished tasks",
    ),
    USER_MESSAGES: ("all user messages", "user messages", "user requests"),
}
"""Section -> names that other agents give it, besides those that `_NEARLY` recognises."""

_BESIDES = frozenset(
    (
        "artifact trail",
        "code state",
        "deps",
        "discoveries",
        "environment",
        "errors and fixes",
        "errors and solutions",
        "file system state",
        "files and changes",
        "files and code",
        "files and code sections",
        "important context",
        "key knowledge",
        "key technical concepts",
        "previous conversation",
        "problem solving",
        "relevant files",
        "relevant files and code",
        "relevant files directories",
        "system context",
        "task tracking",
        "technical concepts",
        "technical context",
        "tests",
        "version control status",
    )
)
"""Names of sections that stay under their own name, as context."""

_NEARLY = tuple(
    (re.compile(pattern, re.IGNORECASE), target)
    for pattern, target in (
        (r"\bdecisions?\b|决定|决策", DECISIONS),
        (r"^(?:next|remaining|to-?do|open|pending)\b|下一步|待办", NEXT),
        (r"^(?:completed?|done|finished|accomplished)\b|已完成", DONE),
        (r"^(?:current(?:ly)? (?:task|work|state|status)|ongoing|in[- ]progress)\b|进行中", IN_PROGRESS),
        (r"^(?:blockers?|blocked)\b|阻塞", BLOCKED),
        (r"^(?:overall |main )?(?:goals?|objectives?|task)\b|目标", GOAL),
    )
)
"""Headings that summarizers of any make use for the same things."""

_NUMBER = re.compile(r"\A\s*\d{1,2}[.)]\s+")
_AND = re.compile(r"[&+]")
_NO_LETTER = re.compile(r"[^a-z]+")


def plain_name(name: str) -> str:
    """A heading's name in small letters, without number and marks."""
    words = _NO_LETTER.sub(" ", _AND.sub(" and ", _NUMBER.sub("", name, count=1).lower()))
    return " ".join(words.split())


_SECTION_OF = {name: section for section, names in _THEIRS.items() for name in names}
_KNOWN = frozenset({*_SECTION_OF, *_BESIDES, *map(plain_name, _OURS)})


def section_of(name: str) -> str | None:
    """The section that lines under a heading belong to; None if the heading is not one of ours, or nearly so."""
    plain = plain_name(name)
    found = _OURS.get(name) or _SECTION_OF.get(plain)
    if found is not None or plain in _BESIDES:
        return found
    bare = _NUMBER.sub("", name, count=1)
    return next((target for pattern, target in _NEARLY if pattern.search(bare)), None)


_MARKDOWN = re.compile(r"^(?P<mark>#{1,6})[ \t]+(?P<name>\S.*)$", re.MULTILINE)
_NAME = r"(?P<name>[A-Za-z][A-Za-z&+/,'’ ()-]{2,60}?)"
_REST = r"(?:[ \t]+(?P<rest>\S.*)|[ \t]*)$"
_FORMS = (
    re.compile(rf"^(?:\*\*)?\d{{1,2}}\.[ \t]+(?:\*\*)?{_NAME}(?:\*\*)?(?:$|:(?:\*\*)?{_REST})", re.MULTILINE),
    re.compile(rf"^(?:[-*][ \t]+)?\*\*{_NAME}:?\*\*:?{_REST}", re.MULTILINE),
    re.compile(rf"^(?P<name>[A-Z][A-Z_ ]{{2,40}}):{_REST}", re.MULTILINE),
    re.compile(r"^[ \t]*<(?P<name>[a-z]+(?:_[a-z]+)*)>[ \t]*(?P<rest>.*)$", re.MULTILINE),
)
"""Numbered names, bold ones, names in capitals, elements."""

_SUMMARY_STARTS = re.compile(r"^(?:\*\*)?(?:Summary:|<summary>)(?:\*\*)?[ \t]*$", re.MULTILINE)
_FENCED = re.compile(r"^[ \t]*```.*?(?:^[ \t]*```[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_TAG = re.compile(r"</[a-z]+(?:_[a-z]+)*>[ \t]*$|^[ \t]*<[a-z]+(?:_[a-z]+)*>[ \t]*$", re.MULTILINE)
_STATES = re.compile(
    r"^([ \t]*(?:(?:[-*+]|\d{1,2}[.)])[ \t]+)?)\[(DONE|COMPLETED|TODO|PENDING|IN[ _-]PROGRESS)\]:?[ \t]*", re.MULTILINE
)
_FRAMING = re.compile(
    r"^[ \t]*(?:This session is being continued from a previous conversation"
    r"|Another language model started to solve this problem"
    r"|If you need specific details from before compaction"
    r"|Recent messages are preserved verbatim"
    r"|(?:Please c|C)ontinue the conversation from where (?:we|it) left"
    r"|(?:The conversation is summarized below|Summary|Analysis):?[ \t]*$).*$",
    re.MULTILINE,
)
"""What the program says to its model around a summary; it is about the moment in which that was made."""


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int
    end: int
    name: str
    rest: str


def in_markdown(text: str) -> str:
    """The summary with a Markdown heading for each section, ours for rules and for what the user said."""
    boxed = _STATES.sub(lambda m: f"{m.group(1)}[{'x' if m.group(2) in ('DONE', 'COMPLETED') else ' '}] ", text)
    form = _form(boxed)
    if form is None:
        return _MARKDOWN.sub(_renamed, _FRAMING.sub("", boxed))
    told = _without_scratch(boxed, form)
    return "\n\n".join(_written(told, _headings(form, told)))


def _form(text: str) -> re.Pattern[str] | None:
    """How the headings are written, None for Markdown: the form with the most known names."""
    best = max(_FORMS, key=lambda form: _known_names(form, text))
    return best if _known_names(best, text) >= max(MIN_KNOWN, _known_names(_MARKDOWN, text) + 1) else None


def _known_names(form: re.Pattern[str], text: str) -> int:
    return len({heading.name for heading in _headings(form, text)})


def _headings(form: re.Pattern[str], text: str) -> list[_Heading]:
    """The headings of this form whose names are known."""
    found = [(match, plain_name(match.group("name"))) for match in form.finditer(text)]
    return [
        _Heading(match.start(), match.end(), name, match.groupdict().get("rest") or "")
        for match, name in found
        if name in _KNOWN or section_of(name) is not None
    ]


def _without_scratch(text: str, form: re.Pattern[str]) -> str:
    """The text without the thinking before the summary, which repeats what follows."""
    start = _SUMMARY_STARTS.search(text)
    kept = text[start.end() :] if start else ""
    return kept if _known_names(form, kept) == _known_names(form, text) else text


def _renamed(heading: re.Match[str]) -> str:
    """A heading in Markdown; the name of rules and of what the user said is ours."""
    section = _SECTION_OF.get(plain_name(heading.group("name")))
    return f"{heading.group('mark')} {section}" if section in (CONSTRAINTS, USER_MESSAGES) else heading.group()


def _written(text: str, headings: list[_Heading]) -> Iterator[str]:
    """The parts of a summary with headings of another form."""
    yield _body(text[: headings[0].start])
    for n, heading in enumerate(headings):
        end = headings[n + 1].start if n + 1 < len(headings) else len(text)
        most = 0 if "file" in heading.name else MAX_FENCED_LINES
        below = _FENCED.sub(partial(_short, most_lines=most), text[heading.end : end])
        section = _SECTION_OF.get(heading.name)
        name = section if section in (CONSTRAINTS, USER_MESSAGES) else heading.name.capitalize()
        yield f"## {name}\n{_body(heading.rest)}\n{_body(below)}"


def _short(code: re.Match[str], most_lines: int) -> str:
    """The fenced code, nothing if it has more lines."""
    return code.group() if code.group().strip().count("\n") - 1 <= most_lines else ""


def _body(text: str) -> str:
    """The text of a section without framing, tags, indentation, and headings that would cut it in two."""
    text = dedent(_TAG.sub("", _FRAMING.sub("", text)))
    return _MARKDOWN.sub(lambda heading: heading.group("name"), text).strip("\n")
