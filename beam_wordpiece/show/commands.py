"""The commands `beam-wordpiece trace` and `draw`: their flags, and how they show what they show."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beam_wordpiece.config import add_option_flags, option_values
from beam_wordpiece.errors import ConfigError
from beam_wordpiece.files import write_whole
from beam_wordpiece.show.draw import (
    MOST_NODES,
    Trie,
    beginning,
    dot,
    everything,
    image,
    plain,
    require_few,
    shown,
    table_rows,
    visited,
)
from beam_wordpiece.show.source import load
from beam_wordpiece.show.trace import Place, Step, Traced, Tracer
from beam_wordpiece.terminal import cells, table, visible

TRACE_EXAMPLES = """\
examples:
  printf '%s\\n' '[UNK]' a abcdx '##b' '##c' '##cdy' '##dz' > paper.txt
  beam-wordpiece trace paper.txt abcdz             the example of the paper
  beam-wordpiece trace bert.bwp "unaffable cats"   the words of a text, one after the other
  beam-wordpiece trace paper.txt abcdz --json      the same for programs

A line is a turn of the matching loop: at the character with the number i, in the node v. Where v has an edge for the
character, the edge is taken. Where it has none, the failure link f(v) is taken, and the tokens F(v) are popped: they
are certain. Where there is no failure link either, the word is unknown. At the end of the word failure links are taken
until the root r# is reached. A node is shown as what it spells, the roots as r and r#, a space as \N{OPEN BOX}. The
special tokens that the template puts around a text ([CLS], [SEP]) are not shown: no automaton finds them.

The automaton and its names are those of Song et al., "Fast WordPiece Tokenization" (2021), section 3.
"""
DRAW_EXAMPLES = f"""\
examples:
  beam-wordpiece draw paper.txt --table                          nodes, tokens, failure links f and pops F
  beam-wordpiece draw paper.txt -o paper.svg                     where Graphviz is installed
  beam-wordpiece draw paper.txt | dot -Tx11                      Graphviz's language, to standard output
  beam-wordpiece draw bert.bwp --text unaffable -o part.svg      the nodes that a text comes to
  beam-wordpiece draw bert.bwp --prefix unaff -o part.svg        the tokens that begin with a string

Tokens are double. Edges are solid and have a character; failure links are dashed and have the tokens that they pop. At
most {MOST_NODES} nodes are drawn: of the vocabulary of a model only a part, which has all nodes that its failure links
lead to.

