"""Columns that images lack or that were added later have the values that the server gave them."""

from __future__ import annotations

from contextlib import nullcontext
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from binx.kernels.walk.scan import Level
from binx.lake.at_moment import table_at
from binx.lake.options import LoadOptions
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.batches import ChangeBatch
from binx.rows.columns.names import ResolvedColumn
from binx.rows.columns.types import Kind
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from binx.spark.load_run import load as run_load
from testdata.servers import MariaDBServer, Server
from tests.live.logs import export_last, leaves_out_generated
from tests.live.tables_at_end import differences

COLUMNS = """
TINYINT DEFAULT 5|SMALLINT UNSIGNED DEFAULT '65535'|INT DEFAULT -7
BIGINT UNSIGNED DEFAULT 18446744073709551615|INT DEFAULT 0x10|INT NOT NULL|INT|TINYINT(1) DEFAULT TRUE
INT DEFAULT NULL|FLOAT DEFAULT 1.5|DOUBLE DEFAULT -2.5e3|DOUBLE NOT NULL|DECIMAL(5,2) DEFAULT 1.5
DECIMAL(5,2) NOT NULL|DECIMAL(4,1) DEFAULT '-12.25'|DECIMAL(65,30) DEFAULT 3|BIT(1) DEFAULT b'1'
BIT(9) DEFAULT b'100000001'|BIT(3) NOT NULL|DATE DEFAULT '2020-02-29'|DATE NOT NULL
DATE DEFAULT '0000-00-00'|DATE DEFAULT '2020-00-00'|DATETIME DEFAULT '2020-01-02 03:04:05'
DATETIME(3) NOT NULL|DATETIME(3) DEFAULT '2020-01-02 03:04:05.6'|DATETIME DEFAULT '2020-01-02'
TIMESTAMP DEFAULT '0000-00-00 00:00:00'|TIME DEFAULT '-12:34:56'|TIME(2) NOT NULL
TIME(1) DEFAULT '838:59:59.0'|YEAR DEFAULT 1999|YEAR NOT NULL|YEAR DEFAULT '2155'|YEAR DEFAULT 0
VARCHAR(10) DEFAULT 'it''s'|CHAR(5) DEFAULT 'x  '|VARCHAR(5) DEFAULT 5
VARCHAR(5) CHARACTER SET latin1 DEFAULT 'é'|VARCHAR(5) NOT NULL|CHAR(5) DEFAULT ''
VARCHAR(5) DEFAULT -1.50|VARCHAR(9) DEFAULT 'a\\\\b\\n'|TEXT|TEXT NOT NULL|BLOB|BLOB NOT NULL
VARBINARY(4) DEFAULT x'00FF'|BINARY(4) DEFAULT 'ab'|BINARY(3) NOT NULL|VARBINARY(3) DEFAULT 0x4142
ENUM('a','b') DEFAULT 'B'|ENUM('p','q') NOT NULL|ENUM('p','q') DEFAULT 'q'|SET('x','y','z') DEFAULT 'z,x'
SET('x','y') NOT NULL|SET('x') DEFAULT ''|VARCHAR(5) CHARACTER SET utf16 DEFAULT 'ab'
CHAR(3) DEFAULT N'abc'|INT DEFAULT 1.5|INT DEFAULT '-2.5'|DATE DEFAULT '2020-1-2'|DATE DEFAULT '20-3-4'
DATE DEFAULT '20200105'|DATE DEFAULT 20200106|DATETIME DEFAULT '2020-1-2 3:4:5'
DATETIME DEFAULT '2020-1-2 3:4'|DATETIME DEFAULT 20200102030405
TIME DEFAULT '08:00'|TIME DEFAULT '8:0:1'|TIME DEFAULT '1 02:03'
TIME DEFAULT 101112|TIME DEFAULT '1112'|TIME DEFAULT '-12'|YEAR DEFAULT 70|YEAR DEFAULT '69'|YEAR DEFAULT '0'
YEAR DEFAULT 5|TIMESTAMP DEFAULT '2020-1-2 03:04:05'
"""
"""Definitions whose default is a constant: all of them can be told."""

