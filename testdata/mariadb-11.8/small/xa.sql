XA transactions: prepared and committed, prepared and rolled back, in one phase.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));
XA START 'committed'; INSERT INTO t VALUES (1, 'committed'); XA END 'committed'; XA PREPARE 'committed';
XA COMMIT 'committed';
XA START 'undone', 'with a branch', 99; INSERT INTO t VALUES (3, 'undone'); UPDATE t SET text = 'x' WHERE id = 3;
XA END 'undone', 'with a branch', 99; XA PREPARE 'undone', 'with a branch', 99;
XA ROLLBACK 'undone', 'with a branch', 99;
XA START x'00ff27', x'', 2147483647; INSERT INTO t VALUES (4, 'one phase'); XA END x'00ff27', x'', 2147483647;
XA COMMIT x'00ff27', x'', 2147483647 ONE PHASE;
XA START 'empty'; XA END 'empty'; XA PREPARE 'empty'; XA COMMIT 'empty';
