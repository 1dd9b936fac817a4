"""Read an event's bytes with bounds checks, including MariaDB's compression and MySQL's serialization.

Every parser of this package uses :class:`Reader`, so a wrong length or count in a damaged file
never leads past the event's end, and each error gives the file offset at which
reading stopped.

MariaDB compresses queries and row images (log_bin_compress): a head byte holds 0x80, the algorithm and the
number of bytes that follow it with the uncompressed size, big-endian; then comes a zlib stream
(``binlog_buf_compress``, sql/log_event.cc).

MySQL 8.3 and later write GTID_TAGGED events as messages: version, size, the last field that a reader
must know, then fields with ID and value, omitted if they have their default. Integers take 1 to 9
bytes: the number of trailing one bits in the first byte is the number of bytes that follow it
(libs/mysql/serialization/readme.md).
"""

from __future__ import annotations

import zlib
from struct import Struct

from binx.errors import DamagedError, UnsupportedError
from binx.event.header import HEADER_SIZE, LARGEST_EVENT, EventHeader

_DOUBLE = Struct("<d")

_LARGEST_BYTE = 250
_PACKED_SIZES = {252: 2, 253: 3, 254: 8}


class Reader:
    """Reads consecutive little-endian fields, never past the end.

    Args:
        data: the bytes to read.
        origin: the file offset of the first byte, for messages.
        event: the event type's name, for messages.
    """

    __slots__ = ("_data", "_end", "_event", "_index", "_origin")

    def __init__(self, data: memoryview | bytes, *, origin: int = 0, event: str | None = None) -> None:
        self._data = memoryview(data)
        self._end = len(self._data)
        self._index = 0
        self._origin = origin
        self._event = event

    @property
    def position(self) -> int:
        """File offset of the next byte."""
        return self._origin + self._index

    @property
    def index(self) -> int:
        """Number of bytes read so far."""
        return self._index

    @property
    def remaining(self) -> int:
        """Number of bytes not read yet."""
        return self._end - self._index

    def damaged(self, message: str) -> DamagedError:
        """Return an error at the current position, for the caller to raise."""
        return DamagedError(message, offset=self.position, event=self._event)

    def take(self, count: int) -> memoryview:
        """Return the next ``count`` bytes, without copying them."""
        start = self._index
        stop = start + count
        if count < 0 or stop > self._end:
            raise self.damaged(
                f"expected {count} more bytes of the event, found {self._end - start}; "
                "the event is cut or damaged"
            )
        self._index = stop
        return self._data[start:stop]

    def rest(self) -> memoryview:
        """Return all remaining bytes."""
        return self.take(self.remaining)

    def slice(self, count: int) -> Reader:
        """Return a reader of only the next ``count`` bytes, and skip them."""
        origin = self.position
        return Reader(self.take(count), origin=origin, event=self._event)

    def raw(self, count: int) -> bytes:
        """Return a copy of the next ``count`` bytes."""
        return bytes(self.take(count))

    def text(self, count: int) -> str:
        r"""Decode the next ``count`` bytes as UTF-8; invalid bytes become ``\xNN``."""
        return str(self.take(count), "utf-8", "backslashreplace")

    def unsigned(self, count: int) -> int:
        """Read an unsigned integer of ``count`` bytes."""
        return int.from_bytes(self.take(count), "little")

    def signed(self, count: int) -> int:
        """Read a two's complement integer of ``count`` bytes."""
        return int.from_bytes(self.take(count), "little", signed=True)

    def u8(self) -> int:
        """Read an unsigned integer of one byte."""
        return self.unsigned(1)

    def u16(self) -> int:
        """Read an unsigned integer of two bytes."""
        return self.unsigned(2)

    def u32(self) -> int:
        """Read an unsigned integer of four bytes."""
        return self.unsigned(4)

    def u64(self) -> int:
        """Read an unsigned integer of eight bytes."""
        return self.unsigned(8)

    def i32(self) -> int:
        """Read a signed integer of four bytes."""
        return self.signed(4)

    def i64(self) -> int:
        """Read a signed integer of eight bytes."""
        return self.signed(8)

    def double(self) -> float:
        """Read an IEEE double of eight bytes."""
        value: float = _DOUBLE.unpack(self.take(8))[0]
        return value

    def packed(self) -> int:
        """Read a length-encoded integer of 1, 3, 4 or 9 bytes.

        Source: MySQL's ``net_field_length_ll`` (mysys/pack.cc).
        """
        index = self._index
        # Most are of one byte: a log may have millions.
        if index < self._end and self._data[index] <= _LARGEST_BYTE:
            self._index = index + 1
            return self._data[index]
        first = self.u8()
        if first in _PACKED_SIZES:
            return self.unsigned(_PACKED_SIZES[first])
        raise self.damaged(f"expected a length-encoded integer, found the byte {first}")

    def count(self, number: int, size: int, what: str) -> int:
        """Check that ``number`` items of at least ``size`` bytes fit in the remaining bytes."""
        if number * size > self.remaining:
            raise self.damaged(
                f"expected {number} {what} of at least {size} bytes each, found {self.remaining} bytes; "
                "the event is cut or damaged"
            )
        return number


