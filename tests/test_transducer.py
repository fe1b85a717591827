"""The layout without failure transitions: the same ids as the default, from the definition to HF, and damaged files."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from beam_wordpiece.reference import LinMaxMatch, Node, Transducer, max_match
from tests import oracle, small
from tests.strategies import TextProblem, WordProblem, text_problems, word_problems
from tests.test_format import HEADER, compile_small, damaged_words, forge, sections, use
from tests.test_property import added_tokens_without_meaning, paths, split_punctuation
from tests.test_reference import PAPER, node

TRANSDUCER: dict[str, Any] = {"layout": "transducer"}


def test_the_papers_example() -> None:
    matcher = LinMaxMatch(PAPER)
    transducer = Transducer(matcher)
    abcd, dz = node(matcher.r, "abcd"), node(matcher.r_sharp, "dz")
    assert (transducer.delta_prime[abcd]["z"], transducer.sigma_prime[abcd]["z"]) == (dz, ["a", "##b", "##c"])
    assert transducer.sigma_prime[abcd]["y"] == ["a", "##b"]
    assert transducer.sigma_prime[abcd]["x"] == []
    assert transducer.rest[node(matcher.r, "abc")] == ["a", "##b", "##c"]
    assert abcd not in transducer.rest
    assert transducer.tokenize_word("abcdz") == ["a", "##b", "##c", "##dz"]


@given(word_problems())
def test_one_transition_a_character_is_max_match(problem: WordProblem) -> None:
    vocabulary, indicator, limit = problem.vocabulary, problem.suffix_indicator, problem.max_input_chars_per_word
    transducer = Transducer(LinMaxMatch(vocabulary, indicator, limit))
    assert transducer.tokenize_word(problem.word) == max_match(vocabulary, problem.word, indicator, limit)


@given(word_problems())
def test_transitions_do_what_following_failure_links_does(problem: WordProblem) -> None:
    matcher = LinMaxMatch(problem.vocabulary, problem.suffix_indicator)
    transducer = Transducer(matcher)
    for root in (matcher.r, matcher.r_sharp):
        for _, u in paths(root):
            for c in "ab#@é語":
                v, tokens = by_links(matcher, u, c)
                assert transducer.delta_prime[u].get(c) is v
                assert transducer.sigma_prime[u].get(c) == (None if v is None else tokens)


def by_links(matcher: LinMaxMatch, u: Node, c: str) -> tuple[Node | None, list[str]]:
    tokens: list[str] = []
    while (v := matcher.delta(u, c)) is None and u.f is not None:
        tokens, u = tokens + u.F, u.f
    return v, tokens


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each example writes its tokenizer.json."""
    return tmp_path_factory.mktemp("transducer") / "tokenizer.json"


@given(problem=word_problems())
def test_the_kernel_is_the_reference(file: Path, problem: WordProblem) -> None:
    vocabulary = list(dict.fromkeys([*problem.vocabulary, "[UNK]"]))
    file.write_text(
        oracle.tokenizer_json(
            vocabulary,
            lowercase=False,
            handle_chinese_chars=False,
            prefix=problem.suffix_indicator,
            max_chars=problem.max_input_chars_per_word,
        ),
        encoding="utf-8",
    )
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file, **TRANSDUCER))
    matcher = LinMaxMatch(problem.vocabulary, problem.suffix_indicator, problem.max_input_chars_per_word)
    transducer = Transducer(matcher)
    expected = []
    for word in split_punctuation(problem.word):
        expected += transducer.tokenize_word(word) or ["[UNK]"]
    assert tokenizer.encode(problem.word).tokens == expected


@given(problem=text_problems())
def test_the_kernel_is_hf(file: Path, problem: TextProblem) -> None:
    file.write_text(oracle.tokenizer_json(**problem.options), encoding="utf-8")
    if added_tokens_without_meaning(problem.options):
        with pytest.raises(bw.VocabularyError, match="added token"):
            bw.Automaton.compile(file, **TRANSDUCER)
        return
    tokenizer = bw.Tokenizer(bw.Automaton.compile(file, **TRANSDUCER))
    oracle.assert_same_ids(oracle.hf_tokenizer(file), tokenizer, problem.texts)


