"""The command that compares greedy matching with the fewest tokens."""

import bz2
import gzip
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import beam_wordpiece as bw
from beam_wordpiece import cli
from tests.oracle import tokenizer_json

TOKENS = ["abcd", "abc", "##e", "##f", "##def", "##g", "a", "ab", "##cx", "[UNK]"]


@pytest.fixture
def vocabulary(tmp_path: Path) -> str:
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json(TOKENS), encoding="utf-8")
    return str(path)


def test_words(vocabulary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # Greedy takes abcd, ##e, ##f; and of abcx abc, behind which there is nothing.
    texts = ["abcdef a ABCDEF", "a abcx ab zz", None, "a"]
    lines = b"abcdef a ABCDEF\r\na abcx ab zz\n\na"
    (tmp_path / "a.txt").write_bytes(lines)
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "a.log.zst").write_bytes(pa.Codec("zstd").compress(lines, asbytes=True))
    pq.write_table(pa.table({"t": texts}), tmp_path / "a.parquet")
    for file, more in (("a.txt", []), ("a.txt.gz", []), ("a.log.zst", []), ("a.parquet", ["--column", "t"])):
        assert cli.main(["fewest", vocabulary, str(tmp_path / file), "--json", *more]) == 0
        assert json.loads(capsys.readouterr().out) == {
            "tokens": {"greedy": 12, "fewest": 11},
            "unknown": {"greedy": 2, "fewest": 1},
            "invalid": 0,
            "differences": {"places": 3, "strings": 3},
            "examples": [
                {"count": 1, "text": "abcdef", "greedy": ["abcd", "##e", "##f"], "fewest": ["abc", "##def"]},
                {"count": 1, "text": "ABCDEF", "greedy": ["abcd", "##e", "##f"], "fewest": ["abc", "##def"]},
                {"count": 1, "text": "abcx", "greedy": ["[UNK]"], "fewest": ["ab", "##cx"]},
            ],
        }
    assert cli.main(["fewest", vocabulary, str(tmp_path / "a.txt"), "--examples", "1"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "                 greedy  fewest",
        "tokens           12      11",
        "of them unknown  2       1",
        "1 fewer (8.333% of greedy); 3 places differ, 3 strings",
        "",
        "count  text    greedy        fewest",
        "1      abcdef  abcd ##e ##f  abc ##def",
    ]


def test_stretches_differ_between_places_where_both_end_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, text = tmp_path / "tokenizer.json", tmp_path / "a.txt"
    tokens = ["abcd", "abc", "e", "f", "def", "<0xC3>", "<0xA9>", "[UNK]"]
    path.write_text(tokenizer_json(tokens, prefix="", lowercase=False), encoding="utf-8")
    text.write_text("éabcdefabcabcdefé\nabc\n", encoding="utf-8")
    command = ["fewest", str(path), str(text), "--json", "--pretokenize", "false", "--unknown", "byte"]
    assert cli.main(command) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["tokens"] == {"greedy": 12, "fewest": 10}
    assert shown["examples"] == [{"count": 2, "text": "abcdef", "greedy": ["abcd", "e", "f"], "fewest": ["abc", "def"]}]


def test_what_cannot_be_compared(vocabulary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--unknown", "run", "--backward", "true", "--continuing-subword-prefix", ""]
    (tmp_path / "a.txt").write_bytes(b"")
    for arguments, fault in (
        ([vocabulary, str(tmp_path / "a.txt"), *options], "backward=True (--backward true at the shell) is not greedy"),
        ([vocabulary, str(tmp_path / "none.txt")], "none.txt: No such file"),
    ):
        assert cli.main(["fewest", *arguments]) == 2
        assert fault in capsys.readouterr().err
    assert cli.main(["fewest", vocabulary, str(tmp_path / "a.txt")]) == 0
    assert "0 fewer; 0 places differ, 0 strings" in capsys.readouterr().out


def test_what_is_no_text(vocabulary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pq.write_table(pa.table({"text": [b"a", b"\xff"]}), tmp_path / "a.parquet")
    bw.Automaton.compile(vocabulary).save(tmp_path / "a.bwp")
    for name, content, fault in (
        ("a.txt", b"ab\na\xffb\n", "a.txt: line 2 is not UTF-8 text; repair it, or give --errors replace"),
        ("a.parquet", None, "a.parquet: row 1 is not UTF-8 text; "),
        ("a.bwp", None, "a.bwp is no text: it begins as a compiled automaton does; give the text"),
        ("a.gz", b"ab\n", "a.gz cannot be read to its end"),
        ("a.bz2", bz2.compress(b"ab\n"), "a.bz2 is no text: it begins as bzip2 does; unpack it"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        assert cli.main(["fewest", vocabulary, str(tmp_path / name), "--errors", "error"]) == 2
        assert fault in capsys.readouterr().err
    command = ["fewest", vocabulary, str(tmp_path / "a.txt"), str(tmp_path / "a.parquet")]
    assert cli.main(command) == 0
    assert "\n2 texts are not UTF-8 and were read with U+FFFD\n" in capsys.readouterr().out
    assert cli.main([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["invalid"] == 2


def test_a_text_that_is_refused_is_named_by_its_line(
    vocabulary: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_bytes(b"ab\nab\nz\n")
    assert cli.main(["fewest", vocabulary, str(tmp_path / "a.txt"), "--unknown", "error"]) == 2
    assert "a.txt: line 3 has the character 'z' (U+007A), which begins no token" in capsys.readouterr().err


def test_options_of_the_command_line(vocabulary: str, tmp_path: Path) -> None:
    output = str(tmp_path / "a.bwp")
    flags = ["--segmentation", "fewest", "--unknown-cost", "7", "--unknown", "character"]
    assert cli.main(["compile", vocabulary, "-o", output, *flags]) == 0
    options = bw.Automaton.open(output).options
    assert (options.segmentation, options.unknown_cost, options.unknown, options.backward) == (
        *("fewest", 7, "character"),
        False,
    )
