"""Paths with a scheme, on a file system that is not the local one."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.io.filesystem import BeamIOError
from tokenizers import Tokenizer as HF

import beam_wordpiece as bw
from beam_wordpiece import io, storage
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import ConfigError, InputError, WordPieceError
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


# Written whole ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("overwrites", [True, False])
def test_a_new_output_takes_the_place_of_the_old_one(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, overwrites: bool
) -> None:
    def refuse(self: Elsewhere, paths: list[str]) -> None:
        raise AssertionError(f"{paths} would be gone if the job were killed now")

    monkeypatch.setattr(Elsewhere, "overwrites", overwrites)
    if overwrites:
        monkeypatch.setattr(Elsewhere, "delete", refuse)
    for content in (b"old", b"new"):
        with storage.publish(f"{SCHEME}://out/file") as file:
            file.write(content)
            assert content == b"old" or (elsewhere / "out/file").read_bytes() == b"old"
    assert corpus.files(elsewhere) == {"out/file": b"new"}


def test_a_file_without_a_folder_makes_none_here(
    tmp_path: Path, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    with storage.publish(f"{SCHEME}://file") as file:
        file.write(b"content")
    assert corpus.files(elsewhere) == {"file": b"content"}
    assert list((tmp_path / "here").iterdir()) == []


def test_leftovers_go_when_they_are_a_day_old(elsewhere: Path) -> None:
    old, young, other = (f"out/.{name}.{digit * 32}.tmp" for name, digit in (("f[1]", "a"), ("f[1]", "b"), ("f1", "c")))
    corpus.touch(elsewhere, old, young, other)
    for path, age in ((old, 25), (young, 23), (other, 25)):
        os.utime(elsewhere / path, (time.time() - age * 3600,) * 2)
    with storage.publish(f"{SCHEME}://out/f[1]"):
        pass
    assert sorted(corpus.files(elsewhere)) == sorted([young, other, "out/f[1]"])


class StoreError(Exception):
    """What a store's client raises, of a class that nobody here knows."""


@pytest.mark.parametrize("step", ["create", "rename"])
@pytest.mark.parametrize("kind", [StoreError, BeamIOError, PermissionError])
def test_an_output_that_cannot_be_written_is_named(
    elsewhere: Path, tokenizer: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch, step: str, kind: type[Exception]
) -> None:
    def refuse(*_: object) -> None:
        raise kind("not you")

    corpus.write(elsewhere, {"in.parquet": 3})
    monkeypatch.setattr(Elsewhere, step, refuse)
    path = f"{SCHEME}://out.parquet"
    with pytest.raises(OSError, match="not you") as caught:
        io.tokenize_file(FileTask(f"{SCHEME}://in.parquet", path), tokenizer, FileSettings(), lambda counts, size: None)
    assert caught.value.filename == path
    assert ".tmp" not in str(caught.value)
    assert sorted(corpus.files(elsewhere)) == ["in.parquet"]


# Copies -------------------------------------------------------------------------------------------------------------


def test_a_file_from_elsewhere_is_copied_once_until_it_changes(elsewhere: Path) -> None:
    (elsewhere / "a.bwp").write_bytes(b"1")
    copy = storage.local_copy(f"{SCHEME}://a.bwp")
    assert Path(copy).read_bytes() == b"1"
    written = os.stat(copy)
    assert storage.local_copy(f"{SCHEME}://a.bwp") == copy
    assert os.stat(copy).st_ino == written.st_ino
    assert written.st_mode & 0o077 == 0 or os.stat(Path(copy).parent).st_mode & 0o077 == 0
    (elsewhere / "a.bwp").write_bytes(b"22")
    assert Path(storage.local_copy(f"{SCHEME}://a.bwp")).read_bytes() == b"22"
    assert not Path(copy).exists()
    with pytest.raises(InputError, match=r"b\.bwp does not exist"):
        storage.local_copy(f"{SCHEME}://b.bwp")
    assert storage.local_copy("/a/local/path") == "/a/local/path"


