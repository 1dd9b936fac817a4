"""Tables and columns that DDL changes: current/ follows them."""

from __future__ import annotations

import shutil
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from binx.spark.lake.table_name import TableName
from tests.spark.conftest import Load, Loaded, files_of
from tests.spark.dataset import Name, Server, column_effect
from tests.spark.test_state import FIELDS, ORDERS, Rows, insert, orders

GHOST: Name = ("shop", "_orders_gho")
OLD: Name = ("shop", "_orders_del")


@pytest.mark.parametrize("options", [[], ["--table", "shop.orders"]])
@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_swapped_in_table_brings_its_rows(
    tmp_path: Path, load: Load, loaded: Loaded, rows: Rows, options: list[str], is_damaged: bool
) -> None:
    """As tools for online schema changes do it: fill a second table, then swap the names."""
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    server.create(GHOST, [*FIELDS, ("added", pa.int32())], ["id"])
    for number in (1, 2):
        server.transaction(("insert", GHOST, {**server.tables[ORDERS][number,], "added": number}))
    server.transaction(insert(3, "late"), ("insert", GHOST, {"id": 3, "name": "late", "added": 3}))
    loaded(server, *options)
    if is_damaged:
        server.rotate()
    server.rename((ORDERS, OLD), (GHOST, ORDERS))
    server.transaction(("update", ORDERS, (2,), {"added": 20}), ("delete", ORDERS, (1,)))
    server.drop(OLD)
    if is_damaged:
        server.export_all(tmp_path / "in", whole=True)
        shutil.rmtree(tmp_path / "out")
        [file] = (tmp_path / "in/changes/shop/_orders_gho").iterdir()
        content = file.read_bytes()
        file.write_bytes(content[:-9])
        for _ in range(2):
            code, summary = load(tmp_path / "in", tmp_path / "out", *options)
            errors = {table["table"]: table["error"] for table in summary["tables"]}
            assert (code, file.name in errors["orders"]) == (1, True)
        file.write_bytes(content)
    assert not any(table["error"] for table in loaded(server, *options)[1]["tables"])
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    assert files_of(tmp_path / "out", GHOST) == []
    server.rotate()
    server.transaction(("insert", ORDERS, {"id": 9, "added": 9}))
    loaded(server, *options)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)


RENAMED = [("id", pa.int32()), ("title", pa.string()), ("amount", pa.int32())]


CHANGED = "CHANGE name title text, DROP amount"


@pytest.mark.parametrize("when", ["before", "with", "after"])
def test_columns_are_followed_where_the_table_is_renamed_before_rows_come(
    when: str, tmp_path: Path, loaded: Loaded, rows: Rows
) -> None:
    server = orders()
    server.transaction(insert(1, "a", 1), insert(2, "b", 2))
    loaded(server)
    server.rotate()
    if when == "before":
        server.alter(ORDERS, f"ALTER TABLE orders {CHANGED}", RENAMED[:2], {"name": "title"})
        server.logs[-1].versions.pop()  # A version that has no rows has no record.
    if when != "with":
        server.rename((ORDERS, OLD))
    else:
        server.tables[OLD], server.versions[OLD] = server.tables.pop(ORDERS), server.versions.pop(ORDERS)
        sql = f"ALTER TABLE orders {CHANGED}, RENAME {OLD[1]}"
        server.alter(OLD, sql, RENAMED[:2], {"name": "title"}, before=ORDERS)
    if when == "after":
        server.alter(OLD, f"ALTER TABLE {OLD[1]} {CHANGED}", RENAMED[:2], {"name": "title"})
    server.alter(OLD, f"ALTER TABLE {OLD[1]} ADD amount int", RENAMED)
    server.transaction(("update", OLD, (2,), {"amount": 20}))
    code, summary = loaded(server)
    assert code == 0, summary
    expected = [{"id": 1, "title": "a", "amount": None}, {"id": 2, "title": "b", "amount": 20}]
    assert rows(tmp_path / "out", OLD) == expected == server.rows(OLD)


