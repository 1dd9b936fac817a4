"""Data sets read by Spark: ``spark.read.format("binx")``, and streams of what exports add."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.lake.table_changes import read_changes
from binx.spark import register
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.exports import export
from tests.lake.dataset import Server
from tests.lake.test_history import OTHER, two_tables
from tests.lake.test_state import FIELDS, ORDERS, insert, orders

pytest.importorskip("pyspark.sql.datasource", reason="Spark 3.5 has no data sources in Python")

MYSQL = TESTDATA / "mysql-9.7"
SHOP = sorted((MYSQL / "shop").glob("mysql-bin.00*"))
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def source(spark: Any) -> Any:
    register(spark)
    return spark


def counted(rows: Rows) -> Counter[str]:
    return Counter(repr(sorted(row.items())) for row in rows)


@pytest.fixture
def follow(source: Any, tmp_path: Path) -> Callable[..., Rows]:
    """Run a stream over the data set ``in`` to its end; returns the rows of this run."""

    def follow(name: str = "one", **options: str) -> Rows:
        rows: Rows = []
        stream = source.readStream.format("binx").options(**options).load(str(tmp_path / "in"))
        started = stream.writeStream.foreachBatch(
            lambda batch, _: rows.extend(row.asDict(recursive=True) for row in batch.collect())
        ).option("checkpointLocation", str(tmp_path / f"{name}.state"))
        started.trigger(availableNow=True).start().awaitTermination()
        return rows

    return follow


def test_a_table_has_the_columns_of_all_its_schema_versions(source: Any, tmp_path: Path) -> None:
    table = "shop.products"
    export(tmp_path, SHOP)
    assert len(list((tmp_path / "schemas" / "shop" / "products").iterdir())) > 1
    found = source.read.format("binx").option("table", table).load(str(tmp_path))
    expected = read_changes(str(tmp_path), table).read_all()
    assert found.columns == expected.column_names
    by = ["_order.chain", "_order.commit_version", "_order.row", "_order.after"]
    rows = found.orderBy(*by).selectExpr("to_json(struct(*)) AS json", "_order", "_change_type").collect()
    assert len(rows) == len(expected)
    ours = sorted(
        expected.select(["_change_type", "_order"]).to_pylist(), key=lambda row: [*row["_order"].values()]
    )
    assert [(row["_change_type"], row["_order"].asDict()) for row in rows] == [
        (row["_change_type"], row["_order"]) for row in ours
    ]


def test_columns_are_united_and_go_by_their_last_names(source: Any, tmp_path: Path) -> None:
    server = orders()
    server.transaction(insert(1, "a", 5))
    fields = [FIELDS[0], ("title", pa.string()), ("amount", pa.int64())]
    server.alter(ORDERS, "ALTER TABLE orders CHANGE name title …", fields, renamed={"name": "title"})
    server.transaction(("update", ORDERS, (1,), {"amount": 1 << 40}))
    server.export_all(tmp_path)
    found = source.read.format("binx").option("table", "shop.orders").load(str(tmp_path))
    assert dict(found.dtypes)["amount"] == "bigint"
    rows = found.orderBy("_order").select("_change_type", "title", "amount").collect()
    assert [tuple(row) for row in rows] == [
        ("insert", "a", 5), ("update_preimage", "a", 5), ("update_postimage", "a", 1 << 40),
    ]  # fmt: skip


def test_a_stream_gives_each_transaction_once_however_logs_grow(
    follow: Callable[..., Rows], source: Any, tmp_path: Path
) -> None:
    server, given = orders(), []
    for step in range(4):
        server.transaction(insert(step, "a"), ("update", ORDERS, (step,), {"amount": step}))
        server.export_all(tmp_path / "in", whole=True)
        given.append(follow(table="shop.orders"))
        assert len(given[-1]) == 3
        if step % 2:
            server.rotate()
    assert follow(table="shop.orders") == []
    rows = source.read.format("binx").option("table", "shop.orders").load(str(tmp_path / "in")).collect()
    assert counted([row for step in given for row in step]) == counted(
        [row.asDict(recursive=True) for row in rows]
    )


def test_one_stream_has_the_changes_of_many_tables(follow: Callable[..., Rows], tmp_path: Path) -> None:
    server = two_tables()
    server.export_all(tmp_path / "in")
    rows = follow()
    assert {row["_table"] for row in rows} == {"shop.orders", "shop.visits"}
    server.rotate()
    # Another column does not stop it.
    server.alter(ORDERS, "ALTER TABLE orders ADD note varchar(9)", [*FIELDS, ("note", pa.string())])
    server.transaction(
        ("insert", ORDERS, {"id": 77, "name": "ü\n'\"", "note": "n"}), ("insert", OTHER, {"id": 78})
    )
    server.export_all(tmp_path / "in")
    later = {row["_table"]: json.loads(row["row"]) for row in follow()}
    assert later["shop.orders"] == {"id": 77, "name": "ü\n'\"", "amount": None, "note": "n"}
    assert later["shop.visits"]["id"] == 78
    assert {row["_table"] for row in follow("other", tables="shop.v*")} == {"shop.visits"}


def test_rows_as_json_are_spelled_as_binx_does(source: Any, tmp_path: Path) -> None:
    log = MYSQL / "small" / "all_types.binlog"
    export(tmp_path, [log])
    found = source.read.format("binx").load(str(tmp_path)).orderBy("_order").collect()
    lines = [json.loads(line) for line in binx("extract", "--format", "json", "--rows", log).out.splitlines()]
    expected = [
        (f"{line['db']}.{line['table']}", image)
        for line in lines
        for image in (line.get("before"), line.get("after"))
        if image is not None
    ]
    assert expected
    assert [(row["_table"], json.loads(row["row"])) for row in found] == expected


def test_a_prepared_transaction_comes_when_it_is_committed(
    follow: Callable[..., Rows], tmp_path: Path
) -> None:
    server = orders()
    server.transaction(insert(1))
    end = server.xa("'x'", insert(2))
    server.transaction(insert(3))
    server.export_all(tmp_path / "in", whole=True)
    assert [row["id"] for row in follow(table="shop.orders")] == [1, 3]
    server.rotate()
    end("COMMIT")
    server.transaction(insert(4))
    server.export_all(tmp_path / "in", whole=True)
    assert sorted(row["id"] for row in follow(table="shop.orders")) == [2, 4]
    assert follow(table="shop.orders") == []


def test_statements_are_a_stream_too(follow: Callable[..., Rows], tmp_path: Path) -> None:
    server = orders()
    server.export_all(tmp_path / "in", whole=True)
    assert [row["sql"][:12] for row in follow(statements="true")] == ["CREATE TABLE"]
    server.alter(ORDERS, "ALTER TABLE orders ADD z INT", [*FIELDS, ("z", pa.int32())])
    server.export_all(tmp_path / "in", whole=True)
    [row] = follow(statements="true")
    assert row["sql"] == "ALTER TABLE orders ADD z INT"
    assert [effect["action"] for effect in row["effects"]] == ["altered"]
    assert follow(statements="true") == []


def test_a_stream_of_a_table_that_got_other_columns_stops_and_goes_on_when_it_is_started_again(
    follow: Callable[..., Rows], source: Any, tmp_path: Path
) -> None:
    server = orders()
    server.transaction(insert(1))
    server.export_all(tmp_path / "in")
    follow(table="shop.orders")
    server.rotate()
    server.alter(ORDERS, "ALTER TABLE orders ADD z INT", [*FIELDS, ("z", pa.int32())])
    server.transaction(("insert", ORDERS, {"id": 2, "z": 5}))
    server.export_all(tmp_path / "in")
    assert [(row["id"], row["z"]) for row in follow(table="shop.orders")] == [(2, 5)]
    fixed = source.readStream.format("binx").schema("id INT, name STRING").option("table", "shop.orders")
    assert fixed.load(str(tmp_path / "in")).columns == ["id", "name"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"table": "shop.order"}, "shop.order is not among the tables.*shop.orders"),
        ({"tabel": "shop.orders"}, "unknown option 'tabel'.*table"),
        ({"table": "shop.orders", "statements": "true"}, "at most one of the options"),
    ],
)
def test_a_wrong_option_is_said(source: Any, tmp_path: Path, options: dict[str, str], message: str) -> None:
    server: Server = orders()
    server.transaction(insert(1))
    server.export_all(tmp_path)
    with pytest.raises(Exception, match=f"(?s){message}"):
        source.read.format("binx").options(**options).load(str(tmp_path)).collect()
