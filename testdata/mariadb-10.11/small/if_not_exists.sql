CREATE TABLE IF NOT EXISTS that did nothing: what it says is not what the tables are, which no other statement tells.

-- before
CREATE DATABASE small; USE small;
CREATE TABLE swapped (id INT PRIMARY KEY, qty INT, price INT);
CREATE TABLE other_type (id INT PRIMARY KEY, qty BIGINT, price INT);

-- log
USE small;
CREATE TABLE IF NOT EXISTS swapped (id INT PRIMARY KEY, price INT, qty INT);
CREATE TABLE IF NOT EXISTS other_type (id INT PRIMARY KEY, price INT, qty INT);
CREATE TABLE IF NOT EXISTS made (id INT PRIMARY KEY, price INT, qty INT);
INSERT INTO swapped VALUES (1, 5, 100);
INSERT INTO other_type VALUES (1, 5, 100);
INSERT INTO made VALUES (1, 100, 5);
CREATE TABLE IF NOT EXISTS made (id INT PRIMARY KEY, qty INT, price INT);
INSERT INTO made VALUES (2, 200, 6);
