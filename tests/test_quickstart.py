"""The quickstart, on a part of its text."""

import itertools
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer

from pipelines import local_text, quickstart
from tests.conftest import ROOT


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder of its own for the quickstart, and a hundred documents of two kinds."""
    some = list(itertools.islice(local_text.documents(), 100))
    monkeypatch.setattr(local_text, "documents", lambda: iter(some))
    monkeypatch.setattr(quickstart, "FOLDER", tmp_path / "quickstart")
    monkeypatch.chdir(ROOT)
    return tmp_path / "quickstart"


def test_it_writes_and_compares(folder: Path, hf: Tokenizer, capsys: pytest.CaptureFixture[str]) -> None:
    assert quickstart.main([]) == 0
    printed = capsys.readouterr().out
    assert "0 of 100 documents have other ids" in printed
    assert "[CLS]" in printed
    files = [f"{name}.parquet" for name in ("descriptions", "topics")]
    assert sorted(path.name for path in (folder / "input").iterdir()) == files
    for name in files:
        table = pq.read_table(folder / "output" / name)
        assert table["input_ids"].to_pylist() == [hf.encode(text).ids for text in table["text"].to_pylist()]


def test_the_input_is_made_once(folder: Path) -> None:
    assert quickstart.main([]) == 0
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")}
    assert quickstart.main([]) == 0
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*.parquet")} == before


def test_differences_are_told(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With another tokenizer on the side of HF, nothing would be the same, and the exit code says so."""
    monkeypatch.setattr(quickstart, "count_differences", lambda table: 7)
    assert quickstart.main([]) == 1
    assert "7 of 100 documents have other ids" in capsys.readouterr().out


def test_help_starts_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as exit:
        quickstart.main(["--help"])
    assert exit.value.code == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "tokenizes it with the pipeline" in shown
    assert "configs/quickstart.yaml" in shown
    assert not folder.exists()


def test_another_folder_is_told_before_anything_is_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert quickstart.main([]) == 2
    assert "there is no configs/quickstart.yaml here; run it from the root" in capsys.readouterr().err
    assert not folder.exists()


@pytest.mark.usefixtures("folder")
def test_flags_are_passed_on_and_failures_are_given_back(capsys: pytest.CaptureFixture[str]) -> None:
    assert quickstart.main(["--text-column", "nothing"]) != 0
    assert "nothing" in capsys.readouterr().err


def test_text_is_the_same_each_time_and_never_empty() -> None:
    def first() -> list[tuple[str, str, str]]:
        return list(itertools.islice(local_text.documents(), 150))

    texts = first()
    assert texts == first()
    assert {file for file, _, _ in texts} >= {"topics", "descriptions"}
    assert all(text.strip() and source for _, source, text in texts)
