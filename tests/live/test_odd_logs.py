"""Logs with what is rare in them, counted by binx and by the servers' own readers."""

from __future__ import annotations

import json
import re
import struct
from collections import Counter
from pathlib import Path
from typing import Any

from binx.event.format import Flavour
from binx.log.chain.ends import read_ends
from binx.log.file import BinlogFile
from binx.stats.gather import gather
from binx.stats.lines import COLUMNS, LineWriter
from binx.stats.listing import Listing
from testdata.servers import MySQLServer, Server
from tests.stats.mysqlbinlog import count_listing, count_with_binx, print_log

BOTH = """
CREATE DATABASE odd; USE odd;
CREATE TABLE t (id INT PRIMARY KEY, a VARCHAR(50), b TEXT) ENGINE=InnoDB;
CREATE TABLE m (id INT, x INT) ENGINE=MyISAM;
CREATE TABLE p (id INT, y INT, PRIMARY KEY (id, y)) PARTITION BY HASH (y) PARTITIONS 4;
CREATE TABLE `we"ird` (`a``b` INT PRIMARY KEY, `c d` INT);
BEGIN; INSERT INTO t VALUES (1, 'a', 'b'); SAVEPOINT s; INSERT INTO t VALUES (2, 'a', 'b');
ROLLBACK TO s; INSERT INTO p VALUES (1, 1), (2, 2), (3, 3), (4, 5); COMMIT;
BEGIN; INSERT INTO t VALUES (3, 'a', 'b'); SAVEPOINT s; INSERT INTO m VALUES (2, 2);
INSERT INTO t VALUES (4, 'a', 'b'); ROLLBACK TO s; RELEASE SAVEPOINT s; COMMIT;
BEGIN; INSERT INTO t VALUES (5, 'a', 'b'); INSERT INTO m VALUES (3, 3); ROLLBACK;
BEGIN; INSERT INTO m VALUES (4, 4); COMMIT;
INSERT INTO m VALUES (5, 5), (6, 6); UPDATE m SET x = x + 1; DELETE FROM m WHERE id = 5;
XA START 'x1'; INSERT INTO t VALUES (10, 'x', 'y'); XA END 'x1'; XA PREPARE 'x1'; XA COMMIT 'x1';
XA START 'x2'; INSERT INTO t VALUES (11, 'x', 'y'); XA END 'x2'; XA PREPARE 'x2'; XA ROLLBACK 'x2';
XA START 'x3'; INSERT INTO t VALUES (12, 'x', 'y'); XA END 'x3'; XA COMMIT 'x3' ONE PHASE;
XA START 'x4'; SELECT * FROM t; XA END 'x4'; XA PREPARE 'x4'; XA COMMIT 'x4';
SET SESSION binlog_row_image = MINIMAL;
UPDATE t SET a = 'z' WHERE id = 1; DELETE FROM t WHERE id = 12; INSERT INTO t (id) VALUES (20);
UPDATE p SET y = 9 WHERE id = 1;
SET SESSION binlog_row_image = NOBLOB; UPDATE t SET a = 'q';
INSERT INTO t VALUES (21, 'a', REPEAT('b', 9000));
SET SESSION binlog_row_image = FULL; REPLACE INTO t VALUES (21, 'r', 's'), (22, 'r', 's');
INSERT INTO t VALUES (22, 'n', 'n') ON DUPLICATE KEY UPDATE a = 'dup';
INSERT INTO `we"ird` VALUES (1, 2); UPDATE `we"ird` SET `c d` = 3;
CREATE TEMPORARY TABLE tmp (i INT); INSERT INTO tmp VALUES (100), (101);
INSERT INTO t SELECT i, 'tmp', 'tmp' FROM tmp; ALTER TABLE tmp ADD j INT; DROP TEMPORARY TABLE tmp;
BEGIN; CREATE TEMPORARY TABLE tmp2 (i INT); INSERT INTO t VALUES (30, 'a', 'a');
DROP TEMPORARY TABLE tmp2; COMMIT;
CREATE TABLE c AS SELECT * FROM t; CREATE TABLE l LIKE t; INSERT INTO l SELECT * FROM t;
ALTER TABLE c ADD d INT DEFAULT 7, ADD INDEX (a); RENAME TABLE l TO k; TRUNCATE c; CREATE INDEX i ON k (a);
CREATE VIEW v AS SELECT * FROM t; CREATE PROCEDURE pr() INSERT INTO k VALUES (900, 'p', 'p'); CALL pr();
CREATE TRIGGER tr AFTER INSERT ON t FOR EACH ROW INSERT INTO m VALUES (NEW.id, 1);
INSERT INTO t VALUES (40, 'a', 'a'), (41, 'a', 'a'); DROP TRIGGER tr;
CREATE USER odd_user; GRANT SELECT ON odd.* TO odd_user; DROP USER odd_user;
ANALYZE TABLE t; OPTIMIZE TABLE m; FLUSH TABLES; ALTER TABLE p TRUNCATE PARTITION p0;
ALTER TABLE p COALESCE PARTITION 1; DROP TABLE IF EXISTS nothing, c; DROP VIEW v; DROP PROCEDURE pr;
DELETE FROM k; DELETE FROM k; UPDATE t SET a = a;
SET SESSION binlog_format = STATEMENT;
SET @u = 'user'; INSERT INTO t VALUES (50, @u, RAND()); UPDATE t SET b = 'st' WHERE id = 50;
BEGIN; INSERT INTO t VALUES (51, 'st', 'st'); SAVEPOINT s; INSERT INTO t VALUES (52, 'st', 'st');
ROLLBACK TO s; UPDATE m SET x = 0; COMMIT;
CREATE TEMPORARY TABLE st (i INT); INSERT INTO st VALUES (60); INSERT INTO m SELECT i, i FROM st;
DROP TEMPORARY TABLE st;
LOAD DATA LOCAL INFILE 'rows.csv' INTO TABLE t FIELDS TERMINATED BY ',';
XA START 'x5'; INSERT INTO t VALUES (53, 'x', 'y'); XA END 'x5'; XA PREPARE 'x5'; XA COMMIT 'x5';
SET SESSION binlog_format = MIXED; INSERT INTO t VALUES (70, UUID(), 'm');
INSERT INTO t VALUES (71, 'm', 'm');
BEGIN; INSERT INTO t VALUES (72, 'm', 'm'); INSERT INTO t VALUES (73, UUID(), 'm'); COMMIT;
SET SESSION binlog_format = ROW; LOAD DATA LOCAL INFILE 'more.csv' INTO TABLE k FIELDS TERMINATED BY ',';
CREATE EVENT ev ON SCHEDULE EVERY 1 YEAR DO DELETE FROM t; DROP EVENT ev;
LOCK TABLES t WRITE; INSERT INTO t VALUES (80, 'l', 'l'); UNLOCK TABLES;
DROP TABLE k, m;
"""
MYSQL = """
USE odd; SET SESSION binlog_rows_query_log_events = ON; SET SESSION binlog_transaction_compression = ON;
INSERT INTO t VALUES (200, REPEAT('z', 40), REPEAT('y', 9000)), (201, 'a', 'b');
BEGIN; UPDATE t SET a = 'cc'; SAVEPOINT s; DELETE FROM t WHERE id = 1; ROLLBACK TO s; DELETE FROM p; COMMIT;
XA START 'c'; DELETE FROM t WHERE id = 200; XA END 'c'; XA PREPARE 'c'; XA COMMIT 'c';
CREATE TABLE j (id INT PRIMARY KEY, d JSON); INSERT INTO j VALUES (1, '{"a": 1, "b": [1, 2]}');
SET SESSION binlog_row_value_options = PARTIAL_JSON; UPDATE j SET d = JSON_SET(d, '$.a', 2);
SET SESSION binlog_transaction_compression = OFF; UPDATE j SET d = JSON_SET(d, '$.a', 3);
CREATE TABLE cs SELECT * FROM t; CREATE TABLE ab (i INT PRIMARY KEY) START TRANSACTION; COMMIT;
CREATE TABLE parent (id INT PRIMARY KEY); CREATE TABLE child (id INT PRIMARY KEY, p INT,
FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE);
INSERT INTO parent VALUES (1), (2); INSERT INTO child VALUES (1, 1), (2, 1), (3, 2);
DELETE FROM parent WHERE id = 1;
SET GTID_NEXT = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:tagged:5'; BEGIN; COMMIT; SET GTID_NEXT = AUTOMATIC;
SET GTID_NEXT = 'aaaaaaaa-aaaa-aaaa-aaaa-aaaaaaaaaaaa:7'; INSERT INTO parent VALUES (9);
SET GTID_NEXT = AUTOMATIC;
"""
MARIADB = """
USE odd; SET GLOBAL log_bin_compress = ON; SET GLOBAL log_bin_compress_min_len = 10;
INSERT INTO t VALUES (200, REPEAT('z', 40), REPEAT('y', 9000)), (201, 'a', 'b'); UPDATE t SET a = 'cc';
SET SESSION binlog_format = STATEMENT; UPDATE t SET b = REPEAT('long statement ', 40);
SET SESSION binlog_format = ROW;
SET GLOBAL log_bin_compress = OFF;
CREATE SEQUENCE sq; SELECT NEXT VALUE FOR sq; INSERT INTO t VALUES (NEXT VALUE FOR sq + 1000, 's', 's');
CREATE OR REPLACE TABLE r (i INT); CREATE OR REPLACE TABLE r AS SELECT id FROM t;
CREATE TABLE sv (i INT PRIMARY KEY, x INT) WITH SYSTEM VERSIONING; INSERT INTO sv VALUES (1, 1);
UPDATE sv SET x = 2;
DELETE FROM sv; SET gtid_domain_id = 7; INSERT INTO r VALUES (7); SET gtid_domain_id = 0;
SET SESSION skip_replication = 1; INSERT INTO r VALUES (8); SET SESSION skip_replication = 0;
DELETE t, r FROM t JOIN r ON t.id = r.i; INSERT DELAYED INTO r VALUES (9);
"""

