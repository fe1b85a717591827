"""Throughput of the project and its peers over the same documents, in turn, in one process."""

from __future__ import annotations

import math
import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import systems, texts

# Sets smaller than this are encoded more often.
ENOUGH_MEGABYTES = 20.0
MOST_ROUNDS = 40
SAMPLE = 100
BATCH_MEGABYTES = 1.0
"""Text of a call, as a job has it: what a batch gave is let go before the next one, so that memory is used again."""


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
        """One pass."""
        start = time.process_time()
        for batch in self.batches:
            self.system.encode(batch)
        self.seconds.append(time.process_time() - start)

    def same(self, expected: dict[int, list[int]]) -> bool:
        """Whether documents, by number, have these ids."""
        before = 0
        for batch in self.batches:
            encoded = self.system.encode(batch)
            here = [number for number in expected if 0 <= number - before < len(batch)]
            if any(self.system.ids(encoded, number - before) != expected[number] for number in here):
                return False
            before += len(batch)
        return True


def measure(shared: str, subject: dict[str, Any], names: list[str], rounds: int) -> dict[str, Any]:
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
        # A peer's panic is not an Exception, and says as much about it as one.
        try:
            contenders.append(_contender(name, folder, documents))
        except BaseException as error:
            _raise_if_ours(name, error)
            results[name] = {"error": f"{type(error).__name__}: {error}"[:200]}
    expected = _expected(folder, documents)
    for number in range(rounds):
        for contender in [one for one in contenders if one.name not in results]:
            if number > 1 and contender.name in systems.MOST_MEGABYTES:
                continue
            try:
                contender.encode()
            except BaseException as error:
                _raise_if_ours(contender.name, error)
                results[contender.name] = {"error": f"{type(error).__name__}: {error}"[:200]}
    for contender in [one for one in contenders if one.name not in results]:
        results[contender.name] = {
            "first": contender.size / 1e6 / contender.seconds[0],
            "later": contender.size / 1e6 / statistics.median(contender.seconds[1:]),
            "same": contender.same(expected),
        }
    return {"megabytes": megabytes, "systems": results}


def _raise_if_ours(name: str, error: BaseException) -> None:
    """The project may not fail, and who presses Ctrl-C wants to end everything."""
    if name == systems.PROJECT or isinstance(error, KeyboardInterrupt):
        raise error


def _contender(name: str, folder: Path, documents: list[str]) -> Contender:
    most = systems.MOST_MEGABYTES.get(name)
    if most is not None:
        share = most * 1e6 / texts.size_of(documents)
        documents = documents[: max(1, math.ceil(len(documents) * share))]
    system = systems.SYSTEMS[name](folder)
    batches = [system.prepare(batch) for batch in texts.batches(documents, BATCH_MEGABYTES)]
    return Contender(name, system, batches, texts.size_of(documents), [])


def _expected(folder: Path, documents: list[str]) -> dict[int, list[int]]:
    """HF's ids of some documents, by number."""
    oracle = systems.hf(folder)
    numbers = range(0, len(documents), max(1, len(documents) // SAMPLE))
    encoded = oracle.encode([documents[number] for number in numbers])
    return {number: oracle.ids(encoded, place) for place, number in enumerate(numbers)}
