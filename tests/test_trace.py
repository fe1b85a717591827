"""The steps that are shown are those of the kernel: a trace has the tokens of the encoding, at the same places."""

import itertools
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers.normalizers import BertNormalizer

import beam_wordpiece as bw
from beam_wordpiece.show.draw import everything
from beam_wordpiece.show.matching import matcher, tokens_in
from beam_wordpiece.show.split import split
from beam_wordpiece.show.subject import Subject, load_subject
from beam_wordpiece.show.trace import Step, trace
from beam_wordpiece.show.trie import Trie
from tests.oracle import tokenizer_json
from tests.segmentation import BYTES, PLAIN, spaced, texts_with_spaces, ways
from tests.small import STRETCHES
from tests.strategies import TextProblem, WordProblem, text_problems, word_problems
from tests.test_dictionary import WAYS, problems
from tests.test_dictionary_splits import SPLITS
from tests.test_property import added_tokens_without_meaning
from tests.test_rules import problems as rules_problems

# Steps are shown, and not taken by the kernel: it has tests of its own, and these are slow.
FEWER = settings(max_examples=2 * settings.default.max_examples // 5)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example writes its tokenizer.json."""
    return tmp_path_factory.mktemp("show") / "tokenizer.json"


def traced(tokenizer: bw.Tokenizer | bw.Dictionary, subject: Subject, text: str) -> None:
    """Assert that the trace of a text has the tokens, places and words of its encoding."""
    found = trace(subject, text)
    assert all(connected(part.steps) for part in found)
    if found and found[-1].refused is not None:
        with pytest.raises(bw.TextError, match=rf"\(U\+{ord(found[-1].refused):04X}\), which begins no token"):
            tokenizer.encode(text)
        return
    encoding = tokenizer.encode(text)
    assert [token.id for part in found for token in part.found] == encoding.ids
    if isinstance(tokenizer, bw.Tokenizer):
        assert [token.token for part in found for token in part.found] == encoding.tokens
    else:
        # What is unknown has an empty token in the encoding.
        tokens = [token.token for part in found for token in part.found]
        assert all(ours in (theirs, id) for ours, theirs, id in zip(tokens, encoding.tokens, encoding.ids, strict=True))
    words = itertools.groupby(range(len(encoding)), lambda i: encoding.word_ids[i])
    for (_, group), part in zip(words, found, strict=True):
        offsets = [encoding.offsets[i] for i in group]
        assert part.part.start == min(start for start, _ in offsets)
        assert part.part.end == max(end for _, end in offsets)


def connected(steps: tuple[Step, ...]) -> bool:
    """Whether each step begins where the one before has ended."""
    return all(before.to == after.node for before, after in itertools.pairwise(steps))


@FEWER
@given(problem=text_problems())
def test_a_trace_has_the_tokens_of_the_kernel(file: Path, problem: TextProblem) -> None:
    if added_tokens_without_meaning(problem.options):
        return
    file.write_text(tokenizer_json(**problem.options), encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file), add_special_tokens=False)
    subject = load_subject(str(file))
    for text in problem.texts:
        traced(tokenizer, subject, text)


@FEWER
@given(problem=text_problems())
def test_a_trace_of_text_that_is_not_split(file: Path, problem: TextProblem) -> None:
    added = [{**token, "lstrip": False, "rstrip": False} for token in problem.options["added_tokens"]]
    options = problem.options | {"added_tokens": added}
    if added_tokens_without_meaning(options):
        return
    file.write_text(tokenizer_json(**options), encoding="utf-8")
    automaton = bw.Automaton.compile(file, **STRETCHES)
    automaton.save(file.with_name("stretches.bwp"))
    subject = load_subject(str(file.with_name("stretches.bwp")))
    for text in problem.texts:
        traced(bw.Tokenizer(automaton, add_special_tokens=False), subject, text)


@FEWER
@given(problem=word_problems())
def test_a_trace_of_words_that_are_hard(file: Path, problem: WordProblem) -> None:
    vocabulary = list(dict.fromkeys(["[UNK]", *problem.vocabulary]))
    limit = problem.max_input_chars_per_word
    options: dict[str, Any] = {"prefix": problem.suffix_indicator, "max_chars": limit, "handle_chinese_chars": False}
    file.write_text(tokenizer_json(vocabulary, **options), encoding="utf-8")
    for keywords in ({}, STRETCHES):
        tokenizer = bw.Tokenizer(bw.Automaton.compile(file, **keywords), add_special_tokens=False)
        traced(tokenizer, load_subject(str(file), **keywords), problem.word)


NORMALIZERS = [
    {"lowercase": lowercase, "strip_accents": strip, "clean_text": clean, "handle_chinese_chars": clean}
    for lowercase, strip, clean in itertools.product([True, False], repeat=3)
]


