"""What a process holds: read from /proc, so on Linux only."""

from __future__ import annotations

import gc
import itertools
import random
import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

import beam_wordpiece as bw
from benchmarks import systems, texts

BATCH = 10_000_000
"""Bytes of text in a call."""
AUTOMATON, TEXTS = "automaton.bwp", "texts.arrow"


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
        system.encode(system.prepare(_batch(rest, source, BATCH)))
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


def _batch(documents: Iterator[str], source: random.Random, size: int) -> list[str]:
    """So many bytes of text, half of them of the documents, half words that nobody has seen."""
    batch, taken = [], 0
    while taken < size // 2:
        batch.append(next(documents))
        taken += len(batch[-1].encode())
    return batch + texts.cut(texts.identifiers(source, size // 2), texts.DOCUMENT)


def write_files(shared: str, corpus: str, vocabulary: str, folder: str, batch: int = BATCH) -> None:
    """What `beyond_output` maps: an automaton, and ten batches of so many bytes of text as an Arrow file."""
    bw.Automaton.compile(Path(shared) / "vocabs" / vocabulary / "tokenizer.json").save(Path(folder) / AUTOMATON)
    rest = itertools.cycle(texts.corpus(Path(shared) / "corpora" / f"{corpus}.parquet", 100))
    source = random.Random(7)
    with pa.ipc.new_file(Path(folder, TEXTS), pa.schema({"text": pa.large_string()})) as writer:
        for _ in range(10):
            column = pa.array(_batch(rest, source, batch), pa.large_string())
            writer.write_batch(pa.record_batch([column], ["text"]))


def beyond_output(folder: str, megabytes: float) -> dict[str, float]:
    """MB of memory of its own that a process takes for tokenizing beyond the ids it gets, one output at a time.

    Text and automaton are mapped files, whose pages are not its own. `opened`: with the automaton and a tokenizer.
    `first` and `most`: with the first output, and at most with any, until so much text went through; what a call takes
    and gives back is not seen. `left`: at the end, when the output is gone, without what the system may take when it
    wants to.
    """
    reader = pa.ipc.open_file(pa.memory_map(str(Path(folder, TEXTS))))
    batches = [reader.get_batch(number).column(0) for number in range(reader.num_record_batches)]
    # Arrow's allocator takes the first 2 MB when the first list is made, whoever makes it.
    pa.array([[0]])
    gc.collect()
    before = status("RssAnon")
    tokenizer = bw.Tokenizer(bw.Automaton.open(Path(folder) / AUTOMATON))
    held = {"opened": status("RssAnon") - before}
    size, more = 0, []
    for batch in itertools.cycle(batches):
        ids = tokenizer.encode_arrow(batch)
        more.append(status("RssAnon") - before - ids.nbytes / 1e6)
        size += batch.nbytes
        del ids
        if size >= megabytes * 1e6:
            break
    idle = re.search(r"^LazyFree:\s+(\d+) kB$", Path("/proc/self/smaps_rollup").read_text("ascii"), re.MULTILINE)
    left = status("RssAnon") - before - (int(idle[1]) * 1024 / 1e6 if idle else 0)
    return {**held, "first": more[0], "most": max(more), "left": left}
