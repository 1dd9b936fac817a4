"""``binx serve`` as a process, and replicas that take logs from it."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Condition, Thread
from types import TracebackType
from typing import Self

from testdata.expected import tables_of
from testdata.servers import MySQLServer, Server

SECONDS = 120
LOOPBACK = "127.0.0.1"
_LISTENING = re.compile(r"listening on (\S+):(\d+):")


class Serving:
    """A service on a port that was free, until it is ended."""

    def __init__(self, *words: str | Path, host: str = LOOPBACK) -> None:
        self._words = [sys.executable, "-m", "binx", "serve", "--listen", f"{host}:0", *map(str, words)]
        self._lines: list[str] = []
        self._said_more = Condition()
        self.port = 0

    def __enter__(self) -> Self:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._words, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.append(line)
            if match := _LISTENING.search(line):
                self.port = int(match[2])
                break
        assert self.port, self.said
        Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()

    @property
    def said(self) -> str:
        """What it said so far."""
        return "".join(self._lines)

    @property
    def gtids(self) -> str:
        """Those that it offers, as it says when it begins."""
        return self.said.partition("; GTIDs ")[2].splitlines()[0]

    def wait_until_said(self, text: str) -> None:
        """Wait until it has said a text: it answers a replica before it says so."""
        with self._said_more:
            assert self._said_more.wait_for(lambda: text in self.said, SECONDS), self.said

    def ended(self) -> int:
        """Wait until it has ended; its exit code."""
        return self._process.wait(SECONDS)

    def kill(self) -> None:
        """End it as a power failure does."""
        self._process.kill()
        self._process.wait()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._said_more:
                self._lines.append(line)
                self._said_more.notify_all()


def follow(replica: Server, port: int, place: str, more: str = "", host: str = LOOPBACK) -> None:
    """Have a replica follow a service: from GTIDs or a position, as its statement has it."""
    new, side = ("REPLICATION SOURCE", "SOURCE") if isinstance(replica, MySQLServer) else ("MASTER", "MASTER")
    address = f"{side}_HOST='{host}', {side}_PORT={port}, {side}_USER='repl'"
    pace = f"{side}_HEARTBEAT_PERIOD=1, {side}_CONNECT_RETRY=1"
    start = "START REPLICA" if isinstance(replica, MySQLServer) else "START SLAVE"
    replica.sql(f"CHANGE {new} TO {address}, {pace}, {place}{more or f', {side}_SSL=0'}; {start}")


def status(replica: Server) -> dict[str, str | None]:
    """What a replica says of its replication, with MySQL's names."""
    mysql = isinstance(replica, MySQLServer)
    command = [
        *replica.client_command(),
        "--vertical",
        "-e",
        f"SHOW {'REPLICA' if mysql else 'SLAVE'} STATUS",
    ]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    pairs = (line.partition(": ") for line in lines if ": " in line)
    return {
        name.strip().replace("Slave", "Replica").replace("Master", "Source"): value.strip()
        for name, _, value in pairs
    }


def logged(server: Server) -> str:
    """The GTIDs of what a server has logged; of MariaDB the last one of each domain."""
    name = "gtid_executed" if isinstance(server, MySQLServer) else "gtid_binlog_pos"
    return str(server.query(f"SELECT @@GLOBAL.{name}")[0][0])


def wait_for(replica: Server, gtids: str, threads: Sequence[str] = ("IO", "SQL")) -> None:
    """Wait until a replica has applied GTIDs; an error of one of its threads is a failure.

    Args:
        threads: those that must have no error: a source that has ended is one for the receiver.
    """
    wait = "WAIT_FOR_EXECUTED_GTID_SET" if isinstance(replica, MySQLServer) else "MASTER_GTID_WAIT"
    deadline = time.monotonic() + SECONDS
    while replica.query(f"SELECT {wait}('{gtids}', 1)") != [("0",)]:
        found = status(replica)
        for thread in threads:
            assert not found[f"Last_{thread}_Error"], found[f"Last_{thread}_Error"]
        assert time.monotonic() < deadline, found


def wait_for_heartbeats(replica: Server) -> None:
    """Wait until an idle replica has taken another heartbeat."""
    statement = "SHOW GLOBAL STATUS LIKE 'Slave_received_heartbeats'"
    if isinstance(replica, MySQLServer):
        statement = (
            "SELECT 1, COUNT_RECEIVED_HEARTBEATS FROM performance_schema.replication_connection_status"
        )
    deadline = time.monotonic() + SECONDS
    before = replica.query(statement)
    while replica.query(statement) == before:
        error = status(replica)["Last_IO_Error"]
        assert not error, error
        assert time.monotonic() < deadline
        replica.sql("DO SLEEP(0.1)")


def wait_for_error(replica: Server, thread: str = "IO") -> str:
    """Wait until one of a replica's threads has failed; its error."""
    deadline = time.monotonic() + SECONDS
    while not (error := status(replica)[f"Last_{thread}_Error"]):
        assert time.monotonic() < deadline
        replica.sql("DO SLEEP(0.1)")
    return error


def checksums(server: Server, leaves_out: Sequence[str] = ()) -> dict[str, str | None]:
    """The checksum of each table of users."""
    return {
        f"{db}.{table}": server.query(f"CHECKSUM TABLE `{db}`.`{table}`")[0][1]
        for db, table in tables_of(server)
        if db not in leaves_out
    }


def bring_to(replica: Server, gtid: str) -> None:
    """Have a replica apply all up to a GTID of its source, and stop there."""
    if isinstance(replica, MySQLServer):
        source, _, number = gtid.rpartition(":")
        replica.sql(f"STOP REPLICA; START REPLICA UNTIL SQL_AFTER_GTIDS = '{source}:1-{number}'")
    else:
        replica.sql(f"STOP SLAVE; START SLAVE UNTIL master_gtid_pos = '{gtid}'")
    deadline = time.monotonic() + SECONDS
    while (found := status(replica))["Replica_SQL_Running"] != "No":
        assert time.monotonic() < deadline, found
    assert not found["Last_SQL_Error"], found["Last_SQL_Error"]


def self_signed(folder: Path, name: str, host: str = LOOPBACK) -> tuple[Path, Path]:
    """A certificate for an address, and its key."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={host}"]
    command += ["-addext", f"subjectAltName=IP:{host}", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    return certificate, key


def own_address() -> str:
    """An address of this machine that others reach; where it has none, its loopback address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        try:
            # This only chooses a route.
            one.connect(("192.0.2.1", 9))
        except OSError:
            return LOOPBACK
        return str(one.getsockname()[0])
