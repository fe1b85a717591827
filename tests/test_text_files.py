"""Text files, compressed or not: documents by line, separator or file, in whatever blocks they are read."""

from __future__ import annotations

import gzip
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beam_wordpiece as bw
from beam_wordpiece import text_source
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import InputError
from beam_wordpiece.io import FileResult, FileTask, plan_tasks, tokenize_file
from beam_wordpiece.sources import open_source
from tests import corpus, test_kill
from tests.conftest import ROOT
from tests.elsewhere import SCHEME, Elsewhere

SMALL = "un\r\naffable\n\n\r\r\ncafé 日本\n\r\n👍 don't [MASK]\r\rx\n"
KINDS: dict[str, dict[str, object]] = {
    "line": {},
    "file": {"documents": "file"},
    "blank line": {"documents": "separator", "separator": "\n\n"},
    "letters": {"documents": "separator", "separator": "ab"},
    "overlapping": {"documents": "separator", "separator": "aaba"},
    "character": {"documents": "separator", "separator": "é"},
}
TEXTS = {
    "line": [SMALL, SMALL + "\n", SMALL + "\r", "", "\n", "\r\n", "\r", "a", "a\n\n"],
    "file": [SMALL, "", "\r\n", "a"],
    "blank line": [SMALL, "\n\nun\n\n\naffable\n\n\n\nx\n", "a\n\n", "\n", "\n\n"],
    "letters": ["ababaab cat abbab do", "aabb", "ab", "a", "xaba"],
    "overlapping": ["aabaabaaabaaabaabacat aab", "aaba", "aaabaa", "aabaaba"],
    "character": ["café 日é è é", "é", "éé\xc2", "Ã©é"],
}


def zstd(data: bytes) -> bytes:
    compressed: bytes = pa.Codec("zstd").compress(data, asbytes=True)
    return compressed


def several(compress: Any, data: bytes) -> bytes:
    """Compressed in three parts, one of them empty: several members of gzip, several frames of zstd."""
    half = len(data) // 2
    return b"".join(compress(part) for part in (data[:half], b"", data[half:]))


COMPRESSIONS = {
    "a.txt": bytes,
    "a.txt.gz": gzip.compress,
    "b.txt.gz": lambda data: several(gzip.compress, data),
    "a.text.zst": zstd,
    "b.text.zst": lambda data: several(zstd, data),
}


def split(text: str, settings: dict[str, object]) -> list[str]:
    """The documents of a text, in plain Python."""
    if settings.get("documents") == "file":
        return [text]
    separator = settings.get("separator")
    parts = text.replace("\r\n", "\n").split("\n") if separator is None else text.split(str(separator))
    return parts if parts[-1] else parts[:-1]


def rows(
    data: bytes, tokenizer: bw.Tokenizer, settings: dict[str, object], name: str = "a.txt"
) -> dict[str, list[Any]]:
    """The output of a file with this content, without the file."""
    file = pa.BufferReader(data)
    source = open_source(file, FileSettings(**settings), name)  # type: ignore[arg-type]
    tables = [source.schema.empty_table(), *(table for table, _, _ in source.tables(tokenizer))]
    return pa.concat_tables(tables).to_pydict()


def whole(tokenizer: bw.Tokenizer, documents: list[str]) -> list[list[int]]:
    ids: list[list[int]] = tokenizer.encode_arrow(pa.array(documents, pa.string())).column(0).to_pylist()
    return ids


def of_documents(out: dict[str, list[Any]]) -> list[tuple[list[int], list[int]]]:
    """Of each document the numbers of its chunks, and all ids."""
    found: dict[int, tuple[list[int], list[int]]] = {}
    for document, chunk, ids in zip(out["document"], out["chunk"], out["input_ids"], strict=True):
        numbers, all_ids = found.setdefault(document, ([], []))
        numbers.append(chunk)
        all_ids += ids
    assert list(found) == list(range(len(found)))
    return list(found.values())


@pytest.fixture(params=[True, False], ids=["special", "plain"])
def used(request: pytest.FixtureRequest, tokenizer: bw.Tokenizer) -> bw.Tokenizer:
    return bw.Tokenizer(tokenizer.automaton, request.param)


