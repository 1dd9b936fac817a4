"""Bytes of single events as a log stores them: a large one is read in pieces."""

from __future__ import annotations

from collections.abc import Iterator

from binx.errors import TruncatedError
from binx.event.format import CHECKSUM_SIZE, FormatDescription
from binx.event.header import HEADER_SIZE, EventHeader
from binx.event.payload import StoredBytes, TransactionPayload, parse_transaction_payload
from binx.kernels.crc32 import checksum
from binx.source import READ_BYTES, Source

_FIELDS_SIZE = 1024
"""Upper limit of the size of the fields before the compressed bytes."""


def stored_payload(
    source: Source, header: EventHeader, window: memoryview, origin: int, description: FormatDescription
) -> TransactionPayload:
    """Return the payload event with that header.

    Args:
        window: bytes of the log; if the event is not whole in it, the rest is read on demand.
        origin: offset in the log of the window's first byte.

    Raises:
        TruncatedError: the event extends beyond the log.
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
    available = min(end, origin + len(window))
    rest = StoredBytes(end - available, lambda: chunks(source, available, end)) if available < end else None
    return parse_transaction_payload(window[start - origin : available - origin], header, description, rest)


def chunks(source: Source, start: int, end: int) -> Iterator[memoryview]:
    """Yield the bytes of ``[start, end)`` in pieces.

    Raises:
        TruncatedError: the log ends before.
    """
    while start < end:
        chunk = source.window(start, min(end, start + READ_BYTES))
        if not chunk:
            raise TruncatedError(
                f"expected {end - start} more bytes, found the end of the file", offset=start
            )
        start += len(chunk)
        yield chunk
        source.release(start - len(chunk), start)


def sums(source: Source, header: EventHeader) -> tuple[int, int]:
    """Return an event's stored checksum and the one computed from its bytes, which are read in pieces."""
    computed, end = 0, header.end - CHECKSUM_SIZE
    for chunk in chunks(source, header.position, end):
        computed = checksum(chunk, computed)
    return int.from_bytes(source.window(end, header.end), "little"), computed
