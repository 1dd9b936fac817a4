"""TRANSACTION_PAYLOAD events, which hold a transaction's events compressed.

Sources: MySQL's libs/mysql/binlog/event/codecs/binary.cpp
(``Transaction_payload``), compression/base.h; WL#3549.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import cache
from threading import local
from typing import IO, NamedTuple, cast

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event.format import FormatDescription
from binx.event.header import HEADER_SIZE, LARGEST_EVENT, EventHeader, EventType
from binx.kernels.walk.framing import OpenedPayloads, payload_fields, small_payloads
from binx.kernels.walk.framing import whole_events as count_whole_events

_CHUNK_SIZE = 1 << 20
_MAX_WINDOW = 1 << 27
"""The largest window that zstd's decoder accepts by default; servers' compression levels use less."""


class Compression(IntEnum):
    """A payload's compression type."""

    ZSTD = 0
    NONE = 255


_COMPRESSIONS = {compression.value: compression for compression in Compression}


class StoredBytes(NamedTuple):
    """Bytes in a file that are read on demand.

    Attributes:
        pieces: returns a new iterator over the bytes, in pieces.
    """

    size: int
    pieces: Callable[[], Iterator[memoryview]]


class TransactionPayload(NamedTuple):
    """The events of a transaction from after its GTID event to its end.

    The inner events have no checksums, and the positions in their headers are meaningless.

    Attributes:
        uncompressed_size: bytes of the inner events according to the event; None if it does not record it.
        payload: the compressed bytes; of a large payload, only the first.
        rest: the remaining compressed bytes; None if there are none.
    """

    compression: Compression
    uncompressed_size: int | None
    payload: memoryview
    position: int
    rest: StoredBytes | None = None

    @property
    def compressed_size(self) -> int:
        """Number of compressed bytes."""
        return len(self.payload) + (0 if self.rest is None else self.rest.size)

    def pieces(self) -> Iterator[memoryview]:
        """Yield the compressed bytes in pieces."""
        for pieces in ((self.payload,), () if self.rest is None else self.rest.pieces()):
            for piece in pieces:
                for start in range(0, len(piece), _CHUNK_SIZE):
                    yield piece[start : start + _CHUNK_SIZE]


def parse_transaction_payload(
    body: memoryview,
    header: EventHeader,
    description: FormatDescription,
    rest: StoredBytes | None = None,
) -> TransactionPayload:
    """Read TRANSACTION_PAYLOAD.

    Args:
        body: the event's bytes between header and checksum; for a large event only the first of them, which
            must include the fields before the compressed bytes.
        header: the event's header.
        description: the file's format description.
        rest: the bytes of the body that are not in ``body``.

    Raises:
        DamagedError: the body is truncated, or the payload's size differs from its size field.
        UnsupportedError: an unknown compression type.
    """
    try:
        begin, size, compression, uncompressed = payload_fields(body, header.position + HEADER_SIZE)
    except BinxError as error:
        raise error.at(event=header.name) from None
    known = Compression.NONE if compression is None else _COMPRESSIONS.get(compression)
    if known is None:
        raise UnsupportedError(
            f"expected the compression 0 (zstd) or 255 (none), found {compression}; a newer server wrote"
            " this event",
            offset=header.position,
            event=header.name,
        )
    actual = len(body) - begin + (0 if rest is None else rest.size)
    if size is None or size != actual:
        raise DamagedError(
            f"expected a payload of {size} bytes, found {actual}", offset=header.position, event=header.name
        )
    return TransactionPayload(known, uncompressed, body[begin:], header.position, rest)


def open_payload(payload: TransactionPayload) -> Iterator[memoryview]:
    """Yield the inner events' bytes in pieces of at most a megabyte.

    Memory is bounded by a piece and zstd's window. A piece may end inside an event.
    """
    total = 0
    for chunk in _chunks(payload):
        total += len(chunk)
        _check_size(payload, total, at_end=False)
        yield chunk
    _check_size(payload, total, at_end=True)


