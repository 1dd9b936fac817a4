"""A table as of a moment, and documents that were logged in part, as the server had them."""

from __future__ import annotations

import json
import os
import random
import re
import shlex
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from binx.kernels.walk.scan import Level
from binx.lake.at_moment import table_at
from binx.log.binlog_file import BinlogFile
from binx.log.scan import Scan
from binx.rows.batches import ChangeBatch
from binx.rows.ddl.catalog import Catalog
from binx.rows.decoder import ChangeDecoder
from testdata.servers import MySQLServer, Server
from tests.cli.process import binx
from tests.conftest import TESTDATA
from tests.exports import export
from tests.live.logs import empty, log_of, logs_of

MOMENTS = int(os.environ.get("ROUNDS") or 1)


def checksum(server: Server, table: str) -> str | None:
    return server.query(f"CHECKSUM TABLE {table} EXTENDED")[0][1]


@pytest.mark.parametrize("seed", range(MOMENTS))
def test_a_dropped_table_is_restored_as_it_was_at_a_moment(server: Server, seed: int, tmp_path: Path) -> None:
    shop = TESTDATA / ("mysql-9.7" if server.daemon == "mysqld" else "mariadb-10.11") / "shop"
    logs = sorted(shop.glob("mysql-bin.0*"))
    assert binx("to-parquet", *logs, "-o", tmp_path / "lake").code == 0
    chosen = random.Random(seed)
    number = chosen.randrange(len(logs))
    (path,) = (tmp_path / "lake" / "transactions").glob(f"{logs[number].name}.*")
    position = chosen.choice(pq.read_table(path)["end"].to_pylist())
    empty(server)
    if number:
        server.script(server.mysqlbinlog(*logs[:number]))
    server.script(server.mysqlbinlog(f"--stop-position={position}", logs[number]))
    compared = 0
    tables = [name for name, *_ in server.query("SHOW TABLES FROM shop")]
    for name in tables:
        at = f"{logs[number].name}:{position}"
        made = binx("state", tmp_path / "lake", "--table", f"shop.{name}", "--at", at, "--format", "sql")
        assert made.code in (0, 3) or "has no primary key" in made.err, made.err
        if made.code == 0:
            compared += 1
            before = checksum(server, f"shop.{name}")
            server.script(f"SET foreign_key_checks = 0; DROP TABLE shop.{name};\n{made.out}")
            assert checksum(server, f"shop.{name}") == before, (name, at)
    assert compared


LOST = """
CREATE DATABASE small; USE small;
CREATE TABLE emptied (id INT PRIMARY KEY, name VARCHAR(20));
CREATE TABLE `dropped one` (id INT PRIMARY KEY, name VARCHAR(20), KEY (name));
INSERT INTO emptied VALUES (1, 'one'), (2, 'two');
INSERT INTO `dropped one` VALUES (1, 'eins'), (2, 'zwei');
TRUNCATE emptied;
INSERT INTO emptied VALUES (3, 'three');
DROP TABLE `dropped one`;
"""


def test_the_commands_that_why_and_a_refused_undo_print_restore_tables(
    server: Server, tmp_path: Path
) -> None:
    [log] = logs_of(server, LOST)
    why = binx("why", "--table", "small.*", "--where", "id = 1", log)
    printed = re.findall(r"restored by: (binx .*)", why.out)
    assert len(printed) == 2
    for form in ("sql", "binlog"):
        refused = binx("extract", "--reverse", "--format", form, log)
        assert re.findall(r"restored by: (binx .*)", refused.err) == printed
    for command in printed:
        made = binx(*shlex.split(command)[1:], cwd=tmp_path)
        assert made.code == 0, made.err
        server.script(made.out)
    assert server.query("SELECT id, name FROM small.emptied ORDER BY id") == [
        ("1", "one"),
        ("2", "two"),
        ("3", "three"),
    ]
    assert server.query("SELECT id, name FROM small.`dropped one` ORDER BY id") == [
        ("1", "eins"),
        ("2", "zwei"),
    ]


def restore_from(source: Path, server: Server, table: str, code: int = 0) -> None:
    """Drop a table, and make it again from a log or a data set: it is the same."""
    made = binx("state", source, "--table", table, "--format", "sql")
    assert made.code == code, made.err
    questions = (f"SHOW CREATE TABLE {table}", f"CHECKSUM TABLE {table}")
    answers = [*map(server.query, questions)]
    server.script(f"DROP TABLE {table};\n{made.out}")
    assert [*map(server.query, questions)] == answers


