"""By how much greedy matching misses the fewest tokens: the command `beam-wordpiece fewest`."""

from __future__ import annotations

import argparse
import bisect
import dataclasses
import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from beam_wordpiece.automaton import Automaton
from beam_wordpiece.dictionary import Dictionary
from beam_wordpiece.errors import ConfigError, TextError
from beam_wordpiece.file_texts import FILES_HELP, add_text_flags, read_texts
from beam_wordpiece.terminal import table, visible
from beam_wordpiece.tokenizer import Encoding, TextEncoder, Tokenizer
from beam_wordpiece.vocab_source import add_source_flags, load_source, source_options
from beam_wordpiece.vocab_types import Vocabulary

FEWEST_EXAMPLES = """\
examples:
  beam-wordpiece fewest bert.bwp books.txt                       tokens by greedy matching, and the fewest there are
  beam-wordpiece fewest vocab.txt part-*.parquet --column body --examples 50
  beam-wordpiece fewest words.txt zh.txt --pretokenize false --unknown character
  beam-wordpiece fewest names.bwp - < books.txt                  with the keys of a dictionary, or of entries.txt

Greedy matching takes the longest token again and again. It may need more tokens than there have to be, and it may find
none for a word that has a split. A place is a word, or without words the text between two places where both end a
token. `compile --segmentation fewest` makes an automaton that splits into the fewest.
"""


@dataclasses.dataclass(frozen=True)
class Difference:
    """A string that is split in two ways."""

    text: str
    greedy: tuple[str, ...]
    fewest: tuple[str, ...]


class Comparison:
    """Texts by greedy matching and with the fewest tokens, counted.

    `greedy` and `fewest` are counts of tokens without those of the template, `unknown_greedy` and `unknown_fewest` of
    unknown tokens among them. `invalid`: texts that are not UTF-8, where `errors` lets them pass. `differences`: how
    often each string is split in two ways.
    """

    def __init__(self, greedy: TextEncoder, fewest: TextEncoder, words: bool) -> None:
        """`words`: places are words."""
        self._words = words
        self._tokenizers = (greedy, fewest)
        self.greedy = self.fewest = self.unknown_greedy = self.unknown_fewest = self.invalid = 0
        self.differences = Counter[Difference]()

    def add(self, texts: Any) -> None:
        """Add an Arrow array of texts. Raises what `Tokenizer.encode_arrow` raises."""
        (greedy, of_greedy), (fewest, of_fewest) = [made.encode_arrow_counted(texts) for made in self._tokenizers]
        self.greedy += of_greedy.tokens
        self.fewest += of_fewest.tokens
        self.unknown_greedy += of_greedy.unknowns
        self.unknown_fewest += of_fewest.unknowns
        self.invalid += of_greedy.invalid
        for text, one, other in zip(texts, greedy.column(0), fewest.column(0), strict=True):
            if one != other:
                self._compare(_readable(text))

    def _compare(self, text: str) -> None:
        """Places of a text: words, or what lies between two places where both end a token."""
        ways = [_places(tokenizer.encode(text)) for tokenizer in self._tokenizers]
        if self._words:
            keys: list[list[int | None]] = [[word for word, *_ in way] for way in ways]
        else:
            common = sorted({end for *_, end in ways[0]} & {end for *_, end in ways[1]})
            keys = [[bisect.bisect_left(common, end) for *_, end in way] for way in ways]
        found: list[list[list[tuple[int | None, str, int, int]]]] = []
        for way, key in zip(ways, keys, strict=True):
            groups = itertools.groupby(zip(key, way, strict=True), lambda pair: pair[0])
            found.append([[place for _, place in group] for _, group in groups])
        for one, other in zip(*found, strict=True):
            tokens = tuple(token for _, token, _, _ in one), tuple(token for _, token, _, _ in other)
            if tokens[0] != tokens[1]:
                self.differences[Difference(text[one[0][2] : one[-1][3]], *tokens)] += 1

    def describe(self, examples: int) -> dict[str, Any]:
        """All of it, as JSON can hold it, with the most frequent differences."""
        return {
            "tokens": {"greedy": self.greedy, "fewest": self.fewest},
            "unknown": {"greedy": self.unknown_greedy, "fewest": self.unknown_fewest},
            "invalid": self.invalid,
            "differences": {"places": self.differences.total(), "strings": len(self.differences)},
            "examples": [
                {"count": count, **dataclasses.asdict(difference)}
                for difference, count in self.differences.most_common(examples)
            ],
        }


