"""Transformation rules: the encoding is that of the text which they make, at the places of the text as it was."""

import dataclasses
import itertools
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import beam_wordpiece as bw
from beam_wordpiece.reference import apply_rules
from tests.oracle import SPECIAL_TOKENS, batches, hf_tokenizer, our_ids, tokenizer_json
from tests.strategies import TextProblem, text_problems
from tests.test_offsets import Places, places


class Oracle:
    """HF's tokenizer over what the naive rules make of the text between the added tokens that are found before them."""

    def __init__(self, folder: Path, options: Mapping[str, Any], rules: Mapping[str, str]) -> None:
        """Raises ValueError where rules make a token what another one is."""
        self.rules = rules
        tokens = {token["content"]: token for token in options["added_tokens"]}
        ids = {token: id for id, token in enumerate(options["vocabulary"])}
        ours = {content: ids.setdefault(content, len(ids)) for content in tokens}
        made = {content: self.apply(content) for content, token in tokens.items() if token.get("normalized")}
        self.found_first = {content: id for content, id in ours.items() if content not in made}
        normalized = [{**tokens[content], "content": new} for content, new in made.items()]
        path = folder / "oracle.json"
        file = tokenizer_json(**{**options, "added_tokens": normalized, "template": False})
        path.write_text(file, encoding="utf-8")
        theirs = {token["content"]: token["id"] for token in json.loads(file)["added_tokens"]}
        self.ids = {theirs[new]: ours[content] for content, new in made.items()}
        count = len(options["vocabulary"])
        if len(theirs) < len(made) or any((a < count) != (b < count) or a != b < count for a, b in self.ids.items()):
            raise ValueError("two tokens are alike")
        self.tokenizer = hf_tokenizer(path)

    def apply(self, text: str) -> str:
        return "".join(c for c, _, _ in apply_rules(self.rules, text))

    def encode(self, text: str) -> Places:
        """Ids, offsets and word ids."""
        ids, offsets, words = list[int](), list[tuple[int, int]](), list[int | None]()
        for start, part, is_token in self.parts(text):
            word = max((number for number in words if number is not None), default=-1) + 1
            if is_token:
                ids.append(self.found_first[part])
                offsets.append((start, start + len(part)))
                words.append(word)
                continue
            made = apply_rules(self.rules, part)
            encoding = self.tokenizer.encode("".join(c for c, _, _ in made), add_special_tokens=False)
            ids += [self.ids.get(id, id) for id in encoding.ids]
            offsets += [(start + made[first][1], start + made[end - 1][2]) for first, end in encoding.offsets]
            words += [word + number for number in encoding.word_ids]
        return ids, offsets, words

    def parts(self, text: str) -> Iterable[tuple[int, str, bool]]:
        """The tokens that are found first, and what lies between, each with its first character."""
        longest_first = sorted(self.found_first, key=len, reverse=True)
        pattern = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
        end = 0
        for match in pattern.finditer(text):
            yield end, text[end : match.start()], False
            yield match.start(), match[0], True
            end = match.end()
        yield end, text[end:], False


def loaded(folder: Path, options: Mapping[str, Any], rules: Mapping[str, str]) -> bw.Tokenizer:
    path = folder / "tokenizer.json"
    path.write_text(tokenizer_json(**options), encoding="utf-8")
    return bw.Tokenizer(bw.Automaton.compile(path, rules=rules), add_special_tokens=False)


def assert_same(oracle: Oracle, tokenizer: bw.Tokenizer, texts: Sequence[str]) -> None:
    expected = [oracle.encode(text) for text in texts]
    assert our_ids(tokenizer, texts) == [ids for ids, _, _ in expected]
    for text, their in zip(texts, expected, strict=True):
        assert places(tokenizer.encode(text)) == their, ascii(text)


