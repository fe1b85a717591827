"""What is taken for text and is none, by how it begins; and the lines of what is."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beam_wordpiece as bw
from beam_wordpiece import text_source
from beam_wordpiece.errors import InputError
from beam_wordpiece.text_source import read_lines
from tests.test_text_files import SMALL, run, split, zstd


@pytest.mark.parametrize(
    ("name", "pack", "kind"),
    [
        ("a.bz2", bz2.compress, "bzip2"),
        ("a.xz", lzma.compress, "xz"),
        ("a.zip", lambda data: b"PK\x03\x04" + data, "zip"),
        ("a.txt", gzip.compress, "gzip"),
        ("a.txt", zstd, "zstd"),
        ("a.txt.gz", lambda data: gzip.compress(bz2.compress(data)), "bzip2"),
        ("a.txt.gz", lambda data: gzip.compress(gzip.compress(data)), "gzip"),
        ("a.bin", lambda data: b"BeamWP\r\n" + data, "a compiled automaton"),
    ],
)
def test_what_is_packed_otherwise_is_no_text(
    tmp_path: Path, tokenizer: bw.Tokenizer, name: str, pack: Callable[[bytes], bytes], kind: str
) -> None:
    (tmp_path / name).write_bytes(pack(SMALL.encode()))
    with pytest.raises(InputError, match=rf"{name} is no text: it begins as {kind} does; "):
        run(tmp_path, tokenizer, name, format="text")
    assert not (tmp_path / "out" / f"{name}.parquet").exists()


def test_parquet_is_no_text(tmp_path: Path, tokenizer: bw.Tokenizer) -> None:
    pq.write_table(pa.table({"text": ["a"]}), tmp_path / "a.txt")
    with pytest.raises(InputError, match=r"begins as Parquet does; let its name end in \.parquet"):
        run(tmp_path, tokenizer, "a.txt")


def test_the_names_of_other_formats_are_text(tmp_path: Path, tokenizer: bw.Tokenizer) -> None:
    (tmp_path / "a.txt").write_text("BZh9 is what bzip2 begins with, PK what zip does, PAR1 Parquet\nPAR1\n")
    assert run(tmp_path, tokenizer, "a.txt").rows == 2


@pytest.mark.parametrize("size", [1, 2, 3, 16, 1 << 20])
@pytest.mark.parametrize("text", ["", "a", "a\n", "\n\r\n", SMALL, "a" * 50 + "\r\nb\rc\n" + "é" * 9])
def test_lines_in_blocks_of_any_size(monkeypatch: pytest.MonkeyPatch, size: int, text: str) -> None:
    monkeypatch.setattr(text_source, "BLOCK_BYTES", size)
    found = [line.decode() for lines in read_lines(pa.BufferReader(text.encode()), "a.txt") for line in lines]
    assert found == split(text, {})
