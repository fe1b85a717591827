"""The `beam-wordpiece` command: compile a vocabulary, inspect an automaton file, look at how text is tokenized."""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import json
import os
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from beam_wordpiece.automaton import Automaton
from beam_wordpiece.checks import is_automaton
from beam_wordpiece.command_line import Command
from beam_wordpiece.config import FileSettings, add_flags_of, add_option_flags, option_values
from beam_wordpiece.convert import CONVERT_EXAMPLES, add_convert_flags, convert
from beam_wordpiece.dictionary import SPLIT, Dictionary, open_tokenizer
from beam_wordpiece.dictionary_ids import UNKNOWN
from beam_wordpiece.errors import ConfigError, TextError, VocabularyWarning, WordPieceError
from beam_wordpiece.fewest_report import FEWEST_EXAMPLES, add_fewest_flags, fewest
from beam_wordpiece.find_command import FIND_EXAMPLES, add_find_flags, find
from beam_wordpiece.parquet import Layout, open_parquet, read_blocks
from beam_wordpiece.settings import ERRORS, LAYOUTS
from beam_wordpiece.show.commands import DRAW_EXAMPLES, TRACE_EXAMPLES, add_draw_flags, add_trace_flags, draw, trace
from beam_wordpiece.terminal import cells, standard_input, visible
from beam_wordpiece.tokenizer import Encoding, Tokenizer

PROGRAM = "beam-wordpiece"
# The exit status of a command that could not do what was asked, as argparse has it for a wrong command line.
FAILED = 2
INTERRUPTED = 130

