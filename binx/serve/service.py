"""A listening service: each connection has a thread of its own, and its own files."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from itertools import count
from threading import Event, Thread
from typing import NamedTuple

from binx.errors import BinxError, ConnectionLostError, ServerError, UsageError
from binx.pull.requests import (
    COM_BINLOG_DUMP,
    COM_BINLOG_DUMP_GTID,
    COM_REGISTER_REPLICA,
    DumpRequest,
    Registration,
)
from binx.serve.channel import Channel
from binx.serve.dump import Dump
from binx.serve.login import CACHING_SHA2, NATIVE, Entrance
from binx.serve.offer import Offer
from binx.serve.replica_statements import Session
from binx.serve.start import (
    FATAL,
    FatalError,
    parse_domains,
    start_after_domains,
    start_after_set,
    start_by_position,
)
from binx.source.wording import counted

_COM_QUIT, _COM_INIT_DB, _COM_QUERY, _COM_PING, _COM_SET_OPTION = 0x01, 0x02, 0x03, 0x0E, 0x1B
_UNKNOWN_COMMAND = (1047, "08S01", "Unknown command")
_STATE = "HY000"
_LOGIN_SECONDS, _IDLE_SECONDS, _SENDING_SECONDS = 10.0, 3600.0, 600.0
_ACCEPT_SECONDS = 0.2
_BACKLOG = 16
_NANOSECONDS = 1_000_000_000
_DIGITS = 19

CAPABILITY = 4
"""Of MariaDB, ``MARIA_SLAVE_CAPABILITY_GTID``: the replica knows all events."""


class Address(NamedTuple):
    """Where to listen."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


