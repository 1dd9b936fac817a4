Statement-based logging with all that statements take from their session.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a TEXT, b DOUBLE, c DECIMAL(20,5), d DATETIME(6), e VARBINARY(20));
CREATE TABLE latin (id INT PRIMARY KEY, a VARCHAR(20)) CHARSET latin1;
SET SESSION binlog_format = STATEMENT;
SET @text = 'it''s 🍀', @whole = -42, @big = 18446744073709551615, @real = 1.5e-7, @exact = 12345.67890, @nothing = NULL;
SET @bytes = x'00ff', @`odd ``name` = 1, @sjis = _sjis x'8365' COLLATE sjis_bin;
INSERT INTO t (a, b, c) VALUES (@text, @real, @exact), (@nothing, @whole, @`odd ``name`), (@sjis, @big, 0);
INSERT INTO t (e) VALUES (@bytes);
INSERT INTO t (b) VALUES (RAND()), (RAND());
INSERT INTO t (a) SELECT LAST_INSERT_ID();
SET TIMESTAMP = 1772438400.654321; INSERT INTO t (d) VALUES (NOW(6)); SET TIMESTAMP = DEFAULT;
SET SESSION time_zone = '+05:30', sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES';
INSERT INTO t ("a", d) VALUES ('back\slash' || '!', FROM_UNIXTIME(1000000000));
SET SESSION sql_mode = '', foreign_key_checks = 0, unique_checks = 0, sql_auto_is_null = 1, lc_time_names = 'de_DE';
SET SESSION auto_increment_increment = 10, auto_increment_offset = 3, collation_connection = utf8mb4_bin;
INSERT INTO t (a) VALUES (DATE_FORMAT('2026-03-02', '%W'));
SET SESSION auto_increment_increment = 1, auto_increment_offset = 1, foreign_key_checks = 1;
SET SESSION character_set_client = latin1; INSERT INTO latin VALUES (1, 'café'); SET NAMES utf8mb4;
BEGIN; UPDATE t SET a = 'x' WHERE id = 1; UPDATE t SET b = b + 1; DELETE FROM t WHERE id = 2; COMMIT;
UPDATE t JOIN latin USING (id) SET t.a = latin.a;
REPLACE INTO latin VALUES (1, 'y'); INSERT IGNORE INTO latin VALUES (1, 'z');
INSERT INTO t (a) VALUES ('line
break; semicolon -- no comment');
SET SESSION binlog_format = MIXED; INSERT INTO t (a) VALUES (UUID()); INSERT INTO t (a) VALUES ('mixed');
