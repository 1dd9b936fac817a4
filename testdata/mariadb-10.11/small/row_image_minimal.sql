Row image MINIMAL, with FULL between, and tables with a primary key, a unique key, and none.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE keyed (id INT PRIMARY KEY, a INT NOT NULL DEFAULT 5, b VARCHAR(20), c TEXT, d BLOB, e INT NULL);
CREATE TABLE unique_key (a INT NOT NULL UNIQUE, b TEXT, c INT DEFAULT 7);
CREATE TABLE no_key (a INT, b TEXT, c INT DEFAULT 7);
SET SESSION binlog_row_image = MINIMAL;
INSERT INTO keyed (id) VALUES (1);
INSERT INTO keyed (id, b, c) VALUES (2, 'b', 'c'), (3, NULL, 'c3');
INSERT INTO keyed VALUES (4, 4, 'four', 'text', x'00ff', NULL);
UPDATE keyed SET a = 6 WHERE id = 1;
UPDATE keyed SET b = NULL, d = x'' WHERE id > 1;
UPDATE keyed SET c = 'new text' WHERE id = 4;
UPDATE keyed SET id = 40 WHERE id = 4;
SET SESSION binlog_row_image = FULL;
UPDATE keyed SET e = 1 WHERE id = 40;
SET SESSION binlog_row_image = MINIMAL;
DELETE FROM keyed WHERE id IN (1, 2);
INSERT INTO unique_key (a, b) VALUES (1, 'one'), (2, NULL);
UPDATE unique_key SET b = 'eins' WHERE a = 1;
DELETE FROM unique_key WHERE a = 2;
INSERT INTO no_key (b) VALUES ('x'), (NULL);
UPDATE no_key SET a = 1 WHERE b = 'x';
DELETE FROM no_key WHERE b IS NULL;
BEGIN; UPDATE keyed SET a = a + 1; UPDATE no_key SET c = NULL; DELETE FROM unique_key; COMMIT;
