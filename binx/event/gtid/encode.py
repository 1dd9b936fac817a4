"""MySQL's GTID events, written again with another logical clock and another transaction length.

Only the bytes of the fields that change are written anew; all others, those of servers newer than binx
included, stay as they are. The length that the event tells counts the event itself, whose size depends on how
many bytes that length takes: :func:`rewrite_gtid` finds the one that fits.

Sources: as for :mod:`binx.event.gtid.events`; MySQL's mysys/pack.cc (``net_store_length``) and
libs/mysql/serialization/variable_length_integers.h.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

from binx.errors import UnsupportedError
from binx.event.gtid.events import LOGICAL_TIMESTAMP_TYPE, ORIGINAL_TIMESTAMP_FOLLOWS, TIMESTAMP_SIZE
from binx.event.gtid.sources import UUID_SIZE
from binx.event.header import HEADER_SIZE, EventHeader, EventType
from binx.event.reader import Reader, body_reader, open_message, read_string, read_variable

_CLOCK_POSITION = 1 + UUID_SIZE + 8 + 1
_CLOCK_SIZE = 16
_LONGEST = 8
_VARIABLE_BITS = 7
_UUID_FIELD, _TAG_FIELD, _LAST_COMMITTED_FIELD, _SEQUENCE_NUMBER_FIELD, _LENGTH_FIELD = 1, 3, 4, 5, 8


class Clock(NamedTuple):
    """A transaction's place in the logical clock of its file.

    Attributes:
        last_committed: sequence number of the latest transaction that this one waits for.
        sequence_number: number of the transaction in its file, from 1.
    """

    last_committed: int
    sequence_number: int


def encode_packed(value: int) -> bytes:
    """A length-encoded integer of 1, 3, 4 or 9 bytes, the shortest that holds it."""
    if value < 251:
        return bytes([value])
    for first, size in ((252, 2), (253, 3), (254, 8)):
        if value < 1 << 8 * size:
            return bytes([first]) + value.to_bytes(size, "little")
    raise ValueError(f"{value} does not fit 64 bits")


def encode_variable(value: int) -> bytes:
    """An unsigned integer of mysql::serialization in 1 to 9 bytes, the fewest that hold it."""
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{value} does not fit 64 bits")
    following = max(0, (value.bit_length() - 1) // _VARIABLE_BITS)
    if following >= _LONGEST:
        return b"\xff" + value.to_bytes(_LONGEST, "little")
    ones = (1 << following) - 1
    return (value << (following + 1) | ones).to_bytes(following + 1, "little")


def encode_variable_signed(value: int) -> bytes:
    """A signed integer of mysql::serialization; its lowest bit is the sign."""
    return encode_variable(~value << 1 | 1 if value < 0 else value << 1)


def rewrite_gtid(
    body: memoryview, header: EventHeader, *, clock: Clock | None, following: int, checksum_size: int
) -> bytes:
    """The body of GTID, ANONYMOUS_GTID or GTID_TAGGED for a transaction whose place or bytes have changed.

    What the event does not have (a clock before MySQL 5.7, a length before 8.0.2), or has as 0 for unknown (a
    length of some relay logs), is not added.

    Args:
        body: the event's bytes between header and checksum.
        header: the event's header.
        clock: the new place in the logical clock; None leaves it as it is.
        following: bytes of the transaction's other events as they are written, checksums included.
        checksum_size: bytes of the checksum behind this event as it is written.

    Raises:
        DamagedError: the body is cut.
        UnsupportedError: a newer server's GTID_TAGGED.
    """
    reader = body_reader(body, header)
    fields = _tagged_fields(reader) if header.type == EventType.GTID_TAGGED else _plain_fields(reader)
    if clock is not None:
        fields = fields.with_clock(clock)
    if not fields.length:
        return fields.encode(fields.length)
    # A longer length never takes fewer bytes, so counting up from the shortest ends at the one that fits.
    length = 0
    while True:
        encoded = fields.encode(length)
        total = HEADER_SIZE + len(encoded) + checksum_size + following
        if total == length:
            return encoded
        length = total


@dataclass(frozen=True, slots=True)
class _PlainFields:
    """GTID and ANONYMOUS_GTID, cut where the fields stand that change.

    Attributes:
        identity: flags, UUID, number and the clock's type.
        clock: 16 bytes, or none.
        timestamps: all between clock and length.
        length: the transaction's length; None where the event has none.
        rest: all behind the length.
    """

    identity: bytes
    clock: bytes
    timestamps: bytes
    length: int | None
    rest: bytes

    def with_clock(self, clock: Clock) -> _PlainFields:
        if not self.clock:
            return self
        encoded = clock.last_committed.to_bytes(8, "little") + clock.sequence_number.to_bytes(8, "little")
        return replace(self, clock=encoded)

    def encode(self, length: int | None) -> bytes:
        packed = b"" if length is None else encode_packed(length)
        return self.identity + self.clock + self.timestamps + packed + self.rest


def _plain_fields(reader: Reader) -> _PlainFields:
    identity = reader.raw(min(reader.remaining, _CLOCK_POSITION))
    if (
        len(identity) < _CLOCK_POSITION
        or identity[-1] != LOGICAL_TIMESTAMP_TYPE
        or reader.remaining < _CLOCK_SIZE
    ):
        return _PlainFields(identity, b"", b"", None, bytes(reader.rest()))
    clock = reader.raw(_CLOCK_SIZE)
    if reader.remaining < TIMESTAMP_SIZE:
        return _PlainFields(identity, clock, b"", None, bytes(reader.rest()))
    timestamps = reader.raw(TIMESTAMP_SIZE)
    if int.from_bytes(timestamps, "little") & ORIGINAL_TIMESTAMP_FOLLOWS:
        timestamps += reader.raw(TIMESTAMP_SIZE)
    length = reader.packed() if reader.remaining else None
    return _PlainFields(identity, clock, timestamps, length, bytes(reader.rest()))


@dataclass(frozen=True, slots=True)
class _TaggedFields:
    """GTID_TAGGED, cut into the fields of its message.

    Attributes:
        version: of the serialization format, encoded.
        last_required: the last field that a reader must know, encoded.
        fields: per number of a field that binx knows, number and value encoded.
        length: the transaction's length; None where the event has none.
        rest: the fields behind those.
        trailer: what stands behind the message.
    """

    version: bytes
    last_required: bytes
    fields: dict[int, bytes]
    length: int | None
    rest: bytes
    trailer: bytes

    def with_clock(self, clock: Clock) -> _TaggedFields:
        last, number = _LAST_COMMITTED_FIELD, _SEQUENCE_NUMBER_FIELD
        changed = self.fields | {
            last: _field(last, encode_variable_signed(clock.last_committed)),
            number: _field(number, encode_variable_signed(clock.sequence_number)),
        }
        return replace(self, fields=changed)

    def encode(self, length: int | None) -> bytes:
        fields = dict(self.fields)
        if length is not None:
            fields[_LENGTH_FIELD] = _field(_LENGTH_FIELD, encode_variable(length))
        content = self.last_required + b"".join(fields[number] for number in sorted(fields)) + self.rest
        return self.version + _own_size(len(self.version) + len(content)) + content + self.trailer


def _field(number: int, value: bytes) -> bytes:
    return encode_variable(number) + value


def _own_size(others: int) -> bytes:
    """The size of a message, which counts its own bytes."""
    size = others
    while True:
        encoded = encode_variable(size)
        if others + len(encoded) == size:
            return encoded
        size = others + len(encoded)


def _tagged_fields(reader: Reader) -> _TaggedFields:
    whole = bytes(reader.rest())
    message = Reader(whole, origin=reader.position - len(whole))
    body = open_message(message, max(_SKIP))
    head = Reader(whole)
    ends = [_read_end(head) for _ in range(3)]
    version, last_required = whole[: ends[0]], whole[ends[1] : ends[2]]
    content, trailer = bytes(body.rest()), bytes(message.rest())
    fields: dict[int, bytes] = {}
    length, end, previous = None, 0, -1
    place = Reader(content, origin=body.position - len(content))
    while place.remaining:
        number = read_variable(place)
        if number <= previous:
            raise place.damaged(f"expected a field after {previous}, found field {number}")
        if number not in _SKIP:
            break
        value = _SKIP[number](place)
        if number == _LENGTH_FIELD:
            length = value
        fields[number] = content[end : place.index]
        end, previous = place.index, number
    if previous < 0:
        raise UnsupportedError("expected a GTID's fields, found none that binx knows", offset=place.position)
    return _TaggedFields(version, last_required, fields, length, content[end:], trailer)


def _read_end(reader: Reader) -> int:
    read_variable(reader)
    return reader.index


def _skip_uuid(reader: Reader) -> int:
    return len([read_variable(reader) for _ in range(UUID_SIZE)])


def _skip_string(reader: Reader) -> int:
    return len(read_string(reader))


_SKIP: dict[int, Callable[[Reader], int]] = {
    **dict.fromkeys(range(12), read_variable),
    _UUID_FIELD: _skip_uuid,
    _TAG_FIELD: _skip_string,
}