def whole_events(payload: TransactionPayload) -> Iterator[memoryview]:
    """Yield the inner events in pieces of one or more whole events, of about a megabyte.

    Memory is bounded by the largest event; each event's size is checked against the payload's size and the
    largest event that servers write before it is read.
    """
    at_once = _at_once(payload)
    if at_once is not None and count_whole_events(at_once)[0] == len(at_once):
        yield memoryview(at_once)
        return
    pending = bytearray()
    left = LARGEST_EVENT if payload.uncompressed_size is None else payload.uncompressed_size
    for chunk in open_payload(payload):
        pending += chunk
        ready, claimed = count_whole_events(pending)
        if payload.uncompressed_size is not None:
            left -= ready
        if len(pending) - ready >= HEADER_SIZE and not HEADER_SIZE <= claimed <= min(left, LARGEST_EVENT):
            raise _damaged(
                payload,
                f"expected events within the {left} bytes that are left of the compressed payload,"
                f" found one that claims {claimed}",
            )
        if ready:
            events, pending = pending, pending[ready:]
            yield memoryview(events)[:ready]
    if pending:
        raise _damaged(
            payload,
            f"expected whole events in the compressed payload, found {len(pending)} bytes after the last one",
        )


def open_small_payloads(
    window: memoryview, origin: int, position: int, checksum_size: int
) -> tuple[OpenedPayloads, int]:
    """Decompress the small payloads in a window together, from an event on, up to a megabyte of events.

    Args:
        window: bytes of the log.
        origin: offset in the log of the window's first byte.
        position: offset in the log of an event.
        checksum_size: bytes of an event's checksum.

    Returns:
        What could be decompressed so, and the offset of the last payload event that was tried. Nothing is if
        one of them is damaged: each by itself says what is wrong.
    """
    positions, segments, sizes = small_payloads(window, origin, position, checksum_size, _CHUNK_SIZE)
    if not positions:
        return OpenedPayloads(b"", []), position
    import zstandard

    try:
        compressed = zstandard.BufferWithSegments(window, segments)
        segmented = _decompressor().decompress_all(compressed, decompressed_sizes=sizes, threads=0)
    except zstandard.ZstdError:
        opened = OpenedPayloads(b"", [])
    else:
        opened = OpenedPayloads(positions, [segmented[number] for number in range(len(segmented))])
    return opened, int.from_bytes(positions[-8:], sys.byteorder)


def in_event(error: BinxError, position: int, event: str = EventType.TRANSACTION_PAYLOAD.name) -> None:
    """Make an error in decompressed bytes refer to the event that contains them.

    Decompressed bytes have no offset in the file, so the error gets the offset of the outer event; the
    message names the inner event.

    Args:
        position: the outer event's offset in the file.
        event: the name of its type.
    """
    inner, error.event, error.offset = error.event, event, position
    if inner not in (None, event):
        error.args = (f"in a {inner} event that it holds: {error.message}",)
        error.message = error.args[0]


