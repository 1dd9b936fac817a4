"""What undoes transactions, run on the server that has them, brings back the rows that were there before."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from binx.errors import RefusedError
from binx.export.parquet import to_parquet
from binx.export.sql import write_sql
from binx.export.undo import write_undo
from binx.log.file import BinlogFile
from binx.rows.catalog import Catalog
from testdata.expected import rows_document
from testdata.servers import MariaDBServer, MySQLServer, Server
from testdata.small import drop_databases
from tests.export.sql_of import everything

TABLES = """
CREATE DATABASE small; USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
CREATE TABLE keyed (id INT PRIMARY KEY, t VARCHAR(20), f FLOAT, j JSON, e ENUM('a', 'b'), b BLOB,
ts TIMESTAMP(3) NULL DEFAULT CURRENT_TIMESTAMP(3) ON UPDATE CURRENT_TIMESTAMP(3),
g INT AS (id + 1) STORED, UNIQUE (t));
CREATE TABLE pair (a INT, b VARCHAR(9), v DECIMAL(9,2), PRIMARY KEY (b, a));
CREATE TABLE keyless (t VARCHAR(20), l TEXT CHARACTER SET latin1, d DOUBLE, dt DATETIME(6), z TIME(3));
CREATE TABLE parent (id INT PRIMARY KEY) ENGINE = InnoDB;
CREATE TABLE child (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id));
CREATE TABLE alike (id INT PRIMARY KEY, e ENUM('', 'a', 'b'), s SET('x', '', 'y'));
INSERT INTO alike VALUES (1, 0, 0), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, '', 7), (6, NULL, NULL);
INSERT INTO keyed (id, t, f, j, e, b) VALUES (1, 'one', 0.1, '{"a": [1, 2.5]}', 'a', x'00ff'),
(2, 'two', 0.2, 'null', '', NULL), (3, NULL, NULL, NULL, NULL, x'');
INSERT INTO pair VALUES (1, 'x', 1.50), (2, 'x', -2), (1, 'y', NULL);
INSERT INTO keyless VALUES ('a', 'é', 0.1, '0000-00-00', '-01:00:00.5'), ('a', 'é', 0.1, '0000-00-00',
'-01:00:00.5'), ('A', 'E', 0.1, NULL, NULL), ('a ', 'e', -0.0, '2026-00-01', '0');
INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (10, 1), (20, 2);
"""

KEYLESS = """BEGIN; INSERT INTO keyless SELECT * FROM keyless;
SAVEPOINT s; DELETE FROM keyless; ROLLBACK TO s;
UPDATE keyless SET d = d + 1 WHERE BINARY t = 'a' LIMIT 1;
DELETE FROM keyless WHERE BINARY t = 'A' LIMIT 1; COMMIT;
"""

CHANGES = f"""
USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
UPDATE keyed SET id = id + 10 ORDER BY id DESC;
UPDATE keyed SET t = CONCAT(COALESCE(t, ''), '!'), f = f * 3, e = 'b', j = JSON_OBJECT('n', id);
UPDATE alike SET e = (e + 1) % 4, s = s ^ 5; DELETE FROM alike WHERE e < 2;
BEGIN; UPDATE pair SET v = 7; UPDATE alike SET e = 'c'; UPDATE pair SET v = 8; COMMIT;
BEGIN; DELETE FROM keyed WHERE id = 11; INSERT INTO keyed (id, t, j) VALUES (11, 'again', '[]');
UPDATE pair SET a = a + 1, v = v * 2 ORDER BY a DESC; DELETE FROM pair WHERE b = 'y'; COMMIT;
{KEYLESS}BEGIN; DELETE FROM child WHERE id = 10;
DELETE FROM parent WHERE id = 1; INSERT INTO parent VALUES (3);
UPDATE child SET parent = 3; COMMIT;
SET foreign_key_checks = 0; UPDATE child SET parent = 99; SET foreign_key_checks = 1;
XA START 'kept'; INSERT INTO parent VALUES (50); XA END 'kept'; XA PREPARE 'kept'; XA COMMIT 'kept';
XA START 'left'; INSERT INTO parent VALUES (60); XA END 'left'; XA PREPARE 'left'; XA ROLLBACK 'left';
"""


def undo_of(path: Path, *, by_key: bool = False, tables: Path | None = None) -> bytes:
    """What undoes all that a log holds; ``tables`` is a log that made the tables before."""
    catalog = Catalog()
    if tables is not None:
        write_nothing(tables, catalog)
    output = io.BytesIO()
    write_undo(everything([path]), output, catalog, by_key=by_key)
    return output.getvalue()


def write_nothing(path: Path, catalog: Catalog) -> None:
    """Have a catalog know the tables that a log makes."""
    write_sql(everything([path]), io.BytesIO(), catalog)


@pytest.mark.parametrize("by_key", [False, True], ids=["all columns", "by key"])
@pytest.mark.parametrize("image", ["FULL", "NOBLOB"])
def test_rows_are_as_they_were(server: Server, image: str, by_key: bool) -> None:
    drop_databases(server)
    server.reset()
    server.sql(TABLES)
    before = rows_document(server)["tables"]
    server.flush_logs()
    changes = CHANGES
    if by_key:
        changes = CHANGES.replace(KEYLESS, "")
    if image == "NOBLOB":
        changes = "SET SESSION binlog_row_image = 'NOBLOB';" + changes.replace(
            ", j = JSON_OBJECT('n', id)", ""
        )
        changes = changes.replace(
            "DELETE FROM keyed WHERE id = 11; INSERT INTO keyed (id, t, j)", ""
        ).replace("VALUES (11, 'again', '[]');", "")
    server.sql(changes)
    server.flush_logs()
    changed = rows_document(server)["tables"]
    assert any(changed[name]["rows"] != before[name]["rows"] for name in before)
    made, log = server.binlogs()[:2]
    server.sql(undo_of(log, by_key=by_key, tables=made))
    found = rows_document(server)["tables"]
    for name, table in before.items():
        assert found[name]["rows"] == table["rows"], name


EMPTY_SHAPES = """
CREATE DATABASE small; USE small; CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2);
ALTER TABLE t ADD place POINT NOT NULL;
"""


def test_empty_values_of_a_shape_that_mariadb_gives_are_read_and_found(
    mariadb: MariaDBServer, tmp_path: Path
) -> None:
    drop_databases(mariadb)
    mariadb.reset()
    mariadb.sql(EMPTY_SHAPES)
    mariadb.flush_logs()
    before = rows_document(mariadb)["tables"]
    mariadb.sql("UPDATE small.t SET id = id + 10")
    mariadb.flush_logs()
    made, log = mariadb.binlogs()[:2]
    with BinlogFile.open(str(made)) as first, BinlogFile.open(str(log)) as second:
        list(to_parquet([first, second], tmp_path))
    (changes,) = (tmp_path / "changes/small/t").glob(f"{log.name}.*.parquet")
    assert pq.ParquetFile(changes).read(["place"]).to_pylist() == [{"place": {"srid": 0, "wkb": b""}}] * 4
    mariadb.sql(undo_of(log, tables=made))
    assert rows_document(mariadb)["tables"] == before
    mariadb.sql("DELETE FROM small.t")
    mariadb.flush_logs()
    with pytest.raises(RefusedError, match="an empty value in `place`"):
        undo_of(mariadb.binlogs()[2], tables=made)


def test_empty_vectors_that_mysql_gives_are_found_but_not_written(mysql: MySQLServer) -> None:
    drop_databases(mysql)
    mysql.reset()
    mysql.sql(
        "CREATE DATABASE small; USE small; CREATE TABLE t (id INT); INSERT INTO t VALUES (1), (2);"
        "ALTER TABLE t ADD v VECTOR(2) NOT NULL"
    )
    mysql.flush_logs()
    before = rows_document(mysql)["tables"]
    mysql.sql("UPDATE small.t SET id = id + 10")
    mysql.flush_logs()
    made, log = mysql.binlogs()[:2]
    mysql.sql(undo_of(log, tables=made))
    assert rows_document(mysql)["tables"] == before
    mysql.flush_logs()
    mysql.sql("UPDATE small.t SET v = STRING_TO_VECTOR('[1, 2]') WHERE id = 1")
    mysql.flush_logs()
    mysql.sql("DELETE FROM small.t WHERE id = 2")
    mysql.flush_logs()
    for log in mysql.binlogs()[3:5]:
        with pytest.raises(RefusedError, match="an empty value in `v`"):
            undo_of(log, tables=made)


def test_a_row_that_was_changed_again_since_stays_unless_only_the_key_counts(server: Server) -> None:
    drop_databases(server)
    server.reset()
    server.sql(TABLES)
    server.flush_logs()
    server.sql("UPDATE small.pair SET v = 7 WHERE a = 1 AND b = 'x'")
    server.flush_logs()
    server.sql("UPDATE small.pair SET v = 8 WHERE a = 1 AND b = 'x'")
    made, log = server.binlogs()[:2]
    value = "SELECT v FROM small.pair WHERE a = 1 AND b = 'x'"
    server.sql(undo_of(log, tables=made))
    assert server.query(value) == [("8.00",)]
    server.sql(undo_of(log, by_key=True, tables=made))
    assert server.query(value) == [("1.50",)]


def test_the_undoing_of_an_undoing_is_the_change(mysql: MySQLServer) -> None:
    drop_databases(mysql)
    mysql.reset()
    mysql.sql(TABLES)
    mysql.flush_logs()
    mysql.sql(CHANGES)
    mysql.flush_logs()
    changed = rows_document(mysql)["tables"]
    made, log = mysql.binlogs()[:2]
    mysql.sql(undo_of(log, tables=made))
    mysql.flush_logs()
    mysql.sql(undo_of(mysql.binlogs()[2], tables=made))
    found = rows_document(mysql)["tables"]
    for name, table in changed.items():
        assert found[name]["rows"] == table["rows"], name
