"""DuckDB over logs, from Python."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import binx
from binx.errors import BinxError, UsageError
from tests.conftest import TESTDATA
from tests.lake.dataset import Server

LOGS = sorted((TESTDATA / "mysql-9.7" / "shop").glob("mysql-bin.0*"))


def test_paths_opened_logs_and_selections_answer() -> None:
    sql = "SELECT count(*) AS n FROM transactions"
    assert binx.query(sql, LOGS).to_pylist() == [{"n": 1629}]
    assert binx.query(sql, LOGS[0]).to_pylist() == [{"n": 374}]
    with binx.Database(LOGS) as database:
        assert database.batches(sql).read_all().to_pylist() == [{"n": 1629}]
    with binx.open(LOGS) as log:
        assert binx.query(sql, log).to_pylist() == [{"n": 1629}]
        assert binx.query(sql, log.select(limit=5)).to_pylist() == [{"n": 5}]


def test_a_state_needs_all_transactions() -> None:
    with binx.open(LOGS) as log, pytest.raises(UsageError, match="logs without a selection"):
        binx.query("FROM state('shop.orders')", log.select(limit=5))


def test_a_database_answers_one_query_after_another_also_after_errors() -> None:
    with binx.open(LOGS[0]) as log:
        database = binx.Database(log)
        for _ in range(2):
            with pytest.raises(UsageError):
                database.sql("SELECT nothing FROM shop.orders")
            assert database.batches("SELECT count(*) FROM shop.orders").read_all()[0].to_pylist() == [418]
        assert database.connection.sql("SELECT 1").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_text('{file}')",
        "FROM '{file}'",
        "SELECT * FROM glob('{folder}/*')",
        "FROM read_csv('{file}')",
    ],
)
def test_an_isolated_database_reads_no_other_files(sql: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("password\nhunter2\n")
    text = sql.format(file=secret, folder=tmp_path)
    with binx.open(LOGS[0]) as log:
        with binx.Database(log) as database:
            assert database.batches(text).read_all().num_rows == 1
            assert repr(database) == f"<Database of {log!r}>"
        with pytest.raises(BinxError):
            binx.Database(log, is_isolated=True).batches(text).read_all()


def test_a_name_that_duckdb_keeps_or_takes_for_another_is_there_too(tmp_path: Path) -> None:
    server = Server()
    named = (("temp", "t"), ("memory", "t"), ("shop", "Orders"), ("shop", "orders"), ("a.b", 'q"x'))
    for db, table in (*named, ("pg_catalog", "t")):
        server.create((db, table), [("id", pa.int32())], ["id"])
        server.transaction(("insert", (db, table), {"id": 1}))
    server.export_all(tmp_path)
    database = binx.Database(tmp_path)
    for name in (
        "memory.temp.t",
        "memory.memory.t",
        "shop.orders",
        "shop.orders_",
        '"a.b"."q""x"',
        "pg_catalog_.t",
    ):
        assert database.batches(f"SELECT id FROM {name}").read_all().to_pylist() == [{"id": 1}], name


def test_logs_from_python_have_states_statements_and_schemas() -> None:
    with binx.open(LOGS) as log:
        rows = log.state("shop.orders", "2026-11-21 09:48:53", where="status = 'shipped'")
        assert set(rows["status"].to_pylist()) == {"shipped"}
        assert log.schemas()["shop", "orders"] == log.changes("shop.orders").schema
        kinds = log.select(kind="ddl").statements().read_all()["kind"].to_pylist()
        assert set(kinds) == {"ddl"}
