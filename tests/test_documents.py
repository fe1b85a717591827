"""Documents in consecutive rows of Parquet: the ids of the whole, whatever the cuts, row groups and blocks."""

from __future__ import annotations

import datetime
import decimal
import random
import re
import signal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beam_wordpiece as bw
from beam_wordpiece import documents, parquet
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import InputError
from beam_wordpiece.io import FileTask, tokenize_file
from tests import corpus, test_kill
from tests.corpus import Run

PIECES: dict[str, object] = {"document_column": "doc", "chunk_column": "part"}
BY_CHUNK = {**PIECES, "rows": "chunks"}


@pytest.fixture
def run(tmp_path: Path, tokenizer: bw.Tokenizer) -> Run:
    return corpus.runner(tmp_path, tokenizer)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few rows make a block, so that documents go over many."""
    monkeypatch.setattr(parquet, "PORTION_BYTES", 200)
    monkeypatch.setattr(parquet, "BLOCK_BYTES", 600)


def cut(chance: random.Random, text: str) -> list[bytes | None]:
    """A text in pieces, cut between any two bytes; some are empty, and some rows between them null."""
    data = text.encode()
    places = sorted(chance.choices(range(len(data) + 1), k=chance.choice([0, 0, 1, 2, 5, 40])))
    pieces: list[bytes | None] = [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True)]
    for _ in range(chance.choice([0, 0, 1, 3])):
        pieces.insert(chance.randint(0, len(pieces)), None)
    return pieces


def in_pieces(seed: int, count: int = 60) -> tuple[list[str | None], pa.Table]:
    """Documents, and the rows of them. A document that is None has null rows only."""
    chance = random.Random(seed)
    texts = corpus.texts(count, seed)
    rows: list[dict[str, object]] = []
    for number, text in enumerate(texts):
        pieces = [None] * chance.randint(1, 4) if text is None else cut(chance, text)
        rows += [{"doc": f"d{number}", "part": part, "text": piece} for part, piece in enumerate(pieces)]
    for place, row in enumerate(rows):
        row.update(row=place, tags=[f"t{place % 3}"] * (place % 4), source=f"s{place // 7}")
    schema = pa.schema(
        [
            *(("doc", pa.string()), ("part", pa.int16()), ("text", pa.binary()), ("row", pa.int64())),
            *(("tags", pa.list_(pa.string())), ("source", pa.dictionary(pa.int32(), pa.string()))),
        ]
    )
    return texts, pa.Table.from_pylist(rows, schema)


def whole(tokenizer: bw.Tokenizer, texts: list[str | None]) -> list[list[int] | None]:
    expected: list[list[int] | None] = tokenizer.encode_arrow(pa.array(texts, pa.string())).column(0).to_pylist()
    return expected


def joined(names: list[object], ids: list[list[int] | None]) -> dict[object, list[int] | None]:
    """The ids of documents, out of those of their rows; None where all of them are."""
    found: dict[object, list[int] | None] = {}
    for name, row in zip(names, ids, strict=True):
        before = found.get(name)
        found[name] = before if row is None else (before or []) + row
    return found


# The ids are those of the whole -------------------------------------------------------------------------------------


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_a_row_for_each_document(
    tmp_path: Path, tokenizer: bw.Tokenizer, small_blocks: None, seed: int, special: bool
) -> None:
    texts, table = in_pieces(seed)
    group = random.Random(seed).choice([1, 2, 3, 7, 50, 10_000])
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=group)
    used = bw.Tokenizer(tokenizer.automaton, special)
    counted = []
    settings = FileSettings(**PIECES, add_special_tokens=special)  # type: ignore[arg-type]
    task = FileTask(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"))
    result = tokenize_file(task, used, settings, lambda counts, size: counted.append((counts, size)))
    out = pq.read_table(tmp_path / "out.parquet")
    expected = whole(used, texts)
    assert out["input_ids"].to_pylist() == expected
    # All else is as in the first row of the document.
    first = table.filter([part == 0 for part in table["part"].to_pylist()])
    assert out.schema.names == ["doc", "row", "tags", "source", "input_ids"]
    assert out.drop_columns("input_ids").to_pydict() == first.drop_columns(["part", "text"]).to_pydict()
    total = sum((counts for counts, _ in counted), bw.Counts())
    assert (total.documents, total.nulls) == (len(texts), texts.count(None))
    assert total.bytes == sum(len(text.encode()) for text in texts if text is not None)
    assert total.tokens == sum(len(ids or ()) for ids in expected)
    assert (result.rows, result.tokens) == (len(texts), total.tokens)
    assert sum(size for _, size in counted) == pytest.approx((tmp_path / "in.parquet").stat().st_size)


@pytest.mark.parametrize("seed", range(12))
def test_a_row_for_each_chunk(tmp_path: Path, tokenizer: bw.Tokenizer, run: Run, small_blocks: None, seed: int) -> None:
    texts, table = in_pieces(seed)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=random.Random(seed).choice([1, 2, 3, 7, 50, 10_000]))
    result = run(**BY_CHUNK)
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.drop_columns("input_ids").to_pydict() == table.drop_columns("text").to_pydict()
    ids = out["input_ids"].to_pylist()
    found = joined(out["doc"].to_pylist(), ids)
    assert list(found.values()) == whole(tokenizer, texts)
    assert result.rows == table.num_rows
    # A row is null only where its text is.
    assert all(text is None for text, row in zip(table["text"].to_pylist(), ids, strict=True) if row is None)


def test_blocks_of_the_usual_size(tmp_path: Path, tokenizer: bw.Tokenizer, run: Run) -> None:
    texts, table = in_pieces(99, 4000)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=5000)
    run(**PIECES)
    assert pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist() == whole(tokenizer, texts)


NAMES = {
    "string": (pa.string(), ["a", "b", "c"]),
    "large_string": (pa.large_string(), ["a", "b", "c"]),
    "binary": (pa.binary(), [b"\xff", b"\xfe", b""]),
    "fixed_size_binary": (pa.binary(2), [b"aa", b"ab", b"ba"]),
    "int8": (pa.int8(), [-1, 0, 1]),
    "uint64": (pa.uint64(), [2**64 - 1, 2**63, 0]),
    "bool": (pa.bool_(), [True, False, True]),
    "date": (pa.date32(), [datetime.date(2024, 1, day) for day in (1, 2, 3)]),
    "decimal": (pa.decimal128(5, 2), [decimal.Decimal(n) for n in ("1.00", "1.01", "-1.00")]),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "c"]),
    "uuid": (pa.uuid(), [bytes([n] * 16) for n in range(3)]),
}


@pytest.mark.parametrize("kind", NAMES)
def test_names_of_every_type(tmp_path: Path, tokenizer: bw.Tokenizer, run: Run, small_blocks: None, kind: str) -> None:
    type_, values = NAMES[kind]
    names = [values[0], values[0], values[1], values[2], values[2], values[2]]
    table = pa.table({"doc": pa.array(names, type_), "text": ["un", "affable", "cats", "d", "o", "g"]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    run(document_column="doc")
    out = pq.read_table(tmp_path / "out.parquet")
    assert out["doc"].to_pylist() == [table["doc"][row].as_py() for row in (0, 2, 3)]
    assert out["input_ids"].to_pylist() == whole(tokenizer, ["unaffable", "cats", "dog"])


def test_rows_without_a_name_are_documents_of_their_own(
    tmp_path: Path, tokenizer: bw.Tokenizer, run: Run, small_blocks: None
) -> None:
    names = [None, None, "a", "a", None, "b"]
    table = pa.table({"doc": names, "part": [0, 0, 0, 1, 0, 0], "text": ["un", "affable", "do", "gs", None, "x"]})
    for settings in (PIECES, BY_CHUNK):
        pq.write_table(table, tmp_path / "in.parquet", row_group_size=1)
        run(**settings)
        ids = pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist()
        assert ids[:2] == whole(tokenizer, ["un", "affable"])
        assert ids[-2:] == whole(tokenizer, [None, "x"])
    pq.write_table(table.set_column(0, "doc", pa.nulls(6)), tmp_path / "in.parquet")
    run(document_column="doc", columns=())
    texts = table["text"].to_pylist()
    assert pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist() == whole(tokenizer, texts)


def test_without_numbers_a_document_may_come_again(tmp_path: Path, tokenizer: bw.Tokenizer, run: Run) -> None:
    pq.write_table(pa.table({"doc": [1, 1, 2, 1], "text": ["un", "affable", "x", "cats"]}), tmp_path / "in.parquet")
    run(document_column="doc")
    out = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert out == {"doc": [1, 2, 1], "input_ids": whole(tokenizer, ["unaffable", "x", "cats"])}


@pytest.mark.parametrize("kind", ["string", "large_string", "string_view", "dictionary", "null"])
def test_every_kind_of_text(tmp_path: Path, tokenizer: bw.Tokenizer, run: Run, kind: str) -> None:
    texts = [None] * 6 if kind == "null" else ["un", "affable", None, "un", "un", ""]
    kinds = {"string_view": pa.string_view(), "dictionary": pa.dictionary(pa.int32(), pa.string())}
    array = pa.array(texts, pa.null() if kind == "null" else pa.string()).cast(kinds.get(kind) or getattr(pa, kind)())
    try:
        pq.write_table(pa.table({"doc": [1, 1, 2, 3, 3, 3], "text": array}), tmp_path / "in.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip(f"pyarrow {pa.__version__} reads and writes no Parquet file of {kind}; a later one does")
    run(document_column="doc")
    expected = whole(tokenizer, [None] * 3 if kind == "null" else ["unaffable", None, "unun"])
    assert pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist() == expected


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({"columns": ()}, ["doc", "input_ids"]),
        ({"columns": ("part", "row")}, ["doc", "row", "input_ids"]),
        ({"columns": (), "id_column": "source"}, ["doc", "source", "input_ids"]),
        ({"columns": (), "rows": "chunks"}, ["doc", "part", "input_ids"]),
        ({"columns": ("text",), "rows": "chunks"}, ["doc", "part", "text", "input_ids"]),
        ({"keep_text": True, "rows": "chunks"}, ["doc", "part", "text", "row", "tags", "source", "input_ids"]),
    ],
)
def test_the_columns_asked_for(tmp_path: Path, run: Run, settings: dict[str, object], names: list[str]) -> None:
    pq.write_table(in_pieces(1)[1], tmp_path / "in.parquet")
    run(**PIECES, **settings)
    assert pq.read_schema(tmp_path / "out.parquet").names == names


def test_a_text_in_a_struct(tmp_path: Path, tokenizer: bw.Tokenizer, run: Run) -> None:
    rows = [{"doc": 1, "meta": {"body": "un", "n": 1}}, {"doc": 1, "meta": None}, {"doc": 2, "meta": None}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in.parquet")
    run(document_column="doc", text_column="meta.body")
    out = pq.read_table(tmp_path / "out.parquet").to_pydict()
    assert out == {"doc": [1, 2], "meta": [{"n": 1}, None], "input_ids": whole(tokenizer, ["un", None])}


@pytest.mark.parametrize("rows", ["documents", "chunks"])
def test_a_file_without_rows(tmp_path: Path, run: Run, rows: str) -> None:
    pq.write_table(in_pieces(1)[1].slice(0, 0), tmp_path / "in.parquet")
    assert run(**PIECES, rows=rows).rows == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 0


def test_the_ids_of_documents_are_not_copied() -> None:
    lists = pa.array([[1], [2, 3], None, [], [4]], pa.list_(pa.int32()))
    for array, bounds in ((lists, [0, 2, 3, 5]), (lists.slice(1), [0, 1, 2, 4])):
        merged = documents.join_neighbours(array, pa.array(bounds))
        merged.validate(full=True)
        assert merged.to_pylist() == [[1, 2, 3] if len(array) == 5 else [2, 3], None, [4]]
        assert merged.values.buffers()[1].address == lists.values.buffers()[1].address
    texts = pa.array(["x", "a", "", "bc"]).slice(1)
    assert documents.join_neighbours(texts, pa.array([0, 2, 3])).to_pylist() == ["a", "bc"]


# What is refused ----------------------------------------------------------------------------------------------------


def refused(tmp_path: Path, run: Run, message: str, **settings: object) -> None:
    """The run fails with the message, and leaves nothing."""
    with pytest.raises(InputError, match=message) as caught:
        run(**settings)
    assert str(tmp_path / "in.parquet") in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


@pytest.mark.parametrize("rows", ["documents", "chunks"])
@pytest.mark.parametrize(
    ("numbered", "message"),
    [
        ("a0 a1 b0 b2 b3", "row 3: part of the document 'b' is 2 where 1 has to be"),
        ("a0 a1 a1 a2", "row 2: part of the document 'a' is 1 a second time"),
        ("a0 a1 a2 a0 a1", "row 3: part of the document 'a' is 0 where 3 has to be"),
        ("a0 a2 a1", "row 1: part of the document 'a' is 2 where 1 has to be"),
        ("a0 b1", "row 1: part of the document 'b' begins with 1"),
        ("a1", "row 0: part of the document 'a' begins with 1, as where the rest is in another file or earlier"),
        ("a0 a- a2", "row 1: part of the document 'a' is null where 1 has to be"),
        ("a0 b0 b1 a0 a1", "row 3: the document 'a' begins again, after other documents"),
        ("a0 b0 -0 c0 -0 c1 c2 d0 b0", "row 5: part of the document 'c' begins with 1"),
        ("-0 a0 b0 -0 c0 c1 c2 d0 -0 b0 a0", "row 9: the document 'b' begins again, after other documents"),
        ("a0 -0 -1", "row 2: part of the document None begins with 1"),
    ],
)
def test_pieces_that_are_not_all_there_in_order(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, numbered: str, message: str, rows: str
) -> None:
    names, parts = zip(*numbered.split(), strict=True)
    table = pa.table(
        {
            "doc": [None if name == "-" else name for name in names],
            "part": pa.array([None if part == "-" else int(part) for part in parts], pa.uint64()),
            "text": ["x"] * len(names),
        }
    )
    for block in (1, 100, 1 << 20):
        monkeypatch.setattr(parquet, "PORTION_BYTES", block)
        monkeypatch.setattr(parquet, "BLOCK_BYTES", block)
        pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
        refused(tmp_path, run, re.escape(message), **PIECES, rows=rows)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"document_column": "name"}, "has no column 'name'; the columns are: doc, part, text, row, tags, source"),
        ({"document_column": "doc", "chunk_column": "n"}, "has no column 'n'"),
        ({"document_column": "doc", "chunk_column": "n", "columns": ()}, "has no column 'n'"),
        ({"document_column": "doc", "chunk_column": "source"}, "the column 'source' holds dictionary<.*, no whole"),
        ({"document_column": "tags"}, "the column 'tags' holds list<.*, values that cannot be compared"),
    ],
)
def test_a_wrong_column(tmp_path: Path, run: Run, settings: dict[str, object], message: str) -> None:
    pq.write_table(in_pieces(1)[1], tmp_path / "in.parquet")
    refused(tmp_path, run, message, **settings)


@pytest.mark.parametrize("document", ["one row", "many rows", "many blocks"])
def test_a_document_that_is_too_long_for_a_row(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, document: str
) -> None:
    count = {"one row": 1, "many rows": 16, "many blocks": 16}[document]
    if document == "many blocks":
        monkeypatch.setattr(parquet, "BLOCK_BYTES", 1 << 17)
    text = "ab " * ((1 << 20) // 3 // count + 1)
    table = pa.table({"doc": ["x"] + ["long"] * count + ["y"], "text": ["x"] + [text] * count + ["y"]})
    pq.write_table(table, tmp_path / "in.parquet", use_dictionary=False)
    message = "the document 'long' has more than 1 MB of text, which is too much for one row; set `rows` to chunks, or"
    refused(tmp_path, run, message, document_column="doc", max_document_mb=1)
    run(document_column="doc", max_document_mb=2)
    run(document_column="doc", max_document_mb=1, rows="chunks", existing="overwrite")
    assert pq.read_table(tmp_path / "out.parquet").num_rows == count + 2


@pytest.mark.parametrize("rows", ["documents", "chunks"])
def test_text_that_is_not_utf_8(tmp_path: Path, run: Run, small_blocks: None, rows: str) -> None:
    # A character in two rows is whole, half of one is not.
    texts = [b"a cat"] * 50 + [b"caf\xc3", b"\xa9"] + [b"dogs"] * 30 + [b"caf\xe9", b"s"]
    names = [f"k{row // 10}" for row in range(80)] + ["k8"] * 4
    table = pa.table({"doc": names, "text": pa.array(texts, pa.binary())})
    pq.write_table(table.slice(0, 82), tmp_path / "in.parquet", row_group_size=7)
    run(document_column="doc", errors="error", rows=rows)
    (tmp_path / "out.parquet").unlink()
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=7)
    # It is not known before the next row whether the character goes on.
    message = (
        r"in\.parquet, row 8[23] \(doc 'k8'\): the text of 'text' is not UTF-8, at byte 11 of the document; repair"
    )
    refused(tmp_path, run, message, document_column="doc", errors="error", rows=rows)


# Again only what is missing -----------------------------------------------------------------------------------------


def test_an_output_of_other_rows_is_written_again(tmp_path: Path, run: Run) -> None:
    pq.write_table(in_pieces(1)[1], tmp_path / "in.parquet")
    for settings in ({}, {"document_column": "doc"}, PIECES, BY_CHUNK):
        assert not run(**settings).skipped
        assert run(**settings).skipped
    # What decides nothing about the rows.
    assert run(**BY_CHUNK, max_document_mb=1, format="parquet").skipped


def test_a_job_that_is_killed_goes_on(
    tmp_path: Path, tokenizer: bw.Tokenizer, tokenizer_json: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    from pipelines import tokenize_parquet

    (tmp_path / "in").mkdir()
    for number in range(4):
        pq.write_table(in_pieces(number)[1], tmp_path / f"in/{number}.parquet", row_group_size=9)
    flags = ["--document-column", "doc", "--chunk-column", "part"]
    arguments = [*test_kill.command(tokenizer_json, tmp_path, "out"), *flags]
    program = test_kill.KILLED.replace("OWNER.NAME", "parquet_writer.TokenWriter.write").replace("AFTER", "True")
    assert test_kill.run(arguments, ["-c", program]).returncode == -signal.SIGKILL
    done = {path: path.stat().st_ino for path in (tmp_path / "out").glob("[0-9]*")}
    assert 0 < len(done) < 4
    assert tokenize_parquet.main(arguments) == 0
    assert f"{4 - len(done)} files written, {len(done)} there already\n" in capfd.readouterr().err
    assert {path: path.stat().st_ino for path in done} == done
    for number in range(4):
        out = pq.read_table(tmp_path / f"out/{number}.parquet")
        assert out["input_ids"].to_pylist() == whole(tokenizer, in_pieces(number)[0])
