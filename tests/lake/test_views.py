"""Readers across schema versions: the views of DuckDB and Spark, and ``binx.read_changes``."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars
import pyarrow as pa
import pytest

import binx
from binx.errors import AbsentError
from binx.lake.published.views import DuckDb, Spark
from binx.lake.table_changes import write_changes_views
from tests.lake.conftest import Load
from tests.lake.dataset import Name, Server, renumbered
from tests.lake.test_state import ORDERS

START = [
    ("id", pa.int32()), ("name", pa.string()), ("amount", pa.int32()), ("price", pa.decimal128(6, 2)),
    ("day", pa.date32()),
]  # fmt: skip


def altered() -> Server:
    """A table of which every kind of ALTER was seen, each followed by rows."""
    server = Server()
    server.create(ORDERS, START, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1, "name": "a", "amount": 1, "price": Decimal("1.50")}))
    server.transaction(("update", ORDERS, (1,), {"day": date(2026, 1, 2)}))
    steps: list[tuple[str, list[tuple[str, pa.DataType]], dict[str, str]]] = [
        ("ADD note", [*START, ("note", pa.string())], {}),
        (
            "MODIFY amount, price",
            [
                *START[:2], ("amount", pa.int64()), ("price", pa.decimal128(12, 4)),
                ("day", pa.timestamp("us")),
            ],
            {},
        ),
        (
            "RENAME name TO title, ADD name",
            [START[0], ("title", pa.string()), ("name", pa.int16())],
            {"name": "title"},
        ),
        ("MODIFY name", [START[0], ("title", pa.string()), ("name", pa.string())], {}),
    ]  # fmt: skip
    values: list[dict[str, Any]] = [
        {"note": "n", "amount": 2},
        {"amount": 1 << 40, "price": Decimal("2.1234"), "day": datetime(2026, 1, 3, 4)},
        {"title": "t", "name": 7},
        {"title": "u", "name": "seven"},
    ]
    for place, ((sql, fields, renamed), row) in enumerate(zip(steps, values, strict=True)):
        server.rotate()
        server.alter(
            ORDERS, f"ALTER TABLE orders {sql}", fields, renamed, {"name": str} if place == 3 else None
        )
        server.transaction(("insert", ORDERS, {"id": place + 2, **row}))
    return server


EXPECTED = [
    # id, title (name before), name (its type now), name as it was, amount, price, day, note
    (1, "a", None, None, 1, "1.5000", None, None),
    (1, "a", None, None, 1, "1.5000", None, None),
    (1, "a", None, None, 1, "1.5000", "2026-01-02 00:00:00", None),
    (2, None, None, None, 2, None, None, "n"),
    (3, None, None, None, 1 << 40, "2.1234", "2026-01-03 04:00:00", None),
    (4, "t", None, 7, None, None, None, None),
    (5, "u", "seven", None, None, None, None, None),
]
COLUMNS = ["id", "title", "name", "name@int16", "amount", "price", "day", "note"]


def shown(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    def text(name: str, value: Any) -> Any:
        return str(value) if name in ("price", "day") and value is not None else value

    ordered = sorted(
        rows, key=lambda row: (row["_commit_version"], row["_row"], row["_change_type"][-8:] != "preimage")
    )
    return [tuple(text(name, row[name]) for name in COLUMNS) for row in ordered]


def test_what_a_replicas_logs_repeat_from_before_the_table_was_altered_counts_once(
    tmp_path: Path, load: Load, rows: Any
) -> None:
    server = altered()
    server.export_all(tmp_path / "first")
    server.logs = [renumbered(log, 40) for log in server.logs]
    server.server_id = 98
    server.transaction(("insert", ORDERS, {"id": 9, "title": "late"}))
    server.export_all(tmp_path / "second", identity="99999999", base="replica-bin")
    assert load([tmp_path / "first", tmp_path / "second"], tmp_path / "at once")[0] == 0
    assert load(tmp_path / "first", tmp_path / "out")[0] == 0
    assert load(tmp_path / "second", tmp_path / "out")[0] == 0
    for output in ("at once", "out"):
        assert rows(tmp_path / output, ORDERS) == server.rows(ORDERS)


def listed(cursor: Any) -> list[dict[str, Any]]:
    names = [one[0] for one in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory, load: Load) -> tuple[Path, Path, Server]:
    server, folder = altered(), tmp_path_factory.mktemp("places")
    for log in server.logs:
        server.export(folder / "lake", log, whole=True)
        assert load(folder / "lake", folder / "out", "--scd2")[0] == 0
    return folder / "lake", folder / "out", server


def test_duckdbs_views_have_columns_by_identity(places: tuple[Path, Path, Server]) -> None:
    _, out, server = places
    connection = duckdb.connect()
    connection.execute((out / "views.sql").read_text())
    assert shown(listed(connection.execute("FROM shop.orders_history"))) == EXPECTED
    current = listed(connection.execute("FROM shop.orders ORDER BY id"))
    assert [{name: row[name] for name in ("id", "title", "name")} for row in current] == server.rows(ORDERS)
    [[count]] = connection.execute("SELECT count(*) FROM shop.orders_versions WHERE is_current").fetchall()
    assert count == len(server.rows(ORDERS))


def test_views_of_a_folder_that_was_moved_need_one_line(
    places: tuple[Path, Path, Server], tmp_path: Path, spark: Any
) -> None:
    moved = tmp_path / "a 'place', {new}; [1]"
    shutil.copytree(places[1], moved)
    folder = str(places[1])
    connection = duckdb.connect()
    connection.execute((moved / "views.sql").read_text())
    texts = {name: (moved / name).read_text() for name in ("views.sql", "views.spark.sql")}
    assert [text.count(folder) for text in texts.values()] == [1, 1]
    [line] = [line for line in texts["views.sql"].splitlines() if folder in line]
    connection.execute(line.replace(folder, str(moved).replace("'", "''")))
    assert shown(listed(connection.execute("FROM shop.orders_history"))) == EXPECTED
    escaped = re.sub(r"([\[\]{}*?,\\])", r"\\\1", str(moved))
    for statement in texts["views.spark.sql"].replace(folder, escaped).split(";\n\n")[:-1]:
        spark.sql(statement)
    assert shown([row.asDict() for row in spark.table("shop_orders_history").collect()]) == EXPECTED


@pytest.mark.parametrize("repeats", [False, True])
def test_views_of_a_data_set_have_the_same_without_a_load(tmp_path: Path, spark: Any, repeats: bool) -> None:
    lake = twice(tmp_path) if repeats else tmp_path / "lake"
    if not repeats:
        altered().export_all(lake)
    write_changes_views(str(lake))
    connection = duckdb.connect()
    connection.execute((lake / "views.sql").read_text())
    assert shown(listed(connection.execute("FROM shop.orders_history"))) == EXPECTED
    for statement in (lake / "views.spark.sql").read_text().split(";\n\n")[:-1]:
        spark.sql(statement)
    assert shown([row.asDict() for row in spark.table("shop_orders_history").collect()]) == EXPECTED


def test_sparks_views_have_the_same(places: tuple[Path, Path, Server], spark: Any) -> None:
    _, out, server = places
    for statement in (out / "views.spark.sql").read_text().split(";\n"):
        if statement.strip():
            spark.sql(statement)
    rows = [row.asDict() for row in spark.table("shop_orders_history").collect()]
    assert shown(rows) == EXPECTED
    current = [row.asDict() for row in spark.table("shop_orders").orderBy("id").collect()]
    assert [{name: row[name] for name in ("id", "title", "name")} for row in current] == server.rows(ORDERS)
    assert spark.table("shop_orders_versions").where("is_current").count() == len(server.rows(ORDERS))


def test_changes_are_read_from_the_data_set(places: tuple[Path, Path, Server]) -> None:
    lake = str(places[0])
    table = binx.read_changes(lake, "shop.orders").read_all()
    assert shown(table.to_pylist()) == EXPECTED
    assert table.schema.field("price").type == pa.decimal128(12, 4)
    assert shown(polars.from_arrow(table).to_dicts()) == EXPECTED  # type: ignore[union-attr]
    frame = binx.read_changes(lake, "shop.orders", ["id", "amount"]).read_pandas()
    assert (list(frame.columns), frame["amount"].max()) == (["id", "amount"], 1 << 40)
    connection = duckdb.connect()
    connection.register("changes", binx.read_changes(lake, "shop.orders", ["id", "title"]))
    assert connection.execute("SELECT count(*), count(title) FROM changes").fetchall() == [(7, 5)]


def test_a_table_or_column_that_is_not_there_is_reported(places: tuple[Path, Path, Server]) -> None:
    with pytest.raises(
        AbsentError, match=r"shop\.nothing is not among the tables of the data set, which are"
    ):
        binx.read_changes(str(places[0]), "shop.nothing")
    with pytest.raises(AbsentError, match="has no column nothing"):
        binx.read_changes(str(places[0]), "shop.orders", ["nothing"])


def twice(folder: Path) -> Path:
    """A data set with all transactions of the server, which a replica's logs repeat."""
    server = altered()
    server.export_all(folder / "lake")
    server.logs = [renumbered(log, 40) for log in server.logs]
    server.server_id = 98
    server.export_all(folder / "lake", identity="99999999", base="replica-bin")
    return folder / "lake"


