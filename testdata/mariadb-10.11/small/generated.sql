Generated columns, stored and virtual, invisible ones, and check constraints.

-- before
SET GLOBAL binlog_row_metadata = FULL;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, twice INT AS (id * 2) STORED, hidden INT INVISIBLE DEFAULT 9, thrice INT AS (id * 3) VIRTUAL,
CHECK (id > 0));
INSERT INTO t (id) VALUES (1), (2); UPDATE t SET id = 20 WHERE id = 2; DELETE FROM t WHERE id = 1;
INSERT INTO t (id, hidden) VALUES (3, NULL);

-- after
SET GLOBAL binlog_row_metadata = NO_LOG;
