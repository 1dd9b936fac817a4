"""Column types of a table map as stored in row images, and the optional metadata.

MySQL 8.0.1 and MariaDB 10.5 always write some of the metadata (binlog_row_metadata=MINIMAL), the rest with
FULL: names, signedness, collations, keys, members. Each field is a type, a length and its bytes.

Sources: MySQL's include/field_types.h, libs/mysql/binlog/event/rows_event.h
(the table of column types and their metadata) and rows_event.cpp (``Optional_metadata_fields``),
WL#4618, WL#13424 (visibility), sql/log_event.cc (``read_metadata``, ``is_numeric_type``,
``is_character_type``); MariaDB's include/mysql_com.h (types 140 and 141).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any, NamedTuple, TypeVar

from binx.event.format import Flavour
from binx.event.reader import Reader

_Value = TypeVar("_Value")


class ColumnType(IntEnum):
    """How a value is stored in a row image."""

    DECIMAL = 0
    TINY = 1
    SHORT = 2
    LONG = 3
    FLOAT = 4
    DOUBLE = 5
    NULL = 6
    TIMESTAMP = 7
    LONGLONG = 8
    INT24 = 9
    DATE = 10
    TIME = 11
    DATETIME = 12
    YEAR = 13
    NEWDATE = 14
    VARCHAR = 15
    BIT = 16
    TIMESTAMP2 = 17
    DATETIME2 = 18
    TIME2 = 19
    TYPED_ARRAY = 20
    MARIADB_BLOB_COMPRESSED = 140
    MARIADB_VARCHAR_COMPRESSED = 141
    VECTOR = 242
    INVALID = 243
    BOOL = 244
    JSON = 245
    NEWDECIMAL = 246
    ENUM = 247
    SET = 248
    TINY_BLOB = 249
    MEDIUM_BLOB = 250
    LONG_BLOB = 251
    BLOB = 252
    VAR_STRING = 253
    STRING = 254
    GEOMETRY = 255


NUMERIC_TYPES = frozenset(
    {
        ColumnType.TINY,
        ColumnType.SHORT,
        ColumnType.INT24,
        ColumnType.LONG,
        ColumnType.LONGLONG,
        ColumnType.NEWDECIMAL,
        ColumnType.FLOAT,
        ColumnType.DOUBLE,
        ColumnType.YEAR,
    }
)
"""Types that have a bit in the metadata's SIGNEDNESS; YEAR is always unsigned."""

TEXT_TYPES = frozenset(
    {
        ColumnType.VARCHAR,
        ColumnType.VAR_STRING,
        ColumnType.STRING,
        ColumnType.TINY_BLOB,
        ColumnType.MEDIUM_BLOB,
        ColumnType.LONG_BLOB,
        ColumnType.BLOB,
        ColumnType.MARIADB_BLOB_COMPRESSED,
        ColumnType.MARIADB_VARCHAR_COMPRESSED,
    }
)
"""Types of strings and bytes, which only the character set distinguishes."""

CHARACTER_TYPES = {
    Flavour.MYSQL: TEXT_TYPES | {ColumnType.VECTOR},
    Flavour.MARIADB: TEXT_TYPES | {ColumnType.GEOMETRY},
}
"""Types that have a collation in the metadata, that of binary included; each flavour counts one more kind."""

MEMBER_TYPES = frozenset({ColumnType.ENUM, ColumnType.SET})
"""Types whose values are members of a list."""

_ONE_BYTE = frozenset(
    {
        ColumnType.FLOAT,
        ColumnType.DOUBLE,
        ColumnType.TINY_BLOB,
        ColumnType.MEDIUM_BLOB,
        ColumnType.LONG_BLOB,
        ColumnType.BLOB,
        ColumnType.JSON,
        ColumnType.GEOMETRY,
        ColumnType.VECTOR,
        ColumnType.TIME2,
        ColumnType.DATETIME2,
        ColumnType.TIMESTAMP2,
        ColumnType.MARIADB_BLOB_COMPRESSED,
    }
)
_TWO_BYTES_LITTLE = frozenset({ColumnType.VARCHAR, ColumnType.BIT, ColumnType.MARIADB_VARCHAR_COMPRESSED})
_TWO_BYTES_BIG = frozenset({ColumnType.NEWDECIMAL})
_REAL_TYPE = frozenset({ColumnType.STRING, ColumnType.VAR_STRING, ColumnType.ENUM, ColumnType.SET})
_LENGTH_BITS = 0x30


