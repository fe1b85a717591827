"""Dictionaries that split from the end, or into the fewest keys: the definition, files, and what needs the whole."""

import json
import pickle
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece import cli
from beam_wordpiece.config import FileSettings
from beam_wordpiece.io import FileTask, tokenize_file
from beam_wordpiece.reference import match_dictionary
from pipelines import tokenize_parquet
from tests.test_dictionary import KNOWN, WAYS, expected, ids_of, problems
from tests.test_dictionary_beam import collect, tokenized
from tests.test_dictionary_times import HOSTILE, seconds

# Keywords of a Dictionary, each with those of the oracle.
SPLITS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"backward": True}, {"backward": True}),
    ({"segmentation": "fewest"}, {"unknown_cost": 1000}),
    ({"segmentation": "fewest", "unknown_cost": 1}, {"unknown_cost": 1}),
    ({"segmentation": "fewest", "unknown_cost": 2}, {"unknown_cost": 2}),
    ({"segmentation": "fewest", "unknown_cost": 65535}, {"unknown_cost": 65535}),
]
WHOLE = [SPLITS[0][0], SPLITS[1][0]]
WHOLE_ENTRIES = ["ab:1", "abc:2", "cd:3"]


@pytest.mark.parametrize(
    ("entries", "text", "split", "ids"),
    [
        ("ab:1 abc:2 cd:3", "abcd", {}, "2 [UNK]"),
        ("ab:1 abc:2 cd:3", "abcd", {"segmentation": "fewest"}, "1 3"),
        ("ab:1 abc:2 cd:3", "abcd", {"backward": True}, "1 3"),
        ("aaa:1 a:2", "aaaa", {"backward": True}, "2 1"),
        ("aaa:1 a:2", "aaaa", {"segmentation": "fewest"}, "1 2"),
        ("abcd:1 abc:2 d:3 e:4 f:5 def:6", "abcdef", {}, "1 4 5"),
        ("abcd:1 abc:2 d:3 e:4 f:5 def:6", "abcdef", {"segmentation": "fewest"}, "2 6"),
        # What is cheap enough is left unknown.
        ("a:1 b:2 ab:3 bcd:4", "abcd", {"segmentation": "fewest"}, "1 4"),
        ("b:2 bcd:4 abx:5 d:6", "abd", {"segmentation": "fewest", "unknown_cost": 1}, "[UNK] 2 6"),
        ("a:1 a:7", "aa", {"backward": True}, "1 1"),
        ("x:y:9 x:8 :y:7", "x:y", {"backward": True}, "9"),
    ],
)
def test_known_splits(entries: str, text: str, split: dict[str, Any], ids: str) -> None:
    assert bw.Dictionary(entries.split(), **split).tokenize(text) == ids.split()


@pytest.mark.parametrize(("way", "oracle"), SPLITS)
@pytest.mark.parametrize("unknown", WAYS)
def test_the_texts_of_known_answers(unknown: str, way: dict[str, Any], oracle: dict[str, Any]) -> None:
    for entries, text, _ in KNOWN:
        dictionary = bw.Dictionary(entries.split(), unknown=unknown, **way)
        assert dictionary.tokenize_spans(text) == expected(entries.split(), text, unknown, **oracle)


