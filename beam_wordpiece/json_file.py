"""JSON files read strictly, with the place of every value kept so that a message can name it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from beam_wordpiece.checks import is_text
from beam_wordpiece.errors import VocabularyError, warn_of_vocabulary


@dataclass(frozen=True)
class Node:
    """A value in a JSON file. `place` is its path in the file, such as `model.vocab` or `added_tokens[3].id`."""

    value: Any
    file: str
    place: str = ""

    def fail(self, fault: str) -> NoReturn:
        """Raise a VocabularyError that names the file and the place."""
        raise VocabularyError(f"{self.file}: {self.place + ' ' if self.place else ''}{fault}")

    def get(self, key: str) -> Node:
        """The value of a key of an object; null where the key is missing."""
        return Node(self.object().get(key), self.file, f"{self.place}.{key}" if self.place else key)

    def has(self, key: str) -> bool:
        return key in self.object()

    def require(self, key: str) -> Node:
        """The value of a key that has to be there."""
        if not self.has(key):
            self.fail(f"has no {key!r}, which is needed.")
        return self.get(key)

    @property
    def is_null(self) -> bool:
        return self.value is None

    def object(self) -> dict[str, Any]:
        if not isinstance(self.value, dict):
            self.fail(f"has to be an object, not {_shown(self.value)}.")
        return self.value

    def items(self) -> Iterator[Node]:
        """The members of an array."""
        if not isinstance(self.value, list):
            self.fail(f"has to be an array, not {_shown(self.value)}.")
        for index, value in enumerate(self.value):
            yield Node(value, self.file, f"{self.place}[{index}]")

    def string(self) -> str:
        if not isinstance(self.value, str):
            self.fail(f"has to be a string, not {_shown(self.value)}.")
        if not is_text(self.value):
            self.fail(f"({_shown(self.value)}) holds half a surrogate pair, which is no character; correct it.")
        return self.value

    def boolean(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail(f"has to be true or false, not {_shown(self.value)}.")
        return self.value

    def integer(self, limit: int) -> int:
        """A whole number in [0, limit)."""
        if type(self.value) is not int or not 0 <= self.value < limit:
            self.fail(f"has to be a whole number from 0 to {limit - 1}, not {_shown(self.value)}.")
        return self.value

    def only(self, known: Collection[str]) -> None:
        """Refuse a key that is not known, unless its value (null or false) asks for nothing."""
        for key, value in self.object().items():
            if key not in known and value is not None and value is not False:
                self.get(key).fail(f"({_shown(value)}) is not supported; remove it if the tokenizer does without it.")


def read_json(path: Path) -> Node:
    """Read a JSON file. Raises VocabularyError where it is not JSON in UTF-8, OSError where it cannot be read."""
    data = path.read_bytes()
    name = str(path)
    if data.startswith(b"\xef\xbb\xbf"):
        raise VocabularyError(f"{name}: starts with a byte order mark; save the file as UTF-8 without one.")
    repeated: list[str] = []

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            repeated.extend(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        return built

    try:
        value = json.loads(data.decode(), object_pairs_hook=build)
    except UnicodeDecodeError as error:
        raise VocabularyError(f"{name}: byte {error.start} is not UTF-8; save the file as UTF-8.") from error
    except (ValueError, RecursionError) as error:
        raise VocabularyError(f"{name}: is not JSON that can be read: {error}.") from error
    if repeated:
        warn_of_vocabulary(
            f"{name}: the key {repeated[0]!r} stands more than once in one object; as in HF, the last one counts."
        )
    return Node(value, name)


def _shown(value: object) -> str:
    """A value for a message, cut where it is long."""
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 60 else text[:57] + "..."
