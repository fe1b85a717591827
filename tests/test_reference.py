"""The reference against the paper's example, and against HF's WordPiece model where the rules are easily got wrong."""

import pytest
from tokenizers.models import WordPiece

from beam_wordpiece.reference import LinMaxMatch, Node, max_match

PAPER = ["a", "abcdx", "##b", "##c", "##cdy", "##dz"]


def hf_word(vocabulary: list[str], indicator: str, word: str, limit: int = 100) -> list[str] | None:
    """HF's tokens of a word; None for [UNK], which must not be in `vocabulary`."""
    assert "[UNK]" not in vocabulary
    ids = {token: number for number, token in enumerate(dict.fromkeys([*vocabulary, "[UNK]"]))}
    model = WordPiece(ids, unk_token="[UNK]", continuing_subword_prefix=indicator, max_input_chars_per_word=limit)
    tokens = [token.value for token in model.tokenize(word)]
    return None if tokens == ["[UNK]"] else tokens


def node(root: Node, path: str) -> Node:
    for c in path:
        root = root.edges[c]
    return root


def test_the_papers_example() -> None:
    assert LinMaxMatch(PAPER).tokenize_word("abcdz") == ["a", "##b", "##c", "##dz"]
    assert max_match(PAPER, "abcdz") == ["a", "##b", "##c", "##dz"]


@pytest.mark.parametrize(
    ("path", "pops", "link"),
    [
        ("a", ["a"], ""),
        ("ab", ["a"], "b"),
        ("abc", ["a", "##b"], "c"),
        ("abcd", ["a", "##b"], "cd"),
        ("abcdx", ["abcdx"], ""),
    ],
)
def test_failure_pops_and_links_of_the_papers_example(path: str, pops: list[str], link: str) -> None:
    matcher = LinMaxMatch(PAPER)
    found = node(matcher.r, path)
    assert (found.F, found.f) == (pops, node(matcher.r_sharp, link))


def test_failure_link_is_null_where_popping_gets_stuck() -> None:
    matcher = LinMaxMatch(PAPER)
    assert node(matcher.r_sharp, "d").f is None
    assert node(matcher.r_sharp, "d").F == []
    assert matcher.r.f is None
    assert matcher.r_sharp.f is None


@pytest.mark.parametrize(
    ("vocabulary", "indicator", "word", "tokens"),
    [
        # Greedy: no going back for a split that would have worked.
        (["ab", "abc", "##cd", "##de"], "##", "abcd", None),
        (["ab", "abc", "##cd", "##de"], "##", "abcde", ["abc", "##de"]),
        # Not the longest suffix on the trie: Aho-Corasick's link would go from abcd to ##dz's node.
        (PAPER, "##", "abcdy", ["a", "##b", "##cdy"]),
        (PAPER, "##", "abcd", None),
        # An empty indicator: a piece may stand anywhere.
        (["a", "b", "ab"], "", "abba", ["ab", "b", "a"]),
        (["a"], "", "ab", None),
        # A word that begins with the indicator is matched as it is written, and is no continuation.
        (["@b"], "@", "@b", ["@b"]),
        (["@b"], "@", "@bb", ["@b", "@b"]),
        (["@", "@bc"], "@", "@bc", ["@bc"]),
        (["@", "@bcd"], "@", "@bc", None),
        (["@", "@b"], "@", "@@b", None),
        # The indicator itself as a token matches at the start only, where it is written.
        (["##", "##a"], "##", "##", ["##"]),
        (["##", "a"], "##", "a##", None),
        (["#", "###"], "##", "##", ["#", "###"]),
        (["a", "aa"], "a", "aaaa", ["aa", "aa", "aa"]),
        # Empty words and tokens.
        (["a", ""], "##", "", []),
        (["a", "", "##"], "##", "ab", None),
    ],
)
def test_traps(vocabulary: list[str], indicator: str, word: str, tokens: list[str] | None) -> None:
    assert LinMaxMatch(vocabulary, indicator).tokenize_word(word) == tokens
    assert max_match(vocabulary, word, indicator) == tokens
    assert hf_word(vocabulary, indicator, word) == tokens


@pytest.mark.parametrize("letter", ["a", "é", "語", "😀"])
def test_the_word_limit_counts_characters(letter: str) -> None:
    vocabulary = [letter, "##" + letter]
    for length, limit in ((100, 100), (101, 100), (3, 3), (4, 3), (1, 0)):
        expected = [letter, *["##" + letter] * (length - 1)] if length <= limit else None
        assert LinMaxMatch(vocabulary, "##", limit).tokenize_word(letter * length) == expected
        assert max_match(vocabulary, letter * length, "##", limit) == expected
        assert hf_word(vocabulary, "##", letter * length, limit) == expected
