"""Arrow arrays of text, of whatever kind, -> arrays that the kernel reads.

The kernel reads string, large_string, binary and large_binary arrays. Everything else that can hold text is brought to
one of these here, without copying where that is possible, and whatever cannot is refused by the name of its type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from beam_wordpiece.errors import InputError

# Offsets of an Arrow list are signed 32-bit numbers.
LIST_LIMIT = (1 << 31) - 1
CAPSULES = ("__arrow_c_array__", "__arrow_c_stream__")


@dataclass(frozen=True)
class Texts:
    """Texts for the kernel. `rows` is None where each of them is one row, in order.

    Otherwise the arrays hold distinct texts (dictionary-encoded input), and `rows` says for each row which of them it
    has: int32, null for a null row.
    """

    arrays: list[pa.Array[Any]]
    rows: pa.Array[Any] | None = None

    def of_rows(self) -> list[pa.Array[Any]]:
        """Arrays in which each text is one row, in order, whatever the input was."""
        return self.arrays if self.rows is None else [self.arrays[0].cast(pa.large_binary()).take(self.rows)]


def import_texts(data: Any) -> Texts:
    """Take an Arrow array of text, a chunked one, or any object with `__arrow_c_array__` or `__arrow_c_stream__`.

    Text is string, large_string, string_view, binary, large_binary, binary_view, null, or a dictionary of one of these.
    Raises InputError where the data is no Arrow array, not text, or malformed.
    """
    array = _import(data)
    try:
        array.validate()
        chunks: Sequence[Any] = array.chunks if isinstance(array, pa.ChunkedArray) else [array]
        if pa.types.is_dictionary(array.type):
            return _distinct(chunks, array.type)
        return Texts([_plain(chunk) for chunk in chunks])
    except pa.ArrowException as error:
        raise InputError(f"The Arrow array of type {array.type} is malformed: {error}.") from error


def import_sample(data: Any) -> list[pa.Array[Any]]:
    """Take the texts of a sample: all that `import_texts` takes, or an iterable of str, which is read to its end.

    Raises InputError as that does; TypeError for anything else, and for what is no str in an iterable.
    """
    if isinstance(data, (pa.Array, pa.ChunkedArray)) or any(hasattr(data, name) for name in CAPSULES):
        # Words count as often as there are rows with them.
        return import_texts(data).of_rows()
    if isinstance(data, (str, bytes)) or not isinstance(data, Iterable):
        kind = type(data).__name__
        raise TypeError(f"The sample has to be an Arrow array of text or an iterable of str, not {kind}.")
    encoded = []
    for number, text in enumerate(data):
        if not isinstance(text, str):
            raise TypeError(f"The texts of the sample have to be str; text {number} is {type(text).__name__}.")
        # Lone surrogates make text that is not UTF-8, which the kernel can read.
        encoded.append(text.encode("utf-8", "surrogatepass"))
    return [pa.array(encoded, pa.large_binary())]


def _import(data: Any) -> pa.Array[Any] | pa.ChunkedArray[Any]:
    imported: pa.Array[Any] | pa.ChunkedArray[Any]
    try:
        if isinstance(data, (pa.Array, pa.ChunkedArray)):
            imported = data
        elif hasattr(data, "__arrow_c_array__"):
            imported = pa.array(data)
        elif hasattr(data, "__arrow_c_stream__"):
            imported = pa.chunked_array(data)
        else:
            raise InputError(
                f"The text has to be an Arrow array, not {type(data).__name__}; "
                "make one with pa.array(texts, pa.string())."
            )
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{type(data).__name__} gives an Arrow array that cannot be imported: {error}.") from error
    return imported


def _plain(array: pa.Array[Any]) -> pa.Array[Any]:
    """An array of a type that the kernel reads."""
    kind = array.type
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return array
    if types.is_null(kind):
        return array.cast(pa.string())
    # Views may hold more text than 32-bit offsets can say, and a cast to string instead of binary would refuse text
    # that is not UTF-8.
    if types.is_string_view(kind) or types.is_binary_view(kind):
        return _checked(array).cast(pa.large_binary())
    hint = "; give one column of the table" if types.is_struct(kind) else ""
    raise InputError(f"An Arrow array of type {kind} is not text (string, large_string, string_view, binary){hint}.")


def _checked(array: pa.Array[Any]) -> pa.Array[Any]:
    """The array, once every offset in it is known to lie in its buffers.

    The kernel checks the offsets that it is given. What goes through a function of Arrow first is checked here, as
    bytes: that text is UTF-8 is the kernel's business.
    """
    views = {"string": pa.binary(), "large_string": pa.large_binary()}
    if str(array.type) == "string_view":
        views["string_view"] = pa.binary_view()
    array.view(views.get(str(array.type), array.type)).validate(full=True)
    return array


def _distinct(chunks: Sequence[pa.DictionaryArray[Any, Any]], kind: pa.DictionaryType[Any, Any, Any]) -> Texts:
    """The texts of dictionary arrays that rows use, each once."""
    if not chunks:
        return Texts([_plain(pa.array([], kind.value_type))], pa.array([], pa.int32()))
    for chunk in chunks:
        chunk.indices.validate(full=True)
    dictionaries = [_checked(_plain(chunk.dictionary)) for chunk in chunks]
    used: list[Any] = [
        dictionary.take(pc.drop_null(chunk.indices.unique()))
        for chunk, dictionary in zip(chunks, dictionaries, strict=True)
    ]
    distinct: Any = pa.chunked_array(used, dictionaries[0].type).unique()
    rows: list[Any] = [
        pc.index_in(dictionary, value_set=distinct).take(chunk.indices)
        for chunk, dictionary in zip(chunks, dictionaries, strict=True)
    ]
    return Texts([distinct], pa.concat_arrays(rows))


def spread(column: pa.Array[Any], rows: pa.Array[Any]) -> pa.Array[Any]:
    """The lists of distinct texts, for every row: large_list where 32-bit offsets would not hold them."""
    lengths = pc.list_value_length(column).take(rows)
    if total(lengths) > LIST_LIMIT:
        column = column.cast(pa.large_list(column.type.value_type))
    return column.take(rows)


def text_bytes(texts: pa.Array[Any]) -> int:
    """Bytes of text in an array of a type that the kernel reads."""
    lengths: Any = pc.binary_length(texts)  # type: ignore[call-overload]
    return total(lengths)


def total(numbers: pa.Array[Any]) -> int:
    """The sum of an array, in 64 bits; nulls count as 0."""
    result: Any = pc.sum(numbers.cast(pa.int64())).as_py()
    return result or 0