DEFINED = """
CREATE DATABASE small; USE small;
SET SESSION explicit_defaults_for_timestamp = 0;
CREATE TABLE moments (id INT PRIMARY KEY, t TIMESTAMP);
SET SESSION explicit_defaults_for_timestamp = 1;
INSERT INTO moments (id) VALUES (1);
CREATE TABLE copied (id INT PRIMARY KEY) SELECT id, 2 AS n FROM moments; ALTER TABLE copied COMMENT 'a copy';
CREATE TABLE hidden (id INT PRIMARY KEY); SET SESSION binlog_format = STATEMENT;
CREATE TEMPORARY TABLE hidden (a INT); ALTER TABLE hidden ADD b INT; DROP TEMPORARY TABLE hidden;
CREATE TABLE parts (id INT PRIMARY KEY) PARTITION BY RANGE (id) (PARTITION p0 VALUES LESS THAN (9));
CREATE TABLE part (id INT PRIMARY KEY); ALTER TABLE parts EXCHANGE PARTITION p0 WITH TABLE part;
"""
VERSIONED = """
CREATE TABLE versioned (id INT PRIMARY KEY) WITH SYSTEM VERSIONING;
SET SESSION system_versioning_alter_history = KEEP; ALTER TABLE versioned ADD a INT;
SET STATEMENT sql_mode = 'REAL_AS_FLOAT' FOR CREATE TABLE real_numbers (id INT PRIMARY KEY, a REAL);
"""


def test_tables_are_defined_as_their_server_did(server: Server, tmp_path: Path) -> None:
    [log] = logs_of(server, DEFINED + (VERSIONED if server.daemon == "mariadbd" else ""))
    assert binx("to-parquet", log, "-o", tmp_path / "lake", "--quiet").code == 0
    tables = [name for name, *_ in server.query("SHOW TABLES FROM small")]
    for table in (f"small.{name}" for name in tables if name != "part"):
        restore_from(tmp_path / "lake", server, table, code=3 if table == "small.parts" else 0)


SELECTED = """
CREATE DATABASE small COLLATE latin1_bin; USE small; CREATE TABLE t (id VARCHAR(9) PRIMARY KEY);
ALTER DATABASE COLLATE latin1_german2_ci; CREATE TABLE u (id VARCHAR(9) PRIMARY KEY);
INSERT INTO t VALUES ('a'), ('A');
"""


def test_what_a_database_gives_its_tables_is_known_where_only_they_are_selected(
    server: Server, tmp_path: Path
) -> None:
    [log] = logs_of(server, SELECTED)
    assert binx("to-parquet", log, "--table", "small.*", "-o", tmp_path / "lake", "--quiet").code == 0
    for source in (log, tmp_path / "lake"):
        for table in ("small.t", "small.u"):
            restore_from(source, server, table)
    assert server.query("SELECT COUNT(*) FROM small.t") == [("2",)]


ZONES = """
CREATE DATABASE small; USE small; SET SESSION time_zone = '+02:00';
CREATE TABLE t (id INT PRIMARY KEY, a TIMESTAMP NOT NULL DEFAULT '2020-01-02 03:04:05');
SET SESSION time_zone = 'SYSTEM'; ALTER TABLE t ADD b TIMESTAMP NULL DEFAULT '2020-1-2';
SET SESSION time_zone = '-05:30'; ALTER TABLE t ADD c TIMESTAMP NULL DEFAULT '2021-01-01';
ALTER TABLE t ADD CHECK (t.id > 0);
INSERT INTO t (id) VALUES (1);
"""


def test_defaults_of_several_time_zones_are_the_same_moments(server: Server) -> None:
    [log] = logs_of(server, ZONES)
    restore_from(log, server, "small.t")


MODELLED = """
CREATE DATABASE small; USE small; CREATE DATABASE other; CREATE TABLE other.one (id INT PRIMARY KEY, v INT);
RENAME TABLE other.one TO other.model; ALTER TABLE other.model ADD KEY (v);
CREATE TABLE middle LIKE other.model; CREATE TABLE t LIKE middle; DROP TABLE other.model, middle;
INSERT INTO t VALUES (1, 2);
"""


def test_a_table_made_like_another_is_defined_by_the_logs_of_both(server: Server) -> None:
    [log] = logs_of(server, MODELLED)
    restore_from(log, server, "small.t")
    assert server.query("SELECT * FROM small.t") == [("1", "2")]


