"""Vocabulary files: read with HF's ids, or refused by name."""

import dataclasses
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer

import beam_wordpiece as bw
from beam_wordpiece.vocab import Piece
from tests import oracle, small

Change = Callable[[dict[str, Any]], object]


def load(folder: Path, change: Change, **options: object) -> bw.Vocabulary:
    content = small.document()
    change(content)
    return bw.load_vocabulary(small.write(folder / "tokenizer.json", content), **options)


def test_everything_in_a_tokenizer_json_is_read(tmp_path: Path) -> None:
    vocabulary = load(tmp_path, lambda d: d["normalizer"].update(strip_accents=False, lowercase=True))
    assert vocabulary.tokens == {token: number for number, token in enumerate(small.VOCABULARY)}
    assert vocabulary.options == bw.Options(strip_accents=False)
    assert [(token.content, token.id) for token in vocabulary.added_tokens] == [
        (token, number) for number, token in enumerate(oracle.SPECIAL_TOKENS)
    ]
    assert all(token.special and not token.normalized for token in vocabulary.added_tokens)
    assert (vocabulary.prefix_ids, vocabulary.suffix_ids) == ((2,), (3,))
    assert [(piece.name, piece.type_id) for piece in vocabulary.pair] == [
        ("[CLS]", 0),
        ("A", 0),
        ("[SEP]", 0),
        ("B", 1),
        ("[SEP]", 1),
    ]
    assert vocabulary.size == len(small.VOCABULARY)
    assert vocabulary.source == str(tmp_path / "tokenizer.json")


@pytest.mark.parametrize("sections", [("normalizer",), ("pre_tokenizer", "decoder"), ("post_processor",)])
def test_a_sequence_of_one_part_is_that_part(tmp_path: Path, sections: tuple[str, ...]) -> None:
    keys = {"pre_tokenizer": "pretokenizers", "post_processor": "processors"}

    def wrap(content: dict[str, Any]) -> None:
        for name in sections:
            content[name] = {"type": "Sequence", keys.get(name, name + "s"): [content[name]]}

    # The source is the same file, so the two are equal in everything.
    assert load(tmp_path, wrap) == load(tmp_path, lambda d: None)


def test_bert_processing_is_the_template(tmp_path: Path) -> None:
    bert = {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}
    read = load(tmp_path, lambda d: d.update(post_processor=bert))
    assert (read.single, read.pair) == (load(tmp_path, lambda d: None).single, load(tmp_path, lambda d: None).pair)


def test_what_is_null_or_missing_has_hf_meaning(tmp_path: Path) -> None:
    bare = load(tmp_path, lambda d: d.update(post_processor=None, decoder=None, normalizer=None))
    assert (bare.prefix_ids, bare.suffix_ids, bare.decoder) == ((), (), None)
    assert bare.options == bw.Options(False, False, False, False)
    old = load(tmp_path, lambda d: [d.pop("version"), d.pop("added_tokens"), d["model"].pop("type")])
    assert old.added_tokens == ()


def test_keys_that_ask_for_nothing_are_let_pass(tmp_path: Path) -> None:
    extended = load(tmp_path, lambda d: d["model"].update(dropout=None, byte_fallback=False))
    assert extended == load(tmp_path, lambda d: None)


