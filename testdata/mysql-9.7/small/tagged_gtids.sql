GTIDs with tags among GTIDs without, of this server and of a foreign one.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));
INSERT INTO t VALUES (1, 'no tag');
SET SESSION gtid_next = 'AUTOMATIC:nightly_batch';
INSERT INTO t VALUES (2, 'tagged');
INSERT INTO t VALUES (3, 'tagged');
SET SESSION gtid_next = 'AUTOMATIC:_x123456789012345678901234567890';
CREATE TABLE of_the_longest_tag (id INT);
SET SESSION gtid_next = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee:import:77';
BEGIN; UPDATE t SET text = 'foreign tag' WHERE id = 1; COMMIT;
SET SESSION gtid_next = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee:9223372036854775806';
BEGIN; DELETE FROM t WHERE id = 3; COMMIT;
SET SESSION gtid_next = 'aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee:5';
BEGIN; COMMIT;
SET SESSION gtid_next = 'AUTOMATIC';
INSERT INTO t VALUES (4, 'no tag');
