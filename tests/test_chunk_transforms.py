"""`TokenizeChunks` over bounded input: grouped by document, in one process and in several."""

from __future__ import annotations

import errno
import io
import itertools
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.transforms.display import DisplayData
from apache_beam.transforms.periodicsequence import PeriodicImpulse
from apache_beam.transforms.window import FixedWindows, TimestampedValue
from apache_beam.typehints.decorators import TypeCheckError

import beam_wordpiece as bw
from beam_wordpiece.chunks import groups, states
from beam_wordpiece.chunks.settings import ChunkSettings
from beam_wordpiece.config import FileSettings
from pipelines import driver
from tests import scattered
from tests.conftest import ROOT
from tests.scattered import Facts, Kept

TWO_PROCESSES = ["--direct_running_mode=multi_processing", "--direct_num_workers=2"]
WAYS = list(itertools.product(("documents", "chunks"), ("dead_letter", "emit")))


@pytest.fixture
def path(tmp_path: Path, automaton: bw.Automaton) -> str:
    automaton.save(tmp_path / "a.bwp")
    return str(tmp_path / "a.bwp")


def pipeline_with(*flags: str) -> beam.Pipeline:
    return beam.Pipeline(runner="FnApiRunner", options=PipelineOptions(list(flags)))


def tokenize(
    folder: Path, path: str, arrivals: list[bw.Chunk], **settings: Any
) -> tuple[list[Any], list[bw.DeadLetter]]:
    """The rows and the dead letters of chunks, in one process."""
    pipeline, kept = pipeline_with(), Kept(folder)
    kept.keep(pipeline | beam.Create(arrivals) | bw.TokenizeChunks(path, **settings))
    pipeline.run().wait_until_finish()
    return kept["rows"], kept["letters"]


def check(documents: dict[str, list[bw.Chunk]], tokenizer: bw.Tokenizer, way: tuple[str, str], kept: Kept) -> None:
    """Every document is there with its ids, or its letter is, or both."""
    rows, on_gap = way
    expected: dict[str, list[int]] = {}
    letters = {letter.document: letter for letter in kept["letters"]}
    assert len(letters) == len(kept["letters"])
    for name, arrivals in documents.items():
        facts = Facts(arrivals)
        texts = facts.texts(without_conflicts=True)
        whole = not (facts.gaps or facts.conflicts or facts.beyond)
        if given := bool(texts) and (whole or (on_gap == "emit" and not facts.beyond)):
            expected[name] = scattered.encode(tokenizer, texts)
        if whole:
            continue
        letter = letters.pop(name)
        assert (letter.gaps, letter.conflicts) == (facts.gaps, facts.conflicts)
        assert (letter.chunks, letter.duplicates) == (len(facts.contents), facts.duplicates)
        assert ("is marked as the last one" in letter.reason) == facts.beyond
        assert letter.rows == (0 if not given else 1 if rows == "documents" else letter.chunks - len(letter.conflicts))
    assert letters == {}
    assert scattered.ids_by_document(kept["rows"]) == expected


@pytest.mark.parametrize("flags", [[], TWO_PROCESSES], ids=["one process", "two processes"])
def test_chunks_of_many_documents(tmp_path: Path, path: str, tokenizer: bw.Tokenizer, flags: list[str]) -> None:
    documents = scattered.documents(2, 160)
    pipeline = pipeline_with(*flags)
    source = pipeline | beam.Create(scattered.mixed(documents, 3))
    kept = {way: Kept(tmp_path / "-".join(way)) for way in WAYS}
    for way, keep in kept.items():
        keep.keep(source | str(way) >> bw.TokenizeChunks(path, rows=way[0], on_gap=way[1]))
    pipeline.run().wait_until_finish()
    for way, keep in kept.items():
        check(documents, tokenizer, way, keep)


def test_whole_documents_are_those_of_hf(tmp_path: Path, path: str, hf: Any) -> None:
    chance = random.Random(4)
    texts = {"a": "unaffable [SEP] Ünïcode 日本語" * 50, "b": "", "c": "don't"}
    documents = {name: scattered.scatter(scattered.cut(name, text, chance), "", chance) for name, text in texts.items()}
    rows, letters = tokenize(tmp_path, path, scattered.mixed(documents, 5))
    assert letters == []
    assert scattered.ids_by_document(rows) == {name: hf.encode(text).ids for name, text in texts.items()}
    assert {type(row) for row in rows} == {bw.TokenizedDocument}
    assert {row.input_ids.type for row in rows} == {pa.int32()}


