-- Tables that schema statements change: cases in brackets, each of steps that a blank line ends.

[the key goes from a number to text]
CREATE TABLE k1 (id BIGINT PRIMARY KEY, v INT);
INSERT INTO k1 VALUES (1, 1), (2, 2), (10, 3), (-1, 9);

DELETE FROM k1 WHERE id = -1;
ALTER TABLE k1 MODIFY id VARCHAR(20);
INSERT INTO k1 VALUES ('3', 4);
UPDATE k1 SET v = 22 WHERE id = '2';

DELETE FROM k1 WHERE id = '10';

[the key goes from DATE to DATETIME]
CREATE TABLE k2 (at DATE PRIMARY KEY, v INT);
INSERT INTO k2 VALUES ('2024-01-01', 1), ('2024-06-01', 2);

ALTER TABLE k2 MODIFY at DATETIME NOT NULL;
UPDATE k2 SET v = 3 WHERE at = '2024-06-01';

ALTER TABLE k2 MODIFY at DATETIME(3) NOT NULL;
INSERT INTO k2 VALUES ('2025-01-01 00:00:00.5', 5);

[the key gets another character set]
CREATE TABLE k3 (id VARCHAR(8) CHARACTER SET latin1 PRIMARY KEY, v INT);
INSERT INTO k3 VALUES ('a', 1), ('é', 2), ('b', 3);

ALTER TABLE k3 MODIFY id VARCHAR(40) CHARACTER SET utf8mb4;
UPDATE k3 SET v = 9 WHERE id = 'a';

INSERT INTO k3 VALUES ('🍀', 4);

[a new table gets the name of one that was renamed]
CREATE TABLE r1 (id INT PRIMARY KEY, v INT);
INSERT INTO r1 VALUES (1, 1), (2, 2);

RENAME TABLE r1 TO r1_old;
CREATE TABLE r1 (id INT PRIMARY KEY, v INT);
INSERT INTO r1 VALUES (1, 100);
UPDATE r1_old SET v = 20 WHERE id = 2;

INSERT INTO r1 VALUES (7, 7);
DELETE FROM r1_old WHERE id = 1;

[tables swap their names]
CREATE TABLE s1 (id INT PRIMARY KEY, v INT);
CREATE TABLE s2 (id INT PRIMARY KEY, w TEXT);
INSERT INTO s1 VALUES (1, 1);
INSERT INTO s2 VALUES (1, 'one'), (2, 'two');

RENAME TABLE s1 TO s3, s2 TO s1, s3 TO s2;
INSERT INTO s1 VALUES (3, 'three');
UPDATE s2 SET v = 11;

DELETE FROM s1 WHERE id = 1;
INSERT INTO s2 VALUES (5, 5);

[a column is renamed and its name comes back]
CREATE TABLE c1 (id INT PRIMARY KEY, price INT);
INSERT INTO c1 VALUES (1, 100), (2, 200);

ALTER TABLE c1 RENAME COLUMN price TO price_cents, ADD COLUMN price DECIMAL(10,2) DEFAULT 1.5;
UPDATE c1 SET price = 2 WHERE id = 2;
INSERT INTO c1 VALUES (3, 300, 3.25);

UPDATE c1 SET price_cents = 1 WHERE id = 1;

[columns swap their names]
CREATE TABLE c2 (id INT PRIMARY KEY, a INT, b VARCHAR(10));
INSERT INTO c2 VALUES (1, 1, 'one'), (2, 2, 'two');

ALTER TABLE c2 CHANGE a b INT, CHANGE b a VARCHAR(10);
UPDATE c2 SET a = 'zwei' WHERE id = 2;

INSERT INTO c2 (id, a, b) VALUES (3, 'three', 3);

[the key has zero and partial dates]
SET sql_mode = '';
CREATE TABLE z1 (d DATE, n INT, v INT, PRIMARY KEY (d, n));
INSERT INTO z1 VALUES ('0000-00-00', 1, 1), ('2024-00-00', 1, 2), ('2024-01-00', 1, 3), ('2024-01-01', 1, 4);

SET sql_mode = '';
UPDATE z1 SET v = 33 WHERE d = '2024-01-00';
DELETE FROM z1 WHERE d = '0000-00-00';

SET sql_mode = '';
INSERT INTO z1 VALUES ('0000-00-00', 1, 5);
UPDATE z1 SET d = '2024-02-00' WHERE d = '2024-01-00';

[columns are called as loaders call theirs]
CREATE TABLE n1 (id INT PRIMARY KEY, _line INT, _rank INT, _absent INT, _unknown INT, _misfits INT, v1 INT,
  _commit_version INT, `load` INT, commit_date INT, _kind TEXT, p1 INT);
