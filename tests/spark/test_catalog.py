"""``--catalog``: tables of a catalog that Iceberg's own engine writes, in a Spark that has its package.

``make spark35`` installs that Spark; the tests of Iceberg's tables are left out without it.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.lake.place import LakeStore
from binx.spark.catalog import RECORDS
from binx.spark.catalog_table import CatalogTable
from tests.lake.conftest import Load, files_of
from tests.lake.dataset import START, Name, Server, column_effect
from tests.lake.test_history import OTHER, two_tables
from tests.lake.test_state import FIELDS, ORDERS, insert, orders

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/spark35/bin/python"
JARS = list(ROOT.glob("build/spark35/lib/python3*/site-packages/snowpark_connect_deps_iceberg/jars"))
Ask = Callable[..., Any]


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """Spark with Iceberg; what it is asked it answers, or raises its error."""
    jars = [jar for folder in JARS for jar in folder.glob("iceberg-spark-runtime-3.5_2.12-*.jar")]
    if not (jars and PYTHON.exists()):
        pytest.skip("no Spark with Iceberg's package: `make spark35` installs one")
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK"))
    }
    with subprocess.Popen(
        [PYTHON, "-m", "tests.spark.iceberg_session", jars[0], tmp_path_factory.mktemp("warehouse")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1"},
    ) as running:  # fmt: skip
        questions, answers = running.stdin, running.stdout
        assert questions is not None
        assert answers is not None

        def ask(**what: Any) -> Any:
            print(json.dumps(what, default=str), file=questions, flush=True)
            answer = json.loads(answers.readline() or '{"error": "Spark ended"}')
            if "error" in answer:
                raise RuntimeError(answer["error"])
            return answer["answer"]

        yield ask
        questions.close()


@pytest.fixture
def ice(process: Ask) -> Iterator[Ask]:
    """The same, with no tables."""
    yield process
    for namespace in process(sql="SHOW NAMESPACES IN ice"):
        name = f"ice.{namespace['namespace']}"
        for table in process(sql=f"SHOW TABLES IN {name}"):
            process(sql=f"DROP TABLE {name}.`{table['tableName']}`")
        process(sql=f"DROP NAMESPACE {name}")


@pytest.fixture
def follow(ice: Ask, tmp_path: Path) -> Callable[..., None]:
    """Export and load what a server has logged, into a catalog's table too."""

    def follow(server: Server, *more: str, publish: bool = True) -> None:
        server.export_all(tmp_path / "in")
        catalog = ["--catalog", "ice"] if publish else []
        summary = ice(load=[str(tmp_path / "in"), "--output", str(tmp_path / "out"), *catalog, *more])
        assert summary["exit_code"] == 0, summary
        if publish:
            check(ice, tmp_path / "out", server)
        server.rotate()

    return follow


def check(ice: Ask, out: Path, server: Server, target: str = "ice.shop.orders", table: Name = ORDERS) -> None:
    """Whether a table of the catalog is the server's, and ``current/`` in every column."""
    found = comparable(ice(sql=f"SELECT * FROM {target}"))
    expected = server.rows(table) if table in server.tables else []
    values = [{name: row[name] for name in expected[0]} for row in found] if expected else found
    assert values == comparable(expected)
    current = [row for file in files_of(out, table) for row in pq.read_table(file).to_pylist()]
    assert [{**row, "_commit_timestamp": None} for row in comparable(current)] == [
        {name: None if name == "_commit_timestamp" else row[name] for name in current[0]} for row in found
    ]


