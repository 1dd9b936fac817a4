"""A dump that was taken while a server wrote, and the logs since, lead to what SELECT shows."""

from __future__ import annotations

import gzip
import json
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import duckdb
import pytest

from binx.errors import BinxError
from binx.lake.at_moment import table_at
from binx.lake.options import LoadOptions
from binx.report.document import document
from binx.spark.load_run import load
from testdata.servers import MariaDBServer, Server
from testdata.small import split_sections
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.live.logs import empty, leaves_out_generated, run_on_empty
from tests.live.tables_at_end import differences

MOMENTS = 6
SHOP = r"""
CREATE DATABASE shop DEFAULT CHARACTER SET utf8mb4; USE shop;
CREATE TABLE orders (id INT AUTO_INCREMENT PRIMARY KEY, status ENUM('new', 'it''s', 'paid') DEFAULT 'new',
  tags SET('a', 'b', 'c'), total DECIMAL(12,3), at TIMESTAMP(3) NULL, note TEXT,
  raw VARBINARY(40), twice DECIMAL(14,3) AS (total * 2) STORED, kept INT DEFAULT 7);
CREATE TABLE `od``d.na/me` (`k``ey` VARCHAR(20) PRIMARY KEY, `a,b` JSON, `c(d)` BIT(5));
CREATE VIEW seen AS SELECT id, note FROM orders;
CREATE TABLE log (id INT PRIMARY KEY, text VARCHAR(100));
INSERT INTO `od``d.na/me` VALUES ('it''s', '{"a": [1, "\\"x\\"", null]}', b'10101'), ('NULL', NULL, NULL);
DELIMITER //
CREATE TRIGGER told AFTER DELETE ON orders FOR EACH ROW
BEGIN
  INSERT INTO log VALUES (OLD.id, 'gone; INSERT INTO log VALUES (1)') ON DUPLICATE KEY UPDATE text = 'again';
END//
DELIMITER ;
"""
ROWS = "INSERT INTO orders (tags, total, at, note, raw) VALUES "
VALUES = (
    r"('a,c', 12.5, '2026-11-24 03:00:00.125', 'it''s\n\"two\" \\ lines; (1,2),', x'00275c0a1aff')",
    "('', -0.001, NULL, '', '')",
    "(NULL, NULL, '1970-01-01 00:00:01', '-- no comment /* ', NULL)",
    "('b', 99999999.999, '2038-01-19 03:14:07.999', '🍀), (', '_binary')",
)


def begin(server: Server) -> None:
    """Tables of all types, and those of a shop, in the server's first log."""
    empty(server)
    folder = "mysql-9.7" if server.daemon == "mysqld" else "mariadb-10.11"
    recipe = split_sections((TESTDATA / folder / "small" / "all_types.sql").read_text())
    server.script(recipe["before"] + "\n" + recipe["log"] + "\n" + recipe["after"])
    # A dump has six digits of a FLOAT.
    server.sql("UPDATE small.numbers SET f = 1.5, fd = 1, fu = 1 WHERE f IS NOT NULL OR fu IS NOT NULL")
    server.script(SHOP)
    server.sql("USE shop;" + ";".join(ROWS + ",".join(VALUES) for _ in range(50)))


def change(server: Server, number: int) -> None:
    """Some of what an application does; the first rows are never updated, and the logs never tell them."""
    server.sql(
        f"USE shop; {ROWS}{VALUES[number % 4]}; UPDATE orders SET total = total + {number}, note = 'changed'"
        f" WHERE id % 7 = {number % 7} AND id > 9; DELETE FROM orders WHERE id = {number * 3 + 1};"
        f" REPLACE INTO `od``d.na/me` VALUES ('{number % 5}', '[{number}]', {number % 32});"
        " UPDATE small.strings SET v1 = 'x' WHERE id = 1;"
    )


def while_changing(server: Server, action: Callable[[], bytes]) -> bytes:
    """What an action gives while changes go on."""
    done = threading.Event()

    def work() -> None:
        number = 0
        while not done.is_set():
            change(server, number)
            number += 1

    thread = threading.Thread(target=work)
    thread.start()
    try:
        return action()
    finally:
        done.set()
        thread.join()


def options_of(server: Server, how: str) -> list[str]:
    """How a dump is made that says its position, or its GTIDs."""
    options = ["--single-transaction", "--routines", "--databases", "shop", "small"]
    if isinstance(server, MariaDBServer):
        return ["--master-data=2", *(["--gtid"] if how == "gtid" else ["--hex-blob"]), *options]
    return [f"--set-gtid-purged={'COMMENTED' if how == 'gtid' else 'OFF'}", "--source-data=2", *options]