INSERT INTO n1 VALUES (1,2,3,4,5,6,7,8,9,10,'k',12), (2,3,4,5,6,7,8,9,10,11,'l',13);

UPDATE n1 SET _line = 0, _unknown = 1, id = 5 WHERE id = 1;
UPDATE n1 SET p1 = NULL WHERE id = 2;

UPDATE n1 SET _kind = 'm';

[a column goes and another comes without rows]
CREATE TABLE d1 (id INT PRIMARY KEY, a INT, b INT);
INSERT INTO d1 VALUES (1, 1, 1);

ALTER TABLE d1 DROP COLUMN a;

ALTER TABLE d1 ADD COLUMN a VARCHAR(10) NOT NULL DEFAULT 'new', ADD COLUMN z INT FIRST;

[integers become wider, decimals, text and doubles]
CREATE TABLE t1 (id INT PRIMARY KEY, a INT, b INT, c INT, d INT UNSIGNED, e TINYINT);
INSERT INTO t1 VALUES (1, 1, -2, 3, 4000000000, -5), (2, NULL, NULL, NULL, NULL, NULL);

ALTER TABLE t1 MODIFY id BIGINT, MODIFY a BIGINT, MODIFY b DECIMAL(12,3), MODIFY c VARCHAR(20), MODIFY d BIGINT,
  MODIFY e DOUBLE;

UPDATE t1 SET a = 1 << 40 WHERE id = 1;
INSERT INTO t1 VALUES (1 << 40, 1, 1.5, 'x', 5, 0.25);

[moments get fewer digits and other types]
SET time_zone = '+01:00';
CREATE TABLE m1 (id INT PRIMARY KEY, a DATETIME(6), b DATETIME, c TIMESTAMP(3) NULL, d DATE, e DATETIME(6));
INSERT INTO m1 VALUES (1, '2024-05-05 10:11:12.987654', '2024-05-05 10:11:12', '2024-05-05 10:11:12.345',
  '2024-05-05', '2024-05-05 23:59:59');

SET time_zone = '+01:00';
ALTER TABLE m1 MODIFY a DATETIME(2), MODIFY b TIMESTAMP NULL, MODIFY c DATETIME(3), MODIFY d DATETIME, MODIFY e
  DATE;

SET time_zone = '+01:00';
ALTER TABLE m1 MODIFY a VARCHAR(40), MODIFY b VARCHAR(40), MODIFY d VARCHAR(40);

[ENUM becomes text, and text ENUM, whose members are unknown]
CREATE TABLE e1 (id INT PRIMARY KEY, a ENUM('x','y','z'), b VARCHAR(5), c ENUM('a','b'), d SET('p','q'));
INSERT INTO e1 VALUES (1, 'y', 'one', 'b', 'p,q'), (2, NULL, 'two', 'a', '');

ALTER TABLE e1 MODIFY a VARCHAR(10), MODIFY b ENUM('two','one'), MODIFY c ENUM('0','b','a'), MODIFY d
  SET('q','p','r');

ALTER TABLE e1 MODIFY c INT;
INSERT INTO e1 VALUES (3, 'w', 'one', 2, 'r');

[decimals get more and fewer digits]
CREATE TABLE w1 (id INT PRIMARY KEY, a DECIMAL(10,2), b DECIMAL(10,4), c DECIMAL(10,3), d DECIMAL(8,2));
INSERT INTO w1 VALUES (1, 1.25, 2.5555, -3.5, 4.05), (2, -1.25, -2.55554, 2.5, 0);

ALTER TABLE w1 MODIFY a DECIMAL(20,6), MODIFY b DECIMAL(10,2), MODIFY c INT, MODIFY d VARCHAR(20);

INSERT INTO w1 VALUES (3, 1, 1, 1, '1');

[the primary key is another]
CREATE TABLE p1 (a INT PRIMARY KEY, b INT, v INT);
INSERT INTO p1 VALUES (1, 5, 1), (2, 5, 2), (3, 6, 3);

DELETE FROM p1 WHERE a = 1;
ALTER TABLE p1 DROP PRIMARY KEY, ADD PRIMARY KEY (b);
UPDATE p1 SET a = 9 WHERE b = 6;

INSERT INTO p1 VALUES (9, 7, 4);
UPDATE p1 SET b = 8 WHERE b = 7;

[columns become AUTO_INCREMENT, with rows that are numbered and rows that are not]
CREATE TABLE a1 (id INT PRIMARY KEY, n INT, u INT UNIQUE AUTO_INCREMENT);
INSERT INTO a1 VALUES (1, 7, 1), (2, 0, 2), (3, NULL, 3), (5, 3, 5);
CREATE TABLE a2 (n INT AUTO_INCREMENT UNIQUE);
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
INSERT INTO a2 VALUES (0), (5);
CREATE TABLE a3 (id INT PRIMARY KEY);
INSERT INTO a3 VALUES (0), (-1);

