"""Which file goes where, whole or not at all, and again only what is missing."""

from __future__ import annotations

import glob
import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer as HF

import beam_wordpiece as bw
from beam_wordpiece import io, parquet_writer
from beam_wordpiece.config import FileSettings
from beam_wordpiece.errors import ConfigError, WordPieceError
from beam_wordpiece.io import FileTask, plan_tasks
from tests import corpus
from tests.corpus import Run


@pytest.fixture
def run(tmp_path: Path, tokenizer: bw.Tokenizer) -> Run:
    return corpus.runner(tmp_path, tokenizer)


# Which files --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("in/a.parquet", {"in/a.parquet": "a.parquet"}),
        ("in/*.parquet", {"in/a.parquet": "a.parquet", "in/b.parquet": "b.parquet"}),
        ("in/*/a.parquet", {"in/x/a.parquet": "x/a.parquet"}),
        ("in/**/a.*", {"in/a.parquet": "a.parquet", "in/x/a.parquet": "x/a.parquet", "in/x/y/a.csv": "x/y/a.csv"}),
        ("*/x/[ab]*", {"in/x/a.parquet": "in/x/a.parquet", "in/x/b": "in/x/b"}),
        ("in/[1].parquet", {"in/[1].parquet": "[1].parquet"}),
    ],
)
def test_an_output_has_the_path_of_its_input_from_the_wildcard_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, expected: dict[str, str]
) -> None:
    corpus.touch(tmp_path, "in/a.parquet", "in/b.parquet", "in/[1].parquet", "in/x/a.parquet", "in/x/b", "in/x/y/a.csv")
    corpus.touch(tmp_path, "in/.hidden/a.parquet", "in/.a.parquet")
    if pattern == "in/*.parquet":
        (tmp_path / "in/[1].parquet").unlink()
    wanted = [FileTask(str(tmp_path / source), str(tmp_path / "out" / target)) for source, target in expected.items()]
    assert sorted(plan_tasks([str(tmp_path / pattern)], str(tmp_path / "out"))) == sorted(wanted)
    monkeypatch.chdir(tmp_path)
    assert sorted(plan_tasks([pattern], "out")) == sorted(wanted)
    assert sorted(plan_tasks(pattern, "out")) == sorted(wanted)


@pytest.mark.parametrize(
    ("format", "parquet"),
    [("auto", ["a.csv", "b.gz", "txt", "x.txt.bz2"]), ("parquet", "all"), ("text", [])],
)
def test_the_output_of_a_text_file_has_a_name_of_its_own(tmp_path: Path, format: str, parquet: list[str]) -> None:
    names = ["a.csv", "a.txt", "b.gz", "c.text", "d.txt.gz", "e.TXT.zst", "f.text.zst", "txt", "x.txt.bz2"]
    corpus.touch(tmp_path / "in", *names)
    planned = {
        Path(task.input).name: Path(task.output).name for task in plan_tasks([f"{tmp_path}/in/*"], "out", format)
    }
    kept = names if parquet == "all" else parquet
    assert planned == {name: name if name in kept else name + ".parquet" for name in names}


def test_two_inputs_for_one_output_because_one_is_text(tmp_path: Path) -> None:
    corpus.touch(tmp_path, "in/a.txt", "in/a.txt.parquet")
    with pytest.raises(ConfigError, match=r"in/a\.txt and .*in/a\.txt\.parquet would both be written"):
        plan_tasks([f"{tmp_path}/in/*"], str(tmp_path / "out"))


def test_a_file_that_two_patterns_match_is_read_once(tmp_path: Path) -> None:
    corpus.touch(tmp_path, "in/a.parquet", "in/b.parquet")
    patterns = [str(tmp_path / "in/*.parquet"), str(tmp_path / "in/a*")]
    tasks = plan_tasks(patterns, str(tmp_path / "out"))
    assert [Path(task.output).name for task in tasks] == ["a.parquet", "b.parquet"]