def body_reader(body: memoryview | bytes, header: EventHeader) -> Reader:
    """Return a reader of an event's bytes after its header."""
    return Reader(body, origin=header.position + HEADER_SIZE, event=header.name)


_COMPRESSED = 0x80
_ALGORITHM = 0x70
_SIZE_BYTES = 0x07
_MAX_SIZE_BYTES = 4
_MAX_RATIO = 1032
"""Maximum expansion of the deflate format: 258 bytes from two bits."""
_SLACK = 64


def uncompress(reader: Reader) -> bytes:
    """Uncompress all remaining bytes.

    The event's uncompressed size is checked against what its bytes can expand to before memory is allocated.
    """
    head = reader.u8()
    size_bytes = head & _SIZE_BYTES
    if not head & _COMPRESSED or not 1 <= size_bytes <= _MAX_SIZE_BYTES:
        raise reader.damaged(f"expected the head of a compressed part, found the byte 0x{head:02x}")
    if head & _ALGORITHM:
        raise reader.damaged(f"expected the compression algorithm 0 (zlib), found {(head & _ALGORITHM) >> 4}")
    size = int.from_bytes(reader.take(size_bytes), "big")
    stream = reader.rest()
    most = min(len(stream) * _MAX_RATIO + _SLACK, LARGEST_EVENT)
    if size > most:
        raise reader.damaged(
            f"expected at most {most} bytes from {len(stream)} compressed ones, found {size}"
        )
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(stream, size + 1)
    except zlib.error as error:
        raise reader.damaged(f"expected a zlib stream, found something else: {error}") from None
    if len(data) != size or not decompressor.eof:
        raise reader.damaged(f"expected {size} bytes after decompression, found {len(data)}")
    return data


_SERIALIZATION_VERSION = 1
_LONGEST = 8


def read_variable(reader: Reader) -> int:
    """Read an unsigned integer of 1 to 9 bytes."""
    first = reader.u8()
    following = _LONGEST if first == 0xFF else (~first & (first + 1)).bit_length() - 1
    if following == _LONGEST:
        return reader.u64()
    return (first | reader.unsigned(following) << 8) >> (following + 1)


def read_variable_signed(reader: Reader) -> int:
    """Read a signed integer of 1 to 9 bytes; the lowest bit is the sign."""
    value = read_variable(reader)
    return -(value >> 1) - 1 if value & 1 else value >> 1


def read_string(reader: Reader) -> str:
    """Read a length and a text."""
    return reader.text(reader.count(read_variable(reader), 1, "characters"))


def open_message(reader: Reader, last_known_field: int) -> Reader:
    """Read the message header before the fields; return a reader of the fields only.

    Args:
        reader: a reader at the message's first byte.
        last_known_field: the highest field ID that the caller can read.

    Raises:
        DamagedError: the message is truncated.
        UnsupportedError: the message's version, or a required field, is unknown.
    """
    start = reader.index
    version = read_variable(reader)
    if version != _SERIALIZATION_VERSION:
        raise UnsupportedError(
            f"expected version {_SERIALIZATION_VERSION} of MySQL's serialization format, found {version}; "
            "a newer server wrote this event",
            offset=reader.position,
        )
    size = read_variable(reader)
    last_required = read_variable(reader)
    if last_required > last_known_field:
        raise UnsupportedError(
            f"expected fields up to {last_known_field}, found that field {last_required} must be known; "
            "a newer server wrote this event",
            offset=reader.position,
        )
    return reader.slice(size - (reader.index - start))
