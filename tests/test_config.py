"""What a configuration file and the flags may say."""

from __future__ import annotations

import argparse
import dataclasses
import re
import subprocess
import sys
from pathlib import Path

import pytest

from beam_wordpiece.config import FileSettings, JobConfig, add_flags, flag_values, load_config
from beam_wordpiece.errors import ConfigError
from beam_wordpiece.settings import OPTIONS, SETTINGS, UNKNOWN

ROOT = Path(__file__).resolve().parents[1]
WHOLE = """\
input: [in/*.parquet, more/**/*.parquet]
output: out
tokenizer: bert/tokenizer.json
text_column: a.b
id_column: doc_id
columns: [doc_id, n]
keep_text: true
format: auto
document_column: doc_id
chunk_column: n
documents: separator
separator: "\\n\\n"
rows: chunks
max_document_mb: 100
add_special_tokens: false
errors: error
existing: overwrite
encoding: dictionary
compression: snappy
row_group_mb: 8
options: {lowercase: false, strip_accents: null, max_input_chars_per_word: 200}
beam:
  runner: FlinkRunner
  parallelism: 4
  streaming: true
  extra_packages: [a.whl, b.whl]
"""
NEEDED = "input: in.parquet\noutput: out\ntokenizer: vocab.txt\n"


def write(folder: Path, text: str) -> str:
    path = folder / "job.yaml"
    path.write_text(text, "utf-8")
    return str(path)


def flags(*argv: str) -> dict[str, object]:
    parser = argparse.ArgumentParser()
    add_flags(parser)
    return flag_values(parser.parse_args(argv))


def test_every_value_of_a_file_arrives(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, WHOLE)) == JobConfig(
        input=("in/*.parquet", "more/**/*.parquet"),
        output="out",
        tokenizer="bert/tokenizer.json",
        text_column="a.b",
        id_column="doc_id",
        columns=("doc_id", "n"),
        keep_text=True,
        format="auto",
        document_column="doc_id",
        chunk_column="n",
        documents="separator",
        separator="\n\n",
        rows="chunks",
        max_document_mb=100,
        add_special_tokens=False,
        errors="error",
        existing="overwrite",
        encoding="dictionary",
        compression="snappy",
        row_group_mb=8,
        options={"lowercase": False, "strip_accents": None, "max_input_chars_per_word": 200},
        beam=(
            "--runner=FlinkRunner",
            "--parallelism=4",
            "--streaming",
            "--extra_packages=a.whl",
            "--extra_packages=b.whl",
        ),
    )


def test_what_is_not_said_has_its_default(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, NEEDED))
    assert config == JobConfig(input=("in.parquet",), output="out", tokenizer="vocab.txt")
    assert (config.text_column, config.errors, config.existing, config.columns) == ("text", "replace", "resume", None)


def test_a_flag_for_every_value_wins_over_the_file(tmp_path: Path) -> None:
    given = flags(
        *("--input", "x.parquet", "y.parquet", "--output", "o", "--tokenizer", "t.bwp", "--text-column", "body"),
        *("--id-column", "null", "--columns", "--keep-text", "false", "--add-special-tokens", "true"),
        *("--errors", "replace", "--existing", "error", "--encoding", "plain", "--compression", "none"),
        *("--row-group-mb", "64", "--lowercase", "true", "--unk-token", "<unk>", "--format", "parquet"),
        *("--document-column", "a", "--chunk-column", "b", "--documents", "separator", "--separator", r"\n\\\t|\r"),
        *("--rows", "documents", "--max-document-mb", "7"),
        *("--doubtful-lines", "warn"),
    )
    config = load_config(write(tmp_path, WHOLE), given)
    for name, value in {**given, "input": ("x.parquet", "y.parquet"), "columns": ()}.items():
        if name != "options":
            assert getattr(config, name) == value, name
    assert config.options == {
        "lowercase": True,
        "strip_accents": None,
        "max_input_chars_per_word": 200,
        "unk_token": "<unk>",
        "doubtful_lines": "warn",
    }
    assert {setting.name for setting in SETTINGS} <= given.keys()
    assert config.separator == "\n\\\t|\r"