IN_TURN = """
CREATE DATABASE small; USE small; CREATE TABLE t (id INT PRIMARY KEY, v INT, w VARCHAR(9));
INSERT INTO t VALUES (1, 1, 'a'), (2, 2, 'b'); ALTER TABLE t RENAME COLUMN v TO w, RENAME COLUMN w TO v;
CREATE TABLE u (id INT PRIMARY KEY, v INT, w VARCHAR(9)); INSERT INTO u VALUES (3, 3, 'c');
RENAME TABLE t TO x, u TO t, x TO u; DELETE FROM u WHERE id = 1; INSERT INTO t VALUES (4, 4, 'd');
"""


def test_tables_that_change_names_after_their_columns_did_keep_their_rows(server: Server) -> None:
    [log] = logs_of(server, IN_TURN)
    for table in ("small.t", "small.u"):
        made = binx("state", log, "--table", table, "--format", "sql")
        assert made.code == 0, made.err
        rows = server.query(f"SELECT * FROM {table} ORDER BY id")
        server.script(f"DROP TABLE {table};\n{made.out}")
        assert server.query(f"SELECT * FROM {table} ORDER BY id") == rows


OTHER_COLUMNS = """
CREATE DATABASE small; USE small; CREATE TABLE t (id INT PRIMARY KEY, v INT); INSERT INTO t VALUES (1, 1);
SET sql_log_bin = 0; ALTER TABLE t MODIFY v VARCHAR(9); SET sql_log_bin = 1; INSERT INTO t VALUES (2, 'two');
ALTER TABLE t COMMENT 'logged'; INSERT INTO t VALUES (3, 'three');
"""


def test_rows_with_other_columns_than_statements_made_are_not_left_out(server: Server) -> None:
    server.sql("SET GLOBAL binlog_row_metadata = FULL")
    [log] = logs_of(server, OTHER_COLUMNS)
    server.sql("SET GLOBAL binlog_row_metadata = DEFAULT")
    made = binx("state", log, "--table", "small.t", "--format", "csv")
    assert made.code == 1
    assert "columns of small.t changed without a statement in the logs" in made.err


SEQUENCES = """
CREATE DATABASE small; USE small; CREATE DATABASE other;
CREATE SEQUENCE up MINVALUE 3 INCREMENT BY 2 CACHE 3; CREATE SEQUENCE other.down INCREMENT BY -1 CACHE 1;
CREATE SEQUENCE fresh START WITH 40;
CREATE TABLE t (id INT PRIMARY KEY DEFAULT nextval(up), a INT DEFAULT (NEXT VALUE FOR other.down), b INT);
USE other; ALTER TABLE small.t ADD f INT DEFAULT nextval(small.fresh);
INSERT INTO small.t (b) VALUES (1), (2), (3), (4); ALTER SEQUENCE small.up RESTART 90;
INSERT INTO small.t (b) VALUES (5); ALTER SEQUENCE small.fresh RESTART 50;
"""
NEXT = "SELECT NEXTVAL(small.up), NEXTVAL(other.down), NEXTVAL(small.fresh)"


def test_sequences_that_defaults_need_are_made_and_go_on(mariadb: Server, tmp_path: Path) -> None:
    [log] = logs_of(mariadb, SEQUENCES)
    made = binx("state", log, "--table", "small.t", "--format", "sql")
    assert made.code == 0, made.err
    named = ["TABLE small.t", "SEQUENCE small.up", "SEQUENCE other.down", "SEQUENCE small.fresh"]
    shown = [mariadb.query(f"SHOW CREATE {name}") for name in named]
    mariadb.script("".join(f"DROP {name};\n" for name in named) + made.out)
    assert [mariadb.query(f"SHOW CREATE {name}") for name in named] == shown
    assert mariadb.query(NEXT) == [("96", "-6", "50")]
    assert mariadb.query("SELECT MIN(id), MAX(id) FROM small.t") == [("3", "90")]


VALUES = """
CREATE DATABASE small; USE small; SET SESSION sql_mode = 'ALLOW_INVALID_DATES,NO_AUTO_VALUE_ON_ZERO';
CREATE TABLE odd (id INT PRIMARY KEY AUTO_INCREMENT, d DATE, t DATETIME(3), `_commit_version` INT, r DOUBLE,
                  f FLOAT, b BLOB, bits BIT(9), flag BIT(1), n DECIMAL(60,2), e ENUM('a', 'b'),
                  s SET('x', 'y'), g POINT, l VARCHAR(20) CHARACTER SET latin1, h TIME(2), y YEAR);
INSERT INTO odd VALUES
  (0, '2026-02-31', '2026-02-30 23:59:59.125', 1, -0e0, 1e-20, x'0027', 5, 1, -1e50, 'a', 'x,y', POINT(1, 2),
   'caf\\'\\\\é"', '-838:59:59', 1999),
  (1, '0000-00-00', '2026-04-00', 2, 1e22, 3.4028234e38, '', 511, 0, 0, 9, '', NULL, '', '00:00:00.25', 0),
  (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
"""


