"""Hashes of rows in Arrow columns, by which row images are compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from binx.kernels.rows.hashes import add_fixed, add_sized

_GOLDEN, _WORD = 0x9E3779B97F4A7C15, (1 << 64) - 1
_BYTE_BITS = 8


def row_hashes(columns: Iterable[tuple[int, pa.Array | pa.ChunkedArray]], rows: int) -> NDArray[np.uint64]:
    """Return a hash of each row's values; each column comes with a number that stands for it.

    Rows with equal values in the columns of the same numbers and types have equal hashes; a column that is
    null, or not given, makes no difference.
    """
    hashes = np.zeros(rows, np.uint64)
    for number, column in columns:
        first = 0
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            _add(hashes[first : first + len(chunk)], chunk, _seed(0, number))
            first += len(chunk)
    return hashes


def _seed(seed: int, number: int) -> int:
    return (seed * _GOLDEN + number * 2 + 1) * _GOLDEN & _WORD


def _add(hashes: NDArray[np.uint64], array: Any, seed: int) -> None:
    """Add the hashes of an array's values."""
    kind = array.type
    if pa.types.is_dictionary(kind):
        _add(hashes, array.dictionary_decode(), seed)
    elif pa.types.is_boolean(kind):
        _add(hashes, array.cast(pa.int8()), seed)
    elif pa.types.is_struct(kind):
        for number, child in enumerate(array.flatten()):
            _add(hashes, child, _seed(seed, number))
    elif len(array):
        validity, values, *rest = (buffer and memoryview(buffer).cast("B") for buffer in array.buffers())
        if not rest:
            add_fixed(hashes.data, values, kind.bit_width // _BYTE_BITS, validity, array.offset, seed)
            return
        data, width = rest[-1] or b"", 1
        if pa.types.is_list(kind):
            width = kind.value_type.bit_width // _BYTE_BITS
            data = data[array.values.offset * width :]
        add_sized(hashes.data, values, data, width, validity, array.offset, seed)
