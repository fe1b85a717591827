"""Tokenizer folders: which file holds, and what contradicts what."""

import json
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordPiece

import beam_wordpiece as bw
from tests import small

MODELS = ("bert-base-cased", "bert-base-chinese", "bert-base-multilingual-cased", "bert-base-uncased", "kcbert-base")


@pytest.fixture
def with_json(tmp_path: Path) -> Path:
    """A folder with a tokenizer.json."""
    small.write(tmp_path / "tokenizer.json", small.document())
    return tmp_path


@pytest.fixture
def with_txt(tmp_path: Path) -> Path:
    """A folder with a vocab.txt and no tokenizer.json."""
    small.write_vocab(tmp_path / "vocab.txt")
    return tmp_path


def configure(folder: Path, **config: Any) -> Path:
    small.write(folder / "tokenizer_config.json", config)
    return folder


def test_tokenizer_json_is_preferred(with_json: Path) -> None:
    (with_json / "vocab.txt").write_text("other\n")
    assert bw.load_vocabulary(with_json) == bw.load_vocabulary(with_json / "tokenizer.json")


def test_a_folder_without_a_vocabulary_is_refused(tmp_path: Path) -> None:
    with pytest.raises(bw.VocabularyError, match=r"holds neither tokenizer\.json nor vocab\.txt"):
        bw.load_vocabulary(tmp_path)


def test_a_configuration_that_agrees_changes_nothing(with_json: Path) -> None:
    alone = bw.load_vocabulary(with_json)
    decoder = {str(t["id"]): {k: v for k, v in t.items() if k != "id"} for t in small.document()["added_tokens"]}
    configure(
        with_json,
        do_lower_case=True,
        strip_accents=True,  # what null in the tokenizer.json comes to
        tokenize_chinese_chars=True,
        do_basic_tokenize=True,
        never_split=None,
        model_max_length=512,
        tokenizer_class="SomethingElse",
        added_tokens_decoder=decoder,
    )
    assert bw.load_vocabulary(with_json) == alone


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"do_lower_case": False}, "do_lower_case contradicts tokenizer.json, which says True; give lowercase="),
        ({"strip_accents": False}, "strip_accents contradicts tokenizer.json, which says True; give strip_accents="),
        ({"tokenize_chinese_chars": False}, "tokenize_chinese_chars contradicts"),
        ({"do_basic_tokenize": False}, "do_basic_tokenize is false"),
        ({"never_split": ["cat"]}, "never_split names words"),
        ({"do_lower_case": "no"}, "lowercase has to be true or false"),
        ({"added_tokens_decoder": {"40": small.added("<x>", 40)}}, "adds '<x>', which tokenizer.json does not"),
        ({"added_tokens_decoder": {"4": small.added("[MASK]", 4)}}, "adds '[MASK]', which tokenizer.json does not"),
        ({"added_tokens_decoder": {"x": small.added("[MASK]", 4)}}, "has the key 'x', which is not an id"),
    ],
)
def test_a_configuration_that_contradicts_is_refused(with_json: Path, config: dict[str, Any], message: str) -> None:
    configure(with_json, **config)
    with pytest.raises(bw.VocabularyError, match=re.escape(message)) as caught:
        bw.load_vocabulary(with_json)
    assert str(with_json / "tokenizer_config.json") in str(caught.value)
    # The file alone says nothing contradictory.
    bw.load_vocabulary(with_json / "tokenizer.json")


def test_a_keyword_decides_a_contradiction(with_json: Path) -> None:
    configure(with_json, do_lower_case=False)
    assert not bw.load_vocabulary(with_json, lowercase=False).options.lowercase
    assert bw.load_vocabulary(with_json, lowercase=True).options.lowercase


def test_a_vocab_txt_is_read_as_its_configuration_says(with_txt: Path) -> None:
    assert bw.load_vocabulary(with_txt) == bw.load_vocabulary(with_txt / "vocab.txt")
    configure(
        with_txt,
        do_lower_case=False,
        strip_accents=True,
        tokenize_chinese_chars=False,
        unk_token="un",
        cls_token={"content": "a", "lstrip": True, "__type": "AddedToken"},
        sep_token="b",
        tokenizer_class="DistilBertTokenizerFast",
    )
    vocabulary = bw.load_vocabulary(with_txt)
    assert vocabulary.options == bw.Options(False, True, True, False, "un")
    assert (vocabulary.prefix_ids, vocabulary.suffix_ids) == ((9,), (10,))
    tokens = {token.content: token for token in vocabulary.added_tokens}
    assert set(tokens) == {"un", "a", "b", "[PAD]", "[MASK]"}
    assert tokens["a"] == bw.AddedToken("a", 9, special=True, lstrip=True, normalized=False)
    assert bw.load_vocabulary(with_txt, unk_token="[UNK]").options.unk_token == "[UNK]"


