"""Automata: compiled, saved, opened, pickled, described."""

import json
import os
import pickle
import re
import threading
from pathlib import Path

import pytest

import beam_wordpiece as bw
from beam_wordpiece import _core
from beam_wordpiece.automaton import _Details
from tests import oracle, small


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return small.write(tmp_path / "tokenizer.json", small.document())


@pytest.fixture
def compiled(source: Path) -> bw.Automaton:
    return bw.Automaton.compile(source)


def test_saved_and_opened_it_is_the_same(compiled: bw.Automaton, tmp_path: Path) -> None:
    path = tmp_path / "small.bwp"
    compiled.save(path)
    opened = bw.Automaton.open(path)
    assert opened.fingerprint == compiled.fingerprint
    assert opened.to_bytes() == compiled.to_bytes() == path.read_bytes()
    assert bw.Automaton.from_bytes(path.read_bytes()).fingerprint == compiled.fingerprint
    assert (opened.options, opened.added_tokens) == (compiled.options, compiled.added_tokens)
    assert (opened.single, opened.pair, opened.decoder) == (compiled.single, compiled.pair, compiled.decoder)
    assert [bw.Tokenizer(opened).encode(text) for text in small.TEXTS] == [
        bw.Tokenizer(compiled).encode(text) for text in small.TEXTS
    ]


def test_all_ways_to_the_same_vocabulary_have_one_fingerprint(source: Path, tmp_path: Path) -> None:
    other = small.write_vocab(tmp_path / "vocab.txt")
    automata = [
        bw.Automaton.compile(source),
        bw.Automaton.compile(str(source), strip_accents=True),
        bw.Automaton.compile(bw.load_vocabulary(source)),
        bw.Automaton.compile(other),
    ]
    assert len({automaton.fingerprint for automaton in automata}) == 1
    assert re.fullmatch("[0-9a-f]{32}", automata[0].fingerprint)
    assert bw.Automaton.compile(source).to_bytes() == automata[0].to_bytes()


