JSON documents with times, bytes and decimals that a statement made, in rows that only all their columns tell apart.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (j JSON, n INT, other JSON);
SET SESSION binlog_format = STATEMENT;
INSERT INTO t VALUES (JSON_ARRAY(CAST('2024-02-29' AS DATE), CAST(x'00ff' AS BINARY)), 1, NULL),
(JSON_OBJECT('a', CAST('2024-02-29 12:34:56' AS DATETIME(6)), 'b', CAST(-123.4560 AS DECIMAL(20,4))), 2, 'null'),
(JSON_ARRAY(CAST('12:34:56.789' AS TIME(3))), 3, '"text"');
SET SESSION binlog_format = ROW;
INSERT INTO t VALUES ('[0.1, 1e-5, "it''s"]', 4, '{"a": "\\\\"}');
UPDATE t SET n = n + 10; DELETE FROM t WHERE n = 11; UPDATE t SET other = JSON_ARRAY(j) WHERE n = 13;
UPDATE t SET n = n + 100;
