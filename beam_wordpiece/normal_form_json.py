"""A `tokenizer.json` in the normal form, made of an ordinary one, and the way back: JSON in, JSON out.

HF has no model with word-initial markers and word splitting of its own, so the parts around it put the marker there:

- normalizer: BertNormalizer, and behind it the character that stands in for the marker's, if one has to;
- pre-tokenizer: BertPreTokenizer, a Metaspace that puts a space before each word, and for other markers than a space
  another that turns it into the marker (one that puts its marker itself leaves it out where the word begins with it);
- model: WordPiece without a continuation marker, its word limit longer by the marker;
- decoder: tokens get their continuation markers back, then come to the decoder that was there.
"""

from __future__ import annotations

import re
import string
from collections.abc import Mapping
from typing import Any

from beam_wordpiece.checks import WHITE_SPACE
from beam_wordpiece.errors import ConfigError, VocabularyError
from beam_wordpiece.json_file import Node
from beam_wordpiece.normal_form import NormalForm, can_be_word, normal_form, spellings

Document = dict[str, Any]

SPACE = " "
SPLIT = {"type": "BertPreTokenizer"}
# Above the word limits that an ordinary file may have.
LIMIT = 1 << 32
CONVERTED = ("normalizer", "pre_tokenizer", "model", "decoder")


def to_normal_form_json(document: Mapping[str, Any], form: NormalForm) -> Document:
    """The tokenizer.json in the normal form that gives the ids of an ordinary one, whose vocabulary's form is given.

    Raises ConfigError for a marker that HF cannot put before words, VocabularyError where HF would number added tokens
    anew.
    """
    marker = form.marker
    if len(marker) != 1:
        raise ConfigError(f"A tokenizer.json can only have a marker of one character, not {marker!r}.")
    _check_added_tokens(document, form)
    model = document["model"]
    return {
        **document,
        "normalizer": _normalizer(document["normalizer"], form),
        "pre_tokenizer": _pre_tokenizer(marker),
        "decoder": _decoder(document, form),
        "model": {
            **model,
            "unk_token": form.unk_token,
            "continuing_subword_prefix": "",
            "max_input_chars_per_word": model["max_input_chars_per_word"] + len(marker),
            "vocab": dict(form.tokens),
        },
    }


def to_ordinary_json(root: Node) -> Node:
    """A tokenizer.json as it was before `to_normal_form_json`; one that is not in the normal form stays as it is.

    Raises VocabularyError where it looks like the normal form and gives other ids than any ordinary one would.
    """
    marker = _marker(root)
    if marker is None:
        return root
    normalizer, model, decoder = (root.require(name) for name in ("normalizer", "model", "decoder"))
    vocab = model.require("vocab").object()
    parts = list(decoder.require("decoders").items()) if decoder.has("decoders") else []
    if len(parts) not in (2, 3):
        decoder.fail("does not say what the continuation marker was; convert the original tokenizer again.")
    prefix = parts[0].require("content").string() if len(parts) == 3 else ""
    if not all(type(number) is int for number in vocab.values()):
        model.get("vocab").fail("has an id that is no whole number.")
    tokens = NormalForm(vocab, marker, prefix, "", None).original_tokens()
    names = {number: token for token, number in tokens.items()}
    unknown = model.require("unk_token").string()
    limit = model.require("max_input_chars_per_word").integer(LIMIT + len(marker))
    normalizers = normalizer.get("normalizers").items() if normalizer.has("normalizers") else ()
    ordinary = {
        **root.object(),
        "added_tokens": root.get("added_tokens").value or [],
        "normalizer": next(iter(normalizers), normalizer).value,
        "pre_tokenizer": SPLIT,
        "decoder": parts[-1].value,
        "model": {
            **model.object(),
            "vocab": tokens,
            "unk_token": names.get(vocab.get(unknown, -1), unknown),
            "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": limit - len(marker),
        },
    }
    _check_that_it_leads_back(root, ordinary, marker)
    return Node(ordinary, root.file)