DESCRIPTION = "Exact, linear-time WordPiece tokenization: compile a vocabulary once, then map it everywhere."
EXAMPLES = """\
examples:
  beam-wordpiece compile bert-base-uncased/ -o bert.bwp     a tokenizer folder, tokenizer.json or vocab.txt
  beam-wordpiece dictionary entries.txt -o names.bwp        keys with ids of your own, longest match first
  beam-wordpiece inspect bert.bwp                           what is in it
  beam-wordpiece encode --tokenizer bert.bwp "Hello there"  how a text is tokenized
  beam-wordpiece trace bert.bwp "Hello there"               the steps of the automaton, one by one
  beam-wordpiece draw vocab.txt -o trie.svg                 a picture of a small automaton
  beam-wordpiece fewest bert.bwp books.txt                  what greedy matching misses
  beam-wordpiece find names.bwp books.txt                   where the keys of a dictionary stand
  beam-wordpiece convert vocab.txt -o normal.json           the vocabulary with markers before words, not within

`beam-wordpiece COMMAND --help` says more about each command. Whole files, Parquet or text, also documents that come in
pieces, are for the pipeline: `python -m pipelines.tokenize_parquet --help`, in a clone of the project.

Exit status 0: done, also where nothing is found; 2: it cannot be done, and the last line on standard error says why;
130: interrupted.
"""
# What the commands do about an output that is there.
OVER = "; one that is there is written over, if it is an automaton or a dictionary"
COMPILE_EXAMPLES = """\
examples:
  beam-wordpiece compile tokenizer.json -o bert.bwp
  beam-wordpiece compile vocab.txt -o bert-cased.bwp --lowercase false
  beam-wordpiece compile model-folder/ -o bert.bwp --truncation false --padding false
  beam-wordpiece compile vocab.txt -o odd.bwp --doubtful-lines warn
  beam-wordpiece compile model-folder/ -o bert.bwp --sample part-0.parquet --sample-column body

The ids are those of HuggingFace tokenizers. Whatever a tokenizer file asks for that is not supported is refused by
name. The options above win over what the files say. A sample (a few MB) makes text like it faster, by 6 to 20 %,
and changes no id.
"""
DICTIONARY_EXAMPLES = """\
examples:
  beam-wordpiece dictionary entries.txt -o names.bwp                  lines such as catalog:11
  beam-wordpiece dictionary entries.txt -o names.bwp --unknown carry
  beam-wordpiece dictionary entries.txt -o names.bwp --segmentation fewest

Of the text the longest key is taken, again and again, and its id given: what follows the last colon of the entry, any
text. The file is taken wherever an automaton is; the ids are then strings.
"""
INSPECT_EXAMPLES = """\
examples:
  beam-wordpiece inspect bert.bwp
  beam-wordpiece inspect bert.bwp --json

Two automata that tokenize alike have the same fingerprint, whatever file they were compiled from.

  nodes          beginnings of tokens: the states of the automaton
  units          places of 16 bytes that the nodes stand in, some of them empty
  failure pops   places in the pool of the tokens that are certain where a failure link is taken
  displacements  what puts each word of the vocabulary in a place of its own in the table of whole words (slots)
  template       what stands around a text, $A, or two, $A and $B: each token with its type after the colon
  sections       the parts of the file, and what they take, in bytes
"""
ENCODE_EXAMPLES = """\
examples:
  beam-wordpiece encode --tokenizer bert.bwp "unaffable cats" "a second document"
  beam-wordpiece encode --tokenizer tokenizer.json < documents.txt        one document a line
  beam-wordpiece encode --tokenizer bert.bwp --json "Hello there"         {"ids": [...], "tokens": [...]}
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command. Gives the exit status: 0, or 2 after one line on standard error that says what is wrong."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a token shows its escape.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", VocabularyWarning)
            warnings.showwarning = _show_warning
            options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`head`, a pager) has seen enough. What is still in the buffer must not fail again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except WordPieceError as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"{error.filename}: {error.strerror}" if error.filename and error.strerror else str(error))
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _fail(message: str) -> int:
    print(f"{PROGRAM}: {' '.join(message.split())}", file=sys.stderr)
    return FAILED


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    print(f"{PROGRAM}: warning: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        PROGRAM, description=DESCRIPTION, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {importlib.metadata.version(PROGRAM)}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True, parser_class=Command)
    _add_compile(commands)
    _add_dictionary(commands)
    _add_inspect(commands)
    _add_encode(commands)
    add_trace_flags(_add_command(commands, "trace", "show the steps of the matching loop", TRACE_EXAMPLES, trace))
    add_draw_flags(_add_command(commands, "draw", "draw the trie of a vocabulary", DRAW_EXAMPLES, draw))
    add_fewest_flags(_add_command(commands, "fewest", "count what greedy matching misses", FEWEST_EXAMPLES, fewest))
    add_find_flags(_add_command(commands, "find", "find the keys of a dictionary in text", FIND_EXAMPLES, find))
    add_convert_flags(
        _add_command(commands, "convert", "write a vocabulary in the normal form, or back", CONVERT_EXAMPLES, convert)
    )
    return parser


def _add_command(commands: Any, name: str, help: str, examples: str, run: Any) -> argparse.ArgumentParser:
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=help,
        description=help[0].upper() + help[1:] + ".",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command


def _add_compile(commands: Any) -> None:
    command = _add_command(
        commands, "compile", "compile a vocabulary into an automaton file", COMPILE_EXAMPLES, _compile
    )
    command.add_argument("source", metavar="TOKENIZER", help="a tokenizer.json, a vocab.txt, or a tokenizer folder")
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=f"the automaton file to write{OVER}")
    command.add_argument(
        "--sample", metavar="FILE", help="text like that to come, a .parquet or a .txt of a document a line: speed only"
    )
    command.add_argument(
        "--sample-column", metavar="NAME", default="text", help="its text column; a field of a struct is a.b"
    )
    command.add_argument(
        "--layout",
        choices=LAYOUTS,
        default=LAYOUTS[0],
        help="failure_links (default), or transducer: without failure transitions, the same ids, more memory",
    )
    add_option_flags(command)


def _add_dictionary(commands: Any) -> None:
    command = _add_command(
        commands, "dictionary", "compile keys and their ids into a file", DICTIONARY_EXAMPLES, _compile_dictionary
    )
    command.add_argument("source", metavar="ENTRIES", help="a text file with an entry <key>:<id> in each line")
    command.add_argument("-o", "--output", metavar="FILE", required=True, help=f"the file to write{OVER}")
    command.add_argument(
        "--unknown",
        choices=UNKNOWN,
        default=UNKNOWN[0],
        help="[UNK] for each character that begins no key (default), for a run of them, or with the character: [UNK]:x",
    )
    add_flags_of(command, "other splits, of texts that are there as a whole", SPLIT)


def _add_inspect(commands: Any) -> None:
    command = _add_command(
        commands, "inspect", "show what is in an automaton or a dictionary", INSPECT_EXAMPLES, _inspect
    )
    command.add_argument("file", metavar="FILE", help="an automaton file or a dictionary")
    command.add_argument("--json", action="store_true", help="as JSON, for programs")


def _add_encode(commands: Any) -> None:
    command = _add_command(commands, "encode", "show the tokens and ids of text", ENCODE_EXAMPLES, _encode)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--tokenizer",
        metavar="PATH",
        help="tokenize with a tokenizer.json, a vocab.txt or a folder, or with an automaton or a dictionary (.bwp)",
    )
    source.add_argument("--automaton", metavar="FILE", help="the same, for an automaton or a dictionary only")
    command.add_argument(
        "texts", metavar="TEXT", nargs="*", help="a document; without any, each line of standard input is one"
    )
    command.add_argument("--json", action="store_true", help="one JSON object a document, for programs")
    command.add_argument("--no-special-tokens", action="store_true", help="leave out [CLS], [SEP] and the like")
    command.add_argument(
        "--errors", choices=ERRORS, default="replace", help="text that is not UTF-8: U+FFFD (default), or an error"
    )
    add_option_flags(command)


def _compile(options: argparse.Namespace) -> None:
    sample = None if options.sample is None else _sample(options.sample, options.sample_column)
    automaton = Automaton.compile(options.source, layout=options.layout, sample=sample, **option_values(options))
    _keep_other_files(options.output)
    automaton.save(options.output)
    size = os.path.getsize(options.output)
    tokens = f"{automaton.vocab_size:,} tokens"
    if sample is not None:
        words = automaton.describe()["statistics"]["sampled_words"]
        tokens += f" and {words:,} words of the sample"
        tokens += "" if words else " (too little text, or its frequent words are single tokens)"
    print(f"{options.output}: {tokens}, {size:,} bytes, fingerprint {automaton.fingerprint}")


def _compile_dictionary(options: argparse.Namespace) -> None:
    split = option_values(options, SPLIT)
    dictionary, repeated = Dictionary.from_file_counted(options.source, unknown=options.unknown, **split)
    _keep_other_files(options.output)
    dictionary.save(options.output)
    size = os.path.getsize(options.output)
    entries = "entry repeats" if repeated == 1 else "entries repeat"
    keys = f"{len(dictionary):,} keys" + (f" ({repeated:,} {entries} a key; the first counts)" if repeated else "")
    print(f"{options.output}: {keys}, {size:,} bytes, fingerprint {dictionary.fingerprint}")


def _sample(path: str, column: str) -> pa.ChunkedArray[Any]:
    """The documents of a sample. Raises ConfigError, InputError, OSError."""
    with open(path, "rb") as file:
        if path.endswith(".txt"):
            return pa.chunked_array([pa.array(_lines(file), pa.large_binary())])
        if not path.endswith(".parquet"):
            raise ConfigError(f"{path}: a sample has to be a .parquet, or a .txt with a document in each line.")
        parquet = open_parquet(pa.PythonFile(file), path)
        layout = Layout(parquet.schema_arrow, FileSettings(text_column=column, columns=()), path)
        blocks = read_blocks(parquet, layout, path)
        texts: Any = [layout.texts(batch) for block in blocks for batch in block]
    return pa.chunked_array(texts or [pa.array([], pa.string())])


def _keep_other_files(path: str) -> None:
    """Refuse to write over a file that is not an automaton: it may well be the vocabulary itself."""
    if not os.path.isfile(path):
        return
    if os.path.getsize(path) and not is_automaton(Path(path)):
        raise ConfigError(f"{path} is there already and is not an automaton; choose another name to write to.")


def _inspect(options: argparse.Namespace) -> None:
    opened = open_tokenizer(options.file)
    description = (opened.automaton if isinstance(opened, Tokenizer) else opened).describe()
    if options.json:
        print(json.dumps(description, indent=2))
        return
    rows = list(_rows(description))
    width = max(len(name) for name, _ in rows)
    for name, value in rows:
        print(f"{name:<{width}}  {value}".rstrip())


def _rows(description: dict[str, Any], indent: str = "") -> Iterator[tuple[str, str]]:
    """A description as lines of a name and a value; what is inside a value is indented below it.

    Of rules, of which there may be thousands, only the number is there. What a terminal does not show is escaped.
    """
    for name, value in description.items():
        label = indent + name.replace("_", " ")
        if name == "rules" and isinstance(value, dict):
            yield label, f"{len(value):,}"
        elif isinstance(value, dict):
            yield label, ""
            yield from _rows(value, indent + "  ")
        elif isinstance(value, list):
            yield label, str(len(value))
            yield from ((f"{indent}  {visible(token['content'])}", _flags(token)) for token in value)
        else:
            yield label, f"{value:,}" if type(value) is int else visible(str(value))


def _flags(token: dict[str, Any]) -> str:
    """An added token's id and the flags that are set."""
    return " ".join([str(token["id"]), *(name for name, value in token.items() if value is True)])


