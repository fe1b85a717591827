"""The steps that are shown are those of the kernel: a trace has the tokens of the encoding, at the same places."""

import dataclasses
import itertools
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from tokenizers.normalizers import BertNormalizer

import beam_wordpiece as bw
from beam_wordpiece.show.source import load
from beam_wordpiece.show.split import split
from beam_wordpiece.show.trace import Step, Tracer
from tests.oracle import tokenizer_json
from tests.small import STRETCHES
from tests.strategies import TextProblem, WordProblem, text_problems, word_problems
from tests.test_property import added_tokens_without_meaning


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example writes its tokenizer.json."""
    return tmp_path_factory.mktemp("show") / "tokenizer.json"


def traced(tokenizer: bw.Tokenizer, tracer: Tracer, text: str) -> None:
    """Assert that the trace of a text has the tokens, places and words of its encoding."""
    encoding = tokenizer.encode(text)
    found = tracer.trace(text)
    assert [token for part in found for token in part.tokens] == encoding.tokens
    assert [tracer.ids[token] for part in found for token in part.tokens] == encoding.ids
    words = itertools.groupby(range(len(encoding)), lambda i: encoding.word_ids[i])
    for (_, group), part in zip(words, found, strict=True):
        offsets = [encoding.offsets[i] for i in group]
        assert part.part.start == min(start for start, _ in offsets)
        assert part.part.end == max(end for _, end in offsets)
        assert connected(part.steps)


def connected(steps: tuple[Step, ...]) -> bool:
    """Whether each step begins where the one before has ended."""
    return all(before.to == after.node for before, after in itertools.pairwise(steps))


@given(problem=text_problems())
def test_a_trace_has_the_tokens_of_the_kernel(file: Path, problem: TextProblem) -> None:
    if added_tokens_without_meaning(problem.options):
        return
    file.write_text(tokenizer_json(**problem.options), encoding="utf-8")
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file), add_special_tokens=False)
    tracer = Tracer(load(str(file)))
    for text in problem.texts:
        traced(tokenizer, tracer, text)


@given(problem=text_problems())
def test_a_trace_of_text_that_is_not_split(file: Path, problem: TextProblem) -> None:
    added = [{**token, "lstrip": False, "rstrip": False} for token in problem.options["added_tokens"]]
    options = problem.options | {"added_tokens": added}
    if added_tokens_without_meaning(options):
        return
    file.write_text(tokenizer_json(**options), encoding="utf-8")
    automaton = bw.Automaton.compile(file, **STRETCHES)
    automaton.save(file.with_name("stretches.bwp"))
    tracer = Tracer(load(str(file.with_name("stretches.bwp"))))
    for text in problem.texts:
        traced(bw.Tokenizer(automaton, add_special_tokens=False), tracer, text)


@given(problem=word_problems())
def test_a_trace_of_words_that_are_hard(file: Path, problem: WordProblem) -> None:
    vocabulary = list(dict.fromkeys(["[UNK]", *problem.vocabulary]))
    limit = problem.max_input_chars_per_word
    options: dict[str, Any] = {"prefix": problem.suffix_indicator, "max_chars": limit, "handle_chinese_chars": False}
    file.write_text(tokenizer_json(vocabulary, **options), encoding="utf-8")
    for keywords in ({}, STRETCHES):
        tokenizer = bw.Tokenizer(bw.Automaton.compile(file, **keywords), add_special_tokens=False)
        traced(tokenizer, Tracer(load(str(file), **keywords)), problem.word)


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


@pytest.mark.parametrize(("name", "value"), [("unknown", "run"), ("unknown", "byte"), ("profile_of_another", True)])
def test_other_ways_to_match_are_refused(name: str, value: object) -> None:
    """Whatever option there will be: only those are traced whose meaning the trace has."""

    @dataclasses.dataclass(frozen=True)
    class MoreOptions(bw.Options):
        profile_of_another: bool = False

        def __post_init__(self) -> None:
            """Anything goes."""

    options = MoreOptions(**{name: value})  # type: ignore[arg-type]
    template = (bw.vocab.Piece("A", None, 0),)
    with pytest.raises(bw.ConfigError, match=rf"^by hand: {name}={value!r} cannot be shown; .*longest token first"):
        Tracer(bw.Vocabulary({"[UNK]": 0}, (), options, template, template, None, "by hand"))