REFUSED: list[tuple[Change, str]] = [
    (lambda d: d.update(extra={"a": 1}), "extra .*not supported"),
    (lambda d: d.update(version="2.0"), "version has to be '1.0'"),
    (lambda d: d["model"].update(fuse_unk=True), r"model\.fuse_unk \(true\) is not supported"),
    (lambda d: d["model"].update(type="BPE"), 'model is a "BPE"'),
    (lambda d: d["model"].pop("unk_token"), "model has no 'unk_token'"),
    (lambda d: d["model"].update(unk_token="[NONE]"), r"unknown token '\[NONE\]' is not in the vocabulary"),
    (lambda d: d["model"].update(unk_token=""), "unk_token has to be"),
    (lambda d: d["model"].update(max_input_chars_per_word=-1), r"model\.max_input_chars_per_word has to be"),
    (lambda d: d["model"].update(vocab=["a"]), r"model\.vocab has to be an object"),
    (lambda d: d["model"]["vocab"].update(a=1 << 28), "gives 'a' the id 268435456"),
    (lambda d: d["model"]["vocab"].update(a=7.0), "gives 'a' the id 7.0"),
    (lambda d: d["model"]["vocab"].update(a=True), "gives 'a' the id True"),
    (lambda d: d["model"]["vocab"].update(z=9), "'a' and 'z' have the same id 9"),
    (lambda d: d["model"]["vocab"].update({"\ud800": 99}), "half a surrogate pair"),
    (lambda d: d["model"].update(unk_token="\ud800"), r'unk_token \("\\ud800"\) holds half a surrogate pair'),
    (lambda d: d["decoder"].update(prefix="\ud800"), r"decoder\.prefix .*half a surrogate pair"),
    (lambda d: d["post_processor"]["single"][0]["SpecialToken"].update(id="\udfff"), r"single\[0\].*half a surrogate"),
    (lambda d: d["added_tokens"].append(small.added("\udcff", 33)), r"added_tokens\[5\]\.content .*half a surrogate"),
    (lambda d: d["normalizer"].update(type="NFKC"), 'normalizer is a "NFKC"'),
    (lambda d: d["normalizer"].update(nfkc=True), r"normalizer\.nfkc"),
    (lambda d: d["normalizer"].update(lowercase="yes"), r"normalizer\.lowercase has to be true or false"),
    (lambda d: d["normalizer"].pop("clean_text"), "normalizer has no 'clean_text'"),
    (lambda d: d.update(normalizer={"type": "Sequence", "normalizers": []}), "Sequence of 0 parts"),
    (
        lambda d: d.update(normalizer={"type": "Sequence", "normalizers": [{"type": "NFC"}]}),
        r'normalizer\.normalizers\[0\] is a "NFC"',
    ),
    (lambda d: d.update(pre_tokenizer=None), "pre_tokenizer is null"),
    (lambda d: d["pre_tokenizer"].update(type="Whitespace"), 'pre_tokenizer is a "Whitespace"'),
    (lambda d: d["pre_tokenizer"].update(add_prefix_space=True), r"pre_tokenizer\.add_prefix_space"),
    (lambda d: d["post_processor"].update(type="RobertaProcessing"), 'post_processor is a "RobertaProcessing"'),
    (lambda d: d["post_processor"]["single"].pop(1), r"post_processor\.single has to hold the sequence"),
    (lambda d: d["post_processor"]["single"].append({"Sequence": {"id": "B", "type_id": 0}}), "and it holds .*'B'"),
    (lambda d: d["post_processor"]["special_tokens"]["[SEP]"].update(ids=[4]), r"'\[SEP\]' the id 4, .* the id 3"),
    (lambda d: d["post_processor"]["special_tokens"]["[SEP]"].update(tokens=["x"]), "names the token 'x'"),
    (lambda d: d["post_processor"]["special_tokens"]["[SEP]"].update(ids=[3, 3]), "2 ids and 1 tokens"),
    (lambda d: d["post_processor"]["special_tokens"].pop("[SEP]"), r"single\[2\]\.SpecialToken\.id names"),
    (lambda d: d["decoder"].update(type="ByteLevel"), 'decoder is a "ByteLevel"'),
    (lambda d: d.update(truncation={"max_length": 8}), "truncation=False to leave it out"),
    (lambda d: d.update(padding={"strategy": "BatchLongest"}), "padding=False to leave it out"),
    (lambda d: d.update(added_tokens=None), "added_tokens has to be an array"),
    (lambda d: d["added_tokens"][4].update(id=7), r"'\[MASK\]' states the id 7, and HF gives it the id 4"),
    (lambda d: d["added_tokens"].append(small.added("<x>", 99)), "'<x>' states the id 99, and HF gives it the id 33"),
    (lambda d: d["added_tokens"].append(small.added("", 33)), "'' .*no text that can be found"),
    (lambda d: d["added_tokens"].append(small.added("[SEP]", 3)), r"'\[SEP\]' stands twice with different flags"),
    (lambda d: d["added_tokens"].append({"id": 33, "content": "<x>"}), r"added_tokens\[5\] has no 'special'"),
    (
        lambda d: [d["model"]["vocab"].update(z=34), d["added_tokens"].append(small.added("<x>", 34))],
        "is another token's",
    ),
]


