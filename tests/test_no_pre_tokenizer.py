"""A tokenizer.json without a pre-tokenizer: HF takes the text between added tokens as one word, we as a stretch."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tokenizers import Tokenizer

import beam_wordpiece as bw
from tests import small
from tests.oracle import tokenizer_json
from tests.strategies import TextProblem, text_problems
from tests.test_property import added_tokens_without_meaning

Group = list[tuple[int, tuple[int, int]]]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example writes its tokenizer.json."""
    return tmp_path_factory.mktemp("null") / "tokenizer.json"


def groups(encoding: Any) -> list[Group]:
    """The ids with their offsets, those of a word, a stretch or an added token together."""
    placed = zip(encoding.word_ids, encoding.ids, encoding.offsets, strict=True)
    return [[(id, place) for _, id, place in group] for _, group in itertools.groupby(placed, lambda t: t[0])]


@given(problem=text_problems())
def test_what_hf_finds_is_found(file: Path, problem: TextProblem) -> None:
    """The same tokens, but where HF has no tokens for the whole, or it is longer than its limit: one [UNK] then."""
    added = [{**token, "lstrip": False, "rstrip": False} for token in problem.options["added_tokens"]]
    options = problem.options | {"added_tokens": added, "template": False}
    if added_tokens_without_meaning(options):
        return
    document = json.loads(tokenizer_json(**options)) | {"pre_tokenizer": None}
    file.write_text(json.dumps(document), encoding="utf-8")
    hf = Tokenizer.from_file(str(file))
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file, **small.STRETCHES))
    for text in problem.texts:
        expected, found = groups(hf.encode(text, add_special_tokens=False)), groups(tokenizer.encode(text))
        assert len(found) == len(expected)
        for theirs, ours in zip(expected, found, strict=True):
            if [id for id, _ in theirs] == [tokenizer.automaton.id("[UNK]")]:
                assert (ours[0][1][0], ours[-1][1][1]) == theirs[0][1]
            else:
                assert ours == theirs


def test_it_has_to_be_asked_for(file: Path) -> None:
    file.write_text(json.dumps(small.document() | {"pre_tokenizer": None}), encoding="utf-8")
    with pytest.raises(
        bw.VocabularyError, match=r"pre_tokenizer is null.*one word.*--pretokenize false --unknown char"
    ):
        bw.Automaton.compile(file)
    with pytest.raises(bw.VocabularyError, match="pre_tokenizer is null"):
        bw.Automaton.compile(file, unknown="character")
    with pytest.raises(bw.ConfigError, match='pretokenize=False does not go with unknown="word"'):
        bw.Automaton.compile(file, pretokenize=False)
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file, pretokenize=False, unknown="run"), add_special_tokens=False)
    assert tokenizer.encode("aab zz").tokens == ["a", "##a", "##b", "[UNK]"]
