"""Events into the packets in which a server sends its binary log, and out of them."""

from enum import IntEnum

from typing_extensions import Buffer

class PacketStop(IntEnum):
    """Why a stream returned to Python."""

    PACKET_MORE = 0
    PACKET_FULL = 1
    PACKET_SPECIAL = 2

class PacketStream:
    """The packets of one binlog dump.

    Attributes:
        made: bytes of events unwrapped so far.
        asked_at: value of ``made`` at the end of the last event for which the server requests an
            acknowledgement; -1 if there was none.
    """

    made: int
    asked_at: int

    def __init__(self, semi_sync: bool) -> None:
        """Begin at the first packet.

        Args:
            semi_sync: whether events have the semi-synchronous replication header.
        """

    def unpack(self, received: Buffer, out: Buffer) -> tuple[int, int, int]:
        """Unwrap the file's events from their packets.

        Args:
            received: bytes from the server that are not consumed yet.
            out: receives the events in order; it may end within an event.

        Returns:
            Bytes consumed, bytes written, and a :class:`PacketStop`: more bytes are needed, ``out`` is
            full, or the next packet is a special one.

        Raises:
            DamagedError: packets and events are inconsistent.
        """

    def special(self, received: Buffer) -> bytes | None:
        """Return the packet at which :meth:`unpack` stopped, from its status on; None if it is not whole.

        It is an error, the log's end, a format description, or an artificial event that is in no file.

        Raises:
            DamagedError: the packet is out of sequence, or too large.
        """

def wrap_events(
    events: Buffer, out: Buffer, sequence: int, verify: bool, origin: int
) -> tuple[int, int, int]:
    """Wrap events into packets, as long as they are whole, fit, and take one packet each.

    Args:
        events: bytes of a log, from an event on.
        out: receives the packets.
        sequence: number of the first packet.
        verify: whether the events end in a CRC32, which is verified.
        origin: offset of ``events`` in the log, for errors.

    Returns:
        Bytes consumed, bytes written, and the number of the next packet.

    Raises:
        DamagedError: a size is none that an event has, or a CRC32 does not match.
    """
