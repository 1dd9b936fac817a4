Row changes that foreign keys make in other tables.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE parent (id INT PRIMARY KEY, text VARCHAR(10));
CREATE TABLE child (id INT PRIMARY KEY, parent INT,
FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE TABLE orphan (id INT PRIMARY KEY, parent INT, FOREIGN KEY (parent) REFERENCES parent (id) ON DELETE SET NULL);
INSERT INTO parent VALUES (1, 'one'), (2, 'two'), (3, 'three');
INSERT INTO child VALUES (10, 1), (11, 1), (20, 2), (30, 3);
INSERT INTO orphan VALUES (100, 1), (101, 3);
DELETE FROM parent WHERE id = 1;
UPDATE parent SET id = 22 WHERE id = 2;