class Service:
    """Offers logs to replicas.

    Args:
        say: called with each event of interest, a sentence.
        once: whether dumps end at the end of the logs, and the service when one has; others that have begun
            are sent to their end.

    Raises:
        UsageError: the address cannot be listened on.
    """

    def __init__(
        self, offer: Offer, entrance: Entrance, address: Address, say: Callable[[str], None], *, once: bool
    ) -> None:
        self.stop = Event()
        self._is_served = Event()
        self._offer = offer
        self._entrance = entrance
        self._say = say
        self._once = once
        self._numbers = count(1)
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        try:
            self._listener = socket.create_server(address, family=family, backlog=_BACKLOG)
        except OSError as error:
            reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
            raise UsageError(f"cannot listen on {address}: {reason}") from error
        self._listener.settimeout(_ACCEPT_SECONDS)

    @property
    def address(self) -> Address:
        """Where it listens; the port is one that was free if 0 was asked for."""
        host, port = self._listener.getsockname()[:2]
        return Address(host, port)

    def run(self) -> None:
        """Take connections until :attr:`stop` is set, or a replica has been served, if once is enough."""
        clients: list[tuple[Thread, Channel]] = []
        with self._listener:
            while not self._ends():
                try:
                    connected, peer = self._listener.accept()
                except TimeoutError:
                    continue
                except OSError as error:
                    # Too many connections; some of them end.
                    self._say(f"a connection cannot be taken: {error.strerror or error}")
                    self.stop.wait(_ACCEPT_SECONDS)
                    continue
                connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                channel = Channel(connected, str(Address(*peer[:2])))
                thread = Thread(target=self._attend, args=(channel, next(self._numbers)), daemon=True)
                thread.start()
                clients = [client for client in clients if client[0].is_alive()] + [(thread, channel)]
        for thread, channel in clients:
            while channel.is_sending and thread.is_alive() and not self.stop.is_set():
                thread.join(_ACCEPT_SECONDS)

    def _ends(self) -> bool:
        return self.stop.is_set() or self._is_served.is_set()

    def _attend(self, channel: Channel, number: int) -> None:
        """Attend to one client, from its login to its end."""
        try:
            channel.set_timeout(_LOGIN_SECONDS)
            plugin = NATIVE if self._offer.is_mariadb else CACHING_SHA2
            self._entrance.admit(channel, self._offer.description.server_version, number, plugin)
            channel.set_timeout(_IDLE_SECONDS)
            self._obey(channel)
        except ConnectionLostError as error:
            # A client that leaves between two requests, or a probe of the port, is nothing of interest.
            if channel.is_sending:
                self._say(f"{channel.peer}: {error.message}")
        except (BinxError, OSError) as error:
            self._say(f"{channel.peer}: {error.message if isinstance(error, ServerError) else error}")
        finally:
            channel.close()

    def _obey(self, channel: Channel) -> None:
        session = Session(self._offer)
        replica: Registration | None = None
        while True:
            message = channel.receive()
            command, body = message[0] if message else _COM_QUIT, message[1:]
            if command == _COM_QUIT:
                return
            if command == _COM_QUERY:
                session.answer(body.decode("utf-8", "surrogateescape"), channel)
            elif command in (_COM_PING, _COM_INIT_DB):
                channel.send_ok()
            elif command == _COM_SET_OPTION:
                channel.send_end()
            elif command == COM_REGISTER_REPLICA:
                replica = Registration.parse(body)
                channel.send_ok()
            elif command in (COM_BINLOG_DUMP, COM_BINLOG_DUMP_GTID):
                self._dump(channel, session, DumpRequest.parse(command, body), replica)
                return
            else:
                channel.send_error(*_UNKNOWN_COMMAND)

    def _dump(
        self, channel: Channel, session: Session, request: DumpRequest, replica: Registration | None
    ) -> None:
        host = "" if replica is None else replica.host
        name = f"replica {host or channel.peer} (server id {request.server_id})"
        channel.set_timeout(_SENDING_SECONDS)
        channel.is_sending = True
        dump = None
        try:
            dump = self._begun(channel, session, request, name, applies=replica is not None)
            dump.run(self._ends)
        except FatalError as error:
            channel.send_error(FATAL, _STATE, error.message)
            self._say(f"{name}: refused: {error.message} ({FATAL})")
            return
        except ConnectionLostError as error:
            sent = "was sent all up to the end" if dump is not None and dump.is_complete else "lacks the rest"
            self._say(f"{name}: its connection broke, and it {sent}: {error.message}")
            return
        except BinxError as error:
            channel.send_error(FATAL, _STATE, str(error))
            self._say(f"{name}: ended: {error}")
            return
        if dump.is_complete:
            self._say(f"{name}: has all up to the end, and has gone")
            if self._once:
                self._is_served.set()

    def _begun(
        self, channel: Channel, session: Session, request: DumpRequest, name: str, *, applies: bool
    ) -> Dump:
        offer = self._offer
        checksums = session.variable("source_binlog_checksum", "master_binlog_checksum")
        if checksums is None and offer.checksum != "NONE":
            raise FatalError(
                "Replica can not handle replication events with the checksum that source is configured to log"
            )
        held, until = request.gtids, None
        domains = session.variable("slave_connect_state")
        if offer.is_mariadb:
            if _number(session.variable("mariadb_slave_capability")) < CAPABILITY:
                raise FatalError(
                    "expected a replica that knows MariaDB's GTIDs, found a MySQL or an old MariaDB"
                )
            held = None if domains is None else parse_domains(domains)
            wanted = session.variable("slave_until_gtid")
            until = None if wanted is None else parse_domains(wanted)
        if held is None:
            start = start_by_position(offer, request)
        else:
            start = start_after_domains(offer, held) if offer.is_mariadb else start_after_set(offer, held)
        period = _number(session.variable("source_heartbeat_period", "master_heartbeat_period"))
        after = ""
        if held is not None:
            after = f", after {held if held and offer.is_mariadb else counted(held.count, 'GTID')}"
        self._say(f"{name}: begins at {offer.logs[start.log].name}:{start.offset}{after}")
        return Dump(
            offer,
            channel,
            request,
            start,
            held=held,
            until=until,
            has_checksums=(checksums or "").upper() == "CRC32",
            heartbeat=period / _NANOSECONDS,
            ends=self._once,
            applies=applies,
        )


def _number(text: str | None) -> int:
    """Return the number that a replica has set; 0 for none, and for what is no number of 64 bits."""
    is_number = text is not None and text.isascii() and text.isdecimal() and len(text) <= _DIGITS
    return int(text) if text is not None and is_number else 0
