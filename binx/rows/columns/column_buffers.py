"""A column whose buffers in the row kernel are as Arrow has them: no array is made until one is wanted."""

from __future__ import annotations

from typing import Any, NamedTuple

import pyarrow as pa

_OFFSET_BYTES = 4


class ColumnBuffers(NamedTuple):
    """The buffers of a column.

    Attributes:
        values: of values, of offsets, or of the numbers of words; None where all values are null.
        data: the bytes of strings, or of words.
        words: where each word begins and the last one ends; None where the values are no words' numbers.
        validity: a bitmap; None where all values are there, or none is.
        nulls: how many are not.
    """

    values: Any
    data: Any = None
    words: Any = None
    validity: Any = None
    nulls: int = 0

    def array(self, data_type: pa.DataType, rows: int) -> pa.Array:
        """The same as an array of a type that these buffers are for."""
        if self.values is None:
            return pa.nulls(rows, data_type)
        if isinstance(data_type, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(data_type, self.array(data_type.storage_type, rows))
        validity = None if self.validity is None else pa.py_buffer(self.validity)
        values = pa.py_buffer(self.values)
        if self.words is not None:
            codes = pa.Array.from_buffers(data_type.index_type, rows, [validity, values], self.nulls)
            words = [None, pa.py_buffer(self.words), pa.py_buffer(self.data)]
            count = len(memoryview(self.words).cast("B")) // _OFFSET_BYTES - 1
            return pa.DictionaryArray.from_arrays(
                codes, pa.Array.from_buffers(data_type.value_type, count, words, 0)
            )
        data = [] if self.data is None else [pa.py_buffer(self.data)]
        return pa.Array.from_buffers(data_type, rows, [validity, values, *data], self.nulls)


Column = ColumnBuffers | pa.Array
"""A column's values."""


__all__ = ["Column", "ColumnBuffers"]
