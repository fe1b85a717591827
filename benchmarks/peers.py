"""The project beside what people use today, as tables: the one command to check what is claimed about speed.

    pip install -e '.[bench]'
    python -m benchmarks.peers                                    # everything: an hour or so
    python -m benchmarks.peers --tables speed --sets 'en_*' --megabytes 20 --levels avx2 --peers nanotoken,hf,tokie

One thread, CPU time of the process, ids without special tokens. Every measurement is a process of its own in which the
systems take turns. "first" is the first pass of a new tokenizer over text that it has not seen, "later" the median of
the further passes over the same text. Ids are compared with HuggingFace's on a sample of every set, for every system
and level. Corpora and vocabularies are looked for in a folder `shared` beside the checkout, or where --shared or
BEAM_WORDPIECE_SHARED says.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import systems, texts, worker
from benchmarks.growth import MOST, SIZES
from benchmarks.speed import BATCH_MEGABYTES, Set

LEVELS = ("avx512", "avx2", "portable")
ENGLISH = ("bert-base-uncased", "bert-base-cased")
MULTILINGUAL = "bert-base-multilingual-cased"
OF_A_LANGUAGE = {"help_zh-cn": "bert-base-chinese", "help_ko": "kcbert-base"}
# en_tech has no more than 20 MB.
ENGLISH_CORPORA = {"en_books": (20.0, 100.0), "en_tech": (20.0,)}
HOSTILE_MEGABYTES = 2.0


@dataclass
class Run:
    """What to measure, where, and all results, for --json."""

    shared: Path
    levels: list[str]
    peers: list[str]
    sets: list[str]
    megabytes: list[float]
    processes: int
    rounds: int
    batch: float
    results: dict[str, Any] = field(default_factory=dict)

    @property
    def systems(self) -> list[str]:
        """The project comes first: its Arrow array leaves each str with its UTF-8, which others then need not make."""
        return [systems.PROJECT, *self.peers]

    @property
    def best(self) -> str:
        """The level for what is measured at one level only."""
        return self.levels[0]

    def measure(self, task: str, level: str, **arguments: Any) -> Any:
        return worker.run(task, level, shared=str(self.shared), **arguments)


def available_levels(wanted: Sequence[str]) -> list[str]:
    """Those of the levels that this processor has; says on standard error which it has not."""
    found = []
    for level in wanted:
        try:
            found.append(worker.run("worker.level", level, quiet=True))
        except subprocess.CalledProcessError as error:
            print(f"not measured: {error.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return found


def sets(run: Run) -> Iterator[Set]:
    """All sets of documents that are asked for, each with every vocabulary that fits it."""
    corpora = sorted(path.stem for path in (run.shared / "corpora").glob("*.parquet"))
    other = [name for name in corpora if name not in ENGLISH_CORPORA]
    everything = [
        *(Set(name, model, size) for model in ENGLISH for name, sizes in ENGLISH_CORPORA.items() for size in sizes),
        *(Set(name, MULTILINGUAL, 20.0) for name in other),
        *(Set(name, OF_A_LANGUAGE[name], 20.0) for name in other if name in OF_A_LANGUAGE),
        *(Set(name, ENGLISH[0], HOSTILE_MEGABYTES, hostile=True) for name in texts.HOSTILE),
    ]
    for one in everything:
        names = (one.name, "hostile") if one.hostile else (one.name,)
        sized = one.name not in ENGLISH_CORPORA or not run.megabytes or one.megabytes in run.megabytes
        if sized and any(fnmatch.fnmatch(name, pattern) for name in names for pattern in run.sets):
            yield one


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table, aligned; columns after the first that hold numbers are aligned to the right."""
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    print(f"\n{title}\n")
    for number, line in enumerate(lines):
        if number == 1:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")
        cells = (
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        print("| " + " | ".join(cells) + " |", flush=True)


def speed(run: Run) -> Any:
    """MB/s of every set at every level."""
    rows, results = [], []
    for subject in sets(run):
        per_level: dict[str, list[Any]] = {level: [] for level in run.levels}
        # Levels take turns, so that a slow minute of the machine falls on all of them.
        for _ in range(run.processes):
            for level, measured in per_level.items():
                arguments = {"subject": asdict(subject), "names": run.systems}
                arguments |= {"rounds": run.rounds, "batch": run.batch}
                measured.append(run.measure("speed.measure", level, **arguments))
        for level, measured in per_level.items():
            combined = {name: _combined([one["systems"][name] for one in measured]) for name in run.systems}
            results.append({**asdict(subject), "megabytes": measured[0]["megabytes"], "level": level, **combined})
            rows.append(_speed_row(results[-1], run))
            print(".", end="", file=sys.stderr, flush=True)
    header = ["set", "MB", "vocabulary", "level", "project first", "later", "ids"]
    for peer in run.peers:
        header += [f"{peer} first", "later", "project / it, first", "later", "ids"]
    table("Throughput, MB/s", header, rows)
    return results


def unseen(run: Run) -> Any:
    """First passes where only the text is new: the median of the shares of later speed that several processes had."""
    rows, results = [], []
    for subject in sets(run):
        for level in run.levels:
            arguments = {"subject": asdict(subject), "rounds": run.rounds, "batch": run.batch}
            measured = [run.measure("speed.unseen", level, **arguments) for _ in range(run.processes)]
            share = statistics.median(one["first"] / one["later"] for one in measured)
            speeds = [statistics.median(one[key] for one in measured) for key in ("first", "later")]
            results.append({**asdict(subject), "level": level, "share": share})
            rows.append(
                [subject.name, subject.vocabulary, level, *(f"{speed:.0f}" for speed in speeds), f"{share:.2f}"]
            )
    header = ["half of", "vocabulary", "level", "first, MB/s", "later", "first / later"]
    table("Text that was not seen, after as much other text", header, rows)
    return results


def _combined(measured: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians of several processes; an error where one of them had one."""
    for one in measured:
        if "error" in one:
            return one
    speeds = {key: statistics.median(one[key] for one in measured) for key in ("first", "later")}
    return {**speeds, "same": all(one["same"] for one in measured)}


def _speed_row(result: dict[str, Any], run: Run) -> list[str]:
    row = [result["name"], f"{result['megabytes']:.1f}", result["vocabulary"], result["level"]]
    ours = result[systems.PROJECT]
    for name in run.systems:
        one = result[name]
        if "error" in one:
            print(f"\n{result['name']}, {name}: {one['error']}", file=sys.stderr)
            row += ["failed", "", "", "", ""]
            continue
        row += [f"{one['first']:.0f}", f"{one['later']:.0f}"]
        if name != systems.PROJECT:
            row += [f"{ours['first'] / one['first']:.1f}", f"{ours['later'] / one['later']:.1f}"]
        row.append("HF's" if one["same"] else "DIFFER")
    return row


def short(run: Run) -> Any:
    """Texts of a line, per call and in batches."""
    results = {}
    for level in run.levels:
        measured = run.measure(
            "short_texts.measure", level, corpus="en_books", vocabulary=ENGLISH[0], names=run.systems
        )
        results[level] = measured
        calls = [[name, f"{one['first']:.2f}", f"{one['later']:.2f}"] for name, one in measured["calls"].items()]
        title = f"One call for each text of {measured['length']:.0f} bytes, {level}: microseconds a call"
        table(title, ["system", "first", "later"], calls)
        batches = [[name, f"{one['short']:.0f}", f"{one['long']:.0f}"] for name, one in measured["batches"].items()]
        title = f"20,000 such texts in one call, beside the same text in long documents, {level}: MB/s, later passes"
        table(title, ["system", "short", "long"], batches)
    return results


def growth(run: Run) -> Any:
    """How time grows with the text."""
    results = {}
    for level in run.levels:
        measured = run.measure("growth.measure", level, corpus="en_books", vocabulary=ENGLISH[0])
        results[level] = measured
        rows = [
            [
                name,
                *(f"{seconds * 1e3:.1f}" for seconds in one["seconds"]),
                f"{max(one['factors']):.2f}",
                "yes" if max(one["factors"]) <= MOST else "NO",
            ]
            for name, one in measured.items()
        ]
        header = ["one document of", *(f"{size} MB" for size in SIZES), "most for twice the text", f"at most {MOST}"]
        table(f"Growth, {level}: CPU milliseconds", header, rows)
    return results


def memory(run: Run) -> Any:
    """What a process holds while a GB goes through."""
    results = {
        name: run.measure(
            "memory.measure", run.best, corpus="en_books", vocabulary=ENGLISH[0], name=name, megabytes=megabytes
        )
        for name, megabytes in ((name, 100.0 if name in systems.MOST_MEGABYTES else 1000.0) for name in run.systems)
    }
    columns = list(results[systems.PROJECT])
    rows = [
        [name, *(f"{held[column]:.0f}" if column in held else "" for column in columns)]
        for name, held in results.items()
    ]
    title = "Memory held after so much text, half of it words that were never seen, and at the peak: MB"
    table(title, ["system", *columns], rows)
    with tempfile.TemporaryDirectory() as folder:
        run.measure("memory.write_files", run.best, corpus="en_books", vocabulary=ENGLISH[0], folder=folder)
        beyond = worker.run("memory.beyond_output", run.best, folder=folder, megabytes=1000.0)
    title = "Memory that the project takes beyond its output while a GB of mapped text goes through: MB"
    table(title, [*beyond], [[f"{megabytes:.1f}" for megabytes in beyond.values()]])
    return {**results, "beyond output": beyond}


AUTOMATON_COLUMNS = ("vocabulary", "tokens", "compile s", "peak MB", "file MB", "bytes a token", "open ms")


def _automaton_row(name: str, one: dict[str, Any]) -> list[str]:
    figures = [one["compile"], one["peak"], one["size"] / 1e6, one["bytes_per_token"], one["open"] * 1e3]
    return [name, f"{one['tokens']:,}", *(f"{figure:.2f}" for figure in figures)]


def automata(run: Run) -> Any:
    """Compiling and opening the vocabularies, beside what it takes others to load them."""
    results = {}
    for name in sorted(path.parent.name for path in (run.shared / "vocabs").glob("*/tokenizer.json")):
        results[name] = run.measure("automata.measure", run.best, vocabulary=name, names=run.systems)
    rows = [
        [*_automaton_row(name, one), *(f"{one['peers'][peer] * 1e3:.0f}" for peer in run.peers)]
        for name, one in results.items()
    ]
    table("Automata", [*AUTOMATON_COLUMNS, *(f"{peer} loads, ms" for peer in run.peers)], rows)
    return results


def million(run: Run) -> Any:
    """A vocabulary of a million tokens."""
    result = run.measure("automata.measure_million", run.best, corpus="en_books", small=ENGLISH[0])
    table("A vocabulary of a million tokens", AUTOMATON_COLUMNS, [_automaton_row("made", result)])
    names = {"large": "a million", "small": ENGLISH[0]}
    rows = [[names[name], f"{one['first']:.0f}", f"{one['later']:.0f}"] for name, one in result["speed"].items()]
    table(f"en_books with it, {run.best}: MB/s", ["vocabulary", "first", "later"], rows)
    return result


TABLES: dict[str, Callable[[Run], Any]] = {
    "speed": speed,
    "unseen": unseen,
    "short": short,
    "growth": growth,
    "automata": automata,
    "million": million,
    "memory": memory,
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def several(known: Sequence[str]) -> Callable[[str], list[str]]:
        def names(value: str) -> list[str]:
            wanted = [name for name in value.split(",") if name]
            for name in wanted:
                if name not in known:
                    raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(known)}")
            return wanted

        return names

    parser.add_argument("--tables", type=several([*TABLES]), default=[*TABLES], help=f"some of {', '.join(TABLES)}")
    peers = [*systems.PEERS]
    parser.add_argument("--peers", type=several(peers), default=["nanotoken"], help=f"some of {', '.join(peers)}")
    parser.add_argument("--levels", type=several(LEVELS), default=[*LEVELS], help=f"some of {', '.join(LEVELS)}")
    parser.add_argument("--sets", default="*", help="patterns of names of corpora, or hostile; with commas between")
    parser.add_argument("--megabytes", default="", help="sizes of the English sets: 20 or 100, or both (the default)")
    parser.add_argument(
        "--processes", type=int, default=3, help="processes for each figure of speed, whose median counts"
    )
    parser.add_argument("--rounds", type=int, default=5, help="passes in each of them; small sets get more")
    parser.add_argument(
        "--batch", type=float, default=BATCH_MEGABYTES, help="MB of text in a call (default: %(default)g)"
    )
    parser.add_argument("--shared", type=Path, default=texts.shared_folder(), help="folder with corpora and vocabs")
    parser.add_argument("--json", type=Path, help="also write all results to this file")
    options = parser.parse_args()
    if not (options.shared / "corpora").is_dir():
        parser.error(f"{options.shared} has no folder corpora: name the folder with --shared or BEAM_WORDPIECE_SHARED")
    if options.rounds < 2:
        parser.error("--rounds: there have to be two at least, a first and a later one")
    return options


def main() -> int:
    """Print the tables; 1 where ids of the project are not HF's, or none of the levels is there."""
    options = arguments()
    levels = available_levels(options.levels)
    if not levels:
        return 1
    run = Run(
        shared=options.shared.resolve(),
        levels=levels,
        peers=options.peers,
        sets=options.sets.split(","),
        megabytes=[float(size) for size in options.megabytes.split(",") if size],
        processes=options.processes,
        rounds=options.rounds,
        batch=options.batch,
    )
    print(f"{os.cpu_count()} processors, levels {', '.join(levels)}")
    for name in options.tables:
        run.results[name] = TABLES[name](run)
        if options.json:
            options.json.write_text(json.dumps(run.results, indent=1) + "\n", encoding="utf-8")
    return 0 if all(one[systems.PROJECT]["same"] for one in run.results.get("speed", [])) else 1


if __name__ == "__main__":
    sys.exit(main())
