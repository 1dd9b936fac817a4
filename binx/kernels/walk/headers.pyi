"""Read event headers only: iterate over a window's events, and find headers among damaged bytes."""

from enum import IntEnum

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
