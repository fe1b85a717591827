"""The main job: its command, on every way to run it here, and what it says about bad input."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import apache_beam as beam
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.portability import common_urns
from tokenizers import Tokenizer as HF

import beam_wordpiece as bw
from beam_wordpiece.io import FileTask
from pipelines import driver, tokenize_parquet
from tests import corpus

ROOT = Path(__file__).resolve().parents[1]
FILES = {"a.parquet": 150, "x/b.parquet": 60, "x/y/c.parquet": 0, "d.parquet": 1}
RUNNERS = {
    "default": [],
    "multi_threading": ["--direct_running_mode=multi_threading", "--direct_num_workers=2"],
    "multi_processing": ["--direct_running_mode=multi_processing", "--direct_num_workers=2"],
    "portable": ["--runner=PortableRunner", "--job_endpoint=embed", "--environment_type=LOOPBACK"],
}


@pytest.fixture
def job(tmp_path: Path, tokenizer_json: Path) -> list[str]:
    """The flags of a job from `in` to `out` in the test's folder."""
    source = str(tmp_path / "in/**/*.parquet")
    return ["--input", source, "--output", str(tmp_path / "out"), "--tokenizer", str(tokenizer_json)]


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, automaton: bw.Automaton) -> dict[str, bytes]:
    """The outputs of `FILES`, file by file without Beam."""
    from beam_wordpiece.config import FileSettings
    from beam_wordpiece.io import plan_tasks, tokenize_file

    folder = tmp_path_factory.mktemp("expected")
    corpus.write(folder / "in", FILES)
    for task in plan_tasks([str(folder / "in/**/*.parquet")], str(folder / "out")):
        tokenize_file(task, bw.Tokenizer(automaton), FileSettings(), lambda counts, size: None)
    return corpus.files(folder / "out")


@pytest.mark.parametrize("runner", RUNNERS)
def test_every_runner_gives_the_same_bytes(
    tmp_path: Path, job: list[str], runner: str, expected: dict[str, bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    corpus.write(tmp_path / "in", FILES)
    assert tokenize_parquet.main([*job, *RUNNERS[runner]]) == 0
    assert corpus.files(tmp_path / "out") == expected
    said = capfd.readouterr().err
    assert "4 files written, 0 there already\n211 documents (13 null, 0 not UTF-8), " in said


def test_a_second_run_writes_nothing(tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    corpus.write(tmp_path / "in", FILES)
    assert tokenize_parquet.main(job) == 0
    written = {path: path.stat().st_ino for path in (tmp_path / "out").rglob("*")}
    capfd.readouterr()
    assert tokenize_parquet.main([*job, "--runner=DirectRunner"]) == 0
    assert capfd.readouterr().err == "0 files written, 4 there already\n"
    assert {path: path.stat().st_ino for path in (tmp_path / "out").rglob("*")} == written


def test_the_ids_are_those_of_hf(tmp_path: Path, job: list[str], hf: HF) -> None:
    tables = corpus.write(tmp_path / "in", FILES)
    assert tokenize_parquet.main(job) == 0
    for name, table in tables.items():
        assert pq.read_table(tmp_path / "out" / name)["input_ids"].to_pylist() == corpus.ids(hf, table["text"])


def test_a_configuration_file_and_flags_that_win_over_it(tmp_path: Path, job: list[str], hf: HF) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"body": ["Über"], "n": [1], "m": [2]}), tmp_path / "in/a.parquet")
    (tmp_path / "job.yaml").write_text(
        f"input: {job[1]}\noutput: {job[3]}\ntokenizer: {job[5]}\n"
        "text_column: nope\ncolumns: [n]\nadd_special_tokens: false\nbeam: {direct_num_workers: 1}\n"
        "options: {lowercase: false}\n"
    )
    flags = ["--text_column=body", "--id_column", "m", "--lowercase", "true"]
    assert tokenize_parquet.main(["--config", str(tmp_path / "job.yaml"), *flags]) == 0
    ids = hf.encode("Über", add_special_tokens=False).ids
    assert pq.read_table(tmp_path / "out/a.parquet").to_pydict() == {"n": [1], "m": [2], "input_ids": [ids]}


def test_a_compiled_automaton(
    tmp_path: Path, job: list[str], automaton: bw.Automaton, expected: dict[str, bytes]
) -> None:
    corpus.write(tmp_path / "in", FILES)
    automaton.save(tmp_path / "a.bwp")
    assert tokenize_parquet.main([*job[:4], "--tokenizer", str(tmp_path / "a.bwp")]) == 0
    assert corpus.files(tmp_path / "out") == expected
    assert not list((tmp_path / "out").glob("*.bwp"))


