"""The PTransforms, on Beam's embedded runner."""

from __future__ import annotations

import errno
import os
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.coders.typecoders import registry
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.transforms.display import DisplayData
from apache_beam.transforms.window import FixedWindows, GlobalWindow, TimestampedValue
from apache_beam.typehints.decorators import TypeCheckError
from tokenizers import Tokenizer as HF

import beam_wordpiece as bw
from beam_wordpiece import io, parquet_writer, transforms
from beam_wordpiece.config import FileSettings
from beam_wordpiece.io import FileTask
from pipelines import driver
from tests import corpus
from tests.elsewhere import SCHEME, Elsewhere


@pytest.fixture
def path(tmp_path: Path, automaton: bw.Automaton) -> str:
    automaton.save(tmp_path / "a.bwp")
    return str(tmp_path / "a.bwp")


@pytest.fixture
def pipeline() -> beam.Pipeline:
    return beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))


def collect(pipeline: beam.Pipeline, folder: Path, elements: list[Any], *steps: Any) -> list[Any]:
    """What comes out of the steps, in order, by way of pickles in a folder."""

    def keep(element: Any, folder: str = str(folder)) -> None:
        number = len(list(Path(folder).glob("*.kept")))
        (Path(folder) / f"{number:06}.kept").write_bytes(pickle.dumps(element))

    pcollection = pipeline | beam.Create(elements, reshuffle=False)
    for step in steps:
        pcollection = pcollection | step
    _ = pcollection | "Keep" >> beam.Map(keep)
    pipeline.run().wait_until_finish()
    return [pickle.loads(file.read_bytes()) for file in sorted(folder.glob("*.kept"))]


# Strings ----------------------------------------------------------------------------------------------------------


def test_strings_have_the_ids_of_hf_in_their_order(
    tmp_path: Path, path: str, pipeline: beam.Pipeline, hf: HF, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transforms, "BATCH_CHARACTERS", 1000)  # so that several batches are needed
    texts = [text for text in corpus.texts(300, 1) if text is not None]
    assert collect(pipeline, tmp_path, texts, bw.Tokenize(path)) == [hf.encode(text).ids for text in texts]


def test_strings_without_special_tokens(tmp_path: Path, path: str, pipeline: beam.Pipeline, hf: HF) -> None:
    found = collect(pipeline, tmp_path, ["a cat", ""], bw.Tokenize(path, add_special_tokens=False))
    assert found == [hf.encode("a cat", add_special_tokens=False).ids, []]


