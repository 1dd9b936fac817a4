"""FORMAT_DESCRIPTION events: the server version, header lengths and checksum algorithm of a log file.

Sources: MySQL's libs/mysql/binlog/event/control_events.cpp
(``Format_description_event``) and binlog_event.h (``do_server_version_split``,
``checksum_version_split``), MariaDB's sql/log_event.cc
(``Format_description_log_event``: checksums since 5.3).
"""

from __future__ import annotations

import re
from enum import Enum, IntEnum
from struct import Struct
from typing import NamedTuple

from binx.errors import ChecksumError, DamagedError, NotABinlogError, TruncatedError, UnsupportedError
from binx.event.header import HEADER_SIZE, EventFlag, EventHeader, EventType, parse_header
from binx.event.reader import Reader, body_reader
from binx.kernels.crc32 import checksum
from binx.source import magic
from binx.source.foreign import describe

CHECKSUM_SIZE = 4
"""Bytes of the CRC32 at an event's end, if the file has checksums."""

BINLOG_VERSION = 4

_SERVER_VERSION_SIZE = 50
_TYPE_OFFSET = 4
_NEXT_POSITION = slice(13, 17)
_FLAGS_OFFSET = 17
_ALGORITHM_SIZE = 1
_IDENTITY = Struct("<III")
_CHECKSUM_SINCE = {"mysql": (5, 6, 1), "mariadb": (5, 3, 0)}
_MOST_TYPES_WITHOUT_CHECKSUM = 33
"""Servers without checksums list up to 27 event types; others list at least 29 and add five bytes."""


MAGIC = magic.MAGIC
"""The first bytes of a binary log or relay log."""

MAGIC_SIZE = len(MAGIC)
"""Bytes before the first event."""

ENCRYPTED_MAGIC = magic.ENCRYPTED_MAGIC
"""The first bytes of a binary log that MySQL 8.0.14 or later encrypted."""


class Magic(Enum):
    """The kind of a file, by its first four bytes."""

    PLAIN = MAGIC
    ENCRYPTED = ENCRYPTED_MAGIC


class ChecksumAlgorithm(IntEnum):
    """The checksum algorithm of a file's events."""

    OFF = 0
    CRC32 = 1


class Flavour(Enum):
    """The kind of server that wrote the file; the two differ in event types, GTIDs and collations."""

    MYSQL = "mysql"
    MARIADB = "mariadb"


class FormatDescription(NamedTuple):
    """A parsed FORMAT_DESCRIPTION, which defines the format of the events after it.

    Attributes:
        server_version: the server's version string, such as ``8.0.36-log``.
        create_timestamp: in the first log after a server start, the start in seconds since 1970; else 0.
        header_timestamp: when the file was created: the event's own timestamp, or that of the next event
            with one.
        post_header_lengths: bytes of each event type's fixed part, starting with type 1.
        has_checksum_field: whether this event itself ends in an algorithm byte and a CRC32, as written by
            all servers that support checksums, even if they are off.
        in_use: whether the file was not closed: it is being written, or its server crashed.
    """

    binlog_version: int
    server_version: str
    create_timestamp: int
    header_timestamp: int
    server_id: int
    header_length: int
    post_header_lengths: bytes
    checksum: ChecksumAlgorithm
    has_checksum_field: bool
    in_use: bool
    flavour: Flavour
    version: tuple[int, int, int]
    position: int

    @property
    def checksum_size(self) -> int:
        """Bytes of the checksum at the end of each event after this one: 4 or 0."""
        return CHECKSUM_SIZE if self.checksum is ChecksumAlgorithm.CRC32 else 0

    @property
    def at_startup(self) -> bool:
        """Whether this is the first log after the server's start."""
        return self.create_timestamp != 0

    def post_header_length(self, number: int, default: int) -> int:
        """Return event type ``number``'s post-header length; ``default`` if the file lacks it."""
        if 1 <= number <= len(self.post_header_lengths):
            return self.post_header_lengths[number - 1]
        return default

    def identity(self) -> str:
        """Return eight hex digits that distinguish this log from those of other servers and other starts.

        They are the first of the SHA-256 over server ID, header timestamp and create timestamp, each as four
        little-endian bytes.
        """
        import hashlib

        key = _IDENTITY.pack(self.server_id, self.header_timestamp, self.create_timestamp)
        return hashlib.sha256(key).hexdigest()[:8]


