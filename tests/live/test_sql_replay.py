"""The SQL of a log, run on an empty server of the same kind, makes the tables that the log's server had."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from binx.errors import RefusedError
from binx.rows.ddl.catalog import Catalog
from binx.slices.sql.write import write_sql
from binx.sql.literals import text_literal
from testdata.expected import rows_document
from testdata.servers import MySQLServer, Server, ServerError
from testdata.small import split_sections
from tests.live.connection import Connection
from tests.live.logs import FOLDERS, empty, logs_of, run_on_empty, set_gtid_mode, shop_of
from tests.slices.sql.sql_of import everything, sql_of

NOT_WRITTEN = {("mariadb", "standalone")}
NOT_WRITTEN |= {("mysql", "if_not_exists"), ("mariadb", "if_not_exists"), ("mysql", "reordered")}
NOT_WRITTEN |= {("mariadb", "times_with_fractions")}
"""System versioning, which SQL cannot carry; tables whose columns nothing tells; tables
that SHOW CREATE TABLE shows with the format of their times."""

TEMPORARY = {("mariadb", "replay"), ("mariadb", "temporary_tables")}
"""Where the format is ROW, as it is where SQL is run, MariaDB does not log temporary tables."""

SMALL = [
    (flavour, path.stem)
    for flavour, folder in FOLDERS.items()
    for path in sorted((folder / "small").glob("*.binlog"))
    if (flavour, path.stem) not in NOT_WRITTEN
]


def test_the_shop_has_the_same_checksums_and_gtids(server: Server) -> None:
    logs = shop_of(server)
    expected = json.loads((logs[0].parent / "expected" / "tables.json").read_text())
    run_on_empty(server, sql_of(*logs))
    found = rows_document(server)
    assert found["tables"].keys() == expected["tables"].keys()
    for name, table in expected["tables"].items():
        assert found["tables"][name]["create"] == table["create"]
        assert found["tables"][name]["checksum"] == table["checksum"], name
    assert found["gtid_executed"] == expected["gtid_executed"]


def without_spelling(table: dict[str, Any]) -> list[list[Any]]:
    """The rows, JSON documents as values: their text does not tell 99.0 from a DECIMAL with more zeros."""
    json_columns = [place for place, column in enumerate(table["columns"]) if column["type"] == "json"]
    rows = [list(row) for row in table["rows"]]
    for row in rows:
        for place in json_columns:
            row[place] = None if row[place] is None else json.loads(row[place])
    return rows


@pytest.mark.parametrize(("server", "name"), SMALL, indirect=["server"])
def test_a_small_log_has_the_same_rows_and_gtids(server: Server, name: str, tmp_path: Path) -> None:
    folder = FOLDERS[server.client] / "small"
    expected = json.loads((folder / f"{name}.expected.json").read_text())
    sections = split_sections((folder / f"{name}.sql").read_text())
    empty(server)
    server.script(sections["before"])
    try:
        server.script(sql_of(folder / f"{name}.binlog", local_load=tmp_path))
        found = rows_document(server)
    finally:
        server.script(sections["after"])
    assert found["tables"].keys() == expected["tables"].keys()
    for table, facts in expected["tables"].items():
        assert found["tables"][table]["create"] == facts["create"]
        assert without_spelling(found["tables"][table]) == without_spelling(facts), table
    if expected["gtid_executed"] and (server.client, name) not in TEMPORARY:
        assert found["gtid_executed"] == expected["gtid_executed"]


KEYLESS = """
CREATE DATABASE small; USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
CREATE TABLE k (t VARCHAR(20), c CHAR(5), l TEXT CHARACTER SET latin1, b VARBINARY(9), f FLOAT, d DOUBLE,
n DECIMAL(20,5), e ENUM('a', 'b'), s SET('x', 'y'), i BIT(9), y YEAR, z TIME(3), dt DATETIME(6),
ts TIMESTAMP(2) NULL, j JSON, g GEOMETRY /*!90000 , v VECTOR(2)*/);
INSERT INTO k (t, c, l, b, f, d, n, e, s, i, y, z, dt, ts, j, g /*!90000 , v*/) VALUES
('abc', 'x', 'é', x'00ff', 0.1, 0.1, 0.1, 'a', 'x,y', 511, 2020, '-01:00:00.5', '2026-01-01 00:00:00.000001',
'2026-01-01 00:00:00.25', '{"a": [1, "x"]}', ST_GeomFromText('POINT(1 2)')
/*!90000 , STRING_TO_VECTOR('[1.5, -2]')*/),
('ABC', 'X', 'E', x'00FE', 0.2, 0.2, 0.2, 'b', '', 1, 1999, '838:59:59', '0000-00-00', '0000-00-00', '[]',
ST_GeomFromText('LINESTRING(0 0, 1 1)') /*!90000 , STRING_TO_VECTOR('[1.5, -2]')*/),
('abc ', 'x', 'e', x'', 0.1, 0.1, 0.1, 'a', 'x', 0, 0, '0', '2026-00-01', NULL, 'null', NULL
/*!90000 , NULL*/);
INSERT INTO k (t) VALUES ('lonely'), ('lonely'), ('back\\\\slash'), ('line\\nbreak'), (NULL), ('wrong');
UPDATE k SET e = 'no member' WHERE t = 'wrong';
INSERT INTO k SELECT * FROM k;
UPDATE k SET d = d + 1 WHERE BINARY t = 'abc' LIMIT 1;
UPDATE k SET d = d + 10 WHERE BINARY t = 'ABC' LIMIT 1;
UPDATE k SET d = d + 100 WHERE BINARY t = 'abc ' LIMIT 1;
UPDATE k SET n = 5 WHERE t = 'lonely' LIMIT 3;
DELETE FROM k WHERE BINARY t = 'ABC' LIMIT 1; DELETE FROM k WHERE t = 'line\\nbreak' LIMIT 1;
DELETE FROM k WHERE t IS NULL LIMIT 1; DELETE FROM k WHERE BINARY t = 'back\\\\slash' LIMIT 1;
DELETE FROM k WHERE t = 'wrong' LIMIT 1;
"""
TWICE = """
CREATE DATABASE small; USE small;
CREATE TABLE t (a VARCHAR(9) CHARACTER SET big5, b VARCHAR(9) CHARACTER SET cp932, c INT,
d VARCHAR(9) CHARACTER SET sjis, e VARCHAR(9) CHARACTER SET armscii8);
INSERT INTO t VALUES (x'a2cc', x'8790', 1, x'5c', x'27'), (x'a451', x'81e0', 2, x'815f', x'ff'),
(x'a15a', x'ed40', 3, x'5c815f', x'a928ab'), ('x', 'y', 4, 'z', 'z');
UPDATE t SET c = c + 10; DELETE FROM t WHERE c = 12;
"""
"""Characters that their sets have twice, or that the servers have not, in a table without a key."""


ALIKE = """
CREATE DATABASE small; USE small; SET SESSION sql_mode = '';
CREATE TABLE t (id INT, e ENUM('', 'a', 'b') CHARACTER SET latin1, s SET('x', '', 'y'));
INSERT INTO t VALUES (1, 0, 0), (2, 1, 2), (3, 2, 3), (4, 3, 4), (5, '', 7), (6, NULL, NULL);
UPDATE t SET e = 0 WHERE id = 5; UPDATE t SET s = 2 WHERE id = 4;
"""
"""Members without text, as which an ENUM's error value and a SET of none print too."""


