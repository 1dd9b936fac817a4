"""Events looked at one by one: a record of each, and headers of events among damaged bytes."""

from enum import IntEnum

from typing_extensions import Buffer

class EventStop(IntEnum):
    """Why a walk came back to Python."""

    EVENTS_LIMIT = 0
    EVENTS_FORMAT = 1
    EVENTS_TRUNCATED = 2
    EVENTS_END = 3
    EVENTS_PAYLOAD = 4

class EventChecksum(IntEnum):
    """What became of an event's checksum."""

    CHECKSUM_NONE = 0
    CHECKSUM_UNVERIFIED = 1
    CHECKSUM_OK = 2
    CHECKSUM_BAD = 3

EventFields = tuple[int, int | None, int, int, int, int, int, int, int, int | None, str | None, bool]
"""Of an event: position, place within the payload, type, size, position in its header, server id, timestamp,
flags, :class:`EventChecksum`, where its transaction begins, its GTID, whether it can stand where it does."""

class EventWalk:
    """A walk over a file's events that keeps a record of each; its length is the number of records kept.

    Attributes:
        position: offset of the next event.
        bad_checksums: events whose checksum is wrong.
        first_bad: offset of the first of them, -1 without.
        unexpected: events that cannot stand where they do, or whose bytes cannot be read.
        first_unexpected: offset of the first of them, -1 without.
        payload_position: offset of the payload that the walk has passed last.
        is_inside: whether a transaction is not at its end yet.
        open_transaction: where in this file it begins, -1 where there is none or it began in another.
    """

    @property
    def position(self) -> int: ...
    @property
    def bad_checksums(self) -> int: ...
    @property
    def first_bad(self) -> int: ...
    @property
    def unexpected(self) -> int: ...
    @property
    def first_unexpected(self) -> int: ...
    @property
    def payload_position(self) -> int: ...
    @property
    def is_inside(self) -> bool: ...
    @property
    def open_transaction(self) -> int: ...
    def __init__(
        self,
        file_size: int,
        position: int,
        transitions: tuple[bytes, bytes, bytes],
        wanted: bytes,
        verify: bool,
        inner: bool,
        start: int,
    ) -> None:
        """Begin a walk.

        Args:
            file_size: bytes of the file.
            position: where the format description begins.
            transitions: actions, next states and kinds of the boundary state machine.
            wanted: 256 bytes, 1 for the event types whose records are kept.
            verify: whether checksums are compared.
            inner: whether to stop behind payloads.
            start: keep no record of an event that ends at or before this offset.
        """

    def __len__(self) -> int: ...
    def taken(self, most: int) -> list[EventFields]:
        """At most so many of the records kept so far, all of which are forgotten."""

    def set_format(self, checksum_size: int, post_header: Buffer) -> None:
        """Take over from a format description the checksum's bytes and the types' post-header lengths."""

    def go_on(self, file_size: int, position: int, start: int) -> None:
        """Walk the next file, which may begin inside the transaction in which this one ends.

        Of that transaction the records of the next file have the GTID, and no offset. Problems are counted
        anew. The arguments are those of the constructor.
        """

    def take_format(self, event: Buffer, checksum: int) -> None:
        """Pass over the format description at ``position``, whose checksum Python has looked at."""

    def feed(self, window: Buffer, origin: int, limit: int) -> int:
        """Walk events until one begins at or behind ``limit``; returns an :class:`EventStop`.

        Args:
            window: the file's bytes from ``origin`` on; an event that it cuts is left for the next window.
            origin: offset in the file of the window's first byte.
            limit: offset in the file.

        Raises:
            DamagedError: a size that no event has; the records of the events before stay.
            UnsupportedError: what follows is encrypted.
        """

    def vouch(self, stored: int, found: int) -> None:
        """Have the payload event at ``position`` taken by its beginning: all of it was read piece by piece.

        Args:
            stored: the checksum behind it.
            found: that of its bytes; where the walk does not verify, both may be 0.
        """

    def feed_inner(self, events: Buffer) -> None:
        """Keep records of whole events of the payload that the walk has passed last.

        Raises:
            DamagedError: a size that no event has.
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