def test_values_that_strict_sessions_reject_are_restored(server: Server, tmp_path: Path) -> None:
    [log] = logs_of(server, VALUES)
    assert binx("to-parquet", log, "-o", tmp_path / "lake", "--quiet").code == 0
    texts = "d, t, `_commit_version`, r, f, HEX(b), bits + 0, flag + 0, n, e, e + 0, s, HEX(g), l, h, y"
    wanted = f"SELECT id, {texts} FROM small.odd ORDER BY id"
    before = server.query(wanted)
    made = binx("state", tmp_path / "lake", "--table", "small.odd", "--format", "sql")
    assert made.code == 0, made.err
    server.script(f"DROP TABLE small.odd;\n{made.out}")
    assert server.query(wanted) == before


COMPARED = r"""
CREATE DATABASE small; USE small;
CREATE TABLE odd (id INT PRIMARY KEY, e ENUM('a\nb', 'c\\\\n', 'it\'s'), s SET('x\ty', 'u\rv', ')'),
                  d DECIMAL(65, 30), b BIT(40), y YEAR, z INT(5) ZEROFILL);
INSERT INTO odd VALUES (1, 1, 1, 1, 5, 1999, 7), (2, 2, 2, 1.5, 6, 2026, 42), (3, 3, 4, -2e30, 5, 1999, 7),
  (4, 2, 7, 12345678901234567890.1, 0, 1999, 0), (5, 1, 3, 12345678901234567890.2, 9, 2000, 12345);
"""


@pytest.mark.parametrize(
    "condition",
    ["e = 1", "e > 1", "s = 2", "s >= 3", "d = '1'", "d = 1.50", "d < 0", "d > 12345678901234567890.1",
     "b = 5", "y = 1999", "z LIKE '000%'"],
)  # fmt: skip
def test_rows_are_chosen_as_the_server_compares(server: Server, condition: str, tmp_path: Path) -> None:
    [log] = logs_of(server, COMPARED)
    chosen = binx("state", log, "--table", "small.odd", "--format", "csv", "--where", condition)
    wanted = server.query(f"SELECT id FROM small.odd WHERE {condition} ORDER BY id")
    assert re.findall(r'^"(\d+)",', chosen.out, re.M) == [number for (number,) in wanted], chosen.err


KEY_VALUES = {
    "INT": ["-7", "0"], "BIGINT UNSIGNED": ["0", "18446744073709551615"],
    "DECIMAL(10,4)": ["1.5", "-2"], "DECIMAL(60,20)": ["1.5", "12345678901234567890.1"],
    "VARCHAR(20)": ["'a'", "'é b'", "'it''s'"], "BINARY(4)": ["'ab'", "x'00ff'"], "BIT(20)": ["5", "9"],
    "DATE": ["'2026-01-02'", "'2026-00-00'", "'0000-00-00'"],
    "DATETIME(3)": ["'2026-01-02 03:04:05.25'", "'2026-01-00'"],
    "TIMESTAMP(6)": ["'2026-01-02 03:04:05.25'"], "TIME(2)": ["'-12:00:01.25'", "'100:00:00'"],
    "YEAR": ["1999", "0"], "ENUM('a','b,c')": ["1", "2"], "SET('a','b')": ["3", "1"],
}  # fmt: skip
"""Types of keys, and values as SQL has them."""


def test_rows_are_chosen_by_keys_as_the_server_prints_them(server: Server, tmp_path: Path) -> None:
    text = "CREATE DATABASE small; USE small; SET sql_mode = '', time_zone = '+00:00';"
    for number, (kind, values) in enumerate(KEY_VALUES.items()):
        rows = ", ".join(f"({value}, {row})" for row, value in enumerate(values))
        text += f"CREATE TABLE t{number} (k {kind} PRIMARY KEY, v INT); INSERT INTO t{number} VALUES {rows};"
    export(tmp_path / "lake", logs_of(server, text))
    for number, kind in enumerate(KEY_VALUES):
        printed = {
            "BINARY(4)": "HEX(k)",
            "BIT(20)": "k + 0",
            "TIMESTAMP(6)": "CONVERT_TZ(k, @@time_zone, '+00:00')",
        }.get(kind, "k")
        table = table_at(str(tmp_path / "lake"), f"small.t{number}", None)
        for key, row in server.query(f"SELECT CAST({printed} AS CHAR), v FROM small.t{number}"):
            assert table.with_keys([[str(key)]]).rows["v"].to_pylist() == [int(row or 0)], (kind, key)


