"""Random vocabularies: the reference, the definition, HF and the kernel agree; and why the algorithm is linear."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tokenizers.normalizers import BertNormalizer

import beam_wordpiece as bw
from beam_wordpiece.checks import WHITE_SPACE
from beam_wordpiece.reference import LinMaxMatch, Node, max_match
from tests.oracle import assert_same_ids, load, tokenizer_json
from tests.strategies import TextProblem, WordProblem, text_problems, word_problems
from tests.test_reference import hf_word


class Counting(LinMaxMatch):
    """Counts the edges that are looked for: each is a step forward, or follows a failure link, or ends the word."""

    lookups = 0

    def delta(self, u: Node, c: str) -> Node | None:
        self.lookups += 1
        return super().delta(u, c)


@given(word_problems())
def test_reference_is_max_match_and_hf(problem: WordProblem) -> None:
    vocabulary, indicator, limit = problem.vocabulary, problem.suffix_indicator, problem.max_input_chars_per_word
    tokens = LinMaxMatch(vocabulary, indicator, limit).tokenize_word(problem.word)
    assert tokens == max_match(vocabulary, problem.word, indicator, limit)
    assert tokens == hf_word(vocabulary, indicator, problem.word, limit)


@given(word_problems())
def test_steps_are_linear_in_the_length_of_the_word(problem: WordProblem) -> None:
    """A failure link pops tokens and goes to a smaller depth, and only a character read makes the depth grow, by one.

    So there are at most as many links followed as characters read, and at most as many tokens popped.
    """
    matcher = Counting(problem.vocabulary, problem.suffix_indicator)
    matcher.lookups = 0
    tokens = matcher.tokenize_word(problem.word) or []
    the_one_that_ends_the_word = 1
    assert matcher.lookups + len(tokens) <= 3 * len(problem.word) + the_one_that_ends_the_word


@given(word_problems())
def test_failure_links_and_pops_spell_the_node(problem: WordProblem) -> None:
    """What is popped, followed by the node of the link, is the string of the node; the link is shallower."""
    matcher = LinMaxMatch(problem.vocabulary, problem.suffix_indicator)
    from_r_sharp = {id(v): path for path, v in paths(matcher.r_sharp)}
    for root in (matcher.r, matcher.r_sharp):
        for path, v in paths(root):
            if v.f is None:
                continue
            bare = [token.removeprefix(problem.suffix_indicator) for token in v.F]
            if root is matcher.r:
                bare[0] = v.F[0]
            assert "".join(bare) + from_r_sharp[id(v.f)] == path
            assert v.f.depth < v.depth


def paths(root: Node, path: str = "") -> list[tuple[str, Node]]:
    return [(path, root), *(found for c, v in root.edges.items() for found in paths(v, path + c))]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example writes its tokenizer.json."""
    return tmp_path_factory.mktemp("property") / "tokenizer.json"


@given(problem=word_problems())
def test_the_kernel_is_the_reference(file: Path, problem: WordProblem) -> None:
    """Words of letters go through normalization unchanged: what is left is the matcher."""
    vocabulary = list(dict.fromkeys([*problem.vocabulary, "[UNK]"]))
    content = tokenizer_json(
        vocabulary,
        lowercase=False,
        handle_chinese_chars=False,
        prefix=problem.suffix_indicator,
        max_chars=problem.max_input_chars_per_word,
    )
    file.write_text(content, encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file))
    matcher = LinMaxMatch(problem.vocabulary, problem.suffix_indicator, problem.max_input_chars_per_word)
    expected = []
    for word in split_punctuation(problem.word):
        expected += matcher.tokenize_word(word) or ["[UNK]"]
    assert tokenizer.encode(problem.word).tokens == expected


def split_punctuation(text: str) -> list[str]:
    for sign in "#@":
        text = text.replace(sign, f" {sign} ")
    return text.split()


@given(problem=text_problems())
def test_the_kernel_is_hf(file: Path, problem: TextProblem) -> None:
    content = tokenizer_json(**problem.options)
    if added_tokens_without_meaning(problem.options):
        file.write_text(content, encoding="utf-8")
        with pytest.raises(bw.VocabularyError, match="added token"):
            bw.Automaton.compile(file)
        return
    oracle, tokenizer = load(file, content)
    assert_same_ids(oracle, tokenizer, problem.texts)


def added_tokens_without_meaning(options: dict[str, Any]) -> bool:
    """Whether an added token is nothing or white space, or two are the same, where need be after normalization."""
    names = ("lowercase", "strip_accents", "clean_text", "handle_chinese_chars")
    normalizer = BertNormalizer(**{name: options[name] for name in names})
    patterns = [
        (token["normalized"], normalizer.normalize_str(token["content"]) if token["normalized"] else token["content"])
        for token in ({"normalized": False, **token} for token in options["added_tokens"])
    ]
    return len(set(patterns)) < len(patterns) or any(not pattern.strip(WHITE_SPACE) for _, pattern in patterns)
