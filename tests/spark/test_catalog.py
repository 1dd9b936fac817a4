"""``--catalog``: tables of a catalog that Iceberg's own engine writes, in a Spark that has its package.

``make spark35`` installs that Spark; the tests of Iceberg's tables are left out without it.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.cli.run import run
from binx.lake.place import LakeStore
from binx.spark.catalog_table import CatalogTable
from testdata.compare import compare_shop
from tests.exports import export
from tests.lake.conftest import Load, files_of
from tests.lake.dataset import START, Name, Server, column_effect
from tests.lake.test_history import OTHER, two_tables
from tests.lake.test_state import FIELDS, ORDERS, insert, orders

ROOT = Path(__file__).resolve().parents[2]
PYTHON = ROOT / "build/spark35/bin/python"
JARS = list(ROOT.glob("build/spark35/lib/python3*/site-packages/snowpark_connect_deps_iceberg/jars"))
SHOPS = [ROOT / "testdata" / server / "shop" for server in ("mysql-9.7", "mariadb-10.11")]
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


@pytest.fixture(params=["ice", "hms"])
def ice(process: Ask, request: pytest.FixtureRequest) -> Iterator[Ask]:
    """The same, with no tables, in one of the catalogs: of a folder, or of Hive's metastore."""

    def ask(**what: Any) -> Any:
        def own(text: Any) -> Any:
            return re.sub(r"(?:^|(?<= ))ice(?=\.|$)", request.param, text) if isinstance(text, str) else text

        return process(
            **{name: [*map(own, one)] if isinstance(one, list) else own(one) for name, one in what.items()}
        )

    yield ask
    for namespace in ask(sql="SHOW NAMESPACES IN ice"):
        if namespace["namespace"] != "default":
            name = f"ice.{namespace['namespace']}"
            for table in ask(sql=f"SHOW TABLES IN {name}"):
                ask(sql=f"DROP TABLE {name}.`{table['tableName']}`")
            # A folder is left of a table whose name has a slash.
            with suppress(RuntimeError):
                ask(sql=f"DROP NAMESPACE {name}")


@pytest.fixture
def follow(ice: Ask, tmp_path: Path) -> Callable[..., None]:
    """Export and load what a server has logged, into a catalog's table, and into files beside it."""

    def follow(server: Server, *more: str) -> None:
        server.export_all(tmp_path / "in")
        loads(ice, tmp_path, *more)
        check(ice, tmp_path / "plain", server, versions="--scd2" in more)
        server.rotate()

    return follow


def loads(ice: Ask, folder: Path, *more: str) -> None:
    words = [folder / "in", "--output", folder / "out", "--catalog", "ice", *more]
    summary = ice(load=words)
    assert summary["exit_code"] == 0, summary
    assert not [*(folder / "out").rglob("current/*.parquet")]
    assert not [*(folder / "out").rglob("scd2/*.parquet")]
    plain = ice(load=[folder / "in", "--output", folder / "plain", *more])
    for one, other in zip(summary["tables"], plain["tables"], strict=True):
        assert one["current"] in (None, other["current"])


def check(
    ice: Ask,
    plain: Path,
    server: Server,
    target: str = "ice.shop.orders",
    table: Name = ORDERS,
    *,
    versions: bool = False,
) -> None:
    """Whether a table of the catalog is the server's, and that of a load into files in every column."""
    found = comparable(ice(sql=f"SELECT * FROM {target}"))
    expected = server.rows(table) if table in server.tables else []
    values = [{name: row[name] for name in expected[0]} for row in found] if expected else found
    assert values == comparable(expected)
    same(found, [row for file in files_of(plain, table) for row in pq.read_table(file).to_pylist()])
    if versions:
        files = files_of(plain, table, "scd2")
        rows = [row for file in files for row in pq.read_table(file, partitioning=None).to_pylist()]
        same(comparable(ice(sql=f"SELECT * FROM {target}_versions")), rows)


