"""Hypothesis strategies: words over small alphabets with vocabularies to match, and whole tokenizers with text."""

from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from tests.oracle import SPECIAL_TOKENS
from tests.texts import ALL_PIECES

# Few letters, so that tokens overlap; the letters of the indicators are among them, so that an indicator may be a
# token, part of one, or written in the word.
ALPHABETS = ["ab", "abc", "a#", "ab@", "aé語"]
INDICATORS = ["##", "#", "@", "", "a", "ab", "語"]


@dataclass(frozen=True)
class WordProblem:
    vocabulary: list[str]
    suffix_indicator: str
    max_input_chars_per_word: int
    word: str


@st.composite
def word_problems(draw: st.DrawFn) -> WordProblem:
    """A vocabulary and a word. Half of the words are put together from tokens, so that many have a solution.

    Tokens that repeat themselves have many failure pops.
    """
    letters = st.sampled_from(draw(st.sampled_from(ALPHABETS)))
    indicator = draw(st.sampled_from(INDICATORS))
    short = st.text(letters, max_size=6)
    repeated = st.builds(lambda unit, count, end: unit * count + end, short, st.integers(2, 40), letters)
    strings = st.one_of(short, short, repeated)
    tokens = st.builds(lambda start, rest: start + rest, st.sampled_from(["", indicator]), strings)
    vocabulary = draw(st.lists(tokens, min_size=1, max_size=20, unique=True))
    pieces = st.lists(st.sampled_from([token.removeprefix(indicator) for token in vocabulary]), max_size=8)
    word = draw(st.one_of(st.text(letters, max_size=24), pieces.map("".join), repeated))
    return WordProblem(vocabulary, indicator, draw(st.sampled_from([100, 100, 5, 0])), word)


@dataclass(frozen=True)
class TextProblem:
    """`options`: keywords of `oracle.tokenizer_json`, `vocabulary` among them."""

    options: dict[str, Any]
    texts: list[str]


pieces_of_text = st.one_of(
    st.sampled_from(ALL_PIECES),
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=3),
    st.sampled_from(" -aAé"),
)


def added_token(pieces: st.SearchStrategy[str]) -> st.SearchStrategy[dict[str, Any]]:
    """An added token of one to three pieces with any of the flags."""
    flags = {name: st.booleans() for name in ("special", "single_word", "lstrip", "rstrip", "normalized")}
    return st.fixed_dictionaries({"content": st.lists(pieces, min_size=1, max_size=3).map("".join), **flags})


@st.composite
def text_problems(draw: st.DrawFn) -> TextProblem:
    """A whole tokenizer, with any options and added tokens, and texts that are made of the same pieces."""
    pieces = draw(st.lists(pieces_of_text, min_size=2, max_size=8, unique=True))
    piece = st.sampled_from(pieces)
    prefix = draw(st.sampled_from(["##", "##", "", "@", "é"]))
    strings = st.lists(piece, min_size=1, max_size=3).map("".join).map(str.lower)
    tokens = st.builds(lambda start, rest: start + rest, st.sampled_from(["", prefix]), strings)
    vocabulary = [*SPECIAL_TOKENS, *draw(st.lists(tokens, max_size=20))]
    added = draw(st.lists(added_token(piece), max_size=3, unique_by=lambda token: token["content"]))
    special = [{"content": token, "special": True} for token in SPECIAL_TOKENS] if draw(st.booleans()) else []
    contents = {token["content"] for token in special}
    options = {
        "vocabulary": list(dict.fromkeys(vocabulary)),
        "lowercase": draw(st.booleans()),
        "strip_accents": draw(st.sampled_from([None, True, False])),
        "clean_text": draw(st.booleans()),
        "handle_chinese_chars": draw(st.booleans()),
        "prefix": prefix,
        "max_chars": draw(st.sampled_from([100, 100, 3, 0])),
        "template": draw(st.booleans()),
        "added_tokens": [*special, *(token for token in added if token["content"] not in contents)],
    }
    parts = st.one_of(piece, st.sampled_from([token["content"] for token in added] or [" "]), pieces_of_text)
    texts = draw(st.lists(st.lists(parts, max_size=12).map("".join), min_size=1, max_size=6))
    return TextProblem(options, texts)
