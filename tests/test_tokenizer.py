"""The tokenizer: text and every kind of Arrow array to ids, and ids to text, as HF does it."""

import copy
import pickle
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import beam_wordpiece as bw
from tests import small

LIST = pa.list_(pa.int32())


@pytest.fixture(scope="module")
def strict(ours: bw.Tokenizer) -> bw.Tokenizer:
    return bw.Tokenizer(ours.automaton, add_special_tokens=False, errors="error")


def test_a_text_has_the_ids_and_tokens_of_hf(ours: bw.Tokenizer, strict: bw.Tokenizer, small_hf: Tokenizer) -> None:
    for text in small.TEXTS:
        for tokenizer, special in ((ours, True), (strict, False)):
            expected, encoding = small_hf.encode(text, add_special_tokens=special), tokenizer.encode(text)
            assert (encoding.ids, encoding.tokens, len(encoding)) == (expected.ids, expected.tokens, len(expected.ids))


def test_the_lists_of_an_encoding_are_made_once(ours: bw.Tokenizer) -> None:
    encoding = ours.encode("unaffable cats")
    assert len(encoding) == len(encoding.ids) == len(encoding.tokens)
    assert encoding.ids is encoding.ids
    assert encoding.tokens is encoding.tokens
    encoding.ids.append(7)
    assert (encoding.ids[-1], len(encoding)) == (7, len(encoding.tokens) + 1)


def test_an_encoding_is_a_value(ours: bw.Tokenizer) -> None:
    encoding = ours.encode("cats a")
    made = bw.Encoding(ids=encoding.ids, tokens=encoding.tokens)
    assert encoding == ours.encode("cats a") == made
    assert (encoding != made) is False
    assert encoding != ours.encode("cats b")
    assert encoding != bw.Encoding(encoding.ids, [*encoding.tokens[:-1], "z"])
    assert encoding != (encoding.ids, encoding.tokens)
    assert repr(encoding) == f"Encoding(ids={encoding.ids}, tokens={encoding.tokens})"
    assert eval(repr(encoding), {"Encoding": bw.Encoding}) == encoding
    with pytest.raises(AttributeError):
        encoding.ids = []  # type: ignore[misc]
    with pytest.raises(TypeError, match="unhashable"):
        hash(encoding)
    match encoding:
        case bw.Encoding(ids, tokens):
            assert (ids, tokens) == (encoding.ids, encoding.tokens)


def test_encodings_are_pickled_and_copied(ours: bw.Tokenizer) -> None:
    for encoding in (ours.encode("unaffable cats"), bw.Encoding([1, 2], ["a", "b"]), ours.encode("")):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert pickle.loads(pickle.dumps(encoding, protocol)) == encoding
        assert copy.deepcopy(encoding) == copy.copy(encoding) == encoding