def test_a_vocabulary_made_in_python_is_checked_too(tmp_path: Path) -> None:
    whole = bw.load_vocabulary(small.write(tmp_path / "tokenizer.json", small.document()))
    for field, value, fault in (
        ("decoder", bw.vocab.Decoder("\ud800"), r"the decoder's prefix '\\ud800'"),
        ("single", (*whole.single, bw.vocab.Piece("\ud800", (1,), 0)), r"the template's '\\ud800'"),
        ("added_tokens", (bw.vocab.AddedToken("\ud800", 1),), r"the added token '\\ud800'"),
        ("tokens", whole.tokens | {"\ud800": 99}, r"the token '\\ud800'"),
    ):
        with pytest.raises(bw.VocabularyError, match=f"{fault} .*half a surrogate pair"):
            dataclasses.replace(whole, **{field: value})


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_what_is_not_supported_is_refused_by_name(tmp_path: Path, change: Change, message: str) -> None:
    with pytest.raises(bw.VocabularyError, match=message) as caught:
        load(tmp_path, change)
    assert str(caught.value).startswith(f"{tmp_path / 'tokenizer.json'}: ")
    assert "\n" not in str(caught.value)


def test_truncation_and_padding_can_be_left_out(tmp_path: Path) -> None:
    def ask(content: dict[str, Any]) -> None:
        content.update(truncation={"max_length": 8}, padding={"strategy": "BatchLongest"})

    assert load(tmp_path, ask, truncation=False, padding=False) == load(tmp_path, lambda d: None)
    with pytest.raises(bw.VocabularyError, match="padding"):
        load(tmp_path, ask, truncation=False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is not JSON"),
        (b"{", "is not JSON"),
        (b"[" * 100_000, "is not JSON that can be read"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"model": "\xff"}', "byte 11 is not UTF-8"),
        (b'{"a": 1}', "has no 'model'"),
        (b"[]", "has to be an object"),
    ],
)
def test_files_that_are_no_tokenizer_json(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_bytes(content)
    with pytest.raises(bw.VocabularyError, match=message):
        bw.load_vocabulary(path)


def test_a_repeated_key_is_warned_about_and_the_last_one_counts(tmp_path: Path) -> None:
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(small.document()).replace('"Cat": 32', '"Cat": 32, "Cat": 40'), encoding="utf-8")
    with pytest.warns(bw.VocabularyWarning, match="'Cat' stands more than once") as caught:
        vocabulary = bw.load_vocabulary(path)
    assert [warning.filename for warning in caught] == [__file__]
    assert vocabulary.tokens["Cat"] == Tokenizer.from_file(str(path)).token_to_id("Cat") == 40