def _encode(options: argparse.Namespace) -> None:
    tokenizer = _tokenizer(options)
    width = shutil.get_terminal_size().columns
    for number, data in enumerate(_documents(options.texts)):
        text = _decoded(data, options.errors, number)
        encoding = tokenizer.encode(text)
        if options.json:
            print(json.dumps({"text": text, "ids": encoding.ids, "tokens": encoding.tokens}))
        else:
            print("\n" * (number > 0) + "\n".join(_aligned(encoding, width)))


def _tokenizer(options: argparse.Namespace) -> Tokenizer | Dictionary:
    """What `encode` tokenizes with. Raises what `Automaton.compile` and `open_tokenizer` raise, and ConfigError."""
    overrides = option_values(options)
    compiled = options.automaton
    if compiled is None:
        if not is_automaton(Path(options.tokenizer)):
            automaton = Automaton.compile(options.tokenizer, **overrides)
            return Tokenizer(automaton, not options.no_special_tokens, options.errors)
        compiled = options.tokenizer
    if overrides:
        raise ConfigError(
            f"{compiled} is compiled and has its options in it ({', '.join(overrides)} cannot be changed); give "
            "--tokenizer the file that it was compiled from."
        )
    return open_tokenizer(compiled, not options.no_special_tokens, options.errors)


