"""Text without words, words by their characters, and dictionaries: their speed on corpora.

    python -m benchmarks.stretches
    BEAM_WORDPIECE_SIMD=avx2 python -m benchmarks.stretches --sets help_zh-cn --ways unsplit

The vocabulary is the most frequent strings of one to eight characters of each corpus itself, the longer ones weighing
more. CPU time of the process, one thread; the ways take turns, and what is printed are medians.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import beam_wordpiece as bw
from benchmarks import texts

SETS = ("help_zh-cn", "help_ja", "help_ko", "help_de", "wiki_chinese", "wiki_japanese", "wiki_korean", "wiki_german")
LONGEST = 8
SAMPLED = 1_500_000
"""Characters whose strings are counted."""


def frequent(documents: list[str], count: int) -> list[str]:
    """The strings that a vocabulary is made of, most work first: how often one occurs times its characters."""
    decomposed = unicodedata.normalize("NFD", "\n".join(documents)[:SAMPLED].lower())
    sample = "".join(" " if c in "\t\n\r" else c for c in decomposed if unicodedata.category(c) != "Mn")
    counts = Counter[str]()
    for length in range(1, LONGEST + 1):
        found = Counter(sample[start : start + length] for start in range(len(sample) - length + 1))
        counts.update({token: length * times for token, times in found.most_common(4 * count) if times > 1})
    return [token for token, _ in counts.most_common(count)]


def tokenizers(tokens: list[str], folder: Path) -> dict[str, Callable[[Any], Any]]:
    """What is measured, by name: each takes an array of texts."""
    switches = {"clean_text": True, "handle_chinese_chars": False, "strip_accents": None, "lowercase": True}
    rest = {"normalizer": {"type": "BertNormalizer", **switches}, "pre_tokenizer": {"type": "BertPreTokenizer"}}

    def encoder(prefix: str = "##", **options: Any) -> Callable[[Any], Any]:
        inner = [f"{prefix}{token}" for token in tokens]
        vocabulary = {token: number for number, token in enumerate(dict.fromkeys(["[UNK]", *tokens, *inner]))}
        model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": prefix, "vocab": vocabulary}
        model["max_input_chars_per_word"] = 100
        path = folder / "tokenizer.json"
        path.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model, **rest}), encoding="utf-8")
        return bw.Tokenizer(bw.Automaton.compile(path, **options), add_special_tokens=False).encode_arrow

    return {
        "words": encoder(),
        "words, characters": encoder(unknown="character"),
        "words, runs": encoder(unknown="run"),
        "unsplit": encoder("", pretokenize=False, unknown="character"),
        "unsplit, runs": encoder("", pretokenize=False, unknown="run"),
        "unsplit, ##": encoder(pretokenize=False, unknown="character"),
        "dictionary": bw.Dictionary([f"{token}:{number}" for number, token in enumerate(tokens)]).encode_arrow,
    }


def speed(ways: dict[str, Callable[[Any], Any]], documents: list[str], rounds: int) -> dict[str, float]:
    """MB/s of each way."""
    array = pa.array(documents, pa.large_string())
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, encode in ways.items():
            start = time.process_time()
            encode(array)
            seconds[name].append(time.process_time() - start)
    megabytes = texts.size_of(documents) / 1e6
    return {name: megabytes / statistics.median(each) for name, each in seconds.items()}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--shared", type=Path, default=texts.shared_folder(), help="where the corpora are")
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=65_000)
    parser.add_argument("--sets", nargs="+", default=SETS, help="corpora")
    parser.add_argument("--ways", nargs="+", help="beginnings of their names")
    options = parser.parse_args(argv)
    for name in options.sets:
        documents = texts.corpus(options.shared / "corpora" / f"{name}.parquet", options.megabytes)
        with tempfile.TemporaryDirectory() as folder:
            ways = tokenizers(frequent(documents, options.tokens), Path(folder))
        chosen = {way: each for way, each in ways.items() if not options.ways or way.startswith(tuple(options.ways))}
        for way, measured in speed(chosen, documents, options.rounds).items():
            print(f"{name:16} {way:20} {measured:8.1f}", flush=True)


if __name__ == "__main__":
    main()
