"""HuggingFace `tokenizers` as the oracle: one tokenizer.json for both, and comparisons that show what differs."""

import hashlib
import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from tokenizers import Tokenizer

import beam_wordpiece as bw

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
BATCH = 20_000


def tokenizer_json(
    vocabulary: Sequence[str],
    *,
    lowercase: bool = True,
    strip_accents: bool | None = None,
    clean_text: bool = True,
    handle_chinese_chars: bool = True,
    unk_token: str = "[UNK]",
    prefix: str = "##",
    max_chars: int = 100,
    added_tokens: Iterable[Mapping[str, Any]] = (),
    template: bool = False,
) -> str:
    """The tokenizer.json of a BERT with this vocabulary (a token's id is its index), as text.

    `added_tokens`: `content`, and those of the flags that are not false; their ids are filled in. `template`: put [CLS]
    and [SEP] around the text.
    """
    ids = {token: number for number, token in enumerate(vocabulary)}
    added = _added_tokens(added_tokens, ids)
    return json.dumps(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": added,
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": clean_text,
                "handle_chinese_chars": handle_chinese_chars,
                "strip_accents": strip_accents,
                "lowercase": lowercase,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": _template(ids) if template else None,
            "decoder": {"type": "WordPiece", "prefix": prefix, "cleanup": True},
            "model": {
                "type": "WordPiece",
                "unk_token": unk_token,
                "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": max_chars,
                "vocab": ids,
            },
        }
    )


def _added_tokens(tokens: Iterable[Mapping[str, Any]], vocabulary: Mapping[str, int]) -> list[dict[str, Any]]:
    """The section of the file: flags filled in, a token that the vocabulary lacks numbered on from its end."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    ids = dict(vocabulary)
    return sorted(
        ({"id": ids.setdefault(token["content"], len(ids)), **flags, **token} for token in tokens),
        key=lambda token: token["id"],
    )


def _template(ids: Mapping[str, int]) -> dict[str, Any]:
    first, text, last = (
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    )
    second = [{"Sequence": {"id": "B", "type_id": 1}}, {"SpecialToken": {"id": "[SEP]", "type_id": 1}}]
    return {
        "type": "TemplateProcessing",
        "single": [first, text, last],
        "pair": [first, text, last, *second],
        "special_tokens": {name: {"id": name, "ids": [ids[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")},
    }


def load(path: Path, content: str, *, add_special_tokens: bool = True) -> tuple[Tokenizer, bw.Tokenizer]:
    """HF's tokenizer and ours from the same tokenizer.json, which is written to `path`."""
    path.write_text(content, encoding="utf-8")
    return hf_tokenizer(path), bw.Tokenizer(bw.Automaton.compile(path), add_special_tokens=add_special_tokens)


def hf_tokenizer(path: Path) -> Tokenizer:
    """HF's tokenizer of a file, without truncation and padding."""
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def hf_ids(tokenizer: Tokenizer, texts: Sequence[str], *, add_special_tokens: bool = True) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens)]


def our_ids(tokenizer: bw.Tokenizer, texts: Sequence[str]) -> list[list[int]]:
    return tokenizer.encode_arrow(pa.array(texts, pa.large_string())).column("input_ids").to_pylist()


def assert_same_ids(
    oracle: Tokenizer, tokenizer: bw.Tokenizer, texts: Iterable[str], *, add_special_tokens: bool = True
) -> int:
    """Compare all texts, in batches. The message shows the first text that differs. Returns the number of texts."""
    compared = 0
    for batch in batches(texts):
        expected = hf_ids(oracle, batch, add_special_tokens=add_special_tokens)
        actual = our_ids(tokenizer, batch)
        if actual != expected:
            row = next(i for i, (a, e) in enumerate(itertools.zip_longest(actual, expected)) if a != e)
            raise AssertionError(difference(oracle, batch[row], actual[row], expected[row]))
        compared += len(batch)
    return compared


def difference(oracle: Tokenizer, text: str, actual: list[int], expected: list[int]) -> str:
    """What differs, from a little before the first id that does."""
    start = next((i for i, (a, e) in enumerate(zip(actual, expected, strict=False)) if a != e), 0)
    window = slice(max(0, start - 3), start + 8)
    tokens = [[oracle.id_to_token(number) for number in ids[window]] for ids in (actual, expected)]
    return f"text {text[:2000]!a}: ids from {window.start} are {tokens[0]!a}, HF's are {tokens[1]!a}"


def batches(texts: Iterable[str], size: int = BATCH) -> Iterator[list[str]]:
    rest = iter(texts)
    while batch := list(itertools.islice(rest, size)):
        yield batch


def digest(rows: Iterable[Sequence[int]]) -> str:
    """A hash of ids and of where the documents end."""
    sha = hashlib.sha256()
    for row in rows:
        sha.update(repr(list(row)).encode())
    return sha.hexdigest()
