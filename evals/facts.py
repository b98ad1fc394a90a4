"""What a session knows, as facts: small typed statements with the place that they come from.

`extract.py` finds them in the messages of a case, `score.py` judges whether a summary still says them. A fact has
anchors, the parts that must match exactly after normalisation (a path, a number with its unit, a hash), and a text in
which everything else is free. Nothing here reads files or asks a model.
"""

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "goal",
    "request",
    "constraint",
    "decision",
    "path",
    "command",
    "value",
    "identifier",
    "error",
    "outcome",
    "scope",
    "open",
    "blocked",
    "done",
]
"""Kinds of facts: what the user wants overall; what is asked for now; a rule, ban or preference of the user; a choice
with its reason or the alternative that was rejected; a file that was read, modified or matters; a command; an exact
number with what it measures; a version, hash, URL or other name that identifies; an error message; the result of a test
or command; what was and was not checked; work that is left, held up, or finished."""

KINDS: tuple[Kind, ...] = get_args(Kind)

Source = Literal["user", "assistant", "tool"]
"""Who said it: the user, the model, or the result of a tool, which alone shows that something happened."""

AnchorKind = Literal["path", "number", "version", "hash", "url", "command", "name", "quote"]
"""What an anchor is, hence how it is normalised and compared; see `matchers.py`."""

Verdict = Literal["kept", "paraphrased", "weakened", "altered", "contradicted", "dropped", "undecided"]
"""What became of a fact: said in the same words; said in others; said with less force or certainty, or without its
reason; said with another value, path or name; said the other way round; not said; can't be told."""

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

SURVIVED: frozenset[Verdict] = frozenset({"kept", "paraphrased"})
"""Verdicts under which a reader of the summary has the fact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A place in a session."""

    entry_id: str
    entry: int
    """Position after the header, from 0 (`#N` on the command line)."""
    part: str
    """`text` (text blocks joined by line ends), `call:K` (arguments of the K-th tool call), or `result`."""
    start: int
    """In characters of that part."""
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Anchor:
    """A part of a fact that must match exactly after normalisation."""

    kind: AnchorKind
    text: str
    """As it stands in the session."""
    value: str
    """Normalised; two anchors of one kind mean the same if and only if this is equal, but for a path's leading part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing that the session knows."""

    id: str
    """Made from kind, source and place, so that it is the same on every reading."""
    kind: Kind
    text: str
    """In the session's own words, on one line."""
    span: Span
    source: Source
    anchors: tuple[Anchor, ...] = ()
    status: str = ""
    """For a path `read`, `modified`, `created` or `mentioned`; for an outcome `passed` or `failed`; for a constraint
    `ban`, `duty` or `preference`; otherwise empty."""
    also_at: tuple[Span, ...] = ()
    """Where the same fact was said again."""
    replaced_by: str | None = None
    """Id of the fact that took its place (a new value of the same thing, a lifted rule); None while it holds."""
    is_reachable: bool = True
    """False where the transcript never showed it to a summarizer."""
    needed_later: bool | None = None
    """True if the real continuation used it before it was shown again; None if there is no continuation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A fact, and what a summary made of it."""

    fact: Fact
    verdict: Verdict
    where: Literal["summary", "kept_tail"] | None
    """Where it is still said; None if it is nowhere."""
    evidence: str | None
    """The line that says it, or that changed it."""
    reason: str
    """In one sentence, for a person."""
    presence: float = 0.0
    """From 0 to 1: how surely the free text is said at all."""

    @property
    def has_survived(self) -> bool:
        """True if a reader still has the fact, from the summary or the kept tail."""
        return self.verdict in SURVIVED
