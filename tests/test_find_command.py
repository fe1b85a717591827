"""The command that finds the keys of a dictionary in files."""

import contextlib
import fcntl
import gzip
import io
import json
import os
import pty
import random
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece import cli, file_texts
from beam_wordpiece.terminal import visible
from beam_wordpiece.text_source import read_lines
from tests.test_cli import PROGRAM, ROOT

ENTRIES = ["he:1", "she:2", "hers:4", "é中:5", "a\tb:x y"]
TEXTS = ["ushers", "", "é中 he", "a\tb"]
# Line, start, end, id, key.
LONGEST = [(1, 1, 4, "2", "she"), (3, 0, 2, "5", "é中"), (3, 3, 5, "1", "he"), (4, 0, 3, "x y", "a\tb")]
EVERY = [LONGEST[0], (1, 2, 4, "1", "he"), (1, 2, 6, "4", "hers"), *LONGEST[1:]]


@pytest.fixture
def dictionary(tmp_path: Path) -> str:
    bw.Dictionary(ENTRIES).save(tmp_path / "d.bwp")
    return str(tmp_path / "d.bwp")


def shown(out: str) -> list[tuple[str | int, ...]]:
    """What the lines say, but the file."""
    rows = (line.split("\t") for line in out.splitlines())
    return [(int(row), int(start), int(end), id, key) for _, row, start, end, id, key in rows]


def test_files(dictionary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = "\n".join(TEXTS).encode()
    (tmp_path / "a.txt").write_bytes(lines + b"\r\n")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "a.log.zst").write_bytes(pa.Codec("zstd").compress(lines, asbytes=True))
    pq.write_table(pa.table({"t": [*TEXTS[:2], *TEXTS[2:], None]}), tmp_path / "a.parquet")
    for name, first in (("a.txt", 1), ("a.txt.gz", 1), ("a.log.zst", 1), ("a.parquet", 0)):
        path = str(tmp_path / name)
        for flags, expected in (([], LONGEST), (["--overlapping"], EVERY)):
            command = ["find", dictionary, path, "--column", "t", *flags]
            rows = [(row - 1 + first, *rest) for row, *rest in expected]
            assert cli.main(command) == 0
            out = capsys.readouterr().out
            assert {line.split("\t")[0] for line in out.splitlines()} == {path}
            # The tab within a key is escaped.
            assert shown(out) == [(*row[:4], str(row[4]).replace("\t", "\\t")) for row in rows]
            assert cli.main([*command, "--json"]) == 0
            objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            assert [tuple(one.values()) for one in objects] == [(path, *row) for row in rows]
            assert list(objects[0]) == ["file", "row", "start", "end", "id", "key"]


