"""Text that is not split into words: the reference, the definition and the kernel agree, on what HF normalizes."""

import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import Unigram
from tokenizers.normalizers import BertNormalizer

import beam_wordpiece as bw
from beam_wordpiece.reference import UNKNOWN_CHARACTER, Node, StretchMatch, max_match_stretch
from tests.oracle import SPECIAL_TOKENS, tokenizer_json
from tests.small import STRETCHES
from tests.strategies import TextProblem, WordProblem, text_problems, word_problems
from tests.test_property import added_tokens_without_meaning, paths
from tests.texts import random_texts

Load = Callable[..., bw.Tokenizer]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """A function that makes a tokenizer without word splitting, of the keywords of `tokenizer_json`."""
    path = tmp_path_factory.mktemp("stretch") / "tokenizer.json"

    def load(vocabulary: Sequence[str], **keywords: Any) -> bw.Tokenizer:
        path.write_text(tokenizer_json(list(dict.fromkeys([*vocabulary, "[UNK]"])), **keywords), encoding="utf-8")
        return bw.Tokenizer(bw.Automaton.compile(path, **STRETCHES))

    return load


def named(tokens: Sequence[str]) -> list[str]:
    return ["[UNK]" if token == UNKNOWN_CHARACTER else token for token in tokens]


KNOWN = [
    ("cat catalog a log", "", "catalog", ["catalog"]),
    ("cat s c", "", "cats!", ["cat", "s", "[UNK]"]),
    ("a ab abc c", "", "abcab", ["abc", "ab"]),
    ("a ab abc c", "", "abd", ["ab", "[UNK]"]),
    ("aaa a", "", "aaaa", ["aaa", "a"]),
    # Greedy: no going back for a cut that would have left nothing unknown.
    ("abc ab cd", "", "abcd", ["abc", "[UNK]"]),
    # What was begun and is no token comes apart from its front.
    ("abcdx bc", "", "abcdy", ["[UNK]", "bc", "[UNK]", "[UNK]"]),
    # Only the first token of a stretch stands without the indicator, also behind unknown characters.
    ("ab ##b ##ab", "##", "abab", ["ab", "##ab"]),
    ("ab ##b", "##", "abab", ["ab", "[UNK]", "##b"]),
    ("ab ##b", "##", "xab", ["[UNK]", "[UNK]", "##b"]),
    ("ab ##b", "##", "##b", ["##b"]),
    ("a", "", "", []),
]


@pytest.mark.parametrize(("vocabulary", "indicator", "text", "tokens"), KNOWN)
def test_known_answers(load: Load, vocabulary: str, indicator: str, text: str, tokens: list[str]) -> None:
    assert named(max_match_stretch(vocabulary.split(), text, indicator)) == tokens
    assert named(StretchMatch(vocabulary.split(), indicator).tokenize_stretch(text)) == tokens
    assert load(vocabulary.split(), prefix=indicator).encode(text).tokens == tokens


def test_white_space_and_the_spaces_around_ideographs_are_text(load: Load) -> None:
    vocabulary = ["a b", "a", " ", "中", " 中 ", "中文", "!"]
    options: dict[str, Any] = {"prefix": "", "handle_chinese_chars": True}
    assert load(vocabulary, **options).encode("A\tb中文 !").tokens == ["a b", " 中 ", " ", "[UNK]", " ", " ", "!"]
    options["handle_chinese_chars"] = False
    assert load(vocabulary, **options).encode("A\tb中文 !").tokens == ["a b", "中文", " ", "!"]


def test_the_unknown_token_written_in_the_text_is_a_token_of_several_characters(load: Load) -> None:
    tokenizer = load(["[UN", "K"], prefix="", lowercase=False)
    assert tokenizer.encode("[UNK]x[UNx").tokens == ["[UNK]", "[UNK]", "[UN", "[UNK]"]


