"""Counting with real vocabularies: exact, offline, and in linear time for any text."""

import gzip
import hashlib
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from compactor import vocabulary_file
from compactor.errors import VocabularyError
from compactor.js_text import well_formed
from compactor.vocabulary_file import (
    SETTLED,
    VOCABULARIES,
    VocabularyName,
    encoding_parts,
    load_encoding,
    pieces,
    read_ranks,
    text_counter,
)

MEGABYTE = 1_000_000
LIMIT_S = 2.0
"""Of processor time, so that a busy machine does not fail the test."""

# Published by tiktoken, and the same in every version of it so far.
SHA256 = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}

every_vocabulary = pytest.mark.parametrize("name", VOCABULARIES)


def exact(name: VocabularyName, text: str) -> int:
    return len(load_encoding(name).encode_ordinary(text))


@every_vocabulary
def test_shipped_vocabulary_has_the_published_hash(name: VocabularyName) -> None:
    data = resources.files("compactor").joinpath("vocabularies", f"{name}.tiktoken.gz").read_bytes()
    assert hashlib.sha256(gzip.decompress(data)).hexdigest() == SHA256[name]


@pytest.mark.parametrize(
    ("name", "text", "ids"),
    [
        ("cl100k_base", "tiktoken is great!", [83, 1609, 5963, 374, 2294, 0]),
        ("cl100k_base", "hello world", [15339, 1917]),
        ("o200k_base", "hello world", [24912, 2375]),
    ],
)
def test_ids_are_the_published_ones(name: VocabularyName, text: str, ids: list[int]) -> None:
    assert load_encoding(name).encode_ordinary(text) == ids


def test_an_encoding_is_made_once() -> None:
    assert load_encoding("o200k_base") is load_encoding("o200k_base")


def test_loading_leaves_tiktoken_as_it_was() -> None:
    from tiktoken.load import load_tiktoken_bpe
    from tiktoken_ext import openai_public

    load_encoding("cl100k_base")
    assert openai_public.load_tiktoken_bpe is load_tiktoken_bpe


def test_counting_opens_no_socket_and_no_cache_folder(tmp_path: Path) -> None:
    """The interpreter itself refuses: an audit hook ends the process at the first socket."""
    program = (
        "import os, sys\n"
        "sys.addaudithook(lambda event, args: event.startswith('socket.') and os._exit(9))\n"
        "from compactor.vocabulary_file import VOCABULARIES, text_counter\n"
        "print([text_counter(name, fast=False)('hello world') for name in VOCABULARIES])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        env={"TIKTOKEN_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(package_root())},
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "[2, 2]\n", "")
    assert not (tmp_path / "cache").exists()


def package_root() -> Path:
    """The folder that the package under test is imported from, be it the checkout or an installed wheel."""
    return Path(vocabulary_file.__file__).parents[1]


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        (lambda data: data[:-200], "ended"),
        (lambda data: b"not gzip", "Not a gzipped file"),
        (lambda data: gzip.compress(gzip.decompress(data)[:-1]), "found"),
        (lambda data: gzip.compress(b""), "found"),
    ],
    ids=["cut_short", "not_gzip", "one_byte_less", "empty"],
)
def test_a_damaged_vocabulary_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes], found: str) -> None:
    good = resources.files("compactor").joinpath("vocabularies", "cl100k_base.tiktoken.gz").read_bytes()
    bad = tmp_path / "cl100k_base.tiktoken.gz"
    bad.write_bytes(damage(good))
    with pytest.raises(VocabularyError, match=found) as caught:
        read_ranks(bad, SHA256["cl100k_base"])
    assert str(bad) in str(caught.value)
    assert "reinstall" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VocabularyError, match="reinstall"):
        read_ranks(tmp_path / "none.gz", SHA256["o200k_base"])


@pytest.mark.parametrize("constructor", [lambda: {}, dict], ids=["other_loader", "no_function"])
def test_a_tiktoken_that_loads_in_another_way_is_refused_before_it_can_download(
    tmp_path: Path, constructor: Callable[[], dict[str, Any]]
) -> None:
    with pytest.raises(VocabularyError, match="expected tiktoken to load vocabularies by load_tiktoken_bpe"):
        encoding_parts(constructor, tmp_path)


@pytest.mark.parametrize("ask", [text_counter, load_encoding])
def test_an_unknown_name_lists_the_known_ones(ask: Callable[[Any], object]) -> None:
    with pytest.raises(VocabularyError, match=r"o200k_base, cl100k_base; found 'gpt2'"):
        ask("gpt2")