def test_the_folder_of_outputs_is_a_data_set(tmp_path: Path, job: list[str]) -> None:
    corpus.write(tmp_path / "in", FILES)
    assert tokenize_parquet.main(job) == 0
    assert list((tmp_path / "out").glob("_automaton-*.bwp"))
    assert pq.read_table(tmp_path / "out").num_rows == sum(FILES.values())


def test_a_progress_bar(tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]) -> None:
    corpus.write(tmp_path / "in", FILES)
    assert tokenize_parquet.main([*job, "--progress"]) == 0
    assert re.search(r"tokenizing: 100%.*211 documents", capfd.readouterr().err)
    assert tokenize_parquet.main([*job, "--no-progress", "--existing=overwrite"]) == 0
    assert "tokenizing" not in capfd.readouterr().err


# What is wrong is said in one clear sentence ----------------------------------------------------------------------


def fails(argv: list[str], code: int, message: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert tokenize_parquet.main(argv) == code
    said = capfd.readouterr().err
    assert re.fullmatch(rf"tokenize_parquet: [^\n]*{message}[^\n]*\n", said), said


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--text-colum", "x"], r"There is no flag --text-colum; did you mean --text-column\?"),
        (["--wibble=3"], r"There is no flag --wibble; --help shows"),
        (["wibble"], "'wibble' stands alone on the command line"),
        (["--runner", "DirectRunner", "wibble"], "'wibble' stands alone on the command line"),
        (["--errors", "ignore"], "errors has to be one of replace, error, not 'ignore'"),
        (["--keep-text", "maybe"], "keep_text has to be true or false, not 'maybe'"),
        (["--config", "none.yaml"], r"none\.yaml cannot be read: No such file"),
        (["--tokenizer", "none.json"], r"none\.json does not exist"),
        (["--output", "in"], "would be an input of the next run"),
        (["--runner=PortableRunner", "--text-colum=x"], r"did you mean --text-column\?"),
        (["--tokenizer", "nowhere://vocab.txt"], "is on a file system that Beam does not know here"),
        (["--runner", "FlinkRunnr"], "Beam cannot make the pipeline: Unexpected pipeline runner: FlinkRunnr"),
    ],
)
def test_a_wrong_command(
    tmp_path: Path,
    job: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    flags: list[str],
    message: str,
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 3})
    monkeypatch.chdir(tmp_path)
    fails([*job, *flags], 2, message, capfd)
    assert sorted(corpus.files(tmp_path)) == ["in/a.parquet"]


def test_a_command_without_what_is_needed(capfd: pytest.CaptureFixture[str]) -> None:
    fails(
        [],
        2,
        "the command line does not say input: give it as the flag --input, or in the file of --config as `input",
        capfd,
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n##b\n", r"no .*\[UNK\]|\[UNK\].* not"),
        (b"\xef\xbb\xbf[UNK]\na\n", "line 1 starts with a byte order mark"),
        (b"[UNK]\r\na\r\n", "lines 1, 2 ends with a carriage return"),
        (b"[UNK]\n\na\n", "line 2 is blank"),
        (b"[UNK]\na\na\n", "line 2 repeats"),
        (b"[UNK]\ncaf\xe9\n", "UTF-8"),
    ],
)
def test_a_vocabulary_that_cannot_be_used(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 3})
    (tmp_path / "vocab.txt").write_bytes(content)
    fails([*job, "--tokenizer", str(tmp_path / "vocab.txt")], 2, rf"vocab\.txt.*({message})", capfd)
    assert not (tmp_path / "out").exists()


def test_a_vocabulary_that_means_something_else_is_warned_of(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 3})
    (tmp_path / "vocab.txt").write_bytes(b"[UNK]\n\na\r\n")
    assert tokenize_parquet.main([*job, "--tokenizer", str(tmp_path / "vocab.txt"), "--doubtful-lines=warn"]) == 0
    said = capfd.readouterr().err
    assert re.search(r"^warning: \S+/vocab\.txt: line 2 is blank", said, re.MULTILINE)
    assert re.search(r"^warning: \S+/vocab\.txt: .*carriage return", said, re.MULTILINE)


def test_an_automaton_that_is_damaged(
    tmp_path: Path, job: list[str], automaton: bw.Automaton, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 3})
    (tmp_path / "a.bwp").write_bytes(automaton.to_bytes()[:-100])
    fails([*job, "--tokenizer", str(tmp_path / "a.bwp")], 2, r"a\.bwp", capfd)
    assert not (tmp_path / "out").exists()