def test_many_texts(dictionary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """More than are read at a time: rows are counted on."""
    texts = [f"she {'x' * 90}" if number % 7 == 0 else "x" * 94 for number in range(30_000)]
    (tmp_path / "a.txt").write_text("\n".join(texts))
    pq.write_table(pa.table({"text": texts}), tmp_path / "a.parquet", row_group_size=7_000)
    for name, first in (("a.txt", 1), ("a.parquet", 0)):
        assert cli.main(["find", dictionary, str(tmp_path / name)]) == 0
        assert [row for row, *_ in shown(capsys.readouterr().out)] == [n + first for n in range(0, 30_000, 7)]


def test_standard_input_and_entries_that_are_not_compiled(tmp_path: Path) -> None:
    (tmp_path / "entries.txt").write_text("\n".join(ENTRIES), encoding="utf-8")
    text = "\n".join(TEXTS).encode()
    for files in ([], ["-"]):
        command = [*PROGRAM, "find", str(tmp_path / "entries.txt"), *files, "--json"]
        result = subprocess.run(command, input=text, capture_output=True, cwd=ROOT, check=True)
        objects = [json.loads(line) for line in result.stdout.splitlines()]
        assert [tuple(one.values()) for one in objects] == [("-", *row) for row in LONGEST]
        assert result.stderr == b""


@pytest.mark.parametrize("kind", ["standard input", "a named pipe"])
def test_what_is_found_in_a_pipe_comes_line_by_line(dictionary: str, tmp_path: Path, kind: str) -> None:
    """As `tail -f log | beam-wordpiece find names.bwp` wants it; a line that is cut comes when it is whole."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [*PROGRAM, "find", dictionary, "-" if kind == "standard input" else str(pipe)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT)
    assert process.stdin is not None
    assert process.stdout is not None
    with process.stdin if kind == "standard input" else pipe.open("wb", buffering=0) as writer:
        for number, (parts, found) in enumerate([(["he\n"], "1"), (["us", "hers\r\n"], "2"), (["x\n", "\nhe\n"], "1")]):
            for part in parts:
                writer.write(part.encode())
                writer.flush()
            fields = process.stdout.readline().decode().split("\t")
            assert (fields[1], fields[4]) == (str([1, 2, 5][number]), found)
        writer.write(b"she")
    assert process.stdout.read().decode().split("\t")[1:] == ["6", "0", "3", "2", "she\n"]
    process.stdout.close()
    if not process.stdin.closed:
        process.stdin.close()
    assert process.wait() == 0


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\r\n", "\u4e2d".encode()[:1], b"bc"])), st.data())
def test_lines_do_not_hang_on_how_much_comes_at_a_time(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    pieces = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True) if a < b]
    source = iter([*pieces, b""])

    class Written(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def read(self, size: int = -1) -> bytes:
            return next(source, b"")

    found = [line for lines in read_lines(pa.PythonFile(Written(), mode="r"), "a.txt") for line in lines]
    expected = text.replace(b"\r\n", b"\n").split(b"\n")
    assert found == (expected if expected[-1] else expected[:-1])


def test_text_that_is_not_utf8(dictionary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.txt").write_bytes(b"he\n\xff\xf0\x9f\x98she\n")
    pq.write_table(pa.table({"text": [b"he", b"\xff\xf0\x9f\x98she"]}), tmp_path / "a.parquet")
    for name, place in (("a.txt", "line 2"), ("a.parquet", "row 1")):
        assert cli.main(["find", dictionary, str(tmp_path / name)]) == 0
        assert shown(capsys.readouterr().out)[1][1:] == (2, 5, "2", "she")
        assert cli.main(["find", dictionary, str(tmp_path / name), "--errors", "error"]) == 2
        assert f"{name}: {place} is not UTF-8 text; repair it, or give --errors replace" in capsys.readouterr().err


def test_what_is_refused(
    dictionary: str, automaton: bw.Automaton, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("he\n")
    automaton.save(tmp_path / "v.bwp")
    bw.Dictionary(ENTRIES, backward=True).save(tmp_path / "b.bwp")
    (tmp_path / "bad.txt").write_text("abc\n")
    pq.write_table(pa.table({"t": ["he"]}), tmp_path / "a.parquet")
    for source, file, fault in (
        ("v.bwp", "a.txt", "v.bwp is the automaton of a vocabulary, not a dictionary"),
        ("v.bwp", "a.txt", "keywords are found by a dictionary (`beam-wordpiece dictionary entries.txt -o names.bwp`)"),
        ("b.bwp", "a.txt", "backward=True finds no keywords"),
        ("bad.txt", "a.txt", "bad.txt, line 1, 'abc', has no colon"),
        ("none.bwp", "a.txt", "none.bwp: No such file"),
        ("d.bwp", "none.txt", "none.txt: No such file"),
        ("d.bwp", "a.parquet", "a.parquet has no column 'text'; the columns are: t"),
        ("d.bwp", "d.bwp", "d.bwp is no text: it begins as a compiled automaton does"),
    ):
        assert cli.main(["find", str(tmp_path / source), str(tmp_path / file)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert fault in err


def test_a_bar_on_long_work(dictionary: str, tmp_path: Path) -> None:
    """On a terminal, over the bytes of all files, with the lines going elsewhere."""
    (tmp_path / "a.txt").write_text("he\n" * 200_000)
    pq.write_table(pa.table({"text": ["she"] * 1_000}), tmp_path / "a.parquet")
    command = ["find", dictionary, str(tmp_path / "a.txt"), str(tmp_path / "a.parquet")]
    program = f"from beam_wordpiece import cli, file_texts; file_texts.BAR_DELAY = 0.0; cli.main({command})"
    reading, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    drawn = b""
    with (tmp_path / "out").open("wb") as out:
        process = subprocess.Popen([sys.executable, "-c", program], stdout=out, stderr=terminal, cwd=ROOT)
        os.close(terminal)
        # Linux says by an error that nobody writes there any more.
        with contextlib.suppress(OSError):
            while part := os.read(reading, 4096):
                drawn += part
    os.close(reading)
    assert process.wait() == 0
    assert b"%|" in drawn
    assert len((tmp_path / "out").read_bytes().splitlines()) == 201_000


def test_what_a_bar_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = list[int]()
    monkeypatch.setattr("beam_wordpiece.file_texts._progress_bar", lambda *_: contextlib.nullcontext(told.append))
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(random.Random(1).randbytes(3_000_000).hex().encode()))
    (tmp_path / "empty.txt").write_bytes(b"")
    pq.write_table(pa.table({"text": ["she"] * 9_000}), tmp_path / "a.parquet", row_group_size=4_000)
    paths = [str(tmp_path / name) for name in ("a.txt.gz", "empty.txt", "a.parquet")]
    for _ in file_texts.read_texts(paths, "text", bar=True):
        pass
    assert told == sorted(told)
    assert told[-1] == sum(map(os.path.getsize, paths))
    # Of standard input nobody knows the size: the texts count, between those of files too.
    before, size = told[-1], 3_000_000
    told.clear()
    given = io.BufferedReader(io.BytesIO(b"a" * 999_999 + b"\n" + b"\xff\n" * size))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(given))
    for _ in file_texts.read_texts([*paths, "-", paths[-1]], "text", bar=True):
        pass
    assert told == sorted(told)
    assert len({count for count in told if before < count < before + 999_999 + size}) > 1
    assert told[-1] == before + 999_999 + size + os.path.getsize(paths[-1])


def test_little_is_done_for_each_occurrence(
    dictionary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What a file is called is asked for each text, and of what a terminal shows no character is looked at."""
    asked = list[str]()
    monkeypatch.setattr(file_texts, "is_parquet", lambda path: bool(asked.append(path)))
    counts = []
    for often in (1, 1_000):
        (tmp_path / "a.txt").write_text("she " * often)
        asked.clear()
        assert cli.main(["find", dictionary, str(tmp_path / "a.txt")]) == 0
        assert capsys.readouterr().out.count("\n") == often
        counts.append(len(asked))
    assert counts[0] == counts[1]
    text = "a é 中" * 10
    assert visible(text) is text
    assert visible("a\tb\x1b") == r"a\tb\x1b"