def test_changes_of_two_servers_are_read_once(tmp_path: Path) -> None:
    rows = binx.read_changes(str(twice(tmp_path)), "shop.orders").read_all().to_pylist()
    assert shown(rows) == EXPECTED


def test_absent_columns_are_named_as_they_are_called_now(tmp_path: Path) -> None:
    server = Server(image="MINIMAL")
    server.create(ORDERS, START, ["id"])
    server.transaction(("insert", ORDERS, {"id": 1}), ("update", ORDERS, (1,), {"name": "x"}))
    server.alter(ORDERS, "ALTER TABLE orders RENAME COLUMN amount TO total", [
        ("total" if name == "amount" else name, kind) for name, kind in START
    ], {"amount": "total"})  # fmt: skip
    server.export_all(tmp_path / "lake")
    found = binx.read_changes(str(tmp_path / "lake"), "shop.orders", ["_absent"]).read_all().to_pylist()
    assert [row["_absent"] for row in found] == [
        None, ["name", "total", "price", "day"], ["id", "total", "price", "day"],
    ]  # fmt: skip


def test_names_of_tables_and_views_do_not_meet(tmp_path: Path, load: Load) -> None:
    other: Name = ("shop", "orders_history")
    quoted: Name = ("sh'op", 'or"ders`s')
    server = Server()
    for table in (ORDERS, other, quoted):
        server.create(table, START[:2], ["id"])
        server.transaction(("insert", table, {"id": 1, "name": table[1]}))
    server.export_all(tmp_path / "lake")
    assert load(tmp_path / "lake", tmp_path / "out")[0] == 0
    connection = duckdb.connect()
    connection.execute((tmp_path / "out/views.sql").read_text())
    for view, count in (
        ("shop.orders_history", 1),
        ("shop.orders_history_", 1),
        ('"sh\'op"."or""ders`s"', 1),
    ):
        assert connection.execute(f"SELECT count(*) FROM {view}").fetchall() == [(count,)]


