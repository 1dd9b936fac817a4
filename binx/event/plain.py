"""A compressed rows event of MariaDB rewritten as the plain one that it stands for."""

from __future__ import annotations

from struct import Struct

from binx.event.format import FormatDescription
from binx.event.header import HEADER_SIZE, EventHeader, EventType
from binx.event.rows import parse_rows_header, row_images

_TYPE_AND_REST = Struct("<IBIIIH")

PLAIN_TYPES: dict[int, EventType] = {
    EventType.MARIADB_WRITE_ROWS_COMPRESSED_V1: EventType.WRITE_ROWS_V1,
    EventType.MARIADB_UPDATE_ROWS_COMPRESSED_V1: EventType.UPDATE_ROWS_V1,
    EventType.MARIADB_DELETE_ROWS_COMPRESSED_V1: EventType.DELETE_ROWS_V1,
    EventType.MARIADB_WRITE_ROWS_COMPRESSED: EventType.WRITE_ROWS,
    EventType.MARIADB_UPDATE_ROWS_COMPRESSED: EventType.UPDATE_ROWS,
    EventType.MARIADB_DELETE_ROWS_COMPRESSED: EventType.DELETE_ROWS,
}
"""What each compressed rows event's type is without compression."""


def plain_rows_event(event: memoryview, header: EventHeader, description: FormatDescription) -> bytes:
    """Header and body of the plain event, without a checksum.

    Args:
        event: the whole compressed event, header and checksum included.
        header: its header.
        description: the format that it is written in.

    Raises:
        DamagedError: the compressed bytes are damaged.
    """
    body = event[HEADER_SIZE : header.size - description.checksum_size]
    rows = parse_rows_header(body, header, description)
    plain = bytes(body[: rows.rows_offset]) + bytes(row_images(body, header, rows))
    return (
        _TYPE_AND_REST.pack(
            header.timestamp,
            PLAIN_TYPES[EventType(header.type)],
            header.server_id,
            HEADER_SIZE + len(plain),
            header.next_position,
            header.flags,
        )
        + plain
    )