def export(server: Server, lake: Path, dump: Path, first: int) -> None:
    """The server's logs from one on, without the one that it writes."""
    server.flush_logs()
    logs = server.binlogs()[first:-1]
    assert binx("to-parquet", "--schema", dump, *logs, "-o", lake, "--quiet").code == 0


def loaded(lake: Path, output: Path, spark: Any) -> dict[str, Any]:
    """What a load tells of each table."""
    summary = load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
    return {f"{one['db']}.{one['table']}": one for one in document("load", summary)["tables"]}


def reasons(tables: dict[str, Any]) -> dict[str, list[str]]:
    """Why tables are not complete."""
    return {name: one["reasons"] for name, one in tables.items() if one["completeness"] != "yes"}


def incomplete(server: Server) -> list[str]:
    """The tables with generated columns, where the dump or updates leave out their values."""
    told = isinstance(server, MariaDBServer) and not leaves_out_generated(server)
    return [] if told else ["shop.orders"]


def position_of(server: Server) -> str:
    """Where the server's log ends now."""
    status = "SHOW MASTER STATUS" if isinstance(server, MariaDBServer) else "SHOW BINARY LOG STATUS"
    return ":".join(str(field) for field in server.query(status)[0][:2])


@pytest.mark.parametrize("how", ["gtid", "position"])
def test_a_dump_and_the_logs_since_are_what_select_shows(
    server: Server, how: str, tmp_path: Path, spark: Any
) -> None:
    lake, output, dump = tmp_path / "lake", tmp_path / "tables", tmp_path / "dump.sql"
    begin(server)
    server.flush_logs()
    made = while_changing(server, lambda: server.dump(*options_of(server, how)))
    dump.write_bytes(made)
    shutil.copy(dump, tmp_path / "schema.sql")
    if how == "position":
        with gzip.open(tmp_path / "dump.sql.gz", "wb") as packed:
            packed.write(made)
        dump = tmp_path / "dump.sql.gz"
    taken = binx("base", dump, "-o", lake, "--json")
    assert taken.code == 0, taken.err
    export(server, lake, tmp_path / "schema.sql", 1)
    tables = loaded(lake, output, spark)
    assert list(reasons(tables)) == incomplete(server), reasons(tables)
    assert differences(server, "small", output) == ([], 0)
    found, unknown = differences(server, "shop", output, without_current=["seen"])
    assert found == []
    assert bool(unknown) == bool(incomplete(server))
    seen = {}
    for number in range(MOMENTS):
        change(server, number)
        server.sql("ALTER TABLE shop.orders MODIFY kept BIGINT" if number == 2 else "SELECT 1")
        seen[position_of(server)] = server.query("SELECT CAST(id AS CHAR), note, HEX(raw) FROM shop.orders")
    export(server, lake, tmp_path / "schema.sql", 1)
    for moment, rows in seen.items():
        state = table_at(str(lake), "shop.orders", moment)
        held = [(str(row["id"]), row["note"], row["raw"]) for row in state.rows.to_pylist()]
        assert sorted(held) == sorted(
            (str(number), note, None if raw is None else bytes.fromhex(raw)) for number, note, raw in rows
        )
        assert not [reason for reason in state.missing if "only the server knows" not in reason]
    loaded(lake, output, spark)
    for database in ("small", "shop"):
        assert differences(server, database, output, without_current=["seen"])[0] == []
    views = duckdb.connect()
    views.execute((output / "views.sql").read_text())
    [(count,)] = server.query("SELECT CAST(COUNT(*) AS CHAR) FROM shop.`od``d.na/me`")
    assert views.table('shop."od`d.na/me"').shape[0] == int(count or 0)


def test_logs_of_another_server_follow_a_dump_by_gtid(
    server: Server, replica: Server, tmp_path: Path, spark: Any
) -> None:
    lake, output, dump = tmp_path / "lake", tmp_path / "tables", tmp_path / "dump.sql"
    begin(server)
    dump.write_bytes(while_changing(server, lambda: server.dump(*options_of(server, "gtid"))))
    server.flush_logs()
    run_on_empty(replica, server.mysqlbinlog(*server.binlogs()[:-1]))
    replica.flush_logs()
    for number in range(4):
        change(replica, number)
    assert binx("base", dump, "-o", lake, "--quiet").code == 0
    export(replica, lake, dump, 0)
    tables = loaded(lake, output, spark)
    assert list(reasons(tables)) == incomplete(server), reasons(tables)
    for database in ("small", "shop"):
        assert differences(replica, database, output, without_current=["seen"])[0] == []


