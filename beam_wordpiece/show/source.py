"""What is to be shown, from whatever file holds it: a vocabulary or a dictionary."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beam_wordpiece.automaton import Automaton
from beam_wordpiece.checks import is_automaton
from beam_wordpiece.dictionary import SPLIT, Dictionary, open_tokenizer
from beam_wordpiece.errors import ConfigError, VocabularyWarning, warn_of_vocabulary
from beam_wordpiece.show.subject import Subject
from beam_wordpiece.tokenizer_folder import FolderSettings
from beam_wordpiece.vocab import load_vocabulary, read_vocab_txt
from beam_wordpiece.vocab_types import Decoder, Options, Overrides, Vocabulary, add_tokens, bare_templates


def load_subject(path: str, entries: str | None = None, **options: object) -> Subject:
    """What a file holds: a vocabulary as `load` reads it, or a dictionary.

    `entries`: the file has the entries of a dictionary in its lines, and this is its `unknown`; the options are then
    those of `SPLIT`. Raises what `load`, `Dictionary.from_file` and `open_tokenizer` raise.
    """
    place = Path(path)
    if entries is not None:
        if is_automaton(place) or not options.keys() <= set(SPLIT):
            raise ConfigError(
                f"{path}: --entries is for a text file of entries, and of the options of a tokenizer it goes with "
                f"{', '.join(SPLIT)} only."
            )
        split: Any = options
        return Subject.of_dictionary(Dictionary.from_file(place, unknown=entries, **split), path)
    if is_automaton(place) and not options:
        opened = open_tokenizer(place)
        if isinstance(opened, Dictionary):
            return Subject.of_dictionary(opened, path)
        return Subject.of_vocabulary(_vocabulary_of(opened.automaton))
    return Subject.of_vocabulary(load(path, **options))


def load(path: str, **options: object) -> Vocabulary:
    """Read a vocabulary as `load_vocabulary` does, or take it out of an automaton file.

    A vocab.txt without the unknown token is read as if it had it in a last line, with a VocabularyWarning: the examples
    of papers do without. Raises what `Automaton.compile` and `Automaton.open` raise, and ConfigError for options beside
    an automaton.
    """
    place = Path(path)
    if is_automaton(place):
        if options:
            raise ConfigError(
                f"{path} is an automaton, which has its options compiled in ({', '.join(options)} cannot be changed); "
                "give the file that it was compiled from."
            )
        return _vocabulary_of(Automaton.open(place))
    overrides = Overrides.of(options)
    if place.is_file() and place.suffix.lower() != ".json":
        with warnings.catch_warnings():
            # They come when it is read for good.
            warnings.simplefilter("ignore", VocabularyWarning)
            tokens = read_vocab_txt(place, overrides.doubtful_lines)
        if overrides.apply(Options()).unk_token not in tokens:
            return _with_unknown(tokens, overrides, path)
    vocabulary = load_vocabulary(path, **options)
    # What cannot be compiled is refused here as well.
    Automaton.compile(vocabulary)
    return vocabulary


def _with_unknown(tokens: dict[str, int], overrides: Overrides, path: str) -> Vocabulary:
    options = overrides.apply(Options())
    warn_of_vocabulary(
        f"{path}: the unknown token {options.unk_token!r} is not in the vocabulary; it is shown as if it stood in a "
        "last line, where it has to be put before the file can be compiled."
    )
    tokens = tokens | {options.unk_token: max(tokens.values(), default=-1) + 1}
    added = add_tokens(tokens, FolderSettings().named_tokens(tokens, options.unk_token, path), path)
    return Vocabulary(tokens, added, options, *bare_templates(), Decoder(options.continuing_subword_prefix), path)


def _vocabulary_of(automaton: Automaton) -> Vocabulary:
    """What an automaton was compiled from."""
    # HF gives added tokens that the vocabulary lacks the ids that follow its number of tokens.
    count: int = automaton.describe()["statistics"]["tokens"]
    beside = {token.id for token in automaton.added_tokens if count <= token.id < automaton.vocab_size}
    tokens = {token: number for number, token in _tokens(automaton) if number not in beside}
    return Vocabulary(
        tokens,
        automaton.added_tokens,
        automaton.options,
        automaton.single,
        automaton.pair,
        automaton.decoder,
        str(automaton.path),
    )


def _tokens(automaton: Automaton) -> Iterator[tuple[int, str]]:
    """All tokens, in the order of their ids."""
    named = ((number, automaton.token(number)) for number in itertools.count())
    found = ((number, token) for number, token in named if token is not None)
    return itertools.islice(found, automaton.vocab_size)