VOCABULARY = list(
    dict.fromkeys(
        [
            *(
                *SPECIAL_TOKENS,
                *"abcdefghij123/.\"'-中文",
                *(f"##{c}" for c in "abcdefghij123"),
                "fi",
                "##fi",
                "abc",
                "##bcd",
            ),
            *("1", "##/", "...", "and", "ss", "##ss", "e", "##e", "\u302e", "##\u302e", "ᄀ", "##ᅡ"),
        ]
    )
)
RULES = {
    "…": "...",
    "½": "1/2",
    "''": '"',
    "ﬁ": "fi",
    "&": " and ",
    "ß": "ss",
    "A": "b",
    "b": "a",
    "\u00ad": "",
    "abc": "c",
    "abcd": "d",
    "bcde": "",
    "中文": "文中",
    "が": "か",
    "e\u0301": "E",
    "\u0301": "'",
    "[m": "x",
    "\t": "tab",
    "- -": "--",
    "gh": "g\u0301\u302e",
    "h": "\u302e\u1b44",
    "ij": "\u0323",
    "각": "각각",
    "\ufffd": "f",
}
ADDED = [
    {"content": "[MASK]", "special": True},
    {"content": "cde"},
    {"content": "中文中", "normalized": True},
    {"content": "ß b", "normalized": True, "rstrip": True},
    {"content": "1/", "normalized": True, "single_word": True},
]
PIECES = [
    *RULES,
    *("a", "b", "c", "d", "cde", "[MASK]", "[MASK", " ", "  ", "1", "É", "\u0301", "\u0323", "\u302e", "가", "中", "f"),
    *("ß b", "x", "😀", "\u1b44", "\0", "0123456789 " * 6, "aaaaaaa " * 8, "é" * 31),
]
texts_of_pieces = st.lists(st.sampled_from(PIECES), max_size=20).map("".join)
SWITCHES = [
    {"lowercase": lower, "strip_accents": strip, "clean_text": clean, "handle_chinese_chars": chinese}
    for lower, strip, clean, chinese in itertools.product([True, False], repeat=4)
]


@pytest.fixture(scope="module", params=[0, 3, 5, 8, 15])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Oracle, bw.Tokenizer]:
    folder = tmp_path_factory.mktemp("rules")
    options = {"vocabulary": VOCABULARY, "added_tokens": ADDED, **SWITCHES[request.param]}
    return Oracle(folder, options, RULES), loaded(folder, options, RULES)


@pytest.fixture(scope="module", params=[0, 5, 15])
def in_blocks(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Oracle, bw.Tokenizer]:
    """Without added tokens in normalized text, so that the first pass goes by blocks."""
    folder = tmp_path_factory.mktemp("rules")
    options = {"vocabulary": VOCABULARY, "added_tokens": ADDED[:2], **SWITCHES[request.param]}
    return Oracle(folder, options, RULES), loaded(folder, options, RULES)


@given(text=texts_of_pieces)
def test_text_of_all_kinds(pair: tuple[Oracle, bw.Tokenizer], text: str) -> None:
    assert_same(*pair, [text])


@given(texts=st.lists(texts_of_pieces, max_size=4), before=st.integers(0, 130))
def test_text_in_blocks(in_blocks: tuple[Oracle, bw.Tokenizer], texts: list[str], before: int) -> None:
    assert_same(*in_blocks, ["1" * before + text for text in texts])


@given(text=texts_of_pieces, cuts=st.lists(st.integers(0, 400), max_size=6), offsets=st.booleans())
def test_documents_in_pieces(pair: tuple[Oracle, bw.Tokenizer], text: str, cuts: list[int], offsets: bool) -> None:
    assert_cut(pair[1], text, cuts, offsets)


@given(text=texts_of_pieces, cuts=st.lists(st.integers(0, 400), max_size=6))
def test_documents_in_pieces_and_blocks(in_blocks: tuple[Oracle, bw.Tokenizer], text: str, cuts: list[int]) -> None:
    assert_cut(in_blocks[1], text, cuts, False)


def assert_cut(tokenizer: bw.Tokenizer, text: str, cuts: Iterable[int], offsets: bool) -> None:
    stream, data = bw.Stream(tokenizer, offsets=offsets), text.encode()
    encodings = []
    for start, end in itertools.pairwise([0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]):
        encodings.append(stream.feed(data[start:end]))
        stream = bw.Stream.from_bytes(tokenizer, stream.to_bytes())
    encodings.append(stream.finish())
    whole = tokenizer.encode(text)
    assert [id for encoding in encodings for id in encoding] == whole.ids
    if offsets:
        assert [place for encoding in encodings for place in encoding.offsets] == whole.offsets
        assert [word for encoding in encodings for word in encoding.word_ids] == whole.word_ids


def test_every_cut(pair: tuple[Oracle, bw.Tokenizer], in_blocks: tuple[Oracle, bw.Tokenizer]) -> None:
    text = " ".join(PIECES[:40]) + "".join(PIECES)
    for (_, tokenizer), cut in itertools.product((pair, in_blocks), range(len(text.encode()))):
        assert_cut(tokenizer, text, [cut, cut + 1], False)