_HEADER = struct.Struct("<IBII")
_TABLE_MAP = 19
_ROWS = {23, 24, 25, 30, 31, 32, 39}


def bytes_by_table(path: Path) -> dict[str, int]:
    """The bytes of rows events of each table, by the headers alone."""
    data, place = path.read_bytes(), 4
    sizes: Counter[str] = Counter()
    names: dict[bytes, str] = {}
    while place < len(data):
        _, kind, _, size = _HEADER.unpack_from(data, place)
        body = data[place + 19 : place + size]
        if kind == _TABLE_MAP:
            db = body[9 : 9 + body[8]]
            rest = body[10 + len(db) :]
            names[body[:6]] = f"{db.decode()}.{rest[1 : 1 + rest[0]].decode()}"
        elif kind in _ROWS:
            sizes[names[body[:6]]] += size
        place += size
    return dict(sizes)


def threads_of(text: bytes) -> Counter[int]:
    """Transactions by the connection that their first statement names."""
    found: Counter[int] = Counter()
    for transaction in re.split(rb"\t(?:Anonymous_)?G[Tt][Ii][Dd](?: |\t)", text)[1:]:
        thread = re.search(rb"thread_id=(\d+)", transaction)
        found[int(thread[1]) if thread else -1] += 1
    return found


