"""A job that is killed and started again gives the same files, byte for byte, and does again only what was missing."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import corpus

ROOT = Path(__file__).resolve().parents[1]
FILES = {f"{number}.parquet": 50 * number for number in range(6)}

# Runs the job of the command line; the process is killed when `WHERE` is reached for the third time.
KILLED = """
import os, signal, sys
from beam_wordpiece import io, parquet, parquet_writer
from pipelines import tokenize_parquet

calls = 0

def killing(function):
    def wrapper(*arguments, **keywords):
        global calls
        calls += 1
        if calls == 3:
            AFTER and function(*arguments, **keywords)
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*arguments, **keywords)
    return wrapper

OWNER.NAME = killing(OWNER.NAME)
sys.exit(tokenize_parquet.main(sys.argv[1:]))
"""
PLACES = {
    "between the rows of a file and its footer": ("parquet_writer.TokenWriter", "write", True),
    "before the file has its name": ("os", "replace", False),
    "when the file has its name": ("os", "replace", True),
}


def command(tokenizer: Path, folder: Path, out: str) -> list[str]:
    return [
        *("--input", str(folder / "in/*.parquet"), "--output", str(folder / out), "--tokenizer", str(tokenizer)),
        *("--no-progress", "--row-group-mb", "1"),
    ]


def run(arguments: list[str], program: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, timeout=100
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory, tokenizer_json: Path) -> dict[str, bytes]:
    """The outputs of a job that nobody disturbed, run as a user would."""
    folder = tmp_path_factory.mktemp("undisturbed")
    corpus.write(folder / "in", FILES)
    done = run(command(tokenizer_json, folder, "out"), ["-m", "pipelines.tokenize_parquet"])
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    # Nothing of Beam's own talk.
    assert done.stderr.startswith("6 files written, 0 there already\n750 documents (45 null, "), done.stderr
    assert len(done.stderr.splitlines()) == 3
    return corpus.files(folder / "out")


@pytest.mark.parametrize("place", PLACES)
def test_a_killed_job_goes_on_where_it_was(
    tmp_path: Path, tokenizer_json: Path, expected: dict[str, bytes], place: str, capfd: pytest.CaptureFixture[str]
) -> None:
    from pipelines import tokenize_parquet

    corpus.write(tmp_path / "in", FILES)
    # The automaton is written before, so that the third file that gets its name is one of the outputs.
    arguments = command(tokenizer_json, tmp_path, "out")
    owner, name, after = PLACES[place]
    program = KILLED.replace("OWNER", owner).replace("NAME", name).replace("AFTER", str(after))
    killed = run(arguments, ["-c", program])
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    left = corpus.files(tmp_path / "out")
    done = {path: (tmp_path / "out" / path).stat().st_ino for path in left if path in expected}
    assert 0 < len(done) < len(expected)
    assert all(left[path] == expected[path] for path in done)
    unfinished = [path for path in left if path.endswith(".tmp")]
    assert len(unfinished) == (0 if place.startswith("when") else 1)

    assert tokenize_parquet.main(arguments) == 0
    assert f"{len(expected) - len(done)} files written, {len(done)} there already\n" in capfd.readouterr().err
    assert corpus.files(tmp_path / "out") == expected
    assert {path: (tmp_path / "out" / path).stat().st_ino for path in done} == done