# Where documents end ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_of_every_size(used: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    for text in TEXTS[kind]:
        documents, data = split(text, KINDS[kind]), text.encode()
        expected = whole(used, documents)
        for size in range(1, 41):
            monkeypatch.setattr(text_source, "BLOCK_BYTES", size)
            out = rows(data, used, {**KINDS[kind], "keep_text": True})
            assert out == {"document": list(range(len(documents))), "text": documents, "input_ids": expected}
            out = rows(data, used, {**KINDS[kind], "rows": "chunks"})
            chunks = of_documents(out)
            assert [ids for _, ids in chunks] == expected
            assert all(numbers == list(range(len(numbers))) for numbers, _ in chunks)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_last_line_needs_no_end_and_an_empty_line_is_a_document(tokenizer: bw.Tokenizer, end: str) -> None:
    for text in (f"cat{end}{end}dog", f"cat{end}{end}dog{end}"):
        assert rows(text.encode(), tokenizer, {"keep_text": True})["text"] == ["cat", "", "dog"]


def test_what_ends_a_document_begins_no_other(tokenizer: bw.Tokenizer) -> None:
    settings = {"documents": "separator", "separator": "||", "keep_text": True}
    for text, documents in {"": [], "a||b": ["a", "b"], "a||b||": ["a", "b"], "||a||||": ["", "a", ""]}.items():
        assert rows(text.encode(), tokenizer, settings)["text"] == documents


@pytest.mark.parametrize("name", COMPRESSIONS)
@pytest.mark.parametrize("kind", ["line", "file", "blank line"])
def test_compressed_files(used: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch, kind: str, name: str) -> None:
    for text in TEXTS[kind]:
        data = COMPRESSIONS[name](text.encode())
        expected = whole(used, split(text, KINDS[kind]))
        for size in (1, 2, 3, 5, 8, 13, 40, 1 << 20):
            monkeypatch.setattr(text_source, "BLOCK_BYTES", size)
            assert rows(data, used, KINDS[kind], name)["input_ids"] == expected
            chunks = of_documents(rows(data, used, {**KINDS[kind], "rows": "chunks"}, name))
            assert [ids for _, ids in chunks] == expected


@pytest.mark.parametrize("kind", ["line", "file", "blank line"])
def test_blocks_of_the_usual_size(tokenizer: bw.Tokenizer, kind: str) -> None:
    chance = random.Random(kind)
    texts = [text or "" for text in corpus.texts(20_000, 7)]
    text = "".join(text + chance.choice(["\n", "\r\n", "\n\n"]) for text in texts)
    assert len(text.encode()) > 4 * text_source.BLOCK_BYTES
    expected = whole(tokenizer, split(text, KINDS[kind]))
    assert rows(text.encode(), tokenizer, KINDS[kind])["input_ids"] == expected
    out = rows(text.encode(), tokenizer, {**KINDS[kind], "rows": "chunks", "keep_text": True})
    assert [ids for _, ids in of_documents(out)] == expected
    assert "".join(out["text"]) == "".join(split(text, KINDS[kind]))
    assert max(len(chunk.encode()) for chunk in out["text"]) <= text_source.BLOCK_BYTES + 3
    assert all(ids is not None for ids in out["input_ids"])


