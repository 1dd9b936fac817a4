TIME, DATETIME and TIMESTAMP as servers before MySQL 5.6 stored them, which MariaDB does where it is told to.

-- before
SET GLOBAL mysql56_temporal_format = OFF;

-- log
CREATE DATABASE small; USE small; SET SESSION sql_mode = '', time_zone = '+00:00';
CREATE TABLE t (id INT PRIMARY KEY, t TIME, d DATETIME, s TIMESTAMP NULL, y YEAR(4), a DATE);
INSERT INTO t VALUES (1, '838:59:59', '9999-12-31 23:59:59', '2038-01-19 03:14:07', 2155, '9999-12-31'),
(2, '-838:59:59', '0000-00-00', '0000-00-00', 0, '0000-00-00'), (3, '-00:00:01', '2024-02-29 12:34:56', '1970-01-01 00:00:01', 1901,
'2024-02-29'), (4, '00:00:00', '2024-05-00 01:02:03', '2024-02-29 12:34:56', 2024, '2024-00-00'), (5, NULL, NULL, NULL, NULL, NULL),
(6, '12:34:56', '0001-01-01', '2001-09-09 01:46:40', 1999, '0001-01-01');
UPDATE t SET t = '-100:00:00', d = '1000-01-01 00:00:00', s = '2030-12-31 23:59:59' WHERE id = 6; DELETE FROM t WHERE id = 3;

-- after
SET GLOBAL mysql56_temporal_format = ON; DROP DATABASE small;
