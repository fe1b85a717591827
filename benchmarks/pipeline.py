"""The whole pipeline beside what people write by hand, in CPU seconds: Parquet with text in, Parquet with ids out.

    python -m benchmarks.pipeline --corpus corpus.parquet --vocabulary tokenizer.json [--datasets] [--workers 2]

Each contender is a process of its own and is charged for all of its CPU time, its children included. What comes out
is the CPU time of the process; what is left of it without that of the same process over a file of one row, which is
imports, the vocabulary and Beam's set-up: paid once a job, not once a file; and what of that is spent outside the
system, which fetches memory the more slowly the less of it the machine has at hand. Contenders take turns, in every
order; the median of the rounds counts. The pipeline's flags may be added, as in `-- --compression lz4`.

`--copies N`: all of them over N copies of the corpus. That flatters those who keep words that they have seen.
`--workers N`: also the wall time of N worker processes beside that of one, over N times as many copies, and the same of
bare loops in N processes, which is what the machine gives. Workers import Beam after the process that starts them has
done so: give enough copies that this is small beside the work.
Needs the package with Beam, nanotoken, and for --datasets HuggingFace's datasets and tokenizers. The column is `text`.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[1]


class Spent(NamedTuple):
    """Seconds of processes and of their children."""

    user: float
    system: float
    wall: float

    @property
    def cpu(self) -> float:
        return self.user + self.system


@dataclass
class Contender:
    """One way to do the job, and what was measured: each round over the corpus and over a row, bytes of output."""

    name: str
    full: list[Spent] = field(default_factory=list)
    tiny: list[Spent] = field(default_factory=list)
    size: int = 0

    def seconds(self) -> tuple[float, float, float, float]:
        """CPU of the process, of its start-up, and of the corpus; of the last the part that is not the system's."""
        # Each with the start-up that was measured just before it: on a shared machine seconds cost more at times.
        rounds = list(zip(self.full, self.tiny, strict=True))
        every = [
            [full.cpu for full in self.full],
            [tiny.cpu for tiny in self.tiny],
            [full.cpu - tiny.cpu for full, tiny in rounds],
            [full.user - tiny.user for full, tiny in rounds],
        ]
        process, start_up, corpus, user = map(statistics.median, every)
        return process, start_up, corpus, user


def run(*commands: list[str]) -> Spent:
    """Seconds of processes that start at once, until all are done.

    Raises CalledProcessError where one of them fails.
    """
    with tempfile.TemporaryFile("w+") as said:
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        started = [subprocess.Popen(command, cwd=ROOT, stdout=said, stderr=said) for command in commands]
        codes = [process.wait() for process in started]
        wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        for command, code in zip(commands, codes, strict=True):
            if code:
                said.seek(0)
                sys.stderr.write(said.read())
                raise subprocess.CalledProcessError(code, command)
    return Spent(after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, wall)


def command_of(name: str, inputs: Path, vocabulary: str, output: Path, flags: list[str]) -> list[str]:
    """The command of a contender over all files of a folder."""
    if name == "pipeline":
        files = ["--input", str(inputs / "*.parquet"), "--output", str(output), "--tokenizer", vocabulary]
        return [sys.executable, "-m", "pipelines.tokenize_parquet", *files, *flags]
    files = ["--input", str(inputs), "--output", str(output), "--vocabulary", vocabulary]
    return [sys.executable, "-m", "benchmarks.loops", name, *files]


def input_folder(folder: Path, corpus: str, copies: int) -> Path:
    """A folder with links to the corpus."""
    folder.mkdir()
    for number in range(copies):
        os.symlink(os.path.abspath(corpus), folder / f"{number}.parquet")
    return folder


def one_row_folder(folder: Path, corpus: str) -> Path:
    """A folder with a file of the first row of the corpus."""
    folder.mkdir()
    batch = next(pq.ParquetFile(corpus).iter_batches(1))
    with pq.ParquetWriter(folder / "0.parquet", batch.schema) as writer:
        writer.write_batch(batch)
    return folder