@pytest.mark.parametrize("length", [2047, 2048, 2049, 70_000])
def test_long_and_short_texts_are_encoded_alike(ours: bw.Tokenizer, length: int) -> None:
    # From 2049 bytes on without the GIL; the second call has what the first left.
    text = ("cats unaffable a. " * (length // 18 + 1))[:length]
    (expected,) = ours.encode_arrow(pa.array([text])).column("input_ids").to_pylist()
    for _ in range(2):
        assert ours.encode(text).ids == expected
        assert ours.encode("cats").ids == ours.encode("cats ").ids


@pytest.mark.parametrize("text", [None, 3, b"a", ["a"]])
def test_what_is_no_text_is_a_type_error(ours: bw.Tokenizer, text: Any) -> None:
    with pytest.raises(TypeError, match=f"has to be a str, not {type(text).__name__}"):
        ours.encode(text)


def test_lone_surrogates(ours: bw.Tokenizer, strict: bw.Tokenizer) -> None:
    assert ours.encode("a\ud800 b").ids == ours.encode("a\ufffd b").ids
    with pytest.raises(bw.TextError, match="lone surrogate at character 1") as caught:
        strict.encode("a\ud800 b")
    assert caught.value.row == 0


def test_arguments_are_checked(ours: bw.Tokenizer) -> None:
    with pytest.raises(bw.ConfigError, match="errors has to be"):
        bw.Tokenizer(ours.automaton, errors="ignore")
    with pytest.raises(TypeError, match="of an Automaton, not of str"):
        bw.Tokenizer("bert.bwp")  # type: ignore[arg-type]


TEXTS: list[str | None] = [None, *small.TEXTS, "cats", None, "cats", "zzz"]
BYTES = [None if text is None else text.encode() for text in TEXTS]


def string_views() -> pa.Array:
    return pa.array(TEXTS, pa.string_view()) if hasattr(pa, "string_view") else pa.array(TEXTS)


ARRAYS = {
    "string": lambda: pa.array(TEXTS, pa.string()),
    "large_string": lambda: pa.array(TEXTS, pa.large_string()),
    "string_view": string_views,
    "binary": lambda: pa.array(BYTES, pa.binary()),
    "large_binary": lambda: pa.array(BYTES, pa.large_binary()),
    "sliced": lambda: pa.array(["x", *TEXTS, "y"]).slice(1, len(TEXTS)),
    "chunked": lambda: pa.chunked_array([TEXTS[:2], [], TEXTS[2:5], TEXTS[5:], []], pa.string()),
    "chunked and sliced": lambda: pa.chunked_array([["x"], TEXTS[:4], TEXTS[4:]]).slice(1),
    "dictionary": lambda: pa.array(TEXTS).dictionary_encode(),
    "dictionary of large_string": lambda: pa.array(TEXTS, pa.large_string()).dictionary_encode(),
    "dictionary of binary": lambda: pa.array(BYTES, pa.binary()).dictionary_encode(),
    "dictionary with null values": lambda: pa.array(TEXTS).dictionary_encode("encode"),
    "dictionary sliced": lambda: pa.array(["x", *TEXTS, "y"]).dictionary_encode().slice(1, len(TEXTS)),
    "dictionaries that differ": lambda: pa.chunked_array(
        [pa.array(TEXTS[:4]).dictionary_encode(), pa.array(TEXTS[4:]).dictionary_encode("encode")]
    ),
    "dictionary of 8 bits": lambda: pa.DictionaryArray.from_arrays(
        pa.array([TEXTS.index(text) for text in TEXTS], pa.int8()), pa.array([*TEXTS, "not used", "cats"])
    ),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_every_kind_of_array_gives_the_same(ours: bw.Tokenizer, small_hf: Tokenizer, kind: str) -> None:
    array = ARRAYS[kind]()
    batch, counts = ours.encode_arrow_counted(array)
    expected = [None if text is None else small_hf.encode(text).ids for text in TEXTS]
    batch.validate(full=True)
    assert batch.schema == pa.schema({"input_ids": LIST})
    assert batch.column("input_ids").to_pylist() == expected
    assert ours.encode_arrow(array) == batch
    given_ids = [number for ids in expected for number in ids or ()]
    assert counts == bw.Counts(
        documents=len(TEXTS),
        nulls=2,
        bytes=sum(len(data or b"") for data in BYTES),
        tokens=len(given_ids),
        unknowns=given_ids.count(small.VOCABULARY.index("[UNK]")),
        invalid=0,
    )


class Stream:
    """What other libraries give: an object that knows the Arrow protocol, and nothing else."""

    def __init__(self, array: pa.Array | pa.ChunkedArray) -> None:
        self._array = array


class ArrayOnly(Stream):
    def __arrow_c_array__(self, requested_schema: object = None) -> object:
        return self._array.__arrow_c_array__(requested_schema)


class StreamOnly(Stream):
    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._array.__arrow_c_stream__(requested_schema)


def test_objects_of_other_libraries(ours: bw.Tokenizer) -> None:
    expected = ours.encode_arrow(pa.array(TEXTS))
    assert ours.encode_arrow(ArrayOnly(pa.array(TEXTS))) == expected
    assert ours.encode_arrow(StreamOnly(pa.chunked_array([TEXTS[:3], TEXTS[3:]]))) == expected


EMPTY = [
    pa.array([], pa.string()),
    pa.array([], pa.null()),
    pa.chunked_array([], pa.string()),
    pa.chunked_array([[], []], pa.large_string()),
    pa.array([], pa.dictionary(pa.int32(), pa.string())),
    pa.chunked_array([], pa.dictionary(pa.int32(), pa.string())),
]


@pytest.mark.parametrize("array", EMPTY, ids=lambda array: f"{type(array).__name__} {array.type}")
def test_no_texts_give_no_rows(ours: bw.Tokenizer, array: Any) -> None:
    batch, counts = ours.encode_arrow_counted(array)
    assert (batch.num_rows, batch.schema, counts) == (0, pa.schema({"input_ids": LIST}), bw.Counts())


@pytest.mark.parametrize(
    "array",
    [pa.nulls(3), pa.nulls(3, pa.string()), pa.nulls(3, pa.dictionary(pa.int8(), pa.string()))],
    ids=lambda array: str(array.type),
)
def test_nothing_but_nulls(ours: bw.Tokenizer, array: pa.Array) -> None:
    batch, counts = ours.encode_arrow_counted(array)
    assert batch.column("input_ids").to_pylist() == [None] * 3
    assert counts == bw.Counts(documents=3, nulls=3)


def test_what_lies_under_a_null_is_not_read(strict: bw.Tokenizer) -> None:
    texts = pa.array([b"a", b"\xff\xfe", b"b"], pa.binary())
    masked = pa.Array.from_buffers(pa.string(), 3, [pa.py_buffer(b"\x05"), *texts.buffers()[1:]])
    batch, counts = strict.encode_arrow_counted(masked)
    assert batch.column("input_ids").to_pylist() == [strict.encode("a").ids, None, strict.encode("b").ids]
    assert (counts.nulls, counts.bytes, counts.invalid) == (1, 2, 0)


INVALID = [b"a", b"a\xffb", None, b"\xe4\xb8", b"a\xffb", b"b"]


@pytest.mark.parametrize("encode", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string()], ids=str)
def test_text_that_is_not_utf8(ours: bw.Tokenizer, strict: bw.Tokenizer, kind: pa.DataType, encode: bool) -> None:
    array = pa.chunked_array([pa.array(INVALID[:1], pa.binary()), pa.array(INVALID[1:], pa.binary())])
    if pa.types.is_string(kind):
        array = pa.chunked_array([chunk.view(kind) for chunk in array.chunks])
    array = array.cast(kind) if pa.types.is_large_binary(kind) else array
    array = array.dictionary_encode() if encode else array
    batch, counts = ours.encode_arrow_counted(array)
    replaced = [None if data is None else ours.encode(data.decode("utf-8", "replace")).ids for data in INVALID]
    assert batch.column("input_ids").to_pylist() == replaced
    assert (counts.documents, counts.nulls, counts.invalid, counts.bytes) == (6, 1, 3, 10)
    with pytest.raises(bw.TextError) as caught:
        strict.encode_arrow(array)
    advice = 'repair it, or give errors="replace" to read each bad part as U+FFFD.'
    assert str(caught.value) == f"The text in row 1 is not UTF-8 at byte 1; {advice}"
    assert caught.value.row == 1
    assert isinstance(caught.value, bw.InputError)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (pa.array([1, 2]), "int64 is not text"),
        (pa.array([["a"]]), "list<item: string> is not text"),
        (pa.array([1, 1]).dictionary_encode(), "int64 is not text"),
        (pa.array([b"ab"], pa.binary(2)), r"fixed_size_binary\[2\] is not text"),
        (pa.table({"text": ["a"]}), "give one column of the table"),
        (pa.record_batch({"text": ["a"]}), "give one column of the table"),
        (["a", "b"], "has to be an Arrow array, not list; make one with"),
        ("a", "has to be an Arrow array, not str"),
        (None, "has to be an Arrow array, not NoneType"),
    ],
    ids=str,
)
def test_what_is_no_text_is_refused_by_type(ours: bw.Tokenizer, array: Any, message: str) -> None:
    with pytest.raises(bw.InputError, match=message):
        ours.encode_arrow(array)


