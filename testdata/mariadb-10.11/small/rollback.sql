A transaction that changed a table without transactions and then rolled back: it is in the log and ends in ROLLBACK.
Once in statement format, where the undone statement is logged too, and once in row format.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE safe (id INT PRIMARY KEY) ENGINE=InnoDB;
CREATE TABLE loose (id INT PRIMARY KEY) ENGINE=MyISAM;
SET SESSION binlog_format = STATEMENT;
BEGIN; INSERT INTO safe VALUES (1); INSERT INTO loose VALUES (1); INSERT INTO safe VALUES (2); ROLLBACK;
BEGIN; INSERT INTO safe VALUES (3); SAVEPOINT a; INSERT INTO safe VALUES (4); INSERT INTO loose VALUES (4);
ROLLBACK TO a; COMMIT;
SET SESSION binlog_format = ROW;
BEGIN; INSERT INTO safe VALUES (5); INSERT INTO loose VALUES (5); ROLLBACK;
BEGIN; INSERT INTO safe VALUES (6); INSERT INTO loose VALUES (6); COMMIT;
