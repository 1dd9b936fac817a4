"""Column types of a table map as stored in row images, and the optional metadata.

MySQL 8.0.1 and MariaDB 10.5 always write some of the metadata (binlog_row_metadata=MINIMAL), the rest with
FULL: names, signedness, collations, keys, members. Each field has a type, a length and a value.

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
"""Types of text and bytes, which only the character set distinguishes."""

CHARACTER_TYPES = {
    Flavour.MYSQL: TEXT_TYPES | {ColumnType.VECTOR},
    Flavour.MARIADB: TEXT_TYPES | {ColumnType.GEOMETRY},
}
"""Types with a collation in the metadata, including binary's; each flavour has one more type."""

MEMBER_TYPES = frozenset({ColumnType.ENUM, ColumnType.SET})
"""Types with a list of members."""

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
    """One column of a table map; fields that the table map does not include are None.

    Attributes:
        type: the real type: ENUM or SET, where the table map has STRING for these.
        metadata: a number that depends on the type: VARCHAR, VAR_STRING, STRING: maximum bytes of a
            value; ENUM, SET: bytes of a value; BLOB types, JSON, GEOMETRY, VECTOR: bytes of the length
            before a value; FLOAT, DOUBLE: bytes of a value; NEWDECIMAL: precision << 8 | scale; BIT: number
            of bits; TIME2, DATETIME2, TIMESTAMP2: digits of the second's fraction; TYPED_ARRAY: metadata of
            its elements << 8 | their type; other types: 0.
        collation: collation ID of a character, ENUM or SET column, 63 for bytes.
        members: names of an ENUM's or SET's members, in the column's character set.
        geometry_type: 0 any, 1 POINT, 2 LINESTRING, 3 POLYGON, 4 to 6 the same with MULTI,
            7 GEOMETRYCOLLECTION.
        primary_key: position in the primary key, from 0; None if the column is not part of it or if unknown.
        dimensionality: maximum elements of a VECTOR.
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
    visible: bool | None = None
    dimensionality: int | None = None


def column_type(number: int, reader: Reader) -> ColumnType:
    """Return the column type with this code."""
    try:
        return ColumnType(number)
    except ValueError:
        raise reader.damaged(f"expected the number of a column type, found {number}") from None


def read_type_metadata(declared: ColumnType, reader: Reader) -> tuple[ColumnType, int]:
    """Read a column's metadata from a table map; return its real type and ``Column.metadata``."""
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
    """Return a BIT column's bits; the low byte counts those beyond whole bytes, the high byte whole bytes."""
    return (value >> 8) * 8 + (value & 0xFF)


def _real_type(declared: ColumnType, first: int, second: int, reader: Reader) -> tuple[ColumnType, int]:
    """Return STRING's real type and length; the first byte has the type and two inverted length bits."""
    if first == 0:
        return declared, second
    if first & _LENGTH_BITS != _LENGTH_BITS:
        return column_type(first | _LENGTH_BITS, reader), second | (
            (first & _LENGTH_BITS) ^ _LENGTH_BITS
        ) << 4
    return column_type(first, reader), second


DefaultCollations = tuple[int, dict[int, int]]
"""A default collation, and the collations of the columns with another, by position among their kind."""


def parse_table_metadata(reader: Reader) -> tuple[dict[str, Any], list[tuple[int, bytes]]]:
    """Read all fields, by name, and the type and bytes of unknown ones."""
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
    """Read a bitmap in which the highest bit of the first byte is the first column's."""
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
    def members() -> tuple[bytes, ...]:
        count = reader.count(reader.packed(), 1, "members")
        return tuple(reader.raw(reader.packed()) for _ in range(count))

    return _each(reader, members)


def _default_and_others(reader: Reader) -> DefaultCollations:
    return reader.packed(), dict(_pairs(reader))


COLUMN_NAMES = 4
"""Type of the field with the columns' names."""

_FIELDS: dict[int, tuple[str, Callable[[Reader], object]]] = {
    1: ("unsigned", _column_bits),
    2: ("default_collations", _default_and_others),
    3: ("collations", _numbers),
    COLUMN_NAMES: ("names", _names),
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
"""Field types. Most fields have values only for columns of their kind; keys have column indexes, prefixes."""
