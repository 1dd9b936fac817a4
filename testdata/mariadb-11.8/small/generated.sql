Generated columns, which are in the images of inserts only, and rows that change with them or without.

-- before
SET GLOBAL binlog_row_image = FULL;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, n INT, text VARCHAR(9), stored INT AS (n * 2) STORED, virtual INT AS (n + 1) VIRTUAL,
of_both INT AS (stored + virtual) STORED, of_the_key INT AS (id * 10) STORED);
INSERT INTO t (id, n, text) VALUES (1, 5, 'a'), (2, 6, 'b'), (3, 7, 'c'), (4, 8, 'd');
UPDATE t SET n = 50 WHERE id = 1; UPDATE t SET text = 'changed' WHERE id = 2; DELETE FROM t WHERE id = 3;
UPDATE t SET id = 40 WHERE id = 4;
CREATE TABLE of_stored (id INT PRIMARY KEY, n INT, stored INT AS (n * 2) STORED);
INSERT INTO of_stored (id, n) VALUES (1, 1), (2, 2); UPDATE of_stored SET n = 7 WHERE id = 1;
REPLACE INTO of_stored (id, n) VALUES (2, 9);