CURRENT_AND_ENDED = """
CREATE DATABASE small; USE small;
CREATE TABLE implicit (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING;
CREATE TABLE explicit (id INT PRIMARY KEY, a INT, row_start TIMESTAMP(6) AS ROW START,
                       row_end TIMESTAMP(6) AS ROW END, PERIOD FOR SYSTEM_TIME (row_start, row_end))
                      WITH SYSTEM VERSIONING;
INSERT INTO implicit VALUES (1, 1), (2, 2), (3, 3); INSERT INTO explicit (id, a) SELECT id, a FROM implicit;
UPDATE implicit SET a = 9 WHERE id < 3; DELETE FROM implicit WHERE id = 2; INSERT INTO implicit VALUES (2, 5);
UPDATE explicit SET a = 9 WHERE id < 3; DELETE FROM explicit WHERE id = 2;
"""


@pytest.mark.parametrize("table", ["small.implicit", "small.explicit"])
def test_system_versioned_rows_begin_when_they_did(mariadb: Server, table: str, tmp_path: Path) -> None:
    [log] = logs_of(mariadb, CURRENT_AND_ENDED)
    assert binx("to-parquet", log, "-o", tmp_path / "lake", "--quiet").code == 0
    rows = f"SELECT id, a, row_start, row_end FROM {table}"
    before = mariadb.query(f"{rows} ORDER BY id")
    made = binx("state", tmp_path / "lake", "--table", table, "--format", "sql")
    assert made.code == 3
    assert "rows that ended (WITH SYSTEM VERSIONING) are not written" in made.err
    mariadb.script(f"DROP TABLE {table};\n{made.out}")
    assert mariadb.query(f"{rows} FOR SYSTEM_TIME ALL ORDER BY id") == before


QUERIED = """
CREATE DATABASE small; USE small;
CREATE TABLE t (a INT PRIMARY KEY); INSERT INTO t VALUES (1); CREATE TABLE other (a INT);
SET SESSION binlog_format = STATEMENT;
CREATE TABLE copy (a INT PRIMARY KEY) SELECT a FROM t;
CREATE TABLE gone SELECT a FROM t; DROP TABLE gone;
/*!50003 INSERT INTO */ other VALUES (5);
CREATE TABLE changed SELECT a FROM t;
SET SESSION binlog_format = ROW;
INSERT INTO changed VALUES (2);
"""
BY_TRANSACTION = """
CREATE TABLE versioned (a INT, s BIGINT UNSIGNED AS ROW START, e BIGINT UNSIGNED AS ROW END,
                        PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;
INSERT INTO versioned (a) VALUES (1);
"""
"""Such rows are logged as statements whatever the format."""


def test_rows_that_are_logged_as_statements_alone_are_reported(server: Server, tmp_path: Path) -> None:
    is_mariadb = server.daemon == "mariadbd"
    [log] = logs_of(server, QUERIED + (BY_TRANSACTION if is_mariadb else ""))
    made = binx("to-parquet", log, "-o", tmp_path / "lake")
    assert f"changes logged as statements: {5 if is_mariadb else 4};" in made.err

    def said(table: str, *options: str) -> tuple[int, bool]:
        told = binx("state", tmp_path / "lake", "--table", f"small.{table}", *options, "--format", "csv")
        return told.code, "rows of a query or a partition, which are not in the log" in told.err

    assert said("copy") == (1, True)
    assert said("changed", "--key", "c1") == (3, True)
    assert said("gone") == (4, False)
    assert said("t") == (0, False)
    assert said("other", "--key", "a") == (3, False)


def test_a_load_logged_as_a_statement_is_a_loss_of_its_table_once(server: Server, tmp_path: Path) -> None:
    empty(server)
    (tmp_path / "rows").write_bytes(b"1\n2\n")
    server.script(
        "CREATE DATABASE small; USE small; CREATE TABLE hit (a INT PRIMARY KEY);"
        "CREATE TABLE other (a INT PRIMARY KEY); INSERT INTO other VALUES (1);"
        "SET SESSION binlog_format = STATEMENT; LOAD DATA LOCAL INFILE 'rows' INTO TABLE hit;",
        folder=tmp_path,
    )
    server.flush_logs()
    log = server.binlogs()[0]
    assert binx("state", log, "--table", "small.other", "--format", "sql").code == 0
    hit = binx("state", log, "--table", "small.hit", "--format", "sql")
    assert hit.code == 3
    assert hit.out.count("-- Incomplete: ") == hit.out.count("changes logged as statements: 1") == 1


