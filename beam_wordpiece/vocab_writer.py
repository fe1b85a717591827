"""Vocabulary -> `tokenizer.json` or `vocab.txt`, in the ordinary form or in the normal form."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from beam_wordpiece.checks import WHITE_SPACE
from beam_wordpiece.errors import ConfigError, VocabularyError
from beam_wordpiece.files import write_whole
from beam_wordpiece.normal_form import NormalForm
from beam_wordpiece.normal_form_json import SPLIT, to_normal_form_json
from beam_wordpiece.vocab_types import Options, Piece, Vocabulary, bare_templates

FORMATS = (".json", ".txt")
HF_OPTIONS = (
    *("lowercase", "strip_accents", "clean_text", "handle_chinese_chars"),
    *("unk_token", "continuing_subword_prefix", "max_input_chars_per_word"),
)


def save_vocabulary(vocabulary: Vocabulary, path: str | os.PathLike[str], form: NormalForm | None = None) -> None:
    """Write a `tokenizer.json` (a name that ends in `.json`) or a `vocab.txt` (`.txt`).

    `form`: what `vocabulary.to_normal_form` gave, to write the normal form. HF `tokenizers` reads the tokenizer.json,
    and gives the same ids in both forms; `load_vocabulary` reads both back. A vocab.txt holds the model's tokens alone,
    not the options, templates and flags of added tokens.

    Raises ConfigError for another name, for options that HF does not have, or for a marker that a tokenizer.json cannot
    have; VocabularyError for tokens that the file cannot hold, OSError where it cannot be written.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        raise ConfigError(
            f"{os.fspath(path)}: the name has to end in {' or '.join(FORMATS)}, which says what to write."
        )
    _require_options_of_hf(vocabulary.options)
    if suffix == ".json":
        document = tokenizer_json(vocabulary)
        content = json.dumps(to_normal_form_json(document, form) if form else document, ensure_ascii=False, indent=2)
    else:
        content = _vocab_txt(form.tokens if form else vocabulary.tokens)
    with write_whole(path) as file:
        file.write(content.encode())


def _require_options_of_hf(options: Options) -> None:
    """Neither of the files can say another one, and whoever reads it would get other ids. Raises ConfigError."""
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name not in HF_OPTIONS and value != getattr(Options(), field.name):
            shown = f"{len(value)} rules" if field.name == "rules" else f"{field.name}={value!r}"
            raise ConfigError(
                f"{shown} cannot be written: HF tokenizers has no such option; give it where the file is read."
            )


def tokenizer_json(vocabulary: Vocabulary) -> dict[str, Any]:
    """A vocabulary as HF's tokenizer.json, parsed. Its options are those that HF has."""
    options, decoder = vocabulary.options, vocabulary.decoder
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [dataclasses.asdict(added) for added in vocabulary.added_tokens],
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": options.clean_text,
            "handle_chinese_chars": options.handle_chinese_chars,
            "strip_accents": options.strip_accents,
            "lowercase": options.lowercase,
        },
        "pre_tokenizer": SPLIT,
        "post_processor": _post_processor(vocabulary),
        "decoder": decoder and {"type": "WordPiece", "prefix": decoder.prefix, "cleanup": decoder.cleanup},
        "model": {
            "type": "WordPiece",
            "unk_token": options.unk_token,
            "continuing_subword_prefix": options.continuing_subword_prefix,
            "max_input_chars_per_word": options.max_input_chars_per_word,
            "vocab": dict(vocabulary.tokens),
        },
    }


def _post_processor(vocabulary: Vocabulary) -> dict[str, Any] | None:
    if (vocabulary.single, vocabulary.pair) == bare_templates():
        return None
    names = {number: token for token, number in vocabulary.tokens.items()}
    names |= {added.id: added.content for added in vocabulary.added_tokens}
    specials = {piece.name: piece.ids for piece in (*vocabulary.single, *vocabulary.pair) if piece.ids is not None}
    return {
        "type": "TemplateProcessing",
        "single": _template(vocabulary.single),
        "pair": _template(vocabulary.pair),
        "special_tokens": {
            name: {"id": name, "ids": list(ids), "tokens": [names[number] for number in ids]}
            for name, ids in specials.items()
        },
    }


def _template(pieces: Iterable[Piece]) -> list[dict[str, Any]]:
    return [
        {"Sequence" if piece.ids is None else "SpecialToken": {"id": piece.name, "type_id": piece.type_id}}
        for piece in pieces
    ]


def _vocab_txt(tokens: Mapping[str, int]) -> str:
    """The lines of a vocab.txt: the id is the number of the line, so every number has to be there once."""
    lines = dict[int, str]()
    for token, number in tokens.items():
        if number in lines:
            raise VocabularyError(
                f"the tokens {lines[number]!r} and {token!r} have the same id {number}, which a vocab.txt cannot have; "
                "write a tokenizer.json."
            )
        if token != token.rstrip(WHITE_SPACE) or token == "" or "\n" in token or (number == 0 and token[0] == "\ufeff"):
            raise VocabularyError(
                f"the token {token!r} cannot stand in a vocab.txt, which loses white space at the end of a line, blank "
                "lines and a byte order mark; write a tokenizer.json."
            )
        lines[number] = token
    missing = next((number for number in range(len(lines)) if number not in lines), None)
    if missing is not None:
        raise VocabularyError(f"no token has the id {missing}, and a vocab.txt has no holes; write a tokenizer.json.")
    return "".join(f"{lines[number]}\n" for number in range(len(lines)))