EXPRESSIONS = "TIMESTAMP DEFAULT CURRENT_TIMESTAMP|INT DEFAULT (1 + 2)|DATETIME(6) DEFAULT NOW(6)"
"""Definitions whose default the server works out: it logs the values."""

TOLD = """
INT DEFAULT (3+4)|INT DEFAULT (2 - 3 * (4 + 1))|DECIMAL(6,3) DEFAULT (1.5 * 2 + 0.25)|VARCHAR(9) DEFAULT ('x')
VARCHAR(9) DEFAULT (3+4)|TEXT DEFAULT ('ab')|JSON DEFAULT (JSON_ARRAY())|JSON DEFAULT ('{}')
JSON DEFAULT (JSON_OBJECT())|DATE DEFAULT (CURRENT_DATE)|DATE DEFAULT (NOW())
DATETIME DEFAULT CURRENT_TIMESTAMP|DATETIME(6) DEFAULT NOW(6)
TIMESTAMP DEFAULT CURRENT_TIMESTAMP|TIMESTAMP(3) DEFAULT CURRENT_TIMESTAMP(3)
DATETIME DEFAULT (NOW())|VARCHAR(30) DEFAULT (NOW(3))|DATETIME DEFAULT LOCALTIMESTAMP
"""
"""Definitions whose default is an expression, which existing rows get when ALTER TABLE adds the column."""

SETTINGS = "SET sql_mode = '', time_zone = '+00:00', binlog_row_image = MINIMAL"


def inserted(file: Path) -> tuple[dict[str, str | None], list[ResolvedColumn], bytes]:
    """The only row of a log: its table's columns, and which of them its image has."""
    with BinlogFile.open(str(file)) as opened:
        decoder = ChangeDecoder(opened, Catalog())
        for table in Scan(opened, Level.LEVEL_TABLES):
            items = [*decoder.decode(table, table.mask())]
        items += decoder.finish()
    (batch,) = (item for item in items if isinstance(item, ChangeBatch))
    (row,) = batch.batch.to_pylist()
    return row, [*batch.table.resolved.columns], row["_present"]


def printed(column: ResolvedColumn) -> str | None:
    """The recorded value as the test's SELECT prints it."""
    absent = column.absent
    assert absent is not None, f"{column.name} {column.mysql_type} cannot be told"
    if absent.misfit is not None or absent.value is None:
        return absent.misfit
    kind = column.type.kind
    if kind is Kind.TIME:
        sign, left = ("-", -int(absent.value)) if absent.value.startswith("-") else ("", int(absent.value))
        seconds, fraction = divmod(left, 1_000_000)
        digits = f".{fraction:06}"[: column.type.fraction + 1] if column.type.fraction else ""
        return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{digits}"
    if kind is Kind.BOOL:
        return str(int(absent.value == "true"))
    if kind in {Kind.FLOAT32, Kind.FLOAT64}:
        return f"{Decimal(absent.value).normalize():f}"
    return absent.value.zfill(4) if kind is Kind.YEAR else absent.value


