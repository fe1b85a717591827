"""What the YAML file of a job, and the flags of its command, may say; checked strictly.

The file uses the names of the table in `settings.py` (`text_column: body`), the command line the same with hyphens
(`--text-column body`), and a flag wins over the file. Unknown names, values of the wrong kind and missing values are a
`ConfigError` that says what was meant. No Beam in here.
"""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from beam_wordpiece.checks import is_text
from beam_wordpiece.errors import ConfigError
from beam_wordpiece.settings import OPTIONS, SETTINGS, Setting

# A character of two bytes can become three, and each of them a token: the ids of such a text still fit into one list.
MAX_DOCUMENT_MB = 1024
# Where a document becomes one row, that takes several times its text in memory.
DOCUMENT_MB = 128

_REQUIRED = ("input", "output", "tokenizer")


@dataclass(frozen=True, kw_only=True)
class FileSettings:
    """How one file is turned into another. `python -m pipelines.tokenize_parquet --help` says what each field means, as
    the flag of the same name. Raises ConfigError for a wrong value.
    """

    text_column: str = "text"
    id_column: str | None = None
    columns: tuple[str, ...] | None = None
    keep_text: bool = False
    format: str = "auto"
    document_column: str | None = None
    chunk_column: str | None = None
    documents: str = "line"
    separator: str | None = None
    rows: str = "documents"
    max_document_mb: int = DOCUMENT_MB
    add_special_tokens: bool = True
    errors: str = "replace"
    existing: str = "resume"
    encoding: str = "byte_stream_split"
    compression: str = "zstd"
    row_group_mb: int = 32

    def __post_init__(self) -> None:
        known = {setting.name: setting for setting in SETTINGS}
        for item in dataclasses.fields(self):
            if item.name in known:
                value = getattr(self, item.name)
                as_in_file = list(value) if isinstance(value, tuple) else value
                object.__setattr__(self, item.name, _check_value(known[item.name], as_in_file, type(self).__name__))
        _check_documents(self)


@dataclass(frozen=True, kw_only=True)
class JobConfig(FileSettings):
    """All that a tokenization job is told.

    `options`: keywords of `Automaton.compile`, empty where the tokenizer's own file decides. `beam`: Beam's own flags
    that the file gives, as `--name=value`.
    """

    input: tuple[str, ...]
    output: str
    tokenizer: str
    options: Mapping[str, Any] = field(default_factory=dict)
    beam: tuple[str, ...] = ()


def load_config(path: str | None, flags: Mapping[str, Any] | None = None) -> JobConfig:
    """The job that the YAML file `path` (None: no file) and the `flags` (by name, as in the file) describe.

    `flags` win; those under "options" are merged name by name. Raises ConfigError.
    """
    where = "the command line" if path is None else path
    values = {} if path is None else _check_mapping(_read_yaml(path), path)
    given = _check_mapping(flags or {}, "the command line")
    options = {**values.pop("options", {}), **given.pop("options", {})}
    values.update(given)
    for name in _REQUIRED:
        if not values.get(name):
            hint = f"give it as the flag --{name}, or in the file of --config as `{name}: ...`"
            raise ConfigError(f"{where} does not say {name}: {hint}.")
    return JobConfig(**values, options=options)


