"""What all tests share: the small tokenizer of the project, its text, and the data that may lie beside the checkout."""

import itertools
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from tokenizers import Tokenizer

import beam_wordpiece as bw
from beam_wordpiece.cli import main
from pipelines import local_text
from tests import oracle, small

ROOT = Path(__file__).resolve().parents[1]
# Everything instead of a sample: for machines with an hour to spare.
FULL = os.environ.get("BEAM_WORDPIECE_FULL") == "1"

# Machines are shared, so no example has a deadline; pytest-timeout limits a whole test. A run that is not FULL is the
# same every time.
settings.register_profile("sample", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("full", deadline=None, max_examples=5_000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("full" if FULL else "sample")


@pytest.fixture(scope="session")
def full() -> bool:
    """Whether everything is to be compared instead of a sample (BEAM_WORDPIECE_FULL=1)."""
    return FULL


def shared_folder() -> Path:
    """Where the corpora, vocabularies and cases are, if they are there at all."""
    named = os.environ.get("BEAM_WORDPIECE_SHARED")
    return Path(named) if named else ROOT.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with corpora, vocabularies and cases."""
    folder = shared_folder()
    if not folder.is_dir():
        pytest.skip(
            f"needs the folder with corpora, vocabularies and cases, and {folder} does not exist: "
            "put it beside the checkout, or name it with BEAM_WORDPIECE_SHARED"
        )
    return folder


@pytest.fixture(scope="session")
def tokenizer_json() -> Path:
    """The project's own vocabulary of 8,000 tokens."""
    return ROOT / "tests" / "data" / "tokenizer.json"


@pytest.fixture(scope="session")
def hf(tokenizer_json: Path) -> Tokenizer:
    """HF's tokenizer of the project's own vocabulary."""
    return oracle.hf_tokenizer(tokenizer_json)


@pytest.fixture(scope="session")
def automaton(tokenizer_json: Path) -> bw.Automaton:
    return bw.Automaton.compile(tokenizer_json)


@pytest.fixture(scope="session")
def tokenizer(automaton: bw.Automaton) -> bw.Tokenizer:
    return bw.Tokenizer(automaton)


@pytest.fixture(scope="session")
def documents() -> list[str]:
    """The start of the project's own text: about 1 MB."""
    return [
        text for _, _, text in itertools.takewhile(lambda document: document[0] != "stdlib", local_text.documents())
    ]


@pytest.fixture(scope="session")
def small_source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer.json of a few dozen tokens, with special tokens and BERT's template."""
    return small.write(tmp_path_factory.mktemp("small") / "tokenizer.json", small.document())


@pytest.fixture(scope="session")
def small_hf(small_source: Path) -> Tokenizer:
    """HF's tokenizer of that file."""
    return oracle.hf_tokenizer(small_source)


@pytest.fixture(scope="session")
def ours(small_source: Path) -> bw.Tokenizer:
    """Ours of the same file."""
    return bw.Tokenizer(bw.Automaton.compile(small_source))


@pytest.fixture
def paper(tmp_path: Path) -> Path:
    """The vocabulary of the paper's example, with the unknown token first."""
    return small.write_vocab(tmp_path / "paper.txt", ["[UNK]", *small.PAPER])


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """A function that runs the command and gives what it prints, on standard error where it fails."""

    def show(*arguments: str | os.PathLike[str], status: int = 0) -> str:
        assert main([os.fspath(argument) for argument in arguments]) == status
        out, err = capsys.readouterr()
        assert (out if status else err) == ""
        return err if status else out

    return show
