"""The dictionary tokenizer: keys, each with an id that is any string -> the ids of text, longest key first.

Greedy longest match from the left (MaxMatch) over the whole text as it stands, by the automaton of "Fast WordPiece
Tokenization" (Song et al., EMNLP 2021) without word splitting and with an empty suffix indicator: linear in the text.
The other splits are those of `Options`. No Beam in here.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece import _core, arrow_text
from beam_wordpiece.automaton import DICTIONARY_MARK, Automaton, open_core
from beam_wordpiece.checks import require_path
from beam_wordpiece.dictionary_entries import entry_lines, read_entries
from beam_wordpiece.dictionary_ids import COLON, STRING_LIMIT, UNKNOWN, Names, Texts
from beam_wordpiece.errors import KEYWORDS_BY, AutomatonError, ConfigError, TextError, VocabularyError
from beam_wordpiece.files import write_whole
from beam_wordpiece.sizes import describe_size
from beam_wordpiece.tokenizer import Counts, Encoding, TextEncoder, Tokenizer, in_row, is_large
from beam_wordpiece.vocab_types import Options

VERSION = 1
# What the kernel calls what is given for unknown characters.
POLICIES = dict(zip(UNKNOWN, ("character", "run", "code_point"), strict=True))
# Nothing is normalized, and nothing but keys is found: there is no unknown token, which a text could hold.
OPTIONS: dict[str, Any] = {
    "profile": "hf",
    "lowercase": False,
    "strip_accents": False,
    "clean_text": False,
    "handle_chinese_chars": False,
    "unk_token": "",
    "continuing_subword_prefix": "",
    "max_input_chars_per_word": 0,
    "pretokenize": False,
    "added_tokens": [],
    "prefix_ids": [],
    "suffix_ids": [],
}
# The options that say how text is split, beside what is unknown.
SPLIT = ("backward", "segmentation", "unknown_cost")


class Dictionary(TextEncoder):
    """Tokenizes with the keys of a dictionary. It cannot be changed; safe to share between threads, and after fork.

    `entries`: each is `<key>:<id>`; the id is what follows the last colon, so a key may have colons, and an id is any
    string without one. Of equal keys the first wins; keys may share an id. From the left, the longest key that the rest
    of the text begins with is taken, again and again. The text is matched as it stands: nothing is deleted, reordered
    or lower-cased, and a key may hold any character.

    `backward`, `segmentation`, `unknown_cost`: the other splits, as `Options` has them. With `backward` it is the
    longest key that the rest of the text ends with, again and again from the right, in linear time.
    `segmentation="fewest"` takes a split into the fewest keys, an unknown character counting as `unknown_cost` of them
    (1 to 65535), ties going to the longest first key: the length of the text times that of the longest key. Both need
    the whole of a text, 16 MB of UTF-8 at most (a longer one is a TextError), so there is no Stream of them.

    `unknown`: what a character is that no key begins with where it stands. "character": the id [UNK]. "run": one [UNK]
    for all such characters side by side. "carry": `[UNK]:` and the character itself, which can be no entry's id, as it
    has a colon; then `detokenize` gives the text back. Each character of the text is covered by exactly one token.

    `errors`: what to do with text that is not valid UTF-8, or a str with a lone surrogate: "replace" reads each invalid
    part as U+FFFD, "error" raises TextError. What is covered and given back is the text as it is read.

    Raises VocabularyError, which names the entry, where it has no colon or the key or the id is empty; TypeError where
    it is not a str; ConfigError for a value that there is not, or for what cannot be combined.
    """

    id_type: pa.DataType = pa.string()

    def __init__(
        self,
        entries: Iterable[str],
        *,
        unknown: str = "character",
        backward: bool = False,
        segmentation: str = "greedy",
        unknown_cost: int = Options.unknown_cost,
        errors: str = "replace",
    ) -> None:
        if isinstance(entries, (str, bytes)):
            raise TypeError(
                f"The entries have to be an iterable of str, not a single {type(entries).__name__}; those of a file "
                "are read by Dictionary.from_file, and a compiled dictionary is opened by Dictionary.open."
            )
        split = _checked_split(unknown, backward=backward, segmentation=segmentation, unknown_cost=unknown_cost)
        ids, _ = read_entries(entries, lambda number: f"Entry {number}")
        self._start(_compile(ids, unknown, split), None, errors)

    @classmethod
    def from_file(
        cls,
        path: str | os.PathLike[str],
        *,
        unknown: str = "character",
        backward: bool = False,
        segmentation: str = "greedy",
        unknown_cost: int = Options.unknown_cost,
        errors: str = "replace",
    ) -> Dictionary:
        r"""A dictionary of the entries of a text file, UTF-8, one in each line, which ends with "\n" or "\r\n".

        Raises what the constructor raises, and names the line; VocabularyError where the file is not UTF-8 or begins
        with a byte order mark; OSError.
        """
        split: Any = {"backward": backward, "segmentation": segmentation, "unknown_cost": unknown_cost}
        return cls.from_file_counted(path, unknown=unknown, errors=errors, **split)[0]

    @classmethod
    def from_file_counted(
        cls, path: str | os.PathLike[str], *, unknown: str = "character", errors: str = "replace", **split: Any
    ) -> tuple[Dictionary, int]:
        """The same, with the number of entries that repeat the key of an earlier one, and so do not count."""
        require_path(path, VocabularyError)
        options = _checked_split(unknown, **split)
        ids, repeated = read_entries(entry_lines(Path(path)), lambda number: f"{os.fspath(path)}, line {number + 1}")
        return cls._of(_compile(ids, unknown, options), None, errors), repeated

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, errors: str = "replace") -> Dictionary:
        """Map a file that `save` wrote, and check all of it. Raises AutomatonError, OSError."""
        core, place = open_core(path)
        return cls._of(core, place, errors)

    @classmethod
    def from_bytes(cls, data: bytes, errors: str = "replace") -> Dictionary:
        """A dictionary from the content of a file. Raises AutomatonError."""
        return cls._of(_core.Automaton.from_bytes(data), None, errors)

    @classmethod
    def _of(cls, core: _core.Automaton, path: str | None, errors: str) -> Dictionary:
        dictionary = cls.__new__(cls)
        dictionary._start(core, path, errors)
        return dictionary

    def _start(self, core: _core.Automaton, path: str | None, errors: str) -> None:
        super().__init__(core, False, errors)
        self._core = core
        self._keywords = _core.Keywords(core, strict=errors == "error")
        self._path = path
        self._names, self._split = _description_of(core, path or "The dictionary")

    def to_bytes(self) -> bytes:
        """The content of the dictionary's file: the same bytes for the same entries, in whatever order."""
        return self._core.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the dictionary to a file, as `Automaton.save` does. Raises OSError, AutomatonError."""
        require_path(path, AutomatonError)
        with write_whole(path) as file:
            file.write(self.to_bytes())

    @property
    def path(self) -> str | None:
        """The absolute path of the file that it was opened from, or None."""
        return self._path

    @property
    def unknown(self) -> str:
        return self._names.unknown

    @property
    def split_options(self) -> dict[str, Any]:
        """How text is split: `backward`, `segmentation` and `unknown_cost`, as the constructor takes them.

        The cost is 1000 where it has no meaning.
        """
        return {name: getattr(self._split, name) for name in SPLIT}

    @property
    def needs_whole(self) -> str:
        return self._split.needs_whole

    def __len__(self) -> int:
        """Number of different keys."""
        return self._names.count

    def keys(self) -> pa.Array[Any]:
        """The keys, sorted: an Arrow array of large_string."""
        text, places = map(pa.py_buffer, self._core.vocabulary())
        offsets: Any = pa.Array.from_buffers(pa.uint32(), len(self) + 1, [None, places]).cast(pa.int64())
        return pa.Array.from_buffers(pa.large_string(), len(self), [None, offsets.buffers()[1], text])

    def entries(self) -> Iterator[str]:
        """What it was made of: `<key>:<id>`, sorted by the keys, each of which is there once."""
        keys: Any = self.keys().to_pylist()
        return (f"{key}{COLON}{id}" for key, id in zip(keys, self._names.strings()[:-1], strict=True))

    @cached_property
    def _texts(self) -> Texts:
        keys: Any = self.keys().to_pylist()
        return Texts(keys, self._names)

    def tokenize(self, text: str) -> list[str]:
        """The ids of a text. Raises TypeError where it is not a str, TextError as `Tokenizer.encode` does."""
        return self._names.of(super().encode(text).ids)

    def tokenize_spans(self, text: str) -> list[tuple[str, int, int]]:
        """The ids of a text, each with its first character and the end of its last (code points)."""
        encoding = super().encode(text)
        ids: list[str] = self._names.of(encoding.ids)
        return [(id, start, end) for id, (start, end) in zip(ids, encoding.offsets, strict=True)]

    def require_forward(self) -> None:
        """Raise ConfigError where no keys can be found: with `backward`, as they are then stored from their end."""
        if self._split.backward:
            raise ConfigError(
                "A dictionary with backward=True finds no keywords, as it reads from the end; make another one of its "
                "entries() without backward=True."
            )

    @property
    def _finder(self) -> _core.Keywords:
        self.require_forward()
        return self._keywords

    def find(self, text: str, *, overlapping: bool = False) -> list[tuple[int, int, str]]:
        """The keys in a text: the first character of each, the end of its last, and the id. Places are code points.

        The leftmost key, of those that begin there the longest, and so on from its end: nothing overlaps. That is
        linear in the text; with the usual split these are the keys that `tokenize_spans` gives, without what is
        unknown.

        `overlapping`: every occurrence of every key, by their ends, and those with the same end by their starts. By the
        algorithm of Aho and Corasick ("Efficient string matching", 1975), linear in the text and what is found, which
        may be much more than the text: for each character an occurrence of every length that keys have. Its links are
        made by the first call; they hold 12 bytes for each unit of the trie (`describe` counts these; the file has 16
        for each), whatever the keys are, and 16 more while they are made.

        Raises TypeError where it is not a str, TextError as `tokenize` does, ConfigError where the dictionary was made
        with backward=True.
        """
        keywords, every = self._finder, bool(overlapping)
        try:
            found = keywords.find(text, every)
        except (UnicodeEncodeError, TypeError) as error:
            found = keywords.find(self._repaired(text, error), every)
        return self._names.occurrences(*found)

    def find_arrow(self, array: Any, *, overlapping: bool = False) -> pa.Array[Any]:
        """What `find` gives, for each text of an Arrow array, without the GIL.

        `array`: as for `encode_arrow`. Gives list<struct<start: int64, end: int64, id: string>>, null for a null text:
        large_list where there are 2**31 occurrences or more, large_string where their ids take 2 GiB or more. Raises
        what `encode_arrow` raises, and ConfigError as `find` does.
        """
        return self.find_arrow_counted(array, overlapping=overlapping)[0]

    def find_arrow_counted(self, array: Any, *, overlapping: bool = False) -> tuple[pa.Array[Any], Counts]:
        """The same, with what was counted on the way; `Counts.tokens` are the occurrences."""
        texts = arrow_text.Texts(arrow_text.import_texts(array).of_rows())
        try:
            found: Any
            found, invalid = self._finder.find_arrow(texts.arrays, overlapping)
        except TextError as error:
            raise in_row(texts, error) from error
        column: Any = pa.array(found)
        size = sum(map(arrow_text.text_bytes, texts.arrays))
        counts = Counts(len(column), column.null_count, size, len(column.values), invalid=invalid)
        return self._names.occurrence_lists(column), counts

    def encode(self, text: str) -> Encoding:
        """The same as a Tokenizer gives it, but that its `ids` are strings: with `offsets`, and in `tokens` the keys.

        Of what is unknown the token is empty. The text is one word.
        """
        return self.name_encoding(super().encode(text), True)

    def detokenize(self, ids: Iterable[str] | pa.Scalar[Any]) -> str:
        """The text of ids, or of an Arrow array or list scalar of them. It is exact where unknowns are carried.

        An [UNK] that carries nothing stays as it is. Raises InputError for an id that the dictionary does not give, and
        for one that several keys have, or a key and what is unknown: what its text was, nobody knows.
        """
        given: Any = ids
        if isinstance(ids, (pa.Array, pa.ChunkedArray)):
            given = ids.to_pylist()
        elif isinstance(ids, pa.Scalar):
            given = ids.as_py()
        return "".join(map(self._texts.__getitem__, given))

    def name_encoding(self, encoding: Encoding, offsets: bool) -> Encoding:
        ids: Any = self._names.of(encoding.ids)
        if not offsets:
            return Encoding(ids, encoding.tokens)
        return Encoding(ids, encoding.tokens, encoding.offsets, encoding.word_ids)

    def name(self, column: Any) -> Any:
        kind: Any = pa.LargeListArray if is_large(column) else pa.ListArray
        mask = column.is_null() if column.null_count else None
        return kind.from_arrays(column.offsets, self.name_values(column.values), mask=mask)

    def name_values(self, numbers: Any) -> Any:
        return self._names.array(numbers)

    def is_unknown(self, numbers: Any) -> Any:
        return self._names.is_unknown(numbers)

    def describe(self) -> dict[str, Any]:
        """What is in it, for people: values that JSON can hold. Sizes are in bytes."""
        statistics = self._core.statistics()
        return {
            "path": self._path,
            "fingerprint": self.fingerprint,
            "unknown": self.unknown,
            **self.split_options,
            "entries": len(self),
            "statistics": {name: statistics[name] for name in ("nodes", "units", "failure_pops")},
            "sections": dict(self._core.sections()),
            **describe_size(self._core.sections(), statistics["bytes"], len(self)),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is not None:
            return _reopen, (self._path, self.fingerprint, self._errors)
        return Dictionary.from_bytes, (self.to_bytes(), self._errors)

    def __repr__(self) -> str:
        where = f" of {self._path}" if self._path else ""
        return f"<Dictionary{where}: {len(self)} keys, unknown {self.unknown}, {self.fingerprint}>"


def open_tokenizer(
    path: str | os.PathLike[str], add_special_tokens: bool = True, errors: str = "replace"
) -> Tokenizer | Dictionary:
    """A Tokenizer or a Dictionary, by what is in the file. Raises AutomatonError, OSError."""
    core, place = open_core(path)
    if core.metadata.startswith(DICTIONARY_MARK):
        return Dictionary._of(core, place, errors)
    return Tokenizer(Automaton(core, place), add_special_tokens, errors)


def _checked_split(unknown: str, **split: Any) -> Options:
    """How a dictionary splits text, checked. `split`: values of SPLIT. Raises ConfigError."""
    if unknown not in UNKNOWN:
        raise ConfigError(f'unknown has to be "character", "run" or "carry", not {unknown!r}.')
    options = Options(continuing_subword_prefix="", pretokenize=False, unknown="character", **split)
    return (
        options if options.segmentation == "fewest" else dataclasses.replace(options, unknown_cost=Options.unknown_cost)
    )


def _compile(ids: dict[str, str], unknown: str, split: Options) -> _core.Automaton:
    keys = sorted(ids)
    listed = COLON.join([ids[key] for key in keys])
    if len(listed.encode()) > STRING_LIMIT:
        raise VocabularyError("The ids of the dictionary have 2 GiB of text or more; give shorter ones.")
    ways = {name: getattr(split, name) for name in SPLIT}
    # Those of the splits are there where they are not what is usual.
    unusual = {name: value for name, value in ways.items() if value != getattr(Options, name)}
    header = json.dumps({"dictionary": VERSION, "unknown": unknown, **unusual})
    policy = POLICIES[unknown]
    return _core.compile(keys, range(len(keys)), unknown=policy, metadata=f"{header}\n{listed}", **ways, **OPTIONS)


def _description_of(core: _core.Automaton, name: str) -> tuple[Names, Options]:
    """The ids of a compiled dictionary, and how it splits text. Raises AutomatonError: it may come from anywhere."""
    metadata = core.metadata
    if not metadata.startswith(DICTIONARY_MARK):
        raise AutomatonError(
            f"{name} is the automaton of a vocabulary, not a dictionary: open it with Automaton.open; {KEYWORDS_BY}."
        )
    header, _, listed = metadata.partition("\n")
    statistics = core.statistics()
    ids: Any = pa.array([], pa.string())
    if listed:
        parts: Any = pc.split_pattern(pa.array([listed], pa.large_string()), COLON)
        ids = parts.values.cast(pa.string())
    try:
        fields = json.loads(header)
        version, unknown = fields.pop("dictionary"), fields.pop("unknown")
        split = _checked_split(unknown, **fields)
        known = version == VERSION and statistics["unk_id"] == statistics["tokens"] == len(ids)
    except (ValueError, KeyError, TypeError, RecursionError, ConfigError):
        known = False
    if not known:
        raise AutomatonError(f"{name}: its ids cannot be read, or are of another version; compile it again.")
    return Names(ids, unknown), split


def _reopen(path: str, fingerprint: str, errors: str) -> Dictionary:
    """Open the file of a pickled dictionary, which has to mean what it meant when it was pickled."""
    dictionary = Dictionary.open(path, errors=errors)
    if dictionary.fingerprint != fingerprint:
        raise AutomatonError(
            f"{path}: the file has been replaced by another dictionary (fingerprint {dictionary.fingerprint}, "
            f"not {fingerprint}); give dictionaries that differ names that differ."
        )
    return dictionary
