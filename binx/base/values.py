"""Columns of a dump's values as Arrow has them, with the types that rows of logs get."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from binx.errors import DamagedError
from binx.kernels.text.tuples import Codec
from binx.rows.columns.arrays import ColumnArrays, Handed
from binx.rows.columns.types import INTEGER_NAMES, ArrowOptions, Kind, LogicalType, arrow_type

_SMALL_DECIMAL = 18
"""Digits of a DECIMAL that the kernel reads."""

_CODECS: dict[Kind, Codec] = {
    **dict.fromkeys(INTEGER_NAMES, Codec.INTEGER),
    Kind.UINT64: Codec.UNSIGNED,
    Kind.YEAR: Codec.INTEGER,
    Kind.BOOL: Codec.BITS,
    Kind.BITS: Codec.BITS,
    Kind.DATE: Codec.DATE,
    Kind.DATETIME: Codec.DATETIME,
    Kind.TIMESTAMP: Codec.DATETIME,
    Kind.TIME: Codec.TIME,
    Kind.GEOMETRY: Codec.GEOMETRY,
}


def column_codec(logical: LogicalType) -> tuple[Codec, int]:
    """How the kernel reads values of a type, and the digits behind their point."""
    if logical.kind is Kind.DECIMAL and logical.precision <= _SMALL_DECIMAL:
        return Codec.DECIMAL, logical.scale
    return _CODECS.get(logical.kind, Codec.TEXT), 0


def column_of(
    logical: LogicalType,
    codec: Codec,
    buffers: tuple[Any, ...],
    rows: int,
    options: ArrowOptions,
    *,
    raw: bool = False,
) -> pa.Array:
    """A column's values.

    Args:
        buffers: what the kernel handed over.
        raw: whether text is in the column's character set, and not in UTF-8.

    Raises:
        DamagedError, ArrowInvalid: a value is not of the column's type.
    """
    handed = Handed(*buffers)
    make = _MAKERS.get(codec)
    if make is not None:
        return make(logical, handed, rows, options)
    if logical.kind in (Kind.FLOAT32, Kind.FLOAT64, Kind.DECIMAL):
        return _array(pa.string(), handed, rows).cast(arrow_type(logical, options))
    if logical.kind is Kind.ENUM:
        # Its dictionary has 32-bit numbers, as that of rows.
        return _text(logical, handed, rows, raw=raw).dictionary_encode()
    if logical.kind in (Kind.BINARY, Kind.VECTOR):
        return _made(logical, handed, rows)
    text = _text(logical, handed, rows, raw=raw)
    wanted = arrow_type(logical, options)
    if isinstance(wanted, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(wanted, text)
    return text.cast(wanted)


def _array(data_type: pa.DataType, handed: Handed, rows: int) -> pa.Array:
    """The buffers as an array of a type that they are for."""
    parts = [handed.validity, handed.values, *([] if handed.data is None else [handed.data])]
    buffers = [None if part is None else pa.py_buffer(part) for part in parts]
    return pa.Array.from_buffers(data_type, rows, buffers, handed.nulls)


def _made(logical: LogicalType, handed: Handed, rows: int) -> pa.Array:
    """What rows of logs with the same buffers become."""
    column = ColumnArrays(logical, ArrowOptions())
    made = column.column(handed, rows)
    return made if isinstance(made, pa.Array) else made.array(column.type, rows)


def _text(logical: LogicalType, handed: Handed, rows: int, *, raw: bool) -> pa.Array:
    """Text, which is in UTF-8 in most dumps, whatever the column's character set."""
    charset = (logical.charset if raw else None) or "utf8mb4"
    return _made(LogicalType(Kind.TEXT, "text", charset=charset), handed, rows)


def _number(logical: LogicalType, handed: Handed, rows: int, options: ArrowOptions) -> pa.Array:
    return _array(pa.int64(), handed, rows).cast(arrow_type(logical, options))


def _unsigned(logical: LogicalType, handed: Handed, rows: int, options: ArrowOptions) -> pa.Array:
    return _array(pa.uint64(), handed, rows).cast(arrow_type(logical, options))


def _bits(logical: LogicalType, handed: Handed, rows: int, options: ArrowOptions) -> pa.Array:
    wanted = arrow_type(logical, options)
    numbers = _array(pa.uint64(), handed, rows)
    return numbers.cast(wanted) if logical.kind is Kind.BITS else numbers.cast(pa.int64()).cast(wanted)


def _same(logical: LogicalType, handed: Handed, rows: int, options: ArrowOptions) -> pa.Array:
    return _array(arrow_type(logical, options), handed, rows)


def _date(logical: LogicalType, handed: Handed, rows: int, options: ArrowOptions) -> pa.Array:
    return _array(pa.int64(), handed, rows).cast(pa.int32()).cast(pa.date32())


def _geometry(logical: LogicalType, handed: Handed, rows: int, options: ArrowOptions) -> pa.Array:
    return _made(logical, handed, rows)


_MAKERS: dict[Codec, Callable[[LogicalType, Handed, int, ArrowOptions], pa.Array]] = {
    Codec.INTEGER: _number,
    Codec.UNSIGNED: _unsigned,
    Codec.BITS: _bits,
    Codec.DECIMAL: _same,
    Codec.DATETIME: _same,
    Codec.TIME: _same,
    Codec.DATE: _date,
    Codec.GEOMETRY: _geometry,
}


def text_of(error: Exception) -> str:
    """What an error says, in one line."""
    return error.message if isinstance(error, DamagedError) else str(error).splitlines()[0]


__all__ = ["column_codec", "column_of", "text_of"]
