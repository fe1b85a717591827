"""Other ways to split on the same automaton: matching from the end, and into the fewest tokens."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer

import beam_wordpiece as bw
from beam_wordpiece.reference import UNKNOWN_CHARACTER, StretchMatch, fewest_tokens, replace_unknown
from tests.segmentation import (
    BYTES,
    PLAIN,
    POLICIES,
    UNK,
    Load,
    assert_naive,
    loader,
    naive,
    spaced,
    texts_with_spaces,
    ways,
)
from tests.strategies import WordProblem, word_problems
from tests.test_stretch import parts
from tests.texts import random_texts


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """See `loader`."""
    return loader(tmp_path_factory.mktemp("segmentation") / "tokenizer.json")


@given(
    problem=word_problems(),
    places=texts_with_spaces,
    pretokenize=st.booleans(),
    unknown=st.sampled_from(POLICIES),
)
def test_matching_from_the_end(
    load: Load, problem: WordProblem, places: list[int], pretokenize: bool, unknown: str
) -> None:
    options = {"pretokenize": pretokenize, "unknown": unknown, "backward": True}
    assert_naive(load, [*problem.vocabulary, *BYTES], spaced(problem.word, places), "", 100, **options)


@given(
    problem=word_problems(),
    places=texts_with_spaces,
    pretokenize=st.booleans(),
    unknown=st.sampled_from(["word", *POLICIES]),
    cost=st.sampled_from([1, 1, 2, 3, 1000, 65535]),
)
def test_the_fewest_tokens(
    load: Load, problem: WordProblem, places: list[int], pretokenize: bool, unknown: str, cost: int
) -> None:
    options = {"pretokenize": pretokenize or unknown == "word", "unknown": unknown, "unknown_cost": cost}
    text, limit = spaced(problem.word, places), problem.max_input_chars_per_word
    vocabulary = [*problem.vocabulary, *BYTES]
    assert_naive(load, vocabulary, text, problem.suffix_indicator, limit, segmentation="fewest", **options)


def all_splits(vocabulary: Sequence[str], text: str, indicator: str, start: int = 0) -> list[list[tuple[int, str]]]:
    """Every way to split a text into tokens and unknown characters, with their lengths."""
    if start == len(text):
        return [[]]
    front = indicator if start else ""
    ways = [(1, UNKNOWN_CHARACTER)]
    ways += [
        (end - start, front + text[start:end])
        for end in range(start + 1, len(text) + 1)
        if front + text[start:end] in vocabulary
    ]
    return [[way, *rest] for way in ways for rest in all_splits(vocabulary, text, indicator, start + way[0])]


@given(problem=word_problems(), cost=st.sampled_from([None, 1, 2, 1000]))
def test_the_reference_finds_the_best_of_all_splits(problem: WordProblem, cost: int | None) -> None:
    text, indicator = problem.word[:8], problem.suffix_indicator
    splits = all_splits(problem.vocabulary, text, indicator)
    if cost is None:
        splits = [split for split in splits if all(token != UNKNOWN_CHARACTER for _, token in split)]

    def key(split: list[tuple[int, str]]) -> tuple[int, list[tuple[int, bool]]]:
        total = sum((cost or 0) if token == UNKNOWN_CHARACTER else 1 for _, token in split)
        return total, [(-length, token == UNKNOWN_CHARACTER) for length, token in split]

    best = min(splits, key=key, default=None)
    expected = None if best is None else [token for _, token in best]
    assert fewest_tokens(problem.vocabulary, text, indicator, cost) == expected


KNOWN: list[tuple[str, str, dict[str, Any], list[str]]] = [
    # Greedy takes abcd and is left with single letters.
    ("abcd abc d e f def", "abcdef", {"unknown": "character"}, ["abcd", "e", "f"]),
    ("abcd abc d e f def", "abcdef", {"unknown": "character", "segmentation": "fewest"}, ["abc", "def"]),
    ("a ab b", "aab", {"unknown": "character", "backward": True}, ["a", "ab"]),
    ("ab bc a", "abc", {"unknown": "character"}, ["ab", UNK]),
    ("ab bc a", "abc", {"unknown": "character", "backward": True}, ["a", "bc"]),
    # Of equal splits the one with the longer first token.
    ("ab bc a c", "abc", {"unknown": "character", "segmentation": "fewest"}, ["ab", "c"]),
    # What is cheap enough is left unknown; a token comes before it.
    ("a b ab bcd", "abcd", {"unknown": "character", "segmentation": "fewest", "unknown_cost": 1}, ["a", "bcd"]),
    ("b bcd ab cx d", "abcd", {"unknown": "run", "segmentation": "fewest", "unknown_cost": 1}, [UNK, "bcd"]),
    ("a b", "axyzb", {"unknown": "run"}, ["a", UNK, "b"]),
    ("a <0x78> <0xC3> <0xA9>", "xaéü", {"unknown": "byte"}, ["<0x78>", "a", "<0xC3>", "<0xA9>", UNK]),
    # The unknown token written in the text is a token, and no part of a run.
    ("a", "x[UNK]y", {"unknown": "run"}, [UNK, UNK, UNK]),
]


@pytest.mark.parametrize(("vocabulary", "text", "options", "tokens"), KNOWN)
def test_known_answers(load: Load, vocabulary: str, text: str, options: dict[str, Any], tokens: list[str]) -> None:
    tokenizer = load(vocabulary.split(), {**PLAIN, "prefix": ""}, pretokenize=False, **options)
    assert tokenizer.encode(text).tokens == tokens


@pytest.mark.parametrize("prefix", ["", "##"])
@pytest.mark.parametrize("lowercase", [True, False])
def test_random_texts(load: Load, lowercase: bool, prefix: str, full: bool) -> None:
    """The vocabulary is made of what HF makes of the texts, so that much of them is found."""
    normalizer = BertNormalizer(lowercase=lowercase)
    texts = list(random_texts(11, 5_000 if full else 250))
    normalized = [normalizer.normalize_str(text) for text in texts]
    some_bytes = [f"<0x{byte:02X}>" for byte in range(256) if byte % 5]
    vocabulary = list(dict.fromkeys([*parts(normalized[: len(texts) // 2], prefix), *some_bytes]))
    known = set(vocabulary)
    for options in ways(prefix):
        tokenizer = load(vocabulary, {"lowercase": lowercase, "prefix": prefix}, **options)
        ids: Any = tokenizer.encode_arrow(pa.array(texts)).column("input_ids")
        expected = []
        for text in normalized:
            expected.append([token for token, _, _ in naive(known, text, prefix, **options)])  # type: ignore[arg-type]
        assert [[tokenizer.automaton.token(id) for id in row] for row in ids.to_pylist()] == expected, options


@pytest.mark.parametrize("way", [{"backward": True}, {"segmentation": "fewest"}])
def test_what_needs_the_whole_has_no_streams(load: Load, way: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = load(["a"], {**PLAIN, "prefix": ""}, unknown="character", **way)
    with pytest.raises(bw.ConfigError, match=r"needs the whole of a word or stretch.*cannot come in pieces"):
        bw.Stream(tokenizer)
    tokenizer.automaton.save(tmp_path / "a.bwp")
    with pytest.raises(bw.ConfigError, match="cannot come in pieces"):
        bw.TokenizeChunks(tmp_path / "a.bwp")


@pytest.mark.parametrize("way", [{"backward": True}, {"segmentation": "fewest"}, {}])
@pytest.mark.parametrize("unit", ["ab", "한글 각", "aaab\n", "x<x>ab"])
def test_long_texts_are_cut_into_chunks_without_a_trace(load: Load, unit: str, way: dict[str, Any]) -> None:
    file = {"added_tokens": [{"content": "<x>"}], "prefix": "", "handle_chinese_chars": False}
    repeated = BertNormalizer().normalize_str(unit.replace("<x>", "")) * 30
    vocabulary = [repeated[start : start + length] for start in range(9) for length in (2, 5, 7, 60)]
    tokenizer = load(vocabulary, file, pretokenize=False, unknown="run", **way)
    expected = []
    for number, stretch in enumerate((unit * 12_000).split("<x>")):
        text = BertNormalizer().normalize_str(stretch)
        if way.get("backward"):
            backward = StretchMatch([token[::-1] for token in vocabulary], "").tokenize_stretch(text[::-1])
            tokens = [token[::-1] for token in backward[::-1]]
        elif way:
            tokens = fewest_tokens(vocabulary, text, "", 1000) or []
        else:
            tokens = StretchMatch(vocabulary, "").tokenize_stretch(text)
        expected += ["<x>"] if number else []
        expected += [token for token, _, _ in replace_unknown(vocabulary, tokens, text, "", "run", UNK)]
    encoding = tokenizer.encode(unit * 12_000)
    assert encoding.tokens == expected
    assert (encoding.offsets[0][0], encoding.offsets[-1][1]) == (0, len(unit) * 12_000)


@pytest.mark.parametrize(
    ("vocabulary", "unit"),
    [(["a", "a" * 500 + "b"], "a"), (["a", "b" + "a" * 500], "a"), (["a", "b", "ab" * 100 + "c"], "ab")],
)
def test_matching_from_the_end_takes_linear_time(load: Load, vocabulary: list[str], unit: str) -> None:
    """Of near misses: going back for each of them would take hundreds of times as long."""
    tokenizer = load(vocabulary, {**PLAIN, "prefix": ""}, pretokenize=False, unknown="character", backward=True)
    plain = load(["a", "b"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="character", backward=True)
    text = pa.array([unit * (1_000_000 // len(unit))])
    assert shortest(tokenizer, text) < 20 * shortest(plain, text)


def shortest(tokenizer: bw.Tokenizer, texts: Any) -> float:
    """Seconds of CPU, the least of three."""
    found = []
    for _ in range(3):
        start = time.process_time()
        tokenizer.encode_arrow(texts)
        found.append(time.process_time() - start)
    return min(found)


@pytest.mark.parametrize("way", [{"backward": True}, {"segmentation": "fewest"}])
def test_a_stretch_that_is_too_long_to_be_held_is_refused(load: Load, way: dict[str, Any]) -> None:
    tokenizer = load(["a"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="character", **way)
    texts = pa.array(["a", "a" * (40 << 20), "b"])
    with pytest.raises(bw.TextError, match=r"row 1 has a word or stretch of more than 16 MB.*cut the text, or compile"):
        tokenizer.encode_arrow(texts)
    assert tokenizer.encode_arrow(texts.slice(2)).column("input_ids").to_pylist() == [[1]]


def test_words_have_the_limit_of_bert_where_the_word_is_unknown(load: Load) -> None:
    file = {**PLAIN, "max_chars": 5}
    tokenizer = load(["ab", "##ab", "a", "##b", "##a"], file, segmentation="fewest")
    assert tokenizer.encode("ababa ababab abx " + "ab" * 100_000 + " ab").tokens == [
        *("ab", "##ab", "##a", UNK, UNK, UNK, "ab"),
    ]
    tokenizer = load(["ab", "##ab"], file, unknown="character")
    assert tokenizer.encode("ababababx").tokens == ["ab", "##ab", "##ab", "##ab", UNK]


def test_ways_to_split_are_part_of_the_meaning(load: Load, tmp_path: Path) -> None:
    options = [{}, *ways(""), {"unknown": "error"}, {"pretokenize": False, "unknown": "error", "backward": True}]
    file = {**PLAIN, "prefix": ""}
    automata = [load(["a", *BYTES], file, **way).automaton for way in options]
    assert len({automaton.fingerprint for automaton in automata}) == len(automata)
    for way, automaton in zip(options, automata, strict=True):
        automaton.save(tmp_path / "a.bwp")
        opened = bw.Automaton.open(tmp_path / "a.bwp")
        assert opened.to_bytes() == automaton.to_bytes()
        shown = opened.describe()["options"]
        assert {name: shown[name] for name in way} == way
        assert opened.options == automaton.options
    # What has no meaning changes none.
    costs = [load(["a"], file, unknown="run", unknown_cost=cost).automaton for cost in (1, 2)]
    assert costs[0].fingerprint == costs[1].fingerprint
    limits = [load(["a"], {**file, "max_chars": limit}, unknown="run").automaton for limit in (1, 2)]
    assert limits[0].fingerprint == limits[1].fingerprint


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"unknown": "characters"}, 'unknown has to be "word" or "character" or "run" or "byte" or "error"'),
        ({"segmentation": "best"}, 'segmentation has to be "greedy" or "fewest"'),
        ({"backward": 1, "unknown": "run"}, "backward has to be true or false"),
        ({"unknown_cost": 0}, "unknown_cost has to be a number from 1 to 65535"),
        ({"unknown_cost": 65536}, "unknown_cost has to be a number from 1 to 65535"),
        ({"unknown_cost": True}, "unknown_cost has to be a number from 1 to 65535"),
        ({"backward": True}, 'backward=True does not go with .*unknown="word"'),
        ({"backward": True, "unknown": "run"}, "backward=True does not go with continuing_subword_prefix='##'"),
        ({"backward": True, "unknown": "run", "continuing_subword_prefix": "", "segmentation": "fewest"}, "fewest"),
        ({"pretokenize": False, "segmentation": "fewest"}, 'pretokenize=False does not go with unknown="word"'),
    ],
)
def test_what_does_not_go_together(load: Load, options: dict[str, Any], fault: str) -> None:
    with pytest.raises(bw.ConfigError, match=fault):
        load(["a"], **options)


def test_words_that_are_stretches_have_no_sample_and_no_normal_form(load: Load) -> None:
    with pytest.raises(bw.VocabularyError, match="a sample is about words that are looked up whole"):
        load(["a"], unknown="run", sample=["a"])
