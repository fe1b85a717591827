"""How many instructions a byte of text costs, counted by callgrind: figures that the machine's noise does not move.

    python -m benchmarks.instructions             # compare with the recorded figures
    python -m benchmarks.instructions --record    # write those of this working copy

The example `instructions` of the kernel is built as a wheel would be and encodes made text, the same on every machine.
Valgrind knows no AVX-512, so that level is not counted. Needs valgrind and cargo. Another compiler may count some per
cent differently; the file names the one that it was recorded with.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
MANIFEST = ROOT / "beam_wordpiece" / "native" / "Cargo.toml"
RECORDED = Path(__file__).with_name("instructions.json")

LEVELS = ("portable", "avx2")
TOLERANCE = 0.10
"""What a figure may differ from the recorded one, as a part of that."""

Figures = dict[str, float]
"""Instructions a byte, by kind of text."""


class CannotCountError(Exception):
    """Something is missing on this machine; the message says what."""


def require_tools() -> None:
    """Raises CannotCountError where valgrind or cargo is missing."""
    for tool in ("valgrind", "cargo"):
        if shutil.which(tool) is None:
            raise CannotCountError(f"instructions are counted with {tool}, which is not installed")


def build() -> Path:
    """Compile the example and return its path. Raises CalledProcessError, with what cargo said on standard error."""
    command = ["cargo", "build", "--release", "--locked", "--quiet", "--message-format=json"]
    example = [f"--manifest-path={MANIFEST}", "--package=wordpiece", "--example=instructions"]
    built = subprocess.run([*command, *example], stdout=subprocess.PIPE, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines()]
    (executable,) = {message["executable"] for message in messages if message.get("executable")}
    return Path(executable)


def count(program: Path, level: str) -> Figures:
    """Run the example at a level of vector instructions. Raises CannotCountError where valgrind lacks the level.

    Counting begins and ends with the function `measured`, and each of its calls leaves a file of its own.
    """
    with tempfile.TemporaryDirectory() as folder:
        profile = Path(folder) / "profile"
        command = [
            *("valgrind", "--quiet", "--tool=callgrind", f"--callgrind-out-file={profile}"),
            *("--toggle-collect=instructions::measured", "--dump-after=instructions::measured"),
            *(str(program), level),
        ]
        ran = subprocess.run(command, capture_output=True, text=True)
        if "this processor has the levels" in ran.stderr:
            raise CannotCountError(f"under valgrind: {ran.stderr.strip()}")
        if ran.returncode:
            raise RuntimeError(f"{' '.join(command)}: {ran.stderr}")
        calls = [line.split("\t") for line in ran.stdout.splitlines()]
        return {
            kind: round(_instructions(profile.with_name(f"profile.{number}")) / int(size), 2)
            for number, (kind, size) in enumerate(calls, 1)
        }


def _instructions(profile: Path) -> int:
    """The total of a file of callgrind's."""
    found = re.search(r"^totals: (\d+)$", profile.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None or found[1] == "0":
        raise RuntimeError("callgrind counted nothing: does the example still have a function `measured`?")
    return int(found[1])


def compiler() -> str:
    """The version of the Rust compiler."""
    said = subprocess.run(["rustc", "--version"], cwd=MANIFEST.parent, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def recorded() -> dict[str, Any]:
    """`compiler`: the version it was recorded with; `instructions_per_byte`: figures by level and kind of text."""
    content: dict[str, Any] = json.loads(RECORDED.read_text(encoding="utf-8"))
    return content


def differences(level: str, figures: Figures) -> list[str]:
    """For each kind of text whose figure is not within the tolerance of the recorded one, a sentence."""
    expected: Figures = recorded()["instructions_per_byte"][level]
    if expected.keys() != figures.keys():
        return [f"{level}: {', '.join(expected)} are recorded and {', '.join(figures)} were counted"]
    changes = {kind: figure / expected[kind] - 1 for kind, figure in figures.items()}
    return [
        f"{level}, {kind}: {figures[kind]} instructions a byte, {change:+.0%} of the recorded {expected[kind]}"
        for kind, change in changes.items()
        if abs(change) > TOLERANCE
    ]


def main() -> int:
    """Count, print, and compare or record; 1 where something differs, 2 where it cannot be counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", action="store_true", help="write the figures to " + RECORDED.name)
    options = parser.parse_args()
    try:
        require_tools()
        program = build()
        counted = {level: count(program, level) for level in LEVELS}
    except CannotCountError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{'instructions a byte':20s}" + "".join(f"{level:>10s}" for level in LEVELS))
    for kind in counted[LEVELS[0]]:
        print(f"{kind:20s}" + "".join(f"{counted[level][kind]:10.2f}" for level in LEVELS))
    if options.record:
        content = {"compiler": compiler(), "instructions_per_byte": counted}
        RECORDED.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        return 0
    different = [sentence for level in LEVELS for sentence in differences(level, counted[level])]
    print("\n".join(different or [f"all within {TOLERANCE:.0%} of what is recorded"]))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