@pytest.mark.parametrize(
    ("patterns", "output", "message"),
    [
        (["in/none.parquet"], "out", r"in/none\.parquet does not exist"),
        (["in/*.csv"], "out", r"in/\*\.csv matches no file"),
        (["in"], "out", r"in is a folder; say which files in it, as in .*in/\*\.parquet"),
        (["in/x/a.parquet", "in/y/a.parquet"], "out", r"in/x/a\.parquet and .*in/y/a\.parquet would both be written"),
        (["in/**/*.parquet"], "in/out", r"in/out/x/a\.parquet would be an input of the next run"),
        (["in/*/a.parquet"], "in", r"in/x/a\.parquet would be an input of the next run"),
        (["in/x/a.parquet"], "in/x", r"in/x/a\.parquet would be an input of the next run"),
        (["link/a.parquet"], "in/x", r"in/x/a\.parquet would be an input of the next run"),
    ],
)
def test_plans_that_cannot_be_are_refused(tmp_path: Path, patterns: list[str], output: str, message: str) -> None:
    corpus.touch(tmp_path, "in/x/a.parquet", "in/y/a.parquet")
    (tmp_path / "link").symlink_to(tmp_path / "in/x")
    with pytest.raises(WordPieceError, match=message):
        plan_tasks([str(tmp_path / pattern) for pattern in patterns], str(tmp_path / output))


@pytest.mark.parametrize(
    "pattern", ["**", "*", "*/*", "**/b", "a/**", "**/a/**/c", "a*/?", ".*/*", "**/.h/*", "[!a]/b"]
)
def test_a_pattern_matches_what_python_s_glob_finds(tmp_path: Path, pattern: str) -> None:
    corpus.touch(tmp_path, "a/b/c", "a/c", "b/b", "ab/c", "c", ".h/b", "a/.h/c", "a/b/a/d/c", "ab/a/c")
    full = str(tmp_path / pattern)
    found = {path for path in glob.glob(full, recursive=True) if os.path.isfile(path)}
    every = {str(path) for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in every if io._is_match(full, path)} == found


# Again only what is missing -----------------------------------------------------------------------------------------


def test_the_same_input_gives_the_same_bytes(tmp_path: Path, run: Run) -> None:
    corpus.write(tmp_path, {"in.parquet": 500})
    run()
    first = (tmp_path / "out.parquet").read_bytes()
    run(existing="overwrite")
    assert (tmp_path / "out.parquet").read_bytes() == first


def test_an_output_that_is_the_same_is_left_alone(tmp_path: Path, run: Run) -> None:
    corpus.write(tmp_path, {"in.parquet": 50})
    assert not run().skipped
    written = os.stat(tmp_path / "out.parquet")
    result = run()
    assert (result.skipped, result.rows, result.tokens) == (True, 50, 0)
    assert os.stat(tmp_path / "out.parquet").st_ino == written.st_ino


@pytest.mark.parametrize(
    "settings",
    [{"columns": ()}, {"add_special_tokens": False}, {"encoding": "plain"}, {"errors": "error"}, {"row_group_mb": 1}],
)
def test_an_output_of_other_settings_is_written_again(tmp_path: Path, run: Run, settings: dict[str, object]) -> None:
    corpus.write(tmp_path, {"in.parquet": 50})
    run()
    assert not run(**settings).skipped
    assert run(**settings).skipped


def test_outputs_from_before_there_were_documents_in_pieces_are_kept() -> None:
    assert json.loads(parquet_writer.Origin(7, "f", "a", FileSettings()).to_json()) == {
        "version": 2,
        "input": {"size": 7, "footer": "f"},
        "automaton": "a",
        "settings": {
            "text_column": "text",
            "id_column": None,
            "columns": None,
            "keep_text": False,
            "add_special_tokens": True,
            "errors": "replace",
            "encoding": "byte_stream_split",
            "compression": "zstd",
            "row_group_mb": 32,
        },
        "writer": {"zstd_level": 1, "page_bytes": 1 << 20, "page_version": "1.0"},
    }


@pytest.mark.parametrize(
    ("name", "value"), [("ZSTD_LEVEL", 2), ("PAGE_BYTES", 4096), ("PAGE_VERSION", "2.0"), ("ORIGIN_VERSION", 0)]
)
def test_an_output_that_would_be_encoded_otherwise_is_written_again(
    tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: object
) -> None:
    corpus.write(tmp_path, {"in.parquet": 50})
    run()
    monkeypatch.setattr(parquet_writer, name, value)
    assert not run().skipped
    assert run().skipped


def test_an_output_of_another_tokenizer_is_written_again(tmp_path: Path, run: Run, tokenizer_json: Path) -> None:
    corpus.write(tmp_path, {"in.parquet": 50})
    run()
    cased = bw.Tokenizer(bw.Automaton.compile(tokenizer_json, lowercase=False))
    task = FileTask(str(tmp_path / "in.parquet"), str(tmp_path / "out.parquet"))
    assert not io.tokenize_file(task, cased, FileSettings(), lambda counts, size: None).skipped


def test_an_output_of_another_input_is_written_again(tmp_path: Path, run: Run) -> None:
    corpus.write(tmp_path, {"in.parquet": 50})
    run()
    pq.write_table(corpus.table(51, 9), tmp_path / "in.parquet")
    assert run().rows == 51


