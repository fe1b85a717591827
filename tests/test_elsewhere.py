"""Paths with a scheme, on a file system that is not the local one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer as HF

import beam_wordpiece as bw
from beam_wordpiece import io
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import InputError, WordPieceError
from beam_wordpiece.io import FileTask, plan_tasks
from tests import corpus
from tests.elsewhere import SCHEME, Elsewhere


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the files of the file system `tests.elsewhere` are; copies go to a folder of the test."""
    folder, temporary = tmp_path / "elsewhere", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr(Elsewhere, "root", folder)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return folder


def test_files_elsewhere_are_planned_tokenized_and_left_alone(
    tmp_path: Path, elsewhere: Path, tokenizer: bw.Tokenizer, hf: HF
) -> None:
    tables = corpus.write(elsewhere, {"in/x/a.parquet": 30, "in/x/y/b.parquet": 40, "in/c.parquet": 5})
    tasks = plan_tasks([f"{SCHEME}://in/x/**/*.parquet"], f"{SCHEME}://out")
    assert tasks == [
        FileTask(f"{SCHEME}://in/x/a.parquet", f"{SCHEME}://out/a.parquet"),
        FileTask(f"{SCHEME}://in/x/y/b.parquet", f"{SCHEME}://out/y/b.parquet"),
    ]
    for skipped in (False, True):
        results = [io.tokenize_file(task, tokenizer, FileSettings(), lambda counts, size: None) for task in tasks]
        assert [result.skipped for result in results] == [skipped, skipped]
    assert sorted(corpus.files(elsewhere / "out")) == ["a.parquet", "y/b.parquet"]
    ids = pq.read_table(elsewhere / "out/y/b.parquet")["input_ids"].to_pylist()
    assert ids == corpus.ids(hf, tables["in/x/y/b.parquet"]["text"])
    # Where a file is makes no difference to its bytes.
    local = FileTask(str(elsewhere / "in/x/a.parquet"), str(tmp_path / "a.parquet"))
    io.tokenize_file(local, tokenizer, FileSettings(), lambda counts, size: None)
    assert (tmp_path / "a.parquet").read_bytes() == (elsewhere / "out/a.parquet").read_bytes()


def test_a_failure_elsewhere_leaves_nothing(elsewhere: Path, tokenizer: bw.Tokenizer) -> None:
    corpus.touch(elsewhere, "in.parquet", "out/other")
    pq.write_table(pa.table({"text": pa.array([b"caf\xe9"])}), elsewhere / "in.parquet")
    strict = bw.Tokenizer(tokenizer.automaton, errors="error")
    task = FileTask(f"{SCHEME}://in.parquet", f"{SCHEME}://out/in.parquet")
    with pytest.raises(InputError, match="row 0: the text of 'text' is not UTF-8"):
        io.tokenize_file(task, strict, FileSettings(errors="error"), lambda counts, size: None)
    assert list(corpus.files(elsewhere / "out")) == ["other"]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        (f"{SCHEME}://in/none.parquet", "matches no file"),
        (f"{SCHEME}://in/*.parquet", "matches no file"),
        ("nowhere://in/*.parquet", "is on a file system that Beam does not know here"),
    ],
)
def test_no_match_elsewhere(elsewhere: Path, pattern: str, message: str) -> None:
    with pytest.raises(WordPieceError, match=message):
        plan_tasks([pattern], "out")


def test_a_file_from_elsewhere_is_copied_once_until_it_changes(elsewhere: Path) -> None:
    (elsewhere / "a.bwp").write_bytes(b"1")
    copy = io.local_copy(f"{SCHEME}://a.bwp")
    assert Path(copy).read_bytes() == b"1"
    written = os.stat(copy)
    assert io.local_copy(f"{SCHEME}://a.bwp") == copy
    assert os.stat(copy).st_ino == written.st_ino
    assert written.st_mode & 0o077 == 0 or os.stat(Path(copy).parent).st_mode & 0o077 == 0
    (elsewhere / "a.bwp").write_bytes(b"22")
    assert Path(io.local_copy(f"{SCHEME}://a.bwp")).read_bytes() == b"22"
    with pytest.raises(InputError, match=r"b\.bwp does not exist"):
        io.local_copy(f"{SCHEME}://b.bwp")
    assert io.local_copy("/a/local/path") == "/a/local/path"
