"""The command `beam-wordpiece convert`: its flags, and what it says."""

from __future__ import annotations

import argparse
import os

from beam_wordpiece.config import add_option_flags, option_values
from beam_wordpiece.errors import ConfigError
from beam_wordpiece.vocab import load_vocabulary
from beam_wordpiece.vocab_writer import save_vocabulary

CONVERT_EXAMPLES = """\
examples:
  beam-wordpiece convert bert-base-uncased/ -o normal.json             markers before words: " walk", "ing"
  beam-wordpiece convert bert-base-uncased/ -o normal.txt --marker ▁   the tokens alone, a line each
  beam-wordpiece convert normal.json -o tokenizer.json --back          markers on what continues: "walk", "##ing"

Ids stay what they are. HuggingFace tokenizers reads both kinds of tokenizer.json and gives the same ids, offsets and
decoded text; so does `compile`. A marker that would change an id is refused, with the tokens that it makes collide; a
space never is, unless tokens have spaces. A vocab.txt does not say what the markers were, and there is no way back from
it.
"""


def add_convert_flags(command: argparse.ArgumentParser) -> None:
    """The flags of `convert`."""
    command.add_argument("source", metavar="TOKENIZER", help="a tokenizer.json, a vocab.txt, or a tokenizer folder")
    command.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="the .json (a tokenizer.json) or .txt (a vocab.txt) to write; one that is there is refused",
    )
    form = command.add_mutually_exclusive_group()
    form.add_argument(
        "--marker",
        metavar="TEXT",
        default=" ",
        help="what is put before words (default: a space); in a .json one character",
    )
    form.add_argument("--back", action="store_true", help="write the form with continuation markers")
    add_option_flags(command)


def convert(options: argparse.Namespace) -> None:
    """Read a vocabulary in either form, and write it in the one that was asked for."""
    if os.path.lexists(options.output):
        raise ConfigError(f"{options.output} is there already; choose another name to write to.")
    vocabulary = load_vocabulary(options.source, **option_values(options))
    if options.back and not vocabulary.source.lower().endswith(".json"):
        raise ConfigError(
            f"{vocabulary.source}: a vocab.txt does not say whether it is in the normal form, nor what its markers "
            "are, so there is no way --back from it; give the tokenizer.json that has the normal form, or the "
            "tokenizer that it was made of."
        )
    form = None if options.back else vocabulary.to_normal_form(options.marker)
    save_vocabulary(vocabulary, options.output, form)
    if form is None:
        print(f"{options.output}: {len(vocabulary.tokens):,} tokens with their continuation markers")
        return
    begin = sum(text.startswith(form.marker) for text in form.tokens)
    print(f"{options.output}: {len(vocabulary.tokens):,} tokens, {begin:,} with {form.marker!r} before them")
