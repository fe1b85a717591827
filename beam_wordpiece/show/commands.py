"""The commands `beam-wordpiece trace` and `draw`: their flags, and how they show what they show."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from beam_wordpiece.errors import ConfigError
from beam_wordpiece.files import write_whole
from beam_wordpiece.show.draw import (
    MOST_NODES,
    beginning,
    dot,
    everything,
    image,
    plain,
    require_few,
    table_rows,
    visited,
    whole,
)
from beam_wordpiece.show.subject import Place, Subject, load_subject, shown
from beam_wordpiece.show.trace import Rest, Step, Traced
from beam_wordpiece.show.trace import trace as trace_text
from beam_wordpiece.show.trie import KeywordTrie, Trie
from beam_wordpiece.terminal import cells, table, visible
from beam_wordpiece.vocab_source import add_source_flags, source_options

TRACE_EXAMPLES = """\
examples:
  printf '%s\\n' '[UNK]' a abcdx '##b' '##c' '##cdy' '##dz' > paper.txt
  beam-wordpiece trace paper.txt abcdz             the example of the paper
  beam-wordpiece trace bert.bwp "unaffable cats"   the words of a text, one after the other
  beam-wordpiece trace paper.txt abcdz --json      the same for programs
  beam-wordpiece trace paper.txt abcdz --segmentation fewest
  beam-wordpiece trace names.bwp "two cats"        a dictionary: keys, and ids of any text
  beam-wordpiece trace entries.txt "two cats" --unknown carry

A line is a turn of the matching loop: at the character with the number i, in the node v. Where v has an edge for the
character, the edge is taken. Where it has none, the failure link f(v) is taken, and the tokens F(v) are popped: they
are certain. Where there is no failure link either, the word is unknown. At the end of the word failure links are taken
until the root r# is reached. A node is shown as what it spells, the roots as r and r#, a space as \N{OPEN BOX}. The
special tokens that the template puts around a text ([CLS], [SEP]) are not shown: no automaton finds them.

A character that begins no token where it stands is shown as what comes out for it by itself: with --unknown run, one
[UNK] for several. With --unknown error the text is refused at the first. What is matched backward is read from the end,
so the last tokens come first; nodes and tokens are written in the order of the text. With --segmentation fewest there
are no steps but a table, filled from its last row up: for each place the least number of tokens that the rest of the
word can have, and the first of them.

The automaton and its names are those of Song et al., "Fast WordPiece Tokenization" (2021), section 3.
"""
DRAW_EXAMPLES = f"""\
examples:
  beam-wordpiece draw paper.txt --table                          nodes, tokens, failure links f and pops F
  beam-wordpiece draw paper.txt -o paper.svg                     where Graphviz is installed
  beam-wordpiece draw paper.txt | dot -Tx11                      Graphviz's language, to standard output
  beam-wordpiece draw tests/data/tokenizer.json --text returning -o part.svg   the nodes that a text comes to
  beam-wordpiece draw tests/data/tokenizer.json --prefix return --table        the tokens that begin with a string
  beam-wordpiece draw names.bwp --keywords -o search.svg         a dictionary with the links of keyword search

Tokens are double, those of a dictionary with their ids. Edges are solid and have a character; failure links are dashed
and have the tokens that they pop. At most {MOST_NODES} nodes are drawn: of the vocabulary of a model only a part, which
has all nodes that its failure links lead to. With --segmentation fewest there are no links.

The links of keyword search are those of Aho and Corasick: they lead to the longest end of the node that is a node, and
have the shorter keys that end there too.

