"""Unwrap events from the packets in which a server sends its binary log."""

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
