"""A server whose logs' base name is changed, and changed back, leads to what SELECT shows."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.cli.process import binx
from tests.live.logs import needed
from tests.spark.conftest import files_of

NAMES = ("binlog", "other", "binlog")
WITHOUT_GTIDS = ("--gtid-mode=OFF", "--enforce-gtid-consistency=OFF")
TABLE = ("shop", "orders")


def logs_under_names(server: Server) -> list[tuple[Path, str]]:
    """Have a server change rows in two logs under each name; returns these, with the rows at their ends."""
    found: list[tuple[Path, str]] = []
    for turn, name in enumerate(NAMES):
        server.start([f"--log-bin={name}"])
        if not turn:
            server.sql("CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, n INT);")
            server.sql(f"INSERT INTO shop.orders VALUES {', '.join(f'({n}, 0)' for n in range(9))}")
        for part, condition in enumerate(("TRUE", "id % 2 = 0")):
            if part:
                server.flush_logs()
            server.sql(f"UPDATE shop.orders SET n = {10 * turn + part + 1} WHERE {condition}")
            log = max(server.binlog_folder.glob(f"{name}.0*"))
            found.append((log, repr(server.sql("SELECT id, n FROM shop.orders ORDER BY id"))))
        server.stop()
    return found


def rows_in(lake: Path) -> str:
    query = f"SELECT id, n FROM read_parquet({files_of(lake, TABLE)}) ORDER BY id"
    return repr("".join(f"{number}\t{value}\n" for number, value in duckdb.execute(query).fetchall()))


@pytest.mark.parametrize(
    ("kind", "options"), [(MySQLServer, ()), (MySQLServer, WITHOUT_GTIDS), (MariaDBServer, ())]
)
def test_logs_under_changed_names_lead_to_the_servers_rows(
    kind: type[Server], options: tuple[str, ...], tmp_path: Path
) -> None:
    server = needed(kind)(tmp_path / "server", options)
    try:
        logs = logs_under_names(server)
    finally:
        server.stop()
    # No log tells what is between two names.
    assert binx("to-parquet", *(log for log, _ in logs), "-o", tmp_path / "all").code == 4
    assert binx("load", tmp_path / "all", "-o", tmp_path / "at once").code == 0
    assert rows_in(tmp_path / "at once") == logs[-1][1]
    for (first, _), (second, expected) in zip(logs[::2], logs[1::2], strict=True):
        for log in (first, second):
            binx("to-parquet", log, "-o", tmp_path / "one by one")
        assert binx("load", tmp_path / "one by one", "-o", tmp_path / "in turn").code == 0
        assert rows_in(tmp_path / "in turn") == expected, second
