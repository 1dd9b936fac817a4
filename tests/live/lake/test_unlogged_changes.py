"""Changes that a server made without a log show in the before images of later ones."""

from __future__ import annotations

from pathlib import Path

from binx.lake.at_moment import table_at
from testdata.servers import MariaDBServer, Server
from tests.cli.process import binx
from tests.exports import export
from tests.live.logs import empty, log_of, logs_of

TABLES = """
CREATE DATABASE small; USE small;
CREATE TABLE orders (id INT PRIMARY KEY, status VARCHAR(20) COLLATE utf8mb4_general_ci, price DECIMAL(9, 2),
    total DECIMAL(9, 2) AS (price * 2), note TEXT, at TIMESTAMP(3) NULL, ratio DOUBLE, tags JSON);
CREATE TABLE codes (code VARCHAR(20) PRIMARY KEY, n INT);
INSERT INTO orders (id, status, price, note, at, ratio, tags)
    VALUES (1, 'new', 1.5, 'a', '2020-01-01 00:00:00.5', 0.1, '{"a": 1.0}'),
        (2, 'new', 2, NULL, NULL, -0.0, '[]');
INSERT INTO codes VALUES ('a', 1), ('b', 2);
UPDATE orders SET status = 'paid', ratio = ratio / 3; UPDATE codes SET code = 'A' WHERE code = 'a';
"""
CHANGES = """
USE small; UPDATE orders SET status = 'sent' WHERE id = 1; UPDATE codes SET n = n + 1;
"""
FITTING = """
USE small; XA START 'x'; UPDATE codes SET n = 9; XA END 'x'; XA PREPARE 'x'; XA ROLLBACK 'x';
ALTER TABLE orders MODIFY status VARCHAR(30) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin,
    ADD more INT DEFAULT 7;
UPDATE orders SET more = more + 1; REPLACE INTO codes VALUES ('a', 5); DELETE FROM codes WHERE code = 'B';
TRUNCATE codes; INSERT INTO codes VALUES ('b', 1); UPDATE codes SET n = 2; UPDATE orders SET id = id + 10;
"""


def differing(lake: Path) -> dict[str, list[str]]:
    """What is said of rows before that differ, by table."""
    found = {
        name: [text for text in table_at(str(lake), f"small.{name}", None).missing if "do not fit" in text]
        for name in ("orders", "codes")
    }
    return {name: texts for name, texts in found.items() if texts}


def test_changes_that_were_not_logged_show_in_later_ones(server: Server, tmp_path: Path) -> None:
    first = logs_of(server, TABLES, CHANGES, FITTING)
    export(tmp_path / "whole", first)
    assert differing(tmp_path / "whole") == {}
    export(tmp_path / "gap", [first[0], first[2]])
    # The other table was emptied since.
    assert [*differing(tmp_path / "gap")] == ["orders"]
    server.sql("SET SESSION sql_log_bin = 0; UPDATE small.orders SET note = 'unlogged' WHERE id = 12")
    log = log_of(server, "UPDATE small.orders SET note = 'logged'")
    export(tmp_path / "whole", [log])
    [reason] = differing(tmp_path / "whole")["orders"]
    assert reason.startswith("row changes that do not fit the rows before them: 1;")
    state = binx("state", tmp_path / "whole", "--table", "small.orders", "--format", "csv", "-o", "-")
    assert (state.code, reason in state.err) == (3, True)
    verified = binx("verify", "--rows", *first)
    assert (verified.code, verified.err) == (0, "")
    verified = binx("verify", "--rows", *first, log)
    assert "small.orders: row changes that do not fit the rows before them: 1" in verified.out
    assert (verified.code, "small.codes" in verified.out) == (3, False)


TYPES = """
CREATE DATABASE small; USE small; SET sql_mode = '';
CREATE TABLE orders (id INT PRIMARY KEY, f FLOAT, d DOUBLE, n DECIMAL(40, 3), j JSON, b BIT(5),
    e ENUM('a', ''), s SET('x', 'y'), y YEAR, t TIME(3), dt DATETIME(6), ts TIMESTAMP(2) NULL,
    c CHAR(9), vb VARBINARY(9),
    bi BINARY(4), l VARCHAR(9) CHARACTER SET latin1, g GEOMETRY, day DATE, big BIGINT UNSIGNED, blb BLOB,
    v INT AS (id + 1) VIRTUAL, w INT AS (id + 2) STORED, x INT);
CREATE TABLE codes (code VARCHAR(20), n FLOAT, PRIMARY KEY (code, n));
INSERT INTO orders (id, f, d, n, j, b, e, s, y, t, dt, ts, c, vb, bi, l, g, day, big, blb) VALUES
    (1, 1 / 3, 2 / 3, 1 / 7, '{"k": [1.10, 1e5, "é", null], "a": 12345678901234567890}', 5, 'a', 'x,y', 1999,
    '-12:00:00.5', '2020-02-02 02:02:02.000001', '2020-02-02 02:02:02.5', 'a  ', 'b\\0 ', 'c', 'é',
    POINT(1, 2), '2020-02-31', 18446744073709551615, x'00ff27'),
    (2, 1e10, 1e-300, 0, '1.0', 0, 'zz', '', 0, '838:59:59', 0, NULL, '', '', '', '', NULL, 0, 0, '');
INSERT INTO codes VALUES ('a ', 0.1), ('A', 1e9);
"""


