Invisible, generated and functional-key columns, the server's own primary key, default expressions.

-- before
SET GLOBAL binlog_row_metadata = FULL;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, hidden INT INVISIBLE DEFAULT 9, twice INT AS (id * 2) STORED,
thrice INT AS (id * 3) VIRTUAL, made VARCHAR(40) DEFAULT (CONCAT('id ', 1 + 1)), doc JSON,
INDEX ((id + 1)), INDEX many ((CAST(doc->'$.n' AS UNSIGNED ARRAY))));
INSERT INTO t (id, doc) VALUES (1, '{"n": [1, 2, 300]}'), (2, NULL);
INSERT INTO t (id, hidden) VALUES (3, NULL);
UPDATE t SET hidden = 10, id = 20 WHERE id = 2;
DELETE FROM t WHERE id = 1;
SET SESSION sql_generate_invisible_primary_key = ON;
CREATE TABLE own_key (a INT);
INSERT INTO own_key VALUES (7), (8);
UPDATE own_key SET a = 9 WHERE a = 8;

-- after
SET GLOBAL binlog_row_metadata = MINIMAL;
