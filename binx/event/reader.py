"""Bounds-checked reading of one event's bytes.

Every parser of this package goes through :class:`Reader`, so a length or a count
that a damaged file claims can never lead past the event's end, and each error
names the byte of the file where reading stopped.
"""

from __future__ import annotations

from struct import Struct

from binx.errors import DamagedError
from binx.event.header import HEADER_SIZE, EventHeader

_DOUBLE = Struct("<d")

_PACKED_TWO_BYTES = 252
_PACKED_THREE_BYTES = 253
_PACKED_EIGHT_BYTES = 254


class Reader:
    """Reads little-endian fields one after the other, never past the end.

    Args:
        data: the bytes to read.
        origin: offset in the file of the first of them, for messages.
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
        """Offset in the file of the next byte."""
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
        """An error about this place; the caller raises it."""
        return DamagedError(message, offset=self.position, event=self._event)

    def take(self, count: int) -> memoryview:
        """The next ``count`` bytes, without a copy.

        Raises:
            DamagedError: fewer are left.
        """
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
        """All bytes that are left."""
        return self.take(self.remaining)

    def skip(self, count: int) -> None:
        """Pass over ``count`` bytes.

        Raises:
            DamagedError: fewer are left.
        """
        self.take(count)

    def slice(self, count: int) -> Reader:
        """A reader of the next ``count`` bytes alone, which this one passes over.

        Raises:
            DamagedError: fewer are left.
        """
        origin = self.position
        return Reader(self.take(count), origin=origin, event=self._event)

    def raw(self, count: int) -> bytes:
        """A copy of the next ``count`` bytes.

        Raises:
            DamagedError: fewer are left.
        """
        return bytes(self.take(count))

    def text(self, count: int) -> str:
        r"""The next ``count`` bytes as UTF-8; what is not valid becomes ``\xNN``.

        Raises:
            DamagedError: fewer are left.
        """
        return str(self.take(count), "utf-8", "backslashreplace")

    def unsigned(self, count: int) -> int:
        """An unsigned integer of ``count`` bytes.

        Raises:
            DamagedError: fewer are left.
        """
        return int.from_bytes(self.take(count), "little")

    def signed(self, count: int) -> int:
        """A two's complement integer of ``count`` bytes.

        Raises:
            DamagedError: fewer are left.
        """
        return int.from_bytes(self.take(count), "little", signed=True)

    def u8(self) -> int:
        """One byte."""
        return self.unsigned(1)

    def u16(self) -> int:
        """Two bytes."""
        return self.unsigned(2)

    def u24(self) -> int:
        """Three bytes."""
        return self.unsigned(3)

    def u32(self) -> int:
        """Four bytes."""
        return self.unsigned(4)

    def u48(self) -> int:
        """Six bytes."""
        return self.unsigned(6)

    def u56(self) -> int:
        """Seven bytes."""
        return self.unsigned(7)

    def u64(self) -> int:
        """Eight bytes."""
        return self.unsigned(8)

    def i32(self) -> int:
        """Four bytes, signed."""
        return self.signed(4)

    def i64(self) -> int:
        """Eight bytes, signed."""
        return self.signed(8)

    def double(self) -> float:
        """Eight bytes as an IEEE double."""
        value: float = _DOUBLE.unpack(self.take(8))[0]
        return value

    def packed(self) -> int:
        """A length-encoded integer of 1, 3, 4 or 9 bytes.

        Source: MySQL's ``net_field_length_ll`` (mysys/pack.cc).

        Raises:
            DamagedError: it is cut, or begins with 251 or 255, which no event uses.
        """
        first = self.u8()
        if first < 251:
            return first
        if first == _PACKED_TWO_BYTES:
            return self.u16()
        if first == _PACKED_THREE_BYTES:
            return self.u24()
        if first == _PACKED_EIGHT_BYTES:
            return self.u64()
        raise self.damaged(f"expected a length-encoded integer, found the byte {first}")

    def count(self, number: int, size: int, what: str) -> int:
        """Check a count that was read: ``number`` items of at least ``size`` bytes must fit in what is left.

        Raises:
            DamagedError: they do not.
        """
        if number * size > self.remaining:
            raise self.damaged(
                f"expected {number} {what} of at least {size} bytes each, found {self.remaining} bytes; "
                "the event is cut or damaged"
            )
        return number


def body_reader(body: memoryview | bytes, header: EventHeader) -> Reader:
    """A reader of an event's bytes behind its header."""
    return Reader(body, origin=header.position + HEADER_SIZE, event=header.name)
