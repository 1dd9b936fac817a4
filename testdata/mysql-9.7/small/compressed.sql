TRANSACTION_PAYLOAD events with every operation inside, many statements, and plain transactions in between.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(200), number DOUBLE);
CREATE TABLE other (id INT PRIMARY KEY, data BLOB);
INSERT INTO t VALUES (1, 'plain', 1.5);
SET SESSION binlog_transaction_compression = ON;
INSERT INTO t VALUES (2, 'compressed', 2.5);
BEGIN;
INSERT INTO t SELECT 100 + n, REPEAT('abc', n), n / 3 FROM
(WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 25) SELECT n FROM c) numbers;
UPDATE t SET text = CONCAT(text, '!') WHERE id > 115;
INSERT INTO other VALUES (1, REPEAT(x'00ff', 2000)), (2, NULL);
DELETE FROM t WHERE id % 3 = 0;
UPDATE t JOIN other ON t.id = 101 SET t.number = NULL, other.data = x'01';
COMMIT;
CREATE TABLE made (PRIMARY KEY (id)) SELECT id, text FROM t WHERE id > 118;
SET SESSION binlog_rows_query_log_events = ON;
UPDATE made SET text = 'with its query';
SET SESSION binlog_transaction_compression_level_zstd = 19;
DELETE FROM made;
XA START 'compressed'; INSERT INTO t VALUES (1000, 'xa', 0); XA END 'compressed';
XA PREPARE 'compressed'; XA COMMIT 'compressed';
SET SESSION binlog_transaction_compression = OFF;
INSERT INTO t VALUES (3, 'plain again', -0.0);
