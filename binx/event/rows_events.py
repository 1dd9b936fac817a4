"""Parse the headers of rows events of all versions, and decompress MariaDB's compressed ones.

Sources: MySQL's libs/mysql/binlog/event/rows_event.cpp (``Rows_event``), the
sql/log_event_old.cc of 5.x (version 0), MariaDB's sql/log_event.cc
(compressed rows).
"""

from __future__ import annotations

from enum import Enum, IntFlag
from typing import Any, NamedTuple

from binx.event.format import FormatDescription
from binx.event.header import HEADER, HEADER_SIZE, EventHeader, EventType
from binx.event.reader import Reader, body_reader, uncompress
from binx.event.table_map import MAX_COLUMNS, read_table_id
from binx.source.wording import counted

_POST_HEADER_V1 = 8
_POST_HEADER_V2 = 10
_NDB = 0
_PARTITION = 1


class RowsKind(Enum):
    """The type of a row change."""

    INSERT = "insert"
    UPDATE = "update"
    DELETE = "delete"


class RowsFlag(IntFlag):
    """Bits of a rows event."""

    STATEMENT_END = 0x0001
    """The last rows event of its statement: table IDs are not valid after it."""
    NO_FOREIGN_KEY_CHECKS = 0x0002
    RELAXED_UNIQUE_CHECKS = 0x0004
    COMPLETE_ROWS = 0x0008
    USE_SQL_FOREIGN_KEY = 0x0010
    """Changes that foreign keys cause in other tables are also logged as rows (MySQL 9.6)."""
    REPLACED = 0x0040
    """In no log: updates by MariaDB's REPLACE, whose images lack columns that it set to their defaults."""


UNFOLLOWED = RowsFlag.NO_FOREIGN_KEY_CHECKS | RowsFlag.USE_SQL_FOREIGN_KEY
"""Flags of rows that foreign keys do not follow, or whose followers are rows of the log too."""


UNMAPPED_ROWS = (
    "rows that a foreign key deleted or changed, of a table that the log does not name (MySQL 9.6 and later"
    " write no table map for rows that followed those of a replayed event, and replicas pass over them)"
)


def unmapped_rows(count: int) -> list[str]:
    """Say what rows events without a table map are, given their number; nothing if there are none."""
    return [f"{counted(count, 'event')} with {UNMAPPED_ROWS}"] if count else []


_KINDS = {
    first + offset: (kind, version)
    for first, version in (
        (EventType.WRITE_ROWS_V0, 0),
        (EventType.WRITE_ROWS_V1, 1),
        (EventType.WRITE_ROWS, 2),
        (EventType.MARIADB_WRITE_ROWS_COMPRESSED_V1, 1),
        (EventType.MARIADB_WRITE_ROWS_COMPRESSED, 2),
    )
    for offset, kind in enumerate(RowsKind)
} | {int(EventType.PARTIAL_UPDATE_ROWS): (RowsKind.UPDATE, 2)}
"""Inserts, updates and deletes have consecutive type codes."""

ROWS_TYPES = frozenset(_KINDS)
"""The type codes of all rows events."""

ROWS_KINDS = {number: kind for number, (kind, _) in _KINDS.items()}
"""Row change types by event type code."""


class RowsHeader(NamedTuple):
    """A rows event without its row images.

    Attributes:
        version: 0 for MySQL 5.1 before 5.1.18, 1 for MySQL 5.1 to 5.5 and MariaDB, 2 from MySQL 5.6 on.
        partial: whether JSON columns of after images may hold diffs (PARTIAL_UPDATE_ROWS).
        columns_before: bitmap of the columns in the images, for updates in before images. Column 0 is the
            lowest bit of the first byte.
        columns_after: bitmap of the columns in an update's after images; else equal to ``columns_before``.
        ndb_info: NDB's data (format byte and data).
        unknown_extra: extra data of an unknown type: the type and all bytes from there on.
        rows_offset: bytes of the event's body before the first row image.
    """

    kind: RowsKind
    version: int
    partial: bool
    compressed: bool
    table_id: int
    flags: RowsFlag
    column_count: int
    columns_before: bytes
    columns_after: bytes
    rows_offset: int
    partition_id: int | None = None
    source_partition_id: int | None = None
    ndb_info: bytes | None = None
    unknown_extra: tuple[int, bytes] | None = None