UPDATES = 150
"""Of one document; more than a quarter is logged as differences."""

KEYS = [
    "a",
    "b",
    "aa",
    "ab",
    "key",
    "a b",
    'quo"te',
    "back\\slash",
    "dot.ted",
    "br[0]",
    "é",
    "日本",
    "😀",
    "",
    "\n",
]
SCALARS = [
    "NULL", "TRUE", "FALSE", "0", "-1", "65536", "-5000000000", "18446744073709551615", "1.5e0", "0.1e-20",
    "12.50", "'text'", "'tab\\tquote\"'", "''", "REPEAT('z', 200)", "DATE'2020-02-03'", "TIME'-11:12:13.5'",
    "TIMESTAMP'2001-02-03 04:05:06'", "CAST(x'00ff10' AS BINARY)", "POINT(1, 2)", "JSON_ARRAY()",
    "JSON_OBJECT()",
]  # fmt: skip


def quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "''") + "'"


def value(chance: random.Random, depth: int) -> str:
    """An SQL expression of a JSON value."""
    kind = chance.random()
    if depth == 0 or kind < 0.4:
        return chance.choice(SCALARS)
    members = [value(chance, depth - 1) for _ in range(chance.randrange(6))]
    if kind < 0.7:
        return f"JSON_ARRAY({', '.join(members)})"
    keys = chance.sample(KEYS, len(members))
    pairs = (f"{quoted(key)}, {member}" for key, member in zip(keys, members, strict=True))
    return f"JSON_OBJECT({', '.join(pairs)})"


def path(chance: random.Random, document: Any) -> str:
    """A path to something in the document, or to something that could be."""
    legs = "$"
    while True:
        if isinstance(document, dict):
            name = chance.choice([*document, chance.choice(KEYS)])
            legs += "." + json.dumps(name, ensure_ascii=False)
            document = document.get(name)
        elif isinstance(document, list):
            place = chance.randrange(len(document) + 2)
            legs += f"[{place}]" if chance.random() < 0.8 else f"[last-{place}]"
            document = document[place] if place < len(document) else None
        else:
            return legs if legs != "$" else "$.a"
        if chance.random() < 0.2:
            return legs


def change(chance: random.Random, document: Any) -> str:
    """An SQL expression that changes the document ``d``."""
    expression = "d"
    for _ in range(chance.choice([1, 1, 2, 3])):
        function = chance.choice(["SET", "SET", "REPLACE", "REPLACE", "REMOVE"])
        where = quoted(path(chance, document))
        if function == "REMOVE":
            expression = f"JSON_REMOVE({expression}, {where})"
        else:
            expression = f"JSON_{function}({expression}, {where}, {value(chance, 2)})"
    return expression


def documents_after(file: Path) -> tuple[list[str], int]:
    """The documents of the after images of all updates, in order; and how many differences are left."""
    texts: list[str] = []
    left = 0
    with BinlogFile.open(str(file)) as opened:
        decoder = ChangeDecoder(opened, Catalog())
        for table in Scan(opened, Level.LEVEL_TABLES):
            items = [*decoder.decode(table, table.mask())]
        items += decoder.finish()
        for item in items:
            if isinstance(item, ChangeBatch):
                # The name depends on binlog_row_metadata, which other tests set.
                document = item.batch.schema.names[-1]
                rows = pa.table(item.batch).select(["_change_type", "_json_diff", document]).to_pylist()
                texts += [row[document] for row in rows if row["_change_type"] == "update_postimage"]
                left += sum(row["_json_diff"] is not None for row in rows)
    return texts, left