def test_the_template_goes_around_and_added_tokens_begin_another_stretch(load: Load) -> None:
    added = [{"content": "<x>"}, {"content": "Y", "normalized": True}]
    tokenizer = load([*SPECIAL_TOKENS, "a", "##a", "##b"], added_tokens=added, template=True)
    assert tokenizer.encode("aa<x>aYab").tokens == ["[CLS]", "a", "##a", "<x>", "a", "y", "a", "##b", "[SEP]"]
    assert tokenizer.encode("<x><x>").tokens == ["[CLS]", "<x>", "<x>", "[SEP]"]


@given(word_problems())
def test_reference_is_the_definition(problem: WordProblem) -> None:
    vocabulary, indicator = problem.vocabulary, problem.suffix_indicator
    tokens = StretchMatch(vocabulary, indicator).tokenize_stretch(problem.word)
    assert tokens == max_match_stretch(vocabulary, problem.word, indicator)


@given(word_problems())
def test_only_roots_are_without_a_failure_link(problem: WordProblem) -> None:
    """What is popped are the tokens of the string of the node without that of its link."""
    matcher = StretchMatch(problem.vocabulary, problem.suffix_indicator)
    from_r_sharp = {id(v): path for path, v in paths(matcher.r_sharp)}
    assert matcher.r.f is None
    assert matcher.r_sharp.f is None
    for root in (matcher.r, matcher.r_sharp):
        for path, v in paths(root):
            if v is root:
                continue
            assert v.f is not None
            assert v.f.depth < v.depth
            rest = from_r_sharp[id(v.f)]
            assert path.endswith(rest)
            # The definition takes long for long strings.
            if len(path) < 30:
                assert max_match_from(matcher, root, problem, path.removesuffix(rest)) == v.F


def max_match_from(matcher: StretchMatch, root: Node, problem: WordProblem, text: str) -> list[str]:
    """The tokens of a text whose first token is matched from this root."""
    indicator = problem.suffix_indicator
    if root is matcher.r:
        return max_match_stretch(problem.vocabulary, text, indicator)
    # One unknown character in front, and the rest is matched from r#.
    front = "\0"
    return max_match_stretch(problem.vocabulary, front + text, indicator)[1:]


class Counting(StretchMatch):
    """Counts the edges that are looked for."""

    lookups = 0

    def delta(self, u: Node, c: str) -> Node | None:
        self.lookups += 1
        return super().delta(u, c)


@given(word_problems())
def test_steps_are_linear_in_the_length_of_the_text(problem: WordProblem) -> None:
    matcher = Counting(problem.vocabulary, problem.suffix_indicator)
    matcher.lookups = 0
    tokens = matcher.tokenize_stretch(problem.word)
    assert matcher.lookups + len(tokens) <= 3 * len(problem.word)


@given(problem=word_problems(), spaces=st.lists(st.integers(0, 24), max_size=3))
def test_the_kernel_is_the_reference(load: Load, problem: WordProblem, spaces: list[int]) -> None:
    text = problem.word
    for place in spaces:
        text = f"{text[:place]} {text[place:]}"
    options: dict[str, Any] = {"lowercase": False, "handle_chinese_chars": False, "prefix": problem.suffix_indicator}
    tokenizer = load(problem.vocabulary, max_chars=problem.max_input_chars_per_word, **options)
    matcher = StretchMatch(problem.vocabulary, problem.suffix_indicator)
    assert tokenizer.encode(text).tokens == named(matcher.tokenize_stretch(text))


