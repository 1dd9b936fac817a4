"""Arrow arrays built from Python values through their buffers.

``pyarrow.array`` imports pandas, if installed, on the first list that it gets; that takes longer than
everything else in a short command.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from numpy.typing import NDArray

ENCODED_ROWS = 8_192
"""Rows that a Parquet writer encodes at once; Arrow's 1,024 take 4 % longer."""

_OFFSETS, _LARGE_OFFSETS = "i", "q"
_CODES = {1: "b", 2: "h", 4: "i", 8: "q"}
_UNSIGNED_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FLOAT_CODES = {4: "f", 8: "d"}
_BYTE_BITS = 8


def arrow_array(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    """Return the values as an array; None is null.

    Args:
        values: ``str`` or ``bytes`` for strings and binary, large ones too, numbers for integers, floats,
            times (in the type's unit) and decimals (unscaled), bools for booleans, sequences for lists,
            sequences of pairs for maps, mappings by field name for structs.
        data_type: an Arrow type listed above.

    Raises:
        TypeError: the type is not supported.
        OverflowError: a number does not fit.
    """
    validity, nulls = _validity(values)
    is_large = pa.types.is_large_string(data_type) or pa.types.is_large_binary(data_type)
    if is_large or pa.types.is_string(data_type) or pa.types.is_binary(data_type):
        encoded = [b"" if value is None else _encoded(value) for value in values]
        offsets = _offsets(encoded, _LARGE_OFFSETS if is_large else _OFFSETS)
        buffers = [validity, offsets, pa.py_buffer(b"".join(encoded))]
        return pa.Array.from_buffers(data_type, len(values), buffers, nulls)
    if pa.types.is_map(data_type) or pa.types.is_list(data_type):
        lists = [() if value is None else value for value in values]
        children = [_entries(list(chain.from_iterable(lists)), data_type)]
        buffers = [validity, _offsets(lists)]
        return pa.Array.from_buffers(data_type, len(values), buffers, nulls, children=children)
    if pa.types.is_struct(data_type):
        children = [
            arrow_array([None if value is None else value[field.name] for value in values], field.type)
            for field in data_type
        ]
        return pa.Array.from_buffers(data_type, len(values), [validity], nulls, children=children)
    return pa.Array.from_buffers(data_type, len(values), [validity, _fixed(values, data_type)], nulls)


def arrow_scalar(value: Any, data_type: pa.DataType) -> pa.Scalar:
    """Return a scalar for ``pyarrow.compute``, whose own conversion of numbers is just as slow."""
    return arrow_array([value], data_type)[0]


def known_true(mask: pa.Array) -> pa.Array:
    """Return a mask of truths with False for null."""
    return mask if not mask.null_count else mask.fill_null(arrow_scalar(False, pa.bool_()))


def arrow_numbers(
    values: NDArray[np.generic], data_type: pa.DataType, known: NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return whole numbers as an array of integers or times; those that are not known are null."""
    integers = values.astype(f"i{data_type.bit_width // _BYTE_BITS}", copy=False)
    return pa.Array.from_buffers(data_type, len(values), [validity_bits(known), pa.py_buffer(integers)])


def validity_bits(known: NDArray[np.bool_] | None) -> pa.Buffer | None:
    """Return which values are known as an array's buffer has it; None if all are."""
    return None if known is None or known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))


def _entries(items: list[Any], data_type: pa.DataType) -> pa.Array:
    if pa.types.is_list(data_type):
        return arrow_array(items, data_type.value_type)
    arrays = [
        arrow_array([key for key, _ in items], data_type.key_type),
        arrow_array([item for _, item in items], data_type.item_type),
    ]
    return pa.StructArray.from_arrays(arrays, fields=[data_type.key_field, data_type.item_field])


def _encoded(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode()


def _validity(values: Sequence[Any]) -> tuple[pa.Buffer | None, int]:
    nulls = sum(value is None for value in values)
    return (None, 0) if not nulls else (_bits([value is not None for value in values]), nulls)


def _bits(flags: Sequence[Any]) -> pa.Buffer:
    packed = bytearray((len(flags) + _BYTE_BITS - 1) // _BYTE_BITS)
    for index, flag in enumerate(flags):
        if flag:
            packed[index // _BYTE_BITS] |= 1 << index % _BYTE_BITS
    return pa.py_buffer(bytes(packed))


def _offsets(values: Sequence[Sequence[Any]], code: str = _OFFSETS) -> pa.Buffer:
    return pa.py_buffer(array(code, accumulate(map(len, values), initial=0)))


def _fixed(values: Sequence[Any], data_type: pa.DataType) -> pa.Buffer:
    if pa.types.is_boolean(data_type):
        return _bits(values)
    numbers = [0 if value is None else value for value in values]
    if pa.types.is_decimal128(data_type):
        return pa.py_buffer(b"".join(number.to_bytes(16, "little", signed=True) for number in numbers))
    if pa.types.is_floating(data_type):
        codes = _FLOAT_CODES
    elif pa.types.is_integer(data_type) or pa.types.is_temporal(data_type):
        codes = _UNSIGNED_CODES if pa.types.is_unsigned_integer(data_type) else _CODES
    else:
        raise TypeError(f"no buffers are made here for {data_type}")
    return pa.py_buffer(array(codes[data_type.bit_width // _BYTE_BITS], numbers))


def marked_rows(batch: pa.RecordBatch, marks: bytes) -> pa.RecordBatch:
    """Return the rows of a batch whose mark (one byte per row) is 1."""
    if marks.count(1) == len(marks):
        return batch
    values = pa.Array.from_buffers(pa.uint8(), len(marks), [None, pa.py_buffer(marks)])
    return batch.filter(values.cast(pa.bool_()))
