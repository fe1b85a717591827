"""Throughput of the project and its peers over the same documents, in turn, in one process."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import systems, texts

# Sets smaller than this are encoded more often.
ENOUGH_MEGABYTES = 20.0
MOST_ROUNDS = 40
SAMPLE = 100
BATCH_MEGABYTES = 4.0
"""Text of a call, as the pipeline has it. What a batch gave is let go before the next one, so memory is used again."""


@dataclass(frozen=True)
class Set:
    """Documents and the vocabulary for them. `megabytes`: at most; a corpus may have less."""

    name: str
    vocabulary: str
    megabytes: float
    hostile: bool = False

    def documents(self, shared: Path) -> list[str]:
        if self.hostile:
            return texts.hostile(self.name, self.megabytes)
        return texts.corpus(shared / "corpora" / f"{self.name}.parquet", self.megabytes)


@dataclass
class Contender:
    """One system at work on a set: its documents in batches, and the CPU seconds of each pass over them."""

    name: str
    system: systems.System
    batches: list[Any]
    size: int
    seconds: list[float]

    def encode(self) -> None:
        """One pass. What a batch gave is let go before the next one, and that is not charged for."""
        seconds = 0.0
        for batch in self.batches:
            start = time.process_time()
            encoded = self.system.encode(batch)
            seconds += time.process_time() - start
            del encoded
        self.seconds.append(seconds)

    def same(self, expected: dict[int, list[int]]) -> bool:
        """Whether documents, by number, have these ids, in one more pass over their batches."""
        before = 0
        for batch in self.batches:
            here = [number for number in expected if 0 <= number - before < len(batch)]
            encoded = self.system.encode(batch) if here else None
            if any(self.system.ids(encoded, number - before) != expected[number] for number in here):
                return False
            before += len(batch)
        return True


def measure(
    shared: str, subject: dict[str, Any], names: list[str], rounds: int, batch: float = BATCH_MEGABYTES
) -> dict[str, Any]:
    """For each system: `first` (a new tokenizer, unseen text) and `later` (median of further passes) in MB/s, and

    `same`: whether the ids of a sample are HF's; or `error`, where it failed. `megabytes`: the size of the set.
    """
    chosen = Set(**subject)
    documents = chosen.documents(Path(shared))
    megabytes = texts.size_of(documents) / 1e6
    rounds = max(rounds, min(MOST_ROUNDS, math.ceil(ENOUGH_MEGABYTES / megabytes)))
    folder = Path(shared) / "vocabs" / chosen.vocabulary
    results: dict[str, Any] = {}
    contenders = []
    for name in names:
        with _failures(results, name):
            contenders.append(_contender(name, folder, documents, batch))
    expected = _expected(folder, documents)
    for number in range(rounds):
        for contender in [one for one in contenders if one.name not in results]:
            if number > 1 and contender.name in systems.MOST_MEGABYTES:
                continue
            with _failures(results, contender.name):
                contender.encode()
    for contender in [one for one in contenders if one.name not in results]:
        with _failures(results, contender.name):
            results[contender.name] = {
                "first": contender.size / 1e6 / contender.seconds[0],
                "later": contender.size / 1e6 / statistics.median(contender.seconds[1:]),
                "same": contender.same(expected),
            }
    return {"megabytes": megabytes, "systems": results}


def unseen(shared: str, subject: dict[str, Any], rounds: int, batch: float = BATCH_MEGABYTES) -> dict[str, float]:
    """MB/s of the project over half of a set: `first`, after the other half, and `later`, the median of further passes.

    So buffers are there, and only the text is new.
    """
    chosen = Set(**subject)
    documents = chosen.documents(Path(shared))
    if len(documents) == 1:
        documents = texts.cut(documents[0], -(-len(documents[0]) // 2))
    folder = Path(shared) / "vocabs" / chosen.vocabulary
    half = _contender(systems.PROJECT, folder, documents[::2], batch)
    for other in texts.batches(documents[1::2], batch):
        half.system.encode(half.system.prepare(other))
    for _ in range(1 + rounds):
        half.encode()
    first, later = half.seconds[0], statistics.median(half.seconds[1:])
    return {"first": half.size / 1e6 / first, "later": half.size / 1e6 / later}


@contextmanager
def _failures(results: dict[str, Any], name: str) -> Iterator[None]:
    """Where a peer fails that is its result. The project may not, and who presses Ctrl-C wants to end everything."""
    try:
        yield
    # A peer's panic is not an Exception, and says as much about it as one.
    except BaseException as error:
        if name == systems.PROJECT or isinstance(error, KeyboardInterrupt):
            raise
        results[name] = {"error": f"{type(error).__name__}: {error}"[:200]}


def _contender(name: str, folder: Path, documents: list[str], batch: float) -> Contender:
    most = systems.MOST_MEGABYTES.get(name)
    if most is not None:
        share = most * 1e6 / texts.size_of(documents)
        documents = documents[: max(1, math.ceil(len(documents) * share))]
    system = systems.SYSTEMS[name](folder)
    batches = [system.prepare(part) for part in texts.batches(documents, batch)]
    return Contender(name, system, batches, texts.size_of(documents), [])


def _expected(folder: Path, documents: list[str]) -> dict[int, list[int]]:
    """HF's ids of some documents, by number."""
    oracle = systems.hf(folder)
    numbers = range(0, len(documents), max(1, len(documents) // SAMPLE))
    encoded = oracle.encode([documents[number] for number in numbers])
    return {number: oracle.ids(encoded, place) for place, number in enumerate(numbers)}
