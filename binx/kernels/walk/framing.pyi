"""Read event headers only: iterate over a window's events, and find headers among damaged bytes.

Payload events: their fields, the small ones ahead in a window, and the events that were in them.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from typing_extensions import Buffer

class EventChecksum(IntEnum):
    """The result of an event's checksum verification."""

    CHECKSUM_NONE = 0
    CHECKSUM_UNVERIFIED = 1
    CHECKSUM_OK = 2
    CHECKSUM_BAD = 3

class WindowStop(IntEnum):
    """Why iteration over a window's events ended."""

    WINDOW_CUTS = 0
    WINDOW_AT_FORMAT = 1
    WINDOW_TRUNCATED = 2
    WINDOW_END = 3

UNREADABLE: int
"""Replaces the class of an event whose bytes cannot be read."""

HeaderFields = tuple[int, int, int, int, int, int, int, int, int]
"""An event's position, type, size, position in its header, server id, timestamp, flags,
:class:`EventChecksum`, :class:`~binx.kernels.walk.machine.EventClass` or ``UNREADABLE``."""

def window_events(
    window: Buffer,
    origin: int,
    position: int,
    file_size: int,
    checksum_size: int,
    verify: bool,
    post_header_lengths: Buffer,
) -> tuple[list[HeaderFields], int]:
    """Return the whole events of a window from a position on, and the :class:`WindowStop` after them.

    Args:
        window: the file's bytes from ``origin`` on.
        origin: offset in the file of the window's first byte.
        position: where the first event begins.
        file_size: bytes of the file.
        checksum_size: bytes of the checksum at each event's end: 4 or 0.
        verify: whether to verify checksums.
        post_header_lengths: from the format description, that of type 1 first.

    Raises:
        DamagedError: the first event's size is invalid.
    """

def find_header(
    window: Buffer,
    origin: int,
    position: int,
    file_size: int,
    checksum_size: int,
    drift: int,
    moved: bool,
) -> int:
    """Return the first offset in a window with a plausible header of an event that fits in the file, or -1.

    Args:
        window: the file's bytes from ``origin`` on.
        origin: offset in the file of the window's first byte.
        position: where to begin.
        file_size: bytes of the file.
        checksum_size: bytes of the checksum that each event ends in: 4 or 0.
        drift: the required drift of the header.
        moved: accept any drift, but only small events that may begin a transaction.
    """

def follow_headers(
    window: Buffer,
    origin: int,
    position: int,
    file_size: int,
    checksum_size: int,
    drift: int,
    events: int,
) -> tuple[int, int]:
    """Walk from event to event by their headers; return (position, number of events left to walk).

    The walk ends after ``events`` events or at the end of the window or file. At an implausible header, or
    one with another drift, it ends with -1 events left. The arguments are those of :func:`find_header`; the
    drift applies to headers whose position is not 0.
    """

def whole_events(window: Buffer) -> tuple[int, int]:
    """Return the bytes of whole events at a window's start, and the size field of the event after them.

    The second is 0 if that event's header is truncated, and less than a header if the size is invalid.
    """

def payload_fields(body: Buffer, origin: int) -> tuple[int, int | None, int | None, int | None]:
    """Read the fields of a TRANSACTION_PAYLOAD event before its compressed bytes.

    Args:
        body: the event's bytes after its header, or the first of them.
        origin: offset in the file of the first byte.

    Returns:
        The number of bytes that the fields take; the payload's size, its compression and its size before it
        was compressed, each None if the event does not have it.

    Raises:
        DamagedError: the fields do not fit the bytes.
    """

def small_payloads(
    window: Buffer, origin: int, position: int, checksum_size: int, limit: int
) -> tuple[bytes, bytes, bytes]:
    """Find the payload events of zstd that follow an event, as far as they are whole in a window.

    Args:
        origin: offset in the file of the window's first byte.
        position: offset in the file of an event.
        limit: bytes that they may take together once they are decompressed.

    Returns:
        64-bit integers: the offset of each in the file; offset in the window and size of its compressed
        bytes; its size before it was compressed, as the event has it.
    """

class OpenedPayloads:
    """The events of payload events, decompressed together.

    Args:
        positions: offsets of the payload events in the file, ascending, as 64-bit integers.
        payloads: the events of each, as a buffer.
    """

    def __init__(self, positions: bytes, payloads: Sequence[Any]) -> None: ...
    def __len__(self) -> int:
        """Bytes of all events."""

    @property
    def last(self) -> int:
        """Offset of the last payload event; -1 if there is none."""

    def at(self, position: int) -> memoryview | None:
        """Return the events of the payload event at that offset; None if they are not here, or not whole."""
