"""`Dictionary`: the definition, in every way that text can come, and what is refused."""

import itertools
import json
import pickle
import random
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.reference import match_dictionary
from tests.texts import ALL_PIECES

WAYS = ("character", "run", "carry")
Span = tuple[str, int, int]

KNOWN = [
    ("cat:10 catalog:11 a:12 log:13", "catalog", "11"),
    ("cat:10 s:14 c:15", "cats!", "10 14 [UNK]"),
    ("a:1 ab:2 abc:3 c:4", "abcab", "3 2"),
    ("a:1 ab:2 abc:3 c:4", "abd", "2 [UNK]"),
    ("x:y:9", "x:y", "9"),
    ("a:1 a:7", "aa", "1 1"),
    # Greedy: no going back for a cut that would have left nothing unknown.
    ("ab:1 abc:2 cd:3", "abcd", "2 [UNK]"),
    ("aaa:1 a:2", "aaaa", "1 2"),
    # What was begun and is no key comes apart from its front.
    ("abcdx:1 bc:2", "abcdy", "[UNK] 2 [UNK] [UNK]"),
    (":::1 ::2", ":::::", "1 1 2"),
    ("[UNK]:1 [:2", "[UNK][UN", "1 2 [UNK] [UNK]"),
    ("a:[UNK] b:1", "abc", "[UNK] 1 [UNK]"),
    ("", "ab", "[UNK] [UNK]"),
    ("a:1", "", ""),
]


def expected(entries: Sequence[str], text: str, unknown: str, **split: Any) -> list[Span]:
    """The spans, by trying every end for every start. `split`: keywords of `match_dictionary`."""
    found: list[Span] = []
    in_run = False
    for id, start, end in match_dictionary(entries, text, **split):
        if id is None and unknown == "run" and in_run:
            found[-1] = ("[UNK]", found[-1][1], end)
        else:
            found.append((id or ("[UNK]:" + text[start:end] if unknown == "carry" else "[UNK]"), start, end))
        in_run = id is None
    return found


def ids_of(spans: Sequence[Span]) -> list[str]:
    return [id for id, _, _ in spans]


@pytest.mark.parametrize(("entries", "text", "ids"), KNOWN)
def test_known_answers(entries: str, text: str, ids: str) -> None:
    assert bw.Dictionary(entries.split()).tokenize(text) == ids.split()
    assert ids_of(expected(entries.split(), text, "character")) == ids.split()


