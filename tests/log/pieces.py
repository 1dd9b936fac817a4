"""Logs of MariaDB whose rows events are in pieces, as MariaDB 12.3 writes large ones.

No server that writes them is at hand: they are made of logs of MariaDB 10.11, after sql/log_event.h
(``Partial_rows_log_event``) and the documentation of the replication protocol.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.log.building import split

HEADER = struct.Struct("<IBIIIH")
PIECE = 172
ROWS = {*range(20, 26), *range(166, 172)}
Pieces = Callable[[list[bytes]], list[bytes]]


def signed(event: bytes) -> bytes:
    return event + struct.pack("<I", zlib.crc32(event))


def pieces_of(event: bytes, size: int, *, own_checksum: bool) -> list[bytes]:
    """The bodies of the pieces of a rows event that has a checksum."""
    whole = event if own_checksum else event[:-4]
    parts = [whole[start : start + size] for start in range(0, len(whole), size)]
    return [
        struct.pack("<IIB", number, len(parts), number == 1)
        + (struct.pack("<Q", len(whole)) if number == 1 else b"")
        + part
        for number, part in enumerate(parts, 1)
    ]


def in_pieces(
    path: Path,
    target: Path,
    size: int,
    *,
    own_checksum: bool = False,
    changed: Pieces = lambda pieces: pieces,
) -> Path:
    """Write a log again, its rows events in pieces; ``changed`` damages the pieces of an event."""

    def events() -> Iterator[bytes]:
        for event in split(path.read_bytes(), 4):
            timestamp, kind, server, _, _, flags = HEADER.unpack_from(event)
            if kind == 15:
                # The version, and the length of the post-header of the new type.
                version = b"12.3.2-MariaDB-log".ljust(50, b"\0")
                body = event[19:21] + version + event[71:-5] + b"\x09" + event[-5:-4]
                yield HEADER.pack(timestamp, kind, server, 0, 0, flags) + body
            elif kind in ROWS:
                for piece in changed(pieces_of(event, size, own_checksum=own_checksum)):
                    yield HEADER.pack(timestamp, PIECE, server, 0, 0, flags) + piece
            else:
                yield event[:-4]

    log = bytearray(path.read_bytes()[:4])
    for event in events():
        placed = bytearray(event)
        struct.pack_into("<I", placed, 9, len(event) + 4)
        struct.pack_into("<I", placed, 13, len(log) + len(event) + 4)
        log += signed(bytes(placed))
    target.write_bytes(log)
    return target