CHECKS_OFF = """
CREATE DATABASE small; USE small;
CREATE TABLE parent (id INT PRIMARY KEY);
CREATE TABLE child (id INT PRIMARY KEY, parent INT,
FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE);
SET foreign_key_checks = 0;
INSERT INTO child VALUES (1, 1), (2, 2);
INSERT INTO parent VALUES (1), (2);
DELETE FROM parent WHERE id = 1;
SET foreign_key_checks = 1;
DELETE FROM parent WHERE id = 2;
"""


ORACLE = """
CREATE DATABASE small; USE small; SET SESSION /*M! sql_mode = ORACLE, */ binlog_format = STATEMENT;
CREATE TABLE t (id INT PRIMARY KEY, a TEXT); INSERT INTO t VALUES (1, 'one'); UPDATE t SET a = 'first';
SET SESSION binlog_format = ROW; INSERT INTO t VALUES (2, 'two'); INSERT INTO t VALUES (3, 'three');
"""


BYTES = (
    b"CREATE DATABASE small; USE small; SET binlog_format = STATEMENT;\n\\C gbk\n"
    b"CREATE TABLE t (id INT, b BLOB, t TEXT CHARACTER SET gbk);\n"
    b"INSERT INTO t VALUES (1, _binary'a\xff;b', '\xb0\x5c'), (2, '', ';');\n\\C latin1\n"
    b"INSERT INTO t VALUES (3, '', 'caf\xe9');\n"
)