Not drawn without --all, and not in the paper: special and other added tokens, which are found before words are split,
and the tokens that begin with the indicator (##) as they stand below r for words that begin with it themselves.
"""
LANGUAGE = (".dot", ".gv")
IMAGES = (".svg", ".png", ".pdf")
# How many columns the tokens so far may take; of more, the last ones are shown.
WIDTH = 50


def add_trace_flags(command: argparse.ArgumentParser) -> None:
    _add_vocabulary(command)
    command.add_argument("text", metavar="TEXT", help="the text to tokenize")
    command.add_argument("--json", action="store_true", help="as JSON, for programs")
    add_option_flags(command)


def add_draw_flags(command: argparse.ArgumentParser) -> None:
    _add_vocabulary(command)
    command.add_argument(
        "-o", "--output", metavar="FILE", help="the file to write: .dot or .gv, or by Graphviz .svg, .png or .pdf"
    )
    command.add_argument("--table", action="store_true", help="print the nodes as a table instead")
    part = command.add_mutually_exclusive_group()
    part.add_argument("--text", metavar="TEXT", help="only the nodes that the trace of this text comes to")
    part.add_argument(
        "--prefix", metavar="STRING", help="only the tokens that begin with this string, which may begin with ##"
    )
    part.add_argument("--all", action="store_true", help="also the nodes that no text comes to by ordinary words")
    add_option_flags(command)


def _add_vocabulary(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "vocabulary", metavar="VOCAB", help="a vocab.txt, a tokenizer.json, a tokenizer folder, or an automaton file"
    )


def trace(options: argparse.Namespace) -> None:
    """Run `beam-wordpiece trace`."""
    tracer = Tracer(load(options.vocabulary, **option_values(options)))
    text = _text(options.text)
    found = tracer.trace(text)
    if options.json:
        print(json.dumps({"text": text, "parts": [_as_json(tracer, traced) for traced in found]}))
        return
    blocks = ["\n".join(_lines(tracer, traced, text)) for traced in found]
    print("\n\n".join(blocks or ["no token: of this text nothing is left when it is normalized"]))


def _text(argument: str) -> str:
    """An argument of the command line, in which bytes that are not UTF-8 are read as U+FFFD."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _as_json(tracer: Tracer, traced: Traced) -> dict[str, Any]:
    return {
        "kind": traced.part.kind,
        "string": traced.part.string,
        "start": traced.part.start,
        "end": traced.part.end,
        "steps": [_step_as_json(step) for step in traced.steps],
        "tokens": traced.tokens,
        "ids": [tracer.ids[token] for token in traced.tokens],
    }


def _step_as_json(step: Step) -> dict[str, Any]:
    return {
        "i": step.i,
        "character": step.character,
        "node": step.node._asdict(),
        "move": step.move,
        "to": step.to and step.to._asdict(),
        "pops": step.pops,
    }


def _lines(tracer: Tracer, traced: Traced, text: str) -> Iterator[str]:
    part = traced.part
    written = text[part.start : part.end]
    change = "" if written == part.string else f", in the text {shown(written)}"
    yield f"{part.kind} {shown(part.string)} (characters {part.start} to {part.end}{change})"
    if part.kind == "added token":
        yield "found before words are split"
    elif tracer.is_too_long(part):
        limit = tracer.matcher.max_input_chars_per_word
        yield f"unknown: it has {len(part.string)} characters, and the limit is {limit}"
    else:
        yield from table(list(_rows(Trie(tracer), traced)))
        last = traced.steps[-1]
        if last.to is None:
            before = "the end" if last.character is None else shown(last.character)
            yield f"unknown: before {before}, {Trie(tracer).name(last.node)} has neither an edge nor a failure link"
    ids = (str(tracer.ids[token]) for token in traced.tokens)
    yield from table([["tokens", *map(shown, traced.tokens)], ["ids", *ids]])


def _rows(trie: Trie, traced: Traced) -> Iterator[list[str]]:
    yield ["step", "i", "character", "v", "goes", "to", "pops", "tokens so far"]
    tokens: list[str] = []
    for number, step in enumerate(traced.steps, 1):
        tokens += map(shown, step.pops)
        yield [
            str(number),
            str(step.i),
            "(end)" if step.character is None else shown(step.character),
            trie.name(step.node),
            MOVES[step.move],
            "" if step.to is None else trie.name(step.to),
            ", ".join(map(shown, step.pops)),
            _end(tokens),
        ]


MOVES = {"edge": "edge", "failure": "f(v)", "unknown": "unknown", "stuck": "nowhere"}


def _end(tokens: list[str]) -> str:
    """The tokens in one line, or as many of the last ones as it has room for."""
    shown = ""
    for number, token in enumerate(reversed(tokens)):
        longer = f"{token}, {shown}" if shown else token
        if number and cells(longer) > WIDTH:
            return f"\N{HORIZONTAL ELLIPSIS}, {shown}"
        shown = longer
    return shown


def draw(options: argparse.Namespace) -> None:
    """Run `beam-wordpiece draw`."""
    suffix = _suffix(options)
    vocabulary = load(options.vocabulary, **option_values(options))
    if not options.table and options.text is None and options.prefix is None:
        # Each token has a node at least: there is no need to make them all first.
        require_few(len(vocabulary.tokens), "tokens", options.vocabulary)
    trie = Trie(Tracer(vocabulary))
    places, what = _part(trie, options)
    if options.table:
        print("\n".join(table(table_rows(trie, places))))
        return
    require_few(len(places), "nodes", options.vocabulary)
    name = visible(f"{os.path.basename(os.path.abspath(options.vocabulary))}{what}")
    drawing = dot(trie, places, f"{name}: edges, failure links (dashed) with pops, tokens (double)")
    if options.output is None:
        sys.stdout.write(drawing)
        return
    data = image(drawing, suffix.removeprefix(".")) if suffix in IMAGES else drawing.encode()
    with write_whole(options.output) as file:
        file.write(data)
    print(f"{options.output}: {len(places)} nodes")


def _suffix(options: argparse.Namespace) -> str:
    """What the name of the output ends in. Raises ConfigError where it says nothing."""
    if options.output is None:
        return ""
    if options.table:
        raise ConfigError("--table goes to standard output: leave out --output, or write `> FILE`.")
    suffix = Path(options.output).suffix.lower()
    if suffix not in LANGUAGE + IMAGES:
        raise ConfigError(f"{options.output}: the name of a drawing has to end in {', '.join(LANGUAGE + IMAGES)}.")
    return suffix


def _part(trie: Trie, options: argparse.Namespace) -> tuple[set[Place], str]:
    """The nodes that are asked for, and a name for the part that they are."""
    if options.text is not None:
        return visited(trie, _text(options.text)), f", part for the text {_text(options.text)}"
    if options.prefix is not None:
        return beginning(trie, _text(options.prefix)), f", tokens that begin with {_text(options.prefix)}"
    if options.all:
        return everything(trie), ""
    return plain(trie), ""
