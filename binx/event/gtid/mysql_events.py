"""Parse MySQL's GTID events.

Sources: MySQL's libs/mysql/binlog/event/control_events.cpp and .h (``Gtid_event``), WL#15294 (tags).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from binx.event.format import FormatDescription
from binx.event.gtid.previous import read_tag
from binx.event.gtid.sources import MYSQL_MAX_NUMBER, UUID_SIZE, UuidSource
from binx.event.header import EventHeader, EventType
from binx.event.reader import Reader, body_reader, open_message, read_variable, read_variable_signed

FLAG_MAY_HAVE_STATEMENTS = 1
"""GTID flag: the transaction may have changes logged as statements."""

LOGICAL_TIMESTAMP_TYPE = 2
"""The type code before the logical clock's fields."""

TIMESTAMP_SIZE = 7
"""Bytes of a commit time."""

ORIGINAL_TIMESTAMP_FOLLOWS = 1 << 55
"""The bit of the first timestamp that indicates that a second one follows."""

_ORIGINAL_VERSION_FOLLOWS = 1 << 31
_UNDEFINED_VERSION = 999999


class Gtid(NamedTuple):
    """The GTID and commit data of the transaction that this event begins.

    Fields that the server's version does not write are None.

    Attributes:
        flags: FLAG_MAY_HAVE_STATEMENTS.
        uuid: 16 bytes; all zero for ANONYMOUS_GTID.
        number: transaction number within UUID and tag, from 1; 0 for ANONYMOUS_GTID.
        last_committed: sequence number of the latest transaction that this one waits for (MySQL 5.7).
        immediate_commit_timestamp: commit time on the server that wrote this log, in µs since 1970 (MySQL
            8.0.1).
        original_commit_timestamp: commit time on the originating server, in µs since 1970 (MySQL 8.0.1).
        transaction_length: bytes of the transaction, including this event and all checksums (MySQL 8.0.2);
            0 if unknown to the server.
        immediate_server_version: version of the server that wrote this log, 80036 for 8.0.36 (MySQL 8.0.14).
        commit_group_ticket: number of the transaction's commit group (MySQL 8.0.28); rarely present.
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
        """UUID and tag, as in GTID sets."""
        return UuidSource(self.uuid, self.tag)

    def __str__(self) -> str:
        if self.anonymous:
            return "ANONYMOUS"
        return f"{self.source}:{self.number}"


def parse_gtid(body: memoryview, header: EventHeader, description: FormatDescription) -> Gtid:
    """Read GTID, ANONYMOUS_GTID or GTID_TAGGED.

    Raises:
        DamagedError: the body is truncated, or the number is out of range.
        UnsupportedError: GTID_TAGGED of a newer server.
    """
    reader = body_reader(body, header)
    gtid = _parse_tagged(reader) if header.type == EventType.GTID_TAGGED else _parse_plain(reader)
    anonymous = header.type == EventType.ANONYMOUS_GTID
    if anonymous != (gtid.number == 0) or not 0 <= gtid.number <= MYSQL_MAX_NUMBER:
        raise reader.damaged(f"expected a transaction number of {header.name}, found {gtid.number}")
    return gtid


def _parse_plain(reader: Reader) -> Gtid:
    values: dict[str, Any] = {"flags": reader.u8(), "uuid": reader.raw(UUID_SIZE), "number": reader.i64()}
    if reader.remaining >= 1 + 16 and reader.u8() == LOGICAL_TIMESTAMP_TYPE:
        values |= {"last_committed": reader.i64(), "sequence_number": reader.i64()}
        if reader.remaining >= TIMESTAMP_SIZE:
            immediate, original = _timestamps(reader)
            values |= {"immediate_commit_timestamp": immediate, "original_commit_timestamp": original}
            if reader.remaining:
                values["transaction_length"] = reader.packed()
            if reader.remaining >= 4:
                immediate_version, original_version = _versions(reader)
                values["immediate_server_version"] = immediate_version
                values["original_server_version"] = original_version
            if reader.remaining >= 8:
                values["commit_group_ticket"] = reader.u64()
    return Gtid(tag="", **values)


def _timestamps(reader: Reader) -> tuple[int, int]:
    immediate = reader.unsigned(7)
    if immediate & ORIGINAL_TIMESTAMP_FOLLOWS:
        return immediate ^ ORIGINAL_TIMESTAMP_FOLLOWS, reader.unsigned(7)
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
    values: dict[str, Any] = {}
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
    if not {"flags", "uuid", "number"} <= values.keys():
        raise fields.damaged(
            "expected the fields flags, UUID and number, found " + (", ".join(values) or "none")
        )
    # Defaults of absent fields.
    values.setdefault("tag", "")
    values.setdefault("original_commit_timestamp", values.get("immediate_commit_timestamp"))
    values.setdefault("original_server_version", values.get("immediate_server_version"))
    for name in ("immediate_commit_timestamp", "original_commit_timestamp"):
        if (values.get(name) or 0) >> 8 * TIMESTAMP_SIZE:
            raise fields.damaged(f"expected a commit time of at most 56 bits, found {values[name]}")
    return Gtid(**values)