def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of either side in one order; Spark has a DECIMAL for integers of 64 bits without a sign."""
    plain = json.loads(json.dumps(rows, default=str), parse_int=str)
    return sorted(plain, key=lambda row: json.dumps([row.get("id"), row], sort_keys=True))


def alter(server: Server, sql: str, fields: list[tuple[str, pa.DataType]], **how: Any) -> None:
    server.alter(ORDERS, f"ALTER TABLE orders {sql}", fields, **how)


def test_a_table_follows_rows_and_columns(ice: Ask, follow: Callable[..., None]) -> None:
    server = orders()
    server.transaction(insert(1, "a", 1), insert(2, "b", 2), insert(3, "c", 3), insert(4, "d", 4))
    follow(server)
    ice(sql="ALTER TABLE ice.shop.orders ADD COLUMN remark STRING")
    ice(sql="UPDATE ice.shop.orders SET remark = 'ours'")
    server.transaction(
        ("update", ORDERS, (1,), {"name": "x"}), ("delete", ORDERS, (2,)),
        ("update", ORDERS, (3,), {"id": 30}), insert(5, "e", 5),
    )  # fmt: skip
    follow(server)
    i, name, amount = FIELDS
    note, price = ("note", pa.string()), ("price", pa.int32())
    alter(server, "ADD note varchar(100)", [i, name, amount, note])
    server.transaction(insert(6, "f"), ("update", ORDERS, (1,), {"note": "n"}))
    follow(server)
    # Names go to other columns.
    alter(server, "RENAME COLUMN amount TO price", [i, name, price, note], renamed={"amount": "price"})
    alter(server, "ADD amount int", [i, name, price, note, amount])
    server.transaction(("update", ORDERS, (5,), {"amount": 50}))
    follow(server)
    assert {row["id"]: row["remark"] for row in ice(sql="SELECT id, remark FROM ice.shop.orders")} == {
        1: "ours", 4: "ours", 5: None, 6: None, 30: None,
    }  # fmt: skip
    swapped = {"name": "note", "note": "name"}
    alter(
        server,
        "RENAME COLUMN name TO note, RENAME COLUMN note TO name",
        [i, note, price, name, amount],
        renamed=swapped,
    )
    follow(server)
    # A type that holds the former one's values, and one that does not.
    wide = ("price", pa.int64())
    alter(server, "MODIFY price bigint", [i, note, wide, name, amount])
    server.transaction(("update", ORDERS, (5,), {"price": 1 << 40}))
    follow(server)
    text = ("price", pa.string())
    alter(server, "MODIFY price varchar(100)", [i, note, text, name, amount], convert={"price": str})
    follow(server)
    alter(server, "DROP name, DROP amount", [i, note, text])
    follow(server)
    kinds = {row["col_name"]: row["data_type"] for row in ice(sql="DESCRIBE ice.shop.orders")}
    assert kinds["price"] == "string"
    assert "amount" not in kinds
    assert "remark" in kinds


def test_a_table_follows_truncate_drop_and_create(
    ice: Ask, follow: Callable[..., None], tmp_path: Path
) -> None:
    server = orders()
    server.transaction(insert(1, "a", 1), insert(2, "b", 2))
    follow(server)
    server.truncate(ORDERS)
    follow(server)
    server.transaction(insert(1, "again"))
    follow(server)
    server.drop(ORDERS)
    server.export_all(tmp_path / "in")
    follow_without_table = {"publish": tmp_path / "out"}
    server.create(("shop", "other"), FIELDS, ["id"])
    follow(server, publish=False)
    assert ice(**follow_without_table)["errors"] == {}
    assert ice(sql="SELECT * FROM ice.shop.orders") == []
    server.create(ORDERS, [("id", pa.string()), ("name", pa.float64())], ["id"])
    server.transaction(("insert", ORDERS, {"id": "k", "name": 0.5}))
    follow(server)


def test_a_new_name_is_another_table(ice: Ask, follow: Callable[..., None], tmp_path: Path) -> None:
    server = orders()
    server.transaction(insert(1, "a"))
    follow(server)
    server.rename((ORDERS, ("shop", "old orders")))
    follow(server, publish=False)
    ice(publish=tmp_path / "out")
    assert ice(sql="SELECT * FROM ice.shop.orders") == []
    check(ice, tmp_path / "out", server, "ice.shop.`old orders`", ("shop", "old orders"))


def test_a_key_of_other_columns_is_followed(ice: Ask, follow: Callable[..., None]) -> None:
    server = Server()
    server.create(ORDERS, FIELDS, ["id", "amount"])
    server.transaction(insert(1, "a", 1), insert(1, "b", 2), insert(2, "c", 1))
    follow(server)
    server.transaction(("delete", ORDERS, (1, 2)))
    fields = [("id", pa.int64()), *FIELDS[1:]]
    server.alter(ORDERS, "ALTER TABLE orders MODIFY id bigint", fields)
    follow(server)
    version = replace(server.versions[ORDERS], key=("id",))
    server.versions[ORDERS] = version
    effect = {
        "action": "altered", "db": "shop", "table": "orders", "key": ["id"], "changes": [],
        "columns": [column_effect(*field) for field in fields],
    }  # fmt: skip
    server.ddl("ALTER TABLE orders DROP PRIMARY KEY, ADD PRIMARY KEY (id)", effect)
    server.tables[ORDERS] = {key[:1]: row for key, row in server.tables[ORDERS].items()}
    server.transaction(("update", ORDERS, (1,), {"amount": 5}))
    follow(server)


@pytest.mark.parametrize("later", [False, True], ids=["at once", "behind another load"])
def test_what_a_kill_left_is_brought_to_its_end(
    later: bool, ice: Ask, follow: Callable[..., None], tmp_path: Path
) -> None:
    """The rows are there and the record of them is not, in any state of the columns."""
    server, record = orders(), tmp_path / "out" / RECORDS
    server.transaction(insert(1, "a", 1), insert(2, "b", 2), insert(3, "c", 3))
    follow(server)
    fields = [*FIELDS, ("note", pa.string())]
    for number in range(2):
        before = record.read_text()
        if number == 0:
            server.transaction(
                ("delete", ORDERS, (1,)), ("update", ORDERS, (2,), {"name": "y"}), insert(1)
            )  # fmt: skip
        else:
            alter(server, "ADD note varchar(100)", fields)
        follow(server)
        record.write_text(before)
        if later:
            server.transaction(
                ("delete", ORDERS, (2,)), insert(2, "z"), ("update", ORDERS, (3,), {"amount": 9})
            )
        follow(server)
        assert not ice(publish=tmp_path / "out")["had_work"]
    alter(
        server,
        "RENAME COLUMN amount TO price",
        [(n if n != "amount" else "price", k) for n, k in fields],
        renamed={"amount": "price"},
    )
    ice(sql="ALTER TABLE ice.shop.orders RENAME COLUMN amount TO price")
    follow(server)
    ice(sql="ALTER TABLE ice.shop.orders DROP COLUMN note")
    server.transaction(insert(9, "i"))
    follow(server)


def test_loads_without_the_catalog_and_a_rebuild_are_followed(follow: Callable[..., None], ice: Ask) -> None:
    server = orders()
    for number in range(4):
        server.transaction(insert(number, "a"), insert(number + 10, "b"))
        follow(server, publish=number in (0, 3))
    ice(sql="UPDATE ice.shop.orders SET name = 'broken'")
    follow(server, "--rebuild", "shop.orders")


def test_rows_of_others_are_not_replaced_and_other_tables_go_on(ice: Ask, tmp_path: Path, load: Load) -> None:
    server, out = two_tables(), tmp_path / "out"
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", out)
    ice(sql="CREATE NAMESPACE ice.shop")
    ice(sql="CREATE TABLE ice.shop.orders (id INT, name STRING) PARTITIONED BY (bucket(2, id))")
    ice(sql="INSERT INTO ice.shop.orders VALUES (7, 'seven')")
    errors = ice(publish=out)["errors"]
    assert [*errors] == ["shop.orders"]
    assert "has rows that are not of this output" in errors["shop.orders"]
    other = ".".join(OTHER)
    check(ice, out, server, f"ice.{other}", OTHER)
    ice(sql="DELETE FROM ice.shop.orders")
    assert ice(publish=out)["errors"] == {}
    check(ice, out, server)
    # Its partitions stay, and it is this output's from here on: another one does not take it.
    assert ice(sql="SELECT count(*) AS n FROM ice.shop.orders.partitions")[0]["n"] > 1
    load(tmp_path / "in", tmp_path / "second")
    assert set(ice(publish=tmp_path / "second")["errors"]) == {"shop.orders", other}


def test_a_namespace_has_tables_of_all_databases(ice: Ask, tmp_path: Path, load: Load) -> None:
    server, out = two_tables(), tmp_path / "out"
    for number, name in enumerate([("a_b", "c"), ("a", "b_c")]):
        server.create(name, FIELDS, ["id"])
        server.transaction(("insert", name, {"id": number, "name": "n", "amount": 1}))
    server.export_all(tmp_path / "in")
    load(tmp_path / "in", out)
    ice(sql="CREATE NAMESPACE ice.raw")
    errors = ice(publish=out, catalog="ice.raw")["errors"]
    assert len(errors) == 1
    assert "is what" in next(iter(errors.values()))
    for name in (ORDERS, OTHER):
        check(ice, out, server, "ice.raw." + "_".join(name), name)


def test_all_types_are_there(ice: Ask, follow: Callable[..., None]) -> None:
    kinds: dict[str, tuple[pa.DataType, Any]] = {
        "tiny": (pa.int8(), -1), "big": (pa.uint64(), (1 << 64) - 1), "real": (pa.float32(), 0.5),
        "double": (pa.float64(), 0.1), "yes": (pa.bool_(), True), "day": (pa.date32(), START.date()),
        "local": (pa.timestamp("us"), START.replace(tzinfo=None)), "text": (pa.string(), "ü`'"),
        "exact": (pa.decimal128(12, 3), Decimal("1.500")), "a `b` c": (pa.int16(), 3),
    }  # fmt: skip
    server = Server()
    server.create(
        ORDERS, [("id", pa.int32()), *((name, kind) for name, (kind, _) in kinds.items())], ["id", "day"]
    )
    row = {name: value for name, (_, value) in kinds.items()}
    server.transaction(
        ("insert", ORDERS, {"id": 1, **row}), ("insert", ORDERS, {"id": 2, "day": START.date()})
    )
    follow(server)
    server.transaction(
        ("update", ORDERS, (1, START.date()), {"yes": None}), ("insert", ORDERS, {"id": 3, **row})
    )
    follow(server)


def test_tasks_give_spark_all_types(spark: Any, tmp_path: Path) -> None:
    point = pa.struct([("srid", pa.uint32()), ("wkb", pa.binary())])
    columns: dict[str, tuple[pa.DataType, Any, str]] = {
        "point": (point, {"srid": 4326, "wkb": b"1"}, "struct<srid:bigint,wkb:binary>"),
        "vector": (pa.list_(pa.float32()), [0.5, 1.5], "array<float>"),
        "big": (pa.uint64(), (1 << 64) - 1, "decimal(20,0)"),
        "enum": (pa.uint16(), 65535, "int"),
        "span": (pa.duration("us"), timedelta(hours=-3), "bigint"),
        "moment": (pa.timestamp("us", "UTC"), START, "timestamp"),
        "local": (pa.timestamp("us"), START.replace(tzinfo=None), "timestamp_ntz"),
        "_misfits": (pa.map_(pa.string(), pa.string()), [("day", "0000-00-00")], "map<string,string>"),
    }
    rows = pa.table({name: pa.array([value, None], kind) for name, (kind, value, _) in columns.items()})
    LakeStore(str(tmp_path)).write("types.parquet", rows, store_schema=False)
    found = CatalogTable(spark, LakeStore(str(tmp_path)), "", "").rows(["types.parquet"], ())
    assert {one.name: one.dataType.simpleString() for one in found.schema} == {
        name: kind for name, (_, _, kind) in columns.items()
    }
    [row, empty] = [row.asDict(recursive=True) for row in found.collect()]
    assert (row["point"]["srid"], row["vector"], int(row["big"])) == (4326, [0.5, 1.5], (1 << 64) - 1)
    assert (row["enum"], row["span"], row["_misfits"]) == (65535, -3 * 3600 * 10**6, {"day": "0000-00-00"})
    assert row["local"] == START.replace(tzinfo=None)
    assert set(empty.values()) == {None}


def test_a_catalog_that_fails_stops_no_load(tmp_path: Path, load: Load) -> None:
    server, out = two_tables(), tmp_path / "out"
    server.export_all(tmp_path / "in")
    for _ in range(2):
        code, summary = load(tmp_path / "in", out, "--catalog", "nowhere")
        assert code == 1
        assert (summary["load"], {one["completeness"] for one in summary["tables"]}) == (1, {"yes"})
        assert all("the next load tries again" in one["error"] for one in summary["tables"])
    assert load(tmp_path / "in", out)[0] == 0