def test_a_column_that_was_dropped_and_added_anew_is_another_where_numbering_began_again_too(
    tmp_path: Path, loaded: Loaded, rows: Rows
) -> None:
    """The version of before comes back at a smaller SCN than those of rows that had the former column."""
    server = orders(first_log=5)
    server.transaction(insert(1, "a", 1), insert(2, "b", 2))
    server.rotate(7)
    server.transaction(insert(3, "c", 3), insert(4, "d", 4))
    server.rotate(6)
    server.alter(ORDERS, "ALTER TABLE orders DROP amount", FIELDS[:2])
    server.alter(ORDERS, "ALTER TABLE orders ADD amount int", FIELDS)
    server.transaction(("update", ORDERS, (2,), {"amount": 20}))
    loaded(server)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    assert [row["amount"] for row in server.rows(ORDERS)] == [None, 20, None, None]


def test_types_that_widen_share_a_column(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = Server()
    narrow = [
        ("id", pa.int8()), ("big", pa.int64()), ("price", pa.decimal128(6, 2)),
        ("ratio", pa.float32()), ("day", pa.date32()), ("code", pa.int32()),
    ]  # fmt: skip
    wide = [
        ("id", pa.int32()), ("big", pa.uint64()), ("price", pa.decimal128(12, 4)),
        ("ratio", pa.float64()), ("day", pa.timestamp("us")), ("code", pa.string()),
    ]  # fmt: skip
    server.create(ORDERS, narrow, ["id"])
    first = {"big": 5, "price": Decimal("1.50"), "ratio": 0.5, "day": date(2026, 1, 2), "code": 42}
    server.transaction(("insert", ORDERS, {"id": 1, **first}))
    for name, kind in wide:
        fields = [
            (name, kind) if other == name else (other, before)
            for other, before in server.versions[ORDERS].fields
        ]
        server.alter(ORDERS, f"ALTER TABLE orders MODIFY {name} …", fields)
    second = {"big": 1 << 63, "price": Decimal("1.2345"), "ratio": 0.1, "day": None, "code": "x"}
    server.tables[ORDERS].clear()
    server.transaction(("insert", ORDERS, {"id": 70000, **second}))
    code, summary = loaded(server)
    assert code == 0, summary
    old, new = rows(tmp_path / "out", ORDERS)
    assert (old["big"], str(old["price"]), old["code"], str(old["day"])) == (
        5,
        "1.5000",
        "42",
        "2026-01-02 00:00:00",
    )
    assert (new["big"], new["price"], new["code"]) == (1 << 63, Decimal("1.2345"), "x")


def test_what_only_the_server_knows_is_null_and_listed(tmp_path: Path, loaded: Loaded, spark: Any) -> None:
    server = orders()
    server.transaction(insert(1, "7"), insert(2, "old"))
    fields = [("id", pa.int32()), ("name", pa.list_(pa.float32())), ("amount", pa.int32())]
    server.alter(ORDERS, "ALTER TABLE orders MODIFY name vector", fields, convert={"name": lambda _: None})
    server.transaction(("update", ORDERS, (1,), {"name": [1.0]}))
    code, summary = loaded(server)
    assert (code, summary["tables"][0]["complete"][:18]) == (3, "losses since 2026-")
    found = spark.read.parquet(*files_of(tmp_path / "out", ORDERS)).orderBy("id").collect()
    assert [(row["id"], row["name"], row["_unknown"]) for row in found] == [
        (1, [1.0], None),
        (2, None, ["name"]),
    ]


def test_values_of_a_column_that_is_computed_anew_are_not_known(
    tmp_path: Path, loaded: Loaded, rows: Rows
) -> None:
    server = orders()
    server.transaction(insert(1, "a", 1), insert(2, "b", 2))
    loaded(server)
    server.rotate()
    columns = [column_effect(*field) for field in FIELDS]
    computed = {**columns[2], "action": "retyped", "known": False}
    altered = {"action": "altered", "db": "shop", "table": "orders", "columns": columns, "key": ["id"]}
    server.ddl("ALTER TABLE orders MODIFY amount INT AS (id + 2)", {**altered, "changes": [computed]})
    server.transaction(("update", ORDERS, (2,), {"amount": 4}))
    code, summary = loaded(server)
    assert (code, "amount" in summary["tables"][0]["reasons"][1]) == (3, True)
    assert [row["amount"] for row in rows(tmp_path / "out", ORDERS)] == [None, 4]


def test_changes_logged_as_statements_are_a_loss_that_is_told(loaded: Loaded) -> None:
    server = orders()
    server.transaction(insert(1))
    server.ddl("DELETE FROM orders", kind="dml")
    moved = {"action": "partitions", "db": "shop", "table": "orders"}
    server.ddl("ALTER TABLE orders DROP PARTITION p0", moved)
    code, summary = loaded(server)
    assert code == 3
    assert "changes logged as statements: 1;" in summary["losses"][0]
    assert "partitions" in summary["tables"][0]["reasons"][0]


def test_both_tables_of_an_exchange_in_one_database_are_incomplete(loaded: Loaded) -> None:
    server = orders()
    server.transaction(insert(1))
    server.create(OLD, FIELDS, ["id"])
    exchanged = {"action": "partitions", "db": "shop", "table": "orders", "new_table": OLD[1]}
    server.ddl("ALTER TABLE orders EXCHANGE PARTITION p0 WITH TABLE _orders_del", exchanged)
    code, summary = loaded(server)
    assert code == 3
    told = {(one["db"], one["table"]): one["reasons"] for one in summary["tables"]}
    assert all("partitions" in told[name][0] for name in (ORDERS, OLD))


def test_rows_of_a_prepared_transaction_hold_once_it_is_committed(
    tmp_path: Path, loaded: Loaded, rows: Rows
) -> None:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    server.xa("X'61',X'',1", insert(3, "never"), ("delete", ORDERS, (1,)))("ROLLBACK")
    server.xa("X'61',X'',1", insert(4, "soon"))("COMMIT")
    end = server.xa("X'62',X'',1", insert(5, "later"), ("delete", ORDERS, (2,)))
    code, _ = loaded(server)
    assert code == 0
    assert [row["id"] for row in rows(tmp_path / "out", ORDERS)] == [1, 2, 4]
    server.rotate()
    end("COMMIT")
    loaded(server)
    assert rows(tmp_path / "out", ORDERS) == server.rows(ORDERS)
    assert [row["id"] for row in server.rows(ORDERS)] == [1, 4, 5]


def test_every_version_of_a_row_has_its_time(tmp_path: Path, loaded: Loaded, rows: Rows) -> None:
    server = orders(image="MINIMAL")
    server.transaction(insert(1, "a", 1), ("update", ORDERS, (1,), {"name": "b"}))
    server.transaction(("update", ORDERS, (1,), {"amount": 2}))
    server.transaction(("update", ORDERS, (1,), {"id": 2}))
    server.transaction(("delete", ORDERS, (2,)))
    server.transaction(insert(1, "anew"))
    code, _ = loaded(server, "--scd2")
    assert code == 0
    found = rows(tmp_path / "out", ORDERS, ("valid_from",), "scd2")
    spans = [
        (
            row["id"],
            row["name"],
            row["amount"],
            row["valid_from"].minute,
            row["valid_to"] and row["valid_to"].minute,
            row["is_current"],
        )
        for row in found
    ]
    assert spans == [
        (1, "b", 1, 14, 21, False),
        (1, "b", 2, 21, 28, False),
        (2, "b", 2, 28, 35, False),
        (1, "anew", None, 42, None, True),
    ]


def test_names_with_dots_are_quoted_in_options_and_messages(tmp_path: Path, load: Load, rows: Rows) -> None:
    """Two tables whose names are the same text if nothing is quoted."""
    server = Server()
    one, other = ("a.b", "c"), ("a", "b.c")
    for table, value in ((one, "x"), (other, "y")):
        server.create(table, FIELDS, [])
        server.transaction(("insert", table, {"id": 1, "name": value, "amount": 1}))
    server.export_all(tmp_path / "in")
    out = tmp_path / "out"
    code, answer = load(tmp_path / "in", out, "--table", "a.b.c")
    assert (code, "quote a name with a dot" in answer["error"]) == (2, True)
    code, answer = load(tmp_path / "in", out, "--key", "a.c=id")
    assert (code, "the data contains only a.`b.c`, `a.b`.c" in answer["error"]) == (4, True)
    code, summary = load(tmp_path / "in", out, "--table", "`a.b`.*", "--key", "`a.b`.c=id")
    assert (code, [(table["db"], table["current"]) for table in summary["tables"]]) == (0, [("a.b", 1)])
    assert [row["name"] for row in rows(out, one)] == ["x"]
    assert files_of(out, other) == []
    load(tmp_path / "in", out, "--key", "a.`b.c`=id", "--rebuild", "a.`b.c`")
    assert [row["name"] for row in rows(out, other)] == ["y"]
    assert rows(out, one) == [{"id": 1, "name": "x", "amount": 1}]
    assert str(TableName.parse("a.`b.c`")) == "a.`b.c`"
