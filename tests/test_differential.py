"""The kernel against HF on every code point, on random text, and on whole corpora."""

import itertools
import random
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tokenizers import Tokenizer
from tokenizers.normalizers import BertNormalizer

import beam_wordpiece as bw
from tests import oracle
from tests.oracle import SPECIAL_TOKENS, assert_same_ids, batches, hf_ids, load, tokenizer_json
from tests.texts import ALL_PIECES, random_texts

CODE_POINTS = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
# Cased, uncased, and every other way to lower-case, strip, clean and space out ideographs.
NORMALIZERS = {
    "uncased": {},
    "cased": {"lowercase": False},
    "uncased with accents": {"strip_accents": False},
    "cased without accents": {"lowercase": False, "strip_accents": True},
    "not cleaned": {"clean_text": False},
    "cased, not cleaned, ideographs together": {
        "lowercase": False,
        "clean_text": False,
        "handle_chinese_chars": False,
    },
}
# Blocks of ideographs, syllables and signs of one kind, whose characters all fare alike.
ALIKE = [(0x3400, 0xA4D0), (0xAC00, 0xD7A4), (0x12000, 0x16C00), (0x17000, 0x1B300), (0x20000, 0x2F800)]
# Unicode in parts, each of which has a vocabulary of its own. Plane 3 and above hold next to nothing: a sample.
PARTS = {
    "0000": CODE_POINTS[:0x2000],
    "2000": CODE_POINTS[0x2000:0xA4D0],
    "A4D0": CODE_POINTS[0xA4D0:0xF800],
    "10000": CODE_POINTS[0xF800:0x2F800] + CODE_POINTS[0x2F800::97],
}
Pair = tuple[Tokenizer, bw.Tokenizer]


def characters_that_show(code_points: list[str], options: dict[str, bool]) -> list[str]:
    """What normalization makes of the assigned ones of some code points, for a vocabulary of single characters.

    Of the characters in ALIKE, which would add nothing but size, there are only some.
    """
    named = {"lowercase": True, "strip_accents": None, "clean_text": True, "handle_chinese_chars": True, **options}
    alike = [code for first, end in ALIKE for code in range(first, end)]
    left_out = set(map(chr, alike)) - set(map(chr, alike[::50]))
    assigned = [c for c in code_points if c not in left_out and unicodedata.category(c) not in ("Cn", "Co")]
    # All at once: what is made of a code point does not depend on its neighbours, only the order of marks does.
    return sorted(set(BertNormalizer(**named).normalize_str("".join([*assigned, "ab"]))) - {" "})


def showing(folder: Path, code_points: list[str], options: dict[str, bool]) -> Pair:
    """Tokenizers whose vocabulary is single characters, so that the ids tell the normalized text and its words."""
    characters = characters_that_show(code_points, options)
    vocabulary = dict.fromkeys([*SPECIAL_TOKENS, *characters, *("##" + c for c in characters)])
    special = [{"content": token, "special": True} for token in SPECIAL_TOKENS]
    content = tokenizer_json(list(vocabulary), **options, added_tokens=special, template=True)
    return load(folder / "tokenizer.json", content)


@pytest.mark.parametrize("code_points", PARTS.values(), ids=PARTS)
@pytest.mark.parametrize("options", NORMALIZERS.values(), ids=NORMALIZERS)
def test_every_code_point_in_every_mode(tmp_path: Path, options: dict[str, bool], code_points: list[str]) -> None:
    pair = showing(tmp_path, code_points, options)
    assert_same_ids(*pair, packed(code_points, "", ""))
    assert_same_ids(*pair, packed(code_points, "a", "b"))


def packed(code_points: list[str], before: str, after: str) -> Iterator[str]:
    """Each code point in a word of its own, 256 to a text."""
    for group in batches(code_points, 256):
        yield " ".join(before + c + after for c in group)


@pytest.mark.parametrize("options", NORMALIZERS.values(), ids=NORMALIZERS)
def test_random_text_in_every_mode(tmp_path: Path, options: dict[str, bool]) -> None:
    pair = showing(tmp_path, list("".join(ALL_PIECES)), options)
    assert_same_ids(*pair, random_texts(seed=1, count=10_000))


# A million texts: longer than others may take where the processor is shared.
@pytest.mark.timeout(600)
def test_every_code_point(hf: Tokenizer, tokenizer: bw.Tokenizer) -> None:
    assert assert_same_ids(hf, tokenizer, CODE_POINTS) == 1_112_064
    assert_same_ids(hf, tokenizer, packed(CODE_POINTS, "a", "b"))