def test_strings_keep_their_times_and_windows(
    tmp_path: Path, path: str, pipeline: beam.Pipeline, hf: HF, monkeypatch: pytest.MonkeyPatch
) -> None:
    def describe(
        ids: list[int], time: Any = beam.DoFn.TimestampParam, window: Any = beam.DoFn.WindowParam
    ) -> tuple[int, float, float]:
        return len(ids), float(time), float(window.end)

    monkeypatch.setattr(transforms, "BATCH_CHARACTERS", 4)
    texts = [(text, 7.0 * number) for number, text in enumerate(["a", "a a", "a a a", "a a a a"])]
    found = collect(
        pipeline,
        tmp_path,
        texts,
        "Stamp" >> beam.Map(lambda pair: TimestampedValue(*pair)),
        beam.WindowInto(FixedWindows(10)),
        bw.Tokenize(path),
        "Describe" >> beam.Map(describe),
    )
    assert found == [(len(hf.encode(text).ids), time, time // 10 * 10 + 10) for text, time in texts]


def test_empty_strings_fill_a_batch_too(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transforms, "BATCH_CHARACTERS", 10 * transforms.STRING_CHARACTERS)
    do_fn = transforms._TokenizeStrings(path, FileSettings())
    do_fn.setup()
    do_fn.start_bundle()
    given = [len(list(do_fn.process("", 0, GlobalWindow()))) for _ in range(25)]
    assert [row for row, count in enumerate(given) if count] == [9, 19]
    assert sum(given) + len(list(do_fn.finish_bundle())) == 25


def test_lone_surrogates(path: str, hf: HF) -> None:
    # Beam's coder of strings refuses them where it sees them, which is not before every step.
    texts = ["a cat", "caf\ud800"]
    lenient = transforms._TokenizeStrings(path, FileSettings())
    lenient.setup()
    ids, counts = lenient._encode(texts)
    assert ids.to_pylist() == [hf.encode("a cat").ids, hf.encode("caf\ufffd").ids]
    assert (counts.documents, counts.invalid) == (2, 1)
    strict = transforms._TokenizeStrings(path, FileSettings(errors="error"))
    strict.setup()
    with pytest.raises(bw.TextError, match=r"The text 'caf\\ud800' holds a lone surrogate") as caught:
        strict._encode(texts)
    assert caught.value.row == 1


# Tables -----------------------------------------------------------------------------------------------------------


def test_tables_have_the_ids_of_hf_and_their_other_columns(
    tmp_path: Path, path: str, pipeline: beam.Pipeline, hf: HF
) -> None:
    tables = [corpus.table(100, 1), corpus.table(50, 2).slice(10, 20), corpus.table(3, 3).slice(0, 0)]
    tables.append(pa.concat_tables([corpus.table(10, 4), corpus.table(10, 5)]))
    found = collect(pipeline, tmp_path, tables, bw.TokenizeTables(path))
    assert len(found) == len(tables)
    for table, tokenized in zip(tables, found, strict=True):
        assert tokenized.schema.names == ["doc_id", "score", "tags", "source", "input_ids"]
        assert tokenized["input_ids"].to_pylist() == corpus.ids(hf, table["text"])
        assert tokenized.drop_columns(["input_ids"]).to_pylist() == table.drop_columns(["text"]).to_pylist()


def test_tables_pass_through_what_is_asked_for(tmp_path: Path, path: str, pipeline: beam.Pipeline) -> None:
    table = pa.table({"a": [{"b": "x", "c": 1}], "n": [1], "m": [2]})
    step = bw.TokenizeTables(path, text_column="a.b", columns=["a", "m"], add_special_tokens=False)
    (found,) = collect(pipeline, tmp_path, [table], step)
    assert found.to_pydict().keys() == {"a", "m", "input_ids"}
    assert found["a"].to_pylist() == [{"c": 1}]


def test_a_table_with_more_ids_than_a_column_holds(path: str) -> None:
    class Stub:
        """What `Tokenizer` gives for 2**31 ids or more, without them."""

        id_type = bw.Tokenizer.id_type

        def encode_arrow_counted(self, texts: pa.ChunkedArray) -> tuple[pa.RecordBatch, bw.Counts]:
            lists = pa.array([[1]] * len(texts), pa.large_list(pa.int32()))
            return pa.RecordBatch.from_arrays([lists], names=["input_ids"]), bw.Counts(documents=len(texts))

    do_fn = transforms._TokenizeTable(path, FileSettings())
    do_fn._tokenizer = Stub()  # type: ignore[assignment]
    with pytest.raises(bw.InputError, match=r"The table: 3 rows have 2\*\*31 token ids or more.*; split the table"):
        list(do_fn.process(corpus.table(3, 1)))


def test_a_table_without_the_column(tmp_path: Path, path: str, pipeline: beam.Pipeline) -> None:
    with pytest.raises(bw.InputError, match="The table has no column 'body'; the columns are: doc_id, text"):
        collect(pipeline, tmp_path, [corpus.table(3, 1)], bw.TokenizeTables(path, text_column="body"))


def test_the_coder_of_tables() -> None:
    coder = registry.get_coder(pa.Table)
    assert coder == transforms.ArrowTableCoder()
    assert coder.to_type_hint() is pa.Table
    assert not coder.is_deterministic()
    table = pa.concat_tables([corpus.table(1000, 1), corpus.table(10, 2)]).replace_schema_metadata({"a": "b"})
    for part in (table, table.slice(990, 15), table.slice(0, 0)):
        again = coder.decode(coder.encode(part))
        assert again.equals(part, check_metadata=True)
    assert len(coder.encode(table.slice(500, 1))) < len(coder.encode(table)) / 20
    assert coder.estimate_size(table) == table.nbytes


# Files ------------------------------------------------------------------------------------------------------------


def tasks_of(tmp_path: Path) -> list[FileTask]:
    return io.plan_tasks([str(tmp_path / "in/*.parquet")], str(tmp_path / "out"))


def test_files_become_files_and_are_counted(tmp_path: Path, path: str, pipeline: beam.Pipeline, hf: HF) -> None:
    tables = corpus.write(tmp_path / "in", {"a.parquet": 120, "b.parquet": 30})
    expected = {name: corpus.ids(hf, table["text"]) for name, table in tables.items()}
    results = pipeline | beam.Create(tasks_of(tmp_path)) | bw.TokenizeFiles(path, FileSettings(columns=()))
    rows = results | beam.Map(lambda result: (Path(result.input).name, result.rows, result.skipped, result.error))
    assert_that(rows, equal_to([("a.parquet", 120, False, ""), ("b.parquet", 30, False, "")]))
    counted = driver.counters(pipeline.run())
    for name, ids in expected.items():
        assert pq.read_table(tmp_path / "out" / name).to_pydict() == {"input_ids": ids}
    rows = [ids for table in expected.values() for ids in table]
    texts = [text for table in tables.values() for text in table["text"].to_pylist() if text is not None]
    assert {name: number for name, number in counted.items() if number} == {
        "files": 2,
        "documents": 150,
        "nulls": rows.count(None),
        "bytes": sum(len(text.encode()) for text in texts),
        "tokens": sum(len(ids) for ids in rows if ids),
        "unknowns": sum(ids.count(hf.token_to_id("[UNK]")) for ids in rows if ids),
    }


def test_a_file_that_fails_keeps_no_other_from_being_done(tmp_path: Path, path: str, pipeline: beam.Pipeline) -> None:
    corpus.write(tmp_path / "in", {f"{name}.parquet": 10 for name in "abcd"})
    (tmp_path / "in/b.parquet").write_bytes(b"no parquet")
    pq.write_table(pa.table({"body": ["x"]}), tmp_path / "in/d.parquet")
    _ = pipeline | beam.Create(tasks_of(tmp_path)) | bw.TokenizeFiles(path)
    with pytest.raises(bw.InputError) as caught:
        pipeline.run()
    first, *sentences = str(driver.error_of(caught.value)).split("\n")
    assert first == "2 files could not be tokenized:"
    assert [Path(sentence.split()[0]).name for sentence in sentences] == ["b.parquet", "d.parquet"]
    assert sorted(corpus.files(tmp_path / "out")) == ["a.parquet", "c.parquet"]


def test_outputs_that_cannot_be_written_are_named_and_all_others_written(
    tmp_path: Path, path: str, pipeline: beam.Pipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: parquet_writer.TokenWriter, table: pa.Table) -> None:
        if table.num_rows == 7:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(self, table)

    corpus.write(tmp_path / "in", {"a.parquet": 10, "b.parquet": 7, "c.parquet": 10, "d.parquet": 10})
    write = parquet_writer.TokenWriter.write
    monkeypatch.setattr(parquet_writer.TokenWriter, "write", full)
    corpus.touch(tmp_path, "out/file")
    tasks = [task._replace(output=task.output.replace("out/c", "out/file/c")) for task in tasks_of(tmp_path)]
    _ = pipeline | beam.Create(tasks) | bw.TokenizeFiles(path)
    with pytest.raises(bw.InputError) as caught:
        pipeline.run()
    source, out = tmp_path / "in", tmp_path / "out"
    assert str(driver.error_of(caught.value)).split("\n  ") == [
        "2 files could not be tokenized:",
        f"{source}/b.parquet cannot be tokenized to {out}/b.parquet: No space left on device.",
        f"{source}/c.parquet cannot be tokenized to {out}/file/c.parquet: {out}/file: Not a directory.",
    ]
    assert sorted(corpus.files(out)) == ["a.parquet", "d.parquet", "file"]


def test_errors_of_files_can_be_collected(tmp_path: Path, path: str, pipeline: beam.Pipeline) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 10, "b.parquet": 10})
    (tmp_path / "in/b.parquet").write_bytes(b"no parquet")
    results = pipeline | beam.Create(tasks_of(tmp_path)) | bw.TokenizeFiles(path, raise_errors=False)
    errors = results | beam.Map(lambda result: (Path(result.output).name, "is not a Parquet file" in result.error))
    assert_that(errors, equal_to([("a.parquet", False), ("b.parquet", True)]))
    counted = driver.counters(pipeline.run())
    assert (counted["files"], counted["files_failed"]) == (1, 1)


