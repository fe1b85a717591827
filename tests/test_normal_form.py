"""The normal form: the same ids by reference and by HF, the way back, and what is refused."""

import dataclasses
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Encoding, Tokenizer

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from beam_wordpiece.normal_form import NormalForm, can_be_word, normal_form
from beam_wordpiece.reference import LinMaxMatch, max_match
from tests import oracle, small
from tests.strategies import TextProblem, WordProblem, text_problems, word_problems

MARKERS = [" ", "▁", "Ġ", "m", "#", "<w>", "▁▁", "b", "語"]
ONE_CHARACTER = [" ", "▁", "Ġ", "m", "~", "b", "語"]
VOCABULARIES = ["bert-base-cased", "bert-base-chinese", "bert-base-multilingual-cased", "bert-base-uncased"]
VOCABULARIES += ["kcbert-base", "splade"]


def collides(call: Callable[[], Any]) -> Any:
    """What a call gives, or None where it refuses because tokens collide."""
    try:
        return call()
    except bw.VocabularyError as error:
        if "cannot be put before words" in str(error) or "HF would give it another id" in str(error):
            return None
        raise


@given(word_problems(), st.sampled_from(MARKERS), st.text("ab▁#m語", max_size=8), st.data())
def test_one_root_finds_the_same_ids(problem: WordProblem, marker: str, other: str, data: st.DataObject) -> None:
    tokens = {token: 2 * number for number, token in enumerate(problem.vocabulary)}
    prefix, limit = problem.suffix_indicator, problem.max_input_chars_per_word
    added = dict.fromkeys(data.draw(st.lists(st.sampled_from(problem.vocabulary), max_size=2)), True)
    form: NormalForm | None = collides(lambda: normal_form(tokens, marker, prefix, problem.vocabulary[0], added))
    if form is None:
        return
    assert form.original_tokens() == tokens
    assert form.tokens[form.unk_token] == tokens[problem.vocabulary[0]]
    matcher = LinMaxMatch(form.tokens, "", limit + len(marker))
    for word in (problem.word, problem.word + marker + other, marker + problem.word, other, marker):
        if not can_be_word(word):
            continue
        expected = max_match(tokens, word, prefix, limit)
        found = matcher.tokenize_word(form.word(word))
        assert ids(found, form.tokens) == ids(expected, tokens)


def ids(found: list[str] | None, tokens: Mapping[str, int]) -> list[int] | None:
    return None if found is None else [tokens[token] for token in found]


@given(text_problems(), st.sampled_from(ONE_CHARACTER))
def test_hf_gives_the_same_for_the_converted_file(
    tmp_path_factory: pytest.TempPathFactory, problem: TextProblem, marker: str
) -> None:
    """Any options, added tokens with any flags: ids, offsets, words and decoded text, and the vocabulary again."""
    folder = tmp_path_factory.getbasetemp()
    source, converted = folder / "tokenizer.json", folder / "normal.json"
    source.write_text(oracle.tokenizer_json(**problem.options), encoding="utf-8")
    vocabulary = read(source)
    if vocabulary is None or collides(lambda: save(vocabulary, converted, marker)) is None:
        return
    assert dataclasses.replace(bw.load_vocabulary(converted), source=vocabulary.source) == vocabulary
    texts = [*problem.texts, *(marker.join(text) for text in problem.texts), marker]
    assert_same_encodings(source, converted, texts)


def save(vocabulary: bw.Vocabulary, path: Path, marker: str) -> NormalForm:
    form = vocabulary.to_normal_form(marker)
    bw.save_vocabulary(vocabulary, path, form)
    return form


def read(path: Path) -> bw.Vocabulary | None:
    """The vocabulary, unless HF itself treats its added tokens at random, or numbers them otherwise."""
    try:
        return bw.load_vocabulary(path)
    except bw.VocabularyError:
        return None


def encode(tokenizer: Tokenizer, texts: list[str]) -> list[Encoding] | None:
    """HF's encodings, or None where it panics, as it does for some texts with added tokens that take white space."""
    try:
        return tokenizer.encode_batch(texts)
    except BaseException as error:
        if type(error).__name__ == "PanicException":
            return None
        raise


def assert_same_encodings(source: Path, converted: Path, texts: list[str]) -> None:
    original, normal = oracle.hf_tokenizer(source), oracle.hf_tokenizer(converted)
    encodings = encode(original, texts)
    if encodings is None:
        return
    for text, expected, found in zip(texts, encodings, normal.encode_batch(texts), strict=True):
        assert found.ids == expected.ids, text
        assert (found.offsets, found.word_ids) == (expected.offsets, expected.word_ids), text
        for skip in (True, False):
            decoded = original.decode(expected.ids, skip_special_tokens=skip)
            assert normal.decode(expected.ids, skip_special_tokens=skip) == decoded


