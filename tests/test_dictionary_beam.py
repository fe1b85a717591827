"""A saved dictionary in the place of an automaton: transforms, files, the job and the command."""

import json
import pickle
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from beam_wordpiece.config import FileSettings
from beam_wordpiece.dictionary_ids import UNKNOWN
from beam_wordpiece.io import FileTask, is_dictionary, open_tokenizer, tokenize_file
from pipelines import tokenize_parquet
from tests import scattered, small

ENTRIES = ["cat:ten", "catalog:11", "a:12", "log:13", " :-", "é中:14", "aaa:[UNK]"]
TEXTS = ["catalog cats", None, "", "aaaaa é中é!!", "?é??catalo"]


@pytest.fixture(params=UNKNOWN)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    bw.Dictionary(ENTRIES, unknown=request.param).save(tmp_path / "d.bwp")
    return str(tmp_path / "d.bwp")


def ids(path: str, texts: Sequence[str | None] = TEXTS) -> list[list[str] | None]:
    dictionary = bw.Dictionary.open(path)
    return [None if text is None else dictionary.tokenize(text) for text in texts]


# Transforms --------------------------------------------------------------------------------------------------------


def collect(tmp_path: Path, elements: list[Any], transform: Any) -> list[Any]:
    """What comes out of a transform, in order, by way of the coder of its type and a pickle for each."""

    def keep(element: Any, folder: str = str(tmp_path)) -> None:
        number = len(list(Path(folder).glob("*.kept")))
        (Path(folder) / f"{number:06}.kept").write_bytes(pickle.dumps(element))

    pipeline = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))
    found = pipeline | beam.Create(elements, reshuffle=False) | transform
    _ = (
        found
        | beam.Map(lambda element: (0, element))
        | beam.GroupByKey()
        | beam.FlatMap(lambda pair: pair[1])
        | beam.Map(keep)
    )
    pipeline.run().wait_until_finish()
    return [pickle.loads(file.read_bytes()) for file in sorted(tmp_path.glob("*.kept"))]


def test_strings(tmp_path: Path, path: str) -> None:
    texts = [text for text in TEXTS if text is not None]
    transform = bw.Tokenize(path)
    found = collect(tmp_path, texts, transform)
    assert sorted(found) == sorted(ids(path, texts), key=lambda row: row or [])
    pipeline = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))
    typed = pipeline | beam.Create(texts) | bw.Tokenize(path)
    assert typed.element_type == beam.typehints.List[str]


def test_tables(tmp_path: Path, path: str) -> None:
    table = pa.table({"n": range(len(TEXTS)), "text": TEXTS})
    (found,) = collect(tmp_path, [table], bw.TokenizeTables(path))
    assert found.schema == pa.schema({"n": pa.int64(), "input_ids": pa.list_(pa.string())})
    assert found.column("input_ids").to_pylist() == ids(path)


@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize("rows", ["documents", "chunks"])
def test_chunks(tmp_path: Path, path: str, rows: str, stateful: bool) -> None:
    chance = random.Random(1)
    texts = {f"{number}": "".join(chance.choices([*"cataloger éx 中", "catalog"], k=60)) for number in range(20)}
    chunks = [chunk for name, text in texts.items() for chunk in scattered.cut(name, text, chance)]
    chance.shuffle(chunks)
    found: dict[str, list[Any]] = {}
    rows_found = collect(tmp_path, chunks, TakeRows(path, rows=rows, stateful=stateful))
    for row in sorted(rows_found, key=lambda row: getattr(row, "number", 0)):
        assert row.input_ids.type == pa.string()
        found.setdefault(row.document, []).extend(row.input_ids.to_pylist())
    assert found == dict(zip(texts, ids(path, list(texts.values())), strict=True))


class TakeRows(beam.PTransform[Any, Any]):
    """The rows of `TokenizeChunks`, of which no dead letters are expected."""

    def __init__(self, path: str, **settings: Any) -> None:
        super().__init__()
        self._chunks = bw.TokenizeChunks(path, **settings)

    def expand(self, pcoll: Any) -> Any:
        return (pcoll | self._chunks).tokenized


# Files -------------------------------------------------------------------------------------------------------------


def tokenized(tmp_path: Path, path: str, source: Path, **settings: Any) -> pa.Table:
    target = str(tmp_path / "out.parquet")
    tokenizer = open_tokenizer(path)
    task, chosen = FileTask(str(source), target), FileSettings(**settings)
    result = tokenize_file(task, tokenizer, chosen, lambda counts, size: None)
    table = pq.read_table(target)
    assert result.rows == table.num_rows
    assert result.tokens == sum(len(row or []) for row in table.column("input_ids").to_pylist())
    # Done before, and known by the dictionary's fingerprint.
    assert tokenize_file(task, tokenizer, chosen, lambda counts, size: None).skipped
    return table


