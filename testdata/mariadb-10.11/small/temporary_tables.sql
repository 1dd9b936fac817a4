Temporary tables in the place of others: each connection has its own, and what is done to them is done to no other table.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
CREATE TABLE other (id INT PRIMARY KEY, v INT);
INSERT INTO t VALUES (1, 10, 20);
SET binlog_format = MIXED;
CREATE TEMPORARY TABLE t (id INT PRIMARY KEY, x INT, y INT);
ALTER TABLE t CHANGE x q INT FIRST, ADD COLUMN z INT;
CREATE TABLE of_temporary LIKE t;
TRUNCATE TABLE t;
RENAME TABLE t TO renamed;
CREATE INDEX i ON renamed (q);
ALTER TABLE renamed ADD COLUMN last INT, RENAME TO again;
CREATE TABLE of_renamed LIKE again;
CREATE TEMPORARY TABLE copied LIKE again;
CREATE TABLE of_copied LIKE copied;
CREATE TEMPORARY TABLE other (id INT PRIMARY KEY, gone INT, gone_too INT);
DROP TABLE other;
SET binlog_format = ROW;
INSERT INTO other VALUES (1, 1);
INSERT INTO t (id, a, b) VALUES (2, 30, 40);
INSERT INTO of_temporary (id, q, y, z) VALUES (1, 2, 3, 4);
INSERT INTO of_renamed (id, q, y, z, last) VALUES (1, 2, 3, 4, 5);
INSERT INTO of_copied (id, q, y, z, last) VALUES (1, 2, 3, 4, 5);
INSERT INTO other VALUES (2, 2);
ALTER TABLE t ADD COLUMN c INT FIRST;
INSERT INTO t (id, a, b, c) VALUES (3, 50, 60, 70);