@pytest.mark.parametrize("offsets", [(0, -64, 4), (0, 5, 4), (0, 2, 1000), (-4, 0, 4), (0, 1 << 30, 4)], ids=str)
@pytest.mark.parametrize("kind", [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()], ids=str)
def test_malformed_offsets_are_an_error(ours: bw.Tokenizer, offsets: tuple[int, ...], kind: pa.DataType) -> None:
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    numbers = np.array([0, 2, 4], np.int64 if wide else np.int32)
    array = pa.Array.from_buffers(kind, 2, [None, pa.py_buffer(numbers), pa.py_buffer(b"abcd")])
    # Over the finished array, whose maker checks a part of it.
    numbers[:] = offsets
    with pytest.raises(bw.InputError):
        ours.encode_arrow(array)


def test_dictionary_indices_out_of_range_are_an_error(ours: bw.Tokenizer) -> None:
    for index in (7, -1):
        array = pa.DictionaryArray.from_arrays(pa.array([0, index]), pa.array(["a"]), safe=False)
        with pytest.raises(bw.InputError, match="malformed"):
            ours.encode_arrow(array)


def test_dictionary_rows_that_overflow_become_large(ours: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beam_wordpiece.arrow_text.LIST_LIMIT", 7)
    array = pa.array(["a b", "a b", None]).dictionary_encode()
    assert ours.encode_arrow(array).schema == pa.schema({"input_ids": pa.large_list(pa.int32())})
    assert ours.encode_arrow(array).column("input_ids").to_pylist() == [ours.encode("a b").ids] * 2 + [None]
    assert ours.encode_arrow(array[1:]).schema == pa.schema({"input_ids": LIST})


def test_the_kernel_is_called_once(ours: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[list[int]] = []

    class Counting:
        def __init__(self, encoder: Any) -> None:
            self.encoder = encoder

        def encode_arrow(self, arrays: list[pa.Array]) -> Any:
            calls.append([len(array) for array in arrays])
            return self.encoder.encode_arrow(arrays)

    monkeypatch.setattr(ours, "_encoder", Counting(ours._encoder))
    ours.encode_arrow(pa.chunked_array([["a"], [], ["b", "a"]]))
    ours.encode_arrow(pa.chunked_array([["a", "b", "a"], ["b", None]]).dictionary_encode())
    assert calls == [[1, 0, 2], [2]]


def test_counts_add_up() -> None:
    counts = bw.Counts(1, 2, 3, 4, 5, 6)
    assert counts + counts == sum([counts, counts], bw.Counts()) == bw.Counts(2, 4, 6, 8, 10, 12)
    with pytest.raises(TypeError):
        counts + 1  # type: ignore[operator]


@given(texts=st.lists(st.none() | st.text(st.sampled_from("abcat .'\u00e9\u4e2d"), max_size=12), max_size=8))
def test_arrays_and_single_texts_agree(ours: bw.Tokenizer, texts: list[str | None]) -> None:
    for array in (pa.array(texts, pa.string()), pa.array(texts, pa.string()).dictionary_encode()):
        rows = ours.encode_arrow(array).column("input_ids").to_pylist()
        assert rows == [None if text is None else ours.encode(text).ids for text in texts]
