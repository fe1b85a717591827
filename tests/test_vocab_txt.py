"""A `vocab.txt`: HF's ids, what is doubtful in it, and what cannot be used."""

import re
import warnings
from pathlib import Path

import pytest
from tokenizers import BertWordPieceTokenizer
from tokenizers.models import WordPiece

import beam_wordpiece as bw
from beam_wordpiece.vocab import read_vocab_txt
from tests import oracle, small

VOCAB_TXT = [
    b"[UNK]\na\nb\n",
    b"[UNK]\na\nb",
    b"[UNK]\r\na\r\nb\r\n",
    b"[UNK]\na \n b\n\tc\nd\x0b\ne\xc2\xa0\n\x1c\nf\x1f\n",
    b"[UNK]\n\na\n\n",
    b"[UNK]\na\nb\na\n",
    "[UNK]\nx\u2028\ny\u2028z\n\u2003\n\u3000c\ufeff\nd\u0085\nb\u200b\n".encode(),
    b"[UNK]\na\rb\nc\r\n\0\nd\r\r\n",
    b"[UNK]",
    b"\xef\xbb\xbfx\n[UNK]\nx\n\xef\xbb\xbf\n",
    b"\xef\xbb\xbf\n[UNK]\r\n\r\n[UNK] \r\n",
]


@pytest.mark.parametrize("content", VOCAB_TXT)
def test_the_ids_of_a_vocab_txt_are_those_of_hf(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", bw.VocabularyWarning)
        assert dict(bw.load_vocabulary(path, doubtful_lines="warn").tokens) == WordPiece.read_file(str(path))


def test_white_space_is_what_hf_takes_off(tmp_path: Path) -> None:
    """Every code point of the basic plane, at the end of a line."""
    points = [chr(point) for point in range(1, 0xFFFF) if not 0xD800 <= point < 0xE000 and point != 0x0A]
    path = tmp_path / "vocab.txt"
    path.write_bytes("".join(f"x{number}{point}\n" for number, point in enumerate(points)).encode())
    with pytest.warns(bw.VocabularyWarning):
        assert read_vocab_txt(path, "warn") == WordPiece.read_file(str(path))


DOUBTFUL = pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xef\xbb\xbfa\n[UNK]\n", r"line 1 starts with a byte order mark"),
        (b"[UNK]\r\na\r\n", r"each of lines 1, 2 ends with a carriage return"),
        (b"[UNK]\na \n", r"line 2 ends with white space"),
        (b"[UNK]\n\na\n\n", r"each of lines 2, 4 is blank"),
        (b"[UNK]\na\nb\na\na\n", r"each of lines 2, 4 repeats in a later line"),
        (b"[UNK]\n" + b"\n" * 9, r"each of lines 2, 3, 4, 5, 6 and 4 more is blank"),
        (b"[UNK]\n\xe2\x80\xa8\n", r"line 2 is blank"),
        (b"[UNK]\na\r\r\n", r"line 2 ends with white space"),
    ],
)


