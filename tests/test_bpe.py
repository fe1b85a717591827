"""Byte-pair encoding against HF's and against its definition, on random merges, and how many steps it takes."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers.models import BPE

import beam_wordpiece as bw
from beam_wordpiece import bpe
from beam_wordpiece.reference import merge_by_rank

# Few letters, so that pairs repeat, overlap and tie; the letters of prefix and suffix are among them.
ALPHABETS = ["a", "ab", "abc", "aé語", "a#"]
PREFIXES = ["", "", "##", "#", "a"]
SUFFIXES = ["", "", "</w>", "b"]
# A letter that no token has.
STRANGE = "x"


@dataclass(frozen=True)
class Problem:
    """`options`: keywords of both, those that ask for nothing left out, as HF wants it."""

    vocab: dict[str, int]
    merges: list[tuple[str, str]]
    options: dict[str, Any]
    words: list[str]

    @property
    def prefix(self) -> str:
        return str(self.options.get("continuing_subword_prefix", ""))


@st.composite
def problems(draw: st.DrawFn, whole: bool = False) -> Problem:
    """Merges of what is there or was merged before, also of unknown tokens, in any order, some of them twice.

    `whole`: the vocabulary has every letter, with prefix and suffix and without, and the words have no other.
    """
    alphabet = draw(st.sampled_from(ALPHABETS))
    prefix, suffix = draw(st.sampled_from(PREFIXES)), draw(st.sampled_from(SUFFIXES))
    letters = dict.fromkeys(p + c + s for c in alphabet for p in (prefix, "") for s in ("", suffix))
    tokens = list(letters) if whole else draw(st.lists(st.sampled_from(list(letters)), min_size=1, unique=True))
    options = {"continuing_subword_prefix": prefix, "end_of_word_suffix": suffix}
    if draw(st.booleans()):
        tokens.append("[UNK]")
        options |= {"unk_token": "[UNK]", "fuse_unk": draw(st.booleans())}
    merges = []
    for left, right in draw(st.lists(st.tuples(st.integers(0), st.integers(0)), max_size=30)):
        after = [token for token in tokens if token.startswith(prefix)]
        if after:
            merges.append((tokens[left % len(tokens)], after[right % len(after)]))
            merged = merges[-1][0] + merges[-1][1].removeprefix(prefix)
            tokens += [merged] * (merged not in tokens)
    merges = draw(st.permutations(merges))
    words = st.text(st.sampled_from(alphabet if whole else alphabet + STRANGE), max_size=30)
    unit = st.builds(
        lambda unit, count: unit * count, st.text(st.sampled_from(alphabet), max_size=3), st.integers(2, 12)
    )
    vocab = {token: 3 * number for number, token in enumerate(tokens)}
    asked = {name: value for name, value in options.items() if value}
    return Problem(vocab, merges, asked, draw(st.lists(st.one_of(words, unit), min_size=1, max_size=5)))


def in_bytes(word: str, offsets: tuple[int, int]) -> tuple[int, int]:
    """A range of characters as one of bytes, as HF's model has it."""
    start, end = (len(word[:place].encode()) for place in offsets)
    return start, end


@given(problems())
def test_tokens_are_those_of_hf(problem: Problem) -> None:
    ours = bw.BytePairEncoding(problem.vocab, problem.merges, **problem.options)
    hf = BPE(problem.vocab, problem.merges, **problem.options)
    for word in problem.words:
        found, expected = ours.tokenize(word), hf.tokenize(word)
        assert [(token.id, token.value) for token in found] == [(token.id, token.value) for token in expected]
        # HF counts bytes, and none for a character that is left out.
        if "unk_token" in problem.options:
            assert [in_bytes(word, token.offsets) for token in found] == [token.offsets for token in expected]


@given(problems(whole=True))
def test_tokens_are_those_of_the_definition(problem: Problem) -> None:
    ours = bw.BytePairEncoding(problem.vocab, problem.merges, **problem.options)
    suffix = problem.options.get("end_of_word_suffix", "")
    for word in problem.words:
        letters = [(problem.prefix if i else "") + c for i, c in enumerate(word)]
        letters[-1:] = [letter + suffix for letter in letters[-1:]]
        tokens = ours.tokenize(word)
        assert [token.value for token in tokens] == merge_by_rank(letters, problem.merges, problem.prefix)
        assert "".join(word[slice(*token.offsets)] for token in tokens) == word


