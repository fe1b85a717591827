"""One Parquet file in, one out: columns, portions, encodings, and input that cannot be read."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer as HF

import beam_wordpiece as bw
from beam_wordpiece import io, parquet, parquet_writer
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import ConfigError, InputError
from beam_wordpiece.io import FileResult
from tests import corpus
from tests.corpus import Run


@pytest.fixture
def run(tmp_path: Path, tokenizer: bw.Tokenizer) -> Run:
    return corpus.runner(tmp_path, tokenizer)


# One file -----------------------------------------------------------------------------------------------------------


def test_ids_are_those_of_hf_and_all_else_is_as_it_was(tmp_path: Path, run: Run, hf: HF) -> None:
    table = corpus.write(tmp_path, {"in.parquet": 350})["in.parquet"]
    result = run()
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.names == ["doc_id", "score", "tags", "source", "input_ids"]
    assert out.schema.field("input_ids").type == pa.list_(pa.field("element", pa.int32()))
    assert out["input_ids"].to_pylist() == corpus.ids(hf, table["text"])
    assert out.drop_columns(["input_ids"]).equals(pq.read_table(tmp_path / "in.parquet").drop_columns(["text"]))
    tokens = sum(len(ids or ()) for ids in out["input_ids"].to_pylist())
    assert result == FileResult(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"), 350, tokens)


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"keep_text": True}, ["doc_id", "text", "score", "tags", "source", "input_ids"]),
        ({"columns": ("tags", "doc_id")}, ["doc_id", "tags", "input_ids"]),
        ({"columns": ()}, ["input_ids"]),
        ({"columns": (), "id_column": "doc_id"}, ["doc_id", "input_ids"]),
        ({"columns": ("text",)}, ["text", "input_ids"]),
        ({"columns": ("score",), "keep_text": True}, ["text", "score", "input_ids"]),
        ({"id_column": "score"}, ["doc_id", "score", "tags", "source", "input_ids"]),
    ],
)
def test_the_columns_asked_for_are_passed_through(
    tmp_path: Path, run: Run, hf: HF, settings: dict[str, object], names: list[str]
) -> None:
    table = corpus.write(tmp_path, {"in.parquet": 40})["in.parquet"]
    run(**settings)
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.names == names
    assert out["input_ids"].to_pylist() == corpus.ids(hf, table["text"])


def test_no_special_tokens(tmp_path: Path, run: Run, hf: HF) -> None:
    pq.write_table(pa.table({"text": ["a cat", "", None]}), tmp_path / "in.parquet")
    run(add_special_tokens=False)
    expected = [hf.encode("a cat", add_special_tokens=False).ids, [], None]
    assert pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist() == expected


NESTED = pa.struct([("body", pa.string()), ("n", pa.int64())])


def test_a_field_of_a_struct(tmp_path: Path, run: Run, hf: HF) -> None:
    rows = [{"body": "a cat", "n": 1}, None, {"body": None, "n": 3}, {"body": "dogs", "n": None}]
    only = pa.array([{"inner": {"t": "x"}}] * 4)
    table = pa.table({"meta": pa.array(rows, NESTED), "only": only, "id": [1, 2, 3, 4]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=3)
    run(text_column="meta.body")
    out = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert out["meta"] == [{"n": 1}, None, {"n": 3}, {"n": None}]
    assert out["only"] == only.to_pylist()
    assert out["input_ids"] == [hf.encode("a cat").ids, None, None, hf.encode("dogs").ids]
    run(text_column="only.inner.t", columns=("id", "only"))
    assert pq.read_table(tmp_path / "out.parquet").schema.names == ["id", "input_ids"]
    run(text_column="only.inner.t", keep_text=True)
    assert pq.read_table(tmp_path / "out.parquet")["only"].to_pylist() == only.to_pylist()


def test_a_column_whose_own_name_has_a_dot(tmp_path: Path, run: Run, hf: HF) -> None:
    pq.write_table(pa.table({"a.b": ["a cat"], "a": [{"b": "no", "c": 1}]}), tmp_path / "in.parquet")
    for columns in (None, ("a",)):
        run(text_column="a.b", columns=columns)
        out = pq.read_table(tmp_path / "out.parquet")
        assert out.to_pydict() == {"a": [{"b": "no", "c": 1}], "input_ids": [hf.encode("a cat").ids]}


@pytest.mark.parametrize("kind", ["string", "large_string", "binary", "large_binary", "string_view", "dictionary"])
def test_every_kind_of_text(tmp_path: Path, run: Run, hf: HF, kind: str) -> None:
    texts = ["a cat", None, "", "日本語 café", "a cat"]
    kinds = {"string_view": pa.string_view(), "dictionary": pa.dictionary(pa.int32(), pa.string())}
    array = pa.array(texts).cast(kinds.get(kind) or getattr(pa, kind)())
    try:
        pq.write_table(pa.table({"text": array}), tmp_path / "in.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip(f"pyarrow {pa.__version__} reads and writes no Parquet file of {kind}; a later one does")
    run()
    out = pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist()
    assert out == [None if text is None else hf.encode(text).ids for text in texts]


@pytest.mark.parametrize("rows", [[], [None, None], [""]])
def test_files_with_nothing_in_them(tmp_path: Path, run: Run, rows: list[str | None]) -> None:
    pq.write_table(pa.table({"text": pa.array(rows, pa.string()), "n": range(len(rows))}), tmp_path / "in.parquet")
    assert run().rows == len(rows)
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.names == ["n", "input_ids"]
    assert [ids is None for ids in out["input_ids"].to_pylist()] == [row is None for row in rows]


def test_metadata_of_the_columns_stays_and_that_of_other_tools_goes(tmp_path: Path, run: Run) -> None:
    field = pa.field("n", pa.int64(), metadata={b"unit": b"m"})
    schema = pa.schema([field, ("text", pa.string())], {b"mine": b"1", b"pandas": b"{}", b"huggingface": b"{}"})
    pq.write_table(pa.table({"n": [1], "text": ["a"]}, schema=schema), tmp_path / "in.parquet")
    run()
    written = pq.read_schema(tmp_path / "out.parquet")
    assert written.metadata.keys() == {b"mine", parquet_writer.ORIGIN_KEY}
    assert written.field("n").metadata[b"unit"] == b"m"


@pytest.mark.parametrize(
    ("encoding", "compression", "found"),
    [
        ("byte_stream_split", "zstd", "BYTE_STREAM_SPLIT"),
        ("dictionary", "snappy", "RLE_DICTIONARY"),
        ("plain", "none", "PLAIN"),
    ],
)
def test_the_encoding_asked_for(tmp_path: Path, run: Run, encoding: str, compression: str, found: str) -> None:
    table = corpus.write(tmp_path, {"in.parquet": 300})["in.parquet"]
    run(encoding=encoding, compression=compression)
    group = pq.ParquetFile(tmp_path / "out.parquet").metadata.row_group(0)
    columns = {group.column(index).path_in_schema: group.column(index) for index in range(group.num_columns)}
    ids = columns["input_ids.list.element"]
    assert found in ids.encodings
    assert (encoding == "dictionary") == ids.has_dictionary_page
    assert ids.compression == {"zstd": "ZSTD", "snappy": "SNAPPY", "none": "UNCOMPRESSED"}[compression]
    assert columns["source"].has_dictionary_page
    assert pq.read_table(tmp_path / "out.parquet").num_rows == table.num_rows


def test_row_groups_are_closed_by_size(tmp_path: Path, run: Run) -> None:
    pq.write_table(pa.table({"text": ["a cat " * 100_000] * 10}), tmp_path / "in.parquet", use_dictionary=False)
    run(row_group_mb=4)
    metadata = pq.ParquetFile(tmp_path / "out.parquet").metadata
    sizes = [metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups)]
    assert len(sizes) > 1
    assert max(sizes) < 2 * (4 << 20)


@pytest.mark.parametrize("dictionary", [True, False])
def test_rows_of_a_megabyte_are_read_in_small_portions(tmp_path: Path, dictionary: bool) -> None:
    texts = ["x" * 1_000_000] * 300 if dictionary else [chr(97 + row % 26) * 1_000_000 for row in range(60)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "in.parquet", use_dictionary=dictionary)
    with io.open_file(str(tmp_path / "in.parquet")) as file:
        reader = parquet.open_parquet(file, "in")
        layout = parquet.Layout(reader.schema_arrow, FileSettings(), "in")
        rows = 0
        for block in parquet.read_blocks(reader, layout, "in"):
            assert max(batch.num_rows for batch in block) <= 1
            assert sum(batch.nbytes for batch in block) < parquet.BLOCK_BYTES + 2_000_000
            rows += sum(batch.num_rows for batch in block)
    assert rows == len(texts)


def test_the_reader_holds_nothing_of_a_row_group_that_was_given_out(tmp_path: Path) -> None:
    texts = [letter * 5_000_000 for letter in "abc"]
    pq.write_table(pa.table({"text": texts}), tmp_path / "in.parquet", row_group_size=1, compression="none")
    with io.open_file(str(tmp_path / "in.parquet")) as file:
        reader = parquet.open_parquet(file, "in")
        blocks = parquet.read_blocks(reader, parquet.Layout(reader.schema_arrow, FileSettings(), "in"), "in")
        before = pa.total_allocated_bytes()
        for text in texts:
            block = next(blocks)
            assert [row for batch in block for row in batch["text"].to_pylist()] == [text]
            del block
            assert pa.total_allocated_bytes() - before < 1_000_000


def test_one_large_text_in_all_rows_is_read_row_by_row(tmp_path: Path) -> None:
    # A dictionary of 5 MB, so 250 bytes a row in the file.
    array = pa.DictionaryArray.from_arrays(pa.array([0] * 20_000, pa.int32()), pa.array(["x" * 5_000_000]))
    pq.write_table(pa.table({"text": array}), tmp_path / "in.parquet", store_schema=False)
    with io.open_file(str(tmp_path / "in.parquet")) as file:
        reader = parquet.open_parquet(file, "in")
        blocks = parquet.read_blocks(reader, parquet.Layout(reader.schema_arrow, FileSettings(), "in"), "in")
        assert [sum(batch.num_rows for batch in next(blocks)) for _ in range(3)] == [1, 1, 1]


def test_large_rows_among_small_ones_are_tokenized_in_parts(tmp_path: Path) -> None:
    texts = ["short"] * 20_000
    texts[10_000:10_040] = ["x" * 1_000_000 + str(row) for row in range(40)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "in.parquet", use_dictionary=False)
    with io.open_file(str(tmp_path / "in.parquet")) as file:
        reader = parquet.open_parquet(file, "in")
        blocks = list(parquet.read_blocks(reader, parquet.Layout(reader.schema_arrow, FileSettings(), "in"), "in"))
    assert [text for block in blocks for batch in block for text in batch["text"].to_pylist()] == texts
    assert max(sum(batch.nbytes for batch in block) for block in blocks) < 3 * parquet.BLOCK_BYTES


def test_short_rows_are_read_in_large_portions(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": [f"row {row}" for row in range(100_000)]}), tmp_path / "in.parquet")
    with io.open_file(str(tmp_path / "in.parquet")) as file:
        reader = parquet.open_parquet(file, "in")
        layout = parquet.Layout(reader.schema_arrow, FileSettings(), "in")
        batches = [batch for block in parquet.read_blocks(reader, layout, "in") for batch in block]
    assert sum(batch.num_rows for batch in batches) == 100_000
    assert len(batches) < 20


def test_dictionaries_are_looked_at_again_where_row_groups_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, long = [f"text {row % 10}" for row in range(1000)], ["x" * 2_000_000 + str(row % 2) for row in range(1000)]
    with pq.ParquetWriter(tmp_path / "in.parquet", pa.schema([("text", pa.string())])) as writer:
        for texts in (short, short, short, long, short):
            writer.write_table(pa.table({"text": pa.array(texts).dictionary_encode().cast(pa.string())}))
    looked_at = []
    sample = parquet._sampled_bytes_per_row

    def counted(reader: pq.ParquetFile, group: int, column: str) -> float:
        looked_at.append(group)
        return sample(reader, group, column)

    monkeypatch.setattr(parquet, "_sampled_bytes_per_row", counted)
    with io.open_file(str(tmp_path / "in.parquet")) as file:
        reader = parquet.open_parquet(file, "in")
        sizes = parquet._RowSizes(reader)
        found = [sizes.of(group) for group in range(reader.num_row_groups)]
    assert looked_at == [0, 3, 4]
    assert found[0] == found[1] == found[2] == found[4] < 100
    assert found[3] > 2_000_000


# Bad input ----------------------------------------------------------------------------------------------------------


def refused(tmp_path: Path, run: Run, message: str, **settings: object) -> None:
    """The run fails with the message, and leaves nothing."""
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(InputError, match=message) as caught:
        run(**settings)
    assert "in.parquet" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == before


def test_a_missing_file(tmp_path: Path, run: Run) -> None:
    refused(tmp_path, run, r"in\.parquet does not exist")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"text, score\n" * 100])
def test_a_file_that_is_no_parquet(tmp_path: Path, run: Run, content: bytes) -> None:
    (tmp_path / "in.parquet").write_bytes(content)
    refused(tmp_path, run, rf"is not a Parquet file: its {len(content)} bytes do not begin")


def test_a_file_cut_off_anywhere(tmp_path: Path, run: Run) -> None:
    corpus.write(tmp_path, {"in.parquet": 5})
    for length in range((tmp_path / "in.parquet").stat().st_size - 1, 11, -1):
        os.truncate(tmp_path / "in.parquet", length)
        with pytest.raises(InputError, match="is cut off or damaged"):
            run()
    assert not (tmp_path / "out.parquet").exists()


def test_a_file_with_a_damaged_footer(tmp_path: Path, run: Run) -> None:
    corpus.write(tmp_path, {"in.parquet": 5})
    whole = (tmp_path / "in.parquet").read_bytes()
    length = int.from_bytes(whole[-8:-4], "little")
    (tmp_path / "in.parquet").write_bytes(whole[: -8 - length] + b"\xff" * length + whole[-8:])
    refused(tmp_path, run, "cannot be read as Parquet: ")


def test_a_file_with_a_damaged_page(tmp_path: Path, run: Run) -> None:
    corpus.write(tmp_path, {"in.parquet": 500})
    place = pq.ParquetFile(tmp_path / "in.parquet").metadata.row_group(3).column(1).data_page_offset
    whole = bytearray((tmp_path / "in.parquet").read_bytes())
    whole[place : place + 40] = b"\xff" * 40
    (tmp_path / "in.parquet").write_bytes(whole)
    refused(tmp_path, run, "cannot be read to its end: ")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"text_column": "body"}, "has no column 'body'; the columns are: doc_id, text, score, tags, source"),
        ({"text_column": "text.x"}, "has no column 'text.x': there is no field 'x' in string"),
        ({"text_column": "score"}, "the column 'score' holds float, not text"),
        ({"text_column": "tags"}, "the column 'tags' holds list<element: string>, not text"),
        ({"id_column": "key"}, "has no column 'key'"),
        ({"columns": ("doc_id", "nope")}, "has no column 'nope'"),
    ],
)
def test_a_wrong_column(tmp_path: Path, run: Run, settings: dict[str, object], message: str) -> None:
    corpus.write(tmp_path, {"in.parquet": 5})
    refused(tmp_path, run, re.escape(message), **settings)


def test_columns_of_one_name(tmp_path: Path, run: Run) -> None:
    table = pa.Table.from_arrays([pa.array(["a"]), pa.array(["b"])], names=["text", "text"])
    pq.write_table(table, tmp_path / "in.parquet")
    refused(tmp_path, run, "has 2 columns of the name 'text'")


def test_a_column_of_the_output_s_name(tmp_path: Path, run: Run, hf: HF) -> None:
    pq.write_table(pa.table({"text": ["a"], "input_ids": [[1]], "n": [1]}), tmp_path / "in.parquet")
    refused(tmp_path, run, "has a column input_ids already; rename it, or leave it out")
    run(columns=("n",))
    assert pq.read_table(tmp_path / "out.parquet").to_pydict() == {"n": [1], "input_ids": [hf.encode("a").ids]}


def test_text_that_is_not_utf_8(tmp_path: Path, run: Run, hf: HF) -> None:
    texts = pa.array([b"a cat"] * 150 + [b"caf\xe9"] + [b"dogs"], pa.binary())
    table = pa.table({"text": texts, "key": [f"k{row}" for row in range(152)]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    refused(tmp_path, run, r"in\.parquet, row 150: the text of 'text' is not UTF-8", errors="error")
    refused(tmp_path, run, r"in\.parquet, row 150 \(key 'k150'\): ", errors="error", id_column="key", columns=())
    run()
    ids = pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist()
    assert ids[150] == hf.encode("caf\ufffd").ids


def test_an_input_that_changes_while_it_is_read(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus.write(tmp_path, {"in.parquet": 5})
    write = parquet_writer.TokenWriter.write

    def write_and_change(self: parquet_writer.TokenWriter, table: pa.Table) -> None:
        os.utime(tmp_path / "in.parquet", (1, 1))
        write(self, table)

    monkeypatch.setattr(parquet_writer.TokenWriter, "write", write_and_change)
    refused(tmp_path, run, "was changed while it was read")


def test_an_encoding_that_this_pyarrow_lacks(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise pa.ArrowNotImplementedError("no such encoding")

    corpus.write(tmp_path, {"in.parquet": 5})
    monkeypatch.setattr(parquet_writer, "_leaf_columns", lambda schema: ("ids", []))
    monkeypatch.setattr(parquet_writer.pq, "ParquetWriter", refuse)
    with pytest.raises(ConfigError, match=r"cannot write byte_stream_split with zstd \(no such encoding\)"):
        run()
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]
