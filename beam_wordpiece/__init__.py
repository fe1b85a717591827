"""Exact, linear-time WordPiece tokenization of Arrow and Parquet text columns, for Apache Beam."""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING, Any

from beam_wordpiece.automaton import Automaton
from beam_wordpiece.bpe import BytePairEncoding
from beam_wordpiece.chunks.elements import Chunk, TokenizedChunk, TokenizedDocument
from beam_wordpiece.chunks.faults import DeadLetter
from beam_wordpiece.dictionary import Dictionary
from beam_wordpiece.errors import (
    AutomatonError,
    ConfigError,
    InputError,
    TextError,
    VocabularyError,
    VocabularyWarning,
    WordPieceError,
)
from beam_wordpiece.keyword_stream import KeywordStream
from beam_wordpiece.normal_form import NormalForm
from beam_wordpiece.stream import Stream
from beam_wordpiece.tokenizer import Counts, Encoding, Tokenizer
from beam_wordpiece.vocab import AddedToken, Options, Vocabulary, load_vocabulary
from beam_wordpiece.vocab_writer import save_vocabulary

if TYPE_CHECKING:
    from beam_wordpiece.chunks.transforms import TokenizeChunks
    from beam_wordpiece.config import FileSettings
    from beam_wordpiece.io import plan_tasks, tokenize_file
    from beam_wordpiece.keyword_transforms import FindKeywords, FindKeywordsInTables
    from beam_wordpiece.transforms import Tokenize, TokenizeFiles, TokenizeTables

__all__ = [
    "AddedToken",
    "Automaton",
    "AutomatonError",
    "BytePairEncoding",
    "Chunk",
    "ConfigError",
    "Counts",
    "DeadLetter",
    "Dictionary",
    "Encoding",
    "FileSettings",
    "FindKeywords",
    "FindKeywordsInTables",
    "InputError",
    "KeywordStream",
    "NormalForm",
    "Options",
    "Stream",
    "TextError",
    "Tokenize",
    "TokenizeChunks",
    "TokenizeFiles",
    "TokenizeTables",
    "TokenizedChunk",
    "TokenizedDocument",
    "Tokenizer",
    "Vocabulary",
    "VocabularyError",
    "VocabularyWarning",
    "WordPieceError",
    "load_vocabulary",
    "plan_tasks",
    "save_vocabulary",
    "tokenize_file",
]

# Imported only when one of these is asked for, and Beam with it (not by FileSettings): tokenizing does without it.
_LAZY = {
    "FileSettings": "config",
    "FindKeywords": "keyword_transforms",
    "FindKeywordsInTables": "keyword_transforms",
    "Tokenize": "transforms",
    "TokenizeChunks": "chunks.transforms",
    "TokenizeFiles": "transforms",
    "TokenizeTables": "transforms",
    "plan_tasks": "io",
    "tokenize_file": "io",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return importlib.metadata.version("beam-wordpiece")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(f"beam_wordpiece.{_LAZY[name]}")
    except ModuleNotFoundError as error:
        if error.name != "apache_beam":
            raise
        raise ImportError(f"{name} needs Apache Beam: pip install 'beam-wordpiece[beam]'", name=error.name) from error
    return getattr(module, name)


def __dir__() -> list[str]:
    return sorted([*globals(), "__version__", *_LAZY])
