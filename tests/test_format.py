"""Damaged automaton files: each is an AutomatonError, or harmless; never a crash, a hang, or another exception.

A checksum finds what happens by accident. So the second half gives damaged files their right checksum, as someone with
bad intent would: then nothing but the validation stands between the bytes and the matcher.
"""

import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import xxhash

import beam_wordpiece as bw
from tests.oracle import SPECIAL_TOKENS, tokenizer_json
from tests.small import STRETCHES

HEADER = struct.Struct("<8sIIQQ16s16s")  # magic, version, sections, length, checksum, fingerprint, reserved
ENTRY = struct.Struct("<QQ")  # offset and length of a section
VOCABULARY = [
    *SPECIAL_TOKENS,
    "a",
    "abcdx",
    "##b",
    "##c",
    "##cdy",
    "##dz",
    *"defgh,.",
    "##ing",
    "a" * 30,
    "##" + "b" * 30,
]
TEXTS = [
    "",
    "abcdz abcdx, [MASK] eing\tAB\u0301 語 \u302e\u1b44 각 😀 <x> <Y>",
    "a" * 400,
    "ab" * 100 + " " + "d." * 100,
    # Long enough for all lanes, with and without words.
    "abcdx abcdz eing hx각 \u302e" * 150 + "é" + "abcabcd" * 300,
]


def compile_small(folder: Path, *, lstrip: bool, **keywords: Any) -> bytes:
    """The file of a small automaton with added tokens and a template."""
    path = folder / "tokenizer.json"
    special = [{"content": token, "special": True} for token in SPECIAL_TOKENS]
    added = [{"content": "<x>", "normalized": True, "lstrip": lstrip}, {"content": "<Y>", "single_word": True}]
    path.write_text(tokenizer_json(VOCABULARY, added_tokens=[*special, *added], template=True), encoding="utf-8")
    return bw.Automaton.compile(path, **keywords).to_bytes()


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a small automaton that has something in every section."""
    return compile_small(tmp_path_factory.mktemp("format"), lstrip=True, sample=TEXTS * 2)


@pytest.fixture(scope="module")
def unsplit(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of one that does not split text into words."""
    return compile_small(tmp_path_factory.mktemp("format"), lstrip=False, **STRETCHES)


