"""The texts that are measured: corpora beside the checkout, and made ones that nothing can have seen before."""

from __future__ import annotations

import os
import random
import string
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = 4_000
"""Characters of a made document."""


def shared_folder() -> Path:
    """The folder with `corpora` (Parquet, column `text`) and `vocabs` (folders with a tokenizer.json)."""
    named = os.environ.get("BEAM_WORDPIECE_SHARED")
    return Path(named) if named else ROOT.parent / "shared"


def corpus(path: Path, megabytes: float) -> list[str]:
    """The first documents of a Parquet file, about so many MB of UTF-8; fewer where the file has no more."""
    documents: list[str] = []
    rest = megabytes * 1e6
    for batch in pq.ParquetFile(path).iter_batches(columns=["text"]):
        texts: Any = batch.column(0).drop_null()
        ends = pc.cumulative_sum(pc.binary_length(texts).cast("int64")).to_numpy()
        taken = int(ends.searchsorted(rest)) + 1
        documents += texts.slice(0, taken).to_pylist()
        if taken <= len(texts):
            break
        rest -= float(ends[-1]) if len(ends) else 0.0
    return documents


def size_of(documents: list[str]) -> int:
    """Bytes of UTF-8."""
    return sum(len(text.encode()) for text in documents)


def batches(documents: list[str], megabytes: float) -> Iterator[list[str]]:
    """The documents, as many in a batch as make up so many MB of UTF-8, one at least."""
    batch: list[str] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.encode())
        if size >= megabytes * 1e6:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def cut(text: str, length: int) -> list[str]:
    """Documents of so many characters."""
    return [text[start : start + length] for start in range(0, len(text), length)]


def short(documents: list[str], count: int, length: int = 140) -> list[str]:
    """`count` texts of about `length` bytes, cut from documents at spaces."""
    texts: list[str] = []
    for document in documents:
        words, text = document.split(" "), ""
        for word in words:
            text = f"{text} {word}" if text else word
            if len(text.encode()) >= length:
                texts.append(text)
                text = ""
        if len(texts) >= count:
            break
    return texts[:count]


def identifiers(source: random.Random, size: int) -> str:
    """Random words of letters and digits of random lengths, 20 characters on average; fast to make."""
    alphabet = (string.ascii_lowercase + string.digits).encode()
    table = bytes(alphabet[byte % len(alphabet)] if byte >= 12 else ord(" ") for byte in range(256))
    return source.randbytes(size).translate(table).decode("ascii")


def _words(source: random.Random, size: int, make: Callable[[], str]) -> str:
    """Words with a space between them, `size` bytes or a little more."""

    def enough() -> Iterator[str]:
        written = 0
        while written < size:
            word = make()
            written += len(word.encode()) + 1
            yield word

    return " ".join(enough())


def _digests(source: random.Random, size: int) -> str:
    return _words(source, size, lambda: source.randbytes(32).hex())


def _longest_words(source: random.Random, size: int) -> str:
    """Words about as long as a word may be, of one letter, some with another at the end."""
    return _words(source, size, lambda: "a" * source.randint(96, 101) + source.choice(["", "b"]))


def _punctuation(source: random.Random, size: int) -> str:
    return "".join(source.choices(string.punctuation, k=size))


def _marks(source: random.Random, size: int) -> str:
    """Letters with a few marks of several classes, which have to be sorted before they are stripped."""
    marks = ["\u0301", "\u0323", "\u0308", "\u0327"]

    def letter() -> str:
        return source.choice("aeiou") + "".join(source.choices(marks, k=source.randint(0, 6)))

    return _words(source, size, lambda: "".join(letter() for _ in range(source.randint(1, 8))))


def _one_letter_and_marks(source: random.Random, size: int) -> str:
    return "e" + "\u0301" * (size // 2)


def _emoji(source: random.Random, size: int) -> str:
    # 44 bytes.
    signs = ["😀", "🎉", "👍🏽", "👩\u200d🔬", "🇫🇷", "❤\ufe0f", "⚠"]
    return "".join(source.choices(signs, k=size * 7 // 44))


def _ideographs(source: random.Random, size: int) -> str:
    return "".join(map(chr, source.choices(range(0x4E00, 0x9FFF), k=size // 3)))


def _any_characters(source: random.Random, size: int) -> str:
    """Characters of the first two planes, each block as likely as it is long."""
    codes = [*range(0x20, 0xD800), *range(0xE000, 0x20000)]
    return "".join(map(chr, source.choices(codes, k=size * 10 // 34)))


def _letters(source: random.Random, size: int) -> str:
    return "".join(source.choices(string.ascii_lowercase, k=size))


HOSTILE: dict[str, Callable[[random.Random, int], str]] = {
    "identifiers": identifiers,
    "digests": _digests,
    "longest words": _longest_words,
    "punctuation": _punctuation,
    "marks": _marks,
    "one letter and marks": _one_letter_and_marks,
    "emoji": _emoji,
    "random ideographs": _ideographs,
    "any characters": _any_characters,
    "one word": _letters,
}
"""Text that no cache has seen, or that is made to be slow: name to maker of a text of about so many bytes."""


def hostile(name: str, megabytes: float) -> list[str]:
    """Documents of a hostile family, the same in every run. "one word" is a single document."""
    text = HOSTILE[name](random.Random(f"hostile {name}"), int(megabytes * 1e6))
    return [text] if name == "one word" else cut(text, DOCUMENT)
