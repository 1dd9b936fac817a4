"""Parse TABLE_MAP events, which map a table ID to a table and its columns for the rows events that follow.

Sources: MySQL's libs/mysql/binlog/event/rows_event.h and .cpp
(``Table_map_event``), WL#4618 (optional metadata).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from binx.errors import BinxError
from binx.event.column import (
    CHARACTER_TYPES,
    COLUMN_NAMES,
    MEMBER_TYPES,
    NUMERIC_TYPES,
    Column,
    ColumnType,
    DefaultCollations,
    column_type,
    parse_table_metadata,
    read_type_metadata,
)
from binx.event.format import Flavour, FormatDescription
from binx.event.gtid.encode import encode_packed
from binx.event.header import HEADER_SIZE, EventFlag, EventHeader, EventType
from binx.event.reader import Reader, body_reader

MAX_COLUMNS = 4096
"""Maximum columns of a table."""

_POST_HEADER = 8
_POST_HEADER_BEFORE_5_1_4 = 6

_Value = TypeVar("_Value")


class TableMap(NamedTuple):
    """A table as described for rows events.

    Attributes:
        table_id: the number by which rows events refer to it; not valid after a flush or in other files.
        column_types: one byte per column, as in the table map (STRING for ENUM and SET too).
        unknown_metadata: type and bytes of unknown metadata fields.
    """

    table_id: int
    flags: int
    database: str
    table: str
    column_types: bytes
    columns: tuple[Column, ...]
    has_metadata: bool
    has_primary_key: bool
    unknown_metadata: tuple[tuple[int, bytes], ...]

    @property
    def name(self) -> str:
        """Database and table, joined by a dot."""
        return f"{self.database}.{self.table}"


def parse_table_map(
    body: memoryview, header: EventHeader, description: FormatDescription, *, optional: bool = True
) -> TableMap:
    """Read TABLE_MAP, including its optional metadata if ``optional``."""
    length = description.post_header_length(header.type, _POST_HEADER)
    try:
        return _repeated(bytes(body), length, description.flavour, optional)
    except BinxError:
        # Raised again, with the offset in the file.
        return _read(body_reader(body, header), length, description.flavour, optional=optional)


# Each statement on a table repeats its map.
@lru_cache(maxsize=64)
def _repeated(body: bytes, post_header_length: int, flavour: Flavour, optional: bool) -> TableMap:
    return _read(Reader(body), post_header_length, flavour, optional=optional)


def _read(reader: Reader, post_header_length: int, flavour: Flavour, *, optional: bool) -> TableMap:
    table_id, flags = read_table_id(reader, post_header_length)
    database = _zero_terminated(reader, reader.u8())
    table = _zero_terminated(reader, reader.u8())
    count = reader.packed()
    if count > MAX_COLUMNS:
        raise reader.damaged(f"expected at most {MAX_COLUMNS} columns, found {count}")
    column_types = reader.raw(count)
    types = [(column_type(number, reader), 0) for number in column_types]
    nullable = [True] * count
    if reader.remaining:
        sizes = reader.slice(reader.packed())
        types = [read_type_metadata(declared, sizes) for declared, _ in types]
        if sizes.remaining:
            raise sizes.damaged(f"expected the end of the columns' sizes, found {sizes.remaining} more bytes")
        null_bits = reader.take((count + 7) // 8)
        nullable = [bool(null_bits[index >> 3] >> (index & 7) & 1) for index in range(count)]
    if not optional:
        reader.take(reader.remaining)
    has_metadata = reader.remaining > 0
    metadata, unknown = parse_table_metadata(reader)
    return TableMap(
        table_id=table_id,
        flags=flags,
        database=database,
        table=table,
        column_types=column_types,
        columns=_resolve(types, nullable, metadata, flavour, reader),
        has_metadata=has_metadata,
        has_primary_key="primary_key" in metadata,
        unknown_metadata=tuple(unknown),
    )


def parse_map_body(
    map_body: bytes, description: FormatDescription, position: int = 0, *, optional: bool = True
) -> TableMap:
    """Parse TABLE_MAP from the part that scans keep: the body after table ID and flags."""
    wide = description.post_header_length(EventType.TABLE_MAP, _POST_HEADER) != _POST_HEADER_BEFORE_5_1_4
    body = memoryview(bytes(_POST_HEADER if wide else _POST_HEADER_BEFORE_5_1_4) + map_body)
    size = HEADER_SIZE + len(body)
    header = EventHeader(0, EventType.TABLE_MAP, 0, size, 0, EventFlag(0), position)
    return parse_table_map(body, header, description, optional=optional)


def read_table_id(reader: Reader, post_header_length: int) -> tuple[int, int]:
    """Read a table ID of six bytes (four before MySQL 5.1.4) and two bytes of flags."""
    wide = post_header_length != _POST_HEADER_BEFORE_5_1_4
    return (reader.unsigned(6) if wide else reader.u32()), reader.u16()


def with_table_names(names: bytes, table: str, columns: Sequence[str]) -> bytes:
    """Return the part of a TABLE_MAP from the table's name on, with other names.

    Args:
        columns: the columns' names, which replace those in the metadata if it has any.
    """
    reader = Reader(names)
    _zero_terminated(reader, reader.u8())
    start = reader.index
    reader.take(reader.packed())
    if reader.remaining:
        reader.take(reader.packed())
        reader.take((len(columns) + 7) // 8)
    text = table.encode()
    parts = [bytes([len(text)]), text, b"\0", names[start : reader.index]]
    while reader.remaining:
        number, value = reader.u8(), reader.raw(reader.packed())
        if number == COLUMN_NAMES:
            encoded = (column.encode() for column in columns)
            value = b"".join(encode_packed(len(name)) + name for name in encoded)
        parts.append(bytes([number]) + encode_packed(len(value)) + value)
    return b"".join(parts)


def _zero_terminated(reader: Reader, size: int) -> str:
    name = reader.text(size)
    if reader.u8() != 0:
        raise reader.damaged(f"expected a zero byte after the name {name!r}")
    return name


def _resolve(
    types: list[tuple[ColumnType, int]],
    nullable: list[bool],
    metadata: dict[str, Any],
    flavour: Flavour,
    reader: Reader,
) -> tuple[Column, ...]:
    """Assign metadata to columns; most fields have values only for the columns of one kind."""
    get = metadata.get
    kinds = [kind for kind, _ in types]
    numeric = [index for index, kind in enumerate(kinds) if kind in NUMERIC_TYPES]
    texts = [index for index, kind in enumerate(kinds) if kind in CHARACTER_TYPES[flavour]]
    listed = [index for index, kind in enumerate(kinds) if kind in MEMBER_TYPES]
    collations = _collations(texts, get("default_collations"), get("collations"), reader)
    collations |= _collations(listed, get("member_default_collations"), get("member_collations"), reader)
    unsigned = _by_index(numeric, get("unsigned"), "signedness", reader)
    members = _by_index(_of(kinds, ColumnType.SET), get("set_members"), "SET members", reader)
    members |= _by_index(_of(kinds, ColumnType.ENUM), get("enum_members"), "ENUM members", reader)
    geometry = _by_index(_of(kinds, ColumnType.GEOMETRY), get("geometry_types"), "geometry types", reader)
    vectors = _by_index(_of(kinds, ColumnType.VECTOR), get("dimensionalities"), "dimensions", reader)
    names = _by_index(range(len(kinds)), get("names"), "names", reader)
    visible = _by_index(range(len(kinds)), get("visible"), "visibility", reader)
    key = {index: position for position, (index, _) in enumerate(metadata.get("primary_key", ()))}
    if any(index >= len(kinds) for index in key):
        raise reader.damaged(f"expected a primary key within {len(kinds)} columns, found column {max(key)}")
    return tuple(
        Column(
            type=kind,
            metadata=size,
            nullable=nullable[index],
            name=names.get(index),
            unsigned=unsigned.get(index),
            collation=collations.get(index),
            members=members.get(index),
            geometry_type=geometry.get(index),
            primary_key=key.get(index),
            visible=visible.get(index),
            dimensionality=vectors.get(index),
        )
        for index, (kind, size) in enumerate(types)
    )


def _of(kinds: Sequence[ColumnType], wanted: ColumnType) -> list[int]:
    return [index for index, kind in enumerate(kinds) if kind is wanted]


def _by_index(
    indexes: Sequence[int], values: Sequence[_Value] | None, what: str, reader: Reader
) -> dict[int, _Value]:
    """Return values by column index; bitmaps have whole bytes, so there may be more values than columns."""
    if values is None:
        return {}
    if len(values) < len(indexes):
        raise reader.damaged(f"expected {what} of {len(indexes)} columns, found {len(values)}")
    return dict(zip(indexes, values, strict=False))


def _collations(
    indexes: Sequence[int], default: DefaultCollations | None, each: Sequence[int] | None, reader: Reader
) -> dict[int, int]:
    if default is not None:
        number, exceptions = default
        return {index: exceptions.get(position, number) for position, index in enumerate(indexes)}
    return _by_index(indexes, each, "collations", reader)