# What they have in common -----------------------------------------------------------------------------------------


def every(path: str) -> Iterator[tuple[beam.PTransform, Any]]:
    yield bw.Tokenize(path), 3
    yield bw.TokenizeTables(path), "text"
    yield bw.TokenizeFiles(path), "in.parquet"


def test_elements_of_another_type_are_refused_when_the_pipeline_is_built(path: str) -> None:
    for transform, element in every(path):
        pipeline = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))
        with pytest.raises(TypeCheckError):
            _ = pipeline | beam.Create([element]) | transform


def test_a_step_carries_the_path_of_the_automaton_and_not_its_bytes(path: str) -> None:
    for do_fn in (transforms._TokenizeFile, transforms._TokenizeTable, transforms._TokenizeStrings):
        assert len(pickle.dumps(do_fn(path, FileSettings()))) < 5_000


def test_display_data_says_what_is_done(path: str) -> None:
    for transform, _ in every(path):
        shown = {item.key: item.value for item in DisplayData.create_from(transform).items}
        assert shown["automaton"] == path
        assert shown["errors"] == "replace"
        assert shown["add_special_tokens"] is True
    shown = {item.key: item.value for item in DisplayData.create_from(bw.TokenizeTables(path, columns=["a"])).items}
    assert (shown["text_column"], shown["columns"]) == ("text", "a")


