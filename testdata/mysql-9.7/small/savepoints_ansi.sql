Savepoints in sessions with ANSI_QUOTES: the server writes their names between double quotes.

-- log
CREATE DATABASE small; USE small; SET SESSION sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES';
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));
BEGIN; INSERT INTO t VALUES (1, 'kept'); SAVEPOINT "a b"; INSERT INTO t VALUES (2, 'kept'); SAVEPOINT "a ""quote"" c";
INSERT INTO t VALUES (3, 'undone'); ROLLBACK TO "a ""quote"" c"; INSERT INTO t VALUES (4, 'kept'); COMMIT;
SET SESSION sql_mode = '';
BEGIN; INSERT INTO t VALUES (5, 'kept'); SAVEPOINT `a "b`; INSERT INTO t VALUES (6, 'back\\slash'); COMMIT;
