"""TRANSACTION_PAYLOAD events, which hold a transaction's events compressed.

Sources: MySQL's libs/mysql/binlog/event/codecs/binary.cpp
(``Transaction_payload``), compression/base.h; WL#3549.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import IO, NamedTuple, cast

from binx.errors import BinxError, DamagedError, UnsupportedError
from binx.event.format import FormatDescription
from binx.event.header import HEADER_SIZE, LARGEST_EVENT, EventHeader, EventType
from binx.event.reader import Reader, body_reader
from binx.kernels.walk.scan import whole_events as count_whole_events

_CHUNK_SIZE = 1 << 20
_END = 0
_PAYLOAD_SIZE = 1
_COMPRESSION = 2
_UNCOMPRESSED_SIZE = 3
_MAX_WINDOW = 1 << 27
"""The largest window that zstd's decoder accepts by default; servers' compression levels use less."""


class Compression(IntEnum):
    """A payload's compression type."""

    ZSTD = 0
    NONE = 255


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
    reader = body_reader(body, header)
    size = uncompressed = None
    compression = Compression.NONE
    while (field := reader.packed()) != _END:
        value = reader.slice(reader.packed())
        if field == _PAYLOAD_SIZE:
            size = value.packed()
        elif field == _COMPRESSION:
            compression = _compression(value.packed(), reader)
        elif field == _UNCOMPRESSED_SIZE:
            uncompressed = value.packed()
    actual = reader.remaining + (0 if rest is None else rest.size)
    if size is None or size != actual:
        raise reader.damaged(f"expected a payload of {size} bytes, found {actual}")
    return TransactionPayload(compression, uncompressed, reader.rest(), header.position, rest)


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


@contextmanager
def errors_at_event(position: int, event: str = EventType.TRANSACTION_PAYLOAD.name) -> Iterator[None]:
    """Make errors in decompressed bytes refer to the event that contains them.

    Decompressed bytes have no offset in the file, so errors get the offset of the outer event; the message
    names the inner event.

    Args:
        position: the outer event's offset in the file.
        event: the name of its type.
    """
    try:
        yield
    except BinxError as error:
        inner, error.event, error.offset = error.event, event, position
        if inner not in (None, event):
            error.args = (f"in a {inner} event that it holds: {error.message}",)
            error.message = error.args[0]
        raise


class PayloadCache:
    """A cache of decompressed payloads, which are read twice: first by a scan, then for their rows.

    Args:
        limit: maximum bytes to cache; a payload that does not fit is decompressed again.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._cached_bytes = 0
        self._cached: dict[int, list[memoryview]] = {}

    def first(self, payload: TransactionPayload) -> Iterator[memoryview]:
        """Yield the events as :func:`whole_events` does, and cache them once all are consumed."""
        size = payload.uncompressed_size
        fits = size is not None and self._cached_bytes + size <= self._limit
        pieces = []
        for events in whole_events(payload):
            if fits:
                pieces.append(events)
            yield events
        if fits:
            self._cached[payload.position] = pieces
            self._cached_bytes += size or 0

    def again(self, payload: TransactionPayload) -> Iterator[memoryview]:
        """Yield the same events and drop them from the cache, each piece when the next is requested."""
        pieces = self._cached.pop(payload.position, None)
        if pieces is None:
            yield from whole_events(payload)
            return
        self._cached_bytes -= payload.uncompressed_size or 0
        pieces.reverse()
        while pieces:
            yield pieces.pop()

    def clear(self) -> None:
        """Drop all cached payloads."""
        self._cached.clear()
        self._cached_bytes = 0


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


def _compression(number: int, reader: Reader) -> Compression:
    try:
        return Compression(number)
    except ValueError:
        raise UnsupportedError(
            f"expected the compression 0 (zstd) or 255 (none), found {number}; "
            "a newer server wrote this event",
            offset=reader.position,
            event=EventType.TRANSACTION_PAYLOAD.name,
        ) from None