@given(problem=problems(), unknown=st.sampled_from(WAYS), split=st.sampled_from(SPLITS))
def test_any_entries_and_texts(
    problem: tuple[list[str], list[str]], unknown: str, split: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    (entries, texts), (way, oracle) = problem, split
    dictionary = bw.Dictionary(entries, unknown=unknown, **way)
    spans = [expected(entries, text, unknown, **oracle) for text in texts]
    assert [dictionary.tokenize_spans(text) for text in texts] == spans
    assert [dictionary.tokenize(text) for text in texts] == list(map(ids_of, spans))
    rows: list[str | None] = [*texts, None, *texts]
    ids = [*map(ids_of, spans), None, *map(ids_of, spans)]
    for array in (pa.array(rows), pa.array(rows).dictionary_encode(), pa.chunked_array([rows[:2], rows[2:]])):
        batch, counts = dictionary.encode_arrow_counted(array)
        assert batch.column("input_ids").to_pylist() == ids
        if unknown != "run":
            found = [match_dictionary(entries, text, **oracle) for text in texts]
            assert counts.unknowns == 2 * sum(id is None for row in found for id, _, _ in row)
    for text, found in zip(texts, spans, strict=True):
        # Every character is covered by one token, in order.
        assert [start for _, start, _ in found] == [0, *(end for _, _, end in found)][: len(found)]
        assert (found[-1][2] if found else 0) == len(text)
    own = [f"{entry.rpartition(':')[0]}:{number}" for number, entry in enumerate(entries)]
    carrying = bw.Dictionary(own, unknown="carry", **way)
    assert [carrying.detokenize(carrying.tokenize(text)) for text in texts] == texts
    copy = bw.Dictionary.from_bytes(dictionary.to_bytes())
    assert (copy.split_options, copy.unknown, list(copy.entries())) == (
        dictionary.split_options,
        unknown,
        list(dictionary.entries()),
    )
    assert copy.encode_arrow(pa.array(texts)) == dictionary.encode_arrow(pa.array(texts))


def test_text_that_is_not_utf8() -> None:
    for way in WHOLE:
        dictionary = bw.Dictionary(["a\ufffd:1", "\ufffdb:2"], unknown="carry", **way)
        column = dictionary.encode_arrow(pa.array([b"a\xf0\x9f\x98b", b"\xff"])).column(0)
        assert column.to_pylist() == [dictionary.tokenize("a\ufffdb"), ["[UNK]:\ufffd"]]


def test_files_and_what_tells_them_apart(tmp_path: Path) -> None:
    made = [bw.Dictionary(WHOLE_ENTRIES), *(bw.Dictionary(WHOLE_ENTRIES, **way) for way, _ in SPLITS)]
    assert len({dictionary.fingerprint for dictionary in made}) == len(made)
    for number, dictionary in enumerate(made):
        dictionary.save(tmp_path / f"{number}.bwp")
        opened = bw.Dictionary.open(tmp_path / f"{number}.bwp")
        for one in (opened, pickle.loads(pickle.dumps(opened)), pickle.loads(pickle.dumps(dictionary))):
            assert (one.split_options, one.fingerprint) == (dictionary.split_options, dictionary.fingerprint)
            assert one.tokenize("abcd!") == dictionary.tokenize("abcd!")
        assert opened.describe().items() >= dictionary.split_options.items()
    # What has no meaning changes nothing.
    assert bw.Dictionary(WHOLE_ENTRIES, unknown_cost=7).to_bytes() == made[0].to_bytes()
    (tmp_path / "entries.txt").write_text("\n".join(WHOLE_ENTRIES))
    of_file = bw.Dictionary.from_file(tmp_path / "entries.txt", segmentation="fewest", unknown_cost=2)
    assert of_file.to_bytes() == made[4].to_bytes()


@pytest.mark.parametrize(
    ("split", "fault"),
    [
        ({"segmentation": "best"}, 'segmentation has to be "greedy" or "fewest"'),
        ({"backward": 1}, "backward has to be true or false"),
        ({"unknown_cost": 0}, "unknown_cost has to be a number from 1 to 65535"),
        ({"unknown_cost": 65536}, "unknown_cost has to be a number from 1 to 65535"),
        ({"backward": True, "segmentation": "fewest"}, 'backward=True does not go with segmentation="fewest"'),
    ],
)
def test_what_is_refused(split: dict[str, Any], fault: str) -> None:
    with pytest.raises(bw.ConfigError, match=fault):
        bw.Dictionary(["a:1"], **split)


@pytest.mark.parametrize("way", WHOLE)
def test_documents_in_pieces_are_refused(way: dict[str, Any], tmp_path: Path) -> None:
    path = str(tmp_path / "d.bwp")
    dictionary = bw.Dictionary(WHOLE_ENTRIES, **way)
    dictionary.save(path)
    fault = r"needs the whole of a word or stretch, so documents cannot come in pieces"
    with pytest.raises(bw.ConfigError, match=fault):
        bw.Stream(dictionary)
    with pytest.raises(bw.ConfigError, match=fault):
        bw.TokenizeChunks(path)
    pq.write_table(pa.table({"book": ["a"], "text": ["abcd"]}), tmp_path / "in.parquet")
    (tmp_path / "in.txt").write_text("abcd")
    of_text = r"in\.txt: text files are read in pieces, .*needs the whole of a word or stretch; give .*rows of Parquet"
    for name, settings, said in (
        ("in.txt", FileSettings(), of_text),
        ("in.parquet", FileSettings(document_column="book"), fault),
    ):
        task = FileTask(str(tmp_path / name), str(tmp_path / "out"))
        with pytest.raises(bw.ConfigError, match=said):
            tokenize_file(task, dictionary, settings, lambda counts, size: None)


@pytest.mark.parametrize("way", WHOLE)
def test_a_text_that_is_too_long_to_be_held_is_refused(way: dict[str, Any]) -> None:
    dictionary = bw.Dictionary(["a:1"], **way)
    texts = pa.array(["a", "a" * (40 << 20), "b"])
    with pytest.raises(bw.TextError, match=r"row 1 has a word or stretch of more than 16 MB.*cut the text, or compile"):
        dictionary.encode_arrow(texts)
    assert dictionary.tokenize("ab") == ["1", "[UNK]"]


@pytest.mark.parametrize("way", WHOLE)
def test_transforms_and_the_job(way: dict[str, Any], tmp_path: Path) -> None:
    path, texts = str(tmp_path / "d.bwp"), ["abcd", None, "", "xabcdab"]
    dictionary = bw.Dictionary(WHOLE_ENTRIES, unknown="carry", **way)
    dictionary.save(path)
    ids = [None if text is None else dictionary.tokenize(text) for text in texts]
    (found,) = collect(tmp_path, [pa.table({"text": texts})], bw.TokenizeTables(path))
    assert found.column("input_ids").to_pylist() == ids
    (tmp_path / "strings").mkdir()
    assert collect(tmp_path / "strings", ["abcd"], bw.Tokenize(path)) == [["1", "3"]]
    pq.write_table(pa.table({"text": texts}), tmp_path / "in.parquet")
    assert tokenized(tmp_path, path, tmp_path / "in.parquet").column("input_ids").to_pylist() == ids
    flags = ["--input", str(tmp_path / "in.parquet"), "--output", str(tmp_path / "out"), "--tokenizer", path]
    assert tokenize_parquet.main(flags) == 0
    assert pq.read_table(tmp_path / "out" / "in.parquet").column("input_ids").to_pylist() == ids


@pytest.mark.parametrize("kind", HOSTILE)
def test_matching_from_the_end_takes_linear_time(kind: str) -> None:
    entries, unit = HOSTILE[kind]
    turned = [f"{key[::-1]}:{id}" for key, _, id in (entry.rpartition(":") for entry in entries)]
    dictionary = bw.Dictionary(turned, backward=True)
    arrays = [pa.array([unit[::-1] * length]) for length in (100_000, 800_000)]
    short, long = (seconds(lambda array=array: dictionary.encode_arrow(array)) for array in arrays)
    assert long < 24 * short + 0.05


# The commands -------------------------------------------------------------------------------------------------------


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "entries.txt", str(tmp_path / "d.bwp")
    source.write_text("\n".join(WHOLE_ENTRIES))
    flags = ["--segmentation", "fewest", "--unknown-cost", "7", "--unknown", "carry"]
    assert cli.main(["dictionary", str(source), "-o", output, *flags]) == 0
    opened = bw.Dictionary.open(output)
    assert opened.split_options == {"backward": False, "segmentation": "fewest", "unknown_cost": 7}
    assert opened.unknown == "carry"
    capsys.readouterr()
    assert cli.main(["encode", "--automaton", output, "--json", "abcd"]) == 0
    assert json.loads(capsys.readouterr().out)["ids"] == ["1", "3"]
    assert cli.main(["dictionary", str(source), "-o", output, "--backward", "true"]) == 0
    assert bw.Dictionary.open(output).needs_whole == "backward=True"
    assert cli.main(["dictionary", str(source), "-o", output, "--segmentation", "best"]) == 2
    assert "segmentation has to be one of greedy, fewest" in capsys.readouterr().err


def test_what_greedy_matching_misses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, text = str(tmp_path / "d.bwp"), str(tmp_path / "a.txt")
    Path(text).write_text("abcd\nxabcdab\n")
    for way in ({}, {"segmentation": "fewest"}):
        bw.Dictionary(WHOLE_ENTRIES, **way).save(path)
        assert cli.main(["fewest", path, text, "--json"]) == 0
        shown = json.loads(capsys.readouterr().out)
        assert (shown["tokens"], shown["unknown"]) == ({"greedy": 6, "fewest": 6}, {"greedy": 3, "fewest": 1})
        difference = {"count": 2, "text": "abcd", "greedy": ["abc", "[UNK]"], "fewest": ["ab", "cd"]}
        assert shown["examples"] == [difference]
    bw.Dictionary(WHOLE_ENTRIES, backward=True).save(path)
    assert cli.main(["fewest", path, text]) == 2
    assert "is not greedy matching from the left" in capsys.readouterr().err
