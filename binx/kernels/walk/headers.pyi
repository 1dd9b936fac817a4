"""Read event headers only: iterate over a window's events, and find headers among damaged bytes."""

from enum import IntEnum

from typing_extensions import Buffer

class EventChecksum(IntEnum):
    """What became of an event's checksum."""

    CHECKSUM_NONE = 0
    CHECKSUM_UNVERIFIED = 1
    CHECKSUM_OK = 2
    CHECKSUM_BAD = 3

class WindowStop(IntEnum):
    """Why the events of a window are over."""

    WINDOW_CUTS = 0
    WINDOW_AT_FORMAT = 1
    WINDOW_TRUNCATED = 2
    WINDOW_END = 3

UNREADABLE: int
"""In place of the class of an event whose bytes cannot be read."""

HeaderFields = tuple[int, int, int, int, int, int, int, int, int]
"""Of an event: position, type, size, position in its header, server id, timestamp, flags,
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
    """The events that a window holds whole, from a position on, and the :class:`WindowStop` behind them.

    Args:
        window: the file's bytes from ``origin`` on.
        origin: offset in the file of the window's first byte.
        position: where the first event begins.
        file_size: bytes of the file.
        checksum_size: bytes of the checksum that each event ends in: 4 or 0.
        verify: whether checksums are compared.
        post_header_lengths: as the format description tells them, that of type 1 first.

    Raises:
        DamagedError: the first event has a size that none has.
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
    """The first offset in a window at which the header of an event stands that fits into the file, or -1.

    Args:
        window: the file's bytes from ``origin`` on.
        origin: offset in the file of the window's first byte.
        position: where to begin.
        file_size: bytes of the file.
        checksum_size: bytes of the checksum that each event ends in: 4 or 0.
        drift: what the header's drift must be.
        moved: any drift will do, and the event must be a small one that may begin a transaction.
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
    """Walk from event to event by their headers: (where the walk stands, how many events are left to walk).

    It ends where so many were walked, the window or the file is over; at an event that cannot stand there, or
    has another drift, it ends with -1 events left. The arguments are those of :func:`find_header`; the
    drift is that of each header whose position is not 0.
    """