def test_rows_of_a_backup_fit_the_images_of_later_changes(server: Server, tmp_path: Path) -> None:
    empty(server)
    server.sql(TYPES)
    server.flush_logs()
    dump = tmp_path / "dump.sql"
    position = "--source-data=2" if server.daemon == "mysqld" else "--master-data=2"
    dump.write_bytes(server.dump("--single-transaction", position, "--databases", "small"))
    log = log_of(server, "USE small; SET sql_mode = ''; UPDATE orders SET x = 1; UPDATE codes SET code = 'c'")
    made = binx("to-parquet", log, "--schema", dump, "-o", tmp_path / "lake")
    assert made.code == 0, made.err
    made = binx("base", dump, "-o", tmp_path / "lake")
    assert made.code == 0, made.err
    assert differing(tmp_path / "lake") == {}


def test_rows_that_a_logged_statement_changed_are_not_said_to_have_no_log(
    server: Server, tmp_path: Path
) -> None:
    logs = logs_of(
        server,
        "CREATE DATABASE small; USE small; CREATE TABLE codes (code INT PRIMARY KEY, n INT);"
        "INSERT INTO codes VALUES (1, 10); SET binlog_format = STATEMENT; UPDATE codes SET n = n + 1;"
        "SET binlog_format = ROW; UPDATE codes SET n = 20",
    )
    export(tmp_path, logs)
    assert table_at(str(tmp_path), "small.codes", None).missing == [
        "changes logged as statements: 1; they are only in statements/ of the data set",
        "row changes that do not fit the rows before them: 1",
    ]


def test_rows_that_alter_ignore_removed_show_in_later_ones(mariadb: Server, tmp_path: Path) -> None:
    assert isinstance(mariadb, MariaDBServer)
    logs = logs_of(
        mariadb,
        "CREATE DATABASE small; USE small; CREATE TABLE codes (code INT PRIMARY KEY, n INT);"
        "CREATE TABLE orders (id INT PRIMARY KEY); INSERT INTO codes VALUES (1, 10), (2, 10), (3, 30);"
        "ALTER IGNORE TABLE codes ADD UNIQUE (n); INSERT INTO codes VALUES (2, 20)",
    )
    export(tmp_path, logs)
    assert [*differing(tmp_path)] == ["codes"]


REMOVED = {
    "modified": "MODIFY v VARCHAR(2)",
    "changed": "CHANGE v w VARCHAR(9) COLLATE utf8mb4_general_ci",
    "converted": "CONVERT TO CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci",
    "checked": "ADD CHECK (id < 3)",
    "parted": "DROP KEY v PARTITION BY RANGE (id) (PARTITION p VALUES LESS THAN (3))",
}


def test_each_alter_ignore_that_removed_rows_is_a_loss(mariadb: Server, tmp_path: Path) -> None:
    statements = ["CREATE DATABASE small; USE small;"]
    for table, clause in REMOVED.items():
        statements.append(
            f"CREATE TABLE {table} (id INT PRIMARY KEY, v VARCHAR(9) COLLATE utf8mb4_bin, UNIQUE (v));"
            f"INSERT INTO {table} VALUES (1, 'ab1'), (2, 'AB1'), (3, 'ab2');"
            f"ALTER IGNORE TABLE {table} {clause};"
        )
    export(tmp_path, logs_of(mariadb, "".join(statements)))
    for table in REMOVED:
        (count,) = mariadb.query(f"SELECT COUNT(*) FROM small.{table}")
        assert int(count[0] or 0) < 3
        assert any("ALTER IGNORE" in text for text in table_at(str(tmp_path), f"small.{table}", None).missing)


def test_a_table_whose_engine_keeps_no_rows_is_incomplete(mysql: Server, tmp_path: Path) -> None:
    logs = logs_of(
        mysql,
        "CREATE DATABASE small; USE small; CREATE TABLE orders (id INT PRIMARY KEY) ENGINE=BLACKHOLE;"
        "CREATE TABLE codes LIKE orders; INSERT INTO orders VALUES (1); INSERT INTO codes VALUES (1)",
    )
    export(tmp_path, logs)
    for table in ("orders", "codes"):
        assert mysql.query(f"SELECT * FROM small.{table}") == []
        assert "ENGINE=BLACKHOLE" in table_at(str(tmp_path), f"small.{table}", None).missing[0]


def test_hidden_hashes_of_keys_are_in_no_table(mariadb: Server, tmp_path: Path) -> None:
    logs = logs_of(
        mariadb,
        "CREATE DATABASE small; USE small; CREATE TABLE orders (id INT PRIMARY KEY, t TEXT, UNIQUE (t));"
        "INSERT INTO orders VALUES (1, 'a'), (2, 'b'); UPDATE orders SET t = 'c' WHERE id = 1;"
        "ALTER TABLE orders ADD u BLOB, ADD UNIQUE (u); INSERT INTO orders VALUES (3, 'd', 'x');"
        "ALTER TABLE orders DROP KEY t; INSERT INTO orders VALUES (4, 'e', 'y');"
        "DELETE FROM orders WHERE id = 2",
    )
    export(tmp_path, logs)
    found = table_at(str(tmp_path), "small.orders", None)
    assert (found.missing, found.rows.column_names[:4]) == ([], ["id", "t", "u", "_commit_version"])
    assert found.rows["t"].to_pylist() == ["c", "d", "e"]
    assert "DB_ROW_HASH" not in binx("query", "SELECT * FROM small.orders", *logs).out
    assert "DB_ROW_HASH" not in binx("query", "SELECT * FROM small.orders", tmp_path).out
