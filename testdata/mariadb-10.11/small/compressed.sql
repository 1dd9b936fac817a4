Compressed query and row events, of every operation, beside ones that are too short to be compressed.

-- before
SET GLOBAL log_bin_compress = ON, GLOBAL log_bin_compress_min_len = 64;

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(200), number DOUBLE, data BLOB);
INSERT INTO t VALUES (1, 'x', NULL, NULL);
INSERT INTO t SELECT seq, REPEAT('abc', seq), seq / 3, REPEAT(x'00ff', 100) FROM seq_2_to_30;
UPDATE t SET text = CONCAT(text, '!'), data = NULL WHERE id > 15;
UPDATE t SET number = NULL WHERE id = 1;
DELETE FROM t WHERE id % 3 = 0;
BEGIN; INSERT INTO t VALUES (100, REPEAT('y', 200), 1, NULL); DELETE FROM t WHERE id = 100; COMMIT;
SET SESSION binlog_row_image = MINIMAL;
UPDATE t SET text = REPEAT('minimal', 20) WHERE id < 20;
SET SESSION binlog_format = STATEMENT;
INSERT INTO t (id, text) VALUES (200, 'a statement that is long enough to be compressed, since it goes on and on and on and on');
ALTER TABLE t ADD COLUMN another_column_with_a_long_name VARCHAR(100) NOT NULL DEFAULT 'a default that is long enough';

-- after
SET GLOBAL log_bin_compress = OFF, GLOBAL log_bin_compress_min_len = 256;