COMPRESSED = {
    "mysql": ("SET SESSION binlog_transaction_compression = ON;", ""),
    "mariadb": (
        "SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 10;",
        "SET GLOBAL log_bin_compress = OFF, GLOBAL log_bin_compress_min_len = DEFAULT;",
    ),
}
LIKE = """
CREATE DATABASE small; USE small;
CREATE TABLE model (id INT PRIMARY KEY, n INT, at DATETIME(3) ON UPDATE CURRENT_TIMESTAMP(3));
CREATE TABLE t LIKE model; INSERT INTO t VALUES (1, 0, '2020-01-01'), (2, 0, NULL);
UPDATE t SET n = 1, at = at;
"""
CASES: dict[str, tuple[str | bytes, str, int]] = {
    "times that follow the clock, of a table made like another": (LIKE, "SELECT * FROM small.t", 2),
    "rows without a key": (KEYLESS, "SELECT HEX(t), d FROM small.k ORDER BY 1, 2", 13),
    "bytes that no text in UTF-8 stands for": (
        TWICE,
        "SELECT HEX(a), HEX(b), c, HEX(d), HEX(e) FROM small.t ORDER BY c",
        3,
    ),
    "members whose texts are alike": (ALIKE, "SELECT id, e + 0, s + 0 FROM small.t ORDER BY id", 6),
    "no foreign key checks": (CHECKS_OFF, "SELECT * FROM small.child", 1),
    "MariaDB's Oracle mode, where BEGIN begins a block": (ORACLE, "SELECT * FROM small.t ORDER BY id", 3),
    "statements of mixed character sets": (BYTES, "SELECT id, HEX(b), HEX(t) FROM small.t ORDER BY id", 3),
}
"""What the client runs, and a query with so many rows that is answered alike then."""


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_sql_leads_to_what_its_log_had(server: Server, case: str, compressed: bool) -> None:
    statements, query, count = CASES[case]
    script = statements.encode() if isinstance(statements, str) else statements
    begin, end = (part.encode() for part in COMPRESSED[server.client]) if compressed else (b"", b"")
    empty(server)
    server.script(begin + script + end)
    server.flush_logs()
    expected, tables = server.query(query), rows_document(server)
    assert len(expected) == count
    run_on_empty(server, sql_of(server.binlogs()[0]))
    assert (server.query(query), rows_document(server)) == (expected, tables)


