"""Which codec of the row kernel turns a column's bytes into its Arrow column.

A codec follows from two things: how the value is stored (the table map's type)
and what it means (:class:`~binx.rows.columns.types.LogicalType`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from binx.errors import UnsupportedError
from binx.event.column import TEXT_TYPES, Column, ColumnType
from binx.kernels.rows.buffers import Codec
from binx.rows.columns.types import DECIMAL128_DIGITS, ArrowOptions, Kind, LogicalType

if TYPE_CHECKING:
    from collections.abc import Callable

MARIADB_COMPRESSED = frozenset({ColumnType.MARIADB_BLOB_COMPRESSED, ColumnType.MARIADB_VARCHAR_COMPRESSED})
"""Types whose values are compressed one by one (MariaDB's ``COMPRESSED`` columns)."""


class ColumnCodec(NamedTuple):
    """A codec and its parameter, see ``binx/kernels/rows/builder.pyx``."""

    codec: Codec
    parameter: int = 0


_INTEGERS: dict[ColumnType, tuple[Codec, Codec]] = {
    ColumnType.TINY: (Codec.CODEC_COPY1, Codec.CODEC_UINT8),
    ColumnType.SHORT: (Codec.CODEC_COPY2, Codec.CODEC_UINT16),
    ColumnType.INT24: (Codec.CODEC_INT24, Codec.CODEC_UINT24),
    ColumnType.LONG: (Codec.CODEC_COPY4, Codec.CODEC_UINT32),
    ColumnType.LONGLONG: (Codec.CODEC_COPY8, Codec.CODEC_COPY8),
}
"""Signed and unsigned."""

_UNSIGNED = frozenset({Kind.UINT8, Kind.UINT16, Kind.UINT24, Kind.UINT32, Kind.UINT64})

_FIXED: dict[ColumnType, Codec] = {
    ColumnType.FLOAT: Codec.CODEC_COPY4,
    ColumnType.DOUBLE: Codec.CODEC_COPY8,
    ColumnType.NULL: Codec.CODEC_NULL,
    ColumnType.DATE: Codec.CODEC_DATE,
    ColumnType.NEWDATE: Codec.CODEC_DATE,
    ColumnType.YEAR: Codec.CODEC_YEAR,
    ColumnType.GEOMETRY: Codec.CODEC_GEOMETRY,
    ColumnType.VECTOR: Codec.CODEC_BYTES,
}

_OLD_TIMES: dict[ColumnType, tuple[Codec, tuple[int, ...]]] = {
    ColumnType.DATETIME: (Codec.CODEC_OLD_DATETIME, (8, 6, 6, 7, 7, 7, 8)),
    ColumnType.TIMESTAMP: (Codec.CODEC_OLD_TIMESTAMP, (4, 5, 5, 6, 6, 7, 7)),
    ColumnType.TIME: (Codec.CODEC_OLD_TIME, (3, 4, 4, 5, 5, 5, 6)),
}
"""Their codecs, and the bytes of a value by the digits of a second's fraction, which only MariaDB's had
(``Field_datetime_hires``, ``Field_timestamp_hires`` and ``Field_time_hires`` in its sql/field.cc)."""

_WITH_METADATA: dict[ColumnType, Codec] = {
    ColumnType.DATETIME2: Codec.CODEC_DATETIME,
    ColumnType.TIMESTAMP2: Codec.CODEC_TIMESTAMP,
    ColumnType.TIME2: Codec.CODEC_TIME,
}
"""Their metadata, the digits of a second's fraction, is the codec's parameter."""


def is_old_time(column: Column) -> bool:
    """Whether it is a time as before MySQL 5.6, of which MariaDB's table maps do not tell the fraction."""
    return column.type in _OLD_TIMES


def defined_width(column: Column, logical: LogicalType) -> int | None:
    """The bytes of a value where not the table map but the table's definition tells them; else None."""
    return _OLD_TIMES[column.type][1][logical.fraction] if is_old_time(column) else None


def column_codec(column: Column, logical: LogicalType, options: ArrowOptions) -> ColumnCodec:
    """The codec of one column.

    Raises:
        UnsupportedError: a type that row images of known servers do not hold.
    """
    if column.type in _INTEGERS:
        if logical.kind is Kind.UINT64 and options.unsigned_as_decimal:
            return ColumnCodec(Codec.CODEC_UINT64_DECIMAL)
        return ColumnCodec(_INTEGERS[column.type][logical.kind in _UNSIGNED])
    if column.type in _FIXED:
        return ColumnCodec(_FIXED[column.type])
    if column.type in _OLD_TIMES:
        return ColumnCodec(_OLD_TIMES[column.type][0], logical.fraction)
    if column.type in _WITH_METADATA:
        return ColumnCodec(_WITH_METADATA[column.type], column.metadata)
    if column.type in TEXT_TYPES:
        if logical.padded_length is not None and column.type is ColumnType.STRING:
            return ColumnCodec(Codec.CODEC_PADDED, logical.padded_length)
        return ColumnCodec(Codec.CODEC_BYTES)
    if column.type in _BY_MEANING:
        return _BY_MEANING[column.type](column, logical)
    raise UnsupportedError(
        f"expected a column type that row images hold, found {column.type.name}"
        f" in column {column.name or '(without a name)'}",
        event="TABLE_MAP",
    )


def _decimal(column: Column, logical: LogicalType) -> ColumnCodec:
    wide = logical.precision > DECIMAL128_DIGITS
    return ColumnCodec(Codec.CODEC_DECIMAL_TEXT if wide else Codec.CODEC_DECIMAL, column.metadata)


def _bit(column: Column, logical: LogicalType) -> ColumnCodec:
    return ColumnCodec(Codec.CODEC_BOOL if logical.kind is Kind.BOOL else Codec.CODEC_BITS)


def _enum(column: Column, logical: LogicalType) -> ColumnCodec:
    if logical.members is None:
        return ColumnCodec(Codec.CODEC_ENUM_NUMBER)
    return ColumnCodec(Codec.CODEC_ENUM, len(logical.members))


_BY_MEANING: dict[ColumnType, Callable[[Column, LogicalType], ColumnCodec]] = {
    ColumnType.NEWDECIMAL: _decimal,
    ColumnType.BIT: _bit,
    ColumnType.ENUM: _enum,
    ColumnType.SET: lambda column, logical: ColumnCodec(Codec.CODEC_SET),
    ColumnType.JSON: lambda column, logical: ColumnCodec(Codec.CODEC_JSON),
}