def test_the_layout_changes_no_id_and_no_fingerprint(
    tokenizer_json: Path, automaton: bw.Automaton, documents: list[str], tmp_path: Path
) -> None:
    transducer = bw.Automaton.compile(tokenizer_json, **TRANSDUCER)
    assert (automaton.layout, transducer.layout) == ("failure_links", "transducer")
    assert transducer.fingerprint == automaton.fingerprint
    assert transducer.to_bytes() == bw.Automaton.compile(tokenizer_json, **TRANSDUCER).to_bytes()
    transducer.save(tmp_path / "transducer.bwp")
    opened = bw.Automaton.open(tmp_path / "transducer.bwp")
    sampled = bw.Automaton.compile(tokenizer_json, sample=documents[::2], **TRANSDUCER)
    assert sampled.describe()["statistics"]["sampled_words"] > 300
    for other in (opened, sampled):
        assert other.layout == "transducer"
        oracle.assert_same_ids(oracle.hf_tokenizer(tokenizer_json), bw.Tokenizer(other), documents)
    # Of single texts and of documents in pieces also the offsets.
    tokenizers = [bw.Tokenizer(each) for each in (automaton, opened)]
    for text in [*documents[:20], *small.TEXTS]:
        of_links, of_transducer = [tokenizer.encode(text) for tokenizer in tokenizers]
        assert of_transducer == of_links
        assert (of_transducer.offsets, of_transducer.word_ids) == (of_links.offsets, of_links.word_ids)
    streams = [bw.Stream(tokenizer, offsets=True) for tokenizer in tokenizers]
    for piece in (documents[0][place : place + 7] for place in range(0, 7_000, 7)):
        of_links, of_transducer = [stream.feed(piece) for stream in streams]
        assert (of_transducer.ids, of_transducer.offsets) == (of_links.ids, of_links.offsets)
    # An open document of one automaton goes on with the other: they mean the same.
    moved = bw.Stream.from_bytes(tokenizers[1], streams[0].to_bytes())
    assert moved.finish().ids == streams[0].finish().ids


CORPORA = [
    ("bert-base-uncased", ["en_books", "en_tech"]),
    ("bert-base-multilingual-cased", ["help_de", "help_hi", "help_ru", "wiki_korean", "wiki_arabic"]),
    ("bert-base-chinese", ["help_zh-cn"]),
    ("kcbert-base", ["help_ko"]),
]


