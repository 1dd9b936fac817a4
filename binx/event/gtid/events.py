"""MySQL's GTID events.

Sources: MySQL's libs/mysql/binlog/event/control_events.cpp and .h (``Gtid_event``), WL#15294 (tags).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binx.event.format import FormatDescription
from binx.event.gtid.previous import read_tag
from binx.event.gtid.sources import MYSQL_MAX_NUMBER, UUID_SIZE, UuidSource
from binx.event.header import EventHeader, EventType
from binx.event.reader import Reader, body_reader, open_message, read_variable, read_variable_signed

FLAG_MAY_HAVE_STATEMENTS = 1
"""GTID flag: the transaction may have changes logged as statements."""

LOGICAL_TIMESTAMP_TYPE = 2
"""Stands before the fields of the logical clock."""

TIMESTAMP_SIZE = 7
"""Bytes of a commit's time."""

ORIGINAL_TIMESTAMP_FOLLOWS = 1 << 55
"""The bit of the first time that says that another one comes behind."""

_ORIGINAL_VERSION_FOLLOWS = 1 << 31
_UNDEFINED_VERSION = 999999


class Gtid(NamedTuple):
    """The identity of the transaction that this event begins.

    What a server of the time did not write is None.

    Attributes:
        flags: FLAG_MAY_HAVE_STATEMENTS.
        uuid: 16 bytes; all zero for ANONYMOUS_GTID.
        tag: the GTID's tag, empty where it has none (MySQL 8.3).
        number: transaction number of that UUID and tag, from 1; 0 for ANONYMOUS_GTID.
        last_committed: sequence number of the latest transaction that this one waits for (MySQL 5.7).
        sequence_number: number of the transaction in its file, from 1 (MySQL 5.7).
        immediate_commit_timestamp: µs since 1970 of the commit on the server that wrote this log (MySQL
            8.0.1).
        original_commit_timestamp: µs since 1970 of the commit on the first server (MySQL 8.0.1).
        transaction_length: bytes from this event to the transaction's end, this event and all checksums
            included (MySQL 8.0.2); 0 where the server did not know it.
        immediate_server_version: of the server that wrote this log, as 80036 for 8.0.36 (MySQL 8.0.14).
        original_server_version: of the first server, likewise.
        commit_group_ticket: number of the group that the transaction was committed in (MySQL 8.0.28), seldom
            there.
    """

    flags: int
    uuid: bytes
    tag: str
    number: int
    last_committed: int | None = None
    sequence_number: int | None = None
    immediate_commit_timestamp: int | None = None
    original_commit_timestamp: int | None = None
    transaction_length: int | None = None
    immediate_server_version: int | None = None
    original_server_version: int | None = None
    commit_group_ticket: int | None = None

    @property
    def anonymous(self) -> bool:
        """Whether the transaction has no GTID."""
        return self.number == 0

    @property
    def source(self) -> UuidSource:
        """UUID and tag, as GTID sets have them."""
        return UuidSource(self.uuid, self.tag)

    def __str__(self) -> str:
        if self.anonymous:
            return "ANONYMOUS"
        return f"{self.source}:{self.number}"


def parse_gtid(body: memoryview, header: EventHeader, description: FormatDescription) -> Gtid:
    """Read GTID, ANONYMOUS_GTID or GTID_TAGGED.

    Raises:
        DamagedError: the body is cut, or the number is none that a server gives.
        UnsupportedError: a newer server's GTID_TAGGED.
    """
    reader = body_reader(body, header)
    gtid = _parse_tagged(reader) if header.type == EventType.GTID_TAGGED else _parse_plain(reader)
    anonymous = header.type == EventType.ANONYMOUS_GTID
    if anonymous != (gtid.number == 0) or not 0 <= gtid.number <= MYSQL_MAX_NUMBER:
        raise reader.damaged(f"expected a transaction number of {header.name}, found {gtid.number}")
    return gtid