class errors_at_event:  # noqa: N801
    """Make errors in decompressed bytes refer to the event that contains them, see :func:`in_event`."""

    __slots__ = ("_event", "_position")

    def __init__(self, position: int, event: str = EventType.TRANSACTION_PAYLOAD.name) -> None:
        self._position = position
        self._event = event

    def __enter__(self) -> None:
        """Errors from here on are of the event."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        """Complete an error."""
        if isinstance(error, BinxError):
            in_event(error, self._position, self._event)


class PayloadCache:
    """A cache of decompressed payloads, which are read twice: first by a scan, then for their rows.

    Args:
        limit: maximum bytes to cache; a payload that does not fit is decompressed again.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cached_bytes = 0
        self._cached: dict[int, tuple[list[memoryview], int]] = {}
        self._opened: deque[OpenedPayloads] = deque()

    def add(self, opened: OpenedPayloads) -> None:
        """Cache small payloads, if they fit; they follow those that were added before."""
        if self._cached_bytes + len(opened) <= self._limit:
            self._opened.append(opened)
            self._cached_bytes += len(opened)

    def opened(self, position: int) -> OpenedPayloads | None:
        """Return the small payloads among which the one at an offset is, and drop those before them."""
        while self._opened and self._opened[0].last < position:
            self._cached_bytes -= len(self._opened.popleft())
        if self._opened and self._opened[0].at(position) is not None:
            return self._opened[0]
        return None

    def first(self, payload: TransactionPayload) -> Iterator[memoryview]:
        """Yield the events as :func:`whole_events` does, and cache them once all are consumed."""
        size = payload.uncompressed_size
        if size is None or self._cached_bytes + size > self._limit:
            yield from whole_events(payload)
            return
        pieces = []
        for events in whole_events(payload):
            pieces.append(events)
            yield events
        self._cached[payload.position] = pieces, size
        self._cached_bytes += size

    def again(self, position: int, payload: Callable[[], TransactionPayload]) -> Iterator[memoryview]:
        """Yield the same events and drop them from the cache, each piece when the next is requested.

        Args:
            position: the payload event's offset in the file.
            payload: returns the payload, if it is not cached.
        """
        if position not in self._cached:
            yield from whole_events(payload())
            return
        pieces, size = self._cached.pop(position)
        self._cached_bytes -= size
        pieces.reverse()
        while pieces:
            yield pieces.pop()

    def clear(self) -> None:
        """Drop all cached payloads."""
        self._cached.clear()
        self._opened.clear()
        self._cached_bytes = 0


class _Decompressor(local):
    """A thread's decompressor: to make one for each of a million small payloads takes as long as they do."""

    def __init__(self) -> None:
        import zstandard

        decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
        self.decompress = decompressor.decompress
        self.decompress_all = decompressor.multi_decompress_to_buffer


@cache
def _decompressor() -> _Decompressor:
    return _Decompressor()


def _at_once(payload: TransactionPayload) -> bytes | None:
    """Return the events of a small payload; None if it is large, or its stream is not as it claims."""
    size = payload.uncompressed_size
    if payload.compression is not Compression.ZSTD or payload.rest or size is None or size > _CHUNK_SIZE:
        return None
    import zstandard

    try:
        if zstandard.frame_content_size(payload.payload) > size:
            return None
        events: bytes = _decompressor().decompress(
            payload.payload, max_output_size=size, allow_extra_data=False
        )
    except zstandard.ZstdError:
        return None
    return events if len(events) == size else None


def _chunks(payload: TransactionPayload) -> Iterator[memoryview]:
    if payload.compression is Compression.NONE:
        yield from payload.pieces()
        return
    import zstandard

    decompressor = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW)
    try:
        stored = cast("IO[bytes]", _CompressedFile(payload)) if payload.rest else payload.payload
        with decompressor.stream_reader(stored, read_across_frames=True, closefd=False) as stream:
            while chunk := stream.read(_CHUNK_SIZE):
                yield memoryview(chunk)
    except zstandard.ZstdError as error:
        raise _damaged(payload, f"expected a zstd stream, found something else: {error}") from None


class _CompressedFile:
    """A file-like object over the compressed bytes, for zstd's reader."""

    def __init__(self, payload: TransactionPayload) -> None:
        self._pieces = payload.pieces()
        self._piece = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes; none at the end."""
        if not self._piece:
            self._piece = next(self._pieces, memoryview(b""))
        taken, self._piece = self._piece[:size], self._piece[size:]
        return bytes(taken)


def _check_size(payload: TransactionPayload, total: int, *, at_end: bool) -> None:
    claimed = payload.uncompressed_size
    if claimed is not None and (total > claimed or (at_end and total < claimed)):
        raise _damaged(payload, f"expected {claimed} bytes after decompression, found {total}")


def _damaged(payload: TransactionPayload, message: str) -> DamagedError:
    return DamagedError(message, offset=payload.position, event=EventType.TRANSACTION_PAYLOAD.name)
