"""Text of a message -> its sentences as exact spans, without what was pasted into it.

Takes what a person or a model wrote; gives `Sentence` values whose text is a substring of the message. Fenced code,
quoted lines, tagged blocks, stack traces, logs, tables and code are no sentences. A list item stays whole, and knows
the line that introduces its list. Everything is one pass over the lines, and regular expressions without nesting.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from compactor.prose import LIST_MARK, prose_lines

MAX_ITEM_CHARS = 300
"""A list item up to this length is one sentence, whatever its punctuation."""

MAX_LEAD_CHARS = 200
"""A longer line that ends in a colon introduces nothing; it is a sentence."""

WRAPPED_CHARS = 55
"""A line at least this long that goes on in small letters was wrapped by an editor, not ended by its writer."""

DOCUMENT_CHARS = 4000
"""A message with more prose than this, built like a document, was pasted: a skill, a report, an old summary."""

DOCUMENT_HEADINGS = 2
DOCUMENT_ITEMS = 25


@dataclass(frozen=True, slots=True)
class Sentence:
    """One sentence or list item of a text."""

    text: str
    """Exactly as written, without the list mark and outer blanks; a wrapped one holds line breaks."""
    start: int
    """Offset in the text."""
    lead: str = ""
    """The heading or the line with a colon that it stands under; empty if there is none."""
    is_item: bool = False
    pasted: bool = False
    """True inside a long pasted document, except its first and last paragraph."""

    @property
    def end(self) -> int:
        """Offset after its last character."""
        return self.start + len(self.text)


@dataclass(slots=True)
class _Unit:
    """Lines that belong together: a paragraph, or one list item."""

    start: int
    end: int
    lead: str
    is_item: bool
    paragraph: int
    heading: bool = False


_GAP = re.compile(r"\n[ \t]*\r?\n|\S")
"""A blank line, or something between two lines of prose that is not prose."""

_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(\S.*)")
_BOLD_LINE = re.compile(
    r"\s*(?:\*\*|__)(?:[^*_]{1,80}:(?:\*\*|__)|(?:[^*_\s]+ ?){1,3}(?:\*\*|__)|[^*_]{1,80}(?:\*\*|__)\s*:)\s*$"
)


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text in order; those of pasted code, logs and quotes are left out."""
    units = list(_units(text))
    pasted = _pasted_paragraphs(units)
    found: list[Sentence] = []
    for unit in units:
        if unit.heading:
            continue
        is_pasted = unit.paragraph in pasted
        for start, end in _split(text, unit):
            found.append(Sentence(text[start:end], start, unit.lead, unit.is_item, is_pasted))
    return found


def _pasted_paragraphs(units: list[_Unit]) -> set[int]:
    """The paragraphs that belong to a pasted document."""
    if sum(unit.end - unit.start for unit in units) <= DOCUMENT_CHARS:
        return set()
    headings = sum(unit.heading for unit in units)
    if headings < DOCUMENT_HEADINGS and sum(unit.is_item for unit in units) < DOCUMENT_ITEMS:
        return set()
    first_heading = next((unit.paragraph for unit in units if unit.heading), units[0].paragraph + 1)
    last = units[-1].paragraph
    return set(range(first_heading, last))


def _units(text: str) -> Iterator[_Unit]:
    """Paragraphs, list items and headings of the prose, each with what introduces it."""
    unit: _Unit | None = None
    heading = lead = ""
    paragraph = 0
    last_end = 0
    for start, end in prose_lines(text):
        blank = bool(_GAP.search(text, last_end, start))
        paragraph += blank
        last_end = end
        line = text[start:end]
        title = _HEADING.match(line) or _BOLD_LINE.match(line)
        item = None if title else LIST_MARK.match(line)
        if unit is not None and not title and not item and not blank and _goes_on(text, unit, line):
            unit.end = end
            continue
        if unit is not None:
            yield unit
            lead = text[unit.start : unit.end].strip() if _introduces(text, unit) else lead
        if title:
            heading, lead = line.strip("#*_: \t"), ""
            unit = _Unit(start, end, "", False, paragraph, heading=True)
        elif item:
            unit = _Unit(start + item.end(), end, lead or heading, True, paragraph)
        else:
            lead = "" if blank or (unit is not None and unit.is_item) else lead
            unit = _Unit(start, end, lead or heading, False, paragraph)
    if unit is not None:
        yield unit


def _introduces(text: str, unit: _Unit) -> bool:
    line = text[unit.start : unit.end].rstrip()
    return not unit.is_item and line.endswith((":", "：")) and len(line) <= MAX_LEAD_CHARS


def _goes_on(text: str, unit: _Unit, line: str) -> bool:
    """True when the line continues the unit before it rather than starting something new."""
    if unit.heading:
        return False
    before = text[max(unit.start, unit.end - 2000) : unit.end].rstrip()
    if before.endswith((".", "!", "?", ":", ";", "。", "！", "？", "：")):
        return unit.is_item and line[:1] in " \t" and not before.endswith((":", "："))
    opening = line.lstrip()[:1]
    wrapped = unit.end - max(unit.start, text.rfind("\n", unit.start, unit.end) + 1) >= WRAPPED_CHARS
    return (opening.islower() or opening in "(`'\"“" or not opening.isascii()) and (
        wrapped or (unit.is_item and line[:1] in " \t")
    )