# The title of the options of the tokenizer in the help of a command.
TOKENIZER_OPTIONS = "options of the tokenizer (default: what its file says)"


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every setting and option. A flag that is not given leaves no trace in the namespace."""
    _add_group(parser, "the job", SETTINGS)
    add_option_flags(parser)


def add_option_flags(parser: argparse.ArgumentParser) -> None:
    """Add a flag for every option. A flag that is not given leaves no trace in the namespace."""
    _add_group(parser, TOKENIZER_OPTIONS, OPTIONS)


def add_flags_of(parser: argparse.ArgumentParser, title: str, names: Sequence[str]) -> None:
    """Add the flags of the options of these names, with a title."""
    _add_group(parser, title, [option for option in OPTIONS if option.name in names])


def _add_group(parser: argparse.ArgumentParser, title: str, settings: Iterable[Setting]) -> None:
    group = parser.add_argument_group(title)
    for setting in settings:
        choices = setting.choices or (("true", "false") if setting.kind == "boolean" else ())
        choices += ("null",) if setting.nullable and choices else ()
        metavar = "{" + ",".join(choices) + "}" if choices else _METAVARS.get(setting.kind, "TEXT")
        # The values are checked with those of the file, in the same words, so that argparse takes any text here.
        nargs = "*" if setting.kind == "texts" else None
        group.add_argument(
            setting.flag,
            dest=setting.name,
            help=setting.help.replace("%", "%%"),
            metavar=metavar,
            nargs=nargs,
            default=argparse.SUPPRESS,
        )


def flag_values(namespace: argparse.Namespace) -> dict[str, Any]:
    """What the flags of `add_flags` said, in the shape of the YAML file. Raises ConfigError."""
    given = vars(namespace)
    values = {s.name: _from_flag(s, given[s.name]) for s in SETTINGS if s.name in given}
    options = option_values(namespace)
    return {**values, "options": options} if options else values


def option_values(namespace: argparse.Namespace, names: Sequence[str] | None = None) -> dict[str, Any]:
    """What the flags of options said: keywords of `Automaton.compile`. `names`: only these. Raises ConfigError."""
    given = vars(namespace)
    asked = [option for option in OPTIONS if option.name in given and (names is None or option.name in names)]
    values = {option.name: _from_flag(option, given[option.name]) for option in asked}
    return _check(values, OPTIONS, "the command line", ())


def _check_documents(settings: FileSettings) -> None:
    """Refuse settings of documents in pieces that contradict each other. Raises ConfigError."""
    columns = [settings.text_column, settings.document_column, settings.chunk_column]
    named = [name for name in columns if name is not None]
    kept = settings.keep_text or settings.text_column in (settings.columns or ())
    wrong = {
        "chunk_column numbers the pieces of documents; say with document_column which document they are of": (
            settings.chunk_column is not None and settings.document_column is None
        ),
        "text_column, document_column and chunk_column have to be different columns": len(set(named)) < len(named),
        "id_column names a document, which neither text_column nor chunk_column does; name another, or leave it out": (
            None not in (settings.document_column, settings.id_column)
            and settings.id_column in (settings.text_column, settings.chunk_column)
        ),
        "document_column is for Parquet, and `format` is text; leave one of them out": (
            settings.document_column is not None and settings.format == "text"
        ),
        "the text of several rows is not put together; leave it out (keep_text, columns), or set `rows` to chunks": (
            settings.document_column is not None and settings.rows == "documents" and kept
        ),
        "`documents` is separator, and `separator` does not say which; give a text that is not empty": (
            settings.documents == "separator" and not settings.separator
        ),
        "there is a separator, and `documents` is not separator; set it, or leave the separator out": (
            settings.documents != "separator" and settings.separator is not None
        ),
        f"max_document_mb has to be {MAX_DOCUMENT_MB} at most, so that a row can hold the ids": (
            settings.max_document_mb > MAX_DOCUMENT_MB
        ),
    }
    for sentence, holds in wrong.items():
        if holds:
            raise ConfigError(f"the settings: {sentence}.")


_METAVARS = {"number": "N", "mapping": "FILE"}
_WORDS = {"true": True, "false": False, "null": None}
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\"}


def _from_flag(setting: Setting, value: Any) -> Any:
    """The value that the text of a flag stands for; what is no such value stays a text, for the check to refuse."""
    if setting.nullable and value in ("null", ["null"]):
        return None
    if setting.kind == "boolean":
        return _WORDS.get(value, value)
    if setting.kind == "mapping":
        return _read_mapping(value)
    if setting.kind == "number" and value.isascii() and value.isdigit():
        return int(value)
    return re.sub(r"\\(.?)", lambda escape: _unescaped(setting, escape), value) if setting.escapes else value


def _unescaped(setting: Setting, escape: re.Match[str]) -> str:
    if escape[1] not in _ESCAPES:
        known = ", ".join("\\" + letter for letter in _ESCAPES)
        raise ConfigError(f"the command line: {setting.name} has {escape[0]!r}; the escapes are {known}.")
    return _ESCAPES[escape[1]]


def _read_mapping(path: str) -> dict[str, str]:
    """A JSON file with an object of texts. Raises ConfigError."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            # So an object is told from an array, and equal names are seen.
            pairs = json.load(file, object_pairs_hook=tuple)
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path} is not JSON in UTF-8: {error}.") from error
    if not isinstance(pairs, tuple):
        raise ConfigError(f"{path} has to hold an object of texts, such as " + '{"a": "b"}.')
    mapping: dict[str, str] = {}
    for key, value in pairs:
        if not isinstance(value, str):
            raise ConfigError(f"{path}: what stands for {key!r} has to be a text, not {json.dumps(value)[:60]}.")
        if key in mapping:
            raise ConfigError(f"{path} says {key!r} a second time; keep one.")
        mapping[key] = value
    return mapping


def _read_yaml(path: str) -> Any:
    # Here because a package that only tokenizes needs no YAML.
    import yaml

    try:
        with open(path, encoding="utf-8-sig") as file:
            text = file.read()
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path} is not UTF-8 text, at byte {error.start}.") from error
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        _refuse_duplicates(node, path)
        _refuse_plain_escapes(node, path)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{path}{line} is not YAML: {error.problem}.") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path} is not YAML: {error}.") from error


