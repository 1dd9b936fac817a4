"""Columns of a dump's values as Arrow has them, with the types that rows of logs get."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

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
_READ_AS: dict[Codec, pa.DataType] = {
    Codec.INTEGER: pa.int64(),
    Codec.UNSIGNED: pa.uint64(),
    Codec.BITS: pa.uint64(),
    Codec.DATE: pa.int64(),
}
"""What the kernel's buffers hold where that is not the column's type."""


class DumpColumn:
    r"""One column of a dump.

    Args:
        raw: whether text is in the column's character set, and not in UTF-8, as in most dumps.

    Attributes:
        codec: how the kernel reads its values.
        scale: the digits behind their point.
    """

    def __init__(self, logical: LogicalType, options: ArrowOptions, *, raw: bool) -> None:
        is_small = logical.kind is Kind.DECIMAL and logical.precision <= _SMALL_DECIMAL
        self.codec = Codec.DECIMAL if is_small else _CODECS.get(logical.kind, Codec.TEXT)
        self.scale = logical.scale if is_small else 0
        self._logical = logical
        self._type: pa.DataType = arrow_type(logical, options)
        charset = (logical.charset if raw else None) or "utf8mb4"
        self._text = ColumnArrays(LogicalType(Kind.TEXT, "text", charset=charset), ArrowOptions())
        self._own = ColumnArrays(logical, ArrowOptions())

    @property
    def undecodable(self) -> int:
        r"""Values whose bytes their character set does not have; they became ``\xNN`` escapes."""
        return self._text.undecodable

    def array(self, buffers: tuple[Any, ...], rows: int) -> pa.Array:
        """The column's values out of what the kernel handed over.

        Raises:
            DamagedError, ArrowInvalid: a value is not of the column's type.
        """
        handed, kind = Handed(*buffers), self._logical.kind
        if kind in (Kind.BINARY, Kind.VECTOR, Kind.GEOMETRY):
            return _made(self._own, handed, rows)
        if self.codec is not Codec.TEXT:
            values = _array(_READ_AS.get(self.codec, self._type), handed, rows)
            if self.codec is Codec.DATE:
                values = values.cast(pa.int32())
            return (values.cast(pa.int64()) if kind is Kind.BOOL else values).cast(self._type)
        if kind in (Kind.FLOAT32, Kind.FLOAT64, Kind.DECIMAL):
            return _array(pa.string(), handed, rows).cast(self._type)
        text = _made(self._text, handed, rows)
        if kind is Kind.ENUM:
            # Its dictionary has 32-bit numbers, as that of rows.
            return text.dictionary_encode()
        if isinstance(self._type, pa.BaseExtensionType):
            return pa.ExtensionArray.from_storage(self._type, text)
        return text.cast(self._type)


def _array(data_type: pa.DataType, handed: Handed, rows: int) -> pa.Array:
    """The buffers as an array of a type that they are for."""
    parts = [handed.validity, handed.values, *([] if handed.data is None else [handed.data])]
    buffers = [None if part is None else pa.py_buffer(part) for part in parts]
    return pa.Array.from_buffers(data_type, rows, buffers, handed.nulls)


def _made(column: ColumnArrays, handed: Handed, rows: int) -> pa.Array:
    """What rows of logs with the same buffers become."""
    made = column.column(handed, rows)
    return made if isinstance(made, pa.Array) else made.array(column.type, rows)