_PROTECTED = re.compile(r"`[^`\n]{0,300}`|\"[^\"\n]{1,160}\"|“[^”\n]{1,160}”|\((?:[^()\n]{0,160})\)")
_STOP = re.compile(r"[.!?…]+[\"'’”»)\]*_`]*(?=\s|$)|[。！？]+[”’」』）)\"]*")
_ABBREVIATION = re.compile(
    r"(?:^|[\s(\"“])(?:e\.g|i\.e|vs|etc|approx|mr|mrs|ms|dr|prof|st|cf|al|incl|excl|resp|dept|z\.\s?b|d\.\s?h|u\.\s?a"
    r"|bzw|ca|usw|evtl|ggf|inkl|p\.\s?ex|p\.\s?ej|sra?|[a-z])$",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"(?:option|plan|case|step|part|section|appendix|type|class|group|team|variant|version|choice|point|item|exhibit"
    r"|figure"
    r"|table|vitamin|grade|phase|drive|column|row|button|key|letter|language|level|model|branch|stage|in|and|or|than|as"
    r"|with|use)$",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\s*(?:never|always|only|please|do|don't|don’t|no|not|keep|leave|use|make|stick|stay|avoid|kindly|also|and|but"
    r"|so|if"
    r"|when|then|before|after|the|this|that|these|it|we|you|i|my|let|let's|run|ask|wait|write|answer|for|from|until"
    r"|in)\b",
    re.IGNORECASE,
)
_NUMBER_WORD = re.compile(r"(?:^|[\s(])(?:no|nr|fig|v|ver|sec|art)$", re.IGNORECASE)
_ETC = re.compile(r"(?:etc|usw|al)$", re.IGNORECASE)
_LONG_BREAK = re.compile(r";\s|\s[–—]\s|\n")
MAX_SENTENCE_CHARS = 400
"""A longer one is split at semicolons, dashes and line breaks."""


def _split(text: str, unit: _Unit) -> Iterator[tuple[int, int]]:
    """The spans of the sentences of a unit, blanks cut off."""
    if unit.is_item and unit.end - unit.start <= MAX_ITEM_CHARS:
        yield from _trimmed(text, unit.start, unit.end)
        return
    body = text[unit.start : unit.end]
    guarded = [match.span() for match in _PROTECTED.finditer(body)]
    start = 0
    g = 0
    for stop in _STOP.finditer(body):
        while g < len(guarded) and guarded[g][1] <= stop.start():
            g += 1
        inside = g < len(guarded) and guarded[g][0] < stop.start() and _holds(body, guarded[g], stop.end())
        if not inside and _ends_sentence(body, start, stop):
            yield from _pieces(text, unit.start + start, unit.start + stop.end())
            start = stop.end()
    yield from _pieces(text, unit.start + start, unit.end)


def _holds(body: str, guard: tuple[int, int], end: int) -> bool:
    """True when a full stop inside of quotes, brackets or code does not end the sentence around them."""
    if end < guard[1] or body[guard[0]] == "`":
        return True
    return body[guard[1] : guard[1] + 3].lstrip()[:1].islower()


def _ends_sentence(body: str, start: int, stop: re.Match[str]) -> bool:
    mark = stop.group()
    following = body[stop.end() : stop.end() + 3].lstrip()[:1]
    if not following:
        return True
    if mark.startswith(("...", "…")) or (mark[0] == "." and body[stop.start() - 1 : stop.start()].isspace()):
        return not (following.islower() or following in "(")
    if mark[0] != ".":
        return True
    before = body[max(start, stop.start() - 12) : stop.start()]
    if _ends_in_letter(body, start, stop):
        return True
    if _ABBREVIATION.search(before):
        return bool(_ETC.search(before)) and following.isupper()
    if _NUMBER_WORD.search(before):
        return not following.isdigit()
    return not body[start : stop.start()].strip().isdigit()


def _ends_in_letter(body: str, start: int, stop: re.Match[str]) -> bool:
    """True when the capital letter before a full stop names something ("option B.") and is no initial of a name."""
    words = body[max(start, stop.start() - 40) : stop.start()].split()
    if not words or not (len(words[-1]) == 1 and words[-1].isascii() and words[-1].isupper()):
        return False
    named = len(words) > 1 and _LABELLED.match(words[-2]) is not None
    return words[-1] == "I" or named or _OPENING.match(body, stop.end()) is not None


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """A sentence, or its parts if it is very long."""
    if end - start <= MAX_SENTENCE_CHARS:
        yield from _trimmed(text, start, end)
        return
    at = start
    for match in _LONG_BREAK.finditer(text, start, end):
        yield from _trimmed(text, at, match.start() + 1)
        at = match.end()
    yield from _trimmed(text, at, end)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    end -= len(piece) - len(piece.rstrip())
    if start < end:
        yield start, end