def load_comparison(path: str, errors: str, **options: Any) -> Comparison:
    """A comparison by a vocabulary or a dictionary, in whatever file it is. Raises what `load_source` raises."""
    source = load_source(path, errors, **options)
    if isinstance(source, Dictionary):
        _require_forward(source.split_options["backward"])
        one, other = (_dictionary(source, way, options) for way in ("greedy", "fewest"))
        return Comparison(one, other, False)
    _require_forward(source.options.backward)
    greedy, fewest = (_tokenizer(source, way, errors) for way in ("greedy", "fewest"))
    return Comparison(greedy, fewest, source.options.pretokenize)


def _require_forward(backward: bool) -> None:
    if backward:
        raise ConfigError(
            "backward=True (--backward true at the shell) is not greedy matching from the left; leave it out to "
            "compare."
        )


def _dictionary(dictionary: Dictionary, segmentation: str, options: dict[str, Any]) -> Dictionary:
    """The dictionary, split in one way. `options`: what it was loaded with; a greedy one has forgotten the cost."""
    if dictionary.split_options["segmentation"] == segmentation:
        return dictionary
    split = dictionary.split_options | options | {"unknown": dictionary.unknown, "segmentation": segmentation}
    return Dictionary(dictionary.entries(), errors=dictionary.errors, **split)


def _tokenizer(vocabulary: Vocabulary, segmentation: str, errors: str) -> Tokenizer:
    options = dataclasses.replace(vocabulary.options, segmentation=segmentation)
    automaton = Automaton.compile(dataclasses.replace(vocabulary, options=options))
    return Tokenizer(automaton, False, errors)


def _readable(text: pa.Scalar[Any]) -> str:
    return text.cast(pa.large_binary()).as_py().decode("utf-8", "replace")


def _places(encoding: Encoding) -> list[tuple[int | None, str, int, int]]:
    """Word, token (of what is unknown in a dictionary, which has none, the id), start and end of each id."""
    found = zip(encoding.word_ids, encoding.tokens, encoding.ids, encoding.offsets, strict=True)
    return [(word, token or str(id), start, end) for word, token, id, (start, end) in found]


def add_fewest_flags(command: argparse.ArgumentParser) -> None:
    add_source_flags(command)
    command.add_argument("files", metavar="FILE", nargs="+", help=FILES_HELP)
    command.add_argument("--examples", metavar="N", type=int, default=20, help="differences to show (default: 20)")
    command.add_argument("--json", action="store_true", help="as JSON, for programs")
    add_text_flags(command)


def fewest(options: argparse.Namespace) -> None:
    """Run the command."""
    comparison = load_comparison(options.vocabulary, options.errors, **source_options(options))
    for some in read_texts(options.files, options.column, bar=True):
        try:
            comparison.add(some.texts)
        except TextError as error:
            raise some.refused(error) from error
    shown = comparison.describe(max(options.examples, 0))
    print(json.dumps(shown, indent=2, ensure_ascii=False) if options.json else "\n".join(_lines(shown)))


def _lines(shown: dict[str, Any]) -> Iterator[str]:
    tokens, unknown, differences = shown["tokens"], shown["unknown"], shown["differences"]
    more = tokens["greedy"] - tokens["fewest"]
    share = f" ({more / tokens['greedy']:.3%} of greedy)" if tokens["greedy"] else ""
    yield from table(
        [
            ("", "greedy", "fewest"),
            ("tokens", f"{tokens['greedy']:,}", f"{tokens['fewest']:,}"),
            ("of them unknown", f"{unknown['greedy']:,}", f"{unknown['fewest']:,}"),
        ]
    )
    yield f"{more:,} fewer{share}; {differences['places']:,} places differ, {differences['strings']:,} strings"
    if shown["invalid"]:
        yield f"{shown['invalid']:,} texts are not UTF-8 and were read with U+FFFD"
    if shown["examples"]:
        yield ""
        rows = [("count", "text", "greedy", "fewest")]
        for one in shown["examples"]:
            rows.append((f"{one['count']:,}", visible(one["text"]), _joined(one["greedy"]), _joined(one["fewest"])))
        yield from table(rows)


def _joined(tokens: Iterable[str]) -> str:
    return " ".join(visible(token) for token in tokens)