def test_the_value_of_an_absent_column_is_what_select_gives(server: Server) -> None:
    types = [text for line in COLUMNS.split("\n") for text in line.split("|") if text]
    columns = [f"c{number} {text}" for number, text in enumerate([*types, *EXPRESSIONS.split("|")])]
    create = f"CREATE TABLE absent.t (id INT PRIMARY KEY, {', '.join(columns)})"
    server.sql("DROP DATABASE IF EXISTS absent; CREATE DATABASE absent")
    server.flush_logs()
    server.sql(f"{SETTINGS}; {create}; INSERT INTO absent.t (id) VALUES (1)")
    server.flush_logs()
    row, resolved, present = inserted(server.binlogs()[-2])
    told = [column for place, column in enumerate(resolved) if not present[place // 8] >> place % 8 & 1]
    assert len(told) == len(types)
    assert all(row[f"c{number}"] is not None for number in range(len(types), len(columns)))
    wanted = ", ".join(
        f"LOWER(HEX({column.name}))" if column.type.kind is Kind.BINARY
        else f"{column.name} + 0" if column.type.kind in {Kind.BITS, Kind.BOOL}
        else column.name
        for column in told
    )  # fmt: skip
    (answer,) = server.query(f"SELECT {wanted} FROM absent.t")
    found = {column.name + " " + column.mysql_type: printed(column) for column in told}
    assert found == dict(zip(found, answer, strict=True))


LEFT_OUT = ("DATE NOT NULL", "DATETIME(3) NOT NULL", "'0000-00-00", "'2020-00-00'", "x'00FF'")
"""Zero and partial dates, which are not filled in; and what MariaDB cannot show in CREATE TABLE as text."""

TYPES = [
    text
    for line in (COLUMNS + TOLD).split("\n")
    for text in line.split("|")
    if text and not any(part in text for part in LEFT_OUT)
]
ADDED = ", ".join(f"ADD COLUMN c{number} {text}" for number, text in enumerate(TYPES))

BEFORE = "CREATE TABLE added.t (id INT PRIMARY KEY, v INT); INSERT INTO added.t VALUES (1, 1), (2, 2), (3, 3)"
AFTER = (
    f"SET sql_mode = '', time_zone = '+05:30'; ALTER TABLE added.t {ADDED};"
    # What new rows get later is nothing to those that are there.
    " ALTER TABLE added.t ALTER c0 SET DEFAULT 99, ALTER c1 DROP DEFAULT;"
    " INSERT INTO added.t (id, v, c1) VALUES (4, 4, 1); UPDATE added.t SET v = 20, c0 = 21 WHERE id = 2;"
    " ALTER TABLE added.t RENAME COLUMN c2 TO renamed; DELETE FROM added.t WHERE id = 3"
)
LATER = (
    "SET sql_mode = '', time_zone = 'SYSTEM'; INSERT INTO added.t (id, v, c1) VALUES (5, 5, 1);"
    " UPDATE added.t SET v = 10 WHERE id = 1;"
    " ALTER TABLE added.t ADD at DATETIME(6) DEFAULT NOW(6); INSERT INTO added.t (id, v, c1) VALUES (6, 6, 1)"
)
"""What the clock of the server's own zone shows is not told."""


@pytest.mark.parametrize(("image", "loads"), [("FULL", "one by one"), ("MINIMAL", "at once")])
def test_rows_from_before_a_column_have_the_value_that_the_server_gave_them(
    server: Server, image: str, loads: str, tmp_path: Path, spark: Any
) -> None:
    server.sql(f"DROP DATABASE IF EXISTS added; CREATE DATABASE added; SET GLOBAL binlog_row_image = {image}")
    lake, output = tmp_path / "lake", tmp_path / "tables"

    def check(unknown: int) -> None:
        run_load(LoadOptions((str(lake),), str(output)), lambda: nullcontext(spark))
        assert differences(server, "added", output) == ([], unknown)

    server.flush_logs()
    for statements, unknown in ((BEFORE, 0), (AFTER, 0), (LATER, 4)):
        server.sql(statements)
        export_last(server, lake)
        if loads == "one by one":
            check(unknown)
    if loads == "at once":
        check(4)
    server.sql("SET GLOBAL binlog_row_image = FULL")


VIRTUAL = """
CREATE DATABASE derived; SET SESSION binlog_row_image = MINIMAL;
CREATE TABLE derived.`a.t` (
  id INT PRIMARY KEY, d INT, s INT AS (d + 1) STORED, v INT AS (d + 2) VIRTUAL, w VARCHAR(9) AS (id) VIRTUAL
);
INSERT INTO derived.`a.t` (id, d) VALUES (1, 5), (2, 6), (3, 7);
SET SESSION binlog_row_image = FULL; UPDATE derived.`a.t` SET d = d + 1;
SET SESSION binlog_row_image = MINIMAL; UPDATE derived.`a.t` SET d = 50 WHERE id = 1;
SET SESSION binlog_row_image = FULL; UPDATE derived.`a.t` SET d = 60 WHERE id = 2;
INSERT INTO derived.`a.t` (id, d) VALUES (4, 7), (5, 8); UPDATE derived.`a.t` SET id = 6 WHERE id = 5;
"""


def test_generated_columns_that_mariadb_leaves_out_of_an_update_are_unknown(
    server: Server, tmp_path: Path
) -> None:
    """Only those that are computed from what the update changed."""
    server.sql("DROP DATABASE IF EXISTS derived")
    server.flush_logs()
    server.sql(VIRTUAL)
    export_last(server, tmp_path / "lake")
    found = table_at(str(tmp_path / "lake"), "derived.`a.t`", None).rows.to_pylist()
    unknown = {row["id"]: row["_unknown"] for row in found}
    if not isinstance(server, MariaDBServer):
        assert unknown == {1: None, 2: None, 3: None, 4: None, 6: None}
    elif not leaves_out_generated(server):
        assert unknown == {1: ["v"], 2: None, 3: None, 4: None, 6: None}
    else:
        # The first inserts' partial images lack virtual columns.
        changed = ["s", "v", "w"]
        assert unknown == {1: changed, 2: changed, 3: changed, 4: None, 6: ["w"]}
    for row, answer in zip(found, server.query("SELECT * FROM derived.`a.t` ORDER BY id"), strict=True):
        known = {name: value for name, value in row.items() if name in ["id", "d", "s", "v", "w"]}
        expected = dict(zip(known, answer, strict=True))
        for name in row["_unknown"] or ():
            assert known[name] is None
            expected[name] = None
        assert {name: None if value is None else str(value) for name, value in known.items()} == expected


SENT = rb"""
CREATE DATABASE sent; SET NAMES binary;
CREATE TABLE sent.t (id INT PRIMARY KEY, e ENUM('a\xe9','\xe9') CHARACTER SET latin1,
  s SET('\xe9','\xff\'') CHARACTER SET latin1, u ENUM('\xc3\xa9','\\xe9') CHARACTER SET utf8mb4);
INSERT INTO sent.t VALUES (1, 1, 3, 1), (2, 2, 2, 2);
ALTER TABLE sent.t ADD a VARCHAR(9) CHARACTER SET latin1 DEFAULT 'x\xe9',
  ADD b VARBINARY(9) DEFAULT '\xe9\xff',
  ADD c VARCHAR(9) CHARACTER SET latin1 DEFAULT _latin1'\xe9', ADD d ENUM('\xe9') CHARACTER SET latin1;
INSERT INTO sent.t VALUES (3, 2, 1, 1, 'y', 'z', 'w', 1);
SET NAMES latin1;
"""


def test_bytes_of_a_client_without_a_character_set_are_of_the_columns_set(
    server: Server, tmp_path: Path
) -> None:
    server.sql("DROP DATABASE IF EXISTS sent")
    server.flush_logs()
    server.script(SENT)
    export_last(server, tmp_path / "lake")
    found = table_at(str(tmp_path / "lake"), "sent.t", None).rows.to_pylist()
    printed = [
        [value.hex() if isinstance(value, bytes) else str(value) for value in row.values()] for row in found
    ]
    wanted = "id, e, s, u, a, LOWER(HEX(b)), c, d"
    answer = [
        ["None" if value is None else value for value in row]
        for row in server.query(f"SELECT {wanted} FROM sent.t ORDER BY id")
    ]
    assert [row[:8] for row in printed] == answer
