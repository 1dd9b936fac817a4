Columns that change places and names, so that a definition of another moment names values wrongly.

-- before
CREATE DATABASE small; USE small;
CREATE TABLE w (id INT PRIMARY KEY, b INT, c INT); CREATE TABLE still (id INT PRIMARY KEY, b INT, c INT);

-- log
USE small;
INSERT INTO w VALUES (1, 10, 100); INSERT INTO still VALUES (1, 10, 100);
UPDATE w SET b = 0;
ALTER TABLE w MODIFY c INT AFTER id;
UPDATE w SET b = 1; UPDATE still SET b = 1;
ALTER TABLE w RENAME COLUMN b TO d, ADD INDEX (c);
UPDATE w SET d = 2;