LOADED = r"""
CREATE DATABASE small; USE small; SET SESSION binlog_format = STATEMENT, sql_mode = '';
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a TEXT CHARACTER SET latin1, b VARCHAR(9), n INT);
CREATE TABLE m (id INT PRIMARY KEY, a TEXT) ENGINE = MyISAM;
LOAD DATA LOCAL INFILE 'rows;it''s' INTO TABLE t CHARACTER SET latin1 FIELDS TERMINATED BY ',' (a, b, @n)
SET n = @n + 1;
BEGIN;
INSERT INTO t VALUES (9000, 'before', 'x', 0);
LOAD DATA LOCAL INFILE 'rows;it''s' REPLACE INTO TABLE t CHARACTER SET latin1 FIELDS TERMINATED BY ','
OPTIONALLY ENCLOSED BY '\'' (id, a, b);
LOAD DATA LOCAL INFILE 'rows;it''s' IGNORE INTO TABLE t CHARACTER SET latin1 FIELDS TERMINATED BY ','
(id, b, a);
UPDATE t SET n = 9 WHERE id < 3;
COMMIT;
SET SESSION sql_mode = 'ANSI_QUOTES';
LOAD DATA LOCAL INFILE 'rows;it''s' INTO TABLE "m" CHARACTER SET latin1 FIELDS TERMINATED BY ',' ESCAPED BY ''
("id", "a");
"""
ROWS = b"".join(b"%d,caf\xe9 %d;--,'7'\r\n" % (number, number) for number in range(1, 401))
"""A file in latin1."""


def test_files_that_statements_load_make_the_same_tables(server: Server, tmp_path: Path) -> None:
    (tmp_path / "rows;it's").write_bytes(ROWS)
    empty(server)
    server.script(LOADED, folder=tmp_path)
    server.flush_logs()
    expected = rows_document(server)
    assert len(expected["tables"]["small.t"]["rows"]) == 401
    assert len(expected["tables"]["small.m"]["rows"]) == 400
    run_on_empty(server, sql_of(server.binlogs()[0], local_load=tmp_path / "files of 'loads'"))
    found = rows_document(server)
    assert found["gtid_executed"] == expected["gtid_executed"]
    for name, table in expected["tables"].items():
        assert found["tables"][name]["rows"] == table["rows"], name


def test_a_load_whose_logged_text_its_own_session_reads_otherwise_is_refused(
    server: Server, tmp_path: Path
) -> None:
    """Servers escape the separators with backslashes whatever the session's mode."""
    (tmp_path / "rows").write_bytes(b"1\n2\n")
    empty(server)
    statements = "CREATE DATABASE small; CREATE TABLE small.t (a INT); SET SESSION binlog_format = STATEMENT,"
    statements += " sql_mode = 'NO_BACKSLASH_ESCAPES'; LOAD DATA LOCAL INFILE 'rows' INTO TABLE small.t;"
    server.script(statements, folder=tmp_path)
    server.flush_logs()
    assert len(server.query("SELECT * FROM small.t")) == 2
    with pytest.raises(RefusedError, match="NO_BACKSLASH_ESCAPES"):
        sql_of(server.binlogs()[0], local_load=tmp_path / "files")
    text = server.mysqlbinlog(f"--local-load={tmp_path}", server.binlogs()[0])
    with pytest.raises(ServerError, match="Field separator argument is not what is expected"):
        run_on_empty(server, text)


TAKEN = """
CREATE DATABASE small; SET SESSION binlog_row_image = MINIMAL;
CREATE SEQUENCE small.s START 5 CACHE 3 MAXVALUE 9 CYCLE;
CREATE SEQUENCE small.`down` START -5 INCREMENT -2 CACHE 3;
CREATE TABLE small.t (a INT DEFAULT NEXTVAL(small.s), b INT DEFAULT NEXTVAL(small.`down`));
INSERT INTO small.t VALUES (), (), (), (), (), (), (), ();
"""


def test_sequences_of_partial_images_go_on_where_they_were(mariadb: Server) -> None:
    empty(mariadb)
    mariadb.script(TAKEN)
    mariadb.flush_logs()
    expected = [mariadb.query(f"SELECT * FROM small.{name}") for name in ("s", "down", "t")]
    run_on_empty(mariadb, sql_of(mariadb.binlogs()[0]))
    assert [mariadb.query(f"SELECT * FROM small.{name}") for name in ("s", "down", "t")] == expected


