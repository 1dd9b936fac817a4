"""Parquet files that other programs wrote are a base: with exactly their values, or refused as a whole."""

from __future__ import annotations

import datetime
import decimal
import json
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd  # type: ignore[import-untyped]
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.dataset.options import ParquetOptions
from binx.errors import BinxError
from binx.event.gtid.sets import GtidSet
from binx.lake.at_moment import table_at
from binx.lake.base.importing import import_bases
from binx.log.backup_position import BackupPosition
from binx.log.selection.times import format_time
from tests.cli.process import binx

GTIDS = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77"
POSITION = BackupPosition("mysql-bin.000003", 4711, GtidSet.parse(GTIDS))
SCHEMA = """USE `shop`;
CREATE TABLE `orders` (`id` int unsigned NOT NULL, `total` decimal(10,2), `day` date, `at` timestamp(3) NULL,
  `seen` datetime(6), `note` varchar(50), `raw` varbinary(20), `took` time(6), `state` enum('new','paid'),
  `tags` set('a','b'), `doc` json, `on` bit(1), `twice` int GENERATED ALWAYS AS (`id` * 2) STORED,
  PRIMARY KEY (`id`)) DEFAULT CHARSET=utf8mb4;
CREATE TABLE `other` (`id` int PRIMARY KEY);
"""
UTC = datetime.UTC
ROWS = [
    {
        "id": 4_294_967_295, "total": decimal.Decimal("-12.50"), "day": datetime.date(2026, 11, 24),
        "at": datetime.datetime(2026, 11, 24, 3, 0, 0, 125_000, UTC),
        "seen": datetime.datetime(1066, 10, 14, 9, 0, 0, 1), "note": "it's ü", "raw": b"\0\xff",
        "took": datetime.timedelta(hours=3, microseconds=7), "state": "paid", "tags": "a,b",
        "doc": '{"a": 1}', "on": True,
    },
    {"id": 2,
     **dict.fromkeys(["total", "day", "at", "seen", "note", "raw", "took", "state", "tags", "doc", "on"])},
]  # fmt: skip
DUCKDB = """CREATE TABLE orders (id UINTEGER, total DECIMAL(12,3), day DATE, "at" TIMESTAMPTZ, seen TIMESTAMP,
  note VARCHAR, raw BLOB, took TIME, state ENUM('paid', 'new'), tags VARCHAR, doc JSON, "on" BOOLEAN)"""


def imported(path: Path, lake: Path, *, schema: str | None = SCHEMA, table: Any = None) -> dict[str, Any]:
    """The manifest of files that are taken in."""
    file = lake.parent / "schema.sql"
    if schema is not None:
        file.write_text(schema)
    (report,) = import_bases(
        [str(path)],
        str(lake),
        ParquetOptions(),
        position=POSITION,
        schema=None if schema is None else str(file),
        table=table,
    )
    return report.manifest


def rows_of(lake: Path, table: str = "shop/orders") -> list[dict[str, Any]]:
    files = sorted((lake / "changes" / table).iterdir())
    rows: list[dict[str, Any]] = [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]
    return rows


def by_arrow(path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(ROWS), path)