def read_magic(data: memoryview | bytes) -> Magic:
    """Return the kind of the file that begins with ``data``.

    Args:
        data: its first bytes; :data:`binx.source.foreign.HEAD_SIZE` of them name a file of another format.

    Raises:
        NotABinlogError: it is none; the message names what it is, if its format is known.
    """
    start = bytes(data[: len(MAGIC)])
    if not start:
        raise NotABinlogError("expected a binary log, found an empty file", offset=0)
    try:
        return Magic(start)
    except ValueError:
        if known := describe(bytes(data)):
            raise NotABinlogError(f"expected a binary log, found {known}", offset=0) from None
        raise NotABinlogError(
            f"expected a binary log, which begins with {MAGIC.hex(' ')}, found {start.hex(' ')}; "
            "is this a binary log or relay log of MySQL or MariaDB? If its beginning is damaged, read it with"
            " --on-damage salvage --format-from FILE, a log of the same server",
            offset=0,
        ) from None


def flavour_of(version: str) -> Flavour:
    """Return which server has a version, such as ``10.11.14-MariaDB-log``."""
    return Flavour.MARIADB if "mariadb" in version.lower() else Flavour.MYSQL


def split_version(server_version: str) -> tuple[int, int, int]:
    """Return the three leading numbers of a server version; (0, 0, 0) if there are none.

    MariaDB from 10.0 on puts ``5.5.5-`` before its version in places that old MySQL clients read.
    """
    match = re.match(r"(?:5\.5\.5-(?=1\d\.\d+\.\d+-MariaDB))?(\d{1,3})\.(\d{1,3})\.(\d{1,3})", server_version)
    if match is None:
        return (0, 0, 0)
    return (int(match[1]), int(match[2]), int(match[3]))


def parse_format(data: memoryview | bytes, position: int, *, origin: int = 0) -> FormatDescription:
    """Read the FORMAT_DESCRIPTION event at ``position``.

    Args:
        data: a window of the file that holds the event.
        position: the event's offset in the file.
        origin: the window's offset in the file.

    Raises:
        NotABinlogError: the event is START_V3 of MySQL 3.23 to 4.1, or not FORMAT_DESCRIPTION.
        TruncatedError: the window ends inside the event.
        DamagedError: the event contradicts itself.
        UnsupportedError: event headers have another size, or the checksum algorithm is unknown.
    """
    index = position - origin
    _refuse_start_v3(data, index, position)
    header = parse_header(data, position, origin=origin)
    if header.type != EventType.FORMAT_DESCRIPTION:
        raise NotABinlogError(
            f"expected FORMAT_DESCRIPTION as the first event, found {header.name}; "
            "the file does not begin as a binary log of version 4 does",
            offset=position,
        )
    if index + header.size > len(data):
        raise TruncatedError(
            f"expected {header.size} bytes of FORMAT_DESCRIPTION, found {len(data) - index}; "
            "the file was truncated, or is still being written",
            offset=position,
            event=header.name,
        )
    body = memoryview(data)[index + HEADER_SIZE : index + header.size]
    return parse_format_body(body, header)


def parse_format_body(body: memoryview | bytes, header: EventHeader) -> FormatDescription:
    """Read FORMAT_DESCRIPTION from all its bytes after the header, including the checksum.

    Raises:
        NotABinlogError, DamagedError, UnsupportedError: as for :func:`parse_format`.
    """
    reader = body_reader(body, header)
    binlog_version = reader.u16()
    if binlog_version != BINLOG_VERSION:
        raise NotABinlogError(
            f"expected binary log format version {BINLOG_VERSION}, found version {binlog_version}; "
            "binx reads logs of MySQL 5.0 and later and of MariaDB",
            offset=header.position,
        )
    server_version = reader.raw(_SERVER_VERSION_SIZE).split(b"\0", 1)[0].decode("utf-8", "backslashreplace")
    create_timestamp = reader.u32()
    header_length = reader.u8()
    version = split_version(server_version)
    flavour = flavour_of(server_version)
    _refuse_foreign(server_version, header_length, version, reader)
    has_checksum_field = version >= _CHECKSUM_SINCE[flavour.value]
    trailer = _ALGORITHM_SIZE + CHECKSUM_SIZE if has_checksum_field else 0
    if reader.remaining <= trailer:
        raise reader.damaged("expected the lengths of the events' fixed parts, found none")
    if not has_checksum_field and reader.remaining > _MOST_TYPES_WITHOUT_CHECKSUM:
        raise reader.damaged(
            f"expected at most {_MOST_TYPES_WITHOUT_CHECKSUM} event types of a server of version"
            f" {server_version}, found {reader.remaining}; the version is damaged"
        )
    post_header_lengths = reader.raw(reader.remaining - trailer)
    checksum = _checksum_algorithm(reader.u8(), reader) if has_checksum_field else ChecksumAlgorithm.OFF
    return FormatDescription(
        binlog_version=binlog_version,
        server_version=server_version,
        create_timestamp=create_timestamp,
        header_timestamp=header.timestamp,
        server_id=header.server_id,
        header_length=header_length,
        post_header_lengths=post_header_lengths,
        checksum=checksum,
        has_checksum_field=has_checksum_field,
        in_use=EventFlag.IN_USE in header.flags,
        flavour=flavour,
        version=version,
        position=header.position,
    )