class Column(NamedTuple):
    """One column of a table map; None for what the table map does not include.

    Attributes:
        type: the real type: what the table map calls STRING is ENUM or SET here where it is one.
        metadata: a number whose meaning follows from the type: VARCHAR, VAR_STRING, STRING: most bytes of a
            value; ENUM, SET: bytes of a value; BLOB and its kin, JSON, GEOMETRY, VECTOR: bytes of the length
            before a value; FLOAT, DOUBLE: bytes of a value; NEWDECIMAL: precision << 8 | scale; BIT: number
            of bits; TIME2, DATETIME2, TIMESTAMP2: digits of the second's fraction; TYPED_ARRAY: metadata of
            its elements << 8 | their type; other types: 0.
        collation: number of a character, ENUM or SET column's collation, 63 for bytes.
        members: names of an ENUM's or SET's members, in the column's character set.
        geometry_type: kind of geometry: 0 any, 1 POINT, 2 LINESTRING, 3 POLYGON, 4 to 6 the same with MULTI,
            7 GEOMETRYCOLLECTION.
        primary_key: place in the primary key, from 0; None where the column is no part of it or nothing is
            known.
        key_prefix: characters or bytes of the column that the key takes, 0 for all.
        dimensionality: most elements of a VECTOR.
    """

    type: ColumnType
    metadata: int
    nullable: bool
    name: str | None = None
    unsigned: bool | None = None
    collation: int | None = None
    members: tuple[bytes, ...] | None = None
    geometry_type: int | None = None
    primary_key: int | None = None
    key_prefix: int | None = None
    visible: bool | None = None
    dimensionality: int | None = None


def column_type(number: int, reader: Reader) -> ColumnType:
    """The type of that number."""
    try:
        return ColumnType(number)
    except ValueError:
        raise reader.damaged(f"expected the number of a column type, found {number}") from None


def read_type_metadata(declared: ColumnType, reader: Reader) -> tuple[ColumnType, int]:
    """Read a column's metadata from a table map; return its real type and the metadata of Column."""
    if declared in _ONE_BYTE:
        return declared, reader.u8()
    if declared in _TWO_BYTES_LITTLE:
        value = reader.u16()
        return declared, _bits(value) if declared is ColumnType.BIT else value
    if declared in _TWO_BYTES_BIG:
        return declared, reader.u8() << 8 | reader.u8()
    if declared in _REAL_TYPE:
        return _real_type(declared, reader.u8(), reader.u8(), reader)
    if declared is ColumnType.TYPED_ARRAY:
        element, metadata = read_type_metadata(column_type(reader.u8(), reader), reader)
        return declared, metadata << 8 | element
    return declared, 0


def _bits(value: int) -> int:
    """The low byte counts the bits that fill no whole byte, the high one the whole bytes."""
    return (value >> 8) * 8 + (value & 0xFF)


def _real_type(declared: ColumnType, first: int, second: int, reader: Reader) -> tuple[ColumnType, int]:
    """STRING has its real type in the first byte; two bits of it, inverted, belong to lengths over 255."""
    if first == 0:
        return declared, second
    if first & _LENGTH_BITS != _LENGTH_BITS:
        return column_type(first | _LENGTH_BITS, reader), second | (
            (first & _LENGTH_BITS) ^ _LENGTH_BITS
        ) << 4
    return column_type(first, reader), second


ShareOfCollations = tuple[int, dict[int, int]]
"""A default collation, and the collations of those columns that have another, by place among their kind."""


def parse_table_metadata(reader: Reader) -> tuple[dict[str, Any], list[tuple[int, bytes]]]:
    """Read all fields, by name, as they are written; and type and bytes of those that binx does not know."""
    fields: dict[str, Any] = {}
    unknown: list[tuple[int, bytes]] = []
    while reader.remaining:
        number = reader.u8()
        value = reader.slice(reader.packed())
        if number in _FIELDS:
            name, read = _FIELDS[number]
            fields[name] = read(value)
        else:
            unknown.append((number, bytes(value.rest())))
    return fields, unknown


def _column_bits(reader: Reader) -> list[bool]:
    """The highest bit of the first byte is the first column's."""
    return [bool(byte >> bit & 1) for byte in reader.rest() for bit in range(7, -1, -1)]


def _each(reader: Reader, read: Callable[[], _Value]) -> list[_Value]:
    values = []
    while reader.remaining:
        values.append(read())
    return values


def _numbers(reader: Reader) -> list[int]:
    return _each(reader, reader.packed)


def _pairs(reader: Reader) -> list[tuple[int, int]]:
    return _each(reader, lambda: (reader.packed(), reader.packed()))


def _key_columns(reader: Reader) -> list[tuple[int, int]]:
    return [(index, 0) for index in _numbers(reader)]


def _names(reader: Reader) -> list[str]:
    return _each(reader, lambda: reader.text(reader.packed()))


def _members(reader: Reader) -> list[tuple[bytes, ...]]:
    def one() -> tuple[bytes, ...]:
        count = reader.count(reader.packed(), 1, "members")
        return tuple(reader.raw(reader.packed()) for _ in range(count))

    return _each(reader, one)


def _default_and_others(reader: Reader) -> ShareOfCollations:
    return reader.packed(), dict(_pairs(reader))


_FIELDS: dict[int, tuple[str, Callable[[Reader], object]]] = {
    1: ("unsigned", _column_bits),
    2: ("default_collations", _default_and_others),
    3: ("collations", _numbers),
    4: ("names", _names),
    5: ("set_members", _members),
    6: ("enum_members", _members),
    7: ("geometry_types", _numbers),
    8: ("primary_key", _key_columns),
    9: ("primary_key", _pairs),
    10: ("member_default_collations", _default_and_others),
    11: ("member_collations", _numbers),
    12: ("visible", _column_bits),
    13: ("dimensionalities", _numbers),
}
"""The types of fields. Most count only the columns of their kind; a key has columns' indexes and prefixes."""