@pytest.mark.parametrize("marker", [" ", "\u3000", "▁", "Ġ", "語", "m", "b"])
def test_small_vocabulary(tmp_path: Path, marker: str) -> None:
    source = small.write(tmp_path / "tokenizer.json", small.document())
    vocabulary = bw.load_vocabulary(source)
    if marker in ("m", "b"):
        with pytest.raises(bw.VocabularyError, match=f"words may have it in them, as the token '.*' has '{marker}'"):
            vocabulary.to_normal_form(marker)
        return
    form = vocabulary.to_normal_form(marker)
    assert form.tokens["[UNK]"] == form.tokens[form.unk_token] == 1
    assert form.tokens[marker + "un"] == vocabulary.tokens["un"]
    assert form.tokens["aff"] == vocabulary.tokens["##aff"]
    assert set(form.tokens.values()) == set(vocabulary.tokens.values())
    converted = tmp_path / "normal.json"
    bw.save_vocabulary(vocabulary, converted, form)
    assert_same_encodings(source, converted, [*small.TEXTS, "a" * 100, "a" * 101, f"un{marker}un", f"{marker}un"])
    assert bw.Automaton.compile(converted).fingerprint == bw.Automaton.compile(source).fingerprint


def test_what_no_word_can_hold_stays_as_it_is() -> None:
    tokens = ["[UNK]", "...", ".", "walk", "##ing", "##", "##..", "", " ", "un do"]
    form = normal_form({token: number for number, token in enumerate(tokens)}, "▁", "##", "[UNK]")
    assert list(form.tokens) == ["[UNK]", "...", "▁.", "▁walk", "ing", "##", "##..", "", " ", "un do"]
    assert list(form.tokens.values()) == list(range(len(tokens)))
    assert list(form.original_tokens()) == tokens


def test_tokens_for_both_places_have_two_texts_and_one_id() -> None:
    form = normal_form({"[UNK]": 0, "a": 1, "ab": 2}, " ", "", "[UNK]")
    assert form.tokens == {"[UNK]": 0, " a": 1, "a": 1, " ab": 2, "ab": 2}
    assert form.shared() == ["a", "ab"]
    form = normal_form({"é": 0, "éa": 1, "unk": 2}, " ", "é", "unk")
    assert form.tokens == {" é": 0, " éa": 1, "a": 1, " unk": 2}
    assert form.unk_token == " unk"
    assert form.original_tokens() == {"é": 0, "éa": 1, "unk": 2}


@pytest.mark.parametrize(
    ("tokens", "marker", "added", "message"),
    [
        (["walk", "##▁walk"], "▁", [], "words may have it in them, as the token '##▁walk' has '▁'"),
        (["walk", "##▁walk"], "▁", [], "the tokens 'walk' and '##▁walk' would both be '▁walk'"),
        (["s", "##s"], " ", ["s"], "the tokens 's' and '##s' would both be 's'"),
        (["a", "##."], ".", [], "the token '##.' would be '.' and be found at the beginning of words"),
        (["a", " "], " ", [], "the token ' ' would be ' ' and be found at the beginning of words"),
        (["a", "##ab"], "a", [], "words may have it in them, as the token 'a' has 'a'"),
        (["cat", "##s"], " ", ["cat"], "the added token 'cat' would also be found inside words"),
        (["cat", "##s"], " ", ["s"], "the token '##s' would be 's', as the added token is"),
        (["cat", "##s"], " ", [" cat"], "the token 'cat' would be ' cat', as the added token is"),
        (["cat"], "▁", ["<▁>"], "the added token '<▁>' has '▁', which could not be found any more"),
        (["cat"], "·", [], "words may have it in them"),
    ],
)
def test_collisions_are_named(tokens: list[str], marker: str, added: list[str], message: str) -> None:
    numbers = {token: number for number, token in enumerate(tokens)}
    with pytest.raises(bw.VocabularyError, match=message) as caught:
        normal_form(numbers, marker, "##", tokens[0], dict.fromkeys(added, True))
    assert repr(marker) in str(caught.value)


