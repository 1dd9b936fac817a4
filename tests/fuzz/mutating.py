"""Changes to logs that reach what stands after the first check: events are changed, and their sizes mended.

Bytes that are changed anywhere make most logs end at the event whose size no longer fits, and compressed
events unreadable.
"""

from __future__ import annotations

import random
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress

import zstandard

from binx.errors import BinxError
from binx.event.gtid.encode import rewrite_gtid
from binx.event.header import HEADER_SIZE, EventType, parse_header
from binx.source.magic import ZSTD_MAGIC
from tests.log.building import compressed

Change = Callable[[bytes, int], bytes]
"""Bytes, and how many there may be, to other bytes."""

_MAGIC = 4
_CHECKSUM = 4
_MOST_INNER = 64 * 1024
_GTID_EVENTS = (EventType.GTID, EventType.ANONYMOUS_GTID, EventType.GTID_TAGGED)
_PAYLOAD = int(EventType.TRANSACTION_PAYLOAD)
_MARIADB_COMPRESSED = range(165, 172)
_TYPES = [
    2,
    4,
    5,
    13,
    14,
    15,
    16,
    17,
    18,
    19,
    23,
    24,
    25,
    26,
    29,
    30,
    31,
    32,
    33,
    34,
    35,
    38,
    39,
    40,
    42,
    162,
]
_ZLIB_HEADS = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")


def split(log: bytes, start: int = _MAGIC) -> tuple[list[bytes], bytes]:
    """The events of a log or of a compressed event, and what is left after the last whole one."""
    events = []
    while len(log) - start >= HEADER_SIZE:
        (size,) = struct.unpack_from("<I", log, start + 9)
        if size < HEADER_SIZE or start + size > len(log):
            break
        events.append(log[start : start + size])
        start += size
    return events, log[start:]


def changed_log(data: bytes, most: int, seed: int, change: Change) -> bytes:
    """A log, changed at some places."""
    dice = random.Random(seed)
    events, rest = split(data)
    if len(events) < 2 or dice.random() < 0.15:
        return change(data, most)
    (first, *others) = events
    checksum = _CHECKSUM if first[-_CHECKSUM - 1] else 0
    for _ in range(dice.choice((1, 1, 1, 2, 4))):
        others = _changed_events(others, dice, change, checksum)
    if dice.random() < 0.8:
        others = _with_lengths(others, checksum)
    return (data[:_MAGIC] + first + b"".join(others) + rest)[:most]


def _changed_events(events: list[bytes], dice: random.Random, change: Change, checksum: int) -> list[bytes]:
    """One event changed, left out, repeated, moved, or of another type."""
    if not events:
        return events
    at = dice.randrange(len(events))
    event, choice = events[at], dice.random()
    if choice < 0.7:
        return [*events[:at], _changed_event(event, dice, change, checksum), *events[at + 1 :]]
    if choice < 0.78:
        return events[:at] + events[at + 1 :]
    if choice < 0.88:
        to = dice.randrange(len(events) + 1)
        return [*events[:to], event, *events[to:]]
    if choice < 0.93:
        stop = dice.randrange(at, min(len(events), at + 20)) + 1
        return events[:stop] + events[at:stop] + events[stop:]
    return [*events[:at], _sized(event[:4] + bytes([dice.choice(_TYPES)]) + event[5:]), *events[at + 1 :]]


def _changed_event(event: bytes, dice: random.Random, change: Change, checksum: int) -> bytes:
    head, body, tail = event[:HEADER_SIZE], event[HEADER_SIZE:], b""
    if checksum and len(body) >= checksum:
        body, tail = body[:-checksum], body[-checksum:]
    inner = None
    if event[4] == _PAYLOAD and dice.random() < 0.9:
        inner = _changed_payload(body, dice, change)
    elif event[4] in _MARIADB_COMPRESSED and dice.random() < 0.8:
        inner = _changed_zlib(body, change)
    if inner is None:
        inner = change(body, len(body) + 200)
    return _sized(head + inner + tail)


def _changed_payload(body: bytes, dice: random.Random, change: Change) -> bytes | None:
    """The events in a compressed event changed, and compressed again."""
    start = body.find(ZSTD_MAGIC)
    if start < 0:
        return None
    try:
        plain = zstandard.ZstdDecompressor().decompress(body[start:], max_output_size=_MOST_INNER)
    except zstandard.ZstdError:
        return None
    events, rest = split(plain, 0)
    return compressed(*_changed_events(events, dice, change, 0), rest)[HEADER_SIZE:]


def _changed_zlib(body: bytes, change: Change) -> bytes | None:
    """What MariaDB compressed changed, and compressed again; before it stands how long it is."""
    for head in _ZLIB_HEADS:
        at = body.find(head)
        for size in range(1, 5):
            if at > size and body[at - size - 1] & 0x8F == 0x80 | size:
                with suppress(zlib.error):
                    found = zlib.decompressobj().decompress(body[at:], _MOST_INNER)
                    plain = change(found, len(found) + 200)
                    length = (len(plain) % (1 << 8 * size)).to_bytes(size, "big")
                    return body[: at - size] + length + zlib.compress(plain)
    return None


def _sized(event: bytes) -> bytes:
    return event[:9] + struct.pack("<I", len(event)) + event[13:]


def _with_lengths(events: list[bytes], checksum: int) -> list[bytes]:
    """The same with GTID events that tell how long their transactions are now."""
    mended, after = [], 0
    for event in reversed(events):
        if event[4] in _GTID_EVENTS and len(event) >= HEADER_SIZE + checksum:
            mended.append(_with_length(event, after, checksum))
            after = 0
        else:
            mended.append(event)
            after += len(event)
    return mended[::-1]


def _with_length(event: bytes, after: int, checksum: int) -> bytes:
    stop = len(event) - checksum
    with suppress(BinxError, ValueError, OverflowError):
        body = memoryview(event)[HEADER_SIZE:stop]
        header = parse_header(event, 0)
        told = rewrite_gtid(body, header, clock=None, following=after, checksum_size=checksum)
        return _sized(event[:HEADER_SIZE] + told + event[stop:])
    return event
