"""Replicas of both servers: their relay logs hold what the source wrote, whichever way they ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest

import binx
from testdata.programs import MARIADB_HINT, MYSQL_HINT, find_mariadb, find_mysql
from testdata.relay import replicate
from testdata.servers import MariaDBServer, MySQLServer, Server


@pytest.mark.parametrize("gtids", [True, False], ids=["by GTID", "by position"])
@pytest.mark.parametrize("kind", [MySQLServer, MariaDBServer])
def test_relay_logs_hold_the_transactions_of_their_source(
    kind: type[Server], gtids: bool, tmp_path: Path
) -> None:
    if (find_mysql() if kind is MySQLServer else find_mariadb()) is None:
        pytest.skip(MYSQL_HINT if kind is MySQLServer else MARIADB_HINT)
    replicate(kind, tmp_path / "servers", tmp_path / "logs", gtids=gtids)
    found = []
    for folder in (tmp_path / "logs", tmp_path / "logs/source"):
        with binx.open(folder) as opened:
            rows = opened.changes("relayed.t").read_all().to_pylist()
            transactions = [(one.gtid, one.kind, one.commit_time, one.rows) for one in opened.transactions()]
        found.append(
            (transactions, [(row["_change_type"], row["_row"], *list(row.values())[-2:]) for row in rows])
        )
    assert found[0] == found[1]
    assert len(found[0][1]) == 54