class Oracle:
    """HF normalizes the text and finds the added tokens; each stretch between them is then matched naively.

    HF's Unigram model with nothing in its vocabulary gives a whole stretch as one unknown token.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        names = ("lowercase", "strip_accents", "clean_text", "handle_chinese_chars")
        self.options = {"lowercase": True, "strip_accents": None, "clean_text": True, "handle_chinese_chars": True}
        self.options |= {name: options[name] for name in names if name in options}
        self.vocabulary = list(dict.fromkeys([*options["vocabulary"], "[UNK]"]))
        self.prefix = options.get("prefix", "##")
        self.unknown = self.vocabulary.index("[UNK]")
        self.added = [{"normalized": False, **token} for token in options.get("added_tokens", [])]
        self.splitter = Tokenizer(Unigram([("\0nothing", 0.0)], 0, False))
        self.splitter.normalizer = BertNormalizer(**self.options)
        self.splitter.add_tokens([AddedToken(**token) for token in self.added])

    def stretches(self, text: str) -> list[str | int]:
        """The stretches of normalized text, and the numbers of the added tokens between them."""
        found = self.splitter.encode(text, add_special_tokens=False)
        return [number - 1 if number else token for number, token in zip(found.ids, found.tokens, strict=True)]

    def ids(self, text: str) -> list[int]:
        ids = {token: number for number, token in enumerate(self.vocabulary)}
        for token in self.added:
            ids.setdefault(token["content"], len(ids))
        found = []
        for stretch in self.stretches(text):
            if isinstance(stretch, int):
                found.append(ids[self.added[stretch]["content"]])
                continue
            tokens = max_match_stretch(self.vocabulary, stretch, self.prefix)
            found += [self.unknown if token == UNKNOWN_CHARACTER else ids[token] for token in tokens]
        return found


def our_ids(tokenizer: bw.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    without = bw.Tokenizer(tokenizer.automaton, add_special_tokens=False)
    rows: list[list[int]] = without.encode_arrow(pa.array(texts, pa.string())).column("input_ids").to_pylist()
    assert [without.encode(text).ids for text in texts] == rows
    return rows


@given(problem=text_problems())
def test_the_kernel_is_naive_matching_of_what_hf_normalizes(load: Load, problem: TextProblem) -> None:
    # White space that an added token takes is refused, see below.
    added = [{**token, "lstrip": False, "rstrip": False} for token in problem.options["added_tokens"]]
    options = {**problem.options, "added_tokens": added}
    if added_tokens_without_meaning(options):
        return
    oracle, tokenizer = Oracle(options), load(**options)
    assert our_ids(tokenizer, problem.texts) == [oracle.ids(text) for text in problem.texts]


@pytest.mark.parametrize("handle_chinese_chars", [True, False])
@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize("prefix", ["", "##"])
def test_random_texts(load: Load, lowercase: bool, handle_chinese_chars: bool, prefix: str, full: bool) -> None:
    """The vocabulary is made of what HF makes of the texts, so that much of them is found."""
    normalizer = BertNormalizer(lowercase=lowercase, handle_chinese_chars=handle_chinese_chars)
    texts = list(random_texts(7, 20_000 if full else 800))
    vocabulary = parts([normalizer.normalize_str(text) for text in texts[: len(texts) // 2]], prefix)
    options = {"lowercase": lowercase, "handle_chinese_chars": handle_chinese_chars, "prefix": prefix}
    ids = {token: number for number, token in enumerate(vocabulary)}
    matcher = StretchMatch(vocabulary, prefix)
    expected = [named(matcher.tokenize_stretch(normalizer.normalize_str(text))) for text in texts]
    assert our_ids(load(vocabulary, **options), texts) == [[ids[token] for token in tokens] for tokens in expected]


def parts(texts: Sequence[str], prefix: str) -> list[str]:
    """Some strings of one to eight characters out of the texts, with the prefix and without, and the unknown token."""
    source = random.Random(5)
    found = {}
    for text in texts:
        for _ in range(len(text) // 3):
            start = source.randrange(len(text))
            found[source.choice(["", prefix]) + text[start : start + source.randint(1, 8)]] = None
    return list(found | {"[UNK]": None})


@pytest.mark.parametrize("unit", ["ab", "한글 각", "中文 a", "e\u0301\u302e\u1b44 x\n", "<x>ab"])
def test_long_texts_are_cut_into_chunks_without_a_trace(load: Load, unit: str) -> None:
    """Tokens of many lengths, also of half a syllable, lie across the ends of chunks."""
    options: dict[str, Any] = {"added_tokens": [{"content": "<x>"}], "prefix": ""}
    text = BertNormalizer(handle_chinese_chars=False).normalize_str(unit)
    repeated = text * 2_000
    vocabulary = [repeated[start : start + length] for start in range(len(text)) for length in (1, 2, 5, 7, 1_000)]
    options["vocabulary"] = list(
        dict.fromkeys(token for token in vocabulary if "x>" not in token and "<x" not in token)
    )
    options["handle_chinese_chars"] = False
    oracle, tokenizer = StretchOracle(options), load(**options)
    texts = [unit * 40_000, "z", unit * 7, unit[1:] * 20_000]
    assert our_ids(tokenizer, texts) == [oracle.ids(text) for text in texts]


class StretchOracle(Oracle):
    """The same by the reference, which is fast enough for long texts."""

    def ids(self, text: str) -> list[int]:
        vocabulary = [*self.vocabulary, *(token["content"] for token in self.added)]
        ids = {token: number for number, token in enumerate(vocabulary)}
        matcher = StretchMatch(self.vocabulary, self.prefix)
        found = []
        for stretch in self.stretches(text):
            tokens = [self.added[stretch]["content"]] if isinstance(stretch, int) else matcher.tokenize_stretch(stretch)
            found += [ids[token] for token in named(tokens)]
        return found


def test_no_limit_of_length_applies(load: Load) -> None:
    """Nor does one change the fingerprint, or the order of marks in a long run of them."""
    first, second = (load(["a", "\u302e\u1b44"], prefix="", max_chars=limit) for limit in (0, 100))
    assert first.automaton.fingerprint == second.automaton.fingerprint
    assert first.encode("a" * 300).tokens == ["a"] * 300
    marks = "\u1b44\u302e" * 300
    normalized = BertNormalizer().normalize_str(marks)
    assert first.encode(marks).tokens == named(max_match_stretch(["a", "\u302e\u1b44"], normalized, ""))


def test_splitting_is_part_of_the_meaning(load: Load, tmp_path: Path) -> None:
    unsplit = load(["a", "b"]).automaton
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(["a", "b", "[UNK]"]), encoding="utf-8")
    split = bw.Automaton.compile(path)
    assert split.fingerprint != unsplit.fingerprint
    assert bw.Automaton.compile(path, pretokenize=True, unknown="word").to_bytes() == split.to_bytes()
    unsplit.save(tmp_path / "unsplit.bwp")
    opened = bw.Automaton.open(tmp_path / "unsplit.bwp")
    assert (opened.options.pretokenize, opened.options.unknown) == (False, "character")
    assert bw.Tokenizer(opened).encode("a b").tokens == ["a", "[UNK]", "[UNK]"]


def test_what_there_is_not(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(["a", "[UNK]"], added_tokens=[{"content": "<x>", "rstrip": True}]), "utf-8")
    with pytest.raises(bw.ConfigError, match='pretokenize=False does not go with unknown="word"'):
        bw.Automaton.compile(path, pretokenize=False)
    with pytest.raises(bw.ConfigError, match='unknown has to be "word" or "character" or "run"'):
        bw.Automaton.compile(path, pretokenize=False, unknown="bytes")
    with pytest.raises(bw.ConfigError, match="pretokenize has to be true or false"):
        bw.Automaton.compile(path, pretokenize=None, unknown="character")
    with pytest.raises(bw.VocabularyError, match=r"tokenizer\.json: added token \"<x>\" \(id 2\).*white space.*rstrip"):
        bw.Automaton.compile(path, **STRETCHES)
    with pytest.raises(bw.VocabularyError, match="a sample is about words"):
        bw.Automaton.compile(path, sample=["a"], **STRETCHES)


def test_the_greatest_id_stands_for_an_unknown_character(tmp_path: Path) -> None:
    template = (bw.Automaton.compile(write_plain(tmp_path))).single
    for number, fits in (((1 << 28) - 2, True), ((1 << 28) - 1, False)):
        tokens = {"[UNK]": 0, "a": number}
        vocabulary = bw.Vocabulary(tokens, (), bw.Options(**STRETCHES), template, template, None, "by hand")
        if fits:
            assert bw.Tokenizer(bw.Automaton.compile(vocabulary)).encode("a!").ids == [number, 0]
            continue
        with pytest.raises(bw.VocabularyError, match="ids have to be below 268435455"):
            bw.Automaton.compile(vocabulary)


def write_plain(folder: Path) -> Path:
    path = folder / "tokenizer.json"
    path.write_text(tokenizer_json(["[UNK]"]), encoding="utf-8")
    return path