def _refuse_duplicates(node: Any, path: str, outer: tuple[Any, ...] = ()) -> None:
    """YAML's reader lets the later of two equal names win, in silence. `node`: the composed document, or a part.

    An alias may name what it stands in, which no setting can be.
    """
    if getattr(node, "id", None) != "mapping":
        return
    if any(node is other for other in outer):
        raise ConfigError(f"{path}, line {node.start_mark.line + 1}: what begins there is a part of itself.")
    seen = set()
    for key, value in node.value:
        if key.id != "scalar":
            raise ConfigError(f"{path}, line {key.start_mark.line + 1}: a name has to be a text, not a {key.id}.")
        if key.value in seen:
            raise ConfigError(f"{path}, line {key.start_mark.line + 1}, says {key.value} a second time; keep one.")
        seen.add(key.value)
        _refuse_duplicates(value, path, (*outer, node))


def _refuse_plain_escapes(node: Any, path: str) -> None:
    """Only in double quotes has YAML escapes. Whoever writes a backslash without any quotes most likely means one."""
    if getattr(node, "id", None) != "mapping":
        return
    names = {setting.name for setting in SETTINGS if setting.escapes}
    for key, value in node.value:
        if key.value in names and value.id == "scalar" and value.style is None and "\\" in value.value:
            raise ConfigError(
                f"{path}, line {value.start_mark.line + 1}: {key.value} has a backslash and no quotes, so no escapes; "
                f'put it into double quotes for escapes, {key.value}: "{value.value}", or into single quotes for '
                "backslashes."
            )


def _check_mapping(document: Any, where: str) -> dict[str, Any]:
    """The values of a whole file, or of all flags."""
    if not isinstance(document, Mapping):
        raise ConfigError(f"{where} has to hold names and values (`text_column: text`), not {_kind_of(document)}.")
    values = dict(document)
    sections = {"options": values.pop("options", None) or {}, "beam": values.pop("beam", None) or {}}
    for name, section in sections.items():
        if not isinstance(section, Mapping):
            raise ConfigError(f"{where}: {name} has to hold names and values, not {_kind_of(section)}.")
    checked = _check(values, SETTINGS, where, ("options", "beam"))
    if sections["options"]:
        checked["options"] = _check(sections["options"], OPTIONS, f"{where}, options", ())
    if sections["beam"]:
        checked["beam"] = tuple(_beam_flags(sections["beam"], where))
    return checked


def _check(values: Mapping[Any, Any], settings: Sequence[Setting], where: str, also: Iterable[str]) -> dict[str, Any]:
    known = {setting.name: setting for setting in settings}
    for name in values:
        if name not in known:
            there = (*known, *also)
            hint = did_you_mean(str(name), there) or f"; there are {', '.join(there)}."
            raise ConfigError(f"{where}: there is no setting {name!r}{hint}")
    return {name: _check_value(known[name], value, where) for name, value in values.items()}


def _check_value(setting: Setting, value: Any, where: str) -> Any:
    if value is None and setting.nullable:
        return None
    fits = {
        "text": isinstance(value, str),
        "texts": isinstance(value, str) or (isinstance(value, list) and all(isinstance(item, str) for item in value)),
        "boolean": isinstance(value, bool),
        "mapping": isinstance(value, dict),
        "number": isinstance(value, int) and not isinstance(value, bool) and value >= setting.least,
    }
    if not fits[setting.kind]:
        expected = _EXPECTED[setting.kind].format(least=setting.least)
        raise ConfigError(f"{where}: {setting.name} has to be {expected}, not {_kind_of(value)}.")
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and not is_text(text):
            raise ConfigError(f"{where}: {setting.name} has to be UTF-8, and {text!r} is not; rename or correct it.")
    for key, result in value.items() if setting.kind == "mapping" else ():
        if not is_text(key) or not is_text(result):
            raise ConfigError(f"{where}: {setting.name} has to map texts to texts, and not {key!r} to {result!r}.")
    if setting.choices and value not in setting.choices:
        raise ConfigError(f"{where}: {setting.name} has to be one of {', '.join(setting.choices)}, not {value!r}.")
    if setting.kind == "texts":
        return (value,) if isinstance(value, str) else tuple(value)
    return value


_EXPECTED = {
    "text": "a text",
    "texts": "a text or a list of texts",
    "boolean": "true or false",
    "mapping": "texts with what stands for each",
    "number": "a whole number from {least} up",
}


def _beam_flags(section: Mapping[Any, Any], where: str) -> Iterable[str]:
    """Beam's flags as on a command line: `parallelism: 4` is --parallelism=4, `streaming: true` is --streaming."""
    for name, value in section.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(name, str) or not isinstance(item, (str, bool, int, float)):
                raise ConfigError(f"{where}: beam.{name} has to be a text, a number, true, or a list of them.")
            if item is False:
                raise ConfigError(f"{where}: beam.{name} is false; leave a flag of Beam out where it is not wanted.")
            yield f"--{name}" if item is True else f"--{name}={item}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown name, where it is much like one of those `known`; otherwise nothing."""
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.75)
    return f"; did you mean {close[0]}?" if close else ""


def _kind_of(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (str, int, float)) else f"a {type(value).__name__}"