DEFINITIONS = b"""
CREATE DATABASE small; USE small;
CREATE TABLE gone (a INT); DROP TABLE gone, nosuch;
CREATE TABLE replaced (a INT); SET SESSION binlog_format = STATEMENT;
CREATE OR REPLACE TABLE replaced (a INT PRIMARY KEY) SELECT 1 AS a UNION ALL SELECT 1;
CREATE TABLE kept (a INT); CREATE TEMPORARY TABLE kept (b INT); DROP TABLE kept;
CREATE TABLE versioned (a INT) WITH SYSTEM VERSIONING;
SET SESSION system_versioning_alter_history = KEEP; ALTER TABLE versioned ADD b INT;
SET STATEMENT sql_mode = 'REAL_AS_FLOAT' FOR CREATE TABLE real_numbers (a REAL);
"""
COLUMNS = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'small'"
    " ORDER BY 1, 2"
)


def test_definitions_lead_to_the_same_tables_where_statements_failed_or_the_log_lacks_a_variable(
    mariadb: Server,
) -> None:
    empty(mariadb)
    assert len(mariadb.attempt(DEFINITIONS)) == 2
    mariadb.flush_logs()
    expected = [("kept", "a", "int")]
    expected += [("real_numbers", "a", "double"), ("versioned", "a", "int"), ("versioned", "b", "int")]
    assert mariadb.query(COLUMNS) == expected
    run_on_empty(mariadb, sql_of(mariadb.binlogs()[0]))
    assert mariadb.query(COLUMNS) == expected


DOCUMENTS = r"""
CREATE DATABASE small; USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
CREATE TABLE keyed (id INT PRIMARY KEY, j JSON); CREATE TABLE keyless (j JSON, n INT);
CREATE TABLE sources (b BLOB, i BIT(9), g POINT, ts TIMESTAMP(6), d DATE);
INSERT INTO sources VALUES (x'00ff', 5, POINT(1, 2), '2026-02-28 01:02:03.25', '2026-00-00');
INSERT INTO keyed VALUES
(1, JSON_ARRAY(1.50, -0.0050, CAST(0 AS DECIMAL(3,0)), CAST(123456789012345678901.678 AS DECIMAL(65,10)))),
(2, JSON_OBJECT('d', CAST('2024-02-29' AS DATE), 'it''s', CAST('2024-12-31 23:59:59.000001' AS DATETIME(6)))),
(3, JSON_ARRAY(CAST('-838:59:59' AS TIME), CAST('00:00:00.5' AS TIME(1)), CAST(x'00ff27' AS BINARY), x'')),
(4, JSON_OBJECT('ключ', JSON_ARRAY(1.5, 'é\\n"''', NULL, TRUE, FALSE, JSON_OBJECT(), JSON_ARRAY()), 'n', 2)),
(5, JSON_ARRAY(1.0, 1e0, 0.1e0, -0e0, CAST(5 AS UNSIGNED), 18446744073709551615, -9223372036854775808, 99)),
(6, CAST(CAST(2.50 AS DECIMAL(5,2)) AS JSON)), (7, CAST(CAST('2024-02-29' AS DATE) AS JSON)),
(8, (SELECT JSON_ARRAY(ts, 1.5) FROM sources)), (9, JSON_ARRAY(1.5, REPEAT('x', 70000), REPEAT('é', 99))),
(10, '[1, "plain"]');
INSERT INTO keyless SELECT j, id FROM keyed;
UPDATE keyless SET n = n + 100 WHERE n < 5; DELETE FROM keyless WHERE n > 8;
UPDATE keyless SET j = JSON_SET(j, '$[0]', 2.5); UPDATE keyed SET j = JSON_ARRAY(j, 0.10) WHERE id < 9;
"""


