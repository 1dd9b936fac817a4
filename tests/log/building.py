"""Small binary logs built event by event, for what no server would write or what needs every case.

Layouts: MySQL's libs/mysql/binlog/event (control_events, statement_events, rows_event, load_data_events),
MariaDB's sql/log_event.h.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import zstandard

from binx.event.gtid.encode import encode_variable, encode_variable_signed
from binx.kernels.transactions.table import TransactionTable
from binx.kernels.walk.scan import Level, Scanner
from binx.log.boundary import compiled
from tests.conftest import TESTDATA

HEADER = struct.Struct("<IBIIIH")
NO_CHECKSUM = TESTDATA / "mysql-9.7" / "small" / "no_checksum.binlog"

FIRST = 4
"""Offset at which :func:`scanner` begins."""

FILE_SIZE = 1 << 20
"""What :func:`scanner` takes for the file's size: enough for any events built here."""

POST_HEADERS = bytearray(171)
for _number, _size in {2: 13, 4: 8, 9: 4, 17: 4, 18: 26, 19: 8, 26: 2, 38: 0}.items():
    POST_HEADERS[_number - 1] = _size
for _number in (23, 24, 25):
    POST_HEADERS[_number - 1] = 8
for _number in (30, 31, 32):
    POST_HEADERS[_number - 1] = 10

UUID = bytes(range(16))
UUID_TEXT = "00010203-0405-0607-0809-0a0b0c0d0e0f"


def event(number: int, body: bytes, *, timestamp: int = 1_000, server_id: int = 7, flags: int = 0) -> bytes:
    """A whole event without checksum."""
    size = 19 + len(body)
    return struct.pack("<IBIIIH", timestamp, number, server_id, size, 0, flags) + body


def query(sql: str, *, thread_id: int = 3, timestamp: int = 1_000) -> bytes:
    body = struct.pack("<IIBHH", thread_id, 0, 4, 0, 0) + b"shop\0" + sql.encode()
    return event(2, body, timestamp=timestamp)


def gtid(number: int = 1, uuid: bytes = UUID) -> bytes:
    return event(33, b"\0" + uuid + struct.pack("<Q", number))


def tagged_gtid(number: int = 1, *, committed: int = 0, original: int | None = None) -> bytes:
    """GTID_TAGGED of ``UUID:tag:number``; its times are µs since 1970."""
    fields = [
        (0, encode_variable(0)),
        (1, b"".join(map(encode_variable, UUID))),
        (2, encode_variable_signed(number)),
        (3, encode_variable(3) + b"tag"),
        (4, encode_variable_signed(0)),
        (5, encode_variable_signed(number)),
        (6, encode_variable(committed)),
    ]
    if original is not None:
        fields.append((7, encode_variable(original)))
    told = b"".join(encode_variable(field) + value for field, value in fields)
    # Version, size of the message, no field that must be known.
    return event(42, encode_variable(1) + encode_variable(len(told) + 3) + encode_variable(0) + told)


def mariadb_gtid(
    number: int = 1,
    *,
    standalone: bool = False,
    domain: int = 0,
    server_id: int = 7,
    flags: int = 0,
    fields: bytes = bytes(6),
) -> bytes:
    """A GTID with further flags, and the fields that these announce, padded with zeros."""
    body = struct.pack("<QIB", number, domain, flags | standalone) + fields
    return event(162, body, server_id=server_id)


def xid(number: int = 5, *, timestamp: int = 1_000) -> bytes:
    return event(16, struct.pack("<Q", number), timestamp=timestamp)


def table_map(table_id: int = 9, table: str = "orders") -> bytes:
    """``shop.TABLE`` with one INT column."""
    name = table.encode()
    body = table_id.to_bytes(6, "little") + b"\0\0\x04shop\0" + bytes([len(name)]) + name + b"\0"
    return event(19, body + b"\x01\x03\x00\x00")


def rows(*values: int, number: int = 30, table_id: int = 9, end: bool = True) -> bytes:
    """WRITE_ROWS (v2) of one INT column: bitmap of columns, then null bitmap and value of each row."""
    head = table_id.to_bytes(6, "little") + struct.pack("<HH", int(end), 2)
    return event(number, head + b"\x01\x01" + b"".join(b"\0" + struct.pack("<i", v) for v in values))


def json_map(table_id: int = 10) -> bytes:
    """``shop.documents`` with one JSON column."""
    body = table_id.to_bytes(6, "little") + b"\0\0\x04shop\0\x09documents\0"
    return event(19, body + b"\x01\xf5\x01\x04\x01")


def json_rows(first: int, table_id: int = 10) -> bytes:
    """WRITE_ROWS of one document whose first byte, its type, is given: 0 is an object."""
    head = table_id.to_bytes(6, "little") + struct.pack("<HH", 1, 2)
    document = bytes([first, 0, 0, 4, 0])
    return event(30, head + b"\x01\x01\x00" + struct.pack("<I", len(document)) + document)


