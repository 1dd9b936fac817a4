"""A server takes over from another one that had transactions of its own: tables are those of the new one."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from binx.lake.at_moment import table_at
from binx.lake.options import LoadOptions
from binx.lake.summary import LoadSummary
from binx.lake.table_name import UnknownTableError
from binx.log.selection.selection import Selection
from binx.spark.load_run import load
from testdata.servers import MySQLServer
from tests.cli.process import binx
from tests.exports import export
from tests.live.lake.conftest import Failover
from tests.live.tables_at_end import differences


def loaded(spark: Any, output: Path, *folders: Path, **options: Any) -> LoadSummary:
    inputs = tuple(str(folder) for folder in folders)
    return load(LoadOptions(inputs, str(output), **options), lambda: nullcontext(spark))


@pytest.mark.parametrize(
    "turn", ["at once", "successor first", pytest.param("one by one", marks=pytest.mark.sweep)]
)
def test_what_only_the_failed_server_had_is_left_out_and_listed(
    failover: Failover, turn: str, tmp_path: Path, spark: Any
) -> None:
    for server in (failover.primary, failover.successor):
        failover.export(tmp_path, server)
    places = [tmp_path / "first", tmp_path / "second"]
    output = tmp_path / "tables"
    if turn == "one by one":
        assert loaded(spark, output, places[0]).exit_code == 0
    elif turn == "successor first":
        assert loaded(spark, output, places[1]).exit_code == 0
    summary = loaded(spark, output, *places)
    assert summary.exit_code == 3
    assert differences(failover.successor, "shop", output) == ([], 0)
    told = {table.name.table: table.reasons for table in summary.tables if table.reasons}
    assert list(told) == ["orders"]
    ((text,),) = told.values()
    assert "never had" in text
    [(executed,)] = failover.primary.query(
        "SELECT @@gtid_executed" if isinstance(failover.primary, MySQLServer) else "SELECT @@gtid_binlog_pos"
    )
    assert str(executed).rpartition("-")[2] in text
    history = json.loads((output / "_state.json").read_text())["history"]
    assert sum(file["rows"] for file in history if file["lost"]) >= 5
    assert loaded(spark, output, *places).changed is False


def test_a_table_at_a_moment_is_that_of_the_server_which_took_over(
    failover: Failover, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for server in (failover.primary, failover.successor):
        export(lake, server.binlogs()[:-1])
    found = table_at(str(lake), "shop.orders", None)
    rows = [(row["id"], row["status"]) for row in found.rows.sort_by("id").to_pylist()]
    assert rows == [(1, "new"), (2, "new"), (3, "sent"), (4, "kept")]
    assert any("never had" in text for text in found.missing)


def test_a_server_took_over_also_where_it_never_changed_the_table_that_is_asked_for(
    failover: Failover, tmp_path: Path
) -> None:
    logs = [log for server in (failover.primary, failover.successor) for log in server.binlogs()[:-1]]
    state = binx("state", *logs, "--table", "shop.late", "--format", "csv")
    assert (state.code, state.out) == (4, "")
    assert "there is no table shop.late" in state.err
    export(tmp_path, logs, Selection(tables=("shop.late",)))
    with pytest.raises(UnknownTableError):
        table_at(str(tmp_path), "shop.late", None)
