"""Where tokens stand in the text, and in which word: as HF says, for whole texts and for documents in pieces."""

import itertools
import pickle
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tokenizers import Tokenizer

import beam_wordpiece as bw
from tests import small
from tests.oracle import SPECIAL_TOKENS, batches, hf_tokenizer, load, tokenizer_json
from tests.strategies import TextProblem, text_problems
from tests.test_differential import CODE_POINTS, NORMALIZERS, PARTS, corpora, packed, showing
from tests.test_property import added_tokens_without_meaning
from tests.texts import ALL_PIECES, POOLS, random_texts

LETTERS = [*"abcdefghijklmnopqrstuvwxyz.-", "中", "\u1100", "\u1161", "\u11a8"]
# White space that tokens take, in all their kinds, and tokens that begin in white space that others take.
ADDED: list[dict[str, Any]] = [
    {"content": "[X]"},
    {"content": "<l>", "lstrip": True},
    {"content": "<r>", "rstrip": True},
    {"content": "<b>", "lstrip": True, "rstrip": True},
    {"content": " s", "rstrip": True},
    {"content": "  z", "lstrip": True},
    {"content": "sw", "single_word": True},
    {"content": "nö", "normalized": True},
    {"content": "N L", "normalized": True, "lstrip": True, "rstrip": True},
    {"content": " m", "normalized": True, "lstrip": True},
    {"content": " k", "normalized": True, "rstrip": True},
    {"content": "q", "normalized": True, "single_word": True},
]
PIECES = [
    *(
        "a",
        "b",
        " ",
        "  ",
        "\u2003",
        "\n",
        "\0",
        "\x85",
        "\x0b",
        "\u0301",
        "\u302e",
        "\u1b44",
        "[X]",
        "<l>",
        "<r>",
        "<b>",
    ),
    *(" s", "  z", "nö", "no", "sw", "n l", " m", " k", "q", ".", "中", "각", "É"),
]
MARKS = [
    *POOLS["marks"],
    *POOLS["kept marks"],
    *POOLS["deleted"][:3],
    "\u0f75",
    "\U0001d15e",
    "\U0001d160",
    "a",
    " ",
    "각",
]
Places = tuple[list[int], list[tuple[int, int]], list[int | None]]


def places(encoding: Any) -> Places:
    return encoding.ids, encoding.offsets, encoding.word_ids


def assert_same_places(oracle: Tokenizer, tokenizer: bw.Tokenizer, texts: Iterable[str]) -> int:
    """Compare ids, offsets and words of all texts. The message shows the first text that differs."""
    compared = 0
    for batch in batches(texts, 1000):
        expected = oracle.encode_batch(batch, add_special_tokens=tokenizer.add_special_tokens)
        for text, theirs in zip(batch, expected, strict=True):
            ours = tokenizer.encode(text)
            assert places(ours) == places(theirs), f"{text!a}: {different(ours, theirs)}"
        compared += len(batch)
    return compared


def different(ours: Any, theirs: Any) -> str:
    pairs = itertools.zip_longest(zip(*places(ours), strict=True), zip(*places(theirs), strict=True))
    place, (our, their) = next((place, pair) for place, pair in enumerate(pairs) if pair[0] != pair[1])
    return f"token {place} is {our} (id, offsets, word), and HF's {their}"


def mixed(pieces: Sequence[str], count: int, seed: int) -> Iterator[str]:
    source = random.Random(seed)
    return ("".join(source.choices(pieces, k=source.randrange(1, 14))) for _ in range(count))