def listed(file: BinlogFile) -> list[dict[str, Any]]:
    listing = Listing([read_ends(file)], LineWriter(COLUMNS, as_json=True))
    return [json.loads(line) for text in listing for line in text.splitlines()]


def test_odd_logs_hold_what_the_servers_reader_prints(server: Server, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("300,a,b\n301,c,d\n")
    (tmp_path / "more.csv").write_text("310,a,b\n311,c,d\n")
    server.sql("SET GLOBAL local_infile = ON")
    server.flush_logs()
    before = len(server.binlogs())
    own = MYSQL if isinstance(server, MySQLServer) else MARIADB
    for part in (BOTH, own):
        # What a server does not know or allow is left out.
        server.attempt(part.encode(), tmp_path)
        server.flush_logs()
    reader = server.programs.command(server.binlog_reader)
    for path in server.binlogs()[before - 1 : -1]:
        text, complaints = print_log(reader, path, tmp_path)
        assert complaints == ""
        theirs, ours = count_listing(text), count_with_binx(path)
        assert (ours.transactions, ours.events, ours.rows) == (
            theirs.transactions,
            theirs.events,
            theirs.rows,
        )
        with BinlogFile.open(str(path)) as file:
            figures, rows = gather([file]), listed(file)
            flavour = file.format.flavour
        sums: Counter[tuple[str, str]] = Counter()
        for one in rows:
            for change in one["tables"]:
                for name in ("inserts", "updates", "deletes"):
                    sums[f"{change['db']}.{change['table']}", name] += change[name]
        names = ("inserts", "updates", "deletes")
        assert +sums == +Counter(
            {
                (table, name): count
                for table, counts in ours.rows.items()
                for name, count in zip(names, counts, strict=True)
            }
        )
        # Where something is compressed, bytes are those before.
        if not {name for name in ours.events if "PAYLOAD" in name or "COMPRESSED" in name}:
            sizes = {f"{one['db']}.{one['table']}": one["bytes"] for one in figures["tables"]}
            assert {name: size for name, size in sizes.items() if size} == bytes_by_table(path)
        threads = Counter(-1 if one["thread_id"] is None else one["thread_id"] for one in rows)
        if flavour is Flavour.MYSQL:
            assert threads == threads_of(text)
        assert sum(one["bytes"] for one in figures["kinds"]) == sum(one["bytes"] for one in rows)
    server.sql("DROP DATABASE odd")
