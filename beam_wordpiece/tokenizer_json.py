"""HF's `tokenizer.json` -> vocabulary and options.

Only what BERT's tokenizers are made of is read: BertNormalizer, BertPreTokenizer, WordPiece, TemplateProcessing or
BertProcessing, the WordPiece decoder, and the normal form of these. Whatever else a file asks for is refused by name
and place, because leaving it out would give other ids.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from beam_wordpiece.errors import ConfigError
from beam_wordpiece.json_file import Node, read_json
from beam_wordpiece.normal_form_json import to_ordinary_json
from beam_wordpiece.vocab_types import (
    ID_LIMIT,
    LEAVE_OUT,
    WORD_LIMIT,
    AddedToken,
    Decoder,
    Options,
    Overrides,
    Piece,
    Vocabulary,
    add_tokens,
    bare_templates,
    bert_templates,
    is_id,
)

VERSION = "1.0"
# The key of the parts inside a `Sequence`, by section, as HF writes it.
PARTS = {
    "normalizer": "normalizers",
    "pre_tokenizer": "pretokenizers",
    "post_processor": "processors",
    "decoder": "decoders",
}
FLAGS = ("special", "single_word", "lstrip", "rstrip", "normalized")
# Numbers that HF keeps in 32 bits.
U32 = 1 << 32

Templates = tuple[tuple[Piece, ...], tuple[Piece, ...]]


def load_tokenizer_json(path: Path, overrides: Overrides) -> Vocabulary:
    """Read a `tokenizer.json`. Raises VocabularyError, OSError."""
    root = read_json(path)
    if not root.has("model"):
        root.fail("has no 'model', so it is not a tokenizer.json of HF tokenizers.")
    root.only(("version", "added_tokens", "model", *PARTS, *LEAVE_OUT))
    root = to_ordinary_json(root)
    if root.has("version") and root.get("version").value != VERSION:
        root.get("version").fail(f"has to be {VERSION!r}, the only version that is known.")
    for name in LEAVE_OUT:
        if not root.get(name).is_null and name not in overrides.left_out:
            root.get(name).fail(
                f"asks for {name}, which is not supported; give {name}=False to leave it out (--{name} false)."
            )
    _read_pre_tokenizer(_section(root, "pre_tokenizer"), overrides.options.get("pretokenize") is False)
    tokens, options = _read_model(root.get("model"), _read_normalizer(_section(root, "normalizer")))
    added_tokens = add_tokens(tokens, _read_added_tokens(root), root.file)
    ids = dict(tokens) | {token.content: token.id for token in added_tokens}
    single, pair = _read_post_processor(_section(root, "post_processor"), ids)
    decoder = _read_decoder(_section(root, "decoder"))
    return Vocabulary(
        tokens=tokens,
        added_tokens=added_tokens,
        options=overrides.apply(options),
        single=single,
        pair=pair,
        decoder=decoder and overrides.decoder(decoder),
        source=root.file,
    )


def _section(root: Node, name: str) -> Node:
    """A section; a `Sequence` of exactly one part stands for that part."""
    section = root.get(name)
    if section.is_null or section.get("type").value != "Sequence":
        return section
    section.only(("type", PARTS[name]))
    parts = list(section.require(PARTS[name]).items())
    if len(parts) != 1:
        section.fail(f"is a Sequence of {len(parts)} parts; only a single part is supported.")
    return parts[0]


def _expect_type(section: Node, *names: str) -> str:
    """The type of a section, which has to be one of `names`."""
    name = section.require("type").string()
    if name not in names:
        section.fail(f'is a "{name}", which is not supported; it has to be {" or ".join(names)}.')
    return name


def _read_pre_tokenizer(section: Node, without_words: bool) -> None:
    """`without_words`: the caller asks for text that is not split into words."""
    if section.is_null:
        if without_words:
            return
        section.fail(
            "is null, with which HF takes all text between added tokens as one word; either make it BertPreTokenizer, "
            'or give pretokenize=False and unknown="character" (--pretokenize false --unknown character): the same '
            "tokens, but a single character is unknown where for HF all of the text is, and no text is too long."
        )
    _expect_type(section, "BertPreTokenizer")
    section.only(("type",))


def _read_normalizer(section: Node) -> Options:
    if section.is_null:
        # No normalizer at all is a BertNormalizer with everything switched off.
        return Options(lowercase=False, strip_accents=False, clean_text=False, handle_chinese_chars=False)
    if section.has("type"):
        _expect_type(section, "BertNormalizer")
    section.only(("type", "clean_text", "handle_chinese_chars", "strip_accents", "lowercase"))
    strip_accents = section.get("strip_accents")
    return Options(
        lowercase=section.require("lowercase").boolean(),
        strip_accents=None if strip_accents.is_null else strip_accents.boolean(),
        clean_text=section.require("clean_text").boolean(),
        handle_chinese_chars=section.require("handle_chinese_chars").boolean(),
    )


def _read_model(model: Node, options: Options) -> tuple[dict[str, int], Options]:
    if model.has("type"):
        _expect_type(model, "WordPiece")
    model.only(("type", "vocab", "unk_token", "continuing_subword_prefix", "max_input_chars_per_word"))
    vocab = model.require("vocab")
    tokens: dict[str, int] = vocab.object()
    for token, number in tokens.items():
        if not is_id(number):
            vocab.fail(f"gives {token!r} the id {number!r}; an id is a whole number from 0 to {ID_LIMIT - 1}.")
    try:
        return tokens, dataclasses.replace(
            options,
            unk_token=model.require("unk_token").string(),
            continuing_subword_prefix=model.require("continuing_subword_prefix").string(),
            max_input_chars_per_word=model.require("max_input_chars_per_word").integer(WORD_LIMIT + 1),
        )
    except ConfigError as error:
        model.fail(f"cannot be used: {error}")


def _read_added_tokens(root: Node) -> list[tuple[AddedToken, int | None]]:
    if not root.has("added_tokens"):
        return []
    return [read_added_token(entry) for entry in root.get("added_tokens").items()]


def read_added_token(entry: Node, stated: int | None = None) -> tuple[AddedToken, int | None]:
    """An added token with its five flags, and the id that the file states (`stated`, or the entry's own `id`)."""
    entry.only(("id", "content", "__type", *FLAGS))
    if stated is None:
        stated = entry.require("id").integer(U32)
    flags = {flag: entry.require(flag).boolean() for flag in FLAGS}
    return AddedToken(entry.require("content").string(), 0, **flags), stated


def _read_post_processor(section: Node, ids: Mapping[str, int]) -> Templates:
    if section.is_null:
        return bare_templates()
    if _expect_type(section, "TemplateProcessing", "BertProcessing") == "BertProcessing":
        section.only(("type", "sep", "cls"))
        first, last = (_read_bert_token(section.require(name), ids) for name in ("cls", "sep"))
        return bert_templates(first, last)
    section.only(("type", "single", "pair", "special_tokens"))
    specials = section.require("special_tokens")
    single, pair = (
        tuple(_read_piece(piece, specials, ids) for piece in section.require(name).items())
        for name in ("single", "pair")
    )
    names = [piece.name for piece in single if piece.ids is None]
    if names != ["A"]:
        section.get("single").fail(f'has to hold the sequence "A" exactly once, and it holds {names}.')
    return single, pair


def _read_bert_token(entry: Node, ids: Mapping[str, int]) -> Piece:
    parts = list(entry.items())
    if len(parts) != 2:
        entry.fail("has to be an array of a token and its id.")
    token, number = parts[0].string(), parts[1].integer(U32)
    _check_id(entry, token, number, ids)
    return Piece(token, (number,), 0)


def _read_piece(piece: Node, specials: Node, ids: Mapping[str, int]) -> Piece:
    """One piece of a template: `{"Sequence": {"id", "type_id"}}` or `{"SpecialToken": {"id", "type_id"}}`."""
    keys = list(piece.object())
    if keys not in (["Sequence"], ["SpecialToken"]):
        piece.fail("has to be either a Sequence or a SpecialToken.")
    body = piece.get(keys[0])
    body.only(("id", "type_id"))
    name, type_id = body.require("id").string(), body.require("type_id").integer(U32)
    if keys == ["Sequence"]:
        if name not in ("A", "B"):
            body.get("id").fail(f'is {name!r}; a sequence is "A" or "B".')
        return Piece(name, None, type_id)
    if not specials.has(name):
        body.get("id").fail(f"names {name!r}, which is not in {specials.place}.")
    return Piece(name, _read_special(specials.get(name), ids), type_id)


def _read_special(special: Node, ids: Mapping[str, int]) -> tuple[int, ...]:
    """The ids of a template's special token, which have to be those of its tokens in the vocabulary."""
    special.only(("id", "ids", "tokens"))
    numbers = [number.integer(U32) for number in special.require("ids").items()]
    tokens = [token.string() for token in special.require("tokens").items()]
    if len(numbers) != len(tokens):
        special.fail(f"has {len(numbers)} ids and {len(tokens)} tokens; it needs one id for each token.")
    for token, number in zip(tokens, numbers, strict=True):
        _check_id(special, token, number, ids)
    return tuple(numbers)


def _check_id(entry: Node, token: str, number: int, ids: Mapping[str, int]) -> None:
    if token not in ids:
        entry.fail(f"names the token {token!r}, which is not in the vocabulary.")
    if ids[token] != number:
        entry.fail(f"gives {token!r} the id {number}, and in the vocabulary it has the id {ids[token]}.")


def _read_decoder(section: Node) -> Decoder | None:
    if section.is_null:
        return None
    _expect_type(section, "WordPiece")
    section.only(("type", "prefix", "cleanup"))
    return Decoder(section.require("prefix").string(), section.require("cleanup").boolean())
