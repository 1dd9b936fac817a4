Events without checksums.

-- before
SET GLOBAL binlog_checksum = NONE;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));
INSERT INTO t VALUES (1, 'one'), (2, 'two');
BEGIN; UPDATE t SET text = 'zwei' WHERE id = 2; DELETE FROM t WHERE id = 1; COMMIT;
SET SESSION binlog_format = STATEMENT;
SET @a = 'user variable'; INSERT INTO t VALUES (3, @a);

-- after
SET GLOBAL binlog_checksum = CRC32;
