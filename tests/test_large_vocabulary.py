"""Large vocabularies: exact in a hundred scripts, and linear in their characters whatever they are."""

import itertools
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import beam_wordpiece as bw
from benchmarks import large_vocabulary
from tests import oracle

# Characters of all tokens of the smaller vocabulary and of the larger one.
SMALL, LARGE = 50_000, 800_000


# A prime number of ideographs, so that all tokens of several differ.
PRIME = 20_011
# Tokens of one character, which pop one by one what is no token.
LETTERS = ["a", "b", "##a", "##b"]


def mixed(number: int, length: int) -> str:
    return "".join(random.Random(number).choices("ab", k=length))


def ideograph(number: int) -> str:
    return chr(0x4E00 + number % PRIME)


HOSTILE: dict[str, tuple[list[str], Callable[[int], str]]] = {
    # Each ends in all shorter ones.
    "a, aa, aaa": ([], lambda number: "a" * number),
    "the same within words": (["a"], lambda number: "##" + "a" * number),
    # Each of their prefixes pops as many tokens as it has characters.
    "near misses": (LETTERS, lambda number: f"{mixed(number, 500)}c"),
    "longer and longer near misses": (LETTERS, lambda number: f"{mixed(number, 20 * number)}c"),
    "near misses of one another": (LETTERS, lambda number: "a" * (7 * number) + "c"),
    "pops of tokens that nest": (
        ["a", *("##" + "b" * number for number in range(1, 40))],
        lambda number: f"a{'b' * number}c",
    ),
    "nothing shared": (
        [],
        lambda number: "".join(ideograph(number * step + number // PRIME) for step in (1, 7, 31, 101)),
    ),
}


def tokens_of(characters: int, kind: str) -> list[str]:
    """A vocabulary of this kind, of tokens that are made of their numbers until they have so many characters."""
    first, make = HOSTILE[kind]
    found = dict.fromkeys(["[UNK]", *first])
    for token in map(make, itertools.count(1)):
        found[token] = None
        characters -= len(token)
        if characters <= 0:
            break
    return list(found)


def compiled(tokens: list[str], tmp_path: Path) -> bw.Automaton:
    path = tmp_path / "vocab.txt"
    path.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
    return bw.Automaton.compile(path, max_input_chars_per_word=1 << 20, **large_vocabulary.OPTIONS)


@pytest.mark.parametrize("kind", HOSTILE)
def test_the_file_is_linear_in_the_characters(kind: str, tmp_path: Path) -> None:
    fixed = compiled(["[UNK]"], tmp_path).describe()["size"]
    sizes, pops = [], []
    for characters in (SMALL, LARGE):
        tokens = tokens_of(characters, kind)
        described = compiled(tokens, tmp_path).describe()
        assert sum(map(len, tokens)) < 1.1 * characters + 10_000
        sizes.append((described["size"] - fixed) / characters)
        pops.append(described["statistics"]["failure_pops"] / characters)
    assert sizes[1] < 1.5 * sizes[0]
    assert pops[1] < 1.5 * pops[0] + 0.01
    assert max(pops) < 4, "words of the pool for each character"


@pytest.mark.parametrize("kind", HOSTILE)
def test_words_of_hostile_vocabularies(kind: str, tmp_path: Path) -> None:
    """What is linear is right too: HuggingFace has the same ids."""
    tokens = tokens_of(20_000, kind)
    hf, tokenizer = oracle.load(tmp_path / "tokenizer.json", oracle.tokenizer_json(tokens, max_chars=1_000))
    source = random.Random(6)
    words = [token.removeprefix("##") for token in tokens]
    texts = [*words, *(word[: source.randrange(len(word))] + source.choice("abcd") for word in words)]
    texts += [first + second for first, second in zip(words, source.sample(words, len(words)), strict=True)]
    assert oracle.assert_same_ids(hf, tokenizer, texts) == len(texts)


@pytest.mark.parametrize("count", [20_000, pytest.param(1_000_000, marks=pytest.mark.timeout(600))])
def test_a_vocabulary_in_a_hundred_scripts(count: int, tmp_path: Path, full: bool) -> None:
    if count > 20_000 and not full:
        pytest.skip("compiles for a while: BEAM_WORDPIECE_FULL=1")
    tokens = large_vocabulary.vocabulary(count)
    assert len(large_vocabulary.scripts()) == 100
    assert (len(tokens), len(set(tokens))) == (count, count)
    path = tmp_path / "tokenizer.json"
    path.write_text(oracle.tokenizer_json(tokens, **large_vocabulary.OPTIONS), encoding="utf-8")
    hf, automaton = oracle.hf_tokenizer(path), bw.Automaton.compile(path)
    automaton.save(tmp_path / "large.bwp")
    tokenizer = bw.Tokenizer(bw.Automaton.open(tmp_path / "large.bwp"))
    texts = large_vocabulary.documents(tokens, 2_000)
    assert oracle.assert_same_ids(hf, tokenizer, texts) == 2_000
    ids = list(itertools.chain.from_iterable(oracle.our_ids(tokenizer, texts)))
    assert ids.count(tokens.index("[UNK]")) < len(ids) / 100
    assert len(set(ids)) > min(count, 100_000) / 4


def test_what_measuring_says(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    large_vocabulary.main(["--tokens", "2000"])
    measured = json.loads(capsys.readouterr().out)
    assert measured["tokens"] == 2_000
    assert measured["bytes_per_token"] == round(measured["size"] / 2_000, 1)
    assert sum(measured["percent_of_size"].values()) == pytest.approx(100, abs=0.1)
    assert min(measured[name] for name in ("compile", "open", "speed")) > 0


# What `describe` says ------------------------------------------------------------------------------------------------


def test_the_parts_of_a_file(automaton: bw.Automaton) -> None:
    described = automaton.describe()
    sections, percent, size = described["sections"], described["percent_of_size"], described["size"]
    nodes, pops = sections["trie: nodes and failure links"], sections["failure pops"]
    assert percent["failure links"] == pytest.approx(25 * nodes / size, abs=0.01)
    assert percent["failure pops"] == pytest.approx((25 * nodes + 100 * pops) / size, abs=0.01)
    assert percent["trie"] > percent["failure links"]
    assert sum(percent.values()) == pytest.approx(100, abs=0.1)
    assert described["bytes_per_token"] == round(size / automaton.vocab_size, 1)
    assert described["statistics"]["bytes"] == size == len(automaton.to_bytes())


def test_the_parts_of_other_files(tokenizer_json: Path) -> None:
    transducer = bw.Automaton.compile(tokenizer_json, layout="transducer").describe()["percent_of_size"]
    assert transducer["transitions"] > 50
    assert "failure links" not in transducer
    dictionary = bw.Dictionary([f"{number:x}:{number}" for number in range(5_000)]).describe()
    assert dictionary["percent_of_size"]["metadata"] > 1
    assert dictionary["bytes_per_token"] == round(dictionary["size"] / 5_000, 1)
    assert bw.Dictionary([]).describe()["bytes_per_token"] is None
