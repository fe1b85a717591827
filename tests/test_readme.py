"""What README.md shows in Python, and of the command, runs as it stands."""

import os
import re
import shutil
import subprocess
import sys
from codeop import compile_command
from pathlib import Path

import pytest

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from tests.conftest import ROOT

README = ROOT / "README.md"


def blocks(language: str) -> list[str]:
    """The code blocks of a language, in order."""
    return re.findall(rf"^```{language}\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, tokenizer_json: Path) -> Path:
    """A folder with the files that the examples name."""
    shutil.copy(tokenizer_json, tmp_path / "tokenizer.json")
    return tmp_path


def test_python_blocks(folder: Path) -> None:
    """All in one program, as a reader who follows the page would have it; it writes a mapped automaton and prints."""
    assert len(blocks("python")) >= 2
    (folder / "readme.py").write_text("\n".join(blocks("python")), encoding="utf-8")
    result = subprocess.run([sys.executable, "readme.py"], cwd=folder, capture_output=True, text=True, timeout=100)
    assert result.returncode == 0, result.stderr
    assert "[CLS]" in result.stdout
    assert (folder / "bert.bwp").is_file()


def test_python_blocks_can_be_pasted() -> None:
    """At the prompt of Python a statement with a body ends with an empty line; otherwise that is a SyntaxError."""
    for block in blocks("python"):
        statement = list[str]()
        for line in [*block.splitlines(), ""]:
            statement.append(line)
            if compile_command("\n".join(statement)) is not None:
                statement = []
        assert not statement, "\n".join(statement)


def test_shell_blocks(folder: Path) -> None:
    """Those of the command alone, one after the other, behind the automaton of the first block in Python."""
    starts = ("beam-wordpiece ", "printf ")
    of_the_command = [block for block in blocks("sh") if all(line.startswith(starts) for line in block.splitlines())]
    assert len(of_the_command) >= 4
    command = folder / "bin/beam-wordpiece"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m beam_wordpiece.cli "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    script = "set -e\n" + "".join(of_the_command)
    if shutil.which("dot") is None:
        script = script.replace(".svg", ".dot")
    path = f"{command.parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["sh", "-c", script], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=100
    )
    assert result.returncode == 0, result.stderr
    assert "h ##ay ##stack" in result.stdout
    assert "she" in result.stdout.splitlines()[-3]


def test_what_inspect_prints(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The figures of the example are those of the automaton that the page makes."""
    bw.Automaton.compile(folder / "tokenizer.json").save(folder / "bert.bwp")
    assert main(["inspect", str(folder / "bert.bwp")]) == 0
    printed = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
    (example,) = (block for block in blocks("text") if block.startswith("fingerprint"))
    for line in example.splitlines():
        name, value = line[:33].split(), line[33:68].split()
        assert any(row[: len(name)] == (*name,) and row[len(name) :][: len(value)] == (*value,) for row in printed)
    assert "16,689" in example


def test_modules_and_files_that_commands_name_exist() -> None:
    shell = "\n".join(blocks("sh"))
    modules = set(re.findall(r"-m (pipelines\.\w+)", shell))
    assert "pipelines.quickstart" in modules
    for module in modules:
        assert (ROOT / module.replace(".", "/")).with_suffix(".py").is_file()
    for name in re.findall(r"\]\((?!http)([^)#]+)\)", README.read_text(encoding="utf-8")):
        assert (ROOT / name).exists(), f"README.md links to {name}, which does not exist"
    for name in re.findall(r"configs/\w+\.yaml", README.read_text(encoding="utf-8")):
        assert (ROOT / name).is_file()


def test_the_two_commands_set_up_everything_themselves() -> None:
    """Each makes the environment and installs the package, and can be given alone."""
    marked = dict(re.findall(r"<!-- command: (\w+) -->\n```sh\n(.*?)\n```", README.read_text(encoding="utf-8")))
    assert set(marked) == {"quickstart", "test"}
    for command in marked.values():
        assert command.startswith("python3 -m venv .venv && .venv/bin/pip install ")
        assert "\n" not in command
