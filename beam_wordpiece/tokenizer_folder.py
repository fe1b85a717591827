"""What the files beside a vocabulary in a tokenizer folder say: `tokenizer_config.json` and its companions.

`transformers` writes these files and reads them over the tokenizer itself. Here `tokenizer.json` is followed as HF
`tokenizers` follows it, and a folder whose files contradict each other is refused instead of guessing which one holds.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from beam_wordpiece.errors import ConfigError, VocabularyError
from beam_wordpiece.json_file import Node, read_json
from beam_wordpiece.tokenizer_json import FLAGS, U32, read_added_token
from beam_wordpiece.vocab_types import AddedToken, Options, Overrides, Vocabulary

CONFIG = "tokenizer_config.json"
# The option that a key of tokenizer_config.json sets.
OPTION_OF = MappingProxyType(
    {
        "do_lower_case": "lowercase",
        "strip_accents": "strip_accents",
        "tokenize_chinese_chars": "handle_chinese_chars",
        "clean_text": "clean_text",
        "wordpieces_prefix": "continuing_subword_prefix",
    }
)
# BERT's special tokens in the order in which HF's BertWordPieceTokenizer adds them.
DEFAULT_NAMES = MappingProxyType(
    {
        "unk_token": "[UNK]",
        "sep_token": "[SEP]",
        "cls_token": "[CLS]",
        "pad_token": "[PAD]",
        "mask_token": "[MASK]",
    }
)
# Classes of `transformers` that read a vocab.txt as BertTokenizer does, without and with `Fast` at the end.
BERT_LIKE = ("Bert", "ConvBert", "DistilBert", "Electra", "LayoutLM", "Lxmert", "MobileBert", "SqueezeBert")
MORE_TOKENS = ("additional_special_tokens", "extra_special_tokens")

Entry = tuple[AddedToken, int | None]


@dataclass(frozen=True)
class FolderSettings:
    """How to read a `vocab.txt`. The defaults are for a file on its own.

    `names`: the names of BERT's special tokens. `stated`: those of them that a file states, so that one that the
    vocabulary lacks is a fault. `special`: the same tokens with their flags. `added_tokens`: what is added besides.
    """

    options: Options = field(default_factory=Options)
    names: Mapping[str, str] = field(default_factory=lambda: DEFAULT_NAMES)
    stated: frozenset[str] = frozenset()
    special: Mapping[str, AddedToken] = field(default_factory=dict)
    added_tokens: tuple[Entry, ...] = ()

    def named_tokens(self, tokens: Mapping[str, int], unk_token: str, file: str) -> Iterator[Entry]:
        """BERT's special tokens that are in the vocabulary and not yet added. Raises VocabularyError."""
        added = {token.content for token, _ in self.added_tokens}
        for role, name in self.names.items():
            content = unk_token if role == "unk_token" else name
            if content in added:
                continue
            if content in tokens:
                added.add(content)
                yield self.special.get(content, _special(content)), None
            elif role in self.stated and role != "unk_token":
                raise VocabularyError(
                    f"{file}: the {role} {content!r} that {CONFIG} names is not in the vocabulary; add it to either."
                )


def _special(content: str) -> AddedToken:
    return AddedToken(content, 0, special=True, normalized=False)


def read_settings(folder: Path) -> FolderSettings:
    """What the files of a folder say about its `vocab.txt`. Raises VocabularyError, OSError."""
    config = _read(folder, CONFIG)
    _refuse_other_classes(config)
    _refuse_other_splitting(config)
    loose = _read(folder, "added_tokens.json")
    if loose.object() and not config.has("added_tokens_decoder"):
        loose.fail(f"adds tokens without their flags; write them as added_tokens_decoder into {CONFIG}.")
    # What the configuration says wins over the older special_tokens_map.json.
    named = {}
    for node in (_read(folder, "special_tokens_map.json"), config):
        named.update({role: _read_special(node.get(role)) for role in DEFAULT_NAMES if not node.get(role).is_null})
    added: dict[str, Entry] = {token.content: (token, number) for token, number in _added_tokens_decoder(config)}
    for key in MORE_TOKENS:
        for token in _read_more(config.get(key)):
            added.setdefault(token.content, (token, None))
    names = DEFAULT_NAMES | {role: token.content for role, token in named.items()}
    return FolderSettings(
        options=_read_options(config, unk_token=names["unk_token"]),
        names=names,
        stated=frozenset(named),
        special={token.content: token for token in named.values()},
        added_tokens=tuple(added.values()),
    )


