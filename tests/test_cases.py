"""The cases that stand for public reports of what tokenizers, columns and pipelines get wrong.

A case is `config`, `input` and `expected`; `task` in its config says how they are to be read.
"""

import copy
import json
import pickle
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from apache_beam import Create, Pipeline
from apache_beam.testing.util import assert_that, equal_to
from apache_beam.typehints.decorators import TypeCheckError

import beam_wordpiece as bw
from beam_wordpiece.config import FileSettings
from beam_wordpiece.io import FileTask, tokenize_file
from tests.conftest import ROOT, shared_folder
from tests.oracle import tokenizer_json
from tests.test_concurrency import THREADS, finished, with_given

# Whole cases that wait for a feature.
WAITING = {
    "off-words": "words that were split before (`encode_words`)",
    "trunc-strategies": "pairs and truncation",
    "trunc-errors": "pairs and truncation",
}
# Parts of an expected encoding that wait for a feature.
WAITING_PARTS = {"type_ids": "pairs"}
# About a part of Beam that this package does not use.
DOES_NOT_ARISE = {"beam-side-singleton": "the automaton reaches the workers as a file, not as a side input"}

OPTIONS = {"lowercase", "strip_accents", "clean_text", "handle_chinese_chars", "prefix", "max_chars", "template"}
Case = dict[str, Any]
Make = Callable[..., bw.Tokenizer]


def expand(value: Any) -> Any:
    """A text that a case describes instead of writing it out."""
    if isinstance(value, dict) and set(value) == {"repeat"}:
        unit, count = value["repeat"]
        return unit * count
    if isinstance(value, dict) and set(value) == {"concat"}:
        return "".join(map(expand, value["concat"]))
    return value


def configurations(case: Case) -> list[Case]:
    """The config with each of its overrides."""
    config = case["config"]
    return [{**config, **override} for override in config.get("overrides", [{}])]


def waits(case: Case) -> bool:
    """Whether a case cannot be answered without a feature that is not there."""
    pairs = case["config"]["task"] != "decode" and any(isinstance(text, list) for text in case["input"])
    return pairs or any(config["task"] == "encode_words" or "truncation" in config for config in configurations(case))


def automaton_of(config: Case, shared: Path, folder: Path) -> bw.Automaton:
    """Compile what a config describes. A named vocabulary is that of the folder; the config says all else."""
    vocabulary = config["vocab"]
    if isinstance(vocabulary, str):
        vocabulary = (shared / "vocabs" / vocabulary / "vocab.txt").read_text(encoding="utf-8").removesuffix("\n")
        vocabulary = vocabulary.split("\n")
    added = [{"content": token, "special": True} for token in config.get("special_tokens", [])]
    added += [{"content": token, "normalized": True} for token in config.get("added_tokens", [])]
    options = {name: value for name, value in config.items() if name in OPTIONS}
    path = folder / "tokenizer.json"
    path.write_text(tokenizer_json(vocabulary, added_tokens=added, **options), encoding="utf-8")
    return bw.Automaton.compile(path)


@pytest.fixture
def make(shared: Path, tmp_path: Path) -> Make:
    """A function from a config to a tokenizer."""

    def made(config: Case, **options: Any) -> bw.Tokenizer:
        return bw.Tokenizer(automaton_of(config, shared, tmp_path), **options)

    return made


# Tasks: each compares what a case expects with what there is -------------------------------------------------------


def normalize(case: Case, make: Make, folder: Path) -> None:
    """Seen through a vocabulary of the single characters that are expected: any other would be [UNK]."""
    characters = sorted(set("".join(case["expected"])) - {" "})
    tokenizer = make({**case["config"], "vocab": ["[UNK]", *characters, *("##" + c for c in characters)]})
    for text, expected in zip(case["input"], case["expected"], strict=True):
        tokens = tokenizer.encode(text).tokens
        assert "".join(t.removeprefix("##") if t.startswith("##") else " " + t for t in tokens) == " " + expected


def encode(case: Case, make: Make, folder: Path) -> None:
    for config in configurations(case):
        every = case["expected"] if case["config"]["task"] != "encode_configs" else case["expected"].pop(0)
        tokenizer = make(config, errors="error")
        for text, expected in zip(case["input"], every, strict=True):
            check_encoding(tokenizer, expand(text), expected)


def check_encoding(tokenizer: bw.Tokenizer, text: Any, expected: Case) -> None:
    if "error" in expected:
        with pytest.raises((TypeError, bw.TextError), match=r"has to be a str|surrogate"):
            tokenizer.encode(text)
        return
    encoding = tokenizer.encode(text)
    assert (encoding.tokens, encoding.ids) == (expected["tokens"], expected["ids"]), text
    if "offsets" in expected:
        assert encoding.offsets == [tuple(ends) for ends in expected["offsets"]], text
    if "word_ids" in expected:
        assert encoding.word_ids == expected["word_ids"], text