@pytest.mark.timeout(600)
@pytest.mark.parametrize("code_points", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("options", NORMALIZERS.values(), ids=NORMALIZERS)
def test_every_code_point(tmp_path: Path, options: dict[str, bool], code_points: list[str], full: bool) -> None:
    pair = showing(tmp_path, code_points, options)
    chosen = code_points if full else code_points[::11]
    assert_same_places(*pair, packed(chosen, "", ""))
    assert_same_places(*pair, packed(chosen, "a", "b"))


@pytest.mark.timeout(14_400)
def test_every_code_point_alone(hf: Tokenizer, tokenizer: bw.Tokenizer, full: bool) -> None:
    assert_same_places(hf, tokenizer, CODE_POINTS if full else [*CODE_POINTS[:0x3400], *CODE_POINTS[0x3400::97]])


@pytest.mark.parametrize("options", NORMALIZERS.values(), ids=NORMALIZERS)
def test_random_text(tmp_path: Path, options: dict[str, bool], full: bool) -> None:
    pair = showing(tmp_path, list("".join([*ALL_PIECES, *MARKS])), options)
    assert_same_places(*pair, random_texts(seed=11, count=200_000 if full else 2_000))
    # HF moves marks that it sorts, and counts places.
    assert_same_places(*pair, mixed(MARKS, 100_000 if full else 2_000, seed=12))


def added(folder: Path, options: dict[str, bool], tokens: list[dict[str, Any]]) -> tuple[Tokenizer, bw.Tokenizer]:
    vocabulary = [*SPECIAL_TOKENS, *LETTERS, *("##" + letter for letter in LETTERS)]
    return load(folder / "tokenizer.json", tokenizer_json(vocabulary, **options, added_tokens=tokens, template=True))


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("options", NORMALIZERS.values(), ids=NORMALIZERS)
def test_added_tokens(tmp_path: Path, options: dict[str, bool], normalized: bool, full: bool) -> None:
    tokens = [token for token in ADDED if normalized or not token.get("normalized")]
    pair = added(tmp_path, options, tokens)
    assert_same_places(*pair, mixed(PIECES, 100_000 if full else 2_000, seed=13))
    assert_same_places(*pair, ["<r>" + " " * 5000 + "a  z", "a" + "\u2003" * 5000 + "<l>", "n l" + " " * 5000 + " m"])


@pytest.fixture(scope="module")
def small_json(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small.write(tmp_path_factory.mktemp("small") / "tokenizer.json", small.document())


@pytest.fixture(scope="module")
def ours(small_json: Path) -> bw.Tokenizer:
    return bw.Tokenizer(bw.Automaton.compile(small_json))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example writes its tokenizer.json."""
    return tmp_path_factory.mktemp("offsets") / "tokenizer.json"


@given(problem=text_problems())
def test_any_tokenizer(file: Path, problem: TextProblem) -> None:
    if not added_tokens_without_meaning(problem.options):
        assert_same_places(*load(file, tokenizer_json(**problem.options)), problem.texts)


def test_own_text(hf: Tokenizer, tokenizer: bw.Tokenizer, documents: list[str]) -> None:
    assert_same_places(hf, tokenizer, documents[::4])


@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("model", ["bert-base-multilingual-cased", "bert-base-uncased"])
def test_corpora(shared: Path, model: str, full: bool) -> None:
    path = shared / "vocabs" / model / "tokenizer.json"
    pair = hf_tokenizer(path), bw.Tokenizer(bw.Automaton.compile(path))
    compared = 0
    for name, texts in corpora(shared, full):
        try:
            compared += assert_same_places(*pair, texts if full else texts[::6])
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
    assert compared


def streamed(tokenizer: bw.Tokenizer, chunks: Iterable[str | bytes], carried: bool = False) -> Places:
    """What is fed and finished, side by side. `carried`: another stream takes up the state after each chunk."""
    stream = bw.Stream(tokenizer, offsets=True)
    parts = []
    for chunk in chunks:
        parts.append(places(stream.feed(chunk)))
        if carried:
            stream = bw.Stream.from_bytes(tokenizer, stream.to_bytes())
    parts.append(places(stream.finish()))
    ids, offsets, words = (list(itertools.chain.from_iterable(lists)) for lists in zip(*parts, strict=True))
    return ids, offsets, words


@pytest.mark.parametrize("options", NORMALIZERS.values(), ids=NORMALIZERS)
def test_pieces_of_a_document(tmp_path: Path, options: dict[str, bool], full: bool) -> None:
    """Cut between all characters, between all bytes, and at random."""
    oracle, tokenizer = added(tmp_path, options, ADDED)
    source = random.Random(14)
    for text in itertools.chain(mixed(PIECES, 3000 if full else 200, 15), mixed(MARKS, 3000 if full else 100, 16)):
        expected = places(oracle.encode(text))
        data = text.encode()
        cuts = sorted(source.choices(range(len(data) + 1), k=3))
        pieces = [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        bytewise = [data[place : place + 1] for place in range(len(data))]
        for chunks in ([text], list(text), bytewise, pieces):
            assert streamed(tokenizer, chunks) == expected, f"{text!a} in pieces {chunks!a}"
        assert streamed(tokenizer, pieces, carried=True) == expected, f"{text!a} in carried pieces {pieces!a}"


def test_pieces_of_own_text(hf: Tokenizer, tokenizer: bw.Tokenizer, documents: list[str]) -> None:
    for text in documents[:20]:
        chunks = [text[place : place + 1000] for place in range(0, len(text), 1000)]
        assert streamed(tokenizer, chunks, carried=True) == places(hf.encode(text))


def test_a_stream_counts_from_the_beginning_of_each_document(ours: bw.Tokenizer) -> None:
    stream = bw.Stream(ours, offsets=True)
    for _ in range(2):
        assert places(stream.feed("cats un"))[1:] == ([(0, 0), (0, 3), (3, 4)], [None, 0, 0])
        assert places(stream.feed("affable a"))[1:] == ([(5, 7), (7, 10), (10, 14)], [1, 1, 1])
        assert places(stream.finish())[1:] == ([(15, 16), (0, 0)], [2, None])
    assert pickle.loads(pickle.dumps(stream)).offsets


@pytest.mark.parametrize("errors", ["replace", "error"])
def test_invalid_parts_are_a_character_each(small_json: Path, errors: str) -> None:
    tokenizer = bw.Tokenizer(bw.Automaton.compile(small_json), errors=errors)
    data = b"cat\xff\xe2\x82 \xf0cat"
    if errors == "error":
        with pytest.raises(bw.TextError, match="byte 3 "):
            bw.Stream(tokenizer, offsets=True).feed(data)
        return
    decoded = data.decode("utf-8", "replace")
    assert streamed(tokenizer, [data]) == streamed(tokenizer, decoded) == places(tokenizer.encode(decoded))
    assert streamed(tokenizer, [data])[1] == [(0, 0), (0, 3), (7, 10), (0, 0)]
    assert tokenizer.encode("cat\ud800 cat").offsets == [(0, 0), (0, 3), (5, 8), (0, 0)]


@pytest.mark.parametrize("limit", [0, 1, 2, 100])
def test_a_word_that_is_too_long_is_known_by_both_ends(tmp_path: Path, limit: int) -> None:
    """Of a word that goes on behind the end of a chunk no more is kept than that."""
    vocabulary = [*SPECIAL_TOKENS, "a", "##a"]
    oracle, tokenizer = load(tmp_path / "tokenizer.json", tokenizer_json(vocabulary, max_chars=limit))
    for text in ("aa", "가각힣", "\U00010400\U00010400\U00010400", "a\u302e\u1b44", "aa" * 60 + " \u302e\u0301\u302e"):
        expected = places(oracle.encode(text))
        for chunks in ([text], text):
            assert streamed(tokenizer, chunks) == streamed(tokenizer, chunks, carried=True) == expected
    assert streamed(tokenizer, "aa")[1] == [(0, 2)] if limit < 2 else [(0, 1), (1, 2)]


def test_marks_of_a_token_stand_apart(tmp_path: Path) -> None:
    """Deleted characters lie between the marks of a long run, which all stay where a token has marks."""
    tokens = [{"content": "\u302e", "normalized": True}]
    oracle, tokenizer = load(tmp_path / "tokenizer.json", tokenizer_json([*SPECIAL_TOKENS], added_tokens=tokens))
    text = "a" + "\u302e\u200b\u200b" * 200
    assert_same_places(oracle, tokenizer, [text])
    assert streamed(tokenizer, text) == places(oracle.encode(text))
    assert tokenizer.encode(text).offsets[-1] == (598, 599)


def test_text_that_is_not_split_into_words(tmp_path: Path) -> None:
    vocabulary = [*SPECIAL_TOKENS, "ab", "##c d", "##\u1100", "##\u1161", "##e"]
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(vocabulary, added_tokens=[{"content": "[SEP]"}]), encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(path, pretokenize=False, unknown="character"))
    text = "abc d가e\u0301[SEP]ab x"
    encoding = tokenizer.encode(text)
    expected = [(0, 2), (2, 5), (5, 6), (5, 6), (6, 7), (8, 13), (13, 15), (15, 16), (16, 17)]
    assert encoding.tokens == ["ab", "##c d", "##\u1100", "##\u1161", "##e", "[SEP]", "ab", "[UNK]", "[UNK]"]
    assert (encoding.offsets, encoding.word_ids) == (expected, [0, 0, 0, 0, 0, 1, 2, 2, 2])
    assert streamed(tokenizer, text, carried=True) == places(encoding)
