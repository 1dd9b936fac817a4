"""Parse ROTATE, STOP, INCIDENT, heartbeat and group replication events.

Sources: MySQL's libs/mysql/binlog/event/control_events.cpp and codecs/binary.cpp.
"""

from __future__ import annotations

from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.header import EventHeader, EventType
from binx.event.reader import Reader, body_reader

_INCIDENT_NAMES = {1: "LOST_EVENTS"}
_HEARTBEAT_END = 0
_HEARTBEAT_FILE = 1
_HEARTBEAT_POSITION = 2
_VIEW_ID_SIZE = 40


class Incident(NamedTuple):
    """The server failed to log changes: replicas may differ from here on.

    Attributes:
        number: 1 for LOST_EVENTS, the only incident that servers write.
    """

    number: int
    message: str

    @property
    def is_known(self) -> bool:
        """Whether servers write this number."""
        return self.number in _INCIDENT_NAMES

    @property
    def name(self) -> str:
        """The incident's name, or its number if unknown."""
        return _INCIDENT_NAMES.get(self.number) or f"incident {self.number}"


class Heartbeat(NamedTuple):
    """A heartbeat that a server sends to replicas; servers never write it to a file.

    Attributes:
        log_position: offset in that file; None in the first version, which has it in the header.
    """

    file: str
    log_position: int | None


class Ignorable(NamedTuple):
    """An event that readers may ignore if they do not know its type."""

    body: bytes


class TransactionContext(NamedTuple):
    """A transaction's data for certification by group replication.

    Attributes:
        gtid_specified: whether the client gave its GTID.
        snapshot_version: encoded GTID set that the transaction saw.
        write_set: hashes of changed rows.
        read_set: hashes of rows that were read.
    """

    server_uuid: str
    thread_id: int
    gtid_specified: bool
    snapshot_version: bytes
    write_set: tuple[bytes, ...]
    read_set: tuple[bytes, ...]


class ViewChange(NamedTuple):
    """A member joined or left a replication group.

    Attributes:
        sequence_number: the certifier's next number.
        certification: pairs of row hash and encoded GTID set.
    """

    view_id: str
    sequence_number: int
    certification: tuple[tuple[bytes, bytes], ...]


def parse_incident(body: memoryview, header: EventHeader, description: FormatDescription) -> Incident:
    """Read INCIDENT."""
    reader = body_reader(body, header)
    fixed = reader.slice(description.post_header_length(header.type, 2))
    return Incident(fixed.u16(), reader.text(reader.u8()) if reader.remaining else "")


def parse_heartbeat(body: memoryview, header: EventHeader, description: FormatDescription) -> Heartbeat:
    """Read HEARTBEAT or HEARTBEAT_V2."""
    reader = body_reader(body, header)
    if header.type == EventType.HEARTBEAT:
        return Heartbeat(reader.text(reader.remaining), None)
    file, position = "", None
    while reader.remaining:
        kind = reader.packed()
        if kind == _HEARTBEAT_END:
            break
        value = reader.slice(reader.packed())
        if kind == _HEARTBEAT_FILE:
            file = value.text(value.remaining)
        elif kind == _HEARTBEAT_POSITION:
            position = value.packed()
    return Heartbeat(file, position)


def parse_ignorable(body: memoryview, header: EventHeader, description: FormatDescription) -> Ignorable:
    """Read IGNORABLE, whose body has no meaning."""
    return Ignorable(bytes(body))


def parse_transaction_context(
    body: memoryview, header: EventHeader, description: FormatDescription
) -> TransactionContext:
    """Read TRANSACTION_CONTEXT."""
    reader = body_reader(body, header)
    uuid_size, thread_id, gtid_specified = reader.u8(), reader.u32(), reader.u8() != 0
    snapshot_size, writes, reads = reader.u32(), reader.u32(), reader.u32()
    return TransactionContext(
        server_uuid=reader.text(uuid_size),
        thread_id=thread_id,
        gtid_specified=gtid_specified,
        snapshot_version=reader.raw(snapshot_size),
        write_set=_items(reader, writes),
        read_set=_items(reader, reads),
    )


def parse_view_change(body: memoryview, header: EventHeader, description: FormatDescription) -> ViewChange:
    """Read VIEW_CHANGE."""
    reader = body_reader(body, header)
    view_id = reader.raw(_VIEW_ID_SIZE).split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
    sequence_number = reader.u64()
    count = reader.count(reader.u32(), 2 + 4, "entries")
    entries = tuple((reader.raw(reader.u16()), reader.raw(reader.u32())) for _ in range(count))
    return ViewChange(view_id, sequence_number, entries)


def _items(reader: Reader, number: int) -> tuple[bytes, ...]:
    return tuple(reader.raw(reader.u16()) for _ in range(reader.count(number, 2, "row hashes")))


_POST_HEADER = 8
_FIRST_POSITION = 4


class Rotate(NamedTuple):
    """The log continues in another file.

    Attributes:
        next_file: name of the next file, without a folder in logs of servers.
    """

    next_file: str
    next_position: int


class Stop(NamedTuple):
    """The server was shut down."""


def parse_rotate(body: memoryview, header: EventHeader, description: FormatDescription) -> Rotate:
    """Read ROTATE."""
    reader = body_reader(body, header)
    length = description.post_header_length(header.type, _POST_HEADER)
    next_position = _FIRST_POSITION
    if length:
        fixed = reader.slice(length)
        next_position = fixed.u64()
    next_file = reader.text(reader.remaining)
    if not next_file:
        raise reader.damaged("expected the next file's name, found none")
    return Rotate(next_file, next_position)


def parse_stop(body: memoryview, header: EventHeader, description: FormatDescription) -> Stop:
    """Read STOP, which has no body."""
    return Stop()
