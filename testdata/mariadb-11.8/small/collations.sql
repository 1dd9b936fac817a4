Tables with the default collations of their character sets, which sessions choose.

-- log
CREATE DATABASE small CHARACTER SET utf8mb4; USE small;
CREATE TABLE as_it_comes (x VARCHAR(9)) CHARSET utf8mb4;
SET character_set_collations = 'utf8mb4=utf8mb4_general_ci'; CREATE TABLE general (x VARCHAR(9)) CHARSET utf8mb4;
SET character_set_collations = 'utf8mb4=utf8mb4_bin,latin1=latin1_bin';
CREATE TABLE binaries (x VARCHAR(9), y VARCHAR(9) CHARACTER SET latin1) CHARSET utf8mb4;
SET character_set_collations = ''; CREATE TABLE compiled (x VARCHAR(9)) CHARSET utf8mb4;
INSERT INTO as_it_comes VALUES ('a'); INSERT INTO binaries VALUES ('b', 'ä');