def test_what_lies_between_a_dump_and_the_logs_is_reported(
    server: Server, tmp_path: Path, spark: Any
) -> None:
    begin(server)
    for how in ("gtid", "position"):
        lake, dump = tmp_path / how, tmp_path / f"{how}.sql"
        dump.write_bytes(server.dump(*options_of(server, how)))
        change(server, 1)
        server.flush_logs()
        last = len(server.binlogs()) - 1
        change(server, 2)
        assert binx("base", dump, "-o", lake, "--quiet").code == 0
        export(server, lake, dump, last)
        tables = loaded(lake, tmp_path / f"{how} tables", spark)
        told = str(reasons(tables)["shop.log"])
        assert "were never exported" in told or "are in no log" in told


def test_a_dump_that_does_not_say_where_it_stands_is_refused(server: Server, tmp_path: Path) -> None:
    begin(server)
    dump = tmp_path / "dump.sql"
    off = [] if isinstance(server, MariaDBServer) else ["--set-gtid-purged=OFF"]
    dump.write_bytes(server.dump(*off, "--databases", "shop"))
    refused = binx("base", dump, "-o", tmp_path / "lake")
    assert refused.code == 2
    assert "--from FILE:POS" in refused.err
    assert not (tmp_path / "lake").exists()
    given = binx("base", dump, "--from", "mysql-bin.000001:4", "-o", tmp_path / "lake", "--json")
    assert json.loads(given.out)["rows"] > 0


COLUMNS = {
    "id": "INTEGER", "status": "VARCHAR", "tags": "VARCHAR", "total": "DECIMAL(12,3)", "at": "TIMESTAMPTZ",
    "note": "VARCHAR", "raw": "BLOB", "twice": "DECIMAL(14,3)", "kept": "INTEGER",
}  # fmt: skip
SPARK_COLUMNS = COLUMNS | {"id": "INT", "kept": "INT", "at": "TIMESTAMP", "note": "STRING", "raw": "BINARY"}


def selected(server: Server) -> list[tuple[Any, ...]]:
    """The orders as text, bytes in hexadecimal digits."""
    names = (f"HEX({name})" if name == "raw" else f"CAST({name} AS CHAR)" for name in COLUMNS)
    return [tuple(row) for row in server.query(f"SELECT {', '.join(names)} FROM shop.orders")]


def by_duckdb(rows: list[tuple[Any, ...]], folder: Path, _: Any) -> None:
    folder.mkdir(parents=True)
    typed = ", ".join(
        f'unhex("{name}") AS "{name}"' if kind == "BLOB" else f'CAST("{name}" AS {kind}) AS "{name}"'
        for name, kind in COLUMNS.items()
    )
    with duckdb.connect() as made:
        made.execute("SET TimeZone = 'UTC'")
        made.execute("CREATE TABLE told (" + ", ".join(f'"{name}" VARCHAR' for name in COLUMNS) + ")")
        made.executemany(f"INSERT INTO told VALUES ({', '.join('?' * len(COLUMNS))})", rows)
        for part in range(2):
            query = f"SELECT {typed} FROM told WHERE CAST(id AS INTEGER) % 2 = {part}"
            made.execute(f"COPY ({query}) TO '{folder}/{part}.parquet' (FORMAT parquet)")


def by_spark(rows: list[tuple[Any, ...]], folder: Path, spark: Any) -> None:
    typed = [
        f"unhex(`{name}`) AS `{name}`"
        if kind == "BINARY"
        else "CAST(CONCAT(`at`, 'Z') AS TIMESTAMP) AS `at`"
        if name == "at"
        else f"CAST(`{name}` AS {kind}) AS `{name}`"
        for name, kind in SPARK_COLUMNS.items()
        for kind in (kind.replace("VARCHAR", "STRING"),)
    ]
    told = spark.createDataFrame(rows, ", ".join(f"`{name}` STRING" for name in COLUMNS))
    told.selectExpr(*typed).repartition(3).write.parquet(str(folder))


@pytest.mark.parametrize(("how", "write"), [("gtid", by_duckdb), ("position", by_spark)])
def test_parquet_files_and_the_logs_since_are_what_select_shows(
    server: Server,
    how: str,
    write: Callable[[list[tuple[Any, ...]], Path, Any], None],
    tmp_path: Path,
    spark: Any,
) -> None:
    lake, output, schema = tmp_path / "lake", tmp_path / "tables", tmp_path / "schema.sql"
    begin(server)
    schema.write_bytes(server.dump("--no-data", "--databases", "shop", "small"))
    server.flush_logs()
    before = tmp_path / "before"
    export(server, before, schema, 0)
    for number, table in enumerate(("shop.`od``d.na/me`", "shop.log", "small.strings", "small.numbers")):
        file = tmp_path / "base" / f"{number}.parquet"
        file.parent.mkdir(exist_ok=True)
        assert binx("state", before, "--table", table, "-o", file, "--quiet").code == 0
    write(selected(server), tmp_path / "base" / "shop" / "orders", spark)
    mysql = not isinstance(server, MariaDBServer)
    gtids = str(server.query(f"SELECT @@GLOBAL.{'gtid_executed' if mysql else 'gtid_binlog_pos'}")[0][0])
    first = len(server.binlogs()) - 1
    place = ["--from-gtid", gtids] if how == "gtid" else ["--from", position_of(server)]
    taken = binx("base", tmp_path / "base", "--schema", schema, *place, "-o", lake, "--json")
    assert taken.code == 0, taken.err
    for number in range(MOMENTS):
        change(server, number)
    export(server, lake, schema, first)
    tables = loaded(lake, output, spark)
    unknown = ["shop.orders"] if leaves_out_generated(server) else []
    assert list(reasons(tables)) == unknown
    found, cells = differences(server, "shop", output, without_current=["seen"])
    assert (found, bool(cells)) == ([], bool(unknown))
    held = table_at(str(lake), "shop.orders", None)
    assert held.rows.num_rows == len(selected(server))
    assert bool(held.missing) == bool(unknown)