@pytest.mark.parametrize("seed", [1, 2])
@pytest.mark.parametrize("members", [4, 3000], ids=["small", "offsets of four bytes"])
def test_differences_applied_give_what_select_gives(mysql: MySQLServer, seed: int, members: int) -> None:
    chance = random.Random(f"{seed} {members}")
    mysql.sql("DROP DATABASE IF EXISTS partial; CREATE DATABASE partial")
    mysql.sql("CREATE TABLE t (id INT PRIMARY KEY, n INT, d JSON)", "partial")
    small = f"JSON_OBJECT('long', REPEAT('x', 300), 'list', {value(chance, 3)}, 'deep', {value(chance, 4)})"
    mysql.sql(f"INSERT INTO t VALUES (1, 0, {small})", "partial")
    mysql.sql(
        f"SET cte_max_recursion_depth = {members}; UPDATE t SET d = (WITH RECURSIVE numbers (n) AS"
        f" (SELECT 1 UNION SELECT n + 1 FROM numbers WHERE n < {members}) SELECT JSON_SET(d, '$.wide',"
        " JSON_ARRAYAGG(REPEAT('w', 20)), '$.keys', JSON_OBJECTAGG(n, n)) FROM numbers)",
        "partial",
    )
    mysql.flush_logs()
    expected: list[str] = []
    document = json.loads(mysql.query("SELECT d FROM t", "partial")[0][0] or "")
    while len(expected) < UPDATES:
        statements = [change(chance, document) for _ in range(30)]
        session = "SET binlog_row_value_options = PARTIAL_JSON;\n"
        session += "".join(
            f"UPDATE t SET n = n + 1, d = {one};\nSELECT HEX(CAST(d AS CHAR)) FROM t;\n" for one in statements
        )
        expected += [bytes.fromhex(line).decode() for line in mysql.sql(session, "partial").split()]
        document = json.loads(expected[-1])
    mysql.flush_logs()
    log = mysql.binlogs()[-2]
    assert mysql.mysqlbinlog("-v", log).count(b"@3=JSON_") > UPDATES // 4
    found, left = documents_after(log)
    assert left == 0
    assert found == expected


PARENTS = """
CREATE DATABASE small; USE small;
CREATE TABLE orders (id INT PRIMARY KEY, note VARCHAR(20));
CREATE TABLE `lines` (id INT PRIMARY KEY, order_id INT, price DECIMAL(8,2),
                    FOREIGN KEY (order_id) REFERENCES orders (id) ON DELETE CASCADE);
INSERT INTO orders VALUES (7, 'seven'), (8, 'eight');
INSERT INTO `lines` VALUES (1, 7, 1.5), (2, 7, 2.5), (3, 8, 3.5);
"""
RENAMED = """
USE small;
RENAME TABLE `lines` TO items;
UPDATE items SET price = 9 WHERE id = 3;
"""
DELETED = "USE small; DELETE FROM orders WHERE id = 7"


def test_rows_before_a_cascade_are_read_from_logs(server: Server, tmp_path: Path) -> None:
    logs = logs_of(server, PARENTS, RENAMED)
    rows = "SELECT * FROM small.items WHERE order_id = 7 ORDER BY id"
    before = server.query(rows)
    logs += [log_of(server, DELETED)]
    position = logs[2].stat().st_size
    assert server.query(rows) == []
    at = f"{logs[1].name}:{logs[1].stat().st_size}"
    arguments = ("--table", "small.items", "--at", at, "--format", "sql", "--no-create")
    made = binx("state", *logs, *arguments, "--where", "order_id = 7", cwd=tmp_path)
    assert made.code == 0, made.err
    (tmp_path / "keys.csv").write_text("1\n2\n")
    keyed = binx("state", *logs, *arguments, "--keys", "keys.csv", cwd=tmp_path)
    assert keyed.out == made.out
    server.script(f"INSERT INTO small.orders VALUES (7, 'seven');\n{made.out}")
    assert server.query(rows) == before
    after = binx(
        "state", *logs, "--table", "small.items", "--at", f"{logs[2].name}:{position}", "--format", "csv"
    )
    # MySQL 9.6 and later logs what foreign keys delete.
    is_logged = isinstance(server, MySQLServer)
    assert after.code == (0 if is_logged else 3)
    assert ("rows that foreign keys deleted" in after.err) != is_logged


def test_rows_before_the_logs_come_from_a_backup(server: Server, tmp_path: Path) -> None:
    logs_of(server, PARENTS)
    is_mysql = isinstance(server, MySQLServer)
    place = ("--source-data=2", "--set-gtid-purged=OFF") if is_mysql else ("--master-data=2",)
    (tmp_path / "dump.sql").write_bytes(server.dump("--single-transaction", *place, "--databases", "small"))
    log = log_of(server, RENAMED)
    rows = "SELECT * FROM small.items ORDER BY id"
    before = server.query(rows)
    alone = binx("state", log, "--table", "small.items", "--format", "csv")
    assert alone.code != 0
    assert "/" not in alone.err.replace(str(log), "")
    made = binx("state", log, "--base", tmp_path / "dump.sql", "--table", "small.items", "--format", "sql")
    assert made.code == 0, made.err
    server.script(f"DROP TABLE small.items;\n{made.out}")
    assert server.query(rows) == before