def test_values_in_documents_keep_their_types(mysql: MySQLServer) -> None:
    """The log of the server that ran the SQL has the very documents, by what it says of their types."""

    def documents(text: bytes) -> list[bytes]:
        return [line for line in text.splitlines() if b"JSON_" in line or b"AS JSON" in line]

    [log] = logs_of(mysql, DOCUMENTS)
    shown = [
        f"SELECT j, JSON_TYPE(j), JSON_TYPE(j->'$[0]') FROM small.{name} ORDER BY CAST(j AS CHAR)"
        for name in ("keyed", "keyless")
    ]
    expected = [mysql.query(query) for query in shown]
    text = sql_of(log)
    assert b"base64:" not in text
    run_on_empty(mysql, text)
    assert [mysql.query(query) for query in shown] == expected
    mysql.flush_logs()
    again = documents(sql_of(mysql.binlogs()[0]))
    assert len(again) > 4
    assert again == documents(text)


def test_tables_with_rows_follow_transactions_with_gtids_without_one(mysql: MySQLServer) -> None:
    """CREATE TABLE … SELECT, which SQL cannot write as one transaction, after the server gave up GTIDs."""
    empty(mysql)
    mysql.sql(
        "CREATE DATABASE small; CREATE TABLE small.a (id INT PRIMARY KEY); INSERT INTO small.a VALUES (1)"
    )
    try:
        set_gtid_mode(mysql, "OFF_PERMISSIVE")
        mysql.sql("CREATE TABLE small.b AS SELECT id + 1 AS id FROM small.a; INSERT INTO small.b VALUES (9)")
        mysql.flush_logs()
        text = sql_of(*mysql.binlogs()[:-1])
        assert b"SET @@session.sql_log_bin=0;" in text
        set_gtid_mode(mysql, "ON_PERMISSIVE")
        run_on_empty(mysql, text)
        assert mysql.query("SELECT id FROM small.b ORDER BY id") == [("2",), ("9",)]
    finally:
        set_gtid_mode(mysql, "ON")


PARTS = r"""
CREATE DATABASE small; USE small; CREATE TABLE t (id INT PRIMARY KEY, j JSON, n INT);
INSERT INTO t SELECT id, JSON_OBJECT('pad', REPEAT('x', 300), 'kept', CAST(x'00ff27' AS BINARY), 'gone', 1,
'price', CAST(19.90 AS DECIMAL(10,2)), 'list', JSON_ARRAY(CAST('2024-02-29' AS DATE), 1.5e0, 5)), 0
FROM JSON_TABLE('[1, 2, 3, 4]', '$[*]' COLUMNS (id INT PATH '$')) AS numbers;
INSERT INTO t VALUES (5, JSON_OBJECT('pad', REPEAT('x', 300), 'price', 1, 'list', JSON_ARRAY(1)), 0);
SET SESSION binlog_row_value_options = PARTIAL_JSON, binlog_row_image = '%s';
UPDATE t SET n = 1 WHERE id = 1;
UPDATE t SET j = JSON_SET(j, '$.price', CAST(7.50 AS DECIMAL(10,2)), '$.new', CAST('10:00:00.5' AS TIME(1)));
UPDATE t SET j = JSON_REPLACE(JSON_REMOVE(j, '$.gone'), '$.list[0]', CAST('2024-12-31' AS DATE)) WHERE id = 2;
UPDATE t SET j = JSON_SET(j, '$."it''s é"', JSON_ARRAY('\n"\'', CAST(x'27220a' AS BINARY), 0.1)) WHERE id = 3;
UPDATE t SET j = JSON_ARRAY_INSERT(j, '$.list[0]', JSON_OBJECT('d', CAST(0.1 AS DECIMAL(3,2)))) WHERE id = 5;
"""


