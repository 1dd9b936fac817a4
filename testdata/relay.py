"""Relay logs that real replicas wrote, and the binary logs of their source.

``python -m testdata.relay`` writes ``testdata/*/relay`` again: ``relay-bin.*`` of a replica whose relay logs
may have 4 KiB, in ``source`` the logs that it received. MariaDB's replica cuts a transaction at any event,
MySQL's at none.
"""

from __future__ import annotations

import random
import shutil
import socket
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from testdata.programs import Programs
from testdata.servers import MariaDBServer, MySQLServer, Server, ServerError

HERE = Path(__file__).resolve().parent
FOLDERS: dict[type[Server], Path] = {
    MySQLServer: HERE / "mysql-9.7" / "relay",
    MariaDBServer: HERE / "mariadb-10.11" / "relay",
}
SECONDS = 600

TRAFFIC = (
    """CREATE DATABASE relayed; CREATE TABLE relayed.t (a INT PRIMARY KEY, b VARCHAR(200)) ENGINE=InnoDB;
    INSERT INTO relayed.t VALUES (1, 'x');""",
    "BEGIN;"
    + "".join(f"INSERT INTO relayed.t VALUES ({number}, REPEAT('y', 150));" for number in range(10, 60))
    + "COMMIT;",
    "FLUSH BINARY LOGS; INSERT INTO relayed.t VALUES (2, 'z'); UPDATE relayed.t SET b = 'last' WHERE a = 2;",
)
ARRIVED = "SELECT COUNT(*) FROM relayed.t WHERE b = 'last'"


@contextmanager
def linked(
    kind: type[Server],
    work: Path,
    options: Sequence[str] = (),
    *,
    gtids: bool = True,
    programs: Programs | None = None,
) -> Iterator[tuple[Server, Server]]:
    """A source and its replica, linked and running; both are stopped at the end.

    Args:
        kind: the servers' class.
        work: a folder for the servers.
        options: further options of the replica.
        gtids: whether the replica asks for transactions by GTID or by position.
        programs: the installation to use; found on this machine when not given.
    """
    mysql = kind is MySQLServer
    port, replicas_port = _free_ports()
    reachable = ["--skip-networking=0", "--bind-address=127.0.0.1"]
    without = ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"] if mysql and not gtids else []
    relaying = ["--server-id=77", "--relay-log=relay-bin", *options]
    source = kind(work / "source", [*reachable, f"--port={port}", *without], programs)
    replica = kind(work / "replica", [*reachable, f"--port={replicas_port}", *relaying, *without], programs)
    with source, replica:
        source.sql("CREATE USER r@'%' IDENTIFIED BY 'r'; GRANT REPLICATION SLAVE ON *.* TO r@'%'")
        if mysql:
            place = (
                "SOURCE_AUTO_POSITION=1" if gtids else "SOURCE_LOG_FILE='mysql-bin.000001', SOURCE_LOG_POS=4"
            )
            replica.sql(
                f"CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT={port}, SOURCE_USER='r',"
                f" SOURCE_PASSWORD='r', GET_SOURCE_PUBLIC_KEY=1, {place}; START REPLICA"
            )
        else:
            place = (
                "MASTER_USE_GTID=slave_pos"
                if gtids
                else "MASTER_LOG_FILE='mysql-bin.000001', MASTER_LOG_POS=4"
            )
            replica.sql(
                f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={port}, MASTER_USER='r',"
                f" MASTER_PASSWORD='r', {place}; START SLAVE"
            )
        yield source, replica
        replica.sql("STOP REPLICA" if mysql else "STOP SLAVE")


def replicate(kind: type[Server], work: Path, target: Path, *, gtids: bool = True) -> None:
    """Have a replica receive some traffic, and copy its relay logs and the source's logs.

    Args:
        kind: the servers' class.
        work: a folder for the servers.
        target: where the logs go.
        gtids: whether the replica asks for transactions by GTID or by position.
    """
    with linked(kind, work, ["--max-relay-log-size=4096", "--relay-log-purge=OFF"], gtids=gtids) as servers:
        source, replica = servers
        for statements in TRAFFIC:
            source.sql(statements)
        _wait(replica)
        (target / "source").mkdir(parents=True, exist_ok=True)
        for log in replica.binlog_folder.glob("relay-bin.[0i]*"):
            shutil.copyfile(log, target / log.name)
        for log in source.binlog_folder.glob("mysql-bin.0*"):
            shutil.copyfile(log, target / "source" / log.name)


def _wait(replica: Server) -> None:
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        try:
            if replica.sql(ARRIVED).strip() == "1":
                return
        except ServerError:
            pass
        time.sleep(0.1)
    raise ServerError("the replica did not receive everything in time")


def _free_ports() -> tuple[int, int]:
    """Two ports that are free together, below those that the system gives to whoever asks for any."""
    while True:
        port = random.randrange(10_000, 30_000, 2)
        try:
            with socket.socket() as first, socket.socket() as second:
                first.bind(("127.0.0.1", port))
                second.bind(("127.0.0.1", port + 1))
        except OSError:
            continue
        return port, port + 1


if __name__ == "__main__":
    for one, folder in FOLDERS.items():
        shutil.rmtree(folder, ignore_errors=True)
        with tempfile.TemporaryDirectory() as name:
            replicate(one, Path(name), folder)
