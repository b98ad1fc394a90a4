"""The rules that a user laid down, word for word: prohibitions, secrets, ways of working, preferences, forms of output.

Takes messages; gives `Constraint` values whose text is an exact substring of a user's message, in order, duplicates
merged, with the sentence that later lifted or changed one. Takes a summary; says which constraints it lost. A sentence
too many costs a line, a rule too few costs trust: the tables lean to the first. Known misses: rules that are only
implied, and wishes phrased as questions.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from compactor.constraint_changes import lifts_something, topic
from compactor.constraint_claims import makes_rule
from compactor.constraint_cues import english_strength
from compactor.constraint_kinds import ConstraintKind, kind_of
from compactor.constraint_orders import CERTAIN, LIKELY, NONE, POSSIBLE
from compactor.constraint_words import heads_rules, is_meant_here, other_strength
from compactor.messages import Message
from compactor.sentences import Sentence, sentences

MAX_SENTENCE_CHARS = 1500
"""A longer run without an end of sentence was not typed as a rule."""

MAX_POSSIBLE_CHARS = 300
"""A longer sentence that is only possibly a rule is a story."""

MAX_RUN_ONS = 8

MAX_LISTED_CHARS = 600
"""A ban that ends in a colon takes its list along, up to this length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint:
    """One rule of the user."""

    text: str
    """Exactly as written; a wrapped sentence holds line breaks."""
    kind: ConstraintKind
    message: int
    """Position of the message in the list that was searched."""
    start: int
    """Offset of the text in `Message.text()` of that message."""
    strength: int
    """1 possibly a rule, 2 likely, 3 certain; which gives way first where there is no room."""
    changed_by: str | None = None
    """A later sentence of the user that lifts or changes it, word for word."""
    changed_in: int | None = None
    """Position of the message with that sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lift:
    """A sentence of the user that gives leave or takes a rule back."""

    text: str
    """Exactly as written."""
    message: int
    """Position of the message in the list that was searched."""
    topic: frozenset[str]
    """What it is about."""


def find_constraints(messages: Sequence[Message]) -> list[Constraint]:
    """The constraints that the user stated in these messages, in order of their first appearance."""
    said = list(_said(messages))
    found = [rule for one in said for rule in _in_message(one)]
    lifts = _lifts(said)
    return _merged([_changed(rule, lifts) for rule in found] if lifts else found)


def find_lifts(messages: Sequence[Message]) -> list[Lift]:
    """The sentences by which the user lifts or changes an earlier rule, in order."""
    return _lifts(_said(messages))


@dataclass(frozen=True, slots=True)
class _Said:
    """One message of the user, taken apart."""

    text: str
    message: int
    sentences: list[Sentence]


def _said(messages: Sequence[Message]) -> Iterator[_Said]:
    for position, message in enumerate(messages):
        if message.role == "user":
            text = message.text()
            yield _Said(text, position, sentences(text))


def _lifts(said: Iterable[_Said]) -> list[Lift]:
    return [
        Lift(text=sentence.text, message=one.message, topic=topic(line))
        for one in said
        for sentence in one.sentences
        if lifts_something(line := folded(sentence.text))
    ]


def lifted_by(rule: str, lifts: Sequence[Lift]) -> Lift | None:
    """The first of these sentences that is clearly about this rule, or None."""
    about = topic(folded(rule)) if lifts else frozenset()
    return next((lift for lift in lifts if not about.isdisjoint(lift.topic)), None)


def missing_constraints(constraints: Sequence[Constraint], summary_text: str) -> list[Constraint]:
    """Those whose words a summary does not hold, but for blanks, kinds of quotes and Markdown marks."""
    if not constraints:
        return []
    summary = plain(summary_text)
    return [constraint for constraint in constraints if plain(constraint.text) not in summary]


def constraints_in_summary(summary_text: str) -> list[str]:
    """The items of a summary's constraints section without their marks; empty if there is none."""
    items: list[str] = []
    level = 0
    for line in summary_text.splitlines():
        heading = _HEADING.match(line)
        if heading:
            if _CONSTRAINTS_HEADING.match(heading.group(2)):
                level = len(heading.group(1))
            elif level and len(heading.group(1)) <= level:
                break
            continue
        if not level or not line.strip() or _NOTHING.match(line.strip()) or _RULE_LINE.match(line):
            continue
        if not items or line[:1] not in " \t" or _SUMMARY_ITEM.match(line):
            mark = _SUMMARY_ITEM.match(line)
            items.append(line[mark.end() if mark else 0 :].strip())
        else:
            items[-1] += " " + line.strip()
    return items


