"""A document in pieces, cut anywhere, has the encoding of the whole."""

import copy
import gzip
import itertools
import pickle
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from tests import small
from tests.oracle import SPECIAL_TOKENS, tokenizer_json
from tests.strategies import TextProblem, text_problems
from tests.texts import random_texts

# Added tokens of all kinds, with letters, marks and white space that the texts around them have.
ADDED = [
    *({"content": token, "special": True} for token in SPECIAL_TOKENS),
    {"content": "<mask>", "lstrip": True},
    {"content": "<r>", "rstrip": True},
    {"content": "<b> <c", "lstrip": True, "rstrip": True},
    {"content": "one", "single_word": True},
    {"content": "oneness"},
    {"content": "É tu", "normalized": True},
    {"content": "tu ", "normalized": True, "single_word": True},
]
VOCABULARY = [
    *SPECIAL_TOKENS,
    *"abcdeotunmrsk",
    *(f"##{c}" for c in "abcdeotunmrs"),
    "##ne",
    "the",
    "中",
    "ᄀ",
    "##ᅡ",
    "<",
]
SPECIAL_PLACES = [
    "[MASK]", "[MASK", "<mask>", " \t\u00a0\u0085 <mask>", "<r> \u3000\u0085\n", "<r><b> <c \u2003", "one", "ones",
    "oneness", "É tu", "e\u0301 tu ", "x\u302e\u1b44\u302e", "각가", "中文", "é", "e\u0301\u0323\u0327", "😀",
    "a" * 99, "a" * 100, "a" * 101, "가" * 50, "\U0001d15e" * 30, "\u2019", "...", " \u0085\u0085 ", "\ufffd", "İ",
    "\u200b\u00ad", "\r\n",
]  # fmt: skip


def rows(texts: Sequence[bytes], cuts: Sequence[Sequence[int]]) -> tuple[pa.Array, pa.Array]:
    """Chunks of the texts, each cut at the places given, and where the texts end."""
    chunks, ends = [], []
    for text, places in zip(texts, cuts, strict=True):
        borders = [0, *sorted(places), len(text)]
        chunks += [text[start:end] for start, end in itertools.pairwise(borders)]
        ends += [False] * (len(borders) - 2) + [True]
    return pa.array(chunks, pa.large_binary()), pa.array(ends, pa.bool_())


def joined(ids: Any, ends: pa.Array) -> list[list[int]]:
    """The ids of documents, from those of their chunks."""
    documents, open_document = [], list[int]()
    for part, end in zip(ids.to_pylist(), ends.to_pylist(), strict=True):
        open_document += part
        if end:
            documents.append(open_document)
            open_document = []
    return documents


def assert_cuts_change_nothing(tokenizer: bw.Tokenizer, texts: Sequence[bytes], cuts: Sequence[Sequence[int]]) -> None:
    whole = tokenizer.encode_arrow(pa.array(texts, pa.large_binary())).column("input_ids")
    chunks, ends = rows(texts, cuts)
    parts = bw.Stream(tokenizer).feed_arrow(chunks, ends).column("input_ids")
    if parts.flatten().equals(whole.flatten()) and len(joined_offsets(parts, ends)) == len(whole):
        assert joined_offsets(parts, ends) == whole.value_lengths().to_pylist()
        return
    for text, places, ours, expected in zip(texts, cuts, joined(parts, ends), whole.to_pylist(), strict=True):
        assert ours == expected, f"{text!r} cut at {places}"
    raise AssertionError("the ids are not those of the whole")


def joined_offsets(parts: Any, ends: pa.Array) -> list[int]:
    """Number of ids of each document."""
    lengths, total = [], 0
    for length, end in zip(parts.value_lengths().to_pylist(), ends.to_pylist(), strict=True):
        total += length
        if end:
            lengths.append(total)
            total = 0
    return lengths