@pytest.mark.parametrize("encoding", ["byte_stream_split", "dictionary", "plain"])
def test_rows_of_parquet(tmp_path: Path, path: str, encoding: str) -> None:
    pq.write_table(pa.table({"n": range(len(TEXTS)), "text": TEXTS}), tmp_path / "in.parquet")
    found = tokenized(tmp_path, path, tmp_path / "in.parquet", encoding=encoding)
    assert found.schema.field("input_ids").type == pa.list_(pa.string())
    assert found.column("input_ids").to_pylist() == ids(path)
    column = pq.read_metadata(tmp_path / "out.parquet").row_group(0).column(1)
    assert ("PLAIN_DICTIONARY" in column.encodings or "RLE_DICTIONARY" in column.encodings) == (encoding != "plain")


def test_pieces_in_rows_of_parquet(tmp_path: Path, path: str) -> None:
    pieces = {"book": ["a", "a", "a", "b", "c", "c"], "text": ["!?cata", None, "!?", "?", None, None]}
    pq.write_table(pa.table(pieces), tmp_path / "in.parquet")
    whole = tokenized(tmp_path, path, tmp_path / "in.parquet", document_column="book")
    assert whole.column("input_ids").to_pylist() == ids(path, ["!?cata!?", "?", None])
    (tmp_path / "out.parquet").unlink()
    chunks = tokenized(tmp_path, path, tmp_path / "in.parquet", document_column="book", rows="chunks")
    rows = chunks.column("input_ids").to_pylist()
    assert [id for row in rows[:3] for id in row or []] == ids(path, ["!?cata!?"])[0]


@pytest.mark.parametrize("rows", ["documents", "chunks"])
def test_text_files(tmp_path: Path, path: str, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("beam_wordpiece.text_source.BLOCK_BYTES", 7)
    lines = ["catalog??????????", "", "é中aaaaaaaaaaaaaaaaaa", "!" * 30]
    (tmp_path / "in.txt").write_text("\n".join(lines), encoding="utf-8")
    table = tokenized(tmp_path, path, tmp_path / "in.txt", rows=rows)
    found: dict[int, list[str]] = {}
    for row in table.to_pylist():
        found.setdefault(row["document"], []).extend(row["input_ids"])
    assert list(found.values()) == ids(path, lines)


def test_the_job(tmp_path: Path, path: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "in" / "a.parquet")
    flags = ["--input", str(tmp_path / "in/*.parquet"), "--output", str(tmp_path / "out"), "--tokenizer", path]
    assert tokenize_parquet.main(flags) == 0
    assert pq.read_table(tmp_path / "out/a.parquet").column("input_ids").to_pylist() == ids(path)
    assert tokenize_parquet.main([*flags, "--lowercase", "false"]) == 2
    assert "compiled already" in capsys.readouterr().err


def test_which_files_are_dictionaries(tmp_path: Path, path: str) -> None:
    # A vocabulary whose description holds, near its beginning, what that of a dictionary begins with.
    content = small.document()
    content["added_tokens"] = [small.added('{"dictionary": 1', len(small.VOCABULARY))]
    vocabulary = str(tmp_path / "a.bwp")
    bw.Automaton.compile(small.write(tmp_path / "tokenizer.json", content | {"post_processor": None})).save(vocabulary)
    assert is_dictionary(path)
    assert not is_dictionary(vocabulary)
    assert not is_dictionary(str(tmp_path / "nothing.bwp"))
    assert isinstance(open_tokenizer(path), bw.Dictionary)
    assert isinstance(open_tokenizer(vocabulary), bw.Tokenizer)


# The command -------------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "entries.txt", str(tmp_path / "d.bwp")
    source.write_text("\n".join(ENTRIES), encoding="utf-8")
    assert main(["dictionary", str(source), "-o", output, "--unknown", "carry"]) == 0
    assert f"{output}: 7 keys" in capsys.readouterr().out
    assert main(["encode", "--automaton", output, "--json", "cat!"]) == 0
    line = json.loads(capsys.readouterr().out)
    assert line == {"text": "cat!", "ids": ["ten", "[UNK]:!"], "tokens": ["cat", ""]}
    assert main(["encode", "--automaton", output, "catalog cat!"]) == 0
    assert capsys.readouterr().out.split("\n")[1].split() == ["11", "-", "ten", "[UNK]:!"]
    assert main(["inspect", output, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["entries"] == 7
    assert main(["inspect", output]) == 0
    assert "carry" in capsys.readouterr().out
    assert main(["dictionary", str(source), "-o", str(source)]) == 2
    assert "is not an automaton" in capsys.readouterr().err
    source.write_text("abc", encoding="utf-8")
    assert main(["dictionary", str(source), "-o", output]) == 2
    assert "line 1, 'abc', has no colon" in capsys.readouterr().err
