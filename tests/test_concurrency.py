"""One tokenizer in many threads, in forked and spawned processes, pickled and copied: the ids stay the same."""

import copy
import multiprocessing
import pickle
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.pool import Pool
from pathlib import Path

import pyarrow as pa
import pytest

import beam_wordpiece as bw
from tests.oracle import our_ids

THREADS = 8
# A child that waits for a lock that nobody holds any more waits for ever.
SECONDS = 60

_tokenizer: bw.Tokenizer


def in_child(texts: list[str]) -> list[list[int]]:
    """Encode with the tokenizer that the parent had before the fork."""
    return our_ids(_tokenizer, texts)


def with_given(tokenizer: bw.Tokenizer, texts: list[str]) -> list[list[int]]:
    return our_ids(tokenizer, texts)


def test_many_threads_at_once(tokenizer: bw.Tokenizer, documents: list[str]) -> None:
    """Each thread encodes other slices, through both ways in, while the others do."""
    expected = our_ids(tokenizer, documents)
    started = threading.Barrier(THREADS)

    def work(number: int) -> bool:
        started.wait(SECONDS)
        mine = slice(number, None, THREADS)
        same = [tokenizer.encode(text).ids for text in documents[mine]] == expected[mine]
        return same and our_ids(tokenizer, documents) == expected

    with ThreadPoolExecutor(THREADS) as threads:
        assert all(threads.map(work, range(THREADS)))


def test_others_run_while_a_batch_is_encoded(tokenizer: bw.Tokenizer, documents: list[str]) -> None:
    """The kernel works without the GIL: another thread gets its share of the processor while it does."""
    array = pa.array(documents * 40, pa.large_string())
    done = threading.Event()

    def encode() -> float:
        start = time.thread_time()
        tokenizer.encode_arrow(array)
        done.set()
        return time.thread_time() - start

    with ThreadPoolExecutor(1) as threads:
        worker = threads.submit(encode)
        start = time.thread_time()
        while not done.is_set():
            pass
        assert time.thread_time() - start > worker.result() / 10


def test_fork_after_use(tokenizer: bw.Tokenizer, documents: list[str]) -> None:
    """Used from threads in the parent first, as a pool that was made before the fork would be."""
    global _tokenizer
    _tokenizer = tokenizer
    texts = documents[:20]
    with ThreadPoolExecutor(THREADS) as threads:
        results = list(threads.map(in_child, [texts] * THREADS))
    with warnings.catch_warnings():
        # Python warns of forks in processes with threads, and this is one on purpose.
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = multiprocessing.get_context("fork").Pool(2)
    assert finished(pool, [(texts,)] * 4, in_child) == [results[0]] * 4


def finished(pool: Pool, arguments: list[tuple[object, ...]], function: object) -> list[object]:
    """What the children give, within SECONDS."""
    try:
        return list(pool.starmap_async(function, arguments).get(SECONDS))  # type: ignore[arg-type]
    finally:
        pool.terminate()
        pool.join()


@pytest.mark.parametrize("opened", [False, True], ids=["compiled", "opened from a file"])
def test_pickled_to_new_processes(automaton: bw.Automaton, documents: list[str], tmp_path: Path, opened: bool) -> None:
    texts = documents[:20]
    if opened:
        automaton.save(tmp_path / "small.bwp")
        automaton = bw.Automaton.open(tmp_path / "small.bwp")
    tokenizer = bw.Tokenizer(automaton, add_special_tokens=False)
    pool = multiprocessing.get_context("spawn").Pool(2)
    assert finished(pool, [(tokenizer, texts)] * 2, with_given) == [our_ids(tokenizer, texts)] * 2


def test_copies(automaton: bw.Automaton, documents: list[str]) -> None:
    tokenizer = bw.Tokenizer(automaton, add_special_tokens=False, errors="error")
    expected = our_ids(tokenizer, documents[:20])
    copies = [copy.copy(tokenizer), copy.deepcopy(tokenizer)]
    copies += [pickle.loads(pickle.dumps(tokenizer, protocol)) for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1)]
    for other in copies:
        assert our_ids(other, documents[:20]) == expected
        assert (other.add_special_tokens, other.errors) == (False, "error")
        assert other.automaton.fingerprint == automaton.fingerprint
        with pytest.raises(bw.TextError):
            other.encode_arrow(pa.array([b"\xff"], pa.binary()))


def test_an_output_stays_while_others_come_and_go(tokenizer: bw.Tokenizer) -> None:
    """Memory of outputs that were let go is used again, by outputs of other sizes; that of others never is."""
    text = "They are unaffable. "
    (ids,) = our_ids(tokenizer, [text])
    held: dict[int, pa.Array] = {}
    for turn in range(60):
        # From a few bytes to 3 MB; more at one time than are kept for the next ones.
        copies = (1, 30, 2_000, 60_000, 150_000)[turn * 7 % 5]
        held[turn] = tokenizer.encode_arrow(pa.array([text * copies])).column("input_ids")
        if len(held) > 20:
            del held[min(held)], held[max(held)]
    body = ids[1:-1] if tokenizer.add_special_tokens else ids
    for column in held.values():
        values = column.flatten().to_numpy()
        inner = values[1:-1] if tokenizer.add_special_tokens else values
        assert (inner.reshape(-1, len(body)) == body).all()


def test_the_automaton_may_go_before_the_tokenizer(tokenizer_json: Path, tmp_path: Path) -> None:
    """The mapping lives as long as somebody uses it, also when the file is replaced or removed."""
    path = tmp_path / "small.bwp"
    bw.Automaton.compile(tokenizer_json).save(path)
    tokenizer = bw.Tokenizer(bw.Automaton.open(path))
    before = tokenizer.encode("The mapping lives on.")
    bw.Automaton.compile(tokenizer_json, lowercase=False).save(path)
    assert tokenizer.encode("The mapping lives on.") == before
    path.unlink()
    assert tokenizer.encode("The mapping lives on.") == before
