"""`vocab.txt`, `tokenizer.json` or a tokenizer folder -> vocabulary and options."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from beam_wordpiece.checks import WHITE_SPACE, is_automaton, is_entry, require_path
from beam_wordpiece.errors import VocabularyError, warn_of_vocabulary
from beam_wordpiece.tokenizer_folder import FolderSettings, check_agreement, read_settings
from beam_wordpiece.tokenizer_json import load_tokenizer_json
from beam_wordpiece.vocab_types import (
    AddedToken,
    Decoder,
    Options,
    Overrides,
    Piece,
    Vocabulary,
    add_tokens,
    bare_templates,
    bert_templates,
)

__all__ = ["AddedToken", "Decoder", "Options", "Piece", "Vocabulary", "load_vocabulary"]

# What begins words in vocabularies that mark their beginnings, and how many tokens with it are no coincidence.
MARKERS = (" ", "▁", "Ġ")
LEAST_MARKED = 100


def load_vocabulary(path: str | os.PathLike[str], **options: object) -> Vocabulary:
    """Read a vocabulary: a `tokenizer.json` (any name that ends in `.json`), a `vocab.txt`, or a tokenizer folder.

    Of a folder, `tokenizer.json` is read if it is there, otherwise `vocab.txt` with what `tokenizer_config.json` and
    `special_tokens_map.json` say. Ids are those of HF `tokenizers` 0.23.3. A `vocab.txt` alone is read as HF's
    BertWordPieceTokenizer reads it: lower-cased unless told otherwise, [UNK] [SEP] [CLS] [PAD] [MASK] special where
    the file has them, and [CLS] and [SEP] around the text where it has both.

    Options, by keyword, win over what files say: `lowercase`, `strip_accents` (None follows `lowercase`), `clean_text`,
    `handle_chinese_chars`, `unk_token`, `continuing_subword_prefix` (any string, or ""), `max_input_chars_per_word` (in
    characters), `profile` ("hf"), `pretokenize`, `unknown`, `backward`, `segmentation`, `unknown_cost` and `rules` (see
    `Options`); `truncation=False` and `padding=False` leave out what a tokenizer.json asks for. `doubtful_lines` is
    about a vocab.txt with a byte order mark, with blank or equal lines, or with CRLF or white space at the end of a
    line: "error" (default) refuses it, "warn" reads it as HF does and warns.

    Raises VocabularyError where a file cannot be used or asks for what is not supported, ConfigError for an option that
    is unknown or of the wrong type, OSError where a file cannot be read. Warns with VocabularyWarning where a file is
    read as HF reads it and probably means something else.
    """
    overrides = Overrides.of(options)
    place = Path(path)
    require_path(place, VocabularyError)
    if is_automaton(place):
        raise VocabularyError(
            f"{place} is an automaton or a dictionary, compiled already, where a vocabulary is wanted; use it as it is "
            "(`encode --automaton`, `inspect`, Automaton.open), or give the file that it was compiled from."
        )
    if place.is_dir():
        return _load_folder(place, overrides)
    if place.suffix.lower() == ".json":
        return load_tokenizer_json(place, overrides)
    return _load_vocab_txt(place, FolderSettings(), overrides)


def _load_folder(folder: Path, overrides: Overrides) -> Vocabulary:
    tokenizer_json, vocab_txt = folder / "tokenizer.json", folder / "vocab.txt"
    if tokenizer_json.is_file():
        vocabulary = load_tokenizer_json(tokenizer_json, overrides)
        check_agreement(folder, vocabulary, overrides)
        return vocabulary
    if vocab_txt.is_file():
        return _load_vocab_txt(vocab_txt, read_settings(folder), overrides)
    raise VocabularyError(f"{folder}: this folder holds neither tokenizer.json nor vocab.txt.")


def _load_vocab_txt(path: Path, settings: FolderSettings, overrides: Overrides) -> Vocabulary:
    tokens = read_vocab_txt(path, overrides.doubtful_lines)
    options = overrides.apply(settings.options)
    _look_at_form(tokens, options, path)
    entries = [*settings.added_tokens, *settings.named_tokens(tokens, options.unk_token, str(path))]
    added_tokens = add_tokens(tokens, entries, str(path))
    # As `tokenizers` writes them to a tokenizer.json, so that both files give one automaton.
    added_tokens = tuple(sorted(added_tokens, key=lambda token: token.id))
    ids = tokens | {token.content: token.id for token in added_tokens}
    first, last = settings.names["cls_token"], settings.names["sep_token"]
    if first in ids and last in ids:
        single, pair = bert_templates(*(Piece(name, (ids[name],), 0) for name in (first, last)))
    else:
        single, pair = bare_templates()
    decoder = Decoder(options.continuing_subword_prefix)
    return Vocabulary(tokens, added_tokens, options, single, pair, decoder, str(path))


def _look_at_form(tokens: Mapping[str, int], options: Options, path: Path) -> None:
    """Warn of tokens that mark where a word begins, not where it goes on. Raises VocabularyError for a dictionary."""
    if options.unk_token not in tokens and tokens and all(map(is_entry, tokens)):
        raise VocabularyError(
            f"{path}: every line is <key>:<id>, as in the entries of a dictionary, and {options.unk_token!r} is not "
            "there; a dictionary is compiled by `beam-wordpiece dictionary` or Dictionary.from_file."
        )
    prefix = options.continuing_subword_prefix
    if not (prefix and options.pretokenize) or any(token.startswith(prefix) for token in tokens):
        return
    marker, count = max(((marker, _count(tokens, marker)) for marker in MARKERS), key=lambda pair: pair[1])
    if count >= max(LEAST_MARKED, len(tokens) / 4):
        warn_of_vocabulary(
            f"{path}: {count:,} of {len(tokens):,} tokens begin with {marker!r} and none with {prefix!r}, as in the "
            "normal form or in a vocabulary of another kind; they are found in no word. Give the tokenizer.json, "
            "which says what its markers are."
        )


def _count(tokens: Iterable[str], marker: str) -> int:
    return sum(token.startswith(marker) and token != marker for token in tokens)


def read_vocab_txt(path: Path, doubtful_lines: str = "error") -> dict[str, int]:
    r"""The tokens of a `vocab.txt`: the id is the number of the line, from 0, and only "\n" ends a line.

    `doubtful_lines`: what is done about a byte order mark, blank lines, equal lines, and white space at the end of a
    line ("\r" too). "error" raises VocabularyError. "warn" warns with VocabularyWarning and gives HF's ids: the mark is
    part of the first token, a blank line uses up an id, the last of equal lines wins, and the white space is taken off.
    Bytes that are not UTF-8 are always an error.
    """
    data = path.read_bytes()
    try:
        lines = data.decode().split("\n")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise VocabularyError(
            f"{path}: line {line} is not UTF-8 (byte {error.start} of the file); save it as UTF-8."
        ) from error
    if lines[-1] == "":
        lines.pop()
    names = [line.rstrip(WHITE_SPACE) for line in lines]
    tokens = {name: number for number, name in enumerate(names)}
    doubts = [(doubt, numbers) for doubt, numbers in _doubts(lines, names, tokens) if numbers]
    if doubts and doubtful_lines == "error":
        found = " and ".join(f"{_lines(numbers)} {doubt.fault} ({doubt.remedy})" for doubt, numbers in doubts)
        raise VocabularyError(
            f'{path}: {found}; correct this, or give doubtful_lines="warn" to read the file as HuggingFace does '
            "(--doubtful-lines warn)."
        )
    for doubt, numbers in doubts:
        warn_of_vocabulary(f"{path}: {_lines(numbers)} {doubt.fault}, {doubt.effect}.")
    return tokens


class _Doubt(NamedTuple):
    """What is doubtful about a line, what comes of it in HF, and what the author of the file can do."""

    fault: str
    effect: str
    remedy: str


MARK = _Doubt("starts with a byte order mark", "which is part of the token", "save the file as UTF-8 without it")
CARRIAGE_RETURN = _Doubt(
    "ends with a carriage return", "which is not part of the token", 'end lines with "\\n" alone, not CRLF'
)
SPACE = _Doubt("ends with white space", "which is not part of the token", "take it off")
BLANK = _Doubt("is blank", "an id that no text can have", "put a token of its own there, so that no id moves")
REPEATED = _Doubt("repeats in a later line", "whose id the token has", "put another token there, so that no id moves")


def _doubts(
    lines: Sequence[str], names: Sequence[str], tokens: Mapping[str, int]
) -> Iterator[tuple[_Doubt, Sequence[int]]]:
    """Each doubt and the lines (from 1) that it is about. `names`: the lines without white space at their end."""
    pairs = list(enumerate(zip(lines, names, strict=True), 1))
    yield MARK, [1] if lines and lines[0].startswith("\ufeff") else []
    yield CARRIAGE_RETURN, [number for number, (line, name) in pairs if line == name + "\r"]
    yield SPACE, [number for number, (line, name) in pairs if name and line not in (name, name + "\r")]
    yield BLANK, [number for number, (_, name) in pairs if not name]
    yield REPEATED, [number for number, (_, name) in pairs if name and tokens[name] != number - 1]


def _lines(numbers: Sequence[int]) -> str:
    """ "line 3", "each of lines 1, 2, 3 and 40 more": the subject of a sentence in the singular."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    shown = ", ".join(str(number) for number in numbers[:5])
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"each of lines {shown}{more}"