# Two million texts with BEAM_WORDPIECE_FULL.
@pytest.mark.timeout(900)
def test_random_text(hf: Tokenizer, tokenizer: bw.Tokenizer, full: bool) -> None:
    assert_same_ids(hf, tokenizer, random_texts(seed=2, count=2_000_000 if full else 60_000))


@pytest.mark.parametrize("options", [{}, {"clean_text": False, "lowercase": False}], ids=["cleaned", "not cleaned"])
def test_text_that_is_not_utf8(tmp_path: Path, options: dict[str, bool]) -> None:
    """Each invalid part is U+FFFD, and the parts are those of Python's decoder."""
    oracle, tokenizer = showing(tmp_path, list("".join([*ALL_PIECES, "\ufffd"])), options)
    texts = [
        damage(text.encode(), random.Random(number)) for number, text in enumerate(random_texts(seed=4, count=10_000))
    ]
    batch, counts = tokenizer.encode_arrow_counted(pa.array(texts, pa.large_binary()))
    decoded = [text.decode("utf-8", "replace") for text in texts]
    assert batch.column("input_ids").to_pylist() == hf_ids(oracle, decoded)
    assert counts.invalid == sum(text.encode() != data for text, data in zip(decoded, texts, strict=True))


def damage(data: bytes, source: random.Random) -> bytes:
    """Change, leave out, put in or cut off up to three bytes."""
    for _ in range(source.randrange(4) if data else 0):
        place = source.randrange(len(data) + 1)
        new = bytes([source.choice([*b"a\x80\x9f\xa0\xc0\xc1\xe0\xed\xf0\xf4\xf5\xff", source.randrange(256)])])
        data = source.choice([data[:place] + new + data[place + 1 :], data[:place] + new + data[place:],
                              data[:place] + data[place + 1 :], data[:place]])  # fmt: skip
    return data


def test_own_text(hf: Tokenizer, tokenizer: bw.Tokenizer, documents: list[str]) -> None:
    assert_same_ids(hf, tokenizer, documents)
    assert_same_ids(hf, tokenizer, (line for text in documents for line in text.splitlines()))


def test_without_special_tokens(hf: Tokenizer, automaton: bw.Automaton, documents: list[str]) -> None:
    plain = bw.Tokenizer(automaton, add_special_tokens=False)
    assert_same_ids(hf, plain, documents, add_special_tokens=False)


def test_long_documents(hf: Tokenizer, tokenizer: bw.Tokenizer, documents: list[str]) -> None:
    """Documents longer than any buffer, and runs that never end a word."""
    runs = [unit * 100_000 for unit in ("a", "ab ", "é", "e\u0301", "語", "!", "😀", "각", "\u0301", "\0", "[SEP]")]
    assert_same_ids(hf, tokenizer, ["\n".join(documents), *runs])


@pytest.mark.parametrize("size", [*range(70), 127, 128, 129, 255, 256, 257, *range(65_530, 65_538)])
def test_boundaries_of_blocks(hf: Tokenizer, tokenizer: bw.Tokenizer, size: int) -> None:
    """What is decided in blocks and chunks of bytes must not depend on where one ends."""
    units = ["a", "é", "語", "😀", "각", "\u0301", " ", "-", "\x7f", "a\u0300", "Ab [SEP] "]
    texts = [unit * (size // len(unit.encode())) + "x" * (size % len(unit.encode())) for unit in units]
    texts += ["x" * size + unit + "y" for unit in units]
    assert_same_ids(hf, tokenizer, texts)


def corpora(shared: Path, full: bool) -> Iterator[tuple[str, list[str]]]:
    """The texts of each corpus; in a sample, some hundred from the whole length of the file."""
    for path in sorted((shared / "corpora").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(batch_size=oracle.BATCH, columns=["text"]):
            texts = batch.column(0).to_pylist()
            yield path.stem, texts if full else texts[:: max(1, len(texts) // 60)]


@pytest.mark.timeout(14_400)
def test_corpora(shared: Path, full: bool) -> None:
    """Every corpus with every vocabulary, cased and uncased, as the files say."""
    pairs = {
        path.parent.name: (oracle.hf_tokenizer(path), bw.Tokenizer(bw.Automaton.compile(path)))
        for path in sorted((shared / "vocabs").glob("*/tokenizer.json"))
    }
    compared = 0
    for (name, texts), (model, pair) in itertools.product(corpora(shared, full), pairs.items()):
        try:
            compared += assert_same_ids(*pair, texts)
        except AssertionError as error:
            raise AssertionError(f"{name} with {model}: {error}") from None
    assert compared
