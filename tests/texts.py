"""Random text, heavy on what tokenizers get wrong. The same seed gives the same texts."""
# ruff: noqa: RUF001 - characters that look like others are meant here.

import random
from collections.abc import Iterator

# Each pool is one kind of trouble; a text mixes a few of them.
POOLS: dict[str, list[str]] = {
    "ascii": [*"abcdefghijklmnopqrstuvwxyzABCXYZ0123456789"],
    "punctuation": [*"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", *"«»¡¿‐—“”…、。，！؟।", "\u061d", "\u166d", "\u2e42",
                    "\u2e43"],
    # Symbols that are no punctuation, and signs that become punctuation when they are decomposed.
    "symbols": [*"€°×÷£™©→∑＋", "\u037e", "\u1fef", "\u0387"],
    "space": [" ", "\t", "\n", "\r", "\u00a0", "\u1680", "\u2003", "\u2028", "\u2029", "\u202f", "\u205f", "\u3000"],
    # Deleted, so that neighbours become one word; and the code points next to them that are kept.
    "deleted": ["\0", "\x01", "\x0b", "\x0c", "\x1f", "\x7f", "\x85", "\x9f", "\u00ad", "\u180e", "\u200b", "\u200d",
                "\u200f", "\u202a", "\u2060", "\u2064", "\ufeff", "\ufffd", "\ue000", "\uf8ff", "\U000e0001",
                "\U000f0000", "\U0010fffd"],
    "kept": ["\u2065", "\ufffc", "\ufffe", "\uffff", "\u0378", "\u08e2", "\U000110cd", "\U00013430", "\U0010ffff"],
    "marks": ["\u0300", "\u0301", "\u0308", "\u030a", "\u0315", "\u0323", "\u0327", "\u0338", "\u0344", "\u0345",
              "\u05b0", "\u05bc", "\u064b", "\u0651", "\u0e38", "\u0f73", "\u20d0", "\u3099", "\ufe0f", "\ufe20"],
    # Marks that stripping leaves: their canonical order shows. Some have a class that HF does not know.
    "kept marks": ["\u08d4", "\u1b44", "\u1baa", "\u1bf2", "\u1dfb", "\u302e", "\u302f", "\ua953", "\U000111c0",
                   "\U0001d165", "\U0001d16d", "\U0001e000", "\U0001e944", "\u07fd", "\u0898", "\u0c3c", "\u1715"],
    "accented": [*"àéîöüçñåǖṩệỗǅÀÉÖÇÅŞŻŒßẞøłđ", "\u0130", "\u0131", "\u212a", "\u212b", "\u2126", "\ufb01", "\u1e9b"],
    "greek and cyrillic": [*"αβγδςσωάΐὖᾂΑΒΓΣΩΆ", *"абвгдйёыяАБВЙЁЯ", "\u1f80", "\u0390"],
    "semitic": [*"שלוםאבג", "\ufb2c", *"سلامكتابآأؤ", "\u0622", "\ufefb"],
    "indic and thai": [*"नमस्तेहिन्दीक़", "\u0958", "\u09cb", "\u0bca", *"ภาษาไทยที่น้ำ", "\u0e33"],
    "hangul": [*"가각한글힣밝", "\u1100", "\u1161", "\u11a8", "\u3131", "\ua960", "\ud7b0"],
    "kana": [*"あがぱんアガパン々〇ー", "\uff76", "\uff9e"],
    "cjk": [*"中文大阪府漢字", "\u3400", "\u4dbf", "\u9fff", "\uf900", "\ufa0e", "\U00020000", "\U0002a6df",
            "\U0002a700", "\U0002b81f", "\U0002b820", "\U0002b91f", "\U0002b920", "\U0002ceaf", "\U0002ceb0",
            "\U0002f800", "\U0002fa1d", "\U00030000"],
    "astral": [*"😀🤣👍🏽🇩🇪𝄞𝐀𝒳", "\U0001d15e", "\U0001d1bb", "\U00010400", "\U00010428", "\U0001e900", "\U000118a0",
               "\U00011935", "\U0001f1e6"],
    "written specials": ["[SEP]", "[CLS]", "[MASK]", "[UNK]", "[PAD]", "[sep]", "[MASK", "##", "##ing", "#", "[", "]"],
}  # fmt: skip
ALL_PIECES = [piece for pool in POOLS.values() for piece in pool]
WORD_LIMIT = 100


def random_texts(seed: int, count: int) -> Iterator[str]:
    """`count` texts of a few characters to a few hundred: one pool, a mix of pools, all of Unicode, or long words."""
    source = random.Random(seed)
    makers = [_from_one_pool, _mixed, _mixed, _any_code_points, _around_the_limit]
    for number in range(count):
        yield makers[number % len(makers)](source)


def _from_one_pool(source: random.Random) -> str:
    pool = [*source.choice(list(POOLS.values())), " "]
    return "".join(source.choices(pool, k=source.randrange(1, 40)))


def _mixed(source: random.Random) -> str:
    return "".join(source.choices(ALL_PIECES, k=source.randrange(1, 60)))


def _any_code_points(source: random.Random) -> str:
    return "".join(_code_point(source) for _ in range(source.randrange(1, 30)))


def _code_point(source: random.Random) -> str:
    # The planes are not alike: most of what is assigned is in the first two.
    code = source.randrange(source.choice([0x80, 0x800, 0x3000, 0xD800, 0x10000, 0x20000, 0x30000, 0x110000]))
    return " " if 0xD800 <= code < 0xE000 else chr(code)


def _around_the_limit(source: random.Random) -> str:
    """Words of 97 to 103 characters, before or after normalization, out of one script."""
    words = []
    for _ in range(source.randrange(1, 3)):
        pool = source.choice(["ascii", "accented", "greek and cyrillic", "hangul", "kana", "astral", "symbols"])
        length = source.randrange(WORD_LIMIT - 3, WORD_LIMIT + 4) // (3 if pool == "hangul" else 1)
        words.append("".join(source.choices(POOLS[pool], k=length)))
    return source.choice([" ", "-", "\u3000", "中"]).join(words)
