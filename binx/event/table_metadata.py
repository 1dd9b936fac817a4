"""The optional metadata of table maps: names, signedness, collations, keys, members.

MySQL 8.0.1 and MariaDB 10.5 write some of it always (binlog_row_metadata=MINIMAL),
the rest with FULL. Each field is a type, a length and its bytes.

Sources: WL#4618, WL#13424 (visibility); MySQL's
libs/mysql/binlog/event/rows_event.cpp (``Optional_metadata_fields``).
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum

from binx.event.reader import Reader

ShareOfCollations = tuple[int, dict[int, int]]
"""A default collation, and the collations of those columns that have another, by place among their kind."""


class MetadataField(IntEnum):
    """The types of fields."""

    SIGNEDNESS = 1
    DEFAULT_CHARSET = 2
    COLUMN_CHARSET = 3
    COLUMN_NAME = 4
    SET_STR_VALUE = 5
    ENUM_STR_VALUE = 6
    GEOMETRY_TYPE = 7
    SIMPLE_PRIMARY_KEY = 8
    PRIMARY_KEY_WITH_PREFIX = 9
    ENUM_AND_SET_DEFAULT_CHARSET = 10
    ENUM_AND_SET_COLUMN_CHARSET = 11
    COLUMN_VISIBILITY = 12
    VECTOR_DIMENSIONALITY = 13


class TableMetadata:
    """The fields as they are written: most count only the columns of their kind.

    Attributes:
        unsigned: of each numeric column.
        default_collations: of character columns, as a default and those that differ.
        collations: of each character column.
        names: of each column.
        set_members: of each SET column.
        enum_members: of each ENUM column.
        geometry_types: of each GEOMETRY column.
        primary_key: index of each of the key's columns in the table, and how much of it the key takes.
        member_default_collations: of ENUM and SET columns, as a default and those that differ.
        member_collations: of each ENUM and SET column.
        visible: of each column.
        dimensionalities: of each VECTOR column.
        unknown: type and bytes of fields that binx does not know.
    """

    def __init__(self) -> None:
        self.unsigned: list[bool] | None = None
        self.default_collations: ShareOfCollations | None = None
        self.collations: list[int] | None = None
        self.names: list[str] | None = None
        self.set_members: list[tuple[bytes, ...]] | None = None
        self.enum_members: list[tuple[bytes, ...]] | None = None
        self.geometry_types: list[int] | None = None
        self.primary_key: list[tuple[int, int]] | None = None
        self.member_default_collations: ShareOfCollations | None = None
        self.member_collations: list[int] | None = None
        self.visible: list[bool] | None = None
        self.dimensionalities: list[int] | None = None
        self.unknown: list[tuple[int, bytes]] = []


def parse_table_metadata(reader: Reader) -> TableMetadata:
    """Read all fields."""
    metadata = TableMetadata()
    while reader.remaining:
        number = reader.u8()
        value = reader.slice(reader.packed())
        if number in _FIELDS:
            name, read = _FIELDS[number]
            setattr(metadata, name, read(value))
        else:
            metadata.unknown.append((number, bytes(value.rest())))
    return metadata


def _bits(reader: Reader) -> list[bool]:
    """The highest bit of the first byte is the first column's."""
    return [bool(byte >> bit & 1) for byte in reader.rest() for bit in range(7, -1, -1)]


def _numbers(reader: Reader) -> list[int]:
    numbers: list[int] = []
    while reader.remaining:
        numbers.append(reader.packed())
    return numbers


def _pairs(reader: Reader) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    while reader.remaining:
        pairs.append((reader.packed(), reader.packed()))
    return pairs


def _key_columns(reader: Reader) -> list[tuple[int, int]]:
    return [(index, 0) for index in _numbers(reader)]


def _names(reader: Reader) -> list[str]:
    names: list[str] = []
    while reader.remaining:
        names.append(reader.text(reader.packed()))
    return names


def _members(reader: Reader) -> list[tuple[bytes, ...]]:
    columns: list[tuple[bytes, ...]] = []
    while reader.remaining:
        count = reader.count(reader.packed(), 1, "members")
        columns.append(tuple(reader.raw(reader.packed()) for _ in range(count)))
    return columns


def _default_and_others(reader: Reader) -> ShareOfCollations:
    return reader.packed(), dict(_pairs(reader))


_FIELDS: dict[int, tuple[str, Callable[[Reader], object]]] = {
    MetadataField.SIGNEDNESS: ("unsigned", _bits),
    MetadataField.DEFAULT_CHARSET: ("default_collations", _default_and_others),
    MetadataField.COLUMN_CHARSET: ("collations", _numbers),
    MetadataField.COLUMN_NAME: ("names", _names),
    MetadataField.SET_STR_VALUE: ("set_members", _members),
    MetadataField.ENUM_STR_VALUE: ("enum_members", _members),
    MetadataField.GEOMETRY_TYPE: ("geometry_types", _numbers),
    MetadataField.SIMPLE_PRIMARY_KEY: ("primary_key", _key_columns),
    MetadataField.PRIMARY_KEY_WITH_PREFIX: ("primary_key", _pairs),
    MetadataField.ENUM_AND_SET_DEFAULT_CHARSET: ("member_default_collations", _default_and_others),
    MetadataField.ENUM_AND_SET_COLUMN_CHARSET: ("member_collations", _numbers),
    MetadataField.COLUMN_VISIBILITY: ("visible", _bits),
    MetadataField.VECTOR_DIMENSIONALITY: ("dimensionalities", _numbers),
}