def cut_off(folder: Path) -> None:
    path = folder / "a.parquet"
    os.truncate(path, path.stat().st_size - 100)


def clash(folder: Path) -> None:
    pq.write_table(pa.table({"text": ["x"], "input_ids": [1]}), folder / "a.parquet")


def not_utf8(folder: Path) -> None:
    pq.write_table(pa.table({"text": pa.array([b"x", b"\xff"])}), folder / "a.parquet")


@pytest.mark.parametrize(
    ("damage", "flags", "message"),
    [
        (lambda folder: (folder / "a.parquet").unlink(), [], r"in/\*\*/\*\.parquet matches no file"),
        (lambda folder: None, ["--input", "none.parquet"], r"none\.parquet does not exist"),
        (lambda folder: None, ["--text-column", "body"], r"a\.parquet has no column 'body'; the columns are: doc_id"),
        (lambda folder: None, ["--text-column", "tags"], r"a\.parquet: the column 'tags' holds list.*, not text"),
        (lambda folder: None, ["--id-column", "key"], r"a\.parquet has no column 'key'"),
        (cut_off, [], r"a\.parquet is cut off or damaged"),
        (clash, [], r"a\.parquet has a column input_ids already"),
        (not_utf8, ["--errors=error"], r"a\.parquet, row 1: the text of 'text' is not UTF-8"),
    ],
)
def test_a_bad_input(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str], damage: object, flags: list[str], message: str
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 3})
    damage(tmp_path / "in")  # type: ignore[operator]
    fails([*job, *flags], 1, message, capfd)
    assert not (tmp_path / "out").exists() or not corpus.files(tmp_path / "out")


def test_all_bad_files_are_named_and_all_good_ones_done(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    corpus.write(tmp_path / "in", {f"{name}.parquet": 5 for name in "abcd"})
    for name in "bd":
        (tmp_path / f"in/{name}.parquet").write_bytes(b"no parquet file")
    assert tokenize_parquet.main(job) == 1
    assert re.fullmatch(
        r"2 files written, 0 there already, 2 failed\n"
        r"tokenize_parquet: 2 files could not be tokenized:\n"
        r"  \S+/in/b\.parquet is not a Parquet file: [^\n]*\n"
        r"  \S+/in/d\.parquet is not a Parquet file: [^\n]*\n",
        capfd.readouterr().err,
    )
    assert sorted(corpus.files(tmp_path / "out")) == ["a.parquet", "c.parquet"]


def test_an_older_output_that_is_left_is_named(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 5, "b.parquet": 5})
    assert tokenize_parquet.main(job) == 0
    before = (tmp_path / "out/b.parquet").read_bytes()
    (tmp_path / "in/b.parquet").write_bytes(b"no parquet file")
    capfd.readouterr()
    assert tokenize_parquet.main(job) == 1
    said = capfd.readouterr().err
    assert said.startswith("0 files written, 1 there already, 1 failed\n")
    assert said.endswith(f" The older output {tmp_path}/out/b.parquet was left as it was.\n")
    assert (tmp_path / "out/b.parquet").read_bytes() == before
    assert tokenize_parquet.main([*job, "--existing=error"]) == 1
    assert capfd.readouterr().err.count("was left") == 1, "`existing` says of the other that it is there"


@pytest.mark.parametrize("runner", RUNNERS)
def test_an_output_that_cannot_be_written_keeps_no_other_from_being_done(
    tmp_path: Path, job: list[str], runner: str, capfd: pytest.CaptureFixture[str]
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 5, "b.parquet": 5, "x/c.parquet": 5, "d.parquet": 5})
    corpus.touch(tmp_path, "out/x")
    assert tokenize_parquet.main([*job, *RUNNERS[runner]]) == 1
    said = capfd.readouterr().err
    assert "Traceback" not in said
    assert said.rstrip("\n").split("\n")[-1] == (
        f"tokenize_parquet: {tmp_path}/in/x/c.parquet cannot be tokenized to {tmp_path}/out/x/c.parquet: "
        f"{tmp_path}/out/x: Not a directory."
    )
    assert sorted(corpus.files(tmp_path / "out")) == ["a.parquet", "b.parquet", "d.parquet", "x"]


@pytest.mark.parametrize("workers", ["one", "several"])
def test_files_are_spread_over_the_workers_once(tmp_path: Path, job: list[str], workers: str) -> None:
    config, _, _ = tokenize_parquet.parse(job)
    pipeline = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))
    tasks = [FileTask(str(row), f"out{row}") for row in range(3)]
    tokenize_parquet.build(pipeline, tasks, "/a.bwp", config, spread=workers != "one")
    steps = pipeline.to_runner_api().components.transforms.values()
    reshuffles = [step.unique_name for step in steps if step.spec.urn == common_urns.composites.RESHUFFLE.urn]
    assert reshuffles == ([] if workers == "one" else ["TokenizeFiles/Spread"])