TYPED = """
CREATE DATABASE small; USE small; CREATE TABLE typed (id INT PRIMARY KEY, j JSON);
INSERT INTO typed VALUES
  (1, JSON_OBJECT('p', CAST(19.90 AS DECIMAL(10,2)), 'd', CAST('2020-01-01' AS DATE))),
  (2, JSON_ARRAY(TIME'-11:12:13.5', 1.5e0, 'JSON_ARRAY()', CAST(x'00ff' AS BINARY))), (3, 'null'), (4, NULL);
"""


def test_documents_keep_the_types_of_their_values(mysql: Server) -> None:
    [log] = logs_of(mysql, TYPED)
    documents = (
        "SELECT id, j, JSON_TYPE(j->'$.p'), JSON_TYPE(j->'$.d'), JSON_TYPE(j->'$[0]'), JSON_TYPE(j->'$[2]'),"
        " JSON_TYPE(j->'$[3]') FROM small.typed ORDER BY id"
    )
    before = mysql.query(documents)
    made = binx("state", log, "--table", "small.typed", "--format", "sql")
    assert made.code == 0, made.err
    mysql.script(f"DROP TABLE small.typed;\n{made.out}")
    assert mysql.query(documents) == before


NUMBERS = (
    "CAST('12345678901234567890.123456789' AS DECIMAL(40, 9))", "CAST(1.50 AS DECIMAL(5, 2))", "1e300",
    "18446744073709551615", "-0e0", "CAST('2020-01-02' AS DATE)", "CAST('08:00:00.5' AS TIME(3))",
    "X'00ff'", "'a\\\\\"b\\té'", "JSON_OBJECT('bb', 2.0, 'a', JSON_ARRAY(1.0, CAST(3 AS DECIMAL(9, 4))))",
)  # fmt: skip


def test_documents_of_partial_images_keep_every_digit(mysql: MySQLServer, tmp_path: Path) -> None:
    """Differences are applied to the document of an earlier image; numbers stay as the server writes them."""
    empty(mysql)
    values = [
        (number, one, other) for number, (one, other) in enumerate(zip(NUMBERS, NUMBERS[::-1], strict=True))
    ]
    work = "CREATE DATABASE s; USE s; CREATE TABLE t (id INT PRIMARY KEY, d JSON);\n"
    work += "".join(
        f"INSERT INTO t VALUES ({number}, JSON_OBJECT('kept', {one}, 'long', REPEAT('x', 300), 'new', 0));\n"
        for number, one, _ in values
    )
    work += "SET binlog_row_image = MINIMAL, binlog_row_value_options = PARTIAL_JSON;\n"
    work += "".join(
        f"UPDATE t SET d = JSON_SET(d, '$.new', {other}) WHERE id = {number};\n"
        for number, _, other in values
    )
    [log] = logs_of(mysql, work)
    assert binx("to-parquet", log, "-o", tmp_path / "lake").code == 0
    expected = {
        int(number or 0): bytes.fromhex(text or "").decode()
        for number, text in mysql.query("SELECT id, HEX(CAST(d AS CHAR)) FROM s.t")
    }
    found = table_at(str(tmp_path / "lake"), "s.t", None)
    assert {row["id"]: row["d"] for row in found.rows.to_pylist()} == expected
    assert found.missing == []


def test_sql_of_a_data_set_says_that_documents_lose_the_types_of_their_values(
    mysql: Server, tmp_path: Path
) -> None:
    logs = logs_of(
        mysql,
        "CREATE DATABASE small; USE small; CREATE TABLE j (id INT PRIMARY KEY, j JSON);"
        "CREATE TABLE k LIKE j; INSERT INTO k VALUES (1, '[1.5, null]');"
        "INSERT INTO j VALUES (1, JSON_OBJECT('price', CAST(19.90 AS DECIMAL(10, 2))))",
    )
    assert binx("to-parquet", *logs, "-o", tmp_path / "lake").code == 0

    def state(source: list[Path], table: str, form: str) -> tuple[int, bool]:
        made = binx("state", *source, "--table", table, "--format", form, "-o", "-")
        return made.code, "SQL types" in made.err

    assert state(logs, "small.j", "sql") == state([tmp_path / "lake"], "small.k", "sql") == (0, False)
    assert state([tmp_path / "lake"], "small.j", "csv") == (0, False)
    assert state([tmp_path / "lake"], "small.j", "sql") == (3, True)