@pytest.mark.parametrize(("vocabulary", "names"), CORPORA, ids=[vocabulary for vocabulary, _ in CORPORA])
def test_corpora_are_as_with_hf(shared: Path, vocabulary: str, names: list[str], full: bool) -> None:
    import pyarrow.parquet as pq

    path = shared / "vocabs" / vocabulary / "tokenizer.json"
    tokenizer = bw.Tokenizer(bw.Automaton.compile(path, **TRANSDUCER))
    for name in names:
        texts = pq.read_table(shared / "corpora" / f"{name}.parquet", columns=["text"]).column("text").to_pylist()
        sample = texts if full else texts[:: max(1, len(texts) // 150)]
        assert oracle.assert_same_ids(oracle.hf_tokenizer(path), tokenizer, [text for text in sample if text]) > 50


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return small.write(tmp_path / "tokenizer.json", small.document())


def test_what_cannot_be_is_refused(source: Path) -> None:
    with pytest.raises(bw.ConfigError, match=r"layout is 'dense'.*failure_links, transducer"):
        bw.Automaton.compile(source, layout="dense")
    content = small.document()
    content["added_tokens"] = []
    small.write(source, content)
    with pytest.raises(bw.VocabularyError, match=r"pretokenize=True.*failure_links"):
        bw.Automaton.compile(source, layout="transducer", **small.STRETCHES)


def test_the_command_compiles_and_inspects(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.bwp"
    assert main(["compile", str(source), "-o", str(output), "--layout", "transducer"]) == 0
    assert output.read_bytes() == bw.Automaton.compile(source, **TRANSDUCER).to_bytes()
    capsys.readouterr()
    assert main(["inspect", "--json", str(output)]) == 0
    described = json.loads(capsys.readouterr().out)
    assert described["layout"] == "transducer"
    assert described["statistics"]["transitions"] > 10
    assert described["sections"]["transducer: transitions"] == 16 * described["statistics"]["units"]
    assert described["sections"]["trie: nodes and failure links"] == 0
    default = bw.Automaton.compile(source).describe()
    assert (default["layout"], default["statistics"]["transitions"]) == ("failure_links", 0)
    assert "transducer: transitions" not in default["sections"]


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a small transducer."""
    return compile_small(tmp_path_factory.mktemp("format"), lstrip=True, **TRANSDUCER)


def test_a_file_has_the_version_that_it_needs(content: bytes, tmp_path: Path) -> None:
    default = compile_small(tmp_path, lstrip=True)
    versions = [HEADER.unpack_from(each)[1] for each in (default, content)]
    assert versions == [3, 4]
    assert list(sections(content)) == [*sections(default), "transducer: transitions"]
    magic, _, *rest = HEADER.unpack_from(content)
    with pytest.raises(bw.AutomatonError, match="table of sections"):
        bw.Automaton.from_bytes(forge(HEADER.pack(magic, 3, *rest) + content[HEADER.size :]))


def test_every_flipped_bit_is_an_error(content: bytes) -> None:
    damaged = bytearray(content)
    for place in range(0, len(content), 7):
        damaged[place] ^= 1 << place % 8
        with pytest.raises(bw.AutomatonError):
            bw.Automaton.from_bytes(bytes(damaged))
        damaged[place] ^= 1 << place % 8


def test_forged_content_is_an_error_or_harmless(content: bytes, full: bool) -> None:
    opened = [use(forge(damaged)) for damaged in damaged_words(content, random.Random(4), 100_000 if full else 2_000)]
    assert 0 < sum(opened) < len(opened)


def test_forged_transitions_are_errors_or_harmless(content: bytes, full: bool) -> None:
    """Words of the transitions and of the lists that they write, changed while all other sections are sound."""
    names = ["transducer: transitions", "failure pops"]
    source, places = random.Random(5), [sections(content)[name] for name in names]
    transitions, size = places[0]
    used = [
        place
        for place in range(transitions, transitions + size, 16)
        if content[place : place + 4] != b"\xff" * 4 or place in (transitions + 16, transitions + 32)
    ]
    pool, pool_size = places[1]
    opened = []
    for _ in range(100_000 if full else 3_000):
        damaged = bytearray(content)
        for _ in range(source.choice([1, 1, 2, 6])):
            place = source.choice(used) + 4 * source.randrange(4)
            if source.random() < 0.3:
                place = pool + 4 * source.randrange(pool_size // 4)
            other = source.choice(used) + 4 * source.randrange(4)
            count = source.choice([0, 1, 2, 14, 15])
            listed = (count << 28 | source.randrange(pool_size // 4 + 20)).to_bytes(4, "little")
            new = source.choice([damaged[other : other + 4], listed, source.randbytes(4), b"\xff" * 4, bytes(4)])
            damaged[place : place + 4] = new
        opened.append(use(forge(bytes(damaged))))
    assert 0 < sum(opened) < len(opened)


def test_both_forms_in_one_file_are_an_error(content: bytes, tmp_path: Path) -> None:
    """A section of failure links that is as long as that of the transitions, in the same place."""
    table = HEADER.size + 16 * list(sections(content)).index("trie: nodes and failure links")
    place = HEADER.size + 16 * list(sections(content)).index("transducer: transitions")
    both = content[:table] + content[place : place + 16] + content[table + 16 :]
    with pytest.raises(bw.AutomatonError, match="failure links and a transducer"):
        bw.Automaton.from_bytes(forge(both))
