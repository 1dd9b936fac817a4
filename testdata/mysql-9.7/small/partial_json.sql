PARTIAL_UPDATE_ROWS: replaced, inserted and removed parts of JSON documents, with full and minimal images.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, a JSON, text VARCHAR(10), b JSON);
INSERT INTO t VALUES
(1, JSON_OBJECT('name', 'Ana', 'list', JSON_ARRAY(1, 2, 3), 'deep', JSON_OBJECT('x', REPEAT('x', 100))), 'one', '[1, 2]'),
(2, JSON_OBJECT('name', 'Bjørn', 'long', REPEAT('y', 300)), 'two', NULL),
(3, NULL, NULL, '{"k": "a long enough value to be worth a diff, says the server"}');
SET SESSION binlog_row_value_options = PARTIAL_JSON;
UPDATE t SET a = JSON_SET(a, '$.name', 'Bo') WHERE id = 1;
UPDATE t SET a = JSON_SET(a, '$.list[1]', 22, '$.deep.y', JSON_ARRAY(TRUE, NULL)) WHERE id = 1;
UPDATE t SET a = JSON_REMOVE(a, '$.list[0]') WHERE id = 1;
UPDATE t SET a = JSON_REPLACE(a, '$.name', 'B'), b = JSON_SET(b, '$[0]', 0) WHERE id = 1;
UPDATE t SET a = JSON_SET(a, '$.name', 'B', '$.new', 1.5e10), text = 'changed' WHERE id = 2;
UPDATE t SET b = JSON_REPLACE(b, '$.k', 'short') WHERE id = 3;
UPDATE t SET a = JSON_SET(a, '$.name', NULL), b = '{"whole": "document"}';
UPDATE t SET text = 'no json' WHERE id = 2;
SET SESSION binlog_row_image = MINIMAL;
UPDATE t SET a = JSON_SET(a, '$.name', 'M') WHERE id = 1;
UPDATE t SET a = JSON_ARRAY_INSERT(a, '$.list[0]', 'first') WHERE id = 1;
SET SESSION binlog_row_image = NOBLOB;
UPDATE t SET a = JSON_SET(a, '$.name', 'N') WHERE id IN (1, 2);
SET SESSION binlog_transaction_compression = ON;
UPDATE t SET a = JSON_SET(a, '$.name', 'Z') WHERE id IN (1, 2);