def test_an_automaton_that_workers_cannot_open(
    tmp_path: Path, pipeline: beam.Pipeline, automaton: bw.Automaton
) -> None:
    """One that is there when they begin would do."""
    _ = pipeline | beam.Create(["a"]) | bw.Tokenize(str(tmp_path / "a.bwp"))
    with pytest.raises(bw.AutomatonError, match=r"a\.bwp cannot be opened on a worker"):
        pipeline.run()
    automaton.save(tmp_path / "a.bwp")
    pipeline.run()


@pytest.mark.parametrize("transform", [bw.Tokenize, bw.TokenizeTables, bw.TokenizeFiles, bw.TokenizeChunks])
def test_what_is_no_automaton_is_told_when_the_transform_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, transform: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.bwp").write_bytes(b"no automaton")
    (tmp_path / "tokenizer.json").write_text("{}")
    for path, fault in (
        ("nope.bwp", r"nope\.bwp does not exist; give the path of a \.bwp that was compiled"),
        ("a.bwp", r"a\.bwp: this is not an automaton file"),
        (str(tmp_path / "tokenizer.json"), r"tokenizer\.json is not an automaton; .*beam-wordpiece compile"),
    ):
        with pytest.raises(bw.AutomatonError, match=fault):
            transform(path)
    # What is elsewhere is not looked at.
    transform(f"{SCHEME}://nope.bwp")


def test_an_automaton_from_elsewhere_is_read_once(
    tmp_path: Path, automaton: bw.Automaton, monkeypatch: pytest.MonkeyPatch
) -> None:
    remote = f"{SCHEME}://a.bwp"
    automaton.save(tmp_path / "a.bwp")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(Elsewhere, "root", tmp_path)
    monkeypatch.setattr(Elsewhere, "opened", {})
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    options = PipelineOptions(["--direct_running_mode=multi_threading", "--direct_num_workers=2"])
    pipeline = beam.Pipeline(runner="FnApiRunner", options=options)
    for step in "abc":
        texts = pipeline | f"Create {step}" >> beam.Create([step] * 100)
        lengths = texts | f"Tokenize {step}" >> bw.Tokenize(remote) | f"Length {step}" >> beam.Map(len)
        assert_that(lengths, equal_to([3] * 100), label=f"Check {step}")
    pipeline.run().wait_until_finish()
    assert Elsewhere.opened == {remote: 1}
