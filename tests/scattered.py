"""Documents cut anywhere into chunks that are shuffled, doubled, lost and damaged, and what they have to become."""

from __future__ import annotations

import itertools
import pickle
import random
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam

import beam_wordpiece as bw
from tests.texts import random_texts

FATES = ("whole", "doubled", "lost", "endless", "conflict", "beyond", "doubled lost conflict", "doubled lost endless")


def cut(name: str, text: str, chance: random.Random, most: int = 12) -> list[bw.Chunk]:
    """The chunks of a document in order, cut at random bytes; some are str where they can be, some are empty."""
    data = text.encode()
    places = sorted(chance.randint(0, len(data)) for _ in range(chance.randrange(most)))
    bounds = list(itertools.pairwise([0, *places, len(data)]))
    return [
        bw.Chunk(name, number, _some_str(data[start:end], chance), number == len(bounds) - 1)
        for number, (start, end) in enumerate(bounds)
    ]


def _some_str(data: bytes, chance: random.Random) -> str | bytes:
    try:
        return data.decode() if chance.random() < 0.5 else data
    except UnicodeDecodeError:
        return data


def scatter(chunks: list[bw.Chunk], fate: str, chance: random.Random) -> list[bw.Chunk]:
    """The chunks as they come, in any order. At least one of them comes."""
    chunks = list(chunks)
    if "lost" in fate:
        chunks = chance.sample(chunks, chance.randint(1, len(chunks)))
    if "endless" in fate:
        chunks = [chunk._replace(last=False) for chunk in chunks]
    damaged = chance.choice(chunks)
    others = [chunk for chunk in chunks if chunk.number != damaged.number]
    if "beyond" in fate:
        end = max(chunks, key=lambda chunk: chunk.number)
        chunks.append(end._replace(number=end.number + chance.randint(1, 3), last=chance.random() < 0.5))
    if "conflict" in fate:
        chunks.append(damaged._replace(text=data_of(damaged) + b"!"))
    if "doubled" in fate:
        chunks += [chunk._replace(text=data_of(chunk)) for chunk in others if chance.random() < 0.4]
        chunks += [chunk for chunk in others if chance.random() < 0.2]
    chance.shuffle(chunks)
    return chunks


def data_of(chunk: bw.Chunk) -> bytes:
    return chunk.text.encode() if isinstance(chunk.text, str) else chunk.text or b""


def documents(seed: int, count: int) -> dict[str, list[bw.Chunk]]:
    """Names, and the chunks of each as they come; all fates in turn."""
    chance = random.Random(seed)
    names = (f"{seed}-{number}" for number in itertools.count())
    texts = zip(names, random_texts(seed, count), itertools.cycle(FATES), strict=False)
    return {name: scatter(cut(name, text, chance), fate, chance) for name, text, fate in texts}


def mixed(documents: dict[str, list[bw.Chunk]], seed: int) -> list[bw.Chunk]:
    """The chunks of all documents among each other; those of one document stay in their order."""
    chance = random.Random(seed)
    order = [name for name, chunks in documents.items() for _ in chunks]
    chance.shuffle(order)
    rest = {name: iter(chunks) for name, chunks in documents.items()}
    return [next(rest[name]) for name in order]


class Facts:
    """What is true of chunks that came of one document, found by looking at every one and every number."""

    def __init__(self, arrivals: Sequence[bw.Chunk]) -> None:
        self.contents: dict[int, list[tuple[bytes, bool]]] = {}
        for chunk in arrivals:
            contents = self.contents.setdefault(chunk.number, [])
            if (data_of(chunk), chunk.last) not in contents:
                contents.append((data_of(chunk), chunk.last))
        self.duplicates = len(arrivals) - sum(map(len, self.contents.values()))
        self.conflicts = sorted(number for number, contents in self.contents.items() if len(contents) > 1)
        self.ends = [number for number, contents in self.contents.items() if any(last for _, last in contents)]
        self.beyond = bool(self.ends) and max(self.contents) > min(self.ends)

    @property
    def gaps(self) -> list[tuple[int, int | None]]:
        highest = max(self.contents)
        gaps: list[tuple[int, int | None]] = [
            (run[0], run[-1]) for run in runs(set(range(highest)) - self.contents.keys())
        ]
        return gaps if self.ends else [*gaps, (highest + 1, None)]

    def texts(self, *, without_conflicts: bool) -> list[str]:
        """The texts between the gaps; of several contents the first, or none."""
        numbers = self.contents.keys() - set(self.conflicts if without_conflicts else ())
        joined = (b"".join(self.contents[number][0][0] for number in run) for run in runs(numbers))
        return [data.decode("utf-8", "replace") for data in joined]


def heeded(arrivals: list[bw.Chunk]) -> list[bw.Chunk]:
    """The chunks that come before the document is complete, or known to go on behind its end."""
    first: dict[int, bool] = {}
    for place, chunk in enumerate(arrivals, 1):
        first.setdefault(chunk.number, chunk.last)
        ends = [number for number, last in first.items() if last or (number == chunk.number and chunk.last)]
        if ends and (max(first) > min(ends) or len(first) == min(ends) + 1):
            return arrivals[:place]
    return arrivals


def runs(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Numbers in order, those that follow each other together."""
    pairs = enumerate(sorted(numbers))
    for _, run in itertools.groupby(pairs, key=lambda pair: pair[1] - pair[0]):
        yield [number for _, number in run]


def encode(tokenizer: bw.Tokenizer, texts: Iterable[str]) -> list[int]:
    """The ids of texts one after the other."""
    return [number for text in texts for number in tokenizer.encode(text).ids]


class Kept:
    """The elements of PCollections, by way of files, so that it does not matter which process has them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def keep(self, result: Any) -> None:
        """The two outputs of `TokenizeChunks`, as `rows` and `letters`."""
        for name, collection in zip(("rows", "letters"), result, strict=True):
            self._keep(name, collection)

    def _keep(self, name: str, collection: beam.PCollection) -> None:
        (self._folder / name).mkdir(parents=True)

        def write(element: Any, folder: str = str(self._folder / name)) -> None:
            # Names sort by time, and elements of one bundle keep their order.
            (Path(folder) / f"{time.time_ns():020}-{uuid.uuid4().hex}").write_bytes(pickle.dumps(element))

        _ = collection | f"Keep {self._folder.name} {name}" >> beam.Map(write)

    def __getitem__(self, name: str) -> list[Any]:
        return [pickle.loads(path.read_bytes()) for path in sorted((self._folder / name).iterdir())]


def ids_by_document(rows: Iterable[Any]) -> dict[str, list[int]]:
    """The ids of each document, from its rows of either kind; rows of a number stay in their order."""
    found: dict[str, list[int]] = {}
    in_order = sorted(rows, key=lambda row: row.number if isinstance(row, bw.TokenizedChunk) else 0)
    for row in in_order:
        found.setdefault(row.document, []).extend(row.input_ids.to_pylist())
    return found