def options() -> Iterator[dict[str, Any]]:
    for lowercase in (True, False):
        for strip_accents in (True, False):
            yield {"lowercase": lowercase, "strip_accents": strip_accents}
    yield {"clean_text": False}
    yield {"handle_chinese_chars": False}
    yield small.STRETCHES
    yield {"lowercase": False, "prefix": "", **small.STRETCHES}


@pytest.fixture(scope="module", params=[*options()], ids=str)
def strange(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bw.Tokenizer:
    """A tokenizer with added tokens of all kinds."""
    path = tmp_path_factory.mktemp("strange") / "tokenizer.json"
    compiled = {name: value for name, value in request.param.items() if name in small.STRETCHES}
    written = {name: value for name, value in request.param.items() if name not in compiled}
    # White space is text where text is not split into words: no token may take it.
    added = [token for token in ADDED if not compiled or not {"lstrip", "rstrip"} & token.keys()]
    path.write_text(tokenizer_json(VOCABULARY, template=True, added_tokens=added, **written), encoding="utf-8")
    return bw.Tokenizer(bw.Automaton.compile(path, **compiled))


def texts_of_all_scripts(shared: Path, count: int, longest: int) -> list[bytes]:
    """The beginnings of documents of every corpus."""
    files = sorted((shared / "corpora").glob("*.parquet"))
    each = -(-count // len(files))
    texts = []
    for file in files:
        column = pq.ParquetFile(file).read_row_group(0, columns=["text"]).column("text")
        texts += [text.encode()[:longest] for text in column.slice(0, each).to_pylist()]
    return texts[:count]


@pytest.fixture(scope="module", params=["bert-base-uncased", "bert-base-multilingual-cased"])
def published(request: pytest.FixtureRequest, shared: Path) -> bw.Tokenizer:
    return bw.Tokenizer(bw.Automaton.compile(shared / "vocabs" / request.param))


@pytest.mark.timeout(1200)
def test_every_cut_of_documents_of_all_scripts(published: bw.Tokenizer, shared: Path, full: bool) -> None:
    for text in texts_of_all_scripts(shared, *((1000, 2000) if full else (54, 600))):
        assert_cuts_change_nothing(published, [text] * len(text), [[cut] for cut in range(len(text))])


@pytest.mark.timeout(1200)
def test_random_cuts(published: bw.Tokenizer, shared: Path, full: bool) -> None:
    chance = random.Random(7)
    texts = texts_of_all_scripts(shared, 1000 if full else 72, 4000)
    for _ in range(100 if full else 10):
        cuts = [[chance.randrange(len(text) + 1) for _ in range(chance.choice([1, 2, 5, 30]))] for text in texts]
        assert_cuts_change_nothing(published, texts, cuts)


@pytest.mark.timeout(1200)
def test_every_cut_of_random_texts(strange: bw.Tokenizer, full: bool) -> None:
    for text in random_texts(seed=11, count=3000 if full else 150):
        data = text.encode()
        assert_cuts_change_nothing(
            strange, [data] * (len(data) + 1), [*([cut] for cut in range(len(data))), range(len(data))]
        )


@pytest.mark.timeout(1200)
def test_random_cuts_of_special_places(strange: bw.Tokenizer, full: bool) -> None:
    chance = random.Random(13)
    for _ in range(500 if full else 25):
        texts = ["".join(chance.choices([*SPECIAL_PLACES, " ", "a", "the "], k=12)).encode() for _ in range(20)]
        cuts = [[chance.randrange(len(text) + 1) for _ in range(chance.choice([1, 2, 8, 40]))] for text in texts]
        assert_cuts_change_nothing(strange, texts, cuts)


@pytest.mark.timeout(1200)
def test_cuts_around_special_places_of_a_long_document(strange: bw.Tokenizer, full: bool) -> None:
    """The text before a place fills chunks of the kernel, so that the place lies anywhere in one."""
    filler = ("the atom, a sunset. " * 60_000)[: 1_000_000 if full else 70_000]
    chance = random.Random(17)
    for place in SPECIAL_PLACES:
        at = chance.randrange(len(filler) - 100, len(filler))
        text = (filler[:at] + place + filler[at:]).encode()
        window = range(max(0, at - 8), at + len(place.encode()) + 8)
        stream = bw.Stream(strange)
        expected = strange.encode(text.decode()).ids
        for cut in window if full else chance.sample(window, 6):
            assert [*stream.feed(text[:cut]), *stream.feed(text[cut:]), *stream.finish()] == expected, (place, cut)


@pytest.mark.timeout(1200)
@given(text_problems(), st.randoms(use_true_random=False))
def test_any_tokenizer(tmp_path_factory: pytest.TempPathFactory, problem: TextProblem, chance: random.Random) -> None:
    path = tmp_path_factory.getbasetemp() / "stream.json"
    path.write_text(tokenizer_json(**problem.options), encoding="utf-8")
    try:
        tokenizer = bw.Tokenizer(bw.Automaton.compile(path))
    except bw.VocabularyError:
        return
    texts = [text.encode() for text in problem.texts]
    assert_cuts_change_nothing(tokenizer, texts, [range(len(text)) for text in texts])
    cuts = [[chance.randrange(len(text) + 1) for _ in range(3)] for text in texts]
    assert_cuts_change_nothing(tokenizer, texts, cuts)


def test_invalid_bytes_are_replaced_as_in_the_whole(strange: bw.Tokenizer, full: bool) -> None:
    chance = random.Random(19)
    pool = [b"\xe0", b"\x80", b"\xf0\x9f", b"\xed\xa0\x80", b"a", b" ", b"[MASK]", "é".encode(), b"\xff", "中".encode()]
    for _ in range(300 if full else 30):
        texts = [b"".join(chance.choices(pool, k=14)) for _ in range(10)]
        assert_cuts_change_nothing(strange, texts, [range(len(text)) for text in texts])
        assert_cuts_change_nothing(strange, texts, [[chance.randrange(len(text) + 1)] for text in texts])


def test_the_state_can_be_saved_at_every_cut(strange: bw.Tokenizer) -> None:
    text = "".join(f"{place} a" for place in SPECIAL_PLACES).encode() + b" \xe0\x80[MA"
    expected = strange.encode(text.decode("utf-8", "replace")).ids
    stream, ids, states = bw.Stream(strange), [], []
    for cut in range(len(text)):
        stream = bw.Stream.from_bytes(strange, stream.to_bytes())
        ids += stream.feed(text[cut : cut + 1])
        states.append((len(ids), stream.to_bytes()))
    assert ids + list(stream.finish()) == expected
    assert max(len(state) for _, state in states) < 1024
    for cut, (count, state) in enumerate(states):
        rest = bw.Stream.from_bytes(strange, state)
        assert [*ids[:count], *rest.feed(text[cut + 1 :]), *rest.finish()] == expected


def test_a_word_without_end_takes_no_memory(tokenizer: bw.Tokenizer) -> None:
    stream = bw.Stream(tokenizer)
    for unit in ("a", "é", "\u0301", "[", "\u200b", "\U0001d15e", "   ", "\u302e"):
        for _ in range(30):
            assert len(stream.feed(unit * 50_000)) <= 150_001
            assert len(stream.to_bytes()) < 1024
    assert stream.finish()


@pytest.mark.parametrize("normalized", [True, False])
def test_a_token_of_which_a_thousand_make_another(tmp_path: Path, normalized: bool) -> None:
    """It takes the time of other text, however far a longer token might have gone on behind each token."""
    tokens = [{"content": content, "normalized": normalized} for content in ("a", "a" * 20_000, "x" * 20_000)]
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json([*SPECIAL_TOKENS, "b"], added_tokens=tokens), encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(path))
    one, many, b = (tokenizer.encode(text).ids[0] for text in ("a", "a" * 20_000, "b"))
    text = ("a" * 19_999 + "b") * 4 + "a" * 20_001
    expected = ([one] * 19_999 + [b]) * 4 + [many, one]
    assert tokenizer.encode(text).ids == expected
    for size in (100_000, 7_000):
        stream = bw.Stream(tokenizer)
        parts = [stream.feed(text[at : at + size]) for at in range(0, len(text), size)]
        assert [*itertools.chain.from_iterable(parts), *stream.finish()] == expected


@pytest.mark.timeout(1200)
def test_a_document_of_a_gigabyte(tokenizer: bw.Tokenizer, full: bool) -> None:
    """Its tokens are those of its block, again and again; 10 MB in a run that is not full."""
    block = ("the quick brown fox, unaffable “dogs” naïve 日本語 " * 1400).encode()
    count = (1 << 30 if full else 10 << 20) // len(block)
    expected = tokenizer.encode(block.decode()).ids[1:-1]
    stream, seen, held = bw.Stream(tokenizer), 0, b""
    for number in range(count):
        held += block
        while len(held) >= 65_536 or (number == count - 1 and held):
            chunk, held = held[:65_536], held[65_536:]
            seen += len(stream.feed(chunk))
    seen += len(stream.finish())
    assert seen == 2 + count * len(expected)


def test_kinds_of_chunks(tokenizer: bw.Tokenizer) -> None:
    text = "Unaffable cats, 中文 naïve [MASK]"
    expected = tokenizer.encode(text).ids
    data = text.encode()
    halves = pa.array([text[:5], None, text[5:]])
    chunks: list[list[Any]] = [
        [text],
        [*text],
        [data[i : i + 1] for i in range(len(data))],
        [bytearray(data[:20]), memoryview(data)[20:]],
        [pa.scalar(text[:7]), pa.scalar(data[7:], pa.large_binary()), pa.scalar(None, pa.string())],
        [halves],
        [halves.dictionary_encode()],
        [pa.chunked_array([halves[:1], halves[1:]])],
        [pa.array(["", text[:3]]), text[3:]],
    ]
    for pieces in chunks:
        stream = bw.Stream(tokenizer)
        ids = [number for piece in pieces for number in stream.feed(piece)]
        assert ids + list(stream.finish()) == expected
    with pytest.raises(bw.InputError, match="int64"):
        bw.Stream(tokenizer).feed(pa.array([1]))
    with pytest.raises(bw.InputError, match="int64"):
        bw.Stream(tokenizer).feed(pa.scalar(1))
    with pytest.raises(TypeError, match="not int"):
        bw.Stream(tokenizer).feed(1)
    with pytest.raises(TypeError, match="Tokenizer"):
        bw.Stream("bert")  # type: ignore[arg-type]


def test_a_scalar_of_text_that_is_not_utf_8(tokenizer: bw.Tokenizer) -> None:
    text = pa.Array.from_buffers(pa.string(), 1, pa.array([b"caf\xff"]).buffers())[0]
    for scalar in (text, pa.scalar(b"caf\xff"), pa.DictionaryArray.from_arrays([0], pa.array([b"caf\xff"]))[0]):
        stream = bw.Stream(tokenizer)
        assert [*stream.feed(scalar), *stream.finish()] == tokenizer.encode("caf\ufffd").ids


def test_documents_follow_each_other(tokenizer: bw.Tokenizer) -> None:
    stream = bw.Stream(tokenizer)
    for text in ("one text", "", "another"):
        assert [*stream.feed(text), *stream.finish()] == tokenizer.encode(text).ids


def test_rows_of_several_documents(tokenizer: bw.Tokenizer) -> None:
    chunks = pa.array(["a ca", "t", None, "dog", None, None, None, "", "x"])
    ends = pa.array([False, True, True, False, True, False, True, True, False])
    stream = bw.Stream(tokenizer)
    batch, counts = stream.feed_arrow_counted(chunks, ends)
    encode = lambda text: tokenizer.encode(text).ids  # noqa: E731
    assert joined(batch.column("input_ids"), ends) == [encode("a cat"), [], encode("dog"), [], encode("")]
    assert batch.column("input_ids").null_count == 0
    assert list(stream.finish()) == encode("x")[1:]
    assert counts == bw.Counts(documents=5, nulls=2, bytes=9, tokens=len(batch.column("input_ids").flatten()))
    empty = stream.feed_arrow(pa.array([], pa.string()), pa.array([], pa.bool_()))
    assert empty.num_rows == 0


def test_ends_have_to_fit(tokenizer: bw.Tokenizer) -> None:
    stream = bw.Stream(tokenizer)
    for ends in (pa.array([True]), pa.array([1, 0]), pa.array([True, None]), [True, False]):
        with pytest.raises(bw.InputError):
            stream.feed_arrow(pa.array(["a", "b"]), ends)
    ends = pa.array([True, False, True, True])
    for two in (ends[1:3], pa.chunked_array([ends[1:2], ends[2:2], ends[3:4]])):
        assert joined(stream.feed_arrow(pa.array(["a", "b"]), two).column(0), two) == [tokenizer.encode("ab").ids]


def test_a_state_is_tied_to_its_automaton(tokenizer: bw.Tokenizer, tmp_path: Path) -> None:
    stream = bw.Stream(tokenizer)
    stream.feed("unaff")
    state = stream.to_bytes()
    other = bw.Automaton.compile(small.write(tmp_path / "tokenizer.json", small.document()))
    with pytest.raises(bw.AutomatonError, match=other.fingerprint):
        bw.Stream.from_bytes(bw.Tokenizer(other), state)
    with pytest.raises(bw.ConfigError, match="add_special_tokens"):
        bw.Stream.from_bytes(bw.Tokenizer(tokenizer.automaton, add_special_tokens=False), state)
    for damaged in (b"", state[:-1], state[:10], state + b"x", b"PAR1" + state[4:], gzip.compress(state)):
        with pytest.raises(bw.AutomatonError, match="state of the stream"):
            bw.Stream.from_bytes(tokenizer, damaged)


def test_a_stream_can_be_pickled_and_copied(tokenizer: bw.Tokenizer) -> None:
    stream = bw.Stream(tokenizer)
    first = list(stream.feed("unaff"))
    for twin in (pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream)):
        assert [*first, *twin.feed("able"), *twin.finish()] == tokenizer.encode("unaffable").ids
    assert [*first, *stream.feed(" x"), *stream.finish()] == tokenizer.encode("unaff x").ids
    assert stream.tokenizer is tokenizer
    assert "Tokenizer" in repr(stream)