@pytest.mark.parametrize(
    ("flags", "one"),
    [
        ([], True),
        (["--runner=DirectRunner", "--direct_num_workers=1"], True),
        (["--direct_running_mode=multi_processing", "--direct_num_workers=2"], False),
        (["--direct_running_mode=multi_processing", "--direct_num_workers=0"], False),
        (["--runner=FlinkRunner"], False),
        (["--runner=PortableRunner", "--environment_type=LOOPBACK"], False),
    ],
)
def test_one_worker_here_is_told_from_several(flags: list[str], one: bool) -> None:
    assert driver.has_one_worker(driver.beam_options(flags)) == one


def test_an_error_that_comes_back_as_a_traceback_is_said_in_its_sentence(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from workers that share no folder with this process."""
    corpus.write(tmp_path / "in", {"a.parquet": 5, "b.parquet": 5})
    (tmp_path / "in/b.parquet").write_bytes(b"no parquet file")
    monkeypatch.setattr(driver, "errors_folder", lambda options: contextlib.nullcontext())
    assert tokenize_parquet.main([*job, *RUNNERS["portable"]]) == 1
    last = capfd.readouterr().err.rstrip("\n").split("\n")[-1]
    assert re.fullmatch(r"tokenize_parquet: \S+/in/b\.parquet is not a Parquet file: its 15 bytes do not .*\.", last)


@pytest.mark.parametrize(
    ("flags", "here"),
    [
        ([], True),
        (["--runner=PortableRunner", "--environment_type=LOOPBACK"], True),
        (["--runner=FlinkRunner"], False),
        (["--runner=PortableRunner", "--environment_type=DOCKER"], False),
    ],
)
def test_errors_come_through_a_folder_where_workers_are_here(flags: list[str], here: bool) -> None:
    with driver.errors_folder(driver.beam_options(flags)) as folder:
        assert (folder is not None) == here
    assert folder is None or not Path(folder).exists()


def test_an_output_folder_that_cannot_be_written(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 5})
    (tmp_path / "out").touch()
    fails(job, 1, "out", capfd)


def test_the_command_as_a_process(tmp_path: Path, job: list[str]) -> None:
    corpus.write(tmp_path / "in", {"a.parquet": 5})
    command = [sys.executable, "-m", "pipelines.tokenize_parquet", *job, "--text-column=x"]
    failed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (failed.returncode, failed.stdout) == (1, "")
    assert re.fullmatch(r"tokenize_parquet: \S+/a\.parquet has no column 'x'; [^\n]*\n", failed.stderr)


def test_ctrl_c_leaves_what_is_done(
    tmp_path: Path, job: list[str], capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from beam_wordpiece import parquet_writer

    write, calls = parquet_writer.TokenWriter.write, []

    def interrupted(self: parquet_writer.TokenWriter, table: pa.Table) -> None:
        calls.append(table)
        if len(calls) == 2:
            raise KeyboardInterrupt
        write(self, table)

    corpus.write(tmp_path / "in", {"a.parquet": 5, "b.parquet": 5})
    monkeypatch.setattr(parquet_writer.TokenWriter, "write", interrupted)
    fails(job, 130, "interrupted; the files that are done stay", capfd)
    assert len(corpus.files(tmp_path / "out")) == 1


def test_logging_is_as_it_was_afterwards() -> None:
    before = (list(logging.root.handlers), logging.root.level)
    with driver.quiet_logging(verbose=True):
        assert logging.root.level == logging.INFO
    assert (logging.root.handlers, logging.root.level) == before


def test_errors_that_are_none_of_ours_are_left_alone() -> None:
    assert driver.error_of(RuntimeError("Traceback ...\nKeyError: 'x' [while running 'Step']")) is None
    remote = "...\nbeam_wordpiece.errors.TextError: row 3 is bad.\n  and so on [while running 'Step']\n\nmore"
    found = driver.error_of(RuntimeError(remote))
    assert (type(found), str(found)) == (bw.InputError, "row 3 is bad.\n  and so on")
    local = bw.AutomatonError("x.bwp is cut off. [while running 'Step-ptransform-3']")
    found = driver.error_of(local)
    assert (type(found), str(found)) == (bw.AutomatonError, "x.bwp is cut off.")
