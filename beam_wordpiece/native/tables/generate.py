"""Measures the Unicode tables of the `hf` profile and writes them as Rust source.

HuggingFace `tokenizers` mixes several versions of Unicode, so no Unicode library gives its answers. What it does
is therefore measured, one scalar value after another, through its public Python API, and frozen in a file:

    python beam_wordpiece/native/tables/generate.py           # writes core/src/profile/hf_tables.rs
    python beam_wordpiece/native/tables/generate.py --check   # exit status 1 if that file is not what is measured

The measurement is valid for one version of `tokenizers` only and refuses to run with another.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tokenizers
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordLevel

MEASURED_VERSION = "0.23.3"
DEFAULT_OUTPUT = Path(__file__).resolve().parents[1] / "core" / "src" / "profile" / "hf_tables.rs"
LINE_LENGTH = 118
UNITS_PER_TEXT = 500

# One mark for each canonical combining class: the name of a class is the class of its representative. Only the
# order of classes can be measured (and only the order matters); the numbers make the table readable.
REPRESENTATIVES: dict[int, int] = {
    1: 0x0334, 7: 0x093C, 8: 0x3099, 9: 0x094D, 10: 0x05B0, 11: 0x05B1, 12: 0x05B2, 13: 0x05B3, 14: 0x05B4,
    15: 0x05B5, 16: 0x05B6, 17: 0x05B7, 18: 0x05B8, 19: 0x05B9, 20: 0x05BB, 21: 0x05BC, 22: 0x05BD, 23: 0x05BF,
    24: 0x05C1, 25: 0x05C2, 26: 0xFB1E, 27: 0x064B, 28: 0x064C, 29: 0x064D, 30: 0x064E, 31: 0x064F, 32: 0x0650,
    33: 0x0651, 34: 0x0652, 35: 0x0670, 36: 0x0711, 84: 0x0C55, 91: 0x0C56, 103: 0x0E38, 107: 0x0E48, 118: 0x0EB8,
    122: 0x0EC8, 129: 0x0F71, 130: 0x0F72, 132: 0x0F74, 202: 0x0321, 214: 0x1DCE, 216: 0x031B, 218: 0x302A,
    220: 0x0316, 222: 0x059A, 224: 0x302E, 226: 0x1D16D, 228: 0x05AE, 230: 0x0300, 232: 0x0315, 233: 0x035C,
    234: 0x035D, 240: 0x0345,
}  # fmt: skip

HANGUL_SYLLABLES = range(0xAC00, 0xD7A4)
CHARACTERS = [chr(c) for c in range(0x110000) if not 0xD800 <= c <= 0xDFFF]

Mapping = dict[int, str]
Spans = list[tuple[int, int]]


def bert(stage: str) -> Callable[[str], str]:
    """BertNormalizer with a single one of its four stages switched on."""
    stages = {name: name == stage for name in ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")}
    return normalizers.BertNormalizer(**stages).normalize_str


def changed(normalize: Callable[[str], str]) -> Mapping:
    """What each character becomes that does not stay as it is."""
    return {ord(c): out for c in CHARACTERS if (out := normalize(c)) != c}


def spans(code_points: Iterable[int]) -> Spans:
    """Inclusive, sorted ranges, adjacent ones merged."""
    merged: Spans = []
    for c in sorted(code_points):
        if merged and c == merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], c)
        else:
            merged.append((c, c))
    return merged


def require(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(f"generate.py: the measurement contradicts the model of the tables: {what}")


def measure_clean() -> tuple[list[int], list[int]]:
    """The characters that clean_text deletes, and those that it turns into a space."""
    cleaned = changed(bert("clean_text"))
    require(set(cleaned.values()) <= {"", " "}, "clean_text makes something other than a space")
    return [c for c, out in cleaned.items() if not out], [c for c, out in cleaned.items() if out]


def measure_cjk() -> list[int]:
    """The characters that handle_chinese_chars puts between two spaces."""
    spaced = changed(bert("handle_chinese_chars"))
    require(all(out == f" {chr(c)} " for c, out in spaced.items()), "a CJK character changes")
    return list(spaced)


def measure_decomposition() -> Mapping:
    """Full canonical decompositions, without those of Hangul syllables, which follow a formula."""
    nfd = normalizers.NFD().normalize_str
    for c in HANGUL_SYLLABLES:
        leading, rest = divmod(c - HANGUL_SYLLABLES.start, 21 * 28)
        vowel, trailing = divmod(rest, 28)
        jamo = chr(0x1100 + leading) + chr(0x1161 + vowel) + (chr(0x11A7 + trailing) if trailing else "")
        require(nfd(chr(c)) == jamo, f"U+{c:04X} does not decompose as a Hangul syllable")
    return {c: out for c, out in changed(nfd).items() if c not in HANGUL_SYLLABLES}


def measure_marks(decomposition: Mapping) -> list[int]:
    """The characters that strip_accents removes after decomposing."""
    strip = bert("strip_accents")
    stripped = changed(strip)
    removed = {c for c, out in stripped.items() if not out}
    for c, out in stripped.items():
        if c not in removed and c not in HANGUL_SYLLABLES:
            kept = "".join(part for part in decomposition[c] if ord(part) not in removed)
            require(out == kept, f"strip_accents of U+{c:04X} is not its decomposition without marks")
    return sorted(removed)


def measure_combining_classes(decomposition: Mapping) -> list[tuple[int, int, int]]:
    """Ranges of non-zero combining classes, found from which pairs of marks NFD puts in another order."""
    nfd = normalizers.NFD().normalize_str
    classes = sorted(REPRESENTATIVES)
    marks = [chr(REPRESENTATIVES[k]) for k in classes]

    def below(a: str, b: str) -> bool:
        """Both classes are non-zero and that of `a` is the smaller one."""
        return a != b and nfd("q" + b + a) == "q" + a + b

    for i in range(len(marks)):
        for j in range(len(marks)):
            require(below(marks[i], marks[j]) == (i < j), f"marks of classes {classes[i]} and {classes[j]}")
    table: list[tuple[int, int, int]] = []
    for c in CHARACTERS:
        if ord(c) in decomposition or not (below(marks[0], c) or below(c, marks[-1])):
            continue
        smaller = sum(below(mark, c) for mark in marks)
        larger = sum(below(c, mark) for mark in marks)
        require(smaller + larger == len(marks) - 1, f"U+{ord(c):04X} is of a class without a representative")
        if table and table[-1][1:] == (ord(c) - 1, classes[smaller]):
            table[-1] = (table[-1][0], ord(c), classes[smaller])
        else:
            table.append((ord(c), ord(c), classes[smaller]))
    return table


def measure_split() -> tuple[list[int], list[int]]:
    """The characters that BertPreTokenizer drops between words, and those that it isolates."""
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    whitespace, punctuation = [], []
    for c in CHARACTERS:
        pieces = [piece for piece, _ in split(f"q{c}q")]
        if pieces == ["q", "q"]:
            whitespace.append(ord(c))
        elif pieces == ["q", c, "q"]:
            punctuation.append(ord(c))
        else:
            require(pieces == [f"q{c}q"], f"BertPreTokenizer on U+{ord(c):04X}")
    return whitespace, punctuation


def added_token_lengths(units: list[str], **flags: bool) -> list[int]:
    """For each unit, the length in characters of what is matched as `<x>`, an added token with these flags; else 0."""
    tokenizer = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.add_tokens([AddedToken("<x>", normalized=False, **flags)])
    width = len(units[0])
    lengths = []
    # Many units in one text save calls, but a match costs time in proportion to the text before it.
    for first in range(0, len(units), UNITS_PER_TEXT):
        chunk = units[first : first + UNITS_PER_TEXT]
        encoding = tokenizer.encode("".join(chunk))
        matched = {
            start // width: end - start
            for (start, end), i in zip(encoding.offsets, encoding.ids, strict=True)
            if i != 0
        }
        lengths += [matched.get(unit, 0) for unit in range(len(chunk))]
    return lengths


def measure_neighbours() -> tuple[list[int], list[int]]:
    """Word characters (a single_word token is no token beside one) and spaces (lstrip and rstrip swallow them)."""
    # The space keeps the other side of the token free of word characters.
    after = added_token_lengths([f" {c}<x>" for c in CHARACTERS], single_word=True)
    before = added_token_lengths([f"<x>{c} " for c in CHARACTERS], single_word=True)
    require(after == before, "word characters differ between the two sides of a single_word token")
    word = [ord(c) for c, length in zip(CHARACTERS, after, strict=True) if length == 0]
    # The `q` keeps what is swallowed apart from the next unit.
    after = added_token_lengths([f"q{c}<x>" for c in CHARACTERS], lstrip=True)
    before = added_token_lengths([f"<x>{c}q" for c in CHARACTERS], rstrip=True)
    require(after == before, "lstrip and rstrip swallow different characters")
    return word, [ord(c) for c, length in zip(CHARACTERS, after, strict=True) if length > len("<x>")]


def hexadecimal(values: Iterable[int]) -> str:
    return ", ".join(f"0x{value:X}" for value in values)


def wrapped(entries: Iterable[str]) -> Iterator[str]:
    """Lines of the body of a slice, several entries on each."""
    line = "   "
    for entry in entries:
        if len(line) + len(entry) + 2 > LINE_LENGTH:
            yield line
            line = "   "
        line += f" {entry},"
    yield line


def item(name: str, kind: str, comment: str, entries: list[str]) -> str:
    body = "\n".join(wrapped(entries))
    return f"/// {comment}\n#[rustfmt::skip]\npub const {name}: &[{kind}] = &[\n{body}\n];\n"


def range_item(name: str, comment: str, code_points: Iterable[int]) -> str:
    return item(name, "(u32, u32)", comment, [f"({hexadecimal(span)})" for span in spans(code_points)])


def mapping_item(name: str, comment: str, mapping: Mapping) -> str:
    entries = [f"(0x{c:X}, &[{hexadecimal(map(ord, out))}])" for c, out in sorted(mapping.items())]
    return item(name, "(u32, &[u32])", comment, entries)


def render() -> str:
    """The whole Rust source file."""
    deleted, to_space = measure_clean()
    decomposition = measure_decomposition()
    combining = [f"({hexadecimal(row[:2])}, {row[2]})" for row in measure_combining_classes(decomposition)]
    whitespace, punctuation = measure_split()
    word, space = measure_neighbours()
    items = [
        range_item("CLEAN_DELETED", "Characters that `clean_text` deletes.", deleted),
        range_item("CLEAN_TO_SPACE", "Characters that `clean_text` turns into U+0020.", to_space),
        range_item("CJK", "Characters that `handle_chinese_chars` puts between two spaces.", measure_cjk()),
        range_item(
            "NONSPACING_MARK",
            "Characters that `strip_accents` removes after canonical decomposition.",
            measure_marks(decomposition),
        ),
        range_item("WHITESPACE", "Characters that separate words and are dropped.", whitespace),
        range_item("PUNCTUATION", "Characters that are words of their own.", punctuation),
        range_item("WORD_CHARACTER", "Characters beside which a `single_word` added token is not matched.", word),
        range_item("SPACE_CHARACTER", "Characters that `lstrip` and `rstrip` of an added token swallow.", space),
        mapping_item(
            "DECOMPOSITION",
            "Full canonical decompositions; Hangul syllables, which follow a formula, are left out.",
            decomposition,
        ),
        item(
            "COMBINING_CLASS",
            "(u32, u32, u8)",
            "Non-zero canonical combining classes; of characters that do not decompose.",
            combining,
        ),
        mapping_item(
            "LOWERCASE", "What lower-casing makes of each character that it changes.", changed(bert("lowercase"))
        ),
    ]
    header = (
        f"//! Unicode tables of the `hf` profile, as HuggingFace `tokenizers` {MEASURED_VERSION} behaves.\n"
        "//!\n"
        "//! Generated by `native/tables/generate.py`, which measures them; do not edit.\n"
        "//! Ranges are inclusive, sorted and apart; surrogates are in none of them.\n"
    )
    return header + "\n" + "\n".join(items)


def main() -> int:
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary, epilog=details, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="compare the file with the measurement, write nothing")
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT, help="the Rust file (default: %(default)s)")
    arguments = parser.parse_args()
    if tokenizers.__version__ != MEASURED_VERSION:
        parser.error(f"the tables belong to tokenizers {MEASURED_VERSION}, not to {tokenizers.__version__}")
    source = render()
    if not arguments.check:
        arguments.output.write_text(source, encoding="utf-8")
    elif not arguments.output.is_file() or arguments.output.read_text(encoding="utf-8") != source:
        print(f"{arguments.output} differs from what is measured: run generate.py again", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
