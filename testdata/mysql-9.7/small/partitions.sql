Rows of partitioned tables: the extra information of the row events names partitions.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(10)) PARTITION BY RANGE (id) SUBPARTITION BY HASH (id) SUBPARTITIONS 2
(PARTITION low VALUES LESS THAN (100), PARTITION high VALUES LESS THAN MAXVALUE);
INSERT INTO t VALUES (1, 'one'), (200, 'high');
UPDATE t SET text = 'x' WHERE id = 1;
UPDATE t SET id = 300 WHERE id = 1;
DELETE FROM t WHERE id = 200;
