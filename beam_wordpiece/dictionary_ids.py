"""The ids of a Dictionary, which are strings: from the numbers that the kernel gives, and back to text.

Numbers below the number of entries stand for these. What is unknown has the number of entries, and where it is carried
the code point more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece.arrow_text import LIST_LIMIT
from beam_wordpiece.errors import InputError

UNKNOWN_ID = "[UNK]"
# What stands between the unknown id and the character that it carries, and can be in no id.
COLON = ":"
# What is given for unknown characters.
UNKNOWN = ("character", "run", "carry")
# Offsets of an Arrow string array are signed 32-bit numbers.
STRING_LIMIT = (1 << 31) - 1
# An occurrence of a key in Arrow.
OCCURRENCE: pa.DataType = pa.struct([("start", pa.int64()), ("end", pa.int64()), ("id", pa.string())])
# Bytes of the id of a character that is carried, at most.
CARRIED_BYTES = len(UNKNOWN_ID + COLON) + 4


class Names:
    """The ids that numbers stand for. `ids`: those of the entries, a string array; `unknown`: one of UNKNOWN."""

    def __init__(self, ids: pa.Array[Any], unknown: str) -> None:
        self.count = len(ids)
        self.unknown = unknown
        self._array: Any = pa.concat_arrays([ids, pa.array([UNKNOWN_ID], ids.type)])
        self._list: list[str] | None = None
        self._lengths: Any = pc.max_element_wise(pc.binary_length(self._array), CARRIED_BYTES)
        self._longest: int = pc.max(self._lengths).as_py()

    def strings(self) -> list[str]:
        """The ids of the entries, and behind them that of what is unknown. Made once."""
        if self._list is None:
            self._list = self._array.to_pylist()
        return self._list

    def of(self, numbers: Iterable[int]) -> list[str]:
        """The ids of numbers."""
        names, count = self.strings(), self.count
        if self.unknown == "carry":
            return [names[number] if number < count else carried(number - count) for number in numbers]
        return [names[number] for number in numbers]

    def array(self, numbers: Any) -> Any:
        """The same in Arrow: string, or large_string where the ids take 2 GiB or more."""
        carries = self.unknown == "carry"
        places: Any = pc.min_element_wise(numbers, pa.scalar(self.count, pa.int32())) if carries else numbers
        names = self._array if self._fit(places) else self._array.cast(pa.large_string())
        found: Any = names.take(places)
        return self._with_characters(found, numbers) if carries else found

    def occurrences(self, starts: list[int], ends: list[int], numbers: list[int]) -> list[tuple[int, int, str]]:
        """Occurrences of keys as the kernel gives them, with their ids."""
        return list(zip(starts, ends, self.of(numbers), strict=True))

    def occurrence_lists(self, found: Any) -> Any:
        """The same in Arrow: list<struct<start: int64, end: int64, id: string>>, a row for each of the kernel's.

        It is large_list where there are 2**31 occurrences or more, large_string where their ids take 2 GiB or more.
        """
        starts, ends, numbers = found.values.flatten()
        named = pa.StructArray.from_arrays([starts, ends, self.array(numbers)], names=["start", "end", "id"])
        offsets, mask = found.offsets, found.is_null() if found.null_count else None
        if len(named) > LIST_LIMIT:
            return pa.LargeListArray.from_arrays(offsets, named, mask=mask)
        return pa.ListArray.from_arrays(offsets.cast(pa.int32()), named, mask=mask)

    def _with_characters(self, found: Any, numbers: Any) -> Any:
        unknown = self.is_unknown(numbers)
        strange: Any = numbers.filter(unknown)
        if len(strange) == 0:
            return found
        distinct = strange.dictionary_encode()
        texts = [carried(number - self.count) for number in distinct.dictionary.to_pylist()]
        return pc.replace_with_mask(found, unknown, pa.array(texts, found.type).take(distinct.indices))

    def is_unknown(self, numbers: Any) -> Any:
        """Which numbers stand for what is unknown."""
        return pc.greater_equal(numbers, pa.scalar(self.count, pa.int32()))

    def _fit(self, places: Any) -> bool:
        """Whether 32-bit offsets hold the ids at all these places."""
        if self._longest * len(places) <= STRING_LIMIT:
            return True
        size: Any = pc.sum(self._lengths.take(places).cast(pa.int64())).as_py()
        return bool(size <= STRING_LIMIT)


def carried(code_point: int) -> str:
    """The id of an unknown character that is carried."""
    return UNKNOWN_ID + COLON + chr(code_point)


class Texts(dict[str, str]):
    """The text of each id. What is not kept is worked out, or refused. `keys`: in the order of their numbers."""

    def __init__(self, keys: list[str], names: Names) -> None:
        ids = names.strings()[:-1]
        super().__init__(zip(ids, keys, strict=True))
        self._carries = names.unknown == "carry"
        self._shared: dict[str, tuple[str, str]] = {}
        if len(self) < len(keys):
            for id, key in zip(ids, keys, strict=True):
                if self[id] != key:
                    self._shared.setdefault(id, (f"the key {key!r}", f"the key {self[id]!r}"))
        if UNKNOWN_ID in self and not self._carries:
            self._shared.setdefault(UNKNOWN_ID, (f"the key {self[UNKNOWN_ID]!r}", "what is unknown"))
        for id in self._shared:
            del self[id]

    def __missing__(self, id: Any) -> str:
        if not isinstance(id, str):
            raise TypeError(f"The ids of a dictionary are str, not {type(id).__name__} ({id!r}).")
        if id in self._shared:
            one, other = self._shared[id]
            raise InputError(
                f"{id!r} is the id of {one} and of {other}, so its text is not known; give each key an id of its own."
            )
        head, colon, text = id.partition(COLON)
        if head != UNKNOWN_ID or self._carries != bool(colon) or len(text) > 1:
            raise InputError(f"{id!r} is not an id of the dictionary.")
        return text if colon else UNKNOWN_ID
