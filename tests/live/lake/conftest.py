"""Servers whose logs become tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.exports import export
from tests.live.logs import needed


class Failover:
    """A primary, whose replica takes over before it has the primary's last transactions."""

    def __init__(self, primary: Server, successor: Server) -> None:
        self.primary, self.successor = primary, successor
        primary.sql(
            "CREATE DATABASE shop;"
            "CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(20));"
            "CREATE TABLE shop.notes (id INT PRIMARY KEY, note VARCHAR(20));"
            "INSERT INTO shop.orders VALUES (1, 'new'), (2, 'new'), (3, 'new');"
            "INSERT INTO shop.notes VALUES (1, 'a')"
        )
        primary.flush_logs()
        successor.script(primary.mysqlbinlog(primary.binlogs()[0]))
        primary.sql(
            "UPDATE shop.orders SET status = 'lost' WHERE id = 1; DELETE FROM shop.orders WHERE id = 2;"
            "INSERT INTO shop.orders VALUES (4, 'lost'); CREATE TABLE shop.late (id INT PRIMARY KEY);"
            "INSERT INTO shop.late VALUES (1); ALTER TABLE shop.orders ADD COLUMN more INT;"
            "INSERT INTO shop.orders VALUES (5, 'lost', 1)"
        )
        primary.flush_logs()
        successor.sql("UPDATE shop.orders SET status = 'sent' WHERE id = 3")
        successor.sql("INSERT INTO shop.orders VALUES (4, 'kept'); INSERT INTO shop.notes VALUES (2, 'b')")
        successor.flush_logs()

    def export(self, lake: Path, server: Server) -> None:
        export(lake / ("first" if server is self.primary else "second"), server.binlogs()[:-1])


@pytest.fixture(params=[MySQLServer, MariaDBServer], scope="module")
def failover(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Failover]:
    kind = needed(request.param)
    updates = ("--log-slave-updates",) if kind is MariaDBServer else ()
    with (
        kind(tmp_path_factory.mktemp("primary")) as primary,
        kind(tmp_path_factory.mktemp("successor"), ("--server-id=98", *updates)) as successor,
    ):
        yield Failover(primary, successor)