@pytest.mark.parametrize(
    ("merges", "word", "tokens"),
    [
        # Overlaps: the leftmost of equal pairs, and what is left over.
        (["a a"], "aaa", ["aa", "a"]),
        (["a a", "aa aa"], "aaaaaaa", ["aaaa", "aa", "a"]),
        (["a a", "aa a"], "aaaaa", ["aa", "aaa"]),
        # Rank before place, and a pair that another merge takes away.
        (["b c", "a b"], "abc", ["a", "bc"]),
        (["a b", "b c"], "abc", ["ab", "c"]),
        (["b c", "a b"], "abab", ["ab", "ab"]),
        # A token is in the vocabulary, and no merge leads to it.
        ([], "abc", ["a", "b", "c"]),
        # Of a pair that stands twice the later place counts.
        (["a b", "b c", "a b"], "abc", ["a", "bc"]),
        (["a b", "b c"], "", []),
    ],
)
def test_traps(merges: list[str], word: str, tokens: list[str]) -> None:
    pairs = [(left, right) for left, right in (merge.split() for merge in merges)]
    vocab = {token: number for number, token in enumerate(dict.fromkeys([*"abc", "abc", *map("".join, pairs)]))}
    for model in (bw.BytePairEncoding(vocab, pairs), BPE(vocab, pairs)):
        assert [token.value for token in model.tokenize(word)] == tokens


def test_unknown_characters() -> None:
    vocab = {"a": 0, "?": 1}
    assert bw.BytePairEncoding(vocab, []).tokenize("xax") == [(0, "a", (1, 2))]
    one = bw.BytePairEncoding(vocab, [], unk_token="?")
    assert one.tokenize("xxa") == [(1, "?", (0, 1)), (1, "?", (1, 2)), (0, "a", (2, 3))]
    fused = bw.BytePairEncoding(vocab, [], unk_token="?", fuse_unk=True)
    assert fused.tokenize("xxax") == [(1, "?", (0, 2)), (0, "a", (2, 3)), (1, "?", (3, 4))]


@pytest.mark.parametrize(
    ("merge", "prefix", "message"),
    [
        (("a", "b"), "", "merge 0, 'a' and 'b': the token 'ab' is not in the vocabulary"),
        (("a", "c"), "", "the token 'c' is not"),
        (("c", "a"), "", "the token 'c' is not"),
        (("a", "b"), "##", "does not begin with '##'"),
    ],
)
def test_merges_that_cannot_be(merge: tuple[str, str], prefix: str, message: str) -> None:
    with pytest.raises(bw.VocabularyError, match=message):
        bw.BytePairEncoding({"a": 0, "b": 1}, [merge], continuing_subword_prefix=prefix)


def test_the_unknown_token_has_to_be_there() -> None:
    with pytest.raises(bw.ConfigError, match="unknown token '<unk>' is not in the vocabulary"):
        bw.BytePairEncoding({"a": 0}, [], unk_token="<unk>")


@pytest.mark.parametrize("unit", ["a", "ab", "aab", "abacabad"])
def test_heap_operations_are_linear(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heap of n entries takes O(log n) for each, so a word of n characters takes O(n log n)."""
    vocab = {token: number for number, token in enumerate("abcd")}
    merges = []
    while len(merges) < 200:
        found = bw.BytePairEncoding(vocab, merges).tokenize(unit * 512)
        if len(found) == 1:
            break
        merges.append((found[0].value, found[1].value))
        vocab.setdefault("".join(merges[-1]), len(vocab))
    operations = 0

    def counted(function: Any) -> Any:
        def count(*arguments: Any) -> Any:
            nonlocal operations
            operations += 1
            return function(*arguments)

        return count

    monkeypatch.setattr(bpe, "heappop", counted(bpe.heappop))
    monkeypatch.setattr(bpe, "heappush", counted(bpe.heappush))
    model = bw.BytePairEncoding(vocab, merges)
    for count in (64, 4096):
        word, operations = unit * count, 0
        tokens = model.tokenize(word)
        assert len(tokens) < len(word) / 32
        # n - 1 pairs are there at first, each of fewer than n merges adds two, and all are taken out again.
        assert 0 < operations <= 5 * len(word)
