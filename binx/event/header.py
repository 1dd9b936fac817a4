"""The 19-byte common header of events, and the event type codes.

Sources: MySQL's libs/mysql/binlog/event/binlog_event.h (``Log_event_type``,
``LOG_EVENT_*_F``), MariaDB's sql/log_event.h, Percona Server's of 5.7 (159).
"""

from __future__ import annotations

from enum import IntEnum, IntFlag
from functools import cache
from struct import Struct
from typing import NamedTuple

from binx.errors import DamagedError, TruncatedError

HEADER_SIZE = 19
"""Bytes of the event header in binlog format version 4."""

LARGEST_EVENT = (1 << 30) + (1 << 26)
"""Maximum bytes accepted for a decompressed event; packets have at most 1 GiB (max_allowed_packet)."""

HEADER = Struct("<IBIIIH")
"""The header's fields: timestamp, type, server ID, size, next position, flags."""

_SIZE_OFFSET = 9


class EventType(IntEnum):
    """Event type codes of MySQL and MariaDB."""

    UNKNOWN = 0
    START_V3 = 1
    QUERY = 2
    STOP = 3
    ROTATE = 4
    INTVAR = 5
    LOAD = 6
    SLAVE = 7
    CREATE_FILE = 8
    APPEND_BLOCK = 9
    EXEC_LOAD = 10
    DELETE_FILE = 11
    NEW_LOAD = 12
    RAND = 13
    USER_VAR = 14
    FORMAT_DESCRIPTION = 15
    XID = 16
    BEGIN_LOAD_QUERY = 17
    EXECUTE_LOAD_QUERY = 18
    TABLE_MAP = 19
    WRITE_ROWS_V0 = 20
    UPDATE_ROWS_V0 = 21
    DELETE_ROWS_V0 = 22
    WRITE_ROWS_V1 = 23
    UPDATE_ROWS_V1 = 24
    DELETE_ROWS_V1 = 25
    INCIDENT = 26
    HEARTBEAT = 27
    IGNORABLE = 28
    ROWS_QUERY = 29
    WRITE_ROWS = 30
    UPDATE_ROWS = 31
    DELETE_ROWS = 32
    GTID = 33
    ANONYMOUS_GTID = 34
    PREVIOUS_GTIDS = 35
    TRANSACTION_CONTEXT = 36
    VIEW_CHANGE = 37
    XA_PREPARE = 38
    PARTIAL_UPDATE_ROWS = 39
    TRANSACTION_PAYLOAD = 40
    HEARTBEAT_V2 = 41
    GTID_TAGGED = 42
    PERCONA_START_ENCRYPTION = 159
    MARIADB_ANNOTATE_ROWS = 160
    MARIADB_BINLOG_CHECKPOINT = 161
    MARIADB_GTID = 162
    MARIADB_GTID_LIST = 163
    MARIADB_START_ENCRYPTION = 164
    MARIADB_QUERY_COMPRESSED = 165
    MARIADB_WRITE_ROWS_COMPRESSED_V1 = 166
    MARIADB_UPDATE_ROWS_COMPRESSED_V1 = 167
    MARIADB_DELETE_ROWS_COMPRESSED_V1 = 168
    MARIADB_WRITE_ROWS_COMPRESSED = 169
    MARIADB_UPDATE_ROWS_COMPRESSED = 170
    MARIADB_DELETE_ROWS_COMPRESSED = 171
    MARIADB_PARTIAL_ROW_DATA = 172


_NAMES = {member.value: member.name for member in EventType}


class EventFlag(IntFlag):
    """Bits of the header's flags; unnamed bits are preserved."""

    IN_USE = 0x0001
    """The file is being written, or its server died; only in FORMAT_DESCRIPTION."""
    FORCED_ROTATE = 0x0002
    THREAD_SPECIFIC = 0x0004
    """The statement depends on its connection, for example on temporary tables."""
    SUPPRESS_USE = 0x0008
    UPDATE_TABLE_MAP_VERSION = 0x0010
    ARTIFICIAL = 0x0020
    """Created by a server when it sends to a replica; never written to a binary log."""
    RELAY_LOG = 0x0040
    IGNORABLE = 0x0080
    """Readers that do not know the event's type may skip it."""
    NO_FILTER = 0x0100
    MTS_ISOLATE = 0x0200
    MARIADB_ACCEPT_OWN = 0x4000
    MARIADB_SKIP_REPLICATION = 0x8000


class EventHeader(NamedTuple):
    """The header of one event.

    Attributes:
        timestamp: start of the statement in seconds since 1970, UTC; 0 in artificial events.
        server_id: ID of the server where the change originated.
        size: bytes of the whole event: header, body and checksum.
        next_position: the offset after this event as the writer counted it, in 32 bits: it wraps at 4 GiB
            and is 0 in artificial events and inside MariaDB 11.4's transactions. Only used as a
            cross-check, never to find an event.
    """

    timestamp: int
    type: int
    server_id: int
    size: int
    next_position: int
    flags: EventFlag
    position: int

    @property
    def name(self) -> str:
        """The event type's name, or its code if unknown."""
        return event_name(self.type)

    @property
    def end(self) -> int:
        """Offset in the file of the byte after the event."""
        return self.position + self.size


def event_name(number: int) -> str:
    """Return the name of an event type, or its code if unknown."""
    return _NAMES.get(number) or f"event type {number}"


def event_size(data: memoryview | bytes) -> int:
    """Return the size, from its header, of the event that ``data`` begins with."""
    return int.from_bytes(data[_SIZE_OFFSET : _SIZE_OFFSET + 4], "little")


_flags = cache(EventFlag)


def parse_header(data: memoryview | bytes, position: int, *, origin: int = 0) -> EventHeader:
    """Read the header of the event at ``position``.

    Args:
        data: a window of the file.
        position: the event's offset in the file.
        origin: the window's offset in the file.

    Raises:
        TruncatedError: the window ends inside the header.
        DamagedError: the event's size is smaller than the header.
    """
    index = position - origin
    if index < 0 or index + HEADER_SIZE > len(data):
        raise TruncatedError(
            f"expected an event header of {HEADER_SIZE} bytes, found {max(len(data) - index, 0)}; "
            "the file was truncated, or is still being written",
            offset=position,
        )
    timestamp, number, server_id, size, next_position, flags = HEADER.unpack_from(data, index)
    if size < HEADER_SIZE:
        raise DamagedError(
            f"expected an event of at least {HEADER_SIZE} bytes, found a size of {size}; the bytes here"
            " are not an event",
            offset=position,
            event=event_name(number),
        )
    return EventHeader(timestamp, number, server_id, size, next_position, _flags(flags), position)