def compare(folder: Path, arguments: argparse.Namespace) -> None:
    """Print the CPU seconds of all contenders."""
    vocabulary = os.path.abspath(arguments.vocabulary)
    full, tiny = input_folder(folder / "full", arguments.corpus, arguments.copies), folder / "tiny"
    one_row_folder(tiny, arguments.corpus)
    names = ["pipeline", "bare", "nanotoken", *["datasets"] * arguments.datasets]
    contenders = [Contender(name) for name in names]
    # Who comes behind one that held much memory pays for what the system has to fetch again: not always the same.
    orders = itertools.cycle(itertools.permutations(contenders))
    for turn, order in zip(range(arguments.rounds), orders, strict=False):
        for one in order:
            if one.name == "datasets" and turn > 0:
                continue  # a minute for 100 MB, and far from all others
            for inputs, seconds in ((tiny, one.tiny), (full, one.full)):
                with tempfile.TemporaryDirectory(dir=folder) as output:
                    seconds.append(run(command_of(one.name, inputs, vocabulary, Path(output), arguments.flags)))
                    one.size = sum(path.stat().st_size for path in Path(output).glob("*.parquet"))
    heads = ("process", "start-up", "corpus", "user", "MB", "pipeline / it: process", "corpus", "user")
    print(f"{'CPU seconds':12s}" + "".join(f"{head:>{max(9, len(head) + 2)}s}" for head in heads))
    ours = contenders[0].seconds()
    for one in contenders:
        process, start_up, corpus, user = one.seconds()
        ratios = "".join(
            f"{a / b if b > 0 else math.nan:{width}.3f}"
            for a, b, width in ((ours[0], process, 24), (ours[2], corpus, 9), (ours[3], user, 9))
        )
        print(f"{one.name:12s}{process:9.2f}{start_up:10.2f}{corpus:9.2f}{user:9.2f}{one.size / 1e6:9.2f}{ratios}")


def compare_workers(folder: Path, arguments: argparse.Namespace) -> None:
    """Print how much sooner several worker processes are done than one. Beside it what the machine gives, at the same
    time: bare loops that know nothing of one another, one over all files, and several over as many parts of them.
    """
    workers, vocabulary = arguments.workers, os.path.abspath(arguments.vocabulary)
    tiny, part = folder / "tiny", folder / "full"
    every = input_folder(folder / "several", arguments.corpus, workers * arguments.copies)

    def pipeline(number: int, inputs: Path, output: Path) -> list[list[str]]:
        beam = ["--direct_running_mode=multi_processing", f"--direct_num_workers={number}"]
        return [command_of("pipeline", inputs, vocabulary, output, [*arguments.flags, *beam])]

    def bare(number: int, inputs: Path, output: Path) -> list[list[str]]:
        own = part if number > 1 and inputs == every else inputs
        return [command_of("bare", own, vocabulary, output / str(i), []) for i in range(number)]

    cases = [
        (commands, number, inputs)
        for commands in (pipeline, bare)
        for number in (1, workers)
        for inputs in (tiny, every)
    ]
    measured: list[list[Spent]] = [[] for _ in cases]
    for _ in range(arguments.rounds):
        for (commands, number, inputs), seconds in zip(cases, measured, strict=True):
            with tempfile.TemporaryDirectory(dir=folder) as output:
                seconds.append(run(*commands(number, inputs, Path(output))))
    for kind, name in (("cpu", "CPU"), ("wall", "wall")):
        medians = [statistics.median(getattr(one, kind) for one in seconds) for seconds in measured]
        for who, (ones, one, severals, several) in (("pipeline", medians[:4]), ("bare loops", medians[4:])):
            times = f"one process {one:.2f} ({ones:.2f} start-up), {workers} of them {several:.2f} ({severals:.2f})"
            ratios = f"{one / several:.2f} x, {(one - ones) / (several - severals):.2f} x without start-up"
            print(f"{name} seconds, {who}: {times}: {ratios}")


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", required=True, help="a Parquet file with a column text")
    parser.add_argument("--vocabulary", required=True, help="a tokenizer.json")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--datasets", action="store_true", help="also HuggingFace datasets, once")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("flags", nargs="*", help="flags of the pipeline, after --")
    arguments = parser.parse_args()
    for name in ["nanotoken", *["datasets"] * arguments.datasets]:
        if importlib.util.find_spec(name) is None:
            parser.error(f"{name} is not installed: pip install -e '.[bench]'")
    with tempfile.TemporaryDirectory() as folder:
        compare(Path(folder), arguments)
        if arguments.workers:
            compare_workers(Path(folder), arguments)


if __name__ == "__main__":
    main()