def verify_format_checksum(event: memoryview | bytes, description: FormatDescription) -> None:
    """Verify the CRC32 of the FORMAT_DESCRIPTION event.

    Servers set IN_USE while they write the file and clear it in place at the end, so the checksum is computed
    with the flag cleared. The event has a CRC32 even if the events after it have none.

    Without checksums, a server that sends a log from its middle clears the event's position and create time
    and leaves the CRC32 as it was (MySQL's sql/rpl_binlog_sender.cc, MariaDB's sql/sql_repl.cc). Such events,
    which relay logs hold too, are not verified.

    Args:
        event: the whole event, including header and checksum.
        description: the result of :func:`parse_format`.

    Raises:
        ChecksumError: the CRC32 does not match.
    """
    is_sent = not any(event[_NEXT_POSITION])
    if not description.has_checksum_field or (is_sent and not description.checksum_size):
        return
    covered = bytearray(event[:-CHECKSUM_SIZE])
    covered[_FLAGS_OFFSET] &= ~EventFlag.IN_USE & 0xFF
    stored = int.from_bytes(event[-CHECKSUM_SIZE:], "little")
    actual = checksum(covered)
    if stored != actual:
        raise ChecksumError(
            f"expected the CRC32 {stored:08x} that the event carries, found {actual:08x}; "
            "the event is damaged",
            offset=description.position,
            event=EventType.FORMAT_DESCRIPTION.name,
        )


def _refuse_start_v3(data: memoryview | bytes, index: int, position: int) -> None:
    """Reject START_V3 before its header is read: the type is at the same offset, but 3.23's is shorter."""
    if len(data) > index + _TYPE_OFFSET and data[index + _TYPE_OFFSET] == EventType.START_V3:
        raise NotABinlogError(
            "expected a binary log of format version 4, found START_V3, written by MySQL 3.23 to 4.1;"
            " read it with a server of version 5.0 to 5.7, or a mysqlbinlog of that age",
            offset=position,
            event=EventType.START_V3.name,
        )


def _refuse_foreign(
    server_version: str, header_length: int, version: tuple[int, int, int], reader: Reader
) -> None:
    if header_length < HEADER_SIZE:
        raise reader.damaged(f"expected event headers of {HEADER_SIZE} bytes, found {header_length}")
    if header_length > HEADER_SIZE:
        raise UnsupportedError(
            f"expected event headers of {HEADER_SIZE} bytes, found {header_length} in the log of server "
            f"{server_version!r}, a patched server; binx cannot read its format",
            offset=reader.position,
            event=EventType.FORMAT_DESCRIPTION.name,
        )
    if version == (0, 0, 0):
        raise reader.damaged(f"expected a server version such as 8.0.36, found {server_version!r}")
    if "-a_drop" in server_version:
        raise UnsupportedError(
            "expected the log of a released server, found one of the development tree"
            f" {server_version!r}, which numbers its events differently; binx cannot read its format",
            offset=reader.position,
            event=EventType.FORMAT_DESCRIPTION.name,
        )


def _checksum_algorithm(number: int, reader: Reader) -> ChecksumAlgorithm:
    try:
        return ChecksumAlgorithm(number)
    except ValueError:
        raise DamagedError(
            f"expected the checksum algorithm 0 (none) or 1 (CRC32), found {number}",
            offset=reader.position - 1,
            event=EventType.FORMAT_DESCRIPTION.name,
        ) from None