def test_a_copy_that_is_cut_off_is_made_again(elsewhere: Path) -> None:
    (elsewhere / "a.bwp").write_bytes(b"123")
    os.truncate(storage.local_copy(f"{SCHEME}://a.bwp"), 1)
    assert Path(storage.local_copy(f"{SCHEME}://a.bwp")).read_bytes() == b"123"


def linked(place: Path) -> None:
    (place.parent / "mine").mkdir(mode=0o700)
    place.symlink_to(place.parent / "mine")


def open_to_all(place: Path) -> None:
    place.mkdir()
    place.chmod(0o777)


@pytest.mark.parametrize("prepare", [linked, open_to_all, Path.touch])
def test_a_folder_for_copies_that_others_may_have_made_is_refused(
    elsewhere: Path, prepare: Callable[[Path], None]
) -> None:
    (elsewhere / "a.bwp").write_bytes(b"1")
    prepare(Path(tempfile.gettempdir(), f"beam_wordpiece-{os.getuid()}"))
    with pytest.raises(InputError, match="is not a folder that only this user can write to"):
        storage.local_copy(f"{SCHEME}://a.bwp")


# The tokenizer ------------------------------------------------------------------------------------------------------


def test_a_vocabulary_elsewhere_gives_the_automaton_that_it_gives_here(
    tmp_path: Path, elsewhere: Path, tokenizer_json: Path
) -> None:
    found = []
    for name, time_of in (("here", 1), ("there", 2)):
        (elsewhere / name / "bert").mkdir(parents=True)
        place = elsewhere / name / "bert/tokenizer.json"
        place.write_bytes(tokenizer_json.read_bytes())
        os.utime(place, (time_of, time_of))
        source = str(place) if name == "here" else f"{SCHEME}://there/bert/tokenizer.json"
        found.append(Path(io.prepare_automaton(source, {}, str(tmp_path / name))))
    assert found[0].read_bytes() == found[1].read_bytes()
    assert bw.Automaton.open(found[1]).describe()["source"] == "bert/tokenizer.json"


def test_messages_name_the_file_that_was_given(elsewhere: Path, recwarn: pytest.WarningsRecorder) -> None:
    corpus.touch(elsewhere, "bert/vocab.txt", "bert/a.bwp", "bert/tokenizer.json")
    (elsewhere / "bert/vocab.txt").write_bytes(b"[UNK]\n\na\n")
    for name in ("vocab.txt", "a.bwp", "tokenizer.json"):
        with pytest.raises(WordPieceError) as caught:
            io.prepare_automaton(f"{SCHEME}://bert/{name}", {}, f"{SCHEME}://out")
        assert f"{SCHEME}://bert/{name}" in str(caught.value)
        assert tempfile.gettempdir() not in str(caught.value)
    io.prepare_automaton(f"{SCHEME}://bert/vocab.txt", {"doubtful_lines": "warn"}, f"{SCHEME}://out")
    said = [str(warning.message) for warning in recwarn if issubclass(warning.category, bw.VocabularyWarning)]
    assert [sentence.startswith(f"{SCHEME}://bert/vocab.txt: line 2 is blank") for sentence in said] == [True]


def test_a_damaged_automaton_elsewhere_is_written_again(elsewhere: Path, tokenizer_json: Path) -> None:
    path = io.prepare_automaton(str(tokenizer_json), {}, f"{SCHEME}://out")
    place = elsewhere / path.removeprefix(f"{SCHEME}://")
    whole = place.read_bytes()
    place.write_bytes(whole[:-1])
    assert io.prepare_automaton(str(tokenizer_json), {}, f"{SCHEME}://out") == path
    assert place.read_bytes() == whole


def test_a_tokenizer_folder_elsewhere_is_refused_in_words(elsewhere: Path) -> None:
    corpus.touch(elsewhere, "bert/tokenizer.json")
    for path in (f"{SCHEME}://bert", f"{SCHEME}://bert/"):
        with pytest.raises(ConfigError, match=r"bert/? is a folder.*give the tokenizer\.json or vocab\.txt in it"):
            io.prepare_automaton(path, {}, "out")
    with pytest.raises(ConfigError, match="none does not exist"):
        io.prepare_automaton(f"{SCHEME}://none", {}, "out")
