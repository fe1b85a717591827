"""One measurement in a process of its own, so that what another left in memory or in caches has no part in it.

    python -m benchmarks.worker MODULE.FUNCTION '{"argument": ...}'

Prints the result as one line of JSON. The level of vector instructions is read once in a process, from
BEAM_WORDPIECE_SIMD: so each level is one run.
"""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
from typing import Any

from benchmarks.texts import ROOT

TASKS = (
    "speed.measure",
    "speed.unseen",
    "short_texts.measure",
    "growth.measure",
    "memory.measure",
    "memory.write_files",
    "memory.beyond_output",
    "automata.measure",
    "automata.measure_million",
    "worker.level",
)

# One thread is measured; TensorFlow is told to keep its greetings to itself.
ENVIRONMENT = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


def level() -> str:
    """The level of vector instructions of this process."""
    from beam_wordpiece import _core

    return _core.simd_level()


def run(task: str, level: str, *, quiet: bool = False, **arguments: Any) -> Any:
    """Run a task in a process of its own. Raises CalledProcessError; the process's standard error is shown, or quietly

    kept as `stderr` of the exception.
    """
    environment = {**os.environ, **ENVIRONMENT, "BEAM_WORDPIECE_SIMD": level}
    command = [sys.executable, "-m", "benchmarks.worker", task, json.dumps(arguments)]
    errors = subprocess.PIPE if quiet else None
    done = subprocess.run(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, check=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    task, arguments = sys.argv[1:]
    if task not in TASKS:
        raise SystemExit(f"there is no measurement {task}; there are {', '.join(TASKS)}")
    module, function = task.split(".")
    print(json.dumps(getattr(importlib.import_module(f"benchmarks.{module}"), function)(**json.loads(arguments))))


if __name__ == "__main__":
    main()
