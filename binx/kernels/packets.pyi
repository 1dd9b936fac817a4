"""Unwrap events from the packets in which a server sends its binary log."""

from enum import IntEnum

from typing_extensions import Buffer

class PacketStop(IntEnum):
    """Why a stream came back to Python."""

    PACKET_MORE = 0
    PACKET_FULL = 1
    PACKET_SPECIAL = 2

class PacketStream:
    """What one dump of a server's log sends, as it arrives.

    Attributes:
        made: bytes of events that were taken off their packets so far.
        asked_at: how many these were at the end of the last event that the server wants acknowledged; -1
            where there was none.
    """

    made: int
    asked_at: int

    def __init__(self, semi_sync: bool) -> None:
        """Begin at the first packet.

        Args:
            semi_sync: whether events come with the header of semi-synchronous replication.
        """

    def unpack(self, received: Buffer, out: Buffer) -> tuple[int, int, int]:
        """Take the events of the file off their packets.

        Args:
            received: bytes from the server that were not used yet.
            out: takes the events, one behind the other; it may end within one.

        Returns:
            How many bytes were used and made, and a :class:`PacketStop`: more bytes are needed, ``out`` is
            full, or the next packet is a special one.

        Raises:
            DamagedError: packets and events do not fit each other.
        """

    def special(self, received: Buffer) -> bytes | None:
        """The next packet from its status on, which :meth:`unpack` stopped at; None where it is not whole.

        It is an error, the log's end, a format description, or an event that is in no file.

        Raises:
            DamagedError: it is out of turn, or too large.
        """