@pytest.fixture(scope="module")
def by_characters(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of one with words whose unknown characters are unknown by themselves."""
    return compile_small(tmp_path_factory.mktemp("format"), lstrip=True, unknown="run")


@pytest.fixture(scope="module")
def with_rules(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of one with rules, for characters and for strings."""
    rules = {"d": "e", "\u0301": "\u302e", "😀": "", "dz": "a", "bcd": "b " * 9, "<x": "\ufffd", "각 ": "각각"}
    return compile_small(tmp_path_factory.mktemp("format"), lstrip=True, rules=rules)


def sections(content: bytes) -> dict[str, tuple[int, int]]:
    """Offset and length of each section, by name."""
    names = list(bw.Automaton.from_bytes(content).describe()["sections"])
    places = ENTRY.iter_unpack(content[HEADER.size : HEADER.size + ENTRY.size * len(names)])
    return dict(zip(names, places, strict=True))


def use(content: bytes) -> bool:
    """Open and use an automaton; whether it could be opened. Any exception but AutomatonError goes up."""
    try:
        automaton = bw.Automaton.from_bytes(content)
    except bw.AutomatonError:
        return False
    automaton.describe()
    tokenizer = bw.Tokenizer(automaton)
    rows = tokenizer.encode_arrow(pa.array(TEXTS)).column("input_ids").to_pylist()
    assert [tokenizer.encode(text).ids for text in TEXTS] == rows
    # Ids that are no token's are left out, but none is negative.
    tokenizer.decode(rows[1])
    return True


def test_the_file_is_as_described(content: bytes) -> None:
    """What the other tests take for granted."""
    assert use(content)
    magic, _, count, length, _, fingerprint, reserved = HEADER.unpack_from(content)
    places = sections(content)
    assert (magic[:6], count, length, reserved) == (b"BeamWP", len(places), len(content), bytes(16))
    assert fingerprint.hex() == bw.Automaton.from_bytes(content).fingerprint
    assert places["words: pieces"][1] > 0
    assert all(offset % 64 == 0 and offset + size <= length for offset, size in places.values())


def test_every_cut_is_an_error(content: bytes) -> None:
    for length in range(len(content)):
        with pytest.raises(bw.AutomatonError):
            bw.Automaton.from_bytes(content[:length])
    with pytest.raises(bw.AutomatonError):
        bw.Automaton.from_bytes(content + b"\0")


def test_every_flipped_bit_is_an_error(content: bytes, full: bool) -> None:
    """One bit of every byte, all bits of the header and the table of sections; with BEAM_WORDPIECE_FULL=1, all bits."""
    damaged = bytearray(content)
    front = HEADER.size + ENTRY.size * len(sections(content))
    for place in range(len(content)):
        for bit in range(8) if full or place < front else [place % 8]:
            damaged[place] ^= 1 << bit
            with pytest.raises(bw.AutomatonError):
                bw.Automaton.from_bytes(bytes(damaged))
            damaged[place] ^= 1 << bit


def test_garbage_is_an_error() -> None:
    source = random.Random(0)
    for length in [*range(0, 600, 7), 4_096, 100_000]:
        garbage = source.randbytes(length)
        for data in (garbage, b"BeamWP\r\n" + garbage, bytes(length)):
            with pytest.raises(bw.AutomatonError):
                bw.Automaton.from_bytes(data)


def test_a_file_that_is_cut_off_names_itself(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.bwp"
    path.write_bytes(content[:-64])
    with pytest.raises(bw.AutomatonError, match=r"cut\.bwp.*bytes"):
        bw.Automaton.open(path)


def test_another_version_says_so(content: bytes) -> None:
    fields = list(HEADER.unpack_from(content))
    fields[1] = 6
    with pytest.raises(bw.AutomatonError, match=r"version 6.*versions 2 to 5.*compile it again"):
        bw.Automaton.from_bytes(HEADER.pack(*fields) + content[HEADER.size :])


def test_a_file_of_the_version_before_is_read(content: bytes) -> None:
    """It differs in the number and the checksum alone."""
    magic, version, *rest = HEADER.unpack_from(content)
    old = forge(HEADER.pack(magic, version - 1, *rest) + content[HEADER.size :])
    assert HEADER.unpack_from(old)[1] == 2
    assert use(old)
    assert bw.Automaton.from_bytes(old).fingerprint == bw.Automaton.from_bytes(content).fingerprint


def forge(content: bytes) -> bytes:
    """The file with its length and checksum put right, whatever is in it."""
    magic, version, count, _, _, fingerprint, reserved = HEADER.unpack_from(content)
    body = content[HEADER.size :]
    checksum = xxhash.xxh3_64_intdigest(body) ^ xxhash.xxh3_64_intdigest(fingerprint) ^ max(0, version - 2)
    return HEADER.pack(magic, version, count, len(content), checksum, fingerprint, reserved) + body


def damaged_words(content: bytes, source: random.Random, count: int) -> Iterator[bytes]:
    """The file with a few bytes or words of one section changed; small sections come as often as large ones."""
    places = [(offset, size) for offset, size in sections(content).values() if size]
    places.append((HEADER.size, ENTRY.size * len(sections(content))))
    for _ in range(count):
        offset, size = source.choice(places)
        damaged = bytearray(content)
        for _ in range(source.choice([1, 1, 2, 8])):
            width = min(size, source.choice([1, 2, 4, 8]))
            place = offset + source.randrange(max(1, size - width + 1)) // width * width
            other = offset + source.randrange(max(1, size - width + 1)) // width * width
            new = source.choice([source.randbytes(width), bytes(width), b"\xff" * width, content[other : other + width],
                                 bytes([content[place] ^ 1 << source.randrange(8)]), small(source, width)])  # fmt: skip
            damaged[place : place + len(new)] = new
        yield bytes(damaged)


def small(source: random.Random, width: int) -> bytes:
    """A small number, or one a little below the greatest."""
    number = source.randrange(300)
    return (number if source.random() < 0.8 else (1 << 8 * width) - 1 - number % 256).to_bytes(8, "little")[:width]


def test_forged_content_is_an_error_or_harmless(content: bytes, full: bool) -> None:
    assert forge(content) == content
    source = random.Random(1)
    files = damaged_words(content, source, 200_000 if full else 4_000)
    opened = [use(forge(damaged)) for damaged in files]
    # Both happen, or this tests nothing.
    assert 0 < sum(opened) < len(opened)


def test_forged_content_without_words_is_an_error_or_harmless(unsplit: bytes, full: bool) -> None:
    files = damaged_words(unsplit, random.Random(3), 200_000 if full else 4_000)
    opened = [use(forge(damaged)) for damaged in files]
    assert 0 < sum(opened) < len(opened)


def test_forged_content_by_characters_is_an_error_or_harmless(by_characters: bytes, full: bool) -> None:
    files = damaged_words(by_characters, random.Random(5), 200_000 if full else 4_000)
    opened = [use(forge(damaged)) for damaged in files]
    assert 0 < sum(opened) < len(opened)


def test_forged_content_with_rules_is_an_error_or_harmless(with_rules: bytes, full: bool) -> None:
    places = sections(with_rules)
    assert min(places["rules"][1], places["rules: text"][1]) > 0
    files = damaged_words(with_rules, random.Random(4), 200_000 if full else 4_000)
    opened = [use(forge(damaged)) for damaged in files]
    assert 0 < sum(opened) < len(opened)


def test_a_node_without_a_failure_link_is_found_where_text_is_not_split(unsplit: bytes, content: bytes) -> None:
    """Files that say of each other's trie how text is split: the nodes that are stuck have no link in one of them."""
    assert use(with_stretches(unsplit, 0))
    with pytest.raises(bw.AutomatonError, match="no failure link"):
        bw.Automaton.from_bytes(with_stretches(content, 1))
    with pytest.raises(bw.AutomatonError, match="way to split text"):
        bw.Automaton.from_bytes(with_stretches(unsplit, 2))


def test_an_empty_key_in_the_table_of_words_leaves_long_words_as_they_are(tmp_path: Path) -> None:
    """Words that are too long for the first table are asked for with the empty key, which no compiled one has."""
    content = compile_small(tmp_path, lstrip=False)
    offset, size = sections(content)["words: slots"]
    slots = [content[place : place + 16] for place in range(offset, offset + size, 16)]
    assert b"\xff" * 16 in slots
    emptied = b"".join(bytes(16) if slot == b"\xff" * 16 else slot for slot in slots)
    forged = forge(content[:offset] + emptied + content[offset + size :])
    # As many words as go through lanes, and each by itself.
    words = ["abcdx" * 4, "ab" + "c" * 20, "語" * 6, "z" * 14, "a" * 29]
    for text in (*words, " ".join(words * 20)):
        right, other = (bw.Tokenizer(bw.Automaton.from_bytes(data)).encode(text) for data in (content, forged))
        assert other.ids == right.ids


def with_stretches(content: bytes, number: int) -> bytes:
    """The file with the last of its parameters, which says whether text is not split into words, changed."""
    offset, size = sections(content)["parameters"]
    end = offset + size
    return forge(content[: end - 4] + number.to_bytes(4, "little") + content[end:])


def test_forged_cuts_are_errors_or_harmless(content: bytes) -> None:
    places = [offset + size for offset, size in sections(content).values()]
    for place in places:
        for length in (place - 64, place - 1, place, place + 1):
            use(forge(content[:length].ljust(HEADER.size, b"\0")))


def test_forged_sections_may_lie_anywhere(content: bytes, full: bool) -> None:
    """Sections that overlap, are longer, shorter, empty, or swapped."""
    source = random.Random(2)
    places = list(sections(content).values())
    for _ in range(50_000 if full else 2_000):
        entries = list(places)
        for _ in range(source.choice([1, 1, 2, 4])):
            number = source.randrange(len(entries))
            offset, size = source.choice([entries[number], source.choice(places)])
            offset += 64 * source.choice([0, 0, 1, -1, source.randrange(-40, 40)])
            size += source.choice([0, 0, 1, -1, 4, -4, 8, -8, 16, -16, 64, -64, -size, source.randrange(1 << 20)])
            entries[number] = (max(0, offset), max(0, size))
        table = b"".join(ENTRY.pack(*entry) for entry in entries)
        use(forge(content[: HEADER.size] + table + content[HEADER.size + len(table) :]))
