"""What a process holds: read from /proc, so on Linux only."""

from __future__ import annotations

import gc
import random
import re
from pathlib import Path

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
    """MB held by one system: `loaded`, before any text, and after text of 100 MB, and so on up to `megabytes`.

    Half of each batch are documents of the corpus, half words that nobody has seen: what caches are filled by.
    """
    documents = texts.corpus(Path(shared) / "corpora" / f"{corpus}.parquet", 100)
    source = random.Random(7)
    before = status("VmRSS")
    system = systems.SYSTEMS[name](Path(shared) / "vocabs" / vocabulary)
    held = {"loaded": status("VmRSS") - before}
    place, encoded = 0, 0
    while encoded < megabytes * 1e6:
        batch, size = [], 0
        while size < BATCH // 2:
            batch.append(documents[place % len(documents)])
            size += len(batch[-1].encode())
            place += 1
        batch += texts.cut(texts.identifiers(source, BATCH // 2), texts.DOCUMENT)
        system.encode(system.prepare(batch))
        encoded += size + BATCH // 2
        if encoded // 100_000_000 > (encoded - size - BATCH // 2) // 100_000_000:
            del batch
            gc.collect()
            held[f"{encoded / 1e6:.0f}"] = status("VmRSS") - before
    return held
