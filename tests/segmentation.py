"""Naive ways to split, put together as the options of an automaton say, and what the tests of them share."""

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import beam_wordpiece as bw
from beam_wordpiece.reference import backward_max_match, fewest_tokens, max_match_stretch, replace_unknown
from tests.oracle import tokenizer_json

UNK = "[UNK]"
POLICIES = ("character", "run", "byte", "error")
# Of the letters of the alphabets é and 語 have several bytes; not all of them are there.
BYTES = ["<0x61>", "<0xC3>", "<0xA9>", "<0xE8>", "<0xAA>", "<0x23>", "<0x20>"]
# Text stays as it is.
PLAIN: dict[str, Any] = {"lowercase": False, "handle_chinese_chars": False, "clean_text": False}
Placed = list[tuple[str, int, int]]
# Makes a tokenizer of a vocabulary, keywords of `tokenizer_json`, and options of `compile`.
Load = Callable[..., bw.Tokenizer]


def loader(path: Path) -> Load:
    """A function that makes a tokenizer of a vocabulary, keywords of `tokenizer_json`, and options of `compile`.

    The tokenizer.json is written to `path`.
    """

    def load(vocabulary: Sequence[str], file: dict[str, Any] | None = None, **options: Any) -> bw.Tokenizer:
        content = tokenizer_json(list(dict.fromkeys([*vocabulary, UNK])), **(file or {}))
        path.write_text(content, encoding="utf-8")
        return bw.Tokenizer(bw.Automaton.compile(path, **options))

    return load


def naive(vocabulary: Sequence[str], text: str, indicator: str, limit: int = 100, **options: Any) -> Placed:
    """The tokens of a normalized text and where they stand in it. Raises ValueError with an unknown character."""
    whole = [(text, (0, len(text)))] if text else []
    words = BertPreTokenizer().pre_tokenize_str(text) if options.get("pretokenize", True) else whole
    found: Placed = []
    for word, (start, _) in words:
        placed = naive_word(vocabulary, word, indicator, limit, **options)
        found += [(token, start + first, start + end) for token, first, end in placed]
    return found


def naive_word(vocabulary: Sequence[str], word: str, indicator: str, limit: int, **options: Any) -> Placed:
    unknown = options.get("unknown", "word")
    tokens: list[str] | None
    if options.get("segmentation") == "fewest":
        cost = None if unknown in ("word", "error") else options.get("unknown_cost", 1000)
        tokens = fewest_tokens(vocabulary, word, indicator, cost)
        if unknown == "word":
            if tokens is None or len(word) > limit:
                return [(UNK, 0, len(word))]
        elif tokens is None:
            tokens = fewest_tokens(vocabulary, word, indicator, 10**6)
    elif options.get("backward"):
        tokens = backward_max_match(vocabulary, word)
    else:
        tokens = max_match_stretch(vocabulary, word, indicator)
    assert tokens is not None
    return replace_unknown(vocabulary, tokens, word, indicator, unknown, UNK)


def ours(tokenizer: bw.Tokenizer, text: str) -> Placed:
    encoding = tokenizer.encode(text)
    return [(token, *place) for token, place in zip(encoding.tokens, encoding.offsets, strict=True)]


def assert_naive(load: Load, vocabulary: Sequence[str], text: str, indicator: str, limit: int, **options: Any) -> None:
    tokenizer = load(vocabulary, {**PLAIN, "prefix": indicator, "max_chars": limit}, **options)
    try:
        expected = naive([*vocabulary, UNK], text, indicator, limit, **options)
    except ValueError as error:
        with pytest.raises(bw.TextError, match=rf"row 0 has the character .* \(U\+{ord(str(error)):04X}\), which"):
            tokenizer.encode(text)
        return
    assert ours(tokenizer, text) == expected


texts_with_spaces = st.lists(st.integers(0, 24), max_size=3)


def spaced(word: str, places: Sequence[int]) -> str:
    for place in places:
        word = f"{word[:place]} {word[place:]}"
    return word


def ways(prefix: str) -> list[dict[str, Any]]:
    """All ways to split that there are with a suffix indicator, but for errors."""
    found: list[dict[str, Any]] = [{"segmentation": "fewest"}]
    for pretokenize, unknown in itertools.product([False, True], ["character", "run", "byte"]):
        way = {"pretokenize": pretokenize, "unknown": unknown}
        found += [way, {**way, "segmentation": "fewest"}, {**way, "segmentation": "fewest", "unknown_cost": 1}]
        found += [] if prefix else [{**way, "backward": True}]
    return found


def jamo(text: str) -> tuple[str, list[int]]:
    """A text of letters and Hangul with its syllables split, and the character that each jamo comes from."""
    split = [BertNormalizer(lowercase=False, strip_accents=True).normalize_str(c) for c in text]
    return "".join(split), [number for number, c in enumerate(split) for _ in c]
