"""Documents in pieces that are not UTF-8: what is no character is known only when what follows is there."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

import beam_wordpiece as bw
from tests.oracle import SPECIAL_TOKENS, tokenizer_json


@pytest.mark.parametrize("rules", [{}, {"--": "c"}])
def test_an_added_token_goes_on_with_what_turns_out_to_be_no_character(tmp_path: Path, rules: dict[str, str]) -> None:
    added = [{"content": "-\ufffd"}, {"content": "b\ufffd\ufffd"}]
    path = tmp_path / "tokenizer.json"
    vocabulary = [*SPECIAL_TOKENS, "a", "b", "c", "-", "中", "\ufffd"]
    path.write_text(tokenizer_json(vocabulary, added_tokens=added, clean_text=False), encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(path, rules=rules), add_special_tokens=False)
    for text in (
        b"a-\xe0b",
        b"a-\xe0\x80 b",
        b"a--\xe0b",
        b"-\xe0",
        b"b\xe0\xe0-",
        b"-\xf0\x9f\x98-\xf0\x9f\x98\x80b\xff\xe4\xb8",
    ):
        whole = tokenizer.encode_arrow(pa.array([text])).column("input_ids")[0].as_py()
        for cuts in itertools.combinations_with_replacement(range(len(text) + 1), 2):
            for offsets in (False, True):
                assert streamed_ids(tokenizer, text, cuts, offsets) == whole, (text, cuts)


def streamed_ids(tokenizer: bw.Tokenizer, text: bytes, cuts: Sequence[int], offsets: bool) -> list[int]:
    stream = bw.Stream(tokenizer, offsets=offsets)
    parts = [stream.feed(text[start:end]) for start, end in itertools.pairwise([0, *cuts, len(text)])]
    return [id for part in [*parts, stream.finish()] for id in part]
