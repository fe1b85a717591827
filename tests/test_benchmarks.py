"""The benchmarks measure what they say: the same texts in every run, of the size that was asked for, and compared."""

import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beam_wordpiece as bw
from benchmarks import layouts, short_texts, speed, streams, systems, texts, worker


@pytest.fixture
def folder(tmp_path: Path, tokenizer_json: Path) -> Path:
    """A folder of vocabularies, as the benchmarks want one, with one of them."""
    (tmp_path / "vocabs" / "own").mkdir(parents=True)
    shutil.copy(tokenizer_json, tmp_path / "vocabs" / "own")
    return tmp_path


@pytest.mark.parametrize("name", texts.HOSTILE)
def test_hostile_text_is_always_the_same_and_of_the_size_that_was_asked_for(name: str) -> None:
    documents = texts.hostile(name, 0.05)
    assert documents == texts.hostile(name, 0.05)
    assert texts.size_of(documents) == pytest.approx(50_000, rel=0.1)
    if name == "one word":
        assert len(documents) == 1
    else:
        assert max(map(len, documents)) <= texts.DOCUMENT


def test_short_texts_are_cut_at_spaces() -> None:
    document = " ".join(f"word{number}" for number in range(200))
    lines = texts.short([document], count=5)
    assert len(lines) == 5
    assert document.startswith(" ".join(lines) + " ")
    assert all(140 <= len(line) < 150 for line in lines)


@pytest.mark.parametrize("name", ["identifiers", "one word"])
def test_half_of_a_set_is_new_when_it_is_measured(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []

    def spy(path: Path) -> systems.System:
        return systems.System("".join, lambda text: seen.append(text), lambda encoded, number: [], lambda text: None)

    monkeypatch.setitem(systems.SYSTEMS, systems.PROJECT, spy)
    subject = {"name": name, "vocabulary": "own", "megabytes": 0.05, "hostile": True}
    assert set(speed.unseen(str(folder), subject, rounds=2)) == {"first", "later"}
    other, *halves = seen
    assert len(halves) == 3
    assert set(halves) == {halves[0]} != {other}
    assert len(other) + len(halves[0]) == len("".join(texts.hostile(name, 0.05)))


def test_speed_is_measured_and_ids_are_compared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "MOST_ROUNDS", 2)

    def wrong(path: Path) -> systems.System:
        right = systems.hf(path)
        return systems.System(right.prepare, right.encode, lambda encoded, number: [], right.encode_one)

    def failing(path: Path) -> systems.System:
        raise ValueError("this one takes no such vocabulary")

    monkeypatch.setitem(systems.SYSTEMS, "wrong", wrong)
    monkeypatch.setitem(systems.SYSTEMS, "failing", failing)
    subject = {"name": "identifiers", "vocabulary": "own", "megabytes": 0.05, "hostile": True}
    result = speed.measure(str(folder), subject, ["project", "hf", "wrong", "failing"], rounds=2)
    measured = result["systems"]
    assert result["megabytes"] == pytest.approx(0.05, rel=0.01)
    assert measured["project"]["same"]
    assert measured["hf"]["same"]
    assert not measured["wrong"]["same"]
    assert "takes no such vocabulary" in measured["failing"]["error"]
    assert min(measured["project"]["first"], measured["project"]["later"]) > 0


def test_slow_systems_get_a_part_of_a_set(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(systems.MOST_MEGABYTES, "hf", 0.02)
    contender = speed._contender("hf", folder / "vocabs" / "own", ["a" * 5_000] * 20, 0.01)
    assert contender.size == 20_000
    assert [len(batch) for batch in contender.batches] == [2, 2]


def test_calls_are_timed_for_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(short_texts, "ROUNDS", 3)
    taken: list[str] = []
    times = short_texts._calls(["a", "b"], {"append": taken.append, "upper": str.upper})
    assert taken == ["a", "b"] * 3
    assert times["append"]["later"] > 0
    assert times.keys() == {"append", "upper"}


def test_streams_are_timed_beside_whole_documents(tokenizer: bw.Tokenizer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "ROUNDS", 2)
    monkeypatch.setattr(streams, "MOST_CALLS", 40)
    measured = streams.measure(tokenizer, ["naïve cats " * 300, "", "中文" * 50])
    assert [(name, size) for name, size, _, _ in measured][:3] == [
        ("chunks", 1 << 20),
        ("chunks", 1 << 16),
        ("chunks", 4096),
    ]
    assert {name for name, *_ in measured} == {"chunks", "rows"}
    assert min(ratio for _, _, ratio, _ in measured) > 0


def test_layouts_are_measured_side_by_side(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "ROUNDS", 2)
    vocabulary = folder / "vocabs" / "own"
    sizes = {layout: layouts.size(vocabulary, layout) for layout in ("failure_links", "transducer")}
    assert sizes["transducer"]["transitions"] > sizes["transducer"]["nodes"] == sizes["failure_links"]["nodes"]
    assert sizes["transducer"]["walked"] > sizes["failure_links"]["walked"] > 100_000
    assert min(layouts.speed(vocabulary, ["naïve cats " * 300, "中文" * 50]).values()) > 0


@pytest.mark.skipif(sys.platform != "linux", reason="what a process holds is read from /proc")
def test_memory_beyond_the_output_is_little_and_stays_so(folder: Path) -> None:
    (folder / "corpora").mkdir()
    table = pa.table({"text": ["They are unaffable, and so on. " * 30] * 50})
    pq.write_table(table, folder / "corpora" / "own.parquet")
    made = {"shared": str(folder), "corpus": "own", "vocabulary": "own", "folder": str(folder), "batch": 2_000_000}
    worker.run("memory.write_files", "portable", **made)
    held = worker.run("memory.beyond_output", "portable", folder=str(folder), megabytes=40.0)
    assert held["opened"] < 1
    # An output fills up its last huge page, of 2 MB. One that stayed would be as large itself, for each of 20 calls.
    assert held["most"] < 4
    assert held["most"] - held["first"] < 0.5
    assert held["left"] < 2