ALTER TABLE a1 MODIFY u INT UNIQUE, MODIFY n DECIMAL(9,2);
ALTER TABLE a1 MODIFY n INT AUTO_INCREMENT, ADD KEY (n);
ALTER TABLE a2 MODIFY n BIGINT AUTO_INCREMENT;
SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO';
ALTER TABLE a3 MODIFY id INT AUTO_INCREMENT;

UPDATE a1 SET n = 20 WHERE id = 3;
INSERT INTO a3 VALUES (NULL);

[columns that allow NULL become part of the key]
CREATE TABLE p3 (a INT PRIMARY KEY, b VARCHAR(9), c INT, d DATE);
INSERT INTO p3 VALUES (1, '', 0, '2024-02-29'), (2, 'x', 2, '2024-01-01');

SET sql_mode = '';
ALTER TABLE p3 DROP PRIMARY KEY, ADD PRIMARY KEY (a, b, c, d);

INSERT INTO p3 VALUES (1, 'x', 1, '2024-01-01');

[the primary key goes and comes back]
CREATE TABLE p2 (a INT PRIMARY KEY, b INT NOT NULL);
INSERT INTO p2 VALUES (1, 5), (2, 6);

ALTER TABLE p2 DROP PRIMARY KEY;
ALTER TABLE p2 ADD PRIMARY KEY (b);
UPDATE p2 SET a = 1 WHERE b = 6;

UPDATE p2 SET b = 7 WHERE b = 5;

[tables are truncated, dropped, made again and alike]
CREATE TABLE x1 (id INT PRIMARY KEY, v INT);
INSERT INTO x1 VALUES (1, 1), (2, 2);
CREATE TABLE x2 LIKE x1;
INSERT INTO x2 VALUES (4, 4);

TRUNCATE TABLE x1;
INSERT INTO x1 VALUES (3, 3);
DROP TABLE x2;
CREATE TABLE x2 (id INT PRIMARY KEY, v INT);
INSERT INTO x2 VALUES (1, 1);

DROP TABLE x1;
CREATE TABLE x3 (id INT PRIMARY KEY) AS SELECT id FROM x2;

[rows move to other keys]
CREATE TABLE o1 (a INT, b INT, v TEXT, w INT, PRIMARY KEY (a, b));
INSERT INTO o1 VALUES (1, 1, 'x', 1), (2, 2, 'y', 2), (3, 3, 'z', 3);

UPDATE o1 SET a = 4 WHERE a = 1;
UPDATE o1 SET a = 1 WHERE a = 2;
UPDATE o1 SET w = 5 WHERE a = 4;
UPDATE o1 SET b = 9 WHERE a = 4;

UPDATE o1 SET a = a + 100 ORDER BY a DESC;
DELETE FROM o1 WHERE a = 103;
INSERT INTO o1 (a, b) VALUES (103, 3);

[XA transactions hold once they are committed]
CREATE TABLE xa1 (id INT PRIMARY KEY, v INT);
INSERT INTO xa1 VALUES (1, 1), (2, 2);
XA START 'one';
UPDATE xa1 SET v = 10 WHERE id = 1;
XA END 'one';
XA PREPARE 'one';
XA COMMIT 'one';

XA START 'two';
UPDATE xa1 SET v = 20 WHERE id = 2;
XA END 'two';
XA PREPARE 'two';
XA ROLLBACK 'two';
XA START 'three';
DELETE FROM xa1 WHERE id = 1;
INSERT INTO xa1 VALUES (3, 3);
XA END 'three';
XA PREPARE 'three';

XA COMMIT 'three';
INSERT INTO xa1 VALUES (4, 4);

[MariaDB keeps the rows that were]
CREATE TABLE y1 (id INT PRIMARY KEY, v INT /*M!, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6)
  GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e) */) /*M! WITH SYSTEM VERSIONING */;
INSERT INTO y1 (id, v) VALUES (1, 1), (2, 2), (3, 3), (4, 4);

UPDATE y1 SET v = 10 WHERE id = 1;
UPDATE y1 SET id = 7 WHERE id = 3;
DELETE FROM y1 WHERE id = 2;

INSERT INTO y1 (id, v) VALUES (2, 5);
REPLACE INTO y1 (id, v) VALUES (1, 9);
DELETE FROM y1 WHERE id = 4;

[character sets change]
CREATE TABLE h1 (id INT PRIMARY KEY, a VARCHAR(20) CHARACTER SET latin1, b TEXT CHARACTER SET utf8mb4);
INSERT INTO h1 VALUES (1, 'é', 'ü'), (2, 'a', 'b');

ALTER TABLE h1 CONVERT TO CHARACTER SET utf8mb4;
INSERT INTO h1 VALUES (3, '☃', '☃');

