"""`vocab.txt`, `tokenizer.json` or a tokenizer folder -> vocabulary and options."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from beam_wordpiece.errors import VocabularyError, VocabularyWarning
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

# What HF takes off the end of a line: the code points with the Unicode property White_Space.
WHITE_SPACE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


def load_vocabulary(path: str | os.PathLike[str], **options: object) -> Vocabulary:
    """Read a vocabulary: a `tokenizer.json` (any name that ends in `.json`), a `vocab.txt`, or a tokenizer folder.

    Of a folder, `tokenizer.json` is read if it is there, otherwise `vocab.txt` with what `tokenizer_config.json` and
    `special_tokens_map.json` say. Ids are those of HF `tokenizers` 0.23.3. A `vocab.txt` alone is read as HF's
    BertWordPieceTokenizer reads it: lower-cased unless told otherwise, [UNK] [SEP] [CLS] [PAD] [MASK] special where
    the file has them, and [CLS] and [SEP] around the text where it has both.

    Options, by keyword, win over what files say: `lowercase`, `strip_accents` (None follows `lowercase`), `clean_text`,
    `handle_chinese_chars`, `unk_token`, `continuing_subword_prefix` (any string, or ""), `max_input_chars_per_word` (in
    characters), `profile` ("hf"); `truncation=False` and `padding=False` leave out what a tokenizer.json asks for.

    Raises VocabularyError where a file cannot be used or asks for what is not supported, ConfigError for an option that
    is unknown or of the wrong type, OSError where a file cannot be read. Warns with VocabularyWarning where a file is
    read as HF reads it and probably means something else.
    """
    overrides = Overrides.of(options)
    place = Path(path)
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
    tokens = read_vocab_txt(path)
    options = overrides.apply(settings.options)
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


def read_vocab_txt(path: Path) -> dict[str, int]:
    r"""The tokens of a `vocab.txt`: the id is the number of the line, from 0, and only "\n" ends a line.

    As in HF, white space at the end of a line is taken off and the last of equal lines wins. That, and blank lines,
    are warned about; a byte order mark and bytes that are not UTF-8 are errors.
    """
    data = path.read_bytes()
    if data.startswith(b"\xef\xbb\xbf"):
        raise VocabularyError(
            f"{path}: starts with a byte order mark, which would become part of the first token; "
            "remove its 3 bytes (save as UTF-8 without BOM)."
        )
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
    for fault, numbers in _doubtful_lines(lines, names, tokens):
        if numbers:
            warnings.warn(f"{path}: {_lines(numbers)} {fault}", VocabularyWarning, stacklevel=2)
    return tokens


def _doubtful_lines(
    lines: Sequence[str], names: Sequence[str], tokens: dict[str, int]
) -> Iterator[tuple[str, Sequence[int]]]:
    """What is doubtful about a file and the lines (from 1) concerned: nothing that changes an id away from HF's."""
    pairs = list(enumerate(zip(lines, names, strict=True), 1))
    crlf = [number for number, (line, name) in pairs if line == name + "\r"]
    yield 'ends with a carriage return ("\\r\\n"), which is not part of the token.', crlf
    spaces = [number for number, (line, name) in pairs if name and line != name and line != name + "\r"]
    yield "ends with white space, which is not part of the token.", spaces
    yield "is blank: an id that no text can have.", [number for number, (_, name) in pairs if not name]
    repeated = [number for number, (_, name) in pairs if name and tokens[name] != number - 1]
    yield "repeats in a later line, whose id the token has.", repeated


def _lines(numbers: Sequence[int]) -> str:
    """ "line 3", "each of lines 1, 2, 3 and 40 more": the subject of a sentence in the singular."""
    if len(numbers) == 1:
        return f"line {numbers[0]}"
    shown = ", ".join(str(number) for number in numbers[:5])
    more = f" and {len(numbers) - 5} more" if len(numbers) > 5 else ""
    return f"each of lines {shown}{more}"