@pytest.mark.parametrize("image", ["FULL", "MINIMAL", "NOBLOB"])
def test_values_in_documents_that_were_logged_in_part_keep_their_types(
    mysql: MySQLServer, image: str
) -> None:
    """The differences are applied to the logged document, or by functions to that of the table."""
    members = ("kept", "price", "new", "list[0]", "list[0].d", "list[1]", "\"it''s é\"[1]")
    types = ", ".join(f"JSON_TYPE(j->'$.{member}')" for member in members)
    query = f"SELECT id, n, CAST(j AS CHAR), {types} FROM small.t ORDER BY id"
    [log] = logs_of(mysql, PARTS % image)
    assert mysql.mysqlbinlog("-v", log).count(b"JSON_") > 8
    expected = mysql.query(query)
    assert {"BLOB", "DECIMAL", "TIME", "DATE", "DOUBLE"} <= {one for row in expected for one in row[3:]}
    run_on_empty(mysql, sql_of(log))
    assert mysql.query(query) == expected


def test_values_in_documents_that_columns_alone_give_are_reported(mysql: MySQLServer) -> None:
    others = "INSERT INTO small.others SELECT JSON_ARRAY(b, i, d, 1.5) FROM small.sources"
    [log] = logs_of(mysql, f"{DOCUMENTS} CREATE TABLE small.others (j JSON); {others}")
    output = io.BytesIO()
    report = write_sql(everything([log]), output, Catalog())
    assert [warning.split(" have ")[0] for warning in report.warnings] == ["JSON documents of small.others"]
    assert b"JSON_ARRAY('base64:type252:AP8=', 'base64:type16:AAU=', '2026-00-00', 1.5)" in output.getvalue()


@pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES", "ANSI_QUOTES,PIPES_AS_CONCAT"])
def test_a_server_reads_each_text_literal_alike_in_every_mode(mode: str, server: Server) -> None:
    texts = [chr(code) for code in range(256)] + [
        "it's",
        "a\\'b",
        "\\",
        "''",
        "🍀é",
        "-- no",
        "/* no",
        "x;\ny",
        "%_",
    ]
    wanted = ", ".join(f"HEX({text_literal(text)})" for text in texts)
    answer = server.sql(f"SET NAMES utf8mb4; SET SESSION sql_mode = '{mode}'; SELECT {wanted}")
    assert answer.rstrip("\n").split("\t") == [text.encode().hex().upper() for text in texts]


def test_temporary_tables_of_several_connections_stay_apart(server: Server) -> None:
    empty(server)
    server.sql("CREATE DATABASE small; USE small; CREATE TABLE t (id INT, w TEXT); CREATE TABLE seen (c INT)")
    with Connection(server) as a, Connection(server) as b, Connection(server) as c:
        for connection, mode in ((a, "STATEMENT"), (b, "STATEMENT"), (c, "ROW")):
            connection.run(f"USE small; SET binlog_format = {mode}")
        a.run("CREATE TEMPORARY TABLE t (id INT, w TEXT); INSERT INTO t VALUES (1, 'of a')")
        b.run("INSERT INTO t VALUES (2, 'base')")
        c.run("INSERT INTO t VALUES (3, 'base, as rows')")
        b.run("CREATE TEMPORARY TABLE t (id INT, w TEXT); INSERT INTO t VALUES (4, 'of b')")
        a.run("INSERT INTO seen SELECT id FROM t; INSERT INTO seen VALUES (CONNECTION_ID())")
        b.run("INSERT INTO seen SELECT id FROM t; INSERT INTO seen VALUES (CONNECTION_ID())")
        b.run("DROP TEMPORARY TABLE t; INSERT INTO t VALUES (5, 'base again')")
    server.flush_logs()
    expected = rows_document(server)
    assert len(expected["tables"]["small.t"]["rows"]) == 3
    run_on_empty(server, sql_of(server.binlogs()[0]))
    assert rows_document(server)["tables"] == expected["tables"]
