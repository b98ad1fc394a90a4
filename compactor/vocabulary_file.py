"""Real tokenizers without a network: a vocabulary's name -> a tiktoken `Encoding`, or a function that counts tokens.

The vocabularies are package data. Patterns and special tokens stay tiktoken's own, and so does the sha256 that our
files are checked against, so the ids are those of tiktoken. Why it is done like this: docs/vocabularies.md.
"""

import base64
import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from types import FunctionType
from typing import TYPE_CHECKING, Any, Literal

from compactor.errors import VocabularyError
from compactor.js_text import well_formed

if TYPE_CHECKING:
    from tiktoken import Encoding

VocabularyName = Literal["o200k_base", "cl100k_base"]
VOCABULARIES: tuple[VocabularyName, ...] = ("o200k_base", "cl100k_base")

MAX_PIECE_CHARS = 100_000
"""No more than this goes to a tokenizer at once: a run of a million equal characters makes tiktoken 0.14 panic."""

LOADER = "load_tiktoken_bpe"
"""The function that tiktoken's constructors download with; source: tiktoken 0.14.0, tiktoken_ext/openai_public.py."""

_REINSTALL = "reinstall the package: pip install --force-reinstall compactor"

# Both patterns always start a new token group at these two places, whatever comes before and after, so a text that is
# cut there has the same tokens: a space after a non-space; a word that starts a line.
_BOUNDARY = re.compile(r"(?<=\S)(?= )|(?<=\n)(?=\w)")

# Blocks without a code point that was still unassigned in Unicode 14 (Python 3.11), so every version of the tables
# sorts them alike: Latin to combining marks, Cyrillic, punctuation, arrows and mathematics, boxes and dingbats, kana,
# CJK, Hangul, variation selectors, full-width forms, emoji.
SETTLED = re.compile(
    "[\0-\u0377\u0400-\u052f\u2000-\u2064\u2100-\u218b\u2190-\u23ff\u2460-\u2b73\u3001-\u3029\u3041-\u3096"
    "\u3099-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\ufe00-\ufe0f\uff01-\uff9f\ufffd"
    "\U0001f300-\U0001f64f\U0001f900-\U0001f9ff]*"
)


def text_counter(name: VocabularyName, *, fast: bool = True) -> Callable[[str], int]:
    """A function that gives the number of tokens of any text, special-token spellings counted as the text they are.

    Lone surrogates count as U+FFFD. Linear time: a text longer than `MAX_PIECE_CHARS` is counted in pieces. The sum is
    exact, except where such a length has neither a space nor a line that starts with a word: then each forced cut can
    move the count by a few tokens, up or down.

    Args:
        name: the vocabulary.
        fast: count with the optional package toktok-rs where it is installed and the two agree; the numbers are
            the same, only sooner.

    Raises:
        VocabularyError: the name is unknown, or, when the first text is counted, its file is missing or damaged.
    """
    _check_name(name)
    quick = _toktok_counter(name) if fast else None

    def count(text: str) -> int:
        tokens = 0
        for piece in pieces(well_formed(text)):
            if quick is not None and SETTLED.fullmatch(piece):
                tokens += quick(piece)
            else:
                tokens += len(load_encoding(name).encode_ordinary(piece))
        return tokens

    return count


@cache
def load_encoding(name: VocabularyName) -> "Encoding":
    """The tiktoken encoding of that name, made once a process from the shipped file (0.3 s and 80 MB for o200k_base).

    Raises:
        VocabularyError: the name is unknown, or its file is missing or damaged.
    """
    from tiktoken import Encoding
    from tiktoken_ext.openai_public import ENCODING_CONSTRUCTORS

    _check_name(name)
    folder = resources.files("compactor").joinpath("vocabularies")
    return Encoding(**encoding_parts(ENCODING_CONSTRUCTORS[name], folder))


def encoding_parts(constructor: Callable[[], dict[str, Any]], folder: Traversable) -> dict[str, Any]:
    """The arguments of `Encoding` that tiktoken's constructor gives, with its download replaced by a file of `folder`.

    The constructor's code runs with a copy of its module's globals, so tiktoken itself stays as it is.

    Raises:
        VocabularyError: tiktoken loads its vocabularies in a way that we don't know, or the file is missing or damaged.
    """
    if not isinstance(constructor, FunctionType) or LOADER not in constructor.__code__.co_names:
        raise VocabularyError(
            f"expected tiktoken to load vocabularies by {LOADER}, found {constructor!r}; {_REINSTALL}"
        )

    def read(url: str, expected_hash: str | None = None) -> dict[bytes, int]:
        return read_ranks(folder.joinpath(url.rsplit("/", 1)[-1] + ".gz"), expected_hash)

    parts: dict[str, Any] = FunctionType(constructor.__code__, {**constructor.__globals__, LOADER: read})()
    return parts


def read_ranks(file: Traversable, expected_sha256: str | None) -> dict[bytes, int]:
    """The token -> rank table of a gzipped tiktoken vocabulary file.

    Raises:
        VocabularyError: the file is missing, cut short, or its decompressed bytes have another sha256.
    """
    try:
        data = gzip.decompress(file.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise VocabularyError(f"expected a gzipped vocabulary at {file}, found: {error}; {_REINSTALL}") from error
    found = hashlib.sha256(data).hexdigest()
    if found != expected_sha256:
        raise VocabularyError(f"expected sha256 {expected_sha256} of {file}, found {found}; {_REINSTALL}")
    pairs = map(bytes.split, data.splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in pairs}


def pieces(text: str, max_chars: int = MAX_PIECE_CHARS) -> Iterator[str]:
    """The text in order, in pieces of at most `max_chars`, cut where it changes no token if there is such a place.

    The place is looked for in the second half of each piece; without one the piece is cut at its full length.
    """
    start = 0
    while len(text) - start > max_chars:
        boundary = _BOUNDARY.search(text, start + max_chars // 2, start + max_chars)
        end = boundary.start() if boundary and boundary.start() > start else start + max_chars
        yield text[start:end]
        start = end
    yield text[start:]


def _check_name(name: str) -> None:
    if name not in VOCABULARIES:
        raise VocabularyError(f"expected a vocabulary, one of {', '.join(VOCABULARIES)}; found {name!r}")


def _toktok_counter(name: VocabularyName) -> Callable[[str], int] | None:
    """Counts with toktok-rs, or None when it is not installed. It refuses lone surrogates."""
    try:
        import toktok
    except ImportError:
        return None
    batch_count: Callable[[list[str], str, int], list[int]] = toktok.batch_count
    return lambda piece: batch_count([piece], name, 1)[0]