def test_text_that_is_not_utf_8(used: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"caf\xe9\nd\xe6\x97\xa5g\xe6\x97\n\xff\xf0\x9f\x91\n\x97\x97\xe6"
    documents = [line.decode("utf-8", "replace") for line in data.split(b"\n")]
    for size in range(1, 24):
        monkeypatch.setattr(text_source, "BLOCK_BYTES", size)
        out = rows(data, used, {"keep_text": True})
        assert out["input_ids"] == whole(used, documents)
        assert out["text"] == documents
        strict = bw.Tokenizer(used.automaton, errors="error")
        for chosen in ("documents", "chunks"):
            with pytest.raises(
                InputError,
                match=r"^a\.txt: the text of document 0 is not UTF-8, at byte 3 of the document; repair it, or set",
            ):
                rows(data, strict, {"rows": chosen, "errors": "error"})
    with pytest.raises(InputError, match=r"document 2 is not UTF-8, at byte 1 of"):
        rows(b"a\n\nb\xff\nc", strict, {"errors": "error"})


# Whole files --------------------------------------------------------------------------------------------------------


def run(folder: Path, tokenizer: bw.Tokenizer, name: str, **settings: object) -> FileResult:
    task = FileTask(str(folder / name), str(folder / "out" / f"{name}.parquet"))
    return tokenize_file(task, tokenizer, FileSettings(**settings), lambda counts, size: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a.txt.gz", "a.text.zst"])
def test_a_file_cut_off_anywhere_gives_no_output(
    tmp_path: Path, tokenizer: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(text_source, "BLOCK_BYTES", 16)
    data = COMPRESSIONS[name](SMALL.encode() * 2)
    for length in range(len(data)):
        (tmp_path / name).write_bytes(data[:length])
        with pytest.raises(InputError, match=rf"{name} (cannot be read to its end: .*; is it damaged or|is) cut off"):
            run(tmp_path, tokenizer, name, rows="chunks")
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.parametrize("damage", ["in the middle", "checksum", "after the end", "no such file"])
def test_a_damaged_file_gives_no_output(tmp_path: Path, tokenizer: bw.Tokenizer, damage: str) -> None:
    data = bytearray(gzip.compress(SMALL.encode() * 50))
    if damage == "no such file":
        data = bytearray(SMALL.encode())
    elif damage == "after the end":
        data += b"more"
    else:
        data[len(data) // 2 if damage == "in the middle" else -5] ^= 0xFF
    (tmp_path / "a.txt.gz").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.txt\.gz cannot be read to its end: .*; is it damaged or cut off\?"):
        run(tmp_path, tokenizer, "a.txt.gz")
    assert not list((tmp_path / "out").glob("*"))


@pytest.mark.parametrize("blocks", ["one block", "many blocks"])
def test_a_document_that_is_too_long_for_a_row(
    tmp_path: Path, tokenizer: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch, blocks: str
) -> None:
    if blocks == "many blocks":
        monkeypatch.setattr(text_source, "BLOCK_BYTES", 1 << 16)
    else:
        monkeypatch.setattr(text_source, "BLOCK_BYTES", 4 << 20)
    (tmp_path / "a.txt").write_text("short\n" + "ab " * (1 << 19) + "\nshort\n")
    message = r"a\.txt: the document 1 has more than 1 MB of text, which is too much for one row; set `rows` to chunks"
    with pytest.raises(InputError, match=message):
        run(tmp_path, tokenizer, "a.txt", max_document_mb=1)
    assert run(tmp_path, tokenizer, "a.txt", max_document_mb=2).rows == 3


def test_an_output_is_kept_or_written_again(tmp_path: Path, tokenizer: bw.Tokenizer) -> None:
    (tmp_path / "a.txt").write_text(SMALL)
    for settings in ({}, {"keep_text": True}, {"rows": "chunks"}, KINDS["file"], KINDS["blank line"]):
        assert not run(tmp_path, tokenizer, "a.txt", **settings).skipped
        assert run(tmp_path, tokenizer, "a.txt", **settings, format="text").skipped
    (tmp_path / "a.txt").write_text(SMALL.upper())
    assert not run(tmp_path, tokenizer, "a.txt", **KINDS["blank line"]).skipped


def test_the_format_by_name_or_by_choice(tmp_path: Path, tokenizer: bw.Tokenizer) -> None:
    (tmp_path / "notes.md.gz").write_bytes(gzip.compress(b"a cat\n"))
    with pytest.raises(InputError, match=r"notes\.md\.gz is not a Parquet file: .*; where it is text, give --format"):
        run(tmp_path, tokenizer, "notes.md.gz")
    assert run(tmp_path, tokenizer, "notes.md.gz", format="text").rows == 1
    pq.write_table(pa.table({"text": ["a cat"] * 3}), tmp_path / "table.txt")
    assert run(tmp_path, tokenizer, "table.txt", format="parquet").rows == 3


def test_what_is_reported_adds_up(tmp_path: Path, tokenizer: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_source, "BLOCK_BYTES", 50)
    reported: list[tuple[bw.Counts, float]] = []
    for name in ("a.txt", "b.text.zst"):
        (tmp_path / name).write_bytes(COMPRESSIONS[name](SMALL.encode() * 10))
        reported.clear()
        task = FileTask(str(tmp_path / name), str(tmp_path / "out" / name))
        tokenize_file(task, tokenizer, FileSettings(), lambda counts, size: reported.append((counts, size)))
        total = sum((counts for counts, _ in reported), bw.Counts())
        documents = split(SMALL * 10, {})
        assert total.documents == len(documents)
        assert total.bytes == sum(len(document.encode()) for document in documents)
        assert total.tokens == sum(map(len, whole(tokenizer, documents)))
        assert sum(size for _, size in reported) == (tmp_path / name).stat().st_size


def test_files_elsewhere(tmp_path: Path, tokenizer: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Elsewhere, "root", tmp_path)
    for name, compress in COMPRESSIONS.items():
        (tmp_path / name).write_bytes(compress(SMALL.encode()))
    tasks = plan_tasks([f"{SCHEME}://*.t*"], f"{SCHEME}://out")
    assert {task.output for task in tasks} == {f"{SCHEME}://out/{name}.parquet" for name in COMPRESSIONS}
    for task in tasks:
        tokenize_file(task, tokenizer, FileSettings(), lambda counts, size: None)
        out = pq.read_table(tmp_path / task.output.removeprefix(f"{SCHEME}://"))
        assert out["input_ids"].to_pylist() == whole(tokenizer, split(SMALL, {}))


MEMORY = """
import re, sys
from pathlib import Path
import beam_wordpiece as bw
from beam_wordpiece.config import FileSettings
from beam_wordpiece.io import FileTask, tokenize_file

tokenizer = bw.Tokenizer(bw.Automaton.compile(sys.argv[1]))
settings = FileSettings(documents="file", rows="chunks", row_group_mb=1)
for name in sys.argv[2:]:
    tokenize_file(FileTask(name, name + ".parquet"), tokenizer, settings, lambda counts, size: None)
    # Of this program alone: getrusage counts that of the process that started it.
    print(int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) >> 10)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is looked up in /proc, which is not here")
def test_one_long_document_takes_no_more_memory_than_a_short_one(tmp_path: Path, tokenizer_json: Path) -> None:
    words = "".join(chr(97 + place % 26) + " cat "[place % 5 :] for place in range(2_000_000)).encode()
    part = gzip.compress(words, 1)
    names = [str(tmp_path / f"{count}.txt.gz") for count in (2, 16)]
    for name, count in zip(names, (2, 16), strict=True):
        Path(name).write_bytes(part * count)
    command = [sys.executable, "-c", MEMORY, str(tokenizer_json), *names]
    short, long = map(int, subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.split())
    assert pq.read_metadata(names[1] + ".parquet").num_rows == -(-16 * len(words) // text_source.BLOCK_BYTES)
    # MB, of 122 of text and more than 200 of ids.
    assert long < short + 25


# The job ------------------------------------------------------------------------------------------------------------

JOB = ["--rows", "chunks", "--document-column", "doc"]


@pytest.fixture
def job(tmp_path: Path, tokenizer_json: Path) -> list[str]:
    """The flags of a job over Parquet and text files."""
    for number in range(3):
        text = "\n".join(text or "" for text in corpus.texts(30, number))
        (tmp_path / "in").mkdir(exist_ok=True)
        (tmp_path / f"in/{number}.txt.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
        texts = [piece for text in corpus.texts(30, number) for piece in ((text or "")[:5], (text or "")[5:])]
        table = pa.table({"doc": [row // 2 for row in range(60)], "text": texts})
        pq.write_table(table, tmp_path / f"in/{number}.parquet", row_group_size=7)
    command = ["--input", str(tmp_path / "in/*"), "--output", str(tmp_path / "out"), "--tokenizer", str(tokenizer_json)]
    return [*command, "--no-progress", *JOB]


def test_both_formats_in_several_processes(
    tmp_path: Path, tokenizer: bw.Tokenizer, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    from pipelines import tokenize_parquet

    assert tokenize_parquet.main([*job, "--direct_running_mode=multi_processing", "--direct_num_workers=2"]) == 0
    assert "6 files written, 0 there already\n180 documents (0 null, 0 not UTF-8), " in capfd.readouterr().err
    for number in range(3):
        expected = whole(tokenizer, [text or "" for text in corpus.texts(30, number)])
        text = pq.read_table(tmp_path / f"out/{number}.txt.gz.parquet").to_pydict()
        assert [ids for _, ids in of_documents(text)] == expected
        table = pq.read_table(tmp_path / f"out/{number}.parquet").to_pydict()
        pairs = zip(table["input_ids"][::2], table["input_ids"][1::2], strict=True)
        assert [first + second for first, second in pairs] == expected


def test_a_job_that_is_killed_goes_on(tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    from pipelines import tokenize_parquet

    program = test_kill.KILLED.replace("OWNER.NAME", "parquet_writer.TokenWriter.write").replace("AFTER", "True")
    assert test_kill.run(job, ["-c", program]).returncode == -signal.SIGKILL
    done = corpus.files(tmp_path / "out")
    assert any(name.endswith(".tmp") for name in done)
    kept = {name: content for name, content in done.items() if not name.endswith(".tmp")}
    assert tokenize_parquet.main(job) == 0
    assert f"{6 - len(kept)} files written, {len(kept)} there already\n" in capfd.readouterr().err
    after = corpus.files(tmp_path / "out")
    assert len(after) == 6
    assert {name: after[name] for name in kept} == kept