@st.composite
def problems(draw: st.DrawFn) -> tuple[TextProblem, dict[str, str]]:
    """A tokenizer, texts, and rules of the same pieces. Added tokens have no flags that look at what is around."""
    problem = draw(text_problems())
    added = [
        {**token, **dict.fromkeys(() if token.get("normalized") else ("single_word", "lstrip", "rstrip"), False)}
        for token in problem.options["added_tokens"]
    ]
    letters = sorted({c for text in problem.texts for c in text}) or ["a"]
    key = st.one_of(st.sampled_from(letters), st.lists(st.sampled_from(letters), min_size=1, max_size=4).map("".join))
    parts = [text[i : i + n] for text in problem.texts for i in range(0, len(text), 3) for n in (2, 3)]
    keys = st.one_of(key, st.sampled_from(parts or ["ab"]))
    results = st.one_of(st.just(""), key, st.lists(st.sampled_from([*letters, "\u0301", " "]), max_size=5).map("".join))
    rules = draw(st.dictionaries(keys, results, max_size=6))
    return dataclasses.replace(problem, options={**problem.options, "added_tokens": added}), rules


@pytest.mark.timeout(3600)
@given(problem=problems())
def test_random_tokenizers(
    tmp_path_factory: pytest.TempPathFactory, problem: tuple[TextProblem, dict[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("rules")
    options, rules = problem[0].options, problem[1]
    try:
        oracle, tokenizer = Oracle(folder, options, rules), loaded(folder, options, rules)
    except (bw.VocabularyError, ValueError):
        # Added tokens of which nothing is left, or that are alike after the rules.
        assume(False)
    assert_same(oracle, tokenizer, problem[0].texts)
    for text in problem[0].texts:
        assert_cut(tokenizer, text, range(0, len(text.encode()), 3), True)


def test_thousands_of_rules(tmp_path: Path) -> None:
    """NFKC, for single characters."""
    kept = (chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000)
    rules = {c: made for c in kept if (made := unicodedata.normalize("NFKC", c)) != c}
    options = {"vocabulary": [*SPECIAL_TOKENS, *"abcdefi123 カガ語が"], "added_tokens": []}
    oracle, tokenizer = Oracle(tmp_path, options, rules), loaded(tmp_path, options, rules)
    texts = ["".join(part) for part in batches(rules, 50)]
    assert len(rules) > 4000
    assert_same(oracle, tokenizer, [*texts, *(" a".join(text) for text in texts[::20]), "ﬁｶﾞ①½ｶﾞ㌔"])


@st.composite
def problems_with_flags(draw: st.DrawFn) -> tuple[TextProblem, dict[str, str]]:
    """The same with all flags, and tokens of which one begins another one."""
    problem, rules = draw(problems())
    content = draw(st.sampled_from([text for text in problem.texts if text] or ["abcd"]))
    flags = {name: st.booleans() for name in ("single_word", "rstrip", "normalized")}
    ends = draw(st.lists(st.integers(1, len(content)), min_size=1, max_size=3, unique=True))
    added = [{"content": content[:end], **draw(st.fixed_dictionaries(flags))} for end in ends]
    known = {token["content"] for token in problem.options["added_tokens"]}
    added = [token for token in added if token["content"] not in known]
    options = {**problem.options, "added_tokens": [*problem.options["added_tokens"], *added]}
    return dataclasses.replace(problem, options=options), rules


@pytest.mark.timeout(3600)
@given(problem=problems_with_flags(), cuts=st.lists(st.integers(0, 100), max_size=5), offsets=st.booleans())
def test_random_tokenizers_in_pieces(
    tmp_path_factory: pytest.TempPathFactory,
    problem: tuple[TextProblem, dict[str, str]],
    cuts: list[int],
    offsets: bool,
) -> None:
    try:
        tokenizer = loaded(tmp_path_factory.mktemp("rules"), problem[0].options, problem[1])
    except bw.VocabularyError:
        assume(False)
    for text in problem[0].texts:
        assert_cut(tokenizer, text, cuts, offsets)


@pytest.mark.parametrize("text", ["x abcd", "z x abcd", "zqz abcab abcd", "zqabcz"])
def test_a_token_that_was_refused_where_nothing_was_certain_is_found(tmp_path: Path, text: str) -> None:
    """What begins behind the certain part of a text is not looked at, neither for a token nor for a key."""
    added = [{"content": "ab", "single_word": True}, {"content": "abcd"}]
    options = {"vocabulary": [*SPECIAL_TOKENS, *"abcdwxz", *(f"##{c}" for c in "abcdwxz")], "added_tokens": added}
    tokenizer = loaded(tmp_path, options, {"zq": "w", "cz": "a"})
    for cuts in itertools.combinations(range(len(text)), 2):
        assert_cut(tokenizer, text, cuts, False)
        assert_cut(tokenizer, text, cuts, True)
