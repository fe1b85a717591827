"""The two layouts of an automaton beside each other: memory, and speed on ordinary text and on identifiers.

    python -m benchmarks.layouts
    BEAM_WORDPIECE_SIMD=portable python -m benchmarks.layouts

CPU time of the process, one thread; the layouts take turns, and what is printed are medians. The ids are compared.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import beam_wordpiece as bw
from beam_wordpiece.settings import LAYOUTS
from benchmarks import automata, texts

ROUNDS = 11
SETS = (
    ("bert-base-uncased", "en_books"),
    ("bert-base-uncased", "identifiers"),
    ("bert-base-multilingual-cased", "help_de"),
)


def size(vocabulary: Path, layout: str) -> dict[str, float]:
    """Of a vocabulary's automaton: bytes of the `file` and of what words are `walked` through, numbers of `nodes` and
    `transitions`, seconds to `compile` and to `open` it.
    """
    start = time.process_time()
    automaton = bw.Automaton.compile(vocabulary, layout=layout)
    compiled = time.process_time() - start
    described = automaton.describe()
    walked = ("trie: nodes and failure links", "failure pops", "transducer: transitions")
    return {
        "file": described["size"],
        "walked": sum(described["sections"].get(name, 0) for name in walked),
        "nodes": described["statistics"]["nodes"],
        "transitions": described["statistics"]["transitions"],
        "compile": compiled,
        "open": automata.opening(automaton),
    }


def speed(vocabulary: Path, documents: list[str]) -> dict[str, float]:
    """MB/s of each layout. Raises AssertionError where the ids are others."""
    array = pa.array(documents, pa.large_string())
    tokenizers = {layout: bw.Tokenizer(bw.Automaton.compile(vocabulary, layout=layout)) for layout in LAYOUTS}
    columns: list[Any] = [tokenizer.encode_arrow(array).column("input_ids") for tokenizer in tokenizers.values()]
    assert columns[0].equals(columns[1])
    seconds: dict[str, list[float]] = {layout: [] for layout in tokenizers}
    for _ in range(ROUNDS):
        for layout, tokenizer in tokenizers.items():
            start = time.process_time()
            tokenizer.encode_arrow(array)
            seconds[layout].append(time.process_time() - start)
    megabytes = texts.size_of(documents) / 1e6
    return {layout: megabytes / statistics.median(each) for layout, each in seconds.items()}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--shared", type=Path, default=texts.shared_folder(), help="where corpora and vocabularies are")
    parser.add_argument("--megabytes", type=float, default=8.0)
    options = parser.parse_args(argv)
    names = ("file", "walked", "nodes", "transitions", "compile", "open")
    print(f"{'':30} {'':14}" + "".join(f"{name:>12}" for name in names))
    for vocabulary in dict.fromkeys(vocabulary for vocabulary, _ in SETS):
        for layout in LAYOUTS:
            sizes = size(options.shared / "vocabs" / vocabulary, layout)
            cells = [f"{sizes[name]:12,.0f}" for name in names[:4]] + [f"{sizes[name]:12.4f}" for name in names[4:]]
            print(f"{vocabulary:30} {layout:14}" + "".join(cells))
    print(f"\n{'MB/s':30} {'':14}" + "".join(f"{layout:>15}" for layout in LAYOUTS))
    for vocabulary, name in SETS:
        path = options.shared / "corpora" / f"{name}.parquet"
        hostile = name in texts.HOSTILE
        documents = texts.hostile(name, options.megabytes) if hostile else texts.corpus(path, options.megabytes)
        measured = speed(options.shared / "vocabs" / vocabulary, documents)
        print(f"{vocabulary:30} {name:14}" + "".join(f"{measured[layout]:15.1f}" for layout in LAYOUTS))


if __name__ == "__main__":
    main()