_HEADING = re.compile(r"\s{0,3}(#{1,6})\s+(.+)")
_CONSTRAINTS_HEADING = re.compile(r"[*_\s]*(?:user )?(?:constraints|preferences|rules)\b", re.IGNORECASE)
_NOTHING = re.compile(r"(?:[-*]\s+)?[(\[]?none[)\]]?\.?$", re.IGNORECASE)
_RULE_LINE = re.compile(r"\s*(?:[-*_]\s*){3,}$")
_SUMMARY_ITEM = re.compile(r"\s{0,3}(?:[-*+•]|\d{1,3}[.)])\s+")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "‚": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "\u00a0": " "})
_MARKS = re.compile(r"[*_`]+")
_ENTITIES = (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"))


def plain(text: str) -> str:
    """The text on one line, without Markdown emphasis, with straight quotes and single blanks."""
    for entity, character in _ENTITIES:
        text = text.replace(entity, character)
    return " ".join(_MARKS.sub("", text.translate(_QUOTES)).split())


def _in_message(one: _Said) -> Iterator[Constraint]:
    """The constraints of one message; a list under a ban goes with the ban."""
    said = one.sentences
    n = 0
    while n < len(said):
        sentence = _rule_behind(said[n])
        n += 1
        strength = _strength(sentence)
        end = sentence.end
        if n < len(said) and _is_sealed(sentence, said[n], one.text):
            strength, end = CERTAIN, said[n].end
            n += 1
        if strength == NONE:
            continue
        if sentence.text.endswith((":", "：")):
            if heads_rules(folded(sentence.text)):
                continue
            while n < len(said) and said[n].is_item and said[n].end - sentence.start <= MAX_LISTED_CHARS:
                end = said[n].end
                n += 1
        words = one.text[sentence.start : end]
        kind = kind_of(folded(sentence.lead + " " + words))
        yield Constraint(text=words, kind=kind, message=one.message, start=sentence.start, strength=strength)


def _is_sealed(sentence: Sentence, following: Sentence, text: str) -> bool:
    """True for a few words with "always." and the like right behind them on the same line."""
    if following.pasted or "\n" in text[sentence.end : following.start]:
        return False
    return makes_rule(folded(following.text), folded(sentence.text))


def _strength(sentence: Sentence) -> int:
    """How surely a sentence states a rule, with the line it stands under."""
    if len(sentence.text) > MAX_SENTENCE_CHARS:
        return NONE
    line = folded(sentence.text)
    lead = folded(sentence.lead)
    if sentence.pasted and not is_meant_here(line, lead):
        return NONE
    if lead and heads_rules(lead) and len(line) > 2 and not line.endswith(("?", "？")):
        return CERTAIN
    if len(line) < 4 or (lifts_something(line) and not _BAN_WORD.search(line)):
        return NONE
    strength = _line_strength(line)
    if strength < LIKELY:
        strength = max(strength, _run_on_strength(sentence.text))
    return NONE if strength == POSSIBLE and len(line) > MAX_POSSIBLE_CHARS else strength


def _run_on_strength(text: str) -> int:
    """The strength of a rule typed behind something without a full stop; only a likely one counts."""
    found = max((_line_strength(folded(text[start:])) for start in _run_ons(text)), default=NONE)
    return found if found >= LIKELY else NONE


def _rule_behind(sentence: Sentence) -> Sentence:
    """The rule at the end of a very long run of words; the sentence itself if it is not long or holds no such rule."""
    if len(sentence.text) <= MAX_POSSIBLE_CHARS:
        return sentence
    text = sentence.text
    starts = [start for start in _run_ons(text) if _line_strength(folded(text[start:])) >= LIKELY]
    return replace(sentence, text=text[starts[-1] :], start=sentence.start + starts[-1]) if starts else sentence


def _run_ons(text: str) -> list[int]:
    """Where a sentence may begin within the last part of a text without a full stop before it."""
    first = max(0, len(text) - MAX_POSSIBLE_CHARS)
    return [match.end() for match in _RUN_ON.finditer(text, first)][-MAX_RUN_ONS:]


def _line_strength(line: str) -> int:
    return max(english_strength(line) if _LATIN.search(line) else NONE, other_strength(line))


_RUN_ON = re.compile(r"(?<=[^\s.!?:;,–—-])\s(?=[A-Z][a-z']*\s+\S+\s+\S|[\u3400-\u9fff]{4})")
_LATIN = re.compile(r"[a-z]{2}")


def folded(text: str) -> str:
    """The text in lower case on one line, with straight quotes and without Markdown emphasis: what the tables read."""
    return plain(text).lower()


_BAN_WORD = re.compile(r"\b(?:never|don't|do not|must|only|not|always)\b|不要|禁止|必须")


def _changed(rule: Constraint, lifts: Sequence[Lift]) -> Constraint:
    """The constraint, marked if a sentence behind it in the talk lifts it."""
    lift = lifted_by(rule.text, [lift for lift in lifts if lift.message > rule.message])
    return rule if lift is None else replace(rule, changed_by=lift.text, changed_in=lift.message)


def _merged(found: list[Constraint]) -> list[Constraint]:
    """Without those that an equal or longer one repeats; the first place counts, and a mark that it was changed goes
    only if the rule was stated anew afterwards."""
    by_text: dict[str, int] = {}
    kept: list[Constraint] = []
    for constraint in found:
        key = folded(constraint.text).rstrip(".!。！ ")
        known = by_text.get(key)
        if known is None:
            by_text[key] = len(kept)
            kept.append(constraint)
        elif kept[known].changed_in is not None and constraint.changed_in is None:
            kept[known] = replace(kept[known], changed_by=None, changed_in=None)
    return kept
