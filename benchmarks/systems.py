"""The project and what people use instead of it, behind one interface: texts in, ids without special tokens out."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa


@dataclass(frozen=True)
class System:
    """A tokenizer that has been loaded, with nothing encoded yet.

    `prepare`: documents as the system takes them (not measured). `encode`: a batch of those. `ids`: of the document
    with a number, from what `encode` gave. `encode_one`: one text, in a call of its own.
    """

    prepare: Callable[[list[str]], Any]
    encode: Callable[[Any], Any]
    ids: Callable[[Any, int], list[int]]
    encode_one: Callable[[str], Any]


def project(folder: Path) -> System:
    """This project: an Arrow array in, an Arrow list column out."""
    import beam_wordpiece as bw

    return of_automaton(bw.Automaton.compile(folder / "tokenizer.json"))


def of_automaton(automaton: Any) -> System:
    """This project with an automaton."""
    import beam_wordpiece as bw

    tokenizer = bw.Tokenizer(automaton, add_special_tokens=False)
    return System(
        prepare=lambda documents: pa.array(documents, pa.large_string()),
        encode=lambda texts: tokenizer.encode_arrow(texts).column("input_ids"),
        ids=lambda column, number: column[number].as_py(),
        encode_one=tokenizer.encode,
    )


def hf(folder: Path) -> System:
    """HuggingFace `tokenizers`: whose ids are the right ones."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return System(
        prepare=lambda documents: documents,
        encode=lambda texts: tokenizer.encode_batch_fast(texts, add_special_tokens=False),
        ids=lambda encodings, number: encodings[number].ids,
        encode_one=lambda text: tokenizer.encode(text, add_special_tokens=False).ids,
    )


def nanotoken(folder: Path) -> System:
    """nanotoken: the fastest of the others. Its word caches stay as they are set by default."""
    import nanotoken

    tokenizer = nanotoken.Tokenizer(str(folder / "tokenizer.json"))
    return System(
        prepare=lambda documents: documents,
        encode=lambda texts: tokenizer.encode_batch(texts, add_special_tokens=False, parallel=False),
        ids=lambda rows, number: rows[number].tolist(),
        encode_one=lambda text: tokenizer.encode(text, add_special_tokens=False),
    )


def tokie(folder: Path) -> System:
    """tokie, text by text: its batches use all cores."""
    import tokie

    tokenizer = tokie.Tokenizer.from_json(str(folder / "tokenizer.json"))

    def encode_one(text: str) -> Any:
        return tokenizer.encode(text, add_special_tokens=False).ids

    return System(
        prepare=lambda documents: documents,
        encode=lambda texts: [encode_one(text) for text in texts],
        ids=lambda rows, number: list(rows[number]),
        encode_one=encode_one,
    )


def tf_text(folder: Path) -> System:
    """TensorFlow Text's FastBertTokenizer, eagerly: the authors' implementation of the paper."""
    import tensorflow as tf
    import tensorflow_text

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    content = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))
    vocabulary = sorted(content["model"]["vocab"].items(), key=lambda entry: entry[1])
    tokenizer = tensorflow_text.FastBertTokenizer(
        vocab=[token for token, _ in vocabulary],
        lower_case_nfd_strip_accents=content["normalizer"]["lowercase"],
    )
    return System(
        prepare=tf.constant,
        encode=lambda texts: tokenizer.tokenize(texts),
        ids=lambda rows, number: rows[number].numpy().tolist(),
        encode_one=lambda text: tokenizer.tokenize([text]),
    )


PROJECT = "project"
PEERS = {"nanotoken": nanotoken, "hf": hf, "tokie": tokie, "tf_text": tf_text}
SYSTEMS: dict[str, Callable[[Path], System]] = {PROJECT: project, **PEERS}
# What is so slow that it gets only so many MB of a set.
MOST_MEGABYTES = {"hf": 4.0}