def test_a_doubtful_vocab_txt_of_a_folder(with_txt: Path) -> None:
    configure(with_txt, do_lower_case=False)
    clean, path = bw.load_vocabulary(with_txt), with_txt / "vocab.txt"
    path.write_bytes(path.read_bytes() + b"\n")
    fault = re.escape(f"{path}: line {len(small.VOCABULARY) + 1} is blank")
    with pytest.raises(bw.VocabularyError, match=fault):
        bw.load_vocabulary(with_txt)
    with pytest.warns(bw.VocabularyWarning, match=fault) as caught:
        vocabulary = bw.load_vocabulary(with_txt, doubtful_lines="warn")
    assert [warning.filename for warning in caught] == [__file__]
    assert vocabulary.tokens == {**clean.tokens, "": len(small.VOCABULARY)}
    assert vocabulary.options == clean.options


def test_further_tokens_of_a_vocab_txt(with_txt: Path) -> None:
    """Ids as `tokenizers` gives them when the same tokens are added in the same order."""
    size = len(small.VOCABULARY)
    configure(
        with_txt,
        added_tokens_decoder={
            str(size): small.added("<x>", size, lstrip=True, normalized=True),
            "4": small.added("[MASK]", 4, special=True, lstrip=True),
        },
        additional_special_tokens=["<y>", {"content": "<x>"}],
        extra_special_tokens={"image_token": "<z>"},
    )
    small.write(with_txt / "special_tokens_map.json", {"pad_token": "un", "mask_token": "[UNK]"})
    tokens = {token.content: token for token in bw.load_vocabulary(with_txt).added_tokens}
    assert tokens["[MASK]"] == bw.AddedToken("[MASK]", 4, special=True, lstrip=True, normalized=False)
    assert tokens["<x>"] == bw.AddedToken("<x>", size, lstrip=True)
    assert tokens["<y>"] == bw.AddedToken("<y>", size + 1, special=True, normalized=False)
    assert tokens["<z>"].id == size + 2
    assert "un" in tokens
    assert "[PAD]" not in tokens


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("tokenizer_config.json", {"do_basic_tokenize": False}, "do_basic_tokenize is false"),
        ("tokenizer_config.json", {"never_split": ["x"]}, "never_split names words"),
        ("tokenizer_config.json", {"tokenizer_class": "RobertaTokenizer"}, "tokenizer_class is 'RobertaTokenizer'"),
        ("tokenizer_config.json", {"mask_token": "<mask>"}, "the mask_token '<mask>' that tokenizer_config.json names"),
        ("tokenizer_config.json", {"unk_token": "<unk>"}, "the unknown token '<unk>' is not in the vocabulary"),
        ("tokenizer_config.json", {"sep_token": 3}, "sep_token has to be an object, not 3"),
        ("tokenizer_config.json", [], "has to be an object"),
        ("added_tokens.json", {"<x>": 33}, "adds tokens without their flags"),
    ],
)
def test_what_a_folder_asks_for_and_is_not_supported(with_txt: Path, file: str, content: Any, message: str) -> None:
    (with_txt / file).write_text(json.dumps(content))
    with pytest.raises(bw.VocabularyError, match=re.escape(message)):
        bw.load_vocabulary(with_txt)


@pytest.mark.parametrize("model", MODELS)
def test_published_tokenizers_are_read_whole(shared: Path, model: str) -> None:
    folder = shared / "vocabs" / model
    vocabulary = bw.load_vocabulary(folder)
    hf = Tokenizer.from_file(str(folder / "tokenizer.json"))
    assert dict(vocabulary.tokens) == hf.get_vocab(with_added_tokens=False)
    assert {token.content: token.id for token in vocabulary.added_tokens} == {
        token.content: number for number, token in hf.get_added_tokens_decoder().items()
    }
    assert vocabulary.size == hf.get_vocab_size()
    assert [*vocabulary.prefix_ids, *vocabulary.suffix_ids] == hf.encode("").ids


@pytest.mark.parametrize("model", MODELS)
def test_published_vocab_txt_files_give_the_same(shared: Path, model: str) -> None:
    folder = shared / "vocabs" / model
    whole = bw.load_vocabulary(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bw.VocabularyWarning)
        alone = bw.load_vocabulary(folder / "vocab.txt", lowercase=whole.options.lowercase, doubtful_lines="warn")
    assert dict(alone.tokens) == WordPiece.read_file(str(folder / "vocab.txt"))
    assert (alone.added_tokens, alone.options, alone.single, alone.pair, alone.decoder) == (
        whole.added_tokens,
        whole.options,
        whole.single,
        whole.pair,
        whole.decoder,
    )
