"""Copy runs of events into a new binary log with new positions and checksums."""

from enum import IntEnum

from typing_extensions import Buffer

class Pause(IntEnum):
    """Why the copying stopped."""

    PAUSE_DONE = 0
    """The run's end is reached."""
    PAUSE_WINDOW = 1
    """A window that begins at ``position`` is needed."""
    PAUSE_FULL = 2
    """The buffer has to be emptied."""
    PAUSE_GTID = 3
    """The GTID event at ``position`` has to be written by Python."""
    PAUSE_CONTROL = 4
    """The event at ``position`` is about the source file and has to be passed over."""

class Rewriter:
    """Writes one binary log out of runs of others' events.

    Attributes:
        position: offset in the source of the next byte to copy.
        written: bytes put into the buffer so far: unless verbatim, the offset in the output of the next byte.
        events: number of events written so far.
        renumbered: transactions whose logical clock was written again so far.
    """

    position: int
    written: int
    events: int
    renumbered: int

    def __init__(self, capacity: int, checksum_size: int, verbatim: bool, serial: bool, verify: bool) -> None:
        """Begin an empty log.

        Args:
            capacity: bytes of the buffer.
            checksum_size: bytes of the checksum that each written event ends in: 4 or 0.
            verbatim: only look at the events that are fed: whole, and with right checksums. The caller writes
                the window's bytes up to ``position``, as they are.
            serial: number the transactions again, each waiting for the one before it.
            verify: whether the checksum of every event that is copied is compared.
        """

    def begin_source(self, checksum_size: int, zero_positions_stay: bool) -> None:
        """Say how the events to come are written.

        Args:
            checksum_size: bytes of the checksum that each event ends in: 4 or 0.
            zero_positions_stay: whether a header's position of 0 is written as 0, as MariaDB 11.4 and later
                do inside transactions.
        """

    def seek(self, position: int) -> None:
        """Go to where an event of the source begins."""

    def pending(self) -> memoryview:
        """What is written and not yet taken; valid until the next call that writes."""

    def clear(self) -> None:
        """Say that the pending bytes are taken."""

    def next_sequence_number(self) -> int:
        """Count a transaction whose GTID event Python writes, and return its number."""

    def put_bytes(self, data: Buffer) -> None:
        """Write bytes as they are."""

    def put_event(self, event: Buffer, checksum_size: int) -> None:
        """Write an event that comes without a checksum.

        Args:
            event: header and body; the header's size and position are filled in.
            checksum_size: bytes of the checksum to append: 4 or 0.
        """

    def feed(self, window: Buffer, origin: int, stop: int, hold_gtids: bool) -> Pause:
        """Copy events from ``position`` up to ``stop``.

        Args:
            window: the source's bytes from ``origin`` on; it must hold the byte at ``position``.
            origin: offset in the source of the window's first byte.
            stop: offset at which the last event to copy ends.
            hold_gtids: pause before each GTID event, so that Python writes it.

        Raises:
            DamagedError: an event is too short, reaches beyond ``stop``, or would be too large for its
                header.
            ChecksumError: an event's bytes are not those that its checksum was made of.
        """

def measure(
    window: Buffer, origin: int, position: int, stop: int, checksum_size: int
) -> tuple[int, int, int]:
    """Add up events from ``position`` to ``stop`` by their headers, as far as the window goes.

    Events about the file itself are passed over.

    Args:
        window: the source's bytes from ``origin`` on.
        origin: offset in the source of the window's first byte.
        position: where to begin.
        stop: where the last event ends.
        checksum_size: bytes of the checksum that each event ends in.

    Returns:
        Where to go on (``stop`` at the end), the events, and their bytes without checksums.

    Raises:
        DamagedError: an event is too short or reaches beyond ``stop``.
    """
