Temporary tables in the place of others: what is done to them is done to no other table.

-- before
SET GLOBAL binlog_format = STATEMENT;

-- log
CREATE DATABASE small; USE small; SET binlog_format = ROW;
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
INSERT INTO t VALUES (1, 10, 20);
SET binlog_format = STATEMENT;
CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, x INT, y INT);
ALTER TABLE t CHANGE x q INT FIRST, ADD COLUMN z INT;
CREATE TABLE of_temporary LIKE t;
TRUNCATE TABLE t;
ALTER TABLE t ADD COLUMN last INT, RENAME TO again;
CREATE TABLE of_renamed LIKE again;
CREATE TEMPORARY TABLE copied LIKE again;
CREATE TABLE of_copied LIKE copied;
DROP TABLE copied; DROP TEMPORARY TABLE again;
SET binlog_format = ROW;
INSERT INTO t (id, a, b) VALUES (2, 30, 40);
INSERT INTO of_temporary (id, q, y, z) VALUES (1, 2, 3, 4);
INSERT INTO of_renamed (id, q, y, z, last) VALUES (1, 2, 3, 4, 5);
INSERT INTO of_copied (id, q, y, z, last) VALUES (1, 2, 3, 4, 5);
ALTER TABLE t ADD COLUMN c INT FIRST;
INSERT INTO t (id, a, b, c) VALUES (3, 50, 60, 70);

-- after
SET GLOBAL binlog_format = ROW;
