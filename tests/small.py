"""A vocabulary of a few tokens, and the tokenizer.json made of it, for tests that change one thing in it."""

import json
from pathlib import Path
from typing import Any

from tests import oracle

# The tokens of the paper's example.
PAPER = ["a", "abcdx", "##b", "##c", "##cdy", "##dz"]
VOCABULARY = [
    *oracle.SPECIAL_TOKENS,
    *("un", "##aff", "##able", "aff", "a", "b", "##a", "##b", "cat", "##s", "do", "don", "##t", "not", "中", "文"),
    *("'", ".", ",", "!", "?", "t", "s", "m", "é", "É", "##é", "Cat"),
]
TEXTS = [
    "unaffable cats",
    "a b ab ba abab zzz",
    "Don't! cat . cat , do not ? it's",
    "caté CAT Cat É é",
    "中文cat中",
    "[MASK] the [CLS]cat[SEP] [UNK]",
    "",
    "  \t a\u00a0b\r\n",
]


# Options of an automaton that does not split text into words.
STRETCHES: dict[str, Any] = {"pretokenize": False, "unknown": "character"}


def document() -> dict[str, Any]:
    """A tokenizer.json with special tokens and BERT's template, as a dict to be changed."""
    special = [{"content": token, "special": True} for token in oracle.SPECIAL_TOKENS]
    parsed: dict[str, Any] = json.loads(oracle.tokenizer_json(VOCABULARY, added_tokens=special, template=True))
    return parsed


def write(path: Path, content: dict[str, Any]) -> Path:
    """Write JSON and return the path."""
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def write_vocab(path: Path, tokens: list[str] | None = None) -> Path:
    """Write a vocab.txt and return the path."""
    path.write_bytes("".join(f"{token}\n" for token in tokens or VOCABULARY).encode())
    return path


def added(content: str, id: int, **flags: bool) -> dict[str, Any]:
    """An entry of `added_tokens`; flags that are not given are false."""
    names = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {"id": id, "content": content, **dict.fromkeys(names, False), **flags}
