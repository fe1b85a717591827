"""`FindKeywords` and `FindKeywordsInTables`: what `Dictionary` finds, by way of a pipeline."""

from pathlib import Path
from typing import Any

import apache_beam as beam
import pyarrow as pa
import pytest
from apache_beam.metrics.metric import MetricsFilter
from apache_beam.options.pipeline_options import PipelineOptions

import beam_wordpiece as bw
from beam_wordpiece import keyword_transforms
from beam_wordpiece.config import FileSettings
from beam_wordpiece.transforms import NAMESPACE
from tests.test_dictionary_beam import collect

ENTRIES = ["he:1", "she:2", "his:3", "hers:4", "é中:5"]
TEXTS = ["ushers", None, "", "hershishe", "aé中 é", "xyz"]


@pytest.fixture(params=[False, True])
def overlapping(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def path(tmp_path: Path) -> str:
    bw.Dictionary(ENTRIES).save(tmp_path / "d.bwp")
    return str(tmp_path / "d.bwp")


def find(text: str, overlapping: bool) -> list[tuple[int, int, str]]:
    dictionary = bw.Dictionary(ENTRIES)
    return dictionary.find(text, overlapping=overlapping)


def counted(transform: Any, elements: list[Any]) -> dict[str, int]:
    pipeline = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))
    _ = pipeline | beam.Create(elements) | transform
    result = pipeline.run()
    result.wait_until_finish()
    counters = result.metrics().query(MetricsFilter().with_namespace(NAMESPACE))["counters"]
    return {counter.key.metric.name: counter.result for counter in counters}


def test_strings(tmp_path: Path, path: str, overlapping: bool) -> None:
    texts = [text for text in TEXTS if text is not None]
    transform = bw.FindKeywords(path, overlapping=overlapping)
    assert collect(tmp_path, texts, transform) == [find(text, overlapping) for text in texts]
    counts = counted(bw.FindKeywords(path, overlapping=overlapping), texts)
    occurrences = sum(len(find(text, overlapping)) for text in texts)
    size = sum(len(text.encode()) for text in texts)
    # Only what is said there: no count that means something else than its name.
    assert counts == {"documents": 5, "nulls": 0, "bytes": size, "occurrences": occurrences, "invalid": 0}
    pipeline = beam.Pipeline(runner="FnApiRunner", options=PipelineOptions([]))
    typed = pipeline | beam.Create(["he"]) | bw.FindKeywords(path)
    assert typed.element_type == beam.typehints.List[beam.typehints.Tuple[int, int, str]]


def test_tables(tmp_path: Path, path: str, overlapping: bool) -> None:
    table = pa.table({"n": range(len(TEXTS)), "text": TEXTS})
    (found,) = collect(tmp_path, [table], bw.FindKeywordsInTables(path, overlapping=overlapping))
    struct = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("id", pa.string())])
    assert found.schema == pa.schema({"n": pa.int64(), "keywords": pa.list_(struct)})
    assert found.column("keywords").combine_chunks() == bw.Dictionary.open(path).find_arrow(
        pa.array(TEXTS), overlapping=overlapping
    )
    assert found.column("n").to_pylist() == list(range(len(TEXTS)))


def test_columns_of_tables(tmp_path: Path, path: str) -> None:
    table = pa.table({"n": [1, 2], "body": [{"a": 1, "t": "she"}, None], "more": ["x", "y"]})
    transform = bw.FindKeywordsInTables(path, text_column="body.t", columns=["n"], keep_text=True)
    (found,) = collect(tmp_path, [table], transform)
    assert found.column_names == ["n", "body", "keywords"]
    assert found.column("keywords").to_pylist() == [[{"start": 0, "end": 3, "id": "2"}], None]
    (tmp_path / "empty").mkdir()
    (empty,) = collect(tmp_path / "empty", [table.slice(0, 0)], transform)
    assert (empty.num_rows, empty.schema) == (0, found.schema)
    shown = transform.display_data()
    assert (shown["dictionary"], shown["overlapping"], shown["text_column"]) == (path, False, "body.t")
    assert bw.FindKeywords(path, overlapping=True).display_data()["overlapping"]


def test_what_is_refused(tmp_path: Path, path: str, automaton: bw.Automaton) -> None:
    vocabulary, backward = str(tmp_path / "a.bwp"), str(tmp_path / "b.bwp")
    automaton.save(vocabulary)
    bw.Dictionary(ENTRIES, backward=True).save(backward)
    for transform in (bw.FindKeywords, bw.FindKeywordsInTables):
        with pytest.raises(bw.AutomatonError, match=r"not a dictionary.*; keywords are found by a dictionary"):
            transform(vocabulary)
        with pytest.raises(bw.ConfigError, match="backward=True finds no keywords"):
            transform(backward)
        with pytest.raises(bw.ConfigError, match="errors has to be"):
            transform(path, errors="ignore")
        dictionary: Any = bw.Dictionary.open(path)
        with pytest.raises(TypeError, match="The dictionary has to be the path of its file, not Dictionary"):
            transform(dictionary)
    for table, errors, fault in (
        (pa.table({"t": ["a"]}), "replace", "The table has no column 'text'"),
        (pa.table({"text": ["a"], "keywords": ["a"]}), "replace", "has a column keywords already"),
        (pa.table({"text": [b"a", b"\xff"]}), "error", "The table, row 1: the text of 'text' is not UTF-8"),
    ):
        with pytest.raises(bw.InputError, match=fault):
            counted(bw.FindKeywordsInTables(path, errors=errors), [table])


def test_lone_surrogates(path: str) -> None:
    # Beam's coder of strings refuses them where it sees them, which is not before every step.
    texts = ["she", "he\ud800he"]
    lenient = keyword_transforms._FindInStrings(path, FileSettings(), False)
    lenient.setup()
    lists, counts = lenient._encode(texts)
    assert [lenient._value(row.as_py()) for row in lists] == [[(0, 3, "2")], [(0, 2, "1"), (3, 5, "1")]]
    assert (counts.documents, counts.invalid) == (2, 1)
    strict = keyword_transforms._FindInStrings(path, FileSettings(errors="error"), False)
    strict.setup()
    with pytest.raises(bw.TextError, match="lone surrogate"):
        strict._encode(texts)


def test_what_workers_find_in_the_place_of_a_dictionary(tmp_path: Path, automaton: bw.Automaton) -> None:
    """A file that comes only after the pipeline was built."""
    path = str(tmp_path / "later.bwp")
    transform = bw.FindKeywords(path)
    with pytest.raises(bw.AutomatonError, match=r"later\.bwp cannot be opened on a worker"):
        counted(transform, ["a"])
    automaton.save(path)
    with pytest.raises(bw.AutomatonError, match=r"keywords are found by a dictionary \(`beam-wordpiece"):
        counted(transform, ["a"])
    bw.Dictionary(ENTRIES).save(path)
    assert counted(transform, ["she"])["occurrences"] == 1
