"""What a server sends of its log, made of a log on disk as MySQL's documentation of the protocol has it."""

from __future__ import annotations

import socket
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Thread
from types import SimpleNamespace, TracebackType
from typing import Any, Self, cast

from binx.pull.server import Server

PACKET_MAXIMUM = 0xFFFFFF
MAGIC_SIZE = 4


def events_of(log: bytes) -> Iterator[bytes]:
    """A log's events."""
    at = MAGIC_SIZE
    while at < len(log):
        size = int.from_bytes(log[at + 9 : at + 13], "little")
        yield log[at : at + size]
        at += size


def event(number: int, body: bytes, position: int = 0, flags: int = 0) -> bytes:
    """An event with a checksum."""
    size = 19 + len(body) + 4
    head = bytes(4) + bytes([number]) + (97).to_bytes(4, "little") + size.to_bytes(4, "little")
    content = head + (position & 0xFFFFFFFF).to_bytes(4, "little") + flags.to_bytes(2, "little") + body
    return content + zlib.crc32(content).to_bytes(4, "little")


def rotate(name: str, position: int = MAGIC_SIZE) -> bytes:
    """The event by which a server tells which log it sends next."""
    return event(4, position.to_bytes(8, "little") + name.encode(), flags=0x20)


def heartbeat(name: str, position: int) -> bytes:
    """The event by which a server shows that it is there."""
    return event(27, name.encode(), position)


@dataclass(slots=True)
class Wire:
    """Packets, numbered as a server does."""

    semi_sync: bool = False
    data: bytearray = field(default_factory=bytearray)
    _number: int = 1

    def send(self, event: bytes, *, asks: bool = False) -> Self:
        """Send an event."""
        return self.packet(b"\0" + (bytes([0xEF, asks]) if self.semi_sync else b"") + event, asks=asks)

    def packet(self, payload: bytes, *, asks: bool = False) -> Self:
        """Send any packet, in as many parts as it takes."""
        while True:
            chunk, payload = payload[:PACKET_MAXIMUM], payload[PACKET_MAXIMUM:]
            self.data += len(chunk).to_bytes(3, "little") + bytes([self._number]) + chunk
            self._number = (self._number + 1) % 256
            if len(chunk) < PACKET_MAXIMUM:
                break
        if asks:
            self._number = 1
        return self

    def log(self, name: str, log: bytes, start: int = MAGIC_SIZE) -> Self:
        """Send a log from an event on, as a server does."""
        self.send(rotate(name, start))
        for index, event in enumerate(events_of(log)):
            if index == 0 and start > MAGIC_SIZE:
                self.send(without_beginning(event))
            elif (end := int.from_bytes(event[13:17], "little")) > start or index == 0:
                assert end
                self.send(event)
        return self


def without_beginning(format_event: bytes) -> bytes:
    """A format description as it comes in front of a log's middle."""
    event = bytearray(format_event)
    event[13:17] = event[71:75] = bytes(4)
    event[-4:] = zlib.crc32(event[:-4]).to_bytes(4, "little")
    return bytes(event)


class Sender:
    """A server that sends what was made ready, and then is silent until it is asked no more."""

    def __init__(self, data: bytes, *, ends: bool = False) -> None:
        self._client_end, self._server_end = socket.socketpair()
        self.heard = b""

        def send() -> None:
            try:
                self._server_end.sendall(data)
                if ends:
                    self._server_end.shutdown(socket.SHUT_WR)
                while more := self._server_end.recv(1 << 16):
                    self.heard += more
            except OSError:
                pass

        self._thread = Thread(target=send)

    @property
    def server(self) -> Server:
        """What a transfer knows of it."""
        facts = SimpleNamespace(checksums=True)
        return cast(Server, cast(Any, SimpleNamespace(socket=self._client_end, name="db1:3306", facts=facts)))

    def __enter__(self) -> Self:
        """Begin to send."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop."""
        self._client_end.close()
        self._server_end.close() if not self._thread.is_alive() else None
        self._thread.join()
        self._server_end.close()
