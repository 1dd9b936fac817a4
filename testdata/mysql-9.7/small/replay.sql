Statements and rows that only replay in the session they ran in, and statements that servers refuse as logged.

-- log
CREATE DATABASE small; USE small;
SET SESSION sql_mode = '', binlog_row_image = MINIMAL;
CREATE TABLE defaults (id INT PRIMARY KEY, n INT NOT NULL, v VARCHAR(5) NOT NULL, e ENUM('x', 'y') NOT NULL,
d DATE NOT NULL, b BLOB NOT NULL, free INT);
INSERT INTO defaults (id) VALUES (1);
INSERT INTO defaults (id, n, v, e, d, b) VALUES (2, 3, 'a', 'y', '2026-01-01', 'b');
SET SESSION sql_mode = DEFAULT, binlog_row_image = DEFAULT;
CREATE TABLE copied (k INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB COMMENT='it''s ) START TRANSACTION'
PARTITION BY HASH (k) PARTITIONS 2 SELECT id, n FROM defaults;
CREATE TABLE `START TRANSACTION` SELECT id FROM defaults;
SET SESSION binlog_format = STATEMENT;
CREATE TABLE bytes (id INT, b VARBINARY(9), t VARCHAR(9)) CHARSET utf8mb4;
SET @sql = CONCAT('INSERT INTO bytes VALUES (1, _binary''', x'ff3b', ''', ''', CAST('é' AS BINARY), ''')');
PREPARE mixed FROM @sql; EXECUTE mixed;
CREATE TABLE numbers (d DECIMAL(65, 30), t TEXT, c INT);
SET @d = 12345678901234567890123456789012345.123456789012345678901234567890, @small = 0.0000000001;
INSERT INTO numbers VALUES (@d, CONCAT(-@d), 1), (@small, CONCAT(@small), 2);
SET pseudo_thread_id = 1000; CREATE TEMPORARY TABLE numbers (d DECIMAL(65, 30), t TEXT, c INT);
INSERT INTO numbers (c) VALUES (3);
SET pseudo_thread_id = 1001; INSERT INTO numbers (c, t) VALUES (4, CONNECTION_ID());
SET pseudo_thread_id = 1000; INSERT INTO numbers (c) VALUES (6);
SET pseudo_thread_id = 1001; INSERT INTO numbers (c) VALUES (7);