def test_added_tokens_have_the_ids_of_hf(tmp_path: Path) -> None:
    """Random vocabularies with holes: what HF gives is what we give, or the file is refused."""
    source, accepted = random.Random(7), 0
    for _ in range(300):
        names = source.sample("abcdefgh", source.randint(1, 6))
        content = small.document()
        content["post_processor"], content["added_tokens"] = None, []
        content["model"]["vocab"] = dict(zip(["[UNK]", *names], source.sample(range(12), len(names) + 1), strict=True))
        for name in source.sample("abcdefghijkl", source.randint(0, 5)):
            content["added_tokens"].append(small.added(name, 0, special=source.random() < 0.5))
        path = small.write(tmp_path / "tokenizer.json", content)
        hf = Tokenizer.from_file(str(path))
        for token in content["added_tokens"]:
            token["id"] = hf.token_to_id(token["content"])
        ids = list(hf.get_vocab().values())
        small.write(path, content)
        if len(set(ids)) == len(ids):
            vocabulary = bw.load_vocabulary(path)
            accepted += 1
            assert {t.content: t.id for t in vocabulary.added_tokens} | dict(vocabulary.tokens) == hf.get_vocab()
            assert vocabulary.size == hf.get_vocab_size()
        else:
            with pytest.raises(bw.VocabularyError, match="is another token's"):
                bw.load_vocabulary(path)
    assert accepted > 100


def test_options_by_keyword_win(tmp_path: Path) -> None:
    vocabulary = load(
        tmp_path,
        lambda d: d["model"]["vocab"].update({"<unk>": 33}),
        lowercase=False,
        strip_accents=True,
        clean_text=False,
        handle_chinese_chars=False,
        unk_token="<unk>",
        continuing_subword_prefix="",
        max_input_chars_per_word=7,
        profile="hf",
    )
    assert vocabulary.options == bw.Options(False, True, False, False, "<unk>", "", 7, "hf")
    assert vocabulary.decoder is not None
    assert vocabulary.decoder.prefix == ""
    assert load(
        tmp_path, lambda d: d["normalizer"].update(strip_accents=False), strip_accents=None
    ).options.strips_accents


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lowercas": True}, "Unknown option 'lowercas'; the options are lowercase, strip_accents"),
        ({"lowercase": None}, "lowercase has to be true or false, not None"),
        ({"strip_accents": 1}, "strip_accents"),
        ({"unk_token": ""}, "unk_token"),
        ({"continuing_subword_prefix": None}, "continuing_subword_prefix has to be a text"),
        ({"max_input_chars_per_word": -1}, "max_input_chars_per_word has to be a number from 0"),
        ({"max_input_chars_per_word": True}, "max_input_chars_per_word"),
        ({"profile": "google"}, 'profile "google" is not built yet'),
        ({"profile": "tf-text"}, 'profile "tf-text" is not built yet'),
        ({"profile": "bert"}, "profile has to be the name of a profile"),
        ({"truncation": True}, "truncation can only be False"),
        ({"doubtful_lines": "ignore"}, 'doubtful_lines has to be "error" or "warn", not \'ignore\''),
        ({"doubtful_lines": None}, "doubtful_lines has to be"),
    ],
)
def test_options_that_are_wrong(tmp_path: Path, options: dict[str, object], message: str) -> None:
    with pytest.raises(bw.ConfigError, match=message):
        load(tmp_path, lambda d: None, **options)


def test_a_missing_file_is_an_os_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"none\.txt"):
        bw.load_vocabulary(tmp_path / "none.txt")


def test_a_vocabulary_made_by_hand_is_checked() -> None:
    text = Piece("A", None, 0)
    made = bw.Vocabulary({"[UNK]": 0}, (), bw.Options(), (Piece("x", (7, 8), 0), text), (), None, "by hand")
    assert (made.prefix_ids, made.suffix_ids, made.size) == ((7, 8), (), 1)
    with pytest.raises(bw.VocabularyError, match="by hand: the token 'a' has the id -1"):
        bw.Vocabulary({"[UNK]": 0, "a": -1}, (), bw.Options(), (text,), (), None, "by hand")
    with pytest.raises(bw.VocabularyError, match=r'by hand: the template .* "A" exactly once'):
        bw.Vocabulary({"[UNK]": 0}, (), bw.Options(), (text, text), (), None, "by hand")
