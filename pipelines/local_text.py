"""Real text for the quickstart and the tests without a download: the documentation that Python and packages carry."""

import ast
import importlib.metadata
import importlib.util
import itertools
import os
import sysconfig
import warnings
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS: list[tuple[str, pa.DataType]] = [("id", pa.int64()), ("source", pa.string()), ("text", pa.string())]
DEFINITIONS = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
# Test suites hold files that are not valid Python on purpose, and site-packages has its own entry.
LEFT_OUT = {"site-packages", "dist-packages", "test", "tests", "idlelib", "lib2to3"}


def documents() -> Iterator[tuple[str, str, str]]:
    """Real text: (file, source, text), in an order that is always the same for the same installation.

    `file` groups the documents into a few files, `source` names a topic, distribution or module. No text is empty.
    """
    for topic, text in sorted(_topics().items()):
        yield "topics", topic, text
    for name, text in sorted(_descriptions().items()):
        yield "descriptions", name, text
    for module, text in _docstrings(Path(sysconfig.get_paths()["stdlib"])):
        yield "stdlib", module, text
    for module, text in _docstrings(_folder_of("apache_beam"), "apache_beam"):
        yield "beam", module, text


def _topics() -> dict[str, str]:
    """The reference manual of the language, as `help()` shows it."""
    from pydoc_data.topics import topics

    return {name: text for name, text in topics.items() if text.strip()}


def _descriptions() -> dict[str, str]:
    """The README of every installed distribution, as its metadata hold it."""
    found = {}
    for distribution in importlib.metadata.distributions():
        text = distribution.metadata.get("Description") or distribution.metadata.get_payload()  # type: ignore[attr-defined]
        if isinstance(text, str) and text.strip():
            found[distribution.metadata["Name"]] = text
    return found


def _folder_of(package: str) -> Path:
    """The folder of an installed package, without importing it."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(f"{package} is not installed")
    return Path(spec.origin).parent


def _docstrings(root: Path, *package: str) -> Iterator[tuple[str, str]]:
    """The docstrings of each module below `root`, the folder of `package`, as one text: (dotted name, text)."""
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).with_suffix("").parts
        if LEFT_OUT.isdisjoint(parts) and not parts[-1].endswith("_test"):
            text = "\n\n".join(_docstrings_of(path))
            if text:
                yield ".".join((*package, *parts)).removesuffix(".__init__"), text


def _docstrings_of(path: Path) -> Iterator[str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some modules hold escapes that Python warns of
            tree = ast.parse(path.read_bytes())
    except (SyntaxError, ValueError):  # a template, or Python of another version
        return
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS) and (docstring := ast.get_docstring(node)):
            yield docstring


def write_parquet(folder: Path) -> None:
    """Write the documents to `folder`, a Parquet file for each kind, with columns id, source and text.

    `folder` must not exist; it appears when it is whole.
    """
    draft = folder.with_name(f"{folder.name}.{os.getpid()}")
    draft.mkdir(parents=True)
    numbers = itertools.count()
    for file, group in itertools.groupby(documents(), key=lambda document: document[0]):
        rows = [{"id": next(numbers), "source": source, "text": text} for _, source, text in group]
        pq.write_table(pa.Table.from_pylist(rows, pa.schema(COLUMNS)), draft / f"{file}.parquet", compression="zstd")
    draft.rename(folder)