def test_folders_and_files_may_have_names_that_are_not_utf8(compiled: bw.Automaton, tmp_path: Path) -> None:
    """Which changes nothing but the name of the source that is shown."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()
    sources = [small.write(folder / "tokenizer.json", small.document()), small.write_vocab(folder / "vocab.txt")]
    for source in (*sources, folder):
        automaton = bw.Automaton.compile(source)
        assert automaton.fingerprint == compiled.fingerprint
        assert automaton.describe()["source"] in ("caf?/tokenizer.json", "caf?/vocab.txt")
        automaton.save(folder / "saved.bwp")
        opened = pickle.loads(pickle.dumps(bw.Automaton.open(folder / "saved.bwp")))
        assert (opened.fingerprint, opened.path) == (compiled.fingerprint, str(folder / "saved.bwp"))
    with pytest.raises(bw.AutomatonError, match="not an automaton"):
        bw.Automaton.open(sources[0])


@pytest.mark.parametrize("path", ["a\ud800", "a\0b"], ids=ascii)
def test_a_path_that_no_file_can_have_is_refused_by_name(compiled: bw.Automaton, path: str) -> None:
    message = re.escape(f"{path!r} has a character that no path of a file can have")
    with pytest.raises(bw.VocabularyError, match=message):
        bw.Automaton.compile(path)
    for use in (bw.Automaton.open, compiled.save):
        with pytest.raises(bw.AutomatonError, match=message):
            use(path)


def test_half_a_surrogate_pair_is_no_token(compiled: bw.Automaton) -> None:
    assert compiled.id("\ud800") is None


@pytest.mark.parametrize(
    "options",
    [
        {"lowercase": False},
        {"strip_accents": False},
        {"clean_text": False},
        {"handle_chinese_chars": False},
        {"unk_token": "[PAD]"},
        {"continuing_subword_prefix": "@@"},
        {"max_input_chars_per_word": 99},
        small.STRETCHES,
    ],
)
def test_every_option_changes_the_fingerprint(source: Path, options: dict[str, object]) -> None:
    assert bw.Automaton.compile(source, **options).fingerprint != bw.Automaton.compile(source).fingerprint


def test_tokens_and_ids(compiled: bw.Automaton) -> None:
    assert compiled.vocab_size == len(small.VOCABULARY)
    assert [compiled.id(token) for token in small.VOCABULARY] == list(range(len(small.VOCABULARY)))
    assert [compiled.token(number) for number in range(len(small.VOCABULARY))] == small.VOCABULARY
    assert compiled.id("nothing") is None
    assert [compiled.token(number) for number in (-1, len(small.VOCABULARY), 1 << 31, 1 << 40)] == [None] * 4


def test_tokens_that_text_cannot_have_keep_their_ids(tmp_path: Path) -> None:
    content = small.document()
    content["model"]["vocab"] |= {"": 50, "a b": 51, "##": 52, "\0": 53, "\ufffd": (1 << 28) - 1}
    content["added_tokens"].append(small.added("<new token>", 38))
    path = small.write(tmp_path / "tokenizer.json", content)
    hf, tokenizer = oracle.hf_tokenizer(path), bw.Tokenizer(bw.Automaton.compile(path))
    for token, number in hf.get_vocab().items():
        assert (tokenizer.automaton.id(token), tokenizer.automaton.token(number)) == (number, token)
    oracle.assert_same_ids(hf, tokenizer, [*small.TEXTS, "a b <new token>c", "##", "\0", "a##a"])


def test_a_description_says_what_is_in_it(compiled: bw.Automaton, tmp_path: Path) -> None:
    path = tmp_path / "small.bwp"
    compiled.save(path)
    description = bw.Automaton.open(path).describe()
    assert json.loads(json.dumps(description)) == description
    assert description["source"] == f"{tmp_path.name}/tokenizer.json"
    assert description["path"] == str(path)
    assert description["profile"] == "hf"
    assert description["options"]["strip_accents"] is True
    assert description["tokens"] == len(small.VOCABULARY)
    assert description["template"]["single"] == "[CLS]:0 $A:0 [SEP]:0"
    assert description["size"] == path.stat().st_size
    assert 0 < sum(description["sections"].values()) <= description["size"]


def test_nothing_of_the_machine_is_in_the_file(source: Path, compiled: bw.Automaton) -> None:
    assert str(source.parent).encode() not in compiled.to_bytes()


def test_an_opened_automaton_is_pickled_as_its_path(
    compiled: bw.Automaton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    compiled.save("small.bwp")
    pickled = pickle.dumps(bw.Tokenizer(bw.Automaton.open("small.bwp"), False, "error"))
    assert len(pickled) < 1000
    monkeypatch.chdir("/")
    tokenizer = pickle.loads(pickled)
    assert tokenizer.automaton.path == str(tmp_path / "small.bwp")
    assert (tokenizer.add_special_tokens, tokenizer.errors) == (False, "error")
    # Another automaton under the same name would tokenize another way without a word.
    bw.Automaton.compile(bw.load_vocabulary(tmp_path / "tokenizer.json", lowercase=False)).save(tmp_path / "small.bwp")
    with pytest.raises(bw.AutomatonError, match="has been replaced by another automaton"):
        pickle.loads(pickled)


def test_a_compiled_automaton_is_pickled_as_its_bytes(compiled: bw.Automaton) -> None:
    again = pickle.loads(pickle.dumps(compiled))
    assert (again.fingerprint, again.path) == (compiled.fingerprint, None)


def test_a_file_that_is_mapped_is_never_written_to(compiled: bw.Automaton, source: Path, tmp_path: Path) -> None:
    path = tmp_path / "small.bwp"
    compiled.save(path)
    tokenizer = bw.Tokenizer(bw.Automaton.open(path), add_special_tokens=False)
    before = tokenizer.encode("Cat").ids
    bw.Automaton.compile(source, lowercase=False).save(path)
    path_now = bw.Tokenizer(bw.Automaton.open(path), add_special_tokens=False)
    assert tokenizer.encode("Cat").ids == before != path_now.encode("Cat").ids


def test_saving_leaves_nothing_half_written(
    compiled: bw.Automaton, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "small.bwp"
    path.write_bytes(b"older")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail)
        with pytest.raises(OSError, match=r"No space left on device: .*small\.bwp'$"):
            compiled.save(path)
    assert path.read_bytes() == b"older"
    assert {entry.name for entry in tmp_path.iterdir()} == {"small.bwp", "tokenizer.json"}
    with pytest.raises(FileNotFoundError, match=r"missing/small\.bwp"):
        compiled.save(tmp_path / "missing" / "small.bwp")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        compiled.save(tmp_path)


@pytest.mark.parametrize("content", [b"", b"x", b"\0" * 4096, b"PAR1" * 1000])
def test_a_file_that_is_no_automaton(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "small.bwp"
    path.write_bytes(content)
    with pytest.raises(bw.AutomatonError, match=re.escape(str(path))):
        bw.Automaton.open(path)
    with pytest.raises(bw.AutomatonError):
        bw.Automaton.from_bytes(content)


def test_a_file_that_is_cut_off_or_missing(compiled: bw.Automaton, tmp_path: Path) -> None:
    path = tmp_path / "small.bwp"
    path.write_bytes(compiled.to_bytes()[:-1])
    with pytest.raises(bw.AutomatonError, match=re.escape(str(path))):
        bw.Automaton.open(path)
    with pytest.raises(FileNotFoundError, match=r"none\.bwp"):
        bw.Automaton.open(tmp_path / "none.bwp")
    with pytest.raises((OSError, bw.AutomatonError), match=re.escape(str(tmp_path))):
        bw.Automaton.open(tmp_path)


def _compile_with(metadata: str) -> bytes:
    """An automaton file, whole in everything but its description."""
    return _core.compile(
        ["[UNK]"],
        [0],
        profile="hf",
        lowercase=True,
        strip_accents=True,
        clean_text=True,
        handle_chinese_chars=True,
        unk_token="[UNK]",
        continuing_subword_prefix="##",
        max_input_chars_per_word=100,
        pretokenize=True,
        unknown="word",
        added_tokens=[],
        prefix_ids=[],
        suffix_ids=[],
        metadata=metadata,
    ).to_bytes()


def test_a_description_of_any_kind_is_no_worse_than_an_error(compiled: bw.Automaton) -> None:
    good = json.loads(compiled._core.metadata)
    damaged = [
        "",
        "[" * 100_000,
        "null",
        "{}",
        *(json.dumps({k: v for k, v in good.items() if k != name}) for name in good),
        *(json.dumps(good | {name: value}) for name in good for value in ([1], {"a": 1}, 1.5)),
        json.dumps(good | {"single": [{"name": "A", "ids": ["x"], "type_id": 0}]}),
        json.dumps(good | {"decoder": {"prefix": 3, "cleanup": True}}),
        json.dumps(good | {"options": good["options"] | {"profile": "other"}}),
    ]
    for metadata in damaged:
        with pytest.raises(bw.AutomatonError, match="small: its description cannot be read"):
            _Details.from_json(metadata, "small")
    with pytest.raises(bw.AutomatonError, match="description cannot be read"):
        bw.Automaton.from_bytes(_compile_with("{}"))
    bw.Automaton.from_bytes(_compile_with(compiled._core.metadata))


def test_a_vocabulary_has_its_options_already(source: Path) -> None:
    with pytest.raises(bw.ConfigError, match="give lowercase to load_vocabulary"):
        bw.Automaton.compile(bw.load_vocabulary(source), lowercase=False)


def test_threads_share_an_automaton(compiled: bw.Automaton) -> None:
    tokenizer = bw.Tokenizer(compiled)
    expected = [tokenizer.encode(text).ids for text in small.TEXTS]
    results: list[bool] = []

    def run() -> None:
        results.extend(oracle.our_ids(tokenizer, small.TEXTS) == expected for _ in range(50))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 200
