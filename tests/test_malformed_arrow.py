"""Arrow arrays that no well-behaved producer makes: an error by name, never a look outside their buffers."""

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tokenizers import Tokenizer

import beam_wordpiece as bw
from tests import small

TEXT = b"unaffable cat"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> bw.Tokenizer:
    vocab = tmp_path_factory.mktemp("malformed") / "vocab.txt"
    vocab.write_text("[UNK]\ncat\nunaffable\n", encoding="utf-8")
    return bw.Tokenizer(bw.Automaton.compile(vocab))


def offsets(*values: int) -> pa.Buffer:
    return pa.py_buffer(struct.pack(f"<{len(values)}i", *values))


def strings(*values: int) -> pa.Array:
    return pa.Array.from_buffers(pa.string(), len(values) - 1, [None, offsets(*values), pa.py_buffer(TEXT)])


def dictionary(values: pa.Array, *indices: int) -> pa.Array:
    kind = pa.dictionary(pa.int32(), values.type)
    return pa.DictionaryArray.from_buffers(kind, len(indices), [None, offsets(*indices)], values)


def view(length: int, buffer: int, offset: int) -> pa.Array:
    one = pa.py_buffer(struct.pack("<i4sii", length, b"unaf", buffer, offset))
    return pa.Array.from_buffers(pa.string_view(), 1, [None, one, pa.py_buffer(TEXT)])


@pytest.mark.parametrize(
    "array",
    [
        strings(0, 8, 3, 13),
        strings(0, -64, 4, 13),
        view(100, 0, 0),
        view(20, 0, 500),
        view(20, 7, 0),
        view(-20, 0, 0),
        view((1 << 31) - 1, 0, 0),
        dictionary(strings(0, 8, 3, 9), 0, 1, 2),
        dictionary(strings(0, 9, 13), 0, 5),
        dictionary(strings(0, 9, 13), 0, -1),
    ],
)
def test_offsets_outside_the_buffers_are_an_error(tokenizer: bw.Tokenizer, array: pa.Array) -> None:
    with pytest.raises(bw.InputError, match="malformed"):
        tokenizer.encode_arrow(array)


def test_an_empty_array_needs_no_offsets(tokenizer: bw.Tokenizer) -> None:
    array = pa.Array.from_buffers(pa.string(), 0, [None, None, pa.py_buffer(TEXT)])
    assert tokenizer.encode_arrow(array).num_rows == 0


@pytest.mark.parametrize("given", [None, (), (1, 2)])
def test_an_object_that_only_claims_to_be_an_array(tokenizer: bw.Tokenizer, given: Any) -> None:
    class Claim:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return given

    with pytest.raises(bw.InputError, match="Claim"):
        tokenizer.encode_arrow(Claim())


def test_a_token_that_is_the_replacement_character(tmp_path: Path) -> None:
    """Invalid bytes are read as U+FFFD, also where an added token is looked for."""
    path = tmp_path / "tokenizer.json"
    mark = small.added("\ufffd", len(small.VOCABULARY))
    content = small.document()
    content["added_tokens"].append(mark)
    tokenizer = bw.Tokenizer(bw.Automaton.compile(small.write(path, content)), add_special_tokens=False)
    texts = [b"a \xff b", "a \ufffd b".encode(), b"a"]
    batch, counts = tokenizer.encode_arrow_counted(pa.array(texts, pa.binary()))
    hf = Tokenizer.from_file(str(path))
    expected = [hf.encode(text.decode(errors="replace"), add_special_tokens=False).ids for text in texts]
    assert batch.column(0).to_pylist() == expected
    assert mark["id"] in expected[0]
    assert counts.invalid == 1
