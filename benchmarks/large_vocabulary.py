"""A made vocabulary of a million tokens in a hundred scripts: what it costs to compile, to hold and to use.

Letters and marks are those of Unicode, words are made: each script has syllables of one to three of its letters, and a
token is one to five syllables, frequent ones more often. So tokens share beginnings and ends, as words do. Every letter
is a token too, at the beginning of a word and in it, so that no word of the same script is unknown.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
import time
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

import beam_wordpiece as bw
from benchmarks import memory

SCRIPTS = 100
MILLION = 1_000_000
INDICATORS = ("", "##")
SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
# First words of names that are no script's.
NO_SCRIPTS = {"", "MATHEMATICAL", "FULLWIDTH", "HALFWIDTH", "COMBINING", "MODIFIER"}
OPTIONS: dict[str, Any] = {"lowercase": False, "strip_accents": False, "handle_chinese_chars": False}


def scripts() -> dict[str, str]:
    """The letters and marks of the hundred scripts with the most of them. A script is the first word of their names."""
    found: dict[str, list[str]] = {}
    for c in map(chr, range(0x110000)):
        if unicodedata.category(c) in ("Lu", "Ll", "Lo", "Mn", "Mc"):
            name = unicodedata.name(c, "").partition(" ")[0].partition("-")[0]
            if name not in NO_SCRIPTS:
                found.setdefault(name, []).append(c)
    largest = sorted(found, key=lambda name: (-len(found[name]), name))[:SCRIPTS]
    return {name: "".join(found[name]) for name in sorted(largest)}


def vocabulary(count: int, seed: int = 1) -> list[str]:
    """So many different tokens, the same in every run, as many of each script; half of them continue a word.

    A fifth of the tokens of a script are its letters; where it has more, as Han has, the others are not used.
    """
    source = random.Random(seed)
    tokens = dict.fromkeys(SPECIAL_TOKENS)
    letters = scripts()
    for number, script in enumerate(letters.values(), 1):
        end = len(SPECIAL_TOKENS) + (count - len(SPECIAL_TOKENS)) * number // len(letters)
        script = script[: max(1, count // len(letters) // 10)]
        tokens.update(dict.fromkeys(indicator + letter for letter in script for indicator in INDICATORS))
        syllables = ["".join(source.choices(script, k=source.randint(1, 3))) for _ in range(300)]
        weights = [1 / rank for rank in range(1, 301)]
        while len(tokens) < end:
            word = "".join(source.choices(syllables, weights, k=source.randint(1, 5)))
            tokens[source.choice(INDICATORS) + word] = None
    return list(tokens)


def documents(tokens: Sequence[str], count: int, seed: int = 2) -> list[str]:
    """Texts of 50 words, made of one to four tokens of one script each, some of them cut off; the scripts change."""
    source = random.Random(seed)
    per_script = (len(tokens) - len(SPECIAL_TOKENS)) // SCRIPTS
    found = []
    for _ in range(count):
        words = []
        for _ in range(50):
            first = len(SPECIAL_TOKENS) + per_script * source.randrange(SCRIPTS)
            pieces = (tokens[first + source.randrange(per_script)] for _ in range(source.randint(1, 4)))
            word = "".join(piece.removeprefix("##") for piece in pieces)
            words.append(word[: source.randint(1, len(word))] if source.random() < 0.3 else word)
        found.append(" ".join(words))
    return found


def measure(count: int) -> dict[str, Any]:
    """CPU seconds to compile and to open, MB more at the `peak` of compiling, MB/s, and what `describe` says."""
    tokens = vocabulary(count)
    texts = pa.array(documents(tokens, 2_000), pa.large_string())
    with tempfile.TemporaryDirectory() as folder:
        source, path = Path(folder) / "vocab.txt", Path(folder) / "large.bwp"
        source.write_text("".join(f"{token}\n" for token in tokens), encoding="utf-8")
        before = memory.status("VmRSS")
        memory.forget_peak()
        start = time.process_time()
        automaton = bw.Automaton.compile(source, **OPTIONS)
        compiled, peak = time.process_time() - start, memory.status("VmHWM") - before
        automaton.save(path)
        del automaton
        start = time.process_time()
        opened = bw.Automaton.open(path)
        opening = time.process_time() - start
        tokenizer, seconds = bw.Tokenizer(opened), []
        for _ in range(5):
            start = time.process_time()
            tokenizer.encode_arrow(texts)
            seconds.append(time.process_time() - start)
    described = opened.describe()
    return {
        "tokens": len(tokens),
        "characters": sum(len(token) for token in tokens),
        "compile": compiled,
        "peak": peak,
        "open": opening,
        "speed": texts.nbytes / 1e6 / statistics.median(seconds),
        **{name: described[name] for name in ("size", "bytes_per_token", "percent_of_size", "statistics")},
    }


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("--tokens", type=int, default=MILLION)
    print(json.dumps(measure(parser.parse_args(argv).tokens), indent=2))


if __name__ == "__main__":
    main()
