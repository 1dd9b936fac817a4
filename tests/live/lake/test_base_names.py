"""A server whose logs' base name is changed, and changed back, leads to what SELECT shows."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import pytest

from binx.lake.at_moment import table_at
from binx.lake.options import LoadOptions
from binx.spark.load_run import load
from testdata.servers import MariaDBServer, MySQLServer, Server
from tests.cli.process import binx
from tests.lake.conftest import files_of
from tests.live.logs import needed

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


def rows_at_end(data: Path) -> str:
    rows = table_at(str(data), "shop.orders", None).rows.sort_by("id")
    return repr("".join(f"{row['id']}\t{row['n']}\n" for row in rows.to_pylist()))


def rows_in(lake: Path) -> str:
    query = f"SELECT id, n FROM read_parquet({files_of(lake, TABLE)}) ORDER BY id"
    return repr("".join(f"{number}\t{value}\n" for number, value in duckdb.execute(query).fetchall()))


@pytest.mark.parametrize(
    ("kind", "options"), [(MySQLServer, ()), (MySQLServer, WITHOUT_GTIDS), (MariaDBServer, ())]
)
def test_logs_under_changed_names_lead_to_the_servers_rows(
    kind: type[Server], options: tuple[str, ...], tmp_path: Path, spark: Any
) -> None:
    def session() -> Any:
        return nullcontext(spark)

    server = needed(kind)(tmp_path / "server", options)
    try:
        logs = logs_under_names(server)
    finally:
        server.stop()
    # No log tells what is between two names.
    assert binx("to-parquet", *(log for log, _ in logs), "-o", tmp_path / "all").code == 4
    assert rows_at_end(tmp_path / "all") == logs[-1][1]
    for (first, _), (second, expected) in zip(logs[::2], logs[1::2], strict=True):
        for log in (first, second):
            binx("to-parquet", log, "-o", tmp_path / "one by one")
        if not options:
            load(LoadOptions((str(tmp_path / "one by one"),), str(tmp_path / "in turn")), session)
            assert rows_in(tmp_path / "in turn") == expected, second
        assert rows_at_end(tmp_path / "one by one") == expected, second
