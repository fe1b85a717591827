"""The option `rules`: what it means in small, what is refused, and where it can be said."""

import json
import pickle
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from beam_wordpiece.config import load_config
from beam_wordpiece.vocab_writer import save_vocabulary
from tests import small
from tests.oracle import SPECIAL_TOKENS, tokenizer_json


@pytest.fixture
def vocab_txt(tmp_path: Path) -> Path:
    return small.write_vocab(tmp_path / "vocab.txt", [*small.VOCABULARY, "##.", "c", "##at", '"'])


def encoded(vocab_txt: Path, rules: Mapping[str, str], text: str, **options: Any) -> list[tuple[str, int, int]]:
    tokenizer = bw.Tokenizer(bw.Automaton.compile(vocab_txt, rules=rules, **options), add_special_tokens=False)
    encoding = tokenizer.encode(text)
    return [(token, *place) for token, place in zip(encoding.tokens, encoding.offsets, strict=True)]


def test_all_that_stands_for_a_key_comes_from_all_of_it(vocab_txt: Path) -> None:
    rules = {"…": "..", "''": '"', "<=": "", "kitten": "cats"}
    assert encoded(vocab_txt, rules, "a… ''b<=a''") == [
        *(("a", 0, 1), (".", 1, 2), (".", 1, 2), ('"', 3, 5), ("b", 5, 6), ("##a", 8, 9), ('"', 9, 11)),
    ]
    assert encoded(vocab_txt, rules, "a kitten") == [("a", 0, 1), ("cat", 2, 8), ("##s", 2, 8)]


def test_rules_in_text_without_words(vocab_txt: Path) -> None:
    stretches = {**small.STRETCHES, "continuing_subword_prefix": "", "handle_chinese_chars": False}
    rules = {"文文": "中文", "\n": "a", "ab": "cat"}
    assert encoded(vocab_txt, rules, "文文\nabx", **stretches) == [
        *(("中", 0, 2), ("文", 0, 2), ("a", 2, 3), ("cat", 3, 5), ("[UNK]", 5, 6)),
    ]
    assert encoded(vocab_txt, rules, "中xx文文", **{**stretches, "unknown": "run", "backward": True}) == [
        *(("中", 0, 1), ("[UNK]", 1, 3), ("中", 3, 5), ("文", 3, 5)),
    ]
    with pytest.raises(bw.TextError, match=r"the character 'x' \(U\+0078\)"):
        encoded(vocab_txt, {"xyz": "x"}, "cat xyz", unknown="error")


@pytest.mark.parametrize(
    ("rules", "fault"),
    [
        ({"": "a"}, "no character that the result could stand for"),
        ({"é" * 33: "a"}, "66 bytes of UTF-8, and 64 are the most"),
        ({"a": "b" * 256}, "256 characters, and 255 are the most"),
        ({"a": 1}, "map texts to texts"),
        ({1: "a"}, "map texts to texts"),
        ({"\ud800": "a"}, "map texts to texts"),
        ({"a": "\udfff"}, "map texts to texts"),
    ],
)
def test_rules_that_cannot_be_used_are_named(vocab_txt: Path, rules: Any, fault: str) -> None:
    ((key, result),) = rules.items()
    with pytest.raises(
        bw.ConfigError, match=re.escape(f"The rule {key!r}: {result!r} cannot be used: ") + f".*{fault}"
    ):
        bw.Automaton.compile(vocab_txt, rules=rules)


def test_what_is_too_long_after_normalization_is_named(vocab_txt: Path) -> None:
    with pytest.raises(bw.VocabularyError, match=r'the rule for "a": .* more than 255 characters'):
        bw.Automaton.compile(vocab_txt, rules={"a": "\U0001d160" * 100})


@pytest.mark.parametrize("rules", [[("a", "b")], "ab", None])
def test_rules_are_a_mapping(vocab_txt: Path, rules: Any) -> None:
    with pytest.raises(bw.ConfigError, match="rules has to be a mapping from texts to texts"):
        bw.Automaton.compile(vocab_txt, rules=rules)


def test_options_with_rules_are_values() -> None:
    mapping = {"a": "b"}
    options = bw.Options(rules=mapping)
    mapping["c"] = "d"
    assert options.rules == {"a": "b"}
    assert hash(options) == hash(bw.Options(rules={"a": "b"}))
    assert options == pickle.loads(pickle.dumps(options)) != bw.Options()