def test_an_input_changed_where_the_footer_does_not_show_it(tmp_path: Path, run: Run, hf: HF) -> None:
    for text in ("cats", "dogs"):
        # Between the smallest and largest text, so that size, places and statistics are the same.
        table = pa.table({"text": ["aaaa", text, "zzzz"]})
        pq.write_table(table, tmp_path / "in.parquet", compression="none", use_dictionary=False)
        later = os.stat(tmp_path / "in.parquet").st_mtime_ns + (text == "dogs") * 10**10
        os.utime(tmp_path / "in.parquet", ns=(later, later))
        assert not run().skipped
        assert pq.read_table(tmp_path / "out.parquet")["input_ids"].to_pylist()[1] == hf.encode(text).ids


def test_existing_outputs_by_choice(tmp_path: Path, run: Run) -> None:
    corpus.write(tmp_path, {"in.parquet": 50})
    run()
    with pytest.raises(ConfigError, match=r"out\.parquet exists already"):
        run(existing="error")
    assert not run(existing="overwrite").skipped


@pytest.mark.parametrize("content", ["parquet", "noise"])
def test_a_file_of_somebody_else_is_not_written_over(tmp_path: Path, run: Run, content: str) -> None:
    corpus.write(tmp_path, {"in.parquet": 50, "out.parquet": 3})
    if content == "noise":
        (tmp_path / "out.parquet").write_bytes(b"my notes")
    before = (tmp_path / "out.parquet").read_bytes()
    with pytest.raises(ConfigError, match=r"out\.parquet exists and was not written by this program"):
        run()
    assert (tmp_path / "out.parquet").read_bytes() == before
    assert not run(existing="overwrite").skipped


# The tokenizer ------------------------------------------------------------------------------------------------------


def test_a_vocabulary_is_compiled_once_beside_the_output(tmp_path: Path, tokenizer_json: Path) -> None:
    path = io.prepare_automaton(str(tokenizer_json), {}, str(tmp_path / "out"))
    written = os.stat(path)
    assert Path(path).parent == tmp_path / "out"
    assert bw.Automaton.open(path).fingerprint in Path(path).name
    assert io.prepare_automaton(str(tokenizer_json), {}, str(tmp_path / "out")) == path
    assert os.stat(path).st_ino == written.st_ino
    assert io.prepare_automaton(str(tokenizer_json), {"lowercase": False}, str(tmp_path / "out")) != path


@pytest.mark.parametrize("damage", ["cut off", "other version", "other vocabulary"])
def test_a_compiled_vocabulary_that_workers_could_not_open_is_written_again(
    tmp_path: Path, tokenizer_json: Path, damage: str
) -> None:
    path = Path(io.prepare_automaton(str(tokenizer_json), {}, str(tmp_path / "out")))
    whole = path.read_bytes()
    cased = bw.Automaton.compile(tokenizer_json, lowercase=False).to_bytes()
    damaged = {
        "cut off": whole[:-100],
        "other version": whole[:8] + bytes(byte ^ 0xFF for byte in whole[8:12]) + whole[12:],
        "other vocabulary": cased,
    }[damage]
    assert damaged != whole
    path.write_bytes(damaged)
    with open(path, "rb") as before:
        assert io.prepare_automaton(str(tokenizer_json), {}, str(tmp_path / "out")) == str(path)
        assert before.read() == damaged  # who has the file mapped keeps it
    assert path.read_bytes() == whole
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_an_automaton_is_taken_as_it_is(tmp_path: Path, automaton: bw.Automaton) -> None:
    automaton.save(tmp_path / "a.bwp")
    assert io.prepare_automaton(str(tmp_path / "a.bwp"), {}, str(tmp_path / "out")) == str(tmp_path / "a.bwp")
    assert not (tmp_path / "out").exists()
    with pytest.raises(ConfigError, match=r"a\.bwp is compiled already; leave out the options \(lowercase\)"):
        io.prepare_automaton(str(tmp_path / "a.bwp"), {"lowercase": True}, str(tmp_path / "out"))


def test_a_tokenizer_that_is_missing_or_damaged(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.json does not exist"):
        io.prepare_automaton(str(tmp_path / "none.json"), {}, str(tmp_path))
    (tmp_path / "a.bwp").write_bytes(b"no automaton")
    with pytest.raises(bw.AutomatonError, match=r"a\.bwp"):
        io.prepare_automaton(str(tmp_path / "a.bwp"), {}, str(tmp_path))
