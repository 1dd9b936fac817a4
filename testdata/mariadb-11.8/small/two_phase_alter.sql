ALTER TABLE logged where it starts and where it ends: that takes effect which is committed, not that which fails.

-- log
CREATE DATABASE small; USE small; SET binlog_alter_two_phase = ON;
CREATE TABLE t (id INT PRIMARY KEY, a INT, b INT);
INSERT INTO t VALUES (1, 10, 20);
ALTER TABLE t CHANGE a b INT, CHANGE b a INT;
INSERT INTO t (id, a, b) VALUES (2, 1, 100), (3, 1, 300);
-- Two rows have the same value, so that it fails where it ends.
DELIMITER //
BEGIN NOT ATOMIC DECLARE CONTINUE HANDLER FOR SQLEXCEPTION SELECT 1;
ALTER TABLE t CHANGE a c INT FIRST, ADD UNIQUE KEY (c); END//
DELIMITER ;
INSERT INTO t (id, a, b) VALUES (4, 4, 400);
ALTER TABLE t ADD COLUMN d INT FIRST;
CREATE INDEX i ON t (d);
INSERT INTO t (id, a, b, d) VALUES (5, 5, 500, 5000);
UPDATE t SET d = id;
