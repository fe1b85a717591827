"""What a vocabulary costs before the first text: compiling, the file, opening it; also one of a million tokens."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import beam_wordpiece as bw
from benchmarks import memory, systems, texts

MILLION = 1_000_000
OPENINGS = 15


def measure(shared: str, vocabulary: str, names: list[str]) -> dict[str, Any]:
    """Of a vocabulary: `tokens`, seconds to `compile` it, MB held more at the `peak` of that, and of `describe_file`.

    `peers`: seconds until each of the other systems has loaded the same vocabulary.
    """
    folder = Path(shared) / "vocabs" / vocabulary
    result, _ = _compiled(lambda: bw.Automaton.compile(folder / "tokenizer.json"))
    peers = {}
    for name in names:
        if name != systems.PROJECT:
            start = time.process_time()
            systems.SYSTEMS[name](folder)
            peers[name] = time.process_time() - start
    return {**result, "peers": peers}


def measure_million(shared: str, corpus: str, small: str) -> dict[str, Any]:
    """The same of a made vocabulary of a million tokens, and `speed`: MB/s with it and with a small vocabulary."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vocab.txt"
        path.write_text("".join(f"{token}\n" for token in _million(Path(shared) / "vocabs")), encoding="utf-8")
        result, large = _compiled(lambda: bw.Automaton.compile(path, lowercase=True))
    automata = {"large": large, "small": bw.Automaton.compile(Path(shared) / "vocabs" / small / "tokenizer.json")}
    documents = texts.corpus(Path(shared) / "corpora" / f"{corpus}.parquet", 20)
    return {**result, "speed": _speeds(automata, documents)}


def _compiled(compile: Callable[[], bw.Automaton]) -> tuple[dict[str, Any], bw.Automaton]:
    """Compile, save and open a vocabulary in a process that has compiled nothing before."""
    before = memory.status("VmRSS")
    memory.forget_peak()
    start = time.process_time()
    automaton = compile()
    seconds = time.process_time() - start
    peak = memory.status("VmHWM") - before
    size, tokens = automaton.describe()["size"], automaton.vocab_size
    return {
        "tokens": tokens,
        "compile": seconds,
        "peak": peak,
        "size": size,
        "bytes_per_token": size / tokens,
        "open": opening(automaton),
    }, automaton


def opening(automaton: bw.Automaton) -> float:
    """The median of the seconds that it takes to open the file of an automaton."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "automaton.bwp"
        automaton.save(path)
        for _ in range(OPENINGS):
            start = time.process_time()
            bw.Automaton.open(path)
            seconds.append(time.process_time() - start)
    return statistics.median(seconds)


def _million(folder: Path) -> list[str]:
    """The tokens of all vocabularies of a folder, and words put together from their pieces: the same in every run."""
    pieces: dict[str, None] = {"[PAD]": None, "[UNK]": None, "[CLS]": None, "[SEP]": None, "[MASK]": None}
    for path in sorted(folder.glob("*/vocab.txt")):
        pieces.update(dict.fromkeys(line for line in path.read_text(encoding="utf-8").split("\n") if _is_piece(line)))
    whole = [piece for piece in pieces if piece.isalpha()]
    inside = [piece for piece in pieces if piece.startswith("##") and piece[2:].isalpha()]
    source = random.Random(1_000_000)
    while len(pieces) < MILLION:
        first = source.choice(whole if source.random() < 0.8 else inside)
        pieces[first + source.choice(inside)[2:]] = None
    return list(pieces)[:MILLION]


def _is_piece(line: str) -> bool:
    """Whether a line can stand in a vocab.txt beside the lines of other files."""
    return bool(line) and line == line.strip() and not line.startswith("[unused")


def _speeds(automata: dict[str, bw.Automaton], documents: list[str]) -> dict[str, dict[str, float]]:
    megabytes = texts.size_of(documents) / 1e6
    loaded = {name: systems.of_automaton(automaton) for name, automaton in automata.items()}
    data = {name: system.prepare(documents) for name, system in loaded.items()}
    seconds: dict[str, list[float]] = {name: [] for name in loaded}
    for _ in range(7):
        for name, system in loaded.items():
            start = time.process_time()
            system.encode(data[name])
            seconds[name].append(time.process_time() - start)
    return {
        name: {"first": megabytes / each[0], "later": megabytes / statistics.median(each[1:])}
        for name, each in seconds.items()
    }
