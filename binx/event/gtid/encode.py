"""Rewrite MySQL GTID events with a new logical clock and a new transaction length.

Only the changed fields are rewritten; all other bytes, including fields of servers newer than binx, are kept.
The transaction length includes the GTID event itself, whose size depends on how many bytes
the length takes: :func:`rewrite_gtid` finds the length that fits.

Sources: as for :mod:`binx.event.gtid.mysql_events`; MySQL's mysys/pack.cc (``net_store_length``) and
libs/mysql/serialization/variable_length_integers.h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from binx.errors import UnsupportedError
from binx.event.gtid.mysql_events import LOGICAL_TIMESTAMP_TYPE, ORIGINAL_TIMESTAMP_FOLLOWS, TIMESTAMP_SIZE
from binx.event.gtid.sources import UUID_SIZE
from binx.event.header import HEADER_SIZE, EventHeader, EventType
from binx.event.reader import Reader, body_reader, open_message, read_string, read_variable

_CLOCK_POSITION = 1 + UUID_SIZE + 8 + 1
_CLOCK_SIZE = 16
_LONGEST = 8
_VARIABLE_BITS = 7
_UUID_FIELD, _TAG_FIELD, _LAST_COMMITTED_FIELD, _SEQUENCE_NUMBER_FIELD, _LENGTH_FIELD = 1, 3, 4, 5, 8

_SplitEvent = tuple[int | None, Callable[[int | None], bytes]]
"""The event's transaction length (None if it has none), and a function that builds the event with another."""


class Clock(NamedTuple):
    """A transaction's position in its file's logical clock.

    Attributes:
        last_committed: sequence number of the latest transaction that this one waits for.
    """

    last_committed: int
    sequence_number: int


def encode_packed(value: int) -> bytes:
    """Encode a length-encoded integer, in the fewest of 1, 3, 4 or 9 bytes."""
    if value < 251:
        return bytes([value])
    for first, size in ((252, 2), (253, 3), (254, 8)):
        if value < 1 << 8 * size:
            return bytes([first]) + value.to_bytes(size, "little")
    raise ValueError(f"{value} does not fit 64 bits")


def encode_variable(value: int) -> bytes:
    """Encode an unsigned integer of mysql::serialization, in the fewest of 1 to 9 bytes."""
    if not 0 <= value < 1 << 64:
        raise ValueError(f"{value} does not fit 64 bits")
    following = max(0, (value.bit_length() - 1) // _VARIABLE_BITS)
    if following >= _LONGEST:
        return b"\xff" + value.to_bytes(_LONGEST, "little")
    ones = (1 << following) - 1
    return (value << (following + 1) | ones).to_bytes(following + 1, "little")


def encode_variable_signed(value: int) -> bytes:
    """Encode a signed integer of mysql::serialization; the lowest bit is the sign."""
    return encode_variable(~value << 1 | 1 if value < 0 else value << 1)


def rewrite_gtid(
    body: memoryview, header: EventHeader, *, clock: Clock | None, following: int, checksum_size: int
) -> bytes:
    """Rewrite the body of GTID, ANONYMOUS_GTID or GTID_TAGGED after a transaction's clock or size changed.

    Fields that the event does not have (the clock before MySQL 5.7, the length before 8.0.2), or that are 0
    for unknown (the length in some relay logs), are not added.

    Args:
        body: the event's bytes between header and checksum.
        header: the event's header.
        clock: the new position in the logical clock; None keeps the old one.
        following: bytes of the transaction's other events as written, including checksums.
        checksum_size: bytes of the checksum that follows this event in the output.

    Raises:
        DamagedError: the body is truncated.
        UnsupportedError: GTID_TAGGED of a newer server.
    """
    reader = body_reader(body, header)
    split = _split_tagged if header.type == EventType.GTID_TAGGED else _split_plain
    known, encode = split(reader, clock)
    if not known:
        return encode(known)
    # A longer length never takes fewer bytes, so counting up from the shortest ends at the one that fits.
    length = 0
    while True:
        encoded = encode(length)
        total = HEADER_SIZE + len(encoded) + checksum_size + following
        if total == length:
            return encoded
        length = total


def _split_plain(reader: Reader, clock: Clock | None) -> _SplitEvent:
    """Split GTID or ANONYMOUS_GTID at its transaction length."""
    start = reader.raw(min(reader.remaining, _CLOCK_POSITION))
    length = None
    if (
        len(start) == _CLOCK_POSITION
        and start[-1] == LOGICAL_TIMESTAMP_TYPE
        and reader.remaining >= _CLOCK_SIZE
    ):
        old_clock = reader.raw(_CLOCK_SIZE)
        start += old_clock if clock is None else b"".join(number.to_bytes(8, "little") for number in clock)
        if reader.remaining >= TIMESTAMP_SIZE:
            timestamps = reader.raw(TIMESTAMP_SIZE)
            if int.from_bytes(timestamps, "little") & ORIGINAL_TIMESTAMP_FOLLOWS:
                timestamps += reader.raw(TIMESTAMP_SIZE)
            start += timestamps
            length = reader.packed() if reader.remaining else None
    rest = bytes(reader.rest())
    return length, lambda length: start + (b"" if length is None else encode_packed(length)) + rest


def _split_tagged(reader: Reader, clock: Clock | None) -> _SplitEvent:
    """Split GTID_TAGGED, a message of fields with a number and a value each, at its transaction length."""
    data = bytes(reader.rest())
    message = Reader(data, origin=reader.position - len(data))
    body = open_message(message, max(_SKIP))
    head = Reader(data)
    ends = [_read_end(head) for _ in range(3)]
    version, last_required = data[: ends[0]], data[ends[1] : ends[2]]
    content, trailer = bytes(body.rest()), bytes(message.rest())
    fields: dict[int, bytes] = {}
    length, end, previous = None, 0, -1
    items = Reader(content, origin=body.position - len(content))
    while items.remaining:
        number = read_variable(items)
        if number <= previous:
            raise items.damaged(f"expected a field after {previous}, found field {number}")
        if number not in _SKIP:
            break
        value = _SKIP[number](items)
        if number == _LENGTH_FIELD:
            length = value
        fields[number] = content[end : items.index]
        end, previous = items.index, number
    if previous < 0:
        raise UnsupportedError("expected a GTID's fields, found none that binx knows", offset=items.position)
    if clock is not None:
        for number, value in ((_LAST_COMMITTED_FIELD, clock[0]), (_SEQUENCE_NUMBER_FIELD, clock[1])):
            fields[number] = encode_variable(number) + encode_variable_signed(value)

    def encode(length: int | None) -> bytes:
        if length is not None:
            fields[_LENGTH_FIELD] = encode_variable(_LENGTH_FIELD) + encode_variable(length)
        known = b"".join(fields[number] for number in sorted(fields))
        rest = last_required + known + content[end:]
        return version + _own_size(len(version) + len(rest)) + rest + trailer

    return length, encode


def _own_size(other_bytes: int) -> bytes:
    """Encode a message's size, which includes the bytes of the size itself."""
    size = other_bytes
    while True:
        encoded = encode_variable(size)
        if other_bytes + len(encoded) == size:
            return encoded
        size = other_bytes + len(encoded)


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
