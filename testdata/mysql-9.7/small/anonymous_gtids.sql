Transactions without GTIDs: ANONYMOUS_GTID events before each of them.

-- before
SET GLOBAL gtid_mode = ON_PERMISSIVE; SET GLOBAL gtid_mode = OFF_PERMISSIVE; SET GLOBAL gtid_mode = OFF;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));
INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, NULL);
BEGIN; UPDATE t SET text = 'zwei' WHERE id = 2; DELETE FROM t WHERE id = 1; COMMIT;
DROP TABLE t;

-- after
SET GLOBAL gtid_mode = OFF_PERMISSIVE; SET GLOBAL gtid_mode = ON_PERMISSIVE; SET GLOBAL gtid_mode = ON;