def by_duckdb(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(DUCKDB)
        for row in ROWS:
            took = row["took"]
            values = [*row.values()]
            values[7] = None if took is None else (datetime.datetime.min + took).time()  # type: ignore[operator]
            connection.execute(f"INSERT INTO orders VALUES ({', '.join('?' * len(values))})", values)
        connection.execute(f"COPY orders TO '{path}' (FORMAT parquet)")


def by_pandas(path: Path) -> None:
    frame = pd.DataFrame(ROWS)
    frame["id"] = frame["id"].astype("float64")
    frame.to_parquet(path, index=False, coerce_timestamps="us")


@pytest.mark.parametrize("write", [by_arrow, by_duckdb, by_pandas])
def test_rows_of_any_writer_are_values_of_the_columns(tmp_path: Path, write: Any) -> None:
    path, lake = tmp_path / "shop.orders.parquet", tmp_path / "lake"
    write(path)
    manifest = imported(path, lake)
    assert manifest["base"] == {
        "tool": "Parquet", "file": "mysql-bin.000003", "position": 4711, "gtids": GTIDS,
        "written": format_time(path.stat().st_mtime_ns // 1000),
    }  # fmt: skip
    assert manifest["tables"] == [{"db": "shop", "table": "orders", "inserts": 2, "updates": 0, "deletes": 0}]
    rows = rows_of(lake)
    assert [{name: row[name] for name in ROWS[0]} for row in rows] == ROWS
    assert {(row["_change_type"], row["_present"]) for row in rows} == {("base", b"\xff\x0f")}
    assert [row["_row"] for row in rows] == [0, 1]
    state = table_at(str(lake), "shop.orders", None)
    assert state.key == ("id",)
    assert sorted(state.rows.column("id").to_pylist()) == [2, 4_294_967_295]


def test_what_state_writes_is_a_base_without_a_schema(tmp_path: Path) -> None:
    first, second, file = tmp_path / "first", tmp_path / "second", tmp_path / "found.parquet"
    by_arrow(tmp_path / "shop.orders.parquet")
    imported(tmp_path / "shop.orders.parquet", first)
    assert binx("state", first, "--table", "shop.orders", "-o", file, "--quiet").code == 3
    imported(file, second, schema=None)
    before, after = (table_at(str(lake), "shop.orders", None) for lake in (first, second))
    assert after.rows.to_pylist() == before.rows.to_pylist()
    assert after.rows.column("_unknown").to_pylist() == [["twice"], ["twice"]]
    assert (after.key, after.definition, after.rows.schema) == (
        ("id",),
        before.definition,
        before.rows.schema,
    )


@pytest.mark.parametrize(
    "path",
    ["shop.orders.parquet", "shop.orders/part-0-c000.snappy.parquet", "in/shop/orders/part-0.parquet",
     "in/shop.orders/1/part-0.gz.parquet", "orders.parquet/part-0.zstd.parquet", "in/x.y.z.parquet"],
)  # fmt: skip
def test_names_say_the_table(tmp_path: Path, path: str) -> None:
    file = tmp_path / "base" / path
    file.parent.mkdir(parents=True)
    by_arrow(file)
    (file.parent / "_SUCCESS").touch()
    (file.parent / ".part-0.crc").touch()
    table = None if "shop" in path else ("shop", "orders")
    if table is not None:
        with pytest.raises(BinxError):
            imported(tmp_path / "base", tmp_path / "lake")
    manifest = imported(tmp_path / "base", tmp_path / "lake", table=table)
    assert [(entry["db"], entry["table"]) for entry in manifest["tables"]] == [("shop", "orders")]


def test_part_files_are_one_table(tmp_path: Path) -> None:
    folder = tmp_path / "shop.orders"
    folder.mkdir()
    for number, row in enumerate(ROWS):
        pq.write_table(
            pa.Table.from_pylist([row], pa.Table.from_pylist(ROWS).schema), folder / f"{number}.parquet"
        )
    imported(folder, tmp_path / "lake")
    assert [row["_row"] for row in rows_of(tmp_path / "lake")] == [0, 1]
    same = tmp_path / "shop.orders.parquet"
    by_arrow(same)
    with pytest.raises(BinxError, match="give the folder"):
        list(
            import_bases(
                [str(folder), str(same)], str(tmp_path / "lake"), ParquetOptions(), position=POSITION
            )
        )
    with pytest.raises(BinxError, match="say which table"):
        imported(folder / "0.parquet", tmp_path / "lake")


def test_tables_whose_names_have_dots_are_distinguished(tmp_path: Path) -> None:
    by_arrow(tmp_path / "rows.parquet")
    for db, table in (("a.b", "c"), ("a", "b.c")):
        manifest = imported(tmp_path / "rows.parquet", tmp_path / "lake", schema=None, table=(db, table))
        assert [(one["db"], one["table"]) for one in manifest["tables"]] == [(db, table)]


def test_without_a_schema_columns_are_as_the_file_has_them(tmp_path: Path) -> None:
    by_arrow(tmp_path / "shop.orders.parquet")
    imported(tmp_path / "shop.orders.parquet", tmp_path / "lake", schema=None)
    assert [{name: row[name] for name in ROWS[0]} for row in rows_of(tmp_path / "lake")] == ROWS
    state = table_at(str(tmp_path / "lake"), "shop.orders", None, ["id"])
    assert state.rows.num_rows == 2
    assert state.definition is not None
    assert "`seen` datetime(6) NULL" in state.definition.sql


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("id", pa.array([1, -1]), "-1 is out of its range"),
        ("id", pa.array([1, None]), "is NOT NULL, found 1 NULL"),
        ("id", pa.array([1.0, 1.5]), "truncated"),
        ("id", pa.array([1.0, 2.0**60]), "may have lost digits"),
        ("id", pa.array(["1", "2"]), "write them as integers"),
        ("total", pa.array([1.5, 2.0]), "write them as decimals"),
        ("total", pa.array([decimal.Decimal("1.255"), None]), "would cause data loss"),
        ("day", pa.array([datetime.datetime(2026, 1, 1, 1), None]), "some have a time"),
        ("at", pa.array([datetime.datetime(2026, 1, 1), None]), "with a time zone"),
        ("at", pa.array([1, None], pa.timestamp("us", "UTC")), "out of its range"),
        ("at", pa.array([1_000_000_000_001, None], pa.timestamp("us", "UTC")), "more than 3 digits"),
        ("seen", pa.array([1, None], pa.timestamp("us", "UTC")), "without time zone"),
        ("seen", pa.array([1, None], pa.timestamp("ns")), "would lose data"),
        ("note", pa.array([b"x", None]), "write them as text"),
        ("raw", pa.array(["x", None]), "write them as bytes"),
        ("took", pa.array([1, None]), "write them as durations"),
        ("state", pa.array(["PAID", None]), "'PAID' is not how the server prints one"),
        ("tags", pa.array(["b,a", None]), "'b,a' is not how"),
        ("on", pa.array([2, None]), "2 is out of its range"),
        ("more", pa.array([1, 2]), "found more"),
        ("note", None, "it lacks note"),
    ],
)
def test_what_is_no_value_of_its_column_is_refused(
    tmp_path: Path, column: str, values: pa.Array | None, message: str
) -> None:
    table = pa.Table.from_pylist(ROWS)
    if column in table.column_names:
        table = table.drop_columns([column])
    pq.write_table(
        table if values is None else table.append_column(column, values), tmp_path / "shop.orders.parquet"
    )
    with pytest.raises(BinxError, match=message):
        imported(tmp_path / "shop.orders.parquet", tmp_path / "lake")
    assert not list((tmp_path / "lake").rglob("*.parquet"))


