"""Compressed payloads as a log has them: however large, they are read piece by piece.

A server compresses a transaction into one event of up to 1 GB; held whole it would be all of the memory that
a reader needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from binx.errors import TruncatedError
from binx.event.format import CHECKSUM_SIZE, FormatDescription
from binx.event.header import HEADER_SIZE, EventHeader
from binx.event.payload import StoredBytes, TransactionPayload, parse_transaction_payload
from binx.kernels.crc32 import checksum
from binx.source import READ_BYTES, Source

if TYPE_CHECKING:
    pass

_FIELDS_SIZE = 1024
"""More than the fields before the compressed bytes ever take."""


def stored_payload(
    source: Source, header: EventHeader, window: memoryview, origin: int, description: FormatDescription
) -> TransactionPayload:
    """The payload event with that header.

    Args:
        source: the log.
        header: its header.
        window: bytes of the log; where the event is not whole in it, the rest is read when it is wanted.
        origin: offset in the log of the window's first byte.
        description: the format description that rules it.

    Raises:
        TruncatedError: the event goes beyond the log.
        DamagedError, UnsupportedError: as :func:`~binx.event.payload.parse_transaction_payload`.
    """
    start, end = header.position + HEADER_SIZE, header.end - description.checksum_size
    if header.end > source.size:
        raise TruncatedError(
            f"expected an event of {header.size} bytes, found the end of the file",
            offset=header.position,
            event=header.name,
        )
    if end <= origin + len(window):
        return parse_transaction_payload(window[start - origin : end - origin], header, description)
    if origin + len(window) - start < _FIELDS_SIZE:
        window, origin = source.window(start, min(end, start + READ_BYTES)), start
    behind = min(end, origin + len(window))
    rest = StoredBytes(end - behind, lambda: pieces(source, behind, end)) if behind < end else None
    return parse_transaction_payload(window[start - origin : behind - origin], header, description, rest)


def pieces(source: Source, start: int, end: int) -> Iterator[memoryview]:
    """The bytes of ``[start, end)`` in pieces.

    Raises:
        TruncatedError: the log ends before.
        SourceError, DamagedError: they cannot be read.
    """
    while start < end:
        piece = source.window(start, min(end, start + READ_BYTES))
        if not piece:
            raise TruncatedError(
                f"expected {end - start} more bytes, found the end of the file", offset=start
            )
        start += len(piece)
        yield piece
        source.release(start - len(piece), start)


def sums(source: Source, header: EventHeader) -> tuple[int, int]:
    """The checksum behind an event, and that of its bytes, which are read piece by piece.

    Raises:
        TruncatedError, SourceError, DamagedError: as :func:`pieces`.
    """
    found, end = 0, header.end - CHECKSUM_SIZE
    for piece in pieces(source, header.position, end):
        found = checksum(piece, found)
    return int.from_bytes(source.window(end, header.end), "little"), found