def test_white_space_that_tokens_take_is_in_no_key(tmp_path: Path) -> None:
    added = [{"content": "<m>", "lstrip": True}]
    path = tmp_path / "tokenizer.json"
    path.write_text(tokenizer_json([*SPECIAL_TOKENS, "a"], added_tokens=added), encoding="utf-8")
    with pytest.raises(
        bw.VocabularyError, match=r"the rule for 'a b' has white space.*\"<m>\" \(id 6\)".replace("'", '"')
    ):
        bw.Automaton.compile(path, rules={"a b": "a"})
    assert encoded(path, {"b": "a"}, "b  <m>") == [("a", 0, 1), ("<m>", 1, 6)]


def test_they_are_kept_with_the_automaton(vocab_txt: Path, tmp_path: Path) -> None:
    rules = {"…": "..", "kitten": "cats"}
    automaton = bw.Automaton.compile(vocab_txt, rules=rules)
    automaton.save(tmp_path / "a.bwp")
    opened = bw.Automaton.open(tmp_path / "a.bwp")
    assert opened.options.rules == rules == opened.describe()["options"]["rules"]
    assert opened.fingerprint == automaton.fingerprint != bw.Automaton.compile(vocab_txt).fingerprint
    turned = dict(reversed(rules.items()))
    assert bw.Automaton.compile(vocab_txt, rules=turned).fingerprint == automaton.fingerprint
    assert bw.Tokenizer(opened).encode("a kitten…").tokens[1:-1] == ["a", "cat", "##s", ".", "."]
    assert opened.describe()["sections"]["rules"] == 16


@pytest.mark.parametrize("name", ["tokenizer.json", "vocab.txt"])
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"rules": {"a": "b"}}, "1 rules cannot be written: HF tokenizers has no such option; give it where the file"),
        ({"segmentation": "fewest"}, "segmentation='fewest' cannot be written"),
        ({"unknown": "run"}, "unknown='run' cannot be written"),
    ],
)
def test_what_hf_does_not_have_is_not_lost_in_silence(
    vocab_txt: Path, tmp_path: Path, name: str, options: dict[str, Any], fault: str
) -> None:
    folder = tmp_path / "new"
    folder.mkdir()
    with pytest.raises(bw.ConfigError, match=f"^{fault}"):
        save_vocabulary(bw.load_vocabulary(vocab_txt, **options), folder / name)
    assert not list(folder.iterdir())


def test_at_the_shell_and_in_the_file_of_a_job(
    vocab_txt: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = tmp_path / "rules.json"
    rules.write_text('{"kitten": "cats", "\\u2026": ".."}', encoding="utf-8")
    command = ["encode", "--tokenizer", str(vocab_txt), "--rules", str(rules), "--json", "--no-special-tokens"]
    assert main([*command, "kitten…"]) == 0
    assert json.loads(capsys.readouterr().out)["tokens"] == ["cat", "##s", ".", "."]
    faults = {
        '["kitten"]': "rules.json has to hold an object of texts",
        '{"kitten": 1}': "rules.json: what stands for 'kitten' has to be a text, not 1",
        '{"a": "b", "a": "c"}': "rules.json says 'a' a second time",
        '{"a": ': "rules.json is not JSON",
        '{"": "a"}': "The rule '': 'a' cannot be used",
    }
    for content, fault in faults.items():
        rules.write_text(content, encoding="utf-8")
        assert main([*command, "kitten"]) == 2
        assert fault in capsys.readouterr().err
    rules.unlink()
    assert main([*command, "kitten"]) == 2
    assert "rules.json cannot be read: No such file" in capsys.readouterr().err
    job = tmp_path / "job.yaml"
    job.write_text("input: a\noutput: b\ntokenizer: c\noptions:\n  rules: {kitten: cats}\n", encoding="utf-8")
    assert load_config(str(job)).options == {"rules": {"kitten": "cats"}}
    job.write_text("input: a\noutput: b\ntokenizer: c\noptions:\n  rules: [kitten]\n", encoding="utf-8")
    with pytest.raises(bw.ConfigError, match="rules has to be texts with what stands for each, not a list"):
        load_config(str(job))
