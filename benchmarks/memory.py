"""What a process holds: read from /proc, so on Linux only."""

from __future__ import annotations

import gc
import itertools
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from benchmarks import systems, texts

BATCH = 10_000_000
"""Bytes of text in a call."""


def status(field: str) -> float:
    """A field of the process's own status, such as VmRSS or VmHWM, in MB."""
    content = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(rf"^{field}:\s+(\d+) kB$", content, re.MULTILINE)
    if found is None:
        raise OSError(f"/proc/self/status has no field {field}")
    return int(found[1]) * 1024 / 1e6


def forget_peak() -> None:
    """Let the peak (VmHWM) begin anew at what is held now."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def measure(shared: str, corpus: str, vocabulary: str, name: str, megabytes: float) -> dict[str, float]:
    """MB that one system holds: `loaded`, before any text; after each 100 MB of text; and at the `peak`.

    Half of each batch of 10 MB are documents of the corpus, half words that nobody has seen: what caches are filled by.
    The peak includes a batch and its ids.
    """
    documents = texts.corpus(Path(shared) / "corpora" / f"{corpus}.parquet", 100)
    source = random.Random(7)
    before = _settled(documents)
    system = systems.SYSTEMS[name](Path(shared) / "vocabs" / vocabulary)
    held = {"loaded": status("VmRSS") - before}
    forget_peak()
    rest = itertools.cycle(documents)
    for number in range(1, round(megabytes * 1e6 / BATCH) + 1):
        _encode_batch(system, rest, source)
        if number % (100_000_000 // BATCH) == 0:
            gc.collect()
            held[f"{number * BATCH / 1e6:.0f} MB"] = status("VmRSS") - before
    held["peak"] = status("VmHWM") - before
    return held


def _settled(documents: list[str]) -> float:
    """MB held once reading has let go of its buffers, and each str keeps the UTF-8 that systems ask it for."""
    pa.array(documents, pa.large_string())
    gc.collect()
    pa.default_memory_pool().release_unused()
    return status("VmRSS")


def _encode_batch(system: systems.System, documents: Iterator[str], source: random.Random) -> None:
    batch, size = [], 0
    while size < BATCH // 2:
        batch.append(next(documents))
        size += len(batch[-1].encode())
    batch += texts.cut(texts.identifiers(source, BATCH // 2), texts.DOCUMENT)
    system.encode(system.prepare(batch))