def test_a_row_of_a_chunk_is_no_larger_than_its_ids(path: str) -> None:
    do_fn = groups.TokenizeGroups(path, FileSettings(), ChunkSettings(rows="chunks"))
    do_fn.setup()
    rows = list(do_fn.process((b"a", ((number, b"unaffable ", number == 999) for number in range(1000)))))
    assert [row.number for row in rows] == list(range(1000))
    assert max(len(pickle.dumps(row)) for row in rows) < 600


def test_without_special_tokens(tmp_path: Path, path: str, hf: Any) -> None:
    ((_, ids),), _ = tokenize(tmp_path, path, [bw.Chunk("a", 0, "a cat", True)], add_special_tokens=False)
    assert ids.to_pylist() == hf.encode("a cat", add_special_tokens=False).ids


@pytest.mark.parametrize("stateful", [False, True])
def test_what_is_counted(path: str, tokenizer: bw.Tokenizer, stateful: bool) -> None:
    documents = {
        "whole": [bw.Chunk("whole", 0, "unaf"), bw.Chunk("whole", 0, "unaf"), bw.Chunk("whole", 1, "fable", True)],
        "invalid": [bw.Chunk("invalid", 0, b"\xff"), bw.Chunk("invalid", 2, b"\xff", True)],
        "conflict": [bw.Chunk("conflict", 0, "a"), bw.Chunk("conflict", 0, "b"), bw.Chunk("conflict", 1, "c 🦄", True)],
        "negative": [bw.Chunk("negative", -1, "a")],
        "torn": [bw.Chunk("torn", 1, "a", True), bw.Chunk("torn", 1, "b", True)],
    }
    # A stream has given what came first, and a group has no first.
    texts = ["unaffable", "\ufffd", "\ufffd", *(("ac 🦄", "a") if stateful else ("c 🦄",))]
    pipeline = pipeline_with()
    source = pipeline | beam.Create(scattered.mixed(documents, 1), reshuffle=False)
    _ = source | bw.TokenizeChunks(path, on_gap="emit", stateful=stateful)
    counted = driver.counters(pipeline.run())
    assert {name: number for name, number in counted.items() if number} == {
        "documents": 4 if stateful else 3,
        "bytes": len("unaffable") + 2 + len("".join(texts[3:]).encode()),
        "tokens": len(scattered.encode(tokenizer, texts)),
        "unknowns": scattered.encode(tokenizer, texts).count(1),
        "invalid": 1,
        "chunks": 7 if stateful else 5,
        "chunks_duplicate": 1,
        "chunks_conflict": 2,
        "documents_incomplete": 3 if stateful else 2,
        "documents_dead": 1 if stateful else 2,
    }


def test_text_that_is_not_utf8_is_refused_before_anything_is_given(tmp_path: Path, path: str) -> None:
    arrivals = [bw.Chunk("a", 0, "good"), bw.Chunk("a", 2, b"\xff", True), bw.Chunk("a", 1, b"\xc3")]
    arrivals += [bw.Chunk("b", 1, b"\xa9", True), bw.Chunk("b", 0, b"\xc3")]
    for rows in ("documents", "chunks"):
        given, (letter,) = tokenize(tmp_path / rows, path, arrivals, rows=rows, errors="error")
        assert {row.document for row in given} == {"b"}
        assert (letter.document, letter.gaps, letter.conflicts, letter.rows) == ("a", [], [], 0)
        assert "it is not UTF-8, as chunk 2 shows" in letter.reason


def test_documents_that_are_too_large_or_numbered_badly(tmp_path: Path, path: str) -> None:
    arrivals = [bw.Chunk("large", number, "x" * 2**19, number == 9) for number in range(10)]
    arrivals += [bw.Chunk("fits", number, "x" * 2**19, number == 1) for number in range(2)]
    arrivals += [bw.Chunk("negative", number, "x", number == 0) for number in (-1, 0)]
    for on_gap in ("dead_letter", "emit"):
        (row,), letters = tokenize(tmp_path / on_gap, path, arrivals, max_document_mb=1, on_gap=on_gap)
        assert row.document == "fits"
        assert {letter.document: letter.rows for letter in letters} == {"large": 0, "negative": 0}
        reasons = " ".join(letter.reason for letter in letters)
        assert "it has more than 1 MB (max_document_mb" in reasons
        assert "1 of its chunks have a number below 0" in reasons