def test_tables_whose_names_sparks_views_would_share_have_one_each(
    tmp_path: Path, load: Load, spark: Any
) -> None:
    tables: list[Name] = [("a", "b_c"), ("a_b", "c"), ("a", "B_C")]
    server = Server()
    for table in tables:
        server.create(table, START[:2], ["id"])
        server.transaction(("insert", table, {"id": 1, "name": ".".join(table)}))
    server.export_all(tmp_path / "lake")
    assert load(tmp_path / "lake", tmp_path / "out")[0] == 0
    for statement in (tmp_path / "out/views.spark.sql").read_text().split(";\n\n")[:-1]:
        spark.sql(statement)
    found = [spark.table(name).first()["name"] for name in ("a_B_C", "a_b_c_", "a_b_c__")]
    assert found == ["a.B_C", "a.b_c", "a_b.c"]


def test_texts_are_what_they_were(spark: Any) -> None:
    for text in ("it's", "back\\slash", "''", "\\'"):
        assert spark.sql(f"SELECT {Spark.text(text)}").first()[0] == text
        assert duckdb.execute(f"SELECT {DuckDb.text(text)}").fetchone() == (text,)


def test_times_are_what_they_were(tmp_path: Path) -> None:
    server = Server()
    fields = [("id", pa.int32()), ("at", pa.timestamp("us", "UTC")), ("took", pa.duration("us"))]
    server.create(ORDERS, fields, ["id"])
    row = {"id": 1, "at": datetime(2026, 1, 1, tzinfo=UTC), "took": timedelta(hours=-838)}
    server.transaction(("insert", ORDERS, row))
    server.export_all(tmp_path / "lake")
    [found] = (
        binx.read_changes(str(tmp_path / "lake"), "shop.orders", ["id", "at", "took"]).read_all().to_pylist()
    )
    assert found == row
