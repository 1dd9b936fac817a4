"""Replicas of MySQL and MariaDB take logs from ``binx serve`` as from the server that wrote them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.live.logs import needed
from tests.live.serve.replicas import Serving, checksums, follow, wait_for_end

START = {
    "GTIDs": {MySQLServer: "SOURCE_AUTO_POSITION=1", MariaDBServer: "MASTER_USE_GTID=slave_pos"},
    "position": {
        MySQLServer: "SOURCE_AUTO_POSITION=0, SOURCE_LOG_FILE='mysql-bin.000001', SOURCE_LOG_POS=4",
        MariaDBServer: "MASTER_USE_GTID=no, MASTER_LOG_FILE='mysql-bin.000001', MASTER_LOG_POS=4",
    },
}


def write(server: Server, rows: int) -> None:
    """A few logs of a table."""
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT)")
    for _ in range(4):
        server.sql(
            "INSERT INTO t (v) VALUES (REPEAT('v', 900));" * rows + "UPDATE t SET v = 'w' LIMIT 2", "shop"
        )
        server.flush_logs()


def end_of(server: Server) -> str:
    statement = "SHOW BINARY LOG STATUS" if isinstance(server, MySQLServer) else "SHOW MASTER STATUS"
    name, position, *_ = server.query(statement)[0]
    return f"{name}:{position}"


@pytest.fixture(params=[MySQLServer, MariaDBServer], ids=["mysql", "mariadb"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Server, Server]]:
    """A server with logs, and an empty one with another server id."""
    kind = needed(request.param)
    with kind(tmp_path / "source") as source, kind(tmp_path / "replica", ["--server-id=2"]) as replica:
        source.reset()
        replica.reset()
        yield source, replica


@pytest.mark.parametrize("start", START)
def test_a_replica_takes_a_chain(pair: tuple[Server, Server], start: str) -> None:
    source, replica = pair
    write(source, 200)
    with Serving(source.binlog_folder / "mysql-bin.index") as service:
        follow(replica, service.port, START[start][type(source)])
        wait_for_end(replica, end_of(source))
        assert checksums(replica) == checksums(source)