@pytest.mark.parametrize("fast", [True, False])
@every_vocabulary
def test_the_spelling_of_a_special_token_is_ordinary_text(name: VocabularyName, fast: bool) -> None:
    count = text_counter(name, fast=fast)
    for special in load_encoding(name).special_tokens_set:
        assert count(special) > 1


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize("text", ["\ud800", "a\udc00b", "\udc00\ud800", "x" * 120_000 + "\ud83d"])
def test_lone_surrogates_count_as_replacement_characters(text: str, fast: bool) -> None:
    count = text_counter("o200k_base", fast=fast)
    assert count(text) == count(well_formed(text)) > 0


def test_a_split_surrogate_pair_counts_as_its_character() -> None:
    count = text_counter("o200k_base")
    assert count("\ud83d\ude42") == count("🙂")


@pytest.mark.parametrize("fast", [True, False])
@pytest.mark.parametrize(
    "unit",
    [
        "a",
        " ",
        "\n",
        "🙂",
        "中",
        "ab",
        "=",
        "\u0301",
        "A",
        "0",
        "\t",
        "\u3000",
        "\u200b",
        "\r\n",
        " \n",
        "a\u0301",
        "\0",
    ],
    ids=ascii,
)
def test_a_megabyte_of_one_thing_is_counted_within_two_seconds(unit: str, fast: bool) -> None:
    count = text_counter("o200k_base", fast=fast)
    count("the vocabulary is loaded before the clock starts\U000323b0")
    text = (unit * MEGABYTE)[:MEGABYTE]
    start = time.process_time()
    tokens = count(text)
    assert time.process_time() - start < LIMIT_S
    assert 1_000 <= tokens <= 4 * MEGABYTE


def test_a_forced_cut_moves_the_count_by_little() -> None:
    text = "=" * 300_000
    assert abs(text_counter("o200k_base")(text) - exact("o200k_base", text)) <= 3


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
spaced = st.lists(st.tuples(words, st.sampled_from([" ", "\n", "\n\n", " \n", "  ", "\r\n", "\n/", " x", "\nb"])))


@given(texts=spaced, limit=st.integers(min_value=2, max_value=60))
def test_pieces_are_the_text_in_order_and_not_too_long(texts: list[tuple[str, str]], limit: int) -> None:
    text = "".join(word + gap for word, gap in texts)
    parts = list(pieces(text, limit))
    assert "".join(parts) == text
    assert max(map(len, parts)) <= limit


@given(texts=st.lists(st.tuples(words, st.sampled_from([" x", "\nb", "\n\n7", " y\n\n_", ".\r\n中"])), min_size=20))
def test_cutting_at_a_boundary_changes_no_count(texts: list[tuple[str, str]]) -> None:
    """Every gap here has a boundary, and a piece is longer than two words and gaps, so no cut is forced."""
    text = "".join(word.replace("\x00", "") + gap for word, gap in texts)
    for name in VOCABULARIES:
        assert sum(exact(name, part) for part in pieces(text, 60)) == exact(name, text)


@given(text=st.text())
def test_the_fast_count_is_the_exact_count(text: str) -> None:
    for name in VOCABULARIES:
        assert text_counter(name)(text) == exact(name, well_formed(text))


@every_vocabulary
def test_the_fast_count_agrees_on_every_character_it_is_used_for(name: VocabularyName) -> None:
    toktok = pytest.importorskip("toktok", reason="the extra `fast` is not installed")
    settled = [chr(c) for c in range(sys.maxunicode + 1) if SETTLED.fullmatch(chr(c))]
    assert len(settled) > 40_000
    for shape in ("1{0}23456", "{0}{0}/", "a{0}'s", "{0}\n/\n", " {0} the"):
        texts = [shape.format(char) for char in settled]
        assert toktok.batch_count(texts, name, 1) == [exact(name, text) for text in texts]


def test_the_fast_count_is_only_used_for_characters_that_unicode_has_assigned() -> None:
    """A code point without a category may get another one in the next Unicode, and the two packages differ there."""
    unassigned = [c for c in range(sys.maxunicode + 1) if unicodedata.category(chr(c)) == "Cn"]
    assert [hex(c) for c in unassigned if SETTLED.fullmatch(chr(c))] == []


def test_real_sessions_count_the_same_by_pieces_and_at_once(shared: Path) -> None:
    sessions = sorted((shared / "corpus").rglob("*.jsonl"))[:12]
    assert sessions
    for path in sessions:
        text = path.read_text(encoding="utf-8", errors="replace")[:400_000]
        assert text_counter("o200k_base")(text) == exact("o200k_base", text)