def summary(case: Case, make: Make, folder: Path) -> None:
    tokenizer = make(case["config"])
    start = time.monotonic()
    for text, expected in zip(map(expand, case["input"]), case["expected"], strict=True):
        tokens = tokenizer.encode(text).tokens
        assert (len(tokens), sorted(set(tokens)), tokens[:3]) == (
            expected["n"],
            expected["distinct"],
            expected["first"],
        )
    assert time.monotonic() - start < case["config"]["max_seconds"]


def decode(case: Case, make: Make, folder: Path) -> None:
    tokenizer = make(case["config"])
    assert [tokenizer.decode(ids) for ids in case["input"]] == case["expected"]


def vocab_file(case: Case, make: Make, folder: Path) -> None:
    """Refused as it is; read as HF reads it where that is asked for, unless it lacks [UNK]: HF would fail later."""
    path = folder / "vocab.txt"
    path.write_bytes(bytes.fromhex(case["input"]["hex"]))
    with pytest.raises(bw.VocabularyError, match=r"vocab\.txt"):
        bw.Automaton.compile(path)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        if any("error" in expected for expected in case["expected"]["texts"]):
            with pytest.raises(bw.VocabularyError, match=r"vocab\.txt.*\[UNK\]"):
                bw.Automaton.compile(path, doubtful_lines="warn")
            return
        automaton = bw.Automaton.compile(path, doubtful_lines="warn")
    assert [warning.category for warning in warned] == [bw.VocabularyWarning]
    for token, number in case["expected"]["vocab"]:
        assert automaton.id(token) == number
    for text, expected in zip(case["input"]["texts"], case["expected"]["texts"], strict=True):
        check_encoding(bw.Tokenizer(automaton, add_special_tokens=False), text, expected)


def same_after(case: Case, make: Make, folder: Path) -> None:
    tokenizer, expected = make(case["config"]), case["expected"]["ids"]
    tokenizer.automaton.save(folder / "saved.bwp")
    others = [tokenizer, copy.deepcopy(tokenizer), pickle.loads(pickle.dumps(tokenizer))]
    others.append(bw.Tokenizer(bw.Automaton.open(folder / "saved.bwp")))
    for other in others:
        assert [other.encode(text).ids for text in case["input"]] == expected
    # Threads and forks at length: test_concurrency.
    assert THREADS >= 4
    assert finished(in_new_process(), [(tokenizer, case["input"])], with_given) == [expected]


def in_new_process() -> Any:
    import multiprocessing

    return multiprocessing.get_context("spawn").Pool(1)


def arrow_rows(case: Case, make: Make, folder: Path) -> None:
    tokenizer = make(case["config"])
    for layout, expected in zip(case["config"]["layouts"], case["expected"], strict=True):
        array = lay_out(layout, case["input"])
        assert array.to_pylist() == expected["logical"]
        column = tokenizer.encode_arrow(array).column("input_ids")
        column.validate(full=True)
        assert column.to_pylist() == expected["rows"]
        assert (column.offsets.to_pylist(), column.null_count) == (expected["list_offsets"], expected["nulls"])


def lay_out(layout: Case, rows: list[str | None]) -> Any:
    """The rows as an Arrow array: from buffers, as a dictionary, in chunks, or of the null type."""
    if raw := layout.get("raw"):
        width = {"string": pa.int32(), "large_string": pa.int64()}[raw["type"]]
        validity = None if raw["validity"] is None else pa.py_buffer(bytes.fromhex(raw["validity"]))
        buffers = [validity, pa.array(raw["offsets"], width).buffers()[1], pa.py_buffer(bytes.fromhex(raw["data"]))]
        kind = pa.type_for_alias(raw["type"])
        return pa.Array.from_buffers(kind, raw["length"], buffers, offset=raw["offset"])
    if dictionary := layout.get("dictionary"):
        indices = pa.array(dictionary["indices"], pa.type_for_alias(dictionary["index_type"]))
        return pa.DictionaryArray.from_arrays(indices, pa.array(dictionary["values"])).slice(*dictionary["slice"])
    if "chunks" in layout:
        chunks, start = [], 0
        for size in layout["chunks"]:
            chunks.append(rows[start : start + size])
            start += size
        return pa.chunked_array(chunks, pa.type_for_alias(layout["type"]))
    return pa.nulls(layout["length"])