def _documents(texts: Sequence[str]) -> Iterable[bytes]:
    r"""The documents of the command line, or else the lines of standard input, of which only "\n" ends one."""
    if texts:
        return map(os.fsencode, texts)
    return _lines(standard_input())


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    return (line.removesuffix(b"\n") for line in file)


def _decoded(data: bytes, errors: str, row: int) -> str:
    try:
        return data.decode("utf-8", "strict" if errors == "error" else "replace")
    except UnicodeDecodeError as error:
        raise TextError(
            f"document {row + 1} is not UTF-8 at byte {error.start}; repair it, or give --errors replace to read each "
            "bad part as U+FFFD.",
            row,
        ) from error


def _aligned(encoding: Encoding, width: int) -> Iterator[str]:
    """Lines of tokens, each with its ids below, in columns that fit the width of the terminal."""
    tokens, ids, used = "", "", 0
    for token, number in zip(encoding.tokens, map(str, encoding.ids), strict=True):
        shown = visible(token)
        column = max(cells(shown), len(number)) + 2
        if used and used + column - 2 > width:
            yield from (tokens.rstrip(), ids.rstrip(), "")
            tokens, ids, used = "", "", 0
        tokens += shown + " " * (column - cells(shown))
        ids += number.ljust(column)
        used += column
    yield from (tokens.rstrip(), ids.rstrip())


if __name__ == "__main__":
    sys.exit(main())
