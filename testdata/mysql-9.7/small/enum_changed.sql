An ENUM whose members change, beside one whose members stay.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, e ENUM('a', 'b'), f ENUM('x', 'y'));
INSERT INTO t VALUES (1, 'a', 'x'), (2, 'b', 'y');
ALTER TABLE t MODIFY e ENUM('a', 'b', 'c');
INSERT INTO t VALUES (3, 'c', 'x');
ALTER TABLE t MODIFY e ENUM('c', 'b', 'a');
INSERT INTO t VALUES (4, 'c', NULL);
DELETE FROM t WHERE id < 4;
