Savepoints: kept, rolled back to, released, nested, with names to quote; transactions that leave no trace.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));
BEGIN; INSERT INTO t VALUES (1, 'kept'); SAVEPOINT one; INSERT INTO t VALUES (2, 'undone'); ROLLBACK TO one;
INSERT INTO t VALUES (3, 'kept'); COMMIT;
BEGIN; SAVEPOINT `odd ``name``; é`; INSERT INTO t VALUES (4, 'kept'); SAVEPOINT b; INSERT INTO t VALUES (5, 'kept');
RELEASE SAVEPOINT `odd ``name``; é`; COMMIT;
BEGIN; SAVEPOINT a; INSERT INTO t VALUES (6, 'undone'); SAVEPOINT b; INSERT INTO t VALUES (7, 'undone'); ROLLBACK TO a;
COMMIT;
BEGIN; INSERT INTO t VALUES (8, 'undone'); ROLLBACK;
START TRANSACTION READ ONLY; COMMIT;
SET SESSION binlog_format = STATEMENT;
BEGIN; INSERT INTO t VALUES (9, 'kept'); SAVEPOINT s; INSERT INTO t VALUES (10, 'undone'); ROLLBACK TO SAVEPOINT s;
INSERT INTO t VALUES (11, 'BEGIN'); COMMIT;
