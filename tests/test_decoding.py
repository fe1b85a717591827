"""From ids back: what they are called, and the text that they are, as HF has both."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

import beam_wordpiece as bw
from beam_wordpiece.vocab_source import load_source
from tests import oracle, small
from tests.strategies import TextProblem, text_problems


@given(ids=st.lists(st.integers(0, len(small.VOCABULARY) + 5), max_size=12), skip=st.booleans())
def test_decoding_is_hf_decoding(ours: bw.Tokenizer, small_hf: Tokenizer, ids: list[int], skip: bool) -> None:
    assert ours.decode(ids, skip_special_tokens=skip) == small_hf.decode(ids, skip_special_tokens=skip)


@pytest.mark.parametrize(
    "decoder",
    [
        None,
        {"type": "WordPiece", "prefix": "##", "cleanup": False},
        {"type": "WordPiece", "prefix": "", "cleanup": True},
        {"type": "WordPiece", "prefix": "a", "cleanup": True},
    ],
    ids=str,
)
def test_every_decoder_is_hf_decoder(tmp_path: Path, decoder: dict[str, Any] | None) -> None:
    content = small.document()
    content["decoder"] = decoder
    names = ["do not", "n't", "'m", "'s", "'ve", "'re", "' ", "[x]", "a .", "##", "##a ? !"]
    content["added_tokens"] += [small.added(name, len(small.VOCABULARY) + i) for i, name in enumerate(names)]
    hf, tokenizer = oracle.load(tmp_path / "tokenizer.json", json.dumps(content))
    size = hf.get_vocab_size()
    for shift in range(size):
        ids = [(shift + step * step) % size for step in range(12)]
        assert tokenizer.decode(ids) == hf.decode(ids)


def test_what_can_be_decoded(ours: bw.Tokenizer) -> None:
    ids = ours.encode_arrow(pa.array(["unaffable cats"])).column("input_ids")
    for form in (
        ids.values,
        ids[0],
        pa.chunked_array([ids.values]),
        ids.values.to_numpy(),
        iter(ids.values.to_pylist()),
    ):
        assert ours.decode(form) == "unaffable cats"
    assert ours.decode([1 << 40]) == ""
    with pytest.raises(bw.InputError, match="-1 is not the id of a token"):
        ours.decode([-1])
    with pytest.raises(TypeError):
        ours.decode(["a"])  # type: ignore[list-item]


def test_the_cases_of_decoding(shared: Path) -> None:
    lines = (shared / "cases" / "cases.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["config"].get("task") == "decode"]
    assert cases
    for case in cases:
        automaton = bw.Automaton.compile(shared / "vocabs" / case["config"]["vocab"])
        assert [bw.Tokenizer(automaton).decode(ids) for ids in case["input"]] == case["expected"]


@given(text_problems())
def test_tokens_are_called_as_in_hf(tmp_path_factory: pytest.TempPathFactory, problem: TextProblem) -> None:
    """Any options, added tokens with any flags: those that are found in normalized text are called so."""
    path = tmp_path_factory.getbasetemp() / "any.json"
    try:
        hf, tokenizer = oracle.load(path, oracle.tokenizer_json(**problem.options))
    except bw.VocabularyError:
        return
    size = hf.get_vocab_size()
    assert [tokenizer.automaton.token(id) for id in range(size)] == [hf.id_to_token(id) for id in range(size)]
    for skip in (True, False):
        assert tokenizer.decode(range(size), skip_special_tokens=skip) == hf.decode(
            [*range(size)], skip_special_tokens=skip
        )


def test_an_added_token_is_called_as_it_is_found(tmp_path: Path) -> None:
    """And is what it was where the vocabulary is written again, also where the vocabulary itself has it."""
    content = small.document()
    size = len(small.VOCABULARY)
    content["added_tokens"] += [
        small.added("COVID-19", size, normalized=True),
        small.added("\u00c9t\u00e9 \u4e2d", size + 1, normalized=True),
        small.added("NaCl", size + 2),
        small.added("Cat", small.VOCABULARY.index("Cat"), normalized=True),
    ]
    hf, tokenizer = oracle.load(tmp_path / "tokenizer.json", json.dumps(content))
    text = "covid-19 NaCl ETE\u4e2d Covid-19 \u00e9t\u00e9 \u4e2d"
    assert tokenizer.encode(text).tokens == hf.encode(text).tokens
    assert hf.id_to_token(size) == "covid-19"
    names = ["covid-19", "ete  \u4e2d ", "NaCl"]
    assert [tokenizer.automaton.token(size + i) for i in range(3)] == names
    assert tokenizer.decode(range(size, size + 3)) == hf.decode([*range(size, size + 3)]) == " ".join(names)
    assert tokenizer.automaton.id("COVID-19") == hf.token_to_id("COVID-19") == size
    assert tokenizer.automaton.id("covid-19") is hf.token_to_id("covid-19") is None
    tokenizer.automaton.save(tmp_path / "automaton.bwp")
    again, given = load_source(str(tmp_path / "automaton.bwp")), bw.load_vocabulary(tmp_path / "tokenizer.json")
    assert isinstance(again, bw.Vocabulary)
    assert (again.tokens, again.added_tokens) == (given.tokens, given.added_tokens)