def xa_prepare(*, one_phase: bool = False) -> bytes:
    return event(38, struct.pack("<?III", one_phase, 1, 1, 0) + b"x")


def payload() -> bytes:
    """An empty TRANSACTION_PAYLOAD: payload size 0, end of the fields."""
    return event(40, b"\x01\x01\x00\x00")


BEGIN = query("BEGIN")
COMMIT = query("COMMIT")
ROLLBACK = query("ROLLBACK")
INSERT = query("INSERT INTO t VALUES (1)")
CREATE = query("CREATE TABLE t (a INT)")
SAVEPOINT = query("SAVEPOINT a")
INTVAR = event(5, b"\x02" + struct.pack("<Q", 1))
RAND = event(13, bytes(16))
USER_VAR = event(14, struct.pack("<I", 1) + b"a\x01")
ROTATE = event(4, struct.pack("<Q", 4) + b"mysql-bin.000002")
STOP = event(3, b"")
XA_START = query("XA START 'x'")
XA_END = query("XA END 'x'")
XA_COMMIT = query("XA COMMIT 'x'")
XA_ROLLBACK = query("XA ROLLBACK 'x'")
BEGIN_LOAD = event(17, struct.pack("<I", 1) + b"1\t2\n")
APPEND_BLOCK = event(9, struct.pack("<I", 1) + b"3\t4\n")
EXECUTE_LOAD = event(18, struct.pack("<IIBHH", 3, 0, 4, 0, 0) + bytes(13) + b"shop\0LOAD DATA")
DELETE_FILE = event(11, struct.pack("<I", 1))
ROWS_QUERY = event(29, b"\x06INSERT")
INCIDENT = event(26, struct.pack("<H", 1) + b"\0")
VIEW_CHANGE = event(37, bytes(52))
UNKNOWN = event(7, b"")
"""SLAVE, which no server of binary log version 4 writes."""


def scanner(level: Level = Level.LEVEL_EVENTS, *, file_size: int = FILE_SIZE) -> Scanner:
    """A scan over events without checksums that begin at :data:`FIRST`."""
    made = Scanner(level, file_size, FIRST, compiled(), False)
    made.set_format(0, POST_HEADERS)
    return made


def feed(scan: Scanner, *events: bytes) -> int:
    """Have the scan read events that stand where it has come to."""
    return scan.feed(b"".join(events), scan.position, FILE_SIZE)


def transactions(*events: bytes, level: Level = Level.LEVEL_EVENTS) -> TransactionTable:
    """The table that a scan of the events fills."""
    scan = scanner(level)
    feed(scan, *events)
    return scan.new_table()


def whole_log(*events: bytes, version: str | None = None) -> bytes:
    """A log without checksums that holds the events, each with the position it has there.

    It is of MySQL 9.7, or says to be of another version from 5.6 on.
    """
    logged = NO_CHECKSUM.read_bytes()
    log = bytearray(logged[: 4 + HEADER.unpack_from(logged, 4)[3]])
    if version is not None:
        log[25:75] = version.encode().ljust(50, b"\0")
        log[-4:] = struct.pack("<I", zlib.crc32(log[4:-4]))
    for one in events:
        log += one
        struct.pack_into("<I", log, len(log) - len(one) + 13, len(log))
    return bytes(log)


def compressed(*events: bytes, claimed: int | None = None) -> bytes:
    """TRANSACTION_PAYLOAD of events; ``claimed`` is the uncompressed size that it tells."""
    plain = b"".join(events)
    stream = zstandard.ZstdCompressor().compress(plain)
    size = len(plain) if claimed is None else claimed
    fields = b"\x02\x01\x00" + b"\x03\x09\xfe" + struct.pack("<Q", size)
    return event(40, fields + b"\x01\x09\xfe" + struct.pack("<Q", len(stream)) + b"\x00" + stream)


def split(data: bytes, start: int = 0) -> list[bytes]:
    """The events that stand from some place on."""
    events = []
    while start < len(data):
        events.append(data[start : start + HEADER.unpack_from(data, start)[3]])
        start += len(events[-1])
    return events


def flip(path: Path, at: int | None = None, bits: int = 1) -> None:
    """Flip bits of one byte of a file, the one in its middle where nothing else is said."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= bits
    path.write_bytes(data)


def flipped(data: bytes, first: int = 0, stride: int = 1) -> Iterator[tuple[int, bytes]]:
    """The data with each of its bits flipped in turn, after the place of its byte."""
    damaged = bytearray(data)
    for bit in range(first * 8, len(data) * 8, stride):
        damaged[bit // 8] ^= 1 << bit % 8
        yield bit // 8, bytes(damaged)
        damaged[bit // 8] ^= 1 << bit % 8
