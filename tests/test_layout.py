"""Imports go one way: a module imports modules of its own layer or of those before it, and never in a circle."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LAYERS: list[set[str]] = [
    {"errors"},
    {"checks", "files", "sizes", "terminal"},
    {"settings", "config", "command_line"},
    {"bpe", "json_file", "normal_form", "normal_form_json"},
    {"vocab_types", "tokenizer_json", "tokenizer_folder", "vocab", "vocab_writer", "convert"},
    {"arrow_text"},
    {"automaton"},
    {"tokenizer"},
    {"dictionary_ids", "dictionary_entries"},
    {"dictionary", "stream", "keyword_stream"},
    {"vocab_source"},
    {"show.split", "show.subject"},
    {"show.matching", "show.trace", "show.trie", "show.draw", "show.commands"},
    {"parquet", "parquet_writer", "documents", "parquet_source", "text_source", "sources"},
    {"file_texts", "fewest_report", "find_command"},
    {"chunks.settings", "chunks.elements", "chunks.faults", "chunks.spool", "chunks.encode"},
    {"storage", "io", "transforms", "keyword_transforms"},
    {"chunks.dofn", "chunks.groups", "chunks.progress", "chunks.states", "chunks.transforms"},
    {"cli"},
    {"__main__"},
]
# In plain Python, for reading: it takes nothing from the rest.
APART = {"reference"}
MAY_IMPORT_CORE = {"automaton", "tokenizer", "dictionary", "stream", "keyword_stream"}
MAY_IMPORT_BEAM = {
    "storage",
    "io",
    "transforms",
    "keyword_transforms",
    "chunks.dofn",
    "chunks.states",
    "chunks.transforms",
    "cli",
}

PACKAGE = ROOT / "beam_wordpiece"
PATHS = [path for path in PACKAGE.rglob("*.py") if "native" not in path.relative_to(PACKAGE).parts]
MODULES = {".".join(path.relative_to(PACKAGE).with_suffix("").parts): path for path in PATHS if path.stem != "__init__"}
LAYER_OF = {name: number for number, layer in enumerate(LAYERS) for name in layer}


def imports(path: Path) -> set[str]:
    """The dotted names of everything that a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write imports in full"
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def own(path: Path) -> set[str]:
    """The modules of the package that a file imports."""
    names = [name.split(".")[1:] for name in imports(path) if name.startswith("beam_wordpiece.")]
    return {".".join(name[:2]) if ".".join(name[:2]) in MODULES else name[0] for name in names}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_a_module_imports_only_what_comes_before_it(name: str) -> None:
    if name in APART:
        assert own(MODULES[name]) == set()
        return
    assert name in LAYER_OF, f"give {name}.py a place in LAYERS"
    after = {other for other in own(MODULES[name]) - {"_core"} - APART if LAYER_OF[other] > LAYER_OF[name]}
    assert after == set()


def test_no_module_imports_itself_in_a_circle() -> None:
    # static_order raises CycleError, which names the circle.
    order = list(graphlib.TopologicalSorter({name: own(path) for name, path in MODULES.items()}).static_order())
    assert set(MODULES) <= set(order)


def test_only_few_modules_touch_the_compiled_one() -> None:
    assert {name for name, path in MODULES.items() if "_core" in own(path)} <= MAY_IMPORT_CORE


def test_only_few_modules_import_beam() -> None:
    beam = {name for name, path in MODULES.items() if any(i.split(".")[0] == "apache_beam" for i in imports(path))}
    assert beam <= MAY_IMPORT_BEAM


def test_no_module_of_the_package_imports_pipelines_or_tests() -> None:
    for path in MODULES.values():
        assert not {name.split(".")[0] for name in imports(path)} & {"pipelines", "tests"}, path


def test_tokenizing_does_not_import_beam() -> None:
    program = """
import sys
import beam_wordpiece, beam_wordpiece.cli
assert "apache_beam" not in sys.modules
assert "TokenizeFiles" in dir(beam_wordpiece)
try:
    beam_wordpiece.nothing
except AttributeError as error:
    assert "nothing" in str(error)
sys.modules["apache_beam"] = None
try:
    beam_wordpiece.TokenizeFiles
except ImportError as error:
    assert "pip install 'beam-wordpiece[beam]'" in str(error), error
else:
    raise AssertionError("the transforms do without Beam")
"""
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


def test_the_rust_core_knows_neither_python_nor_arrow() -> None:
    crate = ROOT / "beam_wordpiece" / "native" / "core"
    sources = [crate / "Cargo.toml", *crate.rglob("*.rs")]
    assert len(sources) > 1
    for path in sources:
        text = path.read_text(encoding="utf-8")
        assert not [name for name in ("pyo3", "arrow_array", "arrow_data", "arrow_schema") if name in text], path


def test_files_are_short() -> None:
    others = [path for folder in ("pipelines", "tests") for path in (ROOT / folder).glob("*.py")]
    long = {
        str(path.relative_to(ROOT)): lines
        for path in [*PATHS, *others]
        if (lines := path.read_text(encoding="utf-8").count("\n")) >= 400
    }
    assert long == {}