def test_many_collisions_are_counted() -> None:
    tokens = {token: number for number, token in enumerate(f"## {letter}" for letter in "abcdefgh")}
    assert normal_form(tokens, " ", "##", "## a").original_tokens() == tokens
    tokens = {f"##{letter * count}": 4 * ord(letter) + count for letter in "abcd" for count in (1, 2)}
    with pytest.raises(bw.VocabularyError, match="and 3 more"):
        normal_form(tokens, " ", "##", "##a", dict.fromkeys(token.removeprefix("##") for token in tokens))  # type: ignore[arg-type]


@pytest.mark.parametrize("marker", ["", "\ud800", None])
def test_a_marker_is_a_text(marker: Any) -> None:
    with pytest.raises(bw.ConfigError, match="marker has to be a text"):
        normal_form({"a": 0}, marker, "##", "a")


def test_a_vocabulary_without_words_has_no_normal_form(tmp_path: Path) -> None:
    vocabulary = bw.load_vocabulary(small.write_vocab(tmp_path / "vocab.txt"), **small.STRETCHES)
    with pytest.raises(bw.ConfigError, match='normal form for unknown="word" only'):
        vocabulary.to_normal_form()
    for name in ("out.json", "out.txt"):
        with pytest.raises(bw.ConfigError, match="pretokenize=False cannot be written"):
            bw.save_vocabulary(vocabulary, tmp_path / name)


@pytest.mark.parametrize("name", ["out.json", "out.txt"])
def test_the_ordinary_form_is_written_too(tmp_path: Path, name: str) -> None:
    vocabulary = bw.load_vocabulary(small.write(tmp_path / "tokenizer.json", small.document()))
    bw.save_vocabulary(vocabulary, tmp_path / name)
    again = bw.load_vocabulary(tmp_path / name)
    assert dataclasses.replace(again, source=vocabulary.source) == vocabulary


def test_a_vocab_txt_holds_the_normal_form(tmp_path: Path) -> None:
    vocabulary = bw.load_vocabulary(small.write_vocab(tmp_path / "vocab.txt"))
    form = vocabulary.to_normal_form()
    bw.save_vocabulary(vocabulary, tmp_path / "normal.txt", form)
    lines = (tmp_path / "normal.txt").read_text(encoding="utf-8").split("\n")
    assert dict(zip(lines, range(len(form.tokens)), strict=False)) == form.tokens
    assert lines[5:8] == [" un", "aff", "able"]


@pytest.mark.parametrize(
    ("tokens", "prefix", "message"),
    [
        ({"[UNK]": 0, "a": 2}, "##", "no token has the id 1"),
        ({"[UNK]": 0, "a": 1}, "", "the tokens ' a' and 'a' have the same id 1"),
        ({"[UNK]": 0, "a b ": 1}, "##", "the token 'a b ' cannot stand in a vocab.txt"),
        ({"[UNK]": 0, "": 1}, "##", "the token '' cannot stand"),
        ({"[UNK]": 0, "a\nb": 1}, "##", "cannot stand"),
        ({"\ufeff": 0, "[UNK]": 1}, "##", None),
    ],
)
def test_what_a_vocab_txt_cannot_hold(tmp_path: Path, tokens: dict[str, int], prefix: str, message: str | None) -> None:
    vocabulary = bw.load_vocabulary(small.write_vocab(tmp_path / "vocab.txt", ["[UNK]"]))
    options = dataclasses.replace(vocabulary.options, continuing_subword_prefix=prefix)
    vocabulary = dataclasses.replace(vocabulary, tokens=tokens, options=options, added_tokens=())
    path = tmp_path / "out.txt"
    if message is None:
        bw.save_vocabulary(vocabulary, path, vocabulary.to_normal_form())
        message = "cannot stand"
        with pytest.raises(bw.VocabularyError, match=message):
            bw.save_vocabulary(vocabulary, path)
        return
    with pytest.raises(bw.VocabularyError, match=message):
        bw.save_vocabulary(vocabulary, path, vocabulary.to_normal_form())
    assert not path.exists()


