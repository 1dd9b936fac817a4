MariaDB's own: GTIDs with and without the standalone flag, domains, sequences, system versioning, annotations on and off.

-- log
CREATE DATABASE small; USE small;
CREATE TABLE t (id INT PRIMARY KEY, text VARCHAR(20));
CREATE TABLE loose (id INT PRIMARY KEY) ENGINE=MyISAM;
CREATE SEQUENCE numbers START WITH 10 INCREMENT BY 5;
INSERT INTO t VALUES (NEXTVAL(numbers), 'from a sequence');
INSERT INTO loose VALUES (1), (2);
BEGIN; INSERT INTO t VALUES (1, 'one'); INSERT INTO loose VALUES (3); UPDATE t SET text = 'eins' WHERE id = 1; COMMIT;
SET SESSION binlog_annotate_row_events = OFF;
INSERT INTO t VALUES (2, 'no annotation');
SET SESSION binlog_annotate_row_events = ON;
SET SESSION gtid_domain_id = 7, server_id = 4000000000;
INSERT INTO t VALUES (3, 'another domain');
SET SESSION gtid_domain_id = 4294967295, gtid_seq_no = 18446744073709551;
INSERT INTO t VALUES (4, 'a chosen number');
SET SESSION gtid_domain_id = 0, server_id = 10;
CREATE TABLE versioned (id INT PRIMARY KEY, a INT) WITH SYSTEM VERSIONING;
INSERT INTO versioned VALUES (1, 1), (2, 2); UPDATE versioned SET a = 10 WHERE id = 1; DELETE FROM versioned WHERE id = 2;
CREATE TABLE copy AS SELECT * FROM t; CREATE OR REPLACE TABLE copy (id INT);
SET SESSION skip_parallel_replication = ON; DROP TABLE copy;