def arrow_parquet_batches(case: Case, make: Make, folder: Path) -> None:
    tokenizer, values = make(case["config"]), [expand(value) for value in case["input"]]
    ids = [None if text is None else tokenizer.encode(text).ids for text in values]
    for found, expected in zip(ids, case["expected"]["per_value_ids"], strict=True):
        if expected is None:
            assert found is None
        else:
            assert (len(found), found[: len(expected["first"])]) == (expected["n"], expected["first"])
    for rows in case["config"]["rows"]:
        column = [values[row % len(values)] for row in range(rows)]
        pq.write_table(pa.table({"text": pa.array(column, pa.string())}), folder / "rows.parquet", row_group_size=100)
        for size in case["config"]["batch_sizes"]:
            encoded = [
                row
                for batch in pq.ParquetFile(folder / "rows.parquet").iter_batches(size)
                for row in tokenizer.encode_arrow(batch.column("text")).column("input_ids").to_pylist()
            ]
            assert encoded == [ids[row % len(ids)] for row in range(rows)]


def small_tokenizer() -> bw.Tokenizer:
    """For cases that are not about a vocabulary."""
    return bw.Tokenizer(bw.Automaton.compile(ROOT / "tests" / "data" / "tokenizer.json"))


def tokenized(folder: Path, table: pa.Table, tokenizer: bw.Tokenizer, row_group_size: int = 100) -> pa.Table:
    """The table through a file, the file through the job of one file, with its text."""
    pq.write_table(table, folder / "in.parquet", row_group_size=row_group_size)
    task = FileTask(str(folder / "in.parquet"), str(folder / "out.parquet"))
    settings = FileSettings(text_column="t", keep_text=True, existing="overwrite")
    tokenize_file(task, tokenizer, settings, lambda counts, size: None)
    return pq.read_table(folder / "out.parquet")


def beam_write(case: Case, make: Make, folder: Path) -> None:
    """A column that is declared not null stays so in the output."""
    fields = [pa.field(name, pa.type_for_alias(kind), nullable) for name, kind, nullable in case["input"]["schema"]]
    expected = case["expected"]["first_row"]
    output = tokenized(folder, pa.Table.from_pylist(expected["rows"], pa.schema(fields)), small_tokenizer())
    kept = [output.schema.field(name) for name, _, _ in case["input"]["schema"]]
    assert [f"{field.type}{'' if field.nullable else ' not null'}" for field in kept] == expected["types"]
    assert output.select(["id", "t"]).to_pylist() == expected["rows"]


def beam_return(case: Case, make: Make, folder: Path) -> None:
    """A str gives one element, never one for each character; what is no str is known when the pipeline is built."""
    tokenizer = small_tokenizer()
    tokenizer.automaton.save(folder / "small.bwp")
    with Pipeline("FnApiRunner") as pipeline:
        ids = pipeline | Create(["abc"]) | bw.Tokenize(folder / "small.bwp")
        assert_that(ids, equal_to([tokenizer.encode("abc").ids]))
    with pytest.raises(TypeCheckError, match="expected <class 'str'>"):
        _ = Pipeline("FnApiRunner") | Create([case["input"]["values"][2]]) | bw.Tokenize(folder / "small.bwp")


def beam_read(case: Case, make: Make, folder: Path) -> None:
    """Every type of text column gives the same ids, a null a null row."""
    tokenizer, values = small_tokenizer(), case["input"]["values"]
    expected = [None if text is None else tokenizer.encode(text).ids for text in values]
    for name in case["input"]["types"]:
        array = pa.nulls(len(values)) if name == "null" else pa.array(values)
        if name == "dictionary":
            array = array.dictionary_encode()
        elif name != "null":
            array = array.cast(pa.type_for_alias(name))
        output = tokenized(folder, pa.table({"t": array}), tokenizer, case["input"]["row_group_size"])
        assert output["input_ids"].to_pylist() == ([None] * len(values) if name == "null" else expected)


TASKS = {
    "encode_configs": encode,
    "encode_each": encode,
    **{
        task.__name__: task
        for task in (normalize, encode, summary, decode, vocab_file, same_after, arrow_rows, arrow_parquet_batches)
    },
    **{task.__name__: task for task in (beam_write, beam_return, beam_read)},
}


def read_cases() -> dict[str, Case]:
    """All cases by id; none where they are not there."""
    path = shared_folder() / "cases" / "cases.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
    return {case["id"]: case for case in map(json.loads, lines)}


CASES = read_cases()


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("name", [name for name in CASES if name not in {*WAITING, *DOES_NOT_ARISE}] or ["all of them"])
def test_case(name: str, make: Make, tmp_path: Path) -> None:
    case = copy.deepcopy(CASES[name])
    TASKS[case["config"]["task"]](case, make, tmp_path)


@pytest.mark.usefixtures("shared")
def test_what_waits_is_what_needs_features_that_are_not_there() -> None:
    assert {name for name, case in CASES.items() if waits(case)} == set(WAITING)
    assert set(DOES_NOT_ARISE) <= set(CASES)
    encoding = small_tokenizer().encode("a text")
    assert not [part for part in WAITING_PARTS if hasattr(encoding, part)], "compare these parts in check_encoding"