def _check_that_it_leads_back(root: Node, ordinary: Document, marker: str) -> None:
    """Refuse a file that was changed after it was converted, or came from elsewhere, unless it is the same again."""
    model = ordinary["model"]
    added = {
        entry.require("content").string(): entry.require("normalized").boolean()
        for entry in Node(ordinary["added_tokens"], root.file, "added_tokens").items()
    }
    try:
        form = normal_form(model["vocab"], marker, model["continuing_subword_prefix"], model["unk_token"], added)
        again = to_normal_form_json(ordinary, form)
    except (ConfigError, VocabularyError) as error:
        root.fail(f"is not a normal form that can be read: {error}")
    for name in CONVERTED:
        if again[name] != root.get(name).value:
            root.get(name).fail(
                "is not what a vocabulary in the normal form has there, so that ids could differ; convert the original "
                "tokenizer again."
            )


def _marker(root: Node) -> str | None:
    """The marker, if the pre-tokenizer is one that `_pre_tokenizer` makes."""
    section = root.object().get("pre_tokenizer")
    parts = section.get("pretokenizers") if isinstance(section, dict) else None
    last = parts[-1] if isinstance(parts, list) and parts else None
    marker = last.get("replacement") if isinstance(last, dict) else None
    return marker if isinstance(marker, str) and section == _pre_tokenizer(marker) else None


def _check_added_tokens(document: Mapping[str, Any], form: NormalForm) -> None:
    """HF numbers added tokens that its model lacks from the number of tokens on, and tokens with two forms are two."""
    shared = form.shared()
    lacking = [added["content"] for added in document["added_tokens"] if added["content"] not in form.tokens]
    if shared and lacking:
        raise VocabularyError(
            f"the added token {lacking[0]!r} is not in the vocabulary, and there are tokens with two texts in the "
            f"normal form, such as {shared[0]!r}, so that HF would give it another id; add it to the vocabulary."
        )


def _normalizer(normalizer: Any, form: NormalForm) -> Any:
    if form.stand_in is None:
        return normalizer
    strange, other = form.stand_in
    replace = {"type": "Replace", "pattern": {"String": strange}, "content": other}
    return {"type": "Sequence", "normalizers": [normalizer, replace]}


def _pre_tokenizer(marker: str) -> Document:
    spaces = {"type": "Metaspace", "replacement": SPACE, "prepend_scheme": "always", "split": False}
    markers = {"type": "Metaspace", "replacement": marker, "prepend_scheme": "never", "split": False}
    return {"type": "Sequence", "pretokenizers": [SPLIT, spaces, *([markers] if marker != SPACE else [])]}


def _decoder(document: Mapping[str, Any], form: NormalForm) -> Any:
    """The decoder that gives tokens their continuation markers back before the decoder of the document sees them."""
    if document["decoder"] is None:
        return None
    marker, prefix = re.escape(form.marker), form.continuing_subword_prefix
    if prefix.startswith(form.marker):
        raise ConfigError(f"A tokenizer.json cannot decode {prefix!r} with the marker {form.marker!r}; choose another.")
    # `can_be_word` of what is left, in Oniguruma's syntax.
    signs, spaces = re.escape(string.punctuation), re.escape(WHITE_SPACE)
    word = rf"(?=(?:[{signs}]|[^{signs}{spaces}]+)\z)"
    # Added tokens have no markers, whatever they look like.
    texts = {text: None for added in document["added_tokens"] for text in sorted(spellings(added["content"]))}
    whole = "".join(rf"(?!{re.escape(text)}\z)" for text in texts if can_be_word(text.removeprefix(form.marker)))
    put = {"type": "Replace", "pattern": {"Regex": rf"\A(?!{marker}){whole}{word}"}, "content": prefix}
    take = {"type": "Replace", "pattern": {"Regex": rf"\A{whole}{marker}{word}"}, "content": ""}
    return {"type": "Sequence", "decoders": [*([put] if prefix else []), take, document["decoder"]]}