[columns change before, with and behind the new name of their table, before rows come]
CREATE TABLE f1 (id INT PRIMARY KEY, name TEXT, amount INT);
CREATE TABLE f2 LIKE f1;
CREATE TABLE f3 LIKE f1;
INSERT INTO f1 VALUES (1, 'a', 1), (2, 'b', 2);
INSERT INTO f2 SELECT * FROM f1;
INSERT INTO f3 SELECT * FROM f1;

ALTER TABLE f1 CHANGE name title TEXT, DROP amount;
RENAME TABLE f1 TO f1_new, f3 TO f3_new;
ALTER TABLE f2 CHANGE name title TEXT, DROP amount, RENAME f2_new;
ALTER TABLE f3_new CHANGE name title TEXT, DROP amount;
ALTER TABLE f1_new ADD amount INT;
ALTER TABLE f2_new ADD amount INT;
ALTER TABLE f3_new ADD amount INT;
UPDATE f1_new, f2_new, f3_new SET f1_new.amount = 20, f2_new.amount = 21, f3_new.amount = 22
  WHERE f1_new.id = 2 AND f2_new.id = 2 AND f3_new.id = 2;

[a column is computed again]
CREATE TABLE g1 (id INT PRIMARY KEY, a INT, s INT AS (a + 1) STORED);
INSERT INTO g1 (id, a) VALUES (1, 1), (2, 2);

ALTER TABLE g1 MODIFY s INT AS (a + 10) STORED;
INSERT INTO g1 (id, a) VALUES (3, 3);
UPDATE g1 SET a = 5 WHERE id = 1;

UPDATE g1 SET a = 6 WHERE id = 2;

[tables swap their names between transactions that change both]
CREATE TABLE b1 (id INT PRIMARY KEY, v VARCHAR(9));
CREATE TABLE b2 (id INT PRIMARY KEY, v VARCHAR(9));
BEGIN;
INSERT INTO b1 VALUES (1, 'one');
INSERT INTO b2 VALUES (1, 'two'), (2, 'two');
COMMIT;

RENAME TABLE b1 TO b3, b2 TO b1, b3 TO b2;
BEGIN;
INSERT INTO b1 VALUES (3, 'two');
UPDATE b2 SET v = 'ONE' WHERE id = 1;
COMMIT;
RENAME TABLE b1 TO b3, b2 TO b1, b3 TO b2;
BEGIN;
DELETE FROM b2 WHERE id = 1;
INSERT INTO b1 VALUES (9, 'one');
COMMIT;

[tables are made of rows, several go at once, and views have their names]
CREATE TABLE v1 (id INT PRIMARY KEY, v VARCHAR(9));
INSERT INTO v1 VALUES (1, 'x'), (2, 'y');
CREATE TABLE v2 (n INT AUTO_INCREMENT PRIMARY KEY, e VARCHAR(3) DEFAULT 'k') SELECT id AS f, v FROM v1;
CREATE TABLE v3 (PRIMARY KEY (id)) SELECT * FROM v1;

INSERT INTO v2 (f) VALUES (7);
DROP TABLE IF EXISTS v1, nope, v3;
CREATE TABLE v1 (id INT PRIMARY KEY, w INT DEFAULT 3);
INSERT INTO v1 (id) VALUES (2);
CREATE VIEW v3 AS SELECT * FROM v1;
INSERT INTO v3 VALUES (5, 5);
DROP VIEW v3;
CREATE TABLE v3 (w INT PRIMARY KEY);
INSERT INTO v3 VALUES (8);

ALTER TABLE v1 DROP COLUMN w, ALGORITHM = INSTANT;
ALTER TABLE v1 ADD COLUMN w VARCHAR(3) DEFAULT 'new' FIRST;
INSERT INTO v1 (id) VALUES (6);

[MariaDB redefines a column that the same statement adds, in the place of one that it drops]
CREATE TABLE am1 (id INT PRIMARY KEY, a INT, b INT);
INSERT INTO am1 VALUES (1, 1, 1), (2, 2, 2);

ALTER TABLE am1 ADD c INT NOT NULL DEFAULT 1 /*M! , MODIFY c BIGINT NOT NULL DEFAULT 3 */;
ALTER TABLE am1 DROP a, ADD a INT NOT NULL DEFAULT 5 /*M! , MODIFY a BIGINT NOT NULL DEFAULT 6 */;
ALTER TABLE am1 CHANGE b d INT /*M! , ADD IF NOT EXISTS d INT DEFAULT 7, ADD IF NOT EXISTS e INT DEFAULT 8,
 ADD IF NOT EXISTS e INT DEFAULT 9 */;
UPDATE am1 SET a = 11 WHERE id = 1;
