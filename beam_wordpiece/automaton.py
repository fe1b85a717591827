"""The automaton: a vocabulary compiled for matching, in memory or in one file that is mapped."""

from __future__ import annotations

import dataclasses
import json
import os
import shlex
from pathlib import Path
from typing import Any, TypeVar

from beam_wordpiece import _core
from beam_wordpiece.arrow_text import import_sample
from beam_wordpiece.checks import is_automaton, require_path
from beam_wordpiece.errors import AutomatonError, ConfigError, VocabularyError, WordPieceError
from beam_wordpiece.files import write_whole
from beam_wordpiece.settings import LAYOUTS
from beam_wordpiece.sizes import describe_size
from beam_wordpiece.vocab import AddedToken, Decoder, Options, Piece, Vocabulary, load_vocabulary

# What the metadata of a `Dictionary` begins with. In that of a vocabulary, which is JSON too, it can stand nowhere:
# quotes in a text are escaped.
DICTIONARY_MARK = '{"dictionary": '


class Automaton:
    """A compiled vocabulary with its options, its templates and the code point tables of its profile.

    Made by `compile` or `open`; it cannot be changed. Safe to share between threads, and after fork. An automaton that
    was opened from a file is pickled as the path of the file, any other as its bytes.
    """

    def __init__(self, core: _core.Automaton, path: str | None = None) -> None:
        """Private: use `compile` or `open`. `path`: the absolute path of the file that `core` is mapped from."""
        self._core = core
        self._path = path
        self._details = _Details.from_json(core.metadata, path or "The automaton")
        self._fingerprint = core.fingerprint

    @classmethod
    def compile(
        cls,
        vocabulary: str | os.PathLike[str] | Vocabulary,
        *,
        layout: str = "failure_links",
        sample: Any = None,
        **options: object,
    ) -> Automaton:
        """Compile the path of a `tokenizer.json`, a `vocab.txt` or a tokenizer folder, or a `Vocabulary`.

        Options are those of `load_vocabulary`, by keyword, and win over what the files say. A `Vocabulary` has its
        options already and takes none.

        `layout`: "failure_links", the trie with failure links and pops of the paper's algorithms; or "transducer", the
        same automaton without failure transitions, the paper's finite-state transducer: one transition for each
        character, with the tokens that it writes. That changes neither ids nor the fingerprint, and takes several times
        the memory. Only with pretokenize=True, unknown="word" and segmentation="greedy"; a vocabulary that would
        have too many transitions is refused.

        `sample`: text like that which is to be tokenized, as an iterable of str or an Arrow array of text (whatever
        `Tokenizer.encode_arrow` takes); a few MB are enough, and all of it is held in memory. Its frequent words, also
        those of several tokens, are stored where they are found at once, in place of words of the vocabulary that it
        does not have. That makes such text faster, and changes neither ids nor the fingerprint. Only with
        pretokenize=True, unknown="word" and segmentation="greedy".

        Raises VocabularyError, ConfigError, OSError; InputError where the sample is Arrow data and not text, TypeError
        where it is something else.
        """
        if layout not in LAYOUTS:
            raise ConfigError(f"layout is {layout!r}; it has to be one of {', '.join(LAYOUTS)}.")
        texts = None if sample is None else import_sample(sample)
        if not isinstance(vocabulary, Vocabulary):
            vocabulary = load_vocabulary(vocabulary, **options)
        elif options:
            raise ConfigError(
                f"A Vocabulary has its options already; give {', '.join(options)} to load_vocabulary instead."
            )
        try:
            return cls(_compile(vocabulary, layout, texts))
        except VocabularyError as error:
            raise VocabularyError(f"{vocabulary.source}: {error}") from error

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Automaton:
        """Map an automaton file and check all of it. Raises AutomatonError, OSError."""
        return cls(*open_core(path))

    @classmethod
    def from_bytes(cls, data: bytes) -> Automaton:
        """An automaton from the content of a file. Raises AutomatonError."""
        return cls(_core.Automaton.from_bytes(data))

    def to_bytes(self) -> bytes:
        """The content of the automaton's file: the same bytes whenever the same files and sample are compiled."""
        return self._core.to_bytes()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the automaton to a file, whole or not at all; a file that others have mapped stays as it is for them.

        It is written under a temporary name in the same folder, flushed to the disk, and renamed. Raises OSError;
        AutomatonError for a path that no file can have.
        """
        require_path(path, AutomatonError)
        with write_whole(path) as file:
            file.write(self.to_bytes())

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits; two automata that tokenize alike have the same ones."""
        return self._fingerprint

    @property
    def path(self) -> str | None:
        """The absolute path of the file that it was opened from, or None."""
        return self._path

    @property
    def layout(self) -> str:
        """How it is laid out: "failure_links" or "transducer"."""
        return self._core.layout

    @property
    def options(self) -> Options:
        return self._details.options

    @property
    def added_tokens(self) -> tuple[AddedToken, ...]:
        return self._details.added_tokens

    @property
    def single(self) -> tuple[Piece, ...]:
        """The template of a single text."""
        return self._details.single

    @property
    def pair(self) -> tuple[Piece, ...]:
        """The template of a pair of texts."""
        return self._details.pair

    @property
    def decoder(self) -> Decoder | None:
        return self._details.decoder

    @property
    def vocab_size(self) -> int:
        """Number of different tokens, added tokens included (HF's `get_vocab_size()`). Ids may have holes."""
        return self._details.vocab_size

    def token(self, id: int) -> str | None:
        """The token of an id, or None where the id is no token's.

        An added token with `normalized` has its content in normalized form, as in `id_to_token` of tokenizers 0.23:
        so it is called in `Encoding.tokens` and what is decoded, too. `added_tokens` has it as it was given.
        """
        return self._core.token(id) if 0 <= id < 1 << 32 else None

    def id(self, token: str) -> int | None:
        """The id of a token, or None where it is not in the vocabulary."""
        try:
            return self._core.id(token)
        except UnicodeEncodeError:
            # Half a surrogate pair is in no token.
            return None

    def describe(self) -> dict[str, Any]:
        """What is in it, for people: values that JSON can hold.

        `source` is the file that it was compiled from, `path` the one that it was opened from. Sizes are in bytes, also
        `bytes_per_token`; `percent_of_size` says which part of the file the trie, its links, pops and tables are.
        `statistics` has the number of `transitions` of a transducer, and how many words of several tokens a sample has
        put into it: `sampled_words`.
        """
        details, statistics = self._details, self._core.statistics()
        options = dataclasses.asdict(details.options) | {"strip_accents": details.options.strips_accents}
        return {
            "source": details.source,
            "path": self._path,
            "fingerprint": self.fingerprint,
            "layout": self.layout,
            "profile": options.pop("profile"),
            "options": options,
            "tokens": self.vocab_size,
            "added_tokens": [dataclasses.asdict(token) for token in details.added_tokens],
            "template": {"single": _template_text(details.single), "pair": _template_text(details.pair)},
            "decoder": details.decoder and dataclasses.asdict(details.decoder),
            "statistics": statistics,
            "sections": dict(self._core.sections()),
            **describe_size(self._core.sections(), statistics["bytes"], self.vocab_size),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        if self._path is not None:
            return _reopen, (self._path, self.fingerprint)
        return Automaton.from_bytes, (self.to_bytes(),)

    def __repr__(self) -> str:
        where = f" of {self._path}" if self._path else ""
        return f"<Automaton{where}: {self.vocab_size} tokens, profile {self.options.profile}, {self.fingerprint}>"


def _compile(vocabulary: Vocabulary, layout: str, sample: list[Any] | None) -> _core.Automaton:
    options = vocabulary.options
    return _core.compile(
        list(vocabulary.tokens),
        list(vocabulary.tokens.values()),
        profile=options.profile,
        lowercase=options.lowercase,
        strip_accents=options.strips_accents,
        clean_text=options.clean_text,
        handle_chinese_chars=options.handle_chinese_chars,
        unk_token=options.unk_token,
        continuing_subword_prefix=options.continuing_subword_prefix,
        max_input_chars_per_word=options.max_input_chars_per_word,
        pretokenize=options.pretokenize,
        unknown=options.unknown,
        backward=options.backward,
        segmentation=options.segmentation,
        unknown_cost=options.unknown_cost,
        rules=list(options.rules.items()),
        added_tokens=[
            (added.content, added.id, added.special, added.single_word, added.lstrip, added.rstrip, added.normalized)
            for added in vocabulary.added_tokens
        ],
        prefix_ids=vocabulary.prefix_ids,
        suffix_ids=vocabulary.suffix_ids,
        metadata=_Details.of(vocabulary).to_json(),
        layout=layout,
        sample=sample,
    )


def open_core(path: str | os.PathLike[str]) -> tuple[_core.Automaton, str]:
    """Map a file and check all of it; gives its absolute path too. Raises AutomatonError, OSError."""
    require_path(path, AutomatonError)
    place = os.path.abspath(path)
    _refuse_vocabulary(Path(place))
    # Python's error for a file that is not there or cannot be read names it.
    with open(place, "rb"):
        pass
    try:
        return _core.Automaton.open(place), place
    except AutomatonError as error:
        if place in str(error):
            raise
        raise AutomatonError(f"{place}: {error}") from error


def _refuse_vocabulary(path: Path) -> None:
    """Raise AutomatonError for what can be compiled, by its name, and is no automaton yet. Raises OSError."""
    is_folder = path.is_dir() and any((path / name).is_file() for name in ("tokenizer.json", "vocab.txt"))
    is_file = path.suffix.lower() in (".json", ".txt") and path.is_file() and not is_automaton(path)
    if is_folder or is_file:
        raise AutomatonError(
            f"{path} is not an automaton; if it is a tokenizer, compile it first: "
            f"beam-wordpiece compile {shlex.quote(str(path))} -o {shlex.quote(path.stem)}.bwp, or Automaton.compile."
        )


def _reopen(path: str, fingerprint: str) -> Automaton:
    """Open the file of a pickled automaton, which has to mean what it meant when it was pickled."""
    automaton = Automaton.open(path)
    if automaton.fingerprint != fingerprint:
        raise AutomatonError(
            f"{path}: the file has been replaced by another automaton (fingerprint {automaton.fingerprint}, "
            f"not {fingerprint}); give automata that differ names that differ."
        )
    return automaton


def _template_text(pieces: tuple[Piece, ...]) -> str:
    """A template as HF writes one: `[CLS]:0 $A:0 [SEP]:0`."""
    return " ".join(f"{'$' if piece.ids is None else ''}{piece.name}:{piece.type_id}" for piece in pieces)


@dataclasses.dataclass(frozen=True)
class _Details:
    """What the compiled module stores without reading it: all of a vocabulary but its tokens."""

    options: Options
    added_tokens: tuple[AddedToken, ...]
    single: tuple[Piece, ...]
    pair: tuple[Piece, ...]
    decoder: Decoder | None
    vocab_size: int
    source: str

    @classmethod
    def of(cls, vocabulary: Vocabulary) -> _Details:
        """The last two names of the source's path say which file it was; more would tie the bytes to one machine.

        What is not UTF-8 in them becomes "?".
        """
        source = "/".join(Path(vocabulary.source).parts[-2:]).encode("utf-8", "replace").decode()
        return cls(
            options=vocabulary.options,
            added_tokens=vocabulary.added_tokens,
            single=vocabulary.single,
            pair=vocabulary.pair,
            decoder=vocabulary.decoder,
            vocab_size=vocabulary.size,
            source=source,
        )

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self), ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str, name: str) -> _Details:
        """Read the details back. Raises AutomatonError: the file may come from anywhere."""
        if text.startswith(DICTIONARY_MARK):
            raise AutomatonError(
                f"{name} is a dictionary, not the automaton of a vocabulary; in Python open it with Dictionary.open, "
                "at the shell give it to `beam-wordpiece encode --automaton`."
            )
        try:
            fields = json.loads(text)
            return cls(
                options=Options(**fields["options"]),
                added_tokens=tuple(_build(AddedToken, token) for token in fields["added_tokens"]),
                single=tuple(_build_piece(piece) for piece in fields["single"]),
                pair=tuple(_build_piece(piece) for piece in fields["pair"]),
                decoder=None if fields["decoder"] is None else _build(Decoder, fields["decoder"]),
                vocab_size=_typed(fields["vocab_size"], int),
                source=_typed(fields["source"], str),
            )
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError, WordPieceError) as error:
            raise AutomatonError(f"{name}: its description cannot be read ({error!r}); compile it again.") from error


_Value = TypeVar("_Value")
_Record = TypeVar("_Record", AddedToken, Decoder, Piece)
_SCALARS = {"str": str, "int": int, "bool": bool}


def _build(kind: type[_Record], fields: dict[str, Any]) -> _Record:
    """A record from JSON; TypeError where a scalar is of another type than its field."""
    record = kind(**fields)
    for field in dataclasses.fields(record):
        if field.type in _SCALARS:
            _typed(getattr(record, field.name), _SCALARS[field.type])
    return record


def _build_piece(fields: dict[str, Any]) -> Piece:
    piece = _build(Piece, fields)
    if piece.ids is None:
        return piece
    return dataclasses.replace(piece, ids=tuple(_typed(number, int) for number in piece.ids))


def _typed(value: Any, kind: type[_Value]) -> _Value:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not of type {kind.__name__}")
    return value
