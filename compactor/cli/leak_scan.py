"""Finds credentials with our own patterns and, where the extra `redact` is installed, with those of betterleaks."""

from collections.abc import Sequence

from compactor.credentials import Credential, find_credentials
from compactor.js_text import well_formed


def scan(text: str) -> Sequence[Credential]:
    """The credentials in the text; a value that both find is told once, by our name."""
    own = find_credentials(text)
    try:
        from betterleaks import BetterleaksError, scan_string
    except ImportError:
        return own
    try:
        others = scan_string(well_formed(text))
    except BetterleaksError:
        return own
    found = list(own)
    for other in others:
        value = str(other.match.value)
        start = text.find(value)
        end = start + len(value)
        if start >= 0 and value and all(end <= known.start or known.end <= start for known in found):
            found.append(Credential(kind=other.rule_id, start=start, end=end, is_certain=False))
    return sorted(found, key=lambda credential: credential.start)
