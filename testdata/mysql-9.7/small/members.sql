Members of ENUM and SET, and defaults, that are written in another character set than the column's.

-- log
CREATE DATABASE small CHARACTER SET latin1; USE small;
CREATE TABLE bytes (id INT PRIMARY KEY, a ENUM('z', X'C3A9') CHARACTER SET utf8mb4, b SET('z', 0xE9) CHARACTER SET latin1,
c ENUM('z', 0x41) CHARACTER SET ucs2, d ENUM('z', 0x8140) CHARACTER SET sjis, e ENUM('z', b'01000001', 0x4220) CHARACTER SET cp1251);
INSERT INTO bytes VALUES (1, 2, 2, 2, 2, 2), (2, 1, 1, 1, 1, 3);
CREATE TABLE lacking (id INT PRIMARY KEY, a SET('é0', 'x') CHARACTER SET sjis, b ENUM('é0', '日2') CHARACTER SET gbk,
c ENUM('é0', '日2😀') CHARACTER SET utf8mb3, d ENUM('日2😀', 'x') CHARACTER SET utf16, e ENUM('日2', 'é') CHARACTER SET latin1);
INSERT INTO lacking VALUES (1, 1, 1, 1, 1, 1), (2, 2, 2, 2, 2, 2), (3, 3, 1, 1, 1, 1);
SET collation_connection = latin1_bin;
CREATE TABLE connection (id INT PRIMARY KEY, a ENUM('日2', 'é') CHARACTER SET utf8mb4, b VARCHAR(20) CHARACTER SET utf8mb4 DEFAULT '日2é',
c ENUM('日2', 'é') CHARACTER SET sjis);
INSERT INTO connection (id, a, c) VALUES (1, 1, 1), (2, 2, 2);
DELETE FROM connection;
ALTER TABLE connection MODIFY c SET('€', '日') CHARACTER SET utf8mb4;
INSERT INTO connection (id, a, c) VALUES (3, 1, 1), (4, 2, 3);
SET NAMES utf8mb4;
CREATE TABLE defaults (id INT PRIMARY KEY, a VARCHAR(10) CHARACTER SET latin1 DEFAULT _latin1 0xE9, b VARCHAR(10) CHARACTER SET utf8mb4
DEFAULT _latin1 0xE9, c VARCHAR(10) CHARACTER SET utf8mb4 DEFAULT _latin1 'é' COLLATE utf8mb4_bin, d VARCHAR(10) DEFAULT _utf8mb4 X'C3A9',
e VARCHAR(10) DEFAULT _latin1 b'11101001', f VARCHAR(10) CHARACTER SET utf8mb4 DEFAULT _ucs2 0x00E9);
INSERT INTO defaults (id) VALUES (1);
SET binlog_row_image = MINIMAL; INSERT INTO defaults (id) VALUES (2);
CREATE TABLE converted LIKE bytes;
ALTER TABLE converted DROP b, DROP d, CONVERT TO CHARACTER SET utf8mb4;
INSERT INTO converted (id, a, c, e) VALUES (3, 2, 2, 3);
