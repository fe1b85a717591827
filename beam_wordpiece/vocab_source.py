"""What a command is given to work with, from whatever file holds it: a vocabulary or a dictionary."""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beam_wordpiece.automaton import Automaton
from beam_wordpiece.checks import is_automaton
from beam_wordpiece.config import add_option_flags, option_values
from beam_wordpiece.dictionary import SPLIT, Dictionary, open_tokenizer
from beam_wordpiece.dictionary_entries import has_entries
from beam_wordpiece.errors import ConfigError, VocabularyWarning, warn_of_vocabulary
from beam_wordpiece.settings import OPTIONS
from beam_wordpiece.tokenizer_folder import FolderSettings
from beam_wordpiece.vocab import load_vocabulary, read_vocab_txt
from beam_wordpiece.vocab_types import Decoder, Options, Overrides, Vocabulary, add_tokens, bare_templates

# The options of a dictionary.
OF_DICTIONARY = ("unknown", *SPLIT)
# What only a dictionary can do with an unknown character.
CARRY = "carry"


def add_source_flags(command: argparse.ArgumentParser) -> None:
    """The argument that names the file, and the options that go with it."""
    command.add_argument(
        "vocabulary",
        metavar="VOCAB",
        help="a vocab.txt, a tokenizer.json, a tokenizer folder, an automaton file or dictionary, or the entries of a "
        "dictionary: a text file with <key>:<id> in each line, which takes --unknown character (default), run or "
        "carry, --backward, --segmentation and --unknown-cost",
    )
    add_option_flags(command)


def source_options(namespace: argparse.Namespace) -> dict[str, Any]:
    """What the flags of `add_source_flags` said: keywords of `load_source`. Raises ConfigError."""
    if getattr(namespace, "unknown", None) != CARRY:
        return option_values(namespace)
    others = [option.name for option in OPTIONS if option.name != "unknown"]
    return option_values(namespace, others) | {"unknown": CARRY}


def load_source(path: str, errors: str = "replace", **options: object) -> Vocabulary | Dictionary:
    """Read a vocabulary as `load_vocabulary` does, or take it out of an automaton file; or a dictionary.

    A text file is one of entries where most of its lines read as such and none is the unknown token. A vocab.txt
    without the unknown token is read as if it had it in a last line, with a VocabularyWarning: the examples of papers
    do without. `errors`: those of the dictionary. Raises what `Automaton.compile`, `Automaton.open`, `Dictionary.open`
    and `Dictionary.from_file` raise, and ConfigError for options that do not go with what is there.
    """
    place = Path(path)
    if is_automaton(place):
        _require_none(path, options)
        opened = open_tokenizer(place, errors=errors)
        return opened if isinstance(opened, Dictionary) else _vocabulary_of(opened.automaton)
    if has_entries(place, str(options.get("unk_token", Options.unk_token))):
        return load_dictionary(path, errors, **options)
    return _load_vocabulary(path, options)


def load_dictionary(path: str, errors: str = "replace", **options: object) -> Dictionary:
    """A dictionary, compiled, or of the entries in a text file. Raises as `load_source` does, whatever else it is."""
    if is_automaton(Path(path)):
        _require_none(path, options)
        return Dictionary.open(path, errors=errors)
    other = [name for name in options if name not in OF_DICTIONARY]
    if other:
        raise ConfigError(
            f"{path} has the entries of a dictionary, of which {', '.join(other)} cannot be said; its options are "
            f"{', '.join(OF_DICTIONARY)}."
        )
    given: Any = options
    return Dictionary.from_file(path, errors=errors, **given)


def _require_none(path: str, options: dict[str, object]) -> None:
    if options:
        raise ConfigError(
            f"{path} is an automaton, which has its options compiled in ({', '.join(options)} cannot be changed); "
            "give the file that it was compiled from."
        )


def _load_vocabulary(path: str, options: dict[str, object]) -> Vocabulary:
    place = Path(path)
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
    """All tokens, in the order of their ids, added ones as they were given."""
    added = {token.id: token.content for token in automaton.added_tokens}
    named = ((number, added.get(number) or automaton.token(number)) for number in itertools.count())
    found = ((number, token) for number, token in named if token is not None)
    return itertools.islice(found, automaton.vocab_size)
