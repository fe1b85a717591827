"""Texts of a line or two: one call each, and many in a call beside documents of some thousand characters."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import beam_wordpiece as bw
from beam_wordpiece import _core
from benchmarks import systems, texts

CALLS = 5_000
BATCH = 20_000
ROUNDS = 15


def measure(shared: str, corpus: str, vocabulary: str, names: list[str]) -> dict[str, Any]:
    """`calls`: for each way to encode one text, microseconds a call, `first` and `later` as for throughput.

    `batches`: for each system the MB/s, in later passes, of `short` texts and of the same text in `long` documents.
    """
    documents = texts.corpus(Path(shared) / "corpora" / f"{corpus}.parquet", 20)
    folder = Path(shared) / "vocabs" / vocabulary
    lines = texts.short(documents, BATCH)
    automaton = bw.Automaton.compile(folder / "tokenizer.json")
    # What Tokenizer.encode calls: the ids alone, without the tokens as text.
    encoder = _core.Encoder(automaton._core, add_special_tokens=False, strict=False)
    loaded = {name: systems.SYSTEMS[name](folder) for name in names}
    ways = {"project, Encoder": encoder.encode, **{name: system.encode_one for name, system in loaded.items()}}
    return {
        "length": texts.size_of(lines) / len(lines),
        "calls": _calls(lines[:CALLS], ways),
        "batches": _batches(lines, loaded),
    }


def _calls(lines: list[str], ways: dict[str, Callable[[str], Any]]) -> dict[str, dict[str, float]]:
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, encode in ways.items():
            start = time.process_time()
            for line in lines:
                encode(line)
            seconds[name].append(time.process_time() - start)
    return {name: _summary(each, lambda one: one / len(lines) * 1e6) for name, each in seconds.items()}


def _batches(lines: list[str], loaded: dict[str, systems.System]) -> dict[str, dict[str, float]]:
    forms = {"short": lines, "long": texts.cut(" ".join(lines), texts.DOCUMENT)}
    seconds: dict[tuple[str, str], list[float]] = {}
    # One system after the other: what is asked is how its two forms compare, and the first one to run behind another
    # system would pay for what that one left in the caches.
    for name, system in loaded.items():
        prepared = {form: system.prepare(documents) for form, documents in forms.items()}
        for _ in range(3 if name in systems.MOST_MEGABYTES else ROUNDS):
            for form, data in prepared.items():
                start = time.process_time()
                system.encode(data)
                seconds.setdefault((name, form), []).append(time.process_time() - start)
    megabytes = {form: texts.size_of(documents) / 1e6 for form, documents in forms.items()}
    return {
        name: {form: megabytes[form] / statistics.median(seconds[name, form][1:]) for form in forms} for name in loaded
    }


def _summary(seconds: list[float], unit: Callable[[float], float]) -> dict[str, float]:
    return {"first": unit(seconds[0]), "later": unit(statistics.median(seconds[1:]))}
