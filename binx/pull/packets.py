"""Receive a dump from a non-blocking socket: events of the log file, and other packets.

The kernel unpacks events into one buffer, in which :class:`DumpPackets` keeps what is not checked yet. Memory
is bounded: the rest stays in the socket.
"""

from __future__ import annotations

import select
import socket
import ssl
from typing import NamedTuple

from binx.errors import ConnectionLostError, DamagedError
from binx.event.format import CHECKSUM_SIZE
from binx.event.header import HEADER_SIZE, EventHeader, EventType, parse_header
from binx.kernels.crc32 import checksum
from binx.kernels.packets import PacketStop, PacketStream
from binx.pull.connection import server_error

HEARTBEATS = (EventType.HEARTBEAT, EventType.HEARTBEAT_V2)

_RECEIVED_BYTES = 1 << 20
_EVENTS_BYTES = 4 << 20
_OK, _END, _ERROR = 0x00, 0xFE, 0xFF
_END_SIZE = 9
_STATE_SIZE = 6
_SEMI_SYNC_HEADER = 2
_ACKNOWLEDGEMENT = 0xEF
_NOT_READY = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class SpecialEvent(NamedTuple):
    """An event that is not in a log file, or begins one, with all its bytes."""

    header: EventHeader
    data: bytes

    def body(self, *, checksums: bool) -> memoryview:
        """Return the bytes between header and checksum.

        Before the first format description the presence of a checksum is not known: four last bytes that
        match are taken for one.

        Raises:
            DamagedError: there must be a checksum (``checksums``), and it is wrong.
        """
        view = memoryview(self.data)
        stored = int.from_bytes(view[-CHECKSUM_SIZE:], "little")
        if checksum(view[:-CHECKSUM_SIZE]) == stored:
            return view[HEADER_SIZE:-CHECKSUM_SIZE]
        if checksums:
            raise DamagedError("expected the CRC32 of an event, found another", event=self.header.name)
        return view[HEADER_SIZE:]


class DumpPackets:
    """The packets of one dump.

    Args:
        channel: the connection's socket; the dump's first packet is the next one.
        server: the server's name in messages.
        semi_sync: whether it requests acknowledgements.

    Attributes:
        bytes: number of bytes received from the socket.
    """

    def __init__(self, channel: socket.socket, server: str, *, semi_sync: bool) -> None:
        channel.setblocking(False)
        self.bytes = 0
        self._channel = channel
        self._server = server
        self._prefix = 1 + (_SEMI_SYNC_HEADER if semi_sync else 0)
        self._stream = PacketStream(semi_sync)
        self._received = memoryview(bytearray(_RECEIVED_BYTES))
        self._used = self._filled = 0
        self._events = memoryview(bytearray(_EVENTS_BYTES))
        self._start = self._end = 0

    def receive(self) -> bool:
        """Read what is available on the socket; return False if nothing is.

        Raises:
            DamagedError: the next packet is larger than any special one.
        """
        if self._used:
            left = self._filled - self._used
            self._received[:left] = self._received[self._used : self._filled]
            self._used, self._filled = 0, left
        if self._filled == len(self._received):
            raise DamagedError("expected a small packet, found one of more than 1 MiB")
        try:
            count = self._channel.recv_into(self._received[self._filled :])
        except _NOT_READY:
            return False
        except OSError as error:
            raise ConnectionLostError(f"the connection failed: {error}", server=self._server) from error
        if count == 0:
            raise ConnectionLostError("the server closed the connection", server=self._server)
        self._filled += count
        self.bytes += count
        return True

    def wait(self, seconds: float) -> None:
        """Wait until the socket may be readable."""
        select.select([self._channel], [], [], seconds)

    def unpack(self) -> SpecialEvent | bool:
        """Append received events to :attr:`window`.

        Returns:
            A special event that follows those; else whether to call again once the window is emptied.
        """
        if self._start:
            left = self._end - self._start
            self._events[:left] = self._events[self._start : self._end]
            self._start, self._end = 0, left
        used, written, stop = self._stream.unpack(
            self._received[self._used : self._filled], self._events[self._end :]
        )
        self._used += used
        self._end += written
        if stop != PacketStop.PACKET_SPECIAL:
            return stop == PacketStop.PACKET_FULL
        if self._end > self._start:
            # The events before it come first.
            return True
        packet = self._stream.special(self._received[self._used : self._filled])
        if packet is None:
            return False
        self._used += 4 + len(packet)
        return self._special(packet)

    @property
    def window(self) -> memoryview:
        """Bytes of the file's events not taken yet; the last event may be incomplete."""
        return self._events[self._start : self._end]

    def take(self, count: int) -> None:
        """Skip the first bytes of the window."""
        self._start += count

    @property
    def wants_acknowledgement(self) -> bool:
        """Whether the server requested an acknowledgement for one of the events taken."""
        return 0 <= self._stream.asked_at <= self._stream.made - (self._end - self._start)

    def acknowledge(self, log: str, position: int) -> None:
        """Acknowledge to the server that everything up to a position is on disk.

        Source: MySQL's plugin/semisync/semisync_replica.cc (``slaveReply``).
        """
        self._stream.asked_at = -1
        body = bytes([_ACKNOWLEDGEMENT]) + position.to_bytes(8, "little")
        body += log.encode("utf-8", "surrogateescape")
        left = memoryview(len(body).to_bytes(3, "little") + b"\0" + body)
        while left:
            try:
                left = left[self._channel.send(left) :]
            except _NOT_READY:
                select.select([], [self._channel], [], 1)
            except OSError as error:
                raise ConnectionLostError(f"the connection failed: {error}", server=self._server) from error

    def _special(self, packet: bytes) -> SpecialEvent:
        status = packet[0] if packet else _OK
        if status == _ERROR and packet[3:4] == b"#":
            text = packet[3 + _STATE_SIZE :].decode("utf-8", "backslashreplace")
            raise server_error(int.from_bytes(packet[1:3], "little"), text, self._server)
        if status == _END and len(packet) < _END_SIZE:
            raise ConnectionLostError("the server ended the dump", server=self._server)
        data = packet[self._prefix :]
        if status != _OK or len(data) < HEADER_SIZE:
            raise DamagedError("expected an event or an error, found neither")
        header = parse_header(data, 0)
        if header.size != len(data):
            raise DamagedError(
                f"expected an event of {len(data)} bytes, found a size of {header.size}", event=header.name
            )
        return SpecialEvent(header, data)