def check_agreement(folder: Path, vocabulary: Vocabulary, overrides: Overrides) -> None:
    """Refuse a folder whose other files contradict its `tokenizer.json`. Raises VocabularyError, OSError."""
    config = _read(folder, CONFIG)
    advice = f"; give the path of {vocabulary.source} to use that file alone"
    _refuse_other_splitting(config, advice)
    asked = _read_options(config)
    for key, name in OPTION_OF.items():
        if not config.has(key) or name in overrides.options:
            continue
        wanted, found = getattr(asked, name), getattr(vocabulary.options, name)
        if key == "strip_accents":
            wanted = vocabulary.options.lowercase if wanted is None else wanted
            found = vocabulary.options.strips_accents
        if wanted != found:
            config.get(key).fail(f"contradicts tokenizer.json, which says {found!r}; give {name}= to decide{advice}.")
    for token, number in _added_tokens_decoder(config):
        if dataclasses.replace(token, id=number) not in vocabulary.added_tokens:
            decoder = config.get("added_tokens_decoder")
            decoder.fail(f"adds {token.content!r}, which tokenizer.json does not add with this id and flags{advice}.")


def _read(folder: Path, name: str) -> Node:
    path = folder / name
    node = read_json(path) if path.is_file() else Node({}, str(path))
    node.object()
    return node


def _refuse_other_classes(config: Node) -> None:
    name = config.get("tokenizer_class")
    if not name.is_null and name.string().removesuffix("Fast").removesuffix("Tokenizer") not in BERT_LIKE:
        name.fail(
            f"is {name.value!r}, whose vocab.txt is not read as BERT's; use its tokenizer.json, "
            "or give the path of the vocab.txt itself to read it as BERT's."
        )


def _refuse_other_splitting(config: Node, advice: str = "") -> None:
    if config.get("do_basic_tokenize").value is False:
        config.get("do_basic_tokenize").fail(f"is false (words are not split at punctuation): not supported{advice}.")
    if config.get("never_split").value:
        config.get("never_split").fail(f"names words that are not to be split, which is not supported{advice}.")


def _read_options(config: Node, **others: Any) -> Options:
    """The options that a configuration states, and others; those that neither states have BERT's defaults."""
    values = {name: config.get(key).value for key, name in OPTION_OF.items() if config.has(key)}
    try:
        return Options(**values, **others)
    except ConfigError as error:
        config.fail(f"cannot be used: {error}")


def _read_special(node: Node) -> AddedToken:
    """A special token: its content, or an object with flags, of which those that are missing are false."""
    if isinstance(node.value, str):
        return _special(node.value)
    node.only(("content", "__type", *FLAGS))
    flags = {flag: node.get(flag).boolean() for flag in FLAGS if node.has(flag)}
    return AddedToken(node.require("content").string(), 0, **{"special": True, "normalized": False, **flags})


def _read_more(node: Node) -> list[AddedToken]:
    """Further special tokens: a list, or an object of names and tokens."""
    if node.is_null:
        return []
    members = node.items() if isinstance(node.value, list) else (node.get(key) for key in node.object())
    return [_read_special(member) for member in members]


def _added_tokens_decoder(config: Node) -> list[tuple[AddedToken, int]]:
    """The tokens of `added_tokens_decoder` (an object from id to token), in the order of their ids."""
    if not config.has("added_tokens_decoder"):
        return []
    decoder = config.get("added_tokens_decoder")
    found = []
    for key in decoder.object():
        if not (key.isascii() and key.isdigit() and int(key) < U32):
            decoder.fail(f"has the key {key!r}, which is not an id.")
        token, _ = read_added_token(decoder.get(key), int(key))
        found.append((token, int(key)))
    return sorted(found, key=lambda entry: entry[1])
