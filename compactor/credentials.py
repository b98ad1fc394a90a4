"""Credentials in a text: keys, tokens and passwords, found by their fixed beginnings or by what stands before them.

Takes text; gives spans with the kind of credential. The patterns are anchored on prefixes that issuers publish, so that
hashes, ids and ordinary identifiers are left alone; a value without such a prefix counts only after a name like
`password=` and only if it looks random. What is found is never to be printed: `masked` shows its first characters.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import log2

SHOWN_CHARS = 4
"""Of a credential, in a message: enough to recognise one's own, of no use to others."""

MIN_ENTROPY_BITS = 3.0
"""A character. Random letters and digits of 12 characters or more have over 3.2, words and placeholders mostly less."""

MIN_RANDOM_CHARS = 12
"""Shorter values after `password=` are too often examples."""

PREFIXED = {
    "AWS access key": r"(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    "GitHub token": r"(?:gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_[A-Za-z0-9_]{22,255})(?![A-Za-z0-9_])",
    "GitLab token": r"glpat-[A-Za-z0-9_-]{20,}",
    "Anthropic key": r"sk-ant-(?=[A-Za-z0-9_-]*[0-9])[A-Za-z0-9_-]{20,}",
    "OpenAI key": r"sk-(?!ant-)(?=[A-Za-z_-]*[0-9])(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}",
    "Stripe key": r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "Google key": r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
    "Slack token": r"xox[abeoprs]-(?=[A-Za-z-]*[0-9])[A-Za-z0-9-]{10,}",
    "Slack webhook": r"https://hooks\.slack\.com/services/T[A-Za-z0-9]+/B[A-Za-z0-9]+/[A-Za-z0-9]{16,}",
    "Hugging Face token": r"hf_[A-Za-z0-9]{34,}",
    "npm token": r"npm_[A-Za-z0-9]{36}(?![A-Za-z0-9])",
    "PyPI token": r"pypi-AgE[A-Za-z0-9_-]{50,}",
    "SendGrid key": r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",
    "JSON web token": r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}",
    "private key": r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----",
}
"""Kind -> what its issuer puts at the start, and what must follow; as published in the issuers' own documents."""

_PREFIXED = re.compile(
    "(?<![A-Za-z0-9_-])(?:" + "|".join(f"({pattern})" for pattern in PREFIXED.values()) + ")",
)
_KINDS = tuple(PREFIXED)
_NAMED = re.compile(
    r"(?i:(?P<name>password|passwd|passphrase|secret|api[_-]?key|(?:secret|access)[_-]?key|(?:auth|access)[_-]?token)"
    r"[\"'`]?[ \t]{0,8}(?::=|=>|=|:)[ \t]{0,8}[\"'`]?)(?P<value>[^\s\"'`,;<>(){}\[\]$*]{12,512})"
)
_BEARER = re.compile(r"(?i:\bbearer[ \t]+)(?P<value>[A-Za-z0-9._~+/-]{20,}=*)")
_IN_ADDRESS = re.compile(r"(?i:\b[a-z][a-z0-9+.-]{1,20}://)[^\s:/@\"'`]{1,64}:(?P<value>[^\s/@\"'`<>${}*]{12,})@")
_PLACEHOLDER = re.compile(
    r"(?i:example|placeholder|changeme|redacted|your[_-]|dummy|x{4}|\.\.\.|process\.env|os\.environ)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Credential:
    """One credential in a text."""

    kind: str
    """What it is, for a message: `GitHub token`."""
    start: int
    end: int
    is_certain: bool
    """True where its prefix tells; False where only its surroundings and its look do."""


def find_credentials(text: str) -> list[Credential]:
    """The credentials in the text, in order, none inside of another.

    A private key is found by its first line. The time is linear in the length of the text.
    """
    found: list[Credential] = []
    end = 0
    for credential in sorted([*_prefixed(text), *_guessed(text)], key=lambda c: (c.start, not c.is_certain, -c.end)):
        if credential.start >= end:
            found.append(credential)
            end = credential.end
    return found


def masked(secret: str) -> str:
    """The first characters of a credential, the rest as an ellipsis."""
    return secret[:SHOWN_CHARS] + "…"


def _prefixed(text: str) -> Iterator[Credential]:
    for match in _PREFIXED.finditer(text):
        group = match.lastindex
        if group is not None and not _is_blanked(match.group()):
            yield Credential(kind=_KINDS[group - 1], start=match.start(), end=match.end(), is_certain=True)


def _guessed(text: str) -> Iterator[Credential]:
    for pattern, kind in ((_NAMED, ""), (_BEARER, "bearer token"), (_IN_ADDRESS, "password in an address")):
        for match in pattern.finditer(text):
            value = match.group("value")
            if _looks_random(value):
                start, end = match.span("value")
                yield Credential(kind=kind or _kind_of(match.group("name")), start=start, end=end, is_certain=False)


def _kind_of(name: str) -> str:
    """What a value is by the name before it."""
    return "password" if "pass" in name.lower() else "secret value"


def _is_blanked(secret: str) -> bool:
    """True for a key whose body was overwritten by one repeated character."""
    body = secret[len(secret) // 2 :]
    return len(set(body)) == 1


def _looks_random(value: str) -> bool:
    """True for a value of letters and digits that no person would write as a word or a placeholder."""
    if len(value) < MIN_RANDOM_CHARS or _PLACEHOLDER.search(value):
        return False
    has_digit = any(c.isdigit() for c in value)
    has_letter = any(c.isalpha() for c in value)
    return has_digit and has_letter and _entropy_bits(value) >= MIN_ENTROPY_BITS


def _entropy_bits(value: str) -> float:
    """Shannon's entropy of the characters, in bits a character."""
    total = len(value)
    return -sum(n / total * log2(n / total) for n in Counter(value).values())