def test_words_leave_when_their_end_is_known(tokenizer: bw.Tokenizer) -> None:
    stream = bw.Stream(tokenizer)
    text = "the for, [MASK]."
    tokens = [stream.feed(c).tokens for c in text]
    assert {number: left for number, left in enumerate(tokens) if left} == {
        0: ["[CLS]"],
        3: ["the"],
        7: ["for", ","],
        14: ["[MASK]"],
        15: ["."],
    }
    assert stream.finish().tokens == ["[SEP]"]


def test_tokens_leave_as_soon_as_nothing_makes_them_longer(tmp_path: Path) -> None:
    """Without word splitting: what is held back is always the beginning of a longer token."""
    tokens = ["[UNK]", "a", "ab", "abcde", "b", "c", " ", "d e"]
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(tokens, prefix=""), encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(path, **small.STRETCHES), add_special_tokens=False)
    stream = bw.Stream(tokenizer)
    left = {number: stream.feed(c).tokens for number, c in enumerate("abcabxcd e d fa")}
    assert {number: tokens for number, tokens in left.items() if tokens} == {
        3: ["ab", "c"],
        5: ["ab", "[UNK]"],
        6: ["c"],
        9: ["d e"],
        10: [" "],
        13: ["[UNK]", " ", "[UNK]"],
    }
    assert stream.finish().tokens == ["a"]
    endless = bw.Stream(tokenizer)
    for _ in range(50):
        assert len(endless.feed("abcabcd " * 20_000)) >= 99_999
        assert len(endless.to_bytes()) < 100
