"""`TokenizeChunks` over unbounded input, on the local runners."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.test_stream import TestStream as ScriptedStream
from apache_beam.transforms.window import FixedWindows, TimestampedValue

import beam_wordpiece as bw
from pipelines import driver
from tests import scattered
from tests.scattered import Facts, Kept
from tests.test_chunk_transforms import TWO_PROCESSES, pipeline_with


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory, automaton: bw.Automaton) -> str:
    path = tmp_path_factory.mktemp("automaton") / "a.bwp"
    automaton.save(path)
    return str(path)


def stream_of(*steps: Any) -> ScriptedStream:
    """A step is a list of pairs (time, chunk), which come in one bundle, or the time that the watermark reaches."""
    stream = ScriptedStream(coder=beam.coders.PickleCoder()).advance_watermark_to(0)
    for step in steps:
        if isinstance(step, list):
            stream = stream.add_elements([TimestampedValue(chunk, time) for time, chunk in step])
        else:
            stream = stream.advance_watermark_to(step)
    return stream.advance_watermark_to_infinity()


def run_stream(folder: Path, path: str, *steps: Any, window: Any = None, **settings: Any) -> Kept:
    """The outputs, on the one runner of this machine that has a TestStream. (It loses counters, also those of Beam.)"""
    options = PipelineOptions(["--streaming"])
    pipeline, kept = beam.Pipeline(runner="BundleBasedDirectRunner", options=options), Kept(folder)
    source = pipeline | stream_of(*steps) | beam.Map(lambda chunk: chunk).with_output_types(bw.Chunk)
    assert not source.is_bounded
    if window:
        source = source | beam.WindowInto(window)
    kept.keep(source | bw.TokenizeChunks(path, **settings))
    pipeline.run().wait_until_finish()
    return kept


def test_a_stream_out_of_order_with_gaps_and_late_chunks(tmp_path: Path, path: str, tokenizer: bw.Tokenizer) -> None:
    steps = (
        [(1, bw.Chunk("whole", 2, "able", True)), (1, bw.Chunk("whole", 0, "un")), (2, bw.Chunk("lost", 0, "a"))],
        [(3, bw.Chunk("whole", 0, "un")), (9, bw.Chunk("slow", 1, "c", True))],
        10,
        [(4, bw.Chunk("whole", 1, "aff")), (5, bw.Chunk("lost", 3, "d", True))],
        # The watermark passes what the gap timeout allows for "lost", not for "slow".
        16,
        [(12, bw.Chunk("lost", 1, "b")), (13, bw.Chunk("lost", 2, "c")), (14, bw.Chunk("slow", 0, "b"))],
        [(15, bw.Chunk("whole", 1, "aff"))],
    )
    kept = run_stream(tmp_path, path, *steps, gap_timeout=10)
    assert scattered.ids_by_document(kept["rows"]) == {
        "whole": tokenizer.encode("unaffable").ids,
        "slow": tokenizer.encode("bc").ids,
    }
    (letter,) = kept["letters"]
    assert letter.document == "lost"
    assert letter[2:] == ([(1, 2)], [], 2, 0, 0)


def test_a_document_is_forgotten_in_the_end(tmp_path: Path, path: str) -> None:
    chunk = bw.Chunk("a", 0, "a", True)
    kept = run_stream(tmp_path, path, [(1, chunk)], [(2, chunk)], 22, [(30, chunk)], gap_timeout=10)
    assert len(kept["rows"]) == 2


def test_windows_end_documents(tmp_path: Path, path: str) -> None:
    steps = ([(1, bw.Chunk("a", 0, "a"))], 12, [(13, bw.Chunk("a", 1, "b", True))])
    kept = run_stream(tmp_path, path, *steps, window=FixedWindows(10), on_gap="emit")
    assert len(kept["rows"]) == 2
    assert sorted(letter.gaps for letter in kept["letters"]) == [[(0, 0)], [(1, None)]]


def test_many_documents_in_a_stream(tmp_path: Path, path: str, tokenizer: bw.Tokenizer) -> None:
    """Each chunk in a bundle of few, so that what is carried on comes out of the state."""
    documents = scattered.documents(7, 24)
    arrivals = scattered.mixed(documents, 8)
    bundles = [[(place, chunk) for chunk in arrivals[place : place + 5]] for place in range(0, len(arrivals), 5)]
    kept = run_stream(tmp_path, path, *bundles, on_gap="emit")
    check_emitted(documents, tokenizer, kept)


@pytest.mark.parametrize("flags", [[], TWO_PROCESSES], ids=["one process", "two processes"])
def test_state_over_bounded_input(tmp_path: Path, path: str, tokenizer: bw.Tokenizer, flags: list[str]) -> None:
    documents = scattered.documents(9, 120)
    pipeline, kept = pipeline_with(*flags), Kept(tmp_path)
    source = pipeline | beam.Create(scattered.mixed(documents, 10), reshuffle=False)
    kept.keep(source | bw.TokenizeChunks(path, on_gap="emit", stateful=True))
    pipeline.run().wait_until_finish()
    check_emitted(documents, tokenizer, kept)


def test_late_chunks_are_counted(path: str) -> None:
    pipeline = pipeline_with()
    chunks = [bw.Chunk("a", 0, "a", True), bw.Chunk("a", 0, "a", True), bw.Chunk("a", 1, "b")]
    _ = pipeline | beam.Create(chunks, reshuffle=False) | bw.TokenizeChunks(path, stateful=True)
    counted = driver.counters(pipeline.run())
    assert (counted["documents"], counted["chunks"], counted["chunks_late"]) == (1, 1, 2)
    assert not counted.keys() & {"chunks_duplicate", "documents_dead"}


def check_emitted(documents: dict[str, list[bw.Chunk]], tokenizer: bw.Tokenizer, kept: Kept) -> None:
    """What has to come of documents that are emitted whatever is missing, in rows of documents."""
    facts = {name: Facts(scattered.heeded(arrivals)) for name, arrivals in documents.items()}
    emitted = {name: fact for name, fact in facts.items() if not fact.beyond}
    assert scattered.ids_by_document(kept["rows"]) == {
        name: scattered.encode(tokenizer, fact.texts(without_conflicts=False)) for name, fact in emitted.items()
    }
    letters = {letter.document: letter for letter in kept["letters"]}
    assert letters.keys() == {name for name, fact in facts.items() if fact.beyond or fact.gaps or fact.conflicts}
    for name in letters.keys() & emitted.keys():
        assert (letters[name].gaps, letters[name].conflicts) == (emitted[name].gaps, emitted[name].conflicts)
