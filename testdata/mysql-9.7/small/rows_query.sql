ROWS_QUERY events: the text of each statement stands before its rows.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(200));
SET SESSION binlog_rows_query_log_events = ON;
INSERT INTO t VALUES (1, 'é 🎁'), (2, 'two');
BEGIN; UPDATE t /* a comment */ SET text = 'x' WHERE id = 1; DELETE FROM t WHERE id = 2; COMMIT;
INSERT INTO t SELECT 10 + id, 'a statement of more than 255 bytes: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx'
FROM t WHERE 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' <> ''
AND 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx' <> '';