@DOUBTFUL
def test_what_is_doubtful_in_a_vocab_txt_is_an_error(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    sentence = rf'{re.escape(str(path))}: {message} \([^()]+\); correct this, or give doubtful_lines="warn" to [^\n]*\.'
    for read in (bw.load_vocabulary, bw.Automaton.compile):
        for options in ({}, {"doubtful_lines": "error"}):
            with pytest.raises(bw.VocabularyError) as caught:
                read(path, **options)
            assert re.fullmatch(sentence, str(caught.value))


@DOUBTFUL
def test_what_is_doubtful_in_a_vocab_txt_can_be_a_warning(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    for read in (bw.load_vocabulary, bw.Automaton.compile):
        with pytest.warns(bw.VocabularyWarning) as caught:
            read(path, doubtful_lines="warn")
        (warning,) = caught
        assert re.fullmatch(rf"{re.escape(str(path))}: {message}, [^\n]*\.", str(warning.message))
        # The line that asked for the file, not one inside of the package.
        assert warning.filename == __file__


def test_several_faults_of_a_vocab_txt_are_one_sentence_and_a_warning_each(tmp_path: Path) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xef\xbb\xbfx\r\n[UNK]\n\na \na\n")
    faults = (
        "line 1 starts with a byte order mark",
        "line 1 ends with a carriage return",
        "line 4 ends with white space",
        "line 3 is blank",
        "line 4 repeats in a later line",
    )
    with pytest.raises(bw.VocabularyError, match=r" \([^()]+\) and ".join(faults)):
        bw.load_vocabulary(path)
    with pytest.warns(bw.VocabularyWarning) as caught:
        vocabulary = bw.load_vocabulary(path, doubtful_lines="warn")
    said = [str(warning.message).partition(", ")[0] for warning in caught]
    assert said == [f"{path}: {fault}" for fault in faults]
    assert vocabulary.tokens == {"\ufeffx": 0, "[UNK]": 1, "": 2, "a": 4}


def test_how_a_file_was_read_is_no_part_of_the_automaton(tmp_path: Path) -> None:
    path = small.write_vocab(tmp_path / "vocab.txt")
    assert bw.load_vocabulary(path, doubtful_lines="warn") == bw.load_vocabulary(path)
    clean = bw.Automaton.compile(path)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    with pytest.warns(bw.VocabularyWarning, match="carriage return"):
        automaton = bw.Automaton.compile(path, doubtful_lines="warn")
    assert automaton.fingerprint == clean.fingerprint
    assert automaton.to_bytes() == clean.to_bytes()


@pytest.mark.parametrize("options", [{}, {"doubtful_lines": "warn"}], ids=str)
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\nb\n", r"unknown token '\[UNK\]' is not in the vocabulary"),
        (b"", r"unknown token '\[UNK\]'"),
        (b"[UNK]\na\n\xff\n", r"line 3 is not UTF-8 \(byte 8 of the file\)"),
        ("[UNK]\n".encode("utf-16"), "line 1 is not UTF-8"),
        (b"[UNK]\n\n\xff\n", "line 3 is not UTF-8"),
    ],
)
def test_a_vocab_txt_that_cannot_be_used(
    tmp_path: Path, content: bytes, message: str, options: dict[str, object]
) -> None:
    path = tmp_path / "vocab.txt"
    path.write_bytes(content)
    with pytest.raises(bw.VocabularyError, match=message) as caught:
        bw.load_vocabulary(path, **options)
    assert str(path) in str(caught.value)


def test_a_byte_order_mark_before_the_unknown_token(tmp_path: Path) -> None:
    """With the mark read as HF reads it, there is no unknown token, and that is always an error."""
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xef\xbb\xbf[UNK]\na\n")
    with (
        pytest.warns(bw.VocabularyWarning, match="starts with a byte order mark, which is part of the token"),
        pytest.raises(bw.VocabularyError, match=r"unknown token '\[UNK\]' is not in the vocabulary"),
    ):
        bw.load_vocabulary(path, doubtful_lines="warn")


@pytest.mark.parametrize("tokens", [small.VOCABULARY, ["[UNK]", "a", "[SEP]"], ["x", "[UNK]"]])
def test_a_vocab_txt_has_the_special_tokens_of_hf(tmp_path: Path, tokens: list[str]) -> None:
    path = small.write_vocab(tmp_path / "vocab.txt", tokens)
    vocabulary = bw.load_vocabulary(path)
    if "[CLS]" in tokens:
        hf = BertWordPieceTokenizer(str(path))
        own = {t.id: (t.content, t.special, t.normalized, t.single_word) for t in vocabulary.added_tokens}
        assert own == {
            number: (token.content, token.special, token.normalized, token.single_word)
            for number, token in hf._tokenizer.get_added_tokens_decoder().items()
        }
        assert (vocabulary.prefix_ids, vocabulary.suffix_ids) == ((2,), (3,))
    else:
        assert {t.content for t in vocabulary.added_tokens} == set(tokens) & set(oracle.SPECIAL_TOKENS)
        assert (vocabulary.prefix_ids, vocabulary.suffix_ids) == ((), ())
    assert vocabulary.options == bw.Options()
