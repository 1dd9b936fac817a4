"""Headers of events among bytes that are damaged: what looks like one, and whether others follow it.

The *drift* of a header is what its position says more than the offset of the event's end, modulo 2^32: 0 in a
server's own logs, and the same in all events that were moved together.
"""

from typing_extensions import Buffer

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
    has another drift, it ends with -1 events left.

    Args:
        window: the file's bytes from ``origin`` on.
        origin: offset in the file of the window's first byte.
        position: where to begin.
        file_size: bytes of the file.
        checksum_size: bytes of the checksum that each event ends in: 4 or 0.
        drift: the drift that each header must have whose position is not 0.
        events: how many to walk.
    """