@pytest.mark.parametrize("number", [3, "the base's"])
@pytest.mark.parametrize("between", ["", "a log"])
def test_numbers_that_a_session_set_back_do_not_say_what_a_base_has(
    mariadb: Server, number: int | str, between: str, tmp_path: Path
) -> None:
    """The base stands at its position then; if it has none, its tables are stopped."""
    empty(mariadb)
    mariadb.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY)")
    for key in range(4):
        mariadb.sql(f"INSERT INTO shop.t VALUES ({key})")
    mariadb.flush_logs()
    mariadb.sql("INSERT INTO shop.t VALUES (4)")
    gtid = str(mariadb.query("SELECT @@gtid_binlog_pos")[0][0])
    dump = tmp_path / "dump.sql"
    dump.write_bytes(mariadb.dump("--single-transaction", "--master-data=2", "--gtid", "--databases", "shop"))
    if between:
        mariadb.sql("INSERT INTO shop.t VALUES (5); FLUSH BINARY LOGS")
    set_back = gtid.rpartition("-")[2] if isinstance(number, str) else number
    mariadb.sql(f"SET gtid_seq_no = {set_back}; INSERT INTO shop.t VALUES (6)")
    mariadb.sql("INSERT INTO shop.t VALUES (7)")
    for lake, place in ((tmp_path / "position", ()), (tmp_path / "gtid", ("--from-gtid", gtid))):
        assert binx("base", dump, *place, "-o", lake, "--quiet").code == 0
        export(mariadb, lake, dump, 1)
    state = table_at(str(tmp_path / "position"), "shop.t", None)
    selected_now = [int(str(key)) for (key,) in mariadb.query("SELECT CAST(id AS CHAR) FROM shop.t")]
    assert sorted(row["id"] for row in state.rows.to_pylist()) == sorted(selected_now)
    assert not state.missing
    with pytest.raises(BinxError, match="numbers that MariaDB set back"):
        table_at(str(tmp_path / "gtid"), "shop.t", None)


@pytest.mark.parametrize("how", ["reset", "domain"])
def test_gtids_that_began_again_after_a_dump_hide_no_transaction(
    server: Server, how: str, tmp_path: Path
) -> None:
    """It is told; if the server's logs go on, what follows the dump's position counts."""
    if how == "domain" and not isinstance(server, MariaDBServer):
        pytest.skip("MySQL has no domains")
    lake, dump = tmp_path / "lake", tmp_path / "dump.sql"
    domain = "SET gtid_domain_id = 1;" if how == "domain" else ""
    empty(server)
    server.sql("CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY)")
    for key in range(4):
        server.sql(f"{domain} INSERT INTO shop.t VALUES ({key})")
    gtid = ["--gtid", "--master-data=2"] if isinstance(server, MariaDBServer) else ["--source-data=2"]
    dump.write_bytes(server.dump("--single-transaction", *gtid, "--databases", "shop"))
    # Some commit times are in whole seconds.
    time.sleep(1.1)
    if how == "domain":
        export(server, lake, dump, 0)
        while len(server.binlogs()) > 1:
            # A log is kept until its transactions are on the disk.
            server.sql(f"PURGE BINARY LOGS TO '{server.binlogs()[-1].name}'; DO SLEEP(0.1)")
        server.sql("FLUSH BINARY LOGS DELETE_DOMAIN_ID = (1)")
    else:
        server.reset()
    for key in (4, 5):
        server.sql(f"{domain} INSERT INTO shop.t VALUES ({key})")
    assert binx("base", dump, "-o", lake, "--quiet").code == 0
    export(server, lake, dump, 0)
    state = table_at(str(lake), "shop.t", None)
    ids = {row["id"] for row in state.rows.to_pylist()}
    if how == "domain":
        assert (ids, state.missing) == (set(range(6)), [])
    else:
        assert "they began again" in str(state.missing)