def _parse_plain(reader: Reader) -> Gtid:
    flags = reader.u8()
    uuid = reader.raw(UUID_SIZE)
    number = reader.i64()
    last_committed = sequence_number = immediate = original = None
    length = immediate_version = original_version = ticket = None
    if reader.remaining >= 1 + 16 and reader.u8() == LOGICAL_TIMESTAMP_TYPE:
        last_committed, sequence_number = reader.i64(), reader.i64()
        if reader.remaining >= TIMESTAMP_SIZE:
            immediate, original = _timestamps(reader)
            length = reader.packed() if reader.remaining else None
            if reader.remaining >= 4:
                immediate_version, original_version = _versions(reader)
            if reader.remaining >= 8:
                ticket = reader.u64()
    return Gtid(
        flags=flags,
        uuid=uuid,
        tag="",
        number=number,
        last_committed=last_committed,
        sequence_number=sequence_number,
        immediate_commit_timestamp=immediate,
        original_commit_timestamp=original,
        transaction_length=length,
        immediate_server_version=immediate_version,
        original_server_version=original_version,
        commit_group_ticket=ticket,
    )


def _timestamps(reader: Reader) -> tuple[int, int]:
    immediate = reader.u56()
    if immediate & ORIGINAL_TIMESTAMP_FOLLOWS:
        return immediate ^ ORIGINAL_TIMESTAMP_FOLLOWS, reader.u56()
    return immediate, immediate


def _versions(reader: Reader) -> tuple[int | None, int | None]:
    immediate = reader.u32()
    original = immediate
    if immediate & _ORIGINAL_VERSION_FOLLOWS:
        immediate ^= _ORIGINAL_VERSION_FOLLOWS
        original = reader.u32()
    return _known_version(immediate), _known_version(original)


def _known_version(version: int) -> int | None:
    return None if version == _UNDEFINED_VERSION else version


def _read_uuid(reader: Reader) -> bytes:
    values = [read_variable(reader) for _ in range(UUID_SIZE)]
    if max(values) > 0xFF:
        raise reader.damaged(f"expected the bytes of a UUID, found {max(values)}")
    return bytes(values)


_TAGGED_FIELDS: dict[int, tuple[str, Callable[[Reader], object]]] = {
    0: ("flags", read_variable),
    1: ("uuid", _read_uuid),
    2: ("number", read_variable_signed),
    3: ("tag", read_tag),
    4: ("last_committed", read_variable_signed),
    5: ("sequence_number", read_variable_signed),
    6: ("immediate_commit_timestamp", read_variable),
    7: ("original_commit_timestamp", read_variable),
    8: ("transaction_length", read_variable),
    9: ("immediate_server_version", read_variable),
    10: ("original_server_version", read_variable),
    11: ("commit_group_ticket", read_variable),
}


def _parse_tagged(reader: Reader) -> Gtid:
    fields = open_message(reader, max(_TAGGED_FIELDS))
    values: dict[str, object] = {}
    previous = -1
    while fields.remaining:
        number = read_variable(fields)
        if number <= previous:
            raise fields.damaged(f"expected a field after {previous}, found field {number}")
        if number not in _TAGGED_FIELDS:
            break
        name, read = _TAGGED_FIELDS[number]
        values[name] = read(fields)
        previous = number
    return _tagged_gtid(values, fields)


def _tagged_gtid(values: dict[str, object], fields: Reader) -> Gtid:
    def integer(name: str) -> int | None:
        value = values.get(name)
        return value if isinstance(value, int) else None

    uuid, tag = values.get("uuid"), values.get("tag", "")
    number, flags = integer("number"), integer("flags")
    if not isinstance(uuid, bytes) or not isinstance(tag, str) or number is None or flags is None:
        raise fields.damaged(
            "expected the fields flags, UUID and number, found " + (", ".join(values) or "none")
        )
    immediate = integer("immediate_commit_timestamp")
    original = _or_default(integer("original_commit_timestamp"), immediate)
    for moment in (immediate, original):
        if moment is not None and moment >> 8 * TIMESTAMP_SIZE:
            raise fields.damaged(f"expected a commit time of at most 56 bits, found {moment}")
    immediate_version = integer("immediate_server_version")
    return Gtid(
        flags=flags,
        uuid=uuid,
        tag=tag,
        number=number,
        last_committed=integer("last_committed"),
        sequence_number=integer("sequence_number"),
        immediate_commit_timestamp=immediate,
        original_commit_timestamp=original,
        transaction_length=integer("transaction_length"),
        immediate_server_version=immediate_version,
        original_server_version=_or_default(integer("original_server_version"), immediate_version),
        commit_group_ticket=integer("commit_group_ticket"),
    )


def _or_default(value: int | None, default: int | None) -> int | None:
    """A field, or what its absence means."""
    return default if value is None else value
