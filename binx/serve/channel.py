"""A client's connection in packets, and the answers that a server gives in them.

Source: MySQL's "Client/Server Protocol": basic packets, generic responses, text result sets.
"""

from __future__ import annotations

import select
import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress

from binx.errors import ConnectionLostError, DamagedError
from binx.event.gtid.encode import encode_packed

PACKET_MAXIMUM = 0xFFFFFF
"""Bytes of a packet's payload; a longer message takes several, the last of which is shorter."""

_MESSAGE_MAXIMUM = 16 << 20
"""Bytes of a client's message: a GTID set of a million intervals."""

_HEADER_SIZE = 4
_STATUS = (2).to_bytes(2, "little")
"""Autocommit, as servers say it of a session that has begun no transaction."""
_NO_WARNINGS = bytes(2)
_OK, _EOF, _ERROR = b"\0", b"\xfe", b"\xff"
_UTF8, _TEXT_TYPE, _LONGEST = 33, 253, 1024
_NULL = b"\xfb"


class Channel:
    """Packets over a socket; a message's number goes on from the one that it answers.

    Args:
        peer: the client's name in messages.

    Attributes:
        sequence: number of the next packet.
        is_sending: whether a dump has begun.
    """

    def __init__(self, connected: socket.socket, peer: str) -> None:
        self.peer = peer
        self.sequence = 0
        self.is_sending = False
        self._socket = connected

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection uses TLS."""
        return isinstance(self._socket, ssl.SSLSocket)

    def encrypt(self, context: ssl.SSLContext) -> None:
        """Go on with TLS, as the client has asked."""
        try:
            self._socket = context.wrap_socket(self._socket, server_side=True)
        except OSError as error:
            raise self._lost(f"TLS was not agreed on: {error}") from error

    def set_timeout(self, seconds: float) -> None:
        """Set how long to wait for the client, to send or to take."""
        self._socket.settimeout(seconds)

    def receive(self, most: int = _MESSAGE_MAXIMUM) -> bytes:
        """Return the client's next message.

        Args:
            most: bytes that it may have.

        Raises:
            ConnectionLostError: the client has gone, or is silent.
            DamagedError: the message is larger than any that a replica sends.
        """
        message = bytearray()
        while True:
            head = self._take(_HEADER_SIZE)
            size = int.from_bytes(head[:3], "little")
            if len(message) + size > most:
                raise DamagedError(f"expected a message of at most {most:,} bytes, found a longer one")
            self.sequence = (head[3] + 1) % 256
            message += self._take(size)
            if size < PACKET_MAXIMUM:
                return bytes(message)

    def send(self, *messages: bytes) -> None:
        """Send messages, each in as many packets as it takes."""
        packets = bytearray()
        for message in messages:
            start = 0
            while True:
                payload = message[start : start + PACKET_MAXIMUM]
                packets += self.packet_header(len(payload)) + payload
                start += PACKET_MAXIMUM
                if len(payload) < PACKET_MAXIMUM:
                    break
        self.send_packets(packets)

    def packet_header(self, size: int) -> bytes:
        """Return the header of the next packet."""
        header = size.to_bytes(3, "little") + bytes([self.sequence])
        self.sequence = (self.sequence + 1) % 256
        return header

    def send_packets(self, packets: bytes | bytearray | memoryview) -> None:
        """Send packets that are complete."""
        try:
            self._socket.sendall(packets)
        except OSError as error:
            raise self._lost(str(error)) from error

    def send_ok(self) -> None:
        """Say that a request was carried out."""
        self.send(_OK + bytes(2) + _STATUS + _NO_WARNINGS)

    def send_end(self) -> None:
        """Say that nothing follows: of a dump, that the log has ended."""
        self.send(_EOF + _NO_WARNINGS + _STATUS)

    def send_error(self, number: int, state: str, text: str) -> None:
        """Reject a request."""
        self.send(
            _ERROR + number.to_bytes(2, "little") + b"#" + state.encode() + text.encode("utf-8", "replace")
        )

    def send_rows(self, names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> None:
        """Send a table of texts; None is NULL."""
        end = _EOF + _NO_WARNINGS + _STATUS
        columns = [_column(name) for name in names]
        lines = [b"".join(map(_value, row)) for row in rows]
        self.send(encode_packed(len(names)), *columns, end, *lines, end)

    def wait(self, seconds: float) -> bool:
        """Wait until the client says something or has closed the connection; return whether it has.

        Raises:
            ConnectionLostError: the connection broke, so that what was sent last may not have arrived.
        """
        pending = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()
        try:
            if not pending and not select.select([self._socket], [], [], seconds)[0]:
                return False
            # A replica says nothing during a dump but acknowledgements that nobody asked for.
            return not self._socket.recv(_LONGEST)
        except (OSError, ValueError) as error:
            raise self._lost(str(error)) from error

    def close(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()

    def _take(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self._socket.recv(size - len(data))
            except OSError as error:
                raise self._lost(str(error)) from error
            if not part:
                raise self._lost("the client closed the connection")
            data += part
        return bytes(data)

    def _lost(self, reason: str) -> ConnectionLostError:
        return ConnectionLostError(reason, server=self.peer)


def _text(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return encode_packed(len(data)) + data


def _value(value: str | None) -> bytes:
    return _NULL if value is None else _text(value)


def _column(name: str) -> bytes:
    """Describe a column of texts."""
    fixed = _UTF8.to_bytes(2, "little") + _LONGEST.to_bytes(4, "little") + bytes([_TEXT_TYPE]) + bytes(5)
    return _text("def") + 3 * _text("") + 2 * _text(name) + bytes([len(fixed)]) + fixed