@pytest.mark.parametrize(
    ("name", "marker", "message"),
    [
        ("out.bin", " ", "out.bin: the name has to end in .json or .txt"),
        ("out.json", "<w>", "only have a marker of one character, not '<w>'"),
        ("out.json", "#", "cannot decode '##' with the marker '#'"),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, name: str, marker: str, message: str) -> None:
    vocabulary = bw.load_vocabulary(small.write(tmp_path / "tokenizer.json", small.document()))
    with pytest.raises(bw.ConfigError, match=message):
        bw.save_vocabulary(vocabulary, tmp_path / name, vocabulary.to_normal_form(marker))


def test_an_added_token_that_hf_would_number_anew(tmp_path: Path) -> None:
    content = json.loads(oracle.tokenizer_json(["[UNK]", "a"], prefix="", added_tokens=[{"content": "<new>"}]))
    vocabulary = bw.load_vocabulary(small.write(tmp_path / "tokenizer.json", content))
    with pytest.raises(bw.VocabularyError, match=r"the added token '<new>' is not in the vocabulary.*another id"):
        bw.save_vocabulary(vocabulary, tmp_path / "out.json", vocabulary.to_normal_form())


Change = Callable[[dict[str, Any]], object]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: d["model"]["vocab"].update({"##x": 3}), "model is not what|is not a normal form"),
        (lambda d: d["model"]["vocab"].update({"▁x": []}), "model.vocab has an id that is no whole number"),
        (lambda d: d["model"].update(continuing_subword_prefix="##"), "model is not what"),
        (lambda d: d["normalizer"].update(normalizers=[]), "normalizer"),
        (lambda d: d.update(normalizer=d["normalizer"]["normalizers"][0]), "normalizer is not what"),
        (lambda d: d.update(normalizer=None), "normalizer has to be an object"),
        (lambda d: d.update(decoder={"type": "WordPiece", "prefix": "##", "cleanup": True}), "decoder does not say"),
        (lambda d: d["decoder"]["decoders"][1].update(content="x"), "decoder is not what"),
        (lambda d: d["pre_tokenizer"]["pretokenizers"][1].update(split=True), "pre_tokenizer is a Sequence of 3 parts"),
    ],
)
def test_a_normal_form_that_was_changed_is_refused(tmp_path: Path, change: Change, message: str) -> None:
    vocabulary = bw.load_vocabulary(small.write(tmp_path / "tokenizer.json", small.document()))
    path = tmp_path / "normal.json"
    bw.save_vocabulary(vocabulary, path, vocabulary.to_normal_form("▁"))
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    small.write(path, content)
    with pytest.raises(bw.VocabularyError, match=message):
        bw.load_vocabulary(path)


def test_a_normal_form_that_hf_saved_is_read(tmp_path: Path) -> None:
    vocabulary = bw.load_vocabulary(small.write(tmp_path / "tokenizer.json", small.document()))
    path = tmp_path / "normal.json"
    bw.save_vocabulary(vocabulary, path, vocabulary.to_normal_form("▁"))
    Tokenizer.from_file(str(path)).save(str(path))
    assert dataclasses.replace(bw.load_vocabulary(path), source=vocabulary.source) == vocabulary


def test_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = small.write(tmp_path / "tokenizer.json", small.document())
    normal, back, lines = (tmp_path / name for name in ("normal.json", "back.json", "normal.txt"))
    assert main(["convert", str(source), "-o", str(normal), "--marker", "▁", "--lowercase", "false"]) == 0
    assert f"{normal}: 33 tokens, 21 with '▁' before them" in capsys.readouterr().out
    assert main(["convert", str(normal), "-o", str(back), "--back"]) == 0
    vocabulary = bw.load_vocabulary(source, lowercase=False)
    assert dataclasses.replace(bw.load_vocabulary(back), source=vocabulary.source) == vocabulary
    assert main(["convert", str(source), "-o", str(lines)]) == 0
    assert lines.read_text(encoding="utf-8").split("\n")[5:7] == [" un", "aff"]
    capsys.readouterr()
    assert main(["convert", str(source), "-o", str(back), "--marker", "a"]) == 2
    assert "back.json is there already" in capsys.readouterr().err
    assert main(["convert", str(source), "-o", str(tmp_path / "new.json"), "--marker", "a"]) == 2
    assert "the marker 'a' cannot be put before words" in capsys.readouterr().err
    assert not (tmp_path / "new.json").exists()


@pytest.mark.parametrize("marker", [" ", "▁"])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_shared_vocabularies(tmp_path: Path, shared: Path, name: str, marker: str) -> None:
    source, converted = shared / "vocabs" / name / "tokenizer.json", tmp_path / "normal.json"
    vocabulary = bw.load_vocabulary(source)
    bw.save_vocabulary(vocabulary, converted, vocabulary.to_normal_form(marker))
    assert dataclasses.replace(bw.load_vocabulary(converted), source=str(source)) == vocabulary
    texts = []
    for path in sorted((shared / "corpora").glob("*.parquet")):
        rows = next(pq.ParquetFile(path).iter_batches(8, columns=["text"]))["text"].to_pylist()
        texts += [text[:1000] for text in rows if text]
    texts += [text.replace(" ", marker, 5) for text in texts]
    assert_same_encodings(source, converted, texts)
