"""Whether time grows as the text does: one document of 1 MB, of 2 MB, and so on to 64 MB."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import systems, texts

SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Megabytes."""
MOST = 2.2
"""What twice the text may take at most, as a multiple of the time."""
ROUNDS = 7


def measure(shared: str, corpus: str, vocabulary: str) -> dict[str, Any]:
    """For each family of text: CPU `seconds` for each size, the least of some rounds (noise only adds), and `factors`.

    A document is cut off a text of 64 MB that does not repeat itself within 1 MB.
    """
    system = systems.project(Path(shared) / "vocabs" / vocabulary)
    prose = "\n".join(texts.corpus(Path(shared) / "corpora" / f"{corpus}.parquet", max(SIZES)))
    families: dict[str, Callable[[], str]] = {"prose": lambda: prose}
    for name in texts.HOSTILE:
        families[name] = lambda name=name: _repeated(name)  # type: ignore[misc]
    return {name: _family(system, make()) for name, make in families.items()}


def _repeated(name: str) -> str:
    part = texts.HOSTILE[name](random.Random(f"growth {name}"), 1_000_000)
    return part * max(SIZES)


def _family(system: systems.System, text: str) -> dict[str, list[float]]:
    # Characters for bytes: all sizes are cut at the same share of the text.
    share = len(text) / max(SIZES)
    documents = [system.prepare([text[: round(share * size)]]) for size in SIZES]
    rounds: list[list[float]] = []
    for _ in range(ROUNDS):
        seconds = []
        for document in documents:
            start = time.process_time()
            system.encode(document)
            seconds.append(time.process_time() - start)
        rounds.append(seconds)
    times = [min(each) for each in zip(*rounds, strict=True)]
    factors = [after / before for before, after in itertools.pairwise(times)]
    return {"seconds": times, "factors": factors}
