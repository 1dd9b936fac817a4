"""``--shards``: servers that have tables of the same names, each with rows of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from binx.lake.status import load_status
from tests.lake.conftest import Load
from tests.lake.dataset import Server, renumbered
from tests.lake.test_state import FIELDS, ORDERS, insert


def shard(number: int) -> Server:
    server = Server(server_id=number)
    server.create(ORDERS, FIELDS, ["id"])
    return server


def export(lake: Path, *servers: Server) -> None:
    for server in servers:
        server.export_all(lake, identity=str(server.server_id) * 8)


def expected(*servers: Server) -> list[tuple[Any, ...]]:
    rows = [(one.server_id, row) for one in servers for row in one.rows(ORDERS)]
    names = {name: None for _, row in rows for name in row}
    return sorted(
        [(f"{number}:mysql-bin", *(row.get(name) for name in names)) for number, row in rows], key=repr
    )


def found(output: Path, columns: str, view: str = "orders") -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.execute((output / "views.sql").read_text())
        return sorted(connection.execute(f"SELECT _chain, {columns} FROM shop.{view}").fetchall(), key=repr)


def test_equal_keys_of_shards_are_rows_of_their_own(tmp_path: Path, load: Load, spark: Any) -> None:
    one, other, lake, out = shard(1), shard(2), tmp_path / "in", tmp_path / "out"
    one.transaction(insert(1, "a", 1), insert(2, "b", 2))
    other.transaction(insert(1, "c", 10), insert(3, "d", 30))
    export(lake, one, other)
    code, summary = load(lake, out, "--shards", "--scd2")
    assert (code, [(table["table"], table["current"]) for table in summary["tables"]]) == (0, [("orders", 4)])
    assert found(out, "id, name, amount") == expected(one, other)
    # Each follows its own statements, in its own time.
    one.rotate()
    other.rotate()
    one.alter(
        ORDERS, "ALTER TABLE orders ADD note varchar(100), MODIFY amount bigint",
        [*FIELDS[:2], ("amount", pa.int64()), ("note", pa.string())],
    )  # fmt: skip
    one.transaction(("update", ORDERS, (1,), {"note": "n"}))
    other.transaction(("delete", ORDERS, (1,)), ("update", ORDERS, (3,), {"name": "e"}))
    export(lake, one, other)
    code, summary = load(lake, out)
    assert (code, [table["current"] for table in summary["tables"]]) == (0, [3])
    rows = expected(one, other)
    assert found(out, "id, name, amount, note") == rows
    assert len(found(out, "id", "orders_versions")) == 6
    assert {row[0] for row in found(out, "id", "orders_history")} == {"1:mysql-bin", "2:mysql-bin"}
    for statement in (out / "views.spark.sql").read_text().split(";\n"):
        if statement.strip():
            spark.sql(statement)
    by_spark = spark.sql("SELECT _chain, id, name, amount, note FROM shop_orders").collect()
    assert sorted(map(tuple, by_spark), key=repr) == rows
    [status] = load_status(str(out)).tables
    assert (status.current, status.completeness, status.current_files) == (3, "yes", 2)


def test_losses_are_those_of_a_shard(tmp_path: Path, load: Load) -> None:
    one, other, lake = shard(1), shard(2), tmp_path / "in"
    one.transaction(insert(1, "a"))
    other.transaction(insert(1, "b"))
    other.ddl("INSERT INTO orders VALUES (2)", kind="dml")
    export(lake, one, other)
    code, summary = load(lake, tmp_path / "out", "--shards")
    [table] = summary["tables"]
    assert (code, table["reasons"]) == (
        3,
        ["2:mysql-bin: changes logged as statements: 1; they are only in statements/ of the data set"],
    )


def test_the_server_that_takes_over_is_of_the_shard_of_the_one_before(tmp_path: Path, load: Load) -> None:
    """Its rows go on with those of the server before it; the other shard's stay as they are."""
    one, other, lake, out = shard(1), shard(2), tmp_path / "in", tmp_path / "out"
    one.transaction(insert(1, "a"), insert(2, "b"))
    other.transaction(insert(1, "c"))
    export(lake, one, other)
    assert load(lake, out, "--shards")[0] == 0
    later = Server(server_id=3)
    later.tables, later.versions, later.clock = one.tables, one.versions, one.clock
    for log in one.logs:
        later.export(lake, renumbered(log, 40), base="replica-bin", identity="33333333")
    later.rotate(42)
    later.transaction(("update", ORDERS, (1,), {"name": "later"}), ("delete", ORDERS, (2,)))
    later.export(lake, later.logs[-1], base="replica-bin", identity="33333333")
    code, summary = load(lake, out)
    assert code == 0, summary
    assert found(out, "id, name, amount") == expected(one, other)


def test_tables_of_delta_and_of_a_catalog_take_no_shards(tmp_path: Path, load: Load) -> None:
    server = shard(1)
    server.transaction(insert(1))
    export(tmp_path / "in", server)
    for more in (["--format", "delta"], ["--catalog", "glue"]):
        code, summary = load(tmp_path / "in", tmp_path / "out", "--shards", *more)
        assert (code, summary["error"].startswith("--shards: ")) == (2, True)
    assert not (tmp_path / "out").exists()
