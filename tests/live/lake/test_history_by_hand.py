"""Queries that people write over history, and over the files of a data set, give what SELECT gives."""

from __future__ import annotations

import re
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

import binx
from binx.lake.options import LoadOptions
from binx.lake.table_changes import write_changes_views
from binx.spark.load_run import load
from testdata.servers import Server
from tests.conftest import PROJECT
from tests.exports import export
from tests.live.lake.conftest import Failover
from tests.live.logs import empty, logs_of

PAGE = (PROJECT / "docs" / "spark.md").read_text("utf-8")
[QUERY] = re.findall(r"^SELECT id, status, total FROM \(.*?;", PAGE, re.MULTILINE | re.DOTALL)
"""The page's table at a point in time."""

Rows = list[tuple[str | None, ...]]


def the_query(columns: str, moment: str = "2999-01-01") -> str:
    """The page's query, for another moment and other columns."""
    return re.sub(r"TIMESTAMP '[^']*'", f"TIMESTAMP '{moment}'", QUERY).replace("id, status, total", columns)


def in_duckdb(folder: Path, sql: str) -> list[tuple[Any, ...]]:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute((folder / "views.sql").read_text("utf-8"))
    return connection.execute(sql).fetchall()


def in_spark(spark: Any, folder: Path, sql: str) -> list[tuple[Any, ...]]:
    for statement in (folder / "views.spark.sql").read_text("utf-8").split(";\n"):
        if statement.strip():
            spark.sql(statement)
    return [tuple(row) for row in spark.sql(sql.replace("shop.orders", "shop_orders")).collect()]


def test_the_pages_query_is_right_after_a_failover(failover: Failover, tmp_path: Path, spark: Any) -> None:
    lake, output = tmp_path / "lake", tmp_path / "tables"
    for server in (failover.primary, failover.successor):
        export(lake, server.binlogs()[:-1])
    load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
    write_changes_views(str(lake))
    expected = [(1, "new"), (2, "new"), (3, "sent"), (4, "kept")]
    query = the_query("id, status")
    assert in_duckdb(output, query) == in_duckdb(lake, query) == expected
    assert in_spark(spark, output, query) == expected
    changes = binx.read_changes(str(lake), "shop.orders", ["id", "status", "_order"]).read_all()
    last = {row["id"]: row["status"] for row in sorted(changes.to_pylist(), key=by_order)}
    assert sorted(last.items()) == expected


def by_order(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row["_order"].values())


def test_the_pages_query_leaves_out_what_was_rolled_back(server: Server, tmp_path: Path, spark: Any) -> None:
    logs = logs_of(
        server,
        "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY, status VARCHAR(20));"
        "INSERT INTO shop.orders VALUES (1, 'new'), (2, 'new')",
        "XA START 'a'; UPDATE shop.orders SET status = 'undone' WHERE id = 1;"
        "INSERT INTO shop.orders VALUES (3, 'undone'); XA END 'a'; XA PREPARE 'a'; XA ROLLBACK 'a';"
        "XA START 'b'; UPDATE shop.orders SET status = 'done' WHERE id = 2; XA END 'b'; XA PREPARE 'b';"
        "XA COMMIT 'b'",
    )
    lake, output = tmp_path / "lake", tmp_path / "tables"
    export(lake, logs)
    load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
    write_changes_views(str(lake))
    expected = [(1, "new"), (2, "done")]
    query = the_query("id, status")
    assert in_duckdb(output, query) == in_duckdb(lake, query) == in_spark(spark, output, query) == expected
    changes = binx.read_changes(str(lake), "shop.orders").read_all()
    assert "undone" not in changes["status"].to_pylist()


@pytest.mark.parametrize("end", ["TRUNCATE shop.orders", "DROP TABLE shop.orders", "RENAME"])
def test_the_pages_query_has_no_row_of_a_table_that_was_removed(
    server: Server, end: str, tmp_path: Path, spark: Any
) -> None:
    table = "(id INT PRIMARY KEY, status VARCHAR(20))"
    if end == "RENAME":
        swap = "RENAME TABLE shop.orders TO shop.gone, shop.others TO shop.orders"
        end = f"CREATE TABLE shop.others {table}; {swap}; DROP TABLE shop.gone"
    parts = [
        f"CREATE DATABASE shop; CREATE TABLE shop.orders {table};"
        "INSERT INTO shop.orders VALUES (1, 'old'), (2, 'old')",
        end,
        f"CREATE TABLE IF NOT EXISTS shop.orders {table}; INSERT INTO shop.orders VALUES (1, 'new')",
    ]
    # MariaDB's times are whole seconds.
    logs = logs_of(
        server, *(f"SET timestamp = {1_795_000_000 + number}; {part}" for number, part in enumerate(parts))
    )
    lake, output = tmp_path / "lake", tmp_path / "tables"
    export(lake, logs)
    load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
    write_changes_views(str(lake))
    query = the_query("id, status")
    for found in (in_duckdb(output, query), in_duckdb(lake, query), in_spark(spark, output, query)):
        assert found == [(1, "new")]
    changes = binx.read_changes(str(lake), "shop.orders", ["status", "_removed_at"]).read_all().to_pylist()
    assert {row["status"] for row in changes if row["_removed_at"] is None} == {"new"}
    [removed] = {row["_removed_at"] for row in changes} - {None}
    before = the_query("id, status", str(removed - timedelta(microseconds=1)))
    assert in_duckdb(output, before) == in_duckdb(lake, before) == [(1, "old"), (2, "old")]


@pytest.mark.parametrize("image", ["MINIMAL", "NOBLOB"])
def test_the_last_image_of_each_key_in_a_data_set_is_the_table(
    server: Server, image: str, tmp_path: Path
) -> None:
    """An after image that lacks the key's columns has them from the image before."""
    empty(server)
    server.sql(f"SET GLOBAL binlog_row_image = {image}")
    try:
        server.sql(
            "CREATE DATABASE shop;"
            "CREATE TABLE shop.orders (status VARCHAR(9), id INT, total INT, day DATE, PRIMARY KEY (id, day))"
        )
        rows = ", ".join(f"('new', {number}, 1, '2026-11-{number % 28 + 1:02}')" for number in range(400))
        server.sql(f"INSERT INTO shop.orders VALUES {rows}")
        for turn in range(12):
            server.sql(f"UPDATE shop.orders SET status = 's{turn}' WHERE id % 12 < {turn}")
            server.sql(f"UPDATE shop.orders SET total = {turn} WHERE id % 5 = {turn % 5}")
            server.sql(f"UPDATE shop.orders SET id = id + 1000 WHERE id % 37 = {turn}")
            server.sql(f"DELETE FROM shop.orders WHERE id % 41 = {turn}")
        server.flush_logs()
    finally:
        server.sql("SET GLOBAL binlog_row_image = FULL")
    export(tmp_path, server.binlogs()[:-1])
    connection = duckdb.connect()
    places = "(_commit_version, _row, _change_type = 'update_postimage')"
    found = connection.execute(
        "SELECT id, CAST(day AS VARCHAR) FROM ("
        f" SELECT id, day, max_by(_change_type, {places}) AS change"
        f" FROM read_parquet('{tmp_path}/changes/shop/orders/*.parquet') GROUP BY id, day)"
        " WHERE change IN ('insert', 'update_postimage') ORDER BY id, day"
    ).fetchall()
    assert found == [
        (int(number or 0), day)
        for number, day in server.query(
            "SELECT CAST(id AS CHAR), CAST(day AS CHAR) FROM shop.orders ORDER BY id, day"
        )
    ]