Not drawn without --all, and not in the paper: special and other added tokens, which are found before words are split,
and the tokens that begin with the indicator (##) as they stand below r for words that begin with it themselves.
"""
LANGUAGE = (".dot", ".gv")
IMAGES = (".svg", ".png", ".pdf")
# How many columns the tokens so far may take; of more, the last ones are shown.
WIDTH = 50


def add_trace_flags(command: argparse.ArgumentParser) -> None:
    add_source_flags(command)
    command.add_argument("text", metavar="TEXT", help="the text to tokenize")
    command.add_argument("--json", action="store_true", help="as JSON, for programs")


def add_draw_flags(command: argparse.ArgumentParser) -> None:
    add_source_flags(command)
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="the file to write, over one that is there: .dot or .gv, or by Graphviz .svg, .png or .pdf",
    )
    command.add_argument("--table", action="store_true", help="print the nodes as a table instead")
    part = command.add_mutually_exclusive_group()
    part.add_argument("--text", metavar="TEXT", help="only the nodes that the trace of this text comes to")
    part.add_argument(
        "--prefix",
        metavar="STRING",
        help="only the tokens that begin with this string, which may begin with ##; backward, those that end with it",
    )
    part.add_argument("--all", action="store_true", help="also the nodes that no text comes to by ordinary words")
    command.add_argument(
        "--keywords", action="store_true", help="of a dictionary the links of keyword search, not those of tokenizing"
    )


def trace(options: argparse.Namespace) -> None:
    """Run `beam-wordpiece trace`."""
    subject = load_subject(options.vocabulary, **source_options(options))
    text = _text(options.text)
    found = trace_text(subject, text)
    if options.json:
        print(json.dumps({"text": text, "parts": [_as_json(subject, traced) for traced in found]}))
        return
    blocks = ["\n".join(_lines(subject, traced, text)) for traced in found]
    print("\n\n".join(blocks or ["no token: the text is empty, or nothing is left of it when it is normalized"]))


def _text(argument: str) -> str:
    """An argument of the command line, in which bytes that are not UTF-8 are read as U+FFFD."""
    return os.fsencode(argument).decode("utf-8", "replace")


def _as_json(subject: Subject, traced: Traced) -> dict[str, Any]:
    """A part of a text. There is a table where the fewest tokens are looked for, and what is refused if anything is."""
    found = {
        "kind": traced.part.kind,
        "string": traced.part.string,
        "start": traced.part.start,
        "end": traced.part.end,
        "steps": [_step_as_json(subject, step) for step in traced.steps],
        "tokens": [token for token, _ in traced.found],
        "ids": [id for _, id in traced.found],
    }
    if traced.table:
        found["table"] = [_rest_as_json(subject, rest) for rest in traced.table]
    if traced.refused is not None:
        found["refused"] = traced.refused
    return found


def _step_as_json(subject: Subject, step: Step) -> dict[str, Any]:
    return {
        "i": step.i,
        "character": step.character,
        "node": _place_as_json(subject, step.node),
        "move": step.move,
        "to": step.to and _place_as_json(subject, step.to),
        "pops": [token for pop in step.pops for token, _ in subject.found([pop])],
    }


def _place_as_json(subject: Subject, place: Place) -> dict[str, str]:
    return {"root": place.root, "string": subject.turned(place.string)}


def _rest_as_json(subject: Subject, rest: Rest) -> dict[str, Any]:
    return {
        "i": rest.i,
        "character": rest.character,
        "cost": None if rest.cost == math.inf else int(rest.cost),
        "first": [] if rest.first is None else [token for token, _ in subject.found([rest.first])],
        "end": rest.end,
        "taken": rest.is_taken,
    }


def _lines(subject: Subject, traced: Traced, text: str) -> Iterator[str]:
    part = traced.part
    written = text[part.start : part.end]
    change = "" if written == part.string else f", in the text {shown(written)}"
    order = ", read from its end" if traced.steps and subject.options.backward else ""
    yield f"{part.kind} {shown(part.string)} (characters {part.start} to {part.end}{change}){order}"
    if part.kind == "added token":
        yield "found before words are split"
    elif subject.is_too_long(part):
        limit = subject.options.max_input_chars_per_word
        yield f"unknown: it has {len(part.string)} characters, and the limit is {limit}"
    elif traced.table:
        yield from table(list(_rests(subject, traced)))
    else:
        yield from table(list(_rows(subject, traced)))
    fault = _fault(subject, traced)
    if fault:
        yield fault
    if traced.refused is None:
        tokens, ids = zip(*traced.found, strict=True)
        yield from table([["tokens", *map(shown, tokens)], ["ids", *(shown(str(id)) for id in ids)]])


def _fault(subject: Subject, traced: Traced) -> str:
    """Why a word is unknown, or the text refused."""
    if traced.refused is not None:
        where = "ends" if subject.options.backward else "begins"
        return f"refused: the character {shown(traced.refused)} {where} no token where it stands"
    if traced.table and traced.table[0].cost == math.inf:
        return "unknown: the word has no split into tokens"
    if not traced.steps or traced.steps[-1].to is not None:
        return ""
    last = traced.steps[-1]
    before = "the end" if last.character is None else shown(last.character)
    return f"unknown: before {before}, {subject.name(last.node)} has neither an edge nor a failure link"


def _rows(subject: Subject, traced: Traced) -> Iterator[list[str]]:
    yield ["step", "i", "character", "v", "goes", "to", "pops", "tokens so far"]
    backward, tokens, before = subject.options.backward, list[str](), None
    for number, step in enumerate(traced.steps, 1):
        pops = step.pops[::-1] if backward else step.pops
        new = [shown(token) for token, _ in subject.found(pops, before)]
        before = pops[-1] if pops else before
        tokens += new
        yield [
            str(number),
            str(step.i) if step.i >= 0 else "",
            ("(start)" if backward else "(end)") if step.character is None else shown(step.character),
            subject.name(step.node),
            MOVES[step.move],
            "" if step.to is None else subject.name(step.to),
            ", ".join(shown(token) for pop in step.pops for token, _ in subject.found([pop])),
            _last(tokens, backward),
        ]


MOVES = {"edge": "edge", "failure": "f(v)", "unknown": "unknown", "stuck": "nowhere"}


def _rests(subject: Subject, traced: Traced) -> Iterator[list[str]]:
    yield ["i", "character", "cost of the rest", "first token", "to", "taken"]
    for rest in traced.table:
        first = [] if rest.first is None else subject.found([rest.first])
        yield [
            str(rest.i),
            "(end)" if rest.character is None else shown(rest.character),
            "\N{INFINITY}" if rest.cost == math.inf else str(int(rest.cost)),
            ", ".join(shown(token) for token, _ in first),
            str(rest.end) if first else "",
            "yes" if rest.is_taken else "",
        ]


def _last(tokens: list[str], backward: bool) -> str:
    """The tokens in one line, or as many of the newest as it has room for. Backward, the newest are the first."""
    line = ""
    for number, token in enumerate(reversed(tokens)):
        longer = (f"{line}, {token}" if backward else f"{token}, {line}") if line else token
        if number and cells(longer) > WIDTH:
            return f"{line}, \N{HORIZONTAL ELLIPSIS}" if backward else f"\N{HORIZONTAL ELLIPSIS}, {line}"
        line = longer
    return line


def draw(options: argparse.Namespace) -> None:
    """Run `beam-wordpiece draw`."""
    suffix = _suffix(options)
    subject = load_subject(options.vocabulary, **source_options(options))
    trie, places, what = _part(subject.for_keywords() if options.keywords else subject, options)
    if options.table:
        print("\n".join(table(table_rows(trie, places))))
        return
    require_few(len(places), "nodes", options.vocabulary)
    name = visible(f"{os.path.basename(os.path.abspath(options.vocabulary))}{what}")
    drawing = dot(trie, places, f"{name}: {_legend(trie)}")
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


def _part(subject: Subject, options: argparse.Namespace) -> tuple[Trie, set[Place], str]:
    """The trie, the nodes that are asked for, and a name for the part that they are."""
    if options.text is not None:
        text = _text(options.text)
        return *visited(subject, text, options.keywords), f", part for the text {text}"
    if options.prefix is not None:
        prefix = _text(options.prefix)
        where = "end" if subject.options.backward else "begin"
        return *beginning(subject, prefix, options.keywords, options.table), f", tokens that {where} with {prefix}"
    # Each token has a node at least: there is no need to make them all first.
    if not options.table:
        require_few(len(subject.tokens), "tokens", subject.source)
    trie = whole(subject, options.keywords)
    return trie, everything(trie) if options.all else plain(trie), ""


def _legend(trie: Trie) -> str:
    """What there is to be seen in a drawing."""
    if trie.subject.is_fewest:
        return "edges, tokens (double)"
    if isinstance(trie, KeywordTrie):
        return "edges, links (dashed) with keys that end there too, keys (double)"
    order = ", read from the end" if trie.subject.options.backward else ""
    return f"edges, failure links (dashed) with pops, tokens (double){order}"