def test_what_is_unknown() -> None:
    ids = {unknown: bw.Dictionary(["cat:10", "s:14"], unknown=unknown).tokenize("--cats:x") for unknown in WAYS}
    assert ids["character"] == ["[UNK]", "[UNK]", "10", "14", "[UNK]", "[UNK]"]
    assert ids["run"] == ["[UNK]", "10", "14", "[UNK]"]
    assert ids["carry"] == ["[UNK]:-", "[UNK]:-", "10", "14", "[UNK]::", "[UNK]:x"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("abc", "'abc', has no colon; an entry is <key>:<id>"),
        ("", "'', has no colon"),
        (":1", "':1', has an empty key"),
        ("a:", "'a:', has nothing behind its last colon"),
        ("x:y:", "'x:y:', has nothing behind its last colon"),
        (":", "':', has nothing"),
        ("\ud800:1", "'.ud800:1', has half a surrogate pair"),
        ("a:\udfff", "has half a surrogate pair"),
    ],
)
def test_an_entry_that_is_none_is_named(entry: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(bw.VocabularyError, match=f"^Entry 1, .*{message}"):
        bw.Dictionary(["a:1", entry, "b:2"])
    if entry.isascii():
        path = tmp_path / "entries.txt"
        path.write_text(f"a:1\r\n{entry}\nb:2", encoding="utf-8")
        with pytest.raises(bw.VocabularyError, match=f"entries.txt, line 2, .*{message}"):
            bw.Dictionary.from_file(path)


def test_what_else_is_refused(tmp_path: Path) -> None:
    entries: list[Any] = ["a:1", 2]
    with pytest.raises(TypeError, match="Entry 1 has to be a str, not int"):
        bw.Dictionary(entries)
    with pytest.raises(TypeError, match="iterable of str, not a single str"):
        bw.Dictionary("a:1")
    with pytest.raises(bw.ConfigError, match='unknown has to be "character", "run" or "carry", not \'word\''):
        bw.Dictionary(["a:1"], unknown="word")
    with pytest.raises(bw.ConfigError, match="errors has to be"):
        bw.Dictionary(["a:1"], errors="ignore")
    (tmp_path / "bad.txt").write_bytes(b"a:1\n\xff:2\n")
    with pytest.raises(bw.VocabularyError, match=r"bad.txt: line 2 is not UTF-8"):
        bw.Dictionary.from_file(tmp_path / "bad.txt")
    (tmp_path / "mark.txt").write_bytes("\ufeffa:1\n".encode())
    with pytest.raises(bw.VocabularyError, match="byte order mark"):
        bw.Dictionary.from_file(tmp_path / "mark.txt")
    text: Any = b"a"
    with pytest.raises(TypeError, match="text has to be a str"):
        bw.Dictionary(["a:1"]).tokenize(text)


def test_from_file(tmp_path: Path) -> None:
    path = tmp_path / "entries.txt"
    path.write_bytes("a b:1\r\nc\t:x y\n\u2028é::3\n".encode())
    assert bw.Dictionary.from_file(path, unknown="run").tokenize("a bc\t\u2028é:!") == ["1", "x y", "3", "[UNK]"]
    path.write_bytes(b"")
    assert len(bw.Dictionary.from_file(path)) == 0


# Any entries, any text, any way ------------------------------------------------------------------------------------


@st.composite
def problems(draw: st.DrawFn) -> tuple[list[str], list[str]]:
    """Entries and texts, of few characters, so that keys overlap; keys that repeat themselves have many pops."""
    letters = draw(
        st.sampled_from(["ab", "abc:", "a\0\uffff", "é中😀", "e\u0301\u0323\u1b44", "가ᄀ힣", "\ufffd\u2028 "])
    )
    letter = st.sampled_from([*letters, *draw(st.lists(st.sampled_from(ALL_PIECES), max_size=2))])
    short = st.lists(letter, min_size=1, max_size=5).map("".join)
    repeated = st.builds(lambda unit, count, end: unit * count + end, short, st.integers(2, 20), letter)
    keys = st.one_of(short, short, repeated)
    ids = st.one_of(st.integers(0, 20).map(str), st.sampled_from(["[UNK]", " ", "\n", "x\0y", "é"]))
    entries = draw(st.lists(st.builds(lambda key, id: f"{key}:{id}", keys, ids), max_size=15))
    known = [entry.rpartition(":")[0] for entry in entries] or ["a"]
    pieces = st.one_of(st.sampled_from(known), letter, letter, st.sampled_from(ALL_PIECES))
    return entries, draw(st.lists(st.lists(pieces, max_size=12).map("".join), min_size=1, max_size=4))


@given(problem=problems(), unknown=st.sampled_from(WAYS))
def test_whole_texts(problem: tuple[list[str], list[str]], unknown: str) -> None:
    entries, texts = problem
    dictionary = bw.Dictionary(entries, unknown=unknown)
    spans = [expected(entries, text, unknown) for text in texts]
    assert [dictionary.tokenize_spans(text) for text in texts] == spans
    assert [dictionary.tokenize(text) for text in texts] == list(map(ids_of, spans))
    rows: list[str | None] = [*texts, None, *texts]
    ids = [*map(ids_of, spans), None, *map(ids_of, spans)]
    for array in (pa.array(rows), pa.array(rows).dictionary_encode(), pa.chunked_array([rows[:2], rows[2:]])):
        batch, counts = dictionary.encode_arrow_counted(array)
        assert batch.column("input_ids").to_pylist() == ids
        assert str(batch.schema.field("input_ids").type) == "list<item: string>"
        unknowns = sum(2 * (id is None) for text in texts for id, _, _ in match_dictionary(entries, text))
        assert counts.tokens == 2 * sum(map(len, spans))
        assert counts.unknowns <= unknowns if unknown == "run" else counts.unknowns == unknowns
    for text, found in zip(texts, spans, strict=True):
        # Every character is covered by one token, in order.
        assert [start for _, start, _ in found] == [0, *(end for _, _, end in found)][: len(found)]
        assert (found[-1][2] if found else 0) == len(text)


@given(problem=problems())
def test_what_is_carried_comes_back(problem: tuple[list[str], list[str]]) -> None:
    entries, texts = problem
    own = [f"{entry.rpartition(':')[0]}:{number}" for number, entry in enumerate(entries)]
    dictionary = bw.Dictionary(own, unknown="carry")
    column = dictionary.encode_arrow(pa.array(texts)).column("input_ids")
    for text, row in zip(texts, column, strict=True):
        assert dictionary.detokenize(dictionary.tokenize(text)) == text
        assert dictionary.detokenize(row) == text


@given(problem=problems(), unknown=st.sampled_from(WAYS), chance=st.randoms(use_true_random=False))
def test_streams_cut_anywhere(problem: tuple[list[str], list[str]], unknown: str, chance: random.Random) -> None:
    entries, texts = problem
    dictionary = bw.Dictionary(entries, unknown=unknown)
    pieces, ends, streams = list[bytes](), list[bool](), (bw.Stream(dictionary), bw.Stream(dictionary, offsets=True))
    for text in texts:
        spans, data = expected(entries, text, unknown), text.encode()
        bounds = [0, *sorted(chance.choices(range(len(data) + 1), k=chance.randrange(6))), len(data)]
        chunks = [data[start:end] for start, end in itertools.pairwise(bounds)]
        pieces += chunks
        ends += [False] * (len(chunks) - 1) + [True]
        plain, placed = list[str](), list[Span]()
        for chunk in [*chunks, None]:
            found, with_places = (stream.finish() if chunk is None else stream.feed(chunk) for stream in streams)
            ids: Any = with_places.ids
            plain += [str(id) for id in found]
            placed += [(id, start, end) for id, (start, end) in zip(ids, with_places.offsets, strict=True)]
            streams = (again(streams[0], dictionary), again(streams[1], dictionary))
        assert plain == ids_of(spans)
        assert placed == spans
    for stream in streams:
        at = chance.randint(0, len(pieces))
        rows = []
        for part, whether in ((pieces[:at], ends[:at]), (pieces[at:], ends[at:])):
            batch = stream.feed_arrow(pa.array(part, pa.binary()), pa.array(whether, pa.bool_()))
            rows += batch.column("input_ids").to_pylist()
            stream = again(stream, dictionary)
        assert documents(rows, ends) == [ids_of(expected(entries, text, unknown)) for text in texts]


def again(stream: bw.Stream, dictionary: bw.Dictionary) -> bw.Stream:
    """The same stream, by way of its state."""
    restored = bw.Stream.from_bytes(dictionary, stream.to_bytes())
    assert restored.offsets == stream.offsets
    return restored


def documents(rows: Sequence[list[str]], ends: Sequence[bool]) -> list[list[str]]:
    """The ids of documents, from those of their pieces."""
    found, ids = [], list[str]()
    for row, is_end in zip(rows, ends, strict=True):
        ids += row
        if is_end:
            found.append(ids)
            ids = []
    return found


def scalar_values() -> str:
    return "".join(chr(c) for c in range(sys.maxunicode + 1) if not 0xD800 <= c < 0xE000)


def test_every_character_is_matched_as_it_stands() -> None:
    """Alone, in its order, at once with what is beside it: nothing is deleted, reordered, composed or lower-cased."""
    text = scalar_values()
    nothing = bw.Dictionary([], unknown="carry")
    assert nothing.detokenize(nothing.tokenize(text)) == text
    assert nothing.detokenize(nothing.encode_arrow(pa.array([text])).column(0)[0]) == text
    pairs = [text[start : start + 2] for start in range(0, len(text), 2)]
    dictionary = bw.Dictionary([f"{pair}:{number}" for number, pair in enumerate(pairs)])
    assert dictionary.tokenize(text) == [str(number) for number in range(len(pairs))]
    turned = text[::-1]
    assert set(dictionary.tokenize(turned)) == {"[UNK]"}
    assert dictionary.encode_arrow(pa.array([turned])).column(0)[0].as_py() == ["[UNK]"] * len(text)


def test_text_that_is_not_utf8() -> None:
    dictionary = bw.Dictionary(["a:1", "\ufffd:2"], unknown="carry")
    assert dictionary.tokenize_spans("a\ud800b") == [("1", 0, 1), ("2", 1, 2), ("[UNK]:b", 2, 3)]
    column = dictionary.encode_arrow(pa.array([b"a\xf0\x9f\x98b", b"\xff"])).column(0)
    assert column.to_pylist() == [["1", "2", "[UNK]:b"], ["2"]]
    assert dictionary.detokenize(column[0]) == "a\ufffdb"
    strict = bw.Dictionary(["a:1"], errors="error")
    with pytest.raises(bw.TextError, match="lone surrogate at character 1"):
        strict.tokenize("a\ud800")
    with pytest.raises(bw.TextError, match="row 1 is not UTF-8"):
        strict.encode_arrow(pa.array([b"a", b"\xff"]))
    stream = bw.Stream(strict)
    with pytest.raises(bw.TextError):
        stream.feed(b"\xff")
    assert [*stream.feed("a"), *stream.finish()] == ["1"]


# The text of ids ---------------------------------------------------------------------------------------------------


def test_ids_whose_text_is_not_known() -> None:
    dictionary = bw.Dictionary(["a:1", "b:1", "c:2", "d:[UNK]"])
    assert dictionary.detokenize(["2", "2"]) == "cc"
    with pytest.raises(bw.InputError, match="'1' is the id of the key 'a' and of the key 'b'"):
        dictionary.detokenize(["1"])
    with pytest.raises(bw.InputError, match=r"'\[UNK\]' is the id of the key 'd' and of what is unknown"):
        dictionary.detokenize(["[UNK]"])
    for id in ("3", "[UNK]:x", "x:y", ""):
        with pytest.raises(bw.InputError, match="is not an id of the dictionary"):
            dictionary.detokenize([id])
    number: Any = 2
    with pytest.raises(TypeError, match="ids of a dictionary are str, not int"):
        dictionary.detokenize([number])
    assert bw.Dictionary(["a:1"]).detokenize(["1", "[UNK]"]) == "a[UNK]"
    carrying = bw.Dictionary(["d:[UNK]"], unknown="carry")
    assert carrying.tokenize("dx") == ["[UNK]", "[UNK]:x"]
    assert carrying.detokenize(["[UNK]", "[UNK]:x"]) == "dx"


# Files, processes, types -------------------------------------------------------------------------------------------


def test_saved_and_opened(tmp_path: Path) -> None:
    entries = ["cat:10", "c:\n", "x:y:9", "cat:11"]
    dictionary = bw.Dictionary(entries, unknown="carry")
    dictionary.save(tmp_path / "d.bwp")
    opened = bw.Dictionary.open(tmp_path / "d.bwp", errors="error")
    assert (opened.unknown, opened.errors, len(opened)) == ("carry", "error", 3)
    assert opened.tokenize("catcx:y!") == dictionary.tokenize("catcx:y!") == ["10", "\n", "9", "[UNK]:!"]
    assert opened.to_bytes() == bw.Dictionary(reversed(["x:y:9", "c:\n", "cat:10"]), unknown="carry").to_bytes()
    for one in (dictionary, opened, bw.Dictionary.from_bytes(opened.to_bytes())):
        copy = pickle.loads(pickle.dumps(one))
        assert (copy.fingerprint, copy.errors, copy.path) == (one.fingerprint, one.errors, one.path)
        assert copy.tokenize("cat!") == ["10", "[UNK]:!"]
    described = opened.describe()
    assert json.loads(json.dumps(described)) == described
    assert (described["entries"], described["unknown"]) == (3, "carry")
    others = [bw.Dictionary(entries), bw.Dictionary(["cat:11", *entries], unknown="carry")]
    assert len({dictionary.fingerprint, *(other.fingerprint for other in others)}) == 3
    pickled = pickle.dumps(opened)
    others[0].save(tmp_path / "d.bwp")
    with pytest.raises(bw.AutomatonError, match="replaced by another dictionary"):
        pickle.loads(pickled)


def test_what_a_file_is_not(tmp_path: Path, automaton: bw.Automaton) -> None:
    automaton.save(tmp_path / "a.bwp")
    bw.Dictionary(["a:1"]).save(tmp_path / "d.bwp")
    with pytest.raises(bw.AutomatonError, match=r"a\.bwp is the automaton of a vocabulary, not a dictionary"):
        bw.Dictionary.open(tmp_path / "a.bwp")
    with pytest.raises(bw.AutomatonError, match=r"d\.bwp is a dictionary, .* open it with Dictionary.open"):
        bw.Automaton.open(tmp_path / "d.bwp")
    with pytest.raises(FileNotFoundError):
        bw.Dictionary.open(tmp_path / "nothing.bwp")
    data = bytearray(bw.Dictionary(["a:1"]).to_bytes())
    data[-1] ^= 1
    with pytest.raises(bw.AutomatonError):
        bw.Dictionary.from_bytes(bytes(data))


def test_the_state_of_a_stream_is_of_one_dictionary() -> None:
    stream = bw.Stream(bw.Dictionary(["abc:1"], unknown="run"))
    stream.feed("xab")
    state = stream.to_bytes()
    for other in (bw.Dictionary(["abc:2"], unknown="run"), bw.Dictionary(["abc:1"])):
        with pytest.raises(bw.AutomatonError):
            bw.Stream.from_bytes(other, state)
    for damaged in (state[:-1], b"", bytes([*state[:-8], state[-8] ^ 1, *state[-7:]])):
        with pytest.raises(bw.AutomatonError):
            bw.Stream.from_bytes(stream.tokenizer, damaged)
    assert len(state) < 200


def test_threads_share_a_dictionary() -> None:
    entries = [f"{a}{b}:{a}-{b}" for a in "abcd" for b in "abcd"]
    dictionary = bw.Dictionary(entries, unknown="run")
    texts = ["".join(random.Random(seed).choices("abcde", k=500)) for seed in range(40)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(dictionary.tokenize_spans, texts))
    assert found == [expected(entries, text, "run") for text in texts]


def test_ids_of_two_gib_are_a_large_string(monkeypatch: pytest.MonkeyPatch) -> None:
    dictionary = bw.Dictionary(["a:1", "b:long"], unknown="carry")
    monkeypatch.setattr("beam_wordpiece.dictionary_ids.STRING_LIMIT", 40)
    small, large = (dictionary.encode_arrow(pa.array([text])).column(0) for text in ("ab!", "ab!" * 4))
    assert (small.type.value_type, large.type.value_type) == (pa.string(), pa.large_string())
    assert large.to_pylist() == [["1", "long", "[UNK]:!"] * 4]


def test_parquet_gives_the_strings_back(tmp_path: Path) -> None:
    batch = bw.Dictionary(["a:1"], unknown="carry").encode_arrow(pa.array(["ax", None, ""]))
    pq.write_table(pa.Table.from_batches([batch]), tmp_path / "ids.parquet")
    read = pq.read_table(tmp_path / "ids.parquet").column("input_ids")
    assert read.to_pylist() == [["1", "[UNK]:x"], None, []]