def same(found: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    """Compare rows but for times, which the two sides spell each in its way."""
    times = {"_commit_timestamp", "valid_from", "valid_to"}
    names = [name for row in expected[:1] for name in row if name not in times]
    one, other = ([{name: row[name] for name in names} for row in rows] for rows in (found, expected))
    assert comparable(one) == comparable(other)


def comparable(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of either side in one order, and as Spark spells their values in JSON."""
    plain = json.loads(json.dumps(rows, default=spelled), parse_int=str)
    return sorted(plain, key=lambda row: json.dumps([row.get("id"), row], sort_keys=True))


def spelled(value: Any) -> Any:
    """A value as Spark spells it, which has a DECIMAL for integers of 64 bits without a sign."""
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))
    return str(bytearray(value) if isinstance(value, bytes) else value)


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
    server.rotate()
    loads(ice, tmp_path)
    assert ice(sql="SELECT * FROM ice.shop.orders") == []
    server.create(ORDERS, [("id", pa.string()), ("name", pa.float64())], ["id"])
    server.transaction(("insert", ORDERS, {"id": "k", "name": 0.5}))
    follow(server)


@pytest.mark.parametrize("more", [(), ("--scd2",)], ids=["rows", "versions"])
def test_a_new_name_is_another_table(
    more: tuple[str, ...], ice: Ask, follow: Callable[..., None], tmp_path: Path
) -> None:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    follow(server, *more)
    server.rename((ORDERS, ("shop", "old_orders")))
    server.export_all(tmp_path / "in")
    loads(ice, tmp_path, *more)
    for suffix in ("", "_versions")[: 1 + len(more)]:
        assert ice(sql=f"SELECT * FROM ice.shop.orders{suffix}") == []
    check(ice, tmp_path / "plain", server, "ice.shop.old_orders", ("shop", "old_orders"), versions=bool(more))


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


@pytest.mark.parametrize("changes", ["rows and versions", "columns"])
def test_what_a_kill_left_is_brought_to_its_end(
    changes: str, ice: Ask, follow: Callable[..., None], tmp_path: Path
) -> None:
    """A load that ends before any of its steps, and the next one that has changes of its own."""
    more = ["--scd2"] if changes == "rows and versions" else []
    words = [tmp_path / "in", "--output", tmp_path / "out", "--catalog", "ice", *more]
    server, fields, was_killed, step = orders(), list(FIELDS), 0, 0
    server.transaction(*(insert(number, "a", number) for number in range(9)))
    follow(server, *more)
    while was_killed == step:
        if not more:
            fields = [
                FIELDS[0],
                (f"name{step}", pa.string()),
                FIELDS[2],
                ("c", [pa.int32(), pa.string()][step % 2]),
            ]
            former = server.versions[ORDERS].fields[1][0]
            alter(server, "…", fields, renamed={former: fields[1][0]}, convert={"c": lambda _: None})
        number = step % 8
        server.transaction(
            ("delete", ORDERS, (number,)),
            ("update", ORDERS, (8,), {"amount": step}),
            insert(number, None),
        )
        server.export_all(tmp_path / "in")
        was_killed += ice(load=words, kill=step) is None
        if step % 2:
            server.rotate()
            server.transaction(("update", ORDERS, (8,), {"amount": -step}))
            server.export_all(tmp_path / "in")
        assert ice(load=words)["exit_code"] in (0, 3)
        names = ", ".join(name for name, _ in server.versions[ORDERS].fields)
        found = ice(sql=f"SELECT {names} FROM ice.shop.orders")
        assert comparable(found) == comparable(server.rows(ORDERS))
        server.rotate()
        step += 1
    assert was_killed > 5
    if more:
        follow(server, *more)


def test_a_table_that_others_changed_or_dropped_is_made_anew(
    follow: Callable[..., None], ice: Ask, tmp_path: Path
) -> None:
    server = orders()
    server.transaction(insert(1, "a"), insert(2, "b"))
    follow(server)
    ice(sql="UPDATE ice.shop.orders SET name = 'broken'")
    follow(server, "--rebuild", "shop.orders")
    ice(sql="DROP TABLE ice.shop.orders")
    server.transaction(insert(3, "c"))
    follow(server)
    # Rows that files have go into a catalog, and stay there without being asked for.
    words = [tmp_path / "in", "--output", tmp_path / "plain"]
    ice(sql="DROP TABLE ice.shop.orders")
    assert ice(load=[*words, "--catalog", "ice"])["exit_code"] == 0
    server.transaction(("delete", ORDERS, (1,)))
    server.export_all(tmp_path / "in")
    assert ice(load=words)["exit_code"] == 0
    found = ice(sql="SELECT id, name, amount FROM ice.shop.orders")
    assert comparable(found) == comparable(server.rows(ORDERS))
    with pytest.raises(RuntimeError, match="its tables are in the catalog"):
        ice(load=[*words, "--catalog", "other"])


def test_tables_beside_files_of_an_earlier_version_are_taken_over(ice: Ask, tmp_path: Path) -> None:
    """Until contract 15, rows were in files as well, and ``_catalog.json`` had what wrote the tables."""
    server, words = orders(), [tmp_path / "in", "--output", tmp_path / "out"]
    server.transaction(insert(1, "a"), insert(2, "b"))
    server.export_all(tmp_path / "in")
    server.rotate()
    assert ice(load=words)["exit_code"] == 0
    ice(sql="CREATE NAMESPACE ice.shop")
    ice(
        sql="CREATE TABLE ice.shop.orders (id INT, name STRING, amount INT, _commit_version BIGINT, "
        "_commit_timestamp TIMESTAMP, _unknown ARRAY<STRING>) TBLPROPERTIES ('binx.writer' = 'w')"
    )
    ice(sql="INSERT INTO ice.shop.orders SELECT 9, 'old', NULL, 0, NULL, NULL")
    (tmp_path / "out/_catalog.json").write_text('{"writer": "w", "tables": {}}')
    state = json.loads((tmp_path / "out/_state.json").read_text())
    for life in state["lives"].values():
        del life["catalog"]
    for name in ("catalog", "writer", "emptied"):
        del state[name]
    (tmp_path / "out/_state.json").write_text(json.dumps({**state, "contract": 15}))
    server.transaction(insert(3, "c"), ("delete", ORDERS, (1,)))
    server.export_all(tmp_path / "in")
    # Whoever reads the files goes on reading those of the load before.
    before = files_of(tmp_path / "out", ORDERS)
    assert ice(load=[*words, "--catalog", "ice"])["exit_code"] == 0
    assert all(Path(path).exists() for path in before)
    ice(load=[tmp_path / "in", "--output", tmp_path / "plain"])
    check(ice, tmp_path / "plain", server)
    server.rotate()
    server.transaction(insert(4, "d"))
    server.export_all(tmp_path / "in")
    assert ice(load=words)["exit_code"] == 0
    found = ice(sql="SELECT id, name, amount FROM ice.shop.orders")
    assert comparable(found) == comparable(server.rows(ORDERS))


@pytest.mark.parametrize("forever", [False, True], ids=["once", "forever"])
def test_erased_keys_go_with_the_next_load(
    forever: bool, ice: Ask, follow: Callable[..., None], tmp_path: Path
) -> None:
    server, more = orders(), ["--forever"] if forever else []
    server.transaction(insert(1, "a"), insert(2, "bob"), insert(3, "bob"))
    follow(server)
    erase = ["erase", str(tmp_path / "out"), "--table", "shop.orders", "--where", "name = 'bob'", *more]
    assert run(erase) == 0
    status = ["load", "--status", str(tmp_path / "out")]
    assert run(status) == 1
    words = [tmp_path / "in", "--output", tmp_path / "out"]
    for number in (4, 5):
        server.transaction(insert(number, "d"), *([insert(2, "bob")] if number == 5 else []))
        server.export_all(tmp_path / "in")
        server.rotate()
        assert ice(load=words)["exit_code"] == 0
        keys = [1, 4] if number == 4 else [1, 4, 5] if forever else [1, 2, 4, 5]
        assert sorted(row["id"] for row in ice(sql="SELECT id FROM ice.shop.orders")) == keys
        assert run(status) == 0


def test_files_that_a_load_wrote_and_joined_are_gone(ice: Ask, tmp_path: Path) -> None:
    server = orders()
    for number in range(40):
        server.transaction(insert(number, "a"))
    server.export_all(tmp_path / "in", per_file=2, whole=True)
    loads(ice, tmp_path)
    for output in (tmp_path / "out", tmp_path / "plain"):
        state = json.loads((output / "_state.json").read_text())
        there = {path.relative_to(output).as_posix() for path in output.rglob("history/**/*.parquet")}
        assert there == {file["path"] for file in state["history"]}
        assert len(there) < 10


def test_tables_at_a_moment_are_made_anew(ice: Ask, tmp_path: Path) -> None:
    server = two_tables()
    moment = server.clock
    server.transaction(insert(100, "late"))
    server.drop(OTHER)
    server.export_all(tmp_path / "in")
    words = [tmp_path / "in", "--output", tmp_path / "out", "--catalog", "ice", "--at"]
    counted = []
    for at in (moment, server.clock):
        assert ice(load=[*words, at.isoformat()])["exit_code"] == 0
        counted.append([len(ice(sql=f"SELECT * FROM ice.{'.'.join(name)}")) for name in (ORDERS, OTHER)])
    assert counted[1] == [counted[0][0] + 1, 0]


def test_a_new_table_is_partitioned_and_sorted_as_asked(
    ice: Ask, follow: Callable[..., None], tmp_path: Path
) -> None:
    server = orders()
    server.transaction(*(insert(number, "a", number) for number in range(20)))
    layout = ["--partition-by", "shop.orders=bucket(4, id), name", "--sort-by", "shop.orders=amount"]
    follow(server, *layout)
    assert ice(sql="SELECT count(*) AS n FROM ice.shop.orders.partitions")[0]["n"] > 1
    properties = {row["key"]: row["value"] for row in ice(sql="SHOW TBLPROPERTIES ice.shop.orders")}
    assert "amount" in properties["sort-order"]
    server.transaction(("delete", ORDERS, (3,)), ("update", ORDERS, (4,), {"amount": 40}))
    follow(server)
    # Iceberg drops no column that partitions or the order are made of.
    alter(server, "DROP amount, DROP name, ADD more INT", [FIELDS[0], ("more", pa.int32())])
    server.transaction(("update", ORDERS, (5,), {"more": 7}))
    follow(server)
    kept = [name for name in ice(sql="SELECT * FROM ice.shop.orders")[0] if name.startswith("_dropped")]
    assert len(kept) == 2


def test_rows_of_others_are_not_replaced_and_other_tables_go_on(ice: Ask, tmp_path: Path) -> None:
    server, words = two_tables(), [tmp_path / "in", "--catalog", "ice", "--output"]
    server.export_all(tmp_path / "in")
    ice(load=[tmp_path / "in", "--output", tmp_path / "plain"])
    ice(sql="CREATE NAMESPACE ice.shop")
    ice(sql="CREATE TABLE ice.shop.orders (id INT, name STRING) PARTITIONED BY (bucket(2, id))")
    ice(sql="INSERT INTO ice.shop.orders VALUES (7, 'seven')")
    summary = ice(load=[*words, tmp_path / "out"])
    errors = {one["table"]: one["error"] for one in summary["tables"]}
    assert (summary["exit_code"], errors["visits"]) == (1, None)
    assert "has rows that are not of this output" in errors["orders"]
    other = ".".join(OTHER)
    check(ice, tmp_path / "plain", server, f"ice.{other}", OTHER)
    ice(sql="DELETE FROM ice.shop.orders")
    assert ice(load=[*words, tmp_path / "out"])["exit_code"] == 0
    check(ice, tmp_path / "plain", server)
    # Its partitions stay, and it is this output's from here on: another one does not take it.
    assert ice(sql="SELECT count(*) AS n FROM ice.shop.orders.partitions")[0]["n"] > 1
    summary = ice(load=[*words, tmp_path / "second"])
    assert all("is of another output" in one["error"] for one in summary["tables"])


def test_of_two_outputs_that_take_one_table_at_most_one_gets_it(ice: Ask, tmp_path: Path) -> None:
    """One ends before any of its steps, while the table has no rows yet; another one follows."""
    server, step, refused = orders(), 0, 0
    server.transaction(insert(1, "a"))
    server.export_all(tmp_path / "in")
    words = [tmp_path / "in", "--catalog", "ice.at", "--output"]
    ice(sql="CREATE NAMESPACE ice.at")
    while True:
        ice(sql="CREATE TABLE ice.at.shop_orders (id INT, name STRING)")
        if ice(load=[*words, tmp_path / f"first{step}"], kill=step) is not None:
            break
        summary = ice(load=[*words, tmp_path / f"second{step}"])
        if summary["exit_code"]:
            refused += 1
            assert "is of another output" in summary["tables"][0]["error"]
            assert ice(load=[*words, tmp_path / f"first{step}"])["exit_code"] == 0
        else:
            summary = ice(load=[*words, tmp_path / f"first{step}"])
            assert "is of another output" in summary["tables"][0]["error"]
        names = ", ".join(name for name, _ in FIELDS)
        assert comparable(ice(sql=f"SELECT {names} FROM ice.at.shop_orders")) == comparable(
            server.rows(ORDERS)
        )
        ice(sql="DROP TABLE ice.at.shop_orders")
        step += 1
    assert refused > 3


@pytest.mark.parametrize("within", [False, True], ids=["before", "within"])
def test_nothing_is_lost_of_another_writer_that_commits_when_a_load_does(
    within: bool,
    ice: Ask,
    follow: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Who commits in the middle of a MERGE makes it fail, and the next load does it again."""
    server, words = orders(), [tmp_path / "in", "--output", tmp_path / "out"]
    server.transaction(*(insert(number, "a", number) for number in range(4)))
    follow(server)
    server.transaction(("update", ORDERS, (1,), {"name": "x"}), ("delete", ORDERS, (3,)), insert(4, "d"))
    server.export_all(tmp_path / "in")
    other = "UPDATE ice.shop.orders SET name = 'theirs', amount = id WHERE id IN (1, 2)"
    summary = ice(load=words, other=other, pipes=tmp_path if within else "")
    status = ["load", "--status", str(tmp_path / "out")]
    if within:
        assert "the next load tries again" in summary["tables"][0]["error"]
        assert (summary["exit_code"], run(status)) == (1, 1)
        assert "lacks what is committed of it" in capsys.readouterr().out
        assert ice(load=words)["exit_code"] == 0
    else:
        assert summary["exit_code"] == 0
    assert run(status) == 0
    server.tables[ORDERS][2,]["name"] = "theirs"
    found = ice(sql="SELECT id, name, amount FROM ice.shop.orders")
    assert comparable(found) == comparable(server.rows(ORDERS))


def test_a_table_that_a_copy_of_the_output_brought_further_is_made_anew(
    ice: Ask, follow: Callable[..., None], tmp_path: Path
) -> None:
    """As where an output comes back from a backup, or is loaded in two places."""
    server, further = orders(), tmp_path / "further"
    server.transaction(insert(1, "a"), insert(2, "b"))
    follow(server)
    shutil.copytree(tmp_path / "out", tmp_path / "copy")
    server.transaction(("update", ORDERS, (2,), {"name": "x"}))
    server.export_all(tmp_path / "in")
    server.rotate()
    later = deepcopy(server)
    later.transaction(("delete", ORDERS, (1,)), insert(3, "c"))
    later.export_all(further)
    assert ice(load=[further, "--output", tmp_path / "copy"])["exit_code"] == 0
    follow(server)


def test_a_namespace_has_tables_of_all_databases(ice: Ask, tmp_path: Path) -> None:
    server = two_tables()
    for number, name in enumerate([("a_b", "c"), ("a", "b_c")]):
        server.create(name, FIELDS, ["id"])
        server.transaction(("insert", name, {"id": number, "name": "n", "amount": 1}))
    server.export_all(tmp_path / "in")
    ice(sql="CREATE NAMESPACE ice.raw")
    ice(load=[tmp_path / "in", "--output", tmp_path / "plain"])
    summary = ice(load=[tmp_path / "in", "--output", tmp_path / "out", "--catalog", "ice.raw"])
    errors = [one["error"] for one in summary["tables"] if one["error"]]
    assert len(errors) == 1
    assert "has the rows of" in errors[0]
    for name in (ORDERS, OTHER):
        check(ice, tmp_path / "plain", server, "ice.raw." + "_".join(name), name)


@pytest.mark.parametrize("shop", SHOPS, ids=lambda shop: shop.parent.name)
def test_tables_are_what_the_server_selected(shop: Path, ice: Ask, tmp_path: Path) -> None:
    logs = sorted(shop.glob("*-bin.0*"))
    words = [tmp_path / "in", "--output", tmp_path / "out", "--catalog", "ice", "--accept-losses"]
    for half in (logs[: len(logs) // 2], logs):
        export(tmp_path / "in", half)
        summary = ice(load=words)
    # Hive's names have letters, digits and underscores only.
    stopped = {one["table"] for one in summary["tables"] if one["error"]}
    assert stopped <= {"closed orders/2026 100%"}
    assert summary["exit_code"] in ((1,) if stopped else (0, 3))

    def current(db: str, table: str) -> Path:
        if table in stopped:
            return Path(files_of(tmp_path / "out", (db, table))[0]).parent
        folder = tmp_path / "tables" / f"{db}.{table.replace('/', '')}"
        ice(save=f"ice.`{db}`.`{table}`", to=folder)
        return folder

    compared = list(compare_shop(shop, current))
    assert len(compared) >= 8
    assert [one.table for one in compared if not one.equal] == []


def test_all_types_are_there(ice: Ask, follow: Callable[..., None]) -> None:
    kinds: dict[str, tuple[pa.DataType, Any]] = {
        "tiny": (pa.int8(), -1), "big": (pa.uint64(), (1 << 64) - 1), "real": (pa.float32(), 0.5),
        "double": (pa.float64(), 0.1), "yes": (pa.bool_(), True), "day": (pa.date32(), START.date()),
        "local": (pa.timestamp("us"), START.replace(tzinfo=None)), "text": (pa.string(), "ü`'"),
        "exact": (pa.decimal128(12, 3), Decimal("1.500")), "a `b` c": (pa.int16(), 3),
        "span": (pa.duration("us"), timedelta(hours=-3)), "bytes": (pa.binary(), b"\xff\x00"),
        "moment": (pa.timestamp("us", "UTC"), START), "odd": (pa.uint16(), 65535),
        "point": (pa.struct([("srid", pa.uint32()), ("wkb", pa.binary())]), {"srid": 4326, "wkb": b"1"}),
        "vector": (pa.list_(pa.float32()), [0.5, 1.5]),
    }  # fmt: skip
    server = Server(image="MINIMAL")
    server.create(
        ORDERS, [("id", pa.int32()), *((name, kind) for name, (kind, _) in kinds.items())], ["id", "day"]
    )
    row = {name: value for name, (_, value) in kinds.items()}
    server.transaction(
        ("insert", ORDERS, {"id": 1, **row}), ("insert", ORDERS, {"id": 2, "day": START.date()})
    )
    follow(server)
    # Images lack what did not change, which comes out of the table.
    server.transaction(
        ("update", ORDERS, (1, START.date()), {"yes": None}), ("insert", ORDERS, {"id": 3, **row})
    )
    follow(server)
    fields = [*server.versions[ORDERS].fields, ("more", pa.int32())]
    alter(server, "ADD more int", fields)
    server.transaction(("update", ORDERS, (3, START.date()), {"tiny": 5}))
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
    found = CatalogTable(spark, LakeStore(str(tmp_path)), "", "", 0).rows(["types.parquet"], ())
    assert {one.name: one.dataType.simpleString() for one in found.schema} == {
        name: kind for name, (_, _, kind) in columns.items()
    }
    [row, empty] = [row.asDict(recursive=True) for row in found.collect()]
    assert (row["point"]["srid"], row["vector"], int(row["big"])) == (4326, [0.5, 1.5], (1 << 64) - 1)
    assert (row["enum"], row["span"], row["_misfits"]) == (65535, -3 * 3600 * 10**6, {"day": "0000-00-00"})
    assert row["local"] == START.replace(tzinfo=None)
    assert set(empty.values()) == {None}


def test_a_catalog_that_fails_stops_no_load(
    tmp_path: Path, load: Load, capsys: pytest.CaptureFixture[str]
) -> None:
    server, out = two_tables(), tmp_path / "out"
    server.export_all(tmp_path / "in")
    # It is remembered, until a table is in it.
    for more in (["--catalog", "nowhere"], [], ["--catalog", "elsewhere"]):
        code, summary = load(tmp_path / "in", out, *more)
        assert code == 1
        assert {one["completeness"] for one in summary["tables"]} == {"yes"}
        assert all("the next load tries again" in one["error"] for one in summary["tables"])
        assert run(["load", "--status", str(out), "--json"]) == 1
        told = [one["error"] for one in json.loads(capsys.readouterr().out)["tables"]]
        assert all("lacks what is committed" in text for text in told)
    code, summary = load(tmp_path / "in", out, "--format", "delta")
    assert (code, "--format delta is for tables in files" in summary["error"]) == (2, True)
    code, summary = load(tmp_path / "in", out, "--soft-deletes")
    assert (code, "--soft-deletes is for tables in files" in summary["error"]) == (2, True)
    code, summary = load(tmp_path / "in", out, "--shards")
    assert (code, "tables of Delta and of a catalog cannot" in summary["error"]) == (2, True)