@pytest.mark.timeout(14_400)
@pytest.mark.parametrize("options", NORMALIZERS, ids=str)
def test_words_are_shown_as_they_are_normalized(options: dict[str, bool], full: bool) -> None:
    """Every code point, those first that this Python does not know and the profile may."""
    template = (bw.vocab.Piece("A", None, 0),)
    settings = bw.Options(**options, **STRETCHES)
    vocabulary = bw.Vocabulary({"[UNK]": 0}, (), settings, template, template, None, "by hand")
    oracle = BertNormalizer(**options)
    for text in code_points(full):
        assert "".join(part.string for part in split(vocabulary, text)) == oracle.normalize_str(text)


def code_points(full: bool) -> Iterator[str]:
    """All code points, or some, in texts of a thousand, with spaces that keep marks apart."""
    known = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
    cased = [c for c in known if unicodedata.category(c) == "Cn" and BertNormalizer().normalize_str(c) != c]
    changed = [c for c in known[:0x3400] if unicodedata.category(c) != "Cn"]
    chosen = known if full else [*cased, *changed, *known[0xD7C0:0xD800], *known[0x3400::397]]
    for start in range(0, len(chosen), 1000):
        yield " ".join(chosen[start : start + 1000])


@FEWER
@given(problem=word_problems(), places=texts_with_spaces, data=st.data())
def test_a_trace_of_every_way_to_split(
    file: Path, problem: WordProblem, places: list[int], data: st.DataObject
) -> None:
    indicator = data.draw(st.sampled_from([problem.suffix_indicator, ""]))
    errors = [{"pretokenize": whole, "unknown": "error"} for whole in (False, True)]
    errors += [{**way, "segmentation": "fewest"} for way in errors]
    errors += [] if indicator else [{**way, "backward": True} for way in errors[:2]]
    way = data.draw(st.sampled_from([*ways(indicator), *errors]))
    vocabulary = list(
        dict.fromkeys(["[UNK]", *problem.vocabulary, *data.draw(st.lists(st.sampled_from(BYTES), min_size=1))])
    )
    options = {"prefix": indicator, "max_chars": problem.max_input_chars_per_word, **PLAIN}
    file.write_text(tokenizer_json(vocabulary, **options), encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file, **way), add_special_tokens=False)
    subject = load_subject(str(file), **way)
    text = spaced(problem.word, places)
    traced(tokenizer, subject, text)
    for part in trace(subject, text):
        taken = [rest for rest in part.table if rest.is_taken]
        ends = [rest.end for rest in taken]
        assert [rest.i for rest in taken] == [0, *ends][: len(taken)]
        assert not taken or ends[-1] == len(part.part.string)


@FEWER
@given(problem=rules_problems())
def test_a_trace_behind_transformation_rules(file: Path, problem: tuple[TextProblem, dict[str, str]]) -> None:
    file.write_text(tokenizer_json(**problem[0].options), encoding="utf-8")
    try:
        automaton = bw.Automaton.compile(file, rules=problem[1])
    except bw.VocabularyError:
        # Added tokens of which nothing is left, or that are alike after the rules.
        return
    subject = load_subject(str(file), rules=problem[1])
    for text in problem[0].texts:
        traced(bw.Tokenizer(automaton, add_special_tokens=False), subject, text)


@FEWER
@given(problem=problems(), unknown=st.sampled_from(WAYS), split=st.sampled_from([{}, *(way for way, _ in SPLITS)]))
def test_a_trace_of_a_dictionary(problem: tuple[list[str], list[str]], unknown: str, split: dict[str, Any]) -> None:
    entries, texts = problem
    dictionary = bw.Dictionary(entries, unknown=unknown, **split)
    subject = Subject.of_dictionary(dictionary, "by hand")
    for text in texts:
        traced(dictionary, subject, text)


@FEWER
@given(problem=word_problems(), other=st.text("ab#é語", max_size=12), backward=st.booleans(), stretch=st.booleans())
def test_the_part_for_a_text_is_that_of_the_whole(
    problem: WordProblem, other: str, backward: bool, stretch: bool
) -> None:
    """Of what is made for some texts, every node has the token, link and pops that it has in the whole automaton."""
    indicator = "" if backward else problem.suffix_indicator
    unknown = "run" if backward or stretch else "word"
    options = bw.Options(continuing_subword_prefix=indicator, unknown=unknown, backward=backward)
    tokens = {token: number for number, token in enumerate(dict.fromkeys(["[UNK]", *problem.vocabulary]))}
    template = (bw.vocab.Piece("A", None, 0),)
    subject = Subject.of_vocabulary(bw.Vocabulary(tokens, (), options, template, template, None, "by hand"))
    texts = [problem.word, other]
    whole, part = Trie(subject, matcher(subject)), Trie(subject, matcher(subject, texts))
    places = everything(part)
    in_texts = {place for place in everything(whole) if any(place.string in text for text in texts)}
    assert places == in_texts
    for place in places:
        assert (part.token(place), part.link(place)) == (whole.token(place), whole.link(place))
        assert part.pops(place) == whole.pops(place)
    assert sorted(tokens_in(subject, texts)) == sorted(
        token
        for token in tokens
        if any(path in text for path in (token, token.removeprefix(indicator)) for text in texts)
    )
