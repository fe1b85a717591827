"""A Stream that refuses text that is not UTF-8: it does so with the chunk that shows it, and nothing is added."""

import codecs
import random
from typing import Any

import pyarrow as pa
import pytest

import beam_wordpiece as bw
from tests.oracle import tokenizer_json
from tests.test_stream import ADDED, VOCABULARY

# Surrogates are whole: the standard library waits for a third byte, which cannot make them valid.
PIECES = [b"a", b" ", b"\xe0", b"\x80", b"\xf0\x9f", b"\x98\x80", b"\xee", b"\xed\xa0\x80", b"\xff"]
PIECES += [b"\xef\xbf", b"\xbd", b"one", b"[MA", b"SK]", b"<mask", b">", b"tu "]
PIECES += [text.encode() for text in ("é", "中", "e\u0301\u0323")]


@pytest.fixture(scope="module", params=[False, True], ids=["ids", "offsets"])
def stream(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bw.Stream:
    path = tmp_path_factory.mktemp("strict") / "tokenizer.json"
    path.write_text(tokenizer_json(VOCABULARY, template=True, added_tokens=ADDED), encoding="utf-8")
    return bw.Stream(bw.Tokenizer(bw.Automaton.compile(path), errors="error"), offsets=request.param)


def decoded(decoder: Any, chunk: bytes, final: bool = False) -> str | None:
    """What the standard library makes of a chunk; None where it is not UTF-8, and is then not added."""
    state = decoder.getstate()
    try:
        return str(decoder.decode(chunk, final))
    except UnicodeDecodeError:
        decoder.setstate(state)
        return None


def test_the_chunks_that_are_refused(stream: bw.Stream, full: bool) -> None:
    chance = random.Random(23)
    refused = 0
    for _ in range(20_000 if full else 2000):
        decoder: Any = codecs.getincrementaldecoder("utf-8")()
        text, ids = "", list[int]()
        for _ in range(chance.randrange(8)):
            chunk = b"".join(chance.choices(PIECES, k=chance.choice([1, 1, 2, 5])))
            if (more := decoded(decoder, chunk)) is None:
                refused += 1
                state = stream.to_bytes()
                with pytest.raises(bw.TextError):
                    stream.feed(chunk)
                assert stream.to_bytes() == state
            else:
                text += more
                ids += stream.feed(chunk)
        if decoded(decoder, b"", final=True) is None:
            with pytest.raises(bw.TextError):
                stream.finish()
            # The character that is cut off becomes another one, or none.
            stream = bw.Stream(stream.tokenizer, offsets=stream.offsets)
        else:
            assert [*ids, *stream.finish()] == stream.tokenizer.encode(text).ids
    assert refused > 1000


def test_the_row_that_is_refused(stream: bw.Stream) -> None:
    chance = random.Random(29)
    for _ in range(2000):
        chunks = [b"".join(chance.choices(PIECES, k=chance.choice([0, 1, 3]))) for _ in range(8)]
        ends = [chance.random() < 0.3 for _ in chunks]
        fresh = bw.Stream(stream.tokenizer, offsets=stream.offsets)
        decoder: Any = codecs.getincrementaldecoder("utf-8")()
        wrong = (row for row in range(8) if decoded(decoder, chunks[row], ends[row]) is None)
        row = next(wrong, None)
        if row is None:
            assert fresh.feed_arrow(pa.array(chunks), pa.array(ends)).num_rows == 8
            continue
        with pytest.raises(bw.TextError, match=f"row {row} is not UTF-8") as caught:
            fresh.feed_arrow(pa.array(chunks), pa.array(ends))
        assert caught.value.row == row
        assert fresh.to_bytes() == bw.Stream(stream.tokenizer, offsets=stream.offsets).to_bytes()


def test_text_that_is_refused_changes_nothing(automaton: bw.Automaton) -> None:
    strict = bw.Tokenizer(automaton, errors="error")
    stream = bw.Stream(strict)
    ids = list(stream.feed(b"caf\xc3"))
    for bad, place in ((b"(", 3), (b"\xa9 au lait \xff", 14), (b"\xa9 \xe4\xb8\xe4", 6)):
        with pytest.raises(bw.TextError, match=f"^The chunk is not UTF-8, at byte {place} of its document; repair"):
            stream.feed(bad)
    with pytest.raises(bw.TextError, match=r"^The chunk in row 1 is not UTF-8, at byte 5 of its document"):
        stream.feed(pa.array([b"\xa9", b"\xff"]))
    with pytest.raises(bw.TextError, match=r"^The document ends within a character, at byte 3; repair it"):
        stream.finish()
    with pytest.raises(bw.TextError, match="lone surrogate at character 1"):
        stream.feed("a\ud800")
    with pytest.raises(bw.TextError, match=r"row 1 .* at byte 6 of its document") as caught:
        stream.feed_arrow(pa.array([b"\xa9", b"x\xffy"]), pa.array([False, True]))
    assert caught.value.row == 1
    assert [*ids, *stream.feed(b"\xa9 au lait"), *stream.finish()] == strict.encode("café au lait").ids
    replacing = bw.Stream(bw.Tokenizer(automaton))
    assert [*replacing.feed("a\ud800b"), *replacing.finish()] == bw.Tokenizer(automaton).encode("a\ufffdb").ids