def test_flags_alone_are_enough() -> None:
    config = load_config(None, flags("--input", "a", "--output", "b", "--tokenizer", "c", "--strip-accents", "null"))
    assert (config.input, config.output, config.tokenizer) == (("a",), "b", "c")
    assert config.options == {"strip_accents": None}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text_colum: x", "there is no setting 'text_colum'; did you mean text_column?"),
        ("colour: x", "there is no setting 'colour'; there are input, output,"),
        ("options: {lowercas: true}", "options: there is no setting 'lowercas'; did you mean lowercase?"),
        ("options: [a]", "options has to hold names and values, not a list"),
        ("options: {lowercase: 1}", "lowercase has to be true or false, not 1"),
        ("options: {max_input_chars_per_word: -1}", "a whole number from 0 up, not -1"),
        ("text_column: no", "text_column has to be a text, not false"),
        ("text_column: null", "text_column has to be a text, not nothing"),
        ("rows: words", "rows has to be one of documents, chunks, not 'words'"),
        ("documents: page", "documents has to be one of line, separator, file, not 'page'"),
        ("format: csv", "format has to be one of auto, parquet, text, not 'csv'"),
        ("columns: [a, 3]", "columns has to be a text or a list of texts, not a list"),
        ("keep_text: yes please", "keep_text has to be true or false, not 'yes please'"),
        ("row_group_mb: 0", "row_group_mb has to be a whole number from 1 up, not 0"),
        ("row_group_mb: true", "row_group_mb has to be a whole number from 1 up, not true"),
        ("options: {doubtful_lines: ignore}", "doubtful_lines has to be one of error, warn, not 'ignore'"),
        ("errors: ignore", "errors has to be one of replace, error, not 'ignore'"),
        ("compression: zip", "compression has to be one of zstd,"),
        ("output: elsewhere", "line 4, says output a second time"),
        ("options:\n  rules: {? [a]: b}", "line 5: a name has to be a text, not a sequence"),
        ("options:\n  rules: {? {a: b} : c}", "line 5: a name has to be a text, not a mapping"),
        ("options:\n  rules: &x {a: *x}", "line 5: what begins there is a part of itself"),
        ("options: &x {a: *x}", "line 4: what begins there is a part of itself"),
        ("options:\n  lowercase: true\n  lowercase: false", "line 6, says lowercase a second time"),
        ("beam: {streaming: false}", "beam.streaming is false; leave a flag of Beam out"),
        ("beam: {runner: {a: b}}", "beam.runner has to be a text, a number, true, or a list"),
        ("text_column: [", "is not YAML"),
        ("text_column: \x07", "is not YAML"),
        ('text_column: "\\ud800"', "text_column has to be UTF-8, and '\\ud800' is not"),
        ('columns: [a, "\\ud800"]', "columns has to be UTF-8, and '\\ud800' is not"),
        ('options: {unk_token: "\\ud800"}', "unk_token has to be UTF-8, and '\\ud800' is not"),
    ],
)
def test_a_wrong_value_is_named_with_its_file(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, NEEDED + text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value).startswith(path)
    assert message in str(caught.value)


@pytest.mark.parametrize("missing", ["input", "output", "tokenizer"])
def test_what_is_missing_is_named(tmp_path: Path, missing: str) -> None:
    kept = "\n".join(line for line in NEEDED.splitlines() if not line.startswith(missing))
    with pytest.raises(ConfigError, match=rf"does not say {missing}: .* --{missing}"):
        load_config(write(tmp_path, kept))


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.yaml cannot be read: No such file"):
        load_config(str(tmp_path / "none.yaml"))
    (tmp_path / "latin.yaml").write_bytes(b"output: caf\xe9\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text, at byte 11"):
        load_config(str(tmp_path / "latin.yaml"))
    with pytest.raises(ConfigError, match=r"has to hold names and values .* not a list"):
        load_config(write(tmp_path, "- a\n- b\n"))