def parse_rows_header(body: memoryview, header: EventHeader, description: FormatDescription) -> RowsHeader:
    """Read a rows event up to its first row image."""
    kind, version = _KINDS[header.type]
    reader = body_reader(body, header)
    default = _POST_HEADER_V2 if version == 2 else _POST_HEADER_V1
    length = description.post_header_length(header.type, default)
    table_id, flags = read_table_id(reader, length)
    extra = _read_extra(reader, kind) if length == _POST_HEADER_V2 else {}
    column_count = reader.packed()
    if not 0 < column_count <= MAX_COLUMNS:
        raise reader.damaged(f"expected 1 to {MAX_COLUMNS} columns, found {column_count}")
    bitmap_size = (column_count + 7) // 8
    columns_before = reader.raw(bitmap_size)
    two_bitmaps = kind is RowsKind.UPDATE and version > 0
    columns_after = reader.raw(bitmap_size) if two_bitmaps else columns_before
    return RowsHeader(
        kind=kind,
        version=version,
        partial=header.type == EventType.PARTIAL_UPDATE_ROWS,
        compressed=header.type >= EventType.MARIADB_WRITE_ROWS_COMPRESSED_V1,
        table_id=table_id,
        flags=RowsFlag(flags),
        column_count=column_count,
        columns_before=columns_before,
        columns_after=columns_after,
        rows_offset=reader.index,
        **extra,
    )


def row_images(body: memoryview, header: EventHeader, rows: RowsHeader) -> memoryview:
    """Return the bytes of all row images, decompressed if MariaDB compressed them."""
    if not rows.compressed:
        return body[rows.rows_offset :]
    origin = header.position + HEADER_SIZE + rows.rows_offset
    return memoryview(uncompress(Reader(body[rows.rows_offset :], origin=origin, event=header.name)))


def _read_extra(reader: Reader, kind: RowsKind) -> dict[str, Any]:
    """Read the extra data, whose length includes its own two bytes."""
    length = reader.u16()
    if length < 2:
        raise reader.damaged(f"expected extra data of at least 2 bytes, found {length}")
    data = reader.slice(length - 2)
    extra: dict[str, Any] = {}
    while data.remaining:
        number = data.u8()
        if number == _NDB:
            size = data.u8()
            if size < 1:
                raise data.damaged("expected the length of NDB's data to count itself, found 0")
            extra.setdefault("ndb_info", data.raw(size - 1))
        elif number == _PARTITION:
            extra["partition_id"] = data.u16()
            if kind is RowsKind.UPDATE:
                extra["source_partition_id"] = data.u16()
        else:
            extra["unknown_extra"] = (number, bytes(data.rest()))
    return extra


PLAIN_TYPES = {
    compressed + offset: EventType(plain + offset)
    for compressed, plain in (
        (EventType.MARIADB_WRITE_ROWS_COMPRESSED_V1, EventType.WRITE_ROWS_V1),
        (EventType.MARIADB_WRITE_ROWS_COMPRESSED, EventType.WRITE_ROWS),
    )
    for offset in range(len(RowsKind))
}
"""The uncompressed event type of each compressed rows event type."""


def plain_rows_event(body: memoryview, header: EventHeader, description: FormatDescription) -> bytes:
    """Return header and body of the uncompressed event, without a checksum.

    Args:
        body: the compressed event without header and checksum.
        header: the event's header.
        description: the file's format description.
    """
    rows = parse_rows_header(body, header, description)
    plain = bytes(body[: rows.rows_offset]) + bytes(row_images(body, header, rows))
    return (
        HEADER.pack(
            header.timestamp,
            PLAIN_TYPES[header.type],
            header.server_id,
            HEADER_SIZE + len(plain),
            header.next_position,
            header.flags,
        )
        + plain
    )