@pytest.mark.parametrize(
    ("name", "message"),
    [("_delta_log/0.json", "a Delta table"), ("metadata/1.metadata.json", "an Iceberg table"),
     ("_manifest/x.json", "a data set"), ("_temporary/0", "has not finished"), ("_state.json", "binx load"),
     ("day=1/0.parquet", "say which table")],
)  # fmt: skip
def test_a_folder_of_another_kind_is_refused(tmp_path: Path, name: str, message: str) -> None:
    by_arrow(tmp_path / "0.parquet")
    folder = tmp_path / "orders"
    (folder / name).parent.mkdir(parents=True)
    (folder / name).write_bytes((tmp_path / "0.parquet").read_bytes())
    with pytest.raises(BinxError, match=message):
        imported(folder, tmp_path / "lake")


def test_a_damaged_file_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "shop.orders.parquet"
    by_arrow(path)
    data = bytearray(path.read_bytes())
    path.write_bytes(data[:-20])
    with pytest.raises(BinxError, match="damaged"):
        imported(path, tmp_path / "lake")
    data[60:200] = bytes(140)
    path.write_bytes(data)
    with pytest.raises(BinxError):
        imported(path, tmp_path / "lake")
    assert not list((tmp_path / "lake").rglob("*.parquet"))


def test_the_command_asks_for_the_position_and_takes_a_file_once(tmp_path: Path) -> None:
    path, schema, lake = tmp_path / "data.parquet", tmp_path / "schema.sql", tmp_path / "lake"
    by_arrow(path)
    schema.write_text(SCHEMA)
    argv: list[str | Path] = ["base", path, "--as", "shop.orders", "--schema", schema, "-o", lake, "--json"]
    refused = binx(*argv)
    assert (refused.code, "--from-gtid" in refused.err) == (2, True)
    for state in ("written", "kept"):
        done = binx(*argv, "--from-gtid", GTIDS)
        assert (done.code, json.loads(done.out)["state"]) == (0, state), done.err
