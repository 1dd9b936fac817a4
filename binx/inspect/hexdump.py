"""Events byte by byte: the fields of the header one by one, the body, the checksum."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import NamedTuple

from binx.event.header import HEADER_SIZE, EventHeader
from binx.log.selection.moments import format_time

_WIDTH = 16
_FIELDS = ((0, 4), (4, 1), (5, 4), (9, 4), (13, 4), (17, 2))
_PRINTABLE = range(0x20, 0x7F)


class HexLine(NamedTuple):
    """Some bytes of an event."""

    offset: int
    data: bytes
    meaning: str

    def __str__(self) -> str:
        digits = self.data.hex(" ")
        return f"{self.offset:08x}  {digits:<{3 * _WIDTH - 1}}  {self.meaning}"


def hex_lines(header: EventHeader, data: memoryview, checksum_size: int) -> Iterator[HexLine]:
    """An event as annotated lines of hexadecimal digits."""
    meanings = (
        f"timestamp {header.timestamp} ({format_time(header.timestamp * 1_000_000)})",
        f"type {header.type} ({header.name})",
        f"server id {header.server_id}",
        f"size {header.size}",
        f"next position {header.next_position}",
        f"flags {int(header.flags):#06x}{_flag_names(header)}",
    )
    for (offset, size), meaning in zip(_FIELDS, meanings, strict=True):
        yield HexLine(offset, bytes(data[offset : offset + size]), meaning)
    left = header.size - len(data)
    end = len(data) if left else len(data) - checksum_size
    for offset in range(HEADER_SIZE, end, _WIDTH):
        part = bytes(data[offset : min(offset + _WIDTH, end)])
        yield HexLine(offset, part, "|" + "".join(chr(b) if b in _PRINTABLE else "." for b in part) + "|")
    if left:
        yield HexLine(end, b"", f"{left} more bytes of the payload")
    elif checksum_size:
        stored = bytes(data[end:])
        expected = zlib.crc32(data[:end])
        right = int.from_bytes(stored, "little") == expected
        meaning = f"checksum {int.from_bytes(stored, 'little'):#010x}"
        yield HexLine(end, stored, f"{meaning}, right" if right else f"{meaning}, WRONG: {expected:#010x}")


def _flag_names(header: EventHeader) -> str:
    names = [str(flag.name) for flag in type(header.flags) if header.flags & flag]
    return f" ({', '.join(names)})" if names else ""