def test_settings_made_in_python_are_checked_too() -> None:
    with pytest.raises(ConfigError, match=r"FileSettings: errors has to be one of"):
        FileSettings(errors="ignore")
    with pytest.raises(ConfigError, match="row_group_mb has to be a whole number"):
        FileSettings(row_group_mb=0)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chunk_column": "n"}, "chunk_column numbers the pieces .* say with document_column"),
        ({"document_column": "text"}, "have to be different columns"),
        ({"document_column": "d", "chunk_column": "d"}, "have to be different columns"),
        ({"document_column": "d", "chunk_column": "n", "id_column": "n"}, "id_column names a document, which neither"),
        ({"document_column": "d", "id_column": "text"}, "id_column names a document, which neither"),
        ({"document_column": "d", "format": "text"}, "document_column is for Parquet, and `format` is text"),
        ({"document_column": "d", "keep_text": True}, "the text of several rows is not put together"),
        ({"document_column": "d", "columns": ("n", "text")}, "the text of several rows is not put together"),
        ({"documents": "separator"}, "`separator` does not say which"),
        ({"documents": "separator", "separator": ""}, "`separator` does not say which"),
        ({"separator": "|"}, "there is a separator, and `documents` is not separator"),
        ({"max_document_mb": 1025}, "max_document_mb has to be 1024 at most"),
    ],
)
def test_settings_that_contradict_each_other(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        FileSettings(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("separator", [r"a\x", "a\\"])
def test_an_escape_that_is_none(separator: str) -> None:
    with pytest.raises(ConfigError, match=r"separator has '\\\\x?'; the escapes are \\n, \\r, \\t, \\\\\."):
        flags("--separator", separator)


@pytest.mark.parametrize(
    ("written", "separator"),
    [(r'"\n\n\n"', "\n\n\n"), (r"'\n\n'", r"\n\n"), ("---", "---"), (r'"\\n"', r"\n")],
)
def test_a_separator_in_quotes_is_what_yaml_says(tmp_path: Path, written: str, separator: str) -> None:
    path = write(tmp_path, f"{NEEDED}documents: separator\nseparator: {written}\n")
    assert load_config(path).separator == separator


@pytest.mark.parametrize("written", [r"\n\n\n", r"a\tb", "\\"])
def test_a_backslash_without_quotes_is_refused(tmp_path: Path, written: str) -> None:
    path = write(tmp_path, f"documents: separator\nseparator: {written}\n")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert f"{path}, line 2: separator has a backslash and no quotes" in str(caught.value)
    assert f'separator: "{written}"' in str(caught.value)


def test_what_is_contradictory_is_named_by_settings_alone() -> None:
    given = flags("--input", "a", "--output", "b", "--tokenizer", "c", "--chunk-column", "n")
    with pytest.raises(ConfigError, match=r"^the settings: chunk_column numbers the pieces"):
        load_config(None, given)


def test_a_configuration_lists_every_option() -> None:
    listed = (ROOT / "configs" / "corpus.yaml").read_text(encoding="utf-8")
    for option in OPTIONS:
        assert f"#  {option.name}: " in listed or option.name == "padding"
    for unknown in UNKNOWN:
        assert re.search(rf"\b{unknown}\b", listed[listed.index("#  unknown:") : listed.index("#  backward:")])


def test_the_table_of_settings_and_the_fields_are_the_same() -> None:
    fields = {field.name for field in dataclasses.fields(JobConfig)}
    assert {setting.name for setting in SETTINGS} | {"options", "beam"} == fields
    assert {field.name for field in dataclasses.fields(FileSettings)} < fields


def test_the_options_are_those_of_a_vocabulary() -> None:
    from beam_wordpiece import Options

    # What is said about the reading of a file, not about the automaton.
    of_a_file = {"truncation", "padding", "doubtful_lines"}
    assert {setting.name for setting in OPTIONS} - of_a_file == {field.name for field in dataclasses.fields(Options)}


def test_neither_config_nor_help_imports_beam() -> None:
    code = (
        "import sys, contextlib; from pipelines.tokenize_parquet import main\n"
        "with contextlib.suppress(SystemExit): main(['--help'])\n"
        "sys.exit('apache_beam' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "--text-column" in done.stdout
    assert "rows of Parquet   --document-column names their document" in done.stdout
    assert "{replace,error}" in done.stdout


@pytest.mark.parametrize("path", sorted((ROOT / "configs").glob("*.yaml")), ids=lambda path: path.name)
def test_the_configurations_of_the_project_are_valid(path: Path) -> None:
    assert load_config(str(path)).input
