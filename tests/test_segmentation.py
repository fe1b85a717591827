"""Other ways to split on the same automaton: what unknown characters become, matching from the end, fewest tokens."""

import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

import beam_wordpiece as bw
from beam_wordpiece.reference import (
    UNKNOWN_CHARACTER,
    StretchMatch,
    backward_max_match,
    fewest_tokens,
    max_match_stretch,
    replace_unknown,
)
from tests.oracle import tokenizer_json
from tests.strategies import WordProblem, word_problems
from tests.test_stretch import parts
from tests.texts import random_texts

UNK = "[UNK]"
POLICIES = ("character", "run", "byte", "error")
# Of the letters of the alphabets é and 語 have several bytes; not all of them are there.
BYTES = ["<0x61>", "<0xC3>", "<0xA9>", "<0xE8>", "<0xAA>", "<0x23>", "<0x20>"]
# Text stays as it is.
PLAIN: dict[str, Any] = {"lowercase": False, "handle_chinese_chars": False, "clean_text": False}
Placed = list[tuple[str, int, int]]
Load = Callable[..., bw.Tokenizer]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """A function that makes a tokenizer of a vocabulary, keywords of `tokenizer_json`, and options of `compile`."""
    path = tmp_path_factory.mktemp("segmentation") / "tokenizer.json"

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


@pytest.mark.parametrize("unknown", POLICIES)
@given(problem=word_problems(), places=texts_with_spaces, pretokenize=st.booleans(), data=st.data())
def test_unknown_characters(
    load: Load, unknown: str, problem: WordProblem, places: list[int], pretokenize: bool, data: st.DataObject
) -> None:
    vocabulary = [*problem.vocabulary, *data.draw(st.lists(st.sampled_from(BYTES), min_size=1, unique=True))]
    text, limit = spaced(problem.word, places), problem.max_input_chars_per_word
    options = {"pretokenize": pretokenize, "unknown": unknown}
    assert_naive(load, vocabulary, text, problem.suffix_indicator, limit, **options)


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


def ways(prefix: str) -> list[dict[str, Any]]:
    """All ways to split that there are with a suffix indicator, but for errors."""
    found: list[dict[str, Any]] = [{"segmentation": "fewest"}]
    for pretokenize, unknown in itertools.product([False, True], ["character", "run", "byte"]):
        way = {"pretokenize": pretokenize, "unknown": unknown}
        found += [way, {**way, "segmentation": "fewest"}, {**way, "segmentation": "fewest", "unknown_cost": 1}]
        found += [] if prefix else [{**way, "backward": True}]
    return found


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


def jamo(text: str) -> tuple[str, list[int]]:
    """A text of letters and Hangul with its syllables split, and the character that each jamo comes from."""
    split = [BertNormalizer(lowercase=False, strip_accents=True).normalize_str(c) for c in text]
    return "".join(split), [number for number, c in enumerate(split) for _ in c]


@given(
    tokens=st.lists(
        st.text("ab각가한", min_size=1, max_size=3).map(lambda text: jamo(text)[0][1:] or text), max_size=8
    ),
    text=st.text("ab각가한글 ", max_size=12),
    way=st.sampled_from(ways("")),
)
def test_offsets_of_hangul_are_those_of_its_syllables(
    load: Load, tokens: list[str], text: str, way: dict[str, Any]
) -> None:
    some_bytes = ["<0xE1>", "<0x84>", "<0x86>", "<0xAB>", "<0x80>", "<0x92>"]
    vocabulary = [*tokens, *some_bytes]
    tokenizer = load(vocabulary, {"lowercase": False, "strip_accents": True, "prefix": ""}, **way)
    split, origins = jamo(text)
    expected = naive([*vocabulary, UNK], split, "", **way)
    assert ours(tokenizer, text) == [(token, origins[start], origins[end - 1] + 1) for token, start, end in expected]