def test_a_full_disk(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(groups, "spool_file", Full)
    do_fn = groups.TokenizeGroups(path, FileSettings(), ChunkSettings())
    do_fn.setup()
    with pytest.raises(bw.InputError, match=r"document 'a' cannot be kept in .*: No space left on device"):
        list(do_fn.process((b"a", [(0, b"x", True)])))


def test_names_that_utf8_cannot_say(tmp_path: Path, path: str) -> None:
    (row,), _ = tokenize(tmp_path, path, [bw.Chunk("\ud800", 0, "x", True)])
    assert row.document == "\ud800"


def test_documents_of_other_windows_are_others(tmp_path: Path, path: str, tokenizer: bw.Tokenizer) -> None:
    arrivals = [
        (bw.Chunk("a", number, text, number == 1), time) for time in (3, 13) for number, text in ((1, "b"), (0, "a"))
    ]
    arrivals.append((bw.Chunk("a", 0, "a"), 23))
    for stateful in (False, True):
        pipeline, kept = pipeline_with(), Kept(tmp_path / str(stateful))
        stamped = pipeline | beam.Create(arrivals) | beam.MapTuple(TimestampedValue).with_output_types(bw.Chunk)
        windows = stamped | beam.WindowInto(FixedWindows(10))
        kept.keep(windows | bw.TokenizeChunks(path, stateful=stateful))
        pipeline.run().wait_until_finish()
        assert [row.input_ids.to_pylist() for row in kept["rows"]] == [tokenizer.encode("ab").ids] * 2
        assert [letter.gaps for letter in kept["letters"]] == [[(1, None)]]


# A large document -------------------------------------------------------------------------------------------------

LARGE = """
import itertools, random, resource, sys
import beam_wordpiece as bw
from beam_wordpiece.chunks.groups import TokenizeGroups
from beam_wordpiece.chunks.settings import ChunkSettings
from beam_wordpiece.config import FileSettings

path, megabytes = sys.argv[1], int(sys.argv[2])
do_fn = TokenizeGroups(path, FileSettings(), ChunkSettings(rows="chunks"))
do_fn.setup()
word = b"un\\xc3\\xa4ffable words, "
text = word * (2 * 65536 // len(word))
count = megabytes * 16

def chunks(seed):
    # Chunk n is what stands at n * 65536 in an endless repetition of the text, so that it need not be kept.
    order = list(range(count))
    random.Random(seed).shuffle(order)
    for n in order:
        start = n * 65536 % len(word)
        yield n, text[start : start + 65536], n == count - 1
        if n % 100 == 0:
            yield n, text[start : start + 65536], n == count - 1

list(do_fn.process((b"warm", iter([(0, text[:65536], True)]))))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
ids, numbers = 0, []
for row in do_fn.process((b"large", chunks(1))):
    assert isinstance(row, bw.TokenizedChunk), row
    ids += len(row.input_ids)
    numbers.append(row.number)
assert numbers == list(range(count))
whole = (text * 17)[: 16 * 65536]
per_word = len(do_fn.tokenizer.encode((word * 1000).decode())) - 2
print(ids, per_word, len(word), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def large_document(path: str, megabytes: int) -> int:
    """Tokenize a document of so many MB in shuffled chunks of 64 KB, with duplicates; gives the growth in KB."""
    arguments = [sys.executable, "-c", LARGE, path, str(megabytes)]
    result = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    ids, per_thousand, word, growth = map(int, result.stdout.split())
    assert per_thousand % 1000 == 0
    expected = megabytes * 2**20 / word * per_thousand / 1000
    # The template's two, and what the word at the end is cut to.
    assert abs(ids - 2 - expected) < 10
    return growth


@pytest.mark.timeout(900)
def test_memory_does_not_grow_with_the_document(path: str, full: bool) -> None:
    """In memory are the first 8 MB, an index, and a batch. 1 GB in a full run."""
    assert large_document(path, 1024 if full else 96) < 64 * 1024


# What it says about itself ----------------------------------------------------------------------------------------


def test_elements_of_another_type_are_refused_when_the_pipeline_is_built(path: str) -> None:
    with pytest.raises(TypeCheckError):
        _ = pipeline_with() | beam.Create(["text"]) | bw.TokenizeChunks(path)


def test_wrong_settings_are_refused_when_the_pipeline_is_built(path: str) -> None:
    with pytest.raises(bw.ConfigError, match="rows has to be"):
        bw.TokenizeChunks(path, rows="tables")
    with pytest.raises(bw.ConfigError, match="errors has to be"):
        bw.TokenizeChunks(path, errors="ignore")


@pytest.mark.parametrize("rows", ["documents", "chunks"])
def test_a_table_in_which_nobody_knows_the_last_chunk(
    tmp_path: Path, path: str, tokenizer: bw.Tokenizer, rows: str
) -> None:
    arrivals = [bw.Chunk(7, 1, "fable"), bw.Chunk(8, 2, "c"), bw.Chunk(7, 0, "unaf"), bw.Chunk(8, 0, "a")]
    given, (letter,) = tokenize(tmp_path, path, arrivals, rows=rows, end="highest")
    assert scattered.ids_by_document(given) == {"7": tokenizer.encode("unaffable").ids}
    assert (letter.document, letter.gaps) == ("8", [(1, 1)])
    _, letters = tokenize(tmp_path / "marked", path, arrivals[:3:2], rows=rows)
    assert [letter.gaps for letter in letters] == [[(2, None)]]
    assert 'end="highest" takes the highest number' in letters[0].reason


def test_the_highest_number_ends_no_stream(path: str) -> None:
    with pytest.raises(bw.ConfigError, match="bounded input has where it is grouped"):
        bw.TokenizeChunks(path, end="highest", stateful=True)
    source = pipeline_with() | PeriodicImpulse() | beam.Map(str).with_output_types(bw.Chunk)
    for stateful in (None, False):
        with pytest.raises(bw.ConfigError, match="mark the last chunks of unbounded input"):
            _ = source | str(stateful) >> bw.TokenizeChunks(path, end="highest", stateful=stateful)
    with pytest.raises(bw.ConfigError, match="end has to be marked or highest, not 'last'"):
        bw.TokenizeChunks(path, end="last")


def test_both_outputs_as_one_are_refused_when_the_pipeline_is_built(path: str) -> None:
    result = pipeline_with() | beam.Create([bw.Chunk("a", 0, "x", True)]) | bw.TokenizeChunks(path)
    for transform in (beam.Map(print), "Print" >> beam.Map(print)):
        with pytest.raises(TypeError, match=r"two PCollections, tokenized and dead_letters; apply .*result\.tokenized"):
            _ = result | transform


def test_types_and_names_of_the_outputs(path: str) -> None:
    for rows, kind in (("documents", bw.TokenizedDocument), ("chunks", bw.TokenizedChunk)):
        for stateful in (False, True):
            source = pipeline_with() | beam.Create([bw.Chunk("a", 0, "x", True)])
            result = source | bw.TokenizeChunks(path, rows=rows, stateful=stateful)
            assert [result.tokenized.element_type, result.dead_letters.element_type] == [kind, bw.DeadLetter]


def do_fns(path: str) -> Iterator[beam.DoFn]:
    for kind in (groups.TokenizeGroups, states.TokenizeStates):
        yield kind(path, FileSettings(), ChunkSettings())


def test_a_step_carries_the_path_of_the_automaton_and_not_its_bytes(path: str) -> None:
    for do_fn in do_fns(path):
        assert len(pickle.dumps(do_fn)) < 5_000


def test_display_data_says_what_is_done(path: str) -> None:
    transform = bw.TokenizeChunks(path, rows="chunks", gap_timeout=60)
    assert {item.key: item.value for item in DisplayData.create_from(transform).items} == {
        "automaton": path,
        "rows": "chunks",
        "on_gap": "dead_letter",
        "max_document_mb": "null",
        "max_early_mb": 64,
        "gap_timeout": 60,
        "end": "marked",
        "stateful": "null",
        "add_special_tokens": True,
        "errors": "replace",
    }
