"""What the pipeline is measured beside does the same work, and the writer's choices are really made."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beam_wordpiece as bw
from benchmarks import loops, pipeline, writing
from tests import corpus


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A file without null texts, which loops written by hand do not expect."""
    table = corpus.table(400, 3)
    pq.write_table(table.filter(table["text"].is_valid()), tmp_path / "in.parquet", row_group_size=100)
    return tmp_path / "in.parquet"


@pytest.mark.filterwarnings("ignore")  # of the peers
@pytest.mark.parametrize("name", loops.LOOPS)
def test_every_loop_writes_what_the_pipeline_writes(
    tmp_path: Path, source: Path, tokenizer_json: Path, tokenizer: bw.Tokenizer, name: str
) -> None:
    if name != "bare":
        pytest.importorskip(name)
    loops.LOOPS[name](str(tokenizer_json))(source, tmp_path / "loop.parquet")
    corpus.runner(tmp_path, tokenizer)()
    ours, theirs = pq.read_table(tmp_path / "out.parquet"), pq.read_table(tmp_path / "loop.parquet")
    assert theirs.schema.names == ours.schema.names
    assert theirs.to_pylist() == ours.to_pylist()


def test_the_bare_loop_encodes_the_ids_as_the_pipeline_does(
    tmp_path: Path, source: Path, tokenizer_json: Path, tokenizer: bw.Tokenizer
) -> None:
    loops.bare(str(tokenizer_json))(source, tmp_path / "loop.parquet")
    corpus.runner(tmp_path, tokenizer)()
    files = [pq.read_metadata(tmp_path / name) for name in ("out.parquet", "loop.parquet")]
    ours, theirs = (file.row_group(0).column(file.num_columns - 1) for file in files)
    assert theirs.path_in_schema == "input_ids.list.element"
    assert (theirs.encodings, theirs.compression) == (ours.encodings, ours.compression)
    assert theirs.total_compressed_size == ours.total_compressed_size


@pytest.mark.parametrize("choice", writing.choices(), ids=str)
def test_a_choice_of_the_writer_is_made(tmp_path: Path, choice: writing.Choice) -> None:
    ids = pa.array([list(range(row, row + row % 40)) for row in range(500)], pa.list_(pa.int32()))
    writing.write(choice, [pa.table({"input_ids": ids})], tmp_path / "ids.parquet")
    assert pq.read_table(tmp_path / "ids.parquet")["input_ids"].to_pylist() == ids.to_pylist()
    column = pq.read_metadata(tmp_path / "ids.parquet").row_group(0).column(0)
    assert writing.ENCODINGS.get(choice.encoding, "RLE_DICTIONARY") in column.encodings
    assert column.compression == ("UNCOMPRESSED" if choice.codec == "none" else choice.codec.upper())
    assert (column.statistics is not None) == choice.statistics


def test_work_is_what_is_left_without_the_start_up() -> None:
    def rounds(user: list[float]) -> list[pipeline.Spent]:
        return [pipeline.Spent(user=seconds, system=0.5, wall=2 * seconds) for seconds in user]

    measured = pipeline.Contender("pipeline", full=rounds([3.0, 9.0, 4.0]), tiny=rounds([1.0, 6.0, 1.5]))
    assert measured.seconds() == (4.5, 2.0, 2.5, 2.5)
    measured.tiny = [seconds._replace(system=0.25) for seconds in measured.tiny]
    assert measured.seconds() == (4.5, 1.75, 2.75, 2.5)


def test_contenders_get_the_same_files(tmp_path: Path, source: Path) -> None:
    full = pipeline.input_folder(tmp_path / "full", str(source), 3)
    assert [path.read_bytes() for path in sorted(full.iterdir())] == [source.read_bytes()] * 3
    tiny = pipeline.one_row_folder(tmp_path / "tiny", str(source))
    assert pq.read_table(tiny).equals(pq.read_table(source).slice(0, 1))