@given(
    problem=word_problems(),
    places=texts_with_spaces,
    way=st.sampled_from([way for way in ways("##") if "segmentation" not in way]),
    cuts=st.lists(st.integers(0, 80), max_size=4).map(sorted),
    offsets=st.booleans(),
)
def test_streams_cut_anywhere_have_the_tokens_of_the_whole(
    load: Load, problem: WordProblem, places: list[int], way: dict[str, Any], cuts: list[int], offsets: bool
) -> None:
    vocabulary = [*problem.vocabulary, *BYTES]
    tokenizer = load(vocabulary, {**PLAIN, "prefix": problem.suffix_indicator}, **way)
    text = spaced(problem.word, places)
    whole, utf8 = tokenizer.encode(text), text.encode()
    for bounds in ([0, *cuts, len(utf8)], list(range(len(utf8) + 1))):
        stream = bw.Stream(tokenizer, offsets=offsets)
        fed = []
        for start, end in itertools.pairwise(bounds):
            fed.append(stream.feed(utf8[start:end]))
            stream = bw.Stream.from_bytes(tokenizer, stream.to_bytes())
        fed.append(stream.finish())
        assert [id for encoding in fed for id in encoding.ids] == whole.ids
        if offsets:
            assert [place for encoding in fed for place in encoding.offsets] == whole.offsets
            assert [word for encoding in fed for word in encoding.word_ids] == whole.word_ids


def test_a_run_leaves_with_its_first_character_or_where_its_place_is_wanted_with_its_end(load: Load) -> None:
    tokenizer = load(["a", "b"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="run")
    stream = bw.Stream(tokenizer)
    assert [stream.feed(c).tokens for c in "axyb"] == [["a"], [UNK], [], ["b"]]
    stream = bw.Stream(tokenizer, offsets=True)
    fed = [stream.feed(c) for c in "axyb"]
    assert [encoding.tokens for encoding in fed] == [["a"], [], [], [UNK, "b"]]
    assert fed[-1].offsets == [(1, 3), (3, 4)]
    # Another document begins another run.
    assert stream.finish().tokens == []
    assert stream.feed("x").tokens == []
    assert (stream.finish().offsets, stream.feed("x").tokens, stream.finish().offsets) == ([(0, 1)], [], [(0, 1)])


def test_after_an_unknown_character_that_is_an_error_a_stream_is_as_before(load: Load) -> None:
    tokenizer = load(["ab", "c"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="error")
    stream = bw.Stream(tokenizer)
    assert stream.feed("ca").tokens == ["c"]
    before = stream.to_bytes()
    with pytest.raises(bw.TextError, match=r"'\\n' \(U\+000A\).*add it to the vocabulary, or compile with another"):
        stream.feed("bc\n")
    assert stream.to_bytes() == before
    chunks, ends = pa.array(["b", "c", "cac"]), pa.array([False, True, True])
    with pytest.raises(bw.TextError, match=r"row 2 has the character 'a' \(U\+0061\)") as caught:
        stream.feed_arrow(chunks, ends)
    assert caught.value.row == 2
    assert stream.to_bytes() == before
    assert stream.feed("b").tokens == ["ab"]
    assert stream.finish().tokens == []


def test_an_unknown_character_that_is_an_error_names_its_row(load: Load) -> None:
    tokenizer = load(["ab", "c"], {**PLAIN, "prefix": ""}, pretokenize=False, unknown="error")
    texts = ["ab", None, "abc", "c", "😀"]
    for array, row in (
        (pa.array(texts), 4),
        (pa.chunked_array([texts[:3], texts[3:]]), 4),
        (pa.array(["c", "ab", "ab", "c", "😀"]).dictionary_encode(), 4),
        (pa.array(["c" * 100_000, "ab", "x", "y"]), 2),
    ):
        with pytest.raises(bw.TextError, match=rf"^The text in row {row} has the character") as caught:
            tokenizer.encode_arrow(array)
        assert caught.value.row == row
    assert tokenizer.encode_arrow(pa.array(texts[:4])).column("input_ids").to_pylist() == [[0], None, [0, 1], [1]]


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


def test_bytes_need_a_token_of_one(load: Load) -> None:
    with pytest.raises(bw.VocabularyError, match=r"none of the tokens <0x00> to <0xFF>.*add them, or give"):
        load(["a", "<0xc3>", "<0x1FF>"], unknown="byte")


def test_words_that_are_stretches_have_no_sample_and_no_normal_form(load: Load) -> None:
    with pytest.raises(bw.VocabularyError, match="a sample is about words that are looked up whole"):
        load(["a"], unknown="run", sample=["a"])
